"""The memory block: choose, order, fit the budget, render.

Pure: the same entries at the same instant give the same bytes on every machine, so nothing here asks a clock,
a locale or the Unicode tables of this Python. Contents are hostile until shown otherwise: what cannot be seen
is dropped, what breaks a line is folded, markup that opens something or passes for a prefix of ours becomes
plain text; ordinary sentences come through untouched. What exceeds a budget (characters / 4, rounded up) is
cut in whole lines, lowest priority first, and the rest is displayed in the preset's order.
"""

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Literal, NamedTuple

from keepbook.book.ground.patterns import regex
from keepbook.presets import Preset

CHARACTERS_PER_TOKEN = 4


class Entry(NamedTuple):
    """One active and currently valid memory. Times are fixed-width stamps, so they sort as text."""

    id: str
    version: int
    category: str | None
    subject: str | None
    content: str
    summary: str | None
    confidence: str
    importance: float
    source: str
    score: float | None
    created_at: str
    recorded_at: str
    last_confirmed_at: str | None
    edited_at: str  # last creation, update, promotion or restoration
    last_referenced_at: str | None
    waiting: bool  # not injected since `edited_at`


class Fate(NamedTuple):
    """Where a memory ended up, and why where it is not in the block."""

    place: Literal["in_block", "recall_only", "cut"]
    reason: str = ""


class Rendered(NamedTuple):
    text: str
    shown: tuple[tuple[str, int], ...]  # (id, version), in block order
    fates: dict[str, Fate]


IN_BLOCK = Fate("in_block")
OVER_LIMIT = Fate("cut", "over the number of lines")
OVER_BUDGET = Fate("cut", "over the token budget")

_OTHER = ""  # the group of categories the preset does not know; also the one group of a block without groups


# --- rules: score


def effective_score(score: float, since: str, now: str, half_life_days: float) -> float:
    """What is left of a score; `since` is the later of recording and last confirmation."""
    age = datetime.fromisoformat(now) - datetime.fromisoformat(since)
    return score * math.pow(0.5, max(age.total_seconds() / 86_400, 0.0) / half_life_days)


def days_above_floor(score: float, preset: Preset) -> float:
    """How long after it was affirmed `effective_score` stays on or above the floor; without a floor, for ever."""
    return preset.half_life_days * math.log2(score / preset.floor) if preset.floor else math.inf


def _affirmed_at(entry: Entry) -> str:
    confirmed, recorded = entry.last_confirmed_at, entry.recorded_at
    return confirmed if confirmed is not None and confirmed > recorded else recorded


def _faded(entries: Sequence[Entry], preset: Preset, now: str) -> set[str]:
    """The ids under the floor. Only what software found can fade: once promoted it is the person's word."""
    faded = set()
    last: dict[float, str] = {}  # scores are few, so one stamp for each settles its memories by comparing text
    for entry in entries:
        score = entry.score
        if entry.source != "extracted" or score is None or entry.confidence == "asserted":
            continue
        if score not in last:
            last[score] = _fades_before(score, preset, now)
        if _affirmed_at(entry) < last[score]:
            faded.add(entry.id)
    return faded


def _fades_before(score: float, preset: Preset, now: str) -> str:
    """Affirmed before this instant, `effective_score` is under the floor by now."""
    if score < preset.floor:
        return "~"  # after every stamp
    try:
        instant = datetime.fromisoformat(now) - timedelta(days=days_above_floor(score, preset))
    except OverflowError:  # no floor, or a half-life of ages
        return ""
    return instant.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


# --- rules: order
# Stable passes over plain keys, the last one the strongest: twice as fast as one pass over tuples.


def _by_priority(entries: Sequence[Entry]) -> list[Entry]:
    """Importance, then most recently confirmed or recorded, then id."""
    order = sorted(entries, key=itemgetter(0))
    order.sort(key=_affirmed_at, reverse=True)
    order.sort(key=itemgetter(7), reverse=True)
    return order


def _by_recency(entries: Sequence[Entry]) -> list[Entry]:
    """Waiting ones first, newest edit first; then the most recently referenced; asserted, newest, id.

    Being shown is what makes a memory referenced. Without the waiting ones in front the first ten would keep
    themselves alive for ever and nothing new would enter.
    """
    order = sorted(entries, key=itemgetter(0))
    order.sort(key=itemgetter(10), reverse=True)
    order.sort(key=lambda entry: entry.confidence == "asserted", reverse=True)
    order.sort(key=lambda entry: (entry.edited_at if entry.waiting else entry.last_referenced_at) or "", reverse=True)
    order.sort(key=lambda entry: not entry.waiting)
    return order


def _by_category(row: tuple[str, Entry, str]) -> tuple[str, str, str]:
    _, entry, _ = row
    return entry.category or "", entry.created_at, entry.id


# --- rules: one safe line

# Most contents are plain ASCII sentences and pass with one look; what is not surely harmless goes the long way.
_HARMLESS = regex(r"[A-Za-z$\"'(][ -;=-Z\\-_a-~]*")

# Category Cf and the tags and variation selectors of plane 14, which smuggle text. Written out (and the patterns
# below are ASCII), because Unicode tables differ between Python versions and the bytes of a block must not.
_UNSEEN = regex(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_CONTROL = regex("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TAG = regex(r"<([^\s\d=<>-][^<>]*)>", re.ASCII)
_TAG_OPENING = regex(r"(?<!<)<++(?=[^\s\d=<>-])", re.ASCII)
_FENCE = regex(r"`{3,}")
_ID = regex(r"\[(id:[^\[\]]*|[a-z0-9]{8})\]", re.ASCII | re.IGNORECASE)
_ID_OPENING = regex(r"\[(?=id:)", re.ASCII | re.IGNORECASE)
_OPENING = regex(r"[#>|]|[-+*](?= |$)|~~~|=+$|([-*_])(?: ?\1){2,}$")
_NUMBERED = regex(r"(\d{1,9})[.)](?= |$)", re.ASCII)
_MARK = "(inferred)"


def _harmless(text: str) -> bool:
    return bool(_HARMLESS.fullmatch(text)) and "  " not in text and text[-1] not in " )"


def _folded(text: str) -> str:
    """One visible line without tags or fences."""
    if _harmless(text):
        return text
    text = _CONTROL.sub(" ", _UNSEEN.sub("", text))
    text = " ".join(text.split())
    if "<" in text:
        text = _TAG_OPENING.sub(lambda run: "\u2039" * len(run[0]), _TAG.sub("\u2039\\1\u203a", text))
    if "```" in text:
        text = _FENCE.sub(lambda run: "'" * len(run[0]), text)
    return text


def _statement(text: str) -> str:
    """The text of a line: opens nothing at its start, and passes for no id, no topic and no mark of ours."""
    if _harmless(text):
        return text
    text = _folded(text)
    if "[" in text:
        text = _ID_OPENING.sub("(", _ID.sub(r"(\1)", text))
        if text[0] == "[":
            text = "(" + text[1:].replace("]", ")", 1)
    if _OPENING.match(text):
        text = "\\" + text
    elif number := _NUMBERED.match(text):
        text = f"{number[1]}\\{text[number.end(1) :]}"
    if text[-len(_MARK) :].lower() == _MARK:
        text = text[:-1] + "\\)"
    return text or "…"


def _bracketed(text: str | None) -> str:
    """`[text] ` that closes where it should, or nothing."""
    text = _folded(text or "").replace("[", "(").replace("]", ")")
    if text[:3].lower() == "id:":
        text = f"id {text[3:]}"
    return f"[{text}] " if text else ""


@lru_cache(maxsize=64)
def _lines(preset: Preset) -> Callable[[Entry], str]:
    """How this preset writes a memory: settled once, for a block has a hundred of them."""
    style = preset.line
    opening = {"none": "- ", "short": "- [{}] ", "labelled": "- [id:{}] "}[style.id].format
    topic, subject, marks = style.topic, style.subject, style.mark_inferred

    def line(entry: Entry) -> str:
        said = entry[5] or entry[4]
        if not (_HARMLESS.fullmatch(said) and "  " not in said and said[-1] not in " )"):
            said = _statement(said)
        if marks and entry[6] == "inferred":
            said = f"{said} {_MARK}"
        if subject and entry[3]:
            said = _bracketed(entry[3]) + said
        if topic and entry[2]:
            said = _bracketed(entry[2]) + said
        return opening(entry[0]) + said

    return line


# --- rules: the block


def render(entries: Sequence[Entry], preset: Preset, now: str) -> Rendered:
    """The block of these memories at `now`, and what became of each of them."""
    selection, faded = preset.selection, _faded(entries, preset, now)
    fates = dict.fromkeys(faded, Fate("recall_only", f"its score is under {preset.floor}"))
    rest = [entry for entry in entries if entry.id not in faded] if faded else entries
    order = _by_recency(rest) if selection.kind == "recent" else _by_priority(rest)
    fates |= dict.fromkeys([entry.id for entry in order], OVER_BUDGET)
    if selection.limit is not None:
        fates |= dict.fromkeys([entry.id for entry in order[selection.limit :]], OVER_LIMIT)
        order = order[: selection.limit]

    kept = _fit(order, preset, len(entries))
    if not kept:
        return Rendered("", (), fates)
    if selection.kind == "ordered":
        kept.sort(key=_by_category)
    fates |= dict.fromkeys([entry.id for _, entry, _ in kept], IN_BLOCK)
    return Rendered(*_laid_out(kept, preset, len(entries)), fates)


def render_again(chosen: Sequence[Entry], preset: Preset, count: int) -> Rendered:
    """The block of what was chosen for it before, in its order, out of so many; of the others it knows nothing."""
    if not chosen:
        return Rendered("", (), {})
    line = _lines(preset)
    return Rendered(*_laid_out([(_group(one, preset), one, line(one)) for one in chosen], preset, count), {})


def _laid_out(
    kept: Sequence[tuple[str, Entry, str]], preset: Preset, count: int
) -> tuple[str, tuple[tuple[str, int], ...]]:
    """The text of the block, and what it shows in which order."""
    groups: dict[str, list[tuple[str, Entry, str]]] = {}
    for row in kept:
        groups.setdefault(row[0], []).append(row)
    known = sorted(preset.categories) if preset.selection.kind == "ordered" else preset.categories
    parts, shown = [_head(preset)], list[tuple[str, int]]()
    for group in (*known, _OTHER):
        if group in groups:
            parts.append("\n".join([_title(group, preset), *[line for _, _, line in groups[group]]]))
            shown += [entry[:2] for _, entry, _ in groups[group]]
    parts.append(_more(count - len(kept), preset))
    return "".join(parts), tuple(shown)


def _fit(order: Sequence[Entry], preset: Preset, count: int) -> list[tuple[str, Entry, str]]:
    """What stays of `order`, as (group, entry, line), still in that order. `count` includes what faded."""
    budgets, total = {_OTHER: preset.selection.other, **preset.selection.budgets}, preset.selection.total
    sizes: dict[str, int] = {}  # characters of each group that stands, its title and newlines included
    full: set[str] = set()
    kept = []
    free = None if total is None else total * CHARACTERS_PER_TOKEN - len(_head(preset))
    line_of = _lines(preset)
    for entry in order:
        group = _group(entry, preset)
        if group in full:
            continue
        line = line_of(entry)
        before = sizes.get(group, 0)
        size = (before or len(_title(group, preset))) + 1 + len(line)
        budget = budgets.get(group)
        if budget is not None and size > budget * CHARACTERS_PER_TOKEN:
            full.add(group)
            continue
        if free is not None:
            free -= size - before
            if free < 0:
                break
        sizes[group] = size
        kept.append((group, entry, line))

    # The heading and the last line must fit as well; that may cost a few lines more.
    while kept:
        whole = len(_head(preset)) + sum(sizes.values()) + len(_more(count - len(kept), preset))
        tokens = sum(budgets.get(group) or 0 for group in sizes) if total is None else total
        if not tokens or whole <= tokens * CHARACTERS_PER_TOKEN:
            break
        group, _, line = kept.pop()
        sizes[group] -= 1 + len(line)
        if sizes[group] == len(_title(group, preset)):
            del sizes[group]
    return kept


def _group(entry: Entry, preset: Preset) -> str:
    return entry.category if entry.category is not None and entry.category in preset.titles else _OTHER


def _head(preset: Preset) -> str:
    return f"## {preset.heading}\n\n{preset.intro}"


def _title(group: str, preset: Preset) -> str:
    if preset.selection.kind == "recent":
        return "\n"
    return f"\n\n### {preset.titles[group] if group else 'Other'}"


def _more(left_out: int, preset: Preset) -> str:
    if not left_out or preset.recall_tool is None:
        return ""
    return f"\n\n{left_out} more can be recalled with the {preset.recall_tool} tool."
