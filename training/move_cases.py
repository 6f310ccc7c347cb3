"""Turns as the reader of moves meets them: what was said before, the lines that recall would bring, and what is right.

The lines of a case are those of the book, what earlier clauses of the chat said, the open question with its choices,
and lines of strangers that nothing points at. For training all of it is varied: the order of the lines, their kind, the
hand that types, the cuts, and now and then the line that is meant is missing.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from keepbook.models.reader.moves import MoveLine
from keepbook.models.reader.values import ReaderTurn
from keepbook.models.reader.windows import sentence_starts
from training.moves import Asked, Clause, Dialogue, Stretch, Target

MOST = 12
"""Lines of a case, choices not counted."""
DOING = ("change", "end", "withdraw", "never", "keep", "off")
"""Acts that leave something which can be taken back."""
DROPPED = 0.05
"""How often a line that is meant is not among those given."""
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z]{4,}", re.IGNORECASE)


@dataclass(frozen=True)
class Case:
    """One turn of a dialogue with its lines; `points` are the ids that each clause means, None where it is unknown."""

    dialogue: str
    hand: str
    turns: tuple[ReaderTurn, ...]
    at: int
    clauses: tuple[Clause, ...]
    lines: tuple[MoveLine, ...]
    points: tuple[frozenset[str] | None, ...]
    olds: tuple[tuple[str, Stretch] | None, ...]
    """The line and the stretch of it that each clause exchanges."""
    last: frozenset[str] | None = None
    """The lines and clauses of the last turn that did something: what the product takes back. None before any."""

    @property
    def pieces(self) -> list[Stretch]:
        return [(one.start, one.end) for one in self.clauses]

    def undoes_last(self, which: int) -> bool:
        """Whether a clause asks to take back what the product would take back; with nothing done, nothing is."""
        clause, points = self.clauses[which], self.points[which]
        asks = "undo" in clause.acts and not clause.unsure
        return asks and (not points or self.last is None or bool(points & self.last))


def cases(dialogue: Dialogue) -> list[Case]:
    """The user turns of a dialogue as they are."""
    return [_case(dialogue, at, None, ()) for at, turn in enumerate(dialogue.turns) if turn.role == "user"]


def drawn_as_cut(
    dialogue: Dialogue, strangers: Sequence[str], chance: random.Random, cuts: Mapping[str, Sequence[Stretch]]
) -> list[Case]:
    """Other lines beside them, and cut as the reader cuts."""
    found = [_case(dialogue, at, chance, strangers) for at, turn in enumerate(dialogue.turns) if turn.role == "user"]
    keys = [f"{dialogue.hand}/{dialogue.id}/{case.at}" for case in found]
    return [cut_as(case, cuts[key]) if key in cuts else case for case, key in zip(found, keys, strict=True)]


def drawn(dialogue: Dialogue, strangers: Sequence[str], chance: random.Random) -> list[Case]:
    """The same, varied."""
    one = retyped(dialogue, chance)
    found = [_case(one, at, chance, strangers) for at, turn in enumerate(one.turns) if turn.role == "user"]
    return [_recut(case, chance) if chance.random() < 0.3 else case for case in found]


def _case(dialogue: Dialogue, at: int, chance: random.Random | None, strangers: Sequence[str]) -> Case:
    turn = dialogue.turns[at]
    book = _Book(dialogue, at)
    lines = book.lines(chance)
    if chance:
        lines = _mixed(lines, book.meant, strangers, chance)
    lines = lines[-MOST:] + book.choices(lines)
    if chance:
        chance.shuffle(lines)
    known = {line.id for line in lines} | {f"{at}:{one.start}" for one in turn.clauses}
    ids = [book.ids(one) for one in turn.clauses]
    points = [None if one is None else frozenset(one & known) for one in ids]
    olds = [book.old(one, known) for one in turn.clauses]
    turns = tuple(ReaderTurn(one.role, one.text) for one in dialogue.turns[: at + 1])
    last = _last_done(dialogue, at)
    return Case(dialogue.id, dialogue.hand, turns, at, turn.clauses, tuple(lines), tuple(points), tuple(olds), last)


def _last_done(dialogue: Dialogue, before: int) -> frozenset[str] | None:
    for at in range(before - 1, -1, -1):
        clauses = dialogue.turns[at].clauses
        acting = [one for one in clauses if one.acts[0] in DOING or one.label in ("keep", "order")]
        if acting:
            meant = (target for one in acting for target in one.of or ())
            named = (one if isinstance(one, str) else f"{one[0]}:{dialogue.clause(one).start}" for one in meant)
            return frozenset([*named, *(f"{at}:{one.start}" for one in clauses)])
    return None


class _Book:
    """What stands in the book, was said and was asked before a turn.

    A clause that changed a line is that line from then on: in the book it is the next version of the same memory.
    """

    def __init__(self, dialogue: Dialogue, at: int) -> None:
        self._dialogue, self._at = dialogue, at
        self._roots: dict[tuple[int, int], Target] = {}
        self._versions: dict[str, tuple[int, int]] = {}
        for turn in range(at):
            for nth, clause in enumerate(dialogue.turns[turn].clauses):
                if clause.acts[0] == "change" and clause.of and len(clause.of) == 1 and not clause.unsure:
                    self._roots[turn, nth] = clause.of[0]
                    self._versions[self.name(clause.of[0])] = (turn, nth)
        self.meant = {one for clause in dialogue.turns[at].clauses for one in self.ids(clause) or ()}

    def name(self, target: Target) -> str:
        seen = set()
        while not isinstance(target, str) and target in self._roots and target not in seen:
            seen.add(target)
            target = self._roots[target]
        return target if isinstance(target, str) else f"{target[0]}:{self._dialogue.clause(target).start}"

    def ids(self, clause: Clause) -> set[str] | None:
        if clause.of is None:
            return None
        of = clause.of
        if clause.acts[0] == "keep":  # "remember that my bike is red": what follows is no line yet
            of = tuple(one for one in of if isinstance(one, str) or not self._follows(one, clause))
        found = {self.name(one) for one in of}
        if clause.choice is not None:
            found |= {f"{one}/{clause.choice}" for one in of if isinstance(one, str)}
        return found

    def _follows(self, place: tuple[int, int], clause: Clause) -> bool:
        return place[0] == self._at and self._dialogue.clause(place).start > clause.start

    def old(self, clause: Clause, known: set[str]) -> tuple[str, Stretch] | None:
        if clause.old is None or (one := self.name(clause.old[0])) not in known:
            return None
        return one, clause.old[1]

    def lines(self, chance: random.Random | None) -> list[MoveLine]:
        """The book, then what this chat said before, then the open question."""
        lines = self._dialogue.lines.items()
        found = [MoveLine(one, self._content(one, content, chance), "memory") for one, content in lines]
        for turn in range(self._at):
            for nth, clause in enumerate(self._dialogue.turns[turn].clauses):
                one = f"{turn}:{clause.start}"
                if (turn, nth) in self._roots:
                    continue
                if _candidate(clause) or (chance and (one in self.meant or chance.random() < 0.1)):
                    kind = chance.choice(("memory", "said", "offered")) if chance else "said"
                    words = self._dialogue.words((turn, nth)).strip()
                    found.append(MoveLine(one, self._content(one, words, chance), kind))
        if asked := self._open():
            found.append(MoveLine(asked.id, _question(self._dialogue, asked), "question"))
        return found

    def _content(self, one: str, words: str, chance: random.Random | None) -> str:
        """What a line says by now: the words of its last version. Where a clause of this turn exchanges a stretch, what
        its writer saw."""
        for clause in self._dialogue.turns[self._at].clauses:
            if clause.old and self.name(clause.old[0]) == one:
                target = clause.old[0]
                return words if isinstance(target, str) else self._dialogue.words(target)
        place = self._versions.get(one)
        if place is None or (chance and chance.random() < 0.2):
            return words
        clause = self._dialogue.clause(place)
        if clause.old and clause.new and self.name(clause.old[0]) == one and isinstance(clause.old[0], str):
            start, end = clause.old[1]
            text = self._dialogue.turns[place[0]].text
            exchanged = words[:start] + text[clause.new[0] : clause.new[1]] + words[end:]
            if chance is None or chance.random() < 0.6:
                return exchanged
        return self._dialogue.words(place).strip()

    def _open(self) -> Asked | None:
        """The question that is open: that of the last reply, else an earlier one that this turn answers."""
        for turn in range(self._at - 1, -1, -1):
            for asked in self._dialogue.turns[turn].asks:
                if turn == self._at - 1 or asked.id in self.meant:
                    return asked
        return None

    def choices(self, lines: Sequence[MoveLine]) -> list[MoveLine]:
        asked = self._open()
        if asked is None or asked.id not in {line.id for line in lines}:
            return []
        contents = self._dialogue.lines
        return [MoveLine(f"{asked.id}/{one}", contents.get(one, one), "choice") for one in asked.choices[:4]]


def _candidate(clause: Clause) -> bool:
    """What the book would have written or offered, and the orders that can be taken back only by themselves."""
    return clause.acts[0] in ("never", "off") or (clause.label in ("keep", "old") and clause.acts[0] != "answer")


def _question(dialogue: Dialogue, asked: Asked) -> str:
    said = next(turn.text for turn in dialogue.turns if asked in turn.asks)
    asks = [one for one in re.split(r"(?<=[.!?])\s+", said) if one.endswith("?")]
    return asks[-1] if asks else said


def _mixed(lines: list[MoveLine], meant: set[str], strangers: Sequence[str], chance: random.Random) -> list[MoveLine]:
    """Other lines beside them, and some of them away."""
    kept = [line for line in lines if chance.random() > (DROPPED if line.id in meant else 0.08)]
    more = chance.choice((0, 0, 1, 2, 4, 6)) if strangers else 0
    kept += [MoveLine(f"x{at}", chance.choice(strangers), "memory") for at in range(more)]
    chance.shuffle(kept)
    kept.sort(key=lambda line: line.id in meant)  # what is meant is not cut off
    return kept


# Another hand

Keys = list[str]
"""What is typed for each letter."""


def retyped(dialogue: Dialogue, chance: random.Random) -> Dialogue:
    """Somebody else might have typed it like this; places in letters go along."""
    if chance.random() < 0.3:
        dialogue = _other_figures(dialogue, chance)
    roll = chance.random()
    if roll < 0.14:
        return _typed(dialogue, _lower)
    if roll < 0.26:
        return _typed(dialogue, lambda text: _unpunctuated(text, chance))
    if roll < 0.38:
        return _typed(dialogue, lambda text: _slips(text, chance))
    return dialogue


def _lower(text: str) -> Keys:
    return [letter.lower() if len(letter.lower()) == 1 else letter for letter in text]


def _unpunctuated(text: str, chance: random.Random) -> Keys:
    keys = _lower(text)
    commas = chance.random() < 0.7
    for at, letter in enumerate(keys):
        last = at + 1 == len(keys) or keys[at + 1].isspace()
        if letter in "'’" or (commas and letter in ".,;:!" and last):
            keys[at] = ""
    return keys


def _slips(text: str, chance: random.Random) -> Keys:
    keys = list(text)
    for found in _WORD.finditer(text):
        if chance.random() < 0.07:
            at = chance.randrange(found.start() + 1, found.end() - 1)
            kind = chance.randrange(3)
            if kind == 0:
                keys[at], keys[at + 1] = keys[at + 1], keys[at]
            else:
                keys[at] = "" if kind == 1 else 2 * keys[at]
    return keys


def _typed(dialogue: Dialogue, hand: Callable[[str], Keys]) -> Dialogue:
    """The person's turns typed by a hand. A clause that would lose all its letters is left."""
    moved: dict[int, list[int]] = {}
    texts: dict[int, str] = {}
    for at, turn in enumerate(dialogue.turns):
        if turn.role == "user":
            keys = hand(turn.text)
            for clause in turn.clauses:
                if not "".join(keys[clause.start : clause.end]).strip():
                    keys[clause.start : clause.end] = list(turn.text[clause.start : clause.end])
            places = [0]
            for key in keys:
                places.append(places[-1] + len(key))
            moved[at], texts[at] = places, "".join(keys)
    turns = []
    for at, turn in enumerate(dialogue.turns):
        clauses = tuple(_moved(dialogue, clause, at, moved) for clause in turn.clauses)
        turns.append(replace(turn, text=texts[at], clauses=clauses) if at in texts else turn)
    return replace(dialogue, turns=tuple(turns))


def _moved(dialogue: Dialogue, clause: Clause, at: int, moved: dict[int, list[int]]) -> Clause:
    here = moved[at]

    def stretch(given: Stretch | None, places: list[int] = here, base: int = 0) -> Stretch | None:
        if given is None:
            return None
        begin = places[base]
        found = places[given[0] + base] - begin, places[given[1] + base] - begin
        return found if found[1] > found[0] else None

    old = clause.old
    if old and not isinstance(old[0], str):
        other = dialogue.clause(old[0])
        inside = stretch(old[1], moved[old[0][0]], other.start)
        old = (old[0], inside) if inside else None
    needs = clause.needs
    if needs:
        needs = tuple(one if one[1] < 0 else (one[0], moved[one[0]][one[1]], moved[one[0]][one[2]]) for one in needs)
    new = stretch(clause.new) if old else None
    start, end = here[clause.start], here[clause.end]
    return replace(
        clause, start=start, end=end, old=old if new else None, new=new, needs=needs, who=stretch(clause.who)
    )


def _other_figures(dialogue: Dialogue, chance: random.Random) -> Dialogue:
    """Other figures, the same one everywhere, as long as before."""
    chosen: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        figure = found[0]
        if figure not in chosen:
            first = str(chance.randint(1, 9)) if figure[0] != "0" else "0"
            chosen[figure] = first + "".join("0" if one == "0" else str(chance.randint(0, 9)) for one in figure[1:])
        return chosen[figure]

    turns = [replace(turn, text=_NUMBER.sub(other, turn.text)) for turn in dialogue.turns]
    lines = {one: _NUMBER.sub(other, content) for one, content in dialogue.lines.items()}
    return replace(dialogue, lines=lines, turns=tuple(turns))


# Other cuts


def _idle(clause: Clause) -> bool:
    return clause.acts == ("talk",) and not clause.of


def _recut(case: Case, chance: random.Random) -> Case:
    """Cut as a reader may cut: small talk hangs on to its neighbour, and what a sentence start divides is divided."""
    rows = list(zip(case.clauses, case.points, case.olds, strict=True))
    meant = {one for points in case.points for one in points or ()}
    found: list[tuple[Clause, frozenset[str] | None, tuple[str, Stretch] | None]] = []
    for row in rows:
        before = found[-1] if found else None
        same = f"{case.at}:{row[0].start}" in meant
        if before and not same and _idle(row[0]) and chance.random() < 0.3:
            found[-1] = (replace(before[0], end=row[0].end), *before[1:])
        else:
            found.append(row)
    text = case.turns[case.at].text
    cut: list[tuple[Clause, frozenset[str] | None, tuple[str, Stretch] | None]] = []
    for clause, points, old in found:
        inside = [at for at in sentence_starts(text) if clause.start < at < clause.end]
        if inside and _idle(clause) and chance.random() < 0.5:
            edges = [clause.start, *inside, clause.end]
            for start, end in pairwise(edges):
                cut.append((replace(clause, start=start, end=end), points, old))
        else:
            cut.append((clause, points, old))
    clauses, points_, olds = zip(*cut, strict=True)
    return replace(case, clauses=clauses, points=points_, olds=olds)


def cut_as(case: Case, pieces: Sequence[Stretch]) -> Case:
    """The case with a reader's cuts. A piece is what most of it does; what acts counts more than what does not. Of what
    else such a clause was cut into, nothing is known."""
    owners = [_owner(case, piece) for piece in pieces]
    carriers = {which: _carrier(case.clauses[which], pieces, owners, which) for which in set(owners)}
    starts = {f"{case.at}:{case.clauses[which].start}": f"{case.at}:{pieces[at][0]}" for which, at in carriers.items()}
    rows = []
    for at, (piece, which) in enumerate(zip(pieces, owners, strict=True)):
        clause = replace(case.clauses[which], start=piece[0], end=piece[1])
        points, old = case.points[which], case.olds[which]
        if carriers[which] != at and not _idle(clause):
            acts = tuple(dict.fromkeys((*clause.acts, "talk", "say")))
            clause = Clause(piece[0], piece[1], clause.label, acts, None)
            points, old = None, None
        if clause.new and not piece[0] <= clause.new[0] < clause.new[1] <= piece[1]:
            clause, old = replace(clause, new=None, exchange=False), None
        renamed = None if points is None else frozenset(starts.get(one, one) for one in points)
        lost = old is not None and old[0] in starts and starts[old[0]] != old[0]
        rows.append((clause, renamed, None if lost else old))
    clauses, points_, olds = zip(*rows, strict=True)
    return replace(case, clauses=clauses, points=points_, olds=olds)


def _owner(case: Case, piece: Stretch) -> int:
    """The clause that a piece stands for."""

    def weight(which: int) -> float:
        clause = case.clauses[which]
        common = min(clause.end, piece[1]) - max(clause.start, piece[0])
        if common <= 0:
            return -1.0
        acting = clause.acts[0] not in ("talk", "say")
        return common * (4 if acting and 2 * common >= clause.end - clause.start else 1)

    return max(range(len(case.clauses)), key=weight)


def _carrier(clause: Clause, pieces: Sequence[Stretch], owners: Sequence[int], which: int) -> int:
    """Of the pieces that stand for a clause, the one with the new value, else the one with most of its letters."""
    mine = [at for at, owner in enumerate(owners) if owner == which]
    new = clause.new
    if new and (found := [at for at in mine if pieces[at][0] <= new[0] < new[1] <= pieces[at][1]]):
        return found[0]
    return max(mine, key=lambda at: min(clause.end, pieces[at][1]) - max(clause.start, pieces[at][0]))
