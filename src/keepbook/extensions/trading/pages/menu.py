"""Trading in the menu, and how the pages show files of trades."""

from keepbook.doors.http.web.frame.extension_pages import LoadPage, NavItem
from keepbook.doors.http.web.frame.visit import Visit

PLACES = (NavItem("trading", "Trading", "/trading", "trend", "d", hides_empty=True),)
LOADS = {"trades": LoadPage("/trading/import", "Bring in trades instead", "trading_loaded.html")}


def hidden(visit: Visit) -> set[str]:
    """Trading, until there is a skill."""
    if visit.book.trading.skills():
        return set()
    return {"trading"}
