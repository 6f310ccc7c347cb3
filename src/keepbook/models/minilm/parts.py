"""Reads the base's weights from the ONNX file of an installed package.

The file has every matrix as int8 with a scale for each column. Its graph is not used: the tensors are read by name with
a few lines of protobuf, and passed to our own graph. So our package need not ship the weights again.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    Arrays = dict[str, Array]

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536
MATRICES = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "intermediate.dense", "output.dense",
)  # fmt: skip
"""The matrices of a layer, in the order in which the file has them."""
_TYPES = {1: "<f4", 3: "<i1", 7: "<i8"}
_GRAPH, _INITIALIZER, _DIMS, _TYPE, _NAME, _RAW = 7, 5, 1, 2, 8, 9


def tensors(file: bytes) -> "Arrays":
    """The tensors of an ONNX file by name; those that are not stored as raw data are left out."""
    import numpy as np  # with the first reading, like the model

    graph = next(value for number, value in _fields(memoryview(file)) if number == _GRAPH)
    found = (_tensor(value, np) for number, value in _fields(graph) if number == _INITIALIZER)
    return {name: array for name, array in found if array is not None}


class BaseWeights:
    """The base's weights by layer. Matrices (in × out) are converted to floats when they are asked for."""

    def __init__(self, file: bytes) -> None:
        self._held = {name.removeprefix("inner."): array for name, array in tensors(file).items()}
        numbers = sorted(int(name[4:-2]) for name in self._held if name.startswith("val_") and name.endswith("_q"))
        names = (f"{layer}.{matrix}" for layer in range(LAYERS) for matrix in MATRICES)
        self._matrices = {name: f"val_{number}" for name, number in zip(names, numbers, strict=True)}

    def matrix(self, name: str) -> "Array":
        whole, scale = self.whole(name)
        return whole.astype("f4") * scale

    def whole(self, name: str) -> "tuple[Array, Array]":
        """A matrix in its stored form: integers, and a scale for each column."""
        at = self._matrices[name]
        return self._held[f"{at}_q"], self._held[f"{at}_scale"]

    def table(self, name: str) -> "tuple[Array, Array]":
        """The vectors of `word` or `position`: integers, and a scale for each row."""
        at = f"embeddings.{name}_embeddings.weight"
        return self._held[f"{at}_q"], self._held[f"{at}_scale"]

    def vector(self, name: str) -> "Array":
        """`type`, `norm.*`, or a bias or norm of a layer."""
        if name == "type":
            return self._held["embeddings.token_type_embeddings.weight"]
        layer, _, rest = name.partition(".")
        return self._held[f"encoder.layer.{layer}.{rest}" if layer.isdigit() else f"embeddings.LayerNorm.{rest}"]


def _tensor(data: memoryview, np: Any) -> "tuple[str, Any]":
    dims: list[int] = []
    kind, name, raw = 0, "", None
    for number, value in _fields(data):
        if number == _DIMS:
            if isinstance(value, int):
                dims += [value]
            else:
                dims += list(_varints(value))
        elif number == _TYPE:
            kind = value
        elif number == _NAME:
            name = bytes(value).decode()
        elif number == _RAW and kind in _TYPES:
            raw = np.frombuffer(value, _TYPES[kind])
    return name, raw.reshape(dims) if raw is not None else None


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: the number of the field, and its value. A varint is an int, everything else a
    view of its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value: Any
            value, at = _varint(data, at)
        else:
            if wire == 2:
                size, at = _varint(data, at)
            else:
                size = {1: 8, 5: 4}[wire]
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varints(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value
