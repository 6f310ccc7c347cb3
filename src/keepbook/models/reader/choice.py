"""Chooses the readers: the encoders if their packages and their base model are installed, else the linear ones.

Each is made once in a process, because the encoder's weights are large; it has no state that changes its answers.
"""

from functools import cache

from keepbook.models.minilm.inference import open_minilm
from keepbook.models.minilm.weight_files import find_base
from keepbook.models.reader.encoder import EncoderReader
from keepbook.models.reader.linear import LinearReader
from keepbook.models.reader.move_reader.move_encoder import EncoderMoveReader
from keepbook.models.reader.move_reader.move_linear import LinearMoveReader
from keepbook.models.reader.moves import MoveReader
from keepbook.models.reader.values import ChatReader


def open_reader() -> ChatReader:
    """The best reader that can run here. Nothing is loaded before its first text."""
    return _encoder() or linear_reader()


def open_move_reader() -> MoveReader:
    """The best reader of moves that can run here. Nothing is loaded before its first text."""
    return _move_encoder() or linear_move_reader()


@cache
def linear_reader() -> LinearReader:
    return LinearReader()


@cache
def linear_move_reader() -> LinearMoveReader:
    return LinearMoveReader()


@cache
def _encoder() -> EncoderReader | None:
    base = find_base()
    if base:
        return EncoderReader(open_minilm(base), linear_reader)
    return None


@cache
def _move_encoder() -> EncoderMoveReader | None:
    base = find_base()
    if base:
        return EncoderMoveReader(open_minilm(base), linear_move_reader)
    return None
