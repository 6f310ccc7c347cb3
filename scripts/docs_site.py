"""The documentation as a site: `make docs` builds it into `build/site`, to be served from any folder, without a request
to anywhere else.

The pages are those of `docs/`, in the order of its front page; beside them stand contributing, the changelog, and a
reference of the Python API that is read from the code. Nothing is written into `docs/`: the site's own sources are
made under `build/docs`. A link that leads nowhere, or a page that nobody links, ends the build.
"""

import dataclasses
import functools
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import keepbook
from keepbook.adapters import __doc__ as adapters_words
from keepbook.book.chats.face import Chat, Chats, Journal
from keepbook.book.ground.argument_docs import ARGUMENTS
from keepbook.book.owners.spending import Spending

ROOT = Path(__file__).resolve().parents[1]
DOCS, PAGES, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "build" / "site"
SETTINGS = ROOT / "build" / "mkdocs.json"  # JSON is YAML
ADDRESS = os.environ.get("DOCS_ADDRESS", "").rstrip("/")
"""Where the site will be, if that is known: its pages name themselves by it, and a README that is read elsewhere finds
pictures and pages there (`scripts/packages.py`)."""
BUILD: list[Any] = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file"]
BESIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""What stands beside `docs/` and belongs on the site."""
TO_TAKE = ["compose.yaml", "Dockerfile", "deploy"]
"""Files and folders that a page tells to use; they stand on the site as they are."""
FIRST = "---\nsearch:\n  boost: 3\n---\n\n"
FOUND_FIRST = ("README.md", "quickstart.md", "production.md")
"""Pages that stand before others in what the search finds: what newcomers look for is told there."""
NOT_RUN = "as on your machine: needs a server, a model, the network or your own program"
_FENCE = re.compile(r"^```(?P<language>\w+)(?P<marks> [^\n`]+)$", re.MULTILINE)
_ITEM = re.compile(r"\[(?P<title>[^\]]+)\]\((?P<page>[^)#]+\.md)\)")
ROOMS: dict[str, type] = {"book.threads": Chats, "a chat": Chat, "book.notes": Journal, "book.spending": Spending}
"""What hangs on a book and is called often."""
_NAMED = re.compile(r"[.`](\w+)")
"""A name as a page writes it: `kb.sweep()`, or alone."""
_EXPLAINED = re.compile(r"(?P<name>[a-z_]+): (?P<words>.+)")
"""A line of a docstring that explains a parameter; a paragraph of such lines becomes a table."""


# Pages


def page(text: str) -> str:
    """A page as the site reads it: what a block is called or why it does not run is its title."""

    def titled(fence: re.Match[str]) -> str:
        marks = fence["marks"].split()
        file = next((mark.removeprefix("file=") for mark in marks if mark.startswith("file=")), None)
        title = NOT_RUN if "no-run" in marks else file
        return f"```{fence['language']}" + (f' title="{title}"' if title else "")

    text = _FENCE.sub(titled, text)
    for name, here in BESIDE.items():
        text = text.replace(f"../{name}", here)
    for name in TO_TAKE:
        text = text.replace(f"](../{name}", f"]({name}")
    return re.sub(r"\]\(docs/", "](", text).replace("](README.md", "](index.md")


def readme_for_elsewhere(text: str, address: str) -> str:
    """The README as a registry shows it: its pictures and links are those of the site."""
    text = re.sub(r"\]\(docs/README\.md(#[\w-]+)?\)", rf"]({address}/index.html\1)", text)
    for name, here in BESIDE.items():
        text = text.replace(f"]({name})", f"]({address}/{here.removesuffix('.md')}.html)")
    text = re.sub(r"\]\(docs/([\w/-]+)\.md(#[\w-]+)?\)", rf"]({address}/\1.html\2)", text)
    return re.sub(r"\]\(docs/", f"]({address}/", text)


def contents(front: str) -> list[Any]:
    """The navigation, from the front page: a heading is a part, one below it a part of that, every link a page."""
    parts: list[Any] = [{"Documentation": "index.md"}]
    for part in re.split(r"^## ", front, flags=re.MULTILINE)[1:]:
        pages, *inner = re.split(r"^### ", part, flags=re.MULTILINE)
        heading, listed = _listed(pages)
        parts.append({heading: listed + [dict([_listed(each)]) for each in inner]})
    next(part["Operate"] for part in parts if "Operate" in part).append({"Python API": "api.md"})
    contributors = next(part["For contributors"] for part in parts if "For contributors" in part)
    contributors.insert(-1, {"Changelog": "changelog.md"})  # before the decisions
    return parts


def _listed(part: str) -> tuple[str, list[Any]]:
    """A heading, and the pages that are linked under it."""
    heading, _, lines = part.partition("\n")
    pages = {found["page"]: found["title"] for found in _ITEM.finditer(lines)}
    return heading.strip(), [{title[:1].upper() + title[1:]: path} for path, title in pages.items()]


# The reference


def reference() -> str:
    """Every public name with its signature and its words, from the code."""
    lines = ["# Python API", "", "Made from the code of this version. What it means: [concepts](concepts.md).", ""]
    for name in keepbook.__all__:
        lines += _told(name, getattr(keepbook, name), level=2)
    for name, room in ROOMS.items():
        lines += [f"## `{name}`", "", *_words(room), *_methods(room)]
    lines += ["## Adapters", "", adapters_words or "", ""]
    return "\n".join(lines)


def _told(name: str, thing: Any, level: int) -> list[str]:
    head = [f"{'#' * level} `{name}`", ""]
    if not inspect.isclass(thing):
        return [*head, *_signed(name, thing), *_words(thing)]
    lines = [*head, *_words(thing)]
    if dataclasses.is_dataclass(thing):
        fields = [f"| `{one.name}` | `{_kind(one.type).replace('|', 'or')}` |" for one in dataclasses.fields(thing)]
        return [*lines, "| field | type |", "|---|---|", *fields, ""]
    if issubclass(thing, BaseException):
        return lines
    made = [] if thing is keepbook.Book else _signed(name, thing)  # `Keepbook.book` makes it
    return [*lines, *made, *_methods(thing)]


def _methods(thing: type) -> list[str]:
    lines = []
    for name, each in inspect.getmembers(thing, inspect.isfunction):
        is_ours = not name.startswith("_") and each.__module__.startswith("keepbook.")
        if is_ours and not _is_for_the_house(thing, name):
            lines += [f"### `{thing.__name__}.{name}`", "", *_signed(name, each), *_words(each)]
    return lines


def _is_for_the_house(thing: type, name: str) -> bool:
    """Of an installation, what no page names is for our own doors and jobs."""
    return thing in (keepbook.Keepbook, keepbook.AsyncKeepbook) and name not in _named_on_pages()


@functools.cache
def _named_on_pages() -> frozenset[str]:
    pages = [page for page in DOCS.rglob("*.md") if page.parent.name != "decisions"]
    return frozenset(name for page in pages for name in _NAMED.findall(page.read_text(encoding="utf-8")))


def _signed(name: str, thing: Any) -> list[str]:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    given = [one for one in signature.parameters.values() if one.name != "self"]
    taken = [_argument(one) for one in given]
    named = next((at for at, one in enumerate(given) if one.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if named is not None and not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in given):
        taken.insert(named, "*")
    answer = (
        "" if signature.return_annotation is inspect.Signature.empty else f" -> {_kind(signature.return_annotation)}"
    )
    whole = f"{name}({', '.join(taken)}){answer}"
    if len(whole) > 100:
        whole = f"{name}(\n    " + ",\n    ".join(taken) + f",\n){answer}"
    return ["```python", whole, "```", ""]


def _argument(one: inspect.Parameter) -> str:
    mark = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    kind = "" if one.annotation is inspect.Parameter.empty else f": {_kind(one.annotation)}"
    if one.default is inspect.Parameter.empty:
        return f"{mark}{one.name}{kind}"
    default = "…" if callable(one.default) else repr(one.default)
    return f"{mark}{one.name}{kind} = {default}" if kind else f"{one.name}={default}"


def _kind(kind: Any) -> str:
    words = (
        kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind)) if inspect.isclass(kind) else str(kind)
    )
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", words).replace("'", "")


def _words(thing: Any) -> list[str]:
    """The docstring, and its parameters as a table."""
    prose, explained = [], {}
    for paragraph in (inspect.getdoc(thing) or "").split("\n\n"):
        lines = [_EXPLAINED.fullmatch(line) for line in paragraph.strip().splitlines()]
        if all(lines):
            explained |= {line["name"]: line["words"] for line in lines if line and line["name"] not in explained}
        else:
            prose += [paragraph, ""]
    if inspect.isfunction(thing):
        taken = [name for name in inspect.signature(thing).parameters if name != "self"]
        explained = {name: explained.get(name) or ARGUMENTS[name] for name in taken}
    return [*prose, *_table(explained)]


def _table(explained: dict[str, str]) -> list[str]:
    if not explained:
        return []
    rows = [f"| `{name}` | {words.replace('|', chr(92) + '|')} |" for name, words in explained.items()]
    return ["| argument | what it is |", "|---|---|", *rows, ""]


# The site


def settings(front: str) -> dict[str, Any]:
    return {
        "site_name": "Keepbook",
        "site_url": f"{ADDRESS}/" if ADDRESS else "",
        "docs_dir": str(PAGES),
        "site_dir": str(SITE),
        "use_directory_urls": False,  # a folder on a disk is a site too
        "strict": True,
        "theme": {
            "name": "material",
            "font": False,  # fonts would come from elsewhere
            "features": ["navigation.instant", "navigation.top", "search.highlight", "content.code.copy"],
            "palette": [_colours("light", "default", "night", "Dark"), _colours("dark", "slate", "sunny", "Light")],
        },
        "plugins": ["search"],
        "markdown_extensions": ["tables", "toc", "pymdownx.highlight", "pymdownx.superfences", "pymdownx.inlinehilite"],
        "extra": {"generator": False},
        "validation": {"nav": {"omitted_files": "warn"}, "links": {"anchors": "warn", "unrecognized_links": "warn"}},
        "nav": contents(front),
    }  # fmt: skip


def _colours(wanted: str, scheme: str, icon: str, other: str) -> dict[str, Any]:
    toggle = {"icon": f"material/weather-{icon}", "name": other}
    return {"media": f"(prefers-color-scheme: {wanted})", "scheme": scheme, "toggle": toggle}


def gather() -> None:
    """The site's sources and its settings, under `build`."""
    for folder in (PAGES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    for source in sorted(DOCS.rglob("*")):
        target = PAGES / ("index.md" if source == DOCS / "README.md" else source.relative_to(DOCS))
        if source.suffix == ".md":
            target.parent.mkdir(parents=True, exist_ok=True)
            first = FIRST if source.relative_to(DOCS).as_posix() in FOUND_FIRST else ""
            target.write_text(first + page(source.read_text(encoding="utf-8")), encoding="utf-8")
        elif source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for name, here in BESIDE.items():
        (PAGES / here).write_text(page((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
    for name in TO_TAKE:
        take = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        take(ROOT / name, PAGES / name)
    (PAGES / "api.md").write_text(reference(), encoding="utf-8")
    front = page((DOCS / "README.md").read_text(encoding="utf-8"))
    SETTINGS.write_text(json.dumps(settings(front), indent=2), encoding="utf-8")


def main() -> int:
    gather()
    return subprocess.run([*BUILD, SETTINGS], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
