"""The command line and the HTTP door as the tests of doors call them, and one browser for all pages."""

from tests.doors.conftest import ask, keepbook_command, run, run_without_book
from tests.doors.http.conftest import app, client, mine
from tests.doors.http.web.conftest import browser_and_loop, npm

__all__ = [
    "app",
    "ask",
    "browser_and_loop",
    "client",
    "keepbook_command",
    "mine",
    "npm",
    "run",
    "run_without_book",
]
