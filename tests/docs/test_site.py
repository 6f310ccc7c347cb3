"""The documentation as a site: strict, whole, in the order of its front page, without a request to anywhere else."""

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.docs.pages import DOCS, ROOT

import keepbook

SCRIPT = ROOT / "scripts" / "docs_site.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    told = importlib.util.spec_from_file_location("docs_site", SCRIPT)
    assert told is not None
    assert told.loader is not None
    module = importlib.util.module_from_spec(told)
    told.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` builds it, in a folder of the test's own."""
    folder = tmp_path_factory.mktemp("site")
    script.PAGES, script.SITE, script.SETTINGS = folder / "docs", folder / "site", folder / "mkdocs.json"
    script.gather()
    built = subprocess.run(
        [*script.BUILD, script.SETTINGS], capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert (built.returncode, "WARNING" in built.stderr) == (0, False), built.stderr
    return Path(script.SITE)


class Requests(HTMLParser):
    """What a browser would fetch of its own accord."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        told = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video") and told.get("src"):
            self.found.append(told["src"])
        if tag == "link" and told.get("rel") in ("stylesheet", "preconnect", "icon", "preload"):
            self.found.append(told.get("href", ""))


@pytest.mark.process
def test_the_site_is_built_without_a_warning_and_asks_nobody_else(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        seen = Requests()
        seen.feed(page.read_text(encoding="utf-8"))
        assert [one for one in seen.found if re.match(r"(https?:)?//", one)] == [], page
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?https?:", styles) == []


@pytest.mark.process
def test_what_a_server_is_set_up_with_can_be_taken_from_the_site(site: Path) -> None:
    page = (site / "production.html").read_text(encoding="utf-8")
    for name in ("compose.yaml", "Dockerfile", "deploy/keepbook.service", "deploy/requirements.lock"):
        assert f'href="{name}"' in page
        assert (site / name).read_bytes() == (ROOT / name).read_bytes()
    watched = (site / "operating.html").read_text(encoding="utf-8")
    assert {"deploy/grafana/keepbook.json", "deploy/prometheus/alerts.yml", "deploy/kubernetes.yaml"} <= set(
        re.findall(r'href="(deploy/[^"]+)"', watched)
    )


@pytest.mark.process
def test_the_first_page_says_what_it_is_and_how_to_have_it(site: Path) -> None:
    page = re.sub(r"<[^>]+>", "", (site / "index.html").read_text(encoding="utf-8"))
    for words in ("the memory of an AI agent", "pip install keepbook", "MIT licence", "source archive"):
        assert words in page
    assert page.index("pip install keepbook") < page.index("Four doors")


@pytest.mark.process
def test_every_page_is_there_and_can_be_found_by_its_words(site: Path) -> None:
    for source in DOCS.rglob("*.md"):
        name = "index.html" if source == DOCS / "README.md" else source.relative_to(DOCS).with_suffix(".html")
        assert (site / name).is_file(), source
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any("prefix cache" in one["text"] or "ledger" in one["text"] for one in index["docs"])
    assert {"api.html", "from-mem0.html", "changelog.html"} <= {one["location"].split("#")[0] for one in index["docs"]}


def pages_in(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        for pages in part.values():
            yield from [pages] if isinstance(pages, str) else pages_in(pages)


def test_the_contents_are_those_of_the_front_page(script: ModuleType) -> None:
    parts = script.contents(script.page((DOCS / "README.md").read_text(encoding="utf-8")))
    listed = list(pages_in(parts[1:]))
    assert len(listed) == len(set(listed))
    decisions = [page for page in listed if page.startswith("decisions/")]
    assert list(pages_in([parts[-1]["For contributors"][-1]])) == decisions
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"README.md"} <= set(listed)


def test_the_reference_has_every_public_name_and_every_method_of_a_book(script: ModuleType) -> None:
    told = script.reference()
    assert all(f"## `{name}`" in told for name in keepbook.__all__)
    assert all(f"### `Book.{name}`" in told for name in ("remember", "recall", "import_", "undo", "inject"))
    assert "remember(\n    content: str,\n    *,\n" in told
    assert all(f"### `Keepbook.{name}`" in told for name in ("book", "close", "import_from", "sweep", "talk"))
    assert "perform_errand" not in told, "what only the house calls"


def test_the_reference_explains_every_argument_of_a_method_in_a_table(script: ModuleType) -> None:
    parts = [part[2:] for part in re.split(r"^##", script.reference(), flags=re.MULTILINE) if part.startswith("# `")]
    explained = {part.split("`")[1]: re.findall(r"^\| `(\w+)` \| \S.* \|$", part, re.MULTILINE) for part in parts}
    classes = [value for name in keepbook.__all__ if inspect.isclass(value := getattr(keepbook, name))]
    methods = {kind.__name__: kind for kind in [*classes, *script.ROOMS.values()]}
    for name, rows in explained.items():
        kind, _, method = name.partition(".")
        taken = list(inspect.signature(getattr(methods[kind], method)).parameters)
        assert rows == [one for one in taken if one != "self"], name
    assert explained["Book.remember"][:2] == ["content", "category"]
    assert not any(re.search(r"^(content|limit|ref|owner): ", part, re.MULTILINE) for part in parts)


def test_a_block_that_does_not_run_says_why(script: ModuleType) -> None:
    assert script.page("```sh no-run\nx\n```") == f'```sh title="{script.NOT_RUN}"\nx\n```'
    assert script.page("```json file=a.json\n{}\n```") == '```json title="a.json"\n{}\n```'
    assert script.page("```python\nx\n```") == "```python\nx\n```"
    assert sys.executable in map(str, script.BUILD)


def test_a_readme_that_is_read_elsewhere_finds_its_pictures_on_the_site(script: ModuleType, site: Path) -> None:
    told = script.readme_for_elsewhere((ROOT / "README.md").read_text(encoding="utf-8"), "https://docs.example.org")
    places = [place.partition("#")[0] for place in re.findall(r"\]\(([^)]+)\)", told)]
    here = [place.removeprefix("https://docs.example.org/") for place in places if "docs.example.org" in place]
    assert "pictures/chat.png" in here
    assert "contributing.html" in here
    assert not [place for place in places if not place.startswith("https://")]
    assert not [place for place in here if not (site / place).is_file()]
