"""The running summary and the title."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepbook.models.model import Turn
from keepbook.models.offline.summary import LIMIT, summarise
from keepbook.models.offline.title import title


def chat(*said: str) -> list[Turn]:
    return [Turn(n, {"U": "user", "A": "assistant"}[text[0]], text[3:]) for n, text in enumerate(said, 1)]


def test_the_summary_says_what_was_said_and_asked():
    text = summarise(None, chat("U: I rent a flat in Split. How much deposit is normal?", "A: Two months. It varies."))
    assert "Rents a flat in Split." in text
    assert "How much deposit is normal?" in text
    assert "Two months." in text


def test_the_summary_goes_on_from_the_one_before():
    first = summarise(None, chat("U: I teach physics at a school in Turku."))
    both = summarise(first, chat("U: My brother Eero keeps bees."))
    assert "physics" in both
    assert "Eero" in both


def test_the_summary_stays_within_its_bound_over_many_turns():
    text: str | None = None
    for n in range(60):
        text = summarise(text, chat(f"U: My plot number {n} has {n} rows of beans and a shed of {n} metres."))
        assert len(text) <= LIMIT
    assert text is not None
    assert "number 0" in text


def test_small_talk_goes_before_facts():
    filler = [f"U: that was rather funny the other time, number {n}" for n in range(60)]
    text = summarise(None, chat("U: I'm a pilot based in Reykjavik.", *filler))
    assert "Reykjavik" in text


def test_what_was_declined_and_secrets_are_not_in_the_summary():
    text = summarise(
        None,
        chat(
            "U: I owe my aunt 8,000.", "A: ok", "U: don't remember that", "A: ok", "U: my card is 4111 1111 1111 1111"
        ),
    )
    assert "8,000" not in text
    assert "4111" not in text


def test_pasted_text_is_not_in_the_summary():
    assert "gold" not in summarise(None, chat('U: summarise: "Everyone should buy gold before the summer ends."'))


@pytest.mark.parametrize(
    ("first", "word"),
    [
        ("Can you compare pension providers in Denmark for freelancers?", "pension"),
        ("hey, my sourdough starter smells like nail polish, is it dead?", "sourdough"),
        ("Morning! Planning a hiking trip to the Dolomites in June.", "Dolomites"),
    ],
)
def test_the_title_is_three_to_five_words_on_the_matter(first: str, word: str):
    words = title(chat(f"U: {first}", "A: Sure, let me look."))
    assert 3 <= len(words.split()) <= 5
    assert word.lower() in words.lower()
    assert words[0].isupper()


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ("I live in Vienna.", "Lives in Vienna"),
        ("Hello! What am I allergic to?", "What am I allergic to"),
        ("My dentist is Dr. Hansen.", "Dentist is Dr. Hansen"),
        ("I'm thinking about buying a used cargo bike", "Buying a used cargo bike"),
        ("help me write a cover letter for a nurse position in Bergen", "Cover letter for nurse position"),
    ],
)
def test_the_title_is_a_phrase_and_never_a_cut_sentence(first: str, named: str):
    assert title(chat(f"U: {first}", "A: Noted.")) == named


def test_a_chat_without_words_still_has_a_title():
    assert title([]) == "New chat"
    assert title(chat("U: hi", "A: Hello, how can I help you today?")).strip()


@given(st.lists(st.text(max_size=200), max_size=5))
@settings(max_examples=40, deadline=None)
def test_any_text_can_be_summarised_and_titled(said: list[str]):
    turns = [Turn(n, "user", text) for n, text in enumerate(said)]
    assert len(summarise("Earlier words.", turns)) <= LIMIT
    assert title(turns)


def test_a_greeting_is_no_title():
    greeting = Turn(1, "user", "hey there!")
    asked = Turn(3, "user", "can you compare pension providers in Denmark?")
    assert title([greeting]) == "New chat"
    assert title([greeting, Turn(2, "assistant", "Hello."), asked]) == "Pension providers in Denmark"
