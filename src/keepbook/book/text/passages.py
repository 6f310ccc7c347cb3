"""Cuts a long text into passages to be embedded, since one vector for a whole page would lose its details.

Sentences stay whole where they can, and all passages of a text are about as long. Length is counted in bytes: a
character of a script without spaces says as much as several letters.
"""

from itertools import groupby

from keepbook.patterns import regex

PASSAGE = 360
"""How many bytes a passage has, some sixty words: enough to tell what it is about."""
MOST = 32
"""The most passages of a text; those of a very long text are longer."""

_SENTENCE = regex(r"[^.!?。！？\n]*(?:[.!?。！？\n]+[\s\"'”’»)]*|$)")
_WORD = regex(r"\S{1,60}\s*|\s+")


def passages(text: str) -> list[str]:
    """The passages of a text; a text of usual length is one."""
    length = len(text.encode())
    many = min(MOST, round(length / PASSAGE))
    if many <= 1:
        return [text]
    placed: list[tuple[int, str]] = []
    so_far = 0.0
    for piece in _pieces(text, length / many):
        size = len(piece.encode())
        placed.append((int((so_far + size / 2) * many / length), piece))
        so_far += size
    joined = ("".join(piece for _, piece in some).strip() for _, some in groupby(placed, lambda one: one[0]))
    return [passage for passage in joined if passage] or [text]


def _pieces(text: str, most: float) -> list[str]:
    """The sentences of a text, or if one is longer than a passage, its words."""
    found: list[str] = []
    for sentence in filter(None, _SENTENCE.findall(text)):
        if len(sentence.encode()) <= most:
            found += [sentence]
        else:
            found += _WORD.findall(sentence)
    return found
