"""Pages of this extension are looked at as those of the core are."""

from tests.doors.http.web.conftest import (
    alices_house,
    app,
    browser_address,
    browser_and_loop,
    chromium,
    client,
    engine_name,
    held_at,
    kb,
    npm,
    opens,
    person,
    site,
    talk,
    until,
)

__all__ = [
    "alices_house",
    "app",
    "browser_address",
    "browser_and_loop",
    "chromium",
    "client",
    "engine_name",
    "held_at",
    "kb",
    "npm",
    "opens",
    "person",
    "site",
    "talk",
    "until",
]
