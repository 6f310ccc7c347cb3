"""A memory block as the panel beside a chat shows it: its groups and lines, read back from the text that was sent."""

import re
from typing import NamedTuple

_MARKS = re.compile(r"^- (?:\[[^\]]*\] )*")
"""What a preset puts before a line: its id, its category, its subject."""


class Lines(NamedTuple):
    groups: list[tuple[str, list[str]]]
    more: str
    """What the block says about memories it has no room for."""

    @property
    def total(self) -> int:
        return sum(len(lines) for _, lines in self.groups)


def lines_of(block: str) -> Lines:
    groups: list[tuple[str, list[str]]] = []
    more = ""
    for line in block.splitlines():
        if line.startswith("### "):
            groups.append((line.removeprefix("### "), []))
        elif line.startswith("- "):
            if not groups:
                groups.append(("", []))
            groups[-1][1].append(_MARKS.sub("", line))
        elif groups and "can be recalled" in line:
            more = line
    return Lines(groups, more)
