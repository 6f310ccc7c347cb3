"""The walk through the library: every public method of a book as an agent, held against `[library]` of
`authority.toml`, about what is the person's and about what is the agent's own."""

import asyncio
import inspect
import io
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.book.chats.face import Chat, NewTurn
from keepbook.book.texts import TextChange
from keepbook.book.upkeep.importers.incoming import Incoming
from keepbook.errors import KeepbookError

EXPECTED = {
    name: said.split()
    for names, said in tomllib.loads((Path(__file__).parent / "authority.toml").read_text())["library"].items()
    for name in names.split()
}
FACES = ("threads", "notes", "proposals", "texts", "index", "spending")
NOT_WALKED = {"acting", "under", "of", "ask", "face", "reading", "writing", "transaction"}
"""How a program says who acts, and opens transactions: code that has a book is trusted to say so."""
CHAIN = {"cover", "seal", "end", "owner", "due"}
"""Lines of an export that come with others."""
Calls = dict[str, Callable[[], Any]]


class Side:
    """What is one actor's: the person's, or the agent's own."""

    def __init__(self, kb: Keepbook, book: Any, said: str) -> None:
        self.book, self.said = book, said
        self.kept, self.away = book.remember(f"Has a {said}"), book.remember(f"Had a {said} once")
        self.event = book.remember(f"Likes the {said}").event
        book.forget(self.away.id)
        self.link = book.link(self.kept.id, book.remember(f"Sold the {said}").id, "relates_to")
        self.chat = self.new_chat(kb)
        self.note = book.notes.write(f"Look after the {said}")
        book.texts.write([TextChange(scope="names", name=said, line=f"A {said}")])

    def new_chat(self, kb: Keepbook) -> Chat:
        if self.book.origin.actor == "agent":
            chat: Chat = self.book.thread(f"session-{self.said}")
            chat.add("user", f"I have a {self.said}")
            return chat
        chat = self.book.threads.start()
        asyncio.run(anext(kb.talk(chat).say(f"I have a {self.said}.")))
        return chat


def calls(kb: Keepbook, agent: Any, side: Side, waits: str) -> Calls:
    """Every public method of a book, by the name that stands in the table."""
    id, chat, said = side.kept.id, side.chat.id, side.said
    here = Chat(agent, agent.threads.get(chat).thread)
    turn = NewTurn("user", "Hello")
    line = TextChange(scope="names", name=said, line=f"No {said}")
    return {
        "remember": lambda: agent.remember(f"Polishes the {said}"),
        "update": lambda: agent.update(id, f"Has no {said}"),
        "confirm": lambda: agent.confirm(id),
        "restore": lambda: agent.restore(side.away.id),
        "undo": lambda: agent.undo(side.event),
        "link": lambda: agent.link(id, side.link.to_id, "because_of"),
        "unlink": lambda: agent.unlink(side.link.id),
        "promote": lambda: agent.promote(id),
        "demote": lambda: agent.demote(id),
        "delete(forever=True)": lambda: agent.delete(id, forever=True),
        "purge": agent.purge,
        "choose": lambda: agent.choose(name="Eve"),
        "configure": lambda: agent.configure(zone="Asia/Tokyo"),
        "import_": lambda: agent.import_(io.StringIO("[]")),
        "bring_in": lambda: agent.bring_in(Incoming("mem0")),
        "take_back": lambda: agent.take_back(1),
        "erase": lambda: agent.erase("alice"),
        "pencil_of": lambda: agent.pencil_of(chat),
        "thread": lambda: agent.thread("session-x"),
        "get": lambda: agent.get(id),
        "find": lambda: agent.find(id),
        "history": lambda: agent.history(id),
        "list": agent.list,
        "recall": lambda: agent.recall(said),
        "recall_chats": lambda: agent.recall_chats(said),
        "timeline": lambda: agent.timeline(said),
        "as_of": agent.as_of,
        "audit": agent.audit,
        "block": agent.block,
        "rendered": agent.rendered,
        "inject": lambda: agent.inject("session-y"),
        "replay": lambda: agent.replay("session-y"),
        "ledger": agent.ledger,
        "loads": agent.loads,
        "export": lambda: agent.export(io.StringIO()),
        "verify": agent.verify,
        "never_of": lambda: agent.never_of(said),
        "preset": agent.preset,
        "reindex": agent.reindex,
        "without_code": agent.without_code,
        "threads.start": agent.threads.start,
        "threads.of_session": lambda: agent.threads.of_session("session-z"),
        "threads.get": lambda: agent.threads.get(chat),
        "threads.list": agent.threads.list,
        "threads.search": lambda: agent.threads.search(said),
        "threads.recall": lambda: agent.threads.recall(said),
        "threads.learned": lambda: agent.threads.learned(chat),
        "threads.rename": lambda: agent.threads.rename(chat, "Renamed"),
        "chat.add": lambda: here.add("user", "Hello"),
        "chat.add_all": lambda: here.add_all([turn]),
        "chat.messages": here.messages,
        "chat.inject": here.inject,
        "chat.pencil": here.pencil,
        "chat.decline": lambda: here.decline("1-0"),
        "chat.keep": lambda: here.keep("1-0"),
        "chat.take_out_of_view": here.take_out_of_view,
        "chat.bring_into_view": here.bring_into_view,
        "notes.write": lambda: agent.notes.write("A note"),
        "notes.list": agent.notes.list,
        "notes.bookmark": lambda: agent.notes.bookmark(chat, 1),
        "notes.get": lambda: agent.notes.get(side.note.id),
        "notes.edit": lambda: agent.notes.edit(side.note.id, "Another"),
        "notes.delete": lambda: agent.notes.delete(side.note.id),
        "notes.put_back": lambda: agent.notes.put_back(side.note),
        "proposals.list": agent.proposals.list,
        "proposals.get": lambda: agent.proposals.get(waits),
        "proposals.accept": lambda: agent.proposals.accept(waits),
        "proposals.decline": lambda: agent.proposals.decline(waits),
        "proposals.answer": lambda: agent.proposals.answer(waits, "yes"),
        "proposals.reopen": lambda: agent.proposals.reopen(waits),
        "texts.list": lambda: agent.texts.list("names"),
        "texts.scopes": lambda: agent.texts.scopes("names"),
        "texts.write": lambda: agent.texts.write([line]),
        "index.catch_up": agent.index.catch_up,
        "index.left": agent.index.left,
        "index.rebuild": agent.index.rebuild,
        "spending.count": lambda: agent.spending.count("reply", "offline", 1, 1),
        "spending.list": agent.spending.list,
        "spending.this_month": agent.spending.this_month,
        # These last: what is put away or closed is not what the others are about.
        "forget": lambda: agent.forget(side.link.to_id),
        "delete": lambda: agent.delete(id),
        "chat.close": here.close,
        "close_thread": lambda: agent.close_thread(chat),
        "threads.archive": lambda: agent.threads.archive(chat),
        "threads.restore": lambda: agent.threads.restore(chat),
        "threads.delete": lambda: agent.threads.delete(chat),
        "threads.delete(forever=True)": lambda: agent.threads.delete(chat, forever=True),
    }


def exported(book: Any) -> list[str]:
    out = io.StringIO()
    book.export(out)
    return out.getvalue().splitlines()


def outcome(book: Any, do: Callable[[], Any]) -> str:
    """What came of it, as the table says it. A refusal leaves nothing behind but a proposal."""
    before = exported(book)
    try:
        do()
    except KeepbookError as refused:
        left = {json.loads(line)["kind"] for line in exported(book) if line not in before} - CHAIN
        assert left <= {"proposal"}, left
        return "proposal" if left else refused.code
    return "yes"


def public_methods(book: Any, chat: Chat) -> set[str]:
    """The methods of a book and of its faces."""
    faces = {"": book, "chat": chat} | {name: getattr(book, name) for name in FACES}
    found = set()
    for face, one in faces.items():
        for name, there in inspect.getmembers(type(one), inspect.isfunction):
            if not name.startswith("_") and there.__module__.startswith("keepbook.book"):
                found.add(f"{face}.{name}" if face else name)
    return found - NOT_WALKED


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize("whose", ["person", "agent"])
def test_every_method_of_a_book_answers_an_agent_as_it_is_written(
    kb: Keepbook, alice: Any, engine_name: str, whose: str
) -> None:
    agent = kb.book("alice", by="agent")
    alice.import_(io.StringIO('[{"memory": "Likes figs", "id": "1"}]'))
    asked = alice.remember("Votes green")
    with pytest.raises(KeepbookError):
        agent.update(asked.id, "Votes blue")
    waits = alice.proposals.list()[0].id
    agent.inject("session-y")
    side = Side(kb, alice if whose == "person" else agent, "boat")
    todo = calls(kb, agent, side, waits)
    assert todo.keys() == EXPECTED.keys()
    assert {name.partition("(")[0] for name in todo} == public_methods(agent, side.chat)
    which = ("person", "agent").index(whose)
    told = {name: outcome(alice, do) for name, do in todo.items()}
    assert told == {name: said[which] for name, said in EXPECTED.items() if name in told}


@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_what_the_person_says_incognito_is_not_there_for_an_agent(kb: Keepbook, alice: Any, engine_name: str) -> None:
    agent = kb.book("alice", by="agent")
    chat = alice.threads.start(incognito=True)
    asyncio.run(anext(kb.talk(chat).say("I have a boat.")))
    for do in (
        lambda: agent.threads.get(chat.id),
        lambda: agent.threads.rename(chat.id, "Boat"),
        lambda: agent.threads.archive(chat.id),
        lambda: agent.threads.restore(chat.id),
        lambda: agent.threads.delete(chat.id),
        lambda: agent.threads.learned(chat.id),
        lambda: agent.close_thread(chat.id),
        lambda: agent.pencil_of(chat.id),
        lambda: agent.notes.bookmark(chat.id, 1),
    ):
        assert outcome(alice, do) in ("not_found", "incognito")
    assert [agent.threads.list(), agent.threads.search("boat"), agent.threads.recall("boat")] == [[], [], []]
