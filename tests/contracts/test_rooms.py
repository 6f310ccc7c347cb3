"""The rooms of the house, checked: no import in a circle, few rooms, few modules in each, a sign at every door.

What needs a list of exceptions finds it in house.toml, each with its reason; an exception nobody needs fails too.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
from tests.sources import tree

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src" / "keepbook", ROOT / "tests"
HOUSE = tomllib.loads((Path(__file__).parent / "house.toml").read_text(encoding="utf-8"))

MOST_ROOMS = 11
MOST_MODULES = 15
LONGEST_SIGN = 4
SPAN_PARTS = {"contracts", "docs"}
"""Folders of tests that belong to no room: what they hold to spans several."""


def _modules(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]


def _packages() -> list[Path]:
    return [SOURCE, *(folder for folder in sorted(SOURCE.rglob("*")) if folder.is_dir() and any(folder.glob("*.py")))]


# --- imports ---------------------------------------------------------------------------------------------


def _circle(nodes: Iterable[str], imported_by: Callable[[str], Iterable[str]]) -> list[str]:
    """Modules that import each other in a circle, the first at both ends; none if there is no circle."""
    sorter = TopologicalSorter({node: set(imported_by(node)) for node in sorted(nodes)})
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("keepbook", cache_dir=None)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = _graph()
    assert len(graph.modules) > 200
    assert _circle(graph.modules, graph.find_modules_directly_imported_by) == []


@pytest.mark.parametrize(
    ("imports", "circle"),
    [
        ({"a": "bc", "b": "c", "c": ""}, set()),
        ({"a": "b", "b": "c", "c": "a"}, {"a", "b", "c"}),
        ({"a": "b", "b": "c", "c": "b"}, {"b", "c"}),
    ],
)
def test_the_check_of_circles_sees_them(imports: dict[str, str], circle: set[str]) -> None:
    assert set(_circle(imports, imports.__getitem__)) == circle


# --- rooms -----------------------------------------------------------------------------------------------


def test_the_book_has_few_rooms() -> None:
    rooms = [folder.name for folder in (SOURCE / "book").iterdir() if any(folder.glob("*.py"))]
    assert 1 < len(rooms) <= MOST_ROOMS


def test_no_folder_is_crowded() -> None:
    folders = [folder for top in (ROOT / "src", TESTS) for folder in top.rglob("*") if folder.is_dir()]
    crowded = {
        folder.relative_to(ROOT).as_posix(): count
        for folder in [TESTS, *folders]
        if (count := len(_modules(folder))) > MOST_MODULES
    }
    allowed = HOUSE["crowded_folders"]
    assert {name: count for name, count in crowded.items() if name not in allowed} == {}
    assert allowed.keys() - crowded.keys() == set(), "no longer crowded: take it out of house.toml"
    assert all(allowed.values()), "each exception gives its reason"


@pytest.mark.parametrize("room", _packages(), ids=lambda room: room.relative_to(SOURCE.parent).as_posix())
def test_a_room_has_a_sign_that_says_what_it_holds(room: Path) -> None:
    sign = room / "__init__.py"
    assert sign.is_file()
    says = ast.get_docstring(tree(sign.read_text(encoding="utf-8"))) or ""
    first = says.split("\n\n")[0].splitlines()
    assert 1 <= len(first) <= LONGEST_SIGN
    named = {word for word in re.findall(r"`([^`]+)`", says) if word.isidentifier()}
    assert named - _known_in(room) == set(), "the sign names what is not there"


def _known_in(room: Path) -> set[str]:
    """What lies in a room, by its name: modules, rooms, files of data, and what modules define."""
    files = {path.stem for path in room.iterdir()}
    return files | {name for module in room.glob("*.py") for name in _defined(module)}


def _defined(module: Path) -> Iterator[str]:
    for node in tree(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def _place(module: Path) -> str:
    """Where a module stands; modules that are one part of several extensions, in one place: `extensions/*/PART`."""
    inside = module.relative_to(SOURCE)
    if inside.parts[0] != "extensions":
        return inside.as_posix()
    part = Path(*inside.parts[2:]).with_suffix("").as_posix()
    return f"extensions/*/{part}" if part in HOUSE["extension_parts"] else inside.as_posix()


def test_extensions_call_the_same_part_the_same() -> None:
    for part, meaning in HOUSE["extension_parts"].items():
        assert meaning, "each says what it is"
        assert len(list(SOURCE.glob(f"extensions/*/{part}.py"))) > 1, f"{part}: no longer shared, take it out"


def test_a_name_that_several_modules_have_means_one_thing() -> None:
    places = defaultdict(set)
    for folder in _packages():
        for module in _modules(folder):
            places[module.stem].add(_place(module))
    several = {name: sorted(where) for name, where in places.items() if len(where) > 1}
    allowed = HOUSE["shared_names"]
    assert {name: where for name, where in several.items() if name not in allowed} == {}
    assert allowed.keys() - several.keys() == set(), "no longer shared: take it out of house.toml"
    assert all(allowed.values()), "each says what all of them are about"


def _is_hook(modules: list[Path]) -> bool:
    """Whether a name stands in the same part of several extensions, once in each: there the core calls it."""
    return len({_place(module) for module in modules}) == 1 and len(set(modules)) == len(modules)


def test_a_hook_is_one_name_in_one_part_of_several_extensions() -> None:
    agents, trading = (SOURCE / "extensions" / name for name in ("agents", "trading"))
    assert _is_hook([agents / "upkeep.py", trading / "upkeep.py"])
    assert not _is_hook([agents / "upkeep.py", agents / "upkeep.py"])
    assert not _is_hook([agents / "upkeep.py", trading / "tools.py"])
    assert not _is_hook([agents / "book" / "prices.py", trading / "book" / "prices.py"])
    assert not _is_hook([SOURCE / "upkeep.py", trading / "upkeep.py"])


def test_one_name_one_thing() -> None:
    """Public classes, functions and types of one name in several modules, unless their bodies are equal too."""
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name, body in _public_definitions(tree(path.read_text(encoding="utf-8"))):
            found.setdefault(name, {}).setdefault(body, path)
    several = {
        name: sorted(path.relative_to(SOURCE).as_posix() for path in bodies.values())
        for name, bodies in found.items()
        if len(bodies) > 1 and not _is_hook(list(bodies.values()))
    }
    allowed = HOUSE["shared_definitions"]
    assert {name: where for name, where in several.items() if name not in allowed} == {}
    assert allowed.keys() - several.keys() == set(), "no longer shared: take it out of house.toml"
    assert all(allowed.values()), "each says what all of them are"


ROUTES = {"get", "post", "put", "patch", "delete", "head", "websocket", "command", "callback"}


def _public_definitions(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and body of each, without what nobody calls by name: routes, commands, overloads."""
    entries = _entry_points(module)
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            told = [ast.unparse(each) for each in node.decorator_list]
            if not (node.name.startswith("_") or node.name in entries or any("overload" in each for each in told)):
                yield node.name, _body_of(node)
        elif (
            isinstance(node, ast.Assign)
            and isinstance(target := node.targets[0], ast.Name)
            and _is_type(target.id, node)
        ):
            yield target.id, ast.dump(node.value)


def _entry_points(module: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            called = [each.func for each in node.decorator_list if isinstance(each, ast.Call)]
            if any(isinstance(each, ast.Attribute) and each.attr in ROUTES for each in called):
                found.add(node.name)
            if node.name == "register":
                found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found


def _is_type(name: str, node: ast.Assign) -> bool:
    """A capitalised name bound to a type; constants are in capitals throughout, and a TypeVar is one module's own."""
    if not name[0].isupper() or name.isupper():
        return False
    made = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
    return not made.endswith(("TypeVar", "ParamSpec"))


def _body_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    taken = [] if isinstance(node, ast.ClassDef) else [each.arg for each in node.args.args]
    return "".join([*taken, *(ast.dump(each) for each in body)])


def test_tests_have_the_rooms_of_the_source() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    astray = [
        folder.as_posix()
        for folder in sorted(folders)
        if not SPAN_PARTS.intersection(folder.parts[:1])
        and not any((SOURCE / room).is_dir() for room in _rooms(folder))
    ]
    assert astray == []


def _rooms(folder: Path) -> list[Path]:
    """Where the source of these tests may be; of what a room of the core does with extensions, in that room."""
    if folder.parts[:1] == ("extensions",):
        return [SOURCE / folder, SOURCE / folder.relative_to("extensions")]
    return [SOURCE / folder]
