"""What the command line prints of agents: the agents themselves, runs, cards, decisions and how they turned out."""

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
from keepbook.extensions.agents.book.scoring.feedback import feedback_lines

if TYPE_CHECKING:
    from keepbook.extensions.agents.book.agents import Agent
    from keepbook.extensions.agents.book.calibration import Calibration
    from keepbook.extensions.agents.book.calibration import DecisionGroup as Counted
    from keepbook.extensions.agents.book.cards import CardTypes
    from keepbook.extensions.agents.book.decisions import Decision, PastCard
    from keepbook.extensions.agents.book.forecasts import DueForecast
    from keepbook.extensions.agents.book.recording import RecordedDecision
    from keepbook.extensions.agents.book.runs import Card, Run, TranscriptTurn
    from keepbook.extensions.agents.book.scoring.brought_in import BroughtIn
    from keepbook.extensions.agents.book.scoring.comparison import AgentComparison
    from keepbook.extensions.agents.book.scoring.forms import FormScores
    from keepbook.extensions.agents.book.scoring.slices import Slice

_SHORT = 100  # characters of a long text that are shown in a table
SHOWN_REFUSED = 20
"""How many refused lines are shown; --json has the others."""


# Agents


def agent_made_sheet(paper: Paper, agent: "Agent") -> None:
    if agent.adapter == "external":
        words, hint = ". Record what it decides: ", paper.hint("agent record", agent.id, "FILE")
    else:
        words, hint = ". Run it: ", paper.hint("agent run", agent.id)
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
        table.add_row(ink(agent.id, ID), Group(*told), _memory(agent), ink(agent.schedule or "by hand", META))
    paper.sheet(table)


def _memory(agent: "Agent") -> Text:
    memory = agent.memory
    if not memory.enabled:
        return ink("off", META)
    carried = f"{pluralise(memory.runs, 'run')} carried" if memory.status == "carrying" else "fresh"
    if memory.suggest_reset:
        return ink(f"{carried}, reset?", AMBER)
    return ink(carried, META)


def agent_sheet(paper: Paper, agent: "Agent", runs: Sequence["Run"]) -> None:
    paper.put(ink(agent.id, ID), "  ", ink(agent.name, HEAD))
    table = grid(text=1)
    memory = agent.memory
    if memory.enabled:
        status = "Carrying context" if memory.status == "carrying" else "Fresh"
        age = ""
        if memory.age and memory.age != "now":
            age = f", session moved {memory.age} ago"
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
        ("a run may use", f"{agent.run_seconds:,} s, {agent.run_tool_calls:,} tool calls{_token_limit(agent)}"),
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


def _token_limit(agent: "Agent") -> str:
    if agent.run_tokens is None:
        return ""
    return f", {agent.run_tokens:,} tokens"


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
    names = ("action", "symbol", "reason", "conviction_score", "suggested_action", "notes")
    line = " ".join(str(slots[name]) for name in names if slots.get(name) is not None)
    return ink(_short(line or str(slots.get("title") or slots.get("claim") or run.card.type)))


def run_result_sheet(paper: Paper, run: "Run") -> None:
    """The result of a run that has just ended."""
    if run.status == "failed":
        kept = ". It is kept: " if run.error_code in ("no_model", "over_allowance") else ". What was said is kept: "
        paper.put(ink("The run failed: ", AMBER), ink(run.error or ""), kept, _see(paper, run))
        return
    if run.card is not None:
        _card(paper, run.card)
    paper.put(ink(f"{run.tokens_in + run.tokens_out:,} tokens · ", META), _see(paper, run))


def _see(paper: Paper, run: "Run") -> Text:
    return paper.hint("run show", run.id)


def _card(paper: Paper, card: "Card") -> None:
    table = grid(text=1)
    if card.computed is not None:
        table.add_row(ink("computed by", META), ink(f"the rule {card.computed}; no model was asked"))
    for name, value in card.slots.items():
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
        paper.put(ink(run.error, AMBER), ink(f" ({run.error_code})" if run.error_code else "", META))
    if run.retry_of:
        paper.put(ink("makes up for ", META), ink(run.retry_of, ID))
    if run.card is not None:
        paper.gap()
        _card(paper, run.card)
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
        words: list[Text | str] = [ink(one.line)]
        if one.symbol:
            words.append(one.symbol)
        state = one.outcome or one.state
        if state:
            words.append(state if one.result_r is None else f"{state}, {one.result_r:+z.2f} R")
        paper.put(ink(one.run_id, ID), "  ", join_with_dots(words))


def decision_sheet(paper: Paper, decision: "Decision") -> None:
    paper.put("Closed. ", join_with_dots(_outcome(decision)))


def _outcome(decision: "Decision") -> Iterator[Text | str]:
    yield ink(decision.state, HEAD if decision.state == "open" else META)
    if decision.fill_price is not None:
        yield f"filled at {decision.fill_price:g}"
    if decision.state == "open" and decision.so_far_r is not None:
        yield f"{decision.so_far_r:+z.2f} R so far"
    if decision.outcome:
        where = "" if decision.exit_price is None else f" at {decision.exit_price:g}"
        yield f"{decision.outcome}{where}"
    if decision.result_r is not None:
        yield f"{decision.result_r:+z.2f} R"
    if decision.result_pct is not None:
        yield f"{decision.result_pct:+z.2f} %"
    if decision.note:
        yield decision.note
    if decision.settled_early:
        yield f"settled early: {decision.settled_early}"
    if decision.closed_by == "agent":
        yield "graded by the forecaster"


def recorded_sheet(paper: Paper, made: "RecordedDecision") -> None:
    words: list[Text | str] = [ink(made.run_id, ID)]
    if made.decision is not None:
        words += _outcome(made.decision)
        if made.decision.series in _APART:
            words.append(_APART[made.decision.series])
    paper.put("Recorded already. " if made.replayed else "Recorded. ", join_with_dots(words))


def brought_in_sheet(paper: Paper, told: "BroughtIn") -> None:
    said = [f"{pluralise(told.added, 'forecast')} {'would come' if told.dry_run else 'came'} in"]
    for count, words in ((told.answered, "answered"), (told.unchanged, "there already"), (told.wrong, "refused")):
        if count:
            said.append(f"{count} {words}")
    paper.put(join_with_dots(said))
    for one in told.refused[:SHOWN_REFUSED]:
        paper.put(ink(f"line {one.line}: ", META), ink(one.reason))
    if told.wrong > SHOWN_REFUSED:
        paper.put(ink(f"and {told.wrong - SHOWN_REFUSED} more; --json has them", META))
    if told.load is not None:
        paper.put("Take it back: ", paper.hint("undo", "--load", str(told.load)))


_APART = {
    "recorded_later": "recorded later than it was made: it counts apart",
    "brought_in": "late: how it ends could be known, so it counts as brought in alone",
    "self_graded": "graded by the forecaster: it counts apart",
}


def due_sheet(paper: Paper, found: "Sequence[DueForecast]") -> None:
    if not found:
        paper.put("Nothing is due.")
    for one in found:
        choices = [", ".join(one.choices)] if one.choices else []
        paper.put(join_with_dots([ink(one.run_id, ID), paper.clock(one.due), one.agent, one.question, *choices]))


_VERDICTS = {
    "better": "{agent} is better.",
    "worse": "{agent} is worse.",
    "undecided": "No difference can be told.",
    "too_few": "Too few pairs to tell: it takes 30.",
}


def comparison_sheet(paper: Paper, found: "AgentComparison") -> None:
    if not found.forms:
        paper.put("No resolved question that both forecast within a day of each other.")
    for one in found.forms:
        means = f"{found.agent} {one.mean:.4g}, {found.other} {one.other_mean:.4g}"
        paper.put(
            f"{pluralise(one.pairs, 'pair')} on {pluralise(one.days, 'day')}, {_NAMES[one.score]}: {means}, "
            f"difference {one.difference:+z.4g}{_span(one.interval)}."
        )
        paper.put(ink(_VERDICTS[one.verdict].format(agent=found.agent), HEAD))
    if found.contradicted:
        paper.put(ink(f"{pluralise(found.contradicted, 'pair')} left out: resolved in two ways.", META))


def _span(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return ""
    return f" (95 % interval {interval[0]:+z.4g} to {interval[1]:+z.4g})"


_FORMS = {"yes_no": "Yes or no", "classes": "Several classes", "number": "Numbers"}
_NAMES = {
    "brier": "Brier score",
    "log_score": "log score",
    "rps": "ranked probability score",
    "pinball": "pinball loss",
    "interval_score": "interval score",
    "crps_approximation": "CRPS, approximated from the quantiles",
}


def _form_scores(one: "FormScores") -> str:
    scores = [(words, getattr(one, name)) for name, words in _NAMES.items()]
    return ", ".join(f"{words} {score:.4g}" for words, score in scores if score is not None)


def _slices(paper: Paper, found: "Sequence[Slice]") -> None:
    for by in dict.fromkeys(one.by for one in found):
        table = columns(by.replace("_", " "), "count", "stated", "came true", "95 % interval", "scores", text=0)
        for one in (each for each in found if each.by == by):
            share, span, scores = _share(one.share), _percents(one.interval), "; ".join(map(_form_scores, one.scores))
            table.add_row(ink(one.name), str(one.count), f"{one.stated:.0f} %", share, span, scores)
        paper.sheet(table)


def _share(share: float | None) -> str:
    return "too few" if share is None else f"{share:.0%}"


def _percents(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else "–".join(str(round(100 * edge)) for edge in interval)


def calibration_sheet(paper: Paper, found: "Calibration") -> None:
    paper.put(found.words)
    apart = {name: count for name, count in found.resolved_by_series.items() if count and name != found.series}
    if apart:
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in apart.items())
        paper.put(ink(f"Counted apart: {counts}.", META))
    if not found.enough:
        return
    table = columns("stated", "count", "came right", "95 % interval", text=0)
    for band in found.bands:
        cells = [f"{band.low}–{band.high - 1}", str(band.count), _share(band.share), _percents(band.interval)]
        table.add_row(*cells)
    paper.sheet(table)
    if found.brier is not None and found.base_brier is not None:
        paper.put(f"Brier score {found.brier:.3f}, base rate {found.base_brier:.3f}: {found.skill_words}.")
    second = "card type" if found.scores else "symbol"  # only forecasts have scores, and they have no symbol
    for title, groups in (("agent", found.by_agent), (second, found.by_symbol), ("regime", found.by_regime)):
        _groups(paper, title, groups)
    for one in found.scores:
        paper.put(f"{_FORMS[one.form]}, {one.count}: {_form_scores(one)}.")
    _slices(paper, found.slices)
    for line in feedback_lines(found):
        paper.put(line)
    if found.looks:
        paper.put(f"Second looks moved the right way {found.looks_right} of {pluralise(found.looks, 'time')}.")


def _groups(paper: Paper, title: str, groups: Sequence["Counted"]) -> None:
    if not groups:
        return
    titles = [title, "count", "came right", "95 % interval"]
    has_r = any(one.expectancy is not None for one in groups)
    if has_r:
        titles.append("R each")
    table = columns(*titles, text=0)
    for one in groups:
        cells: list[RenderableType] = [ink(one.name), str(one.count), _share(one.hit_rate), _percents(one.interval)]
        if has_r:
            cells.append("" if one.expectancy is None else f"{one.expectancy:+z.2f}")
        table.add_row(*cells)
    paper.sheet(table)


# Cards


_LOOKED_AT_AGAIN = {"true": "yes", "false": "no", "opt_in": "if its agent says so"}


def cards(paper: Paper, known: "CardTypes") -> None:
    table = columns("card type", "line", "looked at again", text=1)
    for one in known.types.values():
        again = _LOOKED_AT_AGAIN.get(one.re_examinable, "until resolved")
        table.add_row(ink(one.name, ID), ink(one.line), ink(again, META))
    paper.sheet(table)
    for broken in known.broken:
        paper.put(ink("Not a card type: ", AMBER), ink(str(broken)))


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _short(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _SHORT:
        return line
    return line[: _SHORT - 1] + "…"
