"""`/trading/import`: a broker's file, looked at before it is loaded.

Nothing is loaded by choosing a file. The page shows what it was recognised as, what each column means (to be changed
where it is no known export), the first trades as the book would read them, and the file's own profit beside ours. What
was chosen travels with the form, so that no script and no store is needed; a larger file goes by the command line.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.book.trading.imports.file import Seen, seen
from keepbook.book.trading.imports.formats.plain import OURS
from keepbook.book.trading.imports.load import NET, Imported
from keepbook.doors.http.web.agents.cards import figure
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.doors.http.web.trading.pages import HOME
from keepbook.errors import Invalid, KeepbookError

router = APIRouter(include_in_schema=False)

PATH = f"{HOME}/import"
LARGEST = 2_000_000
"""So many bytes travel with the page."""
MEANS = {
    "time": "Time", "symbol": "Symbol", "side": "Side", "quantity": "Quantity", "price": "Price", "fee": "Fee",
    "fee_currency": "Coin of the fee", "currency": "Currency of the price", "id": "Its id",
    "profit": "Profit, the file’s own", "multiplier": "Contract size",
    "entry_time": "Opened at", "exit_time": "Closed at", "entry_price": "Price in", "exit_price": "Price out",
    "funding": "Funding", "tag": "Tag",
}  # fmt: skip
Short = Annotated[str, Form(max_length=400)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What stands in the form."""

    name: str = ""
    sent: bytes = b""
    deployment: str = ""
    symbol: str = ""
    zone: str = "UTC"
    format: str = ""

    @property
    def packed(self) -> str:
        return base64.b64encode(self.sent).decode()


@router.get(PATH)
def choose(visit: Visiting, deployment: str = "") -> Response:
    return _page(visit, Chosen(deployment=deployment[:80]))


@router.post(PATH)
async def look(
    visit: Changing,
    request: Request,
    file: Annotated[UploadFile | None, File()] = None,
    packed: Annotated[str, Form()] = "",
    name: Short = "",
    deployment: Short = "",
    symbol: Short = "",
    zone: Short = "UTC",
    format: Short = "",
    act: Short = "look",
) -> Response:
    """Look at a file, or load the one that was looked at."""
    sent = await file.read() if file is not None and file.filename else _unpacked(packed)
    name = (file.filename if file is not None and file.filename else name)[:200]
    chosen = Chosen(name, sent, deployment.strip(), symbol.strip(), zone.strip() or "UTC", format.strip()[:60])
    told = {key.removeprefix("means-"): str(value) for key, value in (await request.form()).items() if "means-" in key}
    return await run_in_threadpool(_looked, visit, chosen, {ours: theirs for theirs, ours in told.items() if ours}, act)


def _looked(visit: Visit, chosen: Chosen, columns: dict[str, str], act: str) -> Response:
    book = visit.writing() if act == "load" else visit.book
    found: Seen | None = None
    try:
        if not chosen.sent:
            raise Invalid("choose a file first", field="file")
        if len(chosen.sent) > LARGEST:
            raise Invalid(
                "this file is too large for the page; load it with keepbook trading import trades", field="file"
            )
        found = seen(chosen.sent, columns)
        made = book.trading.bring_in(
            chosen.sent, deployment=chosen.deployment or None, symbol=chosen.symbol or None, zone=chosen.zone,
            columns=columns or None, format=chosen.format or None if columns else None, dry_run=act != "load",
        )  # fmt: skip
    except KeepbookError as error:
        return _page(visit, chosen, found, wrong=error)
    return _page(visit, chosen, found, made)


def _unpacked(packed: str) -> bytes:
    try:
        return base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _page(
    visit: Visit,
    chosen: Chosen,
    found: Seen | None = None,
    made: Imported | None = None,
    wrong: KeepbookError | None = None,
) -> Response:
    told: dict[str, Any] = {
        "chosen": chosen, "found": found, "made": made, "wrong": wrong, "means": MEANS, "ours": list(OURS), "nets": NET,
        "deployments": list(visit.book.trading.deployments()), "figure": figure,
    }  # fmt: skip
    return visit.page("trading_import.html", 422 if wrong else 200, **told)
