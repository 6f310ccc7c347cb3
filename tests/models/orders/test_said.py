"""What a person says in a chat, by its effect: cases that were wrong once."""

import asyncio

import pytest
from tests.conftest import Clock

from keepbook import Book, Keepbook
from keepbook.book.chats.face import Chat
from keepbook.models.chat import Talk
from keepbook.models.lines import wording
from keepbook.models.lines.matters import apart, same_matter, without
from keepbook.models.lines.slots import filled
from keepbook.models.model import TextDelta
from keepbook.models.orders import mend


@pytest.fixture
def kb() -> Keepbook:
    return Keepbook(":memory:", clock=Clock(), embedder="none")


def _say(kb: Keepbook, chat: Chat, text: str) -> str:
    async def said() -> str:
        return "".join([one.text async for one in kb.talk(chat).say(text) if isinstance(one, TextDelta)])

    return asyncio.run(said())


def _lines(book: Book) -> list[str]:
    return [memory.content for memory in book.list()]


def test_a_line_about_two_children_is_not_dropped_for_the_age_of_one(kb: Keepbook) -> None:
    alice = kb.book("alice")
    alice.remember("Has two kids, Max is 6 and Ella is 9")
    chat = alice.threads.start(preset="general")
    assert "Ella is 9" in _say(kb, chat, "Forget Max's age.")
    assert _lines(alice) == ["Has two kids, Max is 6 and Ella is 9"]
    _say(kb, chat, "yes")
    assert _lines(alice) == ["Has two kids, Ella is 9"]


def test_what_is_to_be_forgotten_is_not_quoted_from_earlier_chats(kb: Keepbook) -> None:
    alice = kb.book("alice")
    earlier = alice.thread("claude:dinner")
    for text in ("My husband Mark hates olives.", "Please mark the date: we fly to Porto on 3 May."):
        earlier.add("user", text)
    alice.threads.rename(earlier.id, "Dinner")
    chat = alice.threads.start(preset="general")
    told = _say(kb, chat, "Forget everything about Mark")
    assert told.startswith(
        "Your book says nothing about “Mark”. An earlier chat speaks of it (“Dinner”): I will not bring that up"
    )
    assert not [hit.text for hit in alice.recall_chats("What did I say about Mark?") if "Mark" in hit.text]
    assert alice.recall_chats("When do we fly to Porto?")[0].turn == 2, "nothing else is touched"
    assert "Forget everything" not in _say(kb, alice.threads.start(preset="general"), "What did I say about Mark?")
    assert not [line for line in earlier.pencil() if "Mark" in line.content]
    earlier.close()
    assert not [line for line in [*_lines(alice), *(one.content for one in alice.proposals.list())] if "Mark" in line]
    assert alice.threads.search("olives"), "the chat itself stays, and the person finds it"
    _say(kb, chat, "undo that")
    assert alice.recall_chats("What did I say about Mark and olives?")[0].text == "My husband Mark hates olives."
    assert alice.verify().ok


def test_what_waits_from_another_chat_is_forgotten_too(kb: Keepbook) -> None:
    alice = kb.book("alice")
    earlier = alice.thread("claude:dinner")
    earlier.add("user", "My husband Mark hates olives, so leave these out.")
    earlier.close()
    (waiting,) = alice.proposals.list()
    told = _say(kb, alice.threads.start(preset="general"), "Forget everything about Mark")
    assert waiting.content in told
    assert alice.proposals.list() == []


def test_a_line_about_one_is_not_asked_about() -> None:
    assert without("Max's age", "Max is 6 and plays chess") is None
    assert without("my trip to Rome", "Trip to Rome and Naples in May") is None


def test_a_value_is_meant_for_what_was_told_before_a_question(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")
    for text in ("I weigh 61 kilos.", "How much protein should I eat?", "make that 62"):
        _say(kb, chat, text)
    chat.close()
    assert [line for line in _lines(alice) if "62" in line]
    assert not [line for line in _lines(alice) if "61" in line]


def test_what_is_told_beside_a_correction_is_not_lost(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")
    _say(kb, chat, "I work four days a week as a nurse.")
    _say(kb, chat, "Make that three days. And my daughter Mia is allergic to peanuts.")
    assert [one.content for one in chat.pencil()] == ["Daughter Mia is allergic to peanuts"]
    assert _lines(alice) == ["Works three days a week as a nurse"]


@pytest.mark.parametrize(
    ("new", "old", "made"),
    [
        (
            "Lives in Bergen now",
            "Is allergic to peanuts, they live in Oslo",
            "Is allergic to peanuts, lives in Bergen now",
        ),
        ("Lives in Bergen now", "Is vegetarian and they live in Oslo", "Is vegetarian and lives in Bergen now"),
        (
            "Ruben's off, Yasmin drives now",
            "The driver is Ruben, pickup at 7:10",
            "Ruben's off, Yasmin drives now, pickup at 7:10",
        ),
        ("Rent is 900 a month", "Rent is 800 a month, since May", "Rent is 900 a month"),
        ("Lives in Bergen", "Lives in Oslo with their wife", "Lives in Bergen"),
    ],
)
def test_what_a_new_line_does_not_speak_of_stays(new: str, old: str, made: str) -> None:
    assert mend.within(new, old) == made


def test_a_value_is_meant_for_a_question_that_has_one(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")
    for text in ("I weigh 61 kilos.", "What is 20 percent of 80?", "make that 90"):
        _say(kb, chat, text)
    chat.close()
    assert not [line for line in _lines(alice) if "90" in line]


@pytest.mark.parametrize(
    ("line", "fragment", "made"),
    [
        ("Has a cottage in Lofoten which they do not intend to sell", "the other way round", []),
        ("Wants to retire", "the opposite", []),
        ("Has a friend who works at the harbour", "airport", []),
        ("Is allergic to walnuts", "hazelnuts", ["Is allergic to hazelnuts"]),
    ],
)
def test_a_value_never_takes_the_place_of_a_verb(line: str, fragment: str, made: list[str]) -> None:
    assert filled(line, fragment) == made


@pytest.mark.parametrize("text", ["I'm vegetarian.", "I'm vegan", "My bus pass costs 38 euros a month."])
def test_a_plain_statement_is_noted(kb: Keepbook, text: str) -> None:
    chat = kb.book("alice").thread("elsewhere")
    chat.add("user", text)
    assert len(chat.pencil()) == 1


def test_a_plain_statement_that_is_likely_is_kept(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.thread("elsewhere")
    chat.add("user", "I'm vegetarian.")
    chat.close()
    assert _lines(alice) == ["Is vegetarian"]


def test_a_second_thing_of_a_kind_takes_nothing_away(kb: Keepbook) -> None:
    assert apart("Locker number at the pool is 12", "Locker number at the office is 31")
    assert not same_matter("Owes the garage 300 dollars as well", "Owes 900 dollars on a card")
    assert same_matter("Trains 4 times a week", "Trains 3 times a week")
    alice = kb.book("alice")
    alice.remember("Sails dinghies at Hamble")
    chat = alice.threads.start(preset="general")
    _say(kb, chat, "My dinghy is a Laser.")
    assert "Sails dinghies at Hamble" in _lines(alice)


def test_without_orders_the_model_does_what_the_person_wants(kb: Keepbook) -> None:
    alice = kb.book("alice")
    alice.remember("Lives in Oslo")
    chat = alice.threads.start(preset="general")
    told = kb.talk(chat)
    talk = Talk(alice, chat, kb.models, budget=told._budget, monthly_tokens=None, orders=False)

    async def said() -> None:
        async for _ in talk.say("Forget that I live in Oslo."):
            pass

    asyncio.run(said())
    assert _lines(alice) == ["Lives in Oslo"]
    assert chat.messages()[0].hidden is None


TALKS = {
    "a value for what was told some turns ago": (
        "advisor",
        ["The studio needs about 40,000 down.", "I only do funds.", "change that to 45,000, I forgot the stamp duty"],
        ["45,000"], ["40,000"],
    ),
    "the old value stands behind the new one": (
        "coach",
        ["max 3 contracts per trade, risk 400 a day", "make that 350 a day, 400 was last year"],
        ["Max 3 contracts per trade, risk 350 a day"], ["400", "last year"],
    ),
    "a figure of that size, past another": (
        "coach",
        ["Account is at Interactive Brokers, about 64,000 euros.", "Yesterday I opened a 50 wide bull put.",
         "no sorry, 65,000"],
        ["about 65,000 euros"], ["64,000", "65,000 wide"],
    ),
    "the figure is another one now": (
        "advisor", ["we put 50 a month into the kids account at ING", "the 50 is 75 since this month"],
        ["75 a month"], ["50 a month"],
    ),
    "a figure taken back for another": (
        "coach", ["max 5 positions, each 10% of the book", "scratch the 5 positions, 8 is fine now"],
        ["Max 8 positions, each 10% of the book"], ["Max 5"],
    ),
    "the other way round": (
        "advisor",
        ["The portfolio is 70 percent bonds and 30 percent shares.", "We have a cottage in Lofoten.",
         "Actually the other way round, 70 shares and 30 bonds."],
        ["The portfolio is 30 percent bonds and 70 percent shares"], ["70 percent bonds", "way round"],
    ),
    "one of several things is taken out": (
        "general", ["remember that my allergies are shellfish and latex", "drop the latex, that was a false alarm"],
        ["shellfish"], ["latex"],
    ),
    "one of several things is not kept": (
        "coach", ["I trade crude and nat gas, london hours, from a garage in Aberdeen", "forget the garage"],
        ["rude and nat gas"], ["garage"],
    ),
    "that is said of the sentence before it": (
        "assistant", ["Priya wants the answer sheets a day before. Remember that."],
        ["Priya wants the answer sheets a day before"], [],
    ),
    "what was refused is not meant by that": (
        "assistant", ["I've got three classes this year.", "No thanks, don't save the classes.", "remember that"],
        [], ["classes"],
    ),
    "an order taken back": (
        "general", ["I am building an app called Platform9 in Swift.", "forget the app", "no wait, keep the app"],
        ["Platform9"], [],
    ),
    "what was taken back is put back": (
        "coach", ["remember: no earnings holds", "undo that", "hm no, put it back"], ["No earnings holds"], [],
    ),
    "what one does at times is no question": (
        "general", ["When I'm down on the day I double my position size."], ["double their position size"], [],
    ),
    "nothing about somebody": (
        "general", ["don't save anything about Mr Hoffmann, he is private", "Mr Hoffmann has room 12 every May."],
        [], ["Hoffmann"],
    ),
    "somebody's matters are not all of that kind": (
        "advisor", ["never remember anything about my husband's debts", "he still owes 9k from the bar he ran",
                    "I pay 1,180 for the flat in Essen."],
        ["1,180"], ["9k"],
    ),
    "two people change places": (
        "general",
        ["Theo is doing the design, Ayumi the backend, i do the rest",
         "we switched, Ayumi does design now and Theo backend"],
        ["Ayumi is doing the design, Theo the backend"], ["Theo is doing"],
    ),
    "two matters of somebody": (
        "advisor",
        ["My partner Ilmari earns more, he's at Nokia, but we keep money apart.",
         "Don't keep what Ilmari earns or where he works, that's his business"],
        [], ["Nokia", "earns more"],
    ),
    "somebody with a title, and an hour": (
        "general",
        ["my dentist is Dr. Hansen", "actually it's Dr. Olsen, not Dr. Hansen", "I was born at St. Mary's",
         "St. Olav's hospital, not St. Mary's", "my yoga class starts at 8 p.m.", "at 7 p.m., not 8 p.m.",
         "my vet is dr. moss", "no, it's Mrs. Reed"],
        ["Dentist is Dr. Olsen", "Was born at St. Olav's hospital", "Yoga class starts at 7 p.m", "Vet is Mrs. Reed"],
        ["Hansen", "Mary", "8 p.m", "moss"],
    ),
    "a name told plainly, and what one is": (
        "general", ["Hi, I'm Sam!", "I'm Norwegian.", "I'm Catholic", "who was Napoleon"],
        ["Is called Sam", "Is Norwegian", "Is Catholic"], ["Napoleon"],
    ),
    "a reproach tells what was forgotten": (
        "general", ["You forgot that I am allergic to peanuts!", "You forgot my birthday!"],
        ["Is allergic to peanuts"], ["birthday", "forgot"],
    ),
    "two verbs of one person": (
        "general", ["I live in Graz and work four days a week."], ["Lives in Graz and works four days a week"], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TALKS)
def test_a_talk_ends_as_it_was_meant(kb: Keepbook, case: str) -> None:
    preset, turns, holds, gone = TALKS[case]
    alice = kb.book("alice")
    chat = alice.threads.start(preset=preset)
    replies = [_say(kb, chat, text) for text in turns]
    chat.close()
    book = "\n".join([*_lines(alice), *(one.content for one in alice.proposals.list())])
    assert not [one for one in holds if one not in book], (book, replies)
    assert not [one for one in gone if one in book], (book, replies)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("I want to live in Oslo and work remotely", "Wants to live in Oslo and work remotely"),
        ("I like food and drink", "Likes food and drink"),
        ("I have two kids and drive a Golf", "Has two kids and drives a Golf"),
        ("my English is so so", "English is so so"),
        ("I'm Sam, nice to meet you", "Is called Sam"),
        ("i am Norwegian", "Is Norwegian"),
        ("swing trader, us small caps", "Swing trader, us small caps"),
    ],
)
def test_a_line_is_worded_as_it_was_said(said: str, line: str) -> None:
    assert wording.line(said) == line
