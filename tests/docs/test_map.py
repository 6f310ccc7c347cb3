"""The map is true: every place it names is there, every room is on it, and the glossary knows every door."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, blocks, inline_code, name_of, rows, section, text_of
from tests.sources import tree

SOURCE = ROOT / "src" / "keepbook"
MAP, CONTRIBUTING, GLOSSARY = DOCS / "architecture.md", ROOT / "CONTRIBUTING.md", DOCS / "glossary.md"
PICTURE = DOCS / "pictures" / "house.svg"

PLACE = re.compile(r"(?!/)[\w./*-]+(?:/|\.(?:py|toml|md|sql|html|txt))")


def _places(page: Path) -> Iterator[str]:
    """What a page names as a file or folder, in its text and in its examples."""
    words = [*inline_code(page), *(word for block in blocks(page) for word in block.code.split())]
    return (word.rstrip(",;") for word in words if PLACE.fullmatch(word.rstrip(",;")))


def _found(place: str) -> bool:
    """From the top or anywhere in the package: beside a path, its neighbours go by their bare names. NAME is any."""
    pattern = place.rstrip("/").replace("NAME", "*")
    return any(ROOT.glob(pattern)) or any(SOURCE.rglob(pattern))


@pytest.mark.parametrize("page", [MAP, CONTRIBUTING], ids=name_of)
def test_every_place_that_a_page_names_exists(page: Path) -> None:
    named = list(_places(page))
    assert len(named) > 5
    assert [place for place in named if not _found(place)] == []


@pytest.mark.parametrize("place", ["book/memory/no_such.py", "presets/NAME.sql", "book/cellar/", "no_such.py"])
def test_the_check_of_places_sees_what_is_not_there(place: str) -> None:
    assert PLACE.fullmatch(place)
    assert not _found(place)


def _named_folders() -> set[str]:
    """Folders of the package that the map names, also by something in them; in a table a bare name lies in its room."""
    places = set(_places(MAP))
    for cells in rows(section(MAP, "The rooms")):
        room, *names = re.findall(r"`([^`]+/)`", " ".join(cells)) or [""]
        places |= {room + name for name in names}
    return {f"{folder}/" for place in places for folder in (place.rstrip("/"), *map(str, Path(place).parents))}


def test_every_room_is_on_the_map_however_deep_it_lies() -> None:
    rooms = {f"{folder.parent.relative_to(SOURCE).as_posix()}/" for folder in SOURCE.rglob("__init__.py")} - {"./"}
    assert {"extensions/agents/book/cards/", "doors/http/web/frame/", "storage/migrations/versions/"} <= rooms
    assert rooms - _named_folders() == set()
    assert {"book/cellar/", "doors/http/web/cellar/"}.isdisjoint(_named_folders())


def test_what_stands_in_the_hall_is_on_the_map() -> None:
    told = set(inline_code(MAP))
    assert [path.name for path in SOURCE.glob("*.py") if not path.name.startswith("_") and path.name not in told] == []


def test_the_picture_shows_rooms_that_are_there_and_every_room_of_the_book_and_of_models() -> None:
    shown = set(re.findall(r'class="mono"[^>]*>([^<]+)<', text_of(PICTURE)))
    assert [place for place in shown if not (SOURCE / place).exists()] == []
    rooms = {
        f"{floor}/{folder.name}"
        for floor in ("book", "models")
        for folder in (SOURCE / floor).iterdir()
        if any(folder.glob("*.py"))
    }
    assert rooms - shown == set()


def test_the_map_tells_the_way_from_each_door() -> None:
    told = {cells[0] for cells in rows(section(MAP, "The way of a sentence"))}
    assert told == {"Python", "command line", "HTTP", "pages", "MCP", "Telegram"}


def test_the_map_says_how_many_imports_look_up() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    assert sum(len(one.get("ignore_imports", ())) for one in contracts) == 7
    assert "seven exceptions" in " ".join(text_of(MAP).split())


def test_the_map_tells_what_to_touch_for_each_thing_one_adds() -> None:
    told = set(re.findall(r"^- \*\*an? ([^*]+)\*\*", section(MAP, "To add …"), re.MULTILINE))
    asked = {"memory operation", "preset", "card type", "tool", "door", "page", "engine", "embedder", "importer"}
    assert asked <= told


def test_every_door_of_the_code_is_in_the_glossary() -> None:
    told = {word for cells in rows(section(GLOSSARY, "Doors")) for word in re.findall(r"`([^`]+)`", cells[0])}
    doors = {door for path in SOURCE.rglob("*.py") for door in _doors(path.read_text(encoding="utf-8"))}
    assert {"python", "cli", "http", "web", "mcp", "telegram", "close", "jobs"} <= doors
    assert doors <= told


def _doors(source: str) -> Iterator[str]:
    """The words under which a book is opened: `door="cli"`, the second of an `Origin` or of a caller's `book`."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [each.value for each in node.keywords if each.arg == "door"]
            given += node.args[1:2] if name in {"Origin", "book"} else []
            yield from (each.value for each in given if isinstance(each, ast.Constant))
        elif isinstance(node, ast.FunctionDef):
            named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from (each.value for arg, each in named if arg.arg == "door" and isinstance(each, ast.Constant))
