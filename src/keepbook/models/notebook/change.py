"""What the next version of a line says, and when the one before ends. Pure.

The first that fits: the new clause, if it can stand alone and the old line says nothing beyond the value in question;
the old line with the value exchanged, in a bracket; the new clause beside the old line, and a question.
"""

from dataclasses import dataclass, replace

from keepbook.book.ground.when import stamp
from keepbook.book.text.opposites import HOW_OFTEN
from keepbook.book.text.periods import names_date, period
from keepbook.book.text.quotation import Span, at_words, content_of, exchange_in_content, exchange_in_spans
from keepbook.book.text.words import content_words, fold_text, numbers, stem, tokens, word_set
from keepbook.errors import Invalid
from keepbook.models.notebook.quote import (
    FILLERS,
    category_of,
    day_in,
    is_fragment,
    names_nothing,
    quotation,
    speaks_of_self,
    trim,
)
from keepbook.models.notebook.read import OWN, Clause
from keepbook.models.notebook.values import QuotedLine, Scene, Target
from keepbook.models.reader.moves import MoveBars
from keepbook.patterns import regex


@dataclass(frozen=True, slots=True)
class NextVersion:
    """The words of the next version: a quotation, or an exchange and the content after it. `certain`: nothing is lost
    by writing it. `beside`: the old line says more, so the new words do not replace it. `since`: from when the words
    say that it holds."""

    quotation: QuotedLine | None = None
    exchange: tuple[tuple[int, int], Span] | None = None
    content: str | None = None
    certain: bool = False
    beside: bool = False
    since: str | None = None


def end_of(scene: Scene, clause: Clause) -> str:
    """When something ended: as the words say, else when they were said."""
    when = scene.turn.at or scene.now
    held = period(clause.text, when, scene.zone)
    return held.valid_until or held.valid_from or stamp(when)


def next_version(scene: Scene, clause: Clause, old: Target, bars: MoveBars) -> NextVersion | None:
    """The next version of a line; None if neither clause nor exchange makes one."""
    line = quotation(scene, clause)
    exchange = exchange_value(scene, clause, old, bars)
    if line is None or not has_frame(clause):
        return exchange
    if _is_covered(old, clause):
        return NextVersion(line, certain=line.standing, since=line.valid_from)
    if exchange is not None and (exchange.certain or is_fragment(clause.text)) and _adds_only_a_value(clause, old):
        return exchange
    if exchange is not None and exchange.certain and _rest_holds(clause, old):
        return exchange
    other = exchange or NextVersion()
    return NextVersion(line, other.exchange, other.content, beside=True, since=line.valid_from)


_MENDING = frozenset(map(stem, word_set("""
    sorry actually mean meant make made change changed should wait oops typo correction instead rather no not nope
""")))  # fmt: skip
"""Words that only say that something is mended."""
_CHANGING = frozenset(map(stem, word_set("change changed")))


def says_more_than_a_value(line: QuotedLine) -> bool:
    """Whether a clause can stand alone: it has words of a statement, or the question it answers. "Sorry, 65k" has
    neither, and "it's cashews" or "3 weeks now" says nothing of anything that it names."""
    if len(line.spans) > 1 or not line.content.isascii():
        return True
    words = [word for word in content_words(line.content) if not word[0].isdigit()]
    if not words:
        return speaks_of_self(line.content)  # "im 34"
    return not _MENDING.issuperset(words) and (line.ordered or not names_nothing(line.content))


_WORDING = frozenset(
    ["it should say", "it should be", "it says", "it is now", "it's now", "change it to", "make it", "write"]
)
"""Before a colon: what follows is the new wording of a line, word for word."""


def wording_start(text: str) -> int | None:
    """The position at which the new wording begins in an answer that announces it; None if it announces none."""
    head, colon, rest = text.partition(":")
    if not rest.strip() or fold_text(head).strip() not in _WORDING:
        return None
    return len(head) + len(colon)


def without_mending(text: str) -> str:
    """A text from the first word on that does more than fill or say that something is mended: "sorry, I live here"."""
    for word in _WORD.finditer(text):
        bare = "".join(tokens(word.group()))
        if bare and stem(bare) not in _MENDING | FILLERS:
            return text[word.start() :]
    return ""


def fills_frame(said: str, line: str) -> bool:
    """Whether a statement says a line's own words with another value in one place: "I live in Tromsø now" of "I live in
    Bodø"."""
    there, words = tokens(line), [word for word in tokens(without_mending(said)) if word not in HOW_OFTEN]
    alike = [one == other for one, other in zip(there, words, strict=False)]
    before = (*alike, False).index(False)
    shorter = min(len(there), len(words)) - before
    behind = [one == other for one, other in zip(reversed(there), reversed(words), strict=False)][:shorter]
    same = before + (*behind, False).index(False)
    return FRAME <= same < min(len(there), len(words))


FRAME = 2
"""So many words at least make the frame of a value."""
_WORD = regex(r"\S+")
_PARTS = regex(r"[,;:–—]|\b(?:and|but)\b")
"""Between the parts of a line."""


def has_frame(clause: Clause) -> bool:
    """Whether a clause says more than a value: it has a statement's words around it."""
    return clause.move.new is None or not (_MENDING | FILLERS).issuperset(_around_value(clause))


def _adds_only_a_value(clause: Clause, old: Target) -> bool:
    """Whether a clause says nothing beside the value that the old line does not: "not Rome: Milan"."""
    known = _MENDING | FILLERS | set(content_words(old.content))
    return known.issuperset(_around_value(clause))


HOLDS = 0.8
"""The least probability that the rest of a line, beside the value that changes, still holds."""
FEW_WORDS = 2
"""How many words a clause may have beside a value and still count as giving only that value."""


def _rest_holds(clause: Clause, old: Target) -> bool:
    """Whether a clause gives another value and nothing else, and surely leaves the rest of the line as it is: "the
    pension's 4,010 with the indexing" of "my pension is $3,900 a month"."""
    known = _MENDING | FILLERS | set(content_words(old.content))
    added = set(_around_value(clause)) - known
    return len(added) <= FEW_WORDS and clause.move.rest["stays"] >= HOLDS


def _around_value(clause: Clause) -> tuple[str, ...]:
    """The words of a clause without the value that it brings."""
    start, end, _ = clause.move.new or (clause.start, clause.start, 0.0)
    return content_words(f"{clause.text[: max(0, start - clause.start)]} {clause.text[max(0, end - clause.start) :]}")


def can_be_over(old: Target | None) -> bool:
    """Whether it can be asked if a line is over: of "our two kids", told in a fragment, nobody can say so."""
    return old is not None and (not old.quoted or not is_fragment(old.content))


def is_of_a_part(clause: Clause, old: Target) -> bool:
    """Whether a clause names one part of a line that has another: "no more Tuesdays" of "I run 6k, mostly Tuesdays"."""
    words = set(content_words(clause.text))
    parts = [set(content_words(part)) for part in _PARTS.split(old.content)]
    named = [part for part in parts if part & words]
    return bool(named) and any(len(part) > 1 and not part & words for part in parts)


def is_related(clause: Clause, old: Target, bars: MoveBars) -> bool:
    """Whether it is worth asking if a clause changes a line: it is a fragment, which gives a value, or is of the same
    matter."""
    return is_fragment(clause.text) or is_same_matter(clause, old, bars)


def is_same_matter(clause: Clause, old: Target, bars: MoveBars) -> bool:
    """Whether a clause has words of a line, or surely means it and is about the same person."""
    start, end, _ = clause.move.old.get(old.id, (0, 0, 0.0))
    rest = set(content_words(f"{old.content[:start]} {old.content[end:]}"))
    if rest & set(_around_value(clause)):
        return True
    own = old.subject is None and (not old.quoted or speaks_of_self(old.content))
    return clause.move.points.get(old.id, 0.0) >= bars.point_sure and speaks_of_self(clause.text) == own


def _is_covered(old: Target, clause: Clause) -> bool:
    """Whether an old line says nothing beyond the value in question: its other words are all said again."""
    start, end, _ = clause.move.old.get(old.id, (0, 0, 0.0))
    rest = f"{old.content[:start]} {old.content[end:]}"
    return set(content_words(rest)) <= set(content_words(clause.text))


def exchange_value(scene: Scene, clause: Clause, old: Target, bars: MoveBars) -> NextVersion | None:
    """The old line with a value exchanged, in a bracket."""
    place, new = clause.move.old.get(old.id), clause.move.new
    if place is None or new is None:
        return None
    start, end = trim(scene.turn.text, new[0], new[1])
    place = (*at_words(old.content, place[0], place[1]), place[2])
    place = (*_named_part(old.content, place[:2], _without_value(scene.turn.text, clause)), place[2])
    gone = old.content[place[0] : place[1]]
    start = _with_article(scene.turn.text, start, gone)
    value = scene.turn.text[start:end]
    if not value or not gone.strip():
        return None
    place = (place[0], _past_repeated(old.content, place[1], value), place[2])
    sure = min(place[2], new[2]) >= bars.stretch_sure and _may_exchange(clause, place[:2], old, value)
    span = Span(scene.turn.number, start, end, "exchanged")
    content = exchange_in_content(old.content, place[0], place[1], " ".join(value.split()))
    return NextVersion(None, (place[:2], span), content, certain=sure, since=_since_beside(scene, clause, start, end))


def _past_repeated(content: str, end: int, value: str) -> int:
    """The end of a stretch of a line, moved past words that the new value repeats: the "kg" of "84 kg" and "81 kg"."""
    words = value.split()
    for first in range(1, len(words)):
        tail = " " + " ".join(words[first:])
        follows = content[end + len(tail) : end + len(tail) + 1]
        if fold_text(content[end : end + len(tail)]) == fold_text(tail) and not follows.isalnum():
            return end + len(tail)
    return end


def _since_beside(scene: Scene, clause: Clause, start: int, end: int) -> str | None:
    """From when a new value holds, as the words beside it say: "make that 1,320 from January"."""
    text, when = scene.turn.text, scene.turn.at or scene.now
    return period(f"{text[clause.start : start]} {text[end : clause.end]}", when, scene.zone).valid_from


def _with_article(text: str, start: int, gone: str) -> int:
    """The start of a value, moved before its "the" or "a" if the value that it replaces has one."""
    articles = ("the", "a", "an")
    before = text[:start].rstrip()
    word = before.rpartition(" ")[2]
    if gone.partition(" ")[0].lower() in articles and word.lower() in articles:
        return len(before) - len(word)
    return start


def is_same_value(scene: Scene, clause: Clause, old: Target) -> bool:
    """Whether the new value is the one that stands there: then the line is only said again."""
    place, new = clause.move.old.get(old.id), clause.move.new
    if place is None or new is None:
        return False
    value, there = scene.turn.text[new[0] : new[1]], old.content[place[0] : place[1]]
    return bool(tokens(value)) and tokens(value) == tokens(there)


def adds_no_words(clause: Clause, old: Target) -> bool:
    """Whether a clause has no word of content that the line lacks, but for those that only say that it mends; who says
    that something has changed does not repeat it."""
    return set(content_words(clause.text)) <= (_MENDING - _CHANGING) | set(content_words(old.content))


def brings_figures(line: str, words: str) -> bool:
    """Whether words have a number that a line lacks."""
    return not numbers(words) <= numbers(line)


def _may_exchange(clause: Clause, place: tuple[int, int], old: Target, value: str) -> bool:
    """Whether no doubt is left which value goes: a figure or a date for the only one of the line, or one that the
    person names. A date does not go for a figure beside it."""
    gone, rest = old.content[slice(*place)], f"{old.content[: place[0]]} {old.content[place[1] :]}"
    if fold_text(gone) in fold_text(clause.text.replace(value, " ")):
        return True
    kinds = [is_of for is_of in (numbers, names_date) if is_of(gone)]
    return bool(kinds) and all(is_of(value) and not is_of(rest) for is_of in kinds)


def named_exchange(scene: Scene, clause: Clause, old: Target) -> NextVersion | None:
    """A line with the value exchanged that a fragment names: "cashews, not peanuts". All that it says beside the new
    value, and beside words that only mend, is a value of the line."""
    if clause.move.new is None or not is_fragment(clause.text):
        return None
    beside = {word for word in _around_value(clause) if word not in _MENDING | FILLERS}
    start, end = _named_part(old.content, (0, len(old.content)), _without_value(scene.turn.text, clause))
    if not beside or beside != set(content_words(old.content[start:end])):
        return None
    first, last = trim(scene.turn.text, *clause.move.new[:2])
    first = _with_article(scene.turn.text, first, old.content[start:end])
    value = " ".join(scene.turn.text[first:last].split())
    if not value or fold_text(value) == fold_text(old.content[start:end]):
        return None
    end = _past_repeated(old.content, end, value)
    content = exchange_in_content(old.content, start, end, value)
    return NextVersion(None, ((start, end), Span(scene.turn.number, first, last, "exchanged")), content, certain=True)


def _without_value(text: str, clause: Clause) -> str:
    """The words of a clause without the new value."""
    if clause.move.new is None:
        return clause.text
    start, end, _ = clause.move.new
    return f"{text[clause.start : max(clause.start, start)]} {text[min(clause.end, end) : clause.end]}"


def _named_part(content: str, place: tuple[int, int], said: str) -> tuple[int, int]:
    """The longest run of words in a stretch of a line that the person says again; the whole stretch where none is:
    "7, not 6" leaves "in May" where it is."""
    words = [(place[0] + one.start(), place[0] + one.end()) for one in _WORD.finditer(content[slice(*place)])]
    runs = [(first[0], last[1]) for at, first in enumerate(words) for last in words[at:]]
    again = f" {' '.join(tokens(said))} "
    named = [run for run in runs if f" {' '.join(tokens(content[slice(*run)]))} " in again]
    return max(named, key=lambda run: run[1] - run[0], default=place)


def offered_anew(scene: Scene, clause: Clause, old: Target, bars: MoveBars) -> QuotedLine | None:
    """An offered line of this chat in its new words: the clause, or the line with the value exchanged."""
    found = next_version(scene, clause, old, bars)
    if found is None or found.quotation is not None or found.exchange is None:
        return found.quotation if found is not None else None
    return exchanged_offer(scene, clause, old, found.exchange)


def exchanged_offer(
    scene: Scene, clause: Clause, old: Target, exchange: tuple[tuple[int, int], Span]
) -> QuotedLine | None:
    """An offered line with a value exchanged."""
    (start, end), new = exchange
    try:
        spans = exchange_in_spans(old.spans, scene.texts, start, end, new)
    except Invalid:
        return None
    return QuotedLine(spans, content_of(spans, scene.texts), category_of(scene, clause), score=clause.keep)


def repair_slip(scene: Scene, slip: Clause, mend: Clause) -> QuotedLine | None:
    """The quotation of a clause whose value a later clause of the same turn corrects ("on Monday, no, Tuesday")."""
    line = quotation(scene, slip)
    if line is None or mend.move.new is None:
        return None
    place = next((mend.move.old[id] for id in mend.move.old if id.startswith(OWN)), None)
    if place is None:
        return None
    gone = slip.text[place[0] : place[1]].strip()
    at = line.content.find(gone)
    start, end = trim(scene.turn.text, mend.move.new[0], mend.move.new[1])
    if not gone or at < 0 or start >= end:
        return None
    new = Span(scene.turn.number, start, end, "exchanged")
    try:
        spans = exchange_in_spans(line.spans, scene.texts, at, at + len(gone), new)
    except Invalid:
        return None
    when = scene.turn.at or scene.now
    content = content_of(spans, scene.texts)
    said_on = None
    if period(content, when, scene.zone).relative:
        said_on = day_in(when, scene.zone)
    return replace(line, spans=spans, content=content, said_on=said_on)
