"""Answers to a question of the notebook, held against the choice that the writer meant.

    python -m training.judge_answers FOLDER [--every N] [--show]

FOLDER has the readers that `left_out` wrote: each hand is read by those that have not seen it, and what was read is
kept beside them, so that a second run takes seconds. An answer is `right` where it takes the choice that is meant or
leaves open what answers nothing, `wrong` where it takes another, and `open` where a choice was meant and none is taken.
"""

import argparse
import json
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import BOTH, Choice, choices_for
from keepbook.models.minilm.inference import MiniLM
from keepbook.models.minilm.weight_files import Base, find_base
from keepbook.models.notebook.decide import decide_steps
from keepbook.models.notebook.read import Understood, understand
from keepbook.models.notebook.values import Scene
from keepbook.models.reader.choice import linear_move_reader
from keepbook.models.reader.encoder import EncoderReader
from keepbook.models.reader.linear import LinearReader
from keepbook.models.reader.model_files import chosen_moves
from keepbook.models.reader.move_reader.move_encoder import EncoderMoveReader
from training.judge_turns import NOW, scene_of
from training.left_out_groups import GROUPS
from training.move_cases import Case, cases
from training.moves import FOLDER, Asked, Dialogue, load

_TAKES_BACK = re.compile(r"\b(?:forget|delete|strike|remove|drop)\b", re.IGNORECASE)
_STAYS = {"still": BOTH, "stays": BOTH, "falls": "over"}


class AnswerCase(NamedTuple):
    """A turn under a question. `meant` is the choice of the product that its writer meant; None answers nothing."""

    name: str
    scene: Scene
    meant: str | None


def answer_cases(dialogue: Dialogue) -> Iterator[AnswerCase]:
    for case in cases(dialogue):
        line = next((line for line in case.lines if line.kind == "question"), None)
        asked = next((one for turn in dialogue.turns for one in turn.asks if line and one.id == line.id), None)
        if line is None or asked is None:
            continue
        question = _question(dialogue, asked, line.content)
        if question is not None:
            name = f"{case.hand}/{case.dialogue} {case.at}"
            yield AnswerCase(name, replace(scene_of(case, dialogue), questions=(question,)), _meant(case, question))


def _question(dialogue: Dialogue, asked: Asked, words: str) -> Proposal | None:
    """The question as the product would ask it."""
    about = next((one for one in asked.about if isinstance(one, str) and one in dialogue.lines), None)
    lines = [(one, dialogue.lines[one]) for one in asked.choices if one in dialogue.lines]
    names = set(asked.choices)
    if len(lines) > 1:
        return _proposal("which", "forget", lines[0][1], None, choices_for("which", "forget", "", None, lines))
    if names & {"over", "still", "falls"} and about is not None:
        content = dialogue.lines[about]
        return _proposal("over", "end", content, about, choices_for("over", "end", content, about))
    if names == {"yes", "no"} and _TAKES_BACK.search(words) and about is not None:
        return _proposal(None, "forget", dialogue.lines[about], about, ())
    if names == {"yes", "no"}:
        return _proposal("keep", "add", words, None, choices_for("keep", "add", words))
    return None


def _proposal(question: str | None, op: str, content: str, memory: str | None, choices: tuple[Choice, ...]) -> Proposal:
    unset = ("category", "subject", "score", "made_by", "valid_from", "reason", "decided_at")
    nothing: dict[str, Any] = dict.fromkeys(unset)
    return Proposal(
        id="q1", nature="proposal", status="waiting", op=op, memory_id=memory, content=content, thread_id="chat",
        turn_ids=(), created_at=NOW, question=question, choices=choices, **nothing,
    )  # fmt: skip


def _meant(case: Case, question: Proposal) -> str | None:
    chosen = {one.choice for one in case.clauses if one.acts[0] == "answer"} - {None}
    if len(chosen) != 1:
        return None
    (choice,) = chosen
    if choice == "yes" and question.question == "keep":
        return "keep"
    return _STAYS.get(str(choice), choice)


def read_hand(folder: Path, group: str, hand: str, every: int, base: Base) -> list[tuple[AnswerCase, Understood]]:
    """The answers of a hand as readers understand them that have not seen it."""
    kept = folder / f"{hand}-{every}.answers"
    given = [one for dialogue in load(FOLDER / f"{hand}.jsonl") for one in answer_cases(dialogue)][::every]
    if not kept.exists():
        net, linear = MiniLM(base), LinearReader((folder / group / "linear.bin").read_bytes())
        reader = EncoderReader(net, lambda: linear, lambda name: (folder / group / name).read_bytes())
        moves = EncoderMoveReader(net, linear_move_reader, lambda name: (folder / group / name).read_bytes())
        kept.write_bytes(pickle.dumps([understand(one.scene, reader=reader, moves=moves) for one in given]))
    return list(zip(given, pickle.loads(kept.read_bytes()), strict=True))


def verdict(case: AnswerCase, read: Understood) -> str:
    steps = decide_steps(case.scene, read, chosen_moves("moves").bars)
    taken = {step.choice for step in steps if step.act == "answer"}
    if taken == ({case.meant} if case.meant else set()):
        return "right" if taken else "left"
    return "wrong" if taken else "open"


def main() -> None:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("folder", type=Path)
    known.add_argument("--every", type=int, default=1, help="only every so manieth answer")
    known.add_argument("--show", action="store_true")
    given = known.parse_args()
    base = find_base()
    assert base is not None
    counts: Counter[tuple[str, str]] = Counter()
    for group in GROUPS:
        for hand in group:
            for case, read in read_hand(given.folder, group, hand, given.every, base):
                found = verdict(case, read)
                counts[str(case.scene.questions[0].question or case.scene.questions[0].op), found] += 1
                if given.show and found in ("wrong", "open"):
                    print(json.dumps([case.name, found, case.meant, case.scene.turn.text], ensure_ascii=False))
    for kind in (*sorted({kind for kind, _ in counts}), "all"):
        row = {name: sum(n for (one, v), n in counts.items() if v == name and kind in (one, "all"))
               for name in ("right", "left", "open", "wrong")}  # fmt: skip
        print(f"{kind:8}", row)


if __name__ == "__main__":
    main()
