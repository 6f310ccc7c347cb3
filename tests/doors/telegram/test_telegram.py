"""The bot in Telegram, against a stand-in of the Bot API on loopback: what it is asked, what it sends."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.doors.telegram.api import TOKEN, BotApi, Refusal, broken, shown, too_many
from tests.models.wire import HANG, Wire

from keepbook import Keepbook, ModelFailed, NotAllowed
from keepbook.book.book import Book
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.doors.telegram.bot import Bot
from keepbook.doors.telegram.letter import BOLD, CODE, LONGEST, Letter, units
from keepbook.errors import Invalid, KeepbookError
from keepbook.models.choose import Models
from keepbook.models.model import Conversation, ReplyEvent, ReplyFinished, Toolbox, Usage
from keepbook.models.offline.model import OfflineModel
from keepbook.settings import load_settings

ALICE, BOB, STRANGER, TEAM = 12345, 678, 999, -100500
CHATS = {ALICE: "alice", BOB: "bob", TEAM: "team"}
HOSTILE = [
    "*bold* _under_ __both__ ~gone~ ||secret|| `code` ```block```",
    "[link](tg://user?id=1) and \\* an escape",
    "<b>unclosed & <script>alert('x')</script> &lt;",
    "1. a-b+c=d {e} #f !g > h",
    "👩‍👩‍👧 family, 👍🏽 thumb, \u200fעברית",
]

on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


class Running:
    """A bot at work in a thread of its own."""

    def __init__(self, bot: Bot, notes: list[str]) -> None:
        self.notes = notes
        self.error: Exception | None = None
        self._bot = bot
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        async def serve() -> None:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            self._started.set()
            await self._bot.serve(self._stop)

        try:
            asyncio.run(serve())
        except KeepbookError as error:
            self.error = error

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self.join()

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


@pytest.fixture
def api() -> Iterator[BotApi]:
    with BotApi() as api:
        yield api


Serve = Callable[..., Running]


@pytest.fixture
def serve(kb: Keepbook, api: BotApi) -> Serve:
    """Makes a bot for the three chats; `with` runs it."""

    def make(**changed: Any) -> Running:
        notes: list[str] = []
        known: dict[str, Any] = {"token": TOKEN, "chats": CHATS, "base_url": api.url, "first_wait": 0.01}
        return Running(Bot(kb, note=notes.append, **(known | changed)), notes)

    return make


@pytest.fixture
def running(serve: Serve) -> Iterator[Running]:
    with serve() as bot:
        yield bot


@pytest.fixture
def bob(kb: Keepbook) -> Book:
    return kb.book("bob")


class Scripted(OfflineModel):
    """Says what a function makes of the person's last words."""

    name = "scripted"

    def __init__(self, say: Callable[[str], str]) -> None:
        self.say = say

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:  # type: ignore[override]
        yield ReplyFinished(await asyncio.to_thread(self.say, conversation.said[-1].text), (), Usage())


def use(kb: Keepbook, say: Callable[[str], str]) -> Scripted:
    model = Scripted(say)
    kb.__dict__["models"] = Models(model, model, OfflineModel())
    return model


# --- memories --------------------------------------------------------------------------------------------


def test_memories_are_listed_by_category_with_ids_and_how_to_delete(alice: Book, running: Running, api: BotApi) -> None:
    fund = alice.remember("Prefers index funds", category="preference")
    oslo = alice.remember("Lives in Oslo", category="profile")
    tea = alice.remember("Likes tea", category="preference", confidence="inferred")
    api.write(ALICE, "/memory")
    answer = api.answer(ALICE)
    assert answer.text.split("\n") == [
        "I know 3 things.",
        "",
        "About you",
        f"{oslo.id} Lives in Oslo",
        "",
        "What you like",
        f"{fund.id} Prefers index funds",
        f"{tea.id} Likes tea (guessed)",
        "",
        "To delete one: /memory delete <id>",
    ]
    ids = [(CODE, memory.id) for memory in (oslo, fund, tea)]
    assert answer.marked == ((BOLD, "About you"), ids[0], (BOLD, "What you like"), *ids[1:])
    assert "parse_mode" not in answer.given
    for command in ("/memory list", "/MEMORY", "/memory@keepbook_bot  list"):
        assert api.ask(ALICE, command) == answer.text


def test_commands_about_memory_need_no_model_and_begin_no_chat(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    memory = alice.remember("Likes tea")
    assert memory.id in api.ask(ALICE, "/memory")
    assert api.ask(ALICE, f"/memory delete {memory.id}").startswith("Deleted:")
    assert "models" not in kb.__dict__
    assert alice.threads.list() == []


@on_sqlite
def test_an_empty_book_says_so(running: Running, api: BotApi) -> None:
    assert "empty" in api.ask(ALICE, "/memory")


def test_delete_puts_it_into_the_trash_and_undo_brings_it_back(alice: Book, running: Running, api: BotApi) -> None:
    memory = alice.remember("Likes tea")
    assert api.ask(ALICE, f"/memory delete {memory.id}").split("\n")[0] == "Deleted: 'Likes tea'"
    assert alice.get(memory.id).state == "trash"
    assert "trash already" in api.ask(ALICE, f"/memory delete {memory.id}")
    assert (alice.ledger(limit=1)[0].door, alice.ledger(limit=1)[0].actor) == ("telegram", "person")
    assert "Likes tea" in api.ask(ALICE, "/undo")
    assert alice.get(memory.id).state == "active"
    assert "Likes tea" in api.ask(ALICE, "/undo")
    assert alice.get(memory.id).state == "trash"


@pytest.mark.parametrize("order", ["/memory delete {id}", "/undo", "Forget that I like tea.", "I live in Oslo."])
def test_what_the_person_passes_on_orders_nothing_and_teaches_nothing(
    alice: Book, running: Running, api: BotApi, order: str
) -> None:
    memory = alice.remember("Likes tea")
    stranger = {"type": "hidden_user", "date": 1772355600, "sender_user_name": "Mallory"}
    api.write(ALICE, order.format(id=memory.id), forward_origin=stranger)
    api.answer(ALICE)
    assert (alice.get(memory.id).state, len(alice.ledger())) == ("active", 1)
    chat = alice.threads.get(alice.threads.list()[0].id)
    assert chat.messages()[0].text == f"Forwarded:\n> {order.format(id=memory.id)}"
    chat.close()
    assert [one.content for one in alice.list()] == ["Likes tea"]


def test_an_unknown_id_deletes_nothing_and_says_where_the_ids_are(alice: Book, running: Running, api: BotApi) -> None:
    alice.remember("Likes tea")
    for typed in ("Ab12Cd34", "tea", "';--", "%", "\0", "é" * 8, "x" * 3000):
        assert api.ask(ALICE, f"/memory delete {typed}").endswith("'. /memory shows the ids.")
    assert alice.list().total == 1


@on_sqlite
def test_a_command_that_is_not_whole_says_how_it_goes(alice: Book, running: Running, api: BotApi) -> None:
    alice.remember("Likes tea")
    for words in ("delete", "delete one two", "remove x"):
        assert "/memory delete <id>" in api.ask(ALICE, f"/memory {words}")
    assert alice.list().total == 1


def test_a_chat_sees_and_deletes_only_what_is_its_owners(alice: Book, bob: Book, running: Running, api: BotApi) -> None:
    his = bob.remember("Likes coffee")
    hers = alice.remember("Likes tea")
    api.write(ALICE, "/memory")
    api.write(BOB, "/memory")
    assert "coffee" not in api.answer(ALICE).text
    assert "tea" not in api.answer(BOB).text
    assert "no memory" in api.ask(ALICE, f"/memory delete {his.id}")
    assert "no memory" in api.ask(BOB, f"/memory delete {hers.id}")
    assert "empty" in api.ask(TEAM, "/memory")
    assert (alice.list().total, bob.list().total) == (1, 1)


@on_sqlite
def test_a_long_list_comes_in_pieces_that_telegram_takes(alice: Book, running: Running, api: BotApi) -> None:
    with alice.transaction():
        kept = [
            alice.remember(f"Fact {number} 👍 " + "with a tail " * (number % 30), force=True) for number in range(300)
        ]
    api.write(ALICE, "/memory")
    texts, ids = [], []
    while not (texts and texts[-1].endswith("/memory delete <id>")):
        answer = api.answer(ALICE)
        texts.append(answer.text)
        ids += [text for kind, text in answer.marked if kind == CODE]
    assert len(texts) > 5
    assert ids == [memory.id for memory in kept]
    lines = [line for text in texts for line in text.split("\n")]
    assert [line for line in lines if "Fact " in line] == [f"{memory.id} {memory.content}" for memory in kept]


@on_sqlite
def test_whatever_a_memory_or_a_reply_says_arrives_as_it_stands(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    use(kb, lambda said: said)
    for content in HOSTILE:
        memory = alice.remember(content, force=True)
        api.write(ALICE, "/memory")
        answer = api.answer(ALICE)
        assert f"{memory.id} {memory.content}" in answer.text.split("\n")
        assert (CODE, memory.id) in answer.marked
        assert f"Deleted: '{memory.content}'" in api.ask(ALICE, f"/memory delete {memory.id}")
        assert api.ask(ALICE, content) == content
    assert api.times("sendMessage") == 3 * len(HOSTILE)


# --- turns -----------------------------------------------------------------------------------------------


def test_other_text_is_a_chat_turn_with_a_quiet_line_about_memory(alice: Book, running: Running, api: BotApi) -> None:
    answer = api.ask(ALICE, "Remember that I like green tea")
    said, _, slip = answer.partition("\n\n")
    assert said
    assert re.fullmatch(r"In your book: .*green tea.* — /undo", slip)
    (thread,) = alice.threads.list()
    assert (thread.turns, thread.state) == (2, "active")
    assert str(thread.session).startswith(f"telegram:{ALICE}:")
    (memory,) = alice.list()
    assert (memory.thread_id, memory.turn_ids) == (thread.id, ("1",))
    assert "No longer kept" in api.ask(ALICE, "/undo")
    assert alice.list().total == 0


@on_sqlite
def test_typing_is_shown_while_an_answer_takes_its_time(kb: Keepbook, running: Running, api: BotApi) -> None:
    def say(_: str) -> str:
        api.wait("sendChatAction")
        return "Here I am"

    use(kb, say)
    assert api.ask(ALICE, "Are you there?") == "Here I am"
    ((_, shown_as),) = [call for call in api.calls if call[0] == "sendChatAction"]
    assert (shown_as["chat_id"], shown_as["action"]) == (str(ALICE), "typing")


def test_one_thread_goes_on_until_new_closes_it(alice: Book, running: Running, api: BotApi) -> None:
    answer = api.ask(ALICE, "I am a nurse in Leeds.")
    assert answer.endswith("In your book: “I am a nurse in Leeds” — /undo")
    api.ask(ALICE, "Thank you")
    (first,) = alice.threads.list()
    assert first.turns == 4
    assert "Nothing new to remember" in api.ask(ALICE, "/new")  # it was kept when it was said
    assert alice.threads.list()[0].state == "idle"
    api.ask(ALICE, "Hello")
    second, _ = alice.threads.list()
    assert (second.turns, second.id != first.id) == (2, True)
    assert "“I am a nurse in Leeds”" in alice.threads.get(second.id).inject()
    assert "Undone" in api.ask(ALICE, "/undo_1")
    assert "nurse" not in alice.block()


@on_sqlite
def test_what_closing_kept_is_told_with_a_way_back(alice: Book, running: Running, api: BotApi) -> None:
    api.ask(ALICE, "Hello")
    alice.threads.get(alice.threads.list()[0].id).add("user", "I am a nurse in Leeds.")  # from elsewhere
    closing = api.ask(ALICE, "/new")
    assert closing.startswith("Kept from this chat:\n• I am a nurse in Leeds — /undo_1\n")


# --- questions -------------------------------------------------------------------------------------------


@pytest.fixture
def asking(kb: Keepbook, alice: Book, running: Running) -> Running:
    """A bot whose owner has a preset that asks."""
    alice.configure(preset="assistant")
    return running


@pytest.mark.parametrize(("label", "kept"), [("Keep it", True), ("Do not keep it", False)])
def test_a_question_is_answered_with_a_button(
    alice: Book, asking: Running, api: BotApi, label: str, kept: bool
) -> None:
    api.write(ALICE, "I am a nurse in Leeds.")
    asked = api.answer(ALICE)
    assert asked.text.startswith("“I am a nurse in Leeds” — shall I keep that?")
    assert list(asked.buttons) == ["Keep it", "Do not keep it"]
    api.press(ALICE, asked, label)
    told = api.answer(ALICE).text
    assert told == ("Done: “I am a nurse in Leeds” — /undo_2" if kept else
                    "All right, nothing was changed: “I am a nurse in Leeds”")  # fmt: skip
    assert [(one.content, one.quoted, one.source) for one in alice.list()] == (
        [("I am a nurse in Leeds", True, "chat")] if kept else []
    )
    assert api.times("answerCallbackQuery") == 1
    ((_, edited),) = [call for call in api.calls if call[0] == "editMessageReplyMarkup"]
    assert edited["message_id"] == str(asked.id)
    api.press(ALICE, asked, label)
    assert api.answer(ALICE).text == "That was answered already."
    assert len(alice.ledger()) == 1 + kept  # the preset is the first


@on_sqlite
def test_a_number_answers_like_a_button(alice: Book, asking: Running, api: BotApi) -> None:
    api.ask(ALICE, "I am a nurse in Leeds.")
    assert api.ask(ALICE, "1").startswith("Kept: “I am a nurse in Leeds”.")
    assert [one.content for one in alice.list()] == ["I am a nurse in Leeds"]
    assert "Undone" in api.ask(ALICE, "/undo")


@on_sqlite
def test_with_a_model_a_missed_order_is_asked_apart_and_a_number_answers_it(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    use(kb, lambda said: f"You said: {said}")
    assert api.ask(ALICE, "Remember that I like tea") == "You said: Remember that I like tea"
    asked = api.answer(ALICE)
    assert (asked.text, list(asked.buttons)) == ("Keep this? “I like tea”", ["Keep it", "Do not keep it"])
    assert api.ask(ALICE, "1") == "Done: “I like tea” — /undo_1"
    assert [(one.content, one.quoted) for one in alice.list()] == [("I like tea", True)]
    assert api.ask(ALICE, "1") == "You said: 1"  # nothing is asked any more


@on_sqlite
def test_what_waits_is_shown_five_at_a_time_what_touches_a_line_first(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    assert api.ask(ALICE, "/review") == "Nothing waits for you."
    tea = alice.remember("Drinks tea")
    with alice.writing() as (tx, _):
        for nth in range(5):
            told = {"nature": "proposal", "op": "add", "turn_ids": []}
            proposals.propose(tx, stamp(tx.clock()), content=f"Has a cat called Bo{nth}", **told)
    with pytest.raises(NotAllowed):
        kb.book(alice.owner, by="agent").update(tea.id, "Drinks coffee")
    assert api.ask(ALICE, "/review").startswith("6 things wait for your word. Here are the first 5;")
    asked = [api.answer(ALICE) for _ in range(5)]
    assert [one.text for one in asked[:2]] == [
        "Your book says “Drinks tea”. Change it to “Drinks coffee”?",
        "Keep this? “Has a cat called Bo0”",
    ]
    assert [list(one.buttons) for one in asked[:2]] == [["Yes", "Keep both", "No"], ["Yes", "No"]]
    api.press(ALICE, asked[0], "Yes")
    assert api.answer(ALICE).text.startswith("Done: 'Drinks coffee' — /undo_")
    api.press(ALICE, asked[1], "No")
    assert api.answer(ALICE).text == "All right, nothing was changed: 'Has a cat called Bo0'"
    assert [one.content for one in alice.list()] == ["Drinks coffee"]
    assert api.ask(ALICE, "/review") == "4 things wait for your word."
    assert "keepbook" not in " ".join(one.text for one in asked)


@on_sqlite
def test_topics_never_kept_are_shown_and_allowed_again(alice: Book, running: Running, api: BotApi) -> None:
    assert "nothing that I never keep" in api.ask(ALICE, "/never")
    alice.choose(never=["health", "anything about my ex"])
    api.write(ALICE, "/never")
    told = api.answer(ALICE)
    assert told.text == "I never keep anything about:\n• health\n• anything about my ex"
    api.press(ALICE, told, "Allow again: health")
    assert api.answer(ALICE).text == "Things about health may be kept again."
    assert list(api.answer(ALICE).buttons) == ["Allow again: anything about my ex"]
    assert alice.choices.never == ("anything about my ex",)
    api.press(ALICE, told, "Allow again: health")
    assert api.answer(ALICE).text == "That is not on your list any more."


@on_sqlite
def test_buttons_of_a_chat_on_no_list_do_nothing(alice: Book, asking: Running, api: BotApi) -> None:
    api.write(ALICE, "I am a nurse in Leeds.")
    asked = api.answer(ALICE)
    api.press(STRANGER, asked, "Keep it")
    api.wait("answerCallbackQuery")
    api.ask(ALICE, "/help")
    assert (alice.list().total, api.unread(STRANGER), len(alice.proposals.list())) == (0, [], 1)


@on_sqlite
def test_new_without_anything_said_changes_nothing(alice: Book, running: Running, api: BotApi) -> None:
    assert "nothing new" in api.ask(ALICE, "/new")
    api.ask(ALICE, "Hello")
    assert "Nothing new to remember" in api.ask(ALICE, "/new")
    assert "nothing new" in api.ask(ALICE, "/new")
    assert len(alice.threads.list()) == 1


def test_after_a_restart_the_same_thread_goes_on(alice: Book, serve: Serve, api: BotApi) -> None:
    with serve():
        api.ask(ALICE, "Remember that I like green tea")
    with serve():
        api.ask(ALICE, "Hello again")
        (thread,) = alice.threads.list()
        assert thread.turns == 4
    with serve():
        assert "green tea" in api.ask(ALICE, "/undo")
        assert alice.list().total == 0
    with serve():
        api.ask(ALICE, "/new")
    with serve():
        api.ask(ALICE, "And another thing")
        assert [each.turns for each in alice.threads.list()] == [2, 4]


@on_sqlite
def test_a_thread_that_was_closed_deleted_or_erased_elsewhere_gives_way_to_a_new_one(
    alice: Book, running: Running, api: BotApi
) -> None:
    api.ask(ALICE, "One")
    alice.threads.get(alice.threads.list()[0].id).close()
    api.ask(ALICE, "Two")
    assert len(alice.threads.list()) == 2
    alice.threads.delete(alice.threads.list()[0].id)
    api.ask(ALICE, "Three")
    alice.threads.delete(alice.threads.list()[0].id, forever=True)
    api.ask(ALICE, "Four")
    alice.erase("alice")
    api.ask(ALICE, "Five")
    assert [thread.turns for thread in alice.threads.list()] == [2]


@on_sqlite
def test_silent_chats_are_closed_by_the_bot_itself(alice: Book, serve: Serve, api: BotApi, clock: Any) -> None:
    with serve():
        api.ask(ALICE, "I am a nurse in Leeds.")
    clock.forward(hours=7)
    with serve():
        api.ask(BOB, "/help")
    assert [thread.state for thread in alice.threads.list()] == ["idle"]
    assert "“I am a nurse in Leeds”" in alice.block()


def test_a_failing_model_is_told_in_plain_words_and_loses_nothing(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    def fail(_: str) -> str:
        raise ModelFailed("the model is away")

    model = use(kb, fail)
    assert api.ask(ALICE, "Are you there?") == "The model is away. What you said is kept. Try /again."
    assert [message.text for message in alice.threads.get(alice.threads.list()[0].id).messages()] == ["Are you there?"]
    model.say = lambda said: f"You asked: {said}"
    assert api.ask(ALICE, "/again") == "You asked: Are you there?"
    assert "answer" in api.ask(ALICE, "/again")
    (thread,) = alice.threads.list()
    assert thread.turns == 2


@on_sqlite
def test_new_begins_another_thread_also_where_the_old_one_could_not_be_read(
    kb: Keepbook, alice: Book, serve: Serve, api: BotApi
) -> None:
    async def fail(_: Any) -> Any:
        raise ModelFailed("the model is away")

    model: Any = use(kb, lambda _: "Yes")
    model.extract = fail
    with serve():
        api.ask(ALICE, "My sister Anna is a nurse")
        closing = api.ask(ALICE, "/new")
        assert "nothing is lost" in closing
        assert closing.endswith("Your next message begins a new chat.")
    with serve():
        api.ask(ALICE, "Something else")
    assert sorted(thread.turns for thread in alice.threads.list()) == [2, 2]


@on_sqlite
def test_a_fault_of_ours_is_answered_and_told_without_what_was_said(
    kb: Keepbook, running: Running, api: BotApi
) -> None:
    def fail(said: str) -> str:
        raise ZeroDivisionError(said)

    use(kb, fail)
    assert api.ask(ALICE, "my secret plan").startswith("Sorry")
    (note,) = [note for note in running.notes if "should not happen" in note]
    assert "secret" not in note
    assert api.ask(ALICE, "/help")


@on_sqlite
def test_a_long_reply_is_cut_between_words_and_an_empty_one_is_not_sent_empty(
    kb: Keepbook, running: Running, api: BotApi
) -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    use(kb, lambda said: words if said == "long" else "")
    api.write(ALICE, "long")
    pieces: list[str] = []
    while " ".join(pieces) != words:
        pieces.append(api.answer(ALICE).text)
    assert len(pieces) == 5
    assert api.ask(ALICE, "say nothing") == "(The model answered without a word.)"


def test_messages_of_one_chat_keep_their_order_and_chats_do_not_wait_for_each_other(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    bob_was_answered = threading.Event()

    def say(said: str) -> str:
        if said == "first":
            assert bob_was_answered.wait(60)
        return f"heard {said}"

    use(kb, say)
    for text in ("first", "second", "third"):
        api.write(ALICE, text)
    assert api.ask(BOB, "hello") == "heard hello"
    assert api.unread(ALICE) == []
    bob_was_answered.set()
    assert [api.answer(ALICE).text for _ in range(3)] == ["heard first", "heard second", "heard third"]
    texts = [message.text for message in alice.threads.get(alice.threads.list()[0].id).messages()]
    assert texts == ["first", "heard first", "second", "heard second", "third", "heard third"]


# --- other commands and messages -------------------------------------------------------------------------


@on_sqlite
def test_start_help_and_what_is_unknown(alice: Book, running: Running, api: BotApi) -> None:
    assert api.ask(ALICE, "/start").startswith("Hello")
    for command in ("/memory", "/memory delete <id>", "/new", "/undo", "/help"):
        assert command in api.ask(ALICE, "/help")
    assert "/help" in api.ask(ALICE, "/no_such_command at all")
    assert "Nothing to undo" in api.ask(ALICE, "/undo")
    assert "/undo 12" in api.ask(ALICE, "/undo please")
    assert "999" in api.ask(ALICE, "/undo 999")
    assert "nothing to answer" in api.ask(ALICE, "/again")
    assert alice.threads.list() == []
    ((_, menu),) = [call for call in api.calls if call[0] == "setMyCommands"]
    assert '"command": "memory"' in menu["commands"]


@on_sqlite
def test_a_path_is_talk_and_no_command(alice: Book, running: Running, api: BotApi) -> None:
    api.ask(ALICE, "/var/log is full")
    assert alice.threads.list()[0].turns == 2


@on_sqlite
def test_what_is_no_text_gets_one_polite_line(running: Running, api: BotApi) -> None:
    photo = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}]
    for number in range(3):  # an album
        api.write(ALICE, photo=photo, media_group_id="album", caption=f"picture {number}")
    api.write(ALICE, sticker={"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "type": "regular",
                              "is_animated": False, "is_video": False})  # fmt: skip
    api.write(ALICE, voice={"file_id": "f", "file_unique_id": "u", "duration": 1})
    assert [api.answer(ALICE).text for _ in range(3)] == ["I can read text only. Please write it."] * 3
    api.ask(ALICE, "/help")
    assert api.unread(ALICE) == []


@on_sqlite
def test_edits_services_and_bots_are_passed_over(alice: Book, running: Running, api: BotApi) -> None:
    api.write(ALICE, "Remember that I like tea", field="edited_message", edit_date=1772355601)
    api.write(ALICE, "Remember that I like tea", field="channel_post")
    api.write(ALICE, new_chat_title="Another title")
    api.write(ALICE, "Remember that I like tea", **{"from": {"id": 1, "is_bot": True, "first_name": "Bot"}})
    api.write(STRANGER, new_chat_title="Another title")
    assert "empty" in api.ask(ALICE, "/memory")
    assert [each.chat for each in api.sent] == [ALICE]
    (polling, *_) = [given for method, given in api.calls if method == "getUpdates"]
    assert polling["allowed_updates"] == '["message", "callback_query"]'


@on_sqlite
def test_a_group_is_served_by_its_own_id_and_other_bots_commands_are_left_alone(
    kb: Keepbook, alice: Book, running: Running, api: BotApi
) -> None:
    api.write(TEAM, "/memory@another_bot")
    api.write(TEAM, "Remember that we meet on Mondays")
    assert "Mondays" in api.answer(TEAM).text
    assert "Mondays" in api.ask(TEAM, "/memory@Keepbook_Bot")
    assert kb.book("team").list().total == 1
    assert alice.list().total == 0
    api.write(TEAM, migrate_to_chat_id=-200)
    api.ask(TEAM, "/help")
    assert any("-200" in note for note in running.notes)


@on_sqlite
def test_a_stranger_gets_one_polite_line_once_and_the_console_the_chat_id(
    kb: Keepbook, running: Running, api: BotApi
) -> None:
    for text in ("Hello", "/memory", "Remember that I like tea", "/start"):
        api.write(STRANGER, text)
    api.write(STRANGER, photo=[{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}])
    assert "private" in api.answer(STRANGER).text
    api.ask(ALICE, "/help")
    assert api.unread(STRANGER) == []
    assert [note for note in running.notes if str(STRANGER) in note] == [
        f"A chat on no list wrote: {STRANGER} (Ann). To serve it, add its id to telegram_chats."
    ]
    assert "models" not in kb.__dict__


@on_sqlite
def test_without_any_chat_it_says_how_to_find_the_id(serve: Serve, api: BotApi) -> None:
    with serve(chats={}) as bot:
        api.write(ALICE, "Hello")
        assert "private" in api.answer(ALICE).text
    assert "telegram_chats is empty" in bot.notes[0]
    assert str(ALICE) in bot.notes[1]


# --- the line --------------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize("trouble", [[too_many(1)], [broken(), broken()]], ids=["429", "502"])
def test_what_telegram_refuses_for_now_is_sent_again(running: Running, api: BotApi, trouble: list[Refusal]) -> None:
    api.troubles["sendMessage"] += trouble
    assert "empty" in api.ask(ALICE, "/memory")
    assert api.times("sendMessage") == 1 + len(trouble)


@on_sqlite
def test_what_telegram_never_takes_is_told_on_the_console_and_the_next_is_served(running: Running, api: BotApi) -> None:
    api.troubles["sendMessage"] += [Refusal(403, "Forbidden: bot was blocked by the user"), too_many(100_000)]
    api.write(ALICE, "/memory")
    api.write(ALICE, "/memory")
    assert "empty" in api.ask(ALICE, "/memory")
    assert [note for note in running.notes if "could not be sent" in note] == [
        f"An answer to chat {ALICE} could not be sent (Forbidden).",
        f"An answer to chat {ALICE} could not be sent (RetryAfter).",
    ]


@on_sqlite
def test_polling_goes_on_after_an_outage_which_is_told_once(running: Running, api: BotApi) -> None:
    api.troubles["getUpdates"] += [broken()]
    api.wait("getUpdates", 1)
    assert "empty" in api.ask(ALICE, "/memory")
    api.ask(ALICE, "/help")
    assert sum("does not answer" in note for note in running.notes) == 1
    assert "Telegram answers again." in running.notes


@on_sqlite
def test_a_wrong_token_is_one_clear_refusal(serve: Serve, api: BotApi) -> None:
    with serve(token="1:wrong") as bot:
        bot.join()
    assert isinstance(bot.error, NotAllowed)
    assert "1:wrong" not in str(bot.error)
    with pytest.raises(Invalid, match="not a token"):
        serve(token="../getMe?x=")


@on_sqlite
def test_a_token_that_is_withdrawn_ends_the_bot(running: Running, api: BotApi) -> None:
    api.ask(ALICE, "/help")
    api.token = "4242:another"
    api.write(ALICE, "/help")  # ends the long poll that is under way
    running.join()
    assert isinstance(running.error, NotAllowed)


@on_sqlite
def test_a_server_that_is_not_there_is_told(serve: Serve) -> None:
    with serve(base_url="http://127.0.0.1:9") as bot:
        bot.join()
    assert bot.error is not None
    assert getattr(bot.error, "code", None) == "unavailable"


def test_what_came_in_before_the_end_is_answered(kb: Keepbook, alice: Book, serve: Serve, api: BotApi) -> None:
    asked, go = threading.Event(), threading.Event()

    def say(said: str) -> str:
        asked.set()
        assert go.wait(60)
        return f"heard {said}"

    use(kb, say)
    with serve() as bot:
        api.write(ALICE, "one")
        assert asked.wait(60)
        api.write(ALICE, "two")
        api.wait_until_fetched()
        ending = threading.Thread(target=bot.stop)
        ending.start()
        go.set()
        ending.join()
    assert [api.answer(ALICE).text for _ in range(2)] == ["heard one", "heard two"]
    assert alice.threads.list()[0].turns == 4


@on_sqlite
def test_the_end_waits_once_for_a_telegram_that_is_away_and_keeps_what_was_said(
    alice: Book, serve: Serve, api: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepbook.doors.telegram.bot.ENDING_SECONDS", 0.1)
    liked = ["green tea", "rye bread", "cold rain"]
    with serve(first_wait=1.0) as bot:
        api.ask(ALICE, "/help")
        api.troubles["sendMessage"] += [broken()] * 100
        for each in liked:
            api.write(ALICE, f"Remember that I like {each}")
        api.wait_until_fetched()
        tried = api.times("sendMessage")
        bot.stop()
    assert bot.notes.count(f"An answer to chat {ALICE} could not be sent (NetworkError).") == 3
    assert api.times("sendMessage") <= tried + 2  # the one under way, and one after the time
    assert all(each in alice.block() for each in liked)


# --- the program -----------------------------------------------------------------------------------------

PROGRAM = [sys.executable, "-m", "keepbook", "telegram"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return os.environ | {"KEEPBOOK_DB": str(tmp_path / "book.db"), "KEEPBOOK_TELEGRAM_TOKEN": TOKEN}


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_the_program_serves_until_it_is_told_to_stop(
    api: BotApi, environment: dict[str, str], tmp_path: Path, signal_: int
) -> None:
    environment |= {"KEEPBOOK_TELEGRAM_CHATS": f"{ALICE}=alice", "KEEPBOOK_TELEGRAM_BASE_URL": api.url}
    with subprocess.Popen(
        PROGRAM, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            assert "In your book" in api.ask(ALICE, "Remember that I like green tea")
        finally:
            program.send_signal(signal_)
            out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (0, "")
    served, ending, ended = err.splitlines()
    assert served == "@keepbook_bot serves 1 chat; Ctrl-C ends it."
    assert ending.startswith("Ending")
    assert ended == "Ended."
    with Keepbook(tmp_path / "book.db") as kb:
        assert "green tea" in kb.book("alice").block()


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_wait_for_a_model(api: BotApi, environment: dict[str, str], signal_: int) -> None:
    with Wire("openai") as wire:
        wire.script += [HANG]
        environment |= {"KEEPBOOK_TELEGRAM_CHATS": f"{ALICE}=alice", "KEEPBOOK_TELEGRAM_BASE_URL": api.url}
        environment |= {
            "KEEPBOOK_MODEL": "openai:some",
            "KEEPBOOK_OPENAI_BASE_URL": wire.url,
            "KEEPBOOK_OPENAI_KEY": "k",
        }
        with subprocess.Popen(PROGRAM, env=environment, stderr=subprocess.PIPE, text=True) as program:
            assert program.stderr is not None
            api.write(ALICE, "Hello")
            api.wait("sendChatAction")
            program.send_signal(signal_)
            while not program.stderr.readline().startswith("Ending"):
                assert program.poll() is None
            program.send_signal(signal_)
            _, err = program.communicate(timeout=60)
    assert program.returncode == 130
    assert err.startswith("keepbook: stopped")
    assert err.count("\n") == 1
    assert api.unread(ALICE) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"KEEPBOOK_TELEGRAM_TOKEN": ""}, "@BotFather"),
        ({"KEEPBOOK_TELEGRAM_TOKEN": "1:wrong"}, "refuses the token"),
        ({"KEEPBOOK_TELEGRAM_CHATS": "alice"}, "12345=alice"),
        ({"KEEPBOOK_MODEL": "nonsense"}, "model"),
    ],
)
def test_what_is_set_wrongly_is_one_line_and_exit_code_1(
    api: BotApi,
    environment: dict[str, str],
    keepbook_command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
    words: str,
) -> None:
    for name, value in (environment | {"KEEPBOOK_TELEGRAM_BASE_URL": api.url} | changed).items():
        monkeypatch.setenv(name, value)
    done = keepbook_command("telegram")
    assert (done.code, done.out) == (1, "")
    assert words in done.err
    assert done.err.count("\n") == 1
    assert "1:wrong" not in done.err


def test_without_the_library_it_says_what_to_install(environment: dict[str, str]) -> None:
    hidden = (
        "import sys; sys.modules['telegram'] = None; from keepbook.doors.cli import main; sys.exit(main(['telegram']))"
    )
    line = [sys.executable, "-c", hidden]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "pip install 'keepbook[telegram]'" in done.stderr


# --- settings --------------------------------------------------------------------------------------------


def test_chats_and_their_owners_are_read_from_the_environment_and_from_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert load_settings().telegram_chats == {}
    config = tmp_path / "config.toml"
    monkeypatch.setenv("KEEPBOOK_CONFIG", str(config))
    config.write_text('telegram_chats = "12345=alice, -100500 = the team"')
    assert load_settings().telegram_chats == {12345: "alice", -100500: "the team"}
    config.write_text('[telegram_chats]\n12345 = "alice"\n-100500 = "a,b=c"')
    assert load_settings().telegram_chats == {12345: "alice", -100500: "a,b=c"}
    monkeypatch.setenv("KEEPBOOK_TELEGRAM_CHATS", "678=bob")
    assert load_settings().telegram_chats == {678: "bob"}
    monkeypatch.setenv("KEEPBOOK_TELEGRAM_CHATS", "")
    assert load_settings().telegram_chats == {}


@pytest.mark.parametrize(
    "wrong", ["12345", "alice=12345", "12345=", "12345=alice,12345=bob", "1=a,", "1.5=a", '{"1": "a"}']
)
def test_chats_that_cannot_be_read_are_refused(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("KEEPBOOK_TELEGRAM_CHATS", wrong)
    with pytest.raises(Invalid, match="12345=alice") as refused:
        load_settings()
    assert refused.value.field == "telegram_chats"


def test_the_token_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_TELEGRAM_TOKEN", TOKEN)
    assert TOKEN not in repr(load_settings())


# --- letters ---------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.text(st.sampled_from("ab \n👍*_é"), max_size=12), st.sampled_from([None, None, BOLD, CODE])),
        max_size=40,
    ),
    st.integers(12, 60),
)
def test_a_letter_loses_nothing_but_blanks_and_no_piece_is_too_long(
    parts: list[tuple[str, str | None]], longest: int
) -> None:
    letter = Letter()
    for text, kind in parts:
        letter.put(text, kind)
    pieces = list(letter.pieces(longest))
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(letter.text.split())
    for piece in pieces:
        assert piece.text == piece.text.strip() != ""
        assert units(piece.text) <= longest
        raw = piece.text.encode("utf-16-le")
        for mark in piece.marks:
            raw[2 * mark.start : 2 * mark.end].decode("utf-16-le")  # a half character cannot be decoded
            assert mark.end <= units(piece.text)


def test_a_letter_is_cut_at_a_line_else_at_a_word_else_anywhere() -> None:
    assert [piece.text for piece in Letter("one two\nthree four").pieces(12)] == ["one two", "three four"]
    assert [piece.text for piece in Letter("a\nthree four five").pieces(12)] == ["a\nthree four", "five"]
    assert [piece.text for piece in Letter("👍" * 5).pieces(4)] == ["👍👍", "👍👍", "👍"]


def test_a_mark_is_never_cut_and_a_message_has_no_more_than_telegram_shows() -> None:
    letter = Letter("12345 ").put("an id", CODE).put(" tail")
    assert [(piece.text, piece.marks) for piece in letter.pieces(9)] == [
        ("12345", ()),
        ("an id", ((CODE, 0, 5),)),
        ("tail", ()),
    ]
    many = Letter()
    for _ in range(250):
        many.put("x", CODE).put("\n")
    assert [len(piece.marks) for piece in many.pieces()] == [100, 100, 50]
    assert max(units(piece.text) for piece in Letter("word " * 5000).pieces()) <= LONGEST


# --- the stand-in ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["MarkdownV2", "HTML"])
def test_as_markup_hostile_texts_would_be_refused_or_shown_as_something_else(mode: str) -> None:
    survived = []
    for text in HOSTILE[:4]:
        with suppress(Refusal):
            survived += [text] if shown(text, mode) == text else []
    assert survived == ([] if mode == "MarkdownV2" else [HOSTILE[0], HOSTILE[1], HOSTILE[3]])


def test_the_stand_in_shows_markup_that_does() -> None:
    assert shown("*b* \\* \\[x\\]", "MarkdownV2") == "b * [x]"
    assert shown("<b>b</b> &lt;x&gt;", "HTML") == "b <x>"
