"""The cost meter: how many tokens which operation spent on which model, by month."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select, update

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import meter


@dataclass(frozen=True, slots=True)
class Spent:
    """What one operation cost on one model in one month."""

    month: str
    operation: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int


def count_tokens(tx: Tx, now: str, operation: str, model: str, tokens_in: int, tokens_out: int) -> None:
    tx.count("tokens_in", model, tokens_in)
    tx.count("tokens_out", model, tokens_out)
    same = (meter.c.owner == tx.owner) & (meter.c.month == now[:7])
    same &= (meter.c.operation == operation) & (meter.c.model == model)
    added = (
        update(meter)
        .where(same)
        .values(
            calls=meter.c.calls + 1, tokens_in=meter.c.tokens_in + tokens_in, tokens_out=meter.c.tokens_out + tokens_out
        )
    )
    if not tx.conn.execute(added).rowcount:
        row = {"owner": tx.owner, "month": now[:7], "operation": operation, "model": model, "calls": 1}
        tx.conn.execute(insert(meter), row | {"tokens_in": tokens_in, "tokens_out": tokens_out})


def spent_this_month(tx: Tx, now: str) -> int:
    """All tokens of the month, in and out, over every operation; the offline model costs none."""
    total = select(func.sum(meter.c.tokens_in + meter.c.tokens_out))
    here = total.where(meter.c.owner == tx.owner, meter.c.month == now[:7], meter.c.model != "offline")
    return int(tx.conn.execute(here).scalar() or 0)


def list_spending(tx: Tx) -> list[Spent]:
    query = select(
        meter.c.month, meter.c.operation, meter.c.model, meter.c.calls, meter.c.tokens_in, meter.c.tokens_out
    ).where(meter.c.owner == tx.owner)
    return [
        Spent(*row) for row in tx.conn.execute(query.order_by(meter.c.month.desc(), meter.c.operation, meter.c.model))
    ]


@explain_arguments
class Spending:
    """What models cost this owner: `book.spending`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def list(self) -> Sequence[Spent]:
        """What each kind of work has cost this owner, by month."""
        with self._book.reading() as (tx, _, _):
            return list_spending(tx)

    def count(self, operation: str, model: str, tokens_in: int, tokens_out: int) -> None:
        """Record the tokens of one answer of a model."""
        with self._book.writing() as (tx, _):
            count_tokens(tx, stamp(tx.clock()), operation, model, tokens_in, tokens_out)

    def this_month(self) -> int:
        """How many tokens the models have read and written for this owner this month."""
        with self._book.reading() as (tx, _, now):
            return spent_this_month(tx, now)
