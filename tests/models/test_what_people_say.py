"""Conversations as people have them with a coach, an advisor and an assistant, offline: every move said in three ways,
judged by what is in the book after the turn and after closing, not by the words of the reply."""

import asyncio
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from keepbook import Book, Keepbook
from keepbook.models.model import TextDelta


class Move(NamedTuple):
    """What is said, and what must (`has`) and must not (`lacks`) be in the book after it: patterns of one line."""

    said: str
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    reply: str = ""


@pytest.fixture(scope="module")
def shelf() -> Iterator[Keepbook]:
    with Keepbook(":memory:", embedder="none") as kb:
        yield kb


def talked(kb: Keepbook, owner: str, preset: str, book: tuple[str, ...], moves: tuple[Move, ...]) -> Book:
    alice = kb.book(owner)
    for content in book:
        alice.remember(content, force=True)
    chat = alice.threads.start(preset=preset)

    async def say(text: str) -> str:
        return "".join([one.text async for one in kb.talk(chat).say(text) if isinstance(one, TextDelta)])

    for move in moves:
        reply = asyncio.run(say(move.said))
        holds(alice, move.has, move.lacks, move.said)
        assert re.search(move.reply, reply, re.IGNORECASE), reply
    chat.close()
    holds(alice, moves[-1].has, moves[-1].lacks, "closed")
    return alice


def holds(alice: Book, has: tuple[str, ...], lacks: tuple[str, ...], when: str) -> None:
    lines = [memory.content for memory in alice.list(limit=100)]
    for pattern in has:
        assert any(re.search(pattern, line, re.IGNORECASE) for line in lines), (when, pattern, lines)
    for pattern in lacks:
        assert not any(re.search(pattern, line, re.IGNORECASE) for line in lines), (when, pattern, lines)


# --- advisor: saved the moment it is said, changed, confirmed, forgotten


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("remember I'm aiming to retire at 52", "Actually, change that to age 57", "Forget the retirement age thing"),
        ("Please note that I want to retire at 61", "no sorry, make it 63", "please forget my retirement age"),
        ("keep in mind that I plan to retire at 48", "Change it to 50", "scrap that retirement thing from your notes"),
    ],
)
def test_a_fact_is_saved_changed_and_forgotten(shelf: Keepbook, first: str, second: str, third: str) -> None:
    old, new = re.findall(r"\d+", first)[0], re.findall(r"\d+", second)[0]
    alice = talked(
        shelf, f"advisor {first}", "advisor", (),
        (Move(first, has=(rf"retire.*\b{old}\b",)), Move(second, has=(rf"retire.*\b{new}\b",), lacks=(rf"\b{old}\b",)),
         Move(third, lacks=("retire",))),
    )  # fmt: skip
    assert not alice.proposals.list()
    assert any("retire" in memory.content for memory in alice.list(state="archived"))


@pytest.mark.parametrize(
    ("said", "word", "again"),
    [
        ("don't suggest single shares, I only do index funds", "index funds", "yes, still index funds only"),
        ("I only buy bonds, never recommend crypto to me", "bonds", "yep, still only bonds"),
        ("Please don't recommend leveraged products, I only use plain ETFs", "ETF", "still plain ETFs only"),
    ],
)
def test_a_rule_is_saved_at_once_and_confirmed(shelf: Keepbook, said: str, word: str, again: str) -> None:
    alice = talked(shelf, f"rule {said}", "advisor", (), (Move(said, has=(word,)), Move(again, has=(word,))))
    assert len(alice.list()) == 1
    assert alice.list()[0].last_confirmed_at is not None


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("keep your answers short please", "short"),
        ("From now on explain things as if I were a beginner", "beginner"),
        ("Please always answer in bullet points", "bullet"),
    ],
)
def test_a_response_style_is_saved_at_once(shelf: Keepbook, said: str, word: str) -> None:
    alice = talked(shelf, f"style {said}", "advisor", (), (Move(said, has=(word,)),))
    assert [memory.category for memory in alice.list()] == ["response_style"]


# --- assistant: offers, takes yes and no, updates without asking


@pytest.mark.parametrize(
    ("said", "yes", "has"),
    [
        ("Renate is my boss by the way", "Yes", "Renate.*boss"),
        ("my new manager is called Oskar", "sure", "manager.*Oskar"),
        ("Priya is our landlord btw", "yes please", "Priya.*landlord"),
    ],
)
def test_what_is_new_is_offered_and_a_yes_keeps_it(shelf: Keepbook, said: str, yes: str, has: str) -> None:
    alice = talked(
        shelf,
        f"offer {said}",
        "assistant",
        (),
        (Move(said, lacks=(has,), reply=r"shall I remember"), Move(yes, (has,))),
    )
    assert not alice.proposals.list()


@pytest.mark.parametrize(
    ("said", "no", "word"),
    [
        ("I'm working with Bruno on this project", "No, it's just for this task", "Bruno"),
        ("my contact there is called Lin", "no need, only for today", "Lin"),
        ("I'm doing the slides together with Mona", "nope, only for this one", "Mona"),
    ],
)
def test_a_no_keeps_it_out_for_good(shelf: Keepbook, said: str, no: str, word: str) -> None:
    alice = talked(shelf, f"no {said}", "assistant", (), (Move(said, lacks=(word,)), Move(no, lacks=(word,))))
    assert not alice.proposals.list()


@pytest.mark.parametrize(
    ("known", "said", "has", "gone"),
    [
        ("Marta works on the Search team", "Marta moved to the Design team last week", "Marta.*Design", "Search"),
        ("Tariq works on the Billing squad", "Actually Tariq switched to the Payments squad", "Payments", "Billing"),
        ("Ida works on the Sales team", "btw Ida is on the Legal team now", "Ida.*Legal", "Sales"),
    ],
)  # fmt: skip
def test_what_changed_is_updated_without_asking(shelf: Keepbook, known: str, said: str, has: str, gone: str) -> None:
    alice = talked(shelf, f"moved {said}", "assistant", (known,), (Move(said, has=(has,), lacks=(gone, "last week")),))
    assert alice.list()[0].version == 2


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Remember that I prefer Tuesday due dates", "Tuesday"),
        ("From now on, always set reminders for 8am", "8am"),
        ("please note that I like my summaries on Mondays", "Mondays"),
    ],
)
def test_what_is_said_outright_is_kept_without_asking(shelf: Keepbook, said: str, word: str) -> None:
    alice = talked(shelf, f"outright {said}", "assistant", (), (Move(said, has=(word,)),))
    assert [memory.category for memory in alice.list()] == ["preference"]


@pytest.mark.parametrize(
    "said",
    ["I'm so tired today", "This one is for the Thursday meeting", "Can you make a task to update Renate on the move?"],
)
def test_what_passes_is_not_kept(shelf: Keepbook, said: str) -> None:
    alice = talked(shelf, f"passing {said}", "assistant", ("Renate is their boss",), (Move(said, has=("Renate",)),))
    assert len(alice.list()) == 1
    assert not alice.proposals.list()


# --- coach: remembers without a word, forgets what is corrected


@pytest.mark.parametrize(
    ("said", "right", "old", "new"),
    [
        ("I only risk 2% per trade", "no sorry, 0.5% per trade", r"\b2%", r"0\.5%"),
        ("My max is four trades a day", "change that to three", "four", "three"),
        ("I trade the DAX from 9 to 11", "actually I trade the DAX from 10 to 12", "9 to 11", "10 to 12"),
    ],
)
def test_the_coach_is_corrected(shelf: Keepbook, said: str, right: str, old: str, new: str) -> None:
    talked(shelf, f"coach {said}", "coach", (), (Move(said), Move(right, has=(new,), lacks=(old,))))


@pytest.mark.parametrize(
    ("said", "forget", "word"),
    [
        ("Remember that I never trade on Fridays", "forget that I never trade on Fridays", "Friday"),
        ("remember my favourite setup is the opening range breakout", "Forget my favourite setup", "breakout"),
        ("note that my account is 25,000 euros", "please delete my account size from your memory", "25,000"),
    ],
)
def test_the_coach_remembers_and_forgets(shelf: Keepbook, said: str, forget: str, word: str) -> None:
    talked(shelf, f"forgets {said}", "coach", (), (Move(said, has=(word,)), Move(forget, lacks=(word,))))


# --- whose it is, what is past, what holds a secret, what is told after an order


@pytest.mark.parametrize(
    ("book", "said", "has"),
    [
        (("Wife Anna is allergic to walnuts",), "I'm allergic to kiwi.", ("Anna.*walnuts", "^Is allergic to kiwi")),
        (("Friend Ola is allergic to eggs",), "I am allergic to eggs", ("Ola.*eggs", "^Is allergic to eggs")),
        (("Anna is allergic to nuts", "Is allergic to kiwi"), "I am allergic to cats", ("nuts", "kiwi", "cats")),
        (("Has two kids, Ola and Kari",), "our daughter Kari hates fish", ("two kids", "Kari hates fish")),
        (("Lives in Oslo",), "I used to live in Stavanger", ("^Lives in Oslo", "Used to live in Stavanger")),
        (("Used to live in Graz",), "I live in Oslo", ("Used to live in Graz", "^Lives in Oslo")),
        (("Is a teacher",), "I was a carpenter for ten years", ("^Is a teacher", "carpenter")),
        (("Lives in Oslo",), "My brother lives in Graz", ("^Lives in Oslo", "Brother lives in Graz")),
        (("Brother Tom lives in Bonn",), "My brother Jens lives in Graz", ("Tom.*Bonn", "Jens.*Graz")),
        (("Anna is allergic to nuts",), "I am allergic to nuts", ("Anna is.*nuts", "^Is allergic to nuts")),
        (("Is married to Anna",), "I was married to Kim once", ("^Is married to Anna", "Kim once")),
        (("Dog Rex is afraid of thunder",), "I'm afraid of thunder", ("Rex", "^Is afraid of thunder")),
        (("Ich bin allergisch gegen Nüsse",), "Ich bin auch allergisch gegen Kiwi", ("Nüsse", "gegen Kiwi")),
        (("Meine Frau Anna ist allergisch gegen Nüsse",), "Ich bin allergisch gegen Nüsse", ("Frau", "^Ich bin")),
        (("Lars hates milk",), "I hate milk", ("Lars hates milk", "^Hates milk")),
        (("Birthday is 4 May",), "My mum's birthday is 9 June", ("^Birthday is 4 May", "Mum's birthday is 9 June")),
    ],
)
def test_what_is_anothers_or_past_replaces_nothing(
    shelf: Keepbook, book: tuple[str, ...], said: str, has: tuple[str, ...]
) -> None:
    alice = talked(shelf, f"whose {said} {book}", "general", book, (Move(said, has=has[: len(book)]),))
    assert not [one for one in alice.proposals.list() if one.op != "add"]
    lines = [one.content for one in (*alice.list(), *alice.proposals.list())]
    assert all(any(re.search(pattern, line) for line in lines) for pattern in has), lines


@pytest.mark.parametrize(
    ("said", "has"),
    [
        (
            "Please remember that I take metformin every morning, and remember my PIN is 4471",
            "metformin every morning$",
        ),
        ("Remember that I'm allergic to nuts and my wifi password is Tr0ub4dor&3", "allergic to nuts$"),
        ("note that my bank card PIN is 1234 and that I prefer window seats", "prefers window seats$"),
        ("My PIN is 4471 and I live in Oslo", "Lives in Oslo$"),
        ("I live in Bergen. The alarm code is 5518.", "Lives in Bergen$"),
    ],
)
def test_a_secret_stays_out_and_the_rest_is_kept(shelf: Keepbook, said: str, has: str) -> None:
    alice = talked(shelf, f"secret {said}", "general", (), (Move(said, reply="password, a code"),))
    holds(alice, (has,), ("PIN", "password", "code", r"\d{4}"), said)


def test_an_order_to_forget_reaches_what_was_said_before_it(shelf: Keepbook) -> None:
    alice = talked(
        shelf, "forget and tell", "general", ("Has two kids, Ola and Kari", "Salary is 50,000"),
        (Move("forget everything about my kids", lacks=("Ola",)),
         Move("My son Ola plays the violin", reply="noted.*violin"),
         Move("I have two kids, Ola and Kari", reply="^(?!Noted)"),
         Move("forget my salary", lacks=("50,000",)),
         Move("My salary is 60,000 now", reply="noted.*60,000"),
         Move("forget my weight"),
         Move("I weigh 80 kg", reply="^(?!Noted)")),
    )  # fmt: skip
    lines = [one.content for one in (*alice.list(), *alice.proposals.list())]
    assert sorted(lines) == ["Salary is 60,000 now", "Son Ola plays the violin"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("My friend Ola is allergic to eggs", "Friend Ola is allergic to eggs"),
        ("My husband Lars can't have milk", "Husband Lars can't have milk"),
        ("my brother Per plays the violin", "Brother Per plays the violin"),
        ("I live in Oslo and I'm scared of heights", "Is scared of heights"),
        ("My favourite colour is blue", "Favourite colour is blue"),
        ("I used to smoke but I quit in 2019", "Used to smoke but they quit in 2019"),
        ("I can't have nuts, it gives me hives", "Can't have nuts, it gives them hives"),
        ("My girlfriend Lea is vegan and I eat everything", "Girlfriend Lea is vegan"),
        ("My sister Eva is a doctor and she lives in Bergen", "Sister Eva lives in Bergen"),
        ("I'm also allergic to cats", "Is allergic to cats"),
        ("I also can't stand coriander", "Can't stand coriander"),
        ("I'm allergic to shellfish too", "Is allergic to shellfish"),
        ("It isn't cats I'm allergic to, it's dogs", "Is allergic to dogs"),
    ],
)
def test_what_is_said_plainly_is_noted(shelf: Keepbook, said: str, line: str) -> None:
    reply = f"noted.*“{line}”"
    alice = talked(shelf, f"plainly {said}", "general", (), (Move(said, reply=reply),))
    assert line in [one.content for one in (*alice.list(), *alice.proposals.list())]


@pytest.mark.parametrize(
    "said",
    [
        "Where does my ex-boyfriend live and what does he owe me?",
        "where does my sister live and when is her birthday",
        "Do you know where my brother lives and what my mother drinks?",
        "I love this, thanks!",
        "My boss is angry with me",
    ],
)
def test_a_question_or_a_mood_is_no_fact(shelf: Keepbook, said: str) -> None:
    alice = talked(shelf, f"asks {said}", "general", (), (Move(said, reply="^(?!Noted)"),))
    assert not alice.list()
    assert not alice.proposals.list()


def test_a_question_is_answered_from_the_lines_of_whom_it_asks(shelf: Keepbook) -> None:
    book = (
        "Lives in Oslo", "Birthday is 4 May 1990", "Mum's birthday is 9 June", "Sister Eva works at DNB",
        "Wife is called Anna", "Anna is allergic to nuts", "Is allergic to kiwi", "Can't eat shellfish",
    )  # fmt: skip
    nothing = "^I have nothing"
    talked(
        shelf, "of whom", "general", book,
        (Move("Where does my sister live and when is her birthday?", reply=nothing),
         Move("where does my brother live?", reply=nothing),
         Move("When is my birthday?", reply="^(?!.*Mum)[^9]*4 May"),
         Move("when is my mother's birthday?", reply="^(?!.*4 May)[^4]*9 June"),
         Move("Where does my sister work?", reply="DNB"),
         Move("what is my wife allergic to?", reply="^(?!.*kiwi)[\\s\\S]*nuts"),
         Move("What am I allergic to?", reply="^(?!.*nuts)[\\s\\S]*shellfish"),
         Move("What food must I avoid?", reply="kiwi"),
         Move("My brother Ole can't eat fish. What can't I eat?", reply="^(?!.*fish\\n)[\\s\\S]*shellfish"),
         Move("Do I have a sister?", reply="Eva"),
         Move("Am I married?", reply="Anna"),
         Move("Do I have kids?", reply=nothing)),
    )  # fmt: skip


def test_of_whom_the_book_does_not_know_nobody_elses_line_is_told(shelf: Keepbook) -> None:
    book = ("Lives in Oslo", "Is allergic to kiwi", "Mother lives in Graz", "Works at DNB", "Eva is allergic to nuts")
    nothing = "^I have nothing"
    talked(
        shelf, "of nobody", "general", book,
        (Move("What is Lars allergic to?", reply="nothing about Lars"),
         Move("Where does Peter live?", reply="nothing about Peter"),
         Move("Where does Peter work?", reply="nothing about Peter"),
         Move("What can Ida eat?", reply="nothing about Ida"),
         Move("What is Eva allergic to?", reply="^(?!.*kiwi)[\\s\\S]*nuts"),
         Move("Where does Mum live?", reply="^(?!.*Oslo)[\\s\\S]*Graz"),
         Move("Where does Dad live?", reply=nothing),
         Move("Where do I live?", reply="^(?!.*Graz)[\\s\\S]*Oslo")),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("book", "home"),
    [
        (("Used to live in Turku", "Moved to Oslo last year"), "Oslo"),
        (("Lives in Bergen", "Used to live in Turku", "Has moved to Tromsø"), "Tromsø"),
        (("Moved to Oslo in 2019", "Lives in Bergen"), "Bergen"),
        (("Used to live in Turku", "Lives in Bergen"), "Bergen"),
    ],
)
def test_where_one_lives_is_where_one_lives_now(shelf: Keepbook, book: tuple[str, ...], home: str) -> None:
    asked = Move("Where do I live?", reply=rf"^(?!.*Turku)[\s\S]*{home}")
    talked(shelf, f"home {home} {len(book)} {book[0]}", "general", book, (asked,))


def test_what_else_was_said_of_somebody_stays_when_their_age_is_corrected(shelf: Keepbook) -> None:
    said = "Our daughter Ella is 7 and she goes to school in Bergen."
    alice = talked(shelf, "ella", "general", (), (Move(said), Move("Actually, Ella is 8 now.", reply="Corrected")))
    assert {one.content for one in alice.list()} == {"Daughter Ella is 8", "Daughter Ella goes to school in Bergen"}


def test_who_is_to_be_forgotten_is_so_under_their_name_too(shelf: Keepbook) -> None:
    book = ("Wife Ida is a teacher", "Ida plays the cello", "Lives in Oslo")
    alice = talked(shelf, "forget ida", "general", book, (Move("forget everything about my wife", reply="Forgotten"),))
    assert [one.content for one in alice.list()] == ["Lives in Oslo"]


def test_how_old_somebody_is_has_nothing_to_do_with_what_they_are_allergic_to(shelf: Keepbook) -> None:
    alice = talked(shelf, "eggs", "general", ("Son Max is allergic to eggs",), (Move("Actually Max is 5 now."),))
    assert "Son Max is allergic to eggs" in [one.content for one in alice.list()]


@pytest.mark.parametrize(
    ("book", "said", "line"),
    [
        ("Sister Eva lives in Bergen", "actually Eva moved to Trondheim last month", "Sister Eva moved to Trondheim"),
        ("Sister Eva lives in Bergen", "My sister moved to Graz", "Sister Eva moved to Graz"),
        ("Brother Tom works at Shell", "Tom works at Equinor now", "Brother Tom works at Equinor now"),
        ("Is allergic to cats", "Oh no, it isn't cats I'm allergic to, it's dogs", "Is allergic to dogs"),
        ("Is allergic to cats", "Actually I'm not allergic to cats, I was wrong", "Is not allergic to cats"),
        ("Is allergic to cats", "Correction: I am not allergic to cats.", "Is not allergic to cats"),
        ("Is allergic to cats", "It's dogs I'm allergic to, not cats", "Is allergic to dogs"),
        ("Wife Anna is allergic to nuts", "Anna is allergic to eggs, not nuts", "Wife Anna is allergic to eggs"),
        ("New boss is called Mark and he is Scottish", "My new boss is called Henry", "New boss is called Henry"),
        ("Landlord is Mr. Berg, he lives upstairs", "Our landlord is Mrs. Dahl now", "Landlord is Mrs. Dahl now"),
        (
            "Works as a carpenter in Bergen",
            "Actually, I work as a joiner, not a carpenter.",
            "Works as a joiner in Bergen",
        ),
        ("Daughter Lea is 4 and loves horses", "Actually Lea is 5, not 4.", "Daughter Lea is 5 and loves horses"),
        ("Son Max is 4 and loves trains", "Actually Max is 5 now.", "Son Max is 5 and loves trains"),
    ],
)
def test_a_correction_keeps_the_words_of_the_line(shelf: Keepbook, book: str, said: str, line: str) -> None:
    alice = talked(shelf, f"keeps {said}", "general", (book,), (Move(said, reply="corrected"),))
    assert [one.content for one in alice.list()] == [line]


@pytest.mark.parametrize(
    ("category", "said"),
    [
        (
            "profile",
            ("I am allergic to nuts", "oh and I can't eat gluten", "Please remember that I'm allergic to kiwi"),
        ),
        ("profile", ("I take metformin every morning", "remember that I take aspirin every day")),
        ("preference", ("I can't stand coriander", "I don't like fish", "remember that I hate mushrooms")),
        ("person", ("My friend Ola is allergic to eggs", "remember that my sister hates fish")),
    ],
)
def test_a_matter_has_one_category_whenever_it_is_said(shelf: Keepbook, category: str, said: tuple[str, ...]) -> None:
    alice = talked(shelf, f"category {said}", "general", (), tuple(Move(one) for one in said))
    found = [(one.content, one.category) for one in (*alice.list(), *alice.proposals.list())]
    assert len(found) == len(said)
    assert {name for _, name in found} == {category}, found


def test_what_a_person_plainly_says_of_themself_stays_as_long_as_any(shelf: Keepbook) -> None:
    moves = (Move("Hello, I am allergic to peanuts"), Move("My favourite colour is blue"), Move("I'm diabetic"))
    alice = talked(shelf, "scores", "general", (), moves)
    assert [one.score for one in alice.list()] == [0.9, 0.9, 0.9]
