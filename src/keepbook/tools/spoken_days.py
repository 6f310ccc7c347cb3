"""Days as a tool says them: in the owner's zone."""

from datetime import datetime

from keepbook.book.ground.when import zone_named


def zoned_day(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(zone_named(zone)):%Y-%m-%d}"
