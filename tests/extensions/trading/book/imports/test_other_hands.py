# ruff: noqa: E501 the lines of brokers are as long as they are
"""Files as strangers post them: older headers, other names for the same deed, bonds, fees that leave out the spread."""

from typing import Any

import pytest
from tests.extensions.trading.book.imports.posted_files import Posted, bring_in_posted, flex, parsed
from tests.extensions.trading.book.imports.real_files import STATEMENT

from keepbook import Invalid, Keepbook
from keepbook.extensions.trading.book.imports.formats import binance

HISTORY = "User_ID,UTC_Time,Account,Operation,Coin,Change,Remark\n"
SPOT = "Date(UTC),Pair,Side,Price,Executed,Amount,Fee\n"
COINBASE = (
    "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
    "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes\n"
)
TRADES = (
    "Trades,Header,DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,C. Price,Proceeds,"
    "Comm/Fee,Basis,Realized P/L,MTM P/L,Code\n"
)


POSTED = [
    Posted(
        "halves of a trade under the name of each side",
        HISTORY + "1,2021-05-01 10:00:00,Spot,Buy,DOGE,250,\n1,2021-05-01 10:00:00,Spot,Sell,EUR,-11.75,\n"
        "1,2021-05-01 10:00:00,Spot,Fee,DOGE,-0.25,\n"
        "1,2025-03-01 12:00:00,Spot,Sell Crypto To Fiat,DOGE,-249.75,Via CashBalance\n"
        "1,2025-03-01 12:00:01,Spot,Sell Crypto To Fiat,EUR,100,Via CashBalance\n"
        "1,2025-03-01 12:00:01,Spot,Fee,EUR,-2,\n"
        "1,2025-04-01 12:00:00,Spot,Buy Crypto With Fiat,EUR,-50,\n"
        "1,2025-04-01 12:00:00,Spot,Buy Crypto With Fiat,BTC,0.001,\n",
        {"DOGE/EUR": 98 - 11.75}, {"BTC/EUR": 0.001},
    ),
    Posted(
        "older halves, and two trades of one second",
        HISTORY + "1,2021-05-01 10:00:00,Spot,Buy,BNB,2,\n1,2021-05-01 10:00:00,Spot,Transaction Related,USDT,-1200,\n"
        "1,2021-05-02 10:00:00,Spot,Sell,BNB,-1,\n1,2021-05-02 10:00:00,Spot,Sell,USDT,650,\n"
        "1,2021-05-02 10:00:00,Spot,Buy,ADA,100,\n1,2021-05-02 10:00:00,Spot,Buy,USDT,-130,\n"
        "1,2021-05-03 10:00:00,Spot,Buy Crypto With Card,ETH,1,\n",
        {"BNB/USDT": 50}, {"BNB/USDT": 1, "ADA/USDT": 100}, 1,
    ),
    Posted(
        "coins whose names begin with a digit",
        SPOT + "2025-01-02 10:00:00,1INCHUSDT,BUY,0.5,1001INCH,50USDT,0.11INCH\n"
        "2025-01-03 10:00:00,1INCHUSDT,SELL,0.6,99.91INCH,59.94USDT,0.05994USDT\n"
        "2025-01-04 10:00:00,1000SATSUSDT,BUY,0.0002,50001000SATS,1USDT,0.001USDT\n",
        {"1INCH/USDT": 59.94 - 0.05994 - 50}, {"1000SATS/USDT": 5000},
    ),
    Posted(
        "fees that leave out the spread",
        "User,Alice,919\n" + COINBASE
        + "a,2021-12-31 21:39:13 UTC,Buy,ADA,212.524476,EUR,€1.1511997794,€244.65813,€250.00,1.6718701116994,Bought 212.524476 ADA for 250 EUR using EUR Wallet\n"
        "b,2021-12-03 20:19:23 UTC,Buy,BTC,0.02125675,EUR,€46875.142564575,€996.41319,€1000.00,-11.0931867095297,Bought 0.02125675 BTC for 1000 EUR using EUR Wallet\n"
        "c,2022-01-16 11:00:00 UTC,Sell,BTC,0.02125675,EUR,€40000.00,€850.27,€842.00,€2.00,Sold 0.02125675 BTC for 842 EUR using EUR Wallet\n",
        {"BTC/EUR": 842 - 1000}, {"ADA/EUR": 212.524476},
    ),
    Posted(
        "the currency in the names of the columns",
        "Transactions\nUser,Alice,3f2\n\nTimestamp,Transaction Type,Asset,Quantity Transacted,EUR Spot Price at Transaction,EUR Subtotal,EUR Total (inclusive of fees),EUR Fees,Notes\n"
        "2020-03-09T05:17:11Z,Buy,BTC,0.03182812,9287.38,295.60,300.00,4.40,Bought 0.03182812 BTC for € 300.00 EUR\n"
        "2020-09-27T18:36:58Z,Sell,BTC,0.03182812,10054.00,320.00,315.20,4.80,Sold 0.03182812 BTC for €315.20 EUR\n",
        {"BTC/EUR": 315.2 - 300}, {},
    ),
    Posted(
        "a trade for another coin than the account's money",
        COINBASE
        + 'a,2025-06-01 10:00:00 UTC,Advanced Trade Buy,BTC,0.03,EUR,"€50,000.00","€1,500.00","€1,506.00",€6.00,Bought 0.03 BTC for 1506.00 EUR on BTC-EUR at 50000 EUR/BTC\n'
        'b,2025-06-03 10:00:00 UTC,Advanced Trade Sell,BTC,-0.02,EUR,"€60,000.00","€1,200.00","€1,195.20",€4.80,Sold 0.02 BTC for 1300.00 USDC on BTC-USDC at 65000 USDC/BTC\n'
        'c,2025-06-04 11:30:00 UTC,Advanced Trade Buy,ETH,0.5,EUR,"€2,000.00","€1,000.00","€1,004.00",€4.00,Bought 0.5 ETH for 1150 USDC on ETH-USDC\n',
        {"BTC/EUR": 1195.2 - 1506 * 2 / 3, "USDC/EUR": 1004 - 1150 * 1195.2 / 1300},
        {"BTC/EUR": 0.01, "USDC/EUR": 150, "ETH/EUR": 0.5},
    ),
    Posted(
        "the table of trades alone",
        TRADES + 'Trades,Data,Order,Stocks,USD,NVDA,"2026-02-02, 09:35:00",20,120,121,-2400,-1,2401,0,20,O\n'
        'Trades,Data,Order,Stocks,USD,NVDA,"2026-02-03, 10:00:00",-20,130,131,2600,-1,-2401,198,10,C\n',
        {"NVDA": 198}, {},
    ),
    Posted(
        "bonds, quoted in percent",
        STATEMENT.splitlines()[0] + "\n" + TRADES
        + 'Trades,Data,Order,Bonds,USD,X 4 1/2 01/15/30,"2025-03-01, 10:00:00","10,000",98.5,98.6,-9850,-5,9855,0,0,O\n'
        'Trades,Data,Order,Bonds,USD,X 4 1/2 01/15/30,"2025-04-01, 10:00:00","-10,000",99.5,98.6,9950,-5,-9855,90,0,C\n'
        'Trades,Data,Order,Treasury Bills,USD,912797HP5,"2025-03-02, 10:00:00","5,000",97.25,97.3,-4862.5,-5,4867.5,0,0,O\n'
        "Financial Instrument Information,Header,Asset Category,Symbol,Description,Conid,Multiplier\n"
        "Financial Instrument Information,Data,Bonds,X 4 1/2 01/15/30,X,1,1\n",
        {"X 4 1/2 01/15/30": 90}, {"912797HP5": 50},
    ),
    Posted(
        "a unified account that trades contracts and coins",
        "Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,Wallet Balance,Action,OrderId,TradeId,Time\n"
        "CCC,CCCUSDT,TRADE,SELL,-4,0,3,0,0,-4,-4,6,--,o9,x9,2026-01-12 10:00:00.000\n"
        "USDT,CCCUSDT,TRADE,SELL,12,0,3,0,-0.012,12,11.988,980,--,o9,x9,2026-01-12 10:00:00.000\n"
        "USDT,AAAUSDT,LIQUIDATION,SELL,2,0,90,0,-0.1,-20,-20.1,1000,CLOSE,o6,x6,2026-01-11 10:00:00.000\n"
        "USDT,AAAUSDT,SETTLEMENT,BUY,--,2,--,-0.0216,0,0,-0.0216,1000,SETTLEMENT,o2,x2,2026-01-11 08:00:00.000\n"
        "CCC,,CURRENCY_SELL,--,10,0,0.5,0,-0.2,-9.8,-10,0,--,o4,o4,2026-01-11 07:00:00.000\n"
        "USDT,CCCUSDT,TRADE,BUY,-20,0,2,0,0,-20,-20,980,--,o5,x5,2026-01-10 10:00:00.000\n"
        "CCC,CCCUSDT,TRADE,BUY,10,0,2,0,-0.01,10,9.99,10,--,o5,x5,2026-01-10 10:00:00.000\n"
        "USDT,AAAUSDT,TRADE,BUY,2,2,100,0,-0.11,0,-0.11,1000,OPEN,o1,x1,2026-01-10 10:00:00.000\n",
        {"AAA/USDT": -20 - 0.11 - 0.1 - 0.0216, "CCC/USDT": 12 - 0.012 - 20 * 4 / 9.99}, {"CCC/USDT": 5.99}, 1,
    ),
    Posted(
        "currencies, with fees in the account's own",
        STATEMENT.splitlines()[0] + "\n"
        + "Trades,Header,DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,,Proceeds,Comm in AUD,,,MTM in AUD,Code\n"
        'Trades,Data,Order,Forex,USD,AUD.USD,"2026-03-01, 10:00:00","-1,000",0.65,,650,-3,,,0,\n'
        'Trades,Data,Order,Forex,USD,AUD.USD,"2026-03-02, 10:00:00","1,000",0.64,,-640,-3,,,0,\n',
        {"AUD/USD": 10 - 3 * 0.65 - 3 * 0.64}, {},
    ),
    Posted(
        "a query of currencies", flex("CASH|EUR.USD|1000|1.1|-1100|05", "CASH|EUR.USD|-1000|1.2|1200|06").replace('onCurrency="USD"', 'onCurrency="EUR"'),
        {"EUR/USD": 100 - 0.5 * 1.1 - 0.5 * 1.2}, {},
    ),
    Posted(
        "a query of bonds", flex("BOND|US X|10000|98.5|-9850|05", "BOND|US X|-10000|99.5|9950|06", "BILL|US Y|5000|97.25|-4862.5|07"),
        {"US X": 99}, {"US Y": 50},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", POSTED, ids=lambda case: case.name)
def test_a_posted_file_earns_what_a_computation_by_hand_says(posted: Keepbook, case: Posted) -> None:
    trading = posted.book(case.name).trading
    shown = trading.bring_in(parsed(case.text), dry_run=True)
    made = bring_in_posted(trading, case)
    assert (shown.trades, shown.open, shown.profits, shown.wrong) == (made.trades, made.open, made.profits, made.wrong)
    again = trading.bring_in(parsed(case.text))
    assert (again.added, again.paired, again.trades) == (0, 0, 0)


def test_bonds_that_do_not_agree_are_not_written(posted: Keepbook) -> None:
    with pytest.raises(Invalid, match="nothing was loaded"):
        posted.book("bonds").trading.bring_in(parsed(flex("BOND|US X|10000|98.5|-98500|05")))


def test_contracts_that_are_not_their_quantity_times_their_price_are_not_written(posted: Keepbook) -> None:
    """Of contracts on coins, each worth so many dollars, a profit would be computed that nobody made."""
    text = (
        "Uid,Time,Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit,Buyer,Maker,Trade ID,Order ID\n"
        "8,26-03-17 09:34:12,BTCUSD_PERP,BUY,73822.3,1,0.00135460,0.0000006BTC,0,true,false,41,49\n"
        "8,26-03-17 09:34:12,BTCUSDT,BUY,73822.3,0.01,738.223,0.29528919 USDT,0,true,false,42,50\n"
    )
    with pytest.raises(Invalid, match="price × quantity"):
        posted.book("coin futures").trading.bring_in(text.encode())


def test_a_total_far_from_its_parts_is_not_written(posted: Keepbook) -> None:
    for total in ("€350.00", "€240.00"):
        row = f"a,2021-12-31 21:39:13 UTC,Buy,ADA,212,EUR,€1.15,€244.65,{total},1.67,Bought\n"
        with pytest.raises(Invalid, match="subtotal and fees"):
            posted.book("totals").trading.bring_in((COINBASE + row).encode())


def test_a_coin_that_a_fee_was_paid_in_is_not_what_shares_are_priced_in(posted: Keepbook) -> None:
    text = "Date,Symbol,Side,Quantity,Price,Fee\n2026-01-05,AAPL,buy,10,190,0.0005 BNB\n2026-01-06,AAPL,sell,10,192,1 USD\n"
    for fees, currency, left in (("0.0005 BNB", "USD", {"BNB": 0.0005}), ("1 USD", "USD", {})):
        made = posted.book(f"paid {fees}").trading.bring_in(text.replace("0.0005 BNB", fees).encode())
        assert (list(made.profits), made.unconverted) == ([currency], left)
    made = posted.book("paid in coins").trading.bring_in(text.replace("1 USD", "0.1 BNB").encode())
    assert (list(made.profits), made.unconverted) == ([""], {"BNB": 0.1005})
    assert any("in which currency its prices are" in note for note in made.notes)


def test_one_side_alone_of_a_trade_is_refused_in_words(posted: Keepbook) -> None:
    text = HISTORY + "1,2021-05-01 10:00:00,Spot,Buy,DOGE,250,\n1,2021-05-01 10:00:00,Spot,Buy,DOGE,50,\n"
    made = posted.book("sides").trading.bring_in(text.encode())
    assert (made.wrong, {one.reason.partition(":")[0] for one in made.refused}) == (2, {"what was given is nothing"})


def test_a_long_history_is_read_second_by_second(monkeypatch: pytest.MonkeyPatch, posted: Keepbook) -> None:
    """What stands in one second is held against nothing of the others."""
    compared: list[Any] = []
    monkeypatch.setattr(binance, "is_other_half", lambda *both: compared.append(both))
    seconds = [f"2026-01-01 10:{nth // 60:02}:{nth % 60:02}" for nth in range(300)]
    sides = (("Transaction Buy", "ETH,1"), ("Transaction Spend", "USDT,-30"), ("Transaction Fee", "USDT,-0.1"))
    text = HISTORY + "".join(f"1,{at},Spot,{deed},{told},\n" for at in seconds for deed, told in sides)
    made = posted.book("long").trading.bring_in(text.encode(), dry_run=True)
    assert (made.added, made.wrong, made.open, compared) == (900, 0, 300, [])


def test_a_statement_without_trades_is_a_table_to_be_mapped(posted: Keepbook) -> None:
    """Interactive Brokers' newer history of transactions, and whatever else comes in this shape."""
    trading = posted.book("mapped").trading
    text = STATEMENT.split("Trades,Header")[0] + (
        "Transaction History,Header,Date,Account,Description,Transaction Type,Symbol,Quantity,Price,Price Currency,"
        "Gross Amount,Commission,Net Amount\n"
        'Transaction History,Data,2026-05-01,U1,"MSFT Purchase",Buy,MSFT,5,420.00,USD,-2100.00,-1.0,-2101.00\n'
        'Transaction History,Data,2026-05-04,U1,"MSFT Sale",Sell,MSFT,5,430.00,USD,2150.00,-1.0,2149.00\n'
        'Transaction History,Data,2026-05-14,U1,"MSFT Cash Dividend",Dividend,MSFT,-,-,-,3.31,-,3.31\n'
    )
    with pytest.raises(Invalid, match=r"map side=COLUMN; the file has Date, Account, Description"):
        trading.bring_in(text.encode())
    made = trading.bring_in(text.encode(), columns={"side": "Transaction Type"})
    assert (made.trades, made.wrong) == (1, 1)
    assert made.profits == pytest.approx({"USD": 48})


def test_a_table_with_exits_has_whole_trades(posted: Keepbook) -> None:
    """Else each row would be half a trade, and its exit lost."""
    text = "Time,Type,Volume,Symbol,Price,Close Time,Close Price,Profit\n2026-01-05 10:00,buy,1,EURUSD,1.1,2026-01-06 10:00,1.11,0.01\n"
    trading = posted.book("exits").trading
    with pytest.raises(Invalid, match="map entry_time=COLUMN"):
        trading.bring_in(text.encode())
    made = trading.bring_in(text.encode(), columns={"entry_time": "Time", "entry_price": "Price", "side": "Type"})
    assert (made.trades, made.open, made.differences) == (1, 0, ())


def test_a_price_of_last_month_values_no_exchange(posted: Keepbook) -> None:
    """Else what was given would be counted at what it had cost, and its profit would be nothing, whatever it was."""
    text = SPOT + (
        "2026-01-05 10:00:00,BTCEUR,BUY,40000,1BTC,40000EUR,0EUR\n2026-03-05 10:00:00,ETHBTC,BUY,0.05,20ETH,1BTC,0BTC\n"
    )
    made = posted.book("stale").trading.bring_in(text.encode())
    assert (made.trades, made.profits) == (0, {})
    assert any("given for ETH at a price that is not known: closed without a figure" in note for note in made.notes)
    assert [(one.symbol, one.quantity) for one in posted.book("stale").trading.positions()] == [("ETH/BTC", 20)]
