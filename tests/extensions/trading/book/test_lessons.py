"""Lessons: memories that trades taught. How they begin, change, are pinned, retired, withdrawn and read as of then."""

import io
from datetime import timedelta
from typing import Any

import pytest
from tests.extensions.trading.trade_rows import BEGIN, Desk, at, moral, trade

from keepbook import Conflict, Invalid, ModelFailed, NotAllowed, NotFound
from keepbook.book.memory import review
from keepbook.extensions.trading.book import chance

LOSERS = "BTC/USDT long · chop"
FIRST = "The last 8 BTC/USDT longs in chop all lost, median −1.1 %."


@pytest.fixture(autouse=True)
def _fewer_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chance, "RESAMPLES", 1000)


@pytest.fixture
def desk(kb: Any, clock: Any) -> Desk:
    desk = Desk(kb, clock)
    desk.load(moral(8))
    return desk


def the(desk: Desk, subject: str = LOSERS, **told: Any) -> Any:
    return next(one for one in desk.trading.lessons(**({"state": "all"} | told)) if one.subject == subject)


def what(reflection: Any) -> dict[str, str]:
    return {one.lesson.subject: one.what for one in reflection.outcomes}


def more_losers(count: int = 4) -> list[dict[str, Any]]:
    return [trade(1000 + 30 * number, -0.02) for number in range(count)]


def winners(count: int = 60) -> list[dict[str, Any]]:
    return [trade(1500 + 20 * number, 0.03 + number * 1e-4) for number in range(count)]


# --- how they begin ---------------------------------------------------------------------------------------


def test_a_lesson_is_a_memory_that_no_block_shows_yet(desk: Desk) -> None:
    answer = desk.reflect()
    assert what(answer)[LOSERS] == "new"
    assert answer.trades == 32
    assert answer.words.startswith("32 closed trades, ")
    lesson = the(desk)
    assert (lesson.text, lesson.state, lesson.pinned, lesson.version) == (FIRST, "active", False, 1)
    assert (lesson.trades, lesson.wins, lesson.tried) == (8, 0, answer.tried)
    assert lesson.low_pct < lesson.mean_pct < lesson.high_pct < 0
    memory = desk.book.get(lesson.id)
    assert (memory.content, memory.source, memory.confidence) == (FIRST, "inferred", "inferred")
    assert (memory.subject, memory.scope) == (LOSERS, f"lesson:{desk.deployment.id}")
    assert "Groups tried: " in memory.body
    for scope in (None, desk.skill.id, desk.deployment.id):
        assert FIRST not in desk.book.block(scope=scope)
    assert desk.book.verify().ok


@pytest.mark.parametrize(("preset", "category"), [("coach", "lesson"), ("general", "fact"), ("assistant", None)])
def test_its_category_is_lesson_where_the_preset_leaves_them_open(
    desk: Desk, preset: str, category: str | None
) -> None:
    desk.book.configure(preset=preset)
    desk.reflect()
    assert desk.book.get(the(desk).id).category == (category or desk.book.preset().default_category)


def test_a_skill_is_reflected_on_over_all_its_deployments(desk: Desk) -> None:
    desk.trading.create_deployment("Second", "Scalper", capital=1_000)
    desk.load(more_losers(), deployment="Second")
    answer = desk.trading.reflect(skill="Scalper")
    assert (answer.trades, answer.deployment_id) == (36, None)
    lesson = the(desk)
    assert (lesson.trades, lesson.deployment_id, lesson.skill_id) == (12, None, desk.skill.id)
    assert desk.trading.lessons(deployment="Main") == []
    desk.reflect()
    assert len(desk.trading.lessons(skill="Scalper")) == len(answer.outcomes) + len(
        desk.trading.lessons(deployment="Main")
    )


def test_the_window_is_in_days_and_part_of_the_lesson(desk: Desk) -> None:
    moment = BEGIN + timedelta(days=12)
    answer = desk.reflect(window=5, known_at=moment)
    assert answer.window_from == moment - timedelta(days=5)
    assert answer.trades < 20
    assert "there is something to learn from 30 trades on, closed on 12 days or more" in answer.words
    moment = BEGIN + timedelta(days=40)
    desk.reflect(known_at=moment)
    lesson = the(desk, known_at=moment)
    assert (lesson.window_from, lesson.window_until) == (BEGIN, moment)


def test_what_cannot_be_reflected_on_is_said(desk: Desk) -> None:
    with pytest.raises(Invalid, match="name the skill"):
        desk.trading.reflect()
    with pytest.raises(Invalid, match="future"):
        desk.reflect(known_at=desk.clock.now + timedelta(days=1))
    for window in (0, -1, True, 1.5, "30"):
        with pytest.raises(Invalid):
            desk.reflect(window=window)
    with pytest.raises(NotFound):
        desk.reflect(deployment="Nowhere")
    with pytest.raises(Invalid):
        desk.trading.lessons(state="gone")
    nothing = desk.trading.create_deployment("Idle", "Scalper")
    assert "0 closed trades: there is something to learn" in desk.reflect(deployment=nothing.id).words


# --- how they change --------------------------------------------------------------------------------------


def test_new_trades_make_a_new_version_and_the_old_one_stays(desk: Desk) -> None:
    first = BEGIN + timedelta(days=30)
    desk.reflect(known_at=first)
    desk.load(more_losers())
    assert what(desk.reflect())[LOSERS] == "changed"
    lesson = the(desk)
    assert (lesson.version, lesson.trades) == (2, 12)
    assert lesson.text.startswith("The last 12 BTC/USDT longs in chop all lost, median −1.")
    (before,) = lesson.earlier
    assert (before.version, before.text, before.trades, before.known_at) == (1, FIRST, 8, first)
    assert [version.content for version in desk.book.history(lesson.id)] == [FIRST, lesson.text]
    assert len([one for one in desk.trading.lessons() if one.subject == LOSERS]) == 1


def test_the_same_trades_again_change_nothing(desk: Desk) -> None:
    desk.reflect()
    entries = len(desk.book.ledger(limit=None))
    assert set(what(desk.reflect()).values()) == {"unchanged"}
    assert len(desk.book.ledger(limit=None)) == entries


def test_what_is_no_longer_supported_is_withdrawn_and_comes_back_when_it_is_again(desk: Desk) -> None:
    desk.reflect()
    desk.load(winners(8))
    assert what(desk.reflect())[LOSERS] == "withdrawn"
    gone = the(desk)
    assert (gone.state, gone.version) == ("withdrawn", 1)
    assert LOSERS not in [one.subject for one in desk.trading.lessons()]
    assert desk.book.get(gone.id).archived_reason == "agent_forget"
    desk.load([trade(1800 + 5 * number, -0.04) for number in range(40)])
    assert what(desk.reflect())[LOSERS] == "back"
    back = the(desk)
    assert (back.id, back.state, back.version) == (gone.id, "active", 2)
    assert desk.book.verify().ok


def test_new_lessons_come_at_looks_only_and_known_ones_stay_current(desk: Desk) -> None:
    """Eight winners between the looks at 30 and 60 trades are no lesson yet; the known one goes on being told anew."""
    eth = "ETH/USDT short · chop"
    gains = [trade(900 + 30 * nth, 0.02 + nth * 1e-4, symbol="ETH/USDT", side="short") for nth in range(8)]
    desk.reflect()
    desk.load(gains + more_losers())
    answer = desk.reflect()
    assert (answer.trades, answer.judged) == (44, 30)
    assert "44 closed trades, the first 30 judged," in answer.words
    assert what(answer)[LOSERS] == "changed"
    assert eth not in what(answer)
    desk.load([row | {"symbol": "DOT/USDT"} for row in moral(0, begin=1200)])
    assert what(desk.reflect())[eth] == "new"


@pytest.mark.parametrize("pinned", [False, True])
def test_a_lesson_that_corrected_trades_no_longer_support_says_so(desk: Desk, pinned: bool) -> None:
    """Before anybody reflects again, and also where a person pinned it."""
    desk.load([row | {"id": f"x{nth}"} for nth, row in enumerate(more_losers(28))])
    desk.clock.forward(days=1)
    desk.reflect()
    if pinned:
        desk.trading.pin(the(desk).id)
    assert the(desk).supported
    desk.clock.forward(days=1)
    right = [trade(1000 + 30 * nth, (0.02, -0.01)[nth % 2] + nth * 1e-4) | {"id": f"x{nth}"} for nth in range(28)]
    desk.load(right)
    lesson = the(desk, state="active")
    assert not lesson.supported
    assert lesson.pinned is pinned
    answer = desk.reflect()
    assert what(answer)[LOSERS] == ("unsupported" if pinned else "withdrawn")
    assert ("no longer supported but left as you pinned it" in answer.words) is pinned
    assert not the(desk).supported


def test_lessons_go_forward_only(desk: Desk) -> None:
    desk.load(more_losers())
    desk.reflect()
    entries = len(desk.book.ledger(limit=None))
    answer = desk.reflect(known_at=BEGIN + timedelta(days=30))
    assert {one.what for one in answer.outcomes} == {"not_kept"}
    assert FIRST in [one.says for one in answer.outcomes]
    assert "later reflection" in answer.words
    assert len(desk.book.ledger(limit=None)) == entries


def test_a_market_under_two_spellings_is_one_lesson(desk: Desk) -> None:
    desk.load([trade(705 + 27 * number, -0.011 - number * 1e-4, symbol="btc/usdt") for number in range(8)])
    desk.load([row | {"symbol": "DOT/USDT"} for row in moral(0, begin=800)])
    desk.reflect()
    assert [one.subject for one in desk.trading.lessons()].count("BTC/USDT long · chop") == 1
    assert not [one for one in desk.trading.lessons() if "btc" in one.subject]


# --- a person's word --------------------------------------------------------------------------------------


def test_a_pinned_lesson_reaches_the_block_of_its_skill_and_an_unpinned_one_leaves_it(desk: Desk) -> None:
    desk.reflect()
    id = the(desk).id
    pinned = desk.trading.pin(id)
    assert (pinned.pinned, pinned.state) == (True, "active")
    assert FIRST in desk.book.block(scope=desk.skill.id)
    assert FIRST not in desk.book.block()
    assert desk.trading.lessons()[0].id == id
    assert desk.trading.pin(id).event is None
    assert desk.trading.unpin(id).pinned is False
    assert FIRST not in desk.book.block(scope=desk.skill.id)
    memory = desk.book.get(id)
    assert (memory.confidence, memory.scope) == ("inferred", f"lesson:{desk.deployment.id}")


def test_what_a_person_pinned_stays_as_pinned(desk: Desk) -> None:
    desk.reflect()
    desk.trading.pin(the(desk).id)
    desk.load(more_losers())
    answer = desk.reflect()
    outcome = next(one for one in answer.outcomes if one.lesson.subject == LOSERS)
    assert (outcome.what, outcome.lesson.text) == ("pinned", FIRST)
    assert outcome.says.startswith("The last 12 ")
    desk.load(winners())
    answer = desk.reflect()
    assert what(answer)[LOSERS] == "pinned"
    assert "left as you pinned it" in answer.words
    assert (the(desk).text, the(desk).state) == (FIRST, "active")


@pytest.mark.parametrize("act", ["confirm", "update"])
def test_a_lesson_that_a_person_confirmed_or_reworded_is_theirs(desk: Desk, act: str) -> None:
    desk.reflect()
    id = the(desk).id
    words = "BTC longs in chop are not for me."
    desk.book.update(id, words) if act == "update" else desk.book.confirm(id)
    desk.load(winners())
    assert what(desk.reflect())[LOSERS] == "pinned"
    assert (the(desk).text, the(desk).trades) == (words if act == "update" else FIRST, 8)


def test_a_retired_lesson_stays_retired_until_it_is_restored(desk: Desk) -> None:
    desk.reflect()
    id = the(desk).id
    assert desk.trading.retire(id).state == "retired"
    assert id not in [one.id for one in desk.trading.lessons()]
    assert id in [one.id for one in desk.trading.lessons(state="retired")]
    desk.load(more_losers())
    answer = desk.reflect()
    assert what(answer)[LOSERS] == "retired"
    assert "left retired" in answer.words
    assert len([one for one in desk.trading.lessons(state="all") if one.subject == LOSERS]) == 1
    assert desk.trading.restore_lesson(id).state == "active"
    assert what(desk.reflect())[LOSERS] == "changed"
    assert the(desk).trades == 12


def test_a_retired_one_is_not_pinned_and_only_a_lesson_is(desk: Desk) -> None:
    desk.reflect()
    id = the(desk).id
    desk.trading.retire(id)
    with pytest.raises(Conflict):
        desk.trading.pin(id)
    memory = desk.book.remember("I trade in the morning")
    for act in (desk.trading.pin, desk.trading.unpin, desk.trading.retire, desk.trading.restore_lesson):
        with pytest.raises(NotFound, match="no lesson"):
            act(memory.id)
        with pytest.raises(NotFound):
            act("Zz99Zz99")


def test_only_the_person_pins_and_retires(desk: Desk) -> None:
    desk.reflect()
    agent = desk.kb.book("alice", by="agent").trading
    for act in (agent.pin, agent.unpin, agent.retire, agent.restore_lesson):
        with pytest.raises(NotAllowed) as refused:
            act(the(desk).id)
        assert refused.value.code == "person_only"
    agent.reflect(skill="Scalper")


def test_with_memory_off_no_program_reads_a_lesson_or_makes_one(desk: Desk) -> None:
    desk.reflect()
    desk.book.choose(memory=False)
    agent = desk.kb.book("alice", by="agent").trading
    for do in (agent.lessons, lambda: agent.reflect(skill="Scalper")):
        with pytest.raises(NotAllowed) as refused:
            do()
        assert refused.value.code == "memory_off"
    assert agent.skills()  # no memory
    assert desk.book.trading.lessons()


# --- undo -------------------------------------------------------------------------------------------------


def test_every_write_can_be_undone(desk: Desk) -> None:
    created = next(one for one in desk.reflect().outcomes if one.lesson.subject == LOSERS).lesson
    id = created.id

    def state() -> tuple[Any, ...]:
        lesson = the(desk)
        return lesson.state, lesson.pinned, lesson.text, lesson.trades

    begun = state()
    for act in (desk.trading.pin, desk.trading.retire):
        event = act(id).event
        assert state() != begun
        desk.book.undo(event)
        assert state() == begun
    pinned = desk.trading.pin(id)
    held = state()
    desk.book.undo(desk.trading.unpin(id).event)
    assert state() == held
    assert FIRST in desk.book.block(scope=desk.skill.id)
    desk.trading.unpin(pinned.id)
    retired = desk.trading.retire(id)
    put_away = state()
    desk.book.undo(desk.trading.restore_lesson(retired.id).event)
    assert state() == put_away
    desk.trading.restore_lesson(id)
    desk.load(more_losers())
    changed = next(one for one in desk.reflect().outcomes if one.lesson.subject == LOSERS).lesson
    assert state() != begun
    desk.book.undo(changed.event)
    assert state() == begun
    assert what(desk.reflect())[LOSERS] == "unchanged"  # the person took that change back: nothing new to say
    desk.load(winners(8))
    withdrawn = next(one for one in desk.reflect().outcomes if one.lesson.subject == LOSERS)
    assert withdrawn.what == "withdrawn"
    desk.book.undo(withdrawn.lesson.event)
    assert state() == begun
    assert desk.book.verify().ok


def test_a_reflection_that_was_undone_can_be_made_again(desk: Desk) -> None:
    made = next(one for one in desk.reflect().outcomes if one.lesson.subject == LOSERS).lesson
    desk.book.undo(made.event)
    assert the(desk).state == "retired"
    assert what(desk.reflect())[LOSERS] == "back"
    assert the(desk).state == "active"


# --- as of then -------------------------------------------------------------------------------------------


def test_lessons_are_read_as_of_an_instant(desk: Desk) -> None:
    desk.load(more_losers() + winners(8))
    for days in (31, 40, 50, 110):
        desk.reflect(known_at=BEGIN + timedelta(days=days))

    def seen(days: float) -> tuple[int, str] | None:
        found = desk.trading.lessons(known_at=BEGIN + timedelta(days=days), state="all")
        return next(((one.trades, one.state) for one in found if one.subject == LOSERS), None)

    assert [seen(days) for days in (1, 30.9)] == [None, None]
    assert [seen(days) for days in (31, 39.9)] == [(8, "active")] * 2
    assert [seen(days) for days in (50, 109)] == [(12, "active")] * 2
    assert seen(110) == (12, "withdrawn")
    assert not [one for one in desk.trading.lessons(known_at=at(24 * 8)) if one.subject == LOSERS]


def test_what_a_person_did_counts_from_when_they_did_it(desk: Desk) -> None:
    moment = BEGIN + timedelta(days=30)
    desk.reflect(known_at=moment)
    id = the(desk).id
    before = desk.clock.now
    desk.clock.forward(days=1)
    desk.trading.pin(id)
    desk.clock.forward(days=1)
    between = desk.clock.now
    desk.clock.forward(days=1)
    desk.trading.retire(id)
    shown = [(the(desk, known_at=known).pinned, the(desk, known_at=known).state) for known in (moment, before, between)]
    assert shown == [(False, "active"), (False, "active"), (True, "active")]
    assert the(desk).state == "retired"


# --- in other words ---------------------------------------------------------------------------------------


def test_other_words_are_kept_where_the_numbers_are_ours(desk: Desk) -> None:
    asked = []

    def words(finding: Any) -> str:
        asked.append(finding.subject)
        return f"Leave it: {finding.trades} tries, {finding.wins} wins." if finding.subject == LOSERS else "9999 lost!"

    desk.reflect(words=words)
    assert the(desk).text == "Leave it: 8 tries, 0 wins."
    assert not [one for one in desk.trading.lessons() if "9999" in one.text]
    assert len(asked) == len(desk.trading.lessons())
    desk.reflect(words=words)
    assert len(asked) == len(desk.trading.lessons())  # nothing new to say


def test_without_an_answer_ours_stands(desk: Desk) -> None:
    def words(finding: Any) -> str:
        raise ModelFailed("no answer")

    desk.reflect(words=words)
    assert the(desk).text == FIRST


def test_a_short_that_made_nothing_leaves_the_book_whole(desk: Desk) -> None:
    desk.load([trade(900, 0.0, side="short")])
    assert desk.book.verify().ok


# --- moving house -----------------------------------------------------------------------------------------


def test_an_export_takes_lessons_along(desk: Desk) -> None:
    desk.reflect(known_at=BEGIN + timedelta(days=30))
    desk.load(more_losers())
    desk.reflect()
    desk.trading.pin(the(desk).id)
    desk.trading.retire(desk.trading.lessons()[-1].id)
    text = io.StringIO()
    desk.book.export(text)
    other = desk.kb.book("bob")
    other.import_(text.getvalue().splitlines(keepends=True))
    for known_at in (None, BEGIN + timedelta(days=31)):
        mine, theirs = (
            book.trading.lessons(state="all", known_at=known_at or desk.clock.now) for book in (desk.book, other)
        )
        assert mine == theirs
        assert mine
    assert set(what(other.trading.reflect(deployment="Main")).values()) <= {"unchanged", "pinned", "retired"}
    again = io.StringIO()
    desk.kb.book("bob").export(again)
    assert again.getvalue() == text.getvalue()


def test_an_erasure_takes_them(desk: Desk) -> None:
    desk.reflect()
    desk.book.erase("alice")
    assert desk.kb.book("alice").trading.lessons(state="all") == []
    assert desk.kb.book("alice").trading.skills() == []


def test_one_deleted_for_good_leaves_no_figures(desk: Desk) -> None:
    desk.reflect()
    lesson = the(desk)
    desk.book.delete(lesson.id, forever=True)
    assert LOSERS not in [one.subject for one in desk.trading.lessons(state="all")]
    assert what(desk.reflect())[LOSERS] == "new"
    assert desk.book.verify().ok


def test_another_owner_sees_none_of_it(desk: Desk) -> None:
    desk.reflect()
    bob = desk.kb.book("bob").trading
    assert bob.lessons(state="all") == []
    with pytest.raises(NotFound):
        bob.pin(the(desk).id)


def test_what_waits_is_no_memory_of_the_person_until_it_is_pinned(desk: Desk) -> None:
    book = desk.book
    desk.reflect()
    id = the(desk).id
    assert review.count_waiting(book) == 0
    assert (book.list(scope="*").total, book.recall("BTC longs in chop", scope="*")) == (0, [])
    assert [memory.id for memory in book.list(scope=f"lesson:{desk.deployment.id}") if memory.id == id] == [id]
    desk.trading.pin(id)
    assert [memory.id for memory in book.list(scope="*")] == [id]
    assert [hit.id for hit in book.recall("BTC longs in chop", scope="*")] == [id]


def test_an_agent_changes_no_lesson_through_the_memory_either(desk: Desk) -> None:
    desk.reflect()
    id = the(desk).id
    agent = desk.kb.book("alice", by="agent")
    for pinned in (False, True):
        if pinned:
            desk.trading.pin(id)
        before = the(desk)
        for act in (
            lambda: agent.update(id, "BTC longs in chop always win"),
            lambda: agent.forget(id),
            lambda: agent.delete(id),
            lambda: agent.delete(id, forever=True),
            lambda: agent.promote(id),
            lambda: agent.demote(id),
            lambda: agent.confirm(id),
        ):
            with pytest.raises(NotAllowed) as refused:
                act()
            assert refused.value.code == "person_only"
        assert the(desk) == before
    agent.trading.reflect(deployment="Main")
    desk.book.update(id, "Do not buy BTC in chop")
    assert the(desk).text == "Do not buy BTC in chop"
    desk.book.delete(id, forever=True)
    assert id not in [one.id for one in desk.trading.lessons(state="all")]
