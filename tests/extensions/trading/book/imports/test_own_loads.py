"""Files in our own columns and freqtrade's: recorded as loads, taken back, corrections offered, dry runs that hold."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.trading.floor import floor

from keepbook.book.ground import in_pieces
from keepbook.errors import Conflict, Invalid, NotFound
from keepbook.extensions.trading.book.loading import own_files

HEADER = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,fees,id"
FIRST = "Floor,BTC/USDT,long,1,2026-01-05T10:00:00Z,100,2026-01-06T10:00:00Z,110,1,"
REAL = Path(__file__).parents[1] / "data" / "tradesv3.sqlite"


@pytest.fixture
def trading(alice: Any, clock: Any) -> Any:
    clock.set("2026-04-01T00:00:00Z")
    floor(alice)
    return alice.trading


def pnls(trading: Any, **asked: Any) -> list[float]:
    return [one.pnl for one in trading.trades(limit=100, **asked)]


def counts(loaded: Any) -> tuple[int, int, int, int, int]:
    return loaded.added, loaded.changed, loaded.unchanged, loaded.wrong, loaded.offered


def test_a_load_in_own_columns_is_taken_back_with_what_it_corrected(alice: Any, trading: Any, clock: Any) -> None:
    first = trading.load("trades", [HEADER, f"{FIRST}t1", FIRST.replace("05T", "07T").replace("06T", "08T")])
    assert (first.load, pnls(trading)) == (1, [9, 9])
    clock.forward(days=1)
    then = alice.now
    second = trading.load("trades", [HEADER, FIRST.replace(",110,", ",120,") + "t1"])
    assert (counts(second), pnls(trading)) == ((0, 1, 0, 0, 0), [9, 19])
    assert trading.load("trades", [HEADER, FIRST.replace(",110,", ",120,") + "t1"]).load is None, "it brought nothing"
    clock.forward(days=1)
    with pytest.raises(Conflict, match="undo load 2 first"):
        trading.take_back(1)
    trading.take_back(2)
    assert (pnls(trading), pnls(trading, known_at=then)) == ([9, 9], [9, 9])
    assert trading.performance().pnl == 18
    trading.take_back(1)
    assert (pnls(trading), len(trading.deployments())) == ([], 1), "its deployment was not made by it"
    assert [one.title for one in trading.loads()] == ["Trades, own columns"] * 2
    assert trading.load("trades", [HEADER, f"{FIRST}t1"]).added == 1
    assert alice.verify().ok


def test_others_write_while_trades_come_in_and_while_they_are_taken_back(
    kb: Any, alice: Any, trading: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is ended while a load is taken back has taken out a part; taken back again, all is out."""
    monkeypatch.setattr(own_files, "KEPT_AT_ONCE", 3)
    rows = [f"{FIRST.replace('BTC', f'C{nth}')}t{nth}" for nth in range(10)]
    trading.load("trades", [HEADER, *rows[:7]])
    before = pnls(trading)
    waits, ends_at = [0], [0]

    def wait(_: object) -> None:
        kb.book("bob").remember(f"Bob's turn came, {waits[0]}", force=True)
        waits[0] += 1
        if waits[0] == ends_at[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(in_pieces.Gaps, "wait", wait)
    second = trading.load("trades", [HEADER, *(row.replace(",110,", ",120,") for row in rows)])
    assert (counts(second), waits) == ((3, 7, 0, 0, 0), [5])  # four pieces, and the days
    ends_at[0] = waits[0] + 3
    with pytest.raises(KeyboardInterrupt):
        trading.take_back(second.load)
    assert 7 <= len(pnls(trading)) < 10 or pnls(trading) != before
    assert trading.loads()[0].undone_at is None
    trading.take_back(second.load)
    assert (pnls(trading), trading.performance().pnl) == (before, sum(before))
    trading.take_back(1)
    assert (pnls(trading), alice.verify().ok) == ([], True)
    with pytest.raises(Conflict, match="already"):
        trading.take_back(1)


def test_one_trade_is_taken_back_and_put_back(alice: Any, trading: Any) -> None:
    trading.load("trades", [HEADER, f"{FIRST}t1", f"{FIRST}t2"])
    gone = trading.take_back_trade("t1")
    assert [one.key for one in trading.trades()] == ["t2"]
    with pytest.raises(NotFound):
        trading.take_back_trade("t1")
    trading.take_back(gone.nth)
    assert sorted(one.key for one in trading.trades()) == ["t1", "t2"]
    trading.take_back(1)
    assert (pnls(trading), alice.verify().ok) == ([], True)


def test_what_looks_like_a_correction_is_offered_and_never_done(alice: Any, trading: Any) -> None:
    scaled = FIRST.replace(",long,1,", ",long,0.5,").replace(",110,", ",130,")
    trading.load("trades", [HEADER, FIRST])
    dry = trading.load("trades", [HEADER, scaled], dry_run=True)
    offered = trading.load("trades", [HEADER, scaled])
    assert counts(dry) == counts(offered) == (0, 0, 0, 0, 1)
    assert offered.corrections[0].row == 2
    words = offered.corrections[0].reason
    assert words.startswith("looks like a correction of BTC/USDT long from 2026-01-05T10:00 (quantity 1 → 0.5, exit_p")
    assert counts(trading.load("trades", [HEADER, FIRST, scaled], dry_run=True)) == (1, 0, 1, 0, 0), "told with it"
    assert pnls(trading) == [9]
    taken = trading.load("trades", [HEADER, scaled], corrections="take")
    assert (counts(taken), pnls(trading)) == ((0, 1, 0, 0, 0), [14])
    trading.take_back(taken.load)
    assert pnls(trading) == [9]
    assert counts(trading.load("trades", [HEADER, scaled], corrections="add")) == (1, 0, 0, 0, 0)
    assert sorted(pnls(trading)) == [9, 14]
    with pytest.raises(Invalid, match="offer, take or add"):
        trading.load("trades", [HEADER, scaled], corrections="maybe")
    assert alice.verify().ok


def test_a_brokers_row_that_looks_like_a_correction_is_offered_too(trading: Any) -> None:
    whole = "symbol,side,quantity,entry time,entry price,exit time,exit price\n"
    line = "SOL/USDT,long,1,2026-01-05 10:00:00,100,2026-01-06 10:00:00,{}\n"
    trading.bring_in((whole + line.format(110)).encode())
    made = trading.bring_in((whole + line.format(111)).encode())
    assert (made.wrong, made.trades, "correction of SOL/USDT long" in made.refused[0].reason) == (1, 0, True)
    taken = trading.bring_in((whole + line.format(111)).encode(), corrections="take")
    assert (taken.added, pnls(trading)) == (1, [11])
    trading.take_back(taken.load)
    assert pnls(trading) == [10]
    fills = "time,symbol,side,quantity,price\n2026-01-05 10:00,AAA,buy,1,{}\n"
    load = trading.bring_in(fills.format(100).encode()).load
    other = trading.bring_in(fills.format(101).encode())
    assert f"undo load {load} and load this file in its place" in other.refused[0].reason
    assert trading.bring_in(fills.format(101).encode(), corrections="add").added == 1


def test_the_same_file_under_another_format_adds_nothing(trading: Any) -> None:
    names = HEADER.removesuffix(",id").replace("fees", "fee")
    rows = [FIRST.rstrip(","), FIRST.replace("05T", "07T").replace("06T", "08T").rstrip(",")]
    trading.load("trades", [names.replace("fee", "fees"), *rows])
    again = trading.bring_in("\n".join([names, *rows, ""]).encode(), format="plain")
    assert (again.unchanged, again.added, again.load) == (2, 0, None)
    assert "another file" in again.notes[0]
    fills = "time,symbol,side,quantity,price,id\n2026-01-05 10:00,AAA,buy,1,100,7\n2026-01-06 10:00,AAA,sell,1,110,8\n"
    trading.bring_in(fills.encode())
    told = {"time": "time", "symbol": "symbol", "side": "side", "quantity": "quantity", "price": "price"}
    bare = fills.replace(",id", "").replace(",7\n", "\n").replace(",8\n", "\n")
    assert trading.bring_in(bare.encode(), columns=told, format="mine").unchanged == 2
    assert (sorted(pnls(trading)), trading.positions()) == ([9, 9, 10], [])
    copied = trading.bring_in(fills.replace(",7\n", ",17\n").replace(",8\n", ",18\n").encode())
    assert (copied.wrong, copied.paired + copied.added) == (1, 1), "other ids are other fills: one is older"


def test_one_account_told_in_two_formats_is_one_account(trading: Any) -> None:
    """Though one file tells more, and rounds its times: what both tell counts once."""
    spot = (
        "Date(UTC),Pair,Side,Price,Executed,Amount,Fee\n"
        "2026-01-08 10:00:00,ETHUSDT,BUY,3200,1ETH,3200USDT,3.2USDT\n"
        "2026-01-09 10:00:00,ETHUSDT,SELL,3300,1ETH,3300USDT,3.3USDT\n"
    )
    legs = [("08", "Buy", "ETH", 1), ("08", "Spend", "USDT", -3200), ("08", "Fee", "USDT", -3.2),
            ("09", "Sold", "ETH", -1), ("09", "Revenue", "USDT", 3300), ("09", "Fee", "USDT", -3.3)]  # fmt: skip
    history = "User_ID,UTC_Time,Account,Operation,Coin,Change,Remark\n" + "".join(
        f"1,2026-01-{day} 10:00:00,Spot,Transaction {deed},{coin},{many},\n" for day, deed, coin, many in legs
    )
    trades = (
        '"txid","ordertxid","pair","time","type","ordertype","price","cost","fee","vol","margin","misc","ledgers"\n'
        '"T1","O1","XBT/USD","2026-01-05 10:00:00.1234","buy","limit",94001.3,470.0065,1.22202,0.005,0,"","L1,L2"\n'
    )
    ledgers = (
        '"txid","refid","time","type","subtype","aclass","asset","amount","fee","balance"\n'
        '"L1","T1","2026-01-05 10:00:00","trade","","currency","ZUSD",-470.0065,1.2220,0\n'
        '"L2","T1","2026-01-05 10:00:00","trade","","currency","XXBT",0.005,0,0\n'
        '"L3","T2","2026-01-06 10:00:00","trade","","currency","ZUSD",-10,0,0\n'
        '"L4","T2","2026-01-06 10:00:00","trade","","currency","SOL",0.1,0,0\n'
    )
    for first, second in ((spot, history), (history, spot)):
        load = trading.bring_in(first.encode()).load
        assert (trading.bring_in(second.encode()).load, pnls(trading)) == (None, [93.5])
        trading.take_back(load)
    for first, second, more in ((trades, ledgers, 2), (ledgers, trades, 0)):
        load = trading.bring_in(first.encode()).load
        later = trading.bring_in(second.encode())
        assert (later.added, later.wrong, later.deployments) == (more, 0, ("Kraken USD",))
        assert [one.quantity for one in trading.positions() if one.symbol == "BTC/USD"] == [0.005]
        for nth in filter(None, (later.load, load)):
            trading.take_back(nth)


def test_futures_and_spot_of_binance_are_two_accounts(trading: Any) -> None:
    spot = "Date(UTC),Pair,Side,Price,Executed,Amount,Fee\n2026-01-08 10:00:00,ETHUSDT,BUY,3200,1ETH,3200USDT,0USDT\n"
    futures = (
        "Time(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit\n"
        "2026-01-09 10:00:00,ETHUSDT,SELL,3300,1,3300,0 USDT,0 USDT\n"
    )
    names = [name for text in (spot, futures) for name in trading.bring_in(text.encode()).deployments]
    assert (names, pnls(trading)) == (["Binance, spot USDT", "Binance, futures USDT"], [])


def test_a_file_with_and_without_its_account_is_one(trading: Any) -> None:
    """A table cut from the report has the same numbers, and no head that names the account."""
    cut = (
        "Time\tPosition\tSymbol\tType\tVolume\tPrice\tS / L\tT / P\tTime\tPrice\tCommission\tSwap\tProfit\n"
        "2026.01.05 10:00:00\t101\tEURUSD\tbuy\t1.00\t1.10000\t\t\t2026.01.05 15:00:00\t1.10500\t-7\t0\t500.00\n"
    )
    cells = [line.split("\t") for line in cut.splitlines()]
    rows = ["".join(f"<td>{cell}</td>" for cell in line) for line in cells]
    page = "".join(f"<tr>{row}</tr>" for row in ("<td>77 (USD, Server, real, Hedge)</td>", *rows))
    for named, again in ((f"<html><table>{page}</table></html>", cut), (cut, f"<html><table>{page}</table></html>")):
        load = trading.bring_in(named.encode()).load
        assert (trading.bring_in(again.encode()).load, len(pnls(trading))) == (None, 1)
        trading.take_back(load)
    trading.bring_in(cut.encode())
    trading.create_skill("By hand")
    trading.create_deployment("Second", "By hand", currency="USD")
    assert trading.bring_in(cut.encode(), deployment="Second").paired == 1, "whoever names a place means it"


def test_freqtrade_is_taken_back_whole_and_tried_dry(alice: Any, clock: Any, tmp_path: Path) -> None:
    clock.set("2026-04-01T00:00:00Z")
    file, trading = Path(shutil.copy(REAL, tmp_path / "tradesv3.sqlite")), alice.trading
    dry = trading.load("freqtrade", file, dry_run=True)
    assert (dry.added, dry.dry_run, dry.load, trading.deployments(), trading.skills()) == (8, True, None, [], [])
    made = trading.load("freqtrade", file)
    assert (made.added, len(trading.positions())) == (8, 3)
    trading.take_back(made.load)
    assert (pnls(trading), trading.positions(), trading.deployments(), trading.skills()) == ([], [], [], [])
    again = trading.load("freqtrade", file)
    assert (again.added + again.changed, len(pnls(trading)), len(trading.positions())) == (8, 5, 3)
    assert alice.verify().ok


def test_a_file_of_positions_is_taken_back(trading: Any) -> None:
    header = "deployment,symbol,side,quantity,entry_time,entry_price"
    trading.load("positions", [header, "Floor,AAA,long,1,2026-01-05,100", "Floor,BBB,long,1,2026-01-05,100"])
    load = trading.load("positions", [header, "Floor,AAA,long,2,2026-01-05,100"]).load
    trading.take_back(load)
    assert [(one.symbol, one.quantity) for one in trading.positions()] == [("AAA", 1), ("BBB", 1)]


def test_a_trade_in_another_currency_than_its_deployments_is_refused(trading: Any) -> None:
    row = FIRST.replace("BTC/USDT", "ETH/BTC")
    loaded = trading.load("trades", [HEADER, FIRST, row, FIRST.replace("BTC/USDT", "SOL/USDC")])
    assert (loaded.added, loaded.wrong) == (2, 1)
    assert loaded.refused[0].reason.startswith("ETH/BTC counts in BTC and Floor in USDT, which are not added up")
