"""Export and import of a book with agents and trading: to the byte, on either engine, or not at all."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.book.upkeep import test_transfer as core
from tests.book.upkeep.test_transfer import exported, imported
from tests.conftest import Clock, Prepared, alike_in_every_run
from tests.extensions.agents.deciding import busy_desk
from tests.extensions.trading.floor import busy_floor

from keepbook import Keepbook, extension
from keepbook.extension import shipped


def well_used(kb: Any, owner: str) -> Any:
    """A book in which everything has happened once, also what agents and trading have."""
    book = core.well_used(kb, owner)
    busy_desk(book)
    busy_floor(book)
    return book


@pytest.fixture
def place(prepared: Prepared, clock: Clock) -> Iterator[str]:
    """Where alice has such a book."""

    def fill(kb: Any, _: Clock) -> None:
        with alike_in_every_run():
            well_used(kb, "alice")

    with prepared("well_used_extensions", fill, clock) as (url, _):
        yield url


@pytest.fixture
def used(place: str, clock: Clock) -> Iterator[Any]:
    with closing(Keepbook(place, clock=clock)) as kb:
        yield kb


def seen(book: Any, clock: Any) -> Any:
    """All that can be read, at one instant."""
    more: list[Callable[[], Any]] = [
        lambda: [(replace(agent, armed=True), book.agents.decisions(agent.id, 50)) for agent in book.agents.list()],
        lambda: [(run, book.runs.transcript(run.id), book.runs.specialists(run.id)) for run in book.runs.list()],
        lambda: (book.decisions.list(), book.decisions.calibration()),
    ]
    return core.seen(book, clock, more)


def test_an_export_comes_back_to_the_byte_and_reads_the_same(used: Any, clock: Any) -> None:
    book = used.book("alice")
    text = exported(book)
    restored = used.book("alice again")
    imported(restored, text)
    assert exported(restored) == text
    assert restored.verify() == book.verify()
    assert restored.verify().ok
    assert seen(restored, clock) == seen(book, clock)


@pytest.mark.parametrize("gone", ["agents", "trading"])
def test_an_export_comes_back_to_the_byte_where_the_code_is_gone(
    place: str, gone: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has run, and was decided and judged anew, comes in through the guards, in the order that is on record."""
    with closing(Keepbook(place, clock=clock)) as kb:
        text = exported(kb.book("alice"))
    left = {name: one for name, one in shipped().items() if name != gone}
    monkeypatch.setattr(extension, "shipped", lambda: left)
    with closing(Keepbook(place, clock=clock)) as kb:
        assert [one.name for one in kb.extensions] == list(left)
        restored: Any = kb.book("alice again")
        imported(restored, text)
        assert exported(restored) == text
        assert restored.verify().ok


def test_an_export_moves_between_the_engines_in_both_directions(both_kbs: Any) -> None:
    sqlite, postgresql = both_kbs
    for source, target in ((sqlite, postgresql), (postgresql, sqlite)):
        book = well_used(source, "alice")
        text = exported(book)
        away = target.book("alice there")
        imported(away, text)
        assert exported(away) == text
        assert away.verify().ok
        assert seen(away, target._database.clock) == seen(book, source._database.clock)
        home = source.book("alice back")
        imported(home, exported(away))
        assert exported(home) == text


def test_an_erased_book_takes_its_export_back(used: Any) -> None:
    text = exported(used.book("alice"))
    used.book("alice").erase(confirm="alice")
    assert exported(used.book("alice")) == exported(used.book("somebody new"))
    for _ in range(2):
        answer = imported(used.book("alice"), text)
        assert exported(used.book("alice")) == text
    assert answer.memories == 0
    assert answer.unchanged


def test_a_file_that_is_cut_off_is_refused_wherever_it_is_cut(used: Any) -> None:
    core.assert_refused_when_cut(used)


@pytest.fixture
def whole(kb: Any, alike: None) -> str:
    """Such a book as it was exported: every example alters the same."""
    return exported(well_used(kb, "alice"))


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # an example is one value: nothing to shrink
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_altered_value_is_refused_or_harmless_and_never_half_imported(
    kb: Any, whole: str, data: st.DataObject
) -> None:
    core.assert_refused_or_harmless(kb, whole, data)
