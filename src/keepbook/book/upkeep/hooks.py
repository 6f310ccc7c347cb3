"""What extensions add to importing, restoring and taking back a book.

The `upkeep` module of an extension may have any of these; whatever is loaded is asked, on or off, since a book keeps
its rows either way:

- `check_import(found)`: raise `Invalid` for rows of a file that must not come in; `found` has them by kind of line
- `after_restore(tx)`: make anew what no export holds; returns the names of what the person has to allow again
- `older_line(kind, value)`: the fields that a line of the first format did not have yet
- `LOADS` and `take_back(book, tx, load)`: the kinds of load it brings in, and how one is taken back; `count` in what a
  load tells is how many of them came; `take_back_first(book, load)` does before, in pieces, what takes long
- `THINGS` and `set_thing(tx, origin, what, id, values)`: the kinds of thing whose changes are entries of the ledger
  (`ledger/thing_entries.py`), and how one is set back
- `SHARED` and `verify_shared(kb, anchor)`: what its data that all books share are called in an answer, and a check of
  them that returns a `SharedVerification`; only those that are on are asked for this one
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from keepbook.extension import Extension, load_part, loaded_extensions


def upkeep_hooks(name: str) -> Iterator[tuple[Extension, Callable[..., Any]]]:
    """This hook of every extension that has it."""
    for one in loaded_extensions():
        if one.upkeep is not None and (hook := getattr(load_part(one.upkeep), name, None)) is not None:
            yield one, hook


@dataclass(frozen=True, slots=True)
class SharedVerification:
    """Whether data that all books share stand as they came.

    found: what a program is told
    holds: a sentence for where they do; empty where there is nothing to tell
    fault: the beginning of a sentence for where they do not, such as "the prices do not hold"
    why: its end, for each thing that is wrong
    """

    found: Any
    holds: str
    fault: str
    why: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.why


def shared_checks(extensions: Iterable[Extension]) -> dict[str, Callable[..., SharedVerification]]:
    """`verify_shared` of each of these extensions that has it, by its `SHARED`."""
    parts = [load_part(one.upkeep) for one in extensions if one.upkeep is not None]
    return {part.SHARED: part.verify_shared for part in parts if hasattr(part, "verify_shared")}
