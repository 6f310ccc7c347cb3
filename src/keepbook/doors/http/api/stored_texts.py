"""`/api/texts`: texts that programs keep under names of theirs, one memory each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.memory.memories import Memory, Written
from keepbook.book.texts import TextChange
from keepbook.doors.http.api.memory import ReadMemoriesCall, WriteMemoriesCall
from keepbook.doors.http.api.memory_bodies import Memories, RequestBody
from keepbook.doors.http.call import json_response
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.errors import Invalid

router: APIRouter = APIRouter(prefix="/api/texts", tags=["texts"], responses=USUAL, route_class=FastRoute)

ScopeQuery = Annotated[str, Query(description="The scope they are kept in.", min_length=1, max_length=200)]


class NewText(RequestBody):
    scope: str = Field(max_length=200)
    name: str = Field(max_length=200)
    line: str | None = Field(None, description="What people read of it; left out, it goes into the trash.")
    body: str = Field("", description="The whole text.")
    category: str | None = None
    valid_until: str | None = Field(None, description='"": for ever; left out, it stays.')
    id: str | None = Field(None, description="The memory that held it so far; it may get another name.")
    version: int | None = Field(None, description="The version it is based on; 0: there is none of that name.")


MOST_CHANGES, MOST_LETTERS = 60, 120_000
"""How many texts one request may write or remove, and how long they may be together: nobody else can write
meanwhile."""


class TextChanges(RequestBody):
    changes: list[NewText]


@dataclass(frozen=True)
class TextScopes:
    scopes: Sequence[str]


@dataclass(frozen=True)
class WrittenTexts:
    written: Sequence[Written]


@router.get("", response_model=Memories)
def list_texts(
    call: ReadMemoriesCall,
    scope: ScopeQuery,
    name: Annotated[str | None, Query(description="Those of this name.", max_length=200)] = None,
    prefix: Annotated[
        str | None, Query(description="Those whose names begin so; it ends in a slash.", max_length=201)
    ] = None,
) -> Response:
    """The texts of a scope; with neither name nor prefix also those of the scopes below it."""
    found: Sequence[Memory] = call.book.texts.list(call.scope(scope) or scope, name=name, prefix=prefix)
    return json_response(Memories(list(found)))


@router.get("/scopes", response_model=TextScopes)
def list_text_scopes(call: ReadMemoriesCall, scope: ScopeQuery) -> Response:
    """The scopes that hold texts: this one and those below it."""
    return json_response(TextScopes(list(call.book.texts.scopes(call.scope(scope) or scope))))


@router.post("", response_model=WrittenTexts)
def write_texts(call: WriteMemoriesCall, told: TextChanges) -> Response:
    """Write all of these texts or none."""
    wanted = [TextChange(**change.model_dump()) for change in told.changes]
    if len(wanted) > MOST_CHANGES:
        raise Invalid(f"write or remove at most {MOST_CHANGES} texts at once, and the rest after them", field="changes")
    if len(wanted) > 1 and sum(len(one.body) for one in wanted) > MOST_LETTERS:
        raise Invalid(f"write at most {MOST_LETTERS:,} letters at once, and the rest after them", field="changes")

    def do(book: Book) -> WrittenTexts:
        scoped = [replace(one, scope=call.scope(one.scope) or one.scope) for one in wanted]
        return WrittenTexts(book.texts.write(scoped))

    return call.write(do)
