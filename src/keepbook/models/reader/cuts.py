"""Where pieces may begin: sentence ends, as far as they can be seen without knowing the language.

The learned cut decides in the end; what is here only says where a sentence seems to start and where a word does, and
turns a list of beginnings into stretches that cover the text without a gap.
"""

from collections.abc import Iterable

from keepbook.book.ground.patterns import regex

_ENDS = regex(r"(?<=[.!?…])[\"”’»)\]*]*\s+|\n\s*|(?<=[。！？])(?!\s)")


def sentence_starts(text: str) -> list[int]:
    """The places after 0 where a sentence seems to start."""
    return [found.end() for found in _ENDS.finditer(text) if 0 < found.end() < len(text)]


def starts_word(text: str, at: int) -> bool:
    """Whether a piece may begin here: never inside a word."""
    return at == 0 or not (text[at - 1].isalnum() and text[at].isalnum())


def stretches(starts: Iterable[int], length: int) -> list[tuple[int, int]]:
    """Beginnings as stretches that cover 0 to length."""
    if not length:
        return []
    begins = sorted({0, *(at for at in starts if 0 < at < length)})
    return list(zip(begins, [*begins[1:], length], strict=True))
