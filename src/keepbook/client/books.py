"""The requests of a book's methods, room by room."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TextIO

from keepbook.book.agents.agents import Agent
from keepbook.book.agents.calibration import Calibration
from keepbook.book.agents.cards.types import Broken, CardType, CardTypes
from keepbook.book.agents.decisions import Decision, PastCard
from keepbook.book.agents.face import Agents, Decisions, Runs
from keepbook.book.agents.recording import RecordedDecision
from keepbook.book.agents.results import Former
from keepbook.book.agents.runs import Run
from keepbook.book.agents.runs import TranscriptTurn as Said
from keepbook.book.agents.second_looks import SecondLook
from keepbook.book.book import Book, MemoryDetail
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.face import Chat, Chats, Journal
from keepbook.book.chats.notes import Note
from keepbook.book.chats.pencil import Pencil
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.ground.to_json import Page
from keepbook.book.ledger.ledger import Entry
from keepbook.book.ledger.loads import Load
from keepbook.book.ledger.verify import Verification
from keepbook.book.memory.block import ComposedBlock
from keepbook.book.memory.links import Link
from keepbook.book.memory.memories import Memory, Version, Written
from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.review import Review
from keepbook.book.owners.choices import Choices
from keepbook.book.owners.owners import clean_owner
from keepbook.book.owners.spending import Spending, Spent
from keepbook.book.recall.chats import ChatHit, Snippet
from keepbook.book.recall.memories import Hit
from keepbook.book.recall.rebuild import Index
from keepbook.book.upkeep.audit import Audit
from keepbook.book.upkeep.erase import Receipt
from keepbook.book.upkeep.import_answer import Imported
from keepbook.client.asks import Asks
from keepbook.client.connection import AsyncConnection, Connection, Request, Steps
from keepbook.client.faces import LOCAL_ONLY, RemoteFace, RequestWay, remote_face_of
from keepbook.client.trading import TRADING_ROOM
from keepbook.client.values import value_of
from keepbook.errors import Invalid, NotAllowed

MEMORY, THREAD = "/api/memory/{ref}", "/api/chat/threads/{thread_id}"
LABELS = {"tags": "tag"}


def _verb(name: str) -> Asks:
    return Asks("POST", f"{MEMORY}/{name}", Written, refs=("ref",))


def _configure(_: RemoteFace, **given: Any) -> Steps[None]:
    yield Request("PATCH", "/api/me", body=given)


def _choose(_: RemoteFace, **given: Any) -> Steps[Choices]:
    told = {name: list(value) if name == "never" and value is not None else value for name, value in given.items()}
    return value_of(Choices, (yield Request("PATCH", "/api/me", body=told)))  # type: ignore[no-any-return]


def _delete(_: RemoteFace, ref: str, forever: bool = False) -> Steps[Written | None]:
    """For good it is gone by its id alone, or by a piece of text that fits it, as here."""
    way = Asks("DELETE", MEMORY, Written, refs=("ref",))
    return (yield from way.steps({"ref": ref} | ({"forever": True} if forever else {})))  # type: ignore[no-any-return]


def _history(_: RemoteFace, ref: str) -> Steps[tuple[Version, ...]]:
    way = Asks("GET", f"{MEMORY}/history", tuple[Version, ...], "versions", refs=("ref",))
    return (yield from way.steps({"ref": ref}))  # type: ignore[no-any-return]


def _ledger(_: RemoteFace, after: int = 0, **given: Any) -> Steps[list[Entry]]:
    """A server gives a thousand at most; more are asked for page by page."""
    wanted = given.pop("limit", 100) if "limit" in given else 100
    found: list[Entry] = []
    while wanted is None or len(found) < wanted:
        most = 1000 if wanted is None else min(1000, wanted - len(found))
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
    _: RemoteFace, stream: Iterable[str], merge: bool = False, dry_run: bool = False, theirs: str | None = None
) -> Steps[Imported]:
    query = tuple((name, "true") for name, on in (("merge", merge), ("dry_run", dry_run)) if on)
    query += () if theirs is None else (("theirs", theirs),)
    sent = "".join(line if line.endswith("\n") else f"{line}\n" for line in stream).encode()
    told = yield Request("POST", "/api/import", query, text=sent, headers={"Content-Type": "application/jsonl"})
    return value_of(Imported, told)  # type: ignore[no-any-return]


def _chat(way: Asks) -> RequestWay:
    def opened(face: RemoteFace, **given: Any) -> Steps[Any]:
        thread = yield from way.steps(given)
        return CHAT(face._connection, face.owner, id=thread.id, session=thread.session)

    return opened


chat_with = _chat(Asks("POST", "/api/agents/{agent}/chat", Thread))
"""The one chat with an agent of a book."""


def _rename(_: RemoteFace, thread_id: str, title: str, **__: Any) -> Steps[Thread]:
    return (yield from Asks("PATCH", THREAD, Thread).steps({"thread_id": thread_id, "title": title}))  # type: ignore[no-any-return]


def _on_chat(way: Asks) -> RequestWay:
    """A method of a chat: its id goes into the path."""
    return lambda chat, **given: way.steps({"thread_id": chat.id, **given})


def _add(chat: Any, role: str, text: str, at: Any = None, speaker: str | None = None, **more: Any) -> Steps[Message]:
    if more.pop("parts", None) is not None:
        raise NotAllowed("parts of a message are kept only where the book is", code=LOCAL_ONLY)
    way = Asks("POST", f"{THREAD}/messages", Message, fixed={"reply": False})
    given = {"thread_id": chat.id, "role": role, "text": text, "at": at, "speaker": speaker, **more}
    return (yield from way.steps(given))  # type: ignore[no-any-return]


def _list_runs(_: RemoteFace, agent: str | None = None, **filters: Any) -> Steps[list[Run]]:
    path = "/api/runs" if agent is None else "/api/agents/{agent}/runs"
    return (yield from Asks("GET", path, list[Run], "runs").steps({"agent": agent, **filters}))  # type: ignore[no-any-return]


def _cards(_: RemoteFace) -> Steps[CardTypes]:
    told = yield Request("GET", "/api/agents/card-types")
    types = value_of(list[CardType], told["types"])
    return CardTypes({one.name: one for one in types}, value_of(tuple[Broken, ...], told["files"]))


RUN, AGENT, NOTE = "/api/runs/{run_id}", "/api/agents/{ref}", "/api/journal/{id}"
ME = "/api/me"

CHAT = remote_face_of(
    Chat,
    {
        "thread": _on_chat(Asks("GET", THREAD, Thread, "thread")),
        "add": _add,
        "messages": _on_chat(Asks("GET", THREAD, list[Message], "messages")),
        "inject": _on_chat(Asks("POST", f"{THREAD}/inject", str, "block")),
        "pencil": _on_chat(Asks("GET", f"{THREAD}/pencil", list[Pencil], "pencil")),
        "decline": _on_chat(Asks("POST", THREAD + "/pencil/{key}/no", Pencil)),
        "keep": _on_chat(Asks("POST", THREAD + "/pencil/{key}/keep", Written, query=("both",))),
        "close": _on_chat(Asks("POST", f"{THREAD}/close", ClosingResult, query=("offline",))),
    },
)
CHATS = remote_face_of(
    Chats,
    {
        "start": _chat(Asks("POST", "/api/chat/threads", Thread)),
        "of_session": _chat(Asks("POST", "/api/chat/threads", Thread)),
        "get": _chat(Asks("GET", THREAD, Thread, "thread")),
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
AGENTS = remote_face_of(
    Agents,
    {
        "cards": _cards,
        "create": Asks("POST", "/api/agents", Agent),
        "get": Asks("GET", AGENT, Agent),
        "list": Asks("GET", "/api/agents", list[Agent], "agents"),
        "update": Asks("PATCH", AGENT, Agent),
        "delete": Asks("DELETE", AGENT, Agent),
        "restore": Asks("POST", "/api/agents/{id}/restore", Agent),
        "reset": Asks("POST", f"{AGENT}/memory/reset", Agent),
        "arm": Asks("POST", f"{AGENT}/arm", Agent),
        "disarm": Asks("POST", f"{AGENT}/disarm", Agent),
        "decisions": Asks("GET", f"{AGENT}/decisions", list[PastCard], "decisions"),
    },
)
RUNS = remote_face_of(
    Runs,
    {
        "get": Asks("GET", RUN, Run),
        "list": _list_runs,
        "transcript": Asks("GET", RUN, list[Said], "transcript"),
        "specialists": Asks("GET", RUN, list[Run], "specialists"),
        "may_re_examine": Asks("GET", RUN, bool, "re_examinable"),
        "re_examinations": Asks("GET", f"{RUN}/re-examinations", list[Run]),
    },
)
DECISIONS = remote_face_of(
    Decisions,
    {
        "list": Asks("GET", "/api/decisions", list[Decision], "decisions"),
        "find": Asks("GET", RUN, Decision | None, "decision"),
        "get": Asks("GET", "/api/decisions/{run_id}", Decision),
        "history": Asks("GET", "/api/decisions/{run_id}/history", list[Former], "history"),
        "count": Asks("GET", "/api/decisions/count", dict[str, int], "counts"),
        "first_resolved": Asks("GET", "/api/decisions/count", datetime | None, "first_resolved"),
        "calibration": Asks("GET", "/api/decisions/calibration", Calibration),
        "record": Asks("POST", "/api/agents/{agent}/decisions", RecordedDecision),
        "record_second_look": Asks("POST", f"{RUN}/re-examinations", RecordedDecision),
        "second_look": Asks("GET", f"{RUN}/re-examine", SecondLook),
        "exit": Asks("POST", f"{RUN}/resolve", Decision),
        "answer": Asks("POST", f"{RUN}/resolve", Decision),
    },
)
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
        "undo": Asks("POST", "/api/memory/undo/{event}", Written | Link),
        "configure": _configure,
        "get": Asks("GET", "/api/memory/{id}", MemoryDetail),
        "list": Asks("GET", "/api/memory/", Page[Memory], named=LABELS),
        "history": _history,
        "ledger": _ledger,
        "recall": Asks("GET", "/api/memory/recall", list[Hit], "memories", {"query": "q", **LABELS}),
        "recall_chats": Asks("GET", "/api/memory/recall-chats", list[ChatHit], "turns", {"query": "q"}),
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
        "thread": _chat(Asks("POST", "/api/chat/threads", Thread)),
        "choose": _choose,
        "choices": Asks("GET", ME, Choices),
        "never_of": Asks("POST", "/api/me/never/try", list[str], "topics", again=False),
        "zone": Asks("GET", ME, str, "zone"),
        "find": Asks("GET", "/api/memory/find", str, "id"),
    },
    {
        "threads": CHATS, "notes": JOURNAL, "proposals": REVIEW, "spending": SPENDING, "agents": AGENTS, "runs": RUNS,
        "decisions": DECISIONS, "index": remote_face_of(Index, {}), "trading": TRADING_ROOM,
    },
)  # fmt: skip


def open_book(connection: Connection | AsyncConnection, owner: str, by: str) -> Any:
    """One owner's book on the server, as the person or as an agent."""
    if by not in ("person", "agent"):
        raise Invalid(f"by is 'person' or 'agent', not {by!r}", field="by")
    return BOOK(connection.speaking(clean_owner(owner), by), owner)
