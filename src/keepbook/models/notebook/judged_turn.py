"""The clauses of a turn, each with how sure its act is, the orders it holds and the lines it points at. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepbook.book.text.opposites import same_saying
from keepbook.book.text.words import fold_text
from keepbook.models.notebook import change
from keepbook.models.notebook.lists.orders import Order
from keepbook.models.notebook.quote import is_fragment, is_hushed, is_shred, may_stand, quotation
from keepbook.models.notebook.read import OWN, Clause
from keepbook.models.notebook.values import QuotedLine, Scene, Target, TurnStep
from keepbook.models.reader.moves import MoveBars

EXPLICIT = ("withdraw", "never", "change", "undo")
"""Orders that the closed lists know for sure: each is undone in one step."""
PERHAPS_TALK = 0.3
"""From which likelihood on a clause may be talk although it has the words of an order: "Note to self", "forget the oat
milk" in a recipe."""
UNHEARD, HEARD = 0.02, 0.7
"""Where it may be talk: less of the order than the one, and it is none; less than the other, and it is asked about."""
DOUBTED = 0.7
"""From this doubt on an explicit order, too, is asked about: it may mean another line. An undo means none: it takes
back what was done last."""


class JudgedTurn:
    """The clauses of one turn, and what of them may be kept as a line of its own."""

    def __init__(
        self,
        scene: Scene,
        clauses: Sequence[Clause],
        bars: MoveBars,
        orders: Sequence[Order],
        *,
        changes: bool,
        learned: bool,
    ) -> None:
        self.scene: Scene = scene
        self.clauses: Sequence[Clause] = clauses
        self.bars: MoveBars = bars
        self.changes: bool = changes
        self.orders: Sequence[Order] = orders
        self.learned: bool = learned
        self.judged: list[ActJudgement] = [
            judge_clause(clause, self.order_in(clause), bars, learned=learned) for clause in clauses
        ]
        self.targets: dict[str, Target] = {one.id: one for one in scene.targets}

    # Orders and lines

    def order_in(self, clause: Clause, *acts: str) -> Order | None:
        """The first order that begins in the clause, of these acts or of any."""
        inside = (one for one in self.orders if clause.start <= one.start < clause.end)
        return next((one for one in inside if not acts or one.act in acts), None)

    def matter_of(self, order: Order | None) -> str:
        """What an order names, in the person's words, without the reason that may follow."""
        if order is None:
            return ""
        words = self.scene.turn.text[order.rest_start : order.rest_end]
        named, _, reason = words.partition(",")
        return (words if is_fragment(reason) else named).strip(" .,!?")

    def targets_of(self, clause: Clause, bar: float, *kinds: str) -> list[Target]:
        """The lines that a clause points at, the likeliest first."""
        chances = sorted(clause.move.points.items(), key=lambda item: -item[1])
        found = [self.targets[id] for id, chance in chances if chance >= bar and id in self.targets]
        return [one for one in found if not kinds or one.kind in kinds]

    def pointed_clauses(self, clause: Clause, bar: float) -> list[int]:
        """The clauses of this turn that a clause points at."""
        chances = clause.move.points.items()
        return [int(id.removeprefix(OWN)) for id, chance in chances if id.startswith(OWN) and chance >= bar]

    def said_in_last_turn(self) -> list[Target]:
        """The lines that the person's last turn gave, would give or put back: what "forget that" alone means."""
        before = [one.number for one in self.scene.turns[:-1] if one.role == "user"][-1:]
        here = [one for one in self.scene.targets if one.thread_id in (None, self.scene.thread_id)]
        gave = [one for one in here if any(span.turn in before for span in one.spans)]
        return gave or [one for one in self.scene.targets if one.id in self.scene.touched]

    def said_again(self, clause: Clause) -> Target | None:
        """The line that says the same in the same words, also where the reader does not see it."""
        lines = [one for one in self.scene.targets if one.kind == "memory" and one.subject is None]
        return next((one for one in lines if same_saying(one.content, clause.text)), None)

    def states(self, at: int) -> bool:
        return self.judged[at].act in ("say", "change") or self.clauses[at].verdict != "leave"

    # A line of its own

    def new_line(self, at: int, *, ordered: bool) -> list[TurnStep]:
        """Written, offered or left, as the preset's consent has it."""
        clause = self.clauses[at]
        line = quotation(self.scene, clause, ordered=ordered)
        if line is None or not self.may_keep(line) or not change.says_more_than_a_value(line):
            return []
        only_a_value = self.judged[at].act in ("answer", "change", "end") and is_fragment(line.content)
        if self.learned and only_a_value and len(line.spans) == 1 and not ordered:
            return []  # "sorry, Bergen, not Oslo" says nothing without what it answers or changes
        stated = self.judged[at].act != "talk"
        sure = ordered or (clause.verdict == "keep" and line.standing and stated)
        if not sure and self.learned and is_shred(line):
            return []
        return [self.keep_step(clause, line, sure=sure)]

    def keep_step(self, clause: Clause, line: QuotedLine, *, sure: bool) -> TurnStep:
        asks_first = self.scene.preset.consent == "ask" and not line.ordered
        if sure and not asks_first:
            return TurnStep("keep", clause.start, clause.end, quotation=line)
        return TurnStep("offer", clause.start, clause.end, quotation=line, question="keep")

    def may_keep(self, line: QuotedLine) -> bool:
        if not all(may_stand(self.scene, span) for span in line.spans if span.kind != "question"):
            return False
        if is_hushed(self.scene, line.content):
            return False
        return line.ordered or fold_text(line.content) not in self.scene.declined


@dataclass(frozen=True, slots=True)
class ActJudgement:
    """How sure a clause's act is."""

    act: str
    sure: bool
    likely: bool


def judge_clause(clause: Clause, order: Order | None, bars: MoveBars, *, learned: bool) -> ActJudgement:
    """As learned; but an explicit order to take something back is one, unless the reader is sure that it is talk."""
    if order is not None and order.act in EXPLICIT and is_heard(clause, order, learned=learned):
        doubted = learned and order.act != "undo" and clause.move.unsure >= DOUBTED
        sure = is_meant(clause, order, learned=learned) and not doubted
        return ActJudgement(order.act, sure=sure, likely=True)
    if order is not None and not learned and order.act != "talk":
        return ActJudgement(order.act, sure=True, likely=True)
    act = clause.move.act
    chance = clause.move.acts[act]
    careful = clause.move.unsure < bars.unsure_most[act]
    return ActJudgement(act, chance >= bars.sure[act] and careful, chance >= bars.likely[act])


def is_heard(clause: Clause, order: Order, *, learned: bool) -> bool:
    """Whether a clause with the words of an order is one at all, as the reader has it."""
    return _has_more_than(UNHEARD, clause, order, learned=learned)


def is_meant(clause: Clause, order: Order, *, learned: bool) -> bool:
    """Whether a clause with the words of an order surely is one: otherwise it is asked about."""
    return _has_more_than(HEARD, clause, order, learned=learned)


def _has_more_than(least: float, clause: Clause, order: Order, *, learned: bool) -> bool:
    """What names nothing ("forget that", "just kidding") is an order however it is read."""
    acts = clause.move.acts
    names = order.rest_start < order.rest_end
    chance = acts[order.act]
    if order.act == "never":  # "stop remembering stuff about work" has the words of both
        chance += acts["off"]
    return not learned or not names or acts["talk"] < PERHAPS_TALK or chance >= least
