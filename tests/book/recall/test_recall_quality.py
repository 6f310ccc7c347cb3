"""Recall of chat turns: the turn that answers comes first, for reasons that hold in any conversation."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook.book.recall.turns import ranking
from keepbook.book.text.time_hints import asked_days, asked_stretch

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
JULY = datetime(2023, 7, 3, 9, 0, tzinfo=UTC)


def say(book: Any, session: str, *turns: tuple[str | None, str], at: datetime = MAY, role: str = "user") -> Any:
    with book.transaction():
        chat = book.thread(session)
        for speaker, text in turns:
            chat.add(role if speaker != "assistant" else "assistant", text, at, speaker)
    return chat


def found(book: Any, question: str, **how: Any) -> list[str]:
    return [hit.text for hit in book.recall_chats(question, **how)]


@pytest.fixture
def talk(alice: Any) -> Any:
    say(
        alice, "first",
        ("Caroline", "Hey Mel! Good to see you!"),
        ("Melanie", "Where did you go hiking with the kids?"),
        ("Caroline", "Up at Lake Tahoe, and it was lovely."),
        ("Melanie", "I painted a sunrise over the sea last year."),
        ("Caroline", "Melanie, you paint so well! A sunrise is hard to paint."),
    )  # fmt: skip
    say(alice, "second", ("Caroline", "We adopted a puppy today, the vet likes him."), at=JULY)
    return alice


def test_an_answer_has_the_words_of_the_question_before_it(talk: Any) -> None:
    assert "Up at Lake Tahoe, and it was lovely." in found(talk, "Where did Caroline go hiking?")[:2]


def test_what_the_named_person_said_comes_before_what_was_said_to_them(talk: Any) -> None:
    hits = talk.recall_chats("What did Melanie paint?")

    assert hits[0].text == "I painted a sunrise over the sea last year."
    assert any("said by: melanie" in reason for reason in hits[0].reasons)


def test_a_day_named_in_the_question_finds_what_was_said_on_it(talk: Any) -> None:
    hits = talk.recall_chats("What happened in July 2023?")

    assert hits[0].text == "We adopted a puppy today, the vet likes him."
    assert any(reason.startswith("day: ") for reason in hits[0].reasons)
    assert found(talk, "What was said in March 1999?") == []


def test_a_typo_finds_the_word_and_says_so(talk: Any) -> None:
    hit = talk.recall_chats("Who adoptd a pupy?")[0]

    assert hit.text == "We adopted a puppy today, the vet likes him."
    assert any("read as" in reason for reason in hit.reasons)


@pytest.mark.parametrize("question", ["What is my favourite tea?", "What tea does the user like?"])
def test_with_one_user_i_and_the_user_name_the_same_person(alice: Any, question: str) -> None:
    say(
        alice, "one",
        ("assistant", "Many people like tea: green tea, black tea, and the favourite of most is oolong tea."),
        (None, "My favourite tea is the smoky one."),
    )  # fmt: skip

    assert found(alice, question)[0] == "My favourite tea is the smoky one."


def test_a_question_of_what_the_assistant_said_finds_the_assistant(alice: Any) -> None:
    say(
        alice, "one",
        (None, "Recommend me a restaurant in Rome, one with pasta."),
        ("assistant", "For pasta in Rome, the restaurant Da Enzo is what I recommend."),
    )  # fmt: skip

    assert found(alice, "Which restaurant in Rome did you recommend?")[0].startswith("For pasta")


def test_a_request_finds_what_the_user_said_for_good_and_not_what_the_assistant_said_once(alice: Any) -> None:
    say(
        alice, "one",
        (None, "Convert the oven temperature of this recipe, and from now on recipes in metric."),
        ("assistant", "This recipe needs an oven temperature of 180 degrees. What is its size?"),
    )  # fmt: skip
    say(alice, "two", (None, "I cooked the recipe of your list and the oven was at 200."))

    assert "from now on" in found(alice, "Could you write down the recipe with its oven temperature?")[0]
    assert all("said by" not in why for hit in alice.recall_chats("oven temperature") for why in hit.reasons)


def test_a_turn_that_says_something_comes_before_a_greeting(alice: Any) -> None:
    say(
        alice, "one", (None, "Chess!"), (None, "ok"), (None, "so"), (None, "and"), (None, "Chess on Friday at the club")
    )

    assert found(alice, "chess")[0] == "Chess on Friday at the club"


def test_common_words_order_what_rare_ones_found_when_there_is_too_much(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "POSTINGS", 10)
    for number in range(12):
        say(alice, f"chat {number}", (None, f"Tea with the neighbours, cake number {number}"))
    say(alice, "walks", *[(None, f"Walked {miles} miles by the river") for miles in range(60)])
    say(alice, "rare", (None, "The harpsichord needs tuning before we play"))
    say(alice, "both", (None, "No harpsichord with tea and cake"))

    assert found(alice, "harpsichord tea cake")[0] == "No harpsichord with tea and cake"
    assert {snippet.text.replace("⟦", "").replace("⟧", "") for snippet in alice.threads.search("harpsichord tea")} == {
        "No harpsichord with tea and cake"
    }


def test_search_takes_no_day_and_no_speaker_for_a_word(talk: Any) -> None:
    assert talk.threads.search("July") == []
    assert all("caroline" not in snippet.text.casefold() for snippet in talk.threads.search("Tahoe"))


def test_chats_in_the_trash_removed_incognito_or_foreign_are_never_found(kb: Any, alice: Any) -> None:
    trashed = say(alice, "trashed", (None, "The zebra eats apples"))
    gone = say(alice, "gone", (None, "The zebra eats pears"))
    with alice.transaction():
        alice.thread("secret", incognito=True).add("user", "The zebra eats plums")
    say(kb.book("bob"), "his", (None, "The zebra eats cherries"))
    alice.threads.delete(trashed.id)
    alice.threads.delete(gone.id, forever=True)

    assert found(alice, "zebra") == []
    alice.threads.restore(trashed.id)
    assert found(alice, "zebra") == ["The zebra eats apples"]


WORDS = ["tea", "Oslo", "running", "in May 2023", "Anna", "cake?", "I", "my", "you", "Kowalczyk", "the"]
TURNS = st.lists(
    st.tuples(st.sampled_from([None, "Anna", "assistant"]), st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TURNS, st.lists(st.sampled_from([*WORDS, "Kowalczik"]), min_size=1, max_size=4))
def test_both_engines_find_the_same_turns_in_the_same_order(both_kbs: Any, turns: Any, asked: list[str]) -> None:
    found = []
    for kb in both_kbs:
        book = kb.book("walker")
        if book.threads.list():
            book.erase("walker")
        say(book, "one", *[(speaker, " ".join(words)) for speaker, words in turns])
        hits = book.recall_chats(" ".join(asked), 50)
        found.append([(hit.turn, hit.relevance, hit.reasons) for hit in hits])
    assert found[0] == found[1]


# --- times in a question

NOW = "2026-11-15T12:00:00.000000Z"


def test_months_days_and_years_are_read_where_they_are_dates() -> None:
    assert asked_days("What did she do on 8 May 2023?") == ["8", "may", "2023"]
    assert asked_days("June 5th, 2022") == ["5", "june", "2022"]
    assert asked_days("in May") == ["may"]
    assert asked_days("May I ask how the march to 12 trees went?") == []


def test_words_that_count_from_now_are_a_stretch_of_time() -> None:
    spring = asked_stretch("What did I buy last spring?", NOW)
    assert spring is not None
    assert (spring.since[:10], spring.until[:10]) == ("2026-03-01", "2026-06-01")
    assert spring.covers("2026-04-02T00:00:00.000000Z")
    assert not spring.covers("2026-07-02T00:00:00.000000Z")
    assert asked_stretch("What do I like?", NOW) is None


def test_of_equals_the_one_of_the_named_time_comes_first_and_says_so(alice: Any, clock: Any) -> None:
    clock.set("2026-04-10T09:00:00Z")
    alice.remember("Bought a bicycle of brand Alpha")
    clock.set("2026-09-10T09:00:00Z")
    alice.remember("Bought a bicycle of brand Gamma")
    clock.set("2026-11-10T09:00:00Z")

    hits = alice.recall("Which bicycle did I buy last spring?")
    assert hits[0].content.endswith("Alpha")
    assert "time: last spring" in hits[0].reasons
    assert alice.recall("Which bicycle did I buy?")[0].content.endswith("Gamma")


def test_a_turn_of_the_time_the_question_names_comes_first_and_says_so(alice: Any, clock: Any) -> None:
    clock.set("2026-11-10T09:00:00Z")
    spring, autumn = datetime(2026, 4, 10, tzinfo=UTC), datetime(2026, 9, 10, tzinfo=UTC)
    say(alice, "one", (None, "We took the ferry to the island and the children were seasick all the way"), at=autumn)
    say(alice, "two", (None, "We took the ferry to the island"), at=spring)

    assert "seasick" in found(alice, "When did we take the ferry to the island?")[0]
    hit = alice.recall_chats("When did we take the ferry to the island last spring?")[0]
    assert hit.text == "We took the ferry to the island"
    assert hit.reasons[-1] == "time: last spring"
