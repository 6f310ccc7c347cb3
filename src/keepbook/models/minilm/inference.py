"""Runs the base model, which computes a vector for each token.

The graphs (`training/graph.py`) contain no weights. The embedder uses the plain graph and the reader the one with
adapters, both with the integer weights of the base and with float weights of their own. Integers need a fraction of the
memory of floats and less time, on some processors half of it.
"""

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from keepbook.errors import ModelFailed
from keepbook.forking import OncePerProcess
from keepbook.models.minilm.parts import BaseWeights
from keepbook.models.minilm.tensors import all_tensors, thin
from keepbook.models.minilm.weight_files import Base

if TYPE_CHECKING:
    import numpy as np

    from keepbook.models.minilm.parts import Arrays

    Floats = np.ndarray[Any, Any]

GRAPHS = {False: "plain.onnx", True: "adapted.onnx"}
SHA256 = {
    "plain.onnx": "b94ca83a1aef8d60b69602936179b529e0e842eacb0f6cd36f21edba54c48c27",
    "adapted.onnx": "88e97a7aee5408cfc6fc5893b275808a1649931dd8b9d2c04a5be0de11a64306",
}


@cache
def open_minilm(base: Base) -> "MiniLM":
    """The base model; only one in a process, because its weights are large and never change."""
    return MiniLM(base)


class MiniLM:
    """The files of a base model. They are opened with the first text, so a program that reads none does not load
    them."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self._weights = OncePerProcess(self._read_weights)

    def encoder(self, learned: "Arrays | None" = None) -> "Encoder":
        """An encoder of the base model; with `learned` weights, those are added to the base."""
        parts, numbers = self._weights.get()
        return Encoder(_graph(learned is not None), numbers | thin(parts, learned))

    def tokenizer(self) -> Any:
        from tokenizers import Tokenizer  # with the first text, like the model

        return Tokenizer.from_buffer(self._read_checked(1))

    def _read_weights(self) -> "tuple[BaseWeights, Arrays]":
        parts = BaseWeights(self._read_checked(0))
        return parts, all_tensors(parts)

    def _read_checked(self, which: int) -> bytes:
        path = (self.base.weights, self.base.words)[which]
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != self.base.sums[which]:
            raise ModelFailed(f"{path} is not the file it should be; install it anew", code="weights")
        return data


class Encoder:
    """Computes a vector for each token."""

    def __init__(self, graph: bytes, tensors: "Arrays") -> None:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]  # with the first text, like numpy

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # texts are short: waiting for a second core would take longer
        options.log_severity_level = 4  # errors are raised; nothing else is worth a line
        options.enable_mem_pattern = False  # it would keep a plan, with memory, for each length of text
        self._held = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in tensors.items()}
        options.add_external_initializers(list(self._held), list(self._held.values()))
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def __call__(self, ids: list[int], types: list[int]) -> "Floats":
        import numpy as np  # loaded by now

        return self._session.run(["hidden"], {"ids": np.array(ids, "i8"), "types": np.array(types, "i8")})[0]  # type: ignore[no-any-return]


def _graph(adapted: bool) -> bytes:
    name = GRAPHS[adapted]
    data = files("keepbook.models.minilm").joinpath(name).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise ModelFailed(f"{name} is not the file it should be; install keepbook anew", code="weights")
    return data
