"""`ETHUSDT`, `ETH/USDT` and `ETH/USDT:USDT` are one market to trades, bars, decisions and events."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.extensions.trading.book.test_symbols import decided, put
from tests.extensions.trading.trade_rows import Desk, at, bars, event, position, trade

from keepbook.extensions.trading.book.market.symbols import market_letters, spell_market, split_currency

NAMES = ("ETHUSDT", "ETH/USDT", "ETH/USDT:USDT")
NOW = 24 * 30.0


@pytest.fixture
def desk(kb: Any, clock: Any) -> Desk:
    return Desk(kb, clock)


@pytest.mark.parametrize(
    ("symbol", "spelled"),
    [
        *((name, "ETH/USDT") for name in (*NAMES, "eth-usdt", "ETH_USDT", "BINANCE:ETHUSDT", "ETHUSDT.P", "ETHUSDTPERP",
                                          "ETH-USDT-SWAP")),
        ("EURUSD", "EURUSD"), ("EUR.USD", "EUR/USD"), ("XAUUSD", "XAUUSD"), ("ABNB", "ABNB"), ("GBTC", "GBTC"),
        ("BRK.B", "BRK.B"), ("BRK/B", "BRK/B"), ("BF-B", "BF-B"), ("AAPL", "AAPL"), ("NASDAQ:AAPL", "AAPL"),
        ("ETH/USDT:USDT-260327", "ETH/USDT:USDT-260327"), ("BTCUSDT_260327", "BTCUSDT_260327"),
        ("AAPL 2026-01-16 150 C", "AAPL 2026-01-16 150 C"),
    ],
)  # fmt: skip
def test_a_market_has_one_spelling_and_a_share_stays_one(symbol: str, spelled: str) -> None:
    assert spell_market(symbol) == spelled
    assert spell_market(spelled) == spelled


def test_the_same_letters_are_the_same_market() -> None:
    assert len({market_letters(name) for name in NAMES}) == 1
    assert market_letters("EURUSD") == market_letters("EUR/USD") == market_letters("EUR.USD")
    assert market_letters("ETH/USDT") != market_letters("ETH/USDT:USDT-260327")
    assert split_currency("AAPL 2026-01-16 150 C")[1] is None


@pytest.mark.parametrize(("held", "of_bars"), [*pairwise((*NAMES, NAMES[0])), (NAMES[0], NAMES[2])])
def test_a_position_is_exposed_whatever_its_bars_and_events_are_called(desk: Desk, held: str, of_bars: str) -> None:
    closes = [100.0 + day // 48 for day in range(96 * 5)]
    for_it = [event(f"e{nth}", 24 * nth + 11, symbols=NAMES[nth % 3]) for nth in range(5)]
    desk.market(bars(of_bars, closes), [*for_it, event("next", NOW + 3, symbols=NAMES[1])])
    desk.load([position(held)], kind="positions")
    (row,) = desk.trading.events(deployment="Main", known_at=at(NOW)).your_exposure
    assert (row.symbol, row.similar_events_back, row.median_abs_move_pct is not None) == (held, 5, True)
    asked = desk.trading.events(symbols=[NAMES[2]], known_at=at(NOW)).events
    assert [one.id for one in asked] == ["next"]


def test_results_by_symbol_are_by_market(desk: Desk) -> None:
    desk.load([trade(24.0 * nth + 3, symbol=name) for nth, name in enumerate(NAMES)])
    parts = desk.trading.breakdown(deployment="Main").by_symbol
    assert [(one.name, one.trades) for one in parts] == [("ETH/USDT", 3)]
    assert {one.symbol for one in desk.trading.trades().items} == set(NAMES)


@pytest.mark.parametrize(("named", "of_bars"), [(NAMES[2], NAMES[0]), (NAMES[0], NAMES[2]), (NAMES[1], NAMES[2])])
def test_a_decision_is_followed_on_the_bars_of_its_market(
    kb: Any, alice: Any, clock: Any, named: str, of_bars: str
) -> None:
    put(kb, of_bars, clock.now - timedelta(days=9))
    run = decided(alice, named)
    put(kb, of_bars, clock.now + timedelta(hours=1))
    clock.forward(days=1)
    kb.sweep()
    assert alice.decisions.get(run.id).outcome == "target"


def test_bars_under_two_names_of_a_market_are_no_question(kb: Any, alice: Any, clock: Any) -> None:
    for name in NAMES[1:]:
        put(kb, name, clock.now - timedelta(days=9))
    assert decided(alice, NAMES[0]).card.slots["symbol"] == NAMES[0]
