"""Files as brokers write them: read whole, earn what a computation by hand says, and are refused where they are not
whole."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.extensions.trading.book.imports.posted_files import parsed
from tests.extensions.trading.book.imports.real_files import (
    BINANCE,
    COINBASE,
    FLEX,
    LEDGERS,
    REAL,
    REPORT5,
    ROBINHOOD,
    SCHWAB,
    STATEMENT,
    STATEMENT4,
    RealFile,
    row,
)

from keepbook import Invalid, Keepbook
from keepbook.extensions.trading.book.files import Times
from keepbook.extensions.trading.book.freqtrade import freqtrade_trade
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats import KNOWN
from keepbook.extensions.trading.book.imports.formats.parts.options import parse_option
from keepbook.extensions.trading.book.imports.freqtrade_file import NO_ORDERS
from keepbook.extensions.trading.book.imports.table import FileTable


@pytest.fixture(scope="module")
def trading() -> Iterator[Any]:
    with closing(Keepbook(":memory:", embedder="none")) as kb:
        yield kb.book("alice").trading


def brought_in(trading: Any, text: str, **told: Any) -> Any:
    return trading.bring_in(parsed(text), **({"dry_run": True} | told))


@pytest.mark.parametrize("case", REAL, ids=lambda case: case.format)
def test_a_real_file_earns_what_a_computation_by_hand_says(trading: Any, case: RealFile) -> None:
    made = trading.bring_in(parsed(case.text, case.encoding), dry_run=True, **case.told)
    assert made.format == case.format
    earned: dict[str, float] = {}
    for trip in made.preview:
        earned[trip.symbol] = earned.get(trip.symbol, 0.0) + trip.pnl
    assert earned == pytest.approx(case.closed, abs=1e-6), made.refused
    reasons = [one.reason for one in made.refused]
    assert [words for words in case.no_trades if not any(words in reason for reason in reasons)] == [], reasons
    assert len(reasons) == len(case.no_trades)
    assert made.added + made.paired + made.wrong == made.rows
    assert not made.ignored
    assert not made.differences


def test_real_files_are_loaded_once_and_what_is_open_is_held(alice: Any) -> None:
    """All into one book, on either engine: positions by symbol, and nothing more by loading them again."""
    for nth, case in enumerate(REAL):
        currency = "EUR" if case.text == LEDGERS else None
        name = alice.trading.create_deployment(f"{nth} {case.format}", _skill(alice), currency=currency).name
        table = parsed(case.text, case.encoding)
        first = alice.trading.bring_in(table, deployment=name, **case.told)
        again = alice.trading.bring_in(table, deployment=name, **case.told)
        assert (again.added, again.paired, again.unchanged) == (0, 0, first.added + first.paired), case.format
        held: dict[str, float] = {}
        for one in alice.trading.positions(name):
            signed = one.quantity if one.side == "long" else -one.quantity
            held[one.symbol] = held.get(one.symbol, 0.0) + signed
        assert held == pytest.approx(case.open), case.format


def _skill(alice: Any) -> str:
    known = [one.name for one in alice.trading.skills()]
    return known[0] if known else alice.trading.create_skill("All of them").name


def test_a_position_that_was_open_is_closed_by_the_next_report(alice: Any) -> None:
    """By its number, though another of its symbol is older and of the other side."""
    alice.trading.bring_in(parsed(REPORT5), zone="UTC")
    told = "2026.01.08 10:00:00|103|EURUSD|sell|0.20|1.12000|||2026.01.09 10:00:00|1.11500|-1.40|-0.10|100.00"
    later = REPORT5.replace("2026.01.08 10:00:00</td><td>103", "2026.01.08 10:00:00</td><td>104")
    later = later.replace("<tr><td>2026.01.05 12:00:00", f"{row(told)}<tr><td>2026.01.05 12:00:00", 1)
    made = alice.trading.bring_in(parsed(later), zone="UTC")
    assert (made.trades, made.wrong) == (1, 0), made.refused
    assert made.profit == pytest.approx(100 - 1.5, abs=0.02)
    assert [one.quantity for one in alice.trading.positions()] == [20000.0]


# --- what is not whole ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "title"),
    [
        (SCHWAB, '"Amount"', "Schwab"), (SCHWAB, '"Fees & Comm"', "Schwab"), (ROBINHOOD, '"Trans Code"', "Robinhood"),
        (ROBINHOOD, '"Amount"', "Robinhood"), (BINANCE, "Change", "Binance, transaction history"),
        (LEDGERS, '"refid"', "Kraken, ledgers"), (LEDGERS, '"fee"', "Kraken, ledgers"),
        (COINBASE, "Subtotal", "Coinbase"), (STATEMENT, "Comm/Fee", "Activity Statement"),
        (STATEMENT, "T. Price", "Activity Statement"), (FLEX, "ibCommission=", "Flex"), (FLEX, "dateTime=", "Flex"),
        (STATEMENT4, "Close Time", ""), (REPORT5, "Commission", ""),
    ],
)  # fmt: skip
def test_a_file_without_a_column_that_counts_is_refused_by_its_name(
    trading: Any, text: str, column: str, title: str
) -> None:
    named = column.strip('"=')
    broken = text.replace(column, f"No{named[:2]}=" if "=" in column else column.replace(named, "Nothing"))
    with pytest.raises(Invalid) as refused:
        brought_in(trading, broken)
    words = str(refused.value).lower()
    assert not title or (title.lower() in words and named.lower() in words), words


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (SCHWAB, "-$1,100.00", "-$11,000.00", "row 19"), (ROBINHOOD, "($520.00)", "($52.00)", "52"),
        (STATEMENT, ",-1000,,,20000,", ",-900,,,20000,", "sum of quantity for NVDA"),
        (STATEMENT, ",20000,-11,", ",20000,-12,", "comm/fee"), (STATEMENT, ",-300,-1.4", ",-3,-1.4", "price"),
        (FLEX, 'proceeds="-200"', 'proceeds="-2000"', "2000"), (COINBASE, '"$1,190.50",', '"$1,290.50",', "fees"),
        (STATEMENT4, "588.30", "688.30", "closed trades"),
    ],
)  # fmt: skip
def test_figures_that_do_not_agree_are_loaded_not_at_all(
    trading: Any, text: str, old: str, new: str, words: str
) -> None:
    assert old in text
    with pytest.raises(Invalid, match="nothing was loaded") as refused:
        brought_in(trading, text.replace(old, new, 1), dry_run=False)
    assert words in str(refused.value)
    assert trading.trades().items == []
    assert list(trading.loads()) == []


def test_every_format_names_the_headers_it_was_made_for_and_where_they_were_seen() -> None:
    for one in KNOWN:
        assert one.headers, one.name
        assert one.seen, one.name
        for header in one.headers:
            mark = "\t" if "\t" in header else ","
            names = [name.strip('"') for name in header.split(mark)]
            seen = [f"{name} (2)" if name in names[:nth] else name for nth, name in enumerate(names)]
            assert one.missing(seen) == [], (one.name, header)


# --- cells -------------------------------------------------------------------------------------------------

HEAD = "Date,Symbol,Side,Quantity,Price,Fee\n"


def test_the_order_of_day_and_month_is_proved_by_the_file_or_asked(trading: Any) -> None:
    two = "2/6/2026,AAA,buy,1,$100,0\n3/6/2026,AAA,sell,1,$110,0\n"
    with pytest.raises(Invalid, match="dates=day or dates=month") as asked:
        brought_in(trading, HEAD + two + "5/5/2026,AAA,buy,1,$1,0\n")
    assert asked.value.field == "dates"
    for proof, day in (("14/6/2026,AAA,buy,1,1,0\n", "2026-06-02"), ("6/14/2026,AAA,buy,1,1,0\n", "2026-02-06")):
        shown = brought_in(trading, HEAD + two + proof)
        assert shown.preview[0].entry_time[:10] == day
    for dates, day in (("day", "2026-06-02"), ("month", "2026-02-06")):
        assert brought_in(trading, HEAD + two, dates=dates).preview[0].entry_time[:10] == day
    with pytest.raises(Invalid, match="one way"):
        brought_in(trading, HEAD + two + "14/6/2026,AAA,buy,1,1,0\n6/14/2026,AAA,buy,1,1,0\n")
    with pytest.raises(Invalid, match="day or month"):
        brought_in(trading, HEAD + two, dates="year")


def test_money_is_read_as_it_is_written(trading: Any) -> None:
    text = HEAD + '2026-01-05,AAA,buy,"1,000","$1,190.50",(12.30)\n2026-01-06,AAA,sell,"1,000",USD 1200.50,-$1.00\n'
    assert brought_in(trading, text).profit == pytest.approx(10_000 - 13.3)
    for cell, number in (("$1,190.50", "1190.5"), ("(12.30)", "-12.3"), ("-$5", "-5"), ("($1,131.95)", "-1131.95"),
                         ("1,190.50 USD", "1190.5"), ("€0.5", "0.5")):  # fmt: skip
        assert values.parse_amount(cell, "price")[0] == values.decimal(number, "price")
    assert values.decimal_mark(["Tesla, 1,5 for 2", "APPLE INC 0.25"]) == "."


@pytest.mark.parametrize(
    "text",
    ["AAPL 01/16/2026 150.00 C", "AAPL 1/16/2026 Call $150.00",
     "AAPL 16JAN26 150 C", "AAPL  260116C00150000", "AAPL260116C00150000", "AAPL 2026-01-16 150 C"],
)  # fmt: skip
def test_an_option_is_one_contract_however_it_is_written(text: str) -> None:
    found = parse_option(text)
    assert found is not None
    assert (found.symbol, found.option) == ("AAPL 2026-01-16 150 C", ("AAPL", "call", 150.0))


def test_the_name_of_a_share_may_have_two_words() -> None:
    found = parse_option("BRK B 16JAN26 500 P")
    assert found is not None
    assert (found.symbol, found.option.underlying) == ("BRK B 2026-01-16 500 P", "BRK B")


@pytest.mark.parametrize("text", ["AAPL", "BTC-29MAR26-60000-C", "EUR.USD", "ESH6", "Tesla 1 TSLA Option Assigned"])
def test_what_is_no_option_is_none(text: str) -> None:
    assert parse_option(text) is None


def test_a_multiplier_is_said_of_a_market_however_it_is_spelled(trading: Any) -> None:
    text = HEAD + "2026-01-05,EURUSD,buy,1,1.1,0\n2026-01-06,EUR/USD,sell,1,1.2,0\n"
    for name in ("EURUSD", "EUR/USD"):
        assert brought_in(trading, text, multipliers={name: 100_000.0}).profit == pytest.approx(10_000)


# --- what other hands made of the same descriptions ---------------------------------------------------------

DEALS_HEAD = (
    "ticket,order,time,time_msc,type,entry,magic,position_id,reason,volume,price,commission,swap,profit,fee,symbol,"
    "comment,external_id\n"
)
MONEY_LINES = "User_ID,UTC_Time,Account,Operation,Coin,Change,Remark\n"


def held(made: Any) -> dict[str, float]:
    """What each symbol earned."""
    found: dict[str, float] = {}
    for trip in made.preview:
        found[trip.symbol] = found.get(trip.symbol, 0.0) + trip.pnl
    return found


def deal_line(
    nth: int, way: str, entry: int, position: int, lots: float, price: float, symbol: str, *paid: float
) -> str:
    commission, swap, profit = paid or (0.0, 0.0, 0.0)
    at, kind = 1_767_600_000 + 3600 * nth, 0 if way == "buy" else 1
    return (
        f"{nth},{nth},{at},{at}000,{kind},{entry},0,{position},0,{lots},{price},{commission},{swap},{profit},0,"
        f"{symbol},,\n"
    )


def money_lines(*lines: str) -> str:
    """Of each: the day, what was done, the coin, how much."""
    told = (line.split() for line in lines)
    return MONEY_LINES + "".join(
        f"7,2026-03-{day} 09:00:00,Spot,{deed.replace('_', ' ')},{coin},{amount},\n" for day, deed, coin, amount in told
    )


def test_the_number_of_an_execution_is_no_figure(trading: Any) -> None:
    """It has letters and dots, and sometimes digits and dots alone."""
    for id in ("0000e7c1.66a0b1c2.01.01", "00017345.66001267.01.01", "1.2.3"):
        assert values.decimal_mark([id, "12.125"]) == "."
    assert values.decimal_mark(["1.234.567"]) == ","
    with_ids = FLEX.replace('tradeID="', 'ibExecID="00017345.66001267.01.0')
    assert held(brought_in(trading, with_ids)) == pytest.approx(REAL[1].closed)


def test_a_fill_of_a_query_is_known_by_another_of_its_ids(alice: Any) -> None:
    """Whoever chooses the columns of a query anew has the same fills, with ids of another kind; two alike are two."""
    head = '"ClientAccountID","CurrencyPrimary","AssetClass","Symbol","DateTime","Quantity","TradePrice",'
    head += '"IBCommission","{}"\n'
    fills = ('"20260105;100000","6"', '"20260105;100000","6"', '"20260107;100000","-4"')

    def query(kind: str, ids: str, upto: int = 3) -> FileTable:
        told = [f'"U7","USD","STK","AVGO",{one},"100","-1","{ids.format(nth)}"' for nth, one in enumerate(fills)]
        return parsed(head.format(kind) + "\n".join(told[:upto]) + "\n")

    alice.trading.bring_in(query("TradeID", "70{}", 2))
    later = alice.trading.bring_in(query("IBExecID", "0000e7c1.66a0b1c{}.01.01"))
    assert (later.unchanged, later.wrong, later.trades) == (2, 0, 1), later.refused
    assert alice.trading.bring_in(query("TransactionID", "9{}")).unchanged == 3
    assert sum(one.quantity for one in alice.trading.positions()) == 8


def test_an_option_that_expired_did_so_on_its_day(trading: Any) -> None:
    """Whenever the broker booked it; an assignment on the day that it says."""
    late = ROBINHOOD.replace('"1/30/2026","1/30/2026","2/2/2026","TSLA"', '"2/2/2026","2/2/2026","2/3/2026","TSLA"')
    booked = SCHWAB.replace('01/26/2026 as of 01/23/2026","Expired', '01/26/2026","Expired')
    for text, symbol, day in ((late, "TSLA", "2026-01-30"), (booked, "QQQ", "2026-01-23")):
        assert text not in (ROBINHOOD, SCHWAB)
        ended = [one.exit_time[:10] for one in brought_in(trading, text).preview if one.symbol.startswith(symbol)]
        assert ended == [day]


def test_sections_of_a_query_are_told_apart_by_their_columns(trading: Any) -> None:
    """A split whose table has no column of its own words, and money that came in."""
    head = '"ClientAccountID","CurrencyPrimary","AssetClass","Symbol","Description"'
    text = (
        f'{head},"Multiplier","DateTime","Quantity","TradePrice","Proceeds","IBCommission","Notes/Codes","TradeID"\n'
        '"U7","USD","STK","AVGO","BROADCOM","1","20260105;100000","6","1500","-9000","-1","","1"\n'
        '"U7","USD","STK","AVGO","BROADCOM","1","20260320;100000","-60","160","9600","-2","A","2"\n'
        f'{head},"DateTime","Quantity","Value","Type"\n'
        '"U7","USD","STK","AVGO","AVGO(US11135F1012) SPLIT 10 FOR 1 (AVGO, US1)","20260310;202500","54","0","FS"\n'
        '"ClientAccountID","CurrencyPrimary","Description","DateTime","Amount","Type"\n'
        '"U7","USD","WIRE","20260301","900","Deposits/Withdrawals"\n'
    )
    made = brought_in(trading, text)
    assert held(made) == pytest.approx({"AVGO": 600 - 3})
    assert made.preview[0].exit_reason == "assigned"
    assert [one.reason for one in made.refused] == ["Deposits/Withdrawals is no trade"]


def test_a_split_of_a_consolidated_statement_is_of_the_accounts_that_trade_it(trading: Any) -> None:
    head = "DataDiscriminator,Asset Category,Currency,Account,Symbol,Date/Time,Quantity,T. Price,C. Price,Proceeds"
    rows = [
        ("U1", "ZZZ", "2026-02-02", 100, 2), ("U2", "ZZZ", "2026-02-02", 50, 2), ("U3", "QQQ", "2026-02-02", 1, 500),
        ("U1", "ZZZ", "2026-02-20", -10, 25), ("U2", "ZZZ", "2026-02-20", -5, 30),
    ]  # fmt: skip
    text = "Statement,Header,Field Name,Field Value\nAccount Information,Header,Field Name,Field Value\n"
    text += f"Account Information,Data,Account,U1 (Consolidated)\nTrades,Header,{head},Comm/Fee,Code\n"
    for account, symbol, day, many, price in rows:
        told = f'{symbol},"{day}, 10:00:00",{many},{price},{price},{-many * price},-1,'
        text += f"Trades,Data,Order,Stocks,USD,{account},{told}\n"
    text += "Corporate Actions,Header,Asset Category,Currency,Report Date,Date/Time,Description,Quantity,Value,Code\n"
    for many, name in ((-150, "ZZZ.OLD"), (15, "ZZZ")):
        words = f'"ZZZ(US1) Split 1 for 10 ({name}, ZZZ CORP, US1)"'
        text += f'Corporate Actions,Data,Stocks,USD,2026-02-11,"2026-02-10, 20:25:00",{words},{many},0,\n'
    made = brought_in(trading, text)
    assert sorted(trip.pnl for trip in made.preview) == pytest.approx([10 * (25 - 20) - 2, 5 * (30 - 20) - 2])
    assert (made.open, made.wrong) == (1, 0)


def test_an_expiry_has_the_files_own_profit_beside_it_and_names_what_was_not_opened_here(trading: Any) -> None:
    assert brought_in(trading, STATEMENT).profit_file == pytest.approx(69991.5 + 98 - 301.4)
    old = 'AAPL 16JAN26 150 C,"2026-01-16, 16:20:00",-2,0,0,0,0,-301.4,-301.4'
    more = STATEMENT.replace(old, old.replace(",-2,0", ",-3,0").replace("301.4", "450"))
    assert more != STATEMENT
    made = brought_in(trading, more)
    assert [(one.symbol, one.file, one.ours) for one in made.differences] == [("AAPL 2026-01-16 150 C", -450, -301.4)]
    assert "of what was closed of AAPL 2026-01-16 150 C, 1 was not opened here: in no figure" in made.notes


def test_the_sum_of_what_companies_did_is_no_row(trading: Any) -> None:
    head = "Corporate Actions,Header,Asset Category,Currency,Report Date,Date/Time,Description,Quantity,Proceeds,Value,"
    told = STATEMENT + head + "Realized P/L,Code\nCorporate Actions,Data,Total,,,,,,0,0,0,\n"
    assert brought_in(trading, told).wrong == brought_in(trading, STATEMENT).wrong


@pytest.mark.parametrize(
    ("closed", "currency"),
    [
        ((("DE40", 2, 20000, 20010, 20.0), ("BTCUSD", 0.1, 70000, 71000, 100.0)), "USD"),
        ((("EURUSD", 1, 1.17, 1.18, 847.46), ("DE40", 1, 20000, 20010, 10.0)), "EUR"),
        ((("USDJPY", 1, 156, 157, 636.94), ("DE40", 1, 20000, 20010, 11.7)), "USD"),
    ],
)  # fmt: skip
def test_the_deals_of_an_account_are_in_one_currency(trading: Any, closed: Any, currency: str) -> None:
    """By what a lot holds: the profits of a pair are in its second currency, or in its first."""
    text = DEALS_HEAD
    for nth, (symbol, lots, begun, ended, profit) in enumerate(closed, 1):
        text += deal_line(nth, "buy", 0, nth, lots, begun, symbol)
        text += deal_line(nth + 10, "sell", 1, nth, lots, ended, symbol, 0.0, 0.0, profit)
    made = brought_in(trading, text)
    assert made.profits == pytest.approx({currency: sum(one[-1] for one in closed)}, abs=0.005)
    assert any(currency in note for note in made.notes), made.notes
    assert not made.differences


def test_what_a_lot_holds_is_that_of_what_is_open_or_the_usual_and_said(alice: Any) -> None:
    text = DEALS_HEAD + deal_line(1, "buy", 0, 5, 0.2, 1.3, "GBPUSD") + deal_line(2, "sell", 0, 6, 3, 410, "TSLA")
    made = alice.trading.bring_in(parsed(text))
    assert {one.symbol: one.quantity for one in alice.trading.positions()} == {"GBPUSD": 20_000, "TSLA": 3}
    assert sum("what a lot of" in note for note in made.notes) == 2
    later = alice.trading.bring_in(
        parsed(DEALS_HEAD + deal_line(30, "sell", 1, 5, 0.2, 1.31, "GBPUSD", -1.0, -0.5, 200.0))
    )
    assert later.profit == pytest.approx(200 - 1.5)
    silver = REPORT5.replace("EURUSD</td><td>sell</td><td>0.20", "XAGUSD</td><td>sell</td><td>0.20")
    alice.trading.bring_in(parsed(silver.replace("1.12100", "1.12400")))
    assert {one.symbol: one.quantity for one in alice.trading.positions()}["XAGUSD"] == pytest.approx(0.2 * 25_000)


def test_the_swap_of_a_reversal_is_of_what_it_closes(trading: Any) -> None:
    text = DEALS_HEAD + deal_line(1, "sell", 0, 9, 1, 100, "DE40", -1.0, 0.0, 0.0)
    text += deal_line(2, "buy", 2, 9, 4, 90, "DE40", -4.0, -6.0, 10.0)
    made = brought_in(trading, text)
    assert [trip.pnl for trip in made.preview] == pytest.approx([10 - 1 - 1 - 6])
    assert made.open == 1


def test_an_exit_whose_entry_is_in_no_file_opens_nothing(trading: Any) -> None:
    text = DEALS_HEAD + deal_line(1, "sell", 1, 7, 1, 100, "DE40", 0.0, 0.0, 10.0)
    made = brought_in(trading, text + deal_line(2, "buy", 0, 8, 1, 90, "DE40"))
    assert (made.trades, made.open, made.wrong) == (0, 1, 1)
    assert "not opened here" in made.refused[0].reason


def as_text(page: str) -> str:
    """A report as it is copied from the page: tabs between cells, titles alone in their line."""
    rows = [re.findall(r'<td(?: colspan="(\d+)")?>(.*?)</td>', line) for line in page.split("</tr>")]
    return "\n".join(
        "\t".join(c + ("\t" * (int(w) - 1) if w and not c else "") for w, c in cells) for cells in rows if cells
    )


@pytest.mark.parametrize("shape", [str, as_text])
def test_a_fee_that_stands_in_the_deals_alone_is_paid(trading: Any, shape: Any) -> None:
    """The positions have no column for it. Going in and going out, of one that is closed and one that is open."""
    deals = [
        "2026.01.05 11:00:00|3|EURUSD|sell|in|0.10|1.10500|101|-0.35|-0.11|0.00|0.00|0|",
        "2026.01.06 10:00:00|4|EURUSD|buy|out|0.10|1.10700|900|-0.35|-0.22|0.00|-20.00|0|",
        "2026.01.06 12:00:00|5|USDJPY|sell|out|0.10|151.500|901|-0.35|-0.05|0.00|99.01|0|",
        "2026.01.08 10:00:00|6|EURUSD|sell|in|0.20|1.12000|103|-0.70|-0.40|0.00|0.00|0|",
    ]
    orders = [row("14*Orders"), row("Open Time|Order|Symbol|Type|Volume|Price|S / L|T / P|Time|State|Comment"),
              row("2026.01.05 11:00:00|101|EURUSD|sell|0.10 / 0.10|market|||2026.01.05 11:00:00|filled|")]  # fmt: skip
    report = REPORT5.replace(row("14*Deals"), "".join(orders) + row("14*Deals"))
    report = report.replace(row("14*Open Positions"), "".join(map(row, deals)) + row("14*Open Positions"))
    made = brought_in(trading, shape(report))
    assert held(made) == pytest.approx({"EURUSD": 100 - 1 - 20 - 0.7 - 0.33, "USDJPY": 99.01 - 0.7 - 0.05}, abs=1e-6)
    assert (made.open, made.wrong) == (1, 0), made.refused


@pytest.mark.parametrize(
    ("lines", "earned", "notes"),
    [
        (  # two parts at their own prices, the first sold
            ("02 Transaction_Buy ETH 1", "02 Transaction_Spend EUR -2000", "02 Transaction_Buy ETH 2",
             "02 Transaction_Spend EUR -4010", "05 Transaction_Sold ETH -1", "05 Transaction_Revenue EUR 2100"),
            {"ETH/EUR": 100.0}, 0,
        ),
        (  # in no order: one trade at the price of both
            ("02 Transaction_Buy ETH 1", "02 Transaction_Buy ETH 2", "02 Transaction_Spend EUR -4010",
             "02 Transaction_Spend EUR -2000", "05 Transaction_Sold ETH -1.5", "05 Transaction_Revenue EUR 3150"),
            {"ETH/EUR": 3150 - 1.5 * 6010 / 3}, 0,
        ),
        (  # what came in besides is sold too, and was never bought: no short, and dust of a coin that was none
            ("02 Transaction_Buy SOL 2", "02 Transaction_Spend USDT -200", "03 Staking_Rewards SOL 0.5",
             "05 Transaction_Sold SOL -2.5", "05 Transaction_Revenue USDT 275",
             "06 Small_Assets_Exchange_BNB TRX -3", "06 Small_Assets_Exchange_BNB BNB 0.001"),
            {"SOL/USDT": 20.0}, 2,
        ),
        (  # a fee in a third coin, at the price of the file, which is told
            ("01 Transaction_Buy BNB 1", "01 Transaction_Spend USDT -600", "02 Transaction_Buy SOL 2",
             "02 Transaction_Spend USDT -200", "02 Transaction_Fee BNB -0.01", "05 Transaction_Sold SOL -2",
             "05 Transaction_Revenue USDT 220"),
            {"SOL/USDT": 20 - 6.0}, 1,
        ),
    ],
)  # fmt: skip
def test_a_history_of_coins_is_read_as_it_happened(alice: Any, lines: Any, earned: Any, notes: int) -> None:
    text = money_lines(*lines)
    made = brought_in(alice.trading, text)
    assert held(made) == pytest.approx(earned, abs=1e-9)
    assert (
        sum("held before this file" in note or "BNB were counted in USDT by the fills" in note for note in made.notes)
        == notes
    )
    alice.trading.bring_in(parsed(text))
    assert {one.side for one in alice.trading.positions()} <= {"long"}
    assert not any("BNB" in one.name for one in alice.trading.deployments())


def test_funding_counts_where_freqtrade_says_no_profit() -> None:
    told = {
        "id": 1, "pair": "ETH/USDT:USDT", "is_short": 1, "amount": 2.0, "open_rate": 3000.0, "close_rate": 2900.0,
        "open_date": "2026-01-05 10:00:00", "close_date": "2026-01-06 10:00:00", "fee_open": 0.001, "fee_close": 0.001,
        "funding_fees": -1.5, "leverage": 5.0,
    }  # fmt: skip
    assert freqtrade_trade(told, NO_ORDERS, Times(), "d").pnl == pytest.approx(200 - 11.8 - 1.5)


# --- what an account holds, and what it is called ---------------------------------------------------------------

SPOT_HEAD = "Date(UTC),Pair,Side,Price,Executed,Amount,Fee\n"
ACCOUNT_HEAD = (
    "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
    "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes\n"
)


@pytest.mark.parametrize(
    ("head", "begun", "ended"),
    [
        (SPOT_HEAD, "{},ETHUSDT,BUY,100,2ETH,200USDT,0.2USDT", "{},ETHUSDT,SELL,110,2ETH,220USDT,0.3USDT"),
        (
            "Time(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit\n",
            "{},ETHUSDT,BUY,100,2,200,0.2 USDT,0 USDT", "{},ETHUSDT,SELL,110,2,220,0.3 USDT,20 USDT",
        ),
        (
            "User ID,Time,Account,Operation,Coin,Change,Remark\n",
            "7,{0},Spot,Transaction Buy,ETH,2,\n7,{0},Spot,Transaction Spend,USDT,-200.2,",
            "7,{0},Spot,Transaction Sold,ETH,-2,\n7,{0},Spot,Transaction Revenue,USDT,219.7,",
        ),
    ],
)  # fmt: skip
def test_binance_writes_a_year_in_two_digits_or_four(trading: Any, head: str, begun: str, ended: str) -> None:
    for year in ("2026", "26"):
        rows = (begun.format(f"{year}-01-08 10:00:05"), ended.format(f"{year}-01-09 10:00:05"))
        made = brought_in(trading, head + "\n".join(rows) + "\n")
        assert held(made) == pytest.approx({"ETH/USDT": 19.5}), (year, made.refused)
        assert made.preview[0].exit_time == "2026-01-09T10:00:05.000000Z"


def test_an_advance_trade_of_coinbase_is_one_whichever_way_it_is_spelled(trading: Any) -> None:
    rows = (
        'a1,2026-01-05 10:00:00 UTC,Advance{} Trade Buy,ETH,1,GBP,"£2,500.00","£2,500.00","£2,510.00",£10.00,x\n'
        'a2,2026-01-06 10:00:00 UTC,Advance{} Trade Sell,ETH,-1,GBP,"£2,600.00","-£2,600.00","-£2,589.60",£10.40,x\n'
    )
    for letter in ("", "d"):
        assert held(brought_in(trading, ACCOUNT_HEAD + rows.replace("{}", letter))) == pytest.approx({"ETH/GBP": 79.6})


def test_a_page_of_unknown_columns_says_what_to_do_and_is_read_by_a_mapping(trading: Any) -> None:
    """MetaTrader writes its report in the language of the terminal."""
    german = REPORT5.replace("<td>Time</td>", "<td>Zeit</td>").replace("<td>Volume</td>", "<td>Volumen</td>")
    german = german.replace("<td>Commission</td>", "<td>Kommission</td>").replace("<td>Price</td>", "<td>Preis</td>")
    with pytest.raises(Invalid, match="in English, or say which column is which") as refused:
        brought_in(trading, german)
    assert "it has Zeit, Deal, Symbol, Type, Direction, Volumen, Preis" in str(refused.value)
    ours = {"entry_time": "Zeit", "exit_time": "Zeit (2)", "symbol": "Symbol", "side": "Type", "quantity": "Volumen",
            "entry_price": "Preis", "exit_price": "Preis (2)", "fee": "Kommission"}  # fmt: skip
    sizes = {"EURUSD": 100_000.0, "USDJPY": 1.0}
    by_map = trading.bring_in(german.encode(), columns=ours, multipliers=sizes, dry_run=True)
    assert "EUR/USD" in {trip.symbol for trip in by_map.preview}
