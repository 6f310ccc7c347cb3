"""The sheets of agents: the agents themselves, runs, cards, decisions and how they turned out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from keepbook.doors.cli.terminal.paper import (
    AMBER,
    HEAD,
    ID,
    META,
    Paper,
    columns,
    grid,
    ink,
    join_with_dots,
    pluralise,
)

if TYPE_CHECKING:
    from keepbook.extensions.agents.book.agents import Agent
    from keepbook.extensions.agents.book.calibration import Calibration
    from keepbook.extensions.agents.book.calibration import DecisionGroup as Counted
    from keepbook.extensions.agents.book.cards import CardTypes
    from keepbook.extensions.agents.book.decisions import Decision, PastCard
    from keepbook.extensions.agents.book.recording import RecordedDecision
    from keepbook.extensions.agents.book.runs import Run, TranscriptTurn

_FIRST = 100


# Agents


def agent_made_sheet(paper: Paper, agent: "Agent") -> None:
    elsewhere = agent.adapter == "external"
    hint = paper.hint("agent record", agent.id, "FILE") if elsewhere else paper.hint("agent run", agent.id)
    words = ". Record what it decides: " if elsewhere else ". Run it: "
    paper.put("Made ", ink(agent.name, HEAD), " ", ink(agent.id, ID), words, hint)


def agent_armed_sheet(paper: Paper, agent: "Agent") -> None:
    may = "may run by itself here" if agent.armed else "does not run by itself here"
    paper.put(ink(agent.name, HEAD), f" {may}.")


def agent_changed_sheet(paper: Paper, agent: "Agent", what: str) -> None:
    paper.put(ink(agent.name, HEAD), f" {what}." if " " in what else f" is {what}.")


def agents_sheet(paper: Paper, agents: Sequence["Agent"]) -> None:
    if not agents:
        paper.put("There is no agent yet. Make one: ", paper.hint("agent create NAME"))
        return
    table = columns("id", "agent", "memory", "schedule", text=1)
    for agent in agents:
        told: list[RenderableType] = [ink(agent.name)]
        if agent.instructions:
            told.append(ink(_short(agent.instructions), META))
        table.add_row(ink(agent.id, ID), Group(*told), _pill(agent), ink(agent.schedule or "by hand", META))
    paper.sheet(table)


def _pill(agent: "Agent") -> Text:
    memory = agent.memory
    if not memory.enabled:
        return ink("off", META)
    carried = f"{pluralise(memory.runs, 'run')} carried" if memory.status == "carrying" else "fresh"
    return ink(f"{carried}, reset?" if memory.suggest_reset else carried, AMBER if memory.suggest_reset else META)


def agent_sheet(paper: Paper, agent: "Agent", runs: Sequence["Run"]) -> None:
    paper.put(ink(agent.id, ID), "  ", ink(agent.name, HEAD))
    table = grid(text=1)
    memory = agent.memory
    if memory.enabled:
        status = "Carrying context" if memory.status == "carrying" else "Fresh"
        age = f", session moved {memory.age} ago" if memory.age and memory.age != "now" else ""
        remembers = f"{status}; {pluralise(memory.runs, 'run')} since reset{age}"
    else:
        remembers = "off"
    for name, value in (
        ("instructions", agent.instructions),
        ("prompt", agent.default_prompt),
        ("answers with", agent.card_type),
        ("model", agent.model or "the chat model"),
        ("adapter", agent.adapter),
        ("schedule", agent.schedule or "by hand"),
        ("team", ", ".join(one.name for one in agent.team)),
        ("told of you", "yes" if agent.use_block else "no"),
        ("reviews its decisions", "yes" if agent.review_decisions else "no"),
        ("Active Memory", remembers),
    ):
        if value:
            table.add_row(ink(name, META), ink(value))
    paper.sheet(table)
    if memory.suggest_reset:
        paper.put(
            ink("Long sessions drift toward their own past. Start fresh: ", AMBER), paper.hint("agent reset", agent.id)
        )
    if runs:
        paper.gap()
        _runs_table(paper, runs, {})


# Runs


def runs(paper: Paper, found: Sequence["Run"], names: Mapping[str, str]) -> None:
    if not found:
        paper.put("No runs. Run an agent: ", paper.hint("agent run AGENT"))
        return
    _runs_table(paper, found, names)


def _runs_table(paper: Paper, found: Sequence["Run"], names: Mapping[str, str]) -> None:
    table = columns("id", "result", "kind", "tokens", "age", text=1)
    for run in found:
        whose = f"{names[run.agent_id]}: " if run.agent_id in names else ""
        result = Text.assemble(ink(whose, META), _result(run))
        spent = f"{run.tokens_in + run.tokens_out:,}"
        table.add_row(
            ink(run.id, ID), result, ink(run.kind, META), ink(spent, META), ink(paper.age(run.created_at), META)
        )
    paper.sheet(table)


def _result(run: "Run") -> Text:
    if run.status == "failed":
        return ink(f"failed: {_short(run.error or '')}", AMBER)
    if run.status != "succeeded":
        return ink(run.status, META)
    if run.card is None:
        return ink("replied", META) if run.kind == "chat" else ink("done", META)
    slots = run.card.slots
    known = [
        slots.get(name) for name in ("action", "symbol", "reason", "conviction_score", "suggested_action", "notes")
    ]
    shown = [str(value) for value in known if value is not None]
    return ink(_short(" ".join(shown) or str(slots.get("title") or slots.get("claim") or run.card.type)))


def run_result_sheet(paper: Paper, run: "Run") -> None:
    """What a run that just ended came to."""
    if run.status == "failed":
        paper.put(ink("The run failed: ", AMBER), ink(run.error or ""), ". What was said is kept: ", _see(paper, run))
        return
    if run.card is not None:
        _card(paper, run.card.slots)
    paper.put(ink(f"{run.tokens_in + run.tokens_out:,} tokens · ", META), _see(paper, run))


def _see(paper: Paper, run: "Run") -> Text:
    return paper.hint("run show", run.id)


def _card(paper: Paper, slots: Mapping[str, Any]) -> None:
    table = grid(text=1)
    for name, value in slots.items():
        if value is not None and value != []:
            shown = "\n".join(map(str, value)) if isinstance(value, list) else _figure(value)
            table.add_row(ink(name.replace("_", " "), META), ink(shown))
    paper.sheet(table)


def one_run(
    paper: Paper,
    run: "Run",
    names: Mapping[str, str],
    *,
    transcript: Sequence["TranscriptTurn"],
    specialists: Sequence["Run"],
    decision: "Decision | None",
    re_examinations: Sequence["Run"],
    re_examinable: bool,
) -> None:
    paper.put(ink(run.id, ID), "  ", ink(names.get(run.agent_id, run.agent_id), HEAD))
    told = [run.kind, run.status, paper.clock(run.created_at), f"{run.tokens_in + run.tokens_out:,} tokens"]
    told += [word for word in (run.adapter, run.model) if word]
    paper.put(join_with_dots(told))
    if run.error:
        paper.put(ink(run.error, AMBER))
    if run.card is not None:
        paper.gap()
        _card(paper, run.card.slots)
    if decision is not None:
        paper.put(join_with_dots(_outcome(decision)))
    for look in re_examinations:
        if look.card is not None:
            slots = look.card.slots
            words = [paper.age(look.created_at), _figure(slots["conviction_score"]), slots["suggested_action"]]
            paper.put(ink(look.id, ID), "  ", join_with_dots(words), "  ", ink(slots["notes"]))
    for one in specialists:
        paper.put(ink(one.specialist or "", HEAD), " ", ink(one.id, ID), ink(f" {one.status}", META))
    if run.session_before or run.session_after:
        paper.put(ink(f"session {run.session_before or 'fresh'} → {run.session_after or 'not moved'}", META))
    paper.gap()
    for line in transcript:
        _transcript_turn(paper, line)
    if re_examinable:
        paper.put("Look at it again: ", paper.hint("run re-examine", run.id))


def _transcript_turn(paper: Paper, line: "TranscriptTurn") -> None:
    parts = line.parts or {}
    for call in parts.get("calls", ()):
        given = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
        paper.put(ink("tool", META), "  ", ink(f"{call['name']}({given})"))
        paper.put(ink(f"      {_short(call['answer'] or '')}", META))
    if line.text.strip():
        who = {"user": "prompt", "assistant": "answer"}.get(line.role, line.role)
        paper.put(ink(who, META), "  ", ink(line.text.strip()))


# Decisions


def past_cards_sheet(paper: Paper, found: Sequence["PastCard"]) -> None:
    if not found:
        paper.put("It has not decided anything yet.")
    for one in found:
        result = "" if one.result_r is None else f", {one.result_r:+.2f} R"
        state = f"{one.outcome or one.state}{result}" if one.outcome or one.state else ""
        paper.put(
            ink(one.run_id, ID),
            "  ",
            join_with_dots([ink(one.line), *([one.symbol] if one.symbol else []), *([state] if state else [])]),
        )


def decision_sheet(paper: Paper, decision: "Decision") -> None:
    paper.put("Closed. ", join_with_dots(_outcome(decision)))


def _outcome(decision: "Decision") -> Iterator[Text | str]:
    yield ink(decision.state, HEAD if decision.state == "open" else META)
    if decision.fill_price is not None:
        yield f"filled at {decision.fill_price:g}"
    if decision.state == "open" and decision.so_far_r is not None:
        yield f"{decision.so_far_r:+.2f} R so far"
    if decision.outcome:
        where = "" if decision.exit_price is None else f" at {decision.exit_price:g}"
        yield f"{decision.outcome}{where}"
    if decision.result_r is not None:
        yield f"{decision.result_r:+.2f} R"
    if decision.result_pct is not None:
        yield f"{decision.result_pct:+.2f} %"
    if decision.note:
        yield decision.note


def recorded_sheet(paper: Paper, made: "RecordedDecision") -> None:
    word = "Recorded already" if made.replayed else "Recorded"
    late = ["late: how it ends could be known, so it counts for no calibration"] if made.late else []
    paper.put(
        f"{word}. ", join_with_dots([ink(made.run_id, ID), *(_outcome(made.decision) if made.decision else ()), *late])
    )


def calibration_sheet(paper: Paper, found: "Calibration") -> None:
    paper.put(found.words)
    if not found.enough:
        return
    table = columns("stated", "count", "came right", "95 % interval", text=0)
    for band in found.bands:
        told = ("too few", "")
        if band.share is not None and band.interval is not None:
            told = f"{band.share:.0%}", "–".join(str(round(100 * edge)) for edge in band.interval)
        table.add_row(f"{band.low}–{band.high - 1}", str(band.count), *told)
    paper.sheet(table)
    if found.brier is not None and found.base_brier is not None:
        paper.put(f"Brier score {found.brier:.3f}, base rate {found.base_brier:.3f}.")
    for title, groups in (("agent", found.by_agent), ("symbol", found.by_symbol), ("regime", found.by_regime)):
        _groups(paper, title, groups)
    if found.looks:
        paper.put(f"Second looks moved the right way {found.looks_right} of {pluralise(found.looks, 'time')}.")


def _groups(paper: Paper, title: str, groups: Sequence["Counted"]) -> None:
    if not groups:
        return
    table = columns(title, "count", "came right", "R each", text=0)
    for one in groups:
        right = "too few" if one.hit_rate is None else f"{one.hit_rate:.0%}"
        each = "" if one.expectancy is None else f"{one.expectancy:+.2f}"
        table.add_row(ink(one.name), str(one.count), right, each)
    paper.sheet(table)


# Cards


def cards(paper: Paper, known: "CardTypes") -> None:
    table = columns("card type", "line", "looked at again", text=1)
    for one in known.types.values():
        again = {"true": "yes", "false": "no", "opt_in": "if its agent says so"}.get(
            one.re_examinable, "until resolved"
        )
        table.add_row(ink(one.name, ID), ink(one.line), ink(again, META))
    paper.sheet(table)
    for broken in known.broken:
        paper.put(ink("Not a card type: ", AMBER), ink(str(broken)))


def _figure(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _FIRST else line[: _FIRST - 1] + "…"
