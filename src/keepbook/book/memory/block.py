"""The memory block: choose, order, fit the budget, render.

These functions are pure: the same entries at the same instant give the same bytes on every machine, so nothing here
asks a clock, a locale or the Unicode tables of this Python. Contents are made safe line by line
(`for_models/safe_line.py`). Whole lines are cut until the rest fits the budget (tokens are characters / 4, rounded up),
lowest priority first; the rest is shown in the preset's order. Half of every budget goes first to the person's word and
to quotations of them. A line of another writer names that writer. Quotations stand in “ ”, which the head explains.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Literal, NamedTuple

from keepbook.book.text.block_lines import HEAD, LINE, MORE, TITLE, BlockLine, block_text
from keepbook.book.text.for_models.safe_line import (
    HARMLESS,
    INFERRED_MARK,
    in_brackets,
    safe_statement,
    single_line,
    without_ids,
    writer_mark,
)
from keepbook.book.text.quotation import as_shown
from keepbook.presets import BlockRules

CHARACTERS_PER_TOKEN = 4


class BlockEntry(NamedTuple):
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
    quoted: int = 0
    spans: str | None = None
    said_on: str | None = None
    written_by: str | None = None  # who chose the words; None: the person


class Fate(NamedTuple):
    """Whether a memory is in the block, and if not, why."""

    place: Literal["in_block", "recall_only", "cut"]
    reason: str = ""


class ComposedBlock(NamedTuple):
    """A block: its text, the lines that make it up, the memories it shows, and why each other memory is not shown."""

    text: str
    shown: tuple[tuple[str, int], ...]  # (id, version), in block order
    fates: dict[str, Fate]
    lines: tuple[BlockLine, ...] = ()


class ChosenEntry(NamedTuple):
    """A memory chosen for the block: its group, and the line that shows it."""

    group: str
    entry: BlockEntry
    line: BlockLine
    size: int  # characters, with the end of the line before it


class Filling(NamedTuple):
    """The lines that fit into the budgets."""

    kept: list[ChosenEntry]
    sizes: dict[str, int]  # characters by group
    is_full: bool  # whether the next line would have exceeded the budget of the whole block


class ChosenLines(NamedTuple):
    """Which of some memories fill the block, before it is laid out."""

    order: Sequence[BlockEntry]  # by priority, as they stand in the block
    taken: Sequence[BlockEntry]  # in the order in which they compete for the budget
    filling: Filling
    faded: set[str]  # the ids of those under the floor
    mixed: bool  # whether somebody else than the person wrote some of them
    is_decided: bool  # whether no memory of lower priority could enter, if there is one budget for all groups


IN_BLOCK = Fate("in_block")
OVER_LIMIT = Fate("cut", "over the number of lines")
OVER_BUDGET = Fate("cut", "over the token budget")
QUOTES = "Lines in “ ” are quoted from what was said in chats, and “I” in them is the person."
"""Is added to the head of a block that has quotations."""

_OTHER = ""  # the group of categories that the preset does not know; also the only group of a block without groups


# --- rules: score


def effective_score(score: float, since: str, now: str, half_life_days: float) -> float:
    """A score after fading. `since` is the later of recording and last confirmation."""
    age = datetime.fromisoformat(now) - datetime.fromisoformat(since)
    return score * math.pow(0.5, max(age.total_seconds() / 86_400, 0.0) / half_life_days)


def days_above_floor(score: float, preset: BlockRules) -> float:
    """For how many days after its confirmation `effective_score` stays at or above the floor; infinite without one."""
    return preset.half_life_days * math.log2(score / preset.floor) if preset.floor else math.inf


def _affirmed_at(entry: BlockEntry) -> str:
    confirmed, recorded = entry.last_confirmed_at, entry.recorded_at
    return confirmed if confirmed is not None and confirmed > recorded else recorded


def _faded_ids(entries: Sequence[BlockEntry], preset: BlockRules, now: str) -> set[str]:
    """The ids of those under the floor. Only what software found can fade; once promoted it is the person's word."""
    faded = set()
    last: dict[float, str] = {}  # for each score the instant before which it has faded: few scores, many memories
    for entry in entries:
        score = entry.score
        if entry.source != "extracted" or score is None or entry.confidence == "asserted":
            continue
        if score not in last:
            last[score] = _fades_before(score, preset, now)
        if _affirmed_at(entry) < last[score]:
            faded.add(entry.id)
    return faded


def _fades_before(score: float, preset: BlockRules, now: str) -> str:
    """If a memory of this score was last affirmed before the returned instant, it is under the floor by now."""
    if score < preset.floor:
        return "~"  # after every stamp
    try:
        instant = datetime.fromisoformat(now) - timedelta(days=days_above_floor(score, preset))
    except OverflowError:  # no floor, or a half-life of ages
        return ""
    return instant.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


# --- rules: order
# Stable sorts by one key each, the most important last: twice as fast as one sort by tuples.


def _by_priority(entries: Sequence[BlockEntry]) -> list[BlockEntry]:
    """Importance, then most recently confirmed or recorded, then id."""
    order = sorted(entries, key=itemgetter(0))
    order.sort(key=_affirmed_at, reverse=True)
    order.sort(key=itemgetter(7), reverse=True)
    return order


def comes_before(entry: BlockEntry, importance: float, affirmed: str) -> bool:
    """Whether an entry has priority over every entry of at most this importance that was affirmed by then."""
    return entry.importance > importance or (entry.importance == importance and _affirmed_at(entry) > affirmed)


def _by_recency(entries: Sequence[BlockEntry]) -> list[BlockEntry]:
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


def _by_category(one: ChosenEntry) -> tuple[str, str, str]:
    entry = one.entry
    return entry.category or "", entry.created_at, entry.id


# --- rules: whose line it is


def is_persons_line(entry: BlockEntry) -> bool:
    """Whether a line is the person's word, or quotes the person. Only the person can confirm or promote a line."""
    if entry.source == "profile" or entry.last_confirmed_at is not None:
        return True
    if entry.source == "chat" or entry.quoted:
        return entry.written_by is None
    return entry.source != "imported" and entry.confidence == "asserted"


def _persons_half_first(
    order: Sequence[BlockEntry], persons: Sequence[BlockEntry], preset: BlockRules
) -> tuple[list[BlockEntry], bool]:
    """The order in which lines are taken: the person's lines that fit into half of every budget, then all others as
    they stand in `order`. Also returns whether one more of the person's would exceed that half."""
    limit = preset.selection.limit
    half = _fill(persons if limit is None else persons[: (limit + 1) // 2], preset, parts=2)
    return _behind(half, order), half.is_full


def _behind(half: Filling, order: Sequence[BlockEntry]) -> list[BlockEntry]:
    """The entries of `half`, then all others as they stand in `order`."""
    first = [one.entry for one in half.kept]
    taken = {entry.id for entry in first}
    return first + [entry for entry in order if entry.id not in taken]


# --- rules: one safe line


def _quotation(entry: BlockEntry) -> str:
    """A quotation as it is shown. It begins with our quotation mark, so its words cannot begin a heading or a list.
    Brackets around exchanged words are ours too, and stay."""
    words = single_line(entry.content) or "…"
    if "[" in words and '"exchanged"' not in (entry.spans or ""):
        words = without_ids(words)
    return as_shown(words, entry.spans, entry.said_on)


@lru_cache(maxsize=64)
def _lines(preset: BlockRules) -> Callable[[BlockEntry], BlockLine]:
    """The function that writes a memory's line in this preset's style; it reads entries by index, for speed."""
    style = preset.line
    opening = {"none": "- ", "short": "- [{}] ", "labelled": "- [id:{}] "}[style.id].format
    topic, subject, marks = style.topic, style.subject, style.mark_inferred
    new = tuple.__new__  # for hundreds of lines quicker than calling `BlockLine`

    def line(entry: BlockEntry) -> BlockLine:
        id = entry[0]
        mark = opening(id)
        if topic and entry[2]:
            mark += in_brackets(entry[2])
        if subject and entry[3]:
            mark += in_brackets(entry[3])
        if entry[16]:
            quoted = _quotation(entry)
            if entry[19] is not None and not is_persons_line(entry):
                quoted += writer_mark(entry[19])
            return BlockLine(LINE, quoted, mark, id, entry[1])
        said = entry[5] or entry[4]
        if not (HARMLESS.fullmatch(said) and "  " not in said and said[-1] not in " )"):
            said = safe_statement(said)
        if marks and entry[6] == "inferred":
            said = f"{said} {INFERRED_MARK}"
        if entry[19] is not None and not is_persons_line(entry):
            said += writer_mark(entry[19])
        return new(BlockLine, (LINE, said, mark, id, entry[1]))

    return line


# --- rules: the block


def is_decided_in_order(preset: BlockRules) -> bool:
    """Whether a block is complete once lines taken in order of priority fill it, so that the rest need not be read. It
    is not if groups have budgets of their own, or if lines are chosen by recency."""
    selection = preset.selection
    in_all = selection.total is not None and selection.limit is None
    return selection.kind != "recent" and in_all and selection.other is None and not selection.budgets


def decides(
    entries: Sequence[BlockEntry], persons: Sequence[BlockEntry], preset: BlockRules, now: str, *, every_person: bool
) -> bool:
    """Whether these fill the block, so that no memory of lower priority can enter it. `entries` are the first of all
    memories, `persons` the first of the person's; with `every_person` the latter are all there are."""
    faded = _faded_ids([*entries, *persons], preset, now)
    order = _by_priority([one for one in entries if one.id not in faded])
    theirs = _by_priority([one for one in persons if one.id not in faded])
    half = _fill(theirs, preset, parts=2)
    return (half.is_full or every_person) and _fill(_behind(half, order), preset).is_full


def render(entries: Sequence[BlockEntry], preset: BlockRules, now: str, *, count: int | None = None) -> ComposedBlock:
    """The block of these memories, and each one's fate. `count`: how many there are in all, if these are the first."""
    return _compose(_choose(entries, preset, now), preset, len(entries) if count is None else count)


def render_first(entries: Sequence[BlockEntry], preset: BlockRules, now: str, count: int) -> ComposedBlock | None:
    """The block, made of the first of `count` memories; None if one of the rest might enter it."""
    choice = _choose(entries, preset, now)
    return _compose(choice, preset, count) if choice.is_decided else None


def _choose(entries: Sequence[BlockEntry], preset: BlockRules, now: str) -> ChosenLines:
    faded = _faded_ids(entries, preset, now)
    rest = [entry for entry in entries if entry.id not in faded] if faded else entries
    order = _by_recency(rest) if preset.selection.kind == "recent" else _by_priority(rest)
    persons = [entry for entry in order if entry[8] == "profile" or is_persons_line(entry)]
    mixed = len(persons) < len(order)
    taken, half_is_full = _persons_half_first(order, persons, preset) if mixed else (order, True)
    filling = _fill(taken[: preset.selection.limit], preset)
    return ChosenLines(order, taken, filling, faded, mixed, half_is_full and filling.is_full)


def _compose(choice: ChosenLines, preset: BlockRules, count: int) -> ComposedBlock:
    selection = preset.selection
    fates = dict.fromkeys(choice.faded, Fate("recall_only", f"its score is under {preset.floor}"))
    fates |= dict.fromkeys([entry.id for entry in choice.order], OVER_BUDGET)
    if selection.limit is not None:
        fates |= dict.fromkeys([entry.id for entry in choice.taken[selection.limit :]], OVER_LIMIT)
    kept = _fit(choice.filling, preset, count)
    if not kept:
        return ComposedBlock("", (), fates)
    if selection.kind == "ordered":
        kept.sort(key=_by_category)
    elif choice.mixed:
        place = {entry.id: at for at, entry in enumerate(choice.order)}
        kept.sort(key=lambda one: place[one.entry.id])
    fates |= dict.fromkeys([one.entry.id for one in kept], IN_BLOCK)
    return _lay_out(kept, preset, count, fates)


def render_again(chosen: Sequence[BlockEntry], preset: BlockRules, count: int) -> ComposedBlock:
    """The block of memories that were chosen for it earlier, in that order, out of `count`. It does not say why others
    are left out."""
    if not chosen:
        return ComposedBlock("", (), {})
    line = _lines(preset)
    return _lay_out([ChosenEntry(_group(one, preset), one, line(one), 0) for one in chosen], preset, count, {})


def _lay_out(kept: Sequence[ChosenEntry], preset: BlockRules, count: int, fates: dict[str, Fate]) -> ComposedBlock:
    """The lines of the block in their order, and its text."""
    groups: dict[str, list[ChosenEntry]] = {}
    for one in kept:
        groups.setdefault(one.group, []).append(one)
    known = sorted(preset.categories) if preset.selection.kind == "ordered" else preset.categories
    lines, shown = _head(preset, quotes=_quotes(kept)), list[tuple[str, int]]()
    for group in (*known, _OTHER):
        if group in groups:
            lines += _title(group, preset)
            lines += [one.line for one in groups[group]]
            shown += [one.entry[:2] for one in groups[group]]
    lines += _more(count - len(kept), preset)
    return ComposedBlock(block_text(lines), tuple(shown), fates, tuple(lines))


def _fit(filling: Filling, preset: BlockRules, count: int) -> list[ChosenEntry]:
    """The lines that stay, in the same order. `count` includes faded memories."""
    kept, sizes, _ = filling
    # The heading and the last line have to fit as well, so a few more lines may have to go.
    while kept and not _fits(kept, sizes, preset, count):
        last = kept.pop()
        sizes[last.group] -= last.size
        if sizes[last.group] == _title_size(last.group, preset):
            del sizes[last.group]
    return kept


def _fill(order: Sequence[BlockEntry], preset: BlockRules, *, parts: int = 1) -> Filling:
    """The lines, taken in order, that fit into the budgets, or into one of `parts` equal parts of each budget."""
    budgets, total = {_OTHER: preset.selection.other, **preset.selection.budgets}, preset.selection.total
    letters = CHARACTERS_PER_TOKEN / parts
    sizes: dict[str, int] = {}  # characters of each group that has lines, its title and newlines included
    full: set[str] = set()
    kept: list[ChosenEntry] = []
    free = None if total is None else total * letters - _head_size(preset, quotes=False)
    quotes = False
    line_of = _lines(preset)
    new = tuple.__new__  # for hundreds of lines quicker than calling `ChosenEntry`
    for entry in order:
        group = _group(entry, preset)
        if group in full:
            continue
        line = line_of(entry)
        room = 1 + len(line[1]) + len(line[2])
        before = sizes.get(group, 0)
        size = (before or _title_size(group, preset)) + room
        budget = budgets.get(group)
        if budget is not None and size > budget * letters:
            full.add(group)
            continue
        if free is not None:
            free -= size - before
            if entry[16] and not quotes:
                free -= _head_size(preset, quotes=True) - _head_size(preset, quotes=False)
            if free < 0:
                return Filling(kept, sizes, is_full=True)
        quotes = quotes or bool(entry[16])
        sizes[group] = size
        kept.append(new(ChosenEntry, (group, entry, line, room)))
    return Filling(kept, sizes, is_full=False)


def _fits(kept: Sequence[ChosenEntry], sizes: Mapping[str, int], preset: BlockRules, count: int) -> bool:
    """Whether the whole block, head and last line included, is within its budget, if it has one."""
    selection = preset.selection
    tokens = selection.total
    if tokens is None:
        budgets = {_OTHER: selection.other, **selection.budgets}
        tokens = sum(budgets.get(group) or 0 for group in sizes)
    if not tokens:
        return True
    whole = _head_size(preset, quotes=_quotes(kept)) + sum(sizes.values())
    whole += sum(2 + len(line.text) for line in _more(count - len(kept), preset))
    return whole <= tokens * CHARACTERS_PER_TOKEN


def _group(entry: BlockEntry, preset: BlockRules) -> str:
    return entry.category if entry.category is not None and entry.category in preset.titles else _OTHER


def _quotes(kept: Sequence[ChosenEntry]) -> bool:
    return any(one.entry.quoted for one in kept)


def _head(preset: BlockRules, *, quotes: bool) -> list[BlockLine]:
    intro = preset.intro
    if quotes:
        intro = f"{intro} {QUOTES}".lstrip()
    return [BlockLine(HEAD, preset.heading, "## "), BlockLine(HEAD, intro)]


@lru_cache(maxsize=128)
def _head_size(preset: BlockRules, *, quotes: bool) -> int:
    return len(block_text(_head(preset, quotes=quotes)))


def _title(group: str, preset: BlockRules) -> list[BlockLine]:
    """The line with the title of a group; none in a block without groups."""
    if preset.selection.kind == "recent":
        return []
    return [BlockLine(TITLE, preset.titles[group] if group else "Other", "### ")]


def _title_size(group: str, preset: BlockRules) -> int:
    """How many characters a group's title takes with the empty line before it; without a title, that line alone."""
    title = _title(group, preset)
    return len(f"\n\n{title[0].whole}") if title else 1


def _more(left_out: int, preset: BlockRules) -> list[BlockLine]:
    if not left_out or preset.recall_tool is None:
        return []
    return [BlockLine(MORE, f"{left_out} more can be recalled with the {preset.recall_tool} tool.")]
