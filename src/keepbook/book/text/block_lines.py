"""A block as data: its lines, each with its kind, the memory it shows and its text; and the one function to its text.

A chat's block is stored as text, which never changes, together with the places of its lines in that text
(`places_to_text`), so that whoever wants to know what a chat was told reads lines and need not parse the text.
"""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepbook.book.ground import stored_json
from keepbook.patterns import regex

HEAD, TITLE, LINE, MORE = "head", "title", "line", "more"
"""The kinds of a line: the head, the title of a group, a memory, and the note on what there was no room for."""


class BlockLine(NamedTuple):
    """A line of a block. `mark` is what stands before its text: the sign of a heading, a dash, id, topic, subject."""

    kind: str
    text: str
    mark: str = ""
    id: str | None = None
    version: int | None = None

    @property
    def whole(self) -> str:
        return self.mark + self.text


def block_text(lines: Sequence[BlockLine]) -> str:
    """The block as it is sent."""
    return "".join([joint + line[2] + line[1] for joint, line in _with_line_ends(lines)])


def _with_line_ends(lines: Sequence[BlockLine]) -> Iterator[tuple[str, BlockLine]]:
    """Each line, with one line end before it inside a group, and two before anything else."""
    before = None
    for line in lines:
        if before is None:
            yield "", line
        else:
            together = line.kind == LINE and before != HEAD
            yield "\n" if together else "\n\n", line
        before = line.kind


def places_to_text(lines: Sequence[BlockLine]) -> str:
    """The place of each line in the text of its block, in the stored form: [kind, id, version, where it begins, where
    its text begins, where it ends]."""
    places, at = [], 0
    for joint, line in _with_line_ends(lines):
        begin = at + len(joint)
        words = begin + len(line.mark)
        at = words + len(line.text)
        places.append([line.kind, line.id, line.version, begin, words, at])
    return json.dumps(places, separators=(",", ":"))


def parse_block(block: str | None, places: str | None) -> tuple[BlockLine, ...]:
    """The lines of a stored block. `places` says where each begins; an old block without places is split by its
    layout."""
    if not block:
        return ()
    if places is None:
        return lines_in_text(block)
    return tuple(
        BlockLine(kind, block[words:end], block[begin:words], id, version)
        for kind, id, version, begin, words, end in stored_json.load_json(places)
    )


_OLD_MARK = regex(r"- (?:\[[^\]]*\] )*", anchored=True)
_MORE = regex(r"\d+ more can be recalled with the ", anchored=True)


def lines_in_text(block: str) -> tuple[BlockLine, ...]:
    """The lines of a block that has only its text: a block from before places were stored, which quotes nothing."""
    return tuple(_line_in_text(text) for text in block.split("\n") if text)


def _line_in_text(text: str) -> BlockLine:
    if text.startswith("### "):
        return BlockLine(TITLE, text.removeprefix("### "), "### ")
    if mark := _OLD_MARK.match(text):
        return BlockLine(LINE, text[mark.end() :], mark[0])
    if _MORE.match(text):
        return BlockLine(MORE, text)
    if text.startswith("## "):
        return BlockLine(HEAD, text.removeprefix("## "), "## ")
    return BlockLine(HEAD, text)
