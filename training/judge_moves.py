"""How well moves are read on hands that were not read before: what is right, what would be done, asked, or done wrong.

Deciding is that of the runtime (`MoveBars.verdict`). A deed is right where a clause of the same stretch does the same
to the same lines, an undo where what was done last is meant; it is *wrong* where a line is changed, ended, kept or
forgotten, or a question answered, that should not be. Ending what should be changed, or the other way round, is neither
right nor wrong: the line meant is the same.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.models.reader.choice import linear_move_reader, linear_reader, open_move_reader, open_reader
from keepbook.models.reader.move_reader.move_pairs import Pairs
from keepbook.models.reader.moves import DEEDS, MOVES, Move, MoveBars, MoveReader
from keepbook.models.reader.values import ChatReader
from training.move_cases import Case, cases
from training.moves import HOME, Clause, load

LEARNED = ("moves.npz", "pairs.npz", "moves.bin")
WEIGHTS = HOME.parent / "src/keepbook/models/reader/weights"
ORDERS = ("withdraw", "never", "undo", "keep")
CHANGES = ("change", "end")
LINKED = frozenset(CHANGES)


class Reading(NamedTuple):
    """A case and the moves that were read in it, by the stretch of the turn. In training, with what the second reader
    says of each, which is in the moves of the runtime already."""

    case: Case
    moves: tuple[Move, ...]
    pairs: tuple[Pairs, ...] = ()


@dataclass
class Tally:
    """Counts over turns and clauses; shares are made of them."""

    n: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def share(self, part: str, whole: str) -> float:
        return self.n[part] / self.n[whole] if self.n[whole] else 0.0

    def as_dict(self) -> dict[str, Any]:
        n = self.n
        return {
            "turns": n["turns"],
            "order_turns": n["order turns"],
            "done_wrong": round(self.share("wrong turns", "turns"), 4),
            "done_wrong_of_order_turns": round(self.share("wrong order turns", "order turns"), 4),
            "orders_carried_out": round(self.share("orders done", "orders"), 3),
            "changes_carried_out": round(self.share("changes done", "changes"), 3),
            "changes_near": round(self.share("changes near", "changes"), 3),
            "answers_carried_out": round(self.share("answers done", "answers"), 3),
            "answers_wrong": n["answers wrong"],
            "asked_needlessly": round(self.share("needless turns", "turns"), 4),
            "asked": round(self.share("asked turns", "turns"), 4),
            "act_right": round(self.share("act right", "clauses"), 3),
            "acting_act_right": round(self.share("acting right", "acting"), 3),
            "pointer_right": round(self.share("pointer right", "acting right"), 3),
            "stretches_right": round(self.share("stretches right", "stretches"), 3),
            "needs_right": round(self.share("needs right", "needs"), 3),
            "needs_invented": round(self.share("needs invented", "no needs"), 4),
            "by_act": {act: f"{n['done ' + act]}/{n['gold ' + act]}, wrong {n['wrong ' + act]}" for act in DEEDS},
        }


def judge(readings: Iterable[Reading], bars: MoveBars) -> Tally:
    tally = Tally()
    for reading in readings:
        _turn(reading, bars, tally)
        _first_guesses(reading, tally)
    return tally


def _overlap(clause: Clause, move: Move) -> int:
    return min(clause.end, move.end) - max(clause.start, move.start)


def names_of(case: Case, moves: Sequence[Move]) -> dict[str, str]:
    """Pieces of this turn as the clauses they lie in."""
    return {f"{case.at}:{move.start}": f"{case.at}:{clause_of(case, move).start}" for move in moves}


def clause_of(case: Case, move: Move) -> Clause:
    return max(case.clauses, key=lambda clause: _overlap(clause, move))


def _turn(reading: Reading, bars: MoveBars, tally: Tally) -> None:
    case, n = reading.case, tally.n
    n["turns"] += 1
    order = any(clause.acts[0] in DEEDS and clause.acts[0] != "answer" for clause in case.clauses)
    n["order turns"] += order
    same = names_of(case, reading.moves)
    wrong, needless, asked = False, False, False
    done: list[tuple[Move, str, frozenset[str]]] = []
    for move in reading.moves:
        verdict = bars.verdict(move)
        if verdict.how == "done" and verdict.act != "off":
            done.append((move, verdict.act, frozenset(same.get(name, name) for name in verdict.lines)))
        elif verdict.how in ("asked", "done"):
            asked = True
            needless |= not any(
                (clause.acts[0] in DEEDS or clause.unsure) and _overlap(clause, move) > 0 for clause in case.clauses
            )
    carried = set()
    for move, act, lines in done:
        how = how_right(case, move, act, lines)
        if how == "right":
            carried.add(move.start)
        if how == "wrong":
            wrong = True
            n[f"wrong {act}"] += 1
            n["answers wrong"] += act == "answer"
            tally.examples.append(_example(case, move, act, lines))
    n["wrong turns"] += wrong
    n["wrong order turns"] += wrong and order
    n["needless turns"] += needless
    n["asked turns"] += asked
    _carried(reading, done, tally)


def _targets(case: Case, clause: Clause) -> frozenset[str]:
    return case.points[case.clauses.index(clause)] or frozenset()


def how_right(case: Case, move: Move, act: str, lines: frozenset[str]) -> str:
    """right, near, part or wrong."""
    best = "wrong"
    for clause in case.clauses:
        if _overlap(clause, move) <= 0:
            continue
        grade = _grade(case, clause, act, lines)
        best = min(best, grade, key=("right", "near", "part", "wrong").index)
    return best


def _grade(case: Case, clause: Clause, act: str, lines: frozenset[str]) -> str:
    gold = _targets(case, clause)
    if clause.unsure:
        return "wrong"
    if act == "undo":
        return "right" if case.undoes_last(case.clauses.index(clause)) else "wrong"
    if act in clause.acts:
        if act == "never" or (act == "withdraw" and clause.ahead):
            return "right"
        if act == "answer":
            choice = {one for one in lines if "/" in one}
            return "right" if choice <= gold and choice else "wrong"
        if act == "keep" and not (lines and gold):
            return "right"  # what is being said, whatever it points at
        if lines == gold:
            return "right"
        return "part" if lines and lines < gold else "wrong"
    if {act, *clause.acts} <= LINKED and lines == gold:
        return "near"
    return "wrong"


def _carried(reading: Reading, done: Sequence[tuple[Move, str, frozenset[str]]], tally: Tally) -> None:
    case, n = reading.case, tally.n
    for clause in case.clauses:
        act = clause.acts[0]
        if act not in DEEDS or clause.unsure or len(clause.acts) > 1:
            continue
        if act == "answer" and clause.choice is None:
            continue
        if act not in ("never", "keep", "off", "withdraw", "answer") and not _targets(case, clause):
            continue  # what it means is not among what it could mean
        kind = "orders" if act in ORDERS else "changes" if act in CHANGES else "answers" if act == "answer" else "offs"
        grades = [_grade(case, clause, did, lines) for move, did, lines in done if _overlap(clause, move) > 0]
        n[kind] += 1
        n[f"gold {act}"] += 1
        n[f"done {act}"] += "right" in grades
        n[f"{kind} done"] += "right" in grades
        n[f"{kind} near"] += "near" in grades


def _first_guesses(reading: Reading, tally: Tally) -> None:
    """The likeliest act, the lines over a half, the likeliest stretches."""
    case, n = reading.case, tally.n
    same = names_of(case, reading.moves)
    for clause in case.clauses:
        near = [move for move in reading.moves if _overlap(clause, move) > 0]
        if not near:
            continue
        move = max(near, key=lambda one: _overlap(clause, one))
        right = move.act in clause.acts
        n["clauses"] += 1
        n["act right"] += right
        if clause.acts[0] in ("say", "talk"):
            continue
        n["acting"] += 1
        n["acting right"] += right
        pointed = frozenset(same.get(name, name) for name, likely in move.points.items() if likely >= 0.5)
        if right:
            n["pointer right"] += pointed == _targets(case, clause)
        old = case.olds[case.clauses.index(clause)]
        if right and old and old[0] in pointed:
            n["stretches"] += 1
            n["stretches right"] += _same(move, old, clause, same)
        _needs(clause, move, n)


def _same(move: Move, old: tuple[str, tuple[int, int]], clause: Clause, same: dict[str, str]) -> bool:
    found = {same.get(name, name): one for name, one in move.old.items()}.get(old[0])
    return bool(found and move.new and found[:2] == old[1] and move.new[:2] == clause.new)


def _needs(clause: Clause, move: Move, n: Counter[str]) -> None:
    if clause.needs is None:
        return
    told = [need for need in move.needs if need.likely >= 0.5]
    if not clause.needs:
        n["no needs"] += 1
        n["needs invented"] += bool(told)
        return
    n["needs"] += 1
    turn, start, end = clause.needs[0]
    n["needs right"] += any(one.turn == turn and (start < 0 or (one.start, one.end) == (start, end)) for one in told)


def _example(case: Case, move: Move, act: str, lines: frozenset[str]) -> str:
    text = case.turns[case.at].text
    contents = {line.id: line.content for line in case.lines}
    clause = clause_of(case, move)
    gold = f"{'/'.join(clause.acts)}{' unsure' if clause.unsure else ''} {sorted(_targets(case, clause))}"
    meant = [contents.get(one, one) for one in lines]
    return (
        f"{case.dialogue} {case.at}: {text[move.start : move.end]!r} -> {act} {move.acts[act]:.2f} {meant}; is {gold}"
    )


# Bars

WRONG, NEEDLESS = 0.008, 0.06
"""The shares that the bars are chosen for, a little below what is allowed: the hands to come are others."""
DOUBT = dict.fromkeys(MOVES, 0.13) | {
    "change": 0.14, "end": 0.1, "withdraw": 0.2, "never": 0.25, "keep": 0.2, "undo": 0.25,
}  # fmt: skip
"""How much doubt a deed may leave, by what can go wrong with it: chosen by what a person meets (`judge_turns`) on the
left-out hands that do not only judge: where one more wrong deed carries out most right ones, and the readers alone
stay within what may be done wrong."""
OUT_OF_REACH = 1.01
START = MoveBars(
    sure=dict.fromkeys(MOVES, 0.5) | {"answer": OUT_OF_REACH}, likely=dict.fromkeys(MOVES, 0.5), point_sure=0.5,
    point_likely=0.3, stretch_sure=0.6, need_sure=0.5, mistake_sure=0.6, ahead_sure=0.5, own_sure=0.5,
    unsure_most=DOUBT,
)  # fmt: skip
"""An answer in other words than those of the closed lists is never taken for consent: too many were misread."""


def choose(readings: Sequence[Reading]) -> MoveBars:
    """The bars that ask as early as the needless questions allow."""
    for step in range(30, 95, 5):
        bars = replace(START, likely={**START.likely, **dict.fromkeys(DEEDS, step / 100)})
        if judge_deeds(readings, bars).share("needless turns", "turns") <= NEEDLESS:
            return bars
    return START


def judge_deeds(readings: Iterable[Reading], bars: MoveBars) -> Tally:
    tally = Tally()
    for reading in readings:
        _turn(reading, bars, tally)
    return tally


# The shipped readers on files of moves


def read_with(reader: MoveReader, cutter: ChatReader, path: Path) -> list[Reading]:
    """A file as the product would read it: the reader's own cuts, then its moves."""
    found = []
    for case in (case for dialogue in load(path) for case in cases(dialogue)):
        pieces = [(one.start, one.end) for one in cutter.read(case.turns, only=case.at)]
        found.append(Reading(case, tuple(reader.moves(case.turns, case.at, pieces, case.lines))))
    return found


def main(paths: Sequence[str]) -> None:
    """Figures of what is shipped, by file."""
    every: dict[str, Any] = {}
    for name, reader, cutter in (
        ("linear", linear_move_reader(), linear_reader()),
        ("encoder", open_move_reader(), open_reader()),
    ):
        every[name] = {}
        for path in paths:
            tally = judge(read_with(reader, cutter, Path(path)), reader.bars)
            every[name][Path(path).stem] = tally.as_dict()
            print(name, path, json.dumps(tally.as_dict()), flush=True)
        keep("judge hands", every)


def keep(part: str, figures: Mapping[str, Any]) -> None:
    """Write figures beside those that are there, by the checksum of the weights they belong to."""
    path = HOME / "move_figures.json"
    weights = {name: hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest() for name in LEARNED}
    found = json.loads(path.read_text()) if path.exists() else {}
    if found.get("weights") != weights:
        found = {"weights": weights}
    path.write_text(json.dumps(found | {part: figures}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
