"""Every reader once without each group of hands: `python -m training.left_out --out FOLDER`.

For a group, the reader of pieces, its linear counterpart and both readers of moves learn from everything but the
hands of the group; their files go to FOLDER/GROUP, named as those in the package. `left_out_turns` then reads each hand
with the readers that have not seen it, through the product. Needs torch; about eight minutes on a GPU with sixteen
cores (`nvidia-cuda-mps-control -d` first), where the jobs run side by side.
"""

import argparse
import multiprocessing
import pickle
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

from keepbook.models.minilm.parts import BaseWeights
from keepbook.models.minilm.weight_files import Base
from keepbook.models.reader.windows import Coder
from training import fit, judged, linear_fit, move_fit, move_pair_fit, moves, train_reader
from training.left_out_groups import GROUPS
from training.move_cuts import Cuts
from training.move_cuts import cuts as cuts_of_hand
from training.move_net import HEADS
from training.move_pair_views import pair_views
from training.move_views import views
from training.net import learned
from training.train_moves import PLAN
from training.train_reader import Job, with_base


class Work(NamedTuple):
    """What every job is told."""

    given: argparse.Namespace
    group: str

    @property
    def folder(self) -> Path:
        return self.given.out / self.group  # type: ignore[no-any-return]

    def base(self) -> BaseWeights:
        return BaseWeights(self.given.weights.read_bytes())

    def views_of(self, kind: str, hands: Sequence[str]) -> list[Any]:
        return [one for hand in hands for one in pickle.loads((self.given.out / f"{kind} {hand}").read_bytes())]

    def others(self) -> list[str]:
        return [hand for hand in [*moves.by_hand(), *judged.by_hand()] if hand not in self.group]

    def write(self, name: str, weights: dict[str, np.ndarray]) -> None:
        np.savez_compressed(self.folder / name, **weights)


def main() -> None:
    given = arguments()
    for group in GROUPS:
        (given.out / group).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(4 * len(GROUPS), multiprocessing.get_context("spawn")) as pool:
        run(pool, given)


def run(pool: Executor, given: argparse.Namespace) -> None:
    """The readers of pieces learn while the windows of the moves are made; the readers of moves begin with them."""
    pieces = {group: pool.submit(pieces_job, Work(given, group)) for group in GROUPS}
    others: list[Future[None]] = [pool.submit(linear_job, Work(given, group)) for group in GROUPS]
    hands, chats = {**moves.by_hand(), **judged.by_hand()}, moves.by_hand(moves.CHATS)
    groups = {**hands, **chats}
    began = time.time()
    cuts = shipped_cuts(given)
    print(f"cuts in {time.time() - began:.0f} s", flush=True)
    for name, made in zip(
        groups, views(list(groups.values()), given.views, given.words, given.cores, cuts), strict=True
    ):
        (given.out / f"views {name}").write_bytes(pickle.dumps(made, protocol=5))
    print(f"views in {time.time() - began:.0f} s", flush=True)
    pairs = pool.submit(pairs_made, given)
    for group, waited in pieces.items():
        waited.result()
        others.append(pool.submit(moves_job, Work(given, group)))
    pairs.result()
    others += [pool.submit(pairs_job, Work(given, group)) for group in GROUPS]
    for one in others:
        one.result()


def shipped_cuts(given: argparse.Namespace) -> Cuts:
    """Where the shipped reader would cut the moves, as they are learned from."""
    base = Base(given.weights, given.words)
    found: Cuts = {}
    with multiprocessing.get_context("spawn").Pool(given.cores) as pool:
        for some in pool.imap_unordered(cuts_of_hand, [(path, base) for path in sorted(moves.FOLDER.glob("*.jsonl"))]):
            found |= some
    return found


def pairs_made(given: argparse.Namespace) -> None:
    groups = {**moves.by_hand(), **judged.by_hand(), **moves.by_hand(moves.CHATS)}
    for name, made in pair_views(groups, given.words, given.cores).items():
        (given.out / f"pairs {name}").write_bytes(pickle.dumps(made, protocol=5))


def pieces_job(work: Work) -> None:
    began = time.time()
    torch.set_num_threads(1)
    base, coder = work.base(), Coder(Tokenizer.from_file(str(work.given.words)))
    net = fit.train(base, _job(work).others(), coder, train_reader.PLAN, work.given.device)
    work.write("encoder.npz", learned(net, base))
    print(f"{work.group}: pieces in {time.time() - began:.0f} s", flush=True)


def linear_job(work: Work) -> None:
    began = time.time()
    torch.set_num_threads(1)
    (work.folder / "linear.bin").write_bytes(linear_fit.train(_job(work).others(), "cpu"))
    print(f"{work.group}: linear in {time.time() - began:.0f} s", flush=True)


def _job(work: Work) -> Job:
    names = next(some for some in train_reader.GROUPS if f"moves/{work.group[0]}" in some)
    return Job(names, work.given, {})


def moves_job(work: Work) -> None:
    began = time.time()
    torch.set_num_threads(1)
    told, chats = work.views_of("views", work.others()), work.views_of("views", list(moves.by_hand(moves.CHATS)))
    base, begin = work.base(), (work.folder / "encoder.npz").read_bytes()
    net = move_fit.train(base, told, chats, PLAN, work.given.device, begin)
    work.write("moves.npz", learned(net, base, HEADS))
    print(f"{work.group}: moves in {time.time() - began:.0f} s", flush=True)


def pairs_job(work: Work) -> None:
    began = time.time()
    torch.set_num_threads(1)
    told, chats = work.views_of("pairs", work.others()), work.views_of("pairs", list(moves.by_hand(moves.CHATS)))
    base, begin = work.base(), (work.folder / "encoder.npz").read_bytes()
    net = move_pair_fit.train(base, told, chats, move_pair_fit.PairPlan(), work.given.device, begin)
    work.write("pairs.npz", learned(net, base, move_pair_fit.PAIR_NET_HEADS))
    print(f"{work.group}: pairs in {time.time() - began:.0f} s", flush=True)


def arguments() -> argparse.Namespace:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("--base", type=Path, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    known.add_argument("--cores", type=int, default=1, help="cores that make the variations")
    known.add_argument("--views", type=int, default=6, help="variations of each dialogue")
    known.add_argument("--out", type=Path, default=Path("build/left-out"))
    return with_base(known.parse_args())


if __name__ == "__main__":
    main()
