"""A broker's file taken back: what it brought goes, what it used up is open again, what was known stays known."""

from typing import Any

import pytest

from keepbook.errors import Conflict, Invalid, NotAllowed, NotFound

HEAD = b"time,symbol,side,quantity,price\n"
BOUGHT = HEAD + b"2026-01-05 10:00,EUR/USD,buy,2,1.10\n"
SOLD = HEAD + b"2026-01-06 10:00,EUR/USD,sell,1,1.20\n2026-01-07 10:00,EUR/USD,sell,1,1.30\n"
MORE = HEAD + b"2026-01-08 10:00,EUR/USD,buy,3,1.15\n2026-01-09 10:00,EUR/USD,sell,2,1.25\n"


def figures(book: Any, **asked: Any) -> tuple[int, int, float]:
    found = book.trading.performance(**asked)
    assert found.trades == book.trading.trades(**asked).total == len(book.trading.trades(**asked))
    return found.trades, len(book.trading.equity(**asked)), round(found.pnl, 6)


def test_a_load_is_taken_back_and_the_same_file_comes_in_again(alice: Any) -> None:
    trading = alice.trading
    trading.bring_in(BOUGHT)
    first = trading.bring_in(SOLD)
    assert figures(alice) == (2, 2, 0.3)
    taken = trading.take_back(first.load)
    assert (taken.nth, taken.trades, taken.fills) == (first.load, 2, 2)
    assert taken.undone_at is not None
    assert figures(alice) == (0, 0, 0)
    assert alice.verify().ok
    again = trading.bring_in(SOLD)
    assert (again.trades, again.open, again.wrong) == (2, 0, 0), "what it had used up was open again"
    assert figures(alice) == (2, 2, 0.3)
    assert [one.undone_at is None for one in trading.loads()] == [True, False, True]
    assert alice.verify().ok


def test_what_was_known_before_it_was_taken_back_stays_known(alice: Any) -> None:
    trading = alice.trading
    trading.bring_in(BOUGHT)
    load = trading.bring_in(SOLD).load
    then = alice.now
    trading.take_back(load)
    assert figures(alice) == (0, 0, 0)
    assert figures(alice, known_at=then) == (2, 2, 0.3)
    assert sum(part.trades for part in trading.breakdown(known_at=then).by_symbol) == 2


def test_only_the_newest_load_of_a_deployment_goes(alice: Any) -> None:
    trading = alice.trading
    first, second, third = (trading.bring_in(file).load for file in (BOUGHT, SOLD, MORE))
    with pytest.raises(Conflict, match=f"undo load {third} first") as no:
        trading.take_back(second)
    assert no.value.code == "touched"
    for load in (third, second, first):
        trading.take_back(load)
    with pytest.raises(Conflict, match="already"):
        trading.take_back(first)
    with pytest.raises(NotFound):
        trading.take_back(99)
    with pytest.raises(Invalid):
        trading.take_back(2**70)
    assert alice.verify().ok


def test_an_agent_takes_back_its_own_loads_and_not_the_persons(kb: Any, alice: Any) -> None:
    agent = kb.book(alice.owner, by="agent")
    with pytest.raises(NotAllowed) as no:
        agent.trading.take_back(alice.trading.bring_in(BOUGHT).load)
    assert no.value.code == "person_only"
    assert agent.trading.take_back(agent.trading.bring_in(SOLD).load).trades == 2


def test_what_progress_raises_ends_a_load_and_nothing_of_it_stays(alice: Any) -> None:
    class Stop(Exception):
        pass

    heard: list[int] = []

    def stop_at_the_end(done: int) -> None:
        heard.append(done)
        if done == 2:
            raise Stop

    alice.trading.bring_in(BOUGHT)
    with pytest.raises(Stop):
        alice.trading.bring_in(SOLD, progress=stop_at_the_end)
    assert heard == [0, 1, 2], "of its two rows: the fills, then the trades"
    assert len(alice.trading.loads()) == 1
    assert figures(alice) == (0, 0, 0)
    assert alice.trading.bring_in(SOLD).trades == 2
    assert alice.verify().ok
