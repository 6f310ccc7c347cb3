"""Spot accounts: nobody is short there, and a coin that was given for another is no longer held."""

from typing import Any

import pytest

HEAD = "Date(UTC),Pair,Side,Price,Executed,Amount,Fee\n"
HISTORY = "User_ID,UTC_Time,Account,Operation,Coin,Change,Remark\n"


def line(day: int, pair: str, side: str, price: float, size: float, fee: str = "0") -> str:
    base = pair[:3]
    return f"2026-01-{day:02} 10:00:00,{pair},{side},{price},{size:.8f}{base},{size * price:.8f}{pair[3:]},{fee}\n"


def bring(book: Any, *lines: str, **told: Any) -> Any:
    return book.trading.bring_in((HEAD + "".join(lines)).encode(), **told)


def held(book: Any) -> dict[str, tuple[float, float]]:
    return {one.symbol: (round(one.quantity, 9), round(one.entry_price, 6)) for one in book.trading.positions()}


def earned(book: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in book.trading.trades(limit=100).items:
        found[one.symbol] = round(found.get(one.symbol, 0.0) + one.pnl, 6)
    return found


BOUGHT = (line(5, "BTCEUR", "BUY", 40000, 1), line(6, "BTCEUR", "BUY", 50000, 0.1))
TO_ETHER = line(7, "ETHBTC", "BUY", 0.05, 10)
BACK = line(9, "ETHBTC", "SELL", 0.06, 10)


def test_a_sale_of_what_no_file_shows_being_bought_opens_nothing_and_is_named(alice: Any) -> None:
    made = bring(alice, line(5, "BTCEUR", "BUY", 40000, 1), line(6, "BTCEUR", "SELL", 50000, 1.5),
                 line(7, "ETHEUR", "SELL", 2000, 3))  # fmt: skip
    assert (made.rows, made.paired, made.added, made.wrong) == (3, 2, 1, 0)
    assert made.held_before == {"BTC/EUR": 0.5, "ETH/EUR": 3.0}
    assert "sold 3 ETH/EUR held before this file began: no entry price is known, so no figure" in made.notes
    assert (earned(alice), held(alice)) == ({"BTC/EUR": 10000}, {})
    again = bring(alice, line(7, "ETHEUR", "SELL", 2000, 3), line(8, "ETHEUR", "BUY", 2100, 1))
    assert (again.unchanged, again.held_before, held(alice)) == (1, {}, {"ETH/EUR": (1, 2100)})


@pytest.mark.parametrize("files", [1, 2, 4])
def test_a_coin_that_was_given_for_another_is_sold_at_what_it_was_worth(alice: Any, files: int) -> None:
    """There and back: the euros that went in and came out are the profit, in one file or in several."""
    rows = [*BOUGHT, TO_ETHER, line(8, "BTCEUR", "BUY", 45000, 0.1), BACK, line(10, "BTCEUR", "SELL", 50000, 1.3)]
    size = -(-len(rows) // files)
    made = [bring(alice, *rows[start : start + size]) for start in range(0, len(rows), size)]
    assert held(alice) == {}
    rate_there, rate_back = (50000, 45000) if files == 1 else (None, None)
    if rate_there:
        assert sum(earned(alice).values()) == pytest.approx(1.3 * 50000 - 40000 - 5000 - 4500)
        assert earned(alice)["ETH/EUR"] == pytest.approx(0.6 * rate_back - 0.5 * rate_there)
        assert any("were counted in EUR by the fills of BTC/EUR in the file" in note for note in made[0].notes)
    again = bring(alice, *rows)
    assert (again.added, again.paired, again.unchanged) == (0, 0, len(rows))
    for one in reversed(made):
        alice.trading.take_back(one.load)
    assert (earned(alice), held(alice), alice.trading.deployments()) == ({}, {}, [])
    assert alice.verify().ok


def test_the_worth_is_that_of_the_bars_and_either_coin_may_have_it(alice: Any, kb: Any) -> None:
    bars = ["symbol,timeframe,time,open,high,low,close", "ETH/EUR,1d,2026-01-06T00:00:00Z,2200,2200,2200,2200"]
    assert kb.market.load(bars).added == 1
    bring(alice, BOUGHT[0])
    made = bring(alice, TO_ETHER)
    assert held(alice) == {"BTC/EUR": (0.5, 40000), "ETH/EUR": (10, 2200)}
    assert earned(alice) == {"BTC/EUR": 0.5 * (2200 / 0.05 - 40000)}
    assert any("by the bars of ETH/EUR, 2026-01-07" in note for note in made.notes)


def test_without_a_price_the_lots_are_closed_without_a_figure_and_named(alice: Any) -> None:
    bring(alice, BOUGHT[0])
    made = bring(alice, TO_ETHER)
    assert held(alice) == {"BTC/EUR": (0.5, 40000), "ETH/BTC": (10, 0.05)}
    assert "0.5 BTC/EUR given for ETH at a price that is not known: closed without a figure" in made.notes
    assert (bring(alice, TO_ETHER).unchanged, earned(alice)) == (1, {})
    alice.trading.take_back(made.load)
    assert held(alice) == {"BTC/EUR": (1, 40000)}


def test_an_account_that_knows_coins_alone_trades_in_them(alice: Any) -> None:
    made = bring(alice, TO_ETHER, BACK)
    assert (made.profits, held(alice)) == ({"BTC": pytest.approx(0.1)}, {})


def test_a_coin_that_came_in_otherwise_pays_at_its_worth_and_teaches_nothing(alice: Any) -> None:
    made = bring(alice, line(4, "BTCEUR", "BUY", 40000, 0.1), TO_ETHER, line(8, "ETHEUR", "SELL", 2500, 10))
    assert (made.held_before, held(alice)) == ({"BTC/EUR": 0.4}, {})
    assert earned(alice) == {"BTC/EUR": 0, "ETH/EUR": 5000}
    dust = bring(alice, line(9, "TRXBNB", "SELL", 0.0004, 3))
    assert (dust.held_before, dust.added, held(alice)) == ({"TRX/BNB": 3}, 1, {})
    assert [one.name for one in alice.trading.deployments()] == ["Binance, spot EUR"]


def test_what_is_sold_for_another_money_closes_what_was_bought(alice: Any, kb: Any) -> None:
    kb.market.load(["symbol,timeframe,time,open,high,low,close", "EUR/USDT,1d,2026-01-06T00:00:00Z,1.2,1.2,1.2,1.2"])
    made = bring(alice, BOUGHT[0], line(8, "BTCUSDT", "SELL", 60000, 0.5, "12USDT"),
                 line(9, "BTCUSDT", "BUY", 60000, 0.1), line(10, "BTCUSDC", "SELL", 61000, 0.1))  # fmt: skip
    assert held(alice) == {"BTC/EUR": (0.5, 40000)}
    assert earned(alice) == pytest.approx({"BTC/EUR": 0.5 * (50000 - 40000) - 10, "BTC/USDT": 0.1 * 1000})
    assert "fees of 12 USDT were counted in EUR by the bars of EUR/USDT, 2026-01-07 to 2026-01-07" in made.notes


def test_fees_in_a_coin_leave_its_lots(alice: Any) -> None:
    made = bring(alice, line(5, "BNBEUR", "BUY", 600, 1), line(6, "SOLEUR", "BUY", 100, 2, "0.01BNB"),
                 line(7, "SOLEUR", "SELL", 110, 2, "0.01BNB"))  # fmt: skip
    assert held(alice) == {"BNB/EUR": (0.98, 600)}
    assert earned(alice) == {"SOL/EUR": 20 - 12}
    assert "0.02 BNB/EUR paid as fees: closed without a figure" in made.notes


def test_the_same_trades_under_another_format_add_nothing(alice: Any) -> None:
    rows = [*BOUGHT, TO_ETHER]
    bring(alice, *rows)
    legs = ("05 BTC 1 EUR -40000", "06 BTC 0.1 EUR -5000", "07 ETH 10 BTC -0.5")
    text = HISTORY
    for day, got, much, gave, paid in (leg.split() for leg in legs):
        at = f"1,2026-01-{day} 10:00:00,Spot"
        text += f"{at},Transaction Buy,{got},{much},\n{at},Transaction Spend,{gave},{paid},\n"
    before = held(alice), earned(alice)
    other = alice.trading.bring_in(text.encode())
    assert (other.format, other.added, other.paired, other.unchanged) == ("binance-history", 0, 0, 6)
    assert (held(alice), earned(alice)) == before
