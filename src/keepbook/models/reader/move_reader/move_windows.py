"""Cuts a turn, with what was said before it and the lines it may mean, into windows of bounded size.

A window is the lines, each after its kind, then earlier turns after their role, shortened, then the turn itself (token
type 1). A turn that is longer than `CORE` is read in several windows, each with a few words of the turn on either side.
`places` has the characters of every token, so that a stretch of tokens can be mapped back to a text.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from keepbook.models.reader.moves import KINDS, MOST_LINES, MoveLine
from keepbook.models.reader.values import ReaderTurn

SIZE = 400
"""Tokens of a window."""
CORE, BESIDE = 160, 24
"""Tokens of the turn that are judged in one window, and tokens of the turn on either side of them."""
LINE, LINES = 36, 240
"""The most tokens of a line, and of all lines together: the base has 512 positions."""
NEAR, FAR = (24, 48), (10, 26)
"""How many first and last tokens are read of a long earlier turn: of the last two turns, and of those before."""
LETTERS = 12
"""How many characters of a text are encoded for each token that is needed, so that a long text costs no more."""

UNREADABLE = 0.3
"""A text with a larger share of unknown tokens is strange."""


class TokenPlace(NamedTuple):
    """The characters a token stands for. `turn` is -1 for a token of a line; `start` is -1 for a special token."""

    turn: int
    start: int
    end: int


NOWHERE = TokenPlace(-1, -1, -1)
Offsets = tuple[int, int]


class MoveWindow(NamedTuple):
    ids: list[int]
    types: list[int]
    places: list[TokenPlace]
    lines: list[Offsets]
    """The tokens of each line, in the order in which they were given."""
    pieces: list[tuple[int, Offsets]]
    """The pieces in this window: the number of the piece, and its tokens."""
    judged: list[int]
    """The pieces that are judged here, as indices into `pieces`."""
    own: Offsets
    """The tokens of the turn."""
    asked: list[tuple[int, int]]
    """The earlier turns of an assistant: the token of the role, and the number of the turn."""


class MoveCoder:
    """Makes windows of texts. `tokenizer` is one of the tokenizers package, with the base's vocabulary."""

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.cls: int = tokenizer.token_to_id("[CLS]")
        self.sep: int = tokenizer.token_to_id("[SEP]")
        self.unknown: int = tokenizer.token_to_id("[UNK]")
        self._kinds = {name: self._encode(f"{name}:")[0] for name in (*KINDS, "user", "assistant", "tool")}

    def strange(self, text: str) -> bool:
        """Whether a text is largely in a script that the base does not know."""
        ids, _ = self._encode(text[: SIZE * LETTERS])
        return not ids or ids.count(self.unknown) > UNREADABLE * len(ids)

    def windows(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[Offsets], lines: Sequence[MoveLine]
    ) -> list[MoveWindow]:
        """The windows in which every piece that has a token is judged once."""
        return list(self._windows(turns, at, pieces, lines, None))

    def alone(
        self,
        turns: Sequence[ReaderTurn],
        at: int,
        pieces: Sequence[Offsets],
        lines: Sequence[MoveLine],
        only: Sequence[int],
    ) -> list[MoveWindow]:
        """For each of some pieces a window in which it alone is judged: slower, and more accurate."""
        return list(self._windows(turns, at, pieces, lines, only))

    def _windows(
        self,
        turns: Sequence[ReaderTurn],
        at: int,
        pieces: Sequence[Offsets],
        lines: Sequence[MoveLine],
        only: Sequence[int] | None,
    ) -> Iterator[MoveWindow]:
        coded = self._encode(turns[at].text)
        spans = [_tokens(coded[1], piece) for piece in pieces]
        head = self._lines(lines[:MOST_LINES])
        for group in _groups(spans):
            if only is None:
                yield self._window(turns, at, coded, group, head, range(len(group)))
                continue
            for place, (which, _) in enumerate(group):
                if which in only:
                    yield self._window(turns, at, coded, group, head, (place,))

    def _lines(self, lines: Sequence[MoveLine]) -> "_Row":
        row = _Row()
        row.add([self.cls], [NOWHERE])
        coded = [self._encode(line.content[: LINE * LETTERS]) for line in lines]
        if sum(min(len(ids), LINE) for ids, _ in coded) <= LINES:
            most = LINE
        else:
            most = LINES // len(lines)
        for line, (ids, offsets) in zip(lines, coded, strict=True):
            row.add(self._kinds[line.kind])
            begin = len(row.ids)
            row.add(ids[:most], [TokenPlace(-1, *one) for one in offsets[:most]])
            row.marks.append((begin - (not ids), len(row.ids)))
            row.add([self.sep])
        return row

    def _window(
        self,
        turns: Sequence[ReaderTurn],
        at: int,
        coded: "CodedLine",
        group: Sequence[tuple[int, Offsets]],
        head: "_Row",
        judged: Sequence[int],
    ) -> MoveWindow:
        ids, offsets = coded
        first, until = group[0][1][0], group[-1][1][1]
        begin, end = max(0, first - BESIDE), min(len(ids), until + BESIDE)
        row = head.copy()
        asked = self._earlier(row, turns[:at], SIZE - len(row.ids) - (end - begin) - 4)
        row.add(self._kinds["user"])
        shift = len(row.ids) - begin
        row.add(ids[begin:end], [TokenPlace(at, *one) for one in offsets[begin:end]])
        row.add([self.sep])
        types = [0] * len(row.ids)
        seen = [(which, (start + shift, stop + shift)) for which, (start, stop) in group]
        start, stop = seen[judged[0]][1][0], seen[judged[-1]][1][1]
        types[start:stop] = [1] * (stop - start)
        own = (begin + shift, end + shift)
        return MoveWindow(row.ids, types, row.places, row.marks, seen, list(judged), own, asked)

    def _earlier(self, row: "_Row", turns: Sequence[ReaderTurn], room: int) -> list[tuple[int, int]]:
        """Add the last earlier turns to the row, as many as there is room for. Returns those of an assistant, as in
        `MoveWindow.asked`."""
        found: list[tuple[int, list[int], list[TokenPlace]]] = []
        for at in range(len(turns) - 1, -1, -1):
            ids, places = self._encode_shortened(turns[at], at, NEAR if at >= len(turns) - 2 else FAR)
            room -= len(ids)
            if room < 0:
                break
            found.append((at, ids, places))
        asked = []
        for at, ids, places in reversed(found):
            if turns[at].role == "assistant":
                asked.append((len(row.ids), at))
            row.add(ids, places)
        return asked

    def _encode_shortened(self, turn: ReaderTurn, at: int, most: tuple[int, int]) -> tuple[list[int], list[TokenPlace]]:
        first, last = most
        text = turn.text
        if len(text) > 2 * LETTERS * (first + last):  # encode only the two ends, because only they are read
            cut = len(text) - LETTERS * last
            head, tail = self._encode(text[: LETTERS * first]), self._encode(text[cut:])
            ids = head[0][:first] + tail[0][-last:]
            offsets = head[1][:first] + [(start + cut, end + cut) for start, end in tail[1][-last:]]
        else:
            ids, offsets = self._encode(text)
            if len(ids) > first + last:
                ids, offsets = ids[:first] + ids[-last:], offsets[:first] + offsets[-last:]
        role = self._kinds.get(turn.role, self._kinds["tool"])
        places = [NOWHERE] * len(role) + [TokenPlace(at, *one) for one in offsets] + [NOWHERE]
        return [*role, *ids, self.sep], places

    def _encode(self, text: str) -> "CodedLine":
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return list(found.ids), list(found.offsets)


CodedLine = tuple[list[int], list[Offsets]]


class _Row:
    """A row of tokens, with the characters they stand for; `marks` are the tokens of the lines."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.places: list[TokenPlace] = []
        self.marks: list[Offsets] = []

    def add(self, ids: Sequence[int], places: Sequence[TokenPlace] | None = None) -> None:
        self.ids += ids
        self.places += places if places is not None else [NOWHERE] * len(ids)

    def copy(self) -> "_Row":
        row = _Row()
        row.ids, row.places, row.marks = [*self.ids], [*self.places], [*self.marks]
        return row


def _tokens(offsets: Sequence[Offsets], piece: Offsets) -> Offsets:
    """The tokens that begin inside a piece."""
    inside = [at for at, (start, _) in enumerate(offsets) if piece[0] <= start < piece[1]]
    if inside:
        return inside[0], inside[-1] + 1
    return 0, 0


def _groups(spans: Sequence[Offsets]) -> Iterator[list[tuple[int, Offsets]]]:
    """Groups of pieces that are judged together, with `CORE` tokens at most. A longer piece is judged by its first
    tokens."""
    group: list[tuple[int, Offsets]] = []
    for which, (first, until) in enumerate(spans):
        if until <= first:
            continue
        short = min(until, first + CORE)
        if group and short - group[0][1][0] > CORE:
            yield group
            group = []
        group.append((which, (first, short)))
    if group:
        yield group
