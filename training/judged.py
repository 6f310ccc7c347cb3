"""The judged dialogues as something to learn moves from, as far as what they expect tells what a turn does.

They say which lines must be gone after a turn and which must stand, not what each clause is. A turn of one sentence
that makes a line go is a withdrawal or a change, by what the dialogue is about; one that makes nothing go is none. Of
all other turns nothing is known.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keepbook.models.reader.moves import MOVES
from keepbook.models.reader.windows import sentence_starts
from training.moves import HOME, Clause, Dialogue, Said, Target

FOLDER = HOME / "judged"
ABOUT = ("withdraw", "correct", "never", "ask")
HARMLESS = ("talk", "say", "ask", "keep")
_ACTS = {"withdraw": ("withdraw",), "correct": ("change", "end")}


def by_hand(folder: Path = FOLDER) -> dict[str, list[Dialogue]]:
    return {f"judged-{name}": load(folder / f"{name}.jsonl") for name in ABOUT}


def load(path: Path) -> list[Dialogue]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    return [_dialogue(row) for row in rows]


def _dialogue(row: dict[str, Any]) -> Dialogue:
    lines = {f"m{at}": one["content"] for at, one in enumerate(row.get("book", []))}
    known: dict[Target, str] = dict(lines)
    kept = row.get("closed", {}).get("holds", [])
    turns: list[Said] = []
    for turn in row["turns"]:
        if turns:
            turns.append(Said("assistant", "Noted."))
        text = turn["say"]
        clause = _clause(row["promise"], text, turn.get("then"), known, kept)
        if clause.acts[0] not in ("withdraw", "never"):
            known[len(turns), 0] = text
        turns.append(Said("user", text, (clause,)))
    return Dialogue(row["id"], f"judged-{row['promise']}", lines, tuple(turns))


def _clause(
    promise: str, text: str, then: dict[str, Any] | None, known: dict[Target, str], kept: Sequence[str]
) -> Clause:
    if sentence_starts(text):
        return Clause(0, len(text), "", MOVES, None)
    label = "keep" if _matches(text, kept) else ""
    if then is None:
        return Clause(0, len(text), label, HARMLESS, ())
    gone = tuple(one for one, words in known.items()
                 if _matches(words, then.get("gone", ())) and not _matches(words, then.get("holds", ())))  # fmt: skip
    if then.get("never"):
        return Clause(0, len(text), "order", ("never",), None)
    if promise == "ask":
        asks = then.get("reply") and text.rstrip().endswith("?")
        return Clause(0, len(text), "question" if asks else "", ("ask",) if asks else HARMLESS, None)
    if promise not in _ACTS or (_matches(text, then.get("holds", ())) and promise == "withdraw"):
        return Clause(0, len(text), label, HARMLESS, ())
    if gone:
        return Clause(0, len(text), "order" if promise == "withdraw" else "keep", _ACTS[promise], gone,
                      unsure=bool(then.get("asks")))  # fmt: skip
    if then.get("asks") or (_matches(text, then.get("gone", ())) and promise == "withdraw"):
        return Clause(0, len(text), "", MOVES, None)
    return Clause(0, len(text), label, HARMLESS, ())


def _matches(words: str, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, words, re.IGNORECASE) for pattern in patterns)
