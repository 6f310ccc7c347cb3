# ruff: noqa: E501 the lines of brokers are as long as they are
"""Files that a stranger wrote from the descriptions of the headers alone: what they have that no file had before."""

import json
from typing import Any

import pytest
from tests.extensions.trading.book.imports.posted_files import Posted, bring_in_posted, flex, parsed
from tests.extensions.trading.book.imports.real_files import REPORT5, ROBINHOOD, SCHWAB, STATEMENT, page, row

from keepbook import Invalid, Keepbook

SCHWAB_HEAD, ROBINHOOD_HEAD = SCHWAB.splitlines()[1] + "\n", ROBINHOOD.splitlines()[0] + "\n"
STATEMENT_HEAD = "".join(line + "\n" for line in STATEMENT.splitlines()[:6])
UNIFIED = "Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,Wallet Balance,Action,OrderId,TradeId,Time(UTC)\n"
KRAKEN = '"txid","ordertxid","pair","time","type","ordertype","price","cost","fee","vol","margin","misc","ledgers"\n'
LISTED = "Trade number,Type,Date and time,Signal,Price USD,Size (qty),Size (value),Net PnL USD,Net PnL %\n"
NETTED = page(
    row("4*Account:|10*5013 (EUR, Broker-Real, real, Netting)"), row("14*Deals"),
    row("Time|Deal|Symbol|Type|Direction|Volume|Price|Order|Commission|Fee|Swap|Profit|Balance|Comment"),
    row("2026.02.02 09:15:00|6|GER40|buy|in|3.0|24611.5|206|0|0|0|0|0|"),
    row("2026.02.02 10:40:22|9|GER40|buy|in|2.0|24580.3|209|0|0|0|0|0|"),
    row("2026.02.02 17:29:59|12|GER40|sell|out|4.0|24655.1|212|0|0|0|224.32|0|"),
    row("2026.02.03 08:01:13|15|GER40|sell|out|1.0|24633.8|215|0|0|0|34.78|0|"),
)  # fmt: skip


def traded(symbol: str, side: str, amount: float, price: float, cost: float) -> dict[str, Any]:
    at = 1770105600000 + (side == "sell") * 60_000
    return {"id": f"{symbol}{side}", "timestamp": at, "symbol": symbol, "side": side, "price": price, "amount": amount,
            "cost": cost, "fee": {"cost": 0, "currency": "USDT"}, "info": {}}  # fmt: skip


AS_EXPORTED = [
    Posted(
        "a report whose last cell is wider than its head",
        REPORT5.replace("<td>100.00</td>", '<td colspan="2">100.00</td>').replace(
            "<td>buy</td><td>0.10</td>", '<td>buy</td><td class="hidden" colspan="8"></td><td>0.10</td>'
        ),
        {"EURUSD": 100 - 1 - 20 - 0.7, "USDJPY": 99.01 - 0.7}, {"EURUSD": 20000},
    ),
    Posted("profits from the average price", NETTED, {"GER40": 224.32 + 34.78}, {}),
    Posted(
        "shares that were held before, and an option whose sale is not in the file",
        SCHWAB_HEAD + '"01/07/2026","Buy to Close","F 01/23/2026 12.00 P","PUT","1","$0.50","$0.66","-$50.66"\n'
        '"01/06/2026","Sell","VZ","VERIZON","200","$40.00","$0.10","$7,999.90"\n'
        '"01/05/2026","Buy","VZ","VERIZON","50","$39.00","","-$1,950.00"\n',
        {"VZ": 50 - 0.025}, {}, 1,
    ),
    Posted(
        "a fund that was held before",
        ROBINHOOD_HEAD + '"1/12/2026","1/12/2026","1/13/2026","JEPI","JPM","Sell","110.25","$58.00","$6,394.50"\n', {}, {},
    ),
    Posted(
        "what only closes by its code",
        STATEMENT_HEAD + 'Trades,Data,Order,Stocks,USD,MO,"2026-01-09, 14:14:14",-250,57.8,57.9,14450,-1,-13257,1192,-4,C\n'
        'Trades,Data,Order,Stocks,USD,KO,"2026-01-09, 14:15:14",10,70,70,-700,-1,701,5,0,C;P\n'
        'Trades,Data,Order,Stocks,USD,PEP,"2026-01-09, 14:16:14",-5,150,150,750,-1,-749,0,0,O\n',
        {}, {"PEP": 5}, 1,
    ),
    Posted("a query's bond by its part of the whole", flex("BOND|US X|10000|0.9978125|-9978.125|05"), {}, {"US X": 10000}),
    Posted(
        "contracts of a hundredth, and one that settles in what is traded",
        json.dumps([
            traded("BTC/USDT:USDT", "buy", 13, 72100.5, 9373.065), traded("BTC/USDT:USDT", "sell", 13, 72200.5, 9386.065),
            traded("BTC/USD:BTC", "buy", 1000, 60000.0, 0.0167),
        ]),
        {"BTC/USDT": 13.0}, {}, 1,
    ),
    Posted(
        "a coin whose price is cut short",
        KRAKEN + '"T1","O1","PEPE/EUR","2026-01-05 08:00:00.4","buy","market","0.00001","339.35000","1","55000000","0","",""\n'
        '"T2","O2","PEPE/EUR","2026-01-06 08:00:00.4","sell","market","0.00001","323.40000","1","55000000","0","",""\n',
        {"PEPE/EUR": 323.4 - 339.35 - 2}, {},
    ),
    Posted(
        "coins beside contracts of their name",
        UNIFIED + "USDT,BTCUSDT,TRADE,BUY,0.002,0,112211.7,0,0,-2.8832,-2.8832,370,CLOSE,o3,x3,2026-01-12 06:00:00\n"
        "BTC,BTCUSDT,TRADE,BUY,0.0015,0,112300.4,0,0,0.0015,0.0015,0.0015,--,o2,x2,2026-01-11 23:59:59\n"
        "USDT,BTCUSDT,TRADE,BUY,168.4506,0,112300.4,0,0,-168.4506,-168.4506,373,--,o2,x2,2026-01-11 23:59:59\n"
        "USDT,BTCUSDT,TRADE,SELL,0.002,-0.002,110770.1,0,0,0,0,373,OPEN,o1,x1,2026-01-11 09:09:09\n",
        {"BTC/USDT": -2.8832}, {"BTC/USDT": 0.0015},
    ),
    Posted(
        "the day in one column and the time in another",
        "Date;Time;Symbol;Side;Quantity;Price;Fee;Currency\n05.01.2026;09:04;SAP.DE;Buy;40;205,42;9,90;EUR\n"
        "16.01.2026;11:15;SAP.DE;Sell;40;209,88;11,90;EUR\n",
        {"SAP.DE": 40 * 4.46 - 21.8}, {},
    ),
    Posted(
        "fees whose sign the change of the balance shows",
        UNIFIED + "USDT,ETHUSDT,TRADE,BUY,1.5,0.5,3050,0,2.516,-50,-52.516,1042.589,CLOSE,o3,x3,2026-02-07 10:00:00\n"
        "USDT,ETHUSDT,SETTLEMENT,SELL,--,-1,2950,0.3,0,0,0.3,1095.405,--,o4,x4,2026-02-06 16:00:00\n"
        "USDT,ETHUSDT,TRADE,BUY,1,-1,2900,0,1.595,100,98.405,1095.105,CLOSE,o2,x2,2026-02-06 10:00:00\n"
        "USDT,ETHUSDT,TRADE,SELL,-2,-2,3000,0,3.3,0,-3.3,996.7,OPEN,o1,x1,2026-02-05 10:00:00\n",
        {"ETH/USDT": 100 - 50 + 0.3 - 3.3 - 1.595 - 2.516 * 2 / 3}, {"ETH/USDT": 0.5},
    ),
    Posted(
        "an assignment whose description says more than its option",
        ROBINHOOD_HEAD + '"5/18/2026","5/18/2026","5/19/2026","PLTR","Palantir","Sell","100","$131.00","$13,099.70"\n'
        '"5/15/2026","5/15/2026","5/15/2026","PLTR","Option Assigned: PLTR 5/15/2026 Put $130.00","OASGN","1","",""\n'
        '"5/15/2026","5/15/2026","5/18/2026","PLTR","Palantir\n1 PLTR Option Assigned","Buy","100","$130.00","($13,000.00)"\n'
        '"5/4/2026","5/4/2026","5/5/2026","PLTR","PLTR 5/15/2026 Put $130.00","STO","1","$2.50","$249.96"\n',
        {"PLTR 2026-05-15 130 P": 249.96, "PLTR": 100 - 0.3}, {},
    ),
    Posted(
        "a mapped date whose order another row shows, and a fee that was given back",
        "When,Ticker,B/S,Shares,Px,Commission\n2/6/2026,IBM,B,10,$250.00,$1.00\n2/17/2026,IBM,S,25,$260.00,$1.00\n"
        "2/18/2026,IBM,B,15,$255.00,(0.50)\n",
        {"IBM": 100 + 75 - 2 + 0.5}, {},
        told={"columns": {"time": "When", "symbol": "Ticker", "quantity": "Shares", "price": "Px", "fee": "Commission"}},
    ),
    Posted(
        "whole trades in a language of their own",
        "Auf\tZu\tMarkt\tSide\tSize\tEntry\tExit\tFee\n13/01/2026 10:00\t14/01/2026 09:00\tDAX\tLong\t2\t19.000,5\t19.100,5\t-4,20\n"
        "2/6/2026 10:00\t3/6/2026 10:00\tDAX\tShort\t1\t20.000,0\t20.050,0\t-2,10\n",
        {"DAX": 200 - 4.2 - 50 - 2.1}, {},
        told={"columns": {"entry_time": "Auf", "exit_time": "Zu", "symbol": "Markt", "quantity": "Size",
                          "entry_price": "Entry", "exit_price": "Exit"}},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", AS_EXPORTED, ids=lambda case: case.name)
def test_a_file_as_exported_earns_what_a_computation_by_hand_says(posted: Keepbook, case: Posted) -> None:
    bring_in_posted(posted.book(case.name).trading, case)


def test_what_was_held_before_is_named(posted: Keepbook) -> None:
    made = posted.book("held").trading.bring_in(AS_EXPORTED[2].text.encode())
    assert made.held_before == {"VZ": 150.0}
    assert any("sold 150 VZ held before this file began" in note for note in made.notes)


def test_a_log_whose_balance_changed_otherwise_is_not_written(posted: Keepbook) -> None:
    text = UNIFIED + "USDT,ETHUSDT,TRADE,BUY,1,1,2900,0,1.6,0,1,9,OPEN,o2,x2,2026-02-06 10:00:00\n"
    with pytest.raises(Invalid, match=r"the fee by the change of the balance is 1, and the file says 1\.6"):
        posted.book("changed").trading.bring_in(parsed(text))


def test_the_column_of_the_price_names_its_currency(posted: Keepbook) -> None:
    text = LISTED + (
        "1,Exit long,2026-02-12 21:59,x,691.5,2,1383,4,0.3\n1,Entry long,2026-02-12 15:30,e,689.5,2,1379,4,0.3\n"
    )
    made = posted.book("listed").trading.bring_in(text.encode(), symbol="SPY")
    assert made.profits == pytest.approx({"USD": 4.0})


def test_a_query_without_codes_may_sell_short(posted: Keepbook) -> None:
    """Nothing says that these shares were held."""
    trading = posted.book("short").trading
    trading.bring_in(parsed(flex("STK|TSLA|-5|200|1000|05")))
    assert [(one.symbol, one.side) for one in trading.positions()] == [("TSLA", "short")]
