"""Files of trades and of memories: one list, taken back and moved alike."""

import io
from dataclasses import replace
from typing import Any

import pytest

from keepbook import NotAllowed, NotFound
from keepbook.book.ledger.loads import Load
from keepbook.book.upkeep import take_back


def test_trades_and_memories_are_one_list_and_each_goes_its_way(kb: Any, alice: Any) -> None:
    trades = alice.trading.bring_in(b"time,symbol,side,quantity,price\n2026-01-05 10:00,EUR/USD,buy,2,1.10\n").load
    memories = alice.import_(io.StringIO('["Keeps bees on the roof"]')).load
    assert [(one.nth, one.what) for one in take_back.list_all_loads(alice)] == [
        (memories, "memories"),
        (trades, "trades"),
    ]
    assert [one.nth for one in alice.trading.loads()] == [trades]
    agent = kb.book(alice.owner, by="agent")
    for load in (trades, memories):
        with pytest.raises(NotAllowed):
            take_back.take_back_load(agent, load)
        assert take_back.take_back_load(alice, load).undone_at is not None
    with pytest.raises(NotFound):
        take_back.get_arrival(alice, 99)
    told = [
        (one.nth, one.what, one.memories, one.trades, one.lines_out, one.undone_at is None) for one in alice.loads()
    ]
    assert told == [(memories, "memories", 1, 0, 1, False), (trades, "trades", 0, 0, 0, False)]
    again = alice.import_(io.StringIO('["Keeps bees on the roof"]')).load
    assert replace(alice.take_back(again), at="", undone_at="") == Load(
        nth=again, at="", actor="person", what="memories", title="list", memories=1, chats=0, trades=0, fills=0,
        deployment_id=None, undone_at="", lines_out=1, chats_out=0, stayed=0,
    )  # fmt: skip
    assert alice.verify().ok
    sent, again = io.StringIO(), io.StringIO()
    alice.export(sent)
    bob = kb.book("bob")
    bob.import_(io.StringIO(sent.getvalue()))
    bob.export(again)
    assert again.getvalue() == sent.getvalue(), "what came in moves house with the book"
