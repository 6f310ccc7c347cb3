"""Train the readers of moves and write what is shipped: `python -m training.train_moves`.

For every group of hands a reader is trained on all the others and reads theirs; from these readings come the figures,
the heat that makes a probability mean what it says, and the bars. Then one is trained on everything. Needs torch beside
the `embed` extra; with a GPU some minutes, without one most of a night.
"""

import argparse
import json
import multiprocessing
import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer

from keepbook.models.minilm.parts import BaseWeights
from keepbook.models.reader import model_files
from keepbook.models.reader.choice import linear_reader
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from keepbook.models.reader.move_reader.move_windows import MoveCoder
from training import judged, move_choose, move_fit, move_guess, move_linear_fit, move_pair_fit, move_ship, moves
from training.judge_moves import Reading, keep
from training.left_out_groups import GROUPS
from training.move_cases import Case, cases
from training.move_net import HEADS
from training.move_pair_views import pair_views
from training.move_views import views
from training.net import learned
from training.train_reader import with_base

PLAN = move_fit.Plan()


class Job(NamedTuple):
    """Train without the hands of a group and read them; without a group, train on everything."""

    name: str
    group: str
    plan: move_fit.Plan
    given: argparse.Namespace


def arguments() -> argparse.Namespace:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("--base", type=Path, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    known.add_argument("--workers", type=int, default=1, help="jobs at the same time")
    known.add_argument("--cuts", type=Path, help="where the reader would cut the turns, by hand/dialogue/turn")
    known.add_argument("--pieces", type=Path, help="folder of readers of pieces that left out a group, to begin with")
    known.add_argument("--cores", type=int, default=1, help="cores that make the variations")
    known.add_argument("--views", type=int, default=6, help="variations of each dialogue")
    known.add_argument("--jobs", default="", help="names of jobs with settings, as JSON")
    known.add_argument("--out", type=Path, default=Path("build/moves"), help="where results are kept")
    return with_base(known.parse_args())


def jobs(given: argparse.Namespace) -> list[Job]:
    if given.jobs:
        rows = json.loads(given.jobs)
        return [Job(row["name"], row.get("group", ""), replace(PLAN, **row.get("plan", {})), given) for row in rows]
    return [Job("all", "", PLAN, given), *(Job(f"without {group}", group, PLAN, given) for group in GROUPS)]


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    began = time.time()
    hands, chats = {**moves.by_hand(), **judged.by_hand()}, moves.by_hand(moves.CHATS)
    groups = [*hands.values(), *chats.values()]
    cuts = json.loads(given.cuts.read_text()) if given.cuts else {}
    made = dict(zip([*hands, *chats], views(groups, given.views, given.words, given.cores, cuts), strict=True))
    (given.out / "views").write_bytes(pickle.dumps(made, protocol=5))
    pairs = pair_views({**hands, **chats}, given.words, given.cores)
    (given.out / "pair views").write_bytes(pickle.dumps(pairs, protocol=5))
    print(f"views made in {time.time() - began:.0f} s", flush=True)
    del made, pairs
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for name, result in pool.imap_unordered(work, jobs(given), chunksize=1):
            (given.out / f"{name.replace(' ', '-')}.pickle").write_bytes(pickle.dumps(result))
    (given.out / "views").unlink()
    (given.out / "pair views").unlink()
    if not given.jobs:
        ship(given.out, hands)


def ship(results: Path, hands: dict[str, list[moves.Dialogue]]) -> None:
    """Choose what a deed is trusted by and the bars, and write the files, their checksums and the figures."""
    own, written = {}, {}
    for group in GROUPS:
        for name, readings in pickle.loads((results / f"without-{group}.pickle").read_bytes()).items():
            hand, _, cut = name.partition(" ")
            (own if cut else written)[hand] = readings
    chosen, _, found = move_choose.encoder(own, written, GROUPS)
    chats = [one for some in moves.by_hand(moves.CHATS).values() for one in some]
    read = {}
    for group in GROUPS:
        others = [one for hand, some in hands.items() if hand not in group for one in some]
        weights = move_linear_fit.train(others + chats)
        for hand in group:
            read[hand] = move_choose.linear_readings(weights, linear_reader(), hands[hand])
    plain, plainly = move_choose.linear(read)
    result = pickle.loads((results / "all.pickle").read_bytes())
    everything = move_linear_fit.train([one for some in hands.values() for one in some] + chats)
    move_ship.write(result["weights"], result["pairs"], everything, {"moves": chosen, "moves_linear": plain})
    keep("left-out hands", {"encoder": found, "linear": plainly})


def work(job: Job) -> tuple[str, Any]:
    torch.set_num_threads(1 if job.given.workers > 1 else torch.get_num_threads())
    began = time.time()
    base, coder = BaseWeights(job.given.weights.read_bytes()), MoveCoder(Tokenizer.from_file(str(job.given.words)))
    made = pickle.loads((job.given.out / "views").read_bytes())
    begin = begins_with(job)
    chats = moves.by_hand(moves.CHATS)
    told = [one for hand, some in made.items() if hand not in chats and hand not in job.group for one in some]
    net = move_fit.train(base, told, [one for hand in chats for one in made[hand]], job.plan, job.given.device, begin)
    pair_net = _pair_net(job, base, chats)
    print(f"{job.name}: trained in {time.time() - began:.0f} s", flush=True)
    cuts = json.loads(job.given.cuts.read_text()) if job.given.cuts else {}
    hands = moves.by_hand()
    found: dict[str, Any] = {}
    for hand in job.group or ():
        given = [case for one in hands[hand] for case in cases(one)]
        found[hand] = with_second(pair_net, read(net, given, coder, {}, alone=True), coder)
        found[f"{hand} own cuts"] = with_second(pair_net, read(net, given, coder, cuts, alone=True), coder)
    if not job.group:
        found["weights"] = learned(net, base, HEADS)
        found["pairs"] = learned(pair_net, base, move_pair_fit.PAIR_NET_HEADS)
    print(f"{job.name}: read in {time.time() - began:.0f} s", flush=True)
    return job.name, found


def begins_with(job: Job) -> bytes:
    """What both readers begin with: a reader of pieces that has not read the hands of the group, if there is one."""
    if job.given.pieces and job.group:
        return (job.given.pieces / f"piece-{job.group}.npz").read_bytes()  # type: ignore[no-any-return]
    return model_files.read_pinned("encoder.npz")


def _pair_net(job: Job, base: BaseWeights, chats: Any) -> move_pair_fit.PairNet:
    made = pickle.loads((job.given.out / "pair views").read_bytes())
    told = [one for hand, some in made.items() if hand not in chats and hand not in job.group for one in some]
    plan = move_pair_fit.PairPlan(seed=job.plan.seed)
    every = [one for hand in chats for one in made[hand]]
    return move_pair_fit.train(base, told, every, plan, job.given.device, begins_with(job))


def with_second(net: move_pair_fit.PairNet, readings: list[Reading], coder: MoveCoder) -> list[Reading]:
    """The readings, with what the second reader says of what may be a deed."""
    found = []
    for case, moves_read, _ in readings:
        pieces = [(move.start, move.end) for move in moves_read]
        asked = MoveRequest(case.turns, case.at, pieces, case.lines)
        found.append(Reading(case, moves_read, move_guess.pair_guesses(net, asked, list(moves_read), coder)))
    return found


def read(net: Any, given: list[Case], coder: MoveCoder, cuts: dict[str, Any], alone: bool = False) -> list[Reading]:
    """With the writer's parts, or cut as the reader would."""
    pieces = [
        [(start, end) for start, end in cuts.get(f"{case.hand}/{case.dialogue}/{case.at}", case.pieces)]
        for case in given
    ]
    found = move_guess.guesses(net, given, pieces, coder, alone)
    return [Reading(case, tuple(one[at] for at in sorted(one))) for case, one in zip(given, found, strict=True)]


if __name__ == "__main__":
    main()
