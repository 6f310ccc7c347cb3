"""What tests of trading need again and again: a skill at work, with all that it can have."""

from typing import Any

from sqlalchemy import insert

from keepbook.extensions.trading.book.face import Trading
from keepbook.extensions.trading.tables import lessons

TRADES = """\
deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,fees,mfe,mae,entry_regime_tag,entry_reason,exit_reason,id
Floor,BTC/USDT,long,0.5,2026-01-05T10:00:00Z,60000,2026-01-05T14:00:00Z,61000,30,0.02,-0.004,trend_up,breakout,target,t1
Floor,ETH/USDT,short,4,2026-01-06T10:00:00+01:00,3000,2026-01-06T18:00:00Z,3050.5,12.1,,,chop,"faded, late",stop,
"""
POSITIONS = """\
deployment,symbol,side,quantity,entry_time,entry_price
Floor,BTC/USDT,long,0.25,2026-02-01T00:00:00Z,62000
Floor,SOL/USDT,short,30,2026-02-02T00:00:00Z,150
"""


def floor(book: Any, **given: Any) -> Any:
    """A deployment called Floor, of a skill called Scalper."""
    trading = Trading(book)
    trading.create_skill("Scalper", description="Quick ones.", strategy="Buy low.")
    return trading.create_deployment("Floor", "Scalper", **({"capital": 10_000} | given))


def busy_floor(book: Any) -> dict[str, str]:
    """With versions, trades, positions and a lesson; answers ids by name."""
    trading = Trading(book)
    deployment = floor(book)
    trading.set_field("Scalper", "strategy", "Buy low,\nsell high ‹é文𝔘›.")
    trading.set_field("Scalper", "chat", "Be brief.")
    assert trading.load("trades", TRADES.splitlines()).added == 2
    assert trading.load("positions", POSITIONS.splitlines()).added == 2
    lesson = book.remember("The last 6 BTC longs in chop lost, median -1.1 %", confidence="inferred", scope="lesson:x")
    figures = {
        "finding": "BTC/USDT long · chop", "skill_id": deployment.skill_id, "deployment_id": deployment.id,
        "known_at": "2026-01-07T00:00:00.000000Z", "window_from": None, "window_until": None, "trades": 6, "wins": 0,
        "mean": -0.012, "median": -0.011, "low": -0.02, "high": -0.004, "p": 0.01, "tried": 14, "withdrawn_at": None,
    }  # fmt: skip
    with book.writing() as (tx, _):
        tx.conn.execute(insert(lessons), {"owner": tx.owner, "memory_id": lesson.id, "version": 1, **figures})
    return {"skill": deployment.skill_id, "deployment": deployment.id, "lesson": lesson.id}
