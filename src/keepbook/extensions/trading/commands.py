"""The commands `keepbook trading …`: `trading import …` loads files, the others show figures, events and lessons.

Bars and events belong to the whole installation, everything else to one owner. A file with wrong rows is loaded without
them: each is reported, and the command exits with 1. A skill or a deployment is given by its id or its name.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.doors.cli.terminal.command import Invocation, command, group
from keepbook.doors.cli.terminal.streams import show_progress
from keepbook.errors import Invalid
from keepbook.extensions.trading import sheets

if TYPE_CHECKING:
    from keepbook.extensions.trading.book.files import Progress, Source
    from keepbook.extensions.trading.book.loading.loaded import LoadedFile

PANEL = "Trading"
NEXT = {"lesson": "; `keepbook trading lessons --all` shows what there is"}
"""What an error about a field is followed by on the command line: the command that shows the right values."""
DETAILS = ("summary", "trades", "lessons", "full")

File = Annotated[str, typer.Argument(help="CSV, JSON Lines or Parquet; - is stdin.", show_default=False)]
Prices = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV, JSON Lines, Parquet, ccxt's OHLCV; - is stdin.", show_default=False)
]
FreqtradeArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="freqtrade's tradesv3.sqlite.", show_default=False)
]
SkillRef = Annotated[str | None, typer.Argument(metavar="[SKILL]", help="Its name, or its id.", show_default=False)]
SkillOption = Annotated[str | None, typer.Option("--skill", metavar="SKILL", help="Of this skill, by name or id.")]
DeploymentOption = Annotated[
    str | None, typer.Option("--deployment", metavar="NAME", help="Of this one, by name or id.")
]
LoadDeploymentOption = Annotated[
    str | None, typer.Option("--deployment", metavar="NAME", help="Where the file does not say: by name or id.")
]
KnownAt = Annotated[
    str | None, typer.Option("--known-at", metavar="WHEN", help="As it was known then; now, if nothing is said.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would come of it, and keep nothing.")]
LessonArgument = Annotated[str, typer.Argument(metavar="ID", help="As `trading lessons` shows it.", show_default=False)]


def register(app: typer.Typer) -> None:
    trading = group(app, "trading", panel=PANEL, words="What you trade, how it went, and what it teaches.")
    words = "Load a file; loading it again changes nothing. `trading import FILE` is short for trades."
    imports = group(trading, "import", panel=PANEL, words=words, otherwise="trades")
    for name, work in (
        ("bars", import_bars),
        ("events", import_events),
        ("skills", import_skills),
        ("deployments", import_deployments),
        ("trades", import_trades),
        ("positions", import_positions),
        ("freqtrade", import_freqtrade),
    ):
        command(imports, name, work, writes=True)
    command(trading, "loads", loads)
    command(trading, "undo", undo, writes=True)
    command(trading, "take-back", take_back, writes=True)
    command(trading, "split", split, writes=True)
    command(trading, "skills", skills)
    command(trading, "deployments", deployments)
    command(trading, "performance", performance)
    command(trading, "trades", trades)
    command(trading, "events", events)
    command(trading, "reflect", reflect, writes=True)
    command(trading, "lessons", lessons)
    command(trading, "pin", pin, writes=True)
    command(trading, "unpin", unpin, writes=True)
    command(trading, "retire", retire, writes=True)
    command(trading, "restore", restore, writes=True)


# Files


def import_bars(
    call: Invocation,
    file: Prices,
    symbol: Annotated[str | None, typer.Option("--symbol", help="Where the file does not say: ETH/USDT.")] = None,
    timeframe: Annotated[str | None, typer.Option("--timeframe", help="Where the file does not say: 1d.")] = None,
) -> None:
    """Load prices for everybody: symbol, timeframe, time, open, high, low, close, volume."""
    market = call.keepbook.market

    def load(source: "Source", told: "Progress") -> "LoadedFile":
        return market.load(source, symbol=symbol, timeframe=timeframe, progress=told)

    _load_and_answer(call, "bar", file, load)


def import_events(call: Invocation, file: File) -> None:
    """Load market events for everybody: id, kind, symbols, time, importance, title."""
    market = call.keepbook.market
    _load_and_answer(call, "event", file, lambda source, told: market.load_events(source, progress=told))


def import_skills(call: Invocation, file: File) -> None:
    """Load skills: name, description, strategy, schedule, chat."""
    _load_own(call, "skill", file)


def import_deployments(call: Invocation, file: File) -> None:
    """Load deployments: name, skill, account, capital, currency, started_at, ended_at."""
    _load_own(call, "deployment", file)


def import_trades(
    call: Invocation,
    file: File,
    deployment: LoadDeploymentOption = None,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Where it is not recognised, or the name of a mapping."),
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option("--map", metavar="OURS=THEIRS", help="Which column is which; several.")
    ] = None,
    symbol: Annotated[str | None, typer.Option("--symbol", help="Where the file does not say: BTC/USDT.")] = None,
    times_in: Annotated[str, typer.Option("--times-in", metavar="ZONE", help="Where times name no zone.")] = "UTC",
    multiplier: Annotated[
        list[str] | None, typer.Option("--multiplier", metavar="SYMBOL=SIZE", help="What one contract holds; several.")
    ] = None,
    dates: Annotated[
        str | None, typer.Option("--dates", metavar="day|month", help="What comes first in 2/6/2026, if unclear.")
    ] = None,
    currency: Annotated[
        str | None, typer.Option("--currency", help="Of prices, where the file does not say: EUR.")
    ] = None,
    corrections: Annotated[
        str, typer.Option("--corrections", metavar="HOW", help="Of what looks like one: offer, take or add.")
    ] = "offer",
    dry_run: DryRun = False,
) -> None:
    """Load a broker's file, or closed trades of your own; what each earned is computed net of its fees."""
    # Imported late: they load SQLAlchemy, which `--help` does not need.
    from keepbook.extensions.trading.book.imports.file import has_own_columns, is_database
    from keepbook.extensions.trading.book.imports.mapping import parse_pairs, sizes

    with _as_file(file) as path:
        if is_database(path):
            _load_own(call, "trade", str(path), kind="freqtrade", deployment=deployment, dry_run=dry_run)
            return
        is_described = bool(format or columns)
        if not is_described and (path.suffix == ".parquet" or has_own_columns(path)):
            _load_own(call, "trade", str(path), deployment=deployment, corrections=corrections, dry_run=dry_run)
            return
        with show_progress("Loading"):
            answer = call.book.trading.bring_in(
                path, deployment=deployment, format=format, columns=parse_pairs(columns or (), "map"), symbol=symbol,
                zone=times_in, multipliers=sizes(multiplier or ()), dates=dates, currency=currency,
                corrections=corrections, dry_run=dry_run,
            )  # fmt: skip
    call.answer(answer, sheets.trade_import_sheet)
    if answer.wrong:
        raise typer.Exit(1)


def import_positions(
    call: Invocation, file: File, deployment: LoadDeploymentOption = None, dry_run: DryRun = False
) -> None:
    """Load what is open now; what is no longer in the file is closed."""
    _load_own(call, "position", file, deployment=deployment, dry_run=dry_run)


def import_freqtrade(
    call: Invocation, file: FreqtradeArgument, deployment: LoadDeploymentOption = None, dry_run: DryRun = False
) -> None:
    """Load the trades and open positions of freqtrade's own database, which is only read."""
    _load_own(call, "trade", file, kind="freqtrade", deployment=deployment, dry_run=dry_run)


def _load_own(call: Invocation, what: str, file: str, kind: str | None = None, **options: Any) -> None:
    """Load a file of the owner's. `what` is the word for one of its rows, `kind` the kind of file, if it is another."""
    given = {name: value for name, value in options.items() if value is not None}
    trading = call.book.trading

    def load(source: "Source", told: "Progress") -> "LoadedFile":
        return trading.load(kind or f"{what}s", source, progress=told, **given)

    _load_and_answer(call, what, file, load)


def _load_and_answer(call: Invocation, what: str, file: str, load: "Callable[[Source, Progress], LoadedFile]") -> None:
    """Load a file with a progress line, print what came of it, and exit with 1 if rows of it are wrong."""
    with show_progress("Loading") as progress, _as_file(file) as path:
        answer = load(path, progress.lines)
    call.answer(answer, sheets.load_sheet, what)
    if answer.wrong:
        raise typer.Exit(1)


@contextmanager
def _as_file(name: str) -> Iterator[Path]:
    """The path of the file to load. Stdin (`-`) is copied to a temporary file first, as bytes: it may be Parquet, and a
    text with a wrong byte shall lose only the row with that byte."""
    if name != "-":
        yield Path(name).expanduser()
        return
    with tempfile.NamedTemporaryFile(prefix="keepbook-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)


# What there is


def loads(
    call: Invocation,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 20,
) -> None:
    """List the files that came in, the newest first."""
    call.answer(call.book.trading.loads(limit=limit), sheets.loads_sheet)


def undo(
    call: Invocation,
    load: Annotated[int, typer.Argument(metavar="LOAD", min=1, help="As `trading loads` shows it.")],
) -> None:
    """Take a file out again, with its trades; the newest of a deployment first. Or a split, or a trade taken back."""
    call.answer(call.book.trading.take_back(load), sheets.trades_taken_back_sheet)


def take_back(
    call: Invocation,
    key: Annotated[str, typer.Argument(metavar="KEY", help="As `trading trades` shows it, or its beginning.")],
    deployment: DeploymentOption = None,
) -> None:
    """Take one closed trade out again."""
    call.answer(call.book.trading.take_back_trade(key, deployment=deployment), sheets.one_load_sheet)


def split(
    call: Invocation,
    symbol: Annotated[str, typer.Argument(help="What was split: AAPL.", show_default=False)],
    ratio: Annotated[str, typer.Argument(help="How many there are for one: 4, 4:1, 1:10.", show_default=False)],
    on: Annotated[str, typer.Option("--on", metavar="DAY", help="The first day on which it counts, in UTC.")],
) -> None:
    """Say that a stock was split: what was bought before counts so, in every deployment."""
    call.answer(call.book.trading.split(symbol, ratio, on=on), sheets.one_load_sheet)


def skills(call: Invocation) -> None:
    """List your skills, and where each runs."""
    found, running = call.book.trading.skills(), call.book.trading.deployments()
    call.answer(found, sheets.skills_sheet, running)


def deployments(call: Invocation, skill: SkillOption = None) -> None:
    """List your deployments, with what they earned and hold."""
    trading = call.book.trading
    found = trading.deployments(skill)
    if call.as_json:
        call.json(found)
        return
    figures = {one.id: trading.performance(deployment=one.id) for one in found}
    sheets.deployments_sheet(call.paper, found, figures)


def performance(
    call: Invocation,
    skill: SkillRef = None,
    deployment: Annotated[
        str | None, typer.Option("--deployment", metavar="NAME", help="Of this deployment alone, by name or id.")
    ] = None,
    detail: Annotated[str, typer.Option("--detail", help=f"{', '.join(DETAILS[:-1])} or {DETAILS[-1]}.")] = "summary",
    currency: Annotated[
        str | None, typer.Option("--currency", help="Convert into it, by the bars there are; else each by itself.")
    ] = None,
    known_at: KnownAt = None,
) -> None:
    """Tell how a skill did, or one deployment of it."""
    # Imported late: they load SQLAlchemy, which `--help` does not need.
    from keepbook.book.ground.to_json import to_json
    from keepbook.extensions.trading.tools import trading_answer

    if detail not in DETAILS:
        raise Invalid(f"detail is one of {', '.join(DETAILS)}, not {detail!r}", field="detail")
    filters, target = _resolve_target(call, skill, deployment)
    at = call.moment(known_at, "known_at")
    found = trading_answer(call.book, **filters, detail=detail, known_at=at, currency=currency)
    if call.as_json:
        call.json({**to_json(target), **found.data})
        return
    sheets.report_sheet(call.paper, target, found)


def trades(
    call: Invocation,
    skill: SkillOption = None,
    deployment: DeploymentOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 30,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")] = None,
    known_at: KnownAt = None,
) -> None:
    """List closed trades, the newest first."""
    page = call.book.trading.trades(
        skill=skill, deployment=deployment, limit=limit, cursor=cursor, known_at=call.moment(known_at, "known_at")
    )
    if call.as_json:
        call.json(page)
        return
    sheets.trades_sheet(call.paper, page)


def events(
    call: Invocation,
    hours: Annotated[int, typer.Option("--hours", help="How far ahead, up to 72.")] = 24,
    deployment: Annotated[
        str | None, typer.Option("--deployment", metavar="NAME", help="With what each may do to its open positions.")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option("--type", metavar="KIND", help="Only such; several.")] = None,
    symbol: Annotated[list[str] | None, typer.Option("--symbol", help="Only what touches it; several.")] = None,
    min_importance: Annotated[float, typer.Option("--min-importance", min=0, max=1, help="0 to 1.")] = 0.4,
    known_at: KnownAt = None,
) -> None:
    """List the market events that are coming, and your exposure to them."""
    found = call.book.trading.events(
        lookahead_hours=hours, types=kind or (), symbols=symbol or (), min_importance=min_importance,
        deployment=deployment, known_at=call.moment(known_at, "known_at"),
    )  # fmt: skip
    if call.as_json:
        call.json(found)
        return
    sheets.events_sheet(call.paper, found, hours)


# Lessons


def reflect(
    call: Invocation,
    skill: SkillOption = None,
    deployment: DeploymentOption = None,
    window: Annotated[int | None, typer.Option("--window", metavar="DAYS", min=1, help="Only the last days.")] = None,
    known_at: KnownAt = None,
) -> None:
    """Turn closed trades into lessons, as far as the sample supports them."""
    filters, _ = _resolve_target(call, skill, deployment)
    with show_progress("Reflecting"):
        answer = call.book.trading.reflect(**filters, window=window, known_at=call.moment(known_at, "known_at"))
    call.answer(answer, sheets.reflection_sheet)


def lessons(
    call: Invocation,
    skill: SkillOption = None,
    deployment: DeploymentOption = None,
    every: Annotated[bool, typer.Option("--all", help="Retired and withdrawn ones too.")] = False,
    known_at: KnownAt = None,
) -> None:
    """List what your trades taught."""
    state = "all" if every else "active"
    at = call.moment(known_at, "known_at")
    found = call.book.trading.lessons(skill=skill, deployment=deployment, state=state, known_at=at)
    call.answer(found, sheets.lessons_sheet)


def pin(call: Invocation, lesson: LessonArgument) -> None:
    """Make a lesson your own word: chats in the skill's scope are told of it."""
    call.answer(call.book.trading.pin(lesson), sheets.lesson, "Pinned")


def unpin(call: Invocation, lesson: LessonArgument) -> None:
    """Make it a finding again, which the next reflection may change."""
    call.answer(call.book.trading.unpin(lesson), sheets.lesson, "Unpinned")


def retire(call: Invocation, lesson: LessonArgument) -> None:
    """Put a lesson away; reflecting does not bring it back."""
    call.answer(call.book.trading.retire(lesson), sheets.lesson, "Retired")


def restore(call: Invocation, lesson: LessonArgument) -> None:
    """Bring back a lesson that was put away."""
    call.answer(call.book.trading.restore_lesson(lesson), sheets.lesson, "Back")


def _resolve_target(call: Invocation, skill: str | None, deployment: str | None) -> tuple[dict[str, Any], Any]:
    """The deployment, if one is named, or else the skill: as arguments (`skill=…` or `deployment=…`), and itself."""
    trading = call.book.trading
    if deployment is None:
        if skill is None:
            raise Invalid("name a skill or a deployment; `keepbook trading skills` lists them", field="skill")
        found = trading.skill(skill)
        return {"skill": found.id}, found
    running = trading.deployment(deployment)
    if skill is not None and trading.skill(skill).id != running.skill_id:
        raise Invalid(f"{running.name!r} is a deployment of {running.skill!r}, not of {skill!r}", field="deployment")
    return {"deployment": running.id}, running
