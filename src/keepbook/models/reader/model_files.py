"""Loads the reader's files from the package and checks their checksums."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

from keepbook.errors import ModelFailed
from keepbook.models.reader.moves import Heat, MoveBars
from keepbook.models.reader.pins import SHA256
from keepbook.models.reader.values import KeepThresholds, TrainedChoice


def read_pinned(name: str) -> bytes:
    """A file's bytes; raises `ModelFailed` if the checksum is wrong."""
    data = files("keepbook.models.reader").joinpath("weights", name).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise ModelFailed(f"{name} of the reader is not the file it should be; install keepbook anew", code="weights")
    return data


def thresholds_of(reader: str) -> TrainedChoice:
    """The thresholds that training chose for this reader."""
    row = json.loads(read_pinned("bars.json"))[reader]
    return TrainedChoice(KeepThresholds(**row.pop("bars")), **row)


class ChosenMoves(NamedTuple):
    """What training chose for a move reader: thresholds, calibration of its scores, and the weights of `move_doubt`."""

    bars: MoveBars
    heat: Heat
    doubt: Mapping[str, Sequence[float]]


def chosen_moves(reader: str) -> ChosenMoves:
    row = json.loads(read_pinned("bars.json"))[reader]
    return ChosenMoves(MoveBars(**row["bars"]), Heat(**row["heat"]), row["doubt"])
