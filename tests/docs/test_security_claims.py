"""`docs/security.md` claims nothing that no test holds, and shows the table as it is."""

import ast
import tomllib
from functools import cache
from pathlib import Path

from keepbook.book.owners.authority import KINDS, TABLE
from keepbook.extension import load_part, shipped

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


@cache
def known() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.add(node.name)
    return found


def cells(heading: str) -> list[list[str]]:
    """The rows of the table that begins with this heading."""
    lines = PAGE[PAGE.index(heading) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_each_claim_names_its_tests_and_they_are_there() -> None:
    claims = tomllib.loads((ROOT / "tests" / "docs" / "security_claims.toml").read_text(encoding="utf-8"))
    shown = tomllib.loads(PAGE.partition("## Held by tests\n\n```toml\n")[2].partition("```")[0])["held"]
    assert shown == list(claims)
    assert len(claims) >= 28
    for claim, named in claims.items():
        assert named, claim
        assert [name for name in named if name not in known()] == [], claim


def test_the_table_is_shown_as_it_is() -> None:
    rows = [(row, row.words) for row in TABLE.values()]
    for one in shipped().values():
        rows += [(row, f"{row.words} ({one.name})") for row in load_part(one.rows).values()]
    real = [[words, row.scope, *(row.may[kind] for kind in KINDS)] for row, words in rows]
    assert cells("| row | scope |") == real
