"""The running summary: the person's own clauses, quoted, bounded, without what may not be passed on."""

from hypothesis import given, settings
from hypothesis import strategies as st

from keepbook.models.model import DialogueTurn
from keepbook.models.notebook.brief.summary import LIMIT, summarise
from keepbook.models.notebook.brief.title import chat_title


def chat(*said: str) -> list[DialogueTurn]:
    return [DialogueTurn(n, {"U": "user", "A": "assistant"}[text[0]], text[3:]) for n, text in enumerate(said, 1)]


def test_the_summary_quotes_what_the_person_said_and_asked():
    text = summarise(None, chat("U: I rent a flat in Split. How much deposit is normal?", "A: Two months. It varies."))
    assert text == "“I rent a flat in Split.” “How much deposit is normal?”"


def test_a_quotation_inside_a_quotation_has_other_marks():
    assert summarise(None, chat("U: I call it “home” now")) == "“I call it ‘home’ now”"


def test_the_summary_goes_on_from_the_one_before():
    first = summarise(None, chat("U: I teach physics at a school in Turku."))
    both = summarise(first, chat("U: My brother Eero keeps bees.", "U: I teach physics at a school in Turku."))
    assert both == "“I teach physics at a school in Turku.” “My brother Eero keeps bees.”"


def test_what_a_model_wrote_before_stays_as_it_is():
    text = summarise("The person lives in Rome. They like tea.", chat("U: I moved to Bari."))
    assert text == "The person lives in Rome. They like tea. “I moved to Bari.”"


def test_the_summary_stays_within_its_bound_over_many_turns():
    text: str | None = None
    for n in range(60):
        text = summarise(text, chat(f"U: My plot number {n} has {n} rows of beans and a shed of {n} metres."))
        assert len(text) <= LIMIT
    assert text is not None
    assert "number 0" in text


def test_small_talk_goes_before_facts():
    filler = [f"U: that was rather funny the other time, number {n}" for n in range(60)]
    text = summarise(None, chat("U: hello there", "U: I'm a pilot based in Reykjavik.", *filler))
    assert "Reykjavik" in text
    assert "hello" not in text


def test_what_was_declined_and_secrets_are_not_in_the_summary():
    said = ["U: I owe my aunt 8,000.", "A: ok", "U: don't remember that", "A: ok", "U: my card is 4111 1111 1111 1111"]
    assert summarise(None, chat(*said)) == ""


def test_what_is_said_beside_a_secret_stays():
    assert summarise(None, chat("U: my card is 4111 1111 1111 1111. I live in Oslo.")) == "“I live in Oslo.”"


def test_what_was_named_in_an_order_goes_and_the_rest_stays():
    text = summarise(None, chat("U: My knee hurts. I live in Oslo.", "A: ok", "U: forget about my knee"))
    assert text == "“I live in Oslo.”"


def test_off_the_record_is_not_in_the_summary():
    text = summarise(None, chat("U: Off the record, I earn 65k. I rent a flat.", "U: I'm getting divorced, between us"))
    assert text == "“I rent a flat.”"


def test_what_was_asked_to_keep_is_there_without_the_order():
    assert summarise(None, chat("U: remember that I'm allergic to nuts")) == "“I'm allergic to nuts”"


def test_withdrawn_stretches_are_left_out():
    turns = chat("U: I live in Oslo, and I owe 8,000 to my aunt.")
    start = turns[0].text.index("and I owe")
    assert summarise(None, turns, {1: [(start, len(turns[0].text))]}) == "“I live in Oslo”"
    assert summarise(None, turns, {1: [(0, len(turns[0].text))]}) == ""


def test_pasted_and_quoted_text_is_not_in_the_summary():
    quoted = 'U: summarise this for me: "Everyone should buy gold before the summer ends."'
    said = f"{quoted}\n```\nI own gold\n```\n> I want gold"
    assert "gold" not in summarise(None, chat(said))


@given(st.lists(st.text(max_size=200), max_size=5))
@settings(max_examples=24, deadline=None)
def test_any_text_can_be_summarised_and_titled(said: list[str]):
    turns = [DialogueTurn(n, "user", text) for n, text in enumerate(said)]
    assert len(summarise("Earlier words.", turns)) <= LIMIT
    assert chat_title(turns)
