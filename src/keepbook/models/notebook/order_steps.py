"""What an order to the memory does: withdraw, never, keep. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from keepbook.book.text.sentences import sentences
from keepbook.book.text.words import content_words, fold_text
from keepbook.models.notebook.change import says_more_than_a_value
from keepbook.models.notebook.judged_turn import JudgedTurn, is_meant
from keepbook.models.notebook.lists.matters import has_words_of, lines_named, named_elsewhere, names_several, same_lines
from keepbook.models.notebook.lists.orders import Order
from keepbook.models.notebook.lists.topics import topic_groups_of, topics_of, topics_spoken_of
from keepbook.models.notebook.quote import quotation
from keepbook.models.notebook.read import Clause
from keepbook.models.notebook.values import QuotedLine, Scene, Target, TurnStep

MOST_OPTIONS = 5
MOST_OF_TOPIC = 20
"""How many lines of a topic are listed when it is to be forgotten or banned."""
RATHER_TALK = 0.6
"""The least probability of talk at which what an order would keep is offered instead."""
_EVERYTHING = frozenset({"everything", "all", "me", "it all", "all of it", "everything about me", "all about me"})


# Taking back


def withdraw_steps(turn: JudgedTurn, at: int) -> list[TurnStep]:
    clause, judged = turn.clauses[at], turn.judged[at]
    order = turn.order_in(clause)
    matter = turn.matter_of(order)
    if order is not None and fold_text(matter) in _EVERYTHING:
        return [TurnStep("erase", clause.start, clause.end)]
    if (ahead := _words_beside(turn, at, order)) is not None:
        return [ahead]
    named = lines_named(order, matter, turn.scene.targets)
    if turn.scene.topic_lines and topic_groups_of(matter) and not same_lines(named, turn.scene.topic_lines):
        return [_ask_topic(turn.scene, clause.start, clause.end, matter)]
    pointed = turn.targets_of(clause, turn.bars.point_sure)
    all_meant = names_several(matter) or {one.id for one in named} <= {one.id for one in pointed}
    if len(named) > 1 and not all_meant:
        return [_which(clause, named, matter)]
    meant = named or pointed
    here = turn.pointed_clauses(clause, turn.bars.point_sure)
    if not matter and not meant and not here:
        return _withdraw_said_last(turn, at)
    if meant and (others := named_elsewhere(matter, meant, turn.scene.targets)):
        return [_which(clause, [*meant, *others], matter)]
    if judged.sure and (meant or here) and has_words_of(matter, meant):
        return [_withdraw_step(turn, clause, meant, here, matter)]
    if maybe := named or turn.targets_of(clause, turn.bars.point_likely, "memory", "offered"):
        return [_which(clause, maybe, matter)]
    if judged.sure or order is not None:  # it finds no line, so none is lost; what is named is left out from now on
        return [TurnStep("withdraw", clause.start, clause.end, matter=matter)]
    return []


def _which(clause: Clause, lines: Sequence[Target], matter: str = "") -> TurnStep:
    """Which of some lines is to go is asked."""
    some = tuple(lines[:MOST_OPTIONS])
    return TurnStep("which", clause.start, clause.end, targets=some, question="which", matter=matter)


def _words_beside(turn: JudgedTurn, at: int, order: Order | None) -> TurnStep | None:
    """ "Don't keep this": the words of its own sentence, else what it stands beside; nothing else that was said."""
    clause = turn.clauses[at]
    if clause.move.ahead < turn.bars.ahead_sure:
        return None
    if order is not None and order.ahead:
        spans = [(order.start, max(order.rest_end, clause.end))]
    elif clause.label == "hush":
        spans = [(clause.start, clause.end)]
    else:
        beside = (turn.clauses[one] for one in _clauses_beside(turn, at, order))
        spans = [(one.start, one.end) for one in beside]
    taken = tuple((turn.scene.turn.number, start, end) for start, end in spans)
    if taken:
        return TurnStep("withdraw", clause.start, clause.end, withdrawn=taken)
    return None


def _clauses_beside(turn: JudgedTurn, at: int, order: Order | None) -> list[int]:
    """The clauses that "don't keep this" stands beside: the sentence next to it, on the side that it points at, and
    what goes on as something that is not to be kept. Behind what it points back at, those before it."""
    before, after = list(range(at - 1, -1, -1)), list(range(at + 1, len(turn.clauses)))
    pointed = turn.pointed_clauses(turn.clauses[at], turn.bars.point_sure)
    points_back = order is not None and not order.ahead
    if pointed:
        points_back = pointed[0] < at
    if points_back:
        beside = before or after
    else:
        beside = after or before
    near = {_sentence_of(turn, one) for one in [*beside[:1], *pointed]}
    found = []
    for one in beside:
        if _sentence_of(turn, one) not in near and turn.clauses[one].label != "hush":
            break
        found.append(one)
    return sorted(found)


def _sentence_of(turn: JudgedTurn, at: int) -> int:
    """The number of the sentence in which a clause begins."""
    start = turn.clauses[at].start
    return sum(begin <= start for begin, _ in sentences(turn.scene.turn.text))


def _withdraw_said_last(turn: JudgedTurn, at: int) -> list[TurnStep]:
    """ "Forget that", where nothing else is meant: what was said before it in this turn, else what the last turn gave.
    Of several lines, or of one that said something else before, it is asked; so it is where it is only likely an
    order."""
    clause, sure = turn.clauses[at], turn.judged[at].sure
    before = [one for one in range(at) if turn.states(one)]
    if before:
        return [_withdraw_step(turn, clause, (), before[-1:], "")] if sure else []
    lines = turn.said_in_last_turn()
    kept = [one for one in lines if one.kind == "memory"]
    if kept and not (sure and len(kept) == 1 and kept[0].version == 1):
        return [_which(clause, kept)]
    if sure:
        return [_withdraw_step(turn, clause, lines, (), "")]
    return []


def _withdraw_step(
    turn: JudgedTurn, clause: Clause, meant: Sequence[Target], here: Sequence[int], matter: str
) -> TurnStep:
    number = turn.scene.turn.number
    taken = [(number, turn.clauses[at].start, turn.clauses[at].end) for at in here]
    for one in meant:
        if one.thread_id == turn.scene.thread_id or one.kind == "said":
            taken += [(span.turn, span.start, span.end) for span in one.spans if span.kind == "said"]
    return TurnStep("withdraw", clause.start, clause.end, targets=tuple(meant), withdrawn=tuple(taken), matter=matter)


def undo_steps(turn: JudgedTurn, at: int) -> list[TurnStep]:
    """What was done last is taken back; an order that names something else takes nothing back."""
    clause = turn.clauses[at]
    if _names_something_earlier(turn, clause):
        return []
    return [TurnStep("undo", clause.start, clause.end)]


def _names_something_earlier(turn: JudgedTurn, clause: Clause) -> bool:
    """Whether an undo names what was spoken of before, and not in the person's last turn or the reply to it."""
    earlier = [one.text for one in turn.scene.turns[:-1]]
    last = {word for text in earlier[-2:] for word in content_words(text)}
    known = {
        word for text in [*earlier[:-2], *(one.content for one in turn.scene.targets)] for word in content_words(text)
    }
    named = set(content_words(clause.text))
    return not named & last and bool(named & known)


# Topics


def never_steps(turn: JudgedTurn, at: int) -> list[TurnStep]:
    clause, judged = turn.clauses[at], turn.judged[at]
    order = turn.order_in(clause, "never")
    if order is not None:
        topics = topics_of(turn.matter_of(order))
    else:
        topics = topics_spoken_of(clause.text)
    if not topics:
        return []
    if not judged.sure:
        return [TurnStep("ban_asked", clause.start, clause.end, topics=topics)]
    return ban_steps(turn.scene, clause.start, clause.end, topics)


def ban_steps(scene: Scene, start: int, end: int, topics: tuple[str, ...]) -> list[TurnStep]:
    """A ban, and what becomes of the lines that there are about its topics."""
    ban = TurnStep("never", start, end, topics=topics)
    if scene.topic_lines:
        return [ban, replace(_ask_topic(scene, start, end), ordered=True)]
    return [ban]


def _ask_topic(scene: Scene, start: int, end: int, matter: str = "") -> TurnStep:
    """Whether what the book has of a topic is to go, all of it."""
    lines = scene.topic_lines[:MOST_OF_TOPIC]
    return TurnStep("which", start, end, targets=lines, question="which", matter=matter, whole=True)


# Keeping


def keep_named(turn: JudgedTurn, clause: Clause, order: Order) -> list[TurnStep]:
    """ "Remember that my flight is on the 14th": what stands behind the order, on the person's word; where not all of
    it may stand, the clause of the order."""
    for end in (order.rest_end, min(order.rest_end, clause.end)):
        rest = replace(clause, start=order.rest_start, end=end, text=turn.scene.turn.text[order.rest_start : end])
        line = quotation(turn.scene, rest, ordered=True)
        if line is not None and turn.may_keep(line):
            sure = is_meant(clause, order, learned=turn.learned) or clause.move.acts["talk"] < RATHER_TALK
            return [turn.keep_step(rest, line, sure=sure)]
    return []


def keep_pointed(turn: JudgedTurn, at: int) -> list[TurnStep]:
    """ "Remember that": a line that was offered or said is kept on the person's word."""
    clause = turn.clauses[at]
    if at + 1 < len(turn.clauses) and turn.states(at + 1):
        return []  # the statement that follows is kept as ordered
    if at > 0 and turn.order_in(clause) is not None:  # "…. Please note that."
        if turn.said_again(turn.clauses[at - 1]) is not None:
            return []
        return turn.new_line(at - 1, ordered=True)
    for one in turn.targets_of(clause, turn.bars.point_sure):
        if one.kind == "offered":
            return [TurnStep("answer", clause.start, clause.end, proposal=one.id, choice="keep")]
        if one.kind == "said":
            return _keep_said(turn, clause, one)
    here = turn.pointed_clauses(clause, turn.bars.point_sure)
    if here:
        return turn.new_line(here[0], ordered=True)
    before = [one for one in range(at) if turn.states(one)]
    if before:
        return turn.new_line(before[-1], ordered=True)
    return keep_told(turn, at)


def keep_told(turn: JudgedTurn, at: int) -> list[TurnStep]:
    """ "Please keep: the exam is on 14 March": what an order tells in the same breath; where it is not sure to be one,
    kept or offered like any statement."""
    clause = turn.clauses[at]
    if clause.verdict == "leave":
        return []
    head, _, told = clause.text.partition(":")
    if told.strip():
        clause = replace(clause, start=clause.start + len(head) + 1, text=told)
    ordered = turn.judged[at].sure
    line = quotation(turn.scene, clause, ordered=ordered)
    if line is None or not turn.may_keep(line) or not says_more_than_a_value(line):
        return []
    return [turn.keep_step(clause, line, sure=ordered or (clause.verdict == "keep" and line.standing))]


def _keep_said(turn: JudgedTurn, clause: Clause, one: Target) -> list[TurnStep]:
    made = QuotedLine(one.spans, one.content, turn.scene.preset.default_category, ordered=True, score=1.0)
    return [TurnStep("keep", clause.start, clause.end, quotation=made)]
