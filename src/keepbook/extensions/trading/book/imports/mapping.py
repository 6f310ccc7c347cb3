"""Mappings of columns, stored by name: given once, and used again for the next such file."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import delete, insert, select

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import clean_line
from keepbook.errors import Invalid, NotFound
from keepbook.extensions.trading.book.files import number
from keepbook.extensions.trading.book.imports.formats import NAMES, plain_table
from keepbook.extensions.trading.tables import mappings
from keepbook.storage.database import Tx

# Rules


def check_mapping(told: Mapping[str, str]) -> dict[str, str]:
    """A mapping of ours to theirs, checked, in the stored form."""
    cleaned = {clean_line(ours, "map", 1, 40): clean_line(theirs, "map", 1, 200) for ours, theirs in told.items()}
    plain_table.format_of_mapping(cleaned)
    return cleaned


def parse_pairs(told: Sequence[str], field: str) -> dict[str, str]:
    """Pairs from `NAME=VALUE`, as in a command line or an address."""
    found = [one.partition("=") for one in told]
    if any(not mark or not name.strip() or not value.strip() for name, mark, value in found):
        raise Invalid(f"{field} is written NAME=VALUE", field=field)
    return {name.strip(): value.strip() for name, _, value in found}


def sizes(told: Sequence[str]) -> dict[str, float]:
    """What one contract of a symbol holds, `EURUSD=100000`."""
    return {
        name: number(size, "multiplier", low=0, above=True) for name, size in parse_pairs(told, "multiplier").items()
    }


# Operations


def store_mapping(tx: Tx, name: str, told: Mapping[str, str]) -> dict[str, str]:
    """Keep a mapping under a name of one's own; said again it is replaced."""
    name = clean_line(name, "format", 1, 60)
    if name in NAMES:
        raise Invalid(f"{name!r} is a format of Keepbook's own; choose another name", field="format")
    cleaned = check_mapping(told)
    tx.conn.execute(delete(mappings).where(mappings.c.owner == tx.owner, mappings.c.name == name))
    tx.conn.execute(insert(mappings), {"owner": tx.owner, "name": name, "columns": json.dumps(cleaned)})
    return cleaned


# Queries


def get_mapping(tx: Tx, name: str) -> dict[str, str]:
    query = select(mappings.c.columns).where(mappings.c.owner == tx.owner, mappings.c.name == name)
    found = tx.conn.execute(query).scalar()
    if found is None:
        kept = ", ".join([*NAMES, *list_mappings(tx)])
        raise NotFound(f"there is no format {name[:60]!r}; there are {kept}", field="format")
    told: dict[str, str] = stored_json.load_json(found)
    return told


def list_mappings(tx: Tx) -> dict[str, dict[str, str]]:
    query = select(mappings).where(mappings.c.owner == tx.owner).order_by(mappings.c.name)
    return {row.name: stored_json.load_json(row.columns) for row in tx.conn.execute(query)}
