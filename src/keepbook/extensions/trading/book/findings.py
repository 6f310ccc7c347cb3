"""Finds what closed trades teach, and no more than the sample supports.

Trades are grouped by regime, side, symbol, hour of entry and holding time, and by two combinations of them. In each
group with at least six trades the mean net return must differ from zero by the interval of a bootstrap, and by more
than the luck that this book's trades have. Samples are drawn with a fixed seed, so the same trades always teach the
same. Many groups are tried, and some look good by chance: Benjamini–Hochberg holds the share of such findings at 10 %,
and how many were tried is part of every finding. The words are ours; a model's are taken only if each number in them
was computed here.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import islice
from operator import mul
from random import Random
from statistics import fmean, median
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from keepbook.book.ground.when import in_zone
from keepbook.extensions.trading.book.market.symbols import spell_market
from keepbook.patterns import regex

FEWEST = 6
MOST = 500
"""A group of more is judged by its last 500 trades."""
RESAMPLES = 4000
LARGE = 60
FEW = 30
"""In groups of more than the one, and in books of fewer trades than the other, chance is Student's t."""
FALSE_DISCOVERIES = 0.10
TRAITS = ("symbol", "side", "regime", "hour", "holding")
COMBINATIONS = (
    ("regime",), ("side",), ("symbol",), ("hour",), ("holding",), ("symbol", "holding"), ("symbol", "side", "regime"),
)  # fmt: skip
"""What trades are grouped by; of groups that hold the very same trades, the later in this list is kept."""
HOURS = ("02:00–06:00", "06:00–10:00", "10:00–14:00", "14:00–18:00", "18:00–22:00", "22:00–02:00")
"""Bands of the hour of entry where the owner lives; the last goes over midnight."""
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
    """The return of one trade; `nth` tells it from others with the same return."""

    nth: int
    net_return: float
    exit_time: str


TraitGroup = tuple[tuple[str, str], ...]
"""What the trades of a group have in common: (("symbol", "BTC/USDT"), ("side", "long"))."""


@dataclass(frozen=True, slots=True)
class TradeGroups:
    """Trades in their groups, in order of exit; `first` and `last` are exit times."""

    groups: Mapping[TraitGroup, Sequence[Effect]]
    trades: int
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
    first: str
    last: str
    capped: bool

    @property
    def key(self) -> str:
        """The key by which a finding is the same as an earlier one."""
        return ";".join(f"{name}={value}" for name, value in self.group)

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
    """The findings that hold, strongest first, and how many groups had enough trades to be tested."""

    findings: tuple[Finding, ...]
    tried: int
    trades: int
    first: str | None
    last: str | None


# Rules of grouping


def gather(trades: Iterable[TradeResult], zone: ZoneInfo) -> TradeGroups:
    """Sort trades, which come in order of exit, into their groups. Only the last of each group are held."""
    groups: dict[TraitGroup, deque[Effect]] = {}
    places: dict[tuple[str | None, ...], list[deque[Effect]]] = {}  # trades of the same traits go the same way
    first, last, count = None, None, 0
    for trade in trades:
        traits = _traits(trade, zone)
        if traits not in places:
            # One more than counts, so that a group of many is known for one.
            places[traits] = [groups.setdefault(group, deque(maxlen=MOST + 1)) for group in _groups(traits)]
        effect = Effect(count, trade.pnl / (trade.entry_price * trade.quantity), trade.exit_time)
        for group in places[traits]:
            group.append(effect)
        first, last, count = first or trade.exit_time, trade.exit_time, count + 1
    return TradeGroups(groups, count, first, last)


def _traits(trade: TradeResult, zone: ZoneInfo) -> tuple[str | None, ...]:
    begun, ended = datetime.fromisoformat(trade.entry_time), datetime.fromisoformat(trade.exit_time)
    hours = (ended - begun).total_seconds() / 3600
    hour = HOURS[(in_zone(begun, zone).hour - 2) % 24 // 4]
    holding = HOLDING[0 if hours < 1 else 1 if hours <= 9 else 2]
    return spell_market(trade.symbol), trade.side, trade.entry_regime_tag or None, hour, holding


def _groups(traits: tuple[str | None, ...]) -> Iterator[TraitGroup]:
    known = {name: value for name, value in zip(TRAITS, traits, strict=True) if value is not None}
    for names in COMBINATIONS:
        if known.keys() >= set(names):
            yield tuple((name, known[name]) for name in names)


# Rules of evidence


def find_effects(gathered: TradeGroups) -> Findings:
    """The findings that the sample supports."""
    enough = {group: effects for group, effects in gathered.groups.items() if len(effects) >= FEWEST}
    chance = Chance(gathered.groups.values())
    ps = {group: chance.p_value(_returns(effects)) for group, effects in enough.items()}
    bound = discovery_bound(list(ps.values()), FALSE_DISCOVERIES)
    findings = [to_finding(group, enough[group], p, len(enough)) for group, p in ps.items() if p <= bound]
    kept = [one for one in findings if one.low > 0 or one.high < 0]
    distinct = {
        tuple(effect.nth for effect in _newest_effects(enough[finding.group])): finding
        for finding in sorted(kept, key=lambda finding: COMBINATIONS.index(tuple(name for name, _ in finding.group)))
    }
    findings = sorted(distinct.values(), key=lambda finding: (finding.p, -abs(finding.mean), finding.key))
    return Findings(tuple(findings), len(enough), gathered.trades, gathered.first, gathered.last)


def _newest_effects(effects: Sequence[Effect]) -> list[Effect]:
    return list(islice(effects, max(0, len(effects) - MOST), None))


def _returns(effects: Sequence[Effect]) -> tuple[float, ...]:
    """Sorted: sums depend on the order, in their last digits."""
    return tuple(sorted(effect.net_return for effect in _newest_effects(effects)))


def to_finding(group: TraitGroup, effects: Sequence[Effect], p: float, tried: int) -> Finding:
    """The finding of a group."""
    counted, returns = _newest_effects(effects), _returns(effects)
    low, high = bootstrap(returns, seed=";".join(f"{name}={value}" for name, value in group))
    return Finding(
        group=group, trades=len(returns), wins=sum(one > 0 for one in returns), losses=sum(one < 0 for one in returns),
        mean=fmean(returns), median=median(returns), low=low, high=high, p=p, tried=tried,
        first=counted[0].exit_time, last=counted[-1].exit_time, capped=len(effects) > MOST,
    )  # fmt: skip


@lru_cache(maxsize=512)
def bootstrap(returns: tuple[float, ...], *, seed: str) -> tuple[float, float]:
    """The 95 % interval of the mean, from the percentiles of samples of the same size; `seed` fixes them. The result is
    cached: most groups are as they were at the last reflection."""
    count = len(returns)
    means = sorted(sum(sample) / count for sample in _samples(returns, count, Random(seed)))
    tail = RESAMPLES // 40
    return means[tail], means[-1 - tail]


class Chance:
    """The probability that a group of this size, drawn from all trades at random, has a mean this far from zero.

    Groups of the same size are drawn from all trades with the mean taken out, and each is put in its own standard
    errors, like the one that is judged. So a strategy of many small losses and a few large gains is compared with its
    own kind of luck. Too few trades do not show what kind that is, and for large groups it no longer matters: there
    Student's t is used.
    """

    def __init__(self, groups: Iterable[Iterable[Effect]]) -> None:
        every = sorted({effect.nth: effect.net_return for group in groups for effect in group}.values())
        mean = fmean(every) if every else 0.0
        self._luck = tuple(one - mean for one in every)

    def p_value(self, returns: Sequence[float]) -> float:
        """The two-sided p of a group's mean."""
        count, seen = len(returns), in_errors(returns)
        if count > LARGE or len(self._luck) < FEW:
            return student(seen, count - 1)
        drawn = _by_luck(self._luck, count)
        beyond = min(bisect_right(drawn, seen), RESAMPLES - bisect_left(drawn, seen))
        return min(1.0, 2 * (beyond + 1) / (RESAMPLES + 1))


@lru_cache(maxsize=64)
def _by_luck(luck: tuple[float, ...], count: int) -> list[float]:
    """The means of groups that have nothing in common, each in its standard errors; smallest first."""
    return sorted(map(in_errors, _samples(luck, count, Random(count))))


def _samples(values: tuple[float, ...], count: int, dice: Random) -> Iterator[list[float]]:
    """All drawn in one go: to draw again for each takes longer than what is drawn."""
    drawn = dice.choices(values, k=count * RESAMPLES)
    return (drawn[at : at + count] for at in range(0, len(drawn), count))


def in_errors(returns: Sequence[float]) -> float:
    """A mean in its own standard errors; infinite if all values are the same."""
    count = len(returns)
    mean = sum(returns) / count
    squares = sum(map(mul, returns, returns)) - count * mean * mean
    if squares <= 1e-12 * count * mean * mean:  # whatever rounding says
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / math.sqrt(squares / (count - 1) / count)


def student(t: float, freedom: int) -> float:
    """The two-sided probability of a t of this size or more, for a whole number of degrees of freedom."""
    angle = math.atan2(abs(t), math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    term = total = cosine if odd else 1.0
    for each in range(2 + odd, freedom, 2):
        term *= cosine * cosine * (each - 1) / each
        total += term
    within = math.sin(angle) * total
    if odd:
        within = (angle + (within if freedom > 1 else 0.0)) * 2 / math.pi
    return max(0.0, 1.0 - within)


def discovery_bound(ps: Sequence[float], rate: float) -> float:
    """Benjamini–Hochberg: the largest p that counts, so that of those that do `rate` are by chance; -1 for none."""
    found = [p for rank, p in enumerate(sorted(ps), 1) if p <= rate * rank / len(ps)]
    return found[-1] if found else -1.0


# Rules of wording


def _subject(traits: Mapping[str, str]) -> str:
    """The finding in a few words: «BTC/USDT long · chop»."""
    what = " ".join(traits[name] for name in ("symbol", "side") if name in traits)
    rest = [_short(traits["regime"])] if "regime" in traits else []
    rest += [f"entry {traits['hour']}"] if "hour" in traits else []
    rest += [f"held {traits['holding']}"] if "holding" in traits else []
    return " · ".join(([what] if what else []) + rest)


def _group_in_words(traits: Mapping[str, str]) -> str:
    words = [traits["symbol"]] if "symbol" in traits else []
    words.append(f"{traits['side']}s" if "side" in traits else "trades")
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
    return tag if len(tag) <= 60 else tag[:59] + "…"


def _sentence(finding: Finding) -> str:
    who, count = _group_in_words(dict(finding.group)), finding.trades
    if count in (finding.wins, finding.losses):
        return (
            f"The last {count} {who} all {'won' if finding.wins else 'lost'}, median {_show_returns(finding).median} %."
        )
    shown = _show_returns(finding)
    who = who if "symbol" in dict(finding.group) else who[0].upper() + who[1:]
    effect = f"paid {shown.mean} %" if finding.mean > 0 else f"lost {shown.mean.lstrip('−')} %"
    sample = f"the last {count} trades" if finding.capped else f"{count} trades"
    return f"{who} {effect} on average ({sample}, interval {shown.low} to {shown.high} %)."


def _details(finding: Finding) -> str:
    shown = _show_returns(finding)
    only = f" Only the last {MOST} of the group count." if finding.capped else ""
    return (
        f"{finding.trades} trades closed from {finding.first[:10]} to {finding.last[:10]}, {finding.wins} of them won."
        f"{only} Net return of a trade: mean {shown.mean} %, median {shown.median} %; 95 % bootstrap interval of the "
        f"mean {shown.low} to {shown.high} %, p = {finding.p:.4f}. Groups tried: {finding.tried}; kept at a false "
        f"discovery rate of {FALSE_DISCOVERIES:.0%} (Benjamini–Hochberg)."
    )


class _ShownReturns(NamedTuple):
    """The returns of a finding in percent, all with as many decimals as the smallest needs not to look like none."""

    mean: str
    median: str
    low: str
    high: str


def _show_returns(finding: Finding) -> _ShownReturns:
    values = (finding.mean, finding.median, finding.low, finding.high)
    places = next(
        (places for places in (1, 2, 3) if all(round(abs(one) * 100, places) for one in values if one)),
        4,
    )
    return _ShownReturns(*(f"{one * 100:+.{places}f}".replace("-", "−") for one in values))


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
    text = " ".join(said.split()) if isinstance(said, str) else ""
    return text if 10 <= len(text) <= most and _only_computed(finding, text) else finding.text


_COUNT = regex(r"\d+")
_WORD = regex(r"[a-z]+")
_DIGIT = regex(r"\d")


def _only_computed(finding: Finding, text: str) -> bool:
    traits, shown = dict(finding.group), _show_returns(finding)
    counts = {finding.trades, finding.wins, finding.losses, finding.tried}
    counts |= {int(number) for name in ("hour", "holding") for number in _COUNT.findall(traits.get(name, ""))}
    percents = {float(one.replace("−", "-")) for one in shown} | {95.0}
    symbol = traits.get("symbol", "")
    regime = traits.get("regime", "")
    for name in (symbol, symbol.split("/")[0], regime, regime.replace("_", " ")):  # digits in a name are no numbers
        text = text.replace(name, " ") if name else text
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
