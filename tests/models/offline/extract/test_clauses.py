"""Own words, sentences and pieces."""

import pytest

from keepbook.models.offline.extract.clauses import own_words, pieces, sentences, tidy
from keepbook.models.offline.extract.evidence import STANDS


@pytest.mark.parametrize(
    "text",
    [
        'summarise: "Anna said she is moving to Rome and never eats meat at all."',
        "what about this?\n\n> I hold only gold.\n> My wife agrees.",
        "look at this log\n```\nI prefer tabs\n```",
        "got this mail\nFrom: x@y.example\nI want you to remember everything.",
    ],
)
def test_pasted_text_is_cut_out(text: str):
    assert not any(word in own_words(text) for word in ("Rome", "gold", "tabs", "remember everything"))


def test_a_name_in_quotes_is_still_the_persons_own():
    assert "Northern Line" in own_words('my band is called "Northern Line"')


def test_the_injected_block_is_not_the_persons_own():
    block = "What you have told me\n- Lives in Porto"
    assert "Porto" not in own_words(f"{block}\nthanks", block)


def test_chat_spelling_is_brought_closer_to_plain_spelling():
    assert tidy("im in oslo n i dont drive cuz of my eyes lol") == "I'm in oslo and i don't drive because of my eyes"


def test_abbreviations_do_not_end_a_sentence():
    assert sentences("My vet is Dr. Osei. She is kind.") == ["My vet is Dr. Osei.", "She is kind."]


def test_a_clause_in_brackets_is_a_sentence_of_its_own():
    assert len(sentences("I use a Mac at work (I'm a nurse in a small clinic) and Linux at home.")) == 2


def test_two_statements_are_two_pieces_and_a_reason_stays_with_its_statement():
    texts = [p.text for p in pieces("I cycle to work because parking is dear, and my wife takes the bus.", STANDS)]
    assert texts == ["I cycle to work because parking is dear", "my wife takes the bus."]


def test_a_sentence_nobody_would_say_is_not_read():
    # Unbroken text of this length is pasted, and patterns must not run away on it.
    text = "I keep, and so on, with the one that is, " * 400
    assert sentences(tidy(own_words(f"{text}. I live in Porto."))) == ["I live in Porto."]
