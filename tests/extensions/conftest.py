"""The command line and the HTTP door as the tests of doors call them."""

from tests.doors.conftest import ask, keepbook_command, run, run_without_book
from tests.doors.http.conftest import app, client, mine

__all__ = ["app", "ask", "client", "keepbook_command", "mine", "run", "run_without_book"]
