"""A line of the log is one line, whatever a name, a path or an error holds."""

import io
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import keepbook
from keepbook import jobs
from keepbook.book.ground.one_line_log import get_logger
from keepbook.doors.http.log import JsonLineFormatter
from keepbook.settings import Settings

FORGED = "x\n2026-01-01 INFO all is well\r\x85\u2028\x1b[2J\u202e"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What a program's own handler writes, with the format that most programs have."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    logging.getLogger().addHandler(handler)
    yield stream
    logging.getLogger().removeHandler(handler)


def test_a_name_cannot_begin_a_line_of_the_log(tmp_path: Path, written: io.StringIO) -> None:
    (tmp_path / "file").touch()
    swept = jobs.SweepResult()
    folder = tmp_path / "file" / FORGED
    jobs.keep_copies(str(tmp_path / "book.db"), folder, Settings.of_nobody(), datetime.now(UTC), swept)
    lines = written.getvalue().splitlines()
    assert len(lines) == 1
    assert "no copy was made" in lines[0]
    assert "\x1b" not in lines[0]


def test_an_error_is_told_in_one_line_of_its_own(written: io.StringIO) -> None:
    try:
        raise RuntimeError(FORGED)
    except RuntimeError:
        get_logger("keepbook.tried").exception("it broke for %s", FORGED)
    first, second = written.getvalue().splitlines()
    assert first.startswith("ERROR keepbook.tried it broke for x\\n2026")
    assert second.startswith("Traceback: test_one_line_log.py:")
    assert "RuntimeError('x\\n2026" in second


def test_a_line_of_json_is_one_line_for_every_reader() -> None:
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "x.py", 1, "of %s", (FORGED,), None)
    assert len(JsonLineFormatter().format(record).splitlines()) == 1


def test_every_log_of_the_package_is_made_so() -> None:
    """Loggers of others are only set up where a server or a bot begins."""
    source = Path(keepbook.__file__).parent
    made = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "getLogger(__name__)" in path.read_text(encoding="utf-8")
        or 'getLogger("keepbook' in path.read_text(encoding="utf-8")
    }
    # One sets how much of the package's log is shown; the others, below this module, log codes alone, and what a server
    # that is away says, in one line of their own making.
    assert made == {"doors/http/log.py", "storage/database.py", "storage/transactions/behind.py"}
