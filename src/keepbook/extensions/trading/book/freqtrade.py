"""The trade database of freqtrade (`tradesv3.sqlite`): its closed trades become trades, its open ones positions.

The file is only read, also while the bot has it open, and left as it was found. Each strategy in it becomes a skill,
and a deployment where none is named. What a trade earned is freqtrade's own figure; the fees are what is missing
between it and the prices, so funding is in them. Reading the file again changes only what the bot has done since.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.upkeep.reading_apart import limits_in
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import days, files, skills
from keepbook.extensions.trading.book.currencies import rates
from keepbook.extensions.trading.book.files import Progress, Source, Times, number, optional_number
from keepbook.extensions.trading.book.imports.freqtrade_file import NO_ORDERS, FilledOrders, read_freqtrade
from keepbook.extensions.trading.book.imports.places import (
    MADE_BY_LOADS,
    make_for_load,
    name_of_deployment,
    other_currency,
)
from keepbook.extensions.trading.book.imports.take_back import LoadTrace
from keepbook.extensions.trading.book.loading.loaded import LoadedFile, LoadTally
from keepbook.extensions.trading.book.loading.own_files import told_of
from keepbook.extensions.trading.book.trades import (
    Position,
    Trade,
    close_others,
    keep_positions,
    keep_trades,
    net,
    read_entry,
)
from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx

UNNAMED = "freqtrade"
"""The skill of trades that name no strategy: those of very old versions."""


# Rules


def freqtrade_trade(
    found: Mapping[str, Any], orders: Mapping[bool, FilledOrders], times: Times, deployment_id: str
) -> Trade:
    """A closed trade. Bought or sold in parts, its amount and prices are those of all the parts."""
    if found.get("is_short"):
        side = "short"
    else:
        side = "long"
    quantity = number(found["amount"], "amount", low=0, above=True)
    entry = number(found["open_rate"], "open_rate", low=0, above=True)
    left = number(found["close_rate"], "close_rate", low=0)
    into, out = orders.get(True), orders.get(False)
    if into and out and out.amount > 0 and abs(into.amount - out.amount) <= 0.01 * into.amount:
        quantity, entry, left = out.amount, into.worth / into.amount, out.worth / out.amount
    gross = net(side, quantity, entry, left, 0.0)
    earned = optional_number(found.get("close_profit_abs"), "close_profit_abs")
    if earned is None:
        rates = [optional_number(found.get(name), name) or 0.0 for name in ("fee_open", "fee_close")]
        funding = optional_number(found.get("funding_fees"), "funding_fees") or 0.0
        earned = gross - quantity * (entry * rates[0] + left * rates[1]) + funding
    exit_time = times.read(found["close_date"], "close_date")
    entry_time = min(exit_time, read_entry(times, found["open_date"], "open_date"))
    best, worst = _reach(side, entry, found.get("min_rate"), found.get("max_rate"))
    return Trade(
        deployment_id=deployment_id,
        exit_time=exit_time,
        key=f"freqtrade-{found['id']}",
        symbol=clean_line(str(found["pair"]), "pair", 1, 40),
        side=side,
        quantity=quantity,
        entry_time=entry_time,
        entry_price=entry,
        exit_price=left,
        fees=gross - earned,
        pnl=earned,
        mfe=best,
        mae=worst,
        entry_regime_tag=None,
        entry_reason=_words(found.get("enter_tag") or found.get("buy_tag")),
        exit_reason=_words(found.get("exit_reason") or found.get("sell_reason")),
        known_at=exit_time,
    )


def freqtrade_position(found: Mapping[str, Any], times: Times, deployment_id: str) -> Position:
    entry_time = read_entry(times, found["open_date"], "open_date")
    return Position(
        deployment_id,
        clean_line(str(found["pair"]), "pair", 1, 40),
        "short" if found.get("is_short") else "long",
        entry_time,
        number(found["open_rate"], "open_rate", low=0, above=True),
        number(found["amount"], "amount", low=0, above=True),
        None,
        entry_time,
    )


def _reach(side: str, entry: float, lowest: Any, highest: Any) -> tuple[float | None, float | None]:
    """How far the price went for and against a trade, as shares of its entry; freqtrade has 0 for what it never saw."""
    bottom, top = optional_number(lowest, "min_rate"), optional_number(highest, "max_rate")
    if not bottom or not top:
        return None, None
    up, down = top / entry - 1, bottom / entry - 1
    if side == "long":
        return max(0.0, up), min(0.0, down)
    return max(0.0, -down), min(0.0, -up)


def _words(value: Any) -> str | None:
    if value:
        return " ".join(str(value).split())[:500] or None
    return None


# Operations


def load_freqtrade(
    book: OpenBook, source: Source, *, deployment: str | None = None, progress: Progress | None = None
) -> LoadedFile:
    """Load a trade database into the deployment named, or into one for each strategy and exchange."""
    found = read_freqtrade(source, limits_in(book.settings))
    tally, times, seen, trace = LoadTally(), Times(), 0, LoadTrace()
    open_now: dict[str, set[RowValues]] = {}
    places: dict[tuple[str, str, str], str] = {}
    while part := list(islice(found, files.AT_ONCE)):
        with book.writing() as (tx, _):
            earlier = set(tx.batches)
            closed: list[RowValues] = []
            held: list[RowValues] = []
            for row, orders in part:
                id = _place(tx, book, row, deployment, places, trace)
                open_now.setdefault(id, set())
                try:
                    if not row["is_open"]:
                        closed.append((tx.owner, *freqtrade_trade(row, orders, times, id)))
                    elif orders is NO_ORDERS or True in orders:  # else it is ordered, and not entered
                        held.append((tx.owner, *freqtrade_position(row, times, id)))
                except Invalid as error:
                    tally.refuse(row["id"], error.message)
            for one in held:
                open_now[one[1]].add(one[2:5])
            kept = keep_trades(tx, closed)
            tally.keep(kept)
            trace.trades += kept.added + kept.changed
            trace.note_batches(tx, earlier)
            days.fold_marked_days(tx)
            tally.keep(keep_positions(tx, held))
        seen += len(part)
        if progress is not None:
            progress(seen)
    with book.writing() as (tx, _):
        if not tally.wrong:
            tally.changed += sum(close_others(tx, id, keys) for id, keys in open_now.items())
        nth = None
        if places:
            nth = trace.record(tx, book.origin, "freqtrade", told_of(tally.to_loaded()))
    return tally.to_loaded(load=nth)


def _place(
    tx: Tx,
    book: OpenBook,
    row: Mapping[str, Any],
    deployment: str | None,
    places: dict[tuple[str, str, str], str],
    trace: LoadTrace,
) -> str:
    """The deployment that a trade belongs to, made where it is missing: for each strategy, exchange and currency."""
    strategy = _words(row.get("strategy")) or UNNAMED
    exchange = _words(row.get("exchange")) or ""
    currency = (_words(row.get("stake_currency")) or "").upper()
    if deployment is None:
        key = strategy, exchange, currency
    else:
        key = "", "", currency
    if key not in places:
        if exchange:
            whose = f"{strategy} on {exchange}"
        else:
            whose = strategy
        if deployment is None:
            name = name_of_deployment(whose, "", currency)
        else:
            name = deployment[: skills.NAME_LIMIT]
        found = skills.deployment_called(tx, name)
        if found is not None and currency and not rates.same_money(found.currency, currency):
            raise Invalid(other_currency(whose, currency, found), field="deployment")
        if found is None:
            if not book.origin.for_person:
                book.ask("trading.skills")
            told = {"account": exchange, "currency": currency, "started_at": row["open_date"]}
            skill = (strategy[: skills.NAME_LIMIT], MADE_BY_LOADS[1])
            id = make_for_load(tx, book.origin, stamp(tx.clock()), name, skill, **told)
            trace.made.append(id)
        else:
            id = found.id
        trace.enter(tx, id)
        places[key] = id
    return places[key]
