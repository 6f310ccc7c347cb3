"""The requests of a book's trading room, and of the market that everybody shares."""

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from keepbook.book.ground.to_json import Page
from keepbook.book.ledger.loads import Load
from keepbook.client.asks import Asks
from keepbook.client.connection import Request, Steps
from keepbook.client.faces import LOCAL_ONLY, RemoteFace, remote_face_of
from keepbook.client.values import to_json_argument, value_of
from keepbook.errors import Invalid, NotAllowed
from keepbook.extensions.trading.book.breakdown import Breakdown
from keepbook.extensions.trading.book.exposure import Coming
from keepbook.extensions.trading.book.face import Trading
from keepbook.extensions.trading.book.imports.load import ImportedTrades
from keepbook.extensions.trading.book.lessons import Lesson
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.market.bars import Bar
from keepbook.extensions.trading.book.market.events import Event
from keepbook.extensions.trading.book.market.face import Market
from keepbook.extensions.trading.book.performance import EquityPoint, Performance
from keepbook.extensions.trading.book.reflection import Reflection
from keepbook.extensions.trading.book.skills import Deployment, FieldVersion, Skill
from keepbook.extensions.trading.book.trades import Position, Trade

TRADING = "/api/trading"
SKILL, DEPLOYMENT, LESSON = (
    f"{TRADING}/skills/{{ref}}",
    f"{TRADING}/deployments/{{ref}}",
    f"{TRADING}/lessons/{{lesson}}",
)
OF = {"skill": "skill_id", "deployment": "deployment_id"}
SHARED = ("bars", "events")


def _bytes(source: Any) -> bytes:
    """A file of this machine, or lines, as they are sent."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, str | PathLike):
        try:
            return Path(source).read_bytes()
        except OSError as error:
            raise Invalid(f"cannot read {source}: {error.strerror}", field="source") from None
    lines: Iterable[str] = source
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _file(kind: str, source: Any, **told: Any) -> Request:
    query = [("kind", kind)]
    for name, value in told.items():
        query += [(name, str(each)) for each in (value if isinstance(value, list) else [value]) if each is not None]
    headers = {"Content-Type": "application/octet-stream"}
    return Request("POST", f"{TRADING}/import", tuple(query), text=_bytes(source), headers=headers)


def _load_with_progress(request: Request, progress: Callable[[int], None] | None) -> Steps[LoadedFile]:
    loaded: LoadedFile = value_of(LoadedFile, (yield request))
    if progress is not None:
        progress(loaded.added + loaded.changed + loaded.unchanged + loaded.wrong + loaded.offered)
    return loaded


def _load(
    _: RemoteFace,
    kind: str,
    source: Any,
    deployment: str | None = None,
    progress: Callable[[int], None] | None = None,
    corrections: str = "offer",
    dry_run: bool = False,
) -> Steps[LoadedFile]:
    if kind in SHARED:
        raise Invalid(f"{kind} are shared by everybody: load them with kb.market", field="kind")
    told = {"deployment_id": deployment, "corrections": corrections, "dry_run": str(dry_run).lower()}
    return (yield from _load_with_progress(_file(kind, source, **told, brokers="false"), progress))


def _bring_in(
    _: RemoteFace,
    source: Any,
    columns: Mapping[str, str] | None = None,
    multipliers: Mapping[str, float] | None = None,
    deployment: str | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
    **told: Any,
) -> Steps[ImportedTrades]:
    pairs = {
        name: [f"{ours}={theirs}" for ours, theirs in (given or {}).items()]
        for name, given in (("map", columns), ("multiplier", multipliers))
    }
    told |= {"deployment_id": deployment, "dry_run": str(dry_run).lower(), "brokers": "true"}
    found: ImportedTrades = value_of(ImportedTrades, (yield _file("trades", source, **pairs, **told)))
    if progress is not None:
        progress(found.rows)
    return found


def _set_field(
    _: RemoteFace, ref: str, field: str, value: str, expect_version: int | None = None
) -> Steps[FieldVersion]:
    way = Asks("PUT", SKILL + "/fields/{field}", FieldVersion)
    given = {"ref": ref, "field": field, "value": value, "expect_version": expect_version}
    return (yield from way.steps(given))  # type: ignore[no-any-return]


def _change_deployment(_: RemoteFace, ref: str, **given: Any) -> Steps[Deployment]:
    """What is given as nothing becomes nothing, so it is sent too."""
    path = Asks("PATCH", DEPLOYMENT).request({"ref": ref}).path
    return value_of(Deployment, (yield Request("PATCH", path, body=to_json_argument(given))))  # type: ignore[no-any-return]


def _reflect(_: RemoteFace, words: object = None, **given: Any) -> Steps[Reflection]:
    if words is not None:
        raise NotAllowed("in which words a lesson is told is the server's to say", code=LOCAL_ONLY)
    return (yield from Asks("POST", f"{TRADING}/lessons/reflect", Reflection, named=OF).steps(given))  # type: ignore[no-any-return]


def _lesson(verb: str) -> Asks:
    return Asks("POST", f"{LESSON}/{verb}", Lesson)


def _bars(
    _: RemoteFace,
    source: Any,
    symbol: str | None = None,
    timeframe: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Steps[LoadedFile]:
    return (yield from _load_with_progress(_file("bars", source, symbol=symbol, timeframe=timeframe), progress))


def _events(_: RemoteFace, source: Any, progress: Callable[[int], None] | None = None) -> Steps[LoadedFile]:
    return (yield from _load_with_progress(_file("events", source), progress))


TRADING_ROOM = remote_face_of(
    Trading,
    {
        "skills": Asks("GET", f"{TRADING}/skills", list[Skill], "skills"),
        "skill": Asks("GET", SKILL, Skill, "skill"),
        "create_skill": Asks("POST", f"{TRADING}/skills", Skill),
        "set_field": _set_field,
        "field_history": Asks("GET", f"{SKILL}/fields", list[FieldVersion], "fields"),
        "deployments": Asks("GET", f"{TRADING}/deployments", list[Deployment], "deployments", OF),
        "deployment": Asks("GET", DEPLOYMENT, Deployment, "deployment"),
        "create_deployment": Asks("POST", f"{TRADING}/deployments", Deployment, named=OF),
        "change_deployment": _change_deployment,
        "load": _load,
        "bring_in": _bring_in,
        "loads": Asks("GET", f"{TRADING}/loads", list[Load], "loads"),
        "take_back": Asks("POST", f"{TRADING}/loads/{{load}}/undo", Load),
        "take_back_trade": Asks("POST", f"{TRADING}/trades/take-back", Load, named=OF),
        "split": Asks("POST", f"{TRADING}/splits", Load),
        "mappings": Asks("GET", f"{TRADING}/mappings", dict[str, dict[str, str]], "mappings"),
        "positions": Asks("GET", f"{TRADING}/positions", list[Position], "positions", OF),
        "trades": Asks("GET", f"{TRADING}/trades", Page[Trade], named=OF),
        "performance": Asks("GET", f"{TRADING}/performance", Performance, named=OF),
        "breakdown": Asks("GET", f"{TRADING}/breakdown", Breakdown, named=OF),
        "equity": Asks("GET", f"{TRADING}/equity", list[EquityPoint], "equity", OF),
        "events": Asks("GET", f"{TRADING}/events", Coming, named=OF),
        "reflect": _reflect,
        "lessons": Asks("GET", f"{TRADING}/lessons", list[Lesson], "lessons", OF),
        "pin": _lesson("pin"),
        "unpin": _lesson("unpin"),
        "retire": _lesson("retire"),
        "restore_lesson": _lesson("restore"),
    },
)
MARKET = remote_face_of(
    Market,
    {
        "load": _bars,
        "load_events": _events,
        "recent": Asks("GET", f"{TRADING}/bars", list[Bar], "bars"),
        "symbols": Asks("GET", f"{TRADING}/symbols", list[str], "symbols"),
        "event": Asks("GET", f"{TRADING}/market-events/{{id}}", Event | None, "event"),
    },
)


def remote_market(kb: Any) -> Any:
    """Prices that everybody there shares."""
    return MARKET(kb.connection, "")
