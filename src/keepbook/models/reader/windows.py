"""Cuts a chat into windows of bounded size; the encoder reads each window at once.

All turns make up one row of tokens, each turn after its role; turns of others than the person are shortened to their
beginning and end. A window has a core, whose user tokens are judged in it (token type 1), and as much of the row before
and after as there is room for, so that an answer is seen with its question, and a statement with its correction. Short
turns share a core. A long turn is cut into several, at the starts of sentences if possible. So the cost is linear in
the text.
"""

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from keepbook.models.reader.values import ReaderTurn
from keepbook.patterns import regex

SIZE = 320
"""Tokens of a window."""
CORE = 160
"""Tokens of a window that are judged in it; the rest is context."""
AFTER = 0.6
"""The share of the context that comes after the core. It is the larger one, because corrections come later."""
HEAD, TAIL = 30, 40
"""How many first and last tokens are read of a long turn that is not the person's. Its end often holds a question."""
EARLIER, BEFORE, LATER = 64, 40, 96
"""The most tokens of the three parts of a pair."""
AT_BREAK, INSIDE = 0.2, 0.5
"""A piece begins where the model gives a probability above this: at the start of a sentence, and elsewhere."""


class CodedTurn(NamedTuple):
    """A turn as tokens. `offsets` are their characters; `breaks` are the tokens at which a sentence seems to start."""

    role: str
    ids: list[int]
    offsets: list[tuple[int, int]]
    breaks: list[int]


class WindowRun(NamedTuple):
    """Tokens of one user turn inside a window. Token `first` of the turn is at position `at` of the window."""

    turn: int
    first: int
    at: int
    size: int


class Window(NamedTuple):
    ids: list[int]
    types: list[int]
    runs: list[WindowRun]


class Pair(NamedTuple):
    """Two statements in one input; `earlier` and `later` are the positions of their tokens."""

    ids: list[int]
    types: list[int]
    earlier: tuple[int, int]
    later: tuple[int, int]


class Coder:
    """Makes tokens and windows of texts. `tokenizer` is one of the tokenizers package, with the base's vocabulary."""

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.cls: int = tokenizer.token_to_id("[CLS]")
        self.sep: int = tokenizer.token_to_id("[SEP]")
        self.unknown: int = tokenizer.token_to_id("[UNK]")
        self._roles = {role: self._ids(f"{role}:") for role in ("user", "assistant", "tool")}

    def code(self, turns: Sequence[ReaderTurn]) -> list[CodedTurn]:
        found = self._tokenizer.encode_batch([turn.text for turn in turns], add_special_tokens=False)
        return [_to_coded_turn(turn, one.ids, one.offsets) for turn, one in zip(turns, found, strict=True)]

    def windows(
        self, coded: Sequence[CodedTurn], size: int = SIZE, core: int = CORE, leave: Container[int] = ()
    ) -> list[Window]:
        """The windows, in which every user turn is judged once; the turns in `leave` are only context."""
        row, places = self._row(coded)
        units = [unit for unit in _units(coded, core) if unit.turn not in leave]
        if len(row) < size:
            return [self._window(row, places, units, size)] if units else []
        found: list[Window] = []
        at = 0
        while at < len(units):
            begin, until = places[units[at].turn] + units[at].first, at + 1
            while until < len(units) and _end(units[until], places) - begin <= core:
                until += 1
            found.append(self._window(row, places, units[at:until], size))
            at = until
        return found

    def pair(self, earlier: str, later: str, before: str = "") -> Pair:
        first, between, last = self._ids(earlier)[:EARLIER], self._ids(before)[-BEFORE:], self._ids(later)[:LATER]
        ids = [self.cls, *first, self.sep, *between, self.sep, *last, self.sep]
        begin = len(first) + len(between) + 3
        types = [0] * begin + [1] * len(last) + [0]
        return Pair(ids, types, (1, 1 + len(first)), (begin, begin + len(last)))

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _row(self, coded: Sequence[CodedTurn]) -> tuple[list[int], list[int]]:
        """The row of all tokens, and the position in it at which each turn's own words begin."""
        row: list[int] = []
        places = []
        for turn in coded:
            row += self._roles.get(turn.role, self._roles["tool"])
            places.append(len(row))
            whole = turn.role == "user" or len(turn.ids) <= HEAD + TAIL
            if whole:
                row += turn.ids
            else:
                row += turn.ids[:HEAD] + turn.ids[-TAIL:]
            row.append(self.sep)
        return row, places

    def _window(self, row: list[int], places: list[int], units: Sequence[WindowRun], size: int) -> Window:
        begin, end = places[units[0].turn] + units[0].first, _end(units[-1], places)
        room = max(0, size - 1 - (end - begin))
        after = min(len(row) - end, max(int(room * AFTER), room - begin))
        left = max(0, begin - (room - after))
        ids = [self.cls, *row[left : end + after]]
        types = [0] * len(ids)
        runs = []
        for unit in units:
            at = places[unit.turn] + unit.first - left + 1
            types[at : at + unit.size] = [1] * unit.size
            runs.append(unit._replace(at=at))
        return Window(ids, types, runs)


def _to_coded_turn(turn: ReaderTurn, ids: list[int], offsets: list[tuple[int, int]]) -> CodedTurn:
    begins = [start for start, _ in offsets]
    breaks: list[int] = []
    for start in sentence_starts(turn.text):
        token = bisect_right(begins, start - 1)
        if 0 < token < len(begins) and (not breaks or breaks[-1] != token):
            breaks.append(token)
    return CodedTurn(turn.role, ids, offsets, breaks)


def _units(coded: Sequence[CodedTurn], core: int) -> Iterator[WindowRun]:
    """The user turns in portions of at most `core` tokens."""
    for turn, one in enumerate(coded):
        first = 0
        while one.role == "user" and first < len(one.ids):
            until = first + core
            if until < len(one.ids):  # end at the last sentence start that fits; without one, after `core` tokens
                last = bisect_right(one.breaks, until) - 1
                if last >= 0 and one.breaks[last] > first:
                    until = one.breaks[last]
            until = min(until, len(one.ids))
            yield WindowRun(turn, first, 0, until - first)
            first = until


def _end(unit: WindowRun, places: list[int]) -> int:
    return places[unit.turn] + unit.first + unit.size


# From tokens back to characters: the pieces of a run


def piece_starts(text: str, coded: CodedTurn, run: WindowRun, chances: Sequence[float]) -> list[int]:
    """The tokens at which a piece begins, counted in the turn."""
    breaks = set(coded.breaks)
    found = [run.first]
    for step in range(1, run.size):
        token = run.first + step
        if token in breaks:
            bar = AT_BREAK
        else:
            bar = INSIDE
        if chances[step] > bar and starts_word(text, coded.offsets[token][0]):
            found.append(token)
    return found


class PieceStretch(NamedTuple):
    """One piece: its tokens in the window (`first` to before `until`) and its characters in the turn."""

    first: int
    until: int
    start: int
    end: int


def stretches(text: str, coded: CodedTurn, run: WindowRun, chances: Sequence[float]) -> list[PieceStretch]:
    """The pieces of a run. They do not overlap, and the pieces of all runs of a turn make up its whole text."""
    starts = piece_starts(text, coded, run, chances)
    last = run.first + run.size
    letters = [0 if token == 0 else coded.offsets[token][0] for token in starts]
    if last < len(coded.ids):
        letters.append(coded.offsets[last][0])
    else:
        letters.append(len(text))
    shift = run.at - run.first
    return [
        PieceStretch(first + shift, until + shift, start, end)
        for first, until, start, end in zip(starts, [*starts[1:], last], letters, letters[1:], strict=False)
    ]


# Where pieces may begin; the model decides where they do

_ENDS = regex(r"(?<=[.!?…])[\"”’»)\]*]*\s+|\n\s*|(?<=[。！？])(?!\s)")


def sentence_starts(text: str) -> list[int]:
    """The places after 0 where a sentence seems to start."""
    return [found.end() for found in _ENDS.finditer(text) if 0 < found.end() < len(text)]


def starts_word(text: str, at: int) -> bool:
    """Whether this place is not inside a word."""
    return at == 0 or not (text[at - 1].isalnum() and text[at].isalnum())


def covering(starts: Iterable[int], length: int) -> list[tuple[int, int]]:
    """Stretches (start, end) that begin at these places and cover everything from 0 to `length`."""
    if not length:
        return []
    begins = sorted({0, *(at for at in starts if 0 < at < length)})
    return list(zip(begins, [*begins[1:], length], strict=True))
