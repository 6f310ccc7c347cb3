"""`/api/tools`: the preset's tools for any agent, as schemas and to call."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Path, Query
from fastapi.responses import Response

from keepbook.book.book import Book
from keepbook.book.chats.threads import no_chat
from keepbook.book.ledger.ledger import is_our_chat
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.errors import KeepbookError
from keepbook.tools.bound import bound_tools, outside_tools, own_tools
from keepbook.tools.catalogue import ToolSet, build_tools
from keepbook.tools.definition import ToolAnswer

router: APIRouter = APIRouter(prefix="/api/tools", tags=["tools"], responses=USUAL, route_class=FastRoute)

Listing = Annotated[Call, permitted_call("tools.list")]

PresetQuery = Annotated[str | None, Query(description="Another preset's tools than the owner's.", max_length=100)]
Mode = Annotated[Literal["authoring", "coach", "ops"] | None, Query(description="authoring: also what writes a skill.")]


class ToolChoice:
    """Which tools are meant, and where what they save was said."""

    def __init__(
        self,
        preset: PresetQuery = None,
        mode: Mode = None,
        outside: Annotated[bool, Query(description="Also what only agents outside need.")] = True,
        agent: Annotated[str | None, Query(description="Also those of this agent, for who runs it.")] = None,
        thread_id: Annotated[str | None, Query(description="The session that writes are noted with.")] = None,
        turn_ids: Annotated[list[str] | None, Query(description="The turns that writes are noted with.")] = None,
    ) -> None:
        self.preset: PresetQuery = preset
        self.mode = mode
        self.outside: bool = outside
        self.agent: str | None = agent
        self.thread_id: str | None = thread_id
        self.turn_ids: tuple[str, ...] = tuple(turn_ids or ())


Chosen = Annotated[ToolChoice, Depends()]


@router.get("", response_model=list[dict[str, Any]])
def list_tools(
    call: Listing,
    chosen: Chosen,
    format: Literal["openai", "anthropic", "mcp"] = "openai",
) -> Response:
    return json_response(_tools(call, chosen).schemas(format))


@router.post("/{name}", response_model=ToolAnswer)
def call_tool(
    call: Listing,
    name: Annotated[str, Path(max_length=200)],
    chosen: Chosen,
    arguments: Annotated[dict[str, Any] | None, Body()] = None,
) -> Response:
    """What the model asked for. What it got wrong is answered in words too, with `error` set."""
    tools = _tools(call, chosen)
    # A bound agent's tools are those that its settings give it.
    reads = tools[name].annotations.read_only
    if reads:
        call.caller.ask("memories.read", given=True)
    else:
        call.caller.ask("memories.write", given=True)
    if reads:  # asked twice, it is answered twice: what was forgotten meanwhile is not told again
        return json_response(tools.call(name, arguments))
    refused: list[KeepbookError] = []

    def do(_: Book) -> ToolAnswer:
        try:
            return tools.attempt(name, arguments)
        except KeepbookError as error:
            refused.append(error)
            raise

    try:
        return call.write(do)
    except KeepbookError as error:  # its transaction has ended, and what it leaves for the person stands
        if error not in refused:
            raise
        return call.write(lambda _: tools.refusal(name, refused[-1]))


def _tools(call: Call, chosen: ToolChoice) -> ToolSet:
    """An agent's tools always act on the agent's word."""
    book = call.caller.tools_book(call.kb, "http")
    if chosen.thread_id is not None and call.book.hand.is_program:
        _refuse_our_chat(book, chosen.thread_id)
    if call.caller.agent is not None:
        return bound_tools(book, call.caller.agent, records=False)
    if chosen.outside:
        extra = outside_tools(book, chosen.preset)
    else:
        extra = []
    if chosen.agent is not None:
        extra += own_tools(book, call.agent(chosen.agent))
    return build_tools(
        chosen.preset, book, outside=chosen.outside, extra=extra, mode=chosen.mode, thread_id=chosen.thread_id,
        turn_ids=chosen.turn_ids,
    )  # fmt: skip


def _refuse_our_chat(book: Book, thread_id: str) -> None:
    """A program names its own sessions: in one of our own chats, what an agent's tool does counts as the person's."""
    with book.reading() as (tx, _, _):
        if is_our_chat(tx, thread_id):
            raise no_chat(thread_id)
