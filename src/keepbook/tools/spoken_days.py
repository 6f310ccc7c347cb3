"""Days as a tool is given and says them: in words, and in the owner's zone."""

from datetime import datetime

from keepbook.book.book import Book
from keepbook.book.ground.when import parse_date_words, zone_named


def moment_of(book: Book, said: str | None, field: str) -> str | None:
    """A date or plain words ("last Friday"), as said now where the owner lives."""
    if not said or not said.strip():
        return None
    return parse_date_words(said, moment=book.now, zone=book.zone, end=field == "until", field=field)


def zoned_day(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(zone_named(zone)):%Y-%m-%d}"
