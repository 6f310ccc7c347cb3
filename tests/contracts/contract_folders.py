"""The contract folders: what each extension says of itself to the walks.

A folder `contract/` in the tests of an extension has `authority.toml` (who may do what, by hand), `bodies.py` with
`BODIES` (an example body for each path that takes one) and `furnish.py` with `furnish(kb, book)`, which makes a row in
each of its tables. A folder that is there is walked: no walk names an extension. The core's lines are `authority.toml`.

`bodies.py` may say more for the walk through strangers' books (`python_calls`, `requests`, `tool_calls`); where it does
not, that walk takes the lines and bodies.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import select
from tests.extensions.strangers import forgetting_strangers

from keepbook.app import upgrade
from keepbook.extension import Extension, find_extensions, shipped
from keepbook.extensions import SHIPPED
from keepbook.storage.tables import TableSet, tables_of

HERE = Path(__file__).parent
PARTS = ("authority.toml", "bodies.py", "furnish.py")
Lines = Mapping[str, dict[str, str]]
"""By section of `authority.toml`."""


class Contract(NamedTuple):
    """The contract folder of one extension."""

    name: str
    setting: str
    """How `extensions` names it."""
    folder: Path

    @property
    def lines(self) -> Lines:
        return tomllib.loads((self.folder / "authority.toml").read_text())

    def part(self, name: str) -> Any:
        """One of its modules, loaded when a walk needs it: it may load the extension's tables."""
        return import_module(f"{_package(self.folder)}.{name}")


@cache
def contracts() -> tuple[Contract, ...]:
    """Every contract that is whole, those of this package first."""
    folders = [*sorted(HERE.parent.glob("extensions/*/contract")), *sorted(HERE.glob("*/contract"))]
    return tuple(_contract(folder) for folder in folders if all((folder / part).exists() for part in PARTS))


def _contract(folder: Path) -> Contract:
    if folder.parent.name in SHIPPED:
        return Contract(folder.parent.name, folder.parent.name, folder)
    place = _package(folder.parent)
    found = {name: one for name, one in vars(import_module(place)).items() if isinstance(one, Extension)}
    ((name, extension),) = found.items()
    return Contract(extension.name, f"{place}:{name}", folder)


def _package(folder: Path) -> str:
    return ".".join(folder.relative_to(HERE.parents[1]).parts)


def strangers() -> list[Contract]:
    """The contracts of extensions that are not of this package."""
    return [one for one in contracts() if one.name not in SHIPPED]


# What is written in them


def authority_lines(of: Iterable[Contract] | None = None) -> Lines:
    """The core's lines and those of these contracts, of all if none is named; two of one door are refused."""
    joined: dict[str, dict[str, str]] = {}
    core = tomllib.loads((HERE / "authority.toml").read_text())
    for lines in (core, *(one.lines for one in (contracts() if of is None else of))):
        for section, told in lines.items():
            _join(joined.setdefault(section, {}), told, several=section == "commands")
    return joined


def _join(joined: dict[str, str], told: Mapping[str, str], *, several: bool) -> None:
    """Of commands a line names many."""
    for name, said in told.items():
        if several:
            joined[name] = f"{joined.get(name, '')} {said}".strip()
            continue
        assert name not in joined, f"{name} has two lines"
        joined[name] = said


def shipped_lines() -> Lines:
    """The lines of the core and of those extensions of this package that are here."""
    return authority_lines(one for one in contracts() if one.name in shipped())


def example_bodies() -> dict[str, Any]:
    """An example body for each path of an extension that takes one."""
    return {route: body for one in contracts() for route, body in one.part("bodies").BODIES.items()}


def furnish_all(kb: Any, book: Any) -> None:
    """A row in each table of each extension that is on."""
    on = {one.name for one in kb.extensions}
    for contract in contracts():
        if contract.name in on:
            contract.part("furnish").furnish(kb, book)


def known_ids(kb: Any, owner: str) -> dict[str, str]:
    """For each table of an extension in which an owner has something, the id of one row: a path names what is in
    `habits` as `/habits/{id}`."""
    found = {}
    with kb._database.read(owner) as tx:
        for table in (table for table in tx.tables.of_extensions if "owner" in table.c):
            key = next(column for column in table.primary_key.columns if column.name != "owner")
            if (row := tx.conn.execute(select(key).where(table.c.owner == owner).order_by(key)).first()) is not None:
                found[table.name] = str(row[0])
    return found


# Turning all of them on


def all_extensions() -> tuple[str, ...]:
    """Every extension with a contract, as the setting `extensions` names them."""
    return tuple(one.setting for one in contracts())


@cache
def every_table() -> TableSet:
    """The tables of a database that has every extension with a contract."""
    with forgetting_strangers():
        return TableSet(lambda: (table for one in find_extensions(all_extensions()) for table in tables_of(one)))


@contextmanager
def every_extension() -> Iterator[None]:
    """Every extension with a contract is on; afterwards this process knows no stranger."""
    with forgetting_strangers(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEEPBOOK_EXTENSIONS", ",".join(all_extensions()))
        yield


def with_their_tables(url: str) -> str:
    """The same place: a server has now the tables of all extensions that are on; a file has them once it is opened."""
    if url.startswith("postgresql:"):
        upgrade(url)
    return url
