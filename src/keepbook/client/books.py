"""The requests of a book's methods, room by room.

The faces of extensions are attributes of a book too; they are looked up by name when one is first used.
"""

from collections.abc import Iterable
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, TextIO, TypeVar

from keepbook.book.book import Book, MemoryDetail
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.face import Chat, Chats, Journal, NewTurn
from keepbook.book.chats.notes import Note
from keepbook.book.chats.pencil import Pencil
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.ground.system_clock import utc_now
from keepbook.book.ground.to_json import Page
from keepbook.book.ledger.ledger import Entry
from keepbook.book.ledger.loads import Load
from keepbook.book.ledger.owner_settings import Configured
from keepbook.book.ledger.thing_entries import ThingSet
from keepbook.book.ledger.verify import Verification
from keepbook.book.memory.block import ComposedBlock
from keepbook.book.memory.links import Link
from keepbook.book.memory.memories import Memory, Version, Written
from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.review import Review
from keepbook.book.owners.choices import Choices
from keepbook.book.owners.owners import clean_owner
from keepbook.book.owners.spending import Spending, Spent
from keepbook.book.recall.chats import Snippet
from keepbook.book.recall.memories import Hit
from keepbook.book.recall.rebuild import Index
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.recall.turns.topic_events import TimelineLine
from keepbook.book.texts import Texts
from keepbook.book.upkeep.audit import Audit
from keepbook.book.upkeep.erase import Receipt
from keepbook.book.upkeep.import_answer import Imported
from keepbook.book.upkeep.importers.source_file import SourceFile, file_or_lines
from keepbook.client.asks import Asks
from keepbook.client.connection import AsyncConnection, Connection, Request, Steps
from keepbook.client.extension_parts import known_extensions, load_remote_face
from keepbook.client.faces import LOCAL_ONLY, RemoteFace, RequestWay, remote_face_of
from keepbook.client.values import value_of
from keepbook.errors import Invalid, NotAllowed
from keepbook.extension import face_name

MEMORY, THREAD = "/api/memory/{ref}", "/api/chat/threads/{thread_id}"
LABELS = {"tags": "tag"}
Face = TypeVar("Face")


def _verb(name: str) -> Asks:
    return Asks("POST", f"{MEMORY}/{name}", Written, refs=("ref",))


def _configure(_: RemoteFace, **given: Any) -> Steps[Configured]:
    told = yield Request("PATCH", "/api/me", body=given)
    return value_of(Configured, told["configured"])  # type: ignore[no-any-return]


def _choose(_: RemoteFace, **given: Any) -> Steps[Choices]:
    told = {name: list(value) if name == "never" and value is not None else value for name, value in given.items()}
    return value_of(Choices, (yield Request("PATCH", "/api/me", body=told)))  # type: ignore[no-any-return]


def _delete(_: RemoteFace, ref: str, forever: bool = False) -> Steps[Written | None]:
    """Delete a memory. Like the local method it takes an id or a piece of text, which is looked up first."""
    way = Asks("DELETE", MEMORY, Written, refs=("ref",))
    return (yield from way.steps({"ref": ref} | ({"forever": True} if forever else {})))  # type: ignore[no-any-return]


def _history(_: RemoteFace, ref: str) -> Steps[tuple[Version, ...]]:
    way = Asks("GET", f"{MEMORY}/history", tuple[Version, ...], "versions", refs=("ref",))
    return (yield from way.steps({"ref": ref}))  # type: ignore[no-any-return]


def _ledger(_: RemoteFace, after: int = 0, **given: Any) -> Steps[list[Entry]]:
    """Read the ledger page by page, since a server returns at most a thousand entries at once."""
    if "limit" in given:
        wanted = given.pop("limit", 100)
    else:
        wanted = 100
    found: list[Entry] = []
    while wanted is None or len(found) < wanted:
        if wanted is None:
            most = 1000
        else:
            most = min(1000, wanted - len(found))
        page = yield from _LEDGER.steps({**given, "limit": most})
        fresh = [entry for entry in page if entry.event > after]
        found += fresh
        if len(page) < most or len(fresh) < len(page):
            break
        given["before"] = page[-1].event
    return found


_LEDGER = Asks("GET", "/api/memory/ledger", list[Entry], "entries")


def _verify(_: RemoteFace, anchor: object = None, progress: object = None) -> Steps[Verification]:
    if anchor is not None or progress is not None:
        raise NotAllowed("a server checks its ledger without an anchor of yours; run keepbook verify there",
                         code=LOCAL_ONLY)  # fmt: skip
    return value_of(Verification, (yield Request("GET", "/api/memory/verify")))  # type: ignore[no-any-return]


def _export(_: RemoteFace, stream: TextIO) -> Steps[int]:
    text = yield Request("GET", "/api/export", headers={"Accept": "application/jsonl"})
    return stream.write(text) and text.count("\n")


def _import(
    _: RemoteFace,
    stream: str | PathLike[str] | Iterable[str],
    merge: bool = False,
    dry_run: bool = False,
    theirs: str | None = None,
) -> Steps[Imported]:
    query = tuple((name, "true") for name, on in (("merge", merge), ("dry_run", dry_run)) if on)
    if theirs is not None:
        query += (("theirs", theirs),)
    sent = file_or_lines(stream)
    if isinstance(sent, Path):
        query += (("name", sent.name),)
        found = SourceFile.from_path(sent)
        if found.is_folder:
            raise Invalid(f"{sent} is a folder; pack it into a zip, and send that", field="file")
        sent = found.raw
    told = yield Request("POST", "/api/import", query, text=sent, headers={"Content-Type": "application/jsonl"})
    return value_of(Imported, told)  # type: ignore[no-any-return]


def chat_request(way: Asks) -> RequestWay:
    """A request whose answer is a chat: it becomes the chat's face."""

    def opened(face: RemoteFace, **given: Any) -> Steps[Any]:
        thread = yield from way.steps(given)
        return CHAT(face._connection, face.owner, id=thread.id, session=thread.session)

    return opened


def _rename(_: RemoteFace, thread_id: str, title: str, **__: Any) -> Steps[Thread]:
    return (yield from Asks("PATCH", THREAD, Thread).steps({"thread_id": thread_id, "title": title}))  # type: ignore[no-any-return]


def _on_chat(way: Asks) -> RequestWay:
    """The request of a chat's method, with the chat's id in the path."""
    return lambda chat, **given: way.steps({"thread_id": chat.id, **given})


def _add(chat: Any, role: str, text: str, at: Any = None, speaker: str | None = None, **more: Any) -> Steps[Message]:
    parts = more.pop("parts", None)
    if parts is not None:
        turns = [NewTurn(role, text, at, speaker, parts)]
        added = yield from Asks("POST", f"{THREAD}/turns", list[Message], "messages").steps(
            {"thread_id": chat.id, "turns": turns}
        )
        return added[0]  # type: ignore[no-any-return]
    way = Asks("POST", f"{THREAD}/messages", Message, fixed={"reply": False})
    given = {"thread_id": chat.id, "role": role, "text": text, "at": at, "speaker": speaker, **more}
    return (yield from way.steps(given))  # type: ignore[no-any-return]


NOTE, ME = "/api/journal/{id}", "/api/me"

CHAT = remote_face_of(
    Chat,
    {
        "thread": _on_chat(Asks("GET", THREAD, Thread, "thread")),
        "add": _add,
        "add_all": _on_chat(Asks("POST", f"{THREAD}/turns", list[Message], "messages")),
        "messages": _on_chat(Asks("GET", THREAD, list[Message], "messages")),
        "inject": _on_chat(Asks("POST", f"{THREAD}/inject", str, "block")),
        "take_out_of_view": _on_chat(Asks("POST", f"{THREAD}/out-of-view", Thread)),
        "bring_into_view": _on_chat(Asks("POST", f"{THREAD}/into-view", Thread)),
        "pencil": _on_chat(Asks("GET", f"{THREAD}/pencil", list[Pencil], "pencil")),
        "decline": _on_chat(Asks("POST", THREAD + "/pencil/{key}/no", Pencil)),
        "keep": _on_chat(Asks("POST", THREAD + "/pencil/{key}/keep", Written, query=("both",))),
        "close": _on_chat(Asks("POST", f"{THREAD}/close", ClosingResult, query=("offline",))),
    },
)
CHATS = remote_face_of(
    Chats,
    {
        "start": chat_request(Asks("POST", "/api/chat/threads", Thread)),
        "of_session": chat_request(Asks("POST", "/api/chat/threads", Thread)),
        "get": chat_request(Asks("GET", THREAD, Thread, "thread")),
        "list": Asks("GET", "/api/chat/threads", list[Thread], "threads"),
        "rename": _rename,
        "archive": Asks("PATCH", THREAD, Thread, fixed={"archived": True}),
        "delete": Asks("DELETE", THREAD, Thread),
        "restore": Asks("POST", f"{THREAD}/restore", Thread),
        "search": Asks("GET", "/api/chat/threads/search", list[Snippet], "turns", {"query": "q"}),
        "recall": Asks("GET", "/api/memory/recall-chats", list[ChatHit], "turns", {"query": "q"}),
    },
)
JOURNAL = remote_face_of(
    Journal,
    {
        "bookmark": Asks("POST", "/api/journal", Note),
        "write": Asks("POST", "/api/journal", Note),
        "get": Asks("GET", NOTE, Note),
        "list": Asks("GET", "/api/journal", list[Note], "notes", {"query": "q"}),
        "edit": Asks("PUT", NOTE, Note),
        "delete": Asks("DELETE", NOTE, Note),
    },
)
REVIEW = remote_face_of(
    Review,
    {
        "list": Asks("GET", "/api/memory/proposals", list[Proposal], "proposals"),
        "get": Asks("GET", "/api/memory/proposals/{id}", Proposal),
        "accept": Asks("POST", "/api/memory/proposals/{id}/accept", Written, query=("both",)),
        "decline": Asks("POST", "/api/memory/proposals/{id}/decline", Proposal),
        "answer": Asks("POST", "/api/memory/proposals/{id}/answer", Written | Proposal),
        "reopen": Asks("POST", "/api/memory/proposals/{id}/reopen", Proposal),
    },
)
SPENDING = remote_face_of(
    Spending,
    {"list": Asks("GET", ME, list[Spent], "spent"), "this_month": Asks("GET", ME, int, "spent_this_month")},
)


TEXTS = remote_face_of(
    Texts,
    {
        "list": Asks("GET", "/api/texts", list[Memory], "memories"),
        "scopes": Asks("GET", "/api/texts/scopes", list[str], "scopes"),
        "write": Asks("POST", "/api/texts", list[Written], "written"),
    },
)


class RemoteBook(RemoteFace):
    """A book on a server: what extensions hang on a book is found when it is asked for."""

    @property
    def now(self) -> datetime:
        """The time on this machine."""
        return utc_now()

    def __getattr__(self, name: str) -> Any:
        return load_remote_face(name)(self._connection, self.owner)

    def face(self, kind: type[Face]) -> Face:
        """The face of an extension by its class: `book.face(Habits)`.

        kind: a class that an extension has among its `faces`
        """
        opened: Face = getattr(self, face_name(kind, known_extensions()))
        return opened


BOOK = remote_face_of(
    Book,
    {
        "remember": Asks("POST", "/api/memory/", Written),
        "update": Asks("PUT", MEMORY, Written, refs=("ref",)),
        "forget": _verb("forget"),
        "delete": _delete,
        "restore": _verb("restore"),
        "confirm": _verb("confirm"),
        "promote": _verb("promote"),
        "demote": _verb("demote"),
        "link": Asks("POST", "/api/memory/links", Link),
        "unlink": Asks("DELETE", "/api/memory/links/{link_id}", Link),
        "undo": Asks("POST", "/api/memory/undo/{event}", Written | Link | Configured | ThingSet),
        "configure": _configure,
        "get": Asks("GET", "/api/memory/{id}", MemoryDetail),
        "list": Asks("GET", "/api/memory/", Page[Memory], named=LABELS),
        "history": _history,
        "ledger": _ledger,
        "recall": Asks("GET", "/api/memory/recall", list[Hit], "memories", {"query": "q", **LABELS}),
        "recall_chats": Asks("GET", "/api/memory/recall-chats", list[ChatHit], "turns", {"query": "q"}),
        "timeline": Asks("GET", "/api/memory/timeline", list[TimelineLine], "lines", {"topic": "q"}),
        "block": Asks("GET", "/api/memory/block", str, "block"),
        "rendered": Asks("GET", "/api/memory/rendered", ComposedBlock),
        "inject": Asks("POST", "/api/memory/inject", str, "block"),
        "replay": Asks("GET", "/api/memory/replay", str, "block"),
        "as_of": Asks("GET", "/api/memory/as-of", list[Memory], "memories"),
        "verify": _verify,
        "audit": Asks("GET", "/api/memory/audit", Audit),
        "export": _export,
        "import_": _import,
        "loads": Asks("GET", "/api/loads", list[Load], "loads"),
        "take_back": Asks("POST", "/api/loads/{load}/undo", Load),
        "erase": Asks("POST", "/api/erase", Receipt, again=False),
        "thread": chat_request(Asks("POST", "/api/chat/threads", Thread)),
        "choose": _choose,
        "choices": Asks("GET", ME, Choices),
        "never_of": Asks("POST", "/api/me/never/try", list[str], "topics", again=False),
        "zone": Asks("GET", ME, str, "zone"),
        "find": Asks("GET", "/api/memory/find", str, "id"),
    },
    {
        "threads": CHATS, "notes": JOURNAL, "proposals": REVIEW, "spending": SPENDING, "texts": TEXTS,
        "index": remote_face_of(Index, {}),
    },
    base=RemoteBook,
)  # fmt: skip


def open_book(connection: Connection | AsyncConnection, owner: str, by: str) -> Any:
    """One owner's book on the server, as the person or as an agent."""
    if by not in ("person", "agent"):
        raise Invalid(f"by is 'person' or 'agent', not {by!r}", field="by")
    return BOOK(connection.speaking(clean_owner(owner), by), owner)
