"""Batches: a chain for each source of bars and events, so that shared data can be verified too.

Some thousands of rows of a file are one batch (book/ledger/batch.py), which is chained to the batch before it from the
same source. A row has no digest of its own: prices come by the million, and a digest of each would cost more than
storing it. A batch also names the symbols and times that it touched, so that decisions on them can be followed anew.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from keepbook.book.ledger.batch import BatchTables, Digest, batch_digests, in_order
from keepbook.book.ledger.ledger import canonical_json
from keepbook.extensions.trading.market_tables import batches
from keepbook.storage.bulk_rows import BulkRows, KeptCounts, RowValues

MARKET = "market"
"""The name of the lock for writing shared data: batches are numbered, so they are written one at a time."""
SENT = "sent"
"""The source of rows that came without a file: in a request, or from a program."""
CHAINED = ("previous", "source", "link", "nth", "what", "at", "came", "went", "spans", "digest")


class PriceSpan(NamedTuple):
    """The time span in which a batch touched the prices of a symbol."""

    symbol: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Goods:
    """One kind of shared data; `known` finds the stored rows with the keys of given ones, `spans` says what rows
    touch."""

    what: str
    kind: BatchTables
    known: Callable[[Connection, Sequence[RowValues]], Iterable[Any]]
    spans: Callable[[Sequence[RowValues]], Iterable[PriceSpan]]
    bulk: BulkRows


# Rules


def source_name(source: object) -> str:
    """The name of a source's chain: the name of the file, without its folder."""
    if isinstance(source, str | PathLike):
        return Path(source).name[:200] or SENT
    return SENT


def batch_hash(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(["batch", *(row[name] for name in CHAINED)]).encode()).hexdigest()


# Operations


def keep_rows(conn: Connection, goods: Goods, source: str, now: str, given: Sequence[RowValues]) -> KeptCounts:
    """Add new rows and correct changed ones. If several rows have the same key, the last one counts."""
    width = goods.kind.key
    rows = in_order(given, width)
    many, nth = len(rows), _next(conn)
    added = goods.bulk.add(conn, rows, nth)
    went: list[RowValues] = []
    if added < len(rows):
        known = {tuple(row)[:width]: tuple(row) for row in goods.known(conn, rows)}
        changed = [row for row in rows if known[row[:width]][:-1] != tuple(row)]
        went = [(*known[row[:width]], nth, now) for row in changed]
        new = {row[:width] for row in changed}
        rows = [row for row in rows if row[:width] in new or known[row[:width]][-1] == nth]
        _correct(conn, goods, [(*row, nth) for row in changed])
    _link(conn, goods, source, now, nth, rows, went)
    return KeptCounts(added, len(went), many - added - len(went))


def remove_rows(conn: Connection, goods: Goods, source: str, now: str, rows: Sequence[RowValues]) -> int:
    """Remove rows. As of an earlier instant they are still known. Returns how many."""
    nth, columns = _next(conn), list(goods.kind.table.primary_key.columns)
    for row in rows:
        conn.execute(goods.kind.table.delete().where(*(one == part for one, part in zip(columns, row, strict=False))))
    _link(conn, goods, source, now, nth, [], sorted((*row, nth, now) for row in (tuple(one) for one in rows)))
    return len(rows)


def _correct(conn: Connection, goods: Goods, rows: Sequence[RowValues]) -> None:
    names = [column.name for column in goods.kind.table.c]
    keys = list(goods.kind.table.primary_key.columns)
    for row in rows:
        told = dict(zip(names[goods.kind.key :], row[goods.kind.key :], strict=True))
        here = (one == part for one, part in zip(keys, row, strict=False))
        conn.execute(update(goods.kind.table).where(*here).values(told))


def _link(
    conn: Connection,
    goods: Goods,
    source: str,
    now: str,
    nth: int,
    rows: Sequence[RowValues],
    went: Sequence[RowValues],
) -> None:
    if not rows and not went:
        return
    if went:
        names = [column.name for column in goods.kind.former.c]
        conn.execute(insert(goods.kind.former), [dict(zip(names, row, strict=True)) for row in went])
    total = Digest(goods.kind)
    total.add_rows(rows)
    total.go(went)
    last = conn.execute(_last_of(source)).first()
    spans = _span_by_symbol([*goods.spans(rows), *goods.spans(went)])
    link, previous = 1, ""
    if last is not None:
        link, previous = last.link + 1, last.hash
    settled = 0 if spans else 1  # without spans, no decision has to be followed anew
    row: dict[str, Any] = {
        "nth": nth, "source": source, "link": link, "what": goods.what, "at": now,
        "came": total.came, "went": total.went, "spans": json.dumps(spans, ensure_ascii=False),
        "digest": total.digest(), "previous": previous,
        "settled": settled,
    }  # fmt: skip
    conn.execute(insert(batches), row | {"hash": batch_hash(row)})


def _span_by_symbol(spans: Iterable[PriceSpan]) -> list[PriceSpan]:
    """The spans joined, so that there is one for each symbol."""
    found: dict[str, PriceSpan] = {}
    for one in spans:
        known = found.get(one.symbol, one)
        found[one.symbol] = PriceSpan(one.symbol, min(one.first, known.first), max(one.last, known.last))
    return [found[symbol] for symbol in sorted(found)]


def mark_settled(conn: Connection, through: int) -> None:
    """Record that every decision touched by these batches has been checked anew."""
    conn.execute(update(batches).where(batches.c.nth <= through, batches.c.settled == 0).values(settled=1))


# Queries


def unsettled_spans(conn: Connection) -> tuple[int, list[PriceSpan]]:
    """The number of the last batch, and the symbols and times that batches have touched since decisions were last
    followed anew; (0, []) if there are none."""
    rows = conn.execute(select(batches.c.nth, batches.c.spans).where(batches.c.settled == 0).order_by(batches.c.nth))
    last, spans = 0, list[PriceSpan]()
    for nth, told in rows:
        last = nth
        spans = _span_by_symbol([*spans, *(PriceSpan(*one) for one in json.loads(told))])
    return last, spans


def find_breaks(conn: Connection, kinds: Sequence[Goods]) -> Iterator[str]:
    """A sentence for each fault: first in the chains, then in the rows of the tables."""
    of: dict[int, Any] = {}
    for source, some in groupby(conn.execute(_IN_CHAINS), key=lambda row: row.source):
        previous = ""
        for link, row in enumerate(some, 1):
            of[row.nth] = row
            if row.link != link or row.previous != previous or row.hash != batch_hash(dict(row._mapping)):
                yield f"the chain of {source} is broken at batch {row.link}: it was altered, or one before it is gone"
                break
            previous = row.hash
    for goods in kinds:
        yield from _unlike(conn, goods, {nth: row for nth, row in of.items() if row.what == goods.what})


def _unlike(conn: Connection, goods: Goods, of: Mapping[int, Any]) -> Iterator[str]:
    found = batch_digests(conn, goods.kind)
    strange = sum(total.came for nth, total in found.items() if nth not in of)
    if strange:
        yield f"{strange} {goods.what} stand in the book that came with no batch: they were added by hand"
    for nth, row in sorted(of.items()):
        if found.get(nth, Digest(goods.kind)).digest() != row.digest:
            loaded = f"{goods.what} from {row.source}, loaded {row.at[:19].replace('T', ' ')} (batch {row.link})"
            yield f"{loaded}: what stands in the book is not what came{_spans_in_words(row.spans)}"


def _spans_in_words(spans: str) -> str:
    told = ", ".join(f"{symbol} {first[:10]} to {last[:10]}" for symbol, first, last in json.loads(spans)[:3])
    if told:
        return f" ({told})"
    return ""


def batch_heads(conn: Connection) -> dict[str, tuple[int, str]]:
    """The newest link of each source and its hash."""
    newest = select(batches.c.source, func.max(batches.c.link).label("link")).group_by(batches.c.source).subquery()
    same = (batches.c.source == newest.c.source) & (batches.c.link == newest.c.link)
    rows = conn.execute(select(batches.c.source, batches.c.link, batches.c.hash).join(newest, same))
    return {source: (link, hash) for source, link, hash in rows}


def hash_at(conn: Connection, source: str, link: int) -> str | None:
    query = select(batches.c.hash).where(batches.c.source == source, batches.c.link == link)
    found: str | None = conn.execute(query).scalar()
    return found


def _next(conn: Connection) -> int:
    return 1 + (conn.execute(_NEWEST).scalar() or 0)


def _last_of(source: str) -> Any:
    query = select(batches.c.link, batches.c.hash).where(batches.c.source == source)
    return query.order_by(batches.c.link.desc()).limit(1)


_NEWEST = select(func.max(batches.c.nth))
_IN_CHAINS = select(batches).order_by(batches.c.source, batches.c.link)
