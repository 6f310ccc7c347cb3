"""What people met in long conversations: questions that can be answered, orders that take only what they name, and
lines that can be read alone."""

from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted, Sentences
from tests.models.notebook.talking import holding, moved_by, read_by, say

from keepbook import Keepbook
from keepbook.models.notebook import scene
from keepbook.models.notebook.open_questions import open_questions

OVER = {"Bergen": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Bergen", "surely": 0.6}}


@pytest.fixture
def talk(kb: Keepbook) -> Any:
    """Says turns in one chat; answers the book and the replies."""

    def spoken(
        script: dict[str, Any], *texts: str, book: Any = (), preset: str = "general", verdicts: Any = None
    ) -> tuple[Any, list[str]]:
        alice = kb.book("alice")
        for line in book:
            alice.remember(line, force=True)
        chat = alice.threads.start(preset=preset)
        with moved_by(Scripted(script)), read_by(Sentences(verdicts or {})):
            return alice, [say(kb, chat, text) for text in texts]

    return spoken


# --- corrections


@pytest.mark.parametrize(
    ("line", "said", "mended"),
    [
        ("Im allergic to nuts", "Actually I'm not allergic to nuts, I'm allergic to dust", True),
        ("my dog is called Rex", "my dog isn't called Rex, he's called Max", True),
        ("I'm allergic to nuts", "I'm not allergic to nuts, or so the test says", False),
        ("I'm allergic to nuts", "The leaflet says: I'm not allergic to nuts, I'm allergic to dust", False),
    ],
)
def test_a_line_denied_beside_the_right_words_is_mended(talk: Any, line: str, said: str, mended: bool) -> None:
    alice, _ = talk({}, said, book=[line])
    words = said.removeprefix("Actually ")
    assert set(holding(alice)) == ({words} if mended else {line, words})


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("actually I collect stamps from Sweden", True),
        ("I collect stamps from Sweden now", True),
        ("I collect stamps", False),
        ("we buy stamps in Sweden", False),
    ],
)
def test_another_value_in_the_words_of_a_line_is_asked_about(talk: Any, said: str, asked: bool) -> None:
    doubted = {said: {"act": "change", "likely": 0.4, "points": "Norway", "surely": 0.7}}
    alice, replies = talk(doubted, said, book=["I collect stamps from Norway"])
    assert ("Is that over?" in replies[0]) == asked
    assert "I collect stamps from Norway" in holding(alice)


def test_what_is_new_stands_beside_the_line_that_it_may_change(talk: Any) -> None:
    script = {"turned": {"act": "change", "points": "Max", "old": "7", "new": "8", "unsure": 0.7}}
    alice, (reply,) = talk(script, "Max turned 8 yesterday", book=["my son Max is 7"])
    assert holding(alice) == ["my son Max is 7", "Max turned 8 yesterday"]
    assert "Is that over?" in reply


@pytest.mark.parametrize("asked_before", [0, 3])
def test_what_an_order_means_is_asked_at_once(talk: Any, asked_before: int) -> None:
    sheds = ["My shed is red.", "My boat is blue.", "My door is green."][:asked_before]
    order = {"forget": {"act": "withdraw", "points": "nuts", "surely": 0.7}}
    verdicts = dict.fromkeys(("shed", "boat", "door"), "propose")
    _, replies = talk(order, *sheds, "forget my allergy", book=["Im allergic to nuts"], verdicts=verdicts)
    assert "Shall I forget “Im allergic to nuts”?" in replies[-1]


def test_an_undo_says_what_the_book_says_again(talk: Any) -> None:
    slip = {"dust": {"act": "change", "points": "nuts", "old": "nuts", "new": "dust", "mistake": 0.9}}
    alice, replies = talk(slip, "Im allergic to nuts", "sorry, not nuts, dust", "undo", "forget that", "put it back")
    assert "It says again: “Im allergic to nuts”." in replies[2]
    assert ("Forgotten" in replies[3]) or ("Shall I forget “Im allergic to nuts”?" in replies[3])
    alice, replies = talk({}, "I have a boat", "forget that", "put it back")
    assert "Put back: “I have a boat”." in replies[2]
    assert "I have a boat" in holding(alice)


def test_an_order_given_again_asks_once(talk: Any) -> None:
    order = {"forget": {"act": "withdraw", "points": "nuts", "surely": 0.7}}
    alice, replies = talk(order, "forget my allergy", "forget my allergy please", book=["Im allergic to nuts"])
    assert ["Shall I forget “Im allergic to nuts”?" in reply for reply in replies] == [True, True]
    assert [one.content for one in alice.proposals.list()] == ["Im allergic to nuts"]


# --- questions


def test_the_numbers_of_a_reply_go_through_all_its_questions(talk: Any) -> None:
    texts = "I live in Bergen now. My shed is red. My boat is blue."
    verdicts = {"shed": "propose", "boat": "propose"}
    _, (reply,) = talk(OVER, texts, book=["I live in Oslo with Kari"], verdicts=verdicts)
    assert "1. Keep both  2. It is over  3. Change it to" in reply
    assert "4. “My shed is red”\n5. “My boat is blue”" in reply


@pytest.mark.parametrize(
    ("answer", "kept"),
    [("2", {"My boat is blue"}), ("1", {"My shed is red"}), ("yes to all", {"My shed is red", "My boat is blue"})],
)
def test_a_number_takes_what_stands_behind_it(talk: Any, answer: str, kept: set[str]) -> None:
    verdicts = {"shed": "propose", "boat": "propose"}
    alice, _ = talk({}, "My shed is red. My boat is blue.", answer, verdicts=verdicts)
    assert set(holding(alice)) == kept


def test_a_yes_to_several_questions_is_asked_back(talk: Any) -> None:
    verdicts = {"shed": "propose", "boat": "propose"}
    alice, replies = talk({}, "My shed is red. My boat is blue.", "yes", verdicts=verdicts)
    assert holding(alice) == []
    assert "“yes to all”" in replies[1]
    assert len(alice.proposals.list()) == 2


@pytest.mark.parametrize(
    ("answer", "holds"), [("it's over", False), ("It is over.", False), ("keep both", True), ("over to you", True)]
)
def test_the_words_of_a_choice_are_an_answer(talk: Any, answer: str, holds: bool) -> None:
    script = OVER | {"over to you": "talk"}
    alice, _ = talk(
        script, "I live in Bergen now", answer, book=["I live in Oslo with Kari"], verdicts={"over": "leave"}
    )
    assert ("I live in Oslo with Kari" in holding(alice)) == holds


def test_of_a_thing_told_in_a_fragment_nobody_is_asked_whether_it_is_over(talk: Any) -> None:
    script = {"flat": "say", "three": {"act": "end", "points": "two kids", "likely": 0.7}}
    alice, replies = talk(script, "our two kids, a small flat", "the three kids are loud")
    assert "our two kids, a small flat" in holding(alice)
    assert "over?" not in replies[1]


@pytest.mark.parametrize(
    ("answer", "lines"),
    [("1", ["my son Max is [8]"]), ("2", ["my son Max is 7", "my son Max is [8]"]), ("3", ["my son Max is 7"])],
)
def test_what_cannot_stand_beside_a_line_waits_in_the_question(talk: Any, answer: str, lines: list[str]) -> None:
    script = {"years": {"act": "change", "points": "Max", "old": "7", "new": "8", "surely": 0.7}}
    alice, replies = talk(script, "Max now 8 years old", answer, book=["my son Max is 7"])
    assert "1. Change it  2. Keep both  3. No" in replies[0]
    assert sorted(holding(alice)) == lines


@pytest.mark.parametrize("answer", ["no, don't keep that", "no dont keep it", "do not keep it"])
def test_a_no_with_its_words_is_a_no(talk: Any, answer: str) -> None:
    alice, replies = talk({}, "My shed is red.", answer, verdicts={"shed": "propose"})
    assert (holding(alice), alice.proposals.list()) == ([], [])
    assert replies[1] == "All right, I do not keep it."


def test_whoever_answers_is_asked_again_where_everything_is_asked(talk: Any) -> None:
    texts = [one for at in range(5) for one in (f"My hive {at} stands in the garden.", "yes")]
    alice, _ = talk({}, *texts, preset="assistant")
    assert len(holding(alice)) == 5


def test_past_the_third_question_the_reply_says_what_waits(talk: Any) -> None:
    texts = [f"My hive {at} stands in the garden." for at in range(4)]
    _, replies = talk({}, *texts, verdicts={"hive": "propose"})
    assert replies[3].startswith("To answer when you like, in Memory under “Is this right?”: “My hive 3 stands in")


def test_an_order_is_asked_about_whatever_was_asked_before(talk: Any) -> None:
    texts = [f"My hive {at} stands in the garden." for at in range(3)]
    orders = ["forget my allergy", "please forget my allergy", "My hive 4 stands in the garden."]
    script = {"forget": {"act": "withdraw", "points": "nuts", "surely": 0.7}}
    alice, replies = talk(script, *texts, *orders, book=["Im allergic to nuts"], verdicts={"hive": "propose"})
    assert [reply.startswith("Shall I forget “Im allergic to nuts”?") for reply in replies[3:5]] == [True, True]
    asked = open_questions(alice, alice.threads.list()[0].id)
    assert [one.content for one in asked] == [*(line.rstrip(".") for line in texts), "Im allergic to nuts"]
    assert "To answer when you like" in replies[5], "what was asked for an order leaves the limit as it is"


@pytest.mark.parametrize("between", [(), ("no",)])
def test_an_order_given_again_lists_what_there_is_by_now(talk: Any, between: tuple[str, ...]) -> None:
    ban = "never keep anything about my health"
    alice, replies = talk({}, "I have asthma", ban, *between, "undo", "I take metformin every morning", ban)
    assert "“I have asthma”" in replies[1]
    assert "1. “I have asthma”\n2. “I take metformin every morning”" in replies[-1]
    assert len(alice.proposals.list()) == 1, "the older question is asked no more"


def test_a_line_is_asked_about_again_after_a_no(talk: Any) -> None:
    order = {"forget": {"act": "withdraw", "points": "nuts", "surely": 0.7}}
    texts = ("forget my allergy", "no", "forget my allergy please")
    _, replies = talk(order, *texts, book=["Im allergic to nuts"])
    assert "Shall I forget “Im allergic to nuts”?" in replies[2]


def test_a_silent_preset_says_that_something_waits(talk: Any) -> None:
    _, replies = talk({}, "My hive stands in the garden.", preset="coach", verdicts={"hive": "propose"})
    assert replies[0].startswith("To answer when you like, in Memory under “Is this right?”: “My hive stands in")


@pytest.mark.parametrize("text", ["From now on, call me Bo.", "always give me times in both zones"])
def test_a_standing_wish_is_written_at_once_where_everything_is_asked(talk: Any, text: str) -> None:
    alice, replies = talk({}, text, preset="assistant")
    assert holding(alice) == [text.rstrip(".")]
    assert replies[0].startswith("Kept: ")


def test_a_standing_wish_that_the_reader_leaves_is_left(talk: Any) -> None:
    alice, _ = talk({}, "Always a pleasure!", preset="assistant", verdicts={"pleasure": "leave"})
    assert holding(alice) == []


@pytest.mark.parametrize(
    ("answer", "gone"),
    [("yes", True), ("all of them", True), ("no", False), ("yes to the pills", False)],
)
def test_all_of_a_topic_goes_with_a_yes(talk: Any, answer: str, gone: bool) -> None:
    book = ["I have had diabetes since 2009", "I take metformin every morning", "I live in Oslo"]
    script = {"forget": "withdraw", "yes to": "talk"}
    alice, replies = talk(script, "forget everything about my health", answer, book=book,
                          verdicts={"yes to": "propose"})  # fmt: skip
    assert replies[0].startswith("Shall I forget all of these?")
    assert (set(holding(alice)) == {"I live in Oslo"}) == gone
    assert ("still open" in replies[1]) == (answer == "yes to the pills")


def test_of_many_lines_of_a_topic_the_newest_are_asked_about(talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene, "MOST_OF_TOPIC", 1)
    book = ["I have had diabetes since 2009", "I take metformin every morning", "I live in Oslo"]
    forget = "forget everything about my health"
    alice, _ = talk({"forget": "withdraw"}, forget, "yes", book=book)
    assert set(holding(alice)) == {"I live in Oslo", "I have had diabetes since 2009"}


def test_which_of_several_is_not_answered_with_yes(talk: Any) -> None:
    book = ["Has a dentist appointment on Friday", "Has an appointment with the notary"]
    alice, replies = talk({"forget": "withdraw"}, "forget the appointment", "yes", book=book)
    assert "Which one shall I forget?" in replies[0]
    assert set(holding(alice)) == set(book)
    assert "still open" in replies[1]


def test_a_question_that_was_said_to_be_open_is_answered_by_the_next_yes(talk: Any) -> None:
    script = {"no more": "talk"}
    alice, replies = talk(script, "My name is Bo.", "no more questions please", "yes", preset="assistant",
                          verdicts={"no more": "leave"})  # fmt: skip
    assert "still open" in replies[1]
    assert holding(alice) == ["My name is Bo"]


def test_a_question_of_an_earlier_reply_is_not_answered_by_yes(talk: Any) -> None:
    script = {"where": "ask"}
    alice, replies = talk(script, "My name is Bo.", "no, where do I live?", "yes", preset="assistant",
                          verdicts={"where": "leave"})  # fmt: skip
    assert "still open" not in replies[1]
    assert holding(alice) == []


def test_words_for_an_open_question_are_no_line(talk: Any) -> None:
    script = {"yes to": "say"}
    alice, replies = talk(script, "My name is Bo and I earn 41,000.", "yes to the name, no to the money",
                          preset="assistant", verdicts={"yes to": "propose"})  # fmt: skip
    assert [one.content for one in alice.proposals.list()] == ["My name is Bo and I earn 41,000"]
    assert "still open" in replies[1]


# --- quotations


def test_a_question_of_the_notebook_is_no_part_of_a_line(talk: Any) -> None:
    alice, _ = talk({}, "My shed is red.", "around 48k a year", verdicts={"shed": "propose"})
    assert "around 48k a year" in holding(alice)


def test_a_fragment_takes_along_the_question_that_it_answers(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start()
    chat.add("user", "I want to stop working at 60.")
    chat.add("assistant", "Got it. What would you spend a year?")
    with moved_by(Scripted({})), read_by(Sentences()):
        say(kb, chat, "Well, around 48k a year. We own the flat.")
    assert set(holding(alice)) == {"(What would you spend a year?) around 48k a year", "We own the flat"}


@pytest.mark.parametrize("shred", ["plan 2", "no stopping", "the other one"])
def test_a_shred_is_not_offered(talk: Any, shred: str) -> None:
    alice, _ = talk({}, shred, verdicts={shred: "propose"})
    assert alice.proposals.list() == []


def test_a_change_of_what_was_only_offered_leaves_what_else_it_said(talk: Any) -> None:
    swims, moved = "Bram's swimming class is on Wednesdays at 4", "Bram's class moved to Thursdays"
    script = {"moved": {"act": "change", "points": "swimming"}}
    alice, _ = talk(script, swims, moved, verdicts={"class": "propose"})
    assert [one.content for one in alice.proposals.list()] == [swims, moved]


def test_what_is_kept_is_not_offered_as_well(talk: Any) -> None:
    verdicts = {"remember": "propose", "house": "propose"}
    script = {"remember": "keep"}
    alice, _ = talk(script, "remember that I won't sell the house", verdicts=verdicts)
    assert (holding(alice), alice.proposals.list()) == (["I won't sell the house"], [])


@pytest.mark.parametrize(
    ("text", "need", "kept", "offered"),
    [
        (
            "Our daughter Ida is six. She's allergic to nuts.",
            ("Our daughter Ida", 0.95),
            "Our daughter Ida … She's allergic to nuts",
            None,
        ),
        (
            "My sister met my aunt. She's allergic to nuts.",
            ("My sister", 0.4),
            None,
            "My sister … She's allergic to nuts",
        ),
        ("She's allergic to nuts.", None, None, "She's allergic to nuts"),
        ("My sister came by train. They stopped the bus.", None, "They stopped the bus", None),
    ],
)
def test_whoever_is_meant_is_named_or_it_is_asked(
    talk: Any, text: str, need: tuple[str, float] | None, kept: str | None, offered: str | None
) -> None:
    words, likely = need or (None, 0.0)
    alice, _ = talk({"She's": {"act": "say", "need": words, "needed": likely}}, text)
    assert kept is None or kept in holding(alice)
    assert offered is None or [one.content for one in alice.proposals.list()] == [offered]


def test_who_is_meant_may_stand_in_the_turn_before(talk: Any) -> None:
    script = {"He has": {"act": "say", "need": "my brother Tom"}}
    alice, _ = talk(script, "I visited my brother Tom.", "He has two horses.")
    assert "my brother Tom … He has two horses" in holding(alice)


# --- orders


@pytest.mark.parametrize("unsaid", ["Kidding!!", "lol just kidding.", "Jk, I wish."])
def test_a_joke_that_is_called_one_is_not_kept(talk: Any, unsaid: str) -> None:
    script = {unsaid: "talk"}
    verdicts = {unsaid: "leave"}
    alice, _ = talk(script, f"I live in Hull. I own a yacht. {unsaid} I have a kayak.", verdicts=verdicts)
    assert set(holding(alice)) == {"I live in Hull", "I have a kayak"}


def test_what_is_told_behind_just_kidding_is_heard(talk: Any) -> None:
    alice, _ = talk({"jk": "talk"}, "I own three kayaks.", "jk, I have two kayaks")
    assert holding(alice) == ["I have two kayaks"]


def test_a_note_to_oneself_is_no_order_in_any_language(talk: Any) -> None:
    alice, _ = talk({}, "note to self: buy printer paper", verdicts={"paper": "leave"})
    assert holding(alice) == []


def test_the_only_figure_is_mended_by_a_fragment_with_small_words_around_it(talk: Any) -> None:
    script = {"45k": {"act": "change", "points": "flat", "old": "40k", "new": "45k"}}
    alice, _ = talk(script, "we save for a flat, about 40k so far", "oh wait its 45k")
    assert holding(alice) == ["we save for a flat, about [45k] so far"]


@pytest.mark.parametrize("order", ["just kidding", "forget that", "please forget what I just said"])
def test_what_points_back_means_what_was_said_last(talk: Any, order: str) -> None:
    alice, _ = talk({order: "withdraw"}, "I live in Hull.", "I own a yacht.", order, verdicts={order: "leave"})
    assert holding(alice) == ["I live in Hull"]


def test_of_several_lines_said_last_it_is_asked_which_is_to_go(talk: Any) -> None:
    alice, replies = talk({}, "I own a yacht. I live in Hull.", "forget that", verdicts={"forget": "leave"})
    assert set(holding(alice)) == {"I own a yacht", "I live in Hull"}
    assert "Which one shall I forget?" in replies[1]


def test_an_order_that_trails_takes_what_stands_before_it(talk: Any) -> None:
    script = {"Don't keep": {"act": "withdraw", "ahead": 0.95}}
    alice, _ = talk(script, "My brother is in rehab. Don't keep that please. I live in Hull.")
    assert holding(alice) == ["I live in Hull"]


@pytest.mark.parametrize(("text", "left"), [("forget my dogs", 0), ("forget my dog", 2)])
def test_several_lines_go_where_several_are_named(talk: Any, text: str, left: int) -> None:
    alice, _ = talk({"forget": "withdraw"}, text, book=["My dog Rex is old", "My dog Bella is young"])
    assert len(holding(alice)) == left


def test_an_order_names_a_line_by_its_words_in_another_language(talk: Any) -> None:
    alice, _ = talk({}, "Glem hvor jeg bor", book=["Bor i Hamar", "Spiller sjakk"])
    assert holding(alice) == ["Spiller sjakk"]


# --- changes


def test_a_change_that_is_not_sure_stands_beside_the_line(talk: Any) -> None:
    script = {"stocks": {"act": "change", "points": "bonds", "old": "bonds over stocks", "new": "stocks over bonds",
                         "likely": 0.7}}  # fmt: skip
    alice, replies = talk(script, "I prefer stocks over bonds", book=["Prefers bonds over stocks"])
    assert set(holding(alice)) == {"I prefer stocks over bonds", "Prefers bonds over stocks"}
    assert "Is that over?" in replies[0]


@pytest.mark.parametrize("text", ["they changed my flight to Rome", "my flight to Rome costs 90"])
def test_what_brings_something_new_is_no_repeat(talk: Any, text: str) -> None:
    script = {"changed": {"act": "change", "points": "Rome", "old": "Rome", "new": "Rome"},
              "costs": {"act": "say", "points": "Rome"}}  # fmt: skip
    alice, replies = talk(script, text, book=["My flight to Rome leaves at 9:40"])
    assert "already" not in replies[0]
    assert set(holding(alice)) == {"My flight to Rome leaves at 9:40", text}


def test_note_that_means_the_sentence_before(talk: Any) -> None:
    script = {"note that": {"act": "keep", "points": "gf"}}
    verdicts = {"house": "leave", "gf": "propose"}
    alice, _ = talk(script, "My gf is pregnant.", "I won't sell the house. Please note that.", verdicts=verdicts)
    assert holding(alice) == ["I won't sell the house"]


def test_an_order_that_names_what_another_line_has_asks_which(talk: Any) -> None:
    book = ["My dentist is Dr. Wu", "Her number is 416-555-0199"]
    script = {"forget": {"act": "withdraw", "points": "Wu"}}
    alice, replies = talk(script, "please forget Dr. Wu's phone number", book=book)
    assert set(holding(alice)) == set(book)
    assert all(f"“{line}”" in replies[0] for line in book)


def test_an_order_does_not_take_a_line_that_has_none_of_its_words(talk: Any) -> None:
    script = {"forget": {"act": "withdraw", "points": "mum"}}
    alice, replies = talk(script, "My mum comes in December.", "ok forget about the HSR bit")
    assert holding(alice) == ["My mum comes in December"]
    assert replies[1] == "Shall I forget “My mum comes in December”?"


def test_the_reason_behind_an_order_is_no_part_of_what_it_names(talk: Any) -> None:
    book = ["My cat is called Pickle", "I take metformin"]
    alice, _ = talk({"forget": "withdraw"}, "forget my cat please, it makes me sad to see it", book=book)
    assert holding(alice) == ["I take metformin"]


def test_an_undo_behind_something_else_is_not_taken_for_the_last_deed(talk: Any) -> None:
    script = {"undo": {"act": "undo", "likely": 0.6}}
    alice, _ = talk(script, "My salary is 610,000.", "that line about Geir looks odd, undo that",
                    verdicts={"Geir": "leave"})  # fmt: skip
    assert holding(alice) == ["My salary is 610,000"]


def test_an_end_that_names_a_part_of_a_line_is_asked(talk: Any) -> None:
    line = "I run 6k without stopping, usually on Tuesdays and Sundays"
    script = {"no more": {"act": "end", "points": "6k"}}
    alice, replies = talk(script, "no more Tuesdays", book=[line], verdicts={"no more": "leave"})
    assert holding(alice) == [line]
    assert "Is that over?" in replies[0]


@pytest.mark.parametrize("text", ["Tom is 10 now", "Luis quit today"])
def test_what_is_about_somebody_else_raises_no_question_about_the_persons_line(talk: Any, text: str) -> None:
    script = {text: {"act": "change" if "10" in text else "end", "points": "mower", "old": "Tuesday", "new": text[:3],
                     "likely": 0.6}}  # fmt: skip
    alice, _ = talk(script, text, book=["My mower service is booked for Tuesday"], verdicts={text: "leave"})
    assert alice.proposals.list() == []


@pytest.mark.parametrize(
    ("text", "line"),
    [("Actually, change that to age 55.", "I'm targeting retirement at [55]"),
     ("make that 55", "I'm targeting retirement at [55]")],
)  # fmt: skip
def test_an_order_to_change_the_only_number_is_carried_out(talk: Any, text: str, line: str) -> None:
    script = {text: {"act": "change", "points": "50", "old": "50", "new": "55", "likely": 0.6, "surely": 0.6}}
    alice, replies = talk(script, "Remember I'm targeting retirement at 50.", text)
    assert holding(alice) == [line]
    assert replies[1].startswith(f"Changed: “{line}”.")


def test_where_it_could_be_another_number_it_is_asked(talk: Any) -> None:
    script = {"make": {"act": "change", "points": "50", "old": "50", "new": "55", "likely": 0.6, "surely": 0.6}}
    alice, replies = talk(script, "Remember I retire at 50 with 2 million.", "make that 55")
    assert holding(alice) == ["I retire at 50 with 2 million"]
    assert "Shall I change" in replies[1]


def test_a_filler_at_the_end_is_no_part_of_a_line(talk: Any) -> None:
    alice, _ = talk({}, "Alec is my boss by the way.")
    assert holding(alice) == ["Alec is my boss"]


# --- answers


def test_what_begins_later_is_told_with_its_day(talk: Any, clock: Any) -> None:
    _, replies = talk({"who": "ask"}, "remember that Marta is my foreman from 1 March 2099", "who is my foreman?",
                      verdicts={"who": "leave"})  # fmt: skip
    assert "From 1 March 2099 on: “Marta is my foreman from 1 March 2099”" in replies[1]


def test_a_question_about_oneself_does_not_ask_for_the_whole_book(talk: Any) -> None:
    _, replies = talk({"how": "ask"}, "how old am i?", book=["I take metformin", "My dog is called Rex"],
                      verdicts={"how": "leave"})  # fmt: skip
    assert "metformin" not in replies[0]


def test_a_question_about_oneself_is_not_answered_with_somebody_else(talk: Any) -> None:
    book = ["My sister Clare lives in Leeds", "My wife and I live in Hull"]
    _, replies = talk({"where": "ask"}, "where do I live?", book=book, verdicts={"where": "leave"})
    assert "Hull" in replies[0]
    assert "Leeds" not in replies[0]


def test_lines_that_may_disagree_are_told_with_their_days(talk: Any, clock: Any) -> None:
    talk({}, "thanks", book=["I live in Oslo with Kari"])
    clock.forward(days=40)
    talk({}, "thanks", book=["I live in Moss"])
    _, replies = talk({"where": "ask"}, "where do I live?", verdicts={"where": "leave"})
    assert replies[0].count(" 2026)") == 2


@pytest.mark.parametrize(
    ("question", "answers"),
    [("what is my sister called?", True), ("who repaired the roof?", False), ("where did I go to school?", False)],
)
def test_the_best_of_a_poor_lot_is_no_answer(talk: Any, question: str, answers: bool) -> None:
    book = ["My sister is called Clare", "I work nights at St Thomas as a nurse", "The tractor is from 1988"]
    _, replies = talk({question: "ask"}, question, book=book, verdicts={question: "leave"})
    assert ("Your book says" in replies[0]) == answers
