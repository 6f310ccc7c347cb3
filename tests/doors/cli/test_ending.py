"""Told to end while a loop runs, as in a chat or a run of an agent: the work is stopped, then the signal is heard."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from keepbook.doors.cli.terminal import ending


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """What happened, in order; hearing the signal is one of it."""
    happened: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: happened.append("heard"))
    yield happened
    signal.signal(signal.SIGTERM, before)


def test_work_is_stopped_and_cleans_up_before_the_signal_is_heard(heard: list[str]) -> None:
    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.sleep(60)
        finally:
            heard.append("put away")

    with asyncio.Runner() as loop, pytest.raises(asyncio.CancelledError):
        ending.run_until_done(loop, work())
    assert heard == ["put away", "heard"]


def test_a_signal_that_comes_before_the_work_stops_it_at_its_first_wait(heard: list[str]) -> None:
    class Slow(asyncio.Runner):
        def run(self, *given: object, **named: object) -> object:
            os.kill(os.getpid(), signal.SIGTERM)
            return super().run(*given, **named)  # type: ignore[arg-type]

    async def work() -> None:
        await asyncio.sleep(60)
        heard.append("went on")

    with Slow() as loop, pytest.raises(asyncio.CancelledError):
        ending.run_until_done(loop, work())
    assert heard == ["heard"]


def test_without_a_signal_the_work_is_done_and_who_listened_listens_again(heard: list[str]) -> None:
    async def work() -> int:
        return 7

    with asyncio.Runner() as loop:
        assert ending.run_until_done(loop, work()) == 7
    os.kill(os.getpid(), signal.SIGTERM)
    assert heard == ["heard"]
