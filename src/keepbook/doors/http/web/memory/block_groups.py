"""A memory block as the panel beside a chat shows it: its groups and what their lines say, without ids and topics."""

from collections.abc import Sequence
from typing import NamedTuple

from keepbook.book.text.block_lines import LINE, MORE, TITLE, BlockLine
from keepbook.book.text.for_models.safe_line import marked_writer
from keepbook.presets import Preset
from keepbook.presets.group_names import names_of_titles


class BlockGroups(NamedTuple):
    groups: list[tuple[str, list[str]]]
    more: str
    """What the block says about memories it has no room for."""

    @property
    def total(self) -> int:
        return sum(len(lines) for _, lines in self.groups)

    @property
    def writers(self) -> list[str]:
        """Who wrote lines of it, but for the person."""
        found = (marked_writer(line) for _, lines in self.groups for line in lines)
        return list(dict.fromkeys(name for name in found if name))


def group_block_lines(block: Sequence[BlockLine], preset: Preset) -> BlockGroups:
    named = names_of_titles(preset)
    groups: list[tuple[str, list[str]]] = []
    for line in block:
        if line.kind == TITLE:
            groups.append((named.get(line.text, line.text), []))
        elif line.kind == LINE:
            if not groups:
                groups.append(("", []))
            groups[-1][1].append(line.text)
    more = next((line.text for line in block if line.kind == MORE), "")
    return BlockGroups(groups, more)
