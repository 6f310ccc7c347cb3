"""An embedding endpoint of OpenAI's shape: the real one, or one of the many that speak like it.

A question waits a second and no more, all in all, whatever the endpoint does; recall then answers by words alone and
says so. Filling the backlog may take longer.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from typing import TYPE_CHECKING

from keepbook.errors import Invalid, ModelFailed

if TYPE_CHECKING:
    from keepbook.book.vectors import Floats

ANSWER_WITHIN = 1.0
FILL_WITHIN = 60.0


class RemoteEmbedder:
    """Embeds over HTTP. The space is the model's name: whoever serves it under that name serves the same model."""

    floor = 0.3

    def __init__(self, model: str, base_url: str, key: str | None) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise Invalid(f"the endpoint starts with http:// or https://, not like {base_url[:30]!r}", field="embedder")
        self.space = f"openai-{model}"
        self._model, self._url, self._key = model, base_url.rstrip("/") + "/embeddings", key
        # A thread of its own for questions, since a socket's timeout starts anew with every byte that trickles in.
        self._asking = ThreadPoolExecutor(max_workers=4, thread_name_prefix="keepbook embeds")

    def embed(self, texts: Sequence[str]) -> "Floats":
        return self._fetch(list(texts), FILL_WITHIN)

    def ask(self, text: str) -> "Floats":
        try:
            return self._asking.submit(self._fetch, [text], ANSWER_WITHIN).result(ANSWER_WITHIN)[0]  # type: ignore[no-any-return]
        except TooLate:
            raise ModelFailed("the embedder took too long", code="embedder") from None

    def _fetch(self, texts: list[str], seconds: float) -> "Floats":
        import numpy as np  # comes with the extra; without it there is nothing to do with vectors

        if not texts:
            return np.zeros((0, 1), dtype=np.float32)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        body = json.dumps({"model": self._model, "input": texts, "encoding_format": "float"}).encode()
        request = urllib.request.Request(self._url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                data = json.load(answer)["data"]
            rows = np.asarray([item["embedding"] for item in sorted(data, key=lambda item: item["index"])], np.float32)
        except (OSError, ValueError, KeyError, TypeError, urllib.error.URLError) as error:
            raise ModelFailed(f"the embedder did not answer ({type(error).__name__})", code="embedder") from error
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise ModelFailed("the embedder gave another number of vectors than it was asked for", code="embedder")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.maximum(lengths, 1e-12)  # type: ignore[no-any-return]
