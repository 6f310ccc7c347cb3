"""Who may do what with trading: rows and operations for the table of `book/owners/authority.py`."""

from keepbook.book.owners.authority import READ, WRITE, authority_row

ROWS = {
    "trades": authority_row("read trading", READ, "yes yes no yes yes yes yes", "bound"),
    "trade": authority_row("load and write what was traded", WRITE, "yes yes no yes yes yes yes", "bound"),
    "skills": authority_row("create and change skills and deployments", WRITE, "yes no no no yes yes no"),
}

OPERATIONS = {
    "trading.read": "trades",
    "trading.write": "trade",
    "trading.skills": "skills",
    "trading.load": "trade",
    "lessons.change": "word",
}
