"""The embedder that comes with `keepbook[embed]`: takes the mean of the last layer of the unchanged base model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keepbook.forking import OncePerProcess
from keepbook.models.embedders.local import LONGEST
from keepbook.models.minilm.inference import Encoder, MiniLM, open_minilm
from keepbook.models.minilm.weight_files import find_base

if TYPE_CHECKING:
    from keepbook.book.recall.vectors import Floats


class BundledEmbedder:
    floor: float = 0.3
    space = "minilm-l6-int8"

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._encoder = OncePerProcess(self._open_encoder)

    @property
    def weights(self) -> Path:
        return self._model.base.weights

    def embed(self, texts: Sequence[str], within: float | None = None) -> "Floats":
        """A vector for each text. `within`, a time limit, is ignored: it is for embedders that ask a server."""
        import numpy as np  # loaded with the first text, like the model

        encode, tokenizer = self._encoder.get()
        rows = [encode(one.ids, [0] * len(one.ids)).mean(axis=0) for one in tokenizer.encode_batch(list(texts))]
        found = np.array(rows, dtype=np.float32).reshape(len(rows), -1)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)  # type: ignore[no-any-return]

    def ask(self, text: str) -> "Floats":
        return self.embed([text])[0]  # type: ignore[no-any-return]

    def _open_encoder(self) -> tuple[Encoder, Any]:
        tokenizer = self._model.tokenizer()
        tokenizer.enable_truncation(LONGEST)
        tokenizer.no_padding()
        return self._model.encoder(), tokenizer


def find_bundled() -> BundledEmbedder | None:
    """The bundled embedder, if it is installed."""
    base = find_base()
    if base:
        return BundledEmbedder(open_minilm(base))
    return None
