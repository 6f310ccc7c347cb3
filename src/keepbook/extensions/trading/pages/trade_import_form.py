"""`/trading/import`: a broker's file, looked at before it is loaded.

Nothing is loaded by choosing a file. The page shows what it was recognised as, what each column means (to be changed
where it is no known export), the first trades as the book would read them, and the file's own profit beside ours. What
was chosen travels with the form, the file itself waits under a key (`uploads`); a larger one goes by the command line.
While it loads the count moves, and "Stop" ends it: then nothing of it stays, for half of a file would be paired
wrongly. It ends by leading to the page of the load, where one button takes it back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from keepbook.book.ledger.loads import TRADES
from keepbook.doors.http.web.frame import uploads
from keepbook.doors.http.web.frame.loading import LoadUnderWay, stop_load
from keepbook.doors.http.web.frame.numbers import plain_number
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, templates
from keepbook.doors.http.web.memory.import_page import earlier_loads
from keepbook.errors import Invalid, KeepbookError
from keepbook.extensions.trading.book.imports.file import FilePreview, preview_file
from keepbook.extensions.trading.book.imports.formats.plain_table import OURS
from keepbook.extensions.trading.book.imports.load import NET, ImportedTrades, read_before
from keepbook.extensions.trading.pages.pages import HOME

router: APIRouter = APIRouter(include_in_schema=False)

PATH = f"{HOME}/import"
MEANS = {
    "time": "Time", "symbol": "Symbol", "side": "Side", "quantity": "Quantity", "price": "Price", "fee": "Fee",
    "fee_currency": "Coin of the fee", "currency": "Currency of the price", "id": "Its id",
    "profit": "Profit, the file’s own", "multiplier": "Contract size",
    "entry_time": "Opened at", "exit_time": "Closed at", "entry_price": "Price in", "exit_price": "Price out",
    "funding": "Funding", "account": "Strategy or account", "tag": "Tag",
}  # fmt: skip
ShortField = Annotated[str, Form(max_length=400)]


@dataclass(frozen=True, slots=True)
class TradeImportChoices:
    """What stands in the form."""

    key: str = ""
    name: str = ""
    sent: bytes = b""
    deployment: str = ""
    symbol: str = ""
    currency: str = ""
    zone: str = "UTC"
    format: str = ""
    dates: str = ""


@router.get(PATH)
def choose(visit: Visiting, deployment: str = "") -> Response:
    return _page(visit, TradeImportChoices(deployment=deployment[:80]))


@router.post(PATH)
async def look(
    visit: Changing,
    request: Request,
    file: Annotated[UploadFile | None, File()] = None,
    key: ShortField = "",
    name: ShortField = "",
    deployment: ShortField = "",
    symbol: ShortField = "",
    currency: ShortField = "",
    zone: ShortField = "UTC",
    format: ShortField = "",
    dates: ShortField = "",
    act: ShortField = "look",
) -> Response:
    """Look at a file, or load the one that was looked at."""
    if file is not None and file.filename:
        sent = await file.read()
    else:
        sent = b""
    name = (file.filename if file is not None and file.filename else name)[:200]
    chosen = TradeImportChoices(
        key,
        name,
        sent,
        deployment.strip(),
        symbol.strip(),
        currency.strip(),
        zone.strip() or "UTC",
        format.strip()[:60],
        dates.strip()[:10],
    )
    told = {key.removeprefix("means-"): str(value) for key, value in (await request.form()).items() if "means-" in key}
    return await run_in_threadpool(
        _preview_response, visit, chosen, {ours: theirs for theirs, ours in told.items() if ours}, act
    )


def _preview_response(visit: Visit, chosen: TradeImportChoices, columns: dict[str, str], act: str) -> Response:
    found: FilePreview | None = None
    try:
        chosen = _with_its_file(uploads.Sender.of(visit), chosen)
        table = read_before(visit.book, chosen.sent, None, columns or None)
        found = preview_file(table, columns)
        told: dict[str, Any] = {
            "deployment": chosen.deployment or None, "symbol": chosen.symbol or None, "zone": chosen.zone,
            "dates": chosen.dates or None, "currency": chosen.currency or None,
            "columns": columns or None, "format": chosen.format or None if columns else None,
        }  # fmt: skip
        made = visit.book.trading.bring_in(table, **told, dry_run=True)
    except KeepbookError as error:
        return _page(visit, chosen, found, wrong=error)
    if act != "load":
        return _page(visit, chosen, found, made)
    book = visit.writing()
    load = LoadUnderWay(
        visit.caller.owner, max(1, made.rows),
        lambda progress: book.trading.bring_in(table, **told, progress=progress),
    )  # fmt: skip
    return StreamingResponse(_loading(visit, chosen, found, load), media_type="text/html")


def _loading(visit: Visit, chosen: TradeImportChoices, found: FilePreview, load: LoadUnderWay) -> Iterator[str]:
    """The page, as far as it has come: the count moves while the load writes."""
    load.begin()
    page = templates.get_template("trading_import.html")
    known = _form_context(visit, chosen, found) | {"load": load}
    yield from page.generate(visit=visit, zone=visit.zone, now=visit.now, **known)


@router.post(f"{PATH}/stop")
def stop(visit: Changing, key: ShortField = "") -> Response:
    """End a load that is under way: nothing of it stays."""
    load = stop_load(visit.writing().owner, key)
    return visit.page(
        "trading_import.html", **(_form_context(visit, TradeImportChoices()) | {"stopped": load, "stopping": True})
    )


def _with_its_file(sender: uploads.Sender, chosen: TradeImportChoices) -> TradeImportChoices:
    """The file that was just sent, kept under a key; else the one that was sent before."""
    if chosen.sent:
        return replace(chosen, key=uploads.keep_upload(sender, chosen.sent))
    if not chosen.key:
        raise Invalid("choose a file first", field="file")
    return replace(chosen, sent=uploads.find_upload(sender, chosen.key)[0])


def _page(
    visit: Visit,
    chosen: TradeImportChoices,
    found: FilePreview | None = None,
    made: ImportedTrades | None = None,
    wrong: KeepbookError | None = None,
) -> Response:
    return visit.page("trading_import.html", 422 if wrong else 200, **_form_context(visit, chosen, found, made, wrong))


def _form_context(
    visit: Visit,
    chosen: TradeImportChoices,
    found: FilePreview | None = None,
    made: ImportedTrades | None = None,
    wrong: KeepbookError | None = None,
) -> dict[str, Any]:
    if not found:
        earlier = earlier_loads(visit, TRADES)
    else:
        earlier = []
    return {
        "chosen": chosen, "found": found, "made": made, "wrong": wrong, "means": MEANS, "ours": list(OURS), "nets": NET,
        "deployments": list(visit.book.trading.deployments()), "figure": plain_number, "load": None, "stopped": None,
        "stopping": False, "earlier": earlier, "named": str,
        "most_bytes": visit.request.state.max_import,
    }  # fmt: skip
