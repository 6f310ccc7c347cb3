"""The Chat page: talk, see what a reply kept and take it back, and everything around a chat.

With script a reply streams from the API; without it the same form is posted here, and the page comes back with the
answer. Both render a turn from the same template, so what was streamed looks as it will after a reload.
"""

import secrets
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import APIRouter, File, Form, Query, UploadFile
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.book.chats.closing_result import ClosingResult, closing_in_words
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import MESSAGE_LIMIT, TITLE_LIMIT
from keepbook.book.ground.open_book import viewing
from keepbook.doors.http.web.chat import reply_sources
from keepbook.doors.http.web.chat.articles import exchanges_again, turns_of
from keepbook.doors.http.web.chat.chat_view import answers_from, beginning, has_news, said_at_turn
from keepbook.doors.http.web.chat.chat_view import chat_view as whole
from keepbook.doors.http.web.chat.exchange_page import exchange_page
from keepbook.doors.http.web.chat.reply_markup import EARLIER, FILTERS
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, templates
from keepbook.doors.http.web.memory.import_page import readers
from keepbook.errors import Conflict, Invalid, ModelFailed
from keepbook.models.chat import SAID_ANEW
from keepbook.models.unfinished_replies import stop_reply as stop_writing
from keepbook.patterns import regex

router: APIRouter = APIRouter(include_in_schema=False)

templates.filters.update(FILTERS)


def chats_named_in(visit: Visit, text: str) -> list[tuple[str, str]]:
    """The title and id of each earlier chat that a reply names; of several with the same title, the last touched."""
    if not EARLIER.search(text):
        return []
    known = {chat.title: chat.id for chat in reversed(visit.book.threads.list(limit=1000)) if chat.title}
    return [(title, id) for title, id in known.items() if f"“{title}”" in text]


templates.globals.update(
    answers_from=answers_from,
    turns_of=turns_of,
    exchanges_again=exchanges_again,
    became=closing_in_words,
    named_in=chats_named_in,
)

EDITING = (
    "The person wants to change the memory {id}: {content}\n"
    "They were asked what it should say. Change that memory and no other, and only once they have said how."
)
"""Hidden context of the person's answer to `QUESTION`."""
VIEW = "keepbook_view"
VIEW_SECONDS = 24 * 3600
WHY = "keepbook_why"
"""A cookie with the reason why a model gave no answer, for the page that shows the message without one."""
LEFT, LEFT_SECONDS = "keepbook_left", 180
"""A cookie for the page after a chat that was left: how much closing it kept, proposed and left out."""
TOLD_ELSEWHERE = ("it is known already", "it conflicts with the person's own word")
"""Reasons of skipped candidates that do not count as left out: they are in the book, or counted as proposed."""
UNREAD, BUSY = "failed", "busy"
"""Values of that cookie instead of counts: closing could not read the chat, or another process is reading it."""
BY_NOTEBOOK = "notebook"
"""The value of a form that lets the notebook read a chat, because the model could not."""
QUESTION = "Your book says: “{content}”. What should it say instead?"


# Reading


@router.get("/chat")
def new(
    visit: Visiting,
    incognito: bool = False,
    deleted: str = "",
    events: str = "",
    begin: Annotated[str, Query(max_length=500)] = "",
    once: Annotated[str, Query(max_length=20)] = "",
    turn: int = 0,
) -> Response:
    """The page of a new chat; nothing is stored before its first message. Its field holds `begin`, or what the person
    said at `turn` of the chat `once`."""
    gone = None
    if deleted:
        gone = visit.book.threads.get(deleted).thread
    earlier = visit.book.threads.get(once) if once else None
    return visit.page(
        "chat.html",
        talked=beginning(visit),
        incognito=incognito or (earlier is not None and earlier.thread.incognito),
        begin=said_at_turn(earlier, turn) if earlier else begin,
        earlier=earlier.thread if earlier else None,
        gone=gone,
        events=events,
        seen=None,
        refused=0,
        archived=False,
        view="",
        closed=(),
        unread=False,
        instead=False,
    )


@router.get("/chat/list")
def listed(visit: Visiting, current: str = "") -> Response:
    """The list of chats in the sidebar, for the script of a page that has just begun or named one."""
    return visit.page("parts/chat_list.html", current_chat=current)


@router.get("/chat/{id}")
def show(
    visit: Visiting,
    id: str,
    refused: int = 0,
    closed: str = "",
    instead: bool = False,
    archived: bool = False,
    saw: int = 0,
    pencil: bool = False,
    at: int = 0,
) -> Response:
    """The page of a chat, in the version that turn `at` belongs to, with a panel of what the reply at turn `saw` was
    given. Each rendering has an id in a cookie, so that a reload is not taken for leaving (see `leave`)."""
    view = secrets.token_hex(4)
    with viewing(visit.book):
        page = visit.page(
            "chat.html", talked=whole(visit, id, pencil=pencil, at=at), incognito=False, gone=None, events="",
            seen=_reply_sources(visit, id, saw) if saw else None, current_chat=id, refused=refused, archived=archived,
            view=view, closed=_counts(closed), unread=closed == UNREAD, instead=instead,
            why=unquote(visit.request.cookies.get(WHY, "")),
        )  # fmt: skip
    secure = visit.request.url.scheme == "https"
    path = f"/chat/{id}/leave"
    page.delete_cookie(WHY, path=f"/chat/{id}")
    page.set_cookie(VIEW, view, VIEW_SECONDS, path=path, httponly=True, samesite="strict", secure=secure)
    return page


@router.get("/chat/{id}/turns")
def turns_after(visit: Visiting, id: str, after: int = 0) -> Response:
    """The turns after this one, for a page that adds them, and older ones that look different because of them."""
    talked = whole(visit, id, pencil=True)
    shown = [exchange for exchange in talked.exchanges if exchange.turns[-1].number > after]
    before = [exchange for exchange in talked.exchanges if exchange not in shown][-SAID_ANEW:]  # lose their edit button
    return visit.page(
        "chat_fresh.html", talked=talked, shown=shown, refused=0, incognito=False, seen=None, current_chat=id,
        older=[*talked.same_lines([*before, *shown]), *before],
    )  # fmt: skip


@router.get("/chat/{id}/pencil")
def in_pencil(visit: Visiting, id: str) -> Response:
    """What closing would keep, for a page that adds it under its turns."""
    talked = whole(visit, id, pencil=True)
    shown = [exchange for exchange in talked.exchanges if exchange.has_margin or exchange.questions]
    return visit.page("chat_pencil.html", talked=talked, shown=shown)


@router.get("/chat/{id}/turns/{turn}/saw")
def what_it_saw(visit: Visiting, id: str, turn: int) -> Response:
    """The panel of what a reply was given, for a page that puts it in place."""
    return visit.page("parts/saw.html", seen=_reply_sources(visit, id, turn), thread=visit.book.threads.get(id).thread)


def _reply_sources(visit: Visit, id: str, turn: int) -> reply_sources.ReplySources:
    chat = visit.book.threads.get(id)
    return reply_sources.reply_sources(visit, chat.thread, reply_sources.reply_of(chat.messages(), turn))


@router.get("/chat/{id}/manage")
def manage(visit: Visiting, id: str) -> Response:
    thread = visit.book.threads.get(id).thread
    learned = [] if thread.incognito else [visit.book.get(one) for one in visit.book.threads.learned(id)]
    stand = sum(one.state == "active" for one in learned)
    template = "parts/manage.html" if visit.partial else "chat_manage.html"
    archived = len(learned) - stand
    return visit.page(template, thread=thread, learned=stand, archived=archived, title_limit=TITLE_LIMIT)


# Talking, without script


@router.post("/chat")
async def begin(
    visit: Changing,
    text: Annotated[str, Form()] = "",
    incognito: Annotated[bool, Form()] = False,
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    book = visit.writing()
    text = await _with_file(text, file)
    if not text.strip():
        return visit.back("/chat")
    chat = await run_in_threadpool(lambda: book.threads.start(incognito=incognito))
    return await _wait_for_reply(visit, chat, visit.kb.talk(chat).say(text))


@router.post("/chat/{id}")
async def say(
    visit: Changing,
    id: str,
    text: Annotated[str, Form()] = "",
    instead_of: Annotated[int | None, Form()] = None,
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Say something; it replaces the turn `instead_of`, if that is given."""
    book = visit.writing()
    chat = await run_in_threadpool(lambda: book.threads.get(id))
    text = await _with_file(text, file)
    if not text.strip():
        return visit.back(f"/chat/{id}")
    return await _wait_for_reply(visit, chat, visit.kb.talk(chat).say(text, instead_of=instead_of))


@router.post("/chat/{id}/again")
async def again(visit: Changing, id: str, instead_of: Annotated[int | None, Form()] = None) -> Response:
    """Ask once more for the answer that a failing model did not give, or for another answer than the last."""
    book = visit.writing()
    chat = await run_in_threadpool(lambda: book.threads.get(id))
    return await _wait_for_reply(visit, chat, visit.kb.talk(chat).again(instead_of=instead_of))


@router.post("/chat/{id}/go-on")
async def go_on(visit: Changing, id: str) -> Response:
    """Continue a reply that broke off."""
    book = visit.writing()
    chat = await run_in_threadpool(lambda: book.threads.get(id))
    return await _wait_for_reply(visit, chat, visit.kb.talk(chat).go_on())


@router.post("/chat/{id}/stop")
async def stop(visit: Changing, id: str) -> Response:
    """Stop the reply that is being written: 204 when its piece is stored, 404 if no reply is being written."""
    return Response(status_code=204 if await stop_writing(visit.writing().owner, id) else 404)


_UNFIT_FOR_NAME = regex(r"[`\n\r]")
_TICKS = regex("`{3,}")


async def _with_file(text: str, file: UploadFile | None) -> str:
    """A message with the text of a file before it, as pasted material."""
    if file is None or not file.filename:
        return text
    try:
        pasted = (await file.read(4 * MESSAGE_LIMIT)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(f"{file.filename} was not added: it is no text file", field="file") from None
    if "\0" in pasted or len(pasted) + len(text) > MESSAGE_LIMIT - 200:
        raise Invalid(f"{file.filename} was not added: text up to 200 kB goes along", field="file")
    fence = max(_TICKS.findall(pasted), default="``") + "`"
    name = _UNFIT_FOR_NAME.sub("", file.filename)[:100]
    return f"{fence}{name}\n{pasted.rstrip()}\n{fence}\n\n{text}".strip()


async def _wait_for_reply(visit: Visit, chat: Chat, told: Any) -> Response:
    try:
        async for _ in told:
            pass
        why = ""
    except ModelFailed as error:  # the page shows the message without its answer, and a way to ask again
        why = error.message
    turns = await run_in_threadpool(lambda: chat.thread.turns)
    answer = visit.back(f"/chat/{chat.id}#turn-{turns}", pencil=1)
    if why:
        secure = visit.request.url.scheme == "https"
        path = f"/chat/{chat.id}"
        answer.set_cookie(WHY, quote(why[:300]), 60, path=path, httponly=True, samesite="strict", secure=secure)
    return answer


# Under a reply


@router.post("/chat/{id}/turns/{turn}/undo")
def undo(visit: Changing, id: str, turn: int, event: Annotated[list[int], Form(max_length=400)]) -> Response:
    """Undo one write of a reply, or all that one answer wrote; the slips then say what holds now, or why it could not
    be undone."""
    book = visit.writing()
    refused = 0
    try:
        with book.transaction():
            for one in sorted(event, reverse=True):
                refused = one
                book.undo(one)
        refused = 0
    except Conflict:
        pass
    return exchange_page(visit, id, turn, refused=refused)


@router.post("/chat/{id}/turns/{turn}/ban")
def change_ban(
    visit: Changing, id: str, turn: int, topic: Annotated[str, Form()], lift: Annotated[bool, Form()]
) -> Response:
    """Allow a topic that a message asked never to keep, or ban it again. Memories that it took out are undone apart."""
    book = visit.writing("choices.change")
    others = [one for one in book.choices.never if one != topic]
    book.choose(never=others if lift else [*others, topic])
    return exchange_page(visit, id, turn)


@router.post("/chat/{id}/turns/{turn}/pin")
def pin(visit: Changing, id: str, turn: int) -> Response:
    """Bookmark a reply as a note in the journal; if it is bookmarked, delete the note, unless somebody edited it."""
    book = visit.writing()
    there = next((note for note in book.notes.list() if (note.thread_id, note.turn) == (id, turn)), None)
    if there is None:
        book.notes.bookmark(id, turn)
    elif there.updated_at == there.created_at:
        book.notes.delete(there.id)
    else:
        raise Conflict("you have edited this note; delete it in the journal if you want it gone")
    if not visit.partial:
        return visit.back(f"/chat/{id}#turn-{turn}")
    return visit.page("chat_pinned.html", talked=whole(visit, id), number=turn, note=there is None)


@router.post("/chat/{id}/turns/{turn}/view")
def change_view(visit: Changing, id: str, turn: int, back: Annotated[bool, Form()] = False) -> Response:
    """Take a turn that another program recorded out of what the model is sent, or bring it back."""
    chat = visit.writing("chats.view").threads.get(id)
    if back:
        chat.bring_into_view([turn])
    else:
        chat.take_out_of_view([turn])
    return visit.back(f"/chat/{id}#turn-{turn}")


# Around a chat


@router.post("/chat/{id}/rename")
def rename(visit: Changing, id: str, title: Annotated[str, Form()] = "") -> Response:
    visit.writing().threads.rename(id, title)
    return visit.back(f"/chat/{id}")


@router.post("/chat/{id}/archive")
def archive(visit: Changing, id: str) -> Response:
    book = visit.writing()
    if has_news(book.threads.get(id).thread):
        book.threads.get(id).close()
    book.threads.archive(id)
    return visit.back(f"/chat/{id}", archived=1)


@router.post("/chat/{id}/delete")
def delete(visit: Changing, id: str, memories: Annotated[bool, Form()] = False) -> Response:
    """Put a chat into the trash; the next address has the ledger entries of the memories that went with it."""
    book = visit.writing()
    with book.transaction():
        last = max((entry.event for entry in book.ledger(limit=1)), default=0)
        book.threads.delete(id, memories=memories)
        events = [str(entry.event) for entry in book.ledger(after=last, limit=None)]
    return visit.back("/chat", deleted=id, events=",".join(events) or None)


@router.post("/chat/{id}/restore")
def restore(visit: Changing, id: str) -> Response:
    """Restore a chat from the trash, with the memories that went with it."""
    visit.writing().threads.restore(id)
    return visit.back(f"/chat/{id}")


@router.post("/chat/{id}/close")
def close(
    visit: Changing, id: str, by: Annotated[str, Form(max_length=20)] = "", keep: Annotated[bool, Form()] = False
) -> Response:
    """Close a chat now, because the person wishes it or because closing has failed; with `by=notebook` without a model.
    With `keep`, because a button promised to keep what it showed, the notebook reads it if the model fails. The page
    then says what was done."""
    chat = visit.writing().threads.get(id)
    closed = chat.close(offline=by == BY_NOTEBOOK)
    instead = keep and closed.status == UNREAD and readers(visit)[0] is not None
    if instead:
        closed = chat.close(offline=True)
    if closed.status == UNREAD:
        return visit.back(f"/chat/{id}", closed=UNREAD)
    return visit.back(f"/chat/{id}", closed=_closing_counts(closed), instead=1 if instead else None)


def _counts(told: str) -> list[int]:
    counts = [int(one) for one in told.split(",") if one.isascii() and one.isdecimal() and len(one) < 7]
    if len(counts) == 3:
        return counts
    return []


def _closing_counts(closed: ClosingResult) -> str | None:
    """How much closing kept, proposed and left out, as text for an address; None if it read nothing."""
    if not closed.made_by or closed.status == "failed":
        return None
    out = [one for one in closed.skipped if one.reason not in TOLD_ELSEWHERE]
    return f"{len(closed.written)},{len(closed.proposed)},{len(out)}"


@router.post("/chat/{id}/leave")
def leave(visit: Changing, id: str, view: str = "") -> Response:
    """Close a chat when the person leaves its page; the script sends this as a beacon. If nothing is new, no model is
    called. No script can read the answer to a beacon, but the browser takes its cookie: by that the next page, which
    was rendered before, knows that closing is done, and shows what was kept.

    A page that is reloaded sends the beacon too, but after the new page was sent. Then the cookie VIEW names another
    rendering than the beacon does, and the person is still here.
    """
    gone = Response(status_code=204)
    chat = visit.writing().threads.get(id)
    still_here = visit.request.cookies.get(VIEW, view) != view
    copied_at = visit.kb.copied_at
    only_looked_at = copied_at is not None and chat.thread.touched_at < copied_at  # of the demo's story, unchanged
    told = "0,0,0"
    waits = chat.thread.failures > 0  # closing it has failed before, and the page has said so
    if has_news(chat.thread) and not still_here and not only_looked_at and not waits:
        closed = chat.close()
        told = closed.status if closed.status in (UNREAD, BUSY) else _closing_counts(closed) or told
    secure = visit.request.url.scheme == "https"
    name, words = f"{LEFT}_{chat.id}", told.replace(",", ".")
    gone.set_cookie(name, words, LEFT_SECONDS, samesite="strict", secure=secure)  # for a script's eyes
    return gone


# Edit in chat


@router.post("/memory/{id}/edit-in-chat")
def edit_in_chat(visit: Changing, id: str) -> Response:
    """Begin a chat in which the agent asks what to change. The memory stays as it is until the person has answered."""
    book = visit.writing()
    with book.transaction():
        memory = book.get(id)
        if memory.state != "active":
            raise Conflict(f"memory {id} is not active; restore it first", code=memory.state)
        chat = book.threads.start()
        hidden = EDITING.format(id=memory.id, content=memory.content)
        chat.add("assistant", QUESTION.format(content=memory.content), hidden=hidden)
    return visit.back(f"/chat/{chat.id}")
