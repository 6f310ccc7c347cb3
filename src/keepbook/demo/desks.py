"""The chapter of the demo about her agents: a desk that trades on paper, a team that watches interest rates, and an
agent that writes down her household numbers on Sundays.

Their runs are carried out by the usual runner, with prompts, tools, cards, the shared session, blind specialists, and
decisions that are followed on bars. The desk's cards, also those of second looks, are computed by the rule of its card
type. The answers about rates and Sundays, which a model would give, are written here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from keepbook.book.chats.threads import estimate
from keepbook.demo.life import OFFLINE, AtOnce, Life, StoryClock, StoryStep
from keepbook.demo.plays import Calendar
from keepbook.demo.prices import price_lines
from keepbook.errors import ModelFailed
from keepbook.extensions.agents.book import agents
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.models.runner import Runner
from keepbook.models.choose import Models
from keepbook.models.model import (
    ClosingChat,
    Conversation,
    DialogueTurn,
    Extraction,
    ReplyEvent,
    ReplyFinished,
    Toolbox,
    Usage,
)

ScriptedAnswer = str | dict[str, Any]
ScriptedAnswers = dict[str, ScriptedAnswer]
"""Answers by the name of the agent or specialist that gives them. A text is a reply, an object the slots of a card."""
DESK, RATES, SUNDAY = "Swing desk", "Rate watch", "Sunday numbers"
HOURS = "30 7 * * 1-4"
"""The desk's schedule: 7:30 from Monday to Thursday."""
WEEKDAYS = (0, 1, 2, 3)
"""The same days, as `datetime.weekday` counts them."""

KEPT = "What about BTC/EUR, with the room of a whole week?"
LATEST = "One more for the week: ETH/EUR, if it is worth it."
BUY = "SOL/EUR has climbed since last week. Is that a trade, and how sure are you?"
LOOKED_AGAIN = (-17, -15, -13)
"""The days, counted from the end of the story, on which she has the answer to `BUY` looked at again."""
TEAM = (
    {"name": "Central bank", "instructions": "Reads what the central bank says and does, and what markets expect."},
    {"name": "Offers", "instructions": "Reads what banks ask for ten and fifteen years fixed, and at what fees."},
)
THESES: tuple[tuple[str, ScriptedAnswers], ...] = (
    (
        "-40 19:20",
        {
            "Central bank": "One cut is priced in for spring, a second one is a coin toss. It points a little down.",
            "Offers": "Ten years fixed is offered at 3.2 to 3.4 %, above what runs now. It points to waiting.",
            RATES: {
                "subject": "Fixing the mortgage anew before it runs out", "stance": "NEGATIVE", "conviction": 71,
                "claim": "Waiting costs nothing: every offer is above the 2.9 % that runs now.",
                "evidence": ["Offers stand at 3.2 to 3.4 %", "A cut in spring is priced in", "The fee is about €1,100"],
                "would_change": ["An offer under 2.9 %", "A jump in inflation"],
            },
        },
    ),
    (
        "-12 19:35",
        {
            "Central bank": "Two cuts are priced in now, after weak figures. It points down; surer than last time.",
            "Offers": "The best offer came down to 3.0 %. Still above what runs now, and the gap is closing.",
            RATES: {
                "subject": "Fixing the mortgage anew before it runs out", "stance": "NEGATIVE", "conviction": 64,
                "claim": "Still too early, but no longer by much: look again below 2.9 %.",
                "evidence": ["The best offer is 3.0 %", "Two cuts are priced in"],
                "would_change": ["An offer under 2.9 %"],
            },
        },
    ),
)  # fmt: skip
SECOND_THOUGHTS: ScriptedAnswers = {
    "Central bank": "A member of the council spoke against a second cut; markets gave back half of it.",
    "Offers": "Nothing new since the 3.0 % of last week.",
    RATES: {
        "conviction_score": 69, "suggested_action": "KEEP",
        "notes": "With the second cut in doubt, an offer under 2.9 % is further away than it looked.",
    },
}  # fmt: skip
SUNDAYS = (
    ("-24 18:10", "Groceries €612 so far, €40 under plan. The move is paid off. Nothing needs doing this week."),
    ("-3 18:05", "Groceries €298 so far, on plan. Jonas's severance pay arrived; the buffer stands at four months."),
)


@dataclass(slots=True)
class Cast:
    """A model that gives the scripted answer of whoever is asked; the name stands at the beginning of the prompt."""

    clock: StoryClock
    words: ScriptedAnswers = field(default_factory=dict)
    name: str = "demo:agents"

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        who = conversation.system.removeprefix("You are ").split(".")[0].split(",")[0]
        self.clock.wait(7)
        answer = self.words[who]
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        sent = estimate(conversation.system) + sum(estimate(said.text) for said in conversation.said)
        yield ReplyFinished(text, (), Usage(sent, estimate(text)))

    async def extract(self, reading: ClosingChat) -> Extraction:
        return await OFFLINE.extract(reading)

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        return await OFFLINE.summarise(previous, turns)

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        return await OFFLINE.title(turns)


# The chapter


def agent_steps(calendar: Calendar) -> Iterator[StoryStep]:
    """The steps of this chapter, not in the order of time."""
    at, cast = calendar.moment, Cast(StoryClock(calendar.now))
    yield StoryStep(at("-92 20:30"), _begin)
    for day in range(-91, 1):
        moment = at(f"{day:+d} 07:30")
        if moment.weekday() in WEEKDAYS and moment < calendar.now - timedelta(minutes=10):
            yield StoryStep(moment, partial(_run_scheduled, cast=cast))
        elif moment.weekday() == 4 and day < -1:
            yield StoryStep(at(f"{day:+d} 18:00"), partial(_look_again, cast=cast, most=1))
    yield StoryStep(at("-41 20:10"), lambda life: life.book.agents.update(DESK, memory_enabled=True))
    for day in range(-36, -20, 2):
        yield StoryStep(at(f"{day:+d} 19:30"), _get_out)
    yield StoryStep(at("-19 08:10"), partial(_run, cast=cast, ref=DESK, prompt=BUY))
    yield StoryStep(at("-7 08:40"), partial(_run, cast=cast, ref=DESK, prompt=KEPT))
    yield StoryStep(at("now-95m"), partial(_run, cast=cast, ref=DESK, prompt=LATEST))
    for day in LOOKED_AGAIN:
        yield StoryStep(at(f"{day:+d} 09:05"), partial(_doubt, cast=cast))
    for when, words in THESES:
        yield StoryStep(at(when), partial(_run, cast=cast, ref=RATES, words=words))
    yield StoryStep(at("-4 20:15"), partial(_think_again, cast=cast))
    for when, text in SUNDAYS:
        yield StoryStep(at(when), partial(_run, cast=cast, ref=SUNDAY, words={SUNDAY: text}))
    yield StoryStep(at("-1 18:20"), partial(_look_again, cast=cast, most=4))
    yield StoryStep(at("now-1m"), lambda life: life.book.decisions.follow())


def _begin(life: Life) -> None:
    """Load the prices that the desk trades on, and create the agents."""
    life.kb.market.load(price_lines(life.calendar))
    life.book.agents.create(
        DESK, card_type="drift-trade", schedule=HOURS,
        instructions="Trades on paper, to learn whether a stated conviction means anything; no money is in it.\n"
        "Takes BTC/EUR, ETH/EUR and SOL/EUR in turn and goes with the drift, or waits. A rule decides, no model.",
        default_prompt="Look at the pair whose turn it is, and decide.",
    )  # fmt: skip
    life.clock.wait(240)
    life.book.agents.create(
        RATES, card_type="research-thesis", memory_enabled=True, team=TEAM,
        instructions="Watches whether the mortgage should be fixed anew before it runs out.",
        default_prompt="Should the mortgage be fixed anew now?",
    )  # fmt: skip
    life.clock.wait(180)
    life.book.agents.create(
        SUNDAY, instructions="Writes down the week's household numbers in three sentences.",
        default_prompt="How did the week go?",
    )  # fmt: skip


def _execute(life: Life, cast: Cast, work: Callable[[Runner], Awaitable[Run]], words: ScriptedAnswers) -> Run:
    """Carry out a run with these scripted answers; raises `ModelFailed` if it does not succeed."""
    cast.clock, cast.words = life.clock, words

    async def done() -> Run:
        return await work(life.kb.runner(life.book, models=Models(cast, cast, OFFLINE)))

    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(AtOnce())
        run = runner.run(done())
    if run.status != "succeeded":
        raise ModelFailed(f"a run of the story {run.status}: {run.error}")
    return run


def _run(
    life: Life, cast: Cast, ref: str, prompt: str | None = None, words: ScriptedAnswers | None = None
) -> Run:  # fmt: skip
    return _execute(life, cast, lambda runner: runner.run(ref, prompt), words or {})


def _run_scheduled(life: Life, cast: Cast) -> None:
    """Carry out the desk's scheduled run, and set the time of its next one, as a sweep would."""
    life.book.decisions.follow()
    _execute(life, cast, lambda runner: runner.run(DESK, kind="scheduled"), {})
    with life.book.writing() as (tx, _):
        agents.schedule_next_run(tx, agents.find_agent(tx, DESK).id)


def _look_again(life: Life, cast: Cast, most: int) -> None:
    """Re-examine the oldest open trades that were filled, `most` of them at most."""
    life.book.decisions.follow()
    held = [one for one in life.book.decisions.list(state="open", forecasts=False) if one.so_far_r is not None]
    oldest_first = held[::-1]
    for one in oldest_first[:most]:
        _execute(life, cast, partial(Runner.re_examine, run_id=one.run_id), {})
        life.clock.wait(20)


def _doubt(life: Life, cast: Cast) -> None:
    """Re-examine the answer to `BUY`."""
    life.book.decisions.follow()
    trade = next(run for run in life.book.runs.list(DESK, kind="manual") if run.prompt == BUY)
    _execute(life, cast, partial(Runner.re_examine, run_id=trade.id), {})


def _think_again(life: Life, cast: Cast) -> None:
    """Re-examine the latest thesis about rates."""
    thesis = life.book.runs.list(RATES, kind="manual", limit=1)[0]
    _execute(life, cast, partial(Runner.re_examine, run_id=thesis.id), SECOND_THOUGHTS)


def _get_out(life: Life) -> None:
    """Exit the open trade with the best result so far, if that is above 0.2 R, and if she has not exited one before."""
    life.book.decisions.follow()
    ahead = [one for one in life.book.decisions.list(state="open", forecasts=False) if (one.so_far_r or 0) > 0.2]
    resolved = life.book.decisions.list(state="resolved", forecasts=False)
    has_exited_one = any(one.closed_by == "person" for one in resolved)
    if ahead and not has_exited_one:
        best = max(ahead, key=lambda one: one.so_far_r or 0.0)
        life.book.decisions.exit(best.run_id, best.last_close)
