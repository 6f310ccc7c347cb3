"""The documentation says what is there: every command, setting, code, field, tool and key, and none that is not.

The other half is form: links that lead somewhere, lines that fit, pages that can be read in a few minutes, plain words.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import typer
from sqlalchemy import CheckConstraint
from tests.docs.pages import (
    DOCS,
    PAGES,
    ROOT,
    anchor,
    blocks,
    headings,
    inline_code,
    links,
    name_of,
    named,
    prose,
    rows,
    section,
    text_of,
)
from tests.extensions.storage.every_table import BY_NAME
from tests.extensions.strangers import forgetting_strangers
from tests.sources import tree

from keepbook import Keepbook
from keepbook.book.book import Book, MemoryDetail
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.ground.limits import MODES
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory.links import RELATIONS, Link
from keepbook.book.memory.memories import REASONS, STATES, Memory, Version, Written
from keepbook.book.owners.choices import TIERS
from keepbook.book.recall.memories import Hit
from keepbook.doors.cli import command_line
from keepbook.doors.http.app import create_app
from keepbook.extensions.agents import tools as agents
from keepbook.extensions.trading import tools as trading
from keepbook.models.providers.failures import _CAUSES
from keepbook.presets import Argument, LineFormat, Preset, PresetTool, Selection, load_preset, preset_names
from keepbook.settings import default_of, known_settings
from keepbook.tools.definition import READS, ToolAnswer, define
from keepbook.tools.memory import OPERATIONS

SOURCE = ROOT / "src" / "keepbook"
COMMAND_LINE, GLOSSARY, REFERENCE = DOCS / "command-line.md", DOCS / "glossary.md", DOCS / "reference.md"
PRESETS, TOOLS, SESSIONS = DOCS / "presets.md", DOCS / "tools.md", DOCS / "sessions.md"
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
LOOKED_UP = {REFERENCE, COMMAND_LINE, GLOSSARY, DOCS / "README.md"}
"""Pages that nobody reads from top to bottom."""

LONGEST_LINE = 120
LONGEST_CHANGELOG = 75
MOST_WORDS = 1000  # some three to four minutes; tables are skimmed

SHOUTING = re.compile(r"!(?!\[)")
SELLING = re.compile(
    r"\b(?:amazing|blazing|cutting-edge|easily|effortless\w*|game-chang\w*|magic\w*|powerful|revolutionary|seamless\w*"
    r"|simply|state-of-the-art|supercharge\w*|world-class)\b",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\b(?!keepbook:)[a-z]+://(?:[\w.:-]*@)?([\w.-]+)")
PLACES = {"localhost", "user", "host"}
"""Hosts that an example may name."""


# --- form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_line_is_too_long(page: Path) -> None:
    long = [number for number, line in enumerate(text_of(page).splitlines(), 1) if len(line) > LONGEST_LINE]
    assert not long


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_one_title_and_can_be_read_in_a_few_minutes(page: Path) -> None:
    text = text_of(page)
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", prose(page), re.MULTILINE)) == 1
    if page not in LOOKED_UP:
        assert len(re.findall(r"\w+", prose(page))) <= MOST_WORDS


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_words_are_plain(page: Path) -> None:
    words = prose(page)
    assert SHOUTING.findall(words) == []
    assert SELLING.findall(words) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_names_a_real_host(page: Path) -> None:
    assert set(ADDRESS.findall(text_of(page))) <= PLACES


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in links(page):
        path, _, part = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (part and part not in map(anchor, headings(target))):
            dead.append(link)
    assert not dead


def test_every_page_is_linked_from_the_front() -> None:
    fronts = [ROOT / "README.md", DOCS / "README.md"]
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in fronts for link in links(page)}
    assert [name_of(page) for page in PAGES if page not in {*linked, fronts[0]}] == []


def test_decisions_are_numbered_and_say_context_choice_consequences() -> None:
    assert [page.name[:4] for page in DECISIONS] == [f"{number:04}" for number in range(1, len(DECISIONS) + 1)]
    for page in DECISIONS:
        title, *parts = headings(page)
        assert title.startswith(page.name[:4])
        assert parts == ["Context", "Choice", "Consequences"]


def test_the_changelog_tells_what_is_new() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = text.partition("\n## ")[2].partition("\n## ")[0]
    assert re.findall(r"^- .+", newest, re.MULTILINE), "say what the next release brings"
    lines = newest.splitlines()
    assert len(lines) <= LONGEST_CHANGELOG, "one page: what a user would notice, not how it came about"
    assert not [line for line in lines if len(line) > LONGEST_LINE]


# --- what one can run ------------------------------------------------------------------------------------


def _commands_now() -> set[str]:
    """Every command there is with the settings in force."""

    def under(command: Any, path: str) -> Iterator[str]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield path
            return
        for name, each in inner.items():
            yield from under(each, f"{path} {name}".strip())

    return set(under(typer.main.get_command(command_line()), ""))


@cache
def _commands() -> set[str]:
    return _commands_now()


def _command_in(line: str, known: set[str] | None = None) -> str | None:
    """The command that a line `keepbook … …` runs: the longest one that its words begin with."""
    words = re.findall(r"\S+", line)
    for length in (3, 2, 1):
        if (name := " ".join(words[1 : 1 + length])) in (_commands() if known is None else known):
            return name
    return None


def _commands_on(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The commands that a reader of this page has, those of an extension that its own files make among them."""
    code = "\n".join(block.code for block in blocks(page))
    turned_on = re.findall(r"export KEEPBOOK_EXTENSIONS=(\S+)", code)
    if not turned_on:
        return _commands()
    for block in blocks(page):
        if block.file is not None and block.language == "python":
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.code, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("KEEPBOOK_EXTENSIONS", turned_on[-1])
    with forgetting_strangers():
        return _commands_now()


def test_the_command_line_page_has_every_command_and_no_other() -> None:
    told = [code for code in named(text_of(COMMAND_LINE)) if code.startswith("keepbook ")]
    assert [code for code in told if _command_in(code) is None] == []
    assert {_command_in(code) for code in told} == _commands()


def test_every_command_has_an_example() -> None:
    shown = {
        _command_in(line[line.index("keepbook ") :])
        for block in blocks(COMMAND_LINE)
        if block.language == "sh"
        for line in block.code.splitlines()
        if "keepbook " in line
    }
    assert _commands() - shown == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_invents_a_command(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*inline_code(page), *(line for block in blocks(page) for line in block.code.splitlines())]
    known = _commands_on(page, tmp_path, monkeypatch)
    told = [line for line in lines if re.match(r"keepbook [a-z]", line)]
    assert [line for line in told if _command_in(line, known) is None] == []


def test_the_commands_of_an_extension_are_known_on_the_page_that_makes_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = DOCS / "how-to" / "write-an-extension.md"
    added = _commands_on(page, tmp_path, monkeypatch) - _commands()
    assert added == {"plants add", "plants list"}
    assert _command_in("keepbook plants list") is None
    assert _command_in("keepbook plants burn", added) is None


def test_the_options_that_every_command_takes_are_told() -> None:
    root = typer.main.get_command(command_line())
    own = {option for each in root.params for option in each.opts if not getattr(each, "hidden", False)}
    told = {code.split()[0] for code in named(text_of(COMMAND_LINE)) if code.startswith("--")}
    assert told == own - {"--version", "--install-completion", "--show-completion", "--help", "-h"}


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    code = [*(block.code for page in PAGES for block in blocks(page)), *(" ".join(inline_code(page)) for page in PAGES)]
    told = {target for text in code for target in re.findall(r"\bmake ([a-z-]+)", text)}
    assert {"run", "test"} <= told
    assert [target for target in told if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_every_path_of_the_api_is_told() -> None:
    """By its last word: a page that names `/fields` tells of `/api/trading/skills/{id}/fields`."""
    told = "".join(text_of(ROOT / "docs" / name) for name in ("http.md", "trading-tools.md"))
    with Keepbook(":memory:", embedder="none") as kb:
        paths = create_app(kb).openapi()["paths"]
    last = {path: [word for word in path.split("/") if word and not word.startswith("{")][-1] for path in paths}
    assert last
    assert [path for path, word in last.items() if not re.search(rf"/{re.escape(word)}\b", told)] == []


def test_extras_to_install_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = {extra for page in PAGES for extra in re.findall(r"(?:keepbook|\.)\[([a-z]+)\]", text_of(page))}
    assert told
    assert told <= set(project["optional-dependencies"])


# --- settings and errors ---------------------------------------------------------------------------------


def _default(name: str) -> str:
    """A setting's default as the table shows it."""
    if name == "owner":
        return "the system user"
    value = default_of(name)
    if value is None:
        return "none"
    return f"`{value}`".replace(str(Path.home()), "~")


def test_every_setting_is_told_with_its_variable_and_default() -> None:
    told = {cells[0]: cells[1:3] for cells in rows(section(REFERENCE, "Settings"))}
    real = {f"`{name}`": [f"`KEEPBOOK_{name.upper()}`", _default(name)] for name in known_settings()}
    assert told == real


def _codes() -> dict[str, set[str]]:
    """Every code that something is raised with, and the errors that carry it."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(tree(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                for keyword in node.keywords:
                    if keyword.arg == "code" and isinstance(keyword.value, ast.Constant):
                        found.setdefault(str(keyword.value.value), set()).add(node.func.id)
    for state in STATES[1:]:  # the state of a memory is the code where it stands in the way
        found.setdefault(state, set()).add("Conflict")
    for node in tree((SOURCE / "errors.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
                    found.setdefault(str(line.value.value), set()).add(node.name)
    return found


def test_every_error_code_is_told_with_its_error_and_what_to_do() -> None:
    told = {cells[0].strip("`"): cells[1:] for cells in rows(section(REFERENCE, "Errors"))}
    real = _codes()
    assert set(told) == set(real)
    assert {code: cells[0].strip("`") for code, cells in told.items() if {cells[0].strip("`")} != real[code]} == {}
    assert all(cells[1] for cells in told.values())


def test_codes_of_the_command_line_alone_are_told() -> None:
    source = (SOURCE / "doors" / "cli" / "__init__.py").read_text(encoding="utf-8")
    own = set(re.findall(r'\.say\(\d+, "([a-z_]+)"', source))
    assert own
    assert own <= set(re.findall(r"`([a-z_]+)`", section(REFERENCE, "Errors")))


def test_every_cause_of_a_failing_model_is_told() -> None:
    last = section(REFERENCE, "Errors").rstrip().split("\n\n")[-1]
    told = set(re.findall(r"`([a-z_]+)`", last))
    assert {cause for _, cause, _ in _CAUSES} | {"garbage"} <= told


# --- shapes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "shape", "above"),
    [
        ("A memory", Memory, None),
        ("Answers to writes", Written, Memory),
        ("A hit", Hit, Memory),
        ("A full memory", MemoryDetail, Memory),
        ("A version", Version, None),
        ("A link", Link, None),
        ("An entry", Entry, None),
    ],
)
def test_every_field_of_a_shape_is_told(heading: str, shape: Any, above: Any) -> None:
    inherited = {field.name for field in fields(above)} if above else set()
    own = [field.name for field in fields(shape) if field.name not in inherited]
    assert named(section(REFERENCE, heading)) == own


def test_every_method_of_a_book_is_told() -> None:
    public = {name for kind in Book.__mro__[:-1] for name in vars(kind) if not name.startswith("_")}
    assert set(named(section(REFERENCE, "Methods of a book"))) == public


def test_every_field_of_an_answer_is_told() -> None:
    assert named(section(TOOLS, "The answer"))[: len(fields(ToolAnswer))] == [
        field.name for field in fields(ToolAnswer)
    ]


def test_every_way_a_closing_can_end_is_told() -> None:
    told = set(named(section(SESSIONS, "What closing does"))) - {"status"}
    assert told == set(re.findall(r"\b(\w+)\b(?= \(|,|\.)", str(ClosingResult.__doc__).partition("`status`:")[2])) - {
        "said"
    }


# --- presets and tools -----------------------------------------------------------------------------------

SHIPPED = [load_preset(name) for name in preset_names()]


def _keys(kind: Any, path: str = "") -> Iterator[str]:
    """The keys of a TOML file, dotted, as the dataclasses know them."""
    for field in fields(kind):
        key = f"{path}{field.name.rstrip('_')}"
        yield key
        hint = get_type_hints(kind)[field.name]
        inner = [each for each in (hint, *get_args(hint)) if is_dataclass(each) and get_origin(each) is None]
        for each in inner:
            yield from _keys(each, f"{key}.")


def test_every_key_of_a_preset_is_told() -> None:
    table = section(PRESETS, "Every key").partition("`does` is one of")[0]
    told = named(table)
    assert {Selection, LineFormat, PresetTool, Argument} <= set(map(type, _parts(SHIPPED[0])))
    assert set(told) == set(_keys(Preset))
    assert len(told) == len(set(told))


def _parts(preset: Preset) -> Iterator[Any]:
    yield preset.selection
    yield preset.line
    for tool in preset.tools:
        yield tool
        yield from tool.arguments.values()


def test_the_four_presets_are_told_as_they_are() -> None:
    told = {cells[0].strip("`"): cells for cells in rows(section(PRESETS, "The four"))}
    assert set(told) == {preset.name for preset in SHIPPED}
    for preset in SHIPPED:
        assert told[preset.name][4:] == [f"`{preset.consent}`", f"`{preset.on_close}`"]
        assert preset.selection.kind in told[preset.name][3] or preset.selection.kind == "recent"
        assert ", ".join(preset.categories) in " ".join(section(PRESETS, "The four").split())
        if preset.selection.total:
            assert f"{preset.selection.total:,}" in told[preset.name][3]


def test_every_operation_is_told_with_its_arguments() -> None:
    table = section(PRESETS, "Every key").partition("`does` is one of")[2]
    told = {cells[0].strip("`"): cells[1].split(", ") for cells in rows(table)}
    real = {
        name: list(define(operation.function, annotations=operation.annotations).arguments)
        for name, operation in OPERATIONS.items()
    }
    assert told == real
    assert set(OPERATIONS) <= set(re.findall(r"`(\w+)`", table.partition("\n\n")[0]))


def _shown(name: str, argument: Argument) -> str:
    if argument.default is None:
        return name if argument.required else f"{name}?"
    value = argument.default
    return f"{name}={str(value).lower() if isinstance(value, bool | int | float) else chr(34) + str(value) + chr(34)}"


def _signature(tool: PresetTool) -> str:
    return f"{tool.name}({', '.join(_shown(*each) for each in tool.arguments.items())})"


@pytest.mark.parametrize("preset", SHIPPED, ids=lambda preset: preset.name)
def test_the_tools_of_each_preset_are_told(preset: Preset) -> None:
    part = section(TOOLS, "The tools of each preset").partition(f"\n`{preset.name}`\n")[2]
    listed = re.match(r"\n((?:- .+\n)+)", part)
    assert listed
    told = re.findall(r"^- `(.+?)`(.*)$", listed[1], re.MULTILINE)
    assert [signature for signature, _ in told] == [_signature(tool) for tool in preset.tools]
    assert [bool(remark) for _, remark in told] == [tool.outside for tool in preset.tools]


@pytest.mark.parametrize(
    ("page", "function"),
    [(DOCS / "trading-tools.md", function) for function, _ in trading.TOOLS]
    + [(TOOLS, one.naming or one.function) for one in agents.TOOLS],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_the_tools_of_trading_and_agents_are_told(page: Path, function: Any) -> None:
    defined = {one.naming or one.function: one.function.__name__ for one in agents.TOOLS}
    tool = define(partial(function, None), name=defined.get(function), annotations=READS)
    said = f"{tool.name}({', '.join(_shown(*each) for each in tool.arguments.items())})"
    assert f"`{said}`" in text_of(page), f"write its line in {page.name}"


# --- words -----------------------------------------------------------------------------------------------


@cache
def _glossary() -> set[str]:
    return {word for pair in re.findall(r"\*\*([^*]+)\*\*|`([^`]+)`", text_of(GLOSSARY)) for word in pair if word}


def test_every_word_that_a_column_may_hold_is_in_the_glossary() -> None:
    allowed = {
        word
        for table in BY_NAME.values()
        for constraint in [*table.constraints, *(each for column in table.c for each in column.constraints)]
        if isinstance(constraint, CheckConstraint)
        for listed in re.findall(r"IN \(('[^)]+)\)", str(constraint.sqltext))
        for word in re.findall(r"'([^']+)'", listed)
    }
    assert len(allowed) > 20
    assert allowed - _glossary() == set()


def test_every_word_of_the_rules_is_in_the_glossary() -> None:
    words = {*STATES, *REASONS, *TIERS, *MODES, "silent", "visible", "ask"}
    assert words - _glossary() == set()
    assert set(RELATIONS) & _glossary()


def test_the_words_of_the_house_are_in_the_glossary_once() -> None:
    words = [word for cells in rows(text_of(GLOSSARY)) for word in re.findall(r"\*\*([^*]+)\*\*|^`([^`]+)`", cells[0])]
    terms = [word for pair in words for word in pair if word]
    assert len(terms) == len(set(terms))
    house = {"owner", "memory", "version", "ledger", "entry", "event", "block", "preset", "link"}
    assert house | {"session", "thread", "turn", "injection"} <= set(terms)
    assert all(len(cells) == 2 and cells[1] for cells in rows(text_of(GLOSSARY)))
