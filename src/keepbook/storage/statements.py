"""Splits a SQL script into statements, with triggers and dollar-quoted bodies kept whole."""

import re
from collections.abc import Iterator

from keepbook.patterns import regex

_MARK = regex(r"\$\$|'(?:[^']|'')*'|--[^\n]*|\bBEGIN\b(?=\s+\S)|\bCASE\b|\bEND\b|;", re.IGNORECASE)


_COMMENT = regex(r"--[^\n]*")


def split(script: str) -> Iterator[str]:
    """Each statement without its closing semicolon. A semicolon inside `$$ … $$` or `BEGIN … END` does not close."""
    start, depth, dollar = 0, 0, False
    for mark in _MARK.finditer(script):
        word = mark.group().upper()
        if word == "$$":
            dollar = not dollar
        elif dollar or word.startswith(("'", "--")):
            continue
        elif word in ("BEGIN", "CASE"):
            depth += 1
        elif word == "END":
            depth -= 1
        elif word == ";" and depth == 0:
            statement = script[start : mark.start()].strip()
            if statement:
                yield statement
            start = mark.end()
    rest = _COMMENT.sub("", script[start:]).strip()
    if rest:
        yield rest
