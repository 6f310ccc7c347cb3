"""What is told: only what really answers, with its date; and plainly when nothing does."""

from contextlib import closing
from typing import Annotated, Any

import pytest
from tests.conftest import Clock
from tests.models.offline.chat.conftest import Chat, Open

from keepbook import Keepbook
from keepbook.models.offline.chat.known_here import in_block
from keepbook.models.prompt import compose
from keepbook.presets import load_preset
from keepbook.tools.definition import READS, Answer, define

PRESETS = ("general", "advisor", "assistant", "coach")

ANSWERED = {
    "where do I live?": "Lives in Oslo",
    "Where do I live again": "Lives in Oslo",
    "do you know where I live?": "Lives in Oslo",
    "what's my dog's name?": "Dog is called Bo",
    "what is my dog called?": "Dog is called Bo",
    "do I have a pet?": "Dog is called Bo",
    "where does my sister live?": "Sister lives in Rome",
    "where do I work?": "Works at Acme",
    "what do I do for a living?": "Works at Acme",
    "what am I allergic to?": "Is allergic to peanuts",
    "what can't I eat?": "Is allergic to peanuts",
    "how many kids do I have?": "Has two kids",
    "do I have children": "Has two kids",
    "what's my budget?": "Budget is 500 euros a month",
    "what do you remember about my dog?": "Dog is called Bo",
    "do you remember my sister?": "Sister lives in Rome",
    "what did I say about Acme?": "Works at Acme",
    "tell me about my budget": "Budget is 500 euros a month",
    "have I told you about my allergy?": "Is allergic to peanuts",
}

UNANSWERED = (
    "what's my shoe size?", "where does my brother live?", "what's my cat's name?", "what is the capital of France?",
    "when is my flight?", "do I have a car?", "who is my dentist?", "what did I say about Paris?",
    "what do you know about my mother?", "do you remember my birthday?", "how old am I?", "what's my favourite colour?",
    "where does Sarah work?", "should I remember to bring a coat?", "what time is it?",
)  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("question", "content"), ANSWERED.items())
def test_a_question_is_answered_with_the_memory_that_answers_it(
    chat: Open, preset: str, question: str, content: str
) -> None:
    talk = chat(preset)
    when = "as of the start of this chat" if preset == "coach" else "noted 2026-03-01"
    assert talk.tell(question) == f"Your book says: “{content}” ({when})."
    assert not talk.wrote


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("question", UNANSWERED)
def test_a_question_that_nothing_answers_is_answered_so(chat: Open, preset: str, question: str) -> None:
    talk = chat(preset)
    assert talk.tell(question).startswith("I find nothing about that in your book.")
    assert not talk.wrote


def test_a_question_about_the_world_is_met_with_what_this_model_is(chat: Open) -> None:
    assert (
        chat().tell("what is the capital of France?").endswith("I am the offline model and answer only from your book.")
    )


def test_another_value_is_named_where_the_asked_one_is_not_it(chat: Open) -> None:
    assert chat().tell("do I live in Bergen?") == (
        "I find nothing about that in your book. The nearest is “Lives in Oslo”."
    )


def test_the_nearest_is_named_where_nothing_answers(chat: Open) -> None:
    talk = chat(seeds=["Favourite tea is Assam"])
    assert talk.tell("what's my favourite biscuit?") == (
        "I find nothing about that in your book. The nearest is “Favourite tea is Assam”."
    )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("text", ["what do you know about me?", "list everything", "show me all my memories"])
def test_everything_is_listed(chat: Open, preset: str, text: str) -> None:
    talk = chat(preset)
    said = talk.tell(text)
    lines = [line for line in said.splitlines() if line.startswith("- ")]
    assert sorted(line[2:].rsplit(" (", 1)[0] for line in lines) == talk.memories


def test_one_category_is_listed_by_its_name(chat: Open) -> None:
    talk = chat(seeds=())
    talk.book.remember("Prefers tea", category="preference")
    talk.book.remember("Lives in Oslo", category="profile")
    assert (
        talk.tell("list my preferences") == "This is what your book says about you:\n- Prefers tea (noted 2026-03-01)"
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_an_empty_book_is_called_empty(chat: Open, preset: str) -> None:
    assert chat(preset, seeds=()).tell("what do you know about me?") == "Your book is empty so far."


def test_a_long_book_is_cut_and_the_rest_counted(chat: Open) -> None:
    talk = chat(seeds=[f"Owns book number {number}" for number in range(50)])
    assert talk.tell("list everything").endswith("… and 10 more. Ask me about one matter to see those.")


@pytest.mark.parametrize("preset", ["assistant", "coach"])
def test_what_was_kept_in_this_chat_is_told_though_the_block_is_older(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("Remember that I play the violin")
    talk.tell("actually, I live in Bergen")
    told = talk.tell("what do you know about me?")
    assert "- Plays the violin (from this chat)" in told
    assert "- Lives in Bergen (from this chat)" in told
    assert "Lives in Oslo" not in told


def test_when_something_was_said_is_answered_with_the_day(shelf: Keepbook) -> None:
    clock = Clock()
    with closing(Keepbook(":memory:", clock=clock)) as kb:
        clock.set("2026-02-14T09:00:00Z")
        book = kb.book("alice")
        book.remember("Is allergic to peanuts")
        clock.set("2026-05-01T09:00:00Z")
        talk = Chat(book, "general", ())
        said = talk.tell("when did I tell you that I'm allergic to peanuts?")
        assert said == "That was on 2026-02-14: “Is allergic to peanuts”."


def test_how_a_memory_changed_is_told(chat: Open) -> None:
    talk = chat()
    talk.tell("actually, my budget is 700 euros a month")
    said = talk.tell("what changed about my budget?")
    assert said.splitlines()[0] == "This is how it changed:"
    assert [line.rsplit(" (", 1)[0] for line in said.splitlines()[1:]] == [
        "- Budget is 500 euros a month",
        "- Budget is 700 euros a month",
    ]


def test_what_is_only_a_reading_is_told_as_one(chat: Open) -> None:
    talk = chat(seeds=())
    talk.book.acting(actor="agent", source="inferred").remember("Works nights")
    assert talk.tell("when do I work?") == "Your book says: “Works nights” (my reading, 2026-03-01)."


# --- earlier chats


def test_earlier_chats_are_looked_through_for_what_was_said(kb: Keepbook) -> None:
    book = kb.book("alice")
    earlier = book.thread("s-1")
    earlier.add("user", "We went to Lofoten with the old caravan.", at="2026-01-10T09:00:00Z")
    earlier.add("assistant", "Lofoten sounds lovely.", at="2026-01-10T09:01:00Z")
    earlier.add("user", "What do you know about Lofoten?", at="2026-01-10T09:02:00Z")
    talk = Chat(book, "general", ())
    said = talk.tell("what did I say about Lofoten?")
    assert said == "In a chat on 2026-01-10 you said: “We went to Lofoten with the old caravan.”"
    assert [call.name for call in talk.calls] == ["recall", "recall_chats"]


def test_this_very_question_is_not_its_own_answer(kb: Keepbook) -> None:
    book = kb.book("alice")
    question = "what did I say about Lofoten?"
    book.thread("s-2").add("user", question)
    assert Chat(book, "general", ()).tell(question) == "I find nothing about that in your book."


@pytest.mark.parametrize("preset", PRESETS)
def test_what_was_said_earlier_in_this_chat_is_told_though_nothing_was_kept(chat: Open, preset: str) -> None:
    talk = chat(preset)
    talk.tell("We went to Lofoten with the old caravan.")
    said = talk.tell("what did I say about Lofoten?")
    assert said == "Earlier in this chat you said: “We went to Lofoten with the old caravan.”"


# --- without tools


def test_where_memory_is_off_that_is_said(chat: Open) -> None:
    talk = chat()
    talk.system = compose(load_preset("general"), memory=False)
    without_tools(talk)
    for text in ("remember that I play chess", "forget my address", "what do you know about me?", "where do I live?"):
        assert talk.tell(text).startswith("Memory is off in this chat"), text
    assert not talk.wrote


def test_without_tools_the_block_still_answers_and_nothing_is_promised(chat: Open) -> None:
    talk = chat()
    without_tools(talk)
    assert talk.tell("where do I live?") == "Your book says: “Lives in Oslo” (as of the start of this chat)."
    assert talk.tell("remember that I play chess").startswith("I have no way to reach your book")
    assert "Nothing said here is kept." in talk.tell("hello")


def without_tools(talk: Chat) -> None:
    import asyncio  # only this way of asking has no tools

    from keepbook.models.model import Conversation, Replied, Said
    from keepbook.models.offline.model import OfflineModel

    def tell(text: str, hidden: str | None = None) -> str:
        talk.said.append(Said("user", text, hidden))

        async def last() -> Any:
            return [event async for event in OfflineModel().reply(Conversation(talk.system, tuple(talk.said)), None)][
                -1
            ]

        replied = asyncio.run(last())
        assert isinstance(replied, Replied)
        talk.said.append(Said("assistant", replied.text))
        return replied.text

    talk.tell = tell  # type: ignore[method-assign]


def test_what_is_on_the_screen_is_no_memory() -> None:
    focus = "## What you have told me\n- [Ab12Cd34] Owes 500 euros\n- Likes cats"
    block = "## What you have told me\n\nintro\n\n### Fact\n- [Zz12Cd34] Lives in Oslo"
    system = compose(load_preset("general"), block=block, focus=focus)
    assert [(held.id, held.content) for held in in_block(system)] == [("Zz12Cd34", "Lives in Oslo")]


# --- trading


SKILLS = [{"id": "sk-1", "name": "BTC momentum"}, {"id": "sk-2", "name": "Mean reversion"}]


def list_my_skills() -> Answer:
    """The skills."""
    return Answer("BTC momentum; Mean reversion", {"skills": SKILLS})


def get_skill_performance(skill_id: str, detail: Annotated[str, "How much."] = "summary") -> Answer:
    """How a skill does."""
    return Answer(f"{skill_id} made 12 % ({detail})", {})


def get_my_deployments(deployment_id: str | None = None, detail: str = "list") -> Answer:
    """The deployments."""
    return Answer("1 deployment: BTC momentum, live, +3 %", {})


def get_upcoming_events(lookahead_hours: int = 24) -> Answer:
    """What is coming up."""
    return Answer(f"CPI in 5 hours (of {lookahead_hours})", {})


def tools(*functions: Any) -> list[Any]:
    return [define(function, annotations=READS) for function in functions]


TRADING = (list_my_skills, get_skill_performance, get_my_deployments, get_upcoming_events)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how is my momentum skill doing?", "sk-1 made 12 % (trades)"),
        ("How's my mean reversion strategy doing this week?", "sk-2 made 12 % (trades)"),
        ("how did my BTC trades do?", "sk-1 made 12 % (trades)"),
        ("show me the performance of mean reversion with lessons", "sk-2 made 12 % (lessons)"),
        ("how am I doing?", "1 deployment: BTC momentum, live, +3 %"),
        ("what's coming up?", "CPI in 5 hours (of 24)"),
        ("what is coming up this week?", "CPI in 5 hours (of 72)"),
        ("any upcoming events tomorrow?", "CPI in 5 hours (of 48)"),
    ],
)
def test_how_things_stand_is_told_by_the_tools_that_know(chat: Open, question: str, answer: str) -> None:
    assert chat(extra=tools(*TRADING)).tell(question) == answer


def test_where_no_skill_is_named_each_is_told(chat: Open) -> None:
    talk = chat(extra=tools(list_my_skills, get_skill_performance))
    assert talk.tell("how am I doing?") == "sk-1 made 12 % (trades)\nsk-2 made 12 % (trades)"


@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset != "coach"])
@pytest.mark.parametrize("question", ["how is my momentum skill doing?", "what's coming up?", "what's my win rate?"])
def test_without_trading_data_that_is_said(chat: Open, preset: str, question: str) -> None:
    talk = chat(preset)
    assert talk.tell(question) == "No trading data is connected here, so I cannot say."


def test_what_the_book_has_on_it_is_told_beside(chat: Open) -> None:
    said = chat().tell("how is my dog doing?")
    assert said.splitlines() == [
        "No trading data is connected here, so I cannot say.",
        "Your book says: “Dog is called Bo” (noted 2026-03-01).",
    ]
