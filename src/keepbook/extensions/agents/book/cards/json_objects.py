"""JSON objects in a model's answer, and those that it was only given.

An answer speaks around its card: it thinks aloud, quotes the material under review, shows a diff. What stands in
thoughts, in quoted lines or in diffs is no answer. Any other object may be one, unless it also stands in what the model
was given: there it is looked for at any depth, in strings that hold JSON, behind the marks of quotes and diffs, and by
its words.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from keepbook.patterns import regex

MOST_READ = 20_000_000
"""The most characters that are read, failed tries included: braces that open no object could otherwise take forever."""
FIRST_WINDOW = 1000  # characters that are tried first; then twice as many, and so on
LONGEST_TOKEN = 16
"""The most characters of a word, an escape or the beginning of a number that was cut off."""
DEEPEST = 6
"""How many levels of JSON in strings in JSON are read."""

_OPENING = regex(r"\{(?=\s*[\"}])")
_THOUGHTS = regex(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHTS_END = regex(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = regex(r"[ \t]*(?:```|~~~)[ \t]*([\w+-]*)", anchored=True)
_HUNK = regex(r"@@ [-+\d, ]+ @@", anchored=True)
_QUOTED_LINE = regex(r"[ \t]*>|[+-](?:\{|[ \t]{2,}|\t)", anchored=True)
_MARK = regex(r"^(?:[^{}\[\]\"\n]++(?=[{}\[\]\"])|[ \t]*+(?:>[ \t]?|[+-]))", re.MULTILINE)
"""What stands before the JSON of a line: the mark of a quote or a diff, the number of the line."""
_WORD = regex(r"\w+")
DIFFS = ("diff", "patch")


def without_thoughts(answer: str) -> str:
    """The answer without what was thought aloud, also where the thought was begun before the answer."""
    spoken = _THOUGHTS.sub("", answer)
    ends = list(_THOUGHTS_END.finditer(spoken))
    if ends:
        return spoken[ends[-1].end() :]
    return spoken


def own_objects(answer: str) -> list[dict[str, Any]]:
    """The objects that an answer says itself, in order."""
    return list(_objects("\n".join(_own_lines(without_thoughts(answer)))))


def given_objects(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Every object that stands anywhere in these texts."""
    found: list[dict[str, Any]] = []
    for text in texts:
        _gather(text, found, DEEPEST)
    return found


def stands_in_words(value: Mapping[str, Any], texts: Iterable[str]) -> bool:
    """Whether the names and values of an object stand one after the other in a text that writes them in another way: as
    Python shows them, or as YAML. One name and its value alone may be any sentence."""
    if len(value) < 2:
        return False
    said = _in_words(json.dumps(value, ensure_ascii=False))
    return any(said in _in_words(text) for text in texts)


def _in_words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def is_alone(answer: str) -> bool:
    """Whether an answer is one object and nothing else, fenced or not."""
    spoken = without_thoughts(answer).strip()
    if spoken.startswith("```") and spoken.endswith("```"):
        spoken = spoken.removesuffix("```").partition("\n")[2].strip()
    try:
        return isinstance(json.loads(spoken), dict)
    except (ValueError, RecursionError):
        return False


def _own_lines(text: str) -> Iterator[str]:
    """The lines that are neither quoted nor of a diff."""
    fence, in_hunk = None, False
    for line in text.split("\n"):
        if opening := _FENCE.match(line):
            if fence is None:
                fence = opening[1].lower()
            else:
                fence = None
            in_hunk = False
            yield ""
            continue
        in_hunk = bool(_HUNK.match(line)) or (in_hunk and line[:1] in ("+", "-", " "))
        if fence in DIFFS or in_hunk or _QUOTED_LINE.match(line):
            yield ""
        else:
            yield line


def _gather(text: str, found: list[dict[str, Any]], depth: int) -> None:
    if depth == 0 or "{" not in text:
        return
    bare = _MARK.sub("", text)
    for one in (text,) if bare == text else (text, bare):
        for value in _objects(one):
            _gather_value(value, found, depth)


def _gather_value(value: Any, found: list[dict[str, Any]], depth: int) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found.append(one)
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            _gather(one, found, depth - 1)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost objects of a text, one after the other."""
    end, read = 0, 0
    while (opening := _OPENING.search(text, end)) and read < MOST_READ:
        value, length, cost = _decode_at(text, opening.start())
        read += cost
        if value is None:
            end = opening.end()
        else:
            end = opening.start() + length
            yield value


def _decode_at(text: str, start: int) -> tuple[dict[str, Any] | None, int, int]:
    """The object that begins there, how long it is, and how much was read to tell. A window is read that grows as long
    as it may have cut the object off: what fails in a long text is counted up to there from its beginning."""
    decoder, size, cost = json.JSONDecoder(), FIRST_WINDOW, 0
    while True:
        window = text[start : start + size]
        try:
            value, length = decoder.raw_decode(window)
        except json.JSONDecodeError as error:
            cut = start + size < len(text)
            if not cut or (error.pos < len(window) - LONGEST_TOKEN and not error.msg.startswith("Unterminated")):
                return None, 0, cost + max(1, error.pos)
            cost, size = cost + len(window), 4 * size
        except (ValueError, RecursionError):
            return None, 0, cost + len(text) - start
        else:
            return value, length, cost
