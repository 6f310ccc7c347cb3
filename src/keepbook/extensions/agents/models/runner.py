"""Performs a run, from its prompt to its card.

With Active Memory a run first takes the lease on the agent's one session and keeps it to the end, so that chat and runs
come one after the other. Then the specialists of the team, if there is one, look at the matter, blind and all at once.
The lead's answer is read into the card; if it does not fit, it gets one more try. Card, transcript and the new state of
the session are stored together or not at all. A run that fails leaves the session as it was, and keeps its transcript.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from logging import Logger

from keepbook.book.book import Book
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import present
from keepbook.book.memory import injections
from keepbook.book.owners import choices
from keepbook.errors import Conflict, Invalid, KeepbookError, LimitReached, ModelFailed, NotAllowed, NotFound
from keepbook.extensions.agents.book import second_looks
from keepbook.extensions.agents.book.agents import Agent, Specialist
from keepbook.extensions.agents.book.cards import RULE_PREFIX, CardType, read_card
from keepbook.extensions.agents.book.runs import TEXT_LIMIT, Run
from keepbook.extensions.agents.book.scoring.feedback import feedback_lines
from keepbook.extensions.agents.models import prompts
from keepbook.extensions.agents.models.adapter import Adapter, Execution, ExecutionResult, message_to_parts
from keepbook.extensions.agents.models.blind_task import blind_task
from keepbook.extensions.agents.models.card_rules import ByRule
from keepbook.extensions.agents.models.claude_cli import ClaudeCli, ClaudeCliPlace
from keepbook.extensions.agents.models.judges import missing_judge
from keepbook.extensions.agents.models.native import Native
from keepbook.extensions.agents.models.prompts import SpecialistReport
from keepbook.extensions.agents.models.run_in_progress import (
    RunInProgress,
    failure_code,
    given_texts,
    spent_on_failure,
)
from keepbook.extensions.agents.tools import toolbox
from keepbook.models.chat import over_cap
from keepbook.models.choose import Models
from keepbook.models.compress import Budget
from keepbook.models.model import PromptMessage, ReplyEvent, Usage
from keepbook.models.reply_limits import check_answer, storable_text, within_time
from keepbook.models.unfinished_replies import ReplyPiece

log: Logger = get_logger(__name__)

LEASE_SECONDS = 20.0
"""How long a run keeps its lease without renewing it. It renews it four times in this time."""
PATIENCE_SECONDS = 3600.0
"""How long a run waits for its turn on the session."""
STOPPED = "it was stopped before it was done"


class Runner:
    """Performs the runs of one book's agents."""

    def __init__(
        self, book: Book, models: Models, *, budget: Budget, monthly_tokens: int | None, place: ClaudeCliPlace
    ) -> None:
        self.book = book
        self.models = models
        self.budget = budget
        self._monthly_tokens = monthly_tokens
        self._program = ClaudeCli(place)
        self._by_rule = ByRule(book)
        self._adapters: dict[str, Adapter] = {
            Native.name: Native(book, models, budget=budget),
            ClaudeCli.name: self._program,
        }

    # Beginning a run

    async def run(self, ref: str, prompt: str | None = None, *, kind: str = "manual") -> Run:
        """Run an agent now, with its default prompt or this one."""
        queued = await asyncio.to_thread(self.queue, ref, prompt, kind=kind)
        return await self.perform(queued.id)

    async def re_examine(self, run_id: str) -> Run:
        """Look again at what an earlier run concluded."""
        queued = await asyncio.to_thread(self.queue_again, run_id)
        return await self.perform(queued.id)

    def queue(self, ref: str, prompt: str | None = None, *, kind: str = "manual") -> Run:
        agent = self.book.agents.get(ref)
        self.refuse(agent)
        return self.book.runs.queue(agent.id, kind, prompt=prompt or agent.default_prompt)

    def queue_again(self, run_id: str) -> Run:
        """A re-examination that waits to be performed. Its prompt is made here, from the parent's slots alone."""
        parent = self.book.runs.get(run_id)
        with contextlib.suppress(NotFound):  # if the agent was removed, `queue` below refuses it
            self.refuse(self.book.agents.get(parent.agent_id))
        text = ""
        if parent.card is not None:  # without a card, `queue` below refuses it
            form = self.book.agents.cards.re_examination_of(self.book.agents.cards.get(parent.card.type))
            text = second_looks.second_look_prompt(parent.card, second_looks.card_made_at(parent), self.book.now, form)
        return self.book.runs.queue(parent.agent_id, "re-examination", prompt=text, parent_run=parent.id)

    def refuse(self, agent: Agent) -> None:
        """Raise unless this agent may run here. An agent that starts a program needs permission, a program that the
        operator has named, and to be armed on this machine."""
        if agent.adapter != ClaudeCli.name:
            return
        self.book.ask("programs.start")
        self._program.check_allowed()
        if not agent.armed:
            raise NotAllowed(
                f"{agent.name} is not armed on this machine; the person says that its program may start: "
                f"keepbook agent arm {agent.id}",
                code="not_armed",
            )

    async def perform(self, run_id: str) -> Run:
        """Carry a queued run through, to its card or to its failure."""
        with contextlib.suppress(KeepbookError):
            work = await asyncio.to_thread(self.take, run_id)
            async with self.keep_alive(work):
                await self._decide(work)
        return await asyncio.to_thread(self.book.runs.get, run_id)

    # Steps of a run, which the chat with an agent uses too

    def take(self, run_id: str) -> RunInProgress:
        """Take up a queued run. It fails if its agent was removed."""
        run = self.book.runs.get(run_id)
        try:
            agent = self.book.agents.get(run.agent_id)
        except NotFound:
            self.book.runs.fail(run_id, "its agent is not there any more", code="no_agent")
            raise
        return RunInProgress(run, agent)

    @asynccontextmanager
    async def keep_alive(self, work: RunInProgress) -> AsyncIterator[None]:
        """Renew the leases of a run as long as the block lasts. If the block raises, the run fails."""
        living = asyncio.create_task(self._live(work))
        try:
            yield
        except KeepbookError as error:
            await asyncio.to_thread(self.fail, work, error.message, failure_code(error))
            raise
        except BaseException as error:
            why, code = f"this should not happen: {type(error).__name__}", "fault"
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | GeneratorExit):
                why, code = STOPPED, "stopped"
            with contextlib.suppress(KeepbookError):  # if this fails too, the sweep will let the run fail
                self.fail(work, why, code)  # not in a thread: a task that is being cancelled would not wait for it
            raise
        finally:
            living.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await living

    async def execute(
        self, work: RunInProgress, order: Execution
    ) -> AsyncGenerator[ReplyEvent | ExecutionResult, None]:
        """Execute an order and yield its events. Messages and cost are noted in `work`, also if it breaks off."""
        await asyncio.to_thread(self.refuse, order.agent)
        work.said.append(order.prompt)
        piece, done = ReplyPiece(), False
        try:
            async with aclosing(within_time(self._executor(order).execute(order), work.limits)) as events:
                async for event in events:
                    if isinstance(event, ExecutionResult):
                        piece, done = ReplyPiece(), True
                        work.said += event.said[1:]
                        work.count(event.usage)
                        work.model = event.model
                        check_answer(event.text)
                        work.limits.check_tokens()
                    else:
                        piece.add(event)
                    yield event
        except (ModelFailed, LimitReached, GeneratorExit, asyncio.CancelledError) as error:
            if not done:
                work.count(spent_on_failure(order, error, piece))
            if piece:
                work.said.append(PromptMessage("assistant", piece.text, calls=piece.calls))
            raise

    def _executor(self, order: Execution) -> Adapter:
        if order.card is not None and order.card.computed is not None:
            return self._by_rule
        return self._adapters[order.agent.adapter]

    def start(self, work: RunInProgress, model: str | None = None) -> None:
        """Set the run to running. Its time limit counts from here."""
        adapter = work.agent.adapter
        work.model = model or work.agent.model
        if not work.model and adapter == Native.name:
            work.model = self.models.chat.name
        work.limits.begun = time.monotonic()
        self.book.runs.start(
            work.run.id, adapter=adapter, model=work.model, lease_seconds=LEASE_SECONDS, turn=work.held
        )
        work.started = True

    def keep(self, work: RunInProgress, slots: dict[str, object] | None, done: ExecutionResult) -> Run:
        """Store transcript, cost, card and session of a run that has succeeded."""
        spent = work.usage
        session = done.session if work.held else None
        with self.book.transaction():
            for one in work.said:
                self._say(work.run.id, one)
            self._count(work)
            return self.book.runs.succeed(
                work.run.id, slots=slots, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out,
                turn=work.held, session=session,
            )  # fmt: skip

    def fail(self, work: RunInProgress, why: str, code: str | None = None) -> None:
        """Store transcript and cost of a run that has failed, and release the session as it was."""
        spent = work.usage
        with self.book.transaction():
            status = self.book.runs.get(work.run.id).status
            is_running_here = status == "running" and work.started
            if is_running_here:
                for one in work.said:
                    self._say(work.run.id, one)
            if status == "queued" or is_running_here:  # else another process performs it, or has ended it
                self._count(work)
                self.book.runs.fail(
                    work.run.id, why, code=code, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, turn=work.held
                )
            elif work.held is not None:
                self.book.agents.give_back(work.held)

    def block(self, work: RunInProgress) -> injections.Injection:
        """Make the block for this run, stored under the run's id."""
        if not work.agent.use_block:
            return injections.NOTHING
        with self.book.writing() as (tx, preset):
            if not choices.get_choices(tx).memory:
                return injections.NOTHING
            return injections.inject_lines(tx, preset, present(tx), work.run.id, scope=work.agent.id, space="chat")

    # Deciding

    async def _decide(self, work: RunInProgress) -> None:
        """Carry out a run that decides: the team's reports first, then the lead's answer, which is stored as a card."""
        run, agent = work.run, work.agent
        task, card = await asyncio.to_thread(self._task, work)
        missing = await asyncio.to_thread(self.missing_judge, agent, run.kind, card)
        if missing is not None:
            raise missing
        await self.turn(work)
        model = f"{RULE_PREFIX}{card.computed}" if card.computed else None
        await asyncio.to_thread(self.start, work, model)
        now, zone = self.book.now, await asyncio.to_thread(lambda: self.book.zone)
        reports = [] if card.computed else await self._reads(work, prompts.task(task, now, zone))
        block = await asyncio.to_thread(self.block, work)
        system_card: CardType | None = card
        if run.kind == "re-examination":  # its prompt says which form the answer has
            system_card = None
        feedback = await asyncio.to_thread(self._feedback, work, card)
        tools = await asyncio.to_thread(toolbox, self.book.acting(actor="agent"), agent)
        order = Execution(
            agent,
            prompts.system(agent, card=system_card, block=block.text),
            prompts.run_prompt(run.prompt, now, zone, reports, feedback),
            tools,
            held=work.held,
            card=card,
            model=agent.model,
            review=agent.review_decisions,
            block=block.lines,
            limits=work.limits,
        )
        slots, done = await self._answer(work, order, card)
        await asyncio.to_thread(self.keep, work, slots, done)

    def _feedback(self, work: RunInProgress, card: CardType) -> list[str]:
        """How a forecaster's earlier percentages turned out, in lines for its prompt; none if the card has no
        forecast."""
        if card.forecast is None:
            return []
        return feedback_lines(self.book.decisions.calibration(work.agent.id, forecasts=True))

    def missing_judge(
        self, agent: Agent, kind: str, card: CardType | None = None, model: str | None = None
    ) -> KeepbookError | None:
        """The error that says why no model can make this card now, or None. The cap of the month holds for scheduled
        runs only: a run that the person begins may exceed it."""
        capped = kind == "scheduled" and over_cap(self.book, self._monthly_tokens)
        return missing_judge(self.models, agent, card, over_cap=capped, model=model)

    def _task(self, work: RunInProgress) -> tuple[str, CardType]:
        """What the team is to look at, and the card type of the lead's answer."""
        run, types = work.run, self.book.agents.cards
        if run.parent_run is None:
            card = types.get(run.card_type or work.agent.card_type)
            if work.agent.team:
                return self._blind_task(run.prompt, work.agent, card), card
            return run.prompt, card
        parent = self.book.runs.get(run.parent_run)
        if parent.card is None:
            raise Conflict(f"run {parent.id} has no card to look at again", code="not_re_examinable")
        card_type = types.get(parent.card.type)
        return prompts.card_matter(parent.card, work.agent), types.re_examination_of(card_type)

    def _blind_task(self, prompt: str, agent: Agent, card: CardType) -> str:
        """The prompt for the specialists, without what it says of positions; their prices help to recognise that."""
        held = self.book.decisions.list(state="open", agent=agent.id)
        every = [level for one in held for level in (one.entry, one.stop, one.target)]
        levels = [level for level in every if level is not None]
        return blind_task(prompt, agent, card, levels)

    async def _answer(
        self, work: RunInProgress, order: Execution, card: CardType
    ) -> tuple[dict[str, object], ExecutionResult]:
        """The slots of the card in the answer, and the result. A card that does not fit is sent back once, with what is
        wrong."""
        done = await self._result_of(work, order)
        try:
            return await asyncio.to_thread(self._read_card, work, order, card, done), done
        except Invalid as error:
            wrong = prompts.WRONG.format(wrong=error.message)
        done = await self._result_of(
            work, replace(order, prompt=PromptMessage("user", wrong), after=done, review=False)
        )
        try:
            return await asyncio.to_thread(self._read_card, work, order, card, done), done
        except Invalid as error:
            raise ModelFailed(f"card refused twice: {error.message}", cause="invalid_card") from None

    def _read_card(
        self, work: RunInProgress, order: Execution, card: CardType, done: ExecutionResult
    ) -> dict[str, object]:
        before = done.past.said if done.past else ()
        given = [text for one in (*before, *work.said) for text in given_texts(one)]
        slots = read_card(card, done.text, stamp(self.book.now), given=given, instructed=[order.system])
        self.book.decisions.refuse_ambiguous(card, slots)
        return slots

    async def _result_of(self, work: RunInProgress, order: Execution) -> ExecutionResult:
        async for event in self.execute(work, order):
            if isinstance(event, ExecutionResult):
                return event
        raise ModelFailed("the answer did not come to an end", cause="garbage")

    # The team

    async def _reads(self, lead: RunInProgress, task: PromptMessage) -> list[SpecialistReport]:
        """The reports of the specialists, in the team's order. One that fails does not stop the others."""
        return await asyncio.gather(*(self._read(lead, one, task) for one in lead.agent.team))

    async def _read(self, lead: RunInProgress, specialist: Specialist, task: PromptMessage) -> SpecialistReport:
        """Carry out the run of a specialist; its report has no text if the run fails."""
        agent, model = lead.agent, specialist.model or lead.agent.model
        # A specialist of a re-examination must not learn that there was an earlier run.
        kind = "manual" if lead.run.kind == "re-examination" else lead.run.kind
        run = await asyncio.to_thread(
            lambda: self.book.runs.queue(
                agent.id, kind, prompt=task.text, lead_run=lead.run.id, specialist=specialist.name
            )
        )
        work = RunInProgress(run, agent)
        order = Execution(
            agent,
            prompts.blind(specialist),
            task,
            toolbox(self.book, agent, blind=True),
            model=model,
            blind=True,
            limits=work.limits,
        )
        try:
            async with self.keep_alive(work):
                missing = await asyncio.to_thread(self.missing_judge, agent, kind, None, model)
                if missing is not None:
                    raise missing
                await asyncio.to_thread(self.start, work, model)
                done = await self._result_of(work, order)
                await asyncio.to_thread(self.keep, work, None, done)
        except KeepbookError:
            return SpecialistReport(specialist.name, None)
        return SpecialistReport(specialist.name, done.text)

    # The session and the lease

    async def turn(self, work: RunInProgress) -> None:
        """Wait for the lease on the shared session and take it, if the run uses the session at all: a re-examination
        and a specialist neither read nor change it."""
        agent = work.agent
        if not agent.memory_enabled or work.run.kind == "re-examination" or work.run.lead_run is not None:
            return
        end, wait = time.monotonic() + PATIENCE_SECONDS, 0.02
        while time.monotonic() < end:
            try:
                work.held = await asyncio.to_thread(
                    lambda: self.book.agents.claim(agent.id, lease_seconds=LEASE_SECONDS)
                )
            except Conflict as error:
                if error.code != "no_session":
                    raise
                return  # Active Memory was switched off meanwhile, or all memory: there is no session to lease
            if work.held is not None:
                return
            await asyncio.sleep(wait)
            wait = min(1.0, wait * 1.5)
        raise Conflict(f"{agent.name} has been busy for an hour; try again later", code="busy")

    async def _live(self, work: RunInProgress) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 4)
            try:
                await asyncio.to_thread(self._renew, work)
            except KeepbookError as error:  # the database may be busy now; the next try comes before the lease ends
                log.warning("run %s: %s", work.run.id, error.code)

    def _renew(self, work: RunInProgress) -> None:
        with self.book.transaction():
            self.book.runs.renew(work.run.id, lease_seconds=LEASE_SECONDS)
            if work.held is not None:
                self.book.agents.renew(work.held, lease_seconds=LEASE_SECONDS)

    def _say(self, run_id: str, one: PromptMessage) -> None:
        self.book.runs.say(run_id, one.role, storable_text(one.text, TEXT_LIMIT), parts=message_to_parts(one))

    def _count(self, work: RunInProgress) -> None:
        if work.usage != Usage():
            self.book.spending.count(
                "run", work.model or work.agent.adapter, work.usage.tokens_in, work.usage.tokens_out
            )
