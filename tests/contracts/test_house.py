"""The rules of the house, checked: style, types, direction of imports, sizes, names, what a file may hold.

The tools run as a developer runs them, with the configuration of pyproject.toml. What needs a list of
exceptions finds it in house.toml, each with its reason; an exception nobody needs any more fails too.
"""

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.docs.pages import write_python
from tests.sources import tree

import keepbook

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "keepbook"
MODULES = sorted(SOURCE.rglob("*.py"))
HOUSE = tomllib.loads((Path(__file__).parent / "house.toml").read_text(encoding="utf-8"))

LONGEST_MODULE = 450
LONGEST_FUNCTION = 60
MOST_CONDITIONALS = 12
VAGUE_WORDS = {"base", "common", "helper", "helpers", "manager", "misc", "service", "util", "utils", "v2"}

# Written so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home/[a-z][\w-]*|Users/[A-Za-z][\w-]*)/")
REGISTRY = re.compile(r"pypi\.org|pythonhosted\.|npmjs\.|://[\w.@:-]*(?:artifact|index|mirror|nexus|pypi|registry)")
DIALECT = re.compile(r"\bdialect\s*(?:==|!=|\bin\b)|\.dialect\.name\b|\.backend_name\b|get_backend_name\(")


def _passes(*command: str) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


# --- the tools -------------------------------------------------------------------------------------------


def test_ruff_finds_nothing() -> None:
    _passes("-m", "ruff", "check", "--quiet", "src", "tests", "scripts")


def test_everything_is_formatted() -> None:
    _passes("-m", "ruff", "format", "--check", "--output-format", "concise", "src", "tests", "scripts")


def test_types_hold_under_mypy_strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the package, and those of the code that the documentation shows."""
    shown = write_python(tmp_path)
    monkeypatch.setenv("MYPYPATH", os.pathsep.join(str(folder) for folder in tmp_path.iterdir()))
    # What it learns of types it keeps to its end: looking for garbage in it is a twelfth of its time. It turns that on.
    quiet = "import gc; gc.disable(); gc.enable = gc.disable"
    _passes("-c", f"{quiet}; from mypy.__main__ import console_entry; console_entry()", "src", *map(str, shown))


def test_imports_point_down_only() -> None:
    _passes("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_logo=True))")


# --- the source ------------------------------------------------------------------------------------------


def test_no_floor_imports_the_front_hall() -> None:
    """`from keepbook import Keepbook` inside the package would be a way up that the layers do not see."""
    public = set(HOUSE["public_names"])
    found = [
        f"{_name(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(tree(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and node.module == "keepbook")
        if any(alias.name in public for alias in node.names)
    ]
    assert not found, "import from the module that defines the name"


def test_an_import_inside_a_function_says_why() -> None:
    found = [
        f"{_name(path)}:{line}" for path in MODULES for line in _unexplained_imports(path.read_text(encoding="utf-8"))
    ]
    assert not found, "move the import up, or write the reason beside it or on the line above"


def _unexplained_imports(source: str) -> Iterator[int]:
    inside = {
        node.lineno: node
        for function in ast.walk(tree(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    reasons = _lines_with_a_reason(source) if inside else set()
    explained: set[int] = set()
    for line, node in sorted(inside.items()):
        own_lines = set(range(line, (node.end_lineno or line) + 1))
        # One reason covers a run of imports: the line above may itself be an import that has one.
        if reasons & own_lines or line - 1 in reasons | explained:
            explained |= own_lines
        else:
            yield line


def _lines_with_a_reason(source: str) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    order = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma|fmt)\S*(?:\s+[A-Z]+\d+\b,?)*")
    return {line for line, comment in comments if re.search(r"\w\s+\w", order.sub("", comment))}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import json\n", []),
        ("def f():\n    import json\n", [2]),
        ("def f():\n    import json  # noqa: F401\n", [2]),
        ("def f():\n    import json  # slow to load\n", []),
        ("def f():\n    # slow to load\n    import json\n    from re import (\n        sub,\n    )\n", []),
        ("def f():\n    # slow to load\n    import json\n    f()\n    import os\n", [5]),
        ("class C:\n    async def f(self):\n        if self:\n            import json\n", [4]),
    ],
)
def test_the_check_of_hidden_imports_sees_them(source: str, lines: list[int]) -> None:
    assert list(_unexplained_imports(source)) == lines


def test_modules_and_functions_stay_small() -> None:
    too_long = {
        _name(path): lines
        for path in MODULES
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_MODULE
    }
    too_long |= {
        f"{_name(path)}:{node.name}": lines
        for path in MODULES
        for node in ast.walk(tree(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    }
    allowed = HOUSE["long_modules"] | HOUSE["long_functions"]
    assert not {name: lines for name, lines in too_long.items() if name not in allowed}
    assert not allowed.keys() - too_long.keys(), "no longer long: take it out of house.toml"
    assert all(allowed.values()), "each exception gives its reason"


def test_functions_take_few_ways() -> None:
    """What a noqa or a line in pyproject.toml hides from ruff is seen here, and must stand in house.toml."""
    found = {f"{_name(path)}:{name}" for path, name in _too_many_ways("src")}
    allowed = HOUSE["complex_functions"]
    assert not found - allowed.keys(), "take it apart"
    assert not allowed.keys() - found, "no longer complex: take it out of house.toml"
    assert all(allowed.values()), "each exception gives its reason"


def _too_many_ways(*given: str, text: str | None = None) -> Iterator[tuple[Path, str]]:
    """The functions over the limits of pyproject.toml, whatever is left out there."""
    limits = ["--select", "C90,PLR0912,PLR0915", "--ignore-noqa", "--config", "lint.per-file-ignores={}"]
    command = [sys.executable, "-m", "ruff", "check", *limits, "--exit-zero", "--output-format", "json", *given]
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=True)
    for one in json.loads(done.stdout):
        path = Path(one["filename"])
        source = path.read_text(encoding="utf-8") if text is None else text
        yield path, _function_at(source, one["location"]["row"])


def _function_at(source: str, row: int) -> str:
    functions = (one for one in ast.walk(tree(source)) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    return next(one.name for one in functions if one.lineno == row)


def test_the_check_of_complex_functions_sees_them() -> None:
    ways = "".join(f"    if way == {number}:\n        return {number}\n" for number in range(13))
    source = f"def f(way):  # noqa: C901, PLR0912\n{ways}    return 0\n\n\ndef g(way):\n    return way\n"
    place = str(SOURCE / "models" / "offline" / "new.py")
    assert {name for _, name in _too_many_ways("--stdin-filename", place, "-", text=source)} == {"f"}


def test_a_statement_holds_one_thought() -> None:
    """One conditional expression at most, none inside another; comprehensions of two clauses; no walrus in either."""
    found = {f"{_name(path)}:{name}" for path in MODULES for name in _dense_functions(path.read_text(encoding="utf-8"))}
    allowed = HOUSE["dense_functions"]
    assert not found - allowed.keys(), "give a part a name, or write an `if` or a loop"
    assert not allowed.keys() - found, "no longer dense: take it out of house.toml"
    assert all(allowed.values()), "each exception gives its reason"


def _dense_functions(source: str) -> Iterator[str]:
    """The functions in which a statement holds more; the class, or nothing, where it stands in none."""
    inside = [(tree(source), "")]
    while inside:
        node, name = inside.pop()
        parts = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        if isinstance(node, ast.stmt) and _is_dense([part for part in parts if not isinstance(part, STEPS)]):
            yield name
        inside += [(part, name) for part in parts if isinstance(part, STEPS)]


STEPS = (ast.stmt, ast.ExceptHandler, ast.match_case)
FOLDED = (ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _is_dense(parts: Iterable[ast.AST]) -> bool:
    folded = [node for part in parts for node in ast.walk(part) if isinstance(node, FOLDED)]
    if sum(isinstance(node, ast.IfExp) for node in folded) > 1:
        return True
    for node in folded:
        clauses = getattr(node, "generators", ())
        if sum(1 + len(clause.ifs) for clause in clauses) > 2:
            return True
        if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)):
            return True
    return False


@pytest.mark.parametrize(
    ("statement", "is_dense"),
    [
        ("x = a if b else c", False),
        ("x = a if b else c if d else e", True),
        ("x = f(a if b else c, d if e else g)", True),
        ("x = [a for a in b if a]", False),
        ("x = [a for b in c for a in b if a]", True),
        ("x = [a for b in c if (a := b.a)]", True),
        ("if a := b:\n    x = c if a else d", False),
    ],
)
def test_the_check_of_dense_statements_sees_them(statement: str, is_dense: bool) -> None:
    assert bool(list(_dense_functions(statement))) == is_dense


def test_conditional_expressions_are_few() -> None:
    """In a thousand lines that are not empty."""
    found, lines = Counter[str](), 0
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        lines += sum(not line.isspace() for line in source.splitlines(keepends=True))
        found[_name(path)] = sum(isinstance(node, ast.IfExp) for node in ast.walk(tree(source)))
    assert found.total() * 1000 <= MOST_CONDITIONALS * lines, found.most_common(10)


def test_only_storage_asks_which_engine_it_is() -> None:
    found = _lines_matching(DIALECT, [path for path in MODULES if not _name(path).startswith("storage/")])
    assert not found


def test_public_names_are_pinned() -> None:
    assert list(keepbook.__all__) == HOUSE["public_names"]
    assert [name for name in keepbook.__all__ if not hasattr(keepbook, name)] == []


# --- every file ------------------------------------------------------------------------------------------


def _kept_files() -> list[Path]:
    """What git keeps or would keep."""
    # The checkout may belong to another user (a container's mount); reading its list of files is harmless.
    command = [
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, f"these checks need git and a clone: {listed.stderr}"
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def _lines_matching(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        if pattern.search(text):
            found += [
                f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
                for number, line in enumerate(text.splitlines(), 1)
                if pattern.search(line)
            ]
    return found


def test_no_file_has_a_name_that_hides_what_it_is() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in _kept_files()
        if path.suffix in {".py", ".toml"}
        if VAGUE_WORDS & {word for part in path.relative_to(ROOT).parts for word in re.split(r"[\W_]+", part)}
    ]
    assert not found


def test_no_file_holds_a_path_of_somebodys_machine() -> None:
    assert not _lines_matching(MACHINE_PATH, _kept_files())


def test_no_file_names_a_package_registry() -> None:
    assert not _lines_matching(REGISTRY, _kept_files())


def test_the_pins_hold_versions_and_nothing_else() -> None:
    """Each with its hashes, so that nothing else is installed under its name."""
    version = r"[a-z0-9-]+==[\w.+!]+(?: ; [^#/@\n]+)? \\\n"
    hashes = r"(?:    --hash=sha256:[0-9a-f]{64} \\\n)*    --hash=sha256:[0-9a-f]{64}\n"
    for lock in (ROOT / "requirements.lock", ROOT / "deploy" / "requirements.lock"):
        text = lock.read_text(encoding="utf-8")
        rest = re.sub(rf"^{version}{hashes}(?:    # [^/@\n]*\n)*", "", text, flags=re.MULTILINE)
        assert rest == "", rest[:200]


def test_whatever_is_set_up_is_taken_by_its_hash() -> None:
    setup = (ROOT / "scripts" / "setup.py").read_text(encoding="utf-8")
    assert setup.count('"install"') == 2
    assert '"install", "--quiet", "--require-hashes", "--requirement"' in setup
    assert '"install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."' in setup


def test_no_lock_file_that_names_hosts_is_kept() -> None:
    assert not {path.name for path in _kept_files()} & {"uv.lock", "pylock.toml"}
