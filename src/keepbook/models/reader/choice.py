"""Which reader there is: the encoder where its packages and its base are installed, else the linear one.

Each is made once for a process: it changes nothing, and the encoder's weights are large.
"""

from functools import cache

from keepbook.models.minilm.inference import opened
from keepbook.models.minilm.packaged import found
from keepbook.models.reader.encoder import EncoderReader
from keepbook.models.reader.linear import LinearReader
from keepbook.models.reader.values import Reader


def open_reader() -> Reader:
    """The best reader that can run here. Nothing is loaded before its first text."""
    return _encoder() or linear_reader()


@cache
def linear_reader() -> LinearReader:
    return LinearReader()


@cache
def _encoder() -> EncoderReader | None:
    base = found()
    return EncoderReader(opened(base), linear_reader) if base else None
