"""A load that is under way, and how it is stopped: by whoever began it, through any worker of the server."""

from collections.abc import Callable
from typing import Any

import pytest

from keepbook.doors.http.web.frame import loading
from keepbook.doors.http.web.frame.loading import LoadUnderWay, stop_load
from keepbook.errors import Conflict, NotFound

Progress = Callable[[int], None]


def test_it_counts_and_tells_what_came_of_it() -> None:
    def work(progress: Progress) -> str:
        for done in range(101):
            progress(done)
        return "came"

    load = LoadUnderWay("alice", 100, work)
    load.begin()
    assert list(load.steps()) == list(range(0, 101, 4))
    assert (load.outcome, load.stopped) == ("came", False)
    with pytest.raises(NotFound):
        stop_load("bob", load.key)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_it_is_stopped_whichever_worker_is_asked(elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Any] = []

    def work(progress: Progress) -> None:
        progress(0)
        with monkeypatch.context() as patch:
            if elsewhere:  # another process knows of none of ours
                patch.setattr(loading, "_HERE", {})
            else:
                patch.setattr(load.ended, "wait", lambda _: None)  # who stops it here would wait for this very line
            with pytest.raises(NotFound):
                stop_load("bob", load.key)
            held.append(stop_load("alice", load.key))
        progress(1)
        raise AssertionError("nobody heard it")

    load = LoadUnderWay("alice", 10, work)
    load.begin()
    assert list(load.steps()) == [0]
    assert (load.outcome, load.stopped) == (None, True)
    assert held == [None if elsewhere else load]


def test_what_goes_wrong_is_its_outcome() -> None:
    def work(progress: Progress) -> None:
        raise Conflict("not today")

    load = LoadUnderWay("alice", 1, work)
    load.begin()
    assert not list(load.steps())
    assert str(load.outcome) == "not today"
