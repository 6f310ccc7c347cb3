"""The face of a book for trading: skills, deployments, trades, results, coming events, and lessons.

Thin like the book: each method opens the owner's transaction and calls the one operation that does the work. Wherever a
skill or a deployment is named, its id or its name will do; if neither is named, all of them are meant. Every
computation takes `known_at` and uses only what was known at that instant; the default is now.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.limits import clean_count, clean_line, clean_share
from keepbook.book.ground.open_book import OpenBook, about_memory
from keepbook.book.ground.to_json import Page
from keepbook.book.ground.when import Moment, instant, parse_stamp, read_moment, stamp, zone_named
from keepbook.book.ledger.loads import Load, get_load, load_of
from keepbook.book.owners import owners
from keepbook.errors import Invalid, KeepbookError
from keepbook.extensions.trading.book import (
    breakdown,
    exposure,
    findings,
    freqtrade,
    lessons,
    reflection,
    skill_files,
    skills,
    trades,
)
from keepbook.extensions.trading.book.breakdown import Breakdown
from keepbook.extensions.trading.book.currencies import results
from keepbook.extensions.trading.book.exposure import Coming
from keepbook.extensions.trading.book.files import Progress, Source
from keepbook.extensions.trading.book.findings import Finding
from keepbook.extensions.trading.book.imports import load as imports
from keepbook.extensions.trading.book.imports import mapping, open_lots, places, take_back
from keepbook.extensions.trading.book.imports.load import ImportedTrades
from keepbook.extensions.trading.book.lessons import Lesson, LessonTarget
from keepbook.extensions.trading.book.loading import own_files
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.performance import EquityPoint, Performance
from keepbook.extensions.trading.book.reflection import Reflection
from keepbook.extensions.trading.book.skills import Deployment, FieldVersion, Skill
from keepbook.extensions.trading.book.trades import Position, Trade
from keepbook.storage.database import Tx

KINDS = ("trades", "positions", "skills", "deployments", "freqtrade")
LONGEST_WINDOW = 36_500  # days
SOONEST, LATEST = "1900", "9000"
"""The first and the last year that may be asked about: beyond them, weeks and windows would leave Python's calendar."""

FindingWording = Callable[[Finding], str]
"""Says a finding in other words; see `findings.check_wording` for what is taken of them."""


_LOADERS: dict[str, Callable[..., LoadedFile]] = {
    "trades": own_files.load_trades,
    "positions": own_files.load_positions,
    "skills": skill_files.load_skills,
    "deployments": skill_files.load_deployments,
    "freqtrade": freqtrade.load_freqtrade,
}


class TradingTarget(NamedTuple):
    """The target of a call: the skill and the deployment it named, and every deployment of these."""

    skill_id: str | None
    deployment_id: str | None
    deployments: Sequence[Deployment]

    @property
    def ids(self) -> list[str]:
        return [deployment.id for deployment in self.deployments]


@explain_arguments
class Trading:
    """The trading of a book: `book.trading`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book
        self._memory = about_memory(book)
        """For lessons, which are memories."""

    # Skills and deployments

    def skills(self) -> Sequence[Skill]:
        """The skills in the order in which they were made, each with its present fields."""
        with self._book.reading() as (tx, _, _):
            return skills.list_skills(tx)

    def skill(self, ref: str) -> Skill:
        with self._book.reading() as (tx, _, _):
            return skills.find_skill(tx, ref)

    def create_skill(self, name: str, *, description: str = "", **said: str | None) -> Skill:
        """Create a skill. Only the name is needed; `strategy`, `schedule` and `chat` are what it says."""
        self._ask_person()
        with self._book.writing() as (tx, _):
            return skills.create_skill(tx, self._book.origin, stamp(tx.clock()), name, description=description, **said)

    def set_field(self, ref: str, field: str, value: str, *, expect_version: int | None = None) -> FieldVersion:
        """Write a new version of a field of a skill; the earlier ones stay."""
        self._ask_person()
        with self._book.writing() as (tx, _):
            id, now = skills.find_skill(tx, ref).id, stamp(tx.clock())
            return skills.set_field(tx, self._book.origin, now, id, field, value, expect_version=expect_version)

    def field_history(self, ref: str, field: str | None = None) -> Sequence[FieldVersion]:
        with self._book.reading() as (tx, _, _):
            return skills.field_history(tx, skills.find_skill(tx, ref).id, field)

    def deployments(self, skill: str | None = None) -> Sequence[Deployment]:
        """The deployments in the order in which they were made, also those that have ended."""
        with self._book.reading() as (tx, _, _):
            return skills.list_deployments(tx, None if skill is None else skills.find_skill(tx, skill).id)

    def deployment(self, ref: str) -> Deployment:
        with self._book.reading() as (tx, _, _):
            return skills.find_deployment(tx, ref)

    def create_deployment(self, name: str, skill: str, **given: Any) -> Deployment:
        """Create a deployment of a skill: `account`, `capital`, `currency`, `started_at`, `ended_at`."""
        self._ask_person()
        with self._book.writing() as (tx, _):
            id, now = skills.find_skill(tx, skill).id, stamp(tx.clock())
            return skills.create_deployment(tx, self._book.origin, now, name, id, **given)

    def change_deployment(self, ref: str, **given: Any) -> Deployment:
        """Change a deployment; what is not given stays."""
        self._ask_person()
        with self._book.writing() as (tx, _):
            return skills.change_deployment(tx, self._book.origin, skills.find_deployment(tx, ref).id, **given)

    def _ask_person(self) -> None:
        """Skills and deployments are the person's: an agent changes them at their turn, and not on its own."""
        if not self._book.origin.for_person:
            self._book.ask("trading.skills")

    # What was traded

    def load(
        self,
        kind: str,
        source: Source,
        *,
        deployment: str | None = None,
        progress: Progress | None = None,
        corrections: str = "offer",
        dry_run: bool = False,
    ) -> LoadedFile:
        """Load a file of trades, positions, skills or deployments, or freqtrade's trade database.

        corrections: of trades; rows without an id that look like the correction of a trade that is there are offered,
            or with `take` replace it, or with `add` are trades of their own
        dry_run: carry it out and roll it back: what is returned is what would be
        """
        if kind not in KINDS:
            raise Invalid(f"a book loads {', '.join(KINDS)}, not {str(kind)[:40]!r}", field="kind")
        if kind in ("skills", "deployments"):
            self._ask_person()
        told: dict[str, Any] = {"progress": progress}
        if kind in ("trades", "positions", "freqtrade"):
            told["deployment"] = deployment
        if kind == "trades":
            told["corrections"] = corrections
        work = partial(_LOADERS[kind], self._book, source, **told)
        if dry_run:
            return own_files.tried(self._book, work)
        return work()

    def bring_in(
        self,
        source: Any,
        *,
        deployment: str | None = None,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        symbol: str | None = None,
        zone: str = "UTC",
        multipliers: Mapping[str, float] | None = None,
        dates: str | None = None,
        currency: str | None = None,
        corrections: str = "offer",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportedTrades:
        """Import a broker's file. Its format is recognised, or `columns` maps our columns to the file's, stored under
        the name in `format` if that is none of ours. Where the file does not show it, `dates` says what comes first in
        2/6/2026, `day` or `month`, and `currency` what prices count in. Without a `deployment` there is one for each
        account and currency. `corrections` is as for `load`. `dry_run` stores nothing. `progress` is called with how
        many rows are stored; an exception from it ends the load, and nothing of it stays."""
        told: dict[str, Any] = {
            "deployment": deployment, "format": format, "columns": columns, "symbol": symbol, "dry_run": dry_run,
            "zone": zone_named(zone).key, "multipliers": multipliers, "dates": dates, "corrections": corrections,
            "currency": currency, "ask_for_place": self._ask_person,
        }  # fmt: skip
        source = imports.read_before(self._book, source, format, columns)
        if dry_run:
            with self._book.reading() as (tx, _, _):
                return imports.import_trades(tx, source, **told)
        with self._book.writing() as (tx, _):
            made: dict[str, Any] = {"create": self._place, "origin": self._book.origin, "progress": progress}
            return imports.import_trades(tx, source, **told, **made)

    def loads(self, *, limit: int = 100) -> Sequence[Load]:
        """The files that `bring_in` imported, newest first; also those that were taken back."""
        with self._book.reading() as (tx, _, _):
            return take_back.list_trade_loads(tx, limit)

    def take_back(self, load: int) -> Load:
        """Remove an imported file again, with its trades and fills. `load` is the number that `bring_in` returned."""
        return take_back.trades_told_back(self._book, load)

    def take_back_trade(self, key: str, *, deployment: str | None = None) -> Load:
        """Take one trade out, by its key or the beginning of it. `take_back` of the load that is returned puts it
        back."""
        with self._book.writing() as (tx, _):
            id = None
            if deployment is not None:
                id = skills.find_deployment(tx, deployment).id
            return take_back.take_back_trade(tx, self._book.origin, key, id)

    def split(self, symbol: str, ratio: float | str, *, on: Moment) -> Load:
        """Say that a symbol was split: `ratio` is how many there are for one (4, "4:1", "1:10"), from the day `on`, in
        UTC. What was bought before counts so in every deployment, whether it is there or loaded later; `take_back` of
        the load undoes it."""
        with self._book.writing() as (tx, _):
            at = instant(on, field="on")
            if at is None:
                raise Invalid("say from which day on", field="on")
            nth = open_lots.say_split(tx, self._book.origin, symbol, ratio, at)
            return load_of(get_load(tx, nth))

    def mappings(self) -> Mapping[str, Mapping[str, str]]:
        """The stored mappings of columns, by name."""
        with self._book.reading() as (tx, _, _):
            return mapping.list_mappings(tx)

    def _place(self, tx: Tx, name: str, account: str, currency: str) -> str:
        """A deployment for a file that names none."""
        given = {"account": account or None, "currency": currency or None}
        return places.make_for_load(tx, self._book.origin, stamp(tx.clock()), name, places.BROKERS, **given)

    def positions(self, deployment: str | None = None, *, known_at: Moment = None) -> Sequence[Position]:
        """The open positions."""
        with self._book.reading() as (tx, _, now):
            at = _known_at(tx, known_at, now)
            found = trades.open_positions(tx, _resolve_target(tx, None, deployment, at).ids, at)
            return [one._replace(closed_at=None) for one in found]  # when it was closed, nobody knew yet

    def trades(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        limit: int = 30,
        cursor: str | None = None,
        known_at: Moment = None,
    ) -> Page[Trade]:
        """Closed trades, newest first."""
        with self._book.reading() as (tx, _, now):
            at = _known_at(tx, known_at, now)
            return trades.trade_page(tx, _resolve_target(tx, skill, deployment, at).ids, at, limit, cursor)

    # What came of it

    def performance(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        since: Moment = None,
        known_at: Moment = None,
        currency: str | None = None,
    ) -> Performance:
        """Every figure of the results; with `since` as if trading had begun then.

        currency: convert into this one, by the bars that there are; without it, results in several currencies stand
            apart
        """
        with self._book.reading() as (tx, _, now):
            asked, zone = _asked(tx, skill, deployment, known_at, now, currency), zone_named(owners.zone_name(tx))
            begin = read_moment(since, field="since", moment=tx.clock(), zone=zone.key)
            return results.results_of(tx, asked, begin, zone)

    def breakdown(
        self, *, skill: str | None = None, deployment: str | None = None, known_at: Moment = None
    ) -> Breakdown:
        """The results by symbol, hour, weekday and tag, with the time in the market and what holding would have
        made."""
        with self._book.reading() as (tx, _, now):
            asked = _asked(tx, skill, deployment, known_at, now)
            results.refuse_mixed(results.currencies_of(tx, asked))
            return breakdown.broken_down(tx, [one.id for one in asked.deployments], asked.known_at)

    def equity(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        known_at: Moment = None,
        currency: str | None = None,
    ) -> Sequence[EquityPoint]:
        """The equity curve, a point for every day from the first exit to the last; with a `currency` converted into
        it."""
        with self._book.reading() as (tx, _, now):
            return results.equity_of(tx, _asked(tx, skill, deployment, known_at, now, currency))

    def events(
        self,
        *,
        lookahead_hours: float = 24,
        types: Sequence[str] = (),
        symbols: Sequence[str] = (),
        min_importance: float = 0.4,
        deployment: str | None = None,
        known_at: Moment = None,
    ) -> Coming:
        """The coming events; with a deployment also what they may do to its open positions."""
        with self._book.reading() as (tx, _, now):
            at = _known_at(tx, known_at, now)
            held = None
            if deployment is not None:
                held = trades.open_positions(tx, [skills.find_deployment(tx, deployment).id], at)
            return exposure.upcoming_events(
                tx.conn, at, lookahead_hours=lookahead_hours, kinds=types, symbols=symbols,
                min_importance=clean_share(min_importance, "min_importance"), positions=held,
                impact_minutes=self._book.settings.impact_minutes,
            )  # fmt: skip

    # What was learnt

    def reflect(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        window: int | None = None,
        known_at: Moment = None,
        words: FindingWording | None = None,
    ) -> Reflection:
        """Turn the closed trades of the last `window` days (of all time, if none is given) into lessons. New ones are
        looked for when there are 30, 60, 120 … trades, closed on at least 12 days."""
        with self._memory.reading() as (tx, _, now):
            at, meant = _known_at(tx, known_at, now), _resolve_target(tx, skill, deployment)
            if meant.skill_id is None:
                raise Invalid("name the skill or the deployment to reflect on", field="skill")
            if at > now:
                raise Invalid("known_at is in the future; nobody can have learnt that yet", field="known_at")
            target = LessonTarget(meant.skill_id, meant.deployment_id)
            length = None
            if window is not None:
                length = timedelta(days=clean_count(window, "window", LONGEST_WINDOW))
            since = None
            if length is not None:
                since = stamp(parse_stamp(at) - length)
            count, found = reflection.find_lessons(tx, target, meant.ids, at, since)
        texts = {} if words is None else self._reword(target, found, at, words)
        with self._memory.writing() as (tx, preset):
            return reflection.keep_findings(
                tx, self._book.origin, preset, target, found, closed=count, known_at=at, window_from=since, texts=texts
            )

    def _reword(self, target: LessonTarget, found: findings.Findings, at: str, words: FindingWording) -> dict[str, str]:
        """The findings that are about to be stored, in the words that `words` makes of them. It may take long, so it is
        called before the writing transaction."""
        with self._memory.reading() as (tx, _, _):
            steps = reflection.plan_lessons(tx, target, found, at)
        texts = {}
        for finding in (step.finding for step in steps if step.speaks and step.finding is not None):
            try:
                texts[finding.key] = findings.check_wording(finding, words(finding))
            except KeepbookError:  # no answer from the model: ours stands
                continue
        return texts

    def lessons(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        state: str = "active",
        known_at: Moment = None,
    ) -> Sequence[Lesson]:
        """The lessons, pinned ones first, then the best supported; for a skill also those of its deployments. One that
        trades corrected since no longer support says so: `supported` is false."""
        with self._memory.reading() as (tx, _, now):
            meant, at = _resolve_target(tx, skill, deployment), _known_at(tx, known_at, now)
            found = lessons.lessons_as_of(
                tx, at, state=state, deployment_id=meant.deployment_id,
                skill_id=meant.skill_id if meant.deployment_id is None else None,
            )  # fmt: skip
            return reflection.check_support(tx, found, at)

    def pin(self, lesson: str) -> Lesson:
        """Make a lesson the person's own word: it stays as it is, and every chat in the skill's scope sees it."""
        self._book.ask("lessons.change")
        with self._memory.writing() as (tx, preset):
            return lessons.pin(tx, self._book.origin, preset, lesson)

    def unpin(self, lesson: str) -> Lesson:
        """Make a lesson a reading again; reflections may change it."""
        self._book.ask("lessons.change")
        with self._memory.writing() as (tx, preset):
            return lessons.unpin(tx, self._book.origin, preset, lesson)

    def retire(self, lesson: str) -> Lesson:
        """Put a lesson away; a later reflection does not bring it back."""
        self._book.ask("lessons.change")
        with self._memory.writing() as (tx, preset):
            return lessons.retire(tx, self._book.origin, preset, lesson)

    def restore_lesson(self, lesson: str) -> Lesson:
        """Bring back a lesson that was put away."""
        self._book.ask("lessons.change")
        with self._memory.writing() as (tx, preset):
            return lessons.restore_lesson(tx, self._book.origin, preset, lesson)


def _known_at(tx: Tx, known_at: Moment, now: str) -> str:
    at = read_moment(known_at, field="known_at", moment=tx.clock(), zone=owners.zone_name(tx)) or now
    if not SOONEST <= at <= LATEST:
        raise Invalid("known_at is a time between the years 1900 and 9000", field="known_at")
    return at


def _resolve_target(tx: Tx, skill: str | None, deployment: str | None, at: str | None = None) -> TradingTarget:
    if deployment is not None:
        one = skills.find_deployment(tx, deployment)
        if skill is not None and skills.find_skill(tx, skill).id != one.skill_id:
            raise Invalid(f"{one.name} is no deployment of {skill!r}; name one of the two", field="deployment")
        return TradingTarget(one.skill_id, one.id, [one])
    id = None if skill is None else skills.find_skill(tx, skill).id
    return TradingTarget(id, None, skills.list_deployments(tx, id, at))


def _asked(
    tx: Tx, skill: str | None, deployment: str | None, known_at: Moment, now: str, currency: str | None = None
) -> results.Asked:
    at = _known_at(tx, known_at, now)
    meant = _resolve_target(tx, skill, deployment, at)
    into = clean_line(currency, "currency", 1, 20).upper() if currency else None
    return results.Asked(
        deployments=meant.deployments, known_at=at, is_one=meant.deployment_id is not None, currency=into
    )
