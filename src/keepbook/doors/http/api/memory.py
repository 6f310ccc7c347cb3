"""`/api/memory`: the memories of the caller's book."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query
from fastapi.responses import Response

from keepbook.book.book import Book, MemoryDetail
from keepbook.book.ground.limits import MOST_QUESTION
from keepbook.book.ground.open_book import viewing
from keepbook.book.ground.to_json import to_json
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.owner_settings import Configured
from keepbook.book.ledger.thing_entries import ThingSet
from keepbook.book.ledger.verify import Verification
from keepbook.book.memory.links import Link
from keepbook.book.memory.memories import Memory, Written
from keepbook.book.upkeep.audit import Audit
from keepbook.doors.http.api.memory_bodies import (
    Block,
    ChangedMemory,
    ChatHits,
    Entries,
    ForgetRequest,
    FoundMemory,
    Hits,
    InjectRequest,
    Memories,
    MemoryPage,
    NewLink,
    NewMemory,
    RenderedBlock,
    RestoreRequest,
    TimelineLines,
    UpdatedMemory,
    Versions,
)
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL, problem_answers
from keepbook.errors import Conflict

router: APIRouter = APIRouter(prefix="/api/memory", tags=["memory"], responses=USUAL, route_class=FastRoute)

ReadMemoriesCall = Annotated[Call, permitted_call("memories.read")]
ReadingChats = Annotated[Call, permitted_call("chats.read")]
ReadingLedger = Annotated[Call, permitted_call("ledger.read")]
Checking = Annotated[Call, permitted_call("book.verify")]
Injecting = Annotated[Call, permitted_call("memories.inject")]
WriteMemoriesCall = Annotated[Call, permitted_call("memories.write")]
Undoing = Annotated[Call, permitted_call("undo.own")]
Promoting = Annotated[Call, permitted_call("memories.promote")]

MemoryIdPath = Annotated[str, Path(description="A memory's id.", max_length=200)]
MomentQuery = Annotated[
    str | None, Query(description="An instant, ISO 8601; a date alone is its start.", max_length=100)
]
SpokenQuery = Annotated[
    str | None, Query(description="ISO 8601 or plain words (last Friday), in the owner's zone.", max_length=100)
]
LimitQuery = Annotated[int, Query(ge=1, le=1000)]
QuestionQuery = Annotated[str, Query(description="The question, in words.", min_length=1, max_length=MOST_QUESTION)]
TagQuery = Annotated[list[str] | None, Query(alias="tag", description="Only what has this tag; repeated, all of them.")]
LastIdQuery = Annotated[
    str | None, Query(description="The id of the last one that you have; those behind it follow.", max_length=200)
]
IfMatch = Annotated[str | None, Header(description="The ETag the change is based on.", max_length=200)]


FILTERS: dict[str, Any] = {
    "parameters": [
        {
            "name": "metadata",
            "in": "query",
            "description": "Only what has these, each written metadata.KEY=VALUE.",
            "style": "form",
            "explode": True,
            "schema": {"type": "object", "additionalProperties": {"type": "string"}},
            "example": {"metadata.project": "atlas"},
        }
    ]
}
"""For the document: the framework knows no parameter whose name is the caller's to choose."""


# Reading. Fixed paths stand before /{id}; what is asked for most stands first.


@router.get("", include_in_schema=False)
@router.get("/", response_model=MemoryPage, openapi_extra=FILTERS)
def list_memories(
    call: ReadMemoriesCall,
    category: str | None = None,
    subject: str | None = None,
    scope: Annotated[str | None, Query(description="Also this agent's own; * for all.")] = None,
    state: Annotated[str, Query(description="active, archived, trash or all")] = "active",
    q: Annotated[str | None, Query(description="Only what says this.", max_length=500)] = None,
    limit: LimitQuery = 100,
    cursor: Annotated[str | None, Query(description="`next` of the page before.", max_length=200)] = None,
    tags: TagQuery = None,
) -> Response:
    return json_response(
        call.book.list(category, subject, call.scope(scope), state, limit, cursor, q, call.metadata, tags)
    )


@router.post("", status_code=201, include_in_schema=False)
@router.post("/", status_code=201, response_model=Written)
def remember(call: WriteMemoriesCall, new: NewMemory) -> Response:
    """Something like it exists in a preset that asks first, and no `force`: 409 with `similar`."""
    given = new.model_dump()
    return call.write(lambda book: book.remember(given.pop("content"), **given), 201, _etag_header)


@router.get("/recall", response_model=Hits, openapi_extra=FILTERS)
def recall_memories(
    call: ReadMemoriesCall,
    q: QuestionQuery,
    limit: Annotated[int, Query(ge=1, le=200)] = 10,
    category: str | None = None,
    scope: str | None = None,
    known: MomentQuery = None,
    valid: MomentQuery = None,
    tags: TagQuery = None,
    cursor: LastIdQuery = None,
) -> Response:
    hits = call.book.recall(q, limit, category, call.scope(scope), known, valid, call.metadata, tags, cursor)
    return json_response(Hits(hits, getattr(hits, "notice", None)))


@router.get("/rendered", response_model=RenderedBlock)
def get_rendered(
    call: ReadMemoriesCall,
    preset: str | None = None,
    scope: str | None = None,
    known: MomentQuery = None,
    valid: MomentQuery = None,
) -> Response:
    """The block with what it shows, and why each other memory is not in it."""
    return json_response(call.book.rendered(preset=preset, scope=call.scope(scope), known=known, valid=valid))


@router.get("/replay", response_model=Block)
def replay_block(call: ReadingLedger, session: Annotated[str, Query(max_length=200)]) -> Response:
    """The block of a session rendered again from the ledger: the bytes it was given."""
    return json_response(Block(call.book.replay(session), call.book.preset().name))


@router.get("/recall-chats", response_model=ChatHits)
def recall_chats(
    call: ReadingChats,
    q: QuestionQuery,
    limit: Annotated[int | None, Query(ge=1, le=200, description="How many at most.")] = None,
    since: SpokenQuery = None,
    until: SpokenQuery = None,
    order: Annotated[str | None, Query(description="relevance, or time: the oldest first.")] = None,
    spread: Annotated[bool, Query(description="Something of every chat that answers.")] = False,
    tokens: Annotated[int | None, Query(ge=1, le=100_000, description="How much to bring.")] = None,
    around: Annotated[int, Query(ge=0, le=10, description="So many turns beside each.")] = 0,
) -> Response:
    """Passages that answer, best first, or the oldest where the question asks for an overview: without `limit` and
    `tokens` as many as twenty turns would fill."""
    hits = call.book.recall_chats(
        q, limit, since=since, until=until, order=order, spread=spread, tokens=tokens, around=around
    )
    return json_response(ChatHits(list(hits), getattr(hits, "notice", None)))


@router.get("/timeline", response_model=TimelineLines)
def get_timeline(
    call: ReadingChats,
    q: QuestionQuery,
    tokens: Annotated[int, Query(ge=1, le=20_000, description="How much to bring at most.")] = 2000,
    since: SpokenQuery = None,
    until: SpokenQuery = None,
) -> Response:
    """What happened on a topic: a dated line for each event, in the order in which it happened."""
    return json_response(TimelineLines(list(call.book.timeline(q, tokens, since=since, until=until))))


@router.get("/block", response_model=Block)
def get_block(
    call: ReadMemoriesCall,
    preset: str | None = None,
    scope: str | None = None,
    known: MomentQuery = None,
    valid: MomentQuery = None,
) -> Response:
    """A preview, as a chat beginning now would see it; with `known` and `valid`, as one then would have."""
    book = call.book
    with viewing(book):
        text = book.block(preset=preset, scope=call.scope(scope), known=known, valid=valid)
        return json_response(Block(text, book.preset(preset).name))


@router.get("/as-of", response_model=Memories)
def list_as_of(
    call: ReadingLedger,
    known: MomentQuery = None,
    valid: MomentQuery = None,
    limit: Annotated[int | None, Query(ge=1, le=1000, description="How many at most; all, if left out.")] = None,
    cursor: LastIdQuery = None,
) -> Response:
    """What was known at one instant about another."""
    return json_response(Memories(list(call.book.as_of(known, valid, limit=limit, cursor=cursor))))


@router.get("/ledger", response_model=Entries)
def read_ledger(
    call: ReadingLedger,
    memory: str | None = None,
    thread: str | None = None,
    actor: str | None = None,
    before: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    limit: LimitQuery = 100,
) -> Response:
    """What was written, newest first; `before` is the last event of the page before."""
    return json_response(
        Entries(list(call.book.ledger(memory=memory, thread=thread, actor=actor, before=before, limit=limit)))
    )


@router.get("/verify", response_model=Verification)
def verify_ledger(call: Checking) -> Response:
    return json_response(call.book.verify())


@router.get("/audit", response_model=Audit)
def audit_book(call: Checking) -> Response:
    return json_response(call.book.audit())


@router.get("/find", response_model=FoundMemory)
def find_memory(
    call: ReadMemoriesCall,
    ref: Annotated[str, Query(description="Its id, or a piece of what it says.", max_length=500)],
) -> Response:
    """The id behind a reference; 409 with `candidates` where several memories fit."""
    return json_response(FoundMemory(call.book.find(ref)))


@router.get("/{id}/history", response_model=Versions)
def list_versions(call: ReadMemoriesCall, id: MemoryIdPath) -> Response:
    """Every version of a memory, oldest first."""
    return json_response(Versions(list(call.book.history(id))))


@router.get("/{id}", response_model=MemoryDetail)
def get_memory(
    call: ReadMemoriesCall, id: MemoryIdPath, if_none_match: Annotated[str | None, Header(max_length=200)] = None
) -> Response:
    memory = call.book.get(id)
    if if_none_match is not None and _tag(memory) in if_none_match:
        return Response(status_code=304, headers=_etag_header(memory))
    return json_response(memory, headers=_etag_header(memory))


# Writing


@router.put("/{id}", response_model=UpdatedMemory, responses=problem_answers(412))
def update_memory(
    call: WriteMemoriesCall, id: MemoryIdPath, changed: ChangedMemory, if_match: IfMatch = None
) -> Response:
    """The new version, with the words before and after: `old`, `new`."""
    given = changed.model_dump()
    content = given.pop("content")

    def do(book: Book) -> dict[str, Any]:
        with book.transaction():
            _refuse_miss(book, id, if_match)
            old = book.get(book.find(id)).content
            written = book.update(id, content, **given)
            return {**to_json(written), "old": old, "new": written.content}

    return call.write(do, headers=lambda told: {"ETag": _tag_of(told["version"], told["updated_at"])})


@router.delete(
    "/{id}", response_model=Written, responses={204: {"description": "Gone for good"}, **problem_answers(412)}
)
def delete_memory(
    call: WriteMemoriesCall, id: MemoryIdPath, forever: bool = False, if_match: IfMatch = None
) -> Response:
    def do(book: Book) -> Written | None:
        with book.transaction():
            _refuse_miss(book, id, if_match)
            return book.delete(book.get(id).id, forever)

    if forever:
        return call.write(do, 204)
    return call.write(do, 200)


@router.post("/{id}/forget", response_model=Written, responses=problem_answers(412))
def forget_memory(
    call: WriteMemoriesCall,
    id: MemoryIdPath,
    told: Annotated[ForgetRequest | None, Body()] = None,
    if_match: IfMatch = None,
) -> Response:
    given = told or ForgetRequest()

    def do(book: Book) -> Written:
        with book.transaction():
            _refuse_miss(book, id, if_match)
            return book.forget(id, given.reason, given.expect_version)

    return call.write(do)


@router.post("/{id}/restore", response_model=Written, responses=problem_answers(412))
def restore_memory(
    call: WriteMemoriesCall,
    id: MemoryIdPath,
    told: Annotated[RestoreRequest | None, Body()] = None,
    if_match: IfMatch = None,
) -> Response:
    given = told or RestoreRequest()

    def do(book: Book) -> Written:
        with book.transaction():
            _refuse_miss(book, id, if_match)
            return book.restore(id, given.expect_version)

    return call.write(do)


@router.post("/{id}/confirm", response_model=Written)
def confirm_memory(call: WriteMemoriesCall, id: MemoryIdPath) -> Response:
    return call.write(lambda book: book.confirm(id))


@router.post("/{id}/promote", response_model=Written)
def promote_memory(call: Promoting, id: MemoryIdPath) -> Response:
    return call.write(lambda book: book.promote(id))


@router.post("/{id}/demote", response_model=Written)
def demote_memory(call: Promoting, id: MemoryIdPath) -> Response:
    return call.write(lambda book: book.demote(id))


@router.post("/inject", response_model=Block)
def inject_block(call: Injecting, session: InjectRequest) -> Response:
    """The block of a session: rendered at the first call, then the same bytes."""

    def do(book: Book) -> Block:
        text = book.inject(session.session, preset=session.preset, scope=call.scope(session.scope))
        return Block(text, book.preset(session.preset).name)

    return call.write(do)


@router.post("/links", status_code=201, response_model=Link)
def make_link(call: WriteMemoriesCall, new: NewLink) -> Response:
    return call.write(lambda book: book.link(new.from_id, new.to_id, new.relation), 201)


@router.delete("/links/{id}", response_model=Link)
def remove_link(call: WriteMemoriesCall, id: MemoryIdPath) -> Response:
    return call.write(lambda book: book.unlink(id))


@router.post("/undo/{event}", response_model=Written | Link | Configured | ThingSet)
def undo_event(call: Undoing, event: Annotated[int, Path(ge=0, le=2**31 - 1)]) -> Response:
    """Take back exactly that write; a conflict where something newer touched it."""
    return call.write(lambda book: book.undo(event))


def _tag(memory: Memory) -> str:
    return _tag_of(memory.version, stamp(memory.updated_at))


def _tag_of(version: int, updated_at: str) -> str:
    return f'"{version}-{updated_at}"'


def _etag_header(memory: Any) -> dict[str, str]:
    return {"ETag": _tag(memory)}


def _refuse_miss(book: Book, id: str, if_match: str | None) -> None:
    """`If-Match` names the state a change is based on."""
    if if_match is None or if_match.strip() == "*":
        return
    now = book.get(id)
    if _tag(now) not in if_match:
        raise Conflict(
            f"memory {id} has changed meanwhile: it is at version {now.version}; read it again",
            code="precondition",
            version=now.version,
            content=now.content,
        )
