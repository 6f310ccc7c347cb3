"""The results of deployments, which may have different currencies.

Deployments in one currency are measured together. If there are several currencies, each has figures of its own, and
only counts are added up. If a currency is asked for, the others are converted into it day by day, at the last close
before the last exit of the day; if there is no rate, the call is refused with a sentence.
"""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from zoneinfo import ZoneInfo

from sqlalchemy import select

from keepbook.book.ground.when import stamp
from keepbook.errors import Conflict
from keepbook.extensions.trading.book import days, trades
from keepbook.extensions.trading.book.currencies import rates
from keepbook.extensions.trading.book.days import DayPiece, scale_piece
from keepbook.extensions.trading.book.performance import (
    EquityPoint,
    Performance,
    equity_points,
    keep_apart,
    measure_performance,
    period_starts,
)
from keepbook.extensions.trading.book.skills import Deployment
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question for results: of which deployments, as known when, and in which currency. `is_one` says that a single
    deployment was named."""

    deployments: Sequence[Deployment]
    known_at: str
    is_one: bool
    currency: str | None = None


# Queries


def results_of(tx: Tx, asked: Asked, since: str | None, zone: ZoneInfo) -> Performance:
    """The figures of these deployments: for each currency, or converted into the one that is asked for."""
    by_currency = _by_currency(tx, asked)
    if asked.currency is None and len(by_currency) > 1:
        each = {name: _measured(tx, asked, {name: some}, name, since, zone) for name, some in by_currency.items()}
        return keep_apart(each)
    into = asked.currency or next(iter(by_currency), None)
    return _measured(tx, asked, by_currency, into, since, zone)


def _measured(
    tx: Tx, asked: Asked, groups: Mapping[str, Sequence[Deployment]], into: str | None, since: str | None,
    zone: ZoneInfo,
) -> Performance:  # fmt: skip
    starts = period_starts(asked.known_at, zone).values()
    soonest, cuts = None if since is None else min(since, *starts), {*starts, *([since] if since else [])}
    converter = rates.Converter(tx.conn, into or "", asked.known_at)
    pieces = _pieces(tx, asked, groups, converter, soonest, cuts)
    ids = [one.id for some in groups.values() for one in some]
    found = measure_performance(
        pieces, known_at=asked.known_at, since=since, capital=_capital(tx, asked, groups, converter), currency=into,
        open_positions=len(trades.open_positions(tx, ids, asked.known_at)), zone=zone,
    )  # fmt: skip
    return replace(found, converted=converter.used)


def equity_of(tx: Tx, asked: Asked) -> list[EquityPoint]:
    """The curve of these deployments, in one currency: theirs, or the one asked for."""
    groups = _traded(tx, asked)
    into = asked.currency or refuse_mixed(groups)
    converter = rates.Converter(tx.conn, into or "", asked.known_at)
    capital = _capital(tx, asked, groups, converter)
    return equity_points(_pieces(tx, asked, groups, converter, None, ()), capital)


def refuse_mixed(currencies: Iterable[str]) -> str | None:
    """The currency, if there is only one; None if there is none. Raises `Conflict` if there are several."""
    names = list(currencies)
    if len(names) > 1:
        raise Conflict(
            f"these deployments count in {' and '.join(sorted(names))}, which are not added up: name one of them, or "
            "the currency to convert into", code="several_currencies",
        )  # fmt: skip
    if names:
        return names[0]
    return None


def currencies_of(tx: Tx, asked: Asked) -> list[str]:
    return list(_traded(tx, asked))


def _pieces(
    tx: Tx, asked: Asked, groups: Mapping[str, Sequence[Deployment]], converter: rates.Converter, since: str | None,
    cuts: Collection[str],
) -> Iterator[DayPiece]:  # fmt: skip
    """The days of all currencies in the order of exits, each converted at the rate of its last exit."""
    streams = []
    for currency, some in groups.items():
        found = days.pieces(tx, [one.id for one in some], asked.known_at, since, cuts)
        if currency != converter.into:
            found = iter([scale_piece(one, converter.rate(currency, one.last)) for one in found])
        streams.append(found)
    if len(streams) > 1:
        return heapq.merge(*streams, key=lambda one: (one.day, one.first))
    return chain(*streams)


def _by_currency(tx: Tx, asked: Asked) -> dict[str, list[Deployment]]:
    """The deployments by currency. Unless a single one was named, those that had not begun by then are left out."""
    found: dict[str, list[Deployment]] = {}
    for one in asked.deployments:
        begun = stamp(one.started_at or one.created_at) <= asked.known_at
        if asked.is_one or begun or _has_trades(tx, one.id, asked.known_at):
            found.setdefault(one.currency, []).append(one)
    return found


def _traded(tx: Tx, asked: Asked) -> dict[str, list[Deployment]]:
    """The deployments by currency, without currencies in which no trade was closed."""
    groups = _by_currency(tx, asked)
    return {
        name: some
        for name, some in groups.items()
        if len(groups) == 1 or any(_has_trades(tx, one.id, asked.known_at) for one in some)
    }


def _capital(
    tx: Tx, asked: Asked, groups: Mapping[str, Sequence[Deployment]], converter: rates.Converter
) -> float | None:
    """The sum of capital, converted; None if a deployment that traded has no capital, or there is no rate."""
    total = 0.0
    for currency, some in groups.items():
        for one in some:
            if one.capital is None and (asked.is_one or _has_trades(tx, one.id, asked.known_at)):
                return None
            rate = converter.rate_if_any(currency, asked.known_at)
            if rate is None:
                return None
            total += (one.capital or 0.0) * rate
    if total > 0:
        return total
    return None


def _has_trades(tx: Tx, deployment_id: str, at: str) -> bool:
    query = select(trade_rows.c.key).where(trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id == deployment_id)
    return tx.conn.execute(query.where(trade_rows.c.known_at <= at).limit(1)).first() is not None
