"""What a symbol means: several spellings of one thing, told apart where they are not."""

from datetime import timedelta
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, ran

from keepbook import Invalid
from keepbook.book.ground.when import stamp
from keepbook.extensions.trading.book.market.bars import Bar, keep_bars
from keepbook.extensions.trading.book.market.symbols import matching, split_currency


@pytest.mark.parametrize(
    ("symbol", "parts"),
    [
        ("BTC", ("BTC", None)),
        ("BTCUSDT", ("BTC", "USDT")),
        ("btc/usdt", ("BTC", "USDT")),
        ("BTC-USD", ("BTC", "USD")),
        ("ETHBTC", ("ETH", "BTC")),
        ("EURUSD", ("EUR", "USD")),
        ("USDT", ("USDT", None)),
        ("AAPL", ("AAPL", None)),
    ],
)
def test_a_symbol_is_parted_from_its_currency(symbol: str, parts: tuple[str, str | None]) -> None:
    assert split_currency(symbol) == parts


@pytest.mark.parametrize(
    ("symbol", "known", "found"),
    [
        ("BTC", ["BTC/USDT", "ETH/USDT"], ["BTC/USDT"]),
        ("BTCUSDT", ["BTC/USDT", "ETH/USDT"], ["BTC/USDT"]),
        ("BTC/USDT", ["BTCUSDT"], ["BTCUSDT"]),
        ("btc-usdt", ["BTCUSDT"], ["BTCUSDT"]),
        ("BTC/USDT", ["BTC"], ["BTC"]),
        ("BTC", ["BTC/USDT", "BTC/EUR", "WBTC/USDT"], ["BTC/USDT", "BTC/EUR"]),
        ("BTC", ["BTC", "BTC/USDT"], ["BTC"]),
        ("BTCUSDT", ["BTCUSDT", "BTC/USDT"], ["BTCUSDT"]),
        ("BTC/EUR", ["BTC/USDT"], []),
        ("DOGE", ["BTC/USDT"], []),
    ],
)
def test_the_nearest_likeness_counts(symbol: str, known: list[str], found: list[str]) -> None:
    assert matching(symbol, known) == found


def put(kb: Any, symbol: str, first: Any) -> None:
    """Two hours: the first fills at 100, the second reaches the target."""
    rows = [
        Bar(symbol, "1h", stamp(first + timedelta(hours=nth)), *prices, 1.0)
        for nth, prices in enumerate([(100.0, 101.0, 99.0, 100.0), (101.0, 125.0, 100.0, 124.0)])
    ]
    with kb._database.unscoped(writes=True) as conn:
        keep_bars(conn, rows, source="test", now="2026-03-01T09:00:00.000000Z")


def decided(alice: Any, symbol: str) -> Any:
    agent = alice.agents.create(f"Desk {symbol}", card_type="trade-decision")
    return ran(alice, agent, LONG | {"symbol": symbol})


@pytest.mark.parametrize("symbol", ["ETH", "ETHUSDT", "eth/usdt", "ETH-USDT"])
def test_a_decision_is_followed_on_the_bars_that_it_means(kb: Any, alice: Any, clock: Any, symbol: str) -> None:
    put(kb, "ETH/USDT", clock.now - timedelta(days=9))
    run = decided(alice, symbol)
    put(kb, "ETH/USDT", clock.now + timedelta(hours=1))
    clock.forward(days=1)
    kb.sweep()
    found = alice.decisions.get(run.id)
    assert (found.outcome, found.symbol) == ("target", "ETH/USDT")


def test_what_may_mean_several_is_refused_with_the_choices(kb: Any, alice: Any, clock: Any) -> None:
    for symbol in ("ETH/USDT", "ETH/EUR"):
        put(kb, symbol, clock.now - timedelta(days=9))
    with pytest.raises(Invalid, match="ETH may mean ETH/EUR, ETH/USDT; say which") as refused:
        decided(alice, "ETH")
    assert (refused.value.code, refused.value.field) == ("invalid_card", "symbol")
    assert alice.decisions.list() == []
    assert decided(alice, "ETHEUR").card.slots["symbol"] == "ETHEUR"


def test_what_nobody_knows_is_accepted_and_followed_from_its_own_instant(kb: Any, alice: Any, clock: Any) -> None:
    run = decided(alice, "NEW")
    begun = clock.now
    clock.forward(days=1)
    kb.sweep()
    assert alice.decisions.get(run.id).state == "open"
    put(kb, "NEW/USDT", begun + timedelta(hours=1))
    kb.sweep()
    found = alice.decisions.get(run.id)
    assert (found.outcome, found.symbol) == ("target", "NEW")
    assert found.filled_at > begun
