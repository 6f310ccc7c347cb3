"""The caller and their whole book: `/api/me`, `/api/tokens`, what moves house, what came in and how all of it goes."""

import io
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from keepbook.book.book import Book
from keepbook.book.ground.idempotency import Keyed
from keepbook.book.ledger.loads import Load
from keepbook.book.ledger.owner_settings import Configured
from keepbook.book.operations import configure_and_choose
from keepbook.book.owners.authority import ask_token
from keepbook.book.owners.authority import refusal_reason as allowed
from keepbook.book.owners.spending import Spent
from keepbook.book.owners.tokens import USUAL_SCOPES, NewToken, Token
from keepbook.book.upkeep.erase import Receipt
from keepbook.book.upkeep.import_answer import Imported
from keepbook.book.upkeep.importing import import_read, read_for
from keepbook.book.upkeep.take_back import told_back
from keepbook.doors.http.api.memory_bodies import RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.tools import bound

router: APIRouter = APIRouter(prefix="/api", tags=["me"], responses=USUAL, route_class=FastRoute)

Knowing = Annotated[Call, permitted_call("me.read")]
ReadingChoices = Annotated[Call, permitted_call("choices.read")]
Choosing = Annotated[Call, permitted_call("choices.change")]
ListingTokens = Annotated[Call, permitted_call("tokens.read")]
MakingTokens = Annotated[Call, permitted_call("tokens.make")]
RevokingTokens = Annotated[Call, permitted_call("tokens.revoke")]
Exporting = Annotated[Call, permitted_call("book.export")]
Importing = Annotated[Call, permitted_call("book.import")]
Erasing = Annotated[Call, permitted_call("book.erase")]
ReadLedgerCall = Annotated[Call, permitted_call("ledger.read")]
Undoing = Annotated[Call, permitted_call("undo.own")]

LINES = "application/jsonl"
PLAIN = "text/plain"
TEXT = {"schema": {"type": "string"}}
FILE = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


class ChangedChoices(RequestBody):
    zone: str | None = Field(None, description="IANA, like Europe/Oslo")
    preset: str | None = None
    tier: str | None = Field(None, description="beginner, intermediate or advanced")
    memory: bool | None = Field(None, description="false: nothing is remembered or shown to models.")
    never: list[str] | None = Field(None, description="Topics never to be remembered.")
    name: str | None = Field(None, description="What the pages call the person.")


class WantedToken(RequestBody):
    kind: str = Field("person", description="person or agent; a service token is made on the command line.")
    scopes: list[str] = Field(list(USUAL_SCOPES), description="Of read, write, admin.")
    name: str | None = None
    expires: str | None = None
    agent: str | None = Field(None, description="With kind agent: one of the owner's, whose tools it has.")


class EraseConfirmation(RequestBody):
    confirm: str = Field(description="The owner's name: everything of theirs goes, for good.")


@dataclass(frozen=True)
class Me:
    owner: str
    kind: str
    scopes: list[str]
    zone: str
    preset: str
    tier: str | None
    memory: bool
    never: tuple[str, ...]
    name: str | None
    model: str
    monthly_tokens: int | None
    spent_this_month: int
    spent: list[Spent]


@dataclass(frozen=True)
class ChangedMe(Me):
    configured: Configured
    """The preset and zone of their own, and the entry of the ledger that undoes a change of these."""


@dataclass(frozen=True)
class MadeToken:
    """The secret is shown this once."""

    id: str
    token: str
    owner: str | None
    kind: str
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class TokenList:
    tokens: list[Token]


@router.get("/me", response_model=Me)
def get_me(call: Knowing) -> Response:
    return json_response(_me(call))


@router.patch("/me", response_model=ChangedMe)
def change_me(call: Choosing, chosen: ChangedChoices) -> Response:
    given = chosen.model_dump(exclude_none=True)

    def do(book: Any) -> ChangedMe:
        configured = configure_and_choose(book, given.pop("zone", None), given.pop("preset", None), **given)
        return ChangedMe(**vars(_me(call)), configured=configured)

    return call.write(do)


class TopicTrial(RequestBody):
    text: str = Field(max_length=2000)


@dataclass(frozen=True)
class Topics:
    topics: list[str]


@router.post("/me/never/try", response_model=Topics)
def try_never(call: ReadingChoices, tried: TopicTrial) -> Response:
    """Which of your topics a sentence touches; nothing of it is kept."""
    return json_response(Topics(list(call.book.never_of(tried.text))))


def _me(call: Call) -> Me:
    book, settings = call.book, call.kb.settings
    choices, caller = book.choices, call.caller
    told = allowed(caller.as_actor, "choices.read") is None  # what a person never wants kept says something about them
    if told:
        never = choices.never
    else:
        never = ()
    name = None
    if told:
        name = choices.name
    if told:
        spent = list(book.spending.list())
    else:
        spent = []
    return Me(
        owner=book.owner, kind=caller.kind, scopes=sorted(caller.scopes), zone=book.zone, preset=book.preset().name,
        tier=choices.tier, memory=choices.memory, never=never,
        name=name, model=settings.model, monthly_tokens=settings.monthly_tokens,
        spent_this_month=book.spending.this_month(), spent=spent,
    )  # fmt: skip


@router.get("/tokens", response_model=TokenList)
def list_tokens(call: ListingTokens) -> Response:
    return json_response(TokenList(list(call.kb.tokens.list(call.caller.owner))))


@router.post("/tokens", status_code=201, response_model=MadeToken)
def make_token(call: MakingTokens, wanted: WantedToken) -> Response:
    """For the caller's own book, and never with more than the caller may."""
    ask_token(call.caller.as_actor, wanted.kind, wanted.scopes)
    given = wanted.model_dump()
    if wanted.agent is not None:
        given["agent"] = bound.agent_id(call.book, wanted.agent)
    made: NewToken = call.kb.tokens.create(call.caller.owner, made_with=call.caller.token_id, **given)
    known = made.known
    return json_response(MadeToken(known.id, made.token, known.owner, known.kind, known.scopes), 201)


@router.delete("/tokens/{id}", response_model=Token)
def revoke_token(call: RevokingTokens, id: Annotated[str, Path(max_length=200)]) -> Response:
    return json_response(call.kb.tokens.revoke(id, owner=call.caller.owner))


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"description": "JSON Lines: everything.", "content": {LINES: TEXT, PLAIN: TEXT}}},
)
def export_book(call: Exporting, accept: Annotated[str | None, Header(include_in_schema=False)] = None) -> Response:
    """Everything of this owner, as `import` takes it; as plain text for who accepts that alone."""
    lines = io.StringIO()
    call.book.export(lines)
    headers = {"Content-Disposition": 'attachment; filename="keepbook.jsonl"'}
    if accept == PLAIN:
        media = PLAIN
    else:
        media = LINES
    return Response(lines.getvalue().encode(), media_type=media, headers=headers)


@router.post(
    "/import",
    response_model=Imported,
    openapi_extra={"requestBody": {"required": True, "content": FILE}},
)
async def import_book(
    call: Importing,
    request: Request,
    merge: Annotated[bool, Query()] = False,
    dry_run: Annotated[bool, Query()] = False,
    theirs: Annotated[str | None, Query(max_length=200)] = None,
    name: Annotated[str, Query(max_length=200)] = "file",
) -> Response:
    """Restore an export into an empty book, or with `merge` add its memories; or take over what another program kept,
    known by looking at it, into the caller's own book. Of a file that holds several people, `theirs` says which one;
    `name` is what the file is called, whose ending tells a table from a list. With `dry_run` it only says what would
    come in, and which agents would need arming."""
    read = await run_in_threadpool(read_for, call.book, await request.body(), name)
    if dry_run:
        return json_response(
            await run_in_threadpool(import_read, call.book, read, merge=merge, dry_run=True, theirs=theirs)
        )

    def bring_in(book: Book, keyed: Keyed | None) -> Imported:
        return import_read(book, read, merge=merge, theirs=theirs, keyed=keyed)

    return await run_in_threadpool(call.write_in_pieces, bring_in)


@dataclass(frozen=True)
class Loads:
    """The newest first."""

    loads: list[Load]


@router.get("/loads", response_model=Loads)
def list_all_loads(call: ReadLedgerCall, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """The files that came in: memories, chats and trades; `undone_at` is when one was taken back."""
    return json_response(Loads(list(call.book.loads(limit))))


@router.post("/loads/{nth}/undo", response_model=Load)
def take_back_any_load(
    call: Undoing, nth: Annotated[int, Path(ge=1, description="As the import answered it.")]
) -> Response:
    """Take out again what a file brought; what something newer changed stays. Only the person takes back their own."""
    return call.write_in_pieces(lambda book, keyed: told_back(book, nth, keyed))


@router.post("/erase", response_model=Receipt)
def erase_book(call: Erasing, confirmed: EraseConfirmation) -> Response:
    """Everything of this owner, ledger and tokens included; nothing undoes it."""
    return json_response(call.book.erase(confirmed.confirm))
