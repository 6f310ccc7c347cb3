"""Brokers' files: recognised, paired like a computation of our own in pandas, and every row accounted for."""

import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extensions.trading.book.imports.brokers import BNB, CASES, EUR, Case, binance_spot
from tests.extensions.trading.book.imports.real_files import REAL

from keepbook import Invalid, Keepbook, NotFound
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats import KNOWN

NOW = datetime.fromisoformat("2026-03-01T00:00:00+00:00")


@pytest.fixture
def coins(kb: Any) -> None:
    """What the coins of fees cost."""
    lines = [f"{name},1d,2026-01-01T00:00:00Z,{price},{price},{price},{price}" for name, price in
             (("BNB/USDT", BNB), ("EUR/USD", EUR))]  # fmt: skip
    assert not kb.market.load(["symbol,timeframe,time,open,high,low,close", *lines]).wrong


def paired_by_pandas(case: Case) -> pd.DataFrame:
    """Unit by unit: every fill is cut into hundredths, and those are matched by their place in line."""
    rows, open_units = [], []
    for at, symbol, side, size, price, fee in case.fills:
        if side == "funding":
            for unit in open_units:
                unit["fee"] += fee / len(open_units)
            continue
        count = round(size * 100)
        for _ in range(count):
            unit = {"at": at, "side": side, "price": price, "fee": fee / count, "symbol": symbol}
            if open_units and open_units[0]["side"] != side:
                first = open_units.pop(0)
                rows.append({"symbol": symbol, "side": "long" if side == "sell" else "short", "entry_time": first["at"],
                             "entry_price": first["price"], "exit_time": at, "exit_price": price, "quantity": 0.01,
                             "fees": first["fee"] + unit["fee"]})  # fmt: skip
            elif side == "buy" or not case.spot:
                open_units.append(unit)
    frame = pd.DataFrame(rows)
    keys = ["symbol", "side", "entry_time", "entry_price", "exit_time", "exit_price"]
    whole = frame.groupby(keys, as_index=False)[["quantity", "fees"]].sum()
    way = whole["side"].map({"long": 1, "short": -1})
    whole["pnl"] = way * (whole["exit_price"] - whole["entry_price"]) * whole["quantity"] - whole["fees"]
    return whole.sort_values(keys).reset_index(drop=True)


def kept(alice: Any) -> pd.DataFrame:
    found = pd.DataFrame([one._asdict() for one in alice.trading.trades(limit=1000).items])
    keys = ["symbol", "side", "entry_time", "entry_price", "exit_time", "exit_price"]
    whole = found.groupby(keys, as_index=False)[["quantity", "fees", "pnl"]].sum()
    return whole.sort_values(keys).reset_index(drop=True)


@pytest.mark.usefixtures("coins")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.format)
def test_round_trips_equal_a_computation_in_pandas(alice: Any, case: Case) -> None:
    made = alice.trading.bring_in(case.text.encode(), **case.told)
    assert made.format == case.format
    assert (made.wrong, made.unchanged) == (case.other, 0), made.refused
    assert made.added + made.paired + made.wrong == made.rows
    mine, theirs = kept(alice), paired_by_pandas(case)
    pd.testing.assert_frame_equal(mine[list(theirs.columns)], theirs, check_exact=False, rtol=1e-9, atol=1e-9)
    assert made.held_before == ({theirs["symbol"][0]: 1.5} if case.spot else {})
    assert {one.side for one in alice.trading.positions()} <= {"long"} if case.spot else made.open == 0
    assert not made.ignored
    assert not made.unconverted
    if case.profit is not None:
        assert made.profit_file == pytest.approx(case.profit, abs=0.005)
        assert made.profit_compared == pytest.approx(case.profit, abs=0.005)
        assert not made.differences


@pytest.mark.usefixtures("coins")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.format)
def test_loading_it_again_changes_nothing(alice: Any, case: Case) -> None:
    first = alice.trading.bring_in(case.text.encode(), **case.told)
    before = kept(alice)
    again = alice.trading.bring_in(case.text.encode(), **case.told)
    assert (again.added, again.paired, again.unchanged, again.wrong) == (0, 0, first.added + first.paired, first.wrong)
    pd.testing.assert_frame_equal(kept(alice), before)


@pytest.mark.usefixtures("coins")
@pytest.mark.parametrize("cut", [2, 3, 4, 5])
def test_what_is_open_is_completed_by_the_next_file_and_what_overlaps_counts_once(alice: Any, cut: int) -> None:
    case = binance_spot()
    head, *rows = case.text.splitlines(keepends=True)
    first = alice.trading.bring_in((head + "".join(rows[:cut])).encode())
    assert first.added + first.paired == cut
    second = alice.trading.bring_in((head + "".join(rows[1:])).encode())
    assert second.unchanged == cut - 1
    theirs = paired_by_pandas(case)
    pd.testing.assert_frame_equal(kept(alice)[list(theirs.columns)], theirs, check_exact=False, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("coins")
def test_the_newest_first_is_the_same_file(alice: Any) -> None:
    case = binance_spot()
    head, *rows = case.text.splitlines(keepends=True)
    alice.trading.bring_in((head + "".join(reversed(rows))).encode())
    theirs = paired_by_pandas(case)
    pd.testing.assert_frame_equal(kept(alice)[list(theirs.columns)], theirs, check_exact=False, rtol=1e-9, atol=1e-9)


def test_a_fee_without_a_price_is_in_no_figure_and_named(alice: Any) -> None:
    made = alice.trading.bring_in(binance_spot().text.encode())
    assert made.unconverted == {"BNB": 0.0005}
    assert any("BNB" in note for note in made.notes)


def test_a_fill_older_than_what_is_paired_is_refused_in_words(alice: Any) -> None:
    head, *rows = binance_spot().text.splitlines(keepends=True)
    alice.trading.bring_in((head + "".join(rows[3:])).encode())
    made = alice.trading.bring_in((head + "".join(rows)).encode())
    assert (made.unchanged, made.wrong) == (3, 3)
    assert "order of time" in made.refused[0].reason


def test_a_dry_run_shows_and_keeps_nothing(alice: Any) -> None:
    made = alice.trading.bring_in(binance_spot().text.encode(), dry_run=True)
    assert made.dry_run
    assert len(made.preview) == made.trades > 0
    assert alice.trading.trades().items == []
    assert alice.trading.deployments() == []


def test_a_mapping_is_said_once_and_kept_by_name(alice: Any) -> None:
    text = "Opened At,Closed At,What,Way,Lots,In,Out,Costs,Result,Mood\n"
    text += "2026-01-05 10:00,2026-01-06 10:00,EURUSD,Buy,2,1.10,1.12,0.01,0.03,7\n"
    with pytest.raises(Invalid, match="which column"):
        alice.trading.bring_in(text.encode())
    told = {"entry_time": "Opened At", "exit_time": "Closed At", "symbol": "What", "side": "Way", "quantity": "Lots",
            "entry_price": "In", "exit_price": "Out", "fee": "Costs", "profit": "Result"}  # fmt: skip
    made = alice.trading.bring_in(text.encode(), format="my broker", columns=told)
    assert (made.added, made.trades, made.ignored) == (1, 1, ("Mood",))
    assert made.profit_file == pytest.approx(made.profit_compared)
    assert alice.trading.mappings() == {"my broker": told}
    again = alice.trading.bring_in(text.encode(), format="my broker")
    assert (again.unchanged, again.added) == (1, 0)
    with pytest.raises(NotFound):
        alice.trading.bring_in(text.encode(), format="another")
    with pytest.raises(Invalid, match="Keepbook's own"):
        alice.trading.bring_in(text.encode(), format="kraken", columns=told)


def test_tradingview_lists_of_both_kinds(alice: Any) -> None:
    older = (
        "Trade #,Type,Signal,Date/Time,Price USDT,Contracts,Profit USDT,Profit %\n"
        "1,Entry long,Long,2026-01-03 15:00,100,2,,\n1,Exit long,Close,2026-01-05 09:00,110,2,19.5,9.75\n"
        "2,Exit short,Close,2026-01-07 09:00,105,1,4.8,4.8\n2,Entry short,Short,2026-01-06 09:00,110,1,,\n"
        "3,Entry long,Long,2026-01-08 09:00,100,1,,\n"
    )
    made = alice.trading.bring_in(older.encode(), symbol="BTCUSDT")
    assert (made.format, made.trades, made.paired, made.wrong) == ("tradingview", 2, 4, 1)
    assert made.profit == pytest.approx(24.3)
    assert "entries" in made.refused[0].reason
    newer = (
        "Trade number,Type,Date and time,Signal,Price USDT,Size (qty),Size (value),Net PnL USDT,Net PnL %\n"
        "9,Exit long,2026-01-15 09:00,Close,110,2,220,20,10\n9,Entry long,2026-01-13 15:00,Long,100,2,200,20,10\n"
    )
    assert alice.trading.bring_in(newer.encode(), symbol="BTC/USDT").profit == pytest.approx(20)
    unnamed = alice.trading.bring_in(newer.encode())
    assert (unnamed.wrong, "symbol" in unnamed.refused[0].reason) == (2, True)


def test_an_ibkr_statement_in_xml(alice: Any) -> None:
    text = (
        '<FlexQueryResponse><FlexStatements><FlexStatement><Trades><Trade tradeID="1" symbol="A" quantity="10" '
        'tradePrice="100" currency="USD" ibCommission="-1" multiplier="1" dateTime="20260105;120000" buySell="BUY"/>'
        '<Trade tradeID="2" symbol="A" quantity="-10" tradePrice="101" currency="USD" ibCommission="-1" multiplier="1" '
        'dateTime="20260106;120000" buySell="SELL" fifoPnlRealized="8"/></Trades></FlexStatement></FlexStatements>'
        "</FlexQueryResponse>"
    )
    made = alice.trading.bring_in(text.encode())
    assert (made.format, made.trades, made.profit) == ("ibkr-flex", 1, pytest.approx(8.0))
    assert not made.differences
    with pytest.raises(Invalid, match="entities"):
        alice.trading.bring_in(b'<!DOCTYPE x [<!ENTITY a "b">]><x/>')


# --- no silent loss ---------------------------------------------------------------------------------------

CELL = st.one_of(
    st.sampled_from(
        ["", "x", "1", "-1", "0", "1e400", "nan", "2.5", "1,000", "2026-01-05 10:00:00", "1999-01-01", "BUY"]
    )
)
GOOD = st.tuples(
    st.integers(0, 40), st.sampled_from(["AAA", "BBB"]), st.sampled_from(["buy", "sell"]), st.integers(1, 9),
    st.integers(90, 110),
).map(lambda one: f"2026-01-{one[0] % 28 + 1:02} 10:00:00,{one[1]},{one[2]},{one[3] / 2},{one[4]},0.1")  # fmt: skip
ROW = st.one_of(GOOD, GOOD, GOOD, st.lists(CELL, min_size=1, max_size=8).map(",".join))


@given(rows=st.lists(ROW, max_size=25), again=st.booleans())
def test_no_row_is_lost_in_silence(rows: list[str], again: bool) -> None:
    """Every row ends in one place, and quantities bought and sold are those of trades and of what is open."""
    with tempfile.TemporaryDirectory() as folder, closing(Keepbook(Path(folder) / "book.db")) as kb:
        _all_accounted_for(kb.book("alice"), rows, again)


def _all_accounted_for(book: Any, rows: list[str], again: bool) -> None:
    lines = [line for line in rows if line.replace(",", "").strip()]
    text = "Time,Symbol,Side,Quantity,Price,Fee\n" + "\n".join(rows) + "\n"
    made = book.trading.bring_in(text.encode())
    assert made.rows == len(lines)
    assert made.added + made.paired + made.unchanged + made.wrong == made.rows
    assert made.wrong == len(made.refused) == len({one.row for one in made.refused})
    assert all(one.reason for one in made.refused)
    taken = made.added + made.paired
    with book.reading() as (tx, _, _):
        found = tx.conn.exec_driver_sql("SELECT quantity, remaining, fee FROM fills WHERE owner = 'alice'").all()
    assert len(found) == taken
    closed = sum(one.quantity for one in book.trading.trades(limit=1000).items)
    left = sum(float(row[1]) for row in found)
    assert sum(row[0] for row in found) == pytest.approx(2 * closed + left)
    if again:
        second = book.trading.bring_in(text.encode())
        assert (second.added, second.paired, second.unchanged) == (0, 0, taken)


# --- cells -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1767652200", "2026-01-05T22:30:00.000000Z"),
        ("1767652200.5", "2026-01-05T22:30:00.500000Z"),
        ("1767652200000", "2026-01-05T22:30:00.000000Z"),
        ("1767652200000000", "2026-01-05T22:30:00.000000Z"),
        ("1767652200000000000", "2026-01-05T22:30:00.000000Z"),
        ("2026-01-05T22:30:00Z", "2026-01-05T22:30:00.000000Z"),
        ("2026-01-05 17:30:00 EST", "2026-01-05T22:30:00.000000Z"),
        ("2026-01-06T00:30:00+02:00", "2026-01-05T22:30:00.000000Z"),
        ("20260105;223000", "2026-01-05T22:30:00.000000Z"),
        ("2026.01.05 22:30:00", "2026-01-05T22:30:00.000000Z"),
        ("05.01.2026 22:30", "2026-01-05T22:30:00.000000Z"),
        ("25/01/2026 10:30 PM", "2026-01-25T22:30:00.000000Z"),
    ],
)
def test_times_are_told_apart_by_their_range_and_form(text: str, instant: str) -> None:
    assert values.parse_cell_time(text, "time", NOW) == instant


@pytest.mark.parametrize("text", ["915148799", "1999-12-31", "4102444800", "0", "2028-01-01", "x", "2026-13-01", ""])
def test_a_time_that_cannot_be_is_refused_with_a_question(text: str) -> None:
    with pytest.raises(Invalid):
        values.parse_cell_time(text, "time", NOW)


def test_a_date_that_could_be_two_days_is_asked_about() -> None:
    with pytest.raises(Invalid, match="day or the month"):
        values.parse_cell_time("05/01/2026", "time", NOW)


def test_a_zone_is_that_of_times_that_name_none() -> None:
    assert values.parse_cell_time("2026-01-06 00:30", "time", NOW, "Europe/Nicosia") == "2026-01-05T22:30:00.000000Z"


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1.000,5", "1.000"], ","),
        (["1,000.5", "1,000"], "."),
        (["2.5"], "."),
        (["2,5"], ","),
        (["1.000.000"], ","),
        (["0,123"], ","),
        (["1,000"], "."),
        ([], "."),
    ],
)
def test_the_decimal_mark_is_the_files(cells: list[str], mark: str) -> None:
    assert values.decimal_mark(cells) == mark


def test_amounts_carry_their_coin() -> None:
    assert values.parse_amount("0.0001 BTC", "fee") == (values.decimal("0.0001", "fee"), "BTC")
    assert values.parse_amount("1.000,5BTC", "fee", ",") == (values.decimal("1000.5", "fee"), "BTC")
    assert values.parse_amount("(12.5)", "fee") == (values.decimal("-12.5", "fee"), None)
    with pytest.raises(Invalid):
        values.parse_amount("BTC", "fee")


def test_every_format_is_tried_here() -> None:
    assert {one.name for one in KNOWN} <= {case.format for case in (*CASES, *REAL)}


@pytest.mark.usefixtures("coins")
def test_a_fee_is_converted_by_the_pair_the_other_way_round_or_named(alice: Any, kb: Any) -> None:
    kb.market.load(["symbol,timeframe,time,open,high,low,close", "USD/CHF,1d,2026-01-01T00:00:00Z,0.8,0.8,0.8,0.8"])
    head = "time,symbol,side,qty,price,fee,fee currency\n"
    rows = "2026-01-05 10:00:00,DAX,buy,1,100,1,USD\n2026-01-06 10:00:00,DAX,sell,1,100,4,CHF\n"
    made = alice.trading.bring_in((head + rows + "2026-01-07 10:00:00,DAX,buy,1,100,7,XYZ\n").encode())
    assert made.profit == pytest.approx(-1 - 4 / 0.8)  # without a quote the first fee says what currency it is
    assert made.unconverted == {"XYZ": 7.0}
    whole = "symbol,side,quantity,entry time,entry price,exit time,exit price,fee\n"
    line = "SOL/USDT,long,1,2026-01-05 10:00:00,100,2026-01-06 10:00:00,110,0.001 BNB\n"
    both = alice.trading.bring_in((whole + line + line.replace("BNB", "QQQ")).encode())
    assert (both.trades, both.profit, both.unconverted) == (2, pytest.approx(20 - 0.001 * BNB), {"QQQ": 0.001})


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"PK\x03\x04rest", "workbook of Excel"), (b"\xd0\xcf\x11\xe0\xa1", "old Excel"), (b"\x1f\x8b\x08", "gzip"),
        (b"%PDF-1.4", "PDF"), (b"PAR1", "Parquet"), (b"SQLite format 3\x00", "freqtrade"), (b"", "empty"),
        (b" \n\r\n ", "empty"), (b"one\ntwo\n", "no line with two columns"), (b'[{"a":', "JSON cannot be read"),
        (b"2026-01-05 10:00:00,SOL/USDT,buy,1,100\n", "no header"), (b"Zeit;Was;Menge\n1;2;3\n", "map time=COLUMN"),
        (b"time,symbol,side,quantity,price\n1,\"" + b"x" * 200_000, "quote"), (b"<html><p>Hello</p></html>", "CSV"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_table_is_refused_by_what_it_is(raw: bytes, words: str) -> None:
    with closing(Keepbook(":memory:", embedder="none")) as kb, pytest.raises(Invalid, match=words):
        kb.book("alice").trading.bring_in(raw, dry_run=True)


def test_a_column_of_nothing_but_sides_is_the_side(alice: Any) -> None:
    head = "time,symbol,Richtung,quantity,price"
    rows = ("2026-01-05 10:00:00,A,Buy,1,100", "2026-01-06 10:00:00,A,Sell,1,110")
    made = alice.trading.bring_in("\n".join([head, *rows, ""]).encode())
    assert (made.trades, made.profit) == (1, 10.0)
    two = "\n".join([f"{head},Other", *(f"{row},buy" for row in rows), ""]).encode()
    with pytest.raises(Invalid, match="which column is the side"):
        alice.trading.bring_in(two, dry_run=True)


def test_a_header_alone_and_columns_of_one_name(alice: Any) -> None:
    empty = alice.trading.bring_in(b"time,symbol,side,quantity,price\n", dry_run=True)
    assert (empty.rows, empty.notes) == (0, ("the file has a header and no rows",))
    text = (
        "time,symbol,side,quantity,price,Price\n2026-01-05 10:00:00,A,buy,1,100,7\n2026-01-06 10:00:00,A,sell,1,110,9\n"
    )
    first = alice.trading.bring_in(text.encode(), dry_run=True)
    assert (first.profit, first.ignored) == (pytest.approx(10), ("Price (2)",))
    told = {"price": "Price (2)"}
    assert alice.trading.bring_in(text.encode(), columns=told, dry_run=True).profit == pytest.approx(2)


def test_a_report_of_metatrader_in_html(alice: Any) -> None:
    """Saved from the terminal: UTF-16, several tables, the sums below the deals."""
    case = next(one for one in CASES if one.format == "metatrader5")
    head, *rows = [line.split("\t") for line in case.text.splitlines()]
    cells = "".join(f"<tr bgcolor='#fff'>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    page = (
        "<!DOCTYPE html><html><head><title>Report</title></head><body><table><tr><th colspan=14>Positions</th></tr>"
        "<tr><td><b>Time</b></td><td><b>Position</b></td></tr><tr><td>2026.01.05</td><td>1</td></tr>"
        f"<tr><th colspan=14>Deals</th></tr><tr>{''.join(f'<td><b>{name}</b></td>' for name in head)}</tr>{cells}"
        "<tr><td colspan=8></td><td><b>-1.30</b></td><td>0</td></tr></table></body></html>"
    )
    made = alice.trading.bring_in(page.encode("utf-16"), **case.told)
    assert (made.format, made.rows, made.wrong) == ("metatrader5", len(rows), case.other)
    theirs = paired_by_pandas(case)
    pd.testing.assert_frame_equal(kept(alice)[list(theirs.columns)], theirs, rtol=1e-9, atol=1e-9)
