"""Agents and the one session each of them carries: who may move it, when, and when it starts fresh."""

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, WAIT, ran

from keepbook import Ambiguous, Conflict, Invalid, Keepbook, NotAllowed, NotFound
from keepbook.book.ground import due
from keepbook.book.ledger.ledger import present
from keepbook.book.memory import injections
from keepbook.extensions.agents.book import agents as engine
from keepbook.extensions.agents.book import runs
from keepbook.extensions.agents.book.due_work import RUN, RUN_LOST
from keepbook.extensions.agents.book.schedule import span_in_words
from keepbook.extensions.agents.models.adapter import message_to_parts
from keepbook.models.model import PromptMessage, ToolCall
from keepbook.presets import load_preset


@pytest.fixture
def desk(alice: Any) -> Any:
    """An agent with Active Memory on."""
    return alice.agents.create("Swing desk", memory_enabled=True)


def note(book: Any, agent: Any, kind: str = "manual", **told: Any) -> Any:
    return ran(book, agent, None if kind == "chat" else {"text": "All quiet."}, kind, **told)


# --- who they are -----------------------------------------------------------------------------------------


def test_only_a_name_is_needed(alice: Any) -> None:
    agent = alice.agents.create("Swing desk")
    assert (agent.adapter, agent.model, agent.card_type, agent.schedule, agent.team) == (
        "native",
        None,
        "note",
        None,
        (),
    )
    assert (agent.use_block, agent.memory_enabled, agent.review_decisions) == (False, False, False)
    assert (agent.instructions, agent.default_prompt) == ("", "")
    assert alice.agents.list() == [alice.agents.get("Swing desk")]


def test_what_is_given_is_kept_and_what_is_not_stays(alice: Any) -> None:
    agent = alice.agents.create(
        "Swing desk", instructions="One trade.", model="openai:big", card_type="trade-decision", schedule="0 7 * * *",
        team=[{"name": "Tape", "instructions": "Read it."}, {"name": "Risk"}], review_decisions=True,
    )  # fmt: skip
    assert [one.name for one in agent.team] == ["Tape", "Risk"]
    changed = alice.agents.update(agent.id, name="Position desk", team=agent.team[:1], use_block=True)
    assert (changed.name, len(changed.team), changed.use_block, changed.model) == (
        "Position desk",
        1,
        True,
        "openai:big",
    )
    assert changed.updated_at > agent.updated_at


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""), ("name", "x" * 81), ("adapter", "telepathy"), ("card_type", "no-such-card"), ("schedule", "x"),
        ("team", "Tape"), ("team", [{"instructions": "x"}]), ("team", [{"name": "A"}, {"name": "a"}]),
        ("team", [{"name": "A", "salary": 1}]), ("memory_enabled", 1), ("use_block", "yes"), ("instructions", 7),
        ("session", "stolen"), ("epoch", 0),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(alice: Any, desk: Any, field: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        alice.agents.update(desk.id, **{field: value})
    assert refused.value.field == field
    assert alice.agents.get(desk.id) == desk


def test_a_name_is_used_once_and_found_by_a_piece(alice: Any, desk: Any) -> None:
    with pytest.raises(Conflict):
        alice.agents.create("swing DESK")
    alice.agents.create("Morning desk")
    assert alice.agents.get("morning").name == "Morning desk"
    with pytest.raises(Ambiguous):
        alice.agents.get("desk")
    with pytest.raises(NotFound):
        alice.agents.get("night")


def test_a_removed_agent_is_gone_and_what_it_did_stays(alice: Any, desk: Any) -> None:
    run = note(alice, desk)
    alice.agents.delete("Swing desk")
    assert alice.agents.list() == []
    with pytest.raises(NotFound):
        alice.runs.queue(desk.id, "manual", prompt="go")
    assert alice.runs.get(run.id) == run
    assert alice.agents.create("Swing desk").id != desk.id


def test_a_removed_agent_comes_back_fresh_unless_its_name_is_taken(alice: Any, kb: Any) -> None:
    agent = alice.agents.create("Brief", schedule="30 7 * * 1-5", memory_enabled=True)
    run = note(alice, agent)
    alice.agents.delete(agent.id)
    back = alice.agents.restore(agent.id)
    assert (back.name, back.schedule, back.memory.session) == ("Brief", "30 7 * * 1-5", None)
    assert [one.id for one in alice.runs.list(agent.id)] == [run.id]
    with kb._database.read("alice") as tx:
        assert due.reminded_at(tx, RUN, agent.id)
    assert alice.agents.restore(agent.id).id == agent.id, "restored twice is restored"
    alice.agents.delete(agent.id)
    alice.agents.create("brief")
    with pytest.raises(Conflict):
        alice.agents.restore(agent.id)


def test_a_schedule_puts_a_reminder_in_the_owners_zone(alice: Any, kb: Any) -> None:
    def reminded(id: str) -> str | None:
        with kb._database.read("alice") as tx:
            return due.reminded_at(tx, RUN, id)

    alice.configure(zone="Europe/Oslo")
    agent = alice.agents.create("Brief", schedule="30 7 * * 1-5")  # the clock stands on a Sunday
    assert reminded(agent.id) == "2026-03-02T06:30:00.000000Z"
    alice.agents.update(agent.id, schedule="0 12 * * *")
    assert reminded(agent.id) == "2026-03-01T11:00:00.000000Z"
    alice.agents.update(agent.id, schedule=None)
    assert reminded(agent.id) is None


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "now"), (59, "now"), (240, "4m"), (8100, "2h 15m"), (7200, "2h"), (2_685_600, "31d 2h")]
)
def test_an_age_is_two_parts(seconds: int, words: str) -> None:
    assert span_in_words(timedelta(seconds=seconds)) == words


# --- the shared session -----------------------------------------------------------------------------------


def test_each_run_reads_the_latest_session_and_moves_it_on(alice: Any, desk: Any, clock: Any) -> None:
    assert (desk.memory.status, desk.memory.session, desk.memory.age) == ("fresh", None, None)
    first = note(alice, desk)
    talk = note(alice, desk, "chat")
    second = note(alice, desk, "scheduled")
    assert (first.session_before, talk.session_before) == (None, first.session_after)
    assert second.session_before == talk.session_after
    clock.forward(hours=2, minutes=15)
    memory = alice.agents.get(desk.id).memory
    assert (memory.status, memory.session, memory.runs, memory.chats) == ("carrying", second.session_after, 2, 1)
    assert memory.age == "2h 15m"


def test_a_failed_run_moves_nothing(alice: Any, desk: Any) -> None:
    before = note(alice, desk).session_after
    turn = alice.agents.claim(desk.id, lease_seconds=60)
    run = alice.runs.queue(desk.id, "manual", prompt="go")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60, turn=turn)
    failed = alice.runs.fail(run.id, "no answer", turn=turn)
    assert (failed.status, failed.session_before, failed.session_after) == ("failed", before, None)
    assert alice.agents.get(desk.id).memory.session == before
    assert alice.agents.get(desk.id).memory.runs == 1
    assert alice.agents.claim(desk.id, lease_seconds=60).session == before


def test_with_memory_off_there_is_no_session_to_work_with(alice: Any) -> None:
    agent = alice.agents.create("Brief")
    with pytest.raises(Conflict) as refused:
        alice.agents.claim(agent.id, lease_seconds=60)
    assert refused.value.code == "no_session"
    run = note(alice, agent)
    assert (run.session_before, run.session_after) == (None, None)
    assert alice.agents.get(agent.id).memory.runs == 0


def test_with_memory_off_no_program_reads_what_was_said_in_a_run(kb: Any, alice: Any, desk: Any) -> None:
    run = alice.runs.queue(desk.id, "manual", prompt="go")
    alice.choose(memory=False)
    agent = kb.book("alice", by="agent")
    assert agent.runs.get(run.id).id == run.id  # no memory
    with pytest.raises(NotAllowed) as refused:
        agent.runs.transcript(run.id)
    assert refused.value.code == "memory_off"
    assert alice.runs.transcript(run.id) == []


def test_one_at_a_time_has_the_turn_and_a_dead_one_is_taken_over(alice: Any, desk: Any, clock: Any) -> None:
    held = alice.agents.claim(desk.id, lease_seconds=60)
    assert alice.agents.claim(desk.id, lease_seconds=60) is None
    assert alice.agents.renew(held, lease_seconds=300)
    clock.forward(seconds=200)
    assert alice.agents.claim(desk.id, lease_seconds=60) is None
    clock.forward(seconds=200)
    other = alice.agents.claim(desk.id, lease_seconds=60)
    assert other is not None
    assert not alice.agents.renew(held, lease_seconds=60)
    alice.agents.give_back(held)  # not his to give any more
    assert alice.agents.claim(desk.id, lease_seconds=60) is None


def test_a_turn_that_a_clock_ahead_took_does_not_last_until_then(alice: Any, desk: Any, clock: Any) -> None:
    clock.forward(days=300)
    assert alice.agents.claim(desk.id, lease_seconds=60) is not None
    clock.forward(days=-300)
    assert alice.agents.claim(desk.id, lease_seconds=60) is not None


def test_who_lost_the_turn_moves_nothing_and_leaves_no_result(alice: Any, desk: Any, clock: Any) -> None:
    slow = alice.agents.claim(desk.id, lease_seconds=60)
    run = alice.runs.queue(desk.id, "manual", prompt="go")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60, turn=slow)
    clock.forward(minutes=5)
    quick = note(alice, desk)
    with pytest.raises(Conflict) as refused:
        alice.runs.succeed(run.id, slots={"text": "Late."}, turn=slow, session="late")
    assert refused.value.code == "lost_turn"
    assert alice.runs.get(run.id).status == "running"
    assert alice.runs.get(run.id).card is None
    assert alice.agents.get(desk.id).memory.session == quick.session_after


def test_a_lease_that_ran_out_and_that_nobody_took_is_still_held(alice: Any, desk: Any, clock: Any) -> None:
    turn = alice.agents.claim(desk.id, lease_seconds=60)
    run = alice.runs.queue(desk.id, "manual", prompt="go")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60, turn=turn)
    clock.forward(minutes=5)
    assert alice.runs.succeed(run.id, slots={"text": "Slow."}, turn=turn, session="slow").session_after == "slow"


def test_many_who_ask_for_the_turn_at_once_get_it_one_after_the_other(book_url: str) -> None:
    """As processes do: each with a connection of its own. Nobody's step is lost, and each stands on the one before."""
    with closing(Keepbook(book_url)) as first, closing(Keepbook(book_url)) as second:
        desk = first.book("alice").agents.create("Swing desk", memory_enabled=True)
        patience = threading.Event()

        def work(kb: Keepbook) -> None:
            book = kb.book("alice")
            for _ in range(3):
                while (turn := book.agents.claim(desk.id, lease_seconds=60)) is None:
                    patience.wait(0.01)
                run = book.runs.queue(desk.id, "manual", prompt="go")
                book.runs.start(run.id, adapter="native", model=None, lease_seconds=60, turn=turn)
                book.runs.succeed(run.id, slots={"text": "Done."}, turn=turn, session=f"s-{run.id}")

        workers = [threading.Thread(target=work, args=(kb,)) for kb in (first, second, first, second)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        done = first.book("alice").runs.list(desk.id)
        assert len(done) == 12
        assert len({run.session_before for run in done}) == 12  # no two stood on the same
        assert {run.session_after for run in done} - {run.session_before for run in done} == {
            first.book("alice").agents.get(desk.id).memory.session
        }


# --- starting fresh ---------------------------------------------------------------------------------------


def test_a_reset_starts_fresh_and_sets_the_counter_back(alice: Any, desk: Any) -> None:
    note(alice, desk), note(alice, desk, "chat")
    reset = alice.agents.reset(desk.id)
    assert (reset.memory.status, reset.memory.session, reset.memory.runs, reset.memory.chats) == ("fresh", None, 0, 0)
    assert reset.memory.since > desk.memory.since
    assert note(alice, desk).session_before is None
    assert alice.agents.get(desk.id).memory.runs == 1
    assert len(alice.runs.list(desk.id)) == 3


def test_switched_off_the_data_stay_and_switched_on_again_it_starts_fresh(alice: Any, desk: Any) -> None:
    session = note(alice, desk).session_after
    off = alice.agents.update(desk.id, memory_enabled=False)
    assert (off.memory.enabled, off.memory.session, off.memory.runs) == (False, session, 1)
    assert note(alice, off).session_before is None
    assert alice.agents.get(desk.id).memory.session == session
    on = alice.agents.update(desk.id, memory_enabled=True)
    assert (on.memory.status, on.memory.session, on.memory.runs) == ("fresh", None, 0)


def test_switching_on_what_is_on_changes_nothing(alice: Any, desk: Any) -> None:
    session = note(alice, desk).session_after
    assert alice.agents.update(desk.id, memory_enabled=True).memory.session == session


def test_a_reset_is_allowed_while_memory_is_off(alice: Any, desk: Any) -> None:
    note(alice, desk)
    alice.agents.update(desk.id, memory_enabled=False)
    assert alice.agents.reset(desk.id).memory.session is None


def test_what_began_before_a_reset_succeeds_and_moves_nothing(alice: Any, desk: Any) -> None:
    turn = alice.agents.claim(desk.id, lease_seconds=60)
    run = alice.runs.queue(desk.id, "manual", prompt="go")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60, turn=turn)
    alice.agents.reset(desk.id)
    done = alice.runs.succeed(run.id, slots={"text": "Old news."}, turn=turn, session="old")
    assert (done.status, done.session_after) == ("succeeded", None)
    assert alice.agents.get(desk.id).memory.session is None
    assert alice.agents.get(desk.id).memory.runs == 0
    assert alice.agents.claim(desk.id, lease_seconds=60) is not None


def test_past_twenty_runs_a_reset_is_suggested_and_chats_do_not_count(alice: Any, desk: Any) -> None:
    for number in range(20):
        note(alice, desk, "scheduled" if number % 2 else "manual")
    for _ in range(3):
        note(alice, desk, "chat")
    assert not alice.agents.get(desk.id).memory.suggest_reset
    note(alice, desk)
    memory = alice.agents.get(desk.id).memory
    assert (memory.runs, memory.chats, memory.suggest_reset) == (21, 3, True)
    assert not alice.agents.reset(desk.id).memory.suggest_reset


def test_the_stored_session_is_what_was_said_since_the_fresh_start(alice: Any, desk: Any, kb: Any) -> None:
    note(alice, desk)
    alice.agents.reset(desk.id)
    first, talk, last = note(alice, desk), note(alice, desk, "chat"), note(alice, desk, "scheduled")
    turn = alice.agents.claim(desk.id, lease_seconds=60)
    carried = alice.runs.carried(turn)
    assert [run.id for _, run, _ in carried] == [first.id, talk.id, last.id]
    assert [line.text for line in carried[0][2]] == ["What now?", "{'text': 'All quiet.'}"]
    steps = [step for step, _, _ in carried]
    assert steps == sorted(set(steps))
    alice.agents.compress(turn, steps[1], "It was quiet, twice.")
    alice.agents.give_back(turn)
    turn = alice.agents.claim(desk.id, lease_seconds=60)
    assert turn.compressed == "It was quiet, twice."
    assert [run.id for _, run, _ in alice.runs.carried(turn)] == [last.id]
    alice.agents.give_back(turn)
    alice.agents.reset(desk.id)
    assert alice.agents.claim(desk.id, lease_seconds=60).compressed is None


def test_erasing_a_memory_blanks_what_a_session_was_compressed_to(alice: Any, desk: Any, kb: Any) -> None:
    secret = alice.remember("The secret is under the old oak")
    run = note(alice, desk)
    with kb._database.write("alice") as tx:
        block = injections.inject(tx, load_preset("general"), present(tx), run.id, scope=desk.id, space=injections.CHAT)
    assert "old oak" in block
    turn = alice.agents.claim(desk.id, lease_seconds=60)
    alice.agents.compress(turn, 1, "They spoke of the old oak.")
    alice.delete(secret.id, forever=True)
    assert alice.agents.claim(desk.id, lease_seconds=60) is None
    alice.agents.give_back(turn)
    assert alice.agents.claim(desk.id, lease_seconds=60).compressed is None


# --- runs -------------------------------------------------------------------------------------------------


def test_a_run_notes_only_what_every_door_writes_again(alice: Any, desk: Any) -> None:
    run = alice.runs.queue(desk.id, "manual", prompt="What now?")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60)
    with pytest.raises(Invalid) as refused:
        alice.runs.say(run.id, "assistant", "By the way", parts={"n": 2**64})
    assert refused.value.field == "parts"
    call = ToolCall("1", "recall", {"n": 2**64, "far": float("inf")})
    parts = message_to_parts(PromptMessage("assistant", "By the way", "", (call,)))
    said = alice.runs.say(run.id, "assistant", "By the way", parts=parts)
    assert said.parts["calls"][0]["arguments"] == {"n": str(2**64), "far": None}


def test_what_a_run_left_is_never_changed(alice: Any, desk: Any) -> None:
    run = note(alice, desk)
    said = alice.runs.transcript(run.id)
    for change in (
        lambda: alice.runs.succeed(run.id, slots={"text": "Other."}),
        lambda: alice.runs.fail(run.id, "no"),
        lambda: alice.runs.say(run.id, "assistant", "By the way"),
        lambda: alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60),
        lambda: alice.runs.renew(run.id, lease_seconds=60),
    ):
        with pytest.raises(Conflict):
            change()
    assert alice.runs.get(run.id) == run
    assert alice.runs.transcript(run.id) == said


def test_a_run_with_a_card_type_ends_in_a_card_and_a_chat_in_none(alice: Any, desk: Any) -> None:
    for kind, slots in (("manual", None), ("chat", {"text": "Hello."})):
        run = alice.runs.queue(desk.id, kind, prompt="go")
        with pytest.raises(Invalid):
            alice.runs.succeed(run.id, slots=slots)
    with pytest.raises(Invalid, match="text"):
        ran(alice, desk, {"title": "Nothing in it"})


def test_runs_are_listed_newest_first_page_by_page_without_specialists(alice: Any, desk: Any) -> None:
    lead = note(alice, desk)
    helper = ran(alice, desk, None, "manual", lead_run=lead.id, specialist="Tape")
    others = [note(alice, desk, kind) for kind in ("scheduled", "chat", "manual")]
    listed = alice.runs.list("Swing desk")
    assert [run.id for run in listed] == [run.id for run in (*reversed(others), lead)]
    assert [run.id for run in alice.runs.list(limit=2)] == [run.id for run in listed[:2]]
    assert [run.id for run in alice.runs.list(limit=2, before=listed[1].id)] == [run.id for run in listed[2:]]
    assert [run.kind for run in alice.runs.list(kind="chat")] == ["chat"]
    assert alice.runs.list(status="failed") == []
    assert [run.id for run in alice.runs.specialists(lead.id)] == [helper.id]


def test_a_run_whose_program_died_is_given_up_and_its_session_stays(alice: Any, desk: Any, kb: Any, clock: Any) -> None:
    run = alice.runs.queue(desk.id, "manual", prompt="go")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60)

    def swept() -> bool:
        with kb._database.write("alice") as tx:
            return runs.give_up(tx, engine.stamp(tx.clock()), run.id)

    alice.runs.renew(run.id, lease_seconds=300)
    clock.forward(seconds=120)
    with kb._database.read("alice") as tx:
        assert due.reminded_at(tx, RUN_LOST, run.id) is not None
    clock.forward(seconds=300)
    assert swept()
    assert alice.runs.get(run.id).status == "failed"
    assert "run it again" in alice.runs.get(run.id).error
    assert not swept()


# --- second looks -----------------------------------------------------------------------------------------


@pytest.fixture
def trader(alice: Any) -> Any:
    return alice.agents.create("Trader", card_type="trade-decision", memory_enabled=True)


def test_a_second_look_leaves_the_first_as_it_was(alice: Any, trader: Any) -> None:
    first = ran(alice, trader, LONG)
    decided, carried = alice.decisions.get(first.id), alice.agents.get(trader.id).memory.session
    looks = [
        ran(alice, trader, SECOND_LOOK | {"conviction_score": score}, "re-examination", parent_run=first.id)
        for score in (55, 30, 0)
    ]
    assert alice.runs.get(first.id) == first
    assert alice.decisions.get(first.id) == decided
    assert alice.runs.re_examinations(first.id) == looks
    assert [look.card.slots["conviction_score"] for look in looks] == [55, 30, 0]
    assert alice.agents.get(trader.id).memory.session == carried
    assert [run.session_before for run in looks] == [None, None, None]
    assert alice.decisions.find(looks[0].id) is None


def test_a_second_look_neither_reads_nor_moves_the_session(alice: Any, trader: Any) -> None:
    first = ran(alice, trader, LONG)
    turn = alice.agents.claim(trader.id, lease_seconds=60)
    look = alice.runs.queue(trader.id, "re-examination", prompt="again", parent_run=first.id)
    with pytest.raises(Invalid):
        alice.runs.succeed(look.id, slots=SECOND_LOOK, turn=turn, session="stolen")
    assert alice.agents.get(trader.id).memory.session == first.session_after


def test_a_closed_decision_is_not_looked_at_again(alice: Any, trader: Any) -> None:
    first = ran(alice, trader, LONG)
    assert alice.runs.may_re_examine(first.id)
    alice.decisions.exit(first.id, 101.0)
    assert not alice.runs.may_re_examine(first.id)
    with pytest.raises(Conflict) as refused:
        alice.runs.queue(trader.id, "re-examination", prompt="again", parent_run=first.id)
    assert refused.value.code == "closed"


def test_what_has_no_card_for_it_is_not_looked_at_again(alice: Any, trader: Any, desk: Any) -> None:
    quiet, first = note(alice, desk), ran(alice, trader, LONG)
    look = ran(alice, trader, SECOND_LOOK, "re-examination", parent_run=first.id)
    waiting = alice.runs.queue(trader.id, "manual", prompt="go")
    for agent, parent in ((desk, quiet), (trader, look), (trader, waiting)):
        with pytest.raises(Conflict) as refused:
            alice.runs.queue(agent.id, "re-examination", prompt="again", parent_run=parent.id)
        assert refused.value.code == "not_re_examinable"
    for parent in (None, first.id):
        with pytest.raises(Invalid):
            alice.runs.queue(desk.id, "re-examination", prompt="again", parent_run=parent)
    with pytest.raises(Invalid):
        alice.runs.queue(trader.id, "manual", prompt="again", parent_run=first.id)


def test_an_agents_own_last_cards_without_second_looks_and_specialists(alice: Any, trader: Any, clock: Any) -> None:
    first = ran(alice, trader, LONG)
    clock.forward(days=2)
    waiting = ran(alice, trader, WAIT)
    ran(alice, trader, SECOND_LOOK, "re-examination", parent_run=first.id)
    ran(alice, trader, None, "manual", lead_run=waiting.id, specialist="Tape")
    ran(alice, trader, None, "chat")
    alice.decisions.exit(first.id, 120.0)
    clock.forward(days=2)
    past = alice.agents.decisions("Trader")
    assert [one.line for one in past] == ["2d ago · WAIT · range unresolved", "4d ago · LONG · above the range"]
    assert [(one.state, one.outcome, one.result_r) for one in past] == [("open", None, None), ("resolved", "exited", 2)]
    assert [one.run_id for one in alice.agents.decisions("Trader", 1)] == [waiting.id]


def test_erasing_the_owner_takes_agents_runs_and_decisions(alice: Any, trader: Any) -> None:
    ran(alice, trader, LONG)
    counts = alice.erase(confirm="alice").counts
    assert (counts["agents"], counts["runs"], counts["transcripts"], counts["decisions"]) == (1, 1, 2, 1)
    assert alice.agents.list() == []
    assert alice.runs.list() == []


def test_another_adapter_starts_fresh(alice: Any) -> None:
    agent = alice.agents.create("Desk", memory_enabled=True)
    note(alice, agent)
    assert alice.agents.get("Desk").memory.session
    assert alice.agents.update("Desk", adapter="native").memory.session, "the same one goes on"
    changed = alice.agents.update("Desk", adapter="claude-cli")
    assert (changed.memory.status, changed.memory.session, changed.memory.runs) == ("fresh", None, 0)


def test_who_waits_for_the_session_is_told_until_when(alice: Any, clock: Any) -> None:
    agent = alice.agents.create("Desk", memory_enabled=True, schedule="30 7 * * *")
    assert (agent.memory.busy_until, agent.next_run) == (None, datetime(2026, 3, 2, 7, 30, tzinfo=UTC))
    held = alice.agents.claim(agent.id, lease_seconds=20)
    assert held is not None
    assert alice.agents.claim(agent.id, lease_seconds=20) is None
    until = alice.agents.get(agent.id).memory.busy_until
    assert until is not None
    assert timedelta(0) < until - clock.now <= timedelta(seconds=20)
    clock.forward(seconds=21)  # nobody renewed it: its program is gone
    assert alice.agents.get(agent.id).memory.busy_until is None
    assert alice.agents.claim(agent.id, lease_seconds=20) is not None
    assert alice.agents.update(agent.id, schedule=None).next_run is None
