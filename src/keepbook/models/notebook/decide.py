"""What the clauses of a turn do to the book. Pure: nothing is read or written here.

A step is carried out only if the act is sure, its target is sure, and nothing is lost by it. Otherwise the new words
are kept beside the old line, or offered, and the person is asked. Two dated lines that disagree are honest; a true line
that vanished is not.
"""

from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.memory.proposals import Proposal
from keepbook.book.text.opposites import denies, opposite, same_saying
from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import polarity
from keepbook.extension import load_part
from keepbook.models.notebook import change
from keepbook.models.notebook.answers.consent import answer_steps
from keepbook.models.notebook.answers.forms import opens_with_answer, whole_answer
from keepbook.models.notebook.answers.free_answer import free_answer
from keepbook.models.notebook.feelings import is_despair
from keepbook.models.notebook.judged_turn import JudgedTurn, is_heard
from keepbook.models.notebook.lists.orders import Order, is_standing, orders_of_turn
from keepbook.models.notebook.order_steps import (
    keep_named,
    keep_pointed,
    keep_told,
    never_steps,
    undo_steps,
    withdraw_steps,
)
from keepbook.models.notebook.quote import is_fragment, quotation
from keepbook.models.notebook.read import Clause, Understood
from keepbook.models.notebook.reply.phrases import asks
from keepbook.models.notebook.values import NEW, NOTEBOOK, Scene, Target, TurnStep
from keepbook.models.reader.moves import MoveBars

MOST_QUESTIONS = 3
"""How many questions a chat puts by itself; the others wait in Review."""
STATEMENTS = ("say", "change", "end", "talk")
ORDERS = ("withdraw", "never", "undo", "keep", "off")
BEYOND_DOUBT = 0.95
FEW_WORDS = 8
"""An answer of at most this many words may only name one of several lines."""
IDLE = 0.75
"""The least probability of talk at which a clause is talk, whatever the reader finds worth keeping in it."""


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
    if scene.editing is None and (mended := turn.named_slip()):
        return mended
    free = free_answer(scene, read)
    if free is not None and free.alone:
        return [free.step]
    if scene.editing is not None:
        return turn.edit(scene.editing)
    # Of a feeling nothing is made; what is ordered, answered or surely worth keeping beside it holds.
    heard = [at for at in range(len(read.clauses)) if read.feeling is None or not turn.only_tells(at)]
    steps = [step for at in heard for step in turn.clause_steps(at)]
    if free is not None:
        steps = [free.step, *(step for step in steps if not _belongs_to_answer(step, free.question))]
    return compatible_steps(steps, scene)


def _belongs_to_answer(step: TurnStep, question: Proposal) -> bool:
    """Whether a step decides once more what a question was about that the same turn answers, or makes a line of words
    that only go with the answer: "yeah, since June"."""
    if step.act == "answer" or (step.quotation is not None and is_fragment(step.quotation.content)):
        return True
    touched = {one.id for one in (*step.targets, *([step.target] if step.target is not None else ()))}
    return bool(touched & {question.id, question.memory_id, *(one.memory_id for one in question.choices)})


def _names_one_of_several(scene: Scene) -> bool:
    """Whether a turn only says which one was meant, as the last reply asked: nothing to keep."""
    last = None
    if len(scene.turns) > 1:
        last = scene.turns[-2]
    if last is None or last.speaker != NOTEBOOK or not asks(last.text, "which_end"):
        return False
    return len(scene.turn.text.split()) <= FEW_WORDS


def _asks_extension(scene: Scene, text: str) -> bool:
    """Whether it asks for something of an extension that the preset names."""
    named = [one for one in scene.extensions if one.name in scene.preset.extensions]
    return any(load_part(asks_for)(text, "en") for one in named for asks_for in one.asks)


def _is_repeat(line: str, words: str) -> bool:
    """Whether words that surely point at a line can be a repeat of it: they neither say no to it (opposites are not
    repeats) nor bring a number that it lacks."""
    if polarity(line) != polarity(words) or opposite(line, words):
        return False
    return not change.brings_figures(line, words)


class _Turn(JudgedTurn):
    """The clauses of one turn, decided one after the other."""

    def only_tells(self, at: int) -> bool:
        """Whether a clause of a turn that tells a feeling is a statement, which orders and answers nothing, and is no
        fact: of what the reader would surely keep beside a feeling, eight in nine are facts; despair never is."""
        clause, act = self.clauses[at], self.judged[at].act
        if act == "say" and clause.verdict == "keep":
            return is_despair(clause.text, self.scene.sense)
        return act in STATEMENTS and self.order_in(clause) is None

    def clause_steps(self, at: int) -> list[TurnStep]:
        steps = self._steps_of(at)
        if self._is_order(at):
            return [replace(step, ordered=True) for step in steps]
        return steps

    def _is_order(self, at: int) -> bool:
        order = self.order_in(self.clauses[at])
        return self.judged[at].act in ORDERS or (order is not None and order.act != "talk")

    def _steps_of(self, at: int) -> list[TurnStep]:
        clause, judged = self.clauses[at], self.judged[at]
        order = self.order_in(clause)
        if order is not None and self._tells_to_keep(clause, order) and judged.act != "ask":
            return keep_named(self, clause, order)
        match judged.act:
            case "withdraw" if judged.likely:
                return withdraw_steps(self, at)
            case "never" if judged.likely:
                return never_steps(self, at)
            case "undo" if judged.sure:
                return undo_steps(self, at)
            case "off" if judged.sure and self._is_ordered_off(clause):
                return [TurnStep("off", clause.start, clause.end)]
            case "keep" if judged.sure:
                return keep_pointed(self, at)
            case "keep":
                return keep_told(self, at)
            case "say" | "change" | "end" if (denied := self._denied(clause)) is not None:
                return self._denial_steps(at, denied)
            case "change" | "end" if self.changes and (judged.likely or self._fills_frame(clause)):
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
        """Whether a clause surely orders to keep nothing of the whole turn: by explicit words, or beyond doubt."""
        order = self.order_in(clause)
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
        step = replace(step, exchange=found.exchange, content=found.content, until=found.since)
        done = found.certain and not found.beside and (self.changes or start is not None)
        if done:
            return [step]
        return [replace(step, act="which", question="change")]

    def _is_wording(self, meant: Clause, found: change.NextVersion, *, told: bool) -> bool:
        """Whether an answer to "what should it say instead?" says so: thanks, a question or a no does not."""
        if not self._may_say(found):
            return False
        return told or found.exchange is not None or meant.verdict != "leave"

    # Statements

    def _is_ordered(self, at: int) -> bool:
        return at > 0 and self.judged[at - 1].act == "keep" and self.judged[at - 1].sure

    def _statement(self, at: int) -> list[TurnStep]:
        clause = self.clauses[at]
        ordered = self._is_ordered(at) or (clause.verdict != "leave" and is_standing(clause.text))
        if not ordered and (clause.verdict == "leave" or clause.move.acts["talk"] >= IDLE):
            return []
        if _asks_extension(self.scene, clause.text) or self._answers_freely(clause):
            return []  # the reply answers it
        lines = self.targets_of(clause, self.bars.point_sure, "memory")
        known = [one for one in lines if _is_repeat(one.content, clause.text)]
        if known and self.judged[at].act == "say" and self.judged[at].sure:
            return [TurnStep("repeat", clause.start, clause.end, target=known[0])]
        if (again := self.said_again(clause)) is not None:
            return [TurnStep("repeat", clause.start, clause.end, target=again)]
        return self.new_line(at, ordered=ordered)

    def _answers_freely(self, clause: Clause) -> bool:
        """ "Yes to the name, no to the money": words for an open question, which no list knows, are no line."""
        return bool(self.scene.questions) and clause.verdict != "keep" and opens_with_answer(clause.text)

    # Changes

    def _denied(self, clause: Clause) -> Target | None:
        """The one line that a statement denies in that line's own words: there is nothing to guess."""
        if clause.verdict == "leave" or not self.changes:
            return None
        said = change.without_mending(clause.text)
        lines = [one for one in self.scene.targets if one.kind == "memory" and denies(said, one.content)]
        if len(lines) == 1:
            return lines[0]
        return None

    def _fills_frame(self, clause: Clause) -> bool:
        """Whether a clause says a line that it points at with another value: then a likely change is asked about."""
        lines = self.targets_of(clause, self.bars.point_likely, "memory")
        return len(lines) == 1 and change.fills_frame(clause.text, lines[0].content)

    def _denial_steps(self, at: int, denied: Target) -> list[TurnStep]:
        """The denial is the next version of the line."""
        clause = self.clauses[at]
        start = clause.end - len(change.without_mending(clause.text))
        line = quotation(self.scene, replace(clause, start=start))
        if line is None or not self.may_keep(line):
            return self._statement(at)
        step = TurnStep("change", clause.start, clause.end, target=denied, mistake=self._is_mistake(clause))
        return [replace(step, quotation=line, until=line.valid_from)]

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
        if maybe[0].id.startswith(NEW) or self.order_in(clause, "change"):
            sure = maybe[:1]  # nobody has written it yet, or it is the person's order: nothing is lost
        done = (judged.sure and len(sure) == 1) or self._mends_what_was_just_kept(clause, maybe)
        if judged.act == "end":
            return self._end_steps(at, sure if done else maybe, done)
        return self._replace_steps(at, maybe[0], done)

    def _mends_what_was_just_kept(self, clause: Clause, maybe: Sequence[Target]) -> bool:
        """Whether a slip is mended of the one line that the turn before has given: "sorry, 13th". It stood no longer
        than that, and what mends it is undone in one step."""
        if len(maybe) != 1 or maybe[0].version != 1 or maybe[0] not in self.said_in_last_turn():
            return False
        return clause.move.acts["change"] >= BEYOND_DOUBT and self._is_mistake(clause)

    def named_slip(self) -> list[TurnStep]:
        """A turn that only gives the right words for wrong ones of the line before it, and names both: "cashews, not
        peanuts"."""
        if len(self.clauses) != 1:
            return []
        clause = self.clauses[0]
        just = [one for one in self.said_in_last_turn() if one.version <= 1 and one.kind != "said"]
        found = [(one, change.named_exchange(self.scene, clause, one)) for one in just]
        named = [(one, version) for one, version in found if version is not None and version.exchange is not None]
        if len(named) != 1:
            return []
        old, version = named[0]
        step = TurnStep("change", clause.start, clause.end, target=old, mistake=True)
        if old.kind == "memory":
            return [replace(step, exchange=version.exchange, content=version.content)] if self.changes else []
        assert version.exchange is not None
        line = change.exchanged_offer(self.scene, clause, old, version.exchange)
        if line is None or not self.may_keep(line):
            return []
        return [replace(step, act="offer", quotation=line, question="keep")]

    def _offered_anew(self, at: int, old: Target) -> list[TurnStep]:
        """What was only offered is offered in its new words; what is over before it was kept is not offered."""
        clause = self.clauses[at]
        if self.judged[at].act == "end":
            return [TurnStep("withdraw", clause.start, clause.end, targets=(old,))]
        line = change.offered_anew(self.scene, clause, old, self.bars)
        if line is None or not self.may_keep(line):
            return self._statement(at)
        return [TurnStep("offer", clause.start, clause.end, target=old, quotation=line, question="keep")]

    def _end_steps(self, at: int, meant: Sequence[Target], done: bool) -> list[TurnStep]:
        clause = self.clauses[at]
        until = change.end_of(self.scene, clause)
        if done and not change.is_of_a_part(clause, meant[0]):
            return [TurnStep("end", clause.start, clause.end, target=meant[0], until=until)]
        beside = self._statement(at)
        asked = TurnStep("which", clause.start, clause.end, target=meant[0], until=until, question="over")
        worth_asking = len(meant) == 1 and self._can_be_asked(clause, meant[0])
        if worth_asking:
            return [*beside, asked]
        return beside

    def _can_be_asked(self, clause: Clause, old: Target) -> bool:
        """Whether "is that over?" can be asked of a line because of a clause."""
        return change.can_be_over(old) and change.is_same_matter(clause, old, self.bars)

    def _replace_steps(self, at: int, old: Target, done: bool) -> list[TurnStep]:
        clause = self.clauses[at]
        if self.order_in(clause, "change"):
            found = change.exchange_value(self.scene, clause, old, self.bars)
        else:
            found = change.next_version(self.scene, clause, old, self.bars)
        step = TurnStep("change", clause.start, clause.end, target=old, mistake=self._is_mistake(clause))
        if found is None or not self._may_say(found):
            return self._statement(at)
        if self._says_the_same(clause, old, found):
            return [TurnStep("repeat", clause.start, clause.end, target=old)]
        if change.is_same_value(self.scene, clause, old):
            return self._statement(at)
        if not done and not change.is_related(clause, old, self.bars):
            return self._statement(at)
        step = replace(step, exchange=found.exchange, content=found.content, until=found.since)
        if found.beside:
            beside = self.new_line(at, ordered=False)
            if not change.can_be_over(old):
                return beside
            if not beside:  # the words wait in the question
                return [replace(step, act="which", quotation=found.quotation, question="change")]
            return [*beside, replace(step, act="which", question="over")]
        if done and found.certain:
            return [replace(step, quotation=found.quotation)]
        return self._beside_and_asked(at, replace(step, quotation=found.quotation))

    def _beside_and_asked(self, at: int, step: TurnStep) -> list[TurnStep]:
        """A change that is not sure: words that can stand alone are kept beside the line, which is asked about; else
        it is asked whether the line is to say them."""
        unwritten = step.target is not None and step.target.id.startswith(NEW)
        stands = step.quotation is not None and not unwritten
        if stands:
            beside = self.new_line(at, ordered=False)
        else:
            beside = []
        if not any(one.act == "keep" for one in beside):
            return [replace(step, act="which", question="change")]
        if not change.can_be_over(step.target):
            return beside
        asked = TurnStep("which", step.start, step.end, target=step.target, until=step.until, question="over")
        return [*beside, asked]

    def _says_the_same(self, clause: Clause, old: Target, found: change.NextVersion) -> bool:
        if found.quotation is not None and same_saying(old.content, found.quotation.content):
            return True
        meant = clause.move.points.get(old.id, 0.0) >= self.bars.point_sure
        again = change.is_same_value(self.scene, clause, old) and change.adds_no_words(clause, old)
        return meant and again

    def _may_say(self, found: change.NextVersion) -> bool:
        return found.quotation is None or self.may_keep(found.quotation)

    def _is_mistake(self, clause: Clause) -> bool:
        return clause.move.mistake >= self.bars.mistake_sure

    def _repair_steps(self, at: int, other: int) -> list[TurnStep]:
        """A slip mended in the turn that made it: the earlier clause with the value exchanged."""
        line = change.repair_slip(self.scene, self.clauses[other], self.clauses[at])
        if line is None or not self.may_keep(line):
            return self._statement(at)
        taken = ((self.scene.turn.number, self.clauses[other].start, self.clauses[other].end),)
        sure = self.judged[at].sure
        return [replace(self.keep_step(self.clauses[at], line, sure=sure), withdrawn=taken)]

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


# Which steps of one turn can be done together


def compatible_steps(steps: Sequence[TurnStep], scene: Scene) -> list[TurnStep]:
    """The steps of a turn, without those that another step makes needless or forbids."""
    return [step for step in _once_each(steps) if _may_stand_beside(step, steps, scene)]


def _once_each(steps: Sequence[TurnStep]) -> list[TurnStep]:
    """The steps, without a line of words that an earlier step keeps, or an offer of words that another keeps or an
    earlier one offers."""
    kept = [one.quotation.content for one in steps if one.act not in ("keep", "offer") and one.quotation is not None]
    found: list[TurnStep] = []
    for step in sorted(steps, key=lambda one: one.act == "offer"):
        if step.act in ("keep", "offer") and step.quotation is not None:
            if any(step.quotation.content in other for other in kept):
                continue
            kept.append(step.quotation.content)
        found.append(step)
    return [one for one in steps if one in found]


def _may_stand_beside(step: TurnStep, steps: Sequence[TurnStep], scene: Scene) -> bool:
    """Nothing is kept of words that the same turn takes back, of a topic it forbids, or while it asks for no memory;
    nothing is asked about a line that it changes."""
    if step.act == "which" and step.target is not None:
        changed = [other.target.id for other in steps if other.act in ("change", "end") and other.target is not None]
        return step.target.id not in changed
    if step.quotation is None:
        return True
    if any(other.act == "off" for other in steps):
        return False
    words = step.quotation.content
    if any(find_topics(words, other.topics, scene.sense) for other in steps if other.act in ("never", "ban_asked")):
        return False
    number = scene.turn.number
    kept = [other for other in steps if other is not step]
    every = [span for other in kept for span in other.withdrawn]
    taken = [span for span in every if span[0] == number]
    return not any(step.start < end and start < step.end for _, start, end in taken)
