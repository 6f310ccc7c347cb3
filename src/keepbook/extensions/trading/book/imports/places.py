"""Chooses the deployments for a broker's file: one for each account and currency in it.

Amounts in different currencies are never added up, so they do not share a deployment. A deployment that is missing is
made, and named after the account and the currency. If the person names a deployment, all rows in its currency go there,
and the others are refused with the reason.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from sqlalchemy import select, update

from keepbook.book.ledger.ledger import Origin
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import skills
from keepbook.extensions.trading.book.currencies import rates
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.file import FileImport
from keepbook.extensions.trading.book.imports.formats.plain_table import PLAIN
from keepbook.extensions.trading.book.imports.pairing import Fill, PairedFills, Trip
from keepbook.extensions.trading.book.market.symbols import MONEY
from keepbook.extensions.trading.book.skills import Deployment
from keepbook.extensions.trading.tables import deployments as deployment_rows
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import positions as position_rows
from keepbook.extensions.trading.tables import skills as skill_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx

BROKERS = ("Imported trades", "From brokers' files.")
"""The name and description of the skill for deployments that are made for a broker's file."""
MADE_BY_LOADS = (BROKERS[1], "A strategy of freqtrade.")
"""The descriptions of skills that loads have made."""
MakeDeployment = Callable[[Tx, str, str, str], str]
"""Makes a deployment with this name, account and currency, and returns its id."""


@dataclass(slots=True)
class FilePart:
    """The part of a file that goes into one deployment. `place` is the id of the deployment; None if it is still to be
    made. `chosen` says that the person has named it."""

    name: str
    currency: str
    account: str = ""
    place: str | None = None
    chosen: bool = False
    fills: list[Fill] = field(default_factory=list)
    trips: list[Trip] = field(default_factory=list)
    results: dict[str, PairedFills] = field(default_factory=dict)
    replaced: list[RowValues] = field(default_factory=list)
    """The keys of stored trades that the file corrects."""

    @property
    def home(self) -> str:
        """The id of the deployment; raises if it is still to be made."""
        if self.place is None:
            raise ValueError(f"{self.name} is made first")
        return self.place

    @property
    def all_trips(self) -> list[Trip]:
        return [*self.trips, *(trip for found in self.results.values() for trip in found.trips)]


# Rules


def learn_quotes(work: FileImport) -> None:
    """Note a currency for each symbol that names none: that of its first fee that was paid in money."""
    for fill in work.fills:
        for _, coin in fill.fees:
            if coin in MONEY and not _told_currency(fill):
                work.quotes.setdefault(fill.symbol, coin)
    for trip in work.trips:
        _, coin, quote = work.reader.paid.get(trip.key, (None, "", ""))
        if (quote or coin in MONEY) and not _told_currency(trip):
            work.quotes.setdefault(trip.symbol, quote or coin)


def _told_currency(one: Fill | Trip) -> str:
    return one.quote or values.split_symbol(one.symbol)[1]


def currency_of(work: FileImport, one: Fill | Trip) -> str:
    """The currency of a price: as the file says, else that of the symbol, else that of the symbol's first fee in money,
    else as the person says; "" if none is known."""
    return _told_currency(one) or work.quotes.get(one.symbol) or work.reader.currency


def name_of_deployment(title: str, account: str, currency: str, *, whose: str = "") -> str:
    """The name of a deployment: the account, or if the file names none its kind, and the currency."""
    if account and title == PLAIN:
        whose = account  # named by the person's own table
    elif account:
        whose = f"{title.partition(',')[0]} {account}"
    else:
        whose = whose or title
    ending = ""
    if currency:
        ending = f" {currency}"
    return f"{whose[: skills.NAME_LIMIT - len(ending)].strip()}{ending}"


# Operations


def parts_of_file(tx: Tx, work: FileImport, ref: str | None) -> list[FilePart]:
    """The parts of the file: one for the named deployment, else one for each account and currency."""
    learn_quotes(work)
    if ref is not None:
        return _named_part(tx, work, ref)
    parts = _parts(work)
    for one in parts:
        found = skills.deployment_called(tx, one.name)
        one.place = None
        if found is not None:
            one.place = found.id
    return parts


def make_places(tx: Tx, parts: Iterable[FilePart], make: MakeDeployment | None) -> list[str]:
    """Make the deployments that are missing. Returns their ids."""
    made = []
    for part in parts:
        if part.place is None and make is not None:
            part.place = make(tx, part.name, part.account, part.currency)
            made.append(part.place)
    return made


def remove_empty_deployment(tx: Tx, id: str, now: str) -> None:
    """Remove a deployment that has no trades, fills or open positions; and its skill, if loads have made that and it
    has no other deployment. As of an earlier instant both are still there."""
    mine = (deployment_rows.c.owner == tx.owner, deployment_rows.c.id == id)
    skill_id = tx.conn.execute(select(deployment_rows.c.skill_id).where(*mine)).scalar()
    if skill_id is None or any(_has_rows(tx, rows, id) for rows in (trade_rows, fill_rows)) or _holds(tx, id):
        return
    tx.conn.execute(update(deployment_rows).where(*mine).values(removed_at=now))
    skill = skills.get_skill(tx, skill_id)
    if (
        skill.description in MADE_BY_LOADS
        and not skills.list_deployments(tx, skill_id)
        and not skills.field_history(tx, skill_id)
    ):
        of_skill = (skill_rows.c.owner == tx.owner, skill_rows.c.id == skill_id)
        tx.conn.execute(update(skill_rows).where(*of_skill).values(ended_at=now))


def make_for_load(
    tx: Tx, origin: Origin, now: str, name: str, skill: tuple[str, str], **given: Any
) -> str:  # fmt: skip
    """The id of a deployment for a file, of a skill with this name and description. If a deployment of this name was
    removed when a load was taken back, it is restored; else it is made."""
    gone = skills.named_row(skills.all_deployments(tx), None, name[: skills.NAME_LIMIT])
    if gone is not None and gone.removed_at is not None:
        mine = (deployment_rows.c.owner == tx.owner, deployment_rows.c.id == gone.id)
        tx.conn.execute(update(deployment_rows).where(*mine).values(removed_at=None))
        of_skill = (skill_rows.c.owner == tx.owner, skill_rows.c.id == gone.skill_id)
        tx.conn.execute(update(skill_rows).where(*of_skill).values(ended_at=None))
        return str(gone.id)
    known = skills.named_row(skills.living_skills(tx), None, skill[0][: skills.NAME_LIMIT])
    if known:
        skill_id = known.id
    else:
        skill_id = skills.create_skill(tx, origin, now, skill[0][: skills.NAME_LIMIT], description=skill[1]).id
    return skills.create_deployment(tx, origin, now, name[: skills.NAME_LIMIT], skill_id, **given).id


def _has_rows(tx: Tx, rows: Any, id: str) -> bool:
    query = select(rows.c.key).where(rows.c.owner == tx.owner, rows.c.deployment_id == id).limit(1)
    return tx.conn.execute(query).first() is not None


def _holds(tx: Tx, id: str) -> bool:
    query = select(position_rows.c.symbol).where(
        position_rows.c.owner == tx.owner, position_rows.c.deployment_id == id, position_rows.c.closed_at.is_(None)
    )
    return tx.conn.execute(query.limit(1)).first() is not None


def _parts(work: FileImport) -> list[FilePart]:
    parts: dict[tuple[str, str], FilePart] = {}
    for one in chain[Fill | Trip](work.fills, work.trips):
        account, currency = one.account, currency_of(work, one)
        if (account, currency) not in parts:
            name = name_of_deployment(work.format.title, account, currency, whose=work.format.whose)
            parts[account, currency] = FilePart(name, currency, account)
        _put(parts[account, currency], one)
    return list(parts.values()) or [FilePart(work.format.title, "")]


def _named_part(tx: Tx, work: FileImport, ref: str) -> list[FilePart]:
    found = skills.deployment_called(tx, ref)
    if found is None:
        raise Invalid(f"there is no deployment {ref[:80]!r} in this book; create it first", field="deployment")
    part = FilePart(found.name, found.currency, found.account or "", found.id, chosen=True)
    for one in chain[Fill | Trip](work.fills, work.trips):
        if rates.same_money(found.currency, currency_of(work, one) or found.currency):
            _put(part, one)
        else:
            if isinstance(one, Fill):
                rows = one.rows
            else:
                rows = work.rows_of[one.key]
            work.refuse(rows, other_currency(one.symbol, currency_of(work, one), found))
    return [part]


def other_currency(symbol: str, currency: str, deployment: Deployment) -> str:
    return (
        f"{symbol} counts in {currency} and {deployment.name} in {deployment.currency}, which are not added up; name a "
        f"deployment in {currency}, or none"
    )


def _put(part: FilePart, one: Fill | Trip) -> None:
    if isinstance(one, Fill):
        part.fills.append(one)
    else:
        part.trips.append(one)
