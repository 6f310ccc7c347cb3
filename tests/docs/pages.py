"""The pages of the documentation, taken apart: blocks of code, prose, tables, headings, links.

The info string of a block says what it is. `python`, `sh` and `sql` run, page by page, in order; `no-run` behind the
language keeps one from running. `file=NAME` writes it to that file. `text` shows what the block before it printed.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]+`")


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    marks: tuple[str, ...]
    code: str

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def runs(self) -> bool:
        return "no-run" not in self.marks

    @property
    def file(self) -> str | None:
        return next((mark.removeprefix("file=") for mark in self.marks if mark.startswith("file=")), None)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    text, found = text_of(page), []
    for fence in _FENCE.finditer(text):
        language, *marks = fence["info"].split() or [""]
        line = text.count("\n", 0, fence.start("code")) + 1
        found.append(Block(page, line, language, tuple(marks), fence["code"]))
    return found


def prose(page: Path) -> str:
    """The page without code, in blocks or in lines."""
    return _INLINE.sub("", _FENCE.sub("", text_of(page)))


def inline_code(page: Path) -> list[str]:
    return [found.strip("`") for found in _INLINE.findall(_FENCE.sub("", text_of(page)))]


def headings(page: Path) -> list[str]:
    return re.findall(r"^#{1,6} (.+)$", _FENCE.sub("", text_of(page)), re.MULTILINE)


def section(page: Path, heading: str) -> str:
    """What stands under a heading, up to the next one of its rank or higher; code included."""
    found = re.search(rf"^(#+) {re.escape(heading)}$", text_of(page), re.MULTILINE)
    assert found, f"{name_of(page)} has no heading {heading!r}"
    rest = text_of(page)[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", _FENCE.sub(lambda fence: " " * len(fence[0]), rest), re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows(text: str) -> list[list[str]]:
    """The rows of every table in a text, without heads and rules; a pipe in code is written `\\|`."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            found.pop()  # what stood above the rule was the head
        else:
            found.append(cells)
    return found


def named(text: str) -> list[str]:
    """What the first cells of a text's tables name in code."""
    return [name for cells in rows(text) for name in re.findall(r"`([^`]+)`", cells[0])]


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", _FENCE.sub("", text_of(page)))


def anchor(heading: str) -> str:
    """The address of a heading within its page."""
    plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return plain.replace(" ", "-")


def write_python(folder: Path) -> list[Path]:
    """The Python of every page as files to be read, not run: what stands in blocks of a page together, each on its own
    line, and what a page calls a file under that name."""
    written = []
    for page in PAGES:
        own = folder / re.sub(r"\W+", "_", name_of(page).removesuffix(".md").lower())
        told: dict[Path, str] = {}
        for block in (block for block in blocks(page) if block.language == "python"):
            place = own / (block.file or f"{own.name}.py")
            before = told.get(place, "")
            told[place] = before + "\n" * (block.line - 1 - before.count("\n")) + block.code
        for place, code in told.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(code, encoding="utf-8")
            written.append(place)
    return written
