"""What moving, restoring and taking back asks of trading: days are folded anew, a load of trades goes as it came."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger.ledger import Origin
from keepbook.book.ledger.loads import TRADES, Arrival
from keepbook.book.upkeep.hooks import SharedVerification
from keepbook.extensions.trading.book import days, skills
from keepbook.extensions.trading.book.imports.take_back import take_back_ahead, take_back_trades
from keepbook.storage.database import Tx

LOADS = (TRADES,)
THINGS = ("skill", "deployment")
SHARED = "market"


def after_restore(tx: Tx) -> tuple[str, ...]:
    """Fold the days of trading, which no export holds."""
    days.mark_all(tx)
    days.fold_marked_days(tx)
    return ()


def older_line(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001  one shape for every hook
    """What the first format of an export did not say of a trade."""
    if kind == "trade":
        return {"batch": 1}
    return {}


def take_back_first(book: OpenBook, load: Arrival) -> None:
    book.ask("trading.load")
    take_back_ahead(book, load.nth)


def take_back(book: OpenBook, tx: Tx, load: Arrival) -> None:
    book.ask("trading.load")
    take_back_trades(tx, book.origin, load.nth)


def set_thing(tx: Tx, origin: Origin, what: str, id: str, values: Mapping[str, Any]) -> None:
    """Set a skill or a deployment back to what an entry found."""
    if what == "skill":
        (skills.set_skill_back)(tx, origin, id, values)
    else:
        (skills.set_deployment_back)(tx, origin, id, values)


def verify_shared(kb: Any, anchor: Path | None = None) -> SharedVerification:
    """Bars and events against the files that brought them."""
    found = kb.market.verify(anchor=anchor)
    batches = f"{found.batches:,} {'batch' if found.batches == 1 else 'batches'}"
    sources = f"{found.sources:,} {'source' if found.sources == 1 else 'sources'}"
    holds = ""
    if found.sources:
        holds = f"Bars and events hold: {batches} from {sources}, as they came."
    return SharedVerification(found, holds, "the market data do not hold", found.why)
