"""Example bodies for the paths of trading, and what the walk through strangers' books asks of it."""

from collections.abc import Callable
from typing import Any

BODIES: dict[str, Any] = {
    "POST /api/trading/skills": {"name": "Another"},
    "POST /api/trading/deployments": {"name": "Another", "skill_id": "Range breakout"},
    "POST /api/trading/trades/take-back": {"key": "none such"},
    "POST /api/trading/splits": {"symbol": "AAPL", "ratio": "4:1", "on": "2026-02-02"},
}


def python_calls(book: Any, other: str, said: str) -> list[Callable[[], Any]]:
    """What is asked of a book, with an id that may be anybody's; `said` says whose the book is."""
    return [
        lambda: small_desk(book, said.split(maxsplit=1)[0]),
        lambda: [book.trading.skills(), book.trading.deployments(), book.trading.positions()],
        lambda: [book.trading.trades(limit=1000).items, book.trading.lessons(state="all")],
        lambda: [book.trading.performance(), book.trading.equity(), book.trading.field_history("secret")],
        lambda: book.trading.performance(skill=other),
        lambda: book.trading.set_field(other, "chat", said),
        lambda: book.trading.change_deployment(other, account=said),
        lambda: book.trading.events(deployment=other, min_importance=0),
        lambda: book.trading.retire(other),
        lambda: book.trading.take_back_trade(other),
    ]


def requests(other: str, said: str) -> list[tuple[str, str, Any]]:
    """What is asked over HTTP."""
    return [
        ("GET", "/api/trading/skills", None),
        ("GET", "/api/trading/skills/secret?detail=full", None),
        ("GET", f"/api/trading/skills/{other}?detail=full", None),
        ("PATCH", f"/api/trading/skills/{other}", {"chat": said}),
        ("GET", "/api/trading/deployments", None),
        ("GET", f"/api/trading/deployments/{other}?detail=full", None),
        ("PATCH", f"/api/trading/deployments/{other}", {"account": said}),
        ("GET", "/api/trading/trades?limit=1000", None),
        ("GET", f"/api/trading/trades?deployment_id={other}", None),
        ("GET", f"/api/trading/events?deployment_id={other}&min_importance=0", None),
        ("GET", "/api/trading/lessons?state=all", None),
        ("POST", f"/api/trading/lessons/{other}/pin", None),
        ("POST", f"/api/trading/lessons/{other}/retire", None),
        ("POST", "/api/trading/lessons/reflect", {"skill_id": "secret"}),
        ("POST", "/api/tools/get_my_deployments?preset=coach", {"detail": "full"}),
    ]


def tool_calls(id: str, said: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls of the coach's tools, with an id that may be anybody's."""
    return [
        ("list_my_skills", {}),
        ("get_my_deployments", {"detail": "full"}),
        ("get_my_deployments", {"deployment_id": id}),
        ("get_skill_performance", {"skill_id": "secret", "detail": "full"}),
        ("get_skill_performance", {"skill_id": id, "detail": "full"}),
        ("get_upcoming_events", {"deployment_id": id}),
        ("prepare_action", {"kind": "close", "deployment_id": id, "reason": said}),
        ("prepare_action", {"kind": "pause", "deployment_id": "secret", "reason": said}),
        ("set_strategy", {"skill_id": id, "text": said}),
        ("set_schedule", {"skill_id": id, "text": said}),
        ("set_chat", {"skill_id": "secret", "text": said}),
    ]


def small_desk(book: Any, word: str) -> None:
    """A skill, a deployment that lost seven times, what it holds and what it taught: all of it says whose it is."""
    trading = book.trading
    if not trading.skills():
        trading.create_deployment(f"{word} main", trading.create_skill(f"{word} skill", strategy=f"{word} buys").id)
    days = range(7)
    header = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,entry_regime_tag,exit_reason"
    rows = [f"{word} main,BTC/USDT,long,1,2026-02-1{day},100,2026-02-1{day},9{day},{word},{word}" for day in days]
    shorts = [(f"2026-01-{10 + nth // 2}", 99.5 + nth % 11 / 10) for nth in range(24)]
    rows += [f"{word} main,ETH/USDT,short,1,{day},100,{day},{price},,{word}" for day, price in shorts]
    trading.load("trades", [header, *rows])
    header = "deployment,symbol,side,quantity,entry_time,entry_price"
    trading.load("positions", [header, f"{word} main,BTC/USDT,long,1,2026-02-20,100"])
    trading.reflect(skill=f"{word} skill")
