"""Runs: one execution of an agent each, what was said in it, and the card it ended in.

A run is queued, running, and then succeeded or failed for good: its row never changes again, whatever is found out
later. A re-examination is a run of its own that points at its parent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepbook.book.agents import Turn
from keepbook.book.cards import CardTypes
from keepbook.storage.database import Tx

KINDS = ("scheduled", "manual", "chat", "re-examination")


@dataclass(frozen=True, slots=True)
class Card:
    type: str
    slots: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it stands. `specialist` names which of the team it was, with `lead_run` the run of the lead."""

    id: str
    agent_id: str
    kind: str
    status: str
    prompt: str
    adapter: str | None
    model: str | None
    card_type: str | None
    """The type that its answer must have; `card` is there once it has succeeded."""
    card: Card | None
    error: str | None
    parent_run: str | None
    lead_run: str | None
    specialist: str | None
    thread_id: str | None
    session_before: str | None
    session_after: str | None
    tokens_in: int
    tokens_out: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One turn of a transcript. `parts` holds tool calls and their answers. Never the memory block: see injections."""

    turn: int
    role: str
    text: str
    parts: Any
    at: datetime
    tokens: int


def queue(
    tx: Tx,
    now: str,
    cards: CardTypes,
    agent_id: str,
    kind: str,
    *,
    prompt: str,
    card_type: str | None = None,
    parent_run: str | None = None,
    lead_run: str | None = None,
    specialist: str | None = None,
    thread_id: str | None = None,
) -> Run:
    """Begin a run. Its card type is the agent's (re-examination: that card); a chat and a specialist need none.

    A re-examination is refused (`Conflict`, code `not_re_examinable` or `closed`) where the parent's card does not allow
    it, or not any more.
    """
    raise NotImplementedError


def start(tx: Tx, now: str, run_id: str, *, adapter: str, model: str | None, lease_seconds: float) -> Run:
    """From queued to running. A run that has not finished when the lease ends is given up by the sweep."""
    raise NotImplementedError


def say(tx: Tx, now: str, run_id: str, role: str, text: str, *, parts: Any = None) -> Line:
    """Add to the transcript of a running run; it is never rewritten."""
    raise NotImplementedError


def succeed(
    tx: Tx,
    now: str,
    cards: CardTypes,
    run_id: str,
    *,
    slots: Mapping[str, Any] | None,
    tokens_in: int = 0,
    tokens_out: int = 0,
    turn: Turn | None = None,
    session: str | None = None,
) -> Run:
    """The result for good: card, decision, and the agent's session moved to `session`, together or not at all.

    `slots` are as `cards.validate` answered them. `turn` is given back. After a reset meanwhile nothing is moved, and
    `session_after` is empty. A turn that was lost is a `Conflict` (`lost_turn`).
    """
    raise NotImplementedError


def fail(
    tx: Tx, now: str, run_id: str, error: str, *, tokens_in: int = 0, tokens_out: int = 0, turn: Turn | None = None
) -> Run:
    """Failed for good, with its transcript kept; the session is where it was, the turn given back."""
    raise NotImplementedError


def give_up(tx: Tx, now: str, run_id: str) -> bool:
    """Fail a run whose lease is over (its process died); for the sweep. False when there is nothing to do."""
    raise NotImplementedError


def get(tx: Tx, run_id: str) -> Run:
    raise NotImplementedError


def listed(
    tx: Tx,
    *,
    agent_id: str | None = None,
    kind: str | None = None,
    status: str | None = None,
    limit: int = 50,
    before: str | None = None,
) -> Sequence[Run]:
    """Newest first, without the runs of specialists; `before` is the id of the last one seen."""
    raise NotImplementedError


def re_examinations(tx: Tx, run_id: str) -> Sequence[Run]:
    """In time order."""
    raise NotImplementedError


def specialists(tx: Tx, run_id: str) -> Sequence[Run]:
    """The runs of the team under a lead's run, in the team's order."""
    raise NotImplementedError


def transcript(tx: Tx, run_id: str) -> Sequence[Line]:
    raise NotImplementedError


def carried(tx: Tx, agent_id: str) -> Sequence[tuple[int, Run, Sequence[Line]]]:
    """The agent's session as it is stored: (step, run, transcript) of all that moved it since the last fresh start."""
    raise NotImplementedError
