"""Pages are looked at as those of the core are: the fixtures for that, for whichever folder has tests of pages."""

from tests.doors.http.web.conftest import (
    alices_house,
    app,
    chromium,
    client,
    engine_name,
    held_at,
    kb,
    opens,
    person,
    site,
    talk,
    until,
)

__all__ = [
    "alices_house",
    "app",
    "chromium",
    "client",
    "engine_name",
    "held_at",
    "kb",
    "opens",
    "person",
    "site",
    "talk",
    "until",
]
