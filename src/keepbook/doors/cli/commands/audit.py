"""`keepbook audit`: what a careful person would tidy up, with what to type for each finding."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from keepbook.doors.cli.sheets.memory import entry
from keepbook.doors.cli.terminal.command import CARE, Invocation, command
from keepbook.doors.cli.terminal.paper import AMBER, ID, META, Paper, grid, ink, pluralise

if TYPE_CHECKING:
    from keepbook.book.memory.block import Fate
    from keepbook.book.memory.memories import Memory
    from keepbook.book.upkeep.audit import Audit

MOST = 8
"""Memories shown per finding; --json has them all."""

Get = Callable[[str], "Memory"]


def register(app: typer.Typer) -> None:
    command(app, "audit", audit, panel=CARE)


def audit(call: Invocation) -> None:
    """Report what a careful person would tidy up: duplicates, stale ones, secrets, the size of the block."""
    found = call.book.audit()
    if call.as_json:
        # The book is open by now, and with it this.
        from keepbook.book.ground.to_json import to_json

        call.json({"clean": found.clean, **to_json(found)})
        return
    audit_sheet(call.paper, found, call.book.get)


def audit_sheet(paper: Paper, found: "Audit", get: Get) -> None:
    """`get` gives a memory by its id."""
    if not found.memories:
        paper.put("The book is empty: there is nothing to tidy up.")
        return
    paper.put(
        f"{pluralise(found.memories, 'memory', 'memories')}. A new chat is given {found.block_memories:,} of them: "
        f"{pluralise(found.block_characters, 'character')}, about {pluralise(found.block_tokens, 'token')}."
    )
    for same in found.duplicates:
        _finding(paper, "The same words", same, get, "Keep one, archive the others", "forget", same[-1])
    for pair in found.near_duplicates:
        _finding(paper, "Nearly the same", pair, get, "Merge them into one, archive the other", "forget", pair[1])
    for link in found.contradictions:
        ends = (link.from_id, link.to_id)
        _finding(paper, "One contradicts the other", ends, get, "Decide which holds", "forget", link.to_id)
    _secrets(paper, found)
    _finding_sheet(paper, "Faded: recall only", found.low_score, get, "If it still holds", "confirm")
    _finding_sheet(paper, "Not true now", found.not_current, get, "If it is over for good", "forget")
    _finding_sheet(paper, "Not used for 60 days", found.stale, get, "If it no longer matters", "forget")
    _finding_sheet(paper, "Worded by older rules", found.worded, get, "If it is not how you would say it", "update")
    if found.never_referenced:
        paper.gap()
        paper.put(
            ink(f"{pluralise(len(found.never_referenced), 'memory', 'memories')} not yet given to any chat.", META)
        )
    if found.clean and not (found.stale or found.not_current):
        paper.gap()
        paper.put("Nothing to tidy up.")


def _finding_sheet(paper: Paper, title: str, ids: Sequence[str], get: Get, advice: str, verb: str) -> None:
    """A finding about single memories, with their number."""
    if ids:
        _finding(paper, f"{title} · {len(ids):,}", ids, get, advice, verb, "ID", today={})


def _finding(
    paper: Paper, title: str, ids: Sequence[str], get: Get, advice: str, *command: str,
    today: dict[str, "Fate"] | None = None,
) -> None:  # fmt: skip
    _title(paper, title)
    table = grid(text=1)
    for id in ids[:MOST]:
        table.add_row(ink(id, ID), entry(paper, get(id), today))
    paper.sheet(table, indent=2)
    if len(ids) > MOST:
        paper.put(ink(f"  and {len(ids) - MOST:,} more; --json lists them all", META))
    paper.put("  ", advice, ": ", paper.hint(*command))


def _secrets(paper: Paper, found: "Audit") -> None:
    """Print the secrets that were found by id and kind only: a report must not spread what it warns of."""
    if not found.secrets:
        return
    _title(paper, f"Secrets in the text · {len(found.secrets):,}")
    for id, kind in found.secrets[:MOST]:
        paper.put("  ", ink(id, ID), "  ", ink(kind))
    paper.put("  Change the secret where it is used; then remove every version of the memory:")
    paper.put("  ", paper.hint("delete", found.secrets[0][0], "--forever"))


def _title(paper: Paper, title: str) -> None:
    paper.gap()
    paper.put(ink(title, AMBER))
