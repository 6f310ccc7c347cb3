"""The work that a server does by itself goes on after whatever failed, and after a clock that ran ahead."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.doors.http.app import _for_ever


@pytest.mark.parametrize("error", [ValueError("a fault nobody foresaw"), OSError("gone")])
def test_a_sweep_that_fails_is_tried_again(error: Exception) -> None:
    stopping, tried = asyncio.Event(), list[str]()

    async def go() -> None:
        loop = asyncio.get_running_loop()

        def work(holder: str, _: float) -> None:
            tried.append(holder)
            if len(tried) < 3:
                raise error
            loop.call_soon_threadsafe(stopping.set)

        await _for_ever(work, None, 0.001, stopping)

    asyncio.run(asyncio.wait_for(go(), 30))
    assert len(tried) >= 3


@pytest.mark.both_engines
def test_a_sweep_of_a_clock_that_ran_ahead_holds_no_later_one_up(book_url: str, clock: Any) -> None:
    with Keepbook(book_url, clock=clock) as kb:
        now = clock.now
        clock.now = now + timedelta(days=800)
        assert kb.sweep_in_turn("ahead", 120) is not None
        clock.now = now
        assert kb.sweep_in_turn("one", 120) is not None
        assert kb.sweep_in_turn("other", 120) is None
