"""Files of every shape become the same rows; wrong rows cost no good one; memory stays flat."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from tests.extensions.trading.floor import POSITIONS, TRADES, floor

from keepbook import Invalid, NotAllowed
from keepbook.book.ground.when import instant, stamp
from keepbook.book.upkeep.reading_apart import SMALL
from keepbook.extensions.trading.book import files
from keepbook.extensions.trading.book.face import Trading
from keepbook.extensions.trading.book.files import Layout, Times, read_rows
from keepbook.extensions.trading.book.market.bars import LAYOUT
from keepbook.extensions.trading.market_tables import bars, event_symbols
from keepbook.storage.bulk_rows import BulkRows

HEADER = "symbol,timeframe,time,open,high,low,close,volume"
TWO = [
    ["ETH/USDT", "1h", "2026-01-01T00:00:00Z", 100.0, 110.0, 95.0, 105.0, 12.5],
    ["ETH/USDT", "1h", "2026-01-01T01:00:00Z", 105.0, 106.0, 100.0, 101.0, None],
]
AS_CSV = [HEADER, *(",".join("" if value is None else str(value) for value in row) for row in TWO)]


def counts(loaded: Any) -> tuple[int, int, int, int]:
    return loaded.added, loaded.changed, loaded.unchanged, loaded.wrong


def columns(rows: list[list[Any]] = TWO) -> dict[str, list[Any]]:
    return dict(zip(HEADER.split(","), map(list, zip(*rows, strict=True)), strict=True))


def parquet(path: Path, told: Any, **how: Any) -> Path:
    pyarrow.parquet.write_table(told if isinstance(told, pyarrow.Table) else pyarrow.table(told), path, **how)
    return path


# --- Parquet ---------------------------------------------------------------------------------------------

NAIVE = [datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2026-01-01T01:00:00")]
OSLO = [moment.replace(hour=moment.hour + 1, tzinfo=timezone(timedelta(hours=1))) for moment in NAIVE]
TIMES: dict[str, Any] = {
    "text": pyarrow.array([row[2] for row in TWO]),
    "nanoseconds without a zone": pyarrow.array(NAIVE, pyarrow.timestamp("ns")),
    "seconds": pyarrow.array(NAIVE, pyarrow.timestamp("s")),
    "microseconds of another zone": pyarrow.array(OSLO, pyarrow.timestamp("us", tz="Europe/Oslo")),
    "milliseconds since 1970": pyarrow.array([int(moment.replace(tzinfo=UTC).timestamp() * 1000) for moment in NAIVE]),
}


@pytest.mark.parametrize("shape", TIMES)
def test_bars_from_parquet_are_those_of_a_csv(kb: Any, tmp_path: Path, shape: str) -> None:
    path = parquet(tmp_path / "bars.parquet", columns() | {"time": TIMES[shape]}, row_group_size=1)
    assert counts(kb.market.load(path)) == (2, 0, 0, 0)
    assert counts(kb.market.load(AS_CSV)) == (0, 0, 2, 0)


def test_parquet_is_named_by_a_path_or_its_text(kb: Any, tmp_path: Path) -> None:
    path = parquet(tmp_path / "bars.parquet", columns(), row_group_size=1)
    assert counts(kb.market.load(path)) == (2, 0, 0, 0)
    assert counts(kb.market.load(str(path))) == (0, 0, 2, 0)


def test_parquet_may_have_other_columns_in_another_order_and_names_told_beside_it(kb: Any, tmp_path: Path) -> None:
    told = {"index": [1, 2], " Volume ": columns()["volume"], "CLOSE": columns()["close"], "low": columns()["low"]}
    told |= {"high": columns()["high"], "open": columns()["open"], "time": TIMES["seconds"]}
    path = parquet(tmp_path / "bars.parquet", told)
    with pytest.raises(Invalid, match="no column 'symbol'"):
        kb.market.load(path)
    assert counts(kb.market.load(path, symbol="ETH/USDT", timeframe="1h")) == (2, 0, 0, 0)
    assert counts(kb.market.load(AS_CSV)) == (0, 0, 2, 0)


def test_wrong_rows_of_parquet_are_named(kb: Any, tmp_path: Path) -> None:
    rows = [TWO[0], [*TWO[0][:3], None, *TWO[0][4:]], [*TWO[0][:3], 1.0, float("nan"), 1.0, 1.0, 1.0], TWO[1]]
    loaded = kb.market.load(parquet(tmp_path / "bars.parquet", columns(rows), row_group_size=2))
    assert counts(loaded) == (2, 0, 0, 2)
    assert [(one.row, one.reason.split()[0]) for one in loaded.refused] == [(2, "open"), (3, "high")]


def test_true_is_no_number_in_parquet(kb: Any, tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "bars.parquet", columns() | {name: [True, True] for name in ("open", "high", "low", "close")}
    )
    assert counts(kb.market.load(path)) == (0, 0, 0, 2)


def test_trades_positions_and_events_come_from_parquet_and_json_too(kb: Any, alice: Any, tmp_path: Path) -> None:
    floor(alice)
    trading = Trading(alice)
    for kind, text in (("trades", TRADES), ("positions", POSITIONS)):
        path = tmp_path / f"{kind}.csv"
        path.write_text(text, encoding="utf-8")
        layout = Layout(kind, tuple(text.splitlines()[0].split(",")), needed=())
        rows = [dict(zip(layout.columns, row, strict=True)) for _, row in read_rows(path, layout, {})]
        assert counts(trading.load(kind, path)) == (2, 0, 0, 0)
        assert counts(trading.load(kind, [json.dumps(row) + "\n" for row in rows])) == (0, 0, 2, 0)
        assert counts(trading.load(kind, json.dumps(rows, indent=1).splitlines())) == (0, 0, 2, 0)
        as_parquet = pyarrow.Table.from_pylist(rows)
        assert counts(trading.load(kind, parquet(tmp_path / f"{kind}.parquet", as_parquet))) == (0, 0, 2, 0)
    event = {
        "id": "e1",
        "kind": "rates",
        "symbols": ["BTC", "ETH"],
        "time": 1767225600000,
        "importance": 1,
        "title": "T",
    }
    assert counts(kb.market.load_events([json.dumps(event)])) == (1, 0, 0, 0)
    path = parquet(tmp_path / "events.parquet", pyarrow.Table.from_pylist([event]))
    assert counts(kb.market.load_events(path)) == (0, 0, 1, 0)
    assert kb.market.event("e1").symbols == ("BTC", "ETH")


def test_without_pyarrow_a_parquet_file_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path / "bars.parquet", columns())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    order = {"layout": asdict(LAYOUT), "told": {}}
    with pytest.raises(NotAllowed, match=r"pip install 'keepbook\[parquet\]'"):
        next(files.rows_in_file(path, order))  # as the process does that reads it, and tells whoever started it


def test_a_broken_parquet_file_is_refused(kb: Any, tmp_path: Path) -> None:
    path = tmp_path / "bars.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind" * 10)
    with pytest.raises(Invalid, match="broken Parquet"):
        kb.market.load(path)


def test_rows_come_from_another_process_as_they_would_here(tmp_path: Path) -> None:
    """Good ones many at a time, by columns; a wrong one between them keeps its place."""
    lines = [json.dumps(["2026-01-05", 1, 2.5, None, "4", 5.0][:width]) + "\n" for width in (6, 5, 6)]
    lines.insert(1, "[1, 2\n")
    lines.append("no JSON\n")
    path = tmp_path / "bars.jsonl"
    path.write_text("".join(lines) + "\n" * SMALL, encoding="utf-8")
    told = {"symbol": "ETH/USDT", "timeframe": "1d"}
    here, apart = list(read_rows(lines, LAYOUT, told)), list(read_rows(path, LAYOUT, told))
    assert [place for place, _ in apart] == [1, 2, 3, 4, 5]
    assert [str(row) if isinstance(row, Invalid) else row for _, row in apart] == [
        str(row) if isinstance(row, Invalid) else row for _, row in here
    ]
    assert [isinstance(row, Invalid) for _, row in apart] == [False, True, False, False, True]


# --- text ------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_said_so(kb: Any, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.csv", tmp_path):
        with pytest.raises(Invalid, match="cannot read"):
            kb.market.load(path)


def test_a_broken_byte_costs_only_its_row(kb: Any, tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    lines = [line.encode() for line in AS_CSV]
    path.write_bytes(b"\r\n".join([lines[0], lines[1], lines[1].replace(b"ETH", b"\xff\xfe"), lines[2]]))
    loaded = kb.market.load(path)
    assert counts(loaded) == (2, 0, 0, 1)
    assert "broken character" in loaded.refused[0].reason


def test_true_is_no_number_in_json(kb: Any) -> None:
    kb.market.load(AS_CSV)
    row = dict(zip(HEADER.split(","), TWO[0], strict=True))
    loaded = kb.market.load(
        [json.dumps(row | {"volume": True}), json.dumps(row | {"symbol": ["ETH"]}), json.dumps(row)]
    )
    assert counts(loaded) == (1, 0, 1, 1)  # a symbol that is a list is at least a text


def test_what_stands_after_a_list_is_refused(kb: Any) -> None:
    lines = [json.dumps([dict(zip(HEADER.split(","), row, strict=True)) for row in TWO]), "\n", '{"open": 1}\n']
    loaded = kb.market.load(lines)
    assert counts(loaded) == (2, 0, 0, 1)
    assert loaded.refused[0].row == 3


@pytest.mark.parametrize("first", ["{broken", '{"symbol": '])
def test_a_first_line_that_is_broken_costs_only_itself(kb: Any, first: str) -> None:
    row = json.dumps(dict(zip(HEADER.split(","), TWO[0], strict=True)))
    loaded = kb.market.load([first + "\n", row + "\n"])
    assert counts(loaded) == (1, 0, 0, 1)
    assert loaded.refused[0].row == 1


@pytest.mark.parametrize("as_json", [False, True])
def test_a_long_file_is_read_as_it_is_kept(kb: Any, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    """Never more than a batch is in memory: what is kept is heard of before the rest is read."""
    monkeypatch.setattr(files, "AT_ONCE", 10)
    read = 0
    ahead: list[int] = []

    def lines() -> Iterator[str]:
        nonlocal read
        if not as_json:
            yield HEADER
        for minute in range(95):
            read += 1
            row = ["ETH/USDT", "1m", stamp(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)), 1, 2, 1, 2, 3]
            yield json.dumps(dict(zip(HEADER.split(","), row, strict=True))) if as_json else ",".join(map(str, row))

    assert kb.market.load(lines(), progress=lambda seen: ahead.append(read - seen)).added == 95
    assert len(ahead) == 10
    assert max(ahead) <= 1


# --- times -----------------------------------------------------------------------------------------------

MOMENTS = st.datetimes(
    datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30"), timezones=st.just(UTC)
)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(
    st.lists(st.tuples(MOMENTS, OFFSETS, st.sampled_from(["iso", "Z", "space", "offset", "ms", "day"])), max_size=30)
)
def test_times_remembered_are_times_read(told: list[tuple[datetime, timezone, str]]) -> None:
    """However instants are spelled and mixed, what was learnt from one never spoils another."""
    times = Times()
    for moment, zone, spelling in told:
        whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        plain = whole.replace(tzinfo=None)
        text: Any = {
            "iso": plain.isoformat(),
            "Z": f"{plain.isoformat()}Z",
            "space": plain.isoformat(sep=" "),
            "offset": whole.astimezone(zone).isoformat(),
            "ms": (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1),
            "day": plain.date().isoformat(),
        }[spelling]
        expected = stamp(whole) if spelling == "ms" else instant(text, field="time")
        assert times.read(text) == expected
        assert times.read(str(text)) == expected
        assert times.read(whole) == stamp(whole)


@pytest.mark.parametrize(
    "value", ["", "  ", None, "soon", True, float("nan"), float("inf"), 10**30, "9" * 19, [], "-5-5"]
)
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(Invalid, match="time"):
        Times().read(value)


def test_days_and_moments_are_times_too() -> None:
    assert Times().read(date(2026, 3, 1)) == "2026-03-01T00:00:00.000000Z"
    assert Times().read(NAIVE[1]) == "2026-01-01T01:00:00.000000Z"
    assert Times().read(0) == Times().read("0") == "1970-01-01T00:00:00.000000Z"


def test_what_is_remembered_of_times_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Times, "MOST", 50)
    times = Times()
    for minute in range(1000):
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute * 977, microseconds=minute)
        assert times.read(moment.isoformat().replace("+00:00", "Z")) == stamp(moment)
        assert len(times._days) + len(times._clocks) <= 104


# --- keeping ---------------------------------------------------------------------------------------------


def test_a_shelf_adds_what_is_new_and_corrects_what_is_there(kb: Any) -> None:
    bulk = BulkRows(bars)
    row = ("ETH", "1h", "2026-01-01T00:00:00.000000Z", 1.0, 2.0, 1.0, 2.0, None)
    other = (*row[:2], "2026-01-01T01:00:00.000000Z", *row[3:])
    with kb._database.unscoped(writes=True) as conn:
        assert bulk.add(conn, [], 1) == 0
        assert bulk.add(conn, [row], 1) == 1
        assert bulk.add(conn, [row, other], 2) == 1
        bulk.correct(conn, [])
        bulk.correct(conn, [(*row[:7], 5.0, 3)])
        standing = [tuple(found) for found in conn.execute(select(bars).order_by(bars.c.time))]
        assert standing == [(*row[:7], 5.0, 3), (*other, 2)]
        links = BulkRows(event_symbols)
        link = ("BTC", "rates", row[2], "e1")
        assert links.add(conn, [link, link]) == 1
        assert links.add(conn, [link]) == 0
