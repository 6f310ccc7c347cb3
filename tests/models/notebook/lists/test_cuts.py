"""Where a sentence may be cut: never between a statement and what governs it."""

from datetime import UTC, datetime

import pytest

from keepbook.models.notebook.lists.cuts import may_begin, may_cut
from keepbook.models.notebook.read import understand
from keepbook.models.notebook.values import ChatTurn, Scene
from keepbook.models.reader.values import LABELS, ReaderPiece
from keepbook.presets import load_preset


def piece(text: str, label: str = "keep") -> ReaderPiece:
    chances = dict.fromkeys(LABELS, 0.0) | {label: 1.0}
    return ReaderPiece(0, 0, len(text), text, label, chances, {}, None, "keep" if label == "keep" else "leave")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("I'm fairly certain ", "our lease runs until May"),
        ("Unless the offer falls through, ", "we move to Ghent in June"),
        ("While my arm heals ", "I type with one hand"),
        ("My brother ", "and not me bought the boat"),
        ("The salary is 52,000, ", "give or take a bit"),
        ("I eat fish, ", "or used to anyway"),
        ("Imagine this: ", "I'm the king of Spain"),
        ("The flat is at 61.44° ", "N in the hills"),
        ("Mrs. Smith-", "Jones is my aunt"),
        ("I hardly, ", "if at all, drink beer"),
        ("I have a nut allergy, ", "or so my aunt claims"),
    ],
)
def test_what_governs_stays(left: str, right: str) -> None:
    assert not may_cut(piece(left), piece(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (piece("okay so um ", "talk"), piece("I live in Oslo")),
        (piece("By the way, ", "talk"), piece("my dog is called Rex")),
        (piece("I live in Oslo"), piece(" lol", "talk")),
        (piece("I live in Oslo "), piece("and my dog is called Rex")),
        (piece("I live in Oslo "), piece("and work at a bakery")),
        (piece("I live in Oslo, "), piece("we have two kids")),
        (piece("I live in Oslo, "), piece("can you find me a dentist?", "question")),
        (piece("Find me a dentist, ", "task"), piece("I live in Oslo")),
        (piece("between us, ", "hush"), piece("I earn 90k")),
    ],
)
def test_another_matter_is_a_piece_of_its_own(left: ReaderPiece, right: ReaderPiece) -> None:
    assert may_cut(left, right)


@pytest.mark.parametrize(
    ("before", "text", "begins"),
    [
        ("I live at Hauptstr.", "12a, second floor", False),
        ("I have worked for Yahoo!", "since 2016", False),
        ("I live in Oslo.", "no sorry, Bergen", True),
        ("I have an appt.", "with Ms. Bui on Thursday", False),
        ("I have an appt.", "and my wife has too", True),
        ("i live in oslo.", "with my wife", True),
        ("We went to Rome!", "my wife loved it", True),
        ("i was born in 1990.", "3 kids", True),
        ("I live in Oslo.", "My dog is Rex", True),
    ],
)
def test_a_name_goes_on_behind_its_mark(before: str, text: str, begins: bool) -> None:
    assert may_begin(before, text) is begins


@pytest.mark.parametrize(
    ("text", "governor", "governed"),
    [
        ("i'm fairly sure our lease ends in May", "fairly sure", "our lease ends in May"),
        ("Until the cast comes off I work from home.", "Until the cast comes off", "I work from home"),
        ("As far as I remember my uncle was born in Gdansk", "As far as I remember", "my uncle was born in Gdansk"),
        ("Assuming the loan comes through we'll buy the house in Voss", "Assuming", "we'll buy the house in Voss"),
        ("I'm a vegan, well, was until Sunday.", "was until Sunday", "I'm a vegan"),
    ],
)
def test_a_statement_is_read_with_what_governs_it(text: str, governor: str, governed: str) -> None:
    now = datetime(2026, 11, 18, tzinfo=UTC)
    scene = Scene((ChatTurn(1, "user", text, at=now),), "t", "UTC", now, load_preset("general"))
    for clause in understand(scene).clauses:
        assert governed not in clause.text or governor in clause.text
