"""Makes a quotation of a clause: the person's letters, the context they need, and since when they hold.

A quotation begins and ends at a word and is never reworded. What it needs to be understood (whom it speaks of, the
question it answers) is added as a stretch of its own, unless that is secret, withdrawn or of a topic that is never
kept.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from keepbook.book.ground.when import in_zone, zone_named
from keepbook.book.text.own_words import own_words
from keepbook.book.text.periods import period
from keepbook.book.text.quotation import Span, at_words, content_of
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.sentences import is_abbreviation, sentences
from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import content_words, fold_text, tokens, word_set
from keepbook.models.notebook.lists.orders import VERBS
from keepbook.models.notebook.read import CONTEXT, Clause
from keepbook.models.notebook.values import NOTEBOOK, ChatTurn, QuotedLine, Scene
from keepbook.models.reader.moves import Need

LONGEST = 200
LONGEST_QUESTION = 120
NEEDED, QUESTION_NEEDED, NEEDED_BY_SHE, NEEDED_BY_ALL = 0.5, 0.25, 0.2, 0.1
"""From which likelihood on other words are taken along, the question that was answered, words to what begins with
somebody unnamed, and words to what names nothing of its own."""
LEAD = 2
"""Words of content at most before an answer: "yes, well" before "about 48k a year"."""
FEW_WORDS = 3
"""So few words without a frame are not offered alone."""
FLOOR = 0.75
"""What is kept scores at least this: it is in every block until it fades."""
ORDERED = 0.95
FILLERS = word_set("""
    and but so also plus actually oh ooh well ok okay um umm uh er hmm hm btw anyway anyways yeah lol haha hey hi hello
""")
TRAILING = word_set("lol haha btw ok okay thanks thx please pls anyway though")
_TAILS = ("by the way", "just so you know")
_EDGE = " \t\n\r.,;:!?…-–—*•_/\\|\"'“”‘’«»()[]{}<>~="
_CLOSERS = {")": "(", "]": "["}
_OF_SELF = word_set("i i'm i'd i've i'll im ive we we're we've my our mine me us am")
_SOMEBODY = word_set("she her he his")


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without blanks, marks and fillers at either end."""
    start, end = _strip(text, start, end)
    while (after := _word_end(text, start, end)) < end and fold_text(text[start:after]) in FILLERS:
        start, end = _strip(text, after, end)
    while (before := _tail_start(text, start, end)) > start:
        start, end = _strip(text, start, before)
    if start < end:
        return at_words(text, start, end)
    return start, end


def _tail_start(text: str, start: int, end: int) -> int:
    """Where a filler at the end begins; `start` where there is none."""
    tail = next((one for one in _TAILS if fold_text(text[max(start, end - len(one)) : end]) == one), "")
    if tail and end - len(tail) > start and not text[end - len(tail) - 1].isalnum():
        return end - len(tail)
    before = _word_start(text, start, end)
    if fold_text(text[before:end]) in TRAILING:
        return before
    return start


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start] in _EDGE:
        start += 1
    while end > start and text[end - 1] in _EDGE and not _closes(text, start, end - 1):
        if text[end - 1] == "." and is_abbreviation(_last_word(text, start, end - 1)):
            break
        end -= 1
    return start, end


def _last_word(text: str, start: int, end: int) -> str:
    """The word that ends here, with the dots inside it."""
    at = end
    while at > start and (text[at - 1].isalnum() or text[at - 1] == "."):
        at -= 1
    return text[at:end]


def _closes(text: str, start: int, at: int) -> bool:
    """Whether the bracket at this place closes one inside the stretch."""
    opener = _CLOSERS.get(text[at])
    return opener is not None and opener in text[start:at]


def _word_end(text: str, start: int, end: int) -> int:
    at = start
    while at < end and (text[at].isalnum() or text[at] in "'’"):
        at += 1
    return at


def _word_start(text: str, start: int, end: int) -> int:
    at = end
    while at > start and (text[at - 1].isalnum() or text[at - 1] in "'’"):
        at -= 1
    return at


def quotation(scene: Scene, clause: Clause, *, ordered: bool = False) -> QuotedLine | None:
    """The line that a clause becomes; None if nothing is left of it."""
    turn = scene.turn
    start, end = trim(turn.text, clause.start, clause.end)
    if start >= end:
        return None
    own = Span(turn.number, start, end, "said")
    needed = _spans_needed(scene, clause, own, ordered=ordered)
    if needed:
        spans = _order_spans((*needed, own))
    else:
        spans = (own,)
    content = content_of(spans, scene.texts)
    standing = needed is not None and not _guesses_whom(clause, turn.text[start:end])
    if len(content) > LONGEST:
        spans, content, standing = _beginning(own, scene.texts)
    if len(content) < scene.preset.content_min or (len(spans) == 1 and not _says_something(content)):
        return None
    when = turn.at or scene.now
    held = period(turn.text[start:end], when, scene.zone)
    subject = None
    if clause.move.own < 0.5:
        subject = clause.move.who
    if ordered:
        score = ORDERED
    else:
        score = round(max(FLOOR, clause.keep), 3)
    said_on = None
    if held.relative:
        said_on = day_in(when, scene.zone)
    return QuotedLine(
        spans,
        content,
        category=category_of(scene, clause),
        subject=subject,
        score=score,
        ordered=ordered,
        valid_from=held.valid_from,
        valid_until=held.valid_until,
        said_on=said_on,
        standing=standing,
    )


def is_shred(line: QuotedLine) -> bool:
    """Whether a few words have neither the words of a statement nor added context: they mean nothing alone."""
    return len(line.spans) == 1 and len(line.content.split()) <= FEW_WORDS and is_fragment(line.content)


def _says_something(content: str) -> bool:
    """One word alone says nothing; in scripts without blanks a few letters do."""
    return len(content.split()) > 1 or not content.isascii()


def day_in(when: datetime, zone: str) -> str:
    """The day of an instant in the owner's zone."""
    return in_zone(when, zone_named(zone)).date().isoformat()


def category_of(scene: Scene, clause: Clause) -> str | None:
    if clause.categories:
        return clause.categories[0]
    if scene.preset.categories:
        return scene.preset.default_category
    return None


def _order_spans(spans: Sequence[Span]) -> tuple[Span, ...]:
    """The question first, then the stretches as they were said."""
    return tuple(sorted(spans, key=lambda one: (one.kind != "question", one.turn, one.start)))


def _beginning(own: Span, texts: dict[int, str]) -> tuple[tuple[Span, ...], str, bool]:
    """The beginning of what is too long, up to a word; it is for the person to say whether that is kept."""
    text = texts[own.turn]
    end = min(own.end, own.start + LONGEST)
    if end < own.end and text[end].isalnum():
        end = max(own.start + 1, text.rfind(" ", own.start, end))
    start, end = _strip(text, own.start, end)
    spans = (Span(own.turn, start, end, "said"),)
    return spans, content_of(spans, texts), False


# What it cannot stand without


_HEADS = VERBS | word_set("""
    i i'm i'd i've i'll im ive we we're we've he he's she she's they they're it it's this that that's there there's you
""")
"""Words that make a sentence of a fragment."""


def is_fragment(text: str) -> bool:
    """Whether words have a value and nothing that it is the value of: "around 48k a year", "our two kids"."""
    words = tokens(text)
    return _HEADS.isdisjoint(words) and not any(word.endswith("ed") and len(word) > FEW_WORDS for word in words)


def speaks_of_self(text: str) -> bool:
    return bool(_OF_SELF & set(tokens(text)))


def _spans_needed(scene: Scene, clause: Clause, own: Span, *, ordered: bool) -> tuple[Span, ...] | None:
    """The stretches taken along; None where one is needed and cannot be had."""
    words = scene.texts[own.turn][own.start : own.end]
    likely = [need for need in clause.move.needs if need.likely >= _need_bar(scene, need, words)]
    wanted = [need for need in likely if not _is_notebooks(_turn_of(scene, need))]
    found = []
    complete = ordered or scene.editing is not None  # the words of the line itself, as the person wants them
    if not wanted and not complete and (question := _answered_question(scene, own)) is not None:
        return (question,)
    for need in wanted:
        span = _along(scene, need, own)
        if span is None:
            return None
        found.append(span)
    if not (found or complete) and _means_somebody(words):
        return None
    return tuple(found)


def _means_somebody(words: str) -> bool:
    """Whether a clause begins with somebody who was named before it: "she has Parkinson's"."""
    first = next(iter(tokens(words)), "")
    return first.partition("'")[0] in _SOMEBODY


def _guesses_whom(clause: Clause, words: str) -> bool:
    """Whether it is not sure whom a clause means: "My sister met my aunt. She lives in Leeds." """
    likely = (need.likely for need in clause.move.needs)
    return _means_somebody(words) and max(likely, default=0.0) < NEEDED


def _answered_question(scene: Scene, own: Span) -> Span | None:
    """The question that a turn opens with an answer to, where the answer is a fragment."""
    text = scene.turn.text
    last = None
    if len(scene.turns) > 1:
        last = scene.turns[-2]
    if last is None or last.role == "user" or not last.text.rstrip().endswith("?"):
        return None
    opens = len(content_words(text[: own.start])) <= LEAD
    if opens and is_fragment(text[own.start : own.end]):
        return question_span(last)
    return None


def _is_notebooks(turn: ChatTurn | None) -> bool:
    """Whether the notebook said it: it only asks about its own lines, which belongs in none of them."""
    return turn is not None and turn.speaker == NOTEBOOK


def _need_bar(scene: Scene, need: Need, words: str) -> float:
    turn = _turn_of(scene, need)
    if turn is not None and turn.role != "user":
        return QUESTION_NEEDED
    if names_nothing(words):
        return NEEDED_BY_ALL
    if _means_somebody(words):
        return NEEDED_BY_SHE
    return NEEDED


def names_nothing(words: str) -> bool:
    """Whether words have nothing that they speak of: "it's cashews", "3 weeks now"."""
    named = {word for word in content_words(words) if not word[0].isdigit()}
    return len(named) < 2 and not speaks_of_self(words)


def _turn_of(scene: Scene, need: Need) -> ChatTurn | None:
    """The turn that a need lies in, counted as the reader was shown them."""
    at = need.turn + len(scene.turns) - 1 - _shown_before(scene)
    if 0 <= at < len(scene.turns):
        return scene.turns[at]
    return None


def _along(scene: Scene, need: Need, own: Span) -> Span | None:
    """A stretch that may be taken along, counted in the stored turn."""
    turn = _turn_of(scene, need)
    if turn is None:
        return None
    if turn.role != "user":
        return question_span(turn)
    start, end = _strip(turn.text, need.start, need.end)
    if start >= end:
        return None
    start, end = at_words(turn.text, start, end)
    span = Span(turn.number, start, end, "along")
    overlaps = turn.number == own.turn and start < own.end and own.start < end
    if overlaps or FILLERS.issuperset(tokens(turn.text[start:end])) or not may_stand(scene, span):
        return None
    return span


def _shown_before(scene: Scene) -> int:
    """How many turns before this one the reader was shown."""
    return min(CONTEXT, len(scene.turns) - 1)


def question_span(turn: ChatTurn) -> Span | None:
    """The last question of a reply, if it is one short sentence."""
    if _is_notebooks(turn):
        return None
    asked = [(start, end) for start, end in sentences(turn.text) if turn.text[start:end].rstrip().endswith("?")]
    if not asked:
        return None
    start, end = asked[-1]
    end = start + len(turn.text[start:end].rstrip())
    start += len(turn.text[start:end]) - len(turn.text[start:end].lstrip())
    if end - start <= LONGEST_QUESTION:
        return Span(turn.number, start, end, "question")
    return None


@lru_cache(maxsize=8)  # every stretch of a turn is held against them
def secrets_of_turn(text: str) -> tuple[tuple[int, int], ...]:
    """The places of secrets in a person's own words, as far as a turn is read: nothing else is ever quoted."""
    found = []
    for start, end in own_words(text):
        found += [(start + one.start, start + one.end) for one in find_secrets(text[start:end])]
    return tuple(found)


def may_stand(scene: Scene, span: Span) -> bool:
    """Whether a stretch may be stored: it is not secret, withdrawn, kept out of this chat, or of a topic never kept."""
    text = scene.texts[span.turn]
    words = text[span.start : span.end]
    taken = scene.withdrawn.get(span.turn, ())
    if any(start < span.end and span.start < end for start, end in taken):
        return False
    if any(_tells_secret(text, span, start, end) for start, end in secrets_of_turn(text)):
        return False
    if is_hushed(scene, words):
        return False
    return not find_topics(words, scene.never, scene.sense)


def _tells_secret(text: str, span: Span, start: int, end: int) -> bool:
    """Whether a stretch has letters of a secret, or leads right up to one: "my password is" says whose it is."""
    if start < span.end:
        return span.start < end
    return not text[span.end : start].strip(" :=-–\t")


def is_hushed(scene: Scene, words: str) -> bool:
    """Whether a stretch speaks of a matter that the person wanted kept out of this chat."""
    said = set(content_words(words))
    return any(set(content_words(matter)) <= said for matter in scene.hushed if content_words(matter))
