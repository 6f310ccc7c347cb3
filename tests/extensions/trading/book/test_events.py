"""Events of the market: what is coming, what was like it before, and what was known when."""

from typing import Any

import pytest

from keepbook.extensions.trading.book.market import events
from keepbook.extensions.trading.book.market.events import Event, touches

HEADER = "id,kind,symbols,time,importance,title,known_at"
ROWS = [
    "fed-1,rates,*,2026-01-10T18:00:00Z,0.95,Rate decision,2025-12-01",
    "fed-2,rates,*,2026-02-10T19:00:00+01:00,0.95,Rate decision,2025-12-01",
    "unlock-1,unlock,SOL,2026-02-10T08:00:00Z,0.5,Tokens unlocked,2026-02-10T07:00:00Z",
    'fork,upgrade,BTC/USDT; ETH/USDT ;,2026-02-11,0.3,"A fork, of sorts",',
    "talk,speech,,2026-02-10T12:00:00Z,0.2,Somebody speaks,",
]
NOW = "2027-01-01T00:00:00.000000Z"
AFTER, UNTIL = "2026-02-10T00:00:00.000000Z", "2026-02-12T00:00:00.000000Z"


@pytest.fixture
def conn(kb: Any) -> Any:
    kb.market.load_events([HEADER, *ROWS])
    with kb._database.unscoped() as conn:
        yield conn


def counts(loaded: Any) -> tuple[int, int, int, int]:
    return loaded.added, loaded.changed, loaded.unchanged, loaded.wrong


def ids(events: Any) -> list[str]:
    return [event.id for event in events]


def test_events_are_loaded_and_twice_is_as_once(kb: Any) -> None:
    assert counts(kb.market.load_events([HEADER, *ROWS])) == (5, 0, 0, 0)
    assert kb.market.event("fork") == Event(
        "fork", "upgrade", "2026-02-11T00:00:00.000000Z", 0.3, "A fork, of sorts", ("BTC/USDT", "ETH/USDT"), None
    )
    assert counts(kb.market.load_events([HEADER, *ROWS])) == (0, 0, 5, 0)


def test_coming_is_after_one_instant_until_another_in_the_order_of_time(conn: Any) -> None:
    assert ids(events.events_between(conn, AFTER, UNTIL, UNTIL)) == ["unlock-1", "talk", "fed-2", "fork"]
    at = "2026-02-10T08:00:00.000000Z"
    assert ids(events.events_between(conn, at, "2026-02-10T12:00:00.000000Z", UNTIL)) == ["talk"]


def test_what_was_not_announced_yet_is_not_coming(conn: Any) -> None:
    assert "unlock-1" not in ids(events.events_between(conn, AFTER, UNTIL, "2026-02-10T06:59:59.999999Z"))
    assert "unlock-1" in ids(events.events_between(conn, AFTER, UNTIL, "2026-02-10T07:00:00.000000Z"))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"kinds": ["rates", "UPGRADE"]}, ["fed-2", "fork"]),
        ({"kinds": ["no such kind"]}, []),
        ({"symbols": ["sol/usdt"]}, ["unlock-1", "fed-2"]),
        ({"symbols": ["BTC"]}, ["fed-2", "fork"]),
        ({"symbols": ["BTC/USDT:USDT"]}, ["fed-2", "fork"]),
        ({"symbols": ["BTC/EUR"]}, ["fed-2"]),
        ({"symbols": ["NOSUCH"]}, ["fed-2"]),
        ({"symbols": ["NOSUCH"], "kinds": ["unlock"]}, []),
        ({"min_importance": 0.5}, ["unlock-1", "fed-2"]),
    ],
)
def test_coming_may_be_asked_for_less(conn: Any, asked: dict[str, Any], found: list[str]) -> None:
    assert ids(events.events_between(conn, AFTER, UNTIL, UNTIL, **asked)) == found


@pytest.mark.parametrize(
    ("symbols", "position", "moved"),
    [
        (("*",), "ADA/USDT", True),
        (("BTC",), "BTC/USDT", True),
        (("BTC",), "BTC/USDT:USDT", True),
        (("BTC/USDT",), "BTC/USDT:USDT", True),
        (("BTC/USDT",), "BTC/EUR", False),
        (("BTC",), "BTCDOM/USDT", False),
        ((), "BTC/USDT", False),
    ],
)
def test_an_event_touches_pairs_bases_everything_or_nothing(
    symbols: tuple[str, ...], position: str, moved: bool
) -> None:
    assert touches(Event("e", "k", AFTER, 1.0, "t", symbols), position) is moved


def test_earlier_ones_are_of_the_kind_for_the_symbol_and_known(kb: Any, conn: Any) -> None:
    def earlier(kind: str, symbol: str, before: str = UNTIL, known_at: str = UNTIL) -> list[str]:
        return [time[:13] for time in events.earlier_event_times(conn, kind, symbol, before, known_at)]

    assert earlier("rates", "BTC/USDT") == ["2026-01-10T18", "2026-02-10T18"]
    assert earlier("rates", "BTC/USDT", "2026-02-10T18:00:00.000000Z") == ["2026-01-10T18"]
    assert earlier("unlock", "SOL/USDT:USDT") == ["2026-02-10T08"]
    assert earlier("unlock", "SOL/USDT", known_at="2026-02-10T06:00:00.000000Z") == []
    assert earlier("unlock", "BTC/USDT") == []
    assert earlier("upgrade", "BTC/USDT") == ["2026-02-11T00"]
    assert earlier("upgrade", "BTC/EUR") == []
    assert earlier("no such", "\x00") == []


def test_an_event_that_names_a_pair_twice_over_counts_once(kb: Any) -> None:
    kb.market.load_events([HEADER, "both,rates,*;BTC;BTC/USDT,2026-01-10,1,Everything,"])
    with kb._database.unscoped() as conn:
        assert len(events.earlier_event_times(conn, "rates", "BTC/USDT", UNTIL, UNTIL)) == 1


def test_an_event_that_moved_is_found_where_it_went(kb: Any) -> None:
    kb.market.load_events([HEADER, *ROWS])
    moved = "unlock-1,unlock,ADA,2026-02-11T08:00:00Z,0.5,Tokens unlocked,2026-02-10T07:00:00Z"
    assert counts(kb.market.load_events([HEADER, moved])) == (0, 1, 0, 0)
    with kb._database.unscoped() as conn:
        assert events.earlier_event_times(conn, "unlock", "SOL/USDT", UNTIL, NOW) == []
        assert events.earlier_event_times(conn, "unlock", "ADA/USDT", UNTIL, NOW) == ["2026-02-11T08:00:00.000000Z"]
        # As of before the correction it stands where it stood.
        assert events.earlier_event_times(conn, "unlock", "SOL/USDT", UNTIL, UNTIL) == ["2026-02-10T08:00:00.000000Z"]
        assert events.earlier_event_times(conn, "unlock", "ADA/USDT", UNTIL, UNTIL) == []
        assert [one.symbols for one in events.events_between(conn, AFTER, UNTIL, UNTIL) if one.id == "unlock-1"] == [
            ("SOL",)
        ]
        assert [one.symbols for one in events.events_between(conn, AFTER, UNTIL, NOW) if one.id == "unlock-1"] == [
            ("ADA",)
        ]


def test_wrong_events_are_named_and_cost_no_good_one(kb: Any) -> None:
    wrong = {
        ",rates,*,2026-01-10,1,No id,": "id is missing",
        "e1,,*,2026-01-10,1,No kind,": "kind is missing",
        "e2,rates,*,2026-01-10,1.5,Too much,": "from 0 to 1",
        "e3,rates,*,2026-01-10,-1,Too little,": "importance",
        "e4,rates,*,2026-13-10,1,No such month,": "time",
        "e5,rates,*,2026-01-10,1,,": "title is missing",
        f"e6,rates,{'X' * 41},2026-01-10,1,Long symbol,": "symbols",
        "e7,rates,*,2026-01-10,1,Known when?,once": "known_at",
    }
    loaded = kb.market.load_events([HEADER, ROWS[0], *wrong, ROWS[1]])
    assert counts(loaded) == (2, 0, 0, len(wrong))
    for refused, why in zip(loaded.refused, wrong.values(), strict=True):
        assert why in refused.reason
