"""Quotations: which words of a chat a line is made of, and how they are put together and shown.

A span names a stretch of a stored turn, by its first and last letter. `content_of` makes the content of a line from
spans; it adds brackets, blanks and " … ", never a word. `shown_text` makes what people and models see of a line: a
quotation stands in “ ”, followed by the day it was said on if its words count days from it. All functions are pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple, Protocol, get_args

from keepbook.book.ground import stored_json
from keepbook.book.text.words import fold_text
from keepbook.errors import Invalid
from keepbook.patterns import regex

SpanKind = Literal["said", "along", "exchanged", "question"]
KINDS: tuple[str, ...] = get_args(SpanKind)
GAP = " … "
"""Stands between two stretches with other words between them."""
_CLOSING = ",.;:!?%)"
"""Marks that have no blank before them."""
_INSIDE_NUMBERS, _INSIDE_WORDS, _INSIDE_NAMES = ".,:", "'’", "@_"
"""Marks that join what stands on both sides of them to one word."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Span(NamedTuple):
    """Characters `start` up to `end` of a stored turn. `kind`: `said` for the quoted words, `along` for context they
    need, `exchanged` for a value that replaced another, `question` for the question they answer."""

    turn: int
    start: int
    end: int
    kind: str


class Saying(Protocol):
    """Anything with content, spans and the day it was said: a memory, a version, a proposal, or a row of these."""

    @property
    def content(self) -> str | None: ...
    @property
    def quoted(self) -> bool | int: ...
    @property
    def spans(self) -> object: ...
    @property
    def said_on(self) -> str | None: ...


# Rules: from spans to content


def content_of(spans: Sequence[Span], texts: Mapping[int, str]) -> str:
    """The content of a line: its question in round brackets first, then its stretches in the given order."""
    questions = [f"({_words(span, texts)})" for span in spans if span.kind == "question"]
    rest = [span for span in spans if span.kind != "question"]
    parts: list[str] = []
    for place, span in enumerate(rest):
        words = _words(span, texts)
        if place:
            parts.append(_joint(rest[place - 1], span, words, texts))
        if span.kind == "exchanged":
            parts.append(f"[{words}]")
        else:
            parts.append(words)
    return " ".join([*questions, "".join(parts)])


def _words(span: Span, texts: Mapping[int, str]) -> str:
    return " ".join(texts[span.turn][span.start : span.end].split())


def _joint(before: Span, after: Span, words: str, texts: Mapping[int, str]) -> str:
    """The text between two stretches that follow each other in a line: nothing, a blank, or the mark for a gap."""
    if "exchanged" in (before.kind, after.kind):
        return _joint_of_exchange(before, after, words, texts)
    between = texts[before.turn][before.end : after.start]
    if before.turn != after.turn or after.start < before.end or between.strip():
        return GAP
    if between:
        return " "
    return ""


def _joint_of_exchange(before: Span, after: Span, words: str, texts: Mapping[int, str]) -> str:
    """The text beside exchanged words: a blank where the old words had one, else nothing."""
    if after.kind != "exchanged" and words[0] in _CLOSING:
        return ""
    if before.kind != "exchanged":
        beside = texts[before.turn][before.end : before.end + 1]
    elif after.kind != "exchanged":
        beside = texts[after.turn][max(after.start - 1, 0) : after.start]
    else:
        beside = ""
    if not beside or beside.isspace():
        return " "
    return ""


# Rules: one stretch of a line for another


def exchange_in_spans(
    spans: Sequence[Span], texts: Mapping[int, str], start: int, end: int, new: Span
) -> tuple[Span, ...]:
    """The spans of a line after the letters `start` to `end` of its content are replaced by a stretch of a turn."""
    places = _places(spans, texts)
    if len({place for place, _ in places[start:end]}) != 1 or places[start][0] < 0:
        raise Invalid("one stretch of a line is exchanged at a time", field="spans")
    at = places[start][0]
    old, put = spans[at], new._replace(kind="exchanged")
    if old.kind == "exchanged":
        return (*spans[:at], put, *spans[at + 1 :])
    before = _trim_span(old._replace(end=places[start][1]), texts)
    after = _trim_span(old._replace(start=places[end - 1][1] + 1), texts)
    return (*spans[:at], *before, put, *after, *spans[at + 1 :])


def exchange_in_content(content: str, start: int, end: int, words: str) -> str:
    """The same for a line without spans: a note."""
    if not 0 <= start < end <= len(content):
        raise Invalid("there is nothing of that line to be exchanged", field="spans")
    if content[start - 1 : start] == "[" and content[end : end + 1] == "]":
        start, end = start - 1, end + 1
    return f"{content[:start]}[{words}]{content[end:]}"


def _places(spans: Sequence[Span], texts: Mapping[int, str]) -> list[tuple[int, int]]:
    """For each letter of the content, the number of its span (-1: none) and its place in the turn."""
    content, found, at = content_of(spans, texts), list[tuple[int, int]](), 0
    for number, span in _in_order(spans):
        words = _words(span, texts)
        at = content.index(words, at)
        found += [(-1, 0)] * (at - len(found))
        found += [(number, place) for place in _letters(span, texts)]
        at += len(words)
    return found + [(-1, 0)] * (len(content) - len(found))


def _in_order(spans: Sequence[Span]) -> list[tuple[int, Span]]:
    """The spans with their numbers, in the order in which the content has them: the question first."""
    return sorted(enumerate(spans), key=lambda one: one[1].kind != "question")


def _letters(span: Span, texts: Mapping[int, str]) -> list[int]:
    """The place in its turn of each letter of a stretch; of several blanks in a row only the first counts."""
    text, found = texts[span.turn], list[int]()
    for place in range(span.start, span.end):
        follows_blank = bool(found) and text[found[-1]].isspace()
        if not (text[place].isspace() and follows_blank):
            found.append(place)
    return found


def _trim_span(span: Span, texts: Mapping[int, str]) -> list[Span]:
    """The span without blanks at its ends, in a list; an empty list if nothing is left."""
    stretch = texts[span.turn][span.start : span.end]
    start = span.start + len(stretch) - len(stretch.lstrip())
    end = span.end - (len(stretch) - len(stretch.rstrip()))
    if start < end:
        return [span._replace(start=start, end=end)]
    return []


# Rules: which spans may be


def check_spans(spans: Sequence[Span], texts: Mapping[int, str], roles: Mapping[int, str] | None = None) -> None:
    """Raise `Invalid` unless every span lies inside its turn, is not empty, and begins and ends at a word. A question
    must stand first and alone. Where `roles` says who spoke, every span but the question must be the person's."""
    for place, span in enumerate(spans):
        _check_span(span, texts)
        if span.kind == "question" and place:
            raise _invalid(span, "a question stands first, and there is one at most")
        if roles is not None and roles.get(span.turn) not in _speakers(span.kind):
            raise _invalid(span, "these are not the person's words")
    if not any(span.kind in ("said", "exchanged") for span in spans):
        raise Invalid("a quotation quotes something that was said", field="spans")


def _speakers(kind: str) -> tuple[str, ...]:
    if kind == "question":
        return "user", "assistant"
    return ("user",)


def _check_span(span: Span, texts: Mapping[int, str]) -> None:
    if span.kind not in KINDS:
        raise _invalid(span, f"its kind is one of {', '.join(KINDS)}")
    text = texts.get(span.turn)
    if text is None:
        raise _invalid(span, "there is no such turn in this chat")
    if not 0 <= span.start < span.end <= len(text):
        raise _invalid(span, f"the turn has {len(text)} letters")
    stretch = text[span.start : span.end]
    if stretch[0].isspace() or stretch[-1].isspace():
        raise _invalid(span, "it begins or ends with a blank")
    if _splits_word(text, span.start) or _splits_word(text, span.end):
        raise _invalid(span, "it begins or ends inside a word")


def _invalid(span: Span, why: str) -> Invalid:
    return Invalid(f"turn {span.turn}, letters {span.start} to {span.end}: {why}", field="spans")


def at_words(text: str, start: int, end: int) -> tuple[int, int]:
    """A stretch that begins and ends at a word: one that splits a word gets all of it."""
    while _splits_word(text, start):
        start -= 1
    while _splits_word(text, end):
        end += 1
    return start, end


def _splits_word(text: str, place: int) -> bool:
    """Whether a cut before the letter at `place` goes through a word."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before.isalnum() and after.isalnum():
        return True
    return (_joins(text, place) and before.isalnum()) or (_joins(text, place - 1) and after.isalnum())


def _joins(text: str, place: int) -> bool:
    """Whether the mark at `place` joins the letters on both sides of it."""
    if not 0 < place < len(text) - 1:
        return False
    before, mark, after = text[place - 1], text[place], text[place + 1]
    if mark in _INSIDE_NUMBERS:
        return before.isdigit() and after.isdigit()
    if mark in _INSIDE_WORDS:
        return before.isalpha() and after.isalpha()
    return mark in _INSIDE_NAMES and before.isalnum() and after.isalnum()


# Rules: how spans are stored


def spans_to_text(spans: Iterable[Span]) -> str:
    """The spans in the form that a version stores."""
    parts = ",".join(f'[{span.turn},{span.start},{span.end},"{span.kind}"]' for span in spans)
    return f"[{parts}]"


def spans_of(kept: Any) -> tuple[Span, ...]:
    """The spans from the form that a version stores or a memory has."""
    if not kept:
        return ()
    if isinstance(kept, str):
        found = stored_json.load_json(kept)
    else:
        found = kept
    return tuple(Span(*one) for one in found)


def clean_day(day: date | str | None) -> str | None:
    """The day on which the words were said, checked, in the form that a version stores."""
    if day is None:
        return None
    try:
        return date.fromisoformat(str(day)[:10]).isoformat()
    except ValueError:
        raise Invalid(f"said_on is a day such as 2026-10-09, not {day!r}", field="said_on") from None


# Rules: how a line is shown


def shown_text(line: Saying) -> str:
    """The content as it is shown. A quotation: the question it answers, its words in “ ”, its day. Anything else
    unchanged."""
    content = line.content or ""
    if not content or not line.quoted:
        return content
    return as_shown(content, line.spans, line.said_on)


def as_shown(content: str, spans: object, said_on: str | None) -> str:
    """A quotation as it is shown: the question it answers, its words in “ ”, its day."""
    question, words = split_question(content, spans)
    opening = ""
    if question:
        opening = f"{question} "
    day = ""
    if said_on:
        day = f" {day_mark(said_on)}"
    return f"{opening}“{words.replace('“', '‘').replace('”', '’')}”{day}"


def split_question(content: str, spans: object) -> tuple[str, str]:
    """The question that a quotation answers, in its brackets, and the rest of it."""
    found = spans_of(spans)
    if not found or found[0].kind != "question":
        return "", content
    end = _end_of_bracket(content)
    return content[:end], content[end:].lstrip()


def _end_of_bracket(content: str) -> int:
    """The place after the bracket that closes the first one; if there is none, after the first closing bracket."""
    depth = 0
    for place, mark in enumerate(content):
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth -= 1
        if depth == 0:
            return place + 1
    return content.index(")") + 1


def day_mark(said_on: str) -> str:
    """The day of a quotation: "(said 9 Oct 2026)", independent of the locale."""
    day = date.fromisoformat(said_on)
    return f"(said {day.day} {_MONTHS[day.month - 1]} {day.year})"


def is_an_agents(source: str, written_by: str | None, confirmed: object) -> bool:
    """Whether an agent chose the words of an asserted line, and the person has not confirmed them."""
    return source == "chat" and written_by is not None and confirmed is None


def is_guess(memory: Any) -> bool:
    """Whether somebody else worded a memory and the person has not made it their own. A quotation is never a guess."""
    return memory.confidence == "inferred" and not memory.quoted


_DAY_MARK = regex(r" ?\(said \d{1,2} [A-Z][a-z]{2} \d{4}\)")
_INNER_QUOTE = regex(r"(?<!\w)‘([^‘]{0,500}?)’(?!\w)")
_MARKS = str.maketrans("", "", "“”[]()")
_ENDS = " .!…。"


def text_without_marks(content: str) -> str:
    """A line without quotation marks, brackets and day, so that it can be compared with what a person types."""
    if "(said" in content:
        bare = _DAY_MARK.sub("", content)
    else:
        bare = content
    if "‘" in bare:
        bare = _INNER_QUOTE.sub(r"\1", bare)
    return " ".join(bare.translate(_MARKS).split())


def bare_words(content: str) -> str:
    """The words of a line without the marks of a quotation and the full stop at its end: equal for two lines that say
    the same."""
    return fold_text(text_without_marks(content)).rstrip(_ENDS) or fold_text(content)
