"""A message before it is sent: text with marks, split into messages that Telegram accepts.

Nothing in a letter is markup. Marks are stored beside the text, as places in it, so that every memory is shown as it
stands and no content can break a send. Telegram counts in UTF-16, where an emoji has two units.
"""

from collections.abc import Iterator
from typing import NamedTuple, Self

LONGEST = 4096
"""What one message may hold, in UTF-16 units."""
MOST_MARKS = 100
"""What is marked beyond that, Telegram shows unmarked."""

BOLD, CODE = "bold", "code"


class LetterMark(NamedTuple):
    """A formatted stretch: in a letter counted in characters, in a piece in UTF-16 units."""

    kind: str
    start: int
    length: int

    @property
    def end(self) -> int:
        return self.start + self.length


class LetterPiece(NamedTuple):
    """One message."""

    text: str
    marks: tuple[LetterMark, ...]


class Button(NamedTuple):
    """An answer to tap: its words, and what comes back when it is tapped."""

    label: str
    data: str


class Letter:
    """Text with marks. `buttons` stand under it, `after` are letters that follow."""

    def __init__(self, text: str = "") -> None:
        self.text: str = text
        self.marks: list[LetterMark] = []
        self.buttons: list[Button] = []
        self.after: list[Letter] = []

    def put(self, text: str, kind: str | None = None) -> Self:
        if kind is not None and text:
            self.marks.append(LetterMark(kind, len(self.text), len(text)))
        self.text += text
        return self

    def pieces(self, longest: int = LONGEST) -> Iterator[LetterPiece]:
        """The letter as messages, split between lines, else words, and never within a mark."""
        start = _skip_blank(self.text, 0)
        while start < len(self.text):
            end = self._cut(start, longest)
            shown = self.text[start:end].rstrip()
            yield LetterPiece(shown, tuple(self._marks_in(start, start + len(shown))))
            start = _skip_blank(self.text, end)

    def _cut(self, start: int, longest: int) -> int:
        end = _reach(self.text, start, longest)
        ahead = [mark for mark in self.marks if mark.start >= start]
        if len(ahead) > MOST_MARKS:
            end = min(end, ahead[MOST_MARKS].start)
        if end == len(self.text):
            return end
        line = self.text.rfind("\n", start, end + 1)
        if line > start + (end - start) // 2:  # a line that ends early is no reason to send next to nothing
            return line
        word = next((at for at in range(end, start, -1) if self.text[at].isspace()), end)
        within = (mark.start for mark in self.marks if start < mark.start < word < mark.end)
        return next(within, word)

    def _marks_in(self, start: int, end: int) -> Iterator[LetterMark]:
        for mark in self.marks:
            if start <= mark.start and mark.end <= end:
                yield LetterMark(
                    mark.kind, units(self.text[start : mark.start]), units(self.text[mark.start : mark.end])
                )


def units(text: str) -> int:
    """The length of a text in Telegram's units."""
    return len(text) + sum(mark > "\uffff" for mark in text)


def _reach(text: str, start: int, longest: int) -> int:
    """How far a message goes that begins here, at most."""
    left = longest
    for at in range(start, len(text)):
        if text[at] > "\uffff":
            left -= 2
        else:
            left -= 1
        if left < 0:
            return at
    return len(text)


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
