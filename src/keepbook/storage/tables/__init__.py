"""Every table, declared once for both engines: those of the core, one module for each room, and those of extensions.

The owner comes first in every key and index: the rows of one owner are one contiguous range, row-level security is
cheap, and the schema can be sharded by owner as it is. Instants are fixed-width UTC text
(`2026-11-15T03:26:39.123456Z`), so both engines compare, hash and export the same bytes. Rules that a constraint can
express stand here; rules that need other rows are triggers in `guards/`.

Within a module a table is declared after those it depends on. A database records which tables it has
(`storage/installed.py`): code that walks over all of them takes that database's `TableSet`.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from types import ModuleType

from sqlalchemy import Table
from sqlalchemy.schema import sort_tables

from keepbook.errors import Invalid
from keepbook.extension import Extension, load_part, shipped
from keepbook.storage.tables import chats, choices, cover, ledger, memory, upkeep
from keepbook.storage.tables.declare import rules_of

WHOLE_BOOK = "*"
"""The `memory_id` of an erasure that takes everything of its owner."""

BY_HAND = ("owners", "tokens", "identities")
"""Tables that name an owner, and from which an erasure takes rows in a step of its own."""


class TableSet:
    """The tables of a database: those of the core, then those of its extensions, then those of the ledger's covers.

    `find` returns those of its extensions. It is called when they are first needed, since most questions never need
    them.
    """

    def __init__(self, find: Callable[[], Iterable[Table]] = tuple) -> None:
        self._find = find

    @cached_property
    def of_extensions(self) -> tuple[Table, ...]:
        return tuple(self._find())

    @cached_property
    def declared(self) -> tuple[Table, ...]:
        before = [table for room in (ledger, memory, chats, choices, upkeep) for table in tables_in(room)]
        return (*before, *self.of_extensions, *tables_in(cover))

    @cached_property
    def exported(self) -> dict[str, Table]:
        """The kinds of line of an export and the tables they come from, in file order."""
        return _in_file_order(self.declared)

    def refuse_unfit(self) -> None:
        """Refuse at once two tables that cannot be in one export."""
        _in_file_order(self.declared)

    @cached_property
    def parents_first(self) -> tuple[Table, ...]:
        """All tables, each after those it depends on. If some are of extensions from elsewhere, all of extensions come
        last, in the order of their declaration: the record of one whose code is gone does not tell what depends on
        what."""
        ours = {table for extension in shipped().values() for table in tables_of(extension)}
        if ours.issuperset(self.of_extensions):
            return tuple(sort_tables(self.declared))
        return (
            *sort_tables([table for table in self.declared if table not in self.of_extensions]),
            *self.of_extensions,
        )

    @cached_property
    def covered(self) -> dict[str, Table]:
        """The tables whose rows the ledger seals, by name."""
        return {table.name: table for table in self.declared if rules_of(table).covered}

    @cached_property
    def unexported(self) -> frozenset[str]:
        """The names of tables that are sealed but not exported: a token is of use in this installation only."""
        return frozenset(name for name, table in self.covered.items() if not rules_of(table).exported)

    @cached_property
    def owned(self) -> tuple[Table, ...]:
        """The tables with an owner, each before those it depends on: the order in which rows can be erased."""
        return tuple(
            table for table in reversed(self.parents_first) if "owner" in table.c and table.name not in BY_HAND
        )


def _in_file_order(tables: Iterable[Table]) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for table in tables:
        kind = rules_of(table).exported
        if kind and found.setdefault(kind, table) is not table:
            names = f"tables {found[kind].name!r} and {table.name!r}"
            raise Invalid(f"{names} are both exported as {kind!r}; call one otherwise", field="extensions")
    order = list(found)
    for kind, table in found.items():
        before = rules_of(table).exported_after
        if before in found:
            order.remove(kind)
            order.insert(order.index(before) + 1, kind)
    return {kind: found[kind] for kind in order}


def tables_in(room: ModuleType) -> Iterator[Table]:
    """The tables that a module declares."""
    return (table for table in vars(room).values() if isinstance(table, Table))


@cache
def tables_of(extension: Extension) -> tuple[Table, ...]:
    """The tables that an extension declares. Raises `Invalid` if its modules do not load, or a table is misdeclared."""
    try:
        rooms = [load_part(place) for place in extension.tables]
    except Invalid as error:
        raise Invalid(f"extension {extension.name!r}: {error.message}", field="extensions") from None
    found = tuple(dict.fromkeys(table for room in rooms for table in tables_in(room)))
    for table in found:
        why = misdeclared(table)
        if why is not None:
            raise Invalid(f"extension {extension.name!r}, table {table.name!r}: {why}", field="extensions")
    return found


def misdeclared(table: Table) -> str | None:
    """What a table's declaration must say and does not; None if it is complete."""
    rules = rules_of(table)
    if "owner" not in table.c:
        return None
    if bool(rules.exported) == bool(rules.unexported):
        return "say `exported=` or, with the reason, `unexported=`"
    if bool(rules.covered) == bool(rules.uncovered):
        return "say `covered=True` or, with the reason, `uncovered=`"
    for key in table.foreign_keys:
        parent = key.column.table
        if rules_of(parent).of_memory and parent is not table and not rules.of_memory:
            return f"rows of {parent.name!r} go with their memory, and these refer to them: name it too, as `of_memory`"
    return None


@cache
def shipped_tables() -> TableSet:
    """The tables of the core and of the extensions of this package: those of every new database."""
    return TableSet(lambda: (table for extension in shipped().values() for table in tables_of(extension)))
