"""`/chat/{id}/turns/{turn}/sent`: what a model was sent for one reply, whole, as it was sent.

Instructions, what it knew, turns and tools, each with its size, and the whole request; beside them what the book left
out of what it knew, by why. Made when it is asked for and not stored; keys, headers and addresses are no part of it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.book.chats.threads import Message
from keepbook.book.chats.view import chat_block, left_out_of_block
from keepbook.book.memory.block import Fate
from keepbook.book.text.block_lines import LINE, BlockLine
from keepbook.book.text.for_models.safe_line import marked_writer
from keepbook.book.text.quotation import shown_text
from keepbook.doors.http.web.chat.reply_sources import reply_of
from keepbook.doors.http.web.frame.visit import Visit, Visiting, plural
from keepbook.errors import Invalid, ModelFailed, NotFound
from keepbook.models.as_sent import SentReply, sent_reply
from keepbook.models.compress import Budget
from keepbook.models.providers.address import Address, parse_model_name
from keepbook.models.providers.remote import ROUNDS

router: APIRouter = APIRouter(include_in_schema=False)

A_TOKEN = 4
"""Letters in a token, about."""
FIRST = 50
"""How many of the lines that were left out are listed."""
GONE = "[ the lines of the book stand here ]"
PLACES = {"recall_only": "not sure enough by then; found when it is asked for", "cut": "no room for more"}


@dataclass(frozen=True, slots=True)
class SentPart:
    """One part of what was sent."""

    name: str
    text: str
    letters: int
    """What it takes up in the request, marks and names of fields included, so that the parts add up to the whole."""
    of: str = ""

    @property
    def size(self) -> str:
        return f"{self.of}{', ' if self.of else ''}{self.letters:,} letters, about {self.letters // A_TOKEN:,} tokens"


@dataclass(frozen=True, slots=True)
class LeftOutLines:
    """Why some lines were left out, how many, and the first of them."""

    why: str
    count: int
    lines: Sequence[str]


@router.get("/chat/{id}/turns/{turn}/sent")
async def show(visit: Visiting, id: str, turn: int, left: bool = False) -> Response:
    chat = await run_in_threadpool(lambda: visit.book.threads.get(id))
    reply = await run_in_threadpool(lambda: reply_of(chat.messages(), turn))
    address = _address(visit, reply)
    settings = visit.kb.settings
    budget = Budget(settings.context_tokens, settings.compress_at)
    sent = await run_in_threadpool(sent_reply, visit.book, chat, reply, budget)
    body, wrong = await _written(address, sent)
    return await run_in_threadpool(lambda: _page(visit, chat.thread, reply, sent, body, wrong, left))


def _address(visit: Visit, reply: Message) -> Address:
    """Whom the reply was asked of, as far as its shape goes."""
    known = visit.kb.settings
    try:
        kind, name = parse_model_name(reply.model or "")
    except Invalid:
        raise NotFound("no model was asked for this reply; nothing was sent", field="turn") from None
    if kind == "openai":
        base = known.openai_base_url
    else:
        base = known.anthropic_base_url
    return Address(kind, name, base)


async def _written(address: Address, sent: SentReply) -> tuple[str, str]:
    """The request as it is sent, or why it cannot be written here."""
    try:
        from keepbook.models.providers.written_request import write_request  # an extra of the installation
    except ImportError:
        return "", "The programs that speak with a model are not installed here, so its form is not known."
    try:
        body = await write_request(address, sent.conversation, sent.tools, may_call=sent.rounds < ROUNDS)
    except ModelFailed as error:
        return "", error.message
    return body.decode(), ""


def _page(visit: Visit, thread: Any, reply: Message, sent: SentReply, body: str, wrong: str, left: bool) -> Response:
    if visit.partial:
        template = "parts/sent.html"
    else:
        template = "chat_sent.html"
    gaps = [*sent.gaps, wrong] if wrong else sent.gaps
    left_out = None
    if left:
        left_out = _left_out(visit, thread)
    return visit.page(
        template, thread=thread, reply=reply, parts=_parts(sent, body), gaps=gaps,
        called=visit.kb.models.called(reply.model), forgotten=_forgotten(visit, thread),
        left_out=left_out, writers=_writers(visit, thread),
    )  # fmt: skip


def _parts(sent: SentReply, body: str) -> list[SentPart]:
    if sent.block:
        instructions = sent.conversation.system.replace(sent.block, GONE, 1)
    else:
        instructions = sent.conversation.system
    request: dict[str, Any] = {}
    if body:
        request = json.loads(body)
    is_ascii = body.isascii()
    turns = [one for one in request.get("messages", ()) if one.get("role") not in ("system", "developer")]
    tools = request.get("tools", sent.tools)
    said, needed = _compact(turns, is_ascii), _compact(tools, is_ascii)
    parts = [
        SentPart("Instructions", instructions, len(_compact(instructions, is_ascii)) - 2),
        SentPart("What it knew", sent.block, len(_compact(sent.block, is_ascii)) - 2),
    ]
    if turns:
        parts.append(SentPart("What was said", _as_json(turns), len(said), plural(len(turns), "turn", "turns")))
    if tools:
        parts.append(SentPart("Tools", _as_json(tools), len(needed), plural(len(tools), "tool", "tools")))
    parts = [part for part in parts if part.text]
    if body:
        around = {name: value for name, value in request.items() if name not in ("messages", "system", "tools")}
        rest = len(body) - sum(part.letters for part in parts)
        parts.append(SentPart("The form around them", _as_json(around), rest))
        parts.append(SentPart("The whole request", body, len(body)))
    return parts


def _compact(told: Any, is_ascii: bool) -> str:
    """As it stands in the request."""
    return json.dumps(told, ensure_ascii=is_ascii, separators=(",", ":"))


def _as_json(told: Any) -> str:
    return json.dumps(told, ensure_ascii=False, indent=1)


def _lines(visit: Visit, thread: Any) -> list[BlockLine]:
    """The lines of the book that it was given."""
    block = chat_block(visit.book, thread)
    if block is None:
        return []
    return [line for line in block.lines if line.kind == LINE and line.id]


def _writers(visit: Visit, thread: Any) -> list[str]:
    """Who wrote lines that it was given, but for the person."""
    found = (marked_writer(line.text) for line in _lines(visit, thread))
    return list(dict.fromkeys(name for name in found if name))


def _forgotten(visit: Visit, thread: Any) -> list[str]:
    """The lines it was given that have been taken out of the book since."""
    found = []
    for line in _lines(visit, thread):
        try:
            gone = visit.book.get(line.id or "").state != "active"
        except NotFound:
            gone = True
        if gone:
            found += [line.text]
    return found


def _left_out(visit: Visit, thread: Any) -> list[LeftOutLines]:
    fates = left_out_of_block(visit.book, thread, visit.book.preset(thread.preset))
    return [LeftOutLines(_in_words(fate), len(ids), _first_lines(visit, ids)) for fate, ids in fates.items()]


def _in_words(fate: Fate) -> str:
    return PLACES.get(fate.place, "left out")


def _first_lines(visit: Visit, ids: Sequence[str]) -> list[str]:
    found = []
    for id in ids[:FIRST]:
        try:
            found.append(shown_text(visit.book.get(id)))
        except NotFound:
            found.append("A line that was deleted for good")
    return found
