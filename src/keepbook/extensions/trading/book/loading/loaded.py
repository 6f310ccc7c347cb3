"""What a file brought: how many rows were new, other or known, and which were not taken, and why."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the process that reads a file has no database
    from keepbook.storage.bulk_rows import KeptCounts

TOLD = 50
"""How many refused rows are stored with a load."""
MOST_REFUSED = 1000
"""How many wrong rows an answer lists; the others are only counted."""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was not taken: where it stands in the file, and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """What a file brought, or would. `refused` tells the first thousand wrong rows, `wrong` counts them all; likewise
    `corrections` and `offered` those that look like corrections, of which nothing was done. `load` is the number by
    which it is taken back, where something came in."""

    added: int
    changed: int
    unchanged: int
    wrong: int
    refused: tuple[RefusedRow, ...]
    offered: int = 0
    corrections: tuple[RefusedRow, ...] = ()
    load: int | None = None
    dry_run: bool = False

    def as_dry_run(self) -> "LoadedFile":
        return replace(self, load=None, dry_run=True)


@dataclass(slots=True)
class LoadTally:
    """The counts of a file so far."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    wrong: int = 0
    refused: list[RefusedRow] = field(default_factory=list)
    offered: int = 0
    corrections: list[RefusedRow] = field(default_factory=list)

    def keep(self, kept: "KeptCounts") -> None:
        self.added += kept.added
        self.changed += kept.changed
        self.unchanged += kept.unchanged

    def refuse(self, row: int, reason: str) -> None:
        self.wrong += 1
        if len(self.refused) < MOST_REFUSED:
            self.refused.append(RefusedRow(row, reason))

    def offer(self, row: int, words: str) -> None:
        self.offered += 1
        if len(self.corrections) < MOST_REFUSED:
            self.corrections.append(RefusedRow(row, words))

    def to_loaded(self, load: int | None = None) -> LoadedFile:
        return LoadedFile(
            self.added, self.changed, self.unchanged, self.wrong, tuple(self.refused), self.offered,
            tuple(self.corrections), load,
        )  # fmt: skip
