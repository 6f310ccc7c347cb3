"""`/api/chat` and `/api/journal`: chats that end in memory, and the notes kept from them.

A message with a reply is a stream of server-sent events, or one JSON answer for who asks for JSON: `text` (a piece of
the reply), `tool` (a call and what it wrote), `notice`, `kept` (the stored reply and what the turn asks, always last),
`problem`.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from keepbook.book.chats import whole_chats
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.face import Chat, NewTurn
from keepbook.book.chats.notes import Note
from keepbook.book.chats.pencil import Pencil
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.ground.open_book import beside_memory
from keepbook.book.memory.memories import Memory
from keepbook.book.recall.chats import Snippet
from keepbook.doors.http.api.memory_bodies import Block, RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL, document, problem_answers
from keepbook.doors.http.stream import DESCRIBED, event
from keepbook.doors.http.worker_threads import turn_to_serve
from keepbook.errors import KeepbookError
from keepbook.models.chat import Notice, ReplyStored, Talk
from keepbook.models.model import TextDelta, ToolCalled
from keepbook.models.notebook.open_questions import OpenQuestion, last_asked, open_questions

router: APIRouter = APIRouter(prefix="/api", tags=["chat"], responses=USUAL, route_class=FastRoute)

ReadChatsCall = Annotated[Call, permitted_call("chats.read")]
WriteChatsCall = Annotated[Call, permitted_call("chats.write")]
ChangeViewCall = Annotated[Call, permitted_call("chats.view")]
AnswerProposalsCall = Annotated[Call, permitted_call("proposals.answer")]
ReadingNotes = Annotated[Call, permitted_call("notes.read")]
WritingNotes = Annotated[Call, permitted_call("notes.write")]
ChangingNotes = Annotated[Call, permitted_call("notes.change")]

ThreadIdPath = Annotated[str, Path(description="A chat's id.", max_length=200)]
PencilKeyPath = Annotated[str, Path(description="A pencil line's key.", max_length=60)]
NoteId = Annotated[str, Path(description="A note's id.", max_length=200)]
BothQuery = Annotated[bool, Query(description="Keep a change beside the line that it would change.")]


class NewThread(RequestBody):
    session: str | None = Field(None, description="An outside agent's id of it; begun once, then found again.")
    agent: str | None = None
    incognito: bool = False
    mode: str | None = Field(None, description="authoring, coach or ops")
    focus: str | None = Field(None, description="What was open on the screen; said by the person alone.")
    preset: str | None = None


class ChangedThread(RequestBody):
    title: str | None = None
    archived: bool | None = None


class NewMessage(RequestBody):
    text: str = Field("", description="Left out only with `go_on`, or `instead_of` a reply: it is written anew.")
    instead_of: int | None = Field(
        None, ge=1, le=2**31 - 1, description="One of the last three turns of the person, said anew; or the last reply."
    )
    go_on: bool = Field(False, description="Without a text: go on with the last reply, where it broke off.")
    reply: bool = Field(True, description="false: only record it.")
    role: str = Field("user", description="With reply=false: user, assistant, tool or system.")
    speaker: str | None = None
    at: str | None = Field(None, description="With reply=false: when it was said.")
    hidden: str | None = Field(None, description="Sent to the model with it, shown nowhere.")


class TurnToAdd(RequestBody):
    role: str = Field(description="user, assistant, tool or system")
    text: str
    at: str | None = Field(None, description="When it was said; now, if nothing is said.")
    speaker: str | None = None
    parts: dict[str, Any] | None = Field(None, description="What a program notes with it.")


class TurnsToAdd(RequestBody):
    turns: list[TurnToAdd] = Field(max_length=1000)
    after: int | None = Field(None, ge=0, description="How many turns you have seen; more there: 409, code turns.")


class ViewedTurns(RequestBody):
    turns: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] | None = Field(
        None, description="Turns that others recorded; left out, all of them."
    )


class NewNote(RequestBody):
    text: str | None = None
    thread_id: str | None = None
    turn: int | None = Field(None, ge=1, le=2**31 - 1)


class ChangedNote(RequestBody):
    text: str


class RenderRequest(RequestBody):
    scope: str | None = Field(None, description="As this agent or skill sees it.")


@dataclass(frozen=True)
class Threads:
    threads: list[Thread]


@dataclass(frozen=True)
class ShownChat:
    """A chat with its turns, and the questions of turns that wait for an answer."""

    thread: Thread
    messages: list[Message]
    questions: list[OpenQuestion]


@dataclass(frozen=True)
class AddedTurns:
    messages: list[Message]


@dataclass(frozen=True)
class FoundSnippets:
    turns: list[Snippet]


@dataclass(frozen=True)
class NoteList:
    notes: list[Note]


@dataclass(frozen=True)
class PencilList:
    pencil: list[Pencil]


@dataclass(frozen=True)
class ChatReply:
    """A whole reply for who does not stream: the stored message, what the turn and the tools wrote, and what the turn
    asks; `POST /api/memory/proposals/{id}/answer` answers that."""

    message: Message
    memory_events: list[dict[str, Any]]
    notices: list[str]
    title: str | None
    questions: list[OpenQuestion]


# Chats


@router.get("/chat/threads", response_model=Threads)
def list_chats(
    call: ReadChatsCall,
    state: Annotated[str | None, Query(description="active, idle or archived")] = None,
    trash: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The last touched first."""
    return json_response(Threads(list(call.book.threads.list(state=state, trash=trash, limit=limit))))


@router.post("/chat/threads", status_code=201, response_model=Thread)
def start_chat(call: WriteChatsCall, new: NewThread) -> Response:
    def do(book: Any) -> Thread:
        if new.session is not None:
            chat = book.threads.of_session(new.session, incognito=new.incognito)
        else:
            chat = book.threads.start(
                agent=new.agent, incognito=new.incognito, mode=new.mode, focus=new.focus, preset=new.preset
            )
        thread: Thread = chat.thread
        return thread

    return call.write(do, 201)


@router.get("/chat/threads/search", response_model=FoundSnippets)
def search_chats(
    call: ReadChatsCall,
    q: Annotated[str, Query(min_length=1, max_length=500)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """What was said, with the words marked between ⟦ and ⟧."""
    return json_response(FoundSnippets(list(call.book.threads.search(q, limit))))


@router.get("/chat/threads/{id}", response_model=ShownChat)
def show_chat(call: ReadChatsCall, id: ThreadIdPath) -> Response:
    chat = call.book.threads.get(id)
    return json_response(ShownChat(chat.thread, _shown_turns(chat), open_questions(call.book, id)))


def _shown_turns(chat: Chat) -> list[Message]:
    """The turns of a chat, their hidden context only for whoever sent it."""
    sender = chat.book.origin.writer()
    turns = chat.messages()
    return [one if one.recorded_by == sender else replace(one, hidden=None) for one in turns]


@router.patch("/chat/threads/{id}", response_model=Thread)
def change_chat(call: WriteChatsCall, id: ThreadIdPath, changed: ChangedThread) -> Response:
    def do(book: Any) -> Thread:
        thread: Thread = book.threads.get(id).thread
        if changed.title is not None:
            thread = book.threads.rename(id, changed.title)
        if changed.archived:
            thread = book.threads.archive(id)
        return thread

    return call.write(do)


@router.delete("/chat/threads/{id}", response_model=Thread, responses={204: {"description": "Gone for good"}})
def delete_chat(call: WriteChatsCall, id: ThreadIdPath, memories: bool = False, forever: bool = False) -> Response:
    """Into the trash for 30 days, with the memories learned from it if wanted."""
    return call.write_in_pieces(
        lambda book, keyed: whole_chats.delete_chat(book, id, keyed, memories=memories, forever=forever),
        204 if forever else 200,
    )


@router.post("/chat/threads/{id}/restore", response_model=Thread)
def restore_chat(call: WriteChatsCall, id: ThreadIdPath) -> Response:
    return call.write_in_pieces(lambda book, keyed: whole_chats.restore_chat(book, id, keyed))


@router.post("/chat/threads/{id}/close", response_model=ClosingResult, responses=problem_answers(502))
def close_chat(
    call: WriteChatsCall,
    id: ThreadIdPath,
    offline: Annotated[bool, Query(description="By Keepbook's own reader, whatever model is set.")] = False,
) -> Response:
    """Read what is new for memories, once. `status`: closed, nothing, busy, open or failed."""
    return json_response(call.book.threads.get(id).close(offline))


@router.post("/chat/threads/{id}/inject", response_model=Block)
def inject_chat(
    call: WriteChatsCall, id: ThreadIdPath, told: Annotated[RenderRequest | None, Body()] = None
) -> Response:
    """The memory block of this chat: rendered at the first call, then the same bytes."""

    def do(book: Any) -> Block:
        chat = beside_memory(book).threads.get(id)  # with memory off a block is empty, not refused
        return Block(chat.inject(scope=call.scope(told.scope if told else None)), chat.thread.preset)

    return call.write(do)


@router.post("/chat/threads/{id}/out-of-view", response_model=Thread)
def take_out_of_view(call: ChangeViewCall, id: ThreadIdPath, those: ViewedTurns) -> Response:
    """Leave turns that others recorded out of what a model is sent. They stay readable."""
    return call.write(lambda book: book.threads.get(id).take_out_of_view(those.turns))


@router.post("/chat/threads/{id}/into-view", response_model=Thread)
def bring_into_view(call: ChangeViewCall, id: ThreadIdPath, those: ViewedTurns) -> Response:
    """Send turns to a model again that were taken out of its view."""
    return call.write(lambda book: book.threads.get(id).bring_into_view(those.turns))


@router.get("/chat/threads/{id}/messages", response_model=ShownChat)
def list_messages(call: ReadChatsCall, id: ThreadIdPath) -> Response:
    return show_chat(call, id)


@router.post(
    "/chat/threads/{id}/messages",
    status_code=201,
    response_model=Message | ChatReply,
    responses={
        200: {
            "description": "The reply: a stream of events, or JSON for who asks for it.",
            "content": DESCRIBED,
        },
        **problem_answers(502),
    },
)
async def say_in_chat(
    call: WriteChatsCall,
    id: ThreadIdPath,
    new: NewMessage,
    reply: Annotated[bool | None, Query(description="The same as in the body.")] = None,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """Say something. With `reply=false`, in the body or in the address, it is only recorded."""
    if not (new.reply if reply is None else reply):
        async with turn_to_serve(call.request.scope):
            return await run_in_threadpool(call.write, lambda book: _record(book, id, new), 201)
    chat = await run_in_threadpool(lambda: call.book.threads.get(id))
    talk = await run_in_threadpool(call.kb.talk, chat)
    if "application/json" in (accept or ""):
        return json_response(await _whole(talk, new), 201)
    return call.stream(_stream_events(talk, new))


@router.post("/chat/threads/{id}/turns", status_code=201, response_model=AddedTurns)
def add_turns(call: WriteChatsCall, id: ThreadIdPath, told: TurnsToAdd) -> Response:
    """Record several turns, all or none."""
    turns = [NewTurn(**turn.model_dump()) for turn in told.turns]

    def do(book: Any) -> AddedTurns:
        return AddedTurns(list(book.threads.get(id).add_all(turns, told.after)))

    return call.write(do, 201)


def _record(book: Any, id: str, new: NewMessage) -> Message:
    added: Message = book.threads.get(id).add(new.role, new.text, new.at, new.speaker, hidden=new.hidden)
    return added


def _events_of(talk: Talk, new: NewMessage) -> AsyncIterator[Any]:
    if new.go_on and not new.text:
        return talk.go_on()
    if new.instead_of is not None and not new.text:
        return talk.again(instead_of=new.instead_of)
    return talk.say(new.text, hidden=new.hidden, instead_of=new.instead_of)


async def _stream_events(talk: Talk, new: NewMessage) -> AsyncIterator[bytes]:
    try:
        async for told in _events_of(talk, new):
            match told:
                case TextDelta(text):
                    yield event("text", {"text": text})
                case ToolCalled(used):
                    yield event("tool", {"name": used.name, "answer": used.answer, "memory_event": used.memory_event})
                case Notice(text):
                    yield event("notice", {"text": text})
                case ReplyStored(message, titled):
                    asked = await run_in_threadpool(_questions, talk, message)
                    yield event("kept", {"message": message, "title": titled, "questions": asked})
    except KeepbookError as error:
        yield event("problem", document(error))


async def _whole(talk: Talk, new: NewMessage) -> ChatReply:
    events, notices = [], []
    async for told in _events_of(talk, new):
        match told:
            case ToolCalled(used) if used.memory_event:
                events.append(used.memory_event)
            case Notice(text):
                notices.append(text)
            case ReplyStored(message, titled):
                asked = await run_in_threadpool(_questions, talk, message)
                return ChatReply(message, events, notices, titled, asked)
    raise KeepbookError("the model's reply did not end")


def _questions(talk: Talk, reply: Message) -> list[OpenQuestion]:
    """What the turn asks that a reply answers."""
    said = [one for one in talk.chat.messages() if one.turn <= reply.turn]
    return last_asked(open_questions(talk.book, talk.chat.id), said)


# Pencil


@router.get("/chat/threads/{id}/pencil", response_model=PencilList)
def list_pencil(desk: ReadChatsCall, id: ThreadIdPath) -> Response:
    """What is only offered of what was said so far, each line beside its turn; where a model answers, what closing
    would keep or propose."""
    return json_response(PencilList(list(desk.book.threads.get(id).pencil())))


@router.post("/chat/threads/{id}/pencil/{key}/no", response_model=Pencil)
def decline_pencil(desk: AnswerProposalsCall, id: ThreadIdPath, key: PencilKeyPath) -> Response:
    """No: it is not kept, whatever model closes the chat; what was offered is declined."""
    return desk.write(lambda book: book.threads.get(id).decline(key))


@router.post("/chat/threads/{id}/pencil/{key}/keep", response_model=Memory)
def keep_pencil(desk: AnswerProposalsCall, id: ThreadIdPath, key: PencilKeyPath, both: BothQuery = False) -> Response:
    """Keep it now, as the person."""
    return desk.write(lambda book: book.threads.get(id).keep(key, both))


# Notes


@router.get("/journal", response_model=NoteList)
def list_notes(call: ReadingNotes, q: Annotated[str | None, Query(max_length=500)] = None) -> Response:
    return json_response(NoteList(list(call.book.notes.list(q))))


@router.post("/journal", status_code=201, response_model=Note)
def write_note(call: WritingNotes, new: NewNote) -> Response:
    """A note of your own (`text`), or a bookmarked reply (`thread_id` and `turn`)."""
    if new.thread_id is not None and new.turn is not None:
        where, turn = new.thread_id, new.turn
        return call.write(lambda book: book.notes.bookmark(where, turn), 201)
    return call.write(lambda book: book.notes.write(new.text or ""), 201)


@router.get("/journal/{id}", response_model=Note)
def get_note(call: ReadingNotes, id: NoteId) -> Response:
    return json_response(call.book.notes.get(id))


@router.put("/journal/{id}", response_model=Note)
def edit_note(call: ChangingNotes, id: NoteId, changed: ChangedNote) -> Response:
    return call.write(lambda book: book.notes.edit(id, changed.text))


@router.delete("/journal/{id}", response_model=Note)
def delete_note(call: ChangingNotes, id: NoteId) -> Response:
    return call.write(lambda book: book.notes.delete(id))
