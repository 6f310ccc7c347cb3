"""What the command line prints of trading: loads, skills and deployments, figures, trades, coming events, lessons."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from keepbook.doors.cli.terminal.paper import (
    AMBER,
    GONE,
    HEAD,
    ID,
    META,
    PENCIL,
    Paper,
    columns,
    grid,
    ink,
    join_with_dots,
    pluralise,
)

if TYPE_CHECKING:
    from keepbook.book.ground.to_json import Page
    from keepbook.book.ledger.loads import Load
    from keepbook.extensions.trading.book.exposure import Coming, Exposure
    from keepbook.extensions.trading.book.imports.load import ImportedTrades
    from keepbook.extensions.trading.book.lessons import Lesson
    from keepbook.extensions.trading.book.loading.loaded import LoadedFile
    from keepbook.extensions.trading.book.performance import Performance
    from keepbook.extensions.trading.book.reflection import Reflection
    from keepbook.extensions.trading.book.skills import Deployment, Skill
    from keepbook.extensions.trading.book.trades import Position, Trade
    from keepbook.extensions.trading.tools import Report

_WRONG_ROWS = 20
"""How many rows with a remark are shown."""
_SHORT = 100  # characters of a long text that are shown in a table
_KEY = 14
"""Characters of a trade's key that are shown; enough for a command to find the trade by."""
_PERIODS = {"this_week": "this week", "last_7_days": "last 7 days", "last_30_days": "last 30 days"}


def load_sheet(paper: Paper, answer: "LoadedFile", what: str) -> None:
    words = f"{'Would load' if answer.dry_run else 'Loaded'} {pluralise(answer.added, what)}"
    if answer.changed:
        words += f", {answer.changed:,} changed"
    if answer.unchanged:
        words += f", {answer.unchanged:,} were there already"
    paper.put(f"{words}.")
    if answer.load is not None:
        paper.put("To take it back: ", paper.hint("trading undo", answer.load))
    for one in answer.corrections[:_WRONG_ROWS]:
        paper.put(ink(f"row {one.row}: ", META), ink(one.reason, AMBER))
    _refused_rows(paper, answer)


def trade_import_sheet(paper: Paper, answer: "ImportedTrades") -> None:
    """What a broker's file brought, or in a dry run would bring. Each row is paired, added, there already or refused,
    and counted as one of these."""
    brought = "Would bring" if answer.dry_run else "Brought"
    paper.put(f"{answer.title}: {pluralise(answer.rows, 'row')}. {brought} {pluralise(answer.trades, 'trade')}.")
    if answer.deployments:
        earned = [f"{amount:,.2f} {currency}".rstrip() for currency, amount in answer.profits.items()]
        paper.put(join_with_dots([f"into {', '.join(answer.deployments)}", *earned]))
    parts = [f"{answer.paired:,} paired", f"{answer.added:,} added", f"{answer.unchanged:,} there already"]
    paper.put(join_with_dots([*parts, f"{answer.wrong:,} refused", f"{pluralise(answer.open, 'lot')} left open"]))
    if answer.load is not None:
        paper.put("To take it back: ", paper.hint("trading undo", answer.load))
    if answer.profit_file is not None:
        paper.put(f"The file's own profit {answer.profit_file:,.2f}, ours {answer.profit_compared or 0.0:,.2f}.")
    for one in answer.differences[:_WRONG_ROWS]:
        paper.put(ink(f"{one.symbol}: the file says {one.file:,.2f}, its prices {one.ours:,.2f}", AMBER))
    if answer.ignored:
        paper.put(ink(f"Columns with figures that are not read: {', '.join(answer.ignored)}", AMBER))
    for note in answer.notes:
        paper.put(ink(f"{note[:1].upper()}{note[1:]}.", META))
    if answer.preview:
        table = columns("symbol", "side", "quantity", "in", "out", "fees", "earned", text=0)
        for trip in answer.preview:
            figures = (f"{one:,.8g}" for one in (trip.quantity, trip.entry_price, trip.exit_price, trip.fees, trip.pnl))
            table.add_row(ink(trip.symbol), trip.side, *figures)
        paper.sheet(table)
    _refused_rows(paper, answer)


def loads_sheet(paper: Paper, found: Sequence["Load"]) -> None:
    if not found:
        paper.put("No broker's file has come in yet: ", paper.hint("trading import FILE"))
        return
    table = columns("load", "from", "trades", "came in", text=1)
    for one in found:
        title = [ink(one.title)]
        if one.undone_at is not None:
            title.append(ink("  taken back", GONE))
        when = paper.clock(datetime.fromisoformat(one.at))
        table.add_row(ink(str(one.nth), ID), Group(*title), f"{one.trades:,}", when)
    paper.sheet(table)


def trades_taken_back_sheet(paper: Paper, load: "Load") -> None:
    what = load.title
    if load.trades:
        what = f"{pluralise(load.trades, 'trade')} of {load.title}"
    again = " The same file can be loaded anew." if load.trades or load.fills else ""
    paper.put(f"Taken back: {what}.{again}")


def one_load_sheet(paper: Paper, load: "Load") -> None:
    """A load that came without a file: a split, or a trade that was taken back."""
    paper.put(f"{load.title}.")
    paper.put("To take it back: ", paper.hint("trading undo", load.nth))


def _refused_rows(paper: Paper, answer: "LoadedFile | ImportedTrades") -> None:
    for one in answer.refused[:_WRONG_ROWS]:
        paper.put(ink(f"row {one.row}: ", META), ink(one.reason, AMBER))
    if answer.wrong > _WRONG_ROWS:
        paper.put(ink(f"… and {answer.wrong - _WRONG_ROWS:,} more wrong rows.", GONE))


# Skills and deployments


def skills_sheet(paper: Paper, found: Sequence["Skill"], running: Sequence["Deployment"]) -> None:
    if not found:
        paper.put("There is no skill yet. Load some: ", paper.hint("trading import skills FILE"))
        return
    table = columns("id", "skill", "runs on", text=1)
    for skill in found:
        told: list[RenderableType] = [ink(skill.name)]
        if skill.description:
            told.append(ink(_short(skill.description), META))
        where = ", ".join(one.name for one in running if one.skill_id == skill.id)
        table.add_row(ink(skill.id, ID), Group(*told), ink(where or "nowhere yet", META))
    paper.sheet(table)


def deployments_sheet(paper: Paper, found: Sequence["Deployment"], figures: Mapping[str, "Performance"]) -> None:
    if not found:
        paper.put("There is no deployment yet. Load some: ", paper.hint("trading import deployments FILE"))
        return
    table = columns("id", "deployment", "capital", "trades", "net", "open", text=1)
    for one in found:
        performance = figures[one.id]
        about = one.skill
        if one.account:
            about += f" on {one.account}"
        if one.ended_at:
            about += f", ended {paper.day(one.ended_at)}"
        capital = "" if one.capital is None else f"{one.capital:,.2f} {one.currency}"
        table.add_row(
            ink(one.id, ID),
            Group(ink(one.name), ink(about, META)),
            ink(capital, META),
            f"{performance.trades:,}",
            f"{_money(performance.pnl)} {one.currency}",
            f"{performance.open_positions:,}",
        )
    paper.sheet(table)


# Figures


def report_sheet(paper: Paper, whose: Any, found: "Report") -> None:
    paper.put(ink(whose.id, ID), "  ", ink(whose.name, HEAD))
    _figures(paper, found.performance)
    if found.positions:
        paper.gap()
        _positions(paper, found.positions)
    if found.trades is not None:
        paper.gap()
        trades_sheet(paper, found.trades)
    if found.lessons is not None:
        paper.gap()
        lessons_sheet(paper, found.lessons)


def _figures(paper: Paper, found: "Performance") -> None:
    if not found.trades:
        paper.put("No closed trades yet.")
        return
    if found.by_currency:
        paper.put(f"{pluralise(found.trades, 'trade')}, in currencies that are not added up:")
        for name, one in found.by_currency.items():
            paper.put(ink(name, HEAD))
            _figures(paper, one)
        return
    for way in found.converted:
        told = f"{way.currency} counted in {way.into} by bars of {way.symbol}, {way.first[:10]} to {way.last[:10]}"
        paper.put(ink(f"{told}.", META))
    table = grid(text=1)
    for name, value in _figure_rows(found):
        table.add_row(ink(name, META), value)
    paper.sheet(table)


def _figure_rows(found: "Performance") -> Iterator[tuple[str, str]]:
    unit = f" {found.currency}" if found.currency else ""
    share = "" if found.return_pct is None else f" ({_share(found.return_pct)})"
    yield "net", f"{_money(found.pnl)}{unit}{share}, fees {found.fees or 0.0:,.2f}"
    win_rate = f" ({found.win_rate:.1%})" if found.trades else ""
    yield "trades", f"{found.trades:,}, {found.wins:,} won{win_rate}"
    down = "" if found.max_drawdown_pct is None else f" ({found.max_drawdown_pct:.2%})"
    yield "max drawdown", f"{found.max_drawdown or 0.0:,.2f}{down}"
    for name, value in (("Sharpe", found.sharpe), ("Sortino", found.sortino), ("Calmar", found.calmar)):
        yield name, f"– {found.why[name.lower()]}" if value is None else f"{value:.2f}".replace("-", "−")
    yield "profit factor", "–" if found.profit_factor is None else f"{found.profit_factor:.2f}"
    if found.expectancy is not None and found.best is not None and found.worst is not None:
        yield "a trade", f"{_money(found.expectancy)}, best {_money(found.best)}, worst {_money(found.worst)}"
    for name, part in found.periods.items():
        words = "no trade closed"
        if part.trades:
            share = "" if part.return_pct is None else f" ({_share(part.return_pct)})"
            words = f"{pluralise(part.trades, 'trade')}, {part.wins:,} won, {_money(part.pnl)}{share}"
        yield _PERIODS.get(name, name), words


def _positions(paper: Paper, found: Sequence["Position"]) -> None:
    table = columns("open", "side", "quantity", "entry", "since", text=0)
    for one in found:
        since = ink(paper.clock(_moment(one.entry_time)), META)
        table.add_row(ink(one.symbol), one.side, f"{one.quantity:.10g}", f"{one.entry_price:.10g}", since)
    paper.sheet(table)


def trades_sheet(paper: Paper, page: "Page[Trade]") -> None:
    if not page.items:
        paper.put("No closed trades. Load some: ", paper.hint("trading import trades FILE"))
        return
    table = columns("closed", "trade", "quantity", "entry", "exit", "net", "key", text=1)
    for one in page:
        notes = [note for note in (one.entry_regime_tag, one.entry_reason) if note]
        if one.exit_reason:
            notes.append(f"out: {one.exit_reason}")
        told: list[RenderableType] = [ink(f"{one.symbol} {one.side}")]
        if notes:
            told.append(ink(_short(" · ".join(notes)), META))
        table.add_row(
            ink(paper.clock(_moment(one.exit_time)), META),
            Group(*told),
            f"{one.quantity:.10g}",
            f"{one.entry_price:.10g}",
            f"{one.exit_price:.10g}",
            _money(one.pnl),
            ink(one.key[:_KEY], ID),
        )
    paper.sheet(table)
    if page.next:
        shown = f"The last {len(page)} of {page.total:,}. More: "
        paper.put(ink(shown, META), paper.hint("trading trades --cursor", page.next))


# Events


def events_sheet(paper: Paper, found: "Coming", hours: int) -> None:
    if not found.events:
        paper.put(f"No such event is known for the next {pluralise(hours, 'hour')}.")
        return
    rows: dict[str, list[Exposure]] = {}
    for row in found.your_exposure or ():
        rows.setdefault(row.event_id, []).append(row)
    table = columns("when", "event", "kind", "importance", text=1)
    for event in found.events:
        told: list[RenderableType] = [ink(event.title)]
        if event.symbols:
            told.append(ink("; ".join("everything" if one == "*" else one for one in event.symbols), META))
        told += [_exposure_text(row) for row in rows.get(event.id, ())]
        at = _moment(event.time)
        when = Group(ink(paper.clock(at)), ink(paper.age(at), META))
        table.add_row(when, Group(*told), ink(event.kind, META), f"{event.importance:.2f}")
    paper.sheet(table)
    if found.your_exposure is not None and not found.your_exposure:
        paper.put("None of them touches an open position.")


def _exposure_text(row: "Exposure") -> Text:
    size = "size unknown, no bars" if row.notional_usd is None else f"{row.notional_usd:,.2f} USD"
    moved = pluralise(row.similar_events_back, "earlier event")
    if row.median_abs_move_pct is None or row.worst_move_pct is None:
        moved += ", too few to say how far it moves"
    else:
        moved += f": median move {row.median_abs_move_pct:.2%}, worst {_share(row.worst_move_pct)}"
    return ink(f"your {row.symbol} {row.position_side}: {size}; {moved}", AMBER)


# Lessons


def reflection_sheet(paper: Paper, answer: "Reflection") -> None:
    paper.put(ink(answer.words))
    for outcome in answer.outcomes:
        id, text = "", ""
        if outcome.lesson is not None:
            id, text = outcome.lesson.id, outcome.lesson.text
        said = ink(outcome.says or text, PENCIL)
        paper.put(ink(id, ID), "  ", join_with_dots([said, outcome.what.replace("_", " ")]))


def lessons_sheet(paper: Paper, found: Sequence["Lesson"]) -> None:
    if not found:
        paper.put("No lessons. Look for some: ", paper.hint("trading reflect --skill SKILL"))
    for one in found:
        paper.put(ink(one.id, ID), "  ", ink(one.text, "" if one.pinned else PENCIL))
        words = [pluralise(one.trades, "trade"), f"{one.tried} groups tried"]
        if one.window_from:
            words += [f"from {paper.day(one.window_from)}"]
        if one.pinned:
            words += ["pinned"]
        if one.state != "active":
            words += [one.state]
        if one.state == "active" and not one.supported:
            words += ["corrected trades no longer support it"]
        if one.earlier:
            words += [pluralise(len(one.earlier), "earlier wording")]
        paper.put("          ", join_with_dots(words))


def lesson(paper: Paper, one: "Lesson", what: str) -> None:
    is_changed = one.event is not None
    paper.put(f"{what}: " if is_changed else f"{what} already: ", ink(one.text), " ", ink(one.id, ID))
    if is_changed:
        paper.put(ink("Take it back: ", META), paper.hint("undo", one.event))


# Words


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _money(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:+z,.2f}".replace("-", "−")


def _share(value: float) -> str:
    return f"{value:+z.2%}".replace("-", "−")


def _short(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= _SHORT:
        return line
    return line[: _SHORT - 1] + "…"
