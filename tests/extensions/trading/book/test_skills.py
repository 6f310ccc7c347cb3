"""Skills and deployments: what they say, version by version, what they are called, and how files bring them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from keepbook import Ambiguous, Conflict, Invalid, NotAllowed, NotFound
from keepbook.extensions.trading.book import skills
from keepbook.extensions.trading.book.face import Trading
from keepbook.extensions.trading.tables import skill_fields


@pytest.fixture
def trading(alice: Any) -> Trading:
    return Trading(alice)


def test_each_change_of_a_field_is_a_new_version_and_the_old_ones_stay(trading: Trading, clock: Any) -> None:
    skill = trading.create_skill("BTC scalper", strategy="Buy the dip.")
    assert (skill.strategy, skill.schedule, skill.versions) == (
        "Buy the dip.", None, {"strategy": 1, "schedule": 0, "chat": 0},
    )  # fmt: skip
    clock.forward(minutes=1)
    assert trading.set_field("btc SCALPER", "strategy", "Sell the rip.").version == 2
    assert trading.set_field(skill.id, "schedule", "Weekdays at eight").version == 1
    assert trading.skill("BTC scalper").strategy == "Sell the rip."
    said = trading.field_history("BTC scalper", "strategy")
    assert [(one.version, one.value, one.actor) for one in said] == [
        (2, "Sell the rip.", "person"), (1, "Buy the dip.", "person"),
    ]  # fmt: skip
    assert said[0].recorded_at > said[1].recorded_at
    assert {one.field for one in trading.field_history("BTC scalper")} == {"strategy", "schedule"}


def test_the_same_words_again_are_no_new_version(trading: Trading) -> None:
    trading.create_skill("Scalper", strategy="Buy the dip.")
    assert trading.set_field("Scalper", "strategy", " Buy the dip.\n").version == 1


def test_a_version_that_moved_on_is_not_overwritten_unseen(trading: Trading) -> None:
    trading.create_skill("Scalper")
    assert trading.set_field("Scalper", "chat", "Be brief.", expect_version=0).version == 1
    with pytest.raises(Conflict, match="version 1, not 0") as refused:
        trading.set_field("Scalper", "chat", "Be wordy.", expect_version=0)
    assert (refused.value.code, refused.value.details["current"]) == ("version", 1)
    assert trading.skill("Scalper").chat == "Be brief."


def test_who_wrote_a_field_and_in_which_chat_is_kept(kb: Any) -> None:
    agent = Trading(kb.book("alice", by="agent").acting(thread_id="chat-9", for_person=True))
    agent.create_skill("Scalper", chat="Be brief.")
    (said,) = agent.field_history("Scalper")
    assert (said.actor, said.thread_id) == ("agent", "chat-9")


def test_what_a_skill_said_is_never_rewritten(alice: Any, trading: Trading) -> None:
    trading.create_skill("Scalper", strategy="Buy the dip.")
    with pytest.raises((NotAllowed, DBAPIError), match=r"refuses|permission denied"), alice.writing() as (tx, _):
        tx.conn.execute(skill_fields.update().where(skill_fields.c.owner == tx.owner).values(value="Forged"))
    assert trading.skill("Scalper").strategy == "Buy the dip."


@pytest.mark.parametrize("field", ["mood", "", None, "Strategy"])
def test_a_skill_has_three_fields_and_no_other(trading: Trading, field: Any) -> None:
    trading.create_skill("Scalper")
    with pytest.raises(Invalid, match="strategy, schedule, chat"):
        trading.set_field("Scalper", field, "Something")


def test_a_name_is_used_once(trading: Trading) -> None:
    trading.create_skill("Scalper")
    with pytest.raises(Conflict, match="already"):
        trading.create_skill("SCALPER")
    trading.create_deployment("Main", "Scalper")
    with pytest.raises(Conflict, match="already"):
        trading.create_deployment("main", "Scalper")
    trading.create_deployment("Other", "Scalper")
    with pytest.raises(Conflict, match="already"):
        trading.change_deployment("Other", name="MAIN")
    assert trading.change_deployment("Main", name="MAIN").name == "MAIN"


def test_a_skill_is_found_by_id_name_or_a_piece_of_it(trading: Trading) -> None:
    first, second = trading.create_skill("BTC scalper"), trading.create_skill("ETH scalper")
    assert trading.skill(first.id) == first
    assert trading.skill("eth") == second
    with pytest.raises(Ambiguous) as several:
        trading.skill("scalper")
    assert {id for id, _ in several.value.candidates} == {first.id, second.id}
    with pytest.raises(NotFound, match="BTC scalper, ETH scalper"):
        trading.skill("SOL")
    for odd in ("", "\x00", "\ud800", "x" * 5000):
        with pytest.raises(NotFound):
            trading.skill(odd)
        with pytest.raises(NotFound):
            trading.deployment(odd)


def test_one_owners_skills_are_not_anothers(kb: Any, trading: Trading) -> None:
    skill = trading.create_skill("Scalper")
    deployment = trading.create_deployment("Main", "Scalper")
    bob = Trading(kb.book("bob"))
    assert (bob.skills(), bob.deployments()) == ([], [])
    with pytest.raises(NotFound):
        bob.skill(skill.id)
    with pytest.raises(NotFound):
        bob.deployment(deployment.id)
    with pytest.raises(NotFound):
        bob.create_deployment("Main", skill.id)


def test_a_deployment_has_what_it_was_given(trading: Trading) -> None:
    skill = trading.create_skill("Scalper")
    made = trading.create_deployment(
        "Main", "scalper", account="paper", capital="2500.50", currency="usdc", started_at="2026-01-01"
    )
    assert (made.skill_id, made.skill, made.account) == (skill.id, "Scalper", "paper")
    assert (made.capital, made.currency, made.ended_at) == (2500.5, "USDC", None)
    assert made.started_at == datetime(2026, 1, 1, tzinfo=UTC)
    changed = trading.change_deployment("Main", capital=None, ended_at="2026-02-01T00:00:00+01:00")
    assert (changed.capital, changed.account) == (None, "paper")
    assert changed.ended_at == datetime(2026, 1, 31, 23, tzinfo=UTC)
    assert trading.deployments("Scalper") == [changed]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"capital": 0}, "above 0"),
        ({"capital": "much"}, "above 0"),
        ({"capital": float("inf")}, "above 0"),
        ({"capital": True}, "above 0"),
        ({"started_at": "soon"}, "started_at"),
        ({"started_at": "2026-02-01", "ended_at": "2026-01-01"}, "ends after it started"),
        ({"leverage": 3}, "no 'leverage'"),
    ],
)
def test_a_deployment_that_cannot_be_is_refused(trading: Trading, given: dict[str, Any], why: str) -> None:
    trading.create_skill("Scalper")
    with pytest.raises(Invalid, match=why):
        trading.create_deployment("Main", "Scalper", **given)
    assert trading.deployments() == []


# --- files -----------------------------------------------------------------------------------------------

SKILLS = ["name,description,strategy,schedule,chat", 'Scalper,Quick ones,"Buy low,\nsell high",,Be brief', "Swing,,,,"]
DEPLOYMENTS = [
    "name,skill,account,capital,currency,started_at,ended_at",
    "Main,scalper,binance,10000,USDT,2026-01-01T00:00:00Z,",
    "Side,Swing,,,,,",
]


def counts(loaded: Any) -> tuple[int, int, int, int]:
    return loaded.added, loaded.changed, loaded.unchanged, loaded.wrong


def test_files_of_skills_and_deployments_are_loaded_and_twice_is_as_once(trading: Trading) -> None:
    assert counts(trading.load("skills", SKILLS)) == (2, 0, 0, 0)
    assert counts(trading.load("deployments", DEPLOYMENTS)) == (2, 0, 0, 0)
    before = trading.skills(), trading.deployments()
    assert counts(trading.load("skills", SKILLS)) == (0, 0, 2, 0)
    assert counts(trading.load("deployments", DEPLOYMENTS)) == (0, 0, 2, 0)
    assert (trading.skills(), trading.deployments()) == before
    assert trading.skill("Scalper").strategy == "Buy low,\nsell high"
    assert [one.capital for one in trading.deployments()] == [10_000, None]


def test_a_file_changes_what_it_says_and_leaves_what_it_does_not(trading: Trading) -> None:
    trading.load("skills", SKILLS), trading.load("deployments", DEPLOYMENTS)
    assert counts(trading.load("skills", ["name,strategy", "scalper,Wait."])) == (0, 1, 0, 0)
    skill = trading.skill("Scalper")
    assert (skill.strategy, skill.chat, skill.description, skill.versions["strategy"]) == (
        "Wait.", "Be brief", "Quick ones", 2,
    )  # fmt: skip
    assert counts(trading.load("deployments", ["name,skill,capital", "main,Scalper,12000"])) == (0, 1, 0, 0)
    changed = trading.deployment("Main")
    assert (changed.capital, changed.account) == (12_000, "binance")


def test_an_id_in_a_file_names_what_it_means(trading: Trading) -> None:
    rows = ["id,name,skill", "Main0001,Main,Scalper"]
    trading.load("skills", SKILLS)
    assert counts(trading.load("deployments", rows)) == (1, 0, 0, 0)
    assert counts(trading.load("deployments", ["id,name,skill", "Main0001,Main again,Scalper"])) == (0, 1, 0, 0)
    assert trading.deployment("Main0001").name == "Main again"


def test_wrong_rows_of_deployments_say_what_to_do(trading: Trading) -> None:
    trading.load("skills", SKILLS)
    rows = [
        DEPLOYMENTS[0], "Main,Nobody,,,,,", ",Scalper,,,,,", "Poor,Scalper,,-5,,,", DEPLOYMENTS[2], "Side,Scalper,,,,,",
    ]  # fmt: skip
    loaded = trading.load("deployments", rows)
    assert counts(loaded) == (1, 0, 0, 4)
    reasons = {refused.row: refused.reason for refused in loaded.refused}
    assert list(reasons) == [2, 3, 4, 6]
    assert "load a file of skills first" in reasons[2]
    assert "name is missing" in reasons[3]
    assert "capital" in reasons[4]
    assert "runs the skill 'Swing'" in reasons[6]
    assert [one.name for one in trading.deployments()] == ["Side"]


def test_a_wrong_skill_leaves_nothing_half_made(trading: Trading) -> None:
    rows = ["name,strategy,chat", f"Scalper,Buy low,{'x' * (skills.TEXT_LIMIT + 1)}", "Swing,Hold,"]
    loaded = trading.load("skills", rows)
    assert counts(loaded) == (1, 0, 0, 1)
    assert [skill.name for skill in trading.skills()] == ["Swing"]


FILLS = b"Date,Symbol,Side,Quantity,Price\n2026-01-05,AAA/USDT,buy,1,100\n"


def test_skills_and_deployments_change_by_entries_with_undo(kb: Any, alice: Any) -> None:
    trading = alice.trading
    skill = trading.create_skill("Swing", strategy="Buy low.")
    said = trading.set_field("Swing", "strategy", "Buy lower.")
    running = trading.create_deployment("Main", "Swing", capital=100)
    changed = trading.change_deployment("Main", capital=200, name="Other")
    assert trading.change_deployment("Other", capital=200).event is None, "nothing changed"
    assert [one.action for one in alice.ledger(limit=4)] == ["set"] * 4
    redo = alice.undo(changed.event)
    assert (trading.deployment("Main").capital, redo.what, redo.id) == (100, "deployment", running.id)
    alice.undo(redo.event)
    assert trading.deployment("Other").capital == 200
    alice.undo(said.event)
    assert [one.value for one in trading.field_history("Swing", "strategy")] == ["Buy low.", "Buy lower.", "Buy low."]
    with pytest.raises(Conflict, match="it has deployments"):
        alice.undo(skill.event)
    header = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price"
    load = trading.load("trades", [header, "Other,AAA,long,1,2026-01-05,100,2026-01-06,110"]).load
    with pytest.raises(Conflict, match="trades came into it"):
        alice.undo(running.event)
    trading.take_back(load)
    alice.undo(running.event)
    assert trading.deployments() == []
    alice.undo(skill.event)
    assert trading.skills() == []
    assert alice.verify().ok
    agent = kb.book(alice.owner, by="agent")
    for change in (
        lambda: agent.trading.create_skill("Mine"),
        lambda: agent.trading.load("skills", ["name", "Mine"]),
        lambda: agent.trading.create_deployment("Mine", "Swing"),
        lambda: agent.trading.bring_in(FILLS),
        lambda: agent.trading.bring_in(FILLS, dry_run=True),
    ):
        with pytest.raises(NotAllowed) as no:
            change()
        assert no.value.code == "person_only"
    assert agent.acting(for_person=True).trading.create_skill("Theirs").event is not None, "at the person's turn"
    trading.create_deployment("Main", "Theirs")
    assert agent.trading.bring_in(FILLS, deployment="Main").added == 1
    assert [one.name for one in trading.deployments()] == ["Main"]
