"""Who may do what with trading: rows and operations for the table of `book/owners/authority.py`."""

from keepbook.book.owners.authority import READ, WRITE, authority_row

ROWS = {
    "trades": authority_row("read trading", READ, "yes yes no yes yes yes yes", "bound"),
    "trade": authority_row("load and write what was traded", WRITE, "yes yes no yes yes yes yes", "bound"),
}

OPERATIONS = {
    "trading.read": "trades",
    "trading.write": "trade",
    "trading.load": "trade",
    "lessons.change": "word",
}
