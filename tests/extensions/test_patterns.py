"""No pattern of the package costs more than its text is long, whatever the text is."""

import ast
import importlib
import re
import time
import tomllib
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.book.ground.reaching import Reach, reaches
from tests.sources import tree

from keepbook.patterns import PatternSource, all_patterns, regex, words_regex

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "keepbook"
HOUSE = tomllib.loads((ROOT / "tests" / "contracts" / "house.toml").read_text(encoding="utf-8"))

SHORT, LONG = 1_000, 8_000
STEEPEST = 12
"""How much more a text of eight times the length may cost."""
AT_ONCE = 0.01
"""Seconds that are too few to look at 8,000 letters from each of 8,000 letters: what is done by then needs no scale."""
TOO_LONG = 0.1
"""Seconds that a short text never takes, unless the work grows faster than its square."""
STEPS = (*range(4, 64, 4), *(int(64 * 1.15**step) for step in range(15)))
FEW_STEPS = (32, 128, 400)
"""Letters of the short texts: close to each other where one repeat stands in another and work may double with each."""


@cache
def _all_made() -> tuple[PatternSource, ...]:
    """Every pattern that modules make when they are loaded, and those of languages, made when one is spoken."""
    for path in SOURCE.rglob("*.py"):
        if "regex(" in path.read_text(encoding="utf-8"):
            name = (
                path.relative_to(SOURCE.parent).with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")
            )
            importlib.import_module(name)
    phrases = importlib.import_module("keepbook.extensions.trading.notebook.phrases")
    for language in phrases.TRADED:
        phrases.phrases_of(language)
    return tuple(
        one for one in all_patterns() if one.where.startswith("keepbook.") and not _is_on_its_way_out(one.where)
    )


def _is_on_its_way_out(where: str) -> bool:
    path = where.split(":", 1)[0].removeprefix("keepbook.").replace(".", "/")
    return any(path.startswith(room.removesuffix(".py").rstrip("/")) for room in HOUSE["leaving_with_their_patterns"])


def _work(one: PatternSource) -> Callable[[str], object]:
    compiled = re.compile(one.text, one.flags)
    if not one.anchored:
        return lambda text: deque(compiled.finditer(text), maxlen=0)
    return lambda text: (compiled.match(text), compiled.fullmatch(text))


def _spent(work: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    work(text)
    return time.thread_time() - began


def _grows_too_fast(work: Callable[[str], object], reach: Reach) -> bool:
    """Whether a long text costs more than its length allows. Short ones come first: what doubles with each letter would
    never end on a long one."""
    if any(_spent(work, reach.text(letters)) > TOO_LONG for letters in (STEPS if reach.nested else FEW_STEPS)):
        return True
    return not _is_in_step(work, reach)


def _is_in_step(work: Callable[[str], object], reach: Reach) -> bool:
    """Whether a long text costs what its length allows, in the best of a few tries; none is needed where it is far
    beyond."""
    for _ in range(4):
        spent = _spent(work, reach.text(LONG))
        if spent < AT_ONCE:
            return True
        times = spent / _spent(work, reach.text(SHORT))
        if times <= STEEPEST or times > 3 * STEEPEST:
            return times <= STEEPEST
    return False


def _steep(one: PatternSource, tried: set[Reach]) -> Iterator[Reach]:
    """The texts that cost too much; what was `tried` on a pattern of the same line, with the same beginning, is not
    tried again."""
    work = _work(one)
    for reach in reaches(one.text, one.flags):
        if reach not in tried and _grows_too_fast(work, reach):
            yield reach
        tried.add(reach)


def test_every_pattern_grows_in_step_with_its_text() -> None:
    known = _all_made()
    assert len(known) > 200
    tried: dict[str, set[Reach]] = defaultdict(set)
    steep = {one.where: found for one in known if (found := list(_steep(one, tried[one.where])))}
    assert steep == {}


@pytest.mark.parametrize(
    ("pattern", "anchored"),
    [
        (r"(?:so\s*)+\s*!", False),
        (r"(?:\s*\b(?:so|oh)\b[\s,]*)+$", True),
        (r"(?:a|aa)+b", True),
        (r"\s+$", False),
        (r"\w+@", False),
        (r"^(?!.*x).*?y.*?z.*$", False),
        (r"\[(?:[^\]]*)\]", False),
        (r"x*y*x*z", True),
    ],
)
def test_the_check_of_growth_sees_what_is_steep(pattern: str, anchored: bool) -> None:
    assert any(_steep(PatternSource(pattern, 0, "here", anchored), set()))


@pytest.mark.parametrize(
    ("pattern", "anchored"),
    [(r"\w+", False), (r"\s*+x", True), (r"[a-z]{1,20}!", False), (r"(?:so )*so", True), (r"<[^<>]*>", False)],
)
def test_the_check_of_growth_passes_what_is_not(pattern: str, anchored: bool) -> None:
    assert not any(_steep(PatternSource(pattern, 0, "here", anchored), set()))


# --- made in one place


_MAKING = {"compile", "search", "match", "sub", "subn", "split", "findall", "finditer", "fullmatch"}


def _made_elsewhere(source: str) -> Iterator[int]:
    """Lines that ask the module `re` itself, instead of a pattern that is listed."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "re" and _MAKING & {one.name for one in node.names}:
            yield node.lineno
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "re"
            and node.attr in _MAKING
        ):
            yield node.lineno


def test_patterns_are_made_in_one_place() -> None:
    allowed, leaving = HOUSE["patterns_made_elsewhere"], HOUSE["leaving_with_their_patterns"]
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(_made_elsewhere(path.read_text(encoding="utf-8")))
    }
    strangers = {name for name in found if not name.startswith(tuple(leaving))}
    assert strangers - allowed.keys() == set(), "make it with regex() of keepbook.patterns, once and at the top"
    assert allowed.keys() - strangers == set(), "no longer there: take it out of house.toml"
    assert [room for room in leaving if not (SOURCE / room).exists()] == [], "gone: take it out of house.toml"
    assert all(allowed.values()), "each exception gives its reason"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import re\nx = re.compile('a')\n", [2]),
        ("import re\n\n\ndef f(t):\n    return re.sub('a', 'b', t)\n", [5]),
        ("from re import search\n", [1]),
        ("import re\nx = re.escape('a'), re.IGNORECASE\n", []),
    ],
)
def test_the_check_of_places_sees_them(source: str, lines: list[int]) -> None:
    assert list(_made_elsewhere(source)) == lines


def test_a_pattern_is_listed_with_where_it_was_made() -> None:
    regex("a pattern of this test")
    (one,) = (one for one in all_patterns() if one.text == "a pattern of this test")
    assert one.where.startswith(f"{__name__}:")


def test_an_anchored_pattern_is_not_tried_at_each_letter() -> None:
    one = regex(r"\w+x", anchored=True)
    assert one.match("abx")
    with pytest.raises(AttributeError):
        one.search("abx")


def test_words_known_only_now_make_no_endless_repeat() -> None:
    assert words_regex(rf"\b{re.escape('C++')}").search("in C++")
    with pytest.raises(ValueError, match="without a bound"):
        words_regex(r"\bso\s+")
