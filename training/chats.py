"""The training chats: read from their files, and varied so that a careless hand is understood too.

A chat is kept as it was written: parts of user turns with a label each. What training reads is a variation of it:
lower case, lost punctuation, slips of the keyboard, other figures (the same one everywhere in a chat), and now and
then an end before the end, since a chat is also read while it is open. Then what is corrected only later is not yet
old.
"""

import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "chats"
_MOVES = {"withdraw": "forget", "never": "decline", "off": "decline", "keep": "remember", "change": "forget",
          "end": "forget", "ask": "remember", "answer": "remember"}  # fmt: skip
"""What an order of `training/moves` is called among the chats."""
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]{4,}", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A piece of a user turn as its writer labelled it; `by` is (turn, part) of what replaced or withdrew it."""

    text: str
    label: str
    cat: str | None = None
    acat: str | None = None
    act: str | None = None
    op: str | None = None
    target: str | None = None
    by: tuple[int, int] | None = None
    of: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Said:
    role: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True)
class Chat:
    id: str
    known: dict[str, tuple[str, str]]
    """Memories already in the book: source and content by id."""
    turns: tuple[Said, ...]
    ties: bool = True
    """Whether its writer marked what corrects, repeats or withdraws what as a chat does."""


def load(path: Path) -> list[Chat]:
    ties = path.parent.name == FOLDER.name
    return [_chat(json.loads(line), ties) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def by_writer(folder: Path = FOLDER) -> dict[str, list[Chat]]:
    """All chats by the file they stand in: one file, one writer."""
    return {path.stem: load(path) for path in sorted(folder.glob("*.jsonl"))}


def _chat(row: dict[str, Any], ties: bool) -> Chat:
    known = {one["id"]: (one["source"], one["content"]) for one in row.get("existing", [])}
    turns = []
    for turn in row["turns"]:
        given = turn.get("parts") or [{"t": turn["text"], "l": ""}]
        turns.append(Said(turn["role"], tuple(_part(part) for part in given)))
    return Chat(row["id"], known, tuple(turns), ties)


def _part(row: dict[str, Any]) -> Part:
    by = tuple(row["by"]) if row.get("by") else None
    of = tuple(one if isinstance(one, str) else tuple(one) for one in row.get("of", []) or [])
    act = None
    if row["l"] == "order":
        act = "decline" if row.get("ahead") else _MOVES.get(row["act"], row["act"])
    return Part(row["t"], row["l"], row.get("cat"), row.get("acat"), act, row.get("op"), row.get("target"), by, of)


# Variation


def until(chat: Chat, end: int) -> Chat:
    """The chat as it was before turn `end`: what is corrected only from there on is worth keeping still."""

    def then(part: Part) -> Part:
        return replace(part, label="keep", by=None) if part.label == "old" and part.by and part.by[0] >= end else part

    return replace(chat, turns=tuple(replace(turn, parts=tuple(map(then, turn.parts))) for turn in chat.turns[:end]))


def varied(chat: Chat, chance: random.Random) -> Chat:
    """Somebody else might have typed it like this."""
    if chance.random() < 0.3:
        chat = _other_figures(chat, chance)
    roll = chance.random()
    if roll < 0.12:
        chat = _retyped(chat, lambda text: text.lower())
    elif roll < 0.22:
        chat = _retyped(chat, lambda text: _unpunctuated(text.lower(), chance))
    elif roll < 0.34:
        chat = _retyped(chat, lambda text: _WORD.sub(lambda found: _slip(found[0], chance), text))
    return chat


def _retyped(chat: Chat, hand: Any) -> Chat:
    turns = []
    for turn in chat.turns:
        parts = [replace(part, text=hand(part.text) or part.text) for part in turn.parts]
        turns.append(replace(turn, parts=tuple(parts)) if turn.role == "user" else turn)
    return replace(chat, turns=tuple(turns))


def _unpunctuated(text: str, chance: random.Random) -> str:
    bare = re.sub(r"[.,;:!](?=\s|$)", "", text) if chance.random() < 0.7 else text
    return re.sub(r"['’]", "", bare)


def _slip(word: str, chance: random.Random) -> str:
    if chance.random() > 0.07:
        return word
    at = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(3)
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if kind == 1 else word[:at] + word[at] + word[at:]


def _other_figures(chat: Chat, chance: random.Random) -> Chat:
    drawn: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        figure = found[0]
        if figure not in drawn:
            first = str(chance.randint(1, 9)) if figure[0] != "0" else "0"
            drawn[figure] = first + "".join("0" if digit == "0" else str(chance.randint(0, 9)) for digit in figure[1:])
        return drawn[figure]

    turns = [
        replace(turn, parts=tuple(replace(part, text=_NUMBER.sub(other, part.text)) for part in turn.parts))
        for turn in chat.turns
    ]
    known = {one: (source, _NUMBER.sub(other, content)) for one, (source, content) in chat.known.items()}
    return replace(chat, turns=tuple(turns), known=known)
