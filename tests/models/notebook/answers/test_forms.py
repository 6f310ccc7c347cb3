"""Whole-turn answers by closed lists: a form, politeness around it, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepbook.book.text.language import LANGUAGES
from keepbook.models.notebook.answers.forms import TurnAnswer, answer_forms, whole_answer

MOST_FORMS = 30


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yes", "yes"),
        ("Yes please!", "yes"),
        ("ok", "yes"),
        ("OK thanks 🙏", "yes"),
        ("Yeah, sure.", "yes"),
        ("👍", "yes"),
        ("please do", "yes"),
        ("no", "no"),
        ("ok no", "no"),
        ("Hm, no thanks", "no"),
        ("no no no", "no"),
        ("👎🏽", "no"),
        ("don’t", "no"),
        ("yes to all", "all_yes"),
        ("everything please", "all_yes"),
        ("no to all, thanks", "all_no"),
        ("both", "both"),
        ("the first one please", "first"),
        ("The second.", "second"),
        ("the last one", "last"),
        ("Ja, gerne", "yes"),
        ("nein danke", "no"),
        ("sí, por favor", "yes"),
        ("vale no", "no"),
        ("ja takk", "yes"),
        ("nei takk", "no"),
        ("begge to", "both"),
        ("oui s'il te plaît", "yes"),
        ("ok non merci", "no"),
        ("les deux", "both"),
    ],
)
def test_a_turn_that_is_nothing_but_an_answer(text: str, kind: str) -> None:
    assert whole_answer(text) == TurnAnswer(kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "number"), [("2", 2), ("#2", 2), ("2.", 2), ("number 2 please", 2), ("Nummer 3", 3)])
def test_a_number_alone_is_that_of_a_choice(text: str, number: int) -> None:
    assert whole_answer(text) == TurnAnswer("number", number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "😀",
        "thanks",
        "ok. my dog is called Rex",
        "yes to the name, no to the money",
        "not now",
        "later",
        "maybe",
        "yes?",
        "ok?",
        "yes no",
        "no, yes",
        "no one",
        "yes but later",
        "no problem",
        "sure thing is my horse",
        "65,000",
        "14:30",
        "10:10",
        "3 %",
        "1 and 3",
        "1 1",
        "0",
        "yes 2",
        "don't keep it",
        "I said yes",
        "yes " * 40,
    ],
)
def test_anything_else_answers_nothing(text: str) -> None:
    assert whole_answer(text) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lists_are_short_and_every_form_is_heard(language: str) -> None:
    known = answer_forms(language)
    assert 10 < len(known) <= MOST_FORMS
    assert len(dict(known)) == len(known)
    heard = {form: whole_answer(form.replace("N", "7")) for form, _ in known}
    assert {form: answer.kind for form, answer in heard.items() if answer} == dict(known)


@given(st.sampled_from(["yes", "no", "ok", "the first", "2"]), st.sampled_from(["Rex", "my dog", "tomorrow", "it's 5"]))
@settings(max_examples=16, deadline=None)
def test_a_word_more_is_something_said(form: str, more: str) -> None:
    assert whole_answer(f"{form} {more}") is None
    assert whole_answer(f"{more}. {form}") is None
