"""The commands `keepbook agent …` (the agents) and `keepbook run …` (what they did).

`agent run` carries a run out in this process and shows its result when it ends; if the run failed, the command exits
with 1. Scheduled runs are begun by `keepbook serve` and `keepbook jobs`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.book.ground.when import zone_named
from keepbook.doors.cli.terminal import ending
from keepbook.doors.cli.terminal.command import Invocation, RefusedOtherwise, command, group
from keepbook.doors.cli.terminal.streams import reading, show_progress
from keepbook.errors import Invalid, KeepbookError
from keepbook.extensions.agents import sheets

if TYPE_CHECKING:
    from keepbook.extensions.agents.book.runs import Run
    from keepbook.extensions.agents.models.runner import Runner

PANEL = "Agents"
NEXT = {
    "agent": "; `keepbook agent list` shows what there is",
    "run": "; `keepbook run list` shows what there is",
}
"""What an error about a field is followed by on the command line: the command that shows the right values."""

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="Its name, or its id.", show_default=False)]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Its id, as `run list` shows it.", show_default=False)]
Prompt = Annotated[
    str | None, typer.Argument(metavar="[PROMPT]", help="Instead of its own prompt; - reads it from stdin.")
]
RunLimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")]
Instructions = Annotated[
    str | None, typer.Option("--instructions", metavar="TEXT", help="Its skill, in words; @FILE reads a file.")
]
DefaultPrompt = Annotated[str | None, typer.Option("--prompt", metavar="TEXT", help="What a run is asked.")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME", help="Another than the chat model.")]
AdapterOption = Annotated[str | None, typer.Option("--adapter", help="native, claude-cli or external.")]
CardTypeOption = Annotated[str | None, typer.Option("--card", metavar="TYPE", help="trade-decision, note, … or yours.")]
Schedule = Annotated[
    str | None, typer.Option("--schedule", metavar="CRON", help="'30 7 * * 1-5'; an empty text takes it away.")
]
Team = Annotated[
    list[str] | None,
    typer.Option("--specialist", metavar="NAME=TEXT", help="One of its team, with its instructions; several."),
]
UseBlock = Annotated[bool | None, typer.Option("--block/--no-block", help="Tell it what is known of you.")]
ReviewOption = Annotated[
    bool | None, typer.Option("--review/--no-review", help="It looks at its last decisions first.")
]
MemoryOption = Annotated[bool | None, typer.Option("--memory/--no-memory", help="Active Memory, from the start.")]
SecondLooksOption = Annotated[
    bool | None, typer.Option("--second-looks/--no-second-looks", help="Its notes, too, may be looked at again.")
]
RunSecondsOption = Annotated[int | None, typer.Option("--run-seconds", help="The longest a run may take; 900.")]
RunToolCallsOption = Annotated[int | None, typer.Option("--run-tool-calls", help="Tool calls of a run; 40.")]
RunTokensOption = Annotated[int | None, typer.Option("--run-tokens", help="Tokens of a run; any number.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is called.", show_default=False)]
NewName = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Call it so from now on.")]


def register(app: typer.Typer) -> None:
    agent = group(app, "agent", panel=PANEL, words="Let agents work for you, by hand or by the clock.")
    command(agent, "create", create, writes=True)
    command(agent, "list", listing)
    command(agent, "show", show)
    command(agent, "update", update, writes=True)
    command(agent, "enable-memory", enable_memory, writes=True)
    command(agent, "disable-memory", disable_memory, writes=True)
    command(agent, "reset", reset, writes=True)
    command(agent, "arm", arm, writes=True)
    command(agent, "disarm", disarm, writes=True)
    command(agent, "run", run, writes=True)
    command(agent, "record", record, writes=True)
    command(agent, "bring-in", bring_in, writes=True)
    command(agent, "check", check)
    command(agent, "decisions", decisions)
    command(agent, "calibration", calibration)
    command(agent, "cards", cards)
    command(agent, "delete", delete, writes=True)
    runs = group(app, "run", panel=PANEL, words="Look at what agents did, and look at it again.")
    command(runs, "list", list_runs)
    command(runs, "show", show_run)
    command(runs, "re-examine", re_examine, writes=True)
    command(runs, "due", list_due)
    command(runs, "resolve", resolve, writes=True)


# Agents


def create(
    call: Invocation,
    name: Name,
    instructions: Instructions = None,
    prompt: DefaultPrompt = None,
    model: ModelOption = None,
    adapter: AdapterOption = None,
    card: CardTypeOption = None,
    schedule: Schedule = None,
    specialist: Team = None,
    block: UseBlock = None,
    memory: MemoryOption = None,
    review: ReviewOption = None,
    looks: SecondLooksOption = None,
    run_seconds: RunSecondsOption = None,
    run_tool_calls: RunToolCallsOption = None,
    run_tokens: RunTokensOption = None,
) -> None:
    """Make an agent; a name is enough."""
    given = _given_settings(
        instructions=instructions, default_prompt=prompt, model=model, adapter=adapter, card_type=card,
        schedule=schedule, team=specialist, use_block=block, memory_enabled=memory, review_decisions=review,
        second_looks=looks, run_seconds=run_seconds, run_tool_calls=run_tool_calls, run_tokens=run_tokens,
    )  # fmt: skip
    call.answer(call.book.agents.create(name, **given), sheets.agent_made_sheet)


def arm(call: Invocation, agent: AgentArgument) -> None:
    """Let an agent run by its schedule, and start its program, on this machine; an import never does."""
    call.answer(call.book.agents.arm(agent), sheets.agent_armed_sheet)


def disarm(call: Invocation, agent: AgentArgument) -> None:
    """Let its schedule rest, and its program not be started here."""
    call.answer(call.book.agents.disarm(agent), sheets.agent_armed_sheet)


def listing(call: Invocation) -> None:
    """List the agents, with what they carry."""
    call.answer(call.book.agents.list(), sheets.agents_sheet)


def show(call: Invocation, agent: AgentArgument) -> None:
    """Show an agent, its Active Memory and its last runs."""
    found = call.book.agents.get(agent)
    runs = call.book.runs.list(found.id, limit=10)
    if call.as_json:
        call.json(found)
        return
    sheets.agent_sheet(call.paper, found, runs)


def update(
    call: Invocation,
    agent: AgentArgument,
    name: NewName = None,
    instructions: Instructions = None,
    prompt: DefaultPrompt = None,
    model: ModelOption = None,
    adapter: AdapterOption = None,
    card: CardTypeOption = None,
    schedule: Schedule = None,
    specialist: Team = None,
    block: UseBlock = None,
    review: ReviewOption = None,
    looks: SecondLooksOption = None,
    run_seconds: RunSecondsOption = None,
    run_tool_calls: RunToolCallsOption = None,
    run_tokens: RunTokensOption = None,
) -> None:
    """Change an agent: only what is given."""
    given = _given_settings(
        name=name, instructions=instructions, default_prompt=prompt, model=model, adapter=adapter, card_type=card,
        schedule=schedule, team=specialist, use_block=block, review_decisions=review, second_looks=looks,
        run_seconds=run_seconds, run_tool_calls=run_tool_calls, run_tokens=run_tokens,
    )  # fmt: skip
    if not given:
        raise Invalid("say what should change; see: keepbook agent update --help", field="agent")
    call.answer(call.book.agents.update(agent, **given), sheets.agent_changed_sheet, "changed")


def enable_memory(call: Invocation, agent: AgentArgument) -> None:
    """Switch Active Memory on: chat and runs share one session, which starts fresh."""
    answer = call.book.agents.update(agent, memory_enabled=True)
    call.note("Its context grows with each run, and so does what a run costs; reset it now and then.")
    call.answer(answer, sheets.agent_changed_sheet, "remembers from here on")


def disable_memory(call: Invocation, agent: AgentArgument) -> None:
    """Switch Active Memory off: what is there is kept, and no run sees it."""
    call.answer(
        call.book.agents.update(agent, memory_enabled=False), sheets.agent_changed_sheet, "starts each run fresh"
    )


def reset(call: Invocation, agent: AgentArgument) -> None:
    """Start its session fresh; chats and decisions stay."""
    call.answer(call.book.agents.reset(agent), sheets.agent_changed_sheet, "starts fresh")


def delete(call: Invocation, agent: AgentArgument) -> None:
    """Take an agent out of every list; its runs and decisions stay."""
    call.answer(call.book.agents.delete(agent), sheets.agent_changed_sheet, "is gone; what it did stays")


def run(call: Invocation, agent: AgentArgument, prompt: Prompt = None) -> None:
    """Run an agent now, and show what it concludes."""
    text = None
    if prompt is not None:
        text = call.text(prompt, "prompt")
    asked = call.book.agents.get(agent)
    busy_until = asked.memory.busy_until
    if asked.memory_enabled and busy_until is not None:
        until = f"{busy_until.astimezone(zone_named(call.zone)):%H:%M:%S}"
        waits = f"this run waits, until {until} at the latest should the one before be gone"
        call.note(f"{asked.name} is at work; {waits}.")
    _run_and_answer(call, lambda runner: runner.run(agent, text))


def record(
    call: Invocation,
    agent: AgentArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The card as JSON; - is stdin.", show_default=False)],
    made_at: Annotated[str | None, typer.Option("--made-at", metavar="WHEN", help="When it was made; now.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Recorded once, however often it is sent.")] = None,
    link: Annotated[str | None, typer.Option("--link", metavar="URL", help="Where more of it stands.")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="Which model made it.")] = None,
    version: Annotated[
        str | None, typer.Option("--prompt-version", metavar="NAME", help="With which words it was asked.")
    ] = None,
) -> None:
    """Record a decision that the agent made elsewhere."""
    with reading(file) as lines:
        text = "".join(lines)
    try:
        card = json.loads(text)
    except ValueError:
        raise Invalid("the card is no JSON object", field="card", code="invalid_card") from None
    when = call.moment(made_at, "made_at")
    made = call.book.decisions.record(
        agent, card, made_at=when, key=key, link=link, model=model, prompt_version=version
    )
    call.answer(made, sheets.recorded_sheet)


def bring_in(
    call: Invocation,
    agent: AgentArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="One forecast on each line, as JSON; - is stdin.", show_default=False)
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would come in.")] = False,
) -> None:
    """Bring in what the agent forecast elsewhere, with its own dates; 1 where a line was refused."""
    if file != "-":
        told = call.book.decisions.bring_in(agent, Path(file).expanduser(), dry_run=dry_run)
    else:
        with reading(file) as lines:
            told = call.book.decisions.bring_in(agent, list(lines), dry_run=dry_run)
    call.answer(told, sheets.brought_in_sheet)
    if told.wrong:
        raise typer.Exit(1)


def check(
    call: Invocation,
    agent: AgentArgument,
    other: Annotated[
        str, typer.Option("--fail-if-worse", metavar="OTHER", help="The agent it is held against.", show_default=False)
    ],
    series: Annotated[str, typer.Option("--series", help="witnessed, recorded_later, self_graded or brought_in.")] = (
        "witnessed"
    ),
    tag: Annotated[str | None, typer.Option("--tag", help="Only forecasts with this tag.")] = None,
) -> None:
    """Hold an agent against another on the questions that both forecast; exit with 1 where it is worse, with 2 where
    that cannot be told."""
    try:
        found = call.book.decisions.compare(agent, other, series=series, tag=tag)
    except KeepbookError as error:
        raise RefusedOtherwise(error, exit_code=2) from error
    call.answer(found, sheets.comparison_sheet)
    if found.worse:
        raise typer.Exit(1)


def decisions(call: Invocation, agent: AgentArgument, limit: RunLimitOption = 5) -> None:
    """List an agent's last decisions, as it sees them itself."""
    call.answer(call.book.agents.decisions(agent, limit), sheets.past_cards_sheet)


def calibration(
    call: Invocation,
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="One alone; all, if none is named.")] = None,
    forecasts: Annotated[bool, typer.Option("--forecasts", help="Of forecasts instead of trades.")] = False,
    known_at: Annotated[
        str | None, typer.Option("--known-at", metavar="WHEN", help="As it was known then; now, if nothing is said.")
    ] = None,
    series: Annotated[
        str, typer.Option("--series", help="Or what counts apart: recorded_later, self_graded, brought_in.")
    ] = "witnessed",
) -> None:
    """Tell whether stated conviction has meant anything."""
    when = call.moment(known_at, "known_at")
    found = call.book.decisions.calibration(agent, forecasts=forecasts, known_at=when, series=series)
    call.answer(found, sheets.calibration_sheet)


def cards(call: Invocation) -> None:
    """List the card types, and the files that are none."""
    known = call.book.agents.cards
    if not call.as_json:
        sheets.cards(call.paper, known)
        return
    names = ("name", "title", "re_examinable", "computed")
    types = [{name: getattr(one, name) for name in names} for one in known.types.values()]
    call.json({"types": types, "broken": [str(one) for one in known.broken]})


# Runs


def list_runs(
    call: Invocation,
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Of this one alone.")] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="scheduled, manual, chat, recorded or re-examination.")
    ] = None,
    status: Annotated[str | None, typer.Option("--status", help="queued, running, succeeded or failed.")] = None,
    limit: RunLimitOption = 50,
) -> None:
    """List runs, the newest first."""
    found = call.book.runs.list(agent, kind=kind, status=status, limit=limit)
    if call.as_json:
        call.json(found)
        return
    sheets.runs(call.paper, found, _names(call))


def show_run(call: Invocation, run: RunArgument) -> None:
    """Show a run: prompt, transcript, card, session, and how conviction went since."""
    book = call.book
    found = book.runs.get(run)
    more: dict[str, Any] = {
        "transcript": book.runs.transcript(run),
        "specialists": book.runs.specialists(run),
        "decision": book.decisions.find(run),
        "re_examinations": book.runs.re_examinations(run),
        "re_examinable": book.runs.may_re_examine(run),
    }
    if call.as_json:
        from keepbook.book.ground.to_json import to_json  # loaded late, so that other commands start faster

        call.json({**to_json(found), **to_json(more)})
        return
    sheets.one_run(call.paper, found, _names(call), **more)


def re_examine(call: Invocation, run: RunArgument) -> None:
    """Look again at what a run concluded; it stays as it is."""
    _run_and_answer(call, lambda runner: runner.re_examine(run))


def resolve(
    call: Invocation,
    run: RunArgument,
    price: Annotated[float | None, typer.Option("--price", min=0, help="Where you got out.")] = None,
    when: Annotated[str | None, typer.Option("--when", metavar="WHEN", help="When; now, if nothing is said.")] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", help="Of a forecast: yes, no, what it was, or void: it cannot be told.")
    ] = None,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Where that was seen.")] = None,
    early: Annotated[
        str | None, typer.Option("--settled-early", metavar="WHY", help="Before its date: why it is settled.")
    ] = None,
) -> None:
    """Say that you got out of a trade, or how a forecast came out."""
    at = call.moment(when, "when")
    if outcome is None:
        call.answer(call.book.decisions.exit(run, price, at=at), sheets.decision_sheet)
        return
    said = {"yes": True, "true": True, "no": False, "false": False}.get(outcome.strip().lower(), outcome.strip())
    done = call.book.decisions.answer(run, said, at=at, note=note, settled_early=early)
    call.answer(done, sheets.decision_sheet)


def list_due(
    call: Invocation,
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Of this one alone.")] = None,
    limit: RunLimitOption = 50,
) -> None:
    """List forecasts that wait for an answer past their date."""
    call.answer(call.book.decisions.due(agent=agent, limit=limit), sheets.due_sheet)


# Shared


def _run_and_answer(call: Invocation, do: "Callable[[Runner], Awaitable[Run]]") -> None:
    """Carry a run out to its end and print it; exit with 1 if it failed."""
    runner = call.keepbook.runner(call.book)

    async def whole() -> "Run":
        return await do(runner)

    with show_progress("Running"), asyncio.Runner() as loop:
        done = ending.run_until_done(loop, whole())
    call.answer(done, sheets.run_result_sheet)
    if done.status == "failed":
        raise typer.Exit(1)


def _names(call: Invocation) -> dict[str, str]:
    return {agent.id: agent.name for agent in call.book.agents.list()}


def _given_settings(**told: Any) -> dict[str, Any]:
    """The settings that the options give, as `agents.create` and `agents.update` take them."""
    given = {name: value for name, value in told.items() if value is not None}
    if str(given.get("instructions", "")).startswith("@"):
        path = Path(given["instructions"][1:]).expanduser()
        with reading(str(path)) as lines:
            given["instructions"] = "".join(lines)
    if "schedule" in given:
        given["schedule"] = given["schedule"].strip() or None
    if "team" in given:
        pairs = [one.partition("=") for one in given["team"] if one.strip()]
        given["team"] = [{"name": name.strip(), "instructions": text.strip()} for name, _, text in pairs]
    return given
