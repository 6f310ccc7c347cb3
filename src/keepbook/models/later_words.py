"""Whether something said later changes, ends or corrects what the same person said before, by the move readers.

A move reader tells what a clause does to a line of the book; here the line is what was said before. The linear one,
which costs next to nothing, leaves out most pairs; the encoder, where it is installed, decides about the rest. The bars
were chosen on 48 pairs written for it, half of them look-alikes.
"""

from collections.abc import Sequence

from keepbook.book.text.sentences import sentences
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.models.reader.choice import linear_move_reader, open_move_reader
from keepbook.models.reader.moves import Move, MoveLine, MoveReader
from keepbook.models.reader.values import ReaderTurn

DOES = ("change", "end", "withdraw")
LINEAR_LEAST = 0.4
"""What the linear reader finds less likely to change anything is not looked at by the encoder."""
LINEAR_SHARE = 0.35
"""What the linear reader says counts this much beside the encoder."""
BAR = 0.45
LINEAR_BAR = 0.8
"""Where there is no encoder."""
WHOLE = 160
"""A text of so many letters is read as one piece, a longer one by its sentences."""
EARLIER = "earlier"


def supersedes(earlier: str, later: str) -> bool:
    """Whether the later text changes, ends or corrects what the earlier one says."""
    line = _nearest_sentence(earlier, later)
    pieces = _pieces(later)
    quick, best = linear_move_reader(), open_move_reader()
    likely = [sum(move.acts[act] for act in DOES) for move in _moves(quick, later, pieces, line)]
    worth = [at for at, share in enumerate(likely) if share >= LINEAR_LEAST]
    if best is quick:
        return any(likely[at] >= LINEAR_BAR for at in worth)
    if not worth:
        return False
    read = _moves(best, later, [pieces[at] for at in worth], line)
    return any(_meant(move) + LINEAR_SHARE * likely[at] >= BAR for move, at in zip(read, worth, strict=True))


def _meant(move: Move) -> float:
    return sum(move.acts[act] for act in DOES) * move.points.get(EARLIER, 0.0)


def _moves(reader: MoveReader, text: str, pieces: Sequence[tuple[int, int]], line: str) -> list[Move]:
    return reader.moves([ReaderTurn("user", text)], 0, pieces, [MoveLine(EARLIER, line, "memory")])


def _pieces(text: str) -> list[tuple[int, int]]:
    return [(0, len(text))] if len(text) <= WHOLE else sentences(text)


def _nearest_sentence(earlier: str, later: str) -> str:
    """Of a longer passage the sentence that shares most words with what was said later."""
    if len(earlier) <= WHOLE:
        return earlier
    said = _words(later)
    parts = [earlier[start:end].strip() for start, end in sentences(earlier)]
    return max(parts, key=lambda part: len(said & _words(part)))


def _words(text: str) -> set[str]:
    return {stem(word) for word in tokens(text) if word not in STOP_WORDS}
