"""Pages of this extension are looked at as those of the core are."""

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
