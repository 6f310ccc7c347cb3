"""Dialogues with what every clause does: read from their files, one file a hand, with places in letters.

The files of `training/moves/` say it outright; of the chats it follows from their labels. What a chat leaves open (was
it a slip, is it over or changed) stays open: `None`, or several acts that would be right.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from keepbook.models.reader.moves import MOVES

HOME = Path(__file__).parent
FOLDER, CHATS = HOME / "moves", HOME / "chats"
_ORDERS = {"forget": ("withdraw",), "decline": ("withdraw", "never"), "remember": ("keep",), "undo": ("undo",)}

Stretch = tuple[int, int]
Target = str | tuple[int, int]
"""A line or question by its id, or a clause by turn and part."""


@dataclass(frozen=True)
class Clause:
    """A part of a user turn: its letters, and what it does. None: nothing is known about it."""

    start: int
    end: int
    label: str
    acts: tuple[str, ...]
    of: tuple[Target, ...] | None
    mistake: bool | None = None
    ahead: bool | None = None
    unsure: bool | None = None
    rest: str | None = None
    old: tuple[Target, Stretch] | None = None
    """The line acted on and the stretch of it that is exchanged."""
    new: Stretch | None = None
    exchange: bool = False
    """Whether it is known that there is, or is not, an exchange."""
    needs: tuple[tuple[int, int, int], ...] | None = None
    """Turn and letters; of an assistant's turn (turn, -1, -1)."""
    own: bool | None = None
    who: Stretch | None = None
    """Letters of this turn."""
    choice: str | None = None


@dataclass(frozen=True)
class Asked:
    id: str
    about: tuple[Target, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Said:
    role: str
    text: str
    clauses: tuple[Clause, ...] = ()
    asks: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class Dialogue:
    id: str
    hand: str
    lines: dict[str, str]
    turns: tuple[Said, ...]
    told: bool = True
    """Written as moves, not as a chat."""
    lang: str = "en"
    quoted: frozenset[str] = frozenset()
    """The lines that are in the person's own words."""

    def clause(self, place: tuple[int, int]) -> Clause:
        return self.turns[place[0]].clauses[place[1]]

    def words(self, place: tuple[int, int]) -> str:
        clause = self.clause(place)
        return self.turns[place[0]].text[clause.start : clause.end]


def by_hand(folder: Path = FOLDER) -> dict[str, list[Dialogue]]:
    """The dialogues of a folder by the file they stand in."""
    return {path.stem: load(path) for path in sorted(folder.glob("*.jsonl"))}


def load(path: Path) -> list[Dialogue]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    told = path.parent.name != CHATS.name
    return [_dialogue(row, path.stem, told) for row in rows]


def _dialogue(row: dict[str, Any], hand: str, told: bool) -> Dialogue:
    lines = {one["id"]: one["content"] for one in row.get("existing", [])}
    turns = row["turns"]
    corrected = {} if told else _corrections(turns)
    found = []
    for at, turn in enumerate(turns):
        if turn["role"] != "user":
            asks = tuple(Asked(a["id"], _targets(a.get("about", ())), tuple(map(str, a["choices"])))
                         for a in turn.get("asks", ()))  # fmt: skip
            found.append(Said(turn["role"], turn["text"], asks=asks))
            continue
        text = "".join(part["t"] for part in turn["parts"])
        clauses, begin = [], 0
        for nth, part in enumerate(turn["parts"]):
            place = _Place(lines, turns, at, nth, begin, text)
            clauses.append(place.told(part) if told else place.chat(part, corrected.get((at, nth), ())))
            begin += len(part["t"])
        found.append(Said("user", text, tuple(clauses)))
    quoted = frozenset(one["id"] for one in row.get("existing", []) if one.get("quoted"))
    return _undone(Dialogue(row["id"], hand, lines, tuple(found), told, row.get("lang", "en"), quoted))


def _undone(dialogue: Dialogue) -> Dialogue:
    """An `undo` that names an order means what the order was about, where that was a line or a clause."""

    def about(target: Target) -> tuple[Target, ...]:
        if isinstance(target, str):
            return (target,)
        order = dialogue.clause(target)
        lines = tuple(one for one in order.of or () if not isinstance(one, str) or one in dialogue.lines)
        return lines if order.label == "order" and lines and order.acts[0] not in ("never", "off") else (target,)

    def mended(clause: Clause) -> Clause:
        if clause.acts != ("undo",) or not clause.of:
            return clause
        return replace(clause, of=tuple(dict.fromkeys(new for one in clause.of for new in about(one))))

    turns = (replace(turn, clauses=tuple(map(mended, turn.clauses))) for turn in dialogue.turns)
    return replace(dialogue, turns=tuple(turns))


def _targets(given: Any) -> tuple[Target, ...]:
    return tuple(one if isinstance(one, str) else (one[0], one[1]) for one in given)


def _corrections(turns: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """By clause of a chat, the earlier clauses that it replaces."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for at, turn in enumerate(turns):
        for nth, part in enumerate(turn.get("parts", ())):
            if part.get("by"):
                found.setdefault(tuple(part["by"]), []).append((at, nth))  # type: ignore[arg-type]
    return found


@dataclass(frozen=True)
class _Place:
    """Where a part stands, and what it can refer to."""

    lines: dict[str, str]
    turns: list[dict[str, Any]]
    at: int
    nth: int
    begin: int
    text: str

    def told(self, part: dict[str, Any]) -> Clause:
        """A part that says what it does."""
        act = _act(part)
        of = _targets(part.get("of", ()))
        if not of and part.get("target") in self.lines:
            of = (part["target"],)
        order = act not in ("say", "talk")
        own, who = self._who(part)
        old, new = self._exchange(part, of)
        return Clause(
            self.begin,
            self.begin + len(part["t"]),
            part["l"],
            (act,),
            of,
            mistake=bool(part.get("mistake")) if act == "change" else None,
            ahead=bool(part.get("ahead")) if act == "withdraw" else None,
            unsure=bool(part.get("unsure")) if order or part.get("unsure") else None,
            rest=part.get("rest"),
            old=old,
            new=new,
            exchange=True,
            needs=self._needs(part),
            own=own,
            who=who,
            choice=part.get("choice"),
        )

    def chat(self, part: dict[str, Any], corrects: Any) -> Clause:
        """A part of a chat: what it does follows from its label."""
        acts, of, ahead = self._by_label(part, corrects)
        return Clause(self.begin, self.begin + len(part["t"]), part["l"], acts, of, ahead=ahead)

    def _by_label(
        self, part: dict[str, Any], corrects: Any
    ) -> tuple[tuple[str, ...], tuple[Target, ...] | None, bool | None]:
        label, target = part["l"], part.get("target")
        if label == "order":
            of = tuple(one for one in _targets(part.get("of", ())) if one != (self.at, self.nth))
            ahead = not of if part["act"] == "decline" else False if part["act"] == "forget" else None
            return _ORDERS[part["act"]], of, ahead
        if label not in ("keep", "old"):
            return ("talk",), (), None
        if part.get("op") == "update" and target in self.lines:
            return ("change", "end"), (target,), None
        if part.get("op") == "skip" and target in self.lines:
            return ("say", "change"), (target,), None
        if corrects:
            return ("change", "end"), tuple(corrects), None
        return ("say",), (), None

    def _who(self, part: dict[str, Any]) -> tuple[bool | None, Stretch | None]:
        who = part.get("who")
        if who is None:
            return None, None
        if who == "me":
            return True, None
        found = part["t"].lower().find(who.lower())
        start = self.begin + found if found >= 0 else self.text.lower().find(who.lower())
        return False, (start, start + len(who)) if start >= 0 else None

    def _exchange(
        self, part: dict[str, Any], of: tuple[Target, ...]
    ) -> tuple[tuple[Target, Stretch] | None, Stretch | None]:
        if "from" not in part:
            return None, None
        for target in of:
            words = self.lines.get(target) if isinstance(target, str) else self._words(target)
            at = _word_at(words or "", part["from"])
            if at >= 0:
                start = _word_at(part["t"], part["to"])
                begin = self.begin + start if start >= 0 else self.text.find(part["to"])
                return (target, (at, at + len(part["from"]))), (begin, begin + len(part["to"]))
        return None, None

    def _words(self, place: tuple[int, int]) -> str:
        return str(self.turns[place[0]]["parts"][place[1]]["t"])

    def _needs(self, part: dict[str, Any]) -> tuple[tuple[int, int, int], ...]:
        found = []
        for ref in part.get("needs", ()):
            if len(ref) == 1:
                found.append((ref[0], -1, -1))
                continue
            turn, nth, words = ref
            parts = self.turns[turn]["parts"]
            begin = sum(len(one["t"]) for one in parts[:nth]) + _word_at(parts[nth]["t"], words)
            found.append((turn, begin, begin + len(words)))
        return tuple(found)


def _word_at(text: str, words: str) -> int:
    """Where the words stand, rather as words of their own than inside one."""
    first = at = text.find(words)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(words) : at + len(words) + 1]
        if not (before.isalnum() and words[0].isalnum()) and not (after.isalnum() and words[-1].isalnum()):
            return at
        at = text.find(words, at + 1)
    return first


def _act(part: dict[str, Any]) -> str:
    act = str(part.get("act", ""))
    if part["l"] == "order":
        act = {name: acts[0] for name, acts in _ORDERS.items()}.get(act, act)
    if not act:
        act = {"update": "change"}.get(part.get("op", ""), "say") if part["l"] == "keep" else "talk"
    if act not in MOVES:
        raise ValueError(f"{act} is no act")
    return act
