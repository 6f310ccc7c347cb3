"""The faces of a book for agents: the agents themselves, their runs, and their decisions.

Thin like the book: each method opens the owner's transaction and calls the one operation that does the work.
"""

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from keepbook.book.ground import due
from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import Moment, read_moment, stamp
from keepbook.book.owners import owners, switches
from keepbook.book.owners.authority import refusal_reason
from keepbook.extensions.agents.authority import ask_agent
from keepbook.extensions.agents.book import (
    agents,
    arming,
    calibration,
    decisions,
    forecasts,
    prices,
    recording,
    results,
    runs,
    second_looks,
)
from keepbook.extensions.agents.book.agents import Agent, SessionLease
from keepbook.extensions.agents.book.calibration import Calibration
from keepbook.extensions.agents.book.cards import CardType, CardTypes, card_types
from keepbook.extensions.agents.book.decisions import Decision, PastCard
from keepbook.extensions.agents.book.due_work import ANSWER, RESOLVE
from keepbook.extensions.agents.book.forecasts import DueForecast
from keepbook.extensions.agents.book.outcomes.series import WITNESSED, clean_series
from keepbook.extensions.agents.book.recording import RecordedDecision, Transcript
from keepbook.extensions.agents.book.results import Former
from keepbook.extensions.agents.book.runs import Run, TranscriptTurn
from keepbook.extensions.agents.book.scoring import brought_in
from keepbook.extensions.agents.book.scoring.brought_in import BroughtForecast, BroughtIn, ForecastSource
from keepbook.extensions.agents.book.scoring.comparison import AgentComparison, compare_agents
from keepbook.extensions.agents.book.second_looks import SecondLook
from keepbook.storage.database import Tx


@explain_arguments
class Agents:
    """The agents of a book: `book.agents`. Wherever an agent is named, its id or its name will do."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    @property
    def cards(self) -> CardTypes:
        """The card types in force, and the files that could not be read."""
        return card_types((self._book.settings.cards,))

    def create(self, name: str, **given: Any) -> Agent:
        """Create an agent. Only the name is needed; see `agents.FIELDS` for the rest."""
        ask_agent(self._book.hand, given)
        with self._book.writing() as (tx, _):
            made = agents.create_agent(tx, stamp(tx.clock()), self._types, name, **given)
            return self._set_up(tx, made)

    def get(self, ref: str) -> Agent:
        with self._book.reading() as (tx, _, _):
            return agents.find_agent(tx, ref)

    def list(self) -> Sequence[Agent]:
        """The agents in the order in which they were made."""
        with self._book.reading() as (tx, _, _):
            return agents.list_agents(tx)

    def update(self, ref: str, **given: Any) -> Agent:
        """Change an agent; what is not given stays. `memory_enabled=True` starts fresh."""
        ask_agent(self._book.hand, given)
        with self._book.writing() as (tx, _):
            changed = agents.change(tx, stamp(tx.clock()), self._types, agents.find_agent(tx, ref).id, **given)
            return self._set_up(tx, changed)

    def arm(self, ref: str) -> Agent:
        """Let it run by its schedule, and start its program, on this machine; an import never does."""
        with self._book.writing() as (tx, _):
            agent = agents.find_agent(tx, ref)
            if agent.adapter == arming.PROGRAM:
                self._book.ask("programs.arm")
            else:
                self._book.ask("agents.change")
            arming.arm(tx, stamp(tx.clock()), agent.id)
            agents.schedule_next_run(tx, agent.id)
            return agents.get_agent(tx, agent.id)

    def disarm(self, ref: str) -> Agent:
        """Let its schedule rest, and do not start its program here."""
        self._book.ask("agents.change")
        with self._book.writing() as (tx, _):
            agent = agents.find_agent(tx, ref)
            arming.disarm(tx, agent.id)
            return agents.get_agent(tx, agent.id)

    def _set_up(self, tx: Tx, agent: Agent) -> Agent:
        """Who sets an agent up here arms it; a program only who may start one."""
        if agent.adapter != arming.PROGRAM or refusal_reason(self._book.hand, "programs.arm") is None:
            arming.arm(tx, stamp(tx.clock()), agent.id)
        else:
            arming.disarm(tx, agent.id)
        return agents.get_agent(tx, agent.id)

    def reset(self, ref: str) -> Agent:
        """Let the next run start without a past; chats and decisions stay."""
        self._book.ask("agents.change")
        with self._book.writing() as (tx, _):
            return agents.reset(tx, stamp(tx.clock()), agents.find_agent(tx, ref).id)

    def delete(self, ref: str) -> Agent:
        """Remove an agent from every list; its runs and decisions stay."""
        self._book.ask("agents.change")
        with self._book.writing() as (tx, _):
            return agents.remove_agent(tx, stamp(tx.clock()), agents.find_agent(tx, ref).id)

    def restore(self, id: str) -> Agent:
        """Restore a deleted agent by its id; its session starts fresh."""
        self._book.ask("agents.change")
        with self._book.writing() as (tx, _):
            return agents.restore_agent(tx, stamp(tx.clock()), id)

    def keep_thread(self, id: str, thread_id: str) -> None:
        """Let the chat with an agent go on in this thread."""
        with self._book.writing() as (tx, _):
            agents.keep_thread(tx, id, thread_id)

    def claim(self, id: str, *, lease_seconds: float) -> SessionLease | None:
        """Take the lease on the shared session; None while somebody else has it."""
        with self._book.writing() as (tx, _):
            return agents.claim_session(tx, id, stamp(tx.clock()), lease_seconds=lease_seconds)

    def renew(self, held: SessionLease, *, lease_seconds: float) -> bool:
        """Renew the lease; False if somebody else has it by now."""
        with self._book.writing() as (tx, _):
            return agents.renew_session(tx, held, stamp(tx.clock()), lease_seconds=lease_seconds)

    def give_back(self, held: SessionLease) -> None:
        """Release the lease."""
        with self._book.writing() as (tx, _):
            agents.release_session(tx, held)

    def compress(self, held: SessionLease, through: int, summary: str) -> None:
        """Let `summary` replace the steps of the session through this one."""
        with self._book.writing() as (tx, _):
            agents.compress(tx, held, through, summary)

    def decisions(self, ref: str, limit: int = 5) -> Sequence[PastCard]:
        """The agent's own last cards, newest first: what `get_my_decisions` answers."""
        with self._book.reading() as (tx, _, _):
            return decisions.past_cards(tx, self.cards, agents.find_agent(tx, ref).id, limit=limit)

    @property
    def _types(self) -> Sequence[str]:
        return sorted(self.cards.types)


@explain_arguments
class Runs:
    """The runs of a book: `book.runs`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def queue(self, agent_id: str, kind: str, *, prompt: str, **told: Any) -> Run:
        """Begin a run; see `runs.queue`."""
        with self._book.writing() as (tx, _):
            return runs.queue(tx, stamp(tx.clock()), self._cards, agent_id, kind, prompt=prompt, **told)

    def start(
        self, run_id: str, *, adapter: str, model: str | None, lease_seconds: float, turn: SessionLease | None = None
    ) -> Run:
        with self._book.writing() as (tx, _):
            now = stamp(tx.clock())
            return runs.start_run(tx, now, run_id, adapter=adapter, model=model, lease_seconds=lease_seconds, turn=turn)

    def renew(self, run_id: str, *, lease_seconds: float) -> None:
        """Renew the run's lease: the sweep waits a while longer before it gives this run up."""
        with self._book.writing() as (tx, _):
            runs.renew_run(tx, stamp(tx.clock()), run_id, lease_seconds=lease_seconds)

    def say(self, run_id: str, role: str, text: str, *, parts: Any = None) -> TranscriptTurn:
        with self._book.writing() as (tx, _):
            return runs.add_to_transcript(tx, stamp(tx.clock()), run_id, role, text, parts=parts)

    def succeed(self, run_id: str, *, slots: Mapping[str, Any] | None = None, **told: Any) -> Run:
        """Store the result for good: card, decision and session together; see `runs.succeed`."""
        with self._book.writing() as (tx, _):
            return runs.succeed(tx, stamp(tx.clock()), self._cards, run_id, slots=slots, **told)

    def fail(self, run_id: str, error: str, **told: Any) -> Run:
        with self._book.writing() as (tx, _):
            return runs.fail(tx, stamp(tx.clock()), run_id, error, **told)

    def get(self, run_id: str) -> Run:
        with self._book.reading() as (tx, _, _):
            return runs.get_run(tx, run_id)

    def list(self, agent: str | None = None, **filters: Any) -> Sequence[Run]:
        """The runs, newest first; `kind`, `status`, `limit`, `before`."""
        with self._book.reading() as (tx, _, _):
            agent_id = None
            if agent is not None:
                agent_id = agents.find_agent(tx, agent).id
            return runs.list_runs(tx, agent_id=agent_id, **filters)

    def re_examinations(self, run_id: str) -> Sequence[Run]:
        """The second looks at a run, in time order."""
        with self._book.reading() as (tx, _, _):
            return runs.re_examinations(tx, run_id)

    def looks_at(self, run_ids: Sequence[str]) -> dict[str, builtins.list[Run]]:
        """The second looks at each of these runs, in time order."""
        with self._book.reading() as (tx, _, _):
            return runs.second_looks_at(tx, run_ids)

    def several(self, run_ids: Sequence[str]) -> dict[str, Run]:
        """Runs by their ids."""
        with self._book.reading() as (tx, _, _):
            return runs.several(tx, run_ids)

    def specialists(self, run_id: str) -> Sequence[Run]:
        with self._book.reading() as (tx, _, _):
            return runs.specialists(tx, run_id)

    def transcript(self, run_id: str) -> Sequence[TranscriptTurn]:
        """What was said in a run. It holds what was recalled, so with memory off only the person reads it."""
        with self._book.reading() as (tx, _, _):
            if self._book.hand.is_program:
                switches.refuse_memory_off(tx)
            return runs.run_transcript(tx, run_id)

    def carried(self, turn: SessionLease) -> Sequence[tuple[int, Run, Sequence[TranscriptTurn]]]:
        """The steps of a session since its last reset, without compressed ones: step number, run and transcript."""
        with self._book.reading() as (tx, _, _):
            return runs.session_steps(tx, turn)

    def may_re_examine(self, run_id: str) -> bool:
        """Whether the card type allows another look, and still does."""
        with self._book.reading() as (tx, _, _):
            return runs.why_not_re_examined(tx, self._cards, runs.get_run(tx, run_id)) is None

    @property
    def _cards(self) -> CardTypes:
        return card_types((self._book.settings.cards,))


@explain_arguments
class Decisions:
    """How decisions turn out: `book.decisions`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def get(self, run_id: str, *, known_at: Moment = None) -> Decision:
        """A decision as it is, or as it was known at an instant."""
        with self._book.reading() as (tx, _, _):
            return decisions.get_decision(tx, run_id, _known_at(tx, known_at))

    def history(self, run_id: str) -> Sequence[Former]:
        """What was known of its end before bars came late or were corrected, the oldest first."""
        with self._book.reading() as (tx, _, _):
            return results.outcome_history(tx, decisions.get_decision(tx, run_id).run_id)

    def refuse_ambiguous(self, card: CardType, slots: Mapping[str, Any]) -> None:
        """Raise `Invalid`, with the choices, if a card's symbol may mean several of those that have bars."""
        with self._book.reading() as (tx, _, _):
            decisions.refuse_ambiguous_symbol(tx, card, slots)

    def find(self, run_id: str) -> Decision | None:
        """The decision of a run, if its card made one."""
        with self._book.reading() as (tx, _, _):
            return decisions.find_decision(tx, run_id)

    def list(
        self, *, state: str | None = None, agent: str | None = None, limit: int = 100, **filters: Any
    ) -> Sequence[Decision]:
        """The decisions, newest first; `forecasts` (only those, or none of them), `offset`, `by_due` (what is due
        first)."""
        with self._book.reading() as (tx, _, _):
            whose = None
            if agent is not None:
                whose = agents.find_agent(tx, agent).id
            return decisions.list_decisions(tx, state=state, agent_id=whose, limit=limit, **filters)

    def count(self, *, agent: str | None = None, **filters: Any) -> dict[str, int]:
        """How many there are in each state; `due`: forecasts whose date is over and that nobody has answered."""
        with self._book.reading() as (tx, _, now):
            whose = None
            if agent is not None:
                whose = agents.find_agent(tx, agent).id
            return decisions.count_decisions(tx, now, agent_id=whose, **filters)

    def due(self, *, agent: str | None = None, limit: int = 100) -> Sequence[DueForecast]:
        """The forecasts that wait for an answer past their date, the longest waiting first: what a resolver asks."""
        with self._book.reading() as (tx, _, now):
            whose = None
            if agent is not None:
                whose = agents.find_agent(tx, agent).id
            return forecasts.due_forecasts(tx, self._cards, now, agent_id=whose, limit=limit)

    def first_resolved(self, agent: str | None = None) -> datetime | None:
        """When the first of the resolved trades was decided."""
        with self._book.reading() as (tx, _, _):
            if agent is None:
                return decisions.first_resolved(tx, None)
            return decisions.first_resolved(tx, agents.find_agent(tx, agent).id)

    def record(
        self,
        agent: str,
        card: Mapping[str, Any],
        *,
        made_at: Moment = None,
        key: str | None = None,
        transcript: Transcript = None,
        link: str | None = None,
        model: str | None = None,
        prompt_version: str | None = None,
    ) -> RecordedDecision:
        """Record a card of the agent's type that was made elsewhere. The same key with the same card is replayed, with
        another it is a `Conflict`."""
        with self._book.writing() as (tx, _):
            return recording.record(
                tx, stamp(tx.clock()), self._cards, agents.find_agent(tx, agent).id, card, made_at=made_at, key=key,
                transcript=transcript, link=link, model=model, prompt_version=prompt_version,
            )  # fmt: skip

    def bring_in(self, agent: str, source: ForecastSource, *, dry_run: bool = False) -> BroughtIn:
        """Bring in what was forecast elsewhere, with its own dates: a record of its own, not witnessed here. The same
        again changes nothing; `book.take_back(load)` takes it out."""
        self._book.ask("decisions.record")
        with self._book.writing() as (tx, _):
            whose = agents.find_agent(tx, agent).id
            if isinstance(source, str | PathLike):
                title = Path(source).name
            else:
                title = brought_in.FORECASTS
            return brought_in.bring_in_forecasts(
                tx, self._book.origin, self._cards, whose, source, dry_run=dry_run, title=title
            )

    def brought_in(self, agent: str | None = None, *, limit: int = 100, offset: int = 0) -> Sequence[BroughtForecast]:
        """What was brought in, the newest made first."""
        with self._book.reading() as (tx, _, _):
            whose = None
            if agent is not None:
                whose = agents.find_agent(tx, agent).id
            return brought_in.list_brought_forecasts(tx, agent_id=whose, limit=limit, offset=offset)

    def second_look(self, run_id: str) -> SecondLook:
        """The prompt and slots for a second look at a run that is made elsewhere."""
        with self._book.reading() as (tx, _, now):
            return second_looks.ask_second_look(tx, now, self._cards, run_id)

    def record_second_look(self, run_id: str, card: Mapping[str, Any], **told: Any) -> RecordedDecision:
        """Record a second look made elsewhere; `made_at`, `key`, `transcript`, `link`, `model`, `prompt_version` as in
        `record`."""
        with self._book.writing() as (tx, _):
            return recording.record_second_look(tx, stamp(tx.clock()), self._cards, run_id, card, **told)

    def answer(
        self,
        run_id: str,
        outcome: bool | str | float | None,
        *,
        at: Moment = None,
        note: str | None = None,
        settled_early: str | None = None,
    ) -> Decision:
        """Say how a forecast came out: true, false, which choice or number it was; None: it cannot be told. Before its
        date `settled_early` says why it is settled already."""
        with self._book.writing() as (tx, _):
            return forecasts.answer_forecast(
                tx, self._book.hand, self._cards, run_id, outcome, at=at, note=note, settled_early=settled_early,
                name=self._book.origin.name,
            )  # fmt: skip

    def exit(self, run_id: str, price: float | None = None, *, at: Any = None) -> Decision:
        """Record that the person got out at a price."""
        with self._book.writing() as (tx, _):
            return decisions.exit_at(tx, self._book.origin, run_id, price, at=at)

    def follow(self) -> int:
        """Follow every open decision on the new bars, and again those whose bars came late or were corrected; returns
        how many were closed. The sweep does it too."""
        with self._book.writing() as (tx, _):
            forecasts.resolve_all_anew(tx, self._cards, prices.unsettled_spans(tx.conn))
            followed = sum(decisions.follow(tx, run_id) for run_id in due.reminders(tx, RESOLVE))
            return followed + sum(
                forecasts.settle_forecast(tx, self._cards, run_id) for run_id in due.reminders(tx, ANSWER)
            )

    def calibration(
        self,
        agent: str | None = None,
        *,
        forecasts: bool = False,
        known_at: Moment = None,
        series: str = WITNESSED,
    ) -> Calibration:
        """The calibration of trades, or of forecasts: what was stated against outcomes, as known now or at an instant.
        Of what the book has witnessed; `series` names what counts apart: recorded_later, self_graded, brought_in."""
        with self._book.reading() as (tx, _, _):
            whose = None
            if agent is not None:
                whose = agents.find_agent(tx, agent).id
            asked: dict[str, Any] = {"known_at": _known_at(tx, known_at), "series": clean_series(series)}
            if forecasts:
                return calibration.of_forecasts(tx, self._cards, agent_id=whose, **asked)
            return calibration.calibration(tx, agent_id=whose, **asked)

    def compare(self, agent: str, other: str, *, series: str = WITNESSED, tag: str | None = None) -> AgentComparison:
        """Two agents on the questions that both forecast within a day of each other."""
        with self._book.reading() as (tx, _, _):
            one, two = (agents.find_agent(tx, ref).id for ref in (agent, other))
            return compare_agents(tx, self._cards, one, two, series=clean_series(series), tag=tag)

    @property
    def _cards(self) -> CardTypes:
        return card_types((self._book.settings.cards,))


def _known_at(tx: Tx, known_at: Moment) -> str | None:
    return read_moment(known_at, field="known_at", moment=tx.clock(), zone=owners.zone_name(tx))
