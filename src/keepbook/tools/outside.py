"""What every agent outside is given of the memory beside its preset's tools: to take back, to bring back, to look back.

Our own chats show the person a line with Undo; an agent outside has to be able to undo by itself. It takes back what
agents wrote and brings back what agents put away. The person's own writes and wishes stay: what it wanted is left for
them to decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.ground.to_json import to_json
from keepbook.book.memory.memories import Written
from keepbook.presets import Argument
from keepbook.tools.catalogue import SYSTEM
from keepbook.tools.definition import READS, Annotations, Tool, ToolAnswer, define
from keepbook.tools.memory import OPERATIONS, answer_to_write, line

EventParameter = Annotated[int, Field(ge=1), "The `event` that the write answered with."]
MemoryParameter = Annotated[str, "The id, or a piece of the stored text that fits only this one."]


def undo_write(book: Book, /, event: EventParameter) -> ToolAnswer:
    """Take back one write of an agent, named by the `event` it answered with. Undo of an undo does it again. Use it
    when you saved, changed or forgot something by mistake. What the person wrote themself only they take back."""
    with book.transaction():
        undone = book.undo(event)
        if not isinstance(undone, Written):
            return ToolAnswer(f"Undone: entry {event}.", to_json(undone))
        if undone.state == "active":
            left = f"It says: {line(undone)}"
        else:
            left = "It is put away"
        return answer_to_write(book, undone, f"Undone: entry {event}. {left}.")


def bring_back(book: Book, /, memory: MemoryParameter) -> ToolAnswer:
    """Bring a memory back that an agent forgot or put into the trash. Use it when it still holds after all. What the
    person put away only they bring back."""
    with book.transaction():
        written = book.restore(memory)
        if written.unchanged:
            return answer_to_write(book, written, f"It is in use: {line(written)}. Nothing was written.")
        return answer_to_write(book, written, f"Restored {line(written)}.")


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """How much is stored, and how much waits."""

    active: int
    archived: int
    trash: int
    by_category: Mapping[str, int]
    waiting: int
    entries: int
    last_change: str | None


def memory_stats(book: Book, /) -> ToolAnswer:
    """How much is stored, by category, how much was forgotten or lies in the trash, how much waits for the person's
    word, and when the book last changed. Use it for an overview; list what is stored to read it."""
    counted = {state: book.list(state=state, limit=1).total for state in ("active", "archived", "trash")}
    categories = {name: book.list(name, limit=1).total for name in book.preset().categories}
    newest = book.ledger(limit=1)
    if newest:
        entries = newest[0].event
    else:
        entries = 0
    last_change = None
    if newest:
        last_change = newest[0].at.isoformat()
    found = MemoryStats(
        **counted,
        by_category={name: count for name, count in categories.items() if count},
        waiting=len(book.proposals.list()),
        entries=entries,
        last_change=last_change,
    )
    return ToolAnswer(_stats_in_words(found), to_json(found))


def _stats_in_words(found: MemoryStats) -> str:
    parts = [f"{found.active} stored"]
    parts += [f"{count} under {name}" for name, count in found.by_category.items()]
    parts += [f"{found.archived} forgotten", f"{found.trash} in the trash", f"{found.waiting} waiting for the person"]
    changed = ""
    if found.last_change:
        changed = f" Last changed {found.last_change}."
    return f"{', '.join(parts)}.{changed}"


def memory_outside(book: Book, preset: str | None = None) -> list[Tool]:
    """These tools over a book, and `history` where the preset has none."""
    chosen = book.preset(preset)
    working = book.acting(actor="agent").under(chosen)
    tools = [
        define(
            partial(undo_write, working),
            name="undo",
            annotations=Annotations(destructive=True),
            returns=Written,
            tags=_TAGS,
        ),
        define(
            partial(bring_back, working),
            name="restore",
            annotations=Annotations(idempotent=True),
            returns=Written,
            tags=_TAGS,
        ),
        define(partial(memory_stats, working), annotations=READS, returns=MemoryStats, tags=_TAGS),
    ]
    if all(spec.does != "history" for spec in chosen.tools):
        tools.append(_history(working))
    taken = {spec.name for spec in chosen.tools}
    return [tool for tool in tools if tool.name not in taken]


_TAGS = ("memory", SYSTEM)


def _history(book: Book) -> Tool:
    known = OPERATIONS["history"]
    described: dict[str, Any] = {"memory": Argument("memory", "The id, or a piece of the stored text.")}
    return define(
        partial(known.function, book),
        description="Show every version of one memory, oldest first: what it said, from when to when, and where it "
        "came from. Use it when the user asks what changed or since when.",
        arguments=described, annotations=known.annotations, returns=known.returns, tags=_TAGS,
    )  # fmt: skip
