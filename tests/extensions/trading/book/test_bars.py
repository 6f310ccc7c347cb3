"""Bars from files: every shape, twice the same, and no wrong row that costs a good one."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepbook import Invalid
from keepbook.extensions.trading.book import files
from keepbook.extensions.trading.book.loading.loaded import MOST_REFUSED
from keepbook.extensions.trading.book.market import bars
from keepbook.extensions.trading.book.market.bars import Bar, bar_end

HEADER = "symbol,timeframe,time,open,high,low,close,volume"
ROWS = [
    "ETH/USDT,1h,2026-03-01T00:00:00Z,100,110,95,105,12.5",
    "ETH/USDT,1h,2026-03-01T01:00:00Z,105,106,100,101,3",
    "BTC/USDT,1d,2026-02-27,90000,91000,89000,90500,",
]
CCXT = [[1772323200000, 100, 110, 95, 105, 12.5], [1772326800000, 105, 106, 100, 101, 3]]


def kept(kb: Any) -> list[Bar]:
    return [
        bar
        for symbol in kb.market.symbols()
        for timeframe in ("1h", "1d")
        for bar in kb.market.recent(symbol, timeframe=timeframe)
    ]


@pytest.fixture(autouse=True)
def _later(clock: Any) -> None:
    clock.set("2026-03-02T00:00:00Z")


def test_a_csv_file_is_loaded_and_loading_it_twice_changes_nothing(kb: Any) -> None:
    first = kb.market.load([HEADER, *ROWS])
    assert (first.added, first.changed, first.unchanged, first.wrong) == (3, 0, 0, 0)
    bars = kept(kb)
    assert bars == [
        Bar("BTC/USDT", "1d", "2026-02-27T00:00:00.000000Z", 90000, 91000, 89000, 90500, None),
        Bar("ETH/USDT", "1h", "2026-03-01T00:00:00.000000Z", 100, 110, 95, 105, 12.5),
        Bar("ETH/USDT", "1h", "2026-03-01T01:00:00.000000Z", 105, 106, 100, 101, 3),
    ]
    again = kb.market.load([HEADER, *ROWS])
    assert (again.added, again.changed, again.unchanged) == (0, 0, 3)
    assert kept(kb) == bars


SHAPES: dict[str, Any] = {
    "one list": [json.dumps(CCXT)],
    "one list over many lines": json.dumps(CCXT, indent=1).splitlines(keepends=True),
    "one a line": [json.dumps(row) + "\n" for row in CCXT],
    "with its names": [json.dumps({"symbol": "ETH/USDT", "timeframe": "1h", "ohlcv": CCXT})],
    "JSON Lines": [
        json.dumps(dict(zip(HEADER.split(","), ["ETH/USDT", "1h", *row], strict=True))) for row in CCXT
    ],
    "CSV with milliseconds": ["time,open,high,low,close,volume", *(",".join(map(str, row)) for row in CCXT)],
    "CSV of another order, with a mark before it": [
        "\ufeffClose,Time,Open,High,Low,Volume\n", "105,2026-03-01,100,110,95,12.5\n",
        "101,2026-03-01T02:00:00+01:00,105,106,100,3\n",
    ],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_bars_in_every_shape(kb: Any, shape: str) -> None:
    loaded = kb.market.load(SHAPES[shape], symbol="ETH/USDT", timeframe="1h")
    assert (loaded.added, loaded.refused) == (2, ())
    kb.market.load([HEADER, *ROWS[:2]])
    assert kb.market.load([HEADER, *ROWS[:2]]).unchanged == 2
    assert len(kept(kb)) == 2


WRONG = {
    "no time": ("ETH/USDT,1h,,1,2,1,2,1", "time is missing"),
    "a time in words": ("ETH/USDT,1h,tomorrow,1,2,1,2,1", "time"),
    "a timeframe that is none": ("ETH/USDT,hourly,2026-03-01,1,2,1,2,1", "no timeframe"),
    "a price in words": ("ETH/USDT,1h,2026-03-01,1,two,1,2,1", "high"),
    "a price below nothing": ("ETH/USDT,1h,2026-03-01,1,2,-1,2,1", "low"),
    "no number": ("ETH/USDT,1h,2026-03-01,1,nan,1,2,1", "high"),
    "an endless number": ("ETH/USDT,1h,2026-03-01,1,inf,1,2,1", "high"),
    "a low above the close": ("ETH/USDT,1h,2026-03-01,3,4,3,2,1", "between low and high"),
    "a cell too few": ("ETH/USDT,1h,2026-03-01,3,4", "low is missing"),
    "a symbol too long": (f"{'X' * 41},1h,2026-03-01,1,2,1,2,1", "symbol"),
}


def test_wrong_rows_are_named_and_cost_no_good_one(kb: Any) -> None:
    lines = [HEADER, ROWS[0], *(row for row, _ in WRONG.values()), ROWS[1]]
    loaded = kb.market.load(lines)
    assert (loaded.added, loaded.wrong) == (2, len(WRONG))
    assert [refused.row for refused in loaded.refused] == list(range(3, 3 + len(WRONG)))
    for refused, (_, why) in zip(loaded.refused, WRONG.values(), strict=True):
        assert why in refused.reason


def test_wrong_lines_of_json_are_named(kb: Any) -> None:
    lines = [json.dumps(CCXT[0]), "{broken", "7", json.dumps([1]), json.dumps(CCXT[1])]
    loaded = kb.market.load(lines, symbol="ETH/USDT", timeframe="1h")
    assert loaded.added == 2
    assert [refused.row for refused in loaded.refused] == [2, 3, 4]


def test_of_very_many_wrong_rows_the_first_are_told_and_all_are_counted(kb: Any) -> None:
    loaded = kb.market.load([HEADER, *["ETH/USDT,1h,never,1,2,1,2,1"] * 1100, ROWS[0]])
    assert (loaded.added, loaded.wrong, len(loaded.refused)) == (1, 1100, MOST_REFUSED)


@pytest.mark.parametrize("lines", [[], [""], ["symbol,time,open\n", "ETH,2026,1\n"], ["not,a,table"]])
def test_a_file_without_the_columns_is_refused(kb: Any, lines: list[str]) -> None:
    with pytest.raises(Invalid, match="no column"):
        kb.market.load(lines)


def test_a_bar_that_comes_with_other_figures_is_taken_over(kb: Any) -> None:
    kb.market.load([HEADER, *ROWS])
    loaded = kb.market.load([HEADER, ROWS[0].replace("110", "111"), ROWS[1]])
    assert (loaded.added, loaded.changed, loaded.unchanged) == (0, 1, 1)
    assert [bar.high for bar in kb.market.recent("ETH/USDT")] == [111, 106]


def test_said_twice_in_one_file_the_later_stands(kb: Any) -> None:
    kb.market.load([HEADER, ROWS[0], ROWS[0].replace("110", "111")])
    assert [bar.high for bar in kb.market.recent("ETH/USDT")] == [111]


def test_progress_is_heard(kb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "AT_ONCE", 500)
    seen: list[int] = []
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [f"ETH,1m,{(begin + timedelta(minutes=n)).isoformat()},1,2,1,2,1" for n in range(1200)]
    assert kb.market.load([HEADER, *rows], progress=seen.append).added == 1200
    assert seen == [500, 1000, 1200]


def test_only_complete_bars_are_given_the_latest_oldest_first(kb: Any, clock: Any) -> None:
    kb.market.load([HEADER, *ROWS])
    clock.set("2026-03-01T01:59:00Z")
    assert [bar.time[11:13] for bar in kb.market.recent("ETH/USDT")] == ["00"]
    clock.set("2026-03-01T02:00:00Z")
    assert [bar.time[11:13] for bar in kb.market.recent("ETH/USDT")] == ["00", "01"]
    assert [bar.time[11:13] for bar in kb.market.recent("ETH/USDT", limit=1)] == ["01"]
    assert kb.market.recent("DOGE") == []


@pytest.mark.parametrize(
    ("timeframe", "end"),
    [
        ("1m", "2026-01-31T00:01:00.000000Z"),
        ("4h", "2026-01-31T04:00:00.000000Z"),
        ("1d", "2026-02-01T00:00:00.000000Z"),
        ("1w", "2026-02-07T00:00:00.000000Z"),
        ("1M", "2026-02-01T00:00:00.000000Z"),
        ("12M", "2027-01-01T00:00:00.000000Z"),
    ],
)
def test_a_bar_ends_where_its_timeframe_does(timeframe: str, end: str) -> None:
    assert bar_end(Bar("ETH", timeframe, "2026-01-31T00:00:00.000000Z", 1, 1, 1, 1)) == end


def test_bars_are_nobodys_and_an_erasure_leaves_them(kb: Any) -> None:
    kb.market.load([HEADER, *ROWS])
    kb.book("alice").remember("Trades ETH")
    kb.book("alice").erase(confirm="alice")
    assert kb.market.symbols() == ["BTC/USDT", "ETH/USDT"]


# --- questions about many bars ---------------------------------------------------------------------------


@pytest.fixture
def many(kb: Any) -> Any:
    """Three timeframes of one symbol, one of another, and a gap."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [HEADER]
    for minutes, timeframe in ((15, "15m"), (60, "1h"), (240, "4h")):
        for n in range(2 * 1440 // minutes):
            at = begin + timedelta(minutes=n * minutes)
            if not (timeframe == "15m" and 6 <= at.hour < 9):
                rows.append(f"BTC/USDT,{timeframe},{at.isoformat()},{n + 1},{n + 1},{n + 1},{n + 1},")
    rows.append("ADA,1M,2026-01-01,1,1,1,1,")
    rows.append("ADA,1M,2026-02-01,2,2,2,2,")
    kb.market.load(rows)
    with kb._database.unscoped() as conn:
        yield conn


@pytest.mark.parametrize(
    ("timeframe", "at", "found"),
    [
        ("15m", "2026-01-01T00:14:59.999999Z", None),
        ("15m", "2026-01-01T00:15:00.000000Z", ("2026-01-01T00:15:00.000000Z", 1.0)),
        ("15m", "2026-01-01T00:29:59.999999Z", ("2026-01-01T00:15:00.000000Z", 1.0)),
        ("15m", "2026-01-01T08:00:00.000000Z", ("2026-01-01T06:00:00.000000Z", 24.0)),  # in the gap: the last before it
        ("4h", "2026-01-01T07:00:00.000000Z", ("2026-01-01T04:00:00.000000Z", 1.0)),
        ("4h", "2031-01-01T00:00:00.000000Z", ("2026-01-03T00:00:00.000000Z", 12.0)),
        ("1d", "2031-01-01T00:00:00.000000Z", None),
        ("15m", "0001-01-01T00:00:00.000000Z", None),
    ],
)
def test_the_last_close_is_of_a_bar_that_was_over(many: Any, timeframe: str, at: str, found: Any) -> None:
    assert bars.close_at(many, "BTC/USDT", timeframe, at) == found


def test_a_month_is_over_when_it_is(many: Any) -> None:
    def close(at: str) -> Any:
        return bars.close_at(many, "ADA", "1M", f"{at}T00:00:00.000000Z")

    assert (close("2026-01-31"), close("2026-02-01")) == (None, ("2026-02-01T00:00:00.000000Z", 1.0))
    assert (close("2026-02-28"), close("2026-03-01")) == (close("2026-02-01"), ("2026-03-01T00:00:00.000000Z", 2.0))


def test_symbols_and_timeframes_are_told_the_finest_first(many: Any) -> None:
    assert bars.symbols(many) == ["ADA", "BTC/USDT"]
    assert bars.timeframes(many, "BTC/USDT") == ["15m", "1h", "4h"]
    assert bars.timeframes(many, "ADA") == ["1M"]
    assert bars.timeframes(many, "NOSUCH") == bars.timeframes(many, "\x00") == []


def test_without_bars_there_is_no_symbol(kb: Any) -> None:
    assert kb.market.symbols() == []


def test_what_is_followed_goes_from_the_finest_to_the_next_where_there_is_a_gap(kb: Any, many: Any, alice: Any) -> None:
    with alice.reading() as (tx, _, _):
        begins, until = "2026-01-01T05:30:00.000000Z", "2026-01-01T10:00:00.000000Z"
        found = [(bar.timeframe, bar.time[11:16]) for bar in bars.following_bars(tx, "BTC/USDT", begins, until, until)]
    assert found == [
        ("15m", "05:30"), ("15m", "05:45"), ("1h", "06:00"), ("1h", "07:00"), ("1h", "08:00"), ("15m", "09:00"),
        ("15m", "09:15"), ("15m", "09:30"), ("15m", "09:45"),
    ]  # fmt: skip


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_no_question_reads_all_the_bars(kb: Any) -> None:
    """The plan of each is a look into the key, never a scan: that is what keeps ten million as quick as ten."""
    told = {"symbol": "BTC/USDT"}
    with kb._database.unscoped() as conn:
        for query in (bars._SYMBOLS, bars._TIMEFRAMES._statement, bars._CLOSES._statement):
            sql = str(query.compile(dialect=conn.dialect))
            rows = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", (told["symbol"],) * sql.count("?")).all()
            looks = [row[3] for row in rows if "bars" in row[3]]
            assert looks
            # Without a condition SQLite calls the one look for the least symbol a search, too.
            assert not [look for look in looks if not look.startswith("SEARCH")]
