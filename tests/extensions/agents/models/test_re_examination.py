"""Re-examination: the exact messages that each specialist and the lead were sent, and what comes of the answer.

No specialist sees position, entry, stop, target or the earlier decision. The session is neither read nor moved, and the
parent stays to the byte what it was.
"""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.agents.models.house import Breaks, House

from keepbook.errors import Conflict, NotFound
from keepbook.models.prompt import TRUST

pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
on_each_adapter = pytest.mark.parametrize("adapter", ["native", "claude-cli"])

TRADE = {
    "action": "LONG",
    "symbol": "ETH/USDT",
    "entry": 3412,
    "stop": 3260,
    "target": 3792,
    "size": 0.66,
    "conviction": 68,
    "reason": "closed above the August range",
    "thesis": "No supply until the target; if the range top fails on a close, the idea is wrong.",
    "watch_for": ["Daily close below 3380"],
    "expires": "2026-03-27T07:30:00Z",
}
TEAM = [
    {"name": "Tape", "instructions": "Read volume and closes."},
    {"name": "Macro", "instructions": "Rates, inflation, calendar."},
]
TOLD = ("LONG", "3412", "3260", "3792", "0.66", "68", "August", "supply", "3380", "2026-03-27", "decision type")
"""What of the earlier card no specialist may see; the symbol is what they are asked about."""

BLIND = """\
You are {name}, one of several specialists who each look at one side of a matter for the lead of their team.
You are told what to look at and nothing else, so that your view is your own. Do not guess at positions or at earlier
decisions, and do not advise on them. Look with your tools, then answer in plain words, a few sentences: what you see
from your side, which way it points, and how sure you are.

{instructions}

{trust}"""
ASKED = "Look at this now and give your own read of it:\nETH/USDT"
PROMPT = """\
Re-examine one earlier conclusion of yours. For this run the following replaces your usual task and the usual form of
your answer.

This is what you concluded on 2026-03-01 09:00 UTC (just now):
<decision type="trade-decision">
{slots}
</decision>

Look at the matter afresh, as it stands now, with your tools as far as you need them. Then judge how much of that
conclusion still holds: 0 means that it is fully invalidated, 100 that it is fully confirmed. Do not defend it because
it is yours, and do not drop it for movement that means nothing.
Answer with one JSON object, a re-examination, and nothing after it. Its keys:
- conviction_score: a number from 0 to 100; 0: the original conclusion is fully invalidated, 100: fully confirmed
- notes: text, at most 400 characters; one sentence on what changed
- suggested_action: HOLD or CLOSE or SCALE; what to do now, one short uppercase word
This is advice: nothing is carried out because of it, and the earlier card stays as it is."""


def looked(score: Any = 54, action: str = "HOLD", notes: str = "Breadth faded.") -> str:
    return json.dumps({"conviction_score": score, "notes": notes, "suggested_action": action})


@pytest.fixture
def house(build: Callable[..., House]) -> House:
    return build("native")


def decided(house: House, **told: Any) -> Any:
    house.agent(card_type="trade-decision", default_prompt="One trade, or wait.", **told)
    house.answers(*["a read"] * len(told.get("team", ())), json.dumps(TRADE))
    run = house.run()
    assert run.status == "succeeded", run.error
    return run


# --- what is sent


def test_the_messages_of_specialists_and_lead_to_the_letter(house: House) -> None:
    parent = decided(
        house, team=TEAM, instructions="Trade the daily picture.", memory_enabled=True, review_decisions=True
    )
    before = len(house.sent)
    house.answers("Volume rose on the last close.", "No figures until Thursday.", looked())
    again = house.re_examine(parent.id)
    assert again.status == "succeeded", again.error

    specialists, (lead,) = house.sent[before:-1], house.sent[-1:]
    by_name = {request.system.split(",")[0].removeprefix("You are "): request for request in specialists}
    for one in TEAM:
        request = by_name[one["name"]]
        assert request.system == BLIND.format(**one, trust=TRUST)
        (said,) = request.whole
        assert said[0] == "user"
        assert said[1].partition("</context>\n\n")[2] == ASKED
        assert said[1].startswith("<context>\nIt is Sunday, 2026-03-01 09:0")
        assert request.tools == ("get_bars",)
        assert [word for word in TOLD if word in request.everything] == []

    assert lead.system == f"You are Desk.\n\nTrade the daily picture.\n\n## Your team\n\n{_ROSTER}\n\n{TRUST}"
    assert lead.tools == ("get_my_decisions", "get_calibration", "get_bars")
    assert lead.conversation is not None
    prompt, review = lead.conversation.said
    assert review.calls[0].name == "get_my_decisions"
    hidden = str(prompt.hidden).partition("\n\n")[2]
    assert hidden == _READS.format(*_in_order(by_name, specialists))
    slots = json.dumps(parent.card.slots, ensure_ascii=False, indent=2)
    assert prompt.text == PROMPT.format(slots=slots)
    assert again.prompt == prompt.text


_ROSTER = "You lead these specialists:\n- Tape: Read volume and closes.\n- Macro: Rates, inflation, calendar."
_READS = """\
What your team reads now:
- Tape: "{}"
- Macro: "{}\""""


def _in_order(by_name: dict[str, Any], asked: Any) -> list[str]:
    """The reads were scripted in the order of asking, which is nobody's; the lead gets them in the team's."""
    read = dict(zip(map(id, asked), ("Volume rose on the last close.", "No figures until Thursday."), strict=True))
    return [read[id(by_name[name])] for name in ("Tape", "Macro")]


@on_each_adapter
def test_a_re_examination_neither_reads_nor_moves_the_session(adapter: str, build: Callable[..., House]) -> None:
    house = build(adapter)
    parent = decided(house, memory_enabled=True)
    before = house.memory
    house.answers(looked(), "Reply.")
    again = house.re_examine(parent.id)
    assert (again.session_before, again.session_after) == (None, None)
    assert [role for role, _ in house.sent[-1].said] == ["user"]
    assert (house.memory.session, house.memory.runs) == (before.session, 1)
    house.say("Why?")
    assert house.sent[-1].texts == ["One trade, or wait.", json.dumps(TRADE), "Why?"]


def test_specialists_of_another_program_are_blind_as_well(build: Callable[..., House]) -> None:
    house = build("claude-cli")
    parent = decided(house, team=TEAM, memory_enabled=True, use_block=True)
    house.book.remember("Long ETH from 3412, stop 3260")
    before = len(house.sent)
    house.answers("a", "b", looked())
    assert house.re_examine(parent.id).status == "succeeded"
    for request in house.sent[before:-1]:
        assert [word for word in TOLD if word in request.everything] == []
        assert request.told["resumed"] is None
        assert request.told["mcp"]["mcpServers"]["keepbook"]["args"][-1] == "--blind"
        assert "--strict-mcp-config" in request.told["flags"]
    lead = house.sent[-1]
    assert "--blind" not in lead.told["mcp"]["mcpServers"]["keepbook"]["args"]
    assert "Long ETH from 3412" in lead.system
    assert "3412" in lead.whole[-1][1]


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        ("I'm long 2 ETH/USDT from 1,850 with a stop at 1,700, what now?", "ETH/USDT"),
        ("We hold ETH/USDT since Monday. Look at the daily picture.", "ETH/USDT\nLook at the daily picture."),
        ("Short SOL since Friday: hold or close? Mind the CPI.", "SOL\nhold or close?\nMind the CPI."),
        ("Your last decision was right. What does volume say on ETH/USDT?", "What does volume say on ETH/USDT?"),
        ("My position is under water.", "Desk"),
        ("Entry was 1850. ETH/USDT?", "ETH/USDT?"),
        ("LONG, SHORT or WAIT on ETH/USDT? Mind the long-term picture, in short.", None),
        ("Where would an entry and a stop be?", None),
    ],
)
def test_a_prompt_that_names_a_position_does_not_reach_specialists(
    house: House, prompt: str, asked: str | None
) -> None:
    house.agent(card_type="trade-decision", team=TEAM[:1])
    house.answers("a read", json.dumps(TRADE))
    run = house.run(prompt)
    assert run.status == "succeeded", run.error
    specialist, lead = house.sent
    assert specialist.texts[-1].partition("read of it:\n")[2] == (asked or prompt)
    assert lead.texts[-1] == prompt
    (read,) = house.book.runs.specialists(run.id)
    assert "1,850" not in read.prompt


def test_a_document_under_review_reaches_specialists_whole(house: House) -> None:
    house.agent(team=TEAM[:1])
    house.answers("a read", "Fine.")
    prompt = "Review:\n// we hold the lock; short x = 5;\n.card { position: absolute }\nmy trades are in trades.csv"
    assert house.run(prompt).status == "succeeded"
    assert house.sent[0].texts[-1].endswith(prompt)


def test_specialists_work_at_the_same_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other: one after the other they would never end."""
    house.agent(team=TEAM)
    meeting = threading.Barrier(2, timeout=20)
    reply = house.model.reply

    async def meet(conversation: Any, tools: Any) -> Any:
        if "one of several specialists" in conversation.system:
            await asyncio.to_thread(meeting.wait)
        async for event in reply(conversation, tools):
            yield event

    monkeypatch.setattr(house.model, "reply", meet)
    house.answers("a", "b", "Together.")
    assert house.run("Go.").status == "succeeded"


def test_a_specialist_that_fails_is_told_to_the_lead_and_the_others_are_heard(house: House) -> None:
    house.agent(team=TEAM)
    house.answers(Breaks(), "seen", "Done.")
    run = house.run("Go.")
    assert run.status == "succeeded"
    hidden = house.sent[-1].whole[-1][1]
    assert "No read: this one failed." in hidden
    assert "seen" in hidden
    team = house.book.runs.specialists(run.id)
    assert {(one.specialist, one.lead_run) for one in team} == {("Tape", run.id), ("Macro", run.id)}
    assert sorted(one.status for one in team) == ["failed", "succeeded"]
    assert {one.session_after for one in team} == {None}
    assert [one.id for one in house.book.runs.list()] == [run.id]


# --- what comes of it


def test_the_parent_is_never_changed_and_its_history_grows(house: House, clock: Any) -> None:
    parent = decided(house)
    kept = house.book.runs.get(parent.id)
    for score, action in ((61, "HOLD"), (54, "HOLD"), (20, "CLOSE")):
        clock.forward(days=1)
        house.answers(looked(score, action))
        again = house.re_examine(parent.id)
        assert (again.kind, again.parent_run, again.card.type) == ("re-examination", parent.id, "re-examination")
    history = house.book.runs.re_examinations(parent.id)
    assert [run.card.slots["conviction_score"] for run in history if run.card] == [61, 54, 20]
    assert house.book.runs.get(parent.id) == kept
    assert house.book.agents.decisions("Desk")[0].run_id == parent.id
    assert len(house.book.agents.decisions("Desk")) == 1


@pytest.mark.parametrize("wrong", [looked(101), looked(-1), looked("high"), looked(54, "BUY"), looked(54, notes="")])
def test_an_answer_out_of_range_or_vocabulary_is_sent_back_once(house: House, wrong: str) -> None:
    parent = decided(house)
    house.answers(wrong, wrong)
    assert house.re_examine(parent.id).status == "failed"
    house.answers(wrong, looked(33, "CLOSE"))
    again = house.re_examine(parent.id)
    assert again.card is not None
    assert (again.card.slots["conviction_score"], again.card.slots["suggested_action"]) == (33, "CLOSE")


def test_without_a_vocabulary_any_short_uppercase_word_will_do(build: Callable[..., House], tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    cards.mkdir()
    (cards / "bet.toml").write_text(
        'name = "bet"\ntitle = "Bet"\nline = "{age} · {what}"\nre_examinable = "true"\n[slots.what]\ntype = "text"\n'
    )
    house = build("native", cards=cards)
    house.agent(card_type="bet")
    house.answers('{"what": "rain"}', looked(40, "UMBRELLA"), looked(40, "take an umbrella"), looked(40, "no"))
    run = house.run("Bet?")
    assert house.re_examine(run.id).status == "succeeded"
    assert house.re_examine(run.id).status == "failed"


def test_what_may_not_be_looked_at_again_is_refused_before_anything_is_sent(house: House) -> None:
    parent = decided(house)
    house.agent("Notes")
    house.answers("Plain words.")
    note = house.run("Go.", agent="Notes")
    sent = len(house.sent)
    with pytest.raises(Conflict) as refused:
        house.re_examine(note.id)
    assert refused.value.code == "not_re_examinable"
    house.book.decisions.exit(parent.id, 3500)
    with pytest.raises(Conflict) as refused:
        house.re_examine(parent.id)
    assert refused.value.code == "closed"
    with pytest.raises(NotFound):
        house.re_examine("nothere1")
    assert len(house.sent) == sent


def test_a_second_look_at_a_second_look_is_refused(house: House) -> None:
    parent = decided(house)
    house.answers(looked())
    again = house.re_examine(parent.id)
    with pytest.raises(Conflict):
        house.re_examine(again.id)
