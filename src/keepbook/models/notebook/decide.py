"""What the clauses of a turn do to the book. Pure: nothing is read or written here.

A step is carried out only if the act is sure, its target is sure, and nothing is lost by it. Otherwise the new words
are kept beside the old line, or offered, and the person is asked. Two dated lines that disagree are honest; a true line
that vanished is not.
"""

from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.text.opposites import opposite, same_saying
from keepbook.book.text.topics import topics_named_in
from keepbook.book.text.words import fold_text, polarity
from keepbook.extension import load_part
from keepbook.models.notebook import change
from keepbook.models.notebook.compatible_steps import compatible_steps
from keepbook.models.notebook.consent import answer_steps
from keepbook.models.notebook.heard import is_heard, judge_clause
from keepbook.models.notebook.lists.answers import whole_answer
from keepbook.models.notebook.lists.matters import has_words_of, lines_named, named_elsewhere, same_lines
from keepbook.models.notebook.lists.orders import Order, is_standing, orders_of_turn
from keepbook.models.notebook.lists.topics import topic_groups_of, topics_of
from keepbook.models.notebook.quote import is_fragment, is_hushed, is_shred, may_stand, quotation
from keepbook.models.notebook.read import OWN, Clause, Understood
from keepbook.models.notebook.reply.phrases import asks
from keepbook.models.notebook.values import NEW, NOTEBOOK, QuotedLine, Scene, Target, TurnStep
from keepbook.models.reader.moves import MoveBars

MOST_QUESTIONS = 3
"""So many questions a chat puts; the rest wait in Review."""
MOST_OPTIONS = 5
MOST_OF_TOPIC = 20
"""So many lines of a topic are listed when it is to be forgotten or banned."""
STATEMENTS = ("say", "change", "end", "talk")
BEYOND_DOUBT = 0.95
FEW_WORDS = 8
"""So many words at most only name one of several."""
IDLE = 0.75
"""From which likelihood on a clause is talk, whatever the reader finds worth keeping in it."""
_EVERYTHING = frozenset({"everything", "all", "me", "it all", "all of it", "everything about me", "all about me"})


def decide_steps(scene: Scene, read: Understood, bars: MoveBars, *, changes: bool = True) -> list[TurnStep]:
    """The steps of a turn, in the order of its words. Without `changes` (no embedder) nothing is changed, ended or
    exchanged: such clauses are kept or offered like any other."""
    if (answered := answer_steps(scene, whole_answer(scene.turn.text))) is not None:
        return answered
    if _names_one_of_several(scene):
        return []
    orders = orders_of_turn(scene.turn.text)
    learned = read.language == "en"
    turn = _Turn(scene, read.clauses, bars, orders, changes=changes and learned, learned=learned)
    if scene.editing is not None:
        return turn.edit(scene.editing)
    # Of a feeling nothing is made; what is ordered or answered beside it holds.
    heard = [at for at in range(len(read.clauses)) if read.feeling is None or not turn.only_tells(at)]
    steps = [step for at in heard for step in turn.clause_steps(at)]
    return compatible_steps(steps, scene)


def _names_one_of_several(scene: Scene) -> bool:
    """Whether a turn only says which one was meant, as the last reply asked: nothing to keep."""
    last = scene.turns[-2] if len(scene.turns) > 1 else None
    if last is None or last.speaker != NOTEBOOK or not asks(last.text, "which_end"):
        return False
    return len(scene.turn.text.split()) <= FEW_WORDS


def _asks_extension(scene: Scene, text: str) -> bool:
    """Whether it asks for something of an extension that the preset names."""
    named = [one for one in scene.extensions if one.name in scene.preset.extensions]
    return any(load_part(asks_for)(text, "en") for one in named for asks_for in one.asks)


def _contradicts(line: str, words: str) -> bool:
    """Whether words that point at a line say no to it: opposites are not repeats, however sure the pointer is."""
    return polarity(line) != polarity(words) or opposite(line, words)


class _Turn:
    """The clauses of one turn, decided one after the other."""

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
        self.scene, self.clauses, self.bars, self.changes = scene, clauses, bars, changes
        self.orders, self.learned = orders, learned
        self.judged = [judge_clause(clause, self._order_in(clause), bars, learned=learned) for clause in clauses]
        self.targets = {one.id: one for one in scene.targets}

    def only_tells(self, at: int) -> bool:
        """Whether a clause is a statement, which orders and answers nothing."""
        return self.judged[at].act in STATEMENTS and self._order_in(self.clauses[at]) is None

    def clause_steps(self, at: int) -> list[TurnStep]:
        clause, judged = self.clauses[at], self.judged[at]
        order = self._order_in(clause)
        if order is not None and self._tells_to_keep(clause, order) and judged.act != "ask":
            return self._keep_rest(clause, order)
        match judged.act:
            case "withdraw" if judged.likely:
                return self._withdraw(at)
            case "never" if judged.likely:
                return self._never(at)
            case "undo" if judged.sure:
                return [TurnStep("undo", clause.start, clause.end)]
            case "off" if judged.sure and self._is_ordered_off(clause):
                return [TurnStep("off", clause.start, clause.end)]
            case "keep" if judged.sure:
                return self._keep_pointed(at)
            case "change" | "end" if judged.likely and self.changes:
                return self._change_steps(at)
            case "answer" if judged.sure:
                return self._answer_steps(at)
            case "say" | "change" | "end" | "talk" | "answer":
                return self._statement(at)
        return []

    def _tells_to_keep(self, clause: Clause, order: Order) -> bool:
        """Whether an order tells what is to be kept, and the reader does not take it for talk."""
        told = order.act == "keep" and order.rest_start < order.rest_end
        return told and is_heard(clause, order, learned=self.learned)

    def _is_ordered_off(self, clause: Clause) -> bool:
        """To keep nothing for a whole turn, an order must say so in so many words, or be beyond doubt."""
        order = self._order_in(clause)
        return clause.move.acts["off"] >= BEYOND_DOUBT or (order is not None and order.act == "off")

    def edit(self, target: Target) -> list[TurnStep]:
        """The person's word on what a memory should say: a sentence takes its place, a value is exchanged in it."""
        text = self.scene.turn.text
        if any(order.act == "withdraw" and order.rest_start == order.rest_end for order in self.orders):
            return [TurnStep("withdraw", 0, len(text), targets=(target,))]
        meant = max(self.clauses, key=lambda one: one.move.points.get(target.id, 0.0), default=None)
        if meant is None:
            return []
        start = change.wording_start(text)
        if start is None:
            found = change.next_version(self.scene, meant, target, self.bars)
        else:
            wording = quotation(self.scene, replace(meant, start=start, end=len(text)), ordered=True)
            found = change.NextVersion(wording, certain=wording is not None)
        if found is None or not self._is_wording(meant, found, told=start is not None):
            return []
        step = TurnStep(
            "change", 0, len(text), target=target, mistake=self._is_mistake(meant), quotation=found.quotation
        )
        step = replace(step, exchange=found.exchange, content=found.content)
        done = found.certain and not found.beside and (self.changes or start is not None)
        return [step] if done else [replace(step, act="which", question="change")]

    def _is_wording(self, meant: Clause, found: change.NextVersion, *, told: bool) -> bool:
        """Whether an answer to "what should it say instead?" says so: thanks, a question or a no does not."""
        if not self._may_say(found):
            return False
        return told or found.exchange is not None or meant.verdict != "leave"

    # Lines that are pointed at

    def targets_of(self, clause: Clause, bar: float, *kinds: str) -> list[Target]:
        """The lines that a clause points at, the likeliest first."""
        chances = sorted(clause.move.points.items(), key=lambda item: -item[1])
        found = [self.targets[id] for id, chance in chances if chance >= bar and id in self.targets]
        return [one for one in found if not kinds or one.kind in kinds]

    def pointed_clauses(self, clause: Clause, bar: float) -> list[int]:
        """The clauses of this turn that a clause points at."""
        chances = clause.move.points.items()
        return [int(id.removeprefix(OWN)) for id, chance in chances if id.startswith(OWN) and chance >= bar]

    # Orders

    def _withdraw(self, at: int) -> list[TurnStep]:
        clause, judged = self.clauses[at], self.judged[at]
        order = self._order_in(clause)
        matter = self._matter(order)
        if order is not None and fold_text(matter) in _EVERYTHING:
            return [TurnStep("erase", clause.start, clause.end)]
        if (ahead := self._ahead(at)) is not None:
            return [ahead]
        named = lines_named(order, matter, self.scene.targets)
        if self.scene.topic_lines and topic_groups_of(matter) and not same_lines(named, self.scene.topic_lines):
            return [self._ask_topic(clause, matter)]
        meant = named or self.targets_of(clause, self.bars.point_sure)
        here = self.pointed_clauses(clause, self.bars.point_sure)
        if meant and (others := named_elsewhere(matter, meant, self.scene.targets)):
            lines = tuple([*meant, *others][:MOST_OPTIONS])
            return [TurnStep("which", clause.start, clause.end, targets=lines, question="which", matter=matter)]
        if judged.sure and (meant or here) and has_words_of(matter, meant):
            return [self._withdraw_step(clause, meant, here, matter)]
        maybe = (named or self.targets_of(clause, self.bars.point_likely, "memory", "offered"))[:MOST_OPTIONS]
        if maybe:
            return [TurnStep("which", clause.start, clause.end, targets=tuple(maybe), question="which", matter=matter)]
        if judged.sure:
            return [TurnStep("withdraw", clause.start, clause.end, matter=matter)]
        return []

    def _order_in(self, clause: Clause, *acts: str) -> Order | None:
        """The first order that begins in the clause, of these acts or of any."""
        inside = (one for one in self.orders if clause.start <= one.start < clause.end)
        return next((one for one in inside if not acts or one.act in acts), None)

    def _matter(self, order: Order | None) -> str:
        """What an order names, in the person's words, without the reason that may follow."""
        if order is None:
            return ""
        words = self.scene.turn.text[order.rest_start : order.rest_end]
        named, _, reason = words.partition(",")
        return (words if is_fragment(reason) else named).strip(" .,!?")

    def _ahead(self, at: int) -> TurnStep | None:
        """ "Don't keep this": the statements of the same turn that it stands beside."""
        clause = self.clauses[at]
        if clause.move.ahead < self.bars.ahead_sure:
            return None
        beside = self.clauses[at + 1 :] or self.clauses[:at]
        taken = tuple((self.scene.turn.number, one.start, one.end) for one in beside)
        return TurnStep("withdraw", clause.start, clause.end, withdrawn=taken) if taken else None

    def _withdraw_step(self, clause: Clause, meant: Sequence[Target], here: Sequence[int], matter: str) -> TurnStep:
        number = self.scene.turn.number
        taken = [(number, self.clauses[at].start, self.clauses[at].end) for at in here]
        for one in meant:
            if one.thread_id == self.scene.thread_id or one.kind == "said":
                taken += [(span.turn, span.start, span.end) for span in one.spans if span.kind == "said"]
        return TurnStep(
            "withdraw", clause.start, clause.end, targets=tuple(meant), withdrawn=tuple(taken), matter=matter
        )

    def _never(self, at: int) -> list[TurnStep]:
        clause, judged = self.clauses[at], self.judged[at]
        order = self._order_in(clause, "never")
        topics = topics_of(self._matter(order)) if order is not None else tuple(topics_named_in(clause.text))
        if not topics or not judged.sure:
            return []
        ban = TurnStep("never", clause.start, clause.end, topics=topics)
        return [ban, self._ask_topic(clause)] if self.scene.topic_lines else [ban]

    def _ask_topic(self, clause: Clause, matter: str = "") -> TurnStep:
        """Whether what the book has of a topic is to go."""
        lines = self.scene.topic_lines[:MOST_OF_TOPIC]
        return TurnStep("which", clause.start, clause.end, targets=lines, question="which", matter=matter)

    def _keep_rest(self, clause: Clause, order: Order) -> list[TurnStep]:
        """ "Remember that my flight is on the 14th": what stands behind the order, on the person's word; where not
        all of it may stand, the clause of the order."""
        for end in (order.rest_end, min(order.rest_end, clause.end)):
            rest = replace(clause, start=order.rest_start, end=end, text=self.scene.turn.text[order.rest_start : end])
            line = quotation(self.scene, rest, ordered=True)
            if line is not None and self._may_keep(line):
                return [self._keep_step(rest, line, sure=True)]
        return []

    def _keep_pointed(self, at: int) -> list[TurnStep]:
        """ "Remember that": a line that was offered or said is kept on the person's word."""
        clause = self.clauses[at]
        if self._next_statement(at) is not None:
            return []  # the statement that follows is kept as ordered
        if at > 0 and self._order_in(clause) is not None:
            return self._new(at - 1, ordered=True)  # "…. Please note that."
        for one in self.targets_of(clause, self.bars.point_sure):
            if one.kind == "offered":
                return [TurnStep("answer", clause.start, clause.end, proposal=one.id, choice="keep")]
            if one.kind == "said":
                return self._keep_said(clause, one)
        here = self.pointed_clauses(clause, self.bars.point_sure)
        if here:
            return self._new(here[0], ordered=True)
        before = [one for one in range(at) if self._states(one)]
        return self._new(before[-1], ordered=True) if before else []

    def _keep_said(self, clause: Clause, one: Target) -> list[TurnStep]:
        made = QuotedLine(one.spans, one.content, self.scene.preset.default_category, ordered=True, score=1.0)
        return [TurnStep("keep", clause.start, clause.end, quotation=made)]

    def _next_statement(self, at: int) -> int | None:
        return at + 1 if at + 1 < len(self.clauses) and self._states(at + 1) else None

    def _states(self, at: int) -> bool:
        return self.judged[at].act in ("say", "change") or self.clauses[at].verdict != "leave"

    # Statements

    def _is_ordered(self, at: int) -> bool:
        return at > 0 and self.judged[at - 1].act == "keep" and self.judged[at - 1].sure

    def _statement(self, at: int) -> list[TurnStep]:
        clause = self.clauses[at]
        ordered = self._is_ordered(at) or (clause.verdict != "leave" and is_standing(clause.text))
        if not ordered and (clause.verdict == "leave" or clause.move.acts["talk"] >= IDLE):
            return []
        if _asks_extension(self.scene, clause.text):
            return []  # the reply answers it
        lines = self.targets_of(clause, self.bars.point_sure, "memory")
        known = [one for one in lines if not _contradicts(one.content, clause.text)]
        if known and self.judged[at].act == "say" and self.judged[at].sure:
            return [TurnStep("repeat", clause.start, clause.end, target=known[0])]
        if (again := self._said_again(clause)) is not None:
            return [TurnStep("repeat", clause.start, clause.end, target=again)]
        return self._new(at, ordered=ordered)

    def _said_again(self, clause: Clause) -> Target | None:
        """The line that says the same in the same words, also where the reader does not see it."""
        lines = [one for one in self.scene.targets if one.kind == "memory" and one.subject is None]
        return next((one for one in lines if same_saying(one.content, clause.text)), None)

    def _new(self, at: int, *, ordered: bool) -> list[TurnStep]:
        """A line of its own: written, offered or left, as the preset's consent has it."""
        clause = self.clauses[at]
        line = quotation(self.scene, clause, ordered=ordered)
        if line is None or not self._may_keep(line) or not change.says_more_than_a_value(line):
            return []
        stated = self.judged[at].act != "talk"
        sure = ordered or (clause.verdict == "keep" and line.standing and stated)
        if not sure and self.learned and is_shred(line):
            return []
        return [self._keep_step(clause, line, sure=sure)]

    def _keep_step(self, clause: Clause, line: QuotedLine, *, sure: bool) -> TurnStep:
        asks_first = self.scene.preset.consent == "ask" and not line.ordered
        if sure and not asks_first:
            return TurnStep("keep", clause.start, clause.end, quotation=line)
        return TurnStep("offer", clause.start, clause.end, quotation=line, question="keep")

    def _may_keep(self, line: QuotedLine) -> bool:
        if not all(may_stand(self.scene, span) for span in line.spans if span.kind != "question"):
            return False
        if is_hushed(self.scene, line.content):
            return False
        return line.ordered or fold_text(line.content) not in self.scene.declined

    # Changes

    def _change_steps(self, at: int) -> list[TurnStep]:
        """A change or an end: done if the act and exactly one line are sure; else the new words stand beside."""
        clause, judged = self.clauses[at], self.judged[at]
        sure = self.targets_of(clause, self.bars.point_sure, "memory", "offered")
        maybe = self.targets_of(clause, self.bars.point_likely, "memory", "offered")
        here = self.pointed_clauses(clause, self.bars.point_sure)
        if not maybe and here:
            return self._repair_steps(at, here[0])
        if not maybe:
            return self._statement(at)
        if maybe[0].kind == "offered":
            return self._offered_anew(at, maybe[0])
        if maybe[0].id.startswith(NEW) or self._order_in(clause, "change"):
            sure = maybe[:1]  # nobody has written it yet, or it is the person's order: nothing is lost
        done = judged.sure and len(sure) == 1
        if judged.act == "end":
            return self._end_steps(at, sure if done else maybe, done)
        return self._replace_steps(at, maybe[0], done)

    def _offered_anew(self, at: int, old: Target) -> list[TurnStep]:
        """What was only offered is offered in its new words; what is over before it was kept is not offered."""
        clause = self.clauses[at]
        if self.judged[at].act == "end":
            return [TurnStep("withdraw", clause.start, clause.end, targets=(old,))]
        line = change.offered_anew(self.scene, clause, old, self.bars)
        if line is None or not self._may_keep(line):
            return self._statement(at)
        return [TurnStep("offer", clause.start, clause.end, target=old, quotation=line, question="keep")]

    def _end_steps(self, at: int, meant: Sequence[Target], done: bool) -> list[TurnStep]:
        clause = self.clauses[at]
        until = change.end_of(self.scene, clause)
        if done and not change.is_of_a_part(clause, meant[0]):
            return [TurnStep("end", clause.start, clause.end, target=meant[0], until=until)]
        beside = self._statement(at)
        asked = TurnStep("which", clause.start, clause.end, target=meant[0], until=until, question="over")
        worth_asking = len(meant) == 1 and change.is_related(clause, meant[0], self.bars)
        return [*beside, asked] if worth_asking else beside

    def _replace_steps(self, at: int, old: Target, done: bool) -> list[TurnStep]:
        clause = self.clauses[at]
        if self._order_in(clause, "change"):
            found = change.exchange_value(self.scene, clause, old, self.bars)
        else:
            found = change.next_version(self.scene, clause, old, self.bars)
        step = TurnStep("change", clause.start, clause.end, target=old, mistake=self._is_mistake(clause))
        if found is None or not self._may_say(found):
            return self._statement(at)
        repeats = found.quotation is not None and same_saying(old.content, found.quotation.content)
        meant = clause.move.points.get(old.id, 0.0) >= self.bars.point_sure
        if repeats or (meant and change.is_same_value(self.scene, clause, old)):
            return [TurnStep("repeat", clause.start, clause.end, target=old)]
        if not done and not change.is_related(clause, old, self.bars):
            return self._statement(at)
        step = replace(step, exchange=found.exchange, content=found.content)
        if found.beside:
            return [*self._new(at, ordered=False), replace(step, act="which", question="over")]
        step = replace(step, quotation=found.quotation)
        return [step] if done and found.certain else [replace(step, act="which", question="change")]

    def _may_say(self, found: change.NextVersion) -> bool:
        return found.quotation is None or self._may_keep(found.quotation)

    def _is_mistake(self, clause: Clause) -> bool:
        return clause.move.mistake >= self.bars.mistake_sure

    def _repair_steps(self, at: int, other: int) -> list[TurnStep]:
        """A slip mended in the turn that made it: the earlier clause with the value exchanged."""
        line = change.repair_slip(self.scene, self.clauses[other], self.clauses[at])
        if line is None or not self._may_keep(line):
            return self._statement(at)
        taken = ((self.scene.turn.number, self.clauses[other].start, self.clauses[other].end),)
        sure = self.judged[at].sure
        return [replace(self._keep_step(self.clauses[at], line, sure=sure), withdrawn=taken)]

    def _answer_steps(self, at: int) -> list[TurnStep]:
        """A learned answer: it names the choice of one open question for sure, or the question stays open."""
        clause = self.clauses[at]
        chosen = [
            (question.id, one.choice)
            for question in self.scene.questions
            for one in question.choices
            if clause.move.points.get(f"{question.id}/{one.choice}", 0.0) >= self.bars.point_sure
        ]
        if len(chosen) != 1:
            return []
        return [TurnStep("answer", clause.start, clause.end, proposal=chosen[0][0], choice=chosen[0][1])]
