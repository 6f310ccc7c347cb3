"""What trading adds to an installation: prices that everybody shares."""

from typing import TYPE_CHECKING

from keepbook.book.upkeep.reading_apart import limits_in
from keepbook.extensions.trading.book.market.face import Market

if TYPE_CHECKING:
    from keepbook.app import Keepbook


def market(kb: "Keepbook") -> Market:
    """Prices that everybody shares: `kb.market.load(lines)`."""
    return Market(kb._database, limits_in(kb.settings))
