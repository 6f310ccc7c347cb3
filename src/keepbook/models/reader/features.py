"""The features of the linear reader: the words of a piece and around it, hashed to rows of the weights.

No vocabulary is stored: a feature is a name, and its hash is the number of a row. There are features for the words of a
piece and their pairs, and others for the end of what was said before it (often a question), for the neighbouring
pieces, for later turns, and for words of the piece that a later turn repeats, as a correction does.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from keepbook.models.reader.values import ReaderTurn
from keepbook.models.reader.windows import sentence_starts, starts_word
from keepbook.patterns import regex

ROWS = 1 << 15
CUT_ROWS = 1 << 13
WORDS = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[^\w\s]")
LONGEST, AROUND, OPENING = 80, 24, 12
"""How many words are read of a piece, of each neighbour, and of the next turn."""
AHEAD = 6
"""How many later turns of the person are read."""
_FIGURE = regex(r"\d+")


class Setting(NamedTuple):
    """The words around a piece."""

    said: Sequence[str]
    """The end of what somebody else said before it."""
    before: Sequence[str]
    after: Sequence[str]
    opening: Sequence[str]
    """The first words of the person's next turn."""
    later: frozenset[str]
    """The words of the person's next turns."""
    earlier: frozenset[str]
    """The words of SUPPOSING that the chat has had so far."""
    place: str


def split_words(text: str) -> list[str]:
    return [_FIGURE.sub("#" * min(6, len(found)), found) for found in WORDS.findall(text.lower().replace("’", "'"))]


def feature_row(name: str, rows: int = ROWS) -> int:
    return crc32(name.encode()) % rows


Offsets = tuple[int, int]


def of_chat(
    turns: Sequence[ReaderTurn], pieces: Mapping[int, Sequence[Offsets]]
) -> Iterator[tuple[int, Offsets, list[int]]]:
    """The rows of every piece of a chat: turn, place in the turn, rows. `pieces` has the places in each user turn."""
    said: list[str] = []
    earlier: set[str] = set()
    users = [at for at, turn in enumerate(turns) if turn.role == "user"]
    ahead = {at: split_words(turns[at].text[:2000]) for at in users}
    for at, turn in enumerate(turns):
        if at not in ahead:
            said = split_words(turn.text[-400:])
            continue
        users.pop(0)
        later = frozenset(word for one in users[:AHEAD] for word in ahead[one])
        if users:
            opening = ahead[users[0]][:OPENING]
        else:
            opening = []
        lie = pieces.get(at, ())
        told = [split_words(turn.text[start:end]) for start, end in lie]
        for place, (stretch, piece) in enumerate(zip(lie, told, strict=True)):
            earlier.update(SUPPOSING.intersection(piece))
            before, after = told[place - 1] if place else [], told[place + 1] if place + 1 < len(told) else []
            where = f"{place == 0} {place + 1 == len(told)} {at == 0} {not users}"
            setting = Setting(said, before, after, opening, later, frozenset(earlier), where)
            yield at, stretch, of_piece(piece, setting)


def of_piece(piece: Sequence[str], setting: Setting) -> list[int]:
    """The rows of a piece, each once."""
    return sorted({feature_row(name) for name in _names(piece[:LONGEST], setting)})


def _names(piece: Sequence[str], setting: Setting) -> Iterator[str]:
    yield f"long {min(12, len(piece) // 3)}"
    yield f"place {setting.place}"
    plain = [word for word in piece if len(word) > 1]
    for word in piece:
        yield f"w {word}"
        if len(word) > 5:
            yield f"p {word[:5]}"
        if word.isalpha() and not word.isascii():
            yield from (f"c {word[at : at + 2]}" for at in range(len(word)))
    for one, two in zip(["^", *piece], [*piece, "$"], strict=True):
        yield f"b {one} {two}"
    for one, two in zip(plain, plain[2:], strict=False):
        yield f"s {one} {two}"
    yield f"open {' '.join(piece[:3])}"
    yield from (f"q {word}" for word in setting.said[-AROUND:])
    yield f"asked {'?' in setting.said[-3:]} {min(3, len(piece) // 3)}"
    yield from (f"< {word}" for word in setting.before[-AROUND:])
    yield from (f"> {word}" for word in setting.after[:AROUND])
    yield from (f"next {word}" for word in setting.opening)
    again = [word for word in set(plain) if len(word) > 3 and word in setting.later]
    yield f"again {min(4, len(again))}"
    yield from (f"a {word}" for word in again)
    yield from (f"l {word}" for word in setting.later if word in TURNING)
    yield from (f"e {word}" for word in setting.earlier)


TURNING = frozenset({
    "actually", "between", "correction", "delete", "forget", "ignore", "instead", "keep", "meant", "mistake", "note",
    "oops", "private", "record", "remember", "remove", "scrap", "sorry", "undo", "wait", "wrong",
})  # fmt: skip
"""Words that often take something back, if they come in a later turn."""
SUPPOSING = frozenset({
    "article", "character", "dialogue", "draft", "email", "example", "fictional", "hypothetical", "imagine", "letter",
    "mail", "novel", "paste", "pasted", "persona", "play", "post", "pretend", "quote", "review", "role", "roleplay",
    "says", "scene", "story", "suppose", "test", "wrote",
})  # fmt: skip
"""Words of chats in which what is said is often not about the person."""


def places(text: str) -> Iterator[tuple[int, list[int]]]:
    """The places where a piece could begin, each with the rows of its features."""
    found = [(one.start(), one.end()) for one in WORDS.finditer(text)]
    told = [_FIGURE.sub("#", text[start:end].lower()) for start, end in found]
    breaks = set(sentence_starts(text))
    for at in range(1, len(found)):
        start = found[at][0]
        if starts_word(text, start) and text[start].isalnum():
            if start in breaks:
                gap = "sentence"
            elif found[at - 1][1] == start:
                gap = "joined"
            else:
                gap = "space"
            yield start, _of_place(told, at, gap)


def _of_place(told: Sequence[str], at: int, gap: str) -> list[int]:
    one, two = told[at - 1], told[at]
    before, after = told[at - 2] if at > 1 else "^", told[at + 1] if at + 1 < len(told) else "$"
    names = (
        f"1 {one}", f"2 {two}", f"12 {one} {two}", f"23 {two} {after}", f"01 {before} {one}", f"g {gap}",
        f"1g {gap} {one}", f"2g {gap} {two}", f"123 {one} {two} {after}", f"3 {after}", f"0 {before}",
    )  # fmt: skip
    return [feature_row(name, CUT_ROWS) for name in names]
