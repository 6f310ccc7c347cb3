"""Every word that an agent is told, in one place.

The system prompt goes from the most stable to the least: who it is → its team → what is known of the person → the form
of its answer → what to go by. What belongs to one run (the hour, the reads of the team) travels with that run's prompt,
before it: the prompt is the last word. A re-examination's prompt is made from the earlier card alone
(`second_looks`); a specialist is told who it is and what to look at, and nothing else.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from keepbook.book.ground.when import zone_named
from keepbook.book.text.for_models.prompt_part import as_part
from keepbook.extensions.agents.book.agents import Agent, Specialist
from keepbook.extensions.agents.book.cards import CardType, instructions
from keepbook.extensions.agents.book.runs import Card
from keepbook.models.model import PromptMessage
from keepbook.models.prompt import TRUST

NO_PROMPT = "Do your work as your instructions say, as things stand now."
REVIEW = "Before anything else, call the tool get_my_decisions once and take your last decisions into account."

WRONG = """\
Your answer cannot be used:
{wrong}
Answer once more, with one JSON object of the form you were given, corrected, and nothing else."""

_CARD = """\
## Your answer

Work with your tools first, as far as you need them.
{form}"""

_BLIND = """\
You are {name}, one of several specialists who each look at one side of a matter for the lead of their team.
You are told what to look at and nothing else, so that your view is your own. Do not guess at positions or at earlier
decisions, and do not advise on them. Look with your tools, then answer in plain words, a few sentences: what you see
from your side, which way it points, and how sure you are."""

_READ = """\
Look at this now and give your own read of it:
{task}"""


@dataclass(frozen=True, slots=True)
class SpecialistReport:
    """What a specialist reports; `text` is None if its run failed."""

    name: str
    text: str | None


def system(agent: Agent, *, card: CardType | None = None, block: str = "") -> str:
    """The system prompt of an agent's run, or, without a card, of a chat with it."""
    return system_of(agent.name, agent.instructions, agent.team, card=card, block=block)


def system_of(
    name: str, instructed: str, team: Sequence[Specialist] = (), *, card: CardType | None = None, block: str = ""
) -> str:
    """The system prompt of an agent with this name and these instructions, which need not exist yet."""
    parts = [f"You are {name}.\n\n{instructed}".strip()]
    if team:
        roster = "\n".join(f"- {one.name}: {_first_line(one.instructions)}".rstrip(": ") for one in team)
        parts.append(f"## Your team\n\nYou lead these specialists:\n{roster}")
    if block.strip():
        parts.append(block)
    if card is not None:
        parts.append(_CARD.format(form=instructions(card)))
    return "\n\n".join([*parts, TRUST])


def blind(specialist: Specialist) -> str:
    """The system prompt of a specialist. It does not say who is asking, or why."""
    return "\n\n".join(filter(None, [_BLIND.format(name=specialist.name), specialist.instructions, TRUST]))


def run_prompt(
    text: str, now: datetime, zone: str, reads: Sequence[SpecialistReport] = (), feedback: Sequence[str] = ()
) -> PromptMessage:
    """A run's own prompt. Its hidden context has the time, how earlier percentages turned out, and the team's
    reports."""
    hidden = [clock_line(now, zone)]
    if feedback:
        hidden.append("What the probabilities that you stated have meant so far:\n" + "\n".join(feedback))
    if reads:
        hidden.append(f"What your team reads now:\n{_reports_as_json(reads)}")
    return PromptMessage("user", text.strip() or NO_PROMPT, "\n\n".join(hidden))


def task(text: str, now: datetime, zone: str) -> PromptMessage:
    """The prompt of a specialist."""
    return PromptMessage("user", _READ.format(task=text.strip() or NO_PROMPT), clock_line(now, zone))


def card_matter(card: Card, agent: Agent) -> str:
    """What a card is about, without what it says about it: its symbol (one word), else its subject, else the agent's
    name. The run's prompt is not taken, because it may tell of a position."""
    words = str(card.slots.get("symbol") or "").split()
    if words:
        return words[0]
    return str(card.slots.get("subject") or agent.name)


def clock_line(now: datetime, zone: str) -> str:
    there = now.astimezone(zone_named(zone))
    return f"It is {there:%A, %Y-%m-%d %H:%M} ({zone})."


def told_chat(said: Sequence[PromptMessage]) -> str:
    """A chat so far as one text, for a program that has no session of it."""
    lines = [f"{'Person' if one.role == 'user' else 'You'}: {one.text.strip()}" for one in said if one.text.strip()]
    return as_part("chat", "\n\n".join(lines))


def _reports_as_json(reads: Sequence[SpecialistReport]) -> str:
    """The reports, each as one line of JSON, so that no text in a report can look like the next report."""
    return "\n".join(
        f"- {one.name}: {json.dumps(one.text, ensure_ascii=False) if one.text else 'No read: this one failed.'}"
        for one in reads
    )


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
