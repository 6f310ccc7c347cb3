"""What a person meets: the clauses of a turn decided as the product decides them (`notebook/decide.py`), and every step
held against what the writer meant.

    python -m training.judge_turns FILE...

The learned reader is one voice of deciding; closed lists of explicit orders, the words that an order names, and what
the reader of pieces finds worth keeping are the others. An order is *carried out* where the turn ends as it asks: the
lines are forgotten, the words kept out, the topic banned, the last order taken back. "Leave my Sundays", which is no
feat, counts by itself. *Done wrong* is a line changed, ended, forgotten or kept on order that should not be.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keepbook.book.text.quotation import Span
from keepbook.models.notebook.decide import decide_steps
from keepbook.models.notebook.read import Understood, understand
from keepbook.models.notebook.values import ChatTurn, Scene, Target, TurnStep
from keepbook.models.reader.choice import open_move_reader, open_reader
from keepbook.models.reader.moves import MoveBars
from keepbook.presets import load_preset
from training.judge_moves import CHANGES, ORDERS, Tally, keep
from training.move_cases import Case, cases
from training.moves import Clause, Dialogue, load

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
ACTS = (*CHANGES, *ORDERS)
LINES = ("change", "end", "withdraw")


@dataclass(frozen=True)
class TurnRead:
    """A turn of a dialogue as it was read."""

    case: Case
    dialogue: Dialogue
    read: Understood


def scene_of(case: Case, dialogue: Dialogue) -> Scene:
    """The turn and its lines as the notebook meets them. Open questions are left out: who answers in free words is
    never taken for consent."""
    turns = tuple(ChatTurn(at + 1, one.role, one.text, None, NOW) for at, one in enumerate(case.turns))
    lines = [line for line in case.lines if line.kind not in ("question", "choice")]
    targets = [
        Target(line.id, line.content, "memory", quoted=_is_quoted(line.id, dialogue))
        if line.kind == "memory"
        else Target(line.id, line.content, "said", spans=(_span(case, dialogue, line.id),), thread_id="chat")
        for line in lines
    ]
    return Scene(turns, "chat", "UTC", NOW, load_preset("general"), tuple(targets))


def _is_quoted(name: str, dialogue: Dialogue) -> bool:
    """Whether a memory is in the person's own words: a line of the book that is marked so, or what this chat gave."""
    return name not in dialogue.lines or name in dialogue.quoted


def _span(case: Case, dialogue: Dialogue, name: str) -> Span:
    turn, start = map(int, name.split(":"))
    clause = next(one for one in dialogue.turns[turn].clauses if one.start == start)
    words = case.turns[turn].text[clause.start : clause.end]
    begin = clause.start + len(words) - len(words.lstrip())
    return Span(turn + 1, begin, begin + len(words.strip()), "said")


def judge_turns(given: Iterable[TurnRead], bars: MoveBars, *, changes: bool = True) -> Tally:
    tally = Tally()
    for one in given:
        steps = decide_steps(scene_of(one.case, one.dialogue), one.read, bars, changes=changes)
        _Turn(one, steps, tally).judge()
    return tally


class _Turn:
    """A turn's steps against its clauses."""

    def __init__(self, turn: TurnRead, steps: Sequence[TurnStep], tally: Tally) -> None:
        self.case, self.steps, self.tally, self.n = turn.case, steps, tally, tally.n
        self.touched = {name for step in steps for name in self._lines(step) if step.act in LINES}
        """The lines that are not afterwards as they were."""

    def judge(self) -> None:
        order = any(clause.acts[0] in (*ORDERS, *CHANGES, "off") for clause in self.case.clauses)
        wrong = [step for step in self.steps if self._is_wrong(step)]
        needless = any(step.act == "which" and not self._is_worth_asking(step) for step in self.steps)
        self.n["turns"] += 1
        self.n["order turns"] += order
        self.n["wrong turns"] += bool(wrong)
        self.n["wrong order turns"] += bool(wrong) and order
        self.n["needless turns"] += needless
        self.n["asked turns"] += any(step.act == "which" for step in self.steps)
        for step in wrong:
            self.n[f"wrong {step.act}"] += 1
            self.tally.examples.append(f"{self.case.hand}/{self.case.dialogue} {self.case.at} {self._told(step)}")
        for clause, points in zip(self.case.clauses, self.case.points, strict=True):
            self._carry(clause, points or frozenset())

    def _told(self, step: TurnStep) -> str:
        text = self.case.turns[self.case.at].text
        meant = [one.content for one in (*step.targets, *([step.target] if step.target else []))]
        rows = zip(self.case.clauses, self.case.points, strict=True)
        gold = [(clause.acts[0], sorted(points or ())) for clause, points in rows]
        return f"{text[step.start : step.end]!r} -> {step.act} {meant}; is {gold}"

    # What a step does

    def _lines(self, step: TurnStep) -> set[str]:
        """The lines and clauses that a step acts on, by the names of the case."""
        found = {one.id for one in step.targets} | ({step.target.id} if step.target else set())
        for turn, start, end in step.withdrawn:
            if turn - 1 == self.case.at:
                found |= {f"{self.case.at}:{one.start}" for one in self.case.clauses if _inside(one, start, end)}
        return found

    def _meant(self, *acts: str) -> set[str]:
        """What the clauses of these acts mean, as far as it is certain."""
        rows = zip(self.case.clauses, self.case.points, strict=True)
        return {name for one, points in rows if one.acts[0] in acts and not one.unsure for name in points or ()}

    def _is_wrong(self, step: TurnStep) -> bool:
        match step.act:
            case "withdraw":
                return any(self._is_lost(name) for name in self._lines(step))
            case "change" | "end":
                meant = self._lines(step) <= self._meant("change", "end", "answer")
                return not meant or (step.exchange is not None and self._is_garbled(step))
            case "never":
                return not any("never" in one.acts and not one.unsure for one in self.case.clauses)
            case "undo":
                return not any(map(self.case.undoes_last, range(len(self.case.clauses))))
            case "keep":
                line = step.quotation
                return line is not None and line.ordered and self._is_harmful(line.spans)
        return False

    def _is_garbled(self, step: TurnStep) -> bool:
        """Whether other words are exchanged than those that the writer means, or some in a line whose rest may not
        hold."""
        case, lines = self.case, self._lines(step)
        rows = zip(case.clauses, case.points, case.olds, strict=True)
        told = [(one, old) for one, points, old in rows if points and lines <= points and one.acts[0] in CHANGES]
        if not told or step.exchange is None:
            return False
        (start, end), new = step.exchange
        for clause, old in told:
            if clause.rest in ("falls", "ask"):
                continue
            if old is None or clause.new is None:
                return False  # the writer names no words
            if _meet(old[1], (start, end)) and _meet(clause.new, (new.start, new.end)):
                return False
        return True

    def _is_lost(self, name: str) -> bool:
        """Whether a line is forgotten that nobody wanted gone. A clause is only lost if it was worth keeping."""
        if name in self._meant("withdraw", "end", "never"):
            return False
        clause = next((one for one in self.case.clauses if f"{self.case.at}:{one.start}" == name), None)
        return clause is None or clause.label == "keep"

    def _is_harmful(self, spans: Sequence[Span]) -> bool:
        """Whether words are kept as ordered that state nothing, in a turn that orders nothing to be kept."""
        if any("keep" in one.acts for one in self.case.clauses):
            return False
        here = [span for span in spans if span.turn - 1 == self.case.at and span.kind == "said"]
        said = [one for one in self.case.clauses for span in here if _inside(one, span.start, span.end)]
        return all(one.acts[0] in ("talk", "ask", "off") and one.label != "keep" for one in said)

    def _is_worth_asking(self, step: TurnStep) -> bool:
        near = [one for one in self.case.clauses if min(one.end, step.end) > max(one.start, step.start)]
        return any(one.unsure or one.acts[0] in (*ORDERS, *CHANGES, "off", "answer") for one in near)

    # What a clause asks for

    def _carry(self, clause: Clause, points: frozenset[str]) -> None:
        act = clause.acts[0]
        if act not in (*ORDERS, *CHANGES) or clause.unsure or len(clause.acts) > 1:
            return
        memories = {line.id for line in self.case.lines if line.kind == "memory"}
        hushed = any(one.label == "hush" for one in self.case.clauses)
        if act == "keep" and points and points <= memories:
            self._stays(points)
            return
        if (act in CHANGES and not points) or (act == "withdraw" and not hushed and (clause.ahead or not points)):
            return  # what it means is not among what it could mean
        done = self._is_carried_out(clause, points)
        kind = "orders" if act in ORDERS else "changes"
        for name in (kind, f"gold {act}"):
            self.n[name] += 1
        for name in (f"{kind} done", f"done {act}"):
            self.n[name] += done

    def _is_carried_out(self, clause: Clause, points: frozenset[str]) -> bool:
        match clause.acts[0]:
            case "never":
                return any(step.act == "never" for step in self.steps)
            case "undo":
                here = self.case.undoes_last(self.case.clauses.index(clause))
                return here and any(step.act == "undo" for step in self.steps)
            case "withdraw" if clause.ahead or not points:
                return not self._writes_hushed()
            case "withdraw":
                return self._withdraws(points)
            case "keep":
                return any(step.act in ("keep", "repeat", "change") for step in self.steps)
        exact = [step for step in self.steps if self._lines(step) == points]
        self.n["changes asked"] += any(step.act == "which" for step in exact)
        return any(step.act == clause.acts[0] for step in exact)

    def _withdraws(self, points: frozenset[str]) -> bool:
        gone = {name for step in self.steps if step.act == "withdraw" for name in self._lines(step)}
        return points <= gone

    def _stays(self, points: frozenset[str]) -> None:
        """ "Leave my Sundays": done where nothing happens to the lines. It is no feat, so it counts by itself."""
        self.n["stays"] += 1
        self.n["stays done"] += not points & self.touched

    def _writes_hushed(self) -> bool:
        """Whether words that are not to be kept are written or offered."""
        lines = [step.quotation for step in self.steps if step.act in ("keep", "offer", "change")]
        spans = [span for line in lines if line is not None for span in line.spans if span.turn - 1 == self.case.at]
        hushed = [one for one in self.case.clauses if one.label == "hush"]
        return any(_inside(one, span.start, span.end) for one in hushed for span in spans)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return min(one[1], other[1]) > max(one[0], other[0])


def _inside(clause: Clause, start: int, end: int) -> bool:
    """Whether half of a clause, or half of the stretch, lies in the other."""
    common = min(clause.end, end) - max(clause.start, start)
    return common > 0 and 2 * common >= min(clause.end - clause.start, end - start)


def as_figures(tally: Tally) -> dict[str, Any]:
    n = tally.n
    return {
        "turns": n["turns"],
        "order_turns": n["order turns"],
        "done_wrong": round(tally.share("wrong turns", "turns"), 4),
        "done_wrong_of_order_turns": round(tally.share("wrong order turns", "order turns"), 4),
        "orders_carried_out": round(tally.share("orders done", "orders"), 3),
        "changes_carried_out": round(tally.share("changes done", "changes"), 3),
        "changes_asked_rightly": round(tally.share("changes asked", "changes"), 3),
        "asked_needlessly": round(tally.share("needless turns", "turns"), 4),
        "left_as_asked": f"{n['stays done']}/{n['stays']}",
        "by_act": {act: f"{n[f'done {act}']}/{n[f'gold {act}']}, wrong {n[f'wrong {act}']}" for act in ACTS},
    }


def main(paths: Sequence[str]) -> None:
    """Figures of what is shipped, by file."""
    reader, moves = open_reader(), open_move_reader()
    found = {}
    for path in map(Path, paths):
        turns = [
            TurnRead(case, dialogue, understand(scene_of(case, dialogue), reader=reader, moves=moves))
            for dialogue in load(path)
            for case in cases(dialogue)
        ]
        found[path.stem] = as_figures(judge_turns(turns, moves.bars, changes=moves.name != "linear"))
        print(path, json.dumps(found[path.stem]), flush=True)
    keep("judge hands, decided", found)


if __name__ == "__main__":
    main(sys.argv[1:])
