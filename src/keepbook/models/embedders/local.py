"""A sentence model in a folder on this machine: ONNX weights, no torch, no network.

What `keepbook embedder install` has installed is checked by checksum each time it is loaded; a folder of your own is
trusted. The space of the vectors is named after the checksum of the weights, because vectors of different weights
cannot be compared.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keepbook.errors import Invalid, ModelFailed
from keepbook.forking import OncePerProcess
from keepbook.models.minilm.weight_files import missing_packages, sha256_of

if TYPE_CHECKING:
    from keepbook.book.recall.vectors import Floats

WEIGHTS_FILE, WORDS_FILE = "model.onnx", "tokenizer.json"
LONGEST = 256
"""How many tokens of a text are read. These models were trained with that many."""
TOGETHER = 16
"""How many texts are embedded together."""


class OnnxEmbedder:
    """Embeds with an ONNX model: the mean of the last layer, as for sentence transformers."""

    floor: float = 0.3

    def __init__(self, weights: Path, words: Path, *, sums: tuple[str, str] | None = None) -> None:
        self.weights: Path = weights
        self.words: Path = words
        self._sums = sums
        self._model = OncePerProcess(self._open_model)

    @classmethod
    def in_folder(cls, folder: Path, sums: tuple[str, str] | None = None) -> "OnnxEmbedder":
        weights, words = folder / WEIGHTS_FILE, folder / WORDS_FILE
        for path in (weights, words):
            if not path.is_file():
                raise Invalid(
                    f"{path} is missing; an embedder's folder has {WEIGHTS_FILE} and {WORDS_FILE}", field="embedder"
                )
        check_needed()
        return cls(weights, words, sums=sums)

    @cached_property
    def space(self) -> str:
        return f"onnx-{(self._sums[0] if self._sums else sha256_of(self.weights))[:16]}"

    def embed(self, texts: Sequence[str], within: float | None = None) -> "Floats":
        """A vector for each text. `within`, a time limit, is ignored: it is for embedders that ask a server."""
        import numpy as np  # loaded with the first text, like the model

        session, tokenizer = self._model.get()
        coded = [found.ids for found in tokenizer.encode_batch(list(texts))]
        rows: list[Any] = [None] * len(coded)
        order = sorted(range(len(coded)), key=lambda at: len(coded[at]))  # similar lengths together: less padding
        wanted = {given.name for given in session.get_inputs()}
        for start in range(0, len(order), TOGETHER):
            batch = order[start : start + TOGETHER]
            ids = np.zeros((len(batch), max(len(coded[at]) for at in batch)), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, at in enumerate(batch):
                length = len(coded[at])
                ids[row, :length] = coded[at]
                mask[row, :length] = 1
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            out = session.run(None, {name: value for name, value in given.items() if name in wanted})[0]
            if out.ndim == 3:
                mean = (out * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            else:
                mean = out
            mean = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
            for row, at in enumerate(batch):
                rows[at] = mean[row]
        return np.asarray(rows, dtype=np.float32)

    def ask(self, text: str) -> "Floats":
        return self.embed([text])[0]  # type: ignore[no-any-return]

    def _open_model(self) -> tuple[Any, Any]:
        for path, expected in zip((self.weights, self.words), self._sums or (), strict=False):
            if sha256_of(path) != expected:
                raise ModelFailed(f"{path} is not the file it should be; install it anew", code="weights")
        # Loaded with the first text: a program that never recalls does not pay for it.
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(2, os.cpu_count() or 1)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # a waiting thread uses no CPU
        options.log_severity_level = 4  # errors are raised; nothing else is worth a line
        try:
            session = onnxruntime.InferenceSession(str(self.weights), options, providers=["CPUExecutionProvider"])
            tokenizer = Tokenizer.from_file(str(self.words))
        except Exception as error:  # both libraries raise errors of any type
            raise ModelFailed(f"{self.weights.parent} holds no model that can be read", code="weights") from error
        tokenizer.enable_truncation(LONGEST)
        tokenizer.no_padding()
        return session, tokenizer


def check_needed() -> None:
    """Raise if packages are missing that run a model."""
    lacking = missing_packages()
    if lacking:
        raise Invalid(f"onnx needs {', '.join(lacking)}; pip install 'keepbook[embed]'", field="embedder")
