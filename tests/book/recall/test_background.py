"""The thread behind the writers: it waits for quiet, serves one after the other, and never holds up an end."""

import subprocess
import threading
from typing import Any

import pytest
from tests.warm_python import program

from keepbook import ModelFailed
from keepbook.book.recall import background
from keepbook.book.recall.background import Filler


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "QUIET", 0.05)


def test_a_burst_of_writes_is_served_in_one_go(quick: None) -> None:
    served: list[str] = []
    done = threading.Event()
    filler = Filler(lambda owner: (served.append(owner), done.set()))
    for _ in range(50):
        filler.nudge("alice")
    assert done.wait(30)
    filler.close()
    assert served == ["alice"]


def test_who_never_is_quiet_is_served_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "QUIET", 60.0)
    monkeypatch.setattr(background, "LATEST", 0.05)
    done = threading.Event()
    filler = Filler(lambda _: done.set())
    filler.nudge("alice")
    assert done.wait(30)
    filler.close()


@pytest.mark.parametrize("trouble", [ModelFailed("away", code="embedder"), RuntimeError("broken")])
def test_the_trouble_of_one_owner_does_not_end_the_work_for_others(quick: None, trouble: Exception) -> None:
    done = threading.Event()

    def work(owner: str) -> None:
        if owner == "alice":
            raise trouble
        done.set()

    filler = Filler(work)
    filler.nudge("alice")
    filler.nudge("bob")
    assert done.wait(30)
    filler.close()


def test_a_program_that_ends_in_the_quiet_leaves_it_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "QUIET", 3600.0)
    monkeypatch.setattr(background, "LATEST", 3600.0)
    served: list[Any] = []
    filler = Filler(served.append)
    filler.nudge("alice")
    filler.close()
    filler.nudge("bob")
    assert served == []
    assert not any(thread.name == "keepbook vectors" for thread in threading.enumerate())


ENDS = """
import threading, time
from keepbook.book.recall import background
background.QUIET = 0.0
begun = threading.Event()
def work(owner):
    print("begun", flush=True)
    begun.set()
    time.sleep(0.3)  # the program ends meanwhile
    print("ended", flush=True)
filler = background.Filler(work)
filler.nudge("alice")
begun.wait()
"""


@pytest.mark.process
def test_a_program_that_ends_waits_for_what_is_under_way() -> None:
    """A thread inside an embedder's own code at the end of the interpreter is an abort."""
    done = subprocess.run(program(ENDS), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["begun", "ended"], "")
