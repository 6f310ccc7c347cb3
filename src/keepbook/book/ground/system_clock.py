"""The clock of this machine, and the day on which this package was built.

If a program passes a clock of its own, that one is not checked. The machine's clock is compared with the day of the
build, before which it cannot be, and on PostgreSQL with the server's clock, which is read by a statement that is sent
anyway (`ServerClock`). A checkout has no build day.
"""

from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import DateTime
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

BUILD_DAY = Path(__file__).parents[2] / "build_day.txt"
"""Written into a wheel by `scripts/build_day.py`."""


def utc_now() -> datetime:
    """What the machine's clock says."""
    return datetime.now(UTC)


@cache
def build_day() -> date | None:
    """The day on which this package was built; None in a checkout."""
    if BUILD_DAY.is_file():
        return date.fromisoformat(BUILD_DAY.read_text(encoding="ascii").strip())
    return None


class ServerClock(FunctionElement[datetime]):
    """What the database server's clock says, in a query; NULL where there is no server."""

    type: TypeEngine[datetime] = DateTime(timezone=True)
    inherit_cache: bool | None = True


@compiles(ServerClock)
def _no_server(*_: Any, **__: Any) -> str:
    return "NULL"


@compiles(ServerClock, "postgresql")
def _ask_server(*_: Any, **__: Any) -> str:
    return "clock_timestamp()"
