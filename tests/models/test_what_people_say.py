"""Conversations as people have them, without a model: what is in the book after the turn, in the person's own words.

Nothing here rests on a lucky guess of a reader. What must be kept is said so that it is kept with margin; of all else
it is held that nothing but the person's own words is kept or offered, and that no line changes which was not meant.
"""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import pytest
from tests.models.notebook.scripted import Scripted
from tests.models.notebook.talking import assert_own_words, holding, lines, moved_by, say

from keepbook import Keepbook


@pytest.fixture(scope="module")
def shelf() -> Iterator[Keepbook]:
    with Keepbook(":memory:", embedder="none") as kb:
        yield kb


@pytest.fixture
def talk(shelf: Keepbook, request: pytest.FixtureRequest) -> Any:
    """Says turns in one chat of a new owner; answers the book, the chat and the replies."""

    def talked(*texts: str, book: Any = (), preset: str = "general") -> tuple[Any, Any, list[str]]:
        owner = shelf.book(str(crc32(request.node.nodeid.encode())))
        for content in book:
            owner.remember(content, force=True)
        chat = owner.threads.start(preset=preset)
        replies = [say(shelf, chat, text) for text in texts]
        assert_own_words(owner, chat)
        return owner, chat, replies

    return talked


# --- kept as said, when it is said

SURE = [
    "I take metformin every morning",
    "I live in Oslo with my wife Kari",
    "I never risk more than 1 % per trade",
]


@pytest.mark.parametrize("said", SURE)
@pytest.mark.parametrize("preset", ["general", "advisor"])
def test_a_plain_statement_is_kept_at_once_and_shown(talk: Any, said: str, preset: str) -> None:
    owner, chat, replies = talk(said, preset=preset)
    (kept,) = owner.list()
    assert (kept.content, kept.quoted, kept.source, kept.turn_ids) == (said, True, "extracted", ("1",))
    assert f"Kept: “{said}”." in replies[0]
    before = owner.ledger(limit=None)
    assert (chat.close().written, owner.ledger(limit=None)) == ((), before)


@pytest.mark.parametrize("said", SURE)
def test_the_coach_keeps_without_a_word(talk: Any, said: str) -> None:
    owner, _, replies = talk(said, preset="coach")
    assert holding(owner) == [said]
    assert said not in replies[0]


@pytest.mark.parametrize("said", SURE)
@pytest.mark.parametrize(("answer", "kept"), [("yes", True), ("no", False), ("ok no", False)])
def test_the_assistant_asks_first_and_heeds_the_answer(talk: Any, said: str, answer: str, kept: bool) -> None:
    owner, chat, replies = talk(said, answer, preset="assistant")
    assert replies[0].startswith(f"“{said}” — shall I keep that?")
    assert [(one.content, one.source) for one in owner.list()] == ([(said, "chat")] if kept else [])
    chat.close()
    assert lines(owner) == ([said] if kept else [])


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Remember that I prefer Tuesday due dates", "I prefer Tuesday due dates"),
        ("remember I'm aiming to retire at 52", "I'm aiming to retire at 52"),
        ("Please note that I want to retire at 61", "I want to retire at 61"),
        ("keep in mind that I plan to retire at 48", "I plan to retire at 48"),
        ("please note that I like my summaries on Mondays", "I like my summaries on Mondays"),
        ("remember that my sister hates fish", "my sister hates fish"),
        ("don't forget my bike is in the shed", "my bike is in the shed"),
        ("dont forget mom's birthday is the 3rd of March", "mom's birthday is the 3rd of March"),
    ],
)
@pytest.mark.parametrize("preset", ["general", "assistant"])
def test_what_is_asked_for_outright_is_kept_in_every_preset(talk: Any, said: str, line: str, preset: str) -> None:
    owner, _, replies = talk(said, preset=preset)
    assert [(one.content, one.quoted, one.source) for one in owner.list()] == [(line, True, "chat")]
    assert f"“{line}”" in replies[0]


@pytest.mark.parametrize("said", SURE)
def test_what_was_kept_is_taken_back_in_place(talk: Any, said: str) -> None:
    owner, _, replies = talk(said, "undo that")
    assert holding(owner) == []
    assert f"Taken out again: “{said}”." in replies[1]


@pytest.mark.parametrize("said", SURE)
def test_what_is_said_again_adds_nothing(talk: Any, said: str) -> None:
    owner, chat, replies = talk(said, f"{said}.")
    chat.close()
    assert holding(owner) == [said]
    assert "already" in replies[1]


# --- nothing that was not said

TEMPTING = [
    "I no longer eat meat",
    "I live in the US",
    "My sister Clare lives in Leeds. Her husband has Parkinson's.",
    "My friend Ola is allergic to eggs",
    "My husband Lars can't have milk",
    "I live in Oslo and I'm scared of heights",
    "I used to smoke but I quit in 2019",
    "I can't have nuts, it gives me hives",
    "My girlfriend Lea is vegan and I eat everything",
    "My sister Eva is a doctor and she lives in Bergen",
    "It isn't cats I'm allergic to, it's dogs",
    "I don't think I could ever move back to the US",
    "My doctor says I should cut down on salt, but I'm fine",
    "okay so um my dog is called Rex lol",
    "- milk intolerant\n- two cats, Mia & Leo\n- born 4.5.1990",
    "I work at St. Olav's, ward 3.2, since v. early 2019 (mail: a.b@c.no).",
]


@pytest.mark.parametrize("said", TEMPTING)
def test_whatever_is_kept_or_offered_are_the_persons_own_letters(talk: Any, said: str) -> None:
    owner, chat, replies = talk(said)
    chat.close()
    assert_own_words(owner, chat)
    folded = " ".join(said.split())
    for line in lines(owner):
        assert all(piece in folded for piece in line.split(" … ")), line
        assert f"“{line}”" in replies[0]


@pytest.mark.parametrize(
    "said",
    [
        "Where does my ex-boyfriend live and what does he owe me?",
        "where does my sister live and when is her birthday",
        "Do you know where my brother lives and what my mother drinks?",
        "I love this, thanks!",
        "I'm so tired today",
        "If I get the job I'll move to Bergen",
        "I might buy a boat one day",
    ],
)
def test_a_question_a_mood_or_a_supposition_is_no_line(talk: Any, said: str) -> None:
    owner, chat, replies = talk(said)
    chat.close()
    assert lines(owner) == []
    assert "Kept" not in replies[0]


# --- nothing changed that was not meant


@pytest.mark.parametrize(
    ("book", "said"),
    [
        (("My wife Anna is allergic to walnuts",), "I'm allergic to kiwi."),
        (("My friend Ola is allergic to eggs",), "I am allergic to eggs"),
        (("Anna is allergic to nuts", "I'm allergic to kiwi"), "I am allergic to cats"),
        (("I have two kids, Ola and Kari",), "our daughter Kari hates fish"),
        (("I live in Oslo",), "I used to live in Stavanger"),
        (("I used to live in Graz",), "I live in Oslo"),
        (("I'm a teacher",), "I was a carpenter for ten years"),
        (("I live in Oslo",), "My brother lives in Graz"),
        (("My brother Tom lives in Bonn",), "My brother Jens lives in Graz"),
        (("I am married to Anna",), "I was married to Kim once"),
        (("My dog Rex is afraid of thunder",), "I'm afraid of thunder"),
        (("Ich bin allergisch gegen Nüsse",), "Ich bin auch allergisch gegen Kiwi"),
        (("Lars hates milk",), "I hate milk"),
        (("My birthday is 4 May",), "My mum's birthday is 9 June"),
        (("I work at Equinor",), "I work out three times a week"),
        (("I live in Oslo",), "If I get the job I'll move to Bergen"),
        (("I live in Oslo",), "we might move to Trondheim next year"),
        (("My son Max is allergic to eggs",), "Actually Max is 5 now."),
        (("I never trade alts",), "I trade alts sometimes"),
        (("I prefer bonds over stocks",), "I prefer stocks over bonds"),
    ],
)
def test_what_is_anothers_past_planned_or_the_opposite_takes_no_line_away(
    talk: Any, book: tuple[str, ...], said: str
) -> None:
    owner, chat, _ = talk(said, book=book)
    chat.close()
    assert set(book) <= set(holding(owner))
    assert {one.version for one in owner.list() if one.content in book} == {1}


# --- secrets


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("My PIN is 4471 and I live in Oslo", "I live in Oslo"),
        ("I live in Bergen. The alarm code is 5518.", "I live in Bergen"),
        ("Remember that I'm allergic to nuts and my wifi password is Tr0ub4dor&3", "I'm allergic to nuts"),
        ("I take metformin every morning. My PIN is 4471.", "I take metformin every morning"),
    ],
)
def test_a_secret_stays_out_of_lines_title_and_summary_and_the_rest_is_kept(talk: Any, said: str, kept: str) -> None:
    owner, chat, replies = talk(said)
    chat.close()
    assert holding(owner) == [kept]
    assert "password, a code or a card number" in replies[0]
    told = " ".join([*lines(owner), chat.thread.title or "", chat.thread.summary or ""])
    assert not any(secret in told for secret in ("4471", "5518", "Tr0ub4dor"))


# --- orders

BOOK = (
    "I live in Oslo", "My salary is 50,000", "I have two kids, Ola and Kari", "My sister Eva works at DNB",
    "My mum's birthday is 9 June", "My birthday is 4 May 1990", "I am allergic to kiwi",
)  # fmt: skip


@pytest.mark.parametrize(
    ("order", "line"),
    [
        ("forget my salary", "My salary is 50,000"),
        ("Please forget my salary.", "My salary is 50,000"),
        ("delete what I said about my sister Eva", "My sister Eva works at DNB"),
        ("forget my kids", "I have two kids, Ola and Kari"),
    ],
)
def test_an_order_to_forget_takes_the_line_that_it_names_or_asks(talk: Any, order: str, line: str) -> None:
    owner, _, replies = talk(order, book=BOOK)
    others = set(BOOK) - {line}
    assert others <= set(holding(owner))
    assert f"“{line}”" in replies[0]
    if line in holding(owner):
        assert replies[0].startswith("Shall I forget ")
        assert [(one.op, one.content) for one in owner.proposals.list()] == [("forget", line)]
    else:
        assert replies[0].startswith("Forgotten: ")
        assert {one.content for one in owner.list(state="archived")} == {line}


def test_a_topic_that_is_forbidden_is_not_kept_and_that_is_said(talk: Any) -> None:
    owner, chat, replies = talk("never remember anything about my health", SURE[0])
    chat.close()
    assert (lines(owner), owner.choices.never) == ([], ("health",))
    assert "never" in replies[1]


def test_what_says_only_something_to_do_is_talk_and_restores_nothing(talk: Any) -> None:
    owner, _, replies = talk("don't forget the milk", book=("My salary is 50,000",))
    assert lines(owner) == ["My salary is 50,000"]
    assert "Kept" not in replies[0]


@pytest.mark.parametrize(("answer", "left"), [("1", []), ("yes", []), ("no", ["My salary is 50,000"])])
def test_which_line_is_to_go_is_answered_by_its_number_and_said_as_it_is(
    talk: Any, answer: str, left: list[str]
) -> None:
    with moved_by(Scripted({"scrap": {"act": "withdraw", "points": "salary", "likely": 0.6}})):
        owner, _, replies = talk("scrap the salary thing", answer, book=("My salary is 50,000",))
    assert replies[0] == "Shall I forget “My salary is 50,000”?"
    assert lines(owner) == left
    assert replies[1] == ("All right, I leave it as it is." if left else "Forgotten: “My salary is 50,000”.")


# --- questions


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("Where do I live?", "I live in Oslo"),
        ("What is my salary?", "My salary is 50,000"),
        ("When is my mum's birthday?", "My mum's birthday is 9 June"),
        ("Where does my sister work?", "My sister Eva works at DNB"),
        ("What am I allergic to?", "I am allergic to kiwi"),
        ("Where does Eva work?", "My sister Eva works at DNB"),
    ],
)
def test_a_question_is_answered_from_the_book(talk: Any, question: str, line: str) -> None:
    owner, _, replies = talk(question, book=BOOK)
    assert replies[0].splitlines()[0] == f"Your book says “{line}”."
    assert set(holding(owner)) == set(BOOK)


@pytest.mark.parametrize(
    "question",
    ["What is my shoe size?", "Do I have a car?", "Where does Peter live?", "What is Lars allergic to?",
     "When is my brother's birthday?"],
)  # fmt: skip
def test_what_the_book_does_not_say_is_said_to_be_nothing(talk: Any, question: str) -> None:
    assert talk(question, book=BOOK)[2][0].startswith("I have nothing about that.")


def test_everything_that_is_known_is_told(talk: Any) -> None:
    reply = talk("What do you know about me?", book=BOOK)[2][0]
    assert all(f"- {line}" in reply for line in BOOK)


def test_what_is_only_offered_is_said_to_be_offered(talk: Any) -> None:
    _, _, replies = talk(SURE[0], "Do I take metformin?", preset="assistant")
    assert replies[1].splitlines()[:2] == ["You said so, but it is not in your book yet:", f"- “{SURE[0]}”"]


# --- categories


@pytest.mark.parametrize("preset", ["general", "advisor", "assistant"])
def test_a_line_has_a_category_of_its_preset(talk: Any, preset: str) -> None:
    owner, _, _ = talk(*(f"Remember that {said}" for said in SURE), preset=preset)
    assert len(owner.list()) == len(SURE)
    assert {one.category for one in owner.list()} <= set(owner.preset(preset).categories)


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("I live in Bergen", "profile"),
        ("My risk tolerance is moderate", "profile"),
        ("My time horizon is 10–15 years", "profile"),
        ("I'm a Thai tax resident", "finance_context"),
        ("My wife's name is Sarah", "fact"),
    ],
)
def test_a_statement_has_the_category_of_its_matter(talk: Any, said: str, category: str) -> None:
    owner, _, _ = talk(said, preset="advisor")
    assert [(one.content, one.category) for one in owner.list()] == [(said, category)]
