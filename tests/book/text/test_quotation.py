"""Quotations: from spans to content and to what is shown, which spans may be, and one stretch for another."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepbook.book.text.quotation import (
    GAP,
    Span,
    as_shown,
    check_spans,
    clean_day,
    content_of,
    exchange_in_content,
    exchange_in_spans,
    is_guess,
    shown_text,
    spans_of,
    spans_to_text,
    split_question,
    text_without_marks,
)
from keepbook.errors import Invalid

SISTER = "My sister Clare lives in Leeds. Her husband has Parkinson's, poor man."
SALARY = "my salary is 61,000 a year, before tax"


def span(text: str, piece: str, kind: str = "said", turn: int = 1) -> Span:
    start = text.index(piece)
    return Span(turn, start, start + len(piece), kind)


# --- content


def test_one_stretch_stands_letter_for_letter_with_blanks_folded() -> None:
    text = "so  I no\n longer eat\tmeat !!"
    assert content_of([span(text, "I no\n longer eat\tmeat")], {1: text}) == "I no longer eat meat"


def test_stretches_that_are_not_neighbours_have_a_gap_between_them() -> None:
    spans = [span(SISTER, "My sister Clare", "along"), span(SISTER, "Her husband has Parkinson's")]
    assert content_of(spans, {1: SISTER}) == "My sister Clare … Her husband has Parkinson's"


def test_neighbours_in_one_turn_have_none() -> None:
    text = "I live in Oslo   with my wife, and ski"
    spans = [span(text, "I live in Oslo"), span(text, "with my wife")]
    assert content_of(spans, {1: text}) == "I live in Oslo with my wife"
    assert content_of([spans[0], span(text, "and ski")], {1: text}) == f"I live in Oslo{GAP}and ski"
    assert content_of([spans[1], span(text, ", and ski")], {1: text}) == "with my wife, and ski"


def test_stretches_of_two_turns_or_in_the_other_order_have_a_gap() -> None:
    texts = {1: "I have a boat", 2: "it is called Freya"}
    spans = [span(texts[1], "a boat", "along"), span(texts[2], "it is called Freya", turn=2)]
    assert content_of(spans, texts) == "a boat … it is called Freya"
    assert content_of(spans[::-1], texts) == "it is called Freya … a boat"
    back = [span(SISTER, "Her husband"), span(SISTER, "My sister Clare")]
    assert content_of(back, {1: SISTER}) == "Her husband … My sister Clare"


def test_a_question_stands_first_in_round_brackets() -> None:
    texts = {1: "Nice. How many hives do you have?", 2: "Fourteen."}
    spans = [span(texts[1], "How many hives do you have?", "question"), span(texts[2], "Fourteen", turn=2)]
    assert content_of(spans, texts) == "(How many hives do you have?) Fourteen"
    assert content_of(spans[::-1], texts) == content_of(spans, texts)


@pytest.mark.parametrize(
    ("line", "old", "new", "content"),
    [
        (SALARY, "61,000", "65,000", "my salary is [65,000] a year, before tax"),
        ("I live in Ghent, we moved in spring", "Ghent", "Bruges", "I live in [Bruges], we moved in spring"),
        ("I owe 12 % on it", "12", "14", "I owe [14]% on it"),
        ("I pay (about 900) for it", "900", "950", "I pay (about [950]) for it"),
        ("I am a 61-year-old", "61", "62", "I am a [62]-year-old"),
        ("it costs $40", "40", "45", "it costs $[45]"),
        ("Ghent is home", "Ghent", "Bruges", "[Bruges] is home"),
    ],
)
def test_what_is_exchanged_stands_in_square_brackets_where_the_old_words_stood(
    line: str, old: str, new: str, content: str
) -> None:
    texts = {1: line, 2: f"no sorry, {new}!"}
    at = line.index(old)
    spans = exchange_in_spans([Span(1, 0, len(line), "said")], texts, at, at + len(old), span(texts[2], new, turn=2))
    check_spans(spans, texts)
    assert content_of(spans, texts) == content


def test_a_value_is_exchanged_again_in_its_bracket() -> None:
    texts = {1: SALARY, 2: "sorry 65,000", 3: "argh, 66,000"}
    first = exchange_in_spans([span(SALARY, SALARY)], texts, 13, 19, span(texts[2], "65,000", turn=2))
    content = content_of(first, texts)
    at = content.index("65,000")
    again = exchange_in_spans(first, texts, at, at + 6, span(texts[3], "66,000", turn=3))
    assert content_of(again, texts) == "my salary is [66,000] a year, before tax"
    assert [one.kind for one in again] == ["said", "exchanged", "said"]


def test_letters_of_the_content_are_found_again_behind_a_question_folded_blanks_and_gaps() -> None:
    texts = {1: "And what do you pay?", 2: "I  pay   61,000   a year. Well. To Anna", 3: "65,000"}
    spans = [
        span(texts[1], "what do you pay?", "question"),
        span(texts[2], "I  pay   61,000   a year", turn=2),
        span(texts[2], "To Anna", turn=2),
    ]
    content = content_of(spans, texts)
    assert content == "(what do you pay?) I pay 61,000 a year … To Anna"
    at = content.index("61,000")
    changed = exchange_in_spans(spans, texts, at, at + 6, Span(3, 0, 6, "said"))
    assert content_of(changed, texts) == "(what do you pay?) I pay [65,000] a year … To Anna"


@pytest.mark.parametrize(("start", "end"), [(0, 0), (10, 20), (14, 17), (-1, 2), (30, 90)])
def test_what_is_not_one_stretch_of_the_line_is_not_exchanged(start: int, end: int) -> None:
    spans = [span(SISTER, "My sister Clare", "along"), span(SISTER, "Her husband")]
    with pytest.raises(Invalid):
        exchange_in_spans(spans, {1: SISTER}, start, end, Span(1, 0, 2, "said"))


def test_a_note_is_exchanged_by_its_letters() -> None:
    assert exchange_in_content("Earns 61,000 a year", 6, 12, "65,000") == "Earns [65,000] a year"
    assert exchange_in_content("Earns [65,000] a year", 7, 13, "66,000") == "Earns [66,000] a year"
    with pytest.raises(Invalid):
        exchange_in_content("Earns much", 8, 30, "little")


# --- which spans may be


def test_a_stretch_that_ends_at_a_word_may_be() -> None:
    for piece in ("My sister Clare", "Parkinson's", "Leeds.", "poor man", "Her husband has Parkinson's,"):
        check_spans([span(SISTER, piece)], {1: SISTER})
    check_spans([span("I’m 61. Yes.", "I’m 61")], {1: "I’m 61. Yes."})


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (SISTER, "y sister"), (SISTER, "My sist"), (SISTER, "Parkinson"), (SISTER, "s, poor"), (SALARY, "61"),
        (SALARY, ",000 a"), (SALARY, " a year"), (SALARY, "a year, "), ("I don’t", "t"), ("at 7:30 sharp", "at 7"),
        ("mail me@home.org", "me"), ("it is 3.14 now", "it is 3."),
    ],
)  # fmt: skip
def test_a_stretch_that_splits_a_word_or_has_a_blank_at_its_end_may_not(text: str, piece: str) -> None:
    with pytest.raises(Invalid, match="letters"):
        check_spans([Span(1, text.rindex(piece), text.rindex(piece) + len(piece), "said")], {1: text})


@pytest.mark.parametrize(
    "spans",
    [
        [],
        [Span(1, 3, 3, "said")],
        [Span(1, 5, 3, "said")],
        [Span(1, 0, 999, "said")],
        [Span(1, -9, 4, "said")],
        [Span(2, 0, 2, "said")],
        [Span(1, 0, 2, "meant")],
        [Span(1, 0, 2, "along")],
        [Span(1, 0, 2, "question")],
        [Span(1, 0, 2, "said"), Span(1, 3, 9, "question")],
    ],
)
def test_spans_that_are_not_there_or_of_no_known_kind_may_not(spans: list[Span]) -> None:
    with pytest.raises(Invalid):
        check_spans(spans, {1: SISTER})


def test_only_a_question_is_anybodys_but_the_persons() -> None:
    texts, roles = {1: "Where do you live?", 2: "Oslo", 3: "from a tool"}, {1: "assistant", 2: "user", 3: "tool"}
    question, answer = Span(1, 0, 18, "question"), Span(2, 0, 4, "said")
    check_spans([question, answer], texts, roles)
    for wrong in ([Span(1, 0, 5, "said")], [Span(3, 0, 4, "question"), answer], [Span(1, 0, 5, "along"), answer]):
        with pytest.raises(Invalid, match="person"):
            check_spans(wrong, texts, roles)


def test_spans_are_kept_as_text_and_come_back() -> None:
    spans = (Span(1, 0, 4, "question"), Span(12, 7, 30, "said"))
    assert spans_to_text(spans) == '[[1,0,4,"question"],[12,7,30,"said"]]'
    assert spans_of(spans_to_text(spans)) == spans == spans_of(((1, 0, 4, "question"), (12, 7, 30, "said")))
    assert spans_of(None) == spans_of(()) == ()


def test_a_day_is_a_day() -> None:
    assert clean_day("2026-10-09") == "2026-10-09"
    assert clean_day(None) is None
    with pytest.raises(Invalid):
        clean_day("yesterday")


# --- shown


def line(content: str | None, spans: Any = ((1, 0, 4, "said"),), *, said_on: str | None = None, quoted: int = 1) -> Any:
    return SimpleNamespace(content=content, spans=spans, said_on=said_on, quoted=quoted)


def test_a_quotation_is_shown_in_its_marks_and_a_note_as_it_is() -> None:
    assert shown_text(line("I live in Oslo")) == "“I live in Oslo”"
    assert shown_text(line("Lives in Oslo", None, quoted=0)) == "Lives in Oslo"
    assert shown_text(line("I call it “home”")) == "“I call it ‘home’”"
    assert shown_text(line("yesterday i started", said_on="2026-10-09")) == "“yesterday i started” (said 9 Oct 2026)"
    assert shown_text(line(None)) == ""


def test_a_question_stands_before_the_marks() -> None:
    spans = '[[1,0,27,"question"],[2,0,8,"said"]]'
    assert as_shown("(How many hives do you have?) Fourteen", spans, None) == "(How many hives do you have?) “Fourteen”"
    assert split_question("(Hives (in all)?) Fourteen (about)", spans) == ("(Hives (in all)?)", "Fourteen (about)")
    assert as_shown("(in all) fourteen", '[[2,0,8,"said"]]', None) == "“(in all) fourteen”"


def test_a_quotation_is_no_guess() -> None:
    assert is_guess(SimpleNamespace(confidence="inferred", quoted=0))
    assert not is_guess(SimpleNamespace(confidence="inferred", quoted=1))
    assert not is_guess(SimpleNamespace(confidence="asserted", quoted=0))


@pytest.mark.parametrize(
    ("spoken", "words"),
    [
        ("“I live in Oslo”", "I live in Oslo"),
        ("“yesterday i started a job” (said 9 Oct 2026)", "yesterday i started a job"),
        ("(How many?) “Fourteen”", "How many? Fourteen"),
        ("“My salary is [65,000]”", "My salary is 65,000"),
        ("“I call it ‘home’, don’t I”", "I call it home, don’t I"),
        ("Lives in Oslo", "Lives in Oslo"),
    ],
)
def test_a_reference_drops_the_marks(spoken: str, words: str) -> None:
    assert text_without_marks(spoken) == words


WORD = st.text("abcdeåß’-", min_size=1, max_size=8).map(lambda word: f"x{word}x")


@given(st.lists(st.lists(WORD, min_size=1, max_size=12), min_size=1, max_size=4), st.data())
def test_every_word_of_a_content_stands_in_its_turns(turns: list[list[str]], data: st.DataObject) -> None:
    texts = {number: "  ".join(words) for number, words in enumerate(turns, 1)}
    spans = []
    for number, text in texts.items():
        words = turns[number - 1]
        first = data.draw(st.integers(0, len(words) - 1))
        last = data.draw(st.integers(first, len(words) - 1))
        start = len("  ".join(words[:first])) + (2 if first else 0)
        spans.append(Span(number, start, len("  ".join(words[: last + 1])), "said"))
        assert text
    check_spans(spans, texts)
    content = content_of(spans, texts)
    wanted = [texts[one.turn][one.start : one.end].split() for one in spans]
    assert content.split(GAP) == [" ".join(words) for words in wanted]
    assert text_without_marks(as_shown(content, spans, "2026-10-09")) == " ".join(content.split())
