"""`/api/trading/import`: files of every kind, those of brokers among them.

Bars and events belong to the whole installation: they can be loaded only with a service token, or on a server without
tokens. A wrong row of a file is reported, and the good ones are loaded.
"""

import io
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from keepbook.book.ground.open_book import beside_memory
from keepbook.book.ledger.loads import Load
from keepbook.book.upkeep.reading_apart import ReadingLimits, as_file, is_small_text, limits_in
from keepbook.doors.http.api.memory_bodies import RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.gate import PathRules
from keepbook.doors.http.problems import USUAL
from keepbook.errors import Invalid, NotAllowed
from keepbook.extensions.trading.book.files import PARQUET, RowsRead, Source, read_rows
from keepbook.extensions.trading.book.imports import mapping
from keepbook.extensions.trading.book.imports.file import SQLITE, has_own_columns
from keepbook.extensions.trading.book.imports.freqtrade_file import read_freqtrade
from keepbook.extensions.trading.book.imports.load import ImportedTrades, read_before
from keepbook.extensions.trading.book.imports.take_back import trades_told_back
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.loading.own_files import load_trades
from keepbook.extensions.trading.book.market import bars, events
from keepbook.extensions.trading.book.skill_files import DEPLOYMENT_FILE, SKILL_FILE
from keepbook.extensions.trading.book.trades import POSITIONS, TRADES
from keepbook.patterns import regex

router: APIRouter = APIRouter(prefix="/api/trading", tags=["trading"], responses=USUAL, route_class=FastRoute)

Loading = Annotated[Call, permitted_call("trading.load")]
TradingFileKind = Literal["bars", "events", "trades", "positions", "skills", "deployments", "freqtrade"]
SHARED = ("bars", "events")
LAYOUTS = {
    "bars": bars.LAYOUT, "events": events.LAYOUT, "trades": TRADES, "positions": POSITIONS, "skills": SKILL_FILE,
    "deployments": DEPLOYMENT_FILE,
}  # fmt: skip
_SHARED_PATHS = frozenset(("/api/trading/bars", "/api/trading/symbols"))


def _is_of_no_owner(path: str, query: Mapping[str, list[str]]) -> bool:
    """Whether a request is about bars and events, which belong to no owner."""
    if path == "/api/trading/import":
        kinds = query.get("kind", [])
        return len(kinds) == 1 and kinds[0] in SHARED
    return path in _SHARED_PATHS or path.startswith("/api/trading/market-events/")


PATHS = PathRules(
    imports=regex(r"(?:/api)?/trading/import|/trading/(?:[^/]+/)?load"),
    command="keepbook trading import",
    of_nobody=_is_of_no_owner,
)

_FILE = {
    "requestBody": {
        "required": True,
        "description": "The file: CSV, JSON Lines or Parquet, or freqtrade's database.",
        "content": {
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/import", response_model=LoadedFile | ImportedTrades, openapi_extra=_FILE)
async def import_trading_file(
    call: Loading,
    request: Request,
    kind: Annotated[TradingFileKind, Query(description="What the file holds.")],
    deployment_id: Annotated[
        str | None, Query(description="For trades, positions and freqtrade: where the file names none.", max_length=200)
    ] = None,
    symbol: Annotated[str | None, Query(description="For bars: where the file names none.", max_length=40)] = None,
    timeframe: Annotated[str | None, Query(description="For bars: where the file names none.", max_length=10)] = None,
    format: Annotated[
        str | None, Query(description="Of trades: where it is not recognised; or the name of a mapping.", max_length=60)
    ] = None,
    map: Annotated[list[str], Query(description="Of trades: OURS=THEIRS, several.", max_length=40)] = [],  # noqa: B006
    zone: Annotated[str, Query(description="Of trades: of times that name none.", max_length=60)] = "UTC",
    multiplier: Annotated[
        list[str], Query(description="Of trades: SYMBOL=SIZE of a contract, several.", max_length=40)
    ] = [],  # noqa: B006
    dates: Annotated[
        Literal["day", "month"] | None,
        Query(description="Of trades: what comes first in 2/6/2026, where the file does not show it."),
    ] = None,
    currency: Annotated[
        str | None, Query(description="Of trades: what prices count in, where the file does not say.", max_length=20)
    ] = None,
    dry_run: Annotated[bool, Query(description="Not of bars and events: show what would come of it.")] = False,
    corrections: Annotated[
        Literal["offer", "take", "add"], Query(description="Of trades: what to do with rows that look like one.")
    ] = "offer",
    brokers: Annotated[
        bool | None, Query(description="Of trades: a broker's file, or one with our columns; recognised, if not said.")
    ] = None,
) -> Response:
    """Loading the same file again changes nothing. Wrong rows are told in `refused` and counted in `wrong`. Trades of a
    broker's file are recognised and paired."""
    if kind in SHARED and not _may_load_shared(call):
        raise NotAllowed(
            f"{kind} are shared by everybody here; load them with a service token, or with keepbook trading import",
            code="installation_only",
        )
    sent = await request.body()
    told: dict[str, Any] = {
        "format": format, "columns": mapping.parse_pairs(map, "map"), "zone": zone, "dates": dates,
        "currency": currency, "dry_run": dry_run, "symbol": symbol, "corrections": corrections,
    }  # fmt: skip
    sizes = mapping.sizes(multiplier)
    if kind == "trades" and not sent.startswith((PARQUET, SQLITE)):
        is_brokers = brokers
        if is_brokers is None:
            is_brokers = bool(format or map) or not has_own_columns(sent)
        if is_brokers:
            told |= {"deployment": deployment_id, "multipliers": sizes}
            return await run_in_threadpool(_bring_in, call, sent, told)
    if kind == "trades" and sent.startswith(SQLITE):
        kind = "freqtrade"
    if kind == "freqtrade":
        _refuse_half(sent)
    own = {"deployment": deployment_id, "dry_run": dry_run, "corrections": corrections}
    return await run_in_threadpool(_load, call, kind, sent, own, {"symbol": symbol, "timeframe": timeframe})


def _bring_in(call: Call, sent: bytes, told: dict[str, Any]) -> Response:
    table = read_before(call.book, sent, told["format"], told["columns"])
    if told["dry_run"]:
        return json_response(call.book.trading.bring_in(table, **told))
    return call.write(lambda book: book.trading.bring_in(table, **told))


@router.post("/loads/{nth}/undo", response_model=Load)
def take_back_load(call: Loading, nth: Annotated[int, Path(ge=1, description="As the load answered it.")]) -> Response:
    """Take a file out again: its trades, fills and positions; or a split, or a trade that was taken back. Only the
    newest load of a deployment can go."""
    return call.write_in_pieces(lambda book, keyed: trades_told_back(beside_memory(book), nth, keyed))


class TakenTrade(RequestBody):
    key: str = Field(description="Of the trade, or its beginning.")
    deployment_id: str | None = None


@router.post("/trades/take-back", response_model=Load)
def take_back_trade(call: Loading, told: TakenTrade) -> Response:
    """Take one trade out. Undoing the load that this is puts it back."""
    return call.write(lambda book: book.trading.take_back_trade(told.key, deployment=told.deployment_id))


class SplitTold(RequestBody):
    symbol: str
    ratio: float | str = Field(description="How many there are for one: 4, 4:1, 1:10.")
    on: str = Field(description="The first day on which it counts, in UTC.")


@router.post("/splits", status_code=201, response_model=Load)
def say_split(call: Loading, told: SplitTold) -> Response:
    """What was bought before counts so, in every deployment. Undoing the load that this is takes it back."""
    return call.write(lambda book: book.trading.split(told.symbol, told.ratio, on=told.on), 201)


def _refuse_half(sent: bytes) -> None:
    """Raise if this is a database in write-ahead mode: part of it is in a second file, which was not sent."""
    is_in_wal_mode = sent[18:19] == b"\x02"  # the "file format write version" of SQLite's header
    if sent.startswith(SQLITE) and is_in_wal_mode:
        raise Invalid(
            "this database is in write-ahead mode: what the bot wrote last may stand in the file beside it, "
            "tradesv3.sqlite-wal, which was not sent. Send a copy made with: sqlite3 tradesv3.sqlite \"VACUUM INTO "
            "'copy.sqlite'\"", field="file",
        )  # fmt: skip


def _load(call: Call, kind: str, sent: bytes, own: dict[str, Any], market: dict[str, str | None]) -> Response:
    if kind == "bars":
        told = market
    else:
        told = {"deployment": own["deployment"]}
    source = _read(sent, kind, told, limits_in(call.kb.settings))
    # Bars and events are written in a transaction of their own. SQLite has one writer, so that the owner's transaction,
    # which `call.write` opens, must not be open meanwhile.
    if kind == "bars":
        return json_response(call.kb.market.load(source, symbol=market["symbol"], timeframe=market["timeframe"]))
    if kind == "events":
        return json_response(call.kb.market.load_events(source))
    if own["dry_run"]:
        return json_response(call.book.trading.load(kind, source, **own))
    if kind == "trades":  # in pieces, with a key too
        deployment, corrections = own["deployment"], own["corrections"]
        return call.write_in_pieces(
            lambda book, keyed: load_trades(
                beside_memory(book), source, deployment=deployment, corrections=corrections, keyed=keyed
            )
        )
    return call.write(lambda book: book.trading.load(kind, source, **own))


def _read(sent: bytes, kind: str, told: dict[str, str | None], limits: ReadingLimits) -> Source:
    """What was sent, as lines of text; or its rows, read to the end, if it is large, packed or a database."""
    if kind != "freqtrade" and is_small_text(sent):
        return io.StringIO(sent.decode("utf-8", "surrogateescape"), newline="")
    with as_file(sent) as path:
        if kind == "freqtrade":
            return RowsRead(read_freqtrade(path, limits, "rows"))
        return RowsRead(read_rows(path, LAYOUTS[kind], told, limits, "rows"))


def _may_load_shared(call: Call) -> bool:
    """Whether the caller acts for the whole installation: with a service token, or on a server without tokens."""
    return call.caller.kind == "service" or call.caller.token_id is None
