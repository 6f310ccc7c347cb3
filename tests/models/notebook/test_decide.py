"""What the clauses of a turn do to the book: done where it is sure, else beside and asked; nothing is guessed."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted

from keepbook import Keepbook
from keepbook.book.text.quotation import Span, at_words
from keepbook.models.model import TextDelta
from keepbook.models.notebook import judged_turn, read, turn
from keepbook.models.notebook.decide import compatible_steps
from keepbook.models.notebook.values import ChatTurn, QuotedLine, Scene, TurnStep
from keepbook.presets import load_preset


@pytest.fixture
def talk(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says turns in one chat, with a script of what their clauses do; answers the book and the replies."""

    def spoken(script: dict[str, Any], *texts: str, book: Any = (), preset: str = "general") -> tuple[Any, list[str]]:
        moves = Scripted(script)
        monkeypatch.setattr(read, "shared_moves", lambda: moves)
        monkeypatch.setattr(turn, "shared_moves", lambda: moves)
        alice = kb.book("alice")
        for line in book:
            alice.remember(line, force=True)
        chat = alice.threads.start(preset=preset)

        async def say(text: str) -> str:
            return "".join([e.text async for e in kb.talk(chat).say(text) if isinstance(e, TextDelta)])

        return alice, [asyncio.run(say(text)) for text in texts]

    return spoken


def holding(book: Any) -> list[str]:
    return [one.content for one in book.list() if one.current]


def test_a_statement_is_kept_at_once_in_the_persons_own_letters(talk: Any) -> None:
    alice, replies = talk({}, "I live in Oslo with my wife Kari.")
    (kept,) = alice.list()
    assert (kept.content, kept.quoted, kept.source) == ("I live in Oslo with my wife Kari", True, "extracted")
    assert "“I live in Oslo with my wife Kari”" in replies[0]
    assert [tuple(span) for span in kept.spans] == [(1, 0, 32, "said")]


def test_a_sure_change_is_the_next_version_of_the_same_line(talk: Any) -> None:
    script = {"Bergen": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Bergen"}}
    alice, replies = talk(script, "I live in Bergen these days", book=["I live in Oslo"])
    (line,) = alice.list()
    assert (line.content, line.version, line.quoted) == ("I live in Bergen these days", 2, True)
    assert [one.content for one in alice.history(line.id)] == ["I live in Oslo", "I live in Bergen these days"]
    assert "Changed" in replies[0]


@pytest.mark.parametrize(
    ("line", "said", "after"),
    [
        ("I'm allergic to peanuts", "Actually I'm not allergic to peanuts", ["I'm not allergic to peanuts"]),
        ("I live in Oslo", "sorry, I don't live in Oslo anymore", ["I don't live in Oslo anymore"]),
        ("I eat meat", "I no longer eat meat", ["I no longer eat meat"]),
        ("I'm allergic to peanuts", "My son is not allergic to peanuts", None),
        ("I live in Oslo", "I hope I don't live in Oslo forever", None),
        ("Anna loves Tom", "Tom doesn't love Anna", None),
        ("I don't eat meat", "I eat meat", None),
    ],
)
@pytest.mark.parametrize("act", ["say", "change", "end"])
def test_a_line_denied_in_its_own_words_holds_no_longer_whatever_the_reader_doubts(
    talk: Any, line: str, said: str, after: list[str] | None, act: str
) -> None:
    doubted = {"act": act, "likely": 0.4, "points": line, "surely": 0.3}
    alice, _ = talk({said: doubted}, said, book=[line])
    if after is None:
        assert line in holding(alice)
        return
    assert holding(alice) == after
    assert [one.content for one in alice.history(alice.list()[0].id)] == [line, *after]


def test_what_a_turn_has_changed_it_does_not_ask_about(talk: Any) -> None:
    script = {"Aker": {"act": "change", "points": "Equinor", "old": "Equinor", "new": "Aker", "unsure": 0.9}}
    texts = "I don't work at Equinor anymore. I work at Aker now."
    alice, (reply,) = talk(script, texts, book=["I work at Equinor"])
    assert holding(alice) == ["I don't work at Equinor anymore", "I work at Aker now"]
    assert "Is that over?" not in reply


def test_what_was_true_before_a_change_stays_true_then(talk: Any, clock: Any) -> None:
    script = {"Bergen": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Bergen"}}
    alice, _ = talk({}, "thanks", book=["I live in Oslo"])
    before = alice.list()[0].recorded_at
    clock.forward(days=100)
    alice, _ = talk(script, "I live in Bergen these days")
    assert [one.content for one in alice.as_of(valid=before)] == ["I live in Oslo"]


def test_opposites_are_not_repeats_however_sure_the_pointer_is(talk: Any) -> None:
    script = {"alts": {"act": "say", "points": "alts"}}
    alice, replies = talk(script, "I do trade alts sometimes", book=["I never trade alts"])
    assert "already" not in replies[0]
    assert "I never trade alts" in holding(alice)
    offered = [one.content for one in alice.proposals.list()]
    assert "I do trade alts sometimes" in [*holding(alice), *offered]


@pytest.mark.parametrize(
    ("told", "mended", "new", "line"),
    [
        ("I'm allergic to peanuts", "no sorry, cashews, not peanuts", "cashews", "I'm allergic to [cashews]"),
        ("My daughter turns 6 in May", "oops, 7, not 6", "7", "My daughter turns [7] in May"),
        ("Our wedding is on 14 June", "no, 15 June, not 14", "15 June", "Our wedding is on [15 June]"),
        ("I work as a nurse at sea", "as a midwife, not a nurse", "midwife", "I work as [a midwife] at sea"),
        ("I live in Oslo", "my sister is in Bergen, not Oslo", "Bergen", "I live in Oslo"),
    ],
)
@pytest.mark.parametrize("offered", [False, True])
def test_a_slip_of_the_line_before_is_mended_where_both_words_are_named(
    talk: Any, told: str, mended: str, new: str, line: str, offered: bool
) -> None:
    doubted = {"act": "change", "likely": 0.3, "new": new}
    alice, _ = talk({mended: doubted}, told, mended, preset="assistant" if offered else "general")
    found = [one.content for one in alice.proposals.list()] if offered else holding(alice)
    assert line in found
    assert (told in found) == (told == line)


def test_words_that_two_clauses_would_keep_are_one_line() -> None:
    turns = (ChatTurn(1, "user", "remember that my landlord is called Petter"),)
    scene = Scene(turns, "chat", "UTC", datetime(2026, 10, 9, tzinfo=UTC), load_preset("general"))
    landlord = QuotedLine((Span(1, 14, 49, "said"),), "my landlord is called Petter", ordered=True)
    steps = [TurnStep("keep", start, 49, quotation=landlord) for start in (0, 14)]
    assert compatible_steps(steps, scene) == steps[:1]


def test_a_fragment_exchanges_the_only_figure_in_a_bracket(talk: Any) -> None:
    script = {"65,000": {"act": "change", "points": "salary", "old": "55,000", "new": "65,000"}}
    alice, _ = talk(script, "remember that my salary is 55,000 a year", "no sorry, 65,000")
    assert holding(alice) == ["my salary is [65,000] a year"]


def test_a_slip_in_what_was_just_kept_is_mended_though_the_reader_has_some_doubt(talk: Any) -> None:
    mended = {"act": "change", "points": "12th", "old": "12th", "new": "13th", "mistake": 0.9, "unsure": 0.6}
    alice, _ = talk({"13th": mended}, "My dentist is on the 12th of May.", "sorry, 13th")
    assert holding(alice) == ["My dentist is on the [13th] of May"]


@pytest.mark.parametrize("text", ["Actually it's cashews", "3 weeks now"])
def test_what_names_nothing_that_it_speaks_of_is_no_line(talk: Any, text: str) -> None:
    alice, _ = talk({}, text, book=["My nephew is allergic to peanuts"])
    assert (holding(alice), alice.proposals.list()) == (["My nephew is allergic to peanuts"], [])


@pytest.mark.parametrize(
    ("text", "new", "line"),
    [
        ("make that 1,320 from January 2030", "1,320", "My rent is [1,320] euros"),
        ("make that 1,320 euros from January 2030", "1,320 euros", "My rent is [1,320 euros]"),
    ],
)
def test_a_value_is_exchanged_from_when_the_words_say(talk: Any, text: str, new: str, line: str) -> None:
    script = {"1,320": {"act": "change", "points": "rent", "old": "1,250", "new": new}}
    alice, _ = talk(script, text, book=["My rent is 1,250 euros"])
    assert [one.content for one in alice.as_of(valid="2029-12-31")] == ["My rent is 1,250 euros"]
    assert [one.content for one in alice.as_of(valid="2030-01-02")] == [line]


@pytest.mark.parametrize(
    ("line", "said", "old", "new", "after"),
    [
        ("I fly to Rome on the 14th", "not Rome: Milan", "Rome", "Milan", "I fly to [Milan] on the 14th"),
        ("I only risk 2% per trade", "sorry, 0.5% per trade", "2%", "0.5%", "I only risk [0.5%] per trade"),
    ],
)
def test_what_says_nothing_but_a_value_is_exchanged_in_a_line_that_says_more(
    talk: Any, line: str, said: str, old: str, new: str, after: str
) -> None:
    alice, replies = talk({said: {"act": "change", "points": line, "old": old, "new": new}}, said, book=[line])
    assert holding(alice) == [after]
    assert f"Changed: “{after}”." in replies[0]


def test_a_line_that_says_more_stays_and_the_person_is_asked_whether_it_is_over(talk: Any) -> None:
    script = {"Moss": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Moss"}}
    alice, replies = talk(script, "We live in Moss now", "2", book=["I live in Oslo with Kari"])
    assert "Is that over?" in replies[0]
    assert holding(alice) == ["We live in Moss now"]
    assert "I live in Oslo with Kari" in [one.content for one in alice.list()]


def test_an_uncertain_pointer_changes_nothing(talk: Any) -> None:
    script = {"Bergen": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Bergen", "surely": 0.6}}
    alice, _ = talk(script, "I live in Bergen these days", book=["I live in Oslo"])
    assert "I live in Oslo" in holding(alice)


def test_two_lines_that_may_be_meant_are_not_changed(talk: Any) -> None:
    script = {"Bergen": {"act": "change", "points": ["Oslo"], "old": "Oslo", "new": "Bergen"}}
    lines = ["I live in Oslo", "My office is in Oslo"]
    alice, _ = talk(script, "It is in Bergen these days", book=lines)
    assert set(lines) <= set(holding(alice))


def test_an_end_keeps_the_line_with_its_days(talk: Any) -> None:
    script = {"sold": {"act": "end", "points": "boat"}}
    alice, replies = talk(script, "we sold the boat", book=["I have a boat called Vilja"])
    (line,) = alice.list()
    assert (line.content, line.current) == ("I have a boat called Vilja", False)
    assert line.valid_until is not None
    assert "Over" in replies[0]


def test_what_is_said_again_adds_nothing_and_is_confirmed(talk: Any) -> None:
    script = {"still": {"act": "say", "points": "Oslo"}}
    alice, replies = talk(script, "i still live in oslo", book=["I live in Oslo"])
    (line,) = alice.list()
    assert line.last_confirmed_at is not None
    assert "already" in replies[0]


def test_a_withdrawal_takes_every_line_that_is_surely_meant_and_undo_brings_all_back(talk: Any) -> None:
    script = {"forget": {"act": "withdraw", "points": ["Rex", "Bella"]}, "undo": "undo"}
    lines = ["My dog Rex is old", "My dog Bella is young", "I live in Oslo"]
    alice, _ = talk(script, "forget my dogs", book=lines)
    assert holding(alice) == ["I live in Oslo"]
    alice, _ = talk(script, "forget my dogs", "undo that", book=lines)
    assert set(holding(alice)) == set(lines)


def test_do_not_keep_this_reaches_the_words_beside_it(talk: Any) -> None:
    script = {"don't keep": {"act": "withdraw", "ahead": 0.95}}
    alice, replies = talk(script, "don't keep this: I live in Oslo with my wife Kari.")
    assert list(alice.list()) == []
    assert alice.proposals.list() == []
    assert "do not keep" in replies[0]


def test_a_no_is_remembered(talk: Any) -> None:
    alice, replies = talk({}, "I am a vegetarian.", "no thanks", "I am a vegetarian.", preset="assistant")
    assert "shall I keep that" in replies[0]
    assert (list(alice.list()), alice.proposals.list()) == ([], [])


@pytest.mark.parametrize(("answer", "kept"), [("yes", 1), ("ok no", 0), ("ok. my dog is called Rex", 0), ("1", 1)])
def test_only_an_answer_answers(talk: Any, answer: str, kept: int) -> None:
    alice, _ = talk({}, "I am a vegetarian.", answer, preset="assistant")
    assert [one.content for one in alice.list()].count("I am a vegetarian") == kept


def test_off_is_asked_and_keeps_nothing_meanwhile(talk: Any) -> None:
    script = {"stop remembering": "off"}
    alice, replies = talk(script, "stop remembering things. I live in Oslo with my wife Kari.")
    assert "switch memory off" in replies[0]
    assert list(alice.list()) == []
    assert alice.choices.memory
    alice, _ = talk(script, "stop remembering things", "yes")
    assert not alice.choices.memory


def test_a_forbidden_topic_is_not_kept_from_the_turn_that_forbids_it(talk: Any) -> None:
    script = {"never": "never"}
    alice, _ = talk(script, "never keep anything about my health. I have had diabetes since 2009.")
    assert alice.choices.never == ("health",)
    assert list(alice.list()) == []


def test_what_a_line_needs_is_taken_along(talk: Any) -> None:
    script = {"husband": {"act": "say", "need": "my sister Clare", "own": 0.0, "who": "my sister Clare"}}
    alice, _ = talk(script, "I visited my sister Clare on Sunday. Her husband has had Parkinson's since 2015.")
    lines = [one.content for one in (*alice.list(), *alice.proposals.list())]
    assert "my sister Clare … Her husband has had Parkinson's since 2015" in lines


def test_a_slip_is_mended_inside_its_sentence(talk: Any) -> None:
    script = {"no sorry": {"act": "change", "points": "Ghent", "old": "Ghent", "new": "Bruges", "mistake": 0.9}}
    alice, _ = talk(script, "I live in Ghent with my wife. no sorry, Bruges")
    lines = [one.content for one in (*alice.list(), *alice.proposals.list())]
    assert lines == ["I live in [Bruges] with my wife"]


def test_a_secret_is_kept_out_and_the_next_clause_is_not(talk: Any) -> None:
    alice, replies = talk({}, "I live in Oslo with my wife Kari. My PIN is 4471.")
    assert [one.content for one in alice.list()] == ["I live in Oslo with my wife Kari"]
    assert "PIN" not in str([one.content for one in alice.proposals.list()])
    assert "password" in replies[0]


def test_whoever_forgets_everything_is_led_to_erase(talk: Any) -> None:
    alice, replies = talk({"forget": "withdraw"}, "forget everything", book=["I live in Oslo"])
    assert holding(alice) == ["I live in Oslo"]
    assert "Erase" in replies[0]


def test_a_topic_is_asked_with_its_lines(talk: Any) -> None:
    lines = ["I have had diabetes since 2009", "I take metformin every morning", "I live in Oslo"]
    alice, replies = talk({"forget": "withdraw"}, "forget my health", book=lines)
    assert set(holding(alice)) == set(lines)
    assert "1. “" in replies[0]
    assert "Oslo" not in replies[0]


@pytest.mark.parametrize("text", ["Forget the oat milk, I'll take it black.", "Remember that SN2 inverts, inverts."])
def test_words_of_an_order_that_the_reader_takes_for_talk_are_none(talk: Any, text: str) -> None:
    alice, replies = talk({"": {"act": "talk", "likely": 0.9}}, text, book=["I like oat milk"])
    assert holding(alice) == ["I like oat milk"]
    assert "Forgotten" not in replies[0]


def test_an_order_that_may_be_talk_is_asked_about(talk: Any) -> None:
    script = {"Forget": {"act": "withdraw", "likely": 0.2, "talk": 0.6, "points": "oat"}}
    alice, _ = talk(script, "Forget the oat milk", book=["I like oat milk"])
    assert holding(alice) == ["I like oat milk"]
    assert len(alice.proposals.list()) == 1


def test_a_ban_in_other_words_than_the_lists_have_bans_the_topic_it_names(talk: Any) -> None:
    alice, _ = talk({"closed": "never"}, "My health is closed to you henceforth.")
    assert alice.choices.never == ("health",)


def test_a_ban_that_names_no_topic_bans_nothing(talk: Any) -> None:
    alice, _ = talk({"closed": "never"}, "That chapter is closed to you henceforth.")
    assert alice.choices.never == ()


def test_what_is_perhaps_to_be_kept_is_not_kept_as_ordered(talk: Any) -> None:
    script = {"Kindly": {"act": "keep", "likely": 0.6}, "rain": {"act": "talk", "likely": 0.9}}
    alice, _ = talk(script, "Such rain today. Kindly do.")
    assert holding(alice) == []


def test_an_order_names_its_lines_whatever_words_lead_up_to_it(talk: Any) -> None:
    dogs = ["Mein Hund heißt Waldi", "Mein Hund heißt Fips"]
    alice, (reply,) = talk({}, "Vergiss bitte meinen Hund", book=dogs)
    assert all(f"“{dog}”" in reply for dog in dogs)
    assert sorted(holding(alice)) == sorted(dogs)


def test_what_cannot_be_quoted_is_not_done_and_letters_are_no_words_for_a_person(
    talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = QuotedLine((Span(1, 0, 3, "said"),), "I l")
    monkeypatch.setattr(judged_turn, "quotation", lambda *_, **__: half)
    alice, (reply,) = talk({}, "I live in Oslo with my wife Kari.")
    assert (holding(alice), alice.proposals.list()) == ([], [])
    assert "letters" not in reply


@pytest.mark.parametrize(("part", "whole"), [("3,0", "3,000"), ("'m", "I'm"), ("00 eu", "000 euros"), ("up", "up")])
def test_a_stretch_gets_the_whole_of_a_word_that_it_splits(part: str, whole: str) -> None:
    text = "I'm up 3,000 euros"
    start = text.index(part)
    begin, end = at_words(text, start, start + len(part))
    assert text[begin:end].endswith(whole)
    assert (begin, end) == at_words(text, begin, end)


def test_an_order_that_trails_a_statement_keeps_it_once(talk: Any) -> None:
    told = "Our wedding anniversary is the 2nd of November, please remember that"
    alice, replies = talk({"please remember": {"act": "keep"}}, told, told)
    assert holding(alice) == ["Our wedding anniversary is the 2nd of November"]
    assert replies[0].startswith("Kept: “Our wedding anniversary is the 2nd of November”.")
    assert "Kept" not in replies[1]
    assert "already" in replies[1]
