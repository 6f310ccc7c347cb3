"""The command line with the extensions of this package: what they add, and that nobody waits for them."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.doors.cli.test_extensions import stranger, turn_on, words
from tests.doors.cli.test_process import place, program
from tests.doors.conftest import Run

import keepbook
from keepbook import Keepbook

__all__ = ["place", "stranger"]
Ask = Callable[..., Any]
SOURCE = Path(keepbook.__file__).parent
SIGNED = re.compile(r"\{[^{}\n]*:\+[,.].{0,6}|%\+[.\d].{0,4}")
"""A format with a sign and without `z`."""


def test_each_extension_adds_its_commands_and_none_is_there_without(monkeypatch: pytest.MonkeyPatch) -> None:
    core = words(monkeypatch)
    assert not {"agent", "run", "trading"} & set(core)
    assert set(words(monkeypatch, "agents")) - set(core) == {"agent", "run"}
    assert set(words(monkeypatch, "trading")) - set(core) == {"trading"}


def test_doctor_names_the_extensions_and_what_a_preset_misses(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("remember", "Likes tea")

    def checks(*line: str) -> dict[str, Any]:
        return {check["name"]: check for check in ask("doctor", *line)["checks"]}

    both = checks("--preset", "coach")
    assert {"extension agents", "extension trading"} <= both.keys()
    assert both["extension trading"]["value"].startswith("version 1: skills, ")
    assert both["preset"]["advice"] is None
    turn_on(monkeypatch, "agents")
    one = checks("--preset", "coach")
    assert "extension trading" not in one
    assert one["preset"]["advice"] == "coach works without trading figures here; add trading to extensions"
    turn_on(monkeypatch)
    assert checks()["extensions"]["value"] == "none is on"


@pytest.mark.usefixtures("stranger")
def test_a_strangers_commands_stand_after_all_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    turn_on(monkeypatch, "agents", "trading", "strange_habits:HABITS")
    assert run("habit", "list").out == "No habits.\n"
    assert "`keepbook habit list` shows what there is" in run("habit", "show").err
    help = run("--help").out
    assert help.index("─ Trading ") < help.index("─ Habits ")


def test_help_and_version_are_shown_whatever_the_settings_say(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    turn_on(monkeypatch, "nobodys")
    assert run("--version").code == 0
    assert "─ Agents " in run("--help").out
    assert "there is no extension 'nobodys'" in run("habit", "list").err
    monkeypatch.setenv("KEEPBOOK_PORT", "none")
    assert run("--help").code == 0


def test_a_line_of_the_core_loads_no_extension_to_find_its_command() -> None:
    script = "import sys; from keepbook.doors.cli import _needed_parts; print(_needed_parts(['list'])[0], *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    part, *loaded = done.stdout.split()
    assert part == "['commands.memory_read']"
    assert not {"keepbook.settings", "keepbook.extensions", "keepbook.extensions.agents"} & set(loaded)


def test_help_loads_neither_the_engine_nor_the_settings() -> None:
    """Otherwise it takes seconds on a slow machine."""
    script = (
        "import sys; from keepbook.doors.cli import main; main(['--help']);print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert not loaded & {"sqlalchemy", "alembic", "pydantic", "psycopg"}


@pytest.mark.parametrize(
    "line", [["list"], ["remember", "I like green tea very much", "--tag", "drinks"], ["recall", "tea"]]
)
def test_a_line_loads_only_what_it_names(place: Path, line: list[str]) -> None:
    """A book is listed and written without the other database, what validates and migrates, the stems of words, agents,
    trades, or what parses an import."""
    program("remember", "I like green tea")
    script = f"import sys; from keepbook.doors.cli import main; main({line}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout
    loaded = set(done.stderr.split())
    assert not loaded & {
        "alembic", "croniter", "pydantic", "sqlalchemy.dialects.postgresql", "keepbook.extensions.trading.book.trades",
        "keepbook.extensions.agents.commands", "keepbook.doors.cli.commands.transfer",
    }  # fmt: skip
    stemmers = {name.rpartition(".")[2] for name in loaded if name.endswith("_stemmer")}
    assert stemmers == (set() if line[0] == "list" else {"english_stemmer"})
    assert len(loaded) <= MOST_MODULES


MOST_MODULES = 600


def test_no_figure_is_shown_as_less_than_nothing_and_nothing() -> None:
    """`-0.00 R`: a sign is asked for with `z` before the places."""
    shown = [path for kind in ("*.py", "*.html") for path in (SOURCE / "extensions").rglob(kind)]
    assert len(shown) > 100
    signed = [f"{path.name}: {found}" for path in shown for found in SIGNED.findall(path.read_text(encoding="utf-8"))]
    assert signed == []


PROGRAM = """
import sys
from keepbook.doors.cli import main
for line in (["list"], ["recall", "tea"]):
    assert main([*line, "--json", "--owner", "alice", "--db", sys.argv[1]]) == 0
print(*(name for name in sys.modules if name.endswith("tables") and ".extensions." in name), file=sys.stderr)
"""


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_question_loads_no_tables_of_extensions(book_url: str) -> None:
    with Keepbook(book_url) as kb:  # making the book, and writing in it, takes them all
        kb.book("alice").remember("Likes tea")
    done = subprocess.run([sys.executable, "-c", PROGRAM, book_url], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
