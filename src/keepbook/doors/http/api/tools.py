"""`/api/tools`: the preset's tools for any agent, as schemas and to call."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import Response

from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.tools.bound import bound_tools, outside_tools
from keepbook.tools.catalogue import ToolSet, build_tools
from keepbook.tools.definition import ToolAnswer

router = APIRouter(prefix="/api/tools", tags=["tools"], responses=USUAL, route_class=FastRoute)

Listing = Annotated[Call, permitted_call("tools.list")]

PresetQuery = Annotated[str | None, Query(description="Another preset's tools than the owner's.", max_length=100)]
Mode = Annotated[Literal["authoring", "coach", "ops"] | None, Query(description="authoring: also what writes a skill.")]


@router.get("", response_model=list[dict[str, Any]])
def list_tools(
    call: Listing,
    format: Literal["openai", "anthropic", "mcp"] = "openai",
    preset: PresetQuery = None,
    mode: Mode = None,
) -> Response:
    return json_response(_tools(call, preset, mode).schemas(format))


@router.post("/{name}", response_model=ToolAnswer)
def call_tool(
    call: Listing,
    name: Annotated[str, Path(max_length=200)],
    arguments: Annotated[dict[str, Any] | None, Body()] = None,
    preset: PresetQuery = None,
    mode: Mode = None,
) -> Response:
    """What the model asked for. What it got wrong is answered in words too, with `error` set."""
    tools = _tools(call, preset, mode)
    # A bound agent's tools are those that its settings give it.
    call.caller.ask("memories.read" if tools[name].annotations.read_only else "memories.write", given=True)
    return call.write(lambda _: tools.call(name, arguments))


def _tools(call: Call, preset: str | None, mode: str | None) -> ToolSet:
    """An agent's tools always act on the agent's word."""
    book = call.caller.tools_book(call.kb, "http")
    if call.caller.agent is not None:
        return bound_tools(book, call.caller.agent, records=False)
    return build_tools(preset, book, outside=True, extra=outside_tools(book, preset), mode=mode)
