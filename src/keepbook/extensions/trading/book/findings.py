"""Finds groups of closed trades whose mean return differs from zero by more than chance.

Trades are grouped by regime, side, symbol, hour of entry and holding time, and by two combinations of them. In each
group with at least six trades, the bootstrap interval of the mean net return must not contain zero, and such a mean
must be unlikely among groups that are drawn from the days of the whole book (`chance`). Samples are drawn with a fixed
seed, so the same trades always give the same findings. Many groups are tried, and some look good by chance:
Benjamini–Hochberg limits the share of such findings to the level of the look, and every finding says how many groups
were tried. The wording is ours; a model's wording is taken only if each number in it was computed here.
"""

import math
import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice
from statistics import fmean, median
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from keepbook.book.ground.when import in_zone
from keepbook.extensions.trading.book.chance import (
    FALSE_DISCOVERIES,
    FEWEST_CLOSING_DAYS,
    FIRST_TRADES,
    Chance,
    DaySums,
    bootstrap,
    discovery_bound,
    level_of_look,
)
from keepbook.extensions.trading.book.market.symbols import spell_market
from keepbook.patterns import regex

FEWEST = 6  # trades of a group that is judged
MOST = 500
"""How many trades of a group are judged; of a larger one the last."""
OVERNIGHT = timedelta(hours=24)  # a trade that was held longer counts as overnight
FEW_OVERNIGHT = 0.2
"""If a larger share of the trades was held longer than a day, days depend on each other, and weeks are counted."""
TRAITS = ("symbol", "side", "regime", "hour", "holding")
COMBINATIONS = (
    ("regime",), ("side",), ("symbol",), ("hour",), ("holding",), ("symbol", "holding"), ("symbol", "side", "regime"),
)  # fmt: skip
"""The traits by which trades are grouped. If two groups have exactly the same trades, the later in this list is
kept."""
HOURS = ("02:00–06:00", "06:00–10:00", "10:00–14:00", "14:00–18:00", "18:00–22:00", "22:00–02:00")
"""Bands of the hour of entry, in the owner's zone; the last includes midnight."""
HOLDING = ("under 1 hour", "1 to 9 hours", "longer than 9 hours")
"""Bands of the time from entry to exit; exactly 9 hours belong to the second."""


class TradeResult(Protocol):
    """The fields of a closed trade that findings use."""

    @property
    def symbol(self) -> str: ...
    @property
    def side(self) -> str: ...
    @property
    def quantity(self) -> float: ...
    @property
    def entry_time(self) -> str: ...
    @property
    def entry_price(self) -> float: ...
    @property
    def exit_time(self) -> str: ...
    @property
    def pnl(self) -> float: ...
    @property
    def entry_regime_tag(self) -> str | None: ...


class Effect(NamedTuple):
    """The return of one trade; `day` is the day of its exit in the owner's zone, `nth` its number among all trades."""

    nth: int
    net_return: float
    exit_time: str
    day: str


TraitGroup = tuple[tuple[str, str], ...]
"""The traits that all trades of a group have: (("symbol", "BTC/USDT"), ("side", "long"))."""


@dataclass(frozen=True, slots=True)
class TradeGroups:
    """Trades in their groups, in order of exit. `first` and `last` are exit times; `overnight` is how many were held
    for over a day."""

    groups: Mapping[TraitGroup, Sequence[Effect]]
    trades: int
    overnight: int
    first: str | None
    last: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A group whose mean net return is not zero by chance alone. Returns are fractions; `p` is two-sided."""

    group: TraitGroup
    trades: int
    wins: int
    losses: int
    mean: float
    median: float
    low: float
    high: float
    p: float
    tried: int
    days: int
    unit: str
    first: str
    last: str
    capped: bool

    @property
    def key(self) -> str:
        """The key of its group; an earlier finding with the same key is the same finding."""
        return _to_key(self.group)

    @property
    def subject(self) -> str:
        return _subject(dict(self.group))

    @property
    def text(self) -> str:
        return _sentence(self)

    @property
    def details(self) -> str:
        return _details(self)


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings that hold, strongest first, and how many groups had enough trades to be tested; `days` are those on
    which trades were closed, or the weeks, whose name is `unit`."""

    findings: tuple[Finding, ...]
    tried: int
    days: int
    unit: str
    trades: int
    first: str | None
    last: str | None


# Rules of grouping


def gather(trades: Iterable[TradeResult], zone: ZoneInfo) -> TradeGroups:
    """Sort trades, which come in order of exit, into their groups. Of each group only the last MOST are kept."""
    groups: dict[TraitGroup, deque[Effect]] = {}
    places: dict[tuple[str | None, ...], list[deque[Effect]]] = {}  # trades of the same traits go the same way
    first, last, count, overnight = None, None, 0, 0
    for trade in trades:
        begun, ended = datetime.fromisoformat(trade.entry_time), datetime.fromisoformat(trade.exit_time)
        traits = _traits(trade, begun, ended, zone)
        if traits not in places:
            # One more than counts, to know that there were more.
            places[traits] = [groups.setdefault(group, deque(maxlen=MOST + 1)) for group in _groups(traits)]
        net_return = trade.pnl / (trade.entry_price * trade.quantity)
        effect = Effect(count, net_return, trade.exit_time, in_zone(ended, zone).date().isoformat())
        overnight += ended - begun > OVERNIGHT
        for group in places[traits]:
            group.append(effect)
        first, last, count = first or trade.exit_time, trade.exit_time, count + 1
    return TradeGroups(groups, count, overnight, first, last)


def _traits(trade: TradeResult, begun: datetime, ended: datetime, zone: ZoneInfo) -> tuple[str | None, ...]:
    """The traits of a trade, in the order of `TRAITS`."""
    hours = (ended - begun).total_seconds() / 3600
    hour = HOURS[(in_zone(begun, zone).hour - 2) % 24 // 4]
    if hours < 1:
        holding = HOLDING[0]
    elif hours <= 9:
        holding = HOLDING[1]
    else:
        holding = HOLDING[2]
    return spell_market(trade.symbol), trade.side, trade.entry_regime_tag or None, hour, holding


def _groups(traits: tuple[str | None, ...]) -> Iterator[TraitGroup]:
    known = {name: value for name, value in zip(TRAITS, traits, strict=True) if value is not None}
    for names in COMBINATIONS:
        if known.keys() >= set(names):
            yield tuple((name, known[name]) for name in names)


# Rules of evidence


def find_effects(
    judged: TradeGroups, look: int | None = None, *, every: TradeGroups | None = None, known: Collection[str] = ()
) -> Findings:
    """The findings that the sample supports. New ones come from the trades `judged`, at the level of the look at so
    many trades; their figures are then taken from `every` trade. A `known` finding stays as long as `every` trade still
    supports it."""
    first = _weigh(judged)
    bound = discovery_bound(list(first.ps.values()), level_of_look(look or judged.trades))
    may_hold = {_to_key(group) for group, p in first.ps.items() if p <= bound} | set(known)
    latest = first if every is None else _weigh(every)
    kept = []
    for group, p in latest.ps.items():
        if _to_key(group) in may_hold and p <= FALSE_DISCOVERIES:
            finding = to_finding(group, latest.groups[group], p, len(first.ps), latest.unit)
            if finding.low > 0 or finding.high < 0:
                kept.append(finding)
    kept.sort(key=lambda finding: COMBINATIONS.index(tuple(name for name, _ in finding.group)))
    by_trades: dict[tuple[int, ...], Finding] = {}
    for finding in kept:  # of groups with the same trades, the last replaces the others
        by_trades[tuple(effect.nth for effect in _newest_effects(latest.groups[finding.group]))] = finding
    strongest_first = sorted(by_trades.values(), key=lambda finding: (finding.p, -abs(finding.mean), finding.key))
    return Findings(
        findings=tuple(strongest_first), tried=len(first.ps), days=first.days, unit=first.unit, trades=judged.trades,
        first=judged.first, last=(every or judged).last,
    )  # fmt: skip


class _Weighed(NamedTuple):
    """The groups with enough trades, and the p-value of each; empty if there are too few days."""

    groups: Mapping[TraitGroup, Sequence[Effect]]
    ps: Mapping[TraitGroup, float]
    days: int
    unit: str


def _weigh(gathered: TradeGroups) -> _Weighed:
    unit = "week" if gathered.overnight > FEW_OVERNIGHT * gathered.trades else "day"
    every = {effect.nth: effect for some in gathered.groups.values() for effect in some}.values()
    days = len({_unit_of(effect, unit) for effect in every})
    if days < FEWEST_CLOSING_DAYS or gathered.trades < FIRST_TRADES:
        return _Weighed({}, {}, days, unit)
    enough = {group: effects for group, effects in gathered.groups.items() if len(effects) >= FEWEST}
    chance = Chance((_unit_of(effect, unit), effect.net_return) for effect in every)
    ps = {group: chance.p_value(_day_sums(effects, unit)) for group, effects in enough.items()}
    return _Weighed(enough, ps, days, unit)


def _to_key(group: TraitGroup) -> str:
    return ";".join(f"{name}={value}" for name, value in group)


def _unit_of(effect: Effect, unit: str) -> str:
    """The day of the exit, or the Monday of its week."""
    if unit == "day":
        return effect.day
    day = date.fromisoformat(effect.day)
    return (day - timedelta(days=day.weekday())).isoformat()


def _day_sums(effects: Sequence[Effect], unit: str) -> DaySums:
    """For each day (or week) the sum of returns and the number of trades. Sorted, because the last digits of a sum
    depend on the order."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for effect in _newest_effects(effects):
        found[_unit_of(effect, unit)].append(effect.net_return)
    return tuple(sorted((math.fsum(some), len(some)) for some in found.values()))


def _newest_effects(effects: Sequence[Effect]) -> list[Effect]:
    return list(islice(effects, max(0, len(effects) - MOST), None))


def to_finding(group: TraitGroup, effects: Sequence[Effect], p: float, tried: int, unit: str = "day") -> Finding:
    """The finding of a group."""
    counted, days = _newest_effects(effects), _day_sums(effects, unit)
    returns = sorted(effect.net_return for effect in counted)
    low, high = bootstrap(days, seed=_to_key(group))
    return Finding(
        group=group, trades=len(returns), wins=sum(one > 0 for one in returns), losses=sum(one < 0 for one in returns),
        mean=fmean(returns), median=median(returns), low=low, high=high, p=p, tried=tried, days=len(days), unit=unit,
        first=counted[0].exit_time, last=counted[-1].exit_time, capped=len(effects) > MOST,
    )  # fmt: skip


# Rules of wording


def _subject(traits: Mapping[str, str]) -> str:
    """The finding in a few words: «BTC/USDT long · chop»."""
    what = " ".join(traits[name] for name in ("symbol", "side") if name in traits)
    parts = [what] if what else []
    if "regime" in traits:
        parts.append(_short(traits["regime"]))
    if "hour" in traits:
        parts.append(f"entry {traits['hour']}")
    if "holding" in traits:
        parts.append(f"held {traits['holding']}")
    return " · ".join(parts)


def _group_in_words(traits: Mapping[str, str]) -> str:
    words = []
    if "symbol" in traits:
        words.append(traits["symbol"])
    if "side" in traits:
        words.append(f"{traits['side']}s")
    else:
        words.append("trades")
    if "regime" in traits:
        words.append(f"in {_short(traits['regime'])}")
    if "hour" in traits:
        begin, end = traits["hour"].split("–")
        words.append(f"entered between {begin} and {end}")
    if "holding" in traits:
        words.append(f"held {traits['holding']}")
    return " ".join(words)


def _short(tag: str) -> str:
    tag = tag.replace("_", " ")  # a tag is written for programs, a lesson for people
    if len(tag) <= 60:
        return tag
    return tag[:59] + "…"


def _sentence(finding: Finding) -> str:
    who, count = _group_in_words(dict(finding.group)), finding.trades
    if count in (finding.wins, finding.losses):
        return (
            f"The last {count} {who} all {'won' if finding.wins else 'lost'}, median {_show_returns(finding).median} %."
        )
    shown = _show_returns(finding)
    if "symbol" not in dict(finding.group):
        who = who[0].upper() + who[1:]
    effect = f"paid {shown.mean} %" if finding.mean > 0 else f"lost {shown.mean.lstrip('−')} %"
    sample = f"the last {count} trades" if finding.capped else f"{count} trades"
    return f"{who} {effect} on average ({sample}, interval {shown.low} to {shown.high} %)."


def _details(finding: Finding) -> str:
    shown = _show_returns(finding)
    only = ""
    if finding.capped:
        only = f" Only the last {MOST} of the group count."
    return (
        f"{finding.trades} trades closed from {finding.first[:10]} to {finding.last[:10]} on {finding.days} "
        f"{finding.unit}s, {finding.wins} of them won."
        f"{only} Net return of a trade: mean {shown.mean} %, median {shown.median} %; 95 % bootstrap interval of the "
        f"mean {shown.low} to {shown.high} %, p = {finding.p:.4f}. Groups tried: {finding.tried}; {finding.unit}s are "
        f"taken whole, and {FALSE_DISCOVERIES:.0%} of false discoveries (Benjamini–Hochberg) are shared by all looks."
    )


class _ShownReturns(NamedTuple):
    """The returns of a finding in percent, all with enough decimals that none of them is shown as zero."""

    mean: str
    median: str
    low: str
    high: str


def _show_returns(finding: Finding) -> _ShownReturns:
    values = (finding.mean, finding.median, finding.low, finding.high)
    places = 1
    while places < 4 and any(one and round(abs(one) * 100, places) == 0 for one in values):
        places += 1
    return _ShownReturns(*(f"{one * 100:+z.{places}f}".replace("-", "−") for one in values))


_NUMBER = regex(r"(?<![\w.])[+−–-]?\d+(?:[.,]\d+)?(?P<percent>\s*(?:%|per\s?cent))?", re.IGNORECASE)
_SPELLED = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_VAGUE = regex(
    r"\b(?:thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|dozens?|half|halves|thirds?"
    r"|quarters?|doubled?|twice|tripled?|once)\b",
    re.IGNORECASE,
)


def check_wording(finding: Finding, said: object, *, most: int = 400) -> str:
    """A model's wording of a finding, if it has one or two plain sentences and only numbers that were computed here.
    Otherwise our own wording."""
    text = ""
    if isinstance(said, str):
        text = " ".join(said.split())
    if 10 <= len(text) <= most and _only_computed(finding, text):
        return text
    return finding.text


_COUNT = regex(r"\d+")
_WORD = regex(r"[a-z]+")
_DIGIT = regex(r"\d")


def _only_computed(finding: Finding, text: str) -> bool:
    """Whether every number in a text, in digits or in words, is one of the finding's."""
    traits, shown = dict(finding.group), _show_returns(finding)
    counts = {finding.trades, finding.wins, finding.losses, finding.tried}
    counts |= {int(number) for name in ("hour", "holding") for number in _COUNT.findall(traits.get(name, ""))}
    percents = {float(one.replace("−", "-")) for one in shown} | {95.0}
    symbol = traits.get("symbol", "")
    regime = traits.get("regime", "")
    for name in (symbol, symbol.split("/")[0], regime, regime.replace("_", " ")):  # digits in a name are no numbers
        if name:
            text = text.replace(name, " ")
    if _VAGUE.search(text) or any(mark.isnumeric() and not mark.isdecimal() for mark in text):
        return False
    spelled = [_SPELLED.index(word) for word in _WORD.findall(text.lower()) if word in _SPELLED]
    if not counts.issuperset(spelled):
        return False
    if _DIGIT.search(_NUMBER.sub("", text)):
        return False
    return all(_is_computed(found, counts, percents) for found in _NUMBER.finditer(text))


def _is_computed(found: re.Match[str], counts: set[int], percents: set[float]) -> bool:
    written = found[0].removesuffix(found["percent"] or "").replace(",", ".").replace("−", "-").replace("–", "-")
    value, signed = float(written), written[0] in "+-"
    is_percent = any(math.isclose(value, one) or (not signed and math.isclose(value, abs(one))) for one in percents)
    return is_percent or (not found["percent"] and not signed and value in counts)
