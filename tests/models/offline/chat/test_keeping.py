"""What is written: kept, changed, forgotten, confirmed and taken back, in the words of every preset's tools."""

from typing import Any

import pytest
from tests.models.offline.chat.conftest import SEEDS, Chat, Open

from keepbook import Keepbook
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import Answer

PRESETS = ("general", "advisor", "assistant", "coach")


def called(chat: Chat) -> list[tuple[str, dict[str, Any]]]:
    """The calls of the last reply that wrote something."""
    return [(call.name, call.arguments) for call in chat.calls if call.memory_event]


# --- keeping

KEPT = {
    "Remember that my cat is called Tom": "Cat is called Tom",
    "please remember I'm lactose intolerant": "Is lactose intolerant",
    "Could you remember that I drive a Volvo?": "Drives a Volvo",
    "note that I only trade the London open": "Only trades the London open",
    "keep in mind that I hate olives": "Hates olives",
    "don't forget that I have 3 cats": "Has 3 cats",
    "From now on, answer in bullet points": "Answer in bullet points",
    "from now on call me Al": "Wants to be called Al",
    "remember my wife Ana was born on 4 May 1980": "Wife Ana was born on 4 May 1980",
    "remember that we're saving 250 euros a month for a boat": "Is saving 250 euros a month for a boat",
    "Remember that my brother works at NASA": "Brother works at NASA",
    "Write down: my blood type is 0 negative": "Blood type is 0 negative",
    "Recuerda que soy vegano": "Soy vegano",
    "Merk dir, dass ich kein Fleisch esse": "Ich esse kein Fleisch",
    "Husk at jeg ikke spiser kjøtt": "Jeg spiser ikke kjøtt",
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("text", "content"), KEPT.items())
def test_what_should_be_kept_is_kept_as_one_plain_line(chat: Open, preset: str, text: str, content: str) -> None:
    talk = chat(preset)
    talk.tell(text)
    assert talk.news == [content]
    assert talk.gone == []


@pytest.mark.parametrize(
    ("preset", "name", "arguments"),
    [
        ("general", "remember", {"content": "Lives in Bergen", "category": "profile"}),
        ("advisor", "save_preference", {"content": "Lives in Bergen", "category": "profile"}),
        ("assistant", "add_to_memory", {"content": "Lives in Bergen", "category": "context"}),
        ("coach", "remember", {"fact": "Lives in Bergen", "topic": "self", "confidence": "asserted"}),
    ],
)
def test_a_save_speaks_the_words_of_the_preset(chat: Open, preset: str, name: str, arguments: dict[str, Any]) -> None:
    talk = chat(preset, seeds=())
    talk.tell("Remember that I live in Bergen")
    assert called(talk) == [(name, arguments)]


@pytest.mark.parametrize(
    ("text", "preset", "category"),
    [
        ("Remember that Sarah works in Sales", "general", "person"),
        ("Remember that Sarah works in Sales", "assistant", "person"),
        ("Remember that I prefer tea", "general", "preference"),
        ("Remember that my mortgage is 2,400 a month", "advisor", "finance_context"),
        ("From now on keep your answers short", "advisor", "response_style"),
        ("Remember that the manuscript is due in March", "general", "project"),
    ],
)
def test_the_category_is_one_that_the_tool_knows(chat: Open, text: str, preset: str, category: str) -> None:
    talk = chat(preset)
    talk.tell(text)
    assert [arguments["category"] for _, arguments in called(talk)] == [category]


def test_a_person_is_the_subject_of_what_is_said_about_them(chat: Open) -> None:
    talk = chat("assistant")
    talk.tell("Remember that Sarah works in Sales")
    talk.tell("Remember that my wife Ana likes tulips")
    assert {memory.content: memory.subject for memory in talk.book.list()}["Sarah works in Sales"] == "Sarah"
    assert {memory.content: memory.subject for memory in talk.book.list()}["Wife Ana likes tulips"] == "Ana"


def test_what_is_saved_names_the_turn_that_said_it(chat: Open) -> None:
    talk = chat()
    talk.tell("Remember that I play the violin")
    (memory,) = [memory for memory in talk.book.list() if memory.content == "Plays the violin"]
    assert (memory.thread_id, memory.turn_ids, memory.source) == ("chat-1", ("1",), "chat")


def test_since_when_it_holds_is_told_to_the_book(chat: Open) -> None:
    talk = chat()
    talk.tell("Remember that I have been a vegan since 2019")
    (memory,) = [memory for memory in talk.book.list() if "vegan" in memory.content]
    assert memory.valid_from.year == 2019


@pytest.mark.parametrize(
    ("preset", "reply"),
    [
        ("general", "Saved: Plays the violin."),
        ("advisor", "Saved: Plays the violin."),
        ("assistant", "Saved: Plays the violin."),
        ("coach", "Understood."),
    ],
)
def test_a_save_is_said_briefly_or_not_at_all(chat: Open, preset: str, reply: str) -> None:
    assert chat(preset).tell("Remember that I play the violin") == reply


@pytest.mark.parametrize("preset", PRESETS)
def test_two_facts_in_one_breath_are_two_memories(chat: Open, preset: str) -> None:
    talk = chat(preset, seeds=())
    talk.tell("Remember that I live in Lyon and my wife is called Ana")
    assert talk.memories == ["Lives in Lyon", "Wife is called Ana"]


@pytest.mark.parametrize("preset", PRESETS)
def test_remember_that_takes_what_was_said_before_it(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("What a day! I play the violin.")
    talk.tell("remember that")
    assert talk.news == ["Plays the violin"]


@pytest.mark.parametrize("preset", PRESETS)
def test_what_the_book_says_already_is_not_written_again(chat: Open, preset: str) -> None:
    talk = chat(preset)
    said = talk.tell("Remember that I'm allergic to peanuts")
    assert said == ("Understood." if preset == "coach" else "That is in your book already: Is allergic to peanuts.")
    assert not talk.wrote


@pytest.mark.parametrize("preset", PRESETS)
def test_a_new_value_takes_the_place_of_the_old_one(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("Remember that I live in Bergen")
    talk.tell("Remember that I have three kids")
    assert (talk.news, talk.gone) == (["Has three kids", "Lives in Bergen"], ["Lives in Oslo", "Has two kids"])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "text",
    [
        "Remember that my brother lives in Oslo",
        "Remember that I work as a nurse",
        "Remember that my cat is called Tom",
        "Remember that I'm allergic to cats",
    ],
)
def test_another_fact_beside_a_like_one_replaces_nothing(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    talk.tell(text)
    assert (len(talk.news), talk.gone) == (1, [])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "text",
    [
        "Remember that my password is hunter2",
        "remember my pin is 4821",
        "note that the alarm code is 5518",
        "actually, my card is 4111 1111 1111 1111",
        "my password is hunter2",
    ],
)
def test_a_secret_is_never_kept(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    assert talk.tell(text) == "That looks like a password, a code or a card number. I keep none of those."
    assert not talk.wrote


def test_what_the_book_refuses_is_said(chat: Open) -> None:
    talk = chat()
    said = talk.tell("remember: xy")
    assert said.startswith("That did not work: ")
    assert "4" in said
    assert not talk.wrote


def test_what_software_concluded_becomes_the_persons_word_when_they_say_it(kb: Keepbook) -> None:
    book = kb.book("alice")
    found = book.acting(actor="agent", source="inferred").remember("Lives in Oslo")
    talk = Chat(book, "general", ())
    talk.tell("Remember that I live in Oslo")
    assert [(memory.id, memory.source, memory.confidence) for memory in book.list()] == [(found.id, "chat", "asserted")]


# --- changing

CHANGED = {
    "actually, I live in Bergen": ("Lives in Oslo", "Lives in Bergen"),
    "No, I work at Bolt": ("Works at Acme", "Works at Bolt"),
    "Correction: my dog is called Rex": ("Dog is called Bo", "Dog is called Rex"),
    "my dog is called Rex, not Bo": ("Dog is called Bo", "Dog is called Rex"),
    "it's Rex, not Bo": ("Dog is called Bo", "Dog is called Rex"),
    "change my budget to 700": ("Budget is 500 euros a month", "Budget is 700 euros a month"),
    "please update Rome to Paris": ("Sister lives in Rome", "Sister lives in Paris"),
    "sorry, I have three kids": ("Has two kids", "Has three kids"),
    "that's wrong, my sister lives in Paris": ("Sister lives in Rome", "Sister lives in Paris"),
    "I no longer live in Oslo, I live in Bergen now": ("Lives in Oslo", "Lives in Bergen"),
    "edit: my sister lives in Milan": ("Sister lives in Rome", "Sister lives in Milan"),
    "I said Rome but I meant Milan": ("Sister lives in Rome", "Sister lives in Milan"),
    "Sorry, not Rome, Milan": ("Sister lives in Rome", "Sister lives in Milan"),
    "I now live in Bergen": ("Lives in Oslo", "Lives in Bergen"),
    "You got that wrong: I've got three kids": ("Has two kids", "Has three kids"),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("text", "change"), CHANGED.items())
def test_a_correction_changes_the_memory_it_speaks_of(
    chat: Open, preset: str, text: str, change: tuple[str, str]
) -> None:
    talk = chat(preset)
    talk.tell(text)
    assert (talk.gone, talk.news) == ([change[0]], [change[1]])


def test_a_correction_keeps_the_id_and_says_what_it_said_before(chat: Open) -> None:
    talk = chat()
    (old,) = [memory for memory in talk.book.list() if memory.content == "Lives in Oslo"]
    assert talk.tell("actually, I live in Bergen") == "Updated: Lives in Bergen. Before it said: Lives in Oslo."
    assert talk.book.get(old.id).content == "Lives in Bergen"


def test_in_coach_a_correction_forgets_and_remembers(chat: Open) -> None:
    talk = chat("coach")
    assert talk.tell("actually, I live in Bergen") == "Understood."
    assert called(talk) == [
        ("forget", {"fact_id": "Lives in Oslo", "reason": "user_corrected"}),
        ("remember", {"fact": "Lives in Bergen", "topic": "self", "confidence": "asserted"}),
    ]


@pytest.mark.parametrize(
    ("text", "correction"), [("actually, I live in Bergen", True), ("No, I now live in Bergen", False)]
)
def test_a_mistake_is_told_from_a_change_in_the_world(chat: Open, text: str, correction: bool) -> None:
    talk = chat()
    talk.tell(text)
    assert [arguments.get("correction", False) for _, arguments in called(talk)] == [correction]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_correction_of_nothing_stored_is_a_new_fact(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("actually, I play the violin")
    assert (talk.news, talk.gone) == (["Plays the violin"], [])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_bare_value_corrects_what_was_just_told(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("what's my dog's name?")
    talk.tell("no, it's Rex")
    assert (talk.gone, talk.news) == (["Dog is called Bo"], ["Dog is called Rex"])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_change_of_something_unknown_is_kept_if_it_tells_something(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("change my shoe size to 44")
    assert (talk.news, talk.gone) == (["Shoe size is 44"], [])


@pytest.mark.parametrize("preset", PRESETS)
def test_a_change_of_something_unknown_that_tells_nothing_is_not_kept(chat: Open, preset: str) -> None:
    talk = chat(preset)
    assert talk.tell("change the subject to cats") == "I find nothing about “the subject” in your book."
    assert not talk.wrote


def test_in_coach_the_old_fact_is_not_lost_for_a_new_one_that_cannot_be_kept(
    chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = chat("coach")
    real = ToolSet.call

    def call(tools: ToolSet, name: str, arguments: Any = None) -> Answer:
        if arguments.get("fact") == "Lives in Bergen":
            return Answer("No.", {"message": "Not this one."}, error="not_allowed")
        return real(tools, name, arguments)

    monkeypatch.setattr(ToolSet, "call", call)
    assert talk.tell("actually, I live in Bergen") == "That did not work: Not this one."
    assert (talk.news, talk.gone) == ([], [])


# --- forgetting

FORGOTTEN = {
    "forget that I live in Oslo": "Lives in Oslo",
    "please forget my sister": "Sister lives in Rome",
    "Could you forget that I'm allergic to peanuts?": "Is allergic to peanuts",
    "delete what you know about my dog": "Dog is called Bo",
    "remove my budget from your memory": "Budget is 500 euros a month",
    "forget what I told you about Acme": "Works at Acme",
    "I no longer work at Acme": "Works at Acme",
    "I'm not allergic to peanuts any more": "Is allergic to peanuts",
}


@pytest.mark.parametrize("preset", ["general", "advisor", "coach"])
@pytest.mark.parametrize(("text", "content"), FORGOTTEN.items())
def test_what_should_be_forgotten_is_archived(chat: Open, preset: str, text: str, content: str) -> None:
    talk = chat(preset)
    assert talk.tell(text) == f"Forgotten: {content}."
    assert (talk.gone, talk.news) == ([content], [])


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("text", ["forget my cat", "forget that I play the violin", "delete what you know about Anna"])
def test_what_is_not_there_cannot_be_forgotten(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    assert talk.tell(text).startswith("I find nothing about “")
    assert not talk.wrote


def test_where_there_is_no_tool_to_forget_with_that_is_said(chat: Open) -> None:
    talk = chat("assistant")
    (memory,) = [memory for memory in talk.book.list() if memory.content == "Works at Acme"]
    said = talk.tell("forget that I work at Acme")
    assert said.startswith(f"I cannot delete here: “Works at Acme” [{memory.id}] is still in your book.")
    assert not talk.wrote


def test_where_nothing_can_go_what_is_over_says_so(chat: Open) -> None:
    talk = chat("assistant")
    talk.tell("I no longer work at Acme")
    assert (talk.gone, talk.news) == (["Works at Acme"], ["No longer works at Acme"])


@pytest.mark.parametrize("preset", PRESETS)
def test_what_never_was_does_not_end(chat: Open, preset: str) -> None:
    talk = chat(preset, seeds=["Doesn't smoke"])
    talk.tell("I no longer smoke")
    assert talk.memories == ["Doesn't smoke"]


def test_coach_forgets_what_its_notes_do_not_show(chat: Open) -> None:
    talk = chat(
        "coach", seeds=["Plays the violin at home", *(f"Likes the number {number}" for number in range(100, 112))]
    )
    assert "violin" not in talk.system
    assert talk.tell("forget that I play the violin") == "Forgotten: Plays the violin at home."


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("text", ["forget everything", "delete all my memories", "vergiss alles"])
def test_no_book_is_emptied_from_a_chat(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    assert "keepbook erase" in talk.tell(text)
    assert not talk.wrote


@pytest.mark.parametrize("preset", ["general", "advisor", "coach"])
def test_everything_about_one_matter_goes_together(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("forget everything about Oslo")
    assert talk.gone == ["Lives in Oslo", "Office is in Oslo"]


# --- confirming


@pytest.mark.parametrize("preset", ["general", "advisor"])
@pytest.mark.parametrize("text", ["yes, I still live in Oslo", "I still live in Oslo", "Yes, still living in Oslo"])
def test_what_still_holds_is_confirmed(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    assert talk.tell(text) == "Good to know it still holds: Lives in Oslo."
    (memory,) = [memory for memory in talk.book.list() if memory.content == "Lives in Oslo"]
    assert memory.last_confirmed_at is not None


@pytest.mark.parametrize("text", ["yes, still true", "that's still right", "that's right", "nothing has changed"])
def test_a_bare_yes_confirms_what_was_just_told(chat: Open, text: str) -> None:
    talk = chat()
    talk.tell("where do I live?")
    assert talk.tell(text) == "Good to know it still holds: Lives in Oslo."
    assert [name for name, _ in called(talk)] == ["confirm"]


@pytest.mark.parametrize("preset", ["assistant", "coach"])
def test_where_nothing_can_be_confirmed_it_simply_stays(chat: Open, preset: str) -> None:
    talk = chat(preset)
    assert talk.tell("yes, I still live in Oslo") == "Good, then it stays as it is: Lives in Oslo."
    assert not talk.wrote


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("text", ["that's right", "yes, still true", "I still smoke", "still waiting for the bus"])
def test_without_a_memory_a_still_is_only_talk(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    talk.tell(text)
    assert not talk.wrote


# --- taking back


@pytest.mark.parametrize("preset", ["general", "advisor", "coach"])
@pytest.mark.parametrize("text", ["don't remember that", "forget I said that", "no, forget that", "undo that"])
def test_what_was_just_kept_is_taken_back(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    talk.tell("Remember that I play the violin")
    assert talk.tell(text) == "All right, taken back: Plays the violin."
    assert talk.news == []


@pytest.mark.parametrize("preset", PRESETS)
def test_what_was_just_changed_is_changed_back(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("actually, I live in Bergen")
    talk.tell("undo that")
    assert (talk.news, talk.gone) == ([], [])


def test_what_was_just_forgotten_comes_back_when_undone(chat: Open) -> None:
    talk = chat()
    talk.tell("forget that I work at Acme")
    assert talk.tell("undo") == "It is back: Works at Acme."
    assert talk.gone == []


def test_a_wish_not_to_keep_brings_nothing_forgotten_back(chat: Open) -> None:
    talk = chat()
    talk.tell("forget that I work at Acme")
    assert talk.tell("don't remember that") == "All right, I make no memory of it."
    assert talk.gone == ["Works at Acme"]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "text",
    [
        "don't remember that",
        "off the record, I'm looking for a new job",
        "between you and me, I hate my boss",
        "forget I said that",
    ],
)
def test_what_must_not_be_kept_is_acknowledged_and_nothing_is_written(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    talk.tell("I'm thinking of quitting my job")
    assert talk.tell(text) == "All right, I make no memory of it."
    assert not talk.wrote


@pytest.mark.parametrize("preset", ["general", "advisor", "coach"])
@pytest.mark.parametrize("text", ["delete that", "forget that", "please remove it"])
def test_what_was_just_told_is_forgotten_when_pointed_at(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    talk.tell("where do I work?")
    assert talk.tell(text) == "Forgotten: Works at Acme."
    assert talk.gone == ["Works at Acme"]


@pytest.mark.parametrize("preset", ["general", "advisor", "coach"])
def test_what_should_not_be_kept_goes_if_it_is_kept_already(chat: Open, preset: str) -> None:
    talk = chat(preset)
    assert talk.tell("I don't want you to remember my allergy") == "Forgotten: Is allergic to peanuts."


def test_a_memory_that_was_changed_is_no_longer_what_was_just_told(chat: Open) -> None:
    talk = chat()
    talk.tell("actually, I have 4 kids")
    talk.tell("no, it's 5")
    assert (talk.gone, talk.news) == (["Has two kids"], ["Has 5 kids"])


# --- both engines


@pytest.mark.parametrize("preset", PRESETS)
def test_a_chat_writes_the_same_on_both_engines(chat_on: Open, preset: str) -> None:
    talk = chat_on(preset)
    talk.tell("Remember that I play the violin")
    talk.tell("actually, I live in Bergen")
    talk.tell("change my budget to 700")
    talk.tell("I no longer have two kids")
    assert "Plays the violin" in talk.memories
    assert "Lives in Bergen" in talk.memories
    assert "Budget is 700 euros a month" in talk.memories
    assert "Has two kids" in talk.gone
    assert len(talk.memories) == len(SEEDS) + (1 if preset == "assistant" else 0)
    assert talk.book.verify().ok
