"""An embedding endpoint with OpenAI's API: OpenAI's own, or one of the many that are compatible.

Embedding a question may take a second at most, whatever the endpoint does. If it takes longer or fails, recall answers
by words alone and says so, and for a few seconds the endpoint is not asked again. Embedding stored memories may take
longer.
"""

import json
import threading
import time
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from urllib.error import HTTPError

from keepbook.errors import Invalid, ModelFailed

if TYPE_CHECKING:
    from keepbook.book.recall.vectors import Floats
    from keepbook.models.outward import OutwardDoor

ANSWER_WITHIN = 1.0  # seconds for a question
FILL_WITHIN = 60.0  # seconds for texts that wait for their vectors
LEFT_ALONE = 5.0
"""For this many seconds after a failure, no question is sent to the endpoint."""


class RemoteEmbedder:
    """Embeds over HTTP. The space is named after the model: servers with a model of the same name are taken to serve
    the same model."""

    floor: float = 0.3

    def __init__(self, model: str, base_url: str, key: str | None, outward: "OutwardDoor | None" = None) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise Invalid(f"the endpoint starts with http:// or https://, not like {base_url[:30]!r}", field="embedder")
        self.space: str = f"openai-{model}"
        self._model, self._key = model, key
        self.url: str = base_url.rstrip("/") + "/embeddings"
        if outward is None:
            from keepbook.models.outward import OutwardDoor  # loaded for an endpoint alone: few have one

            outward = OutwardDoor()
        self._outward = outward
        self._alone_until = 0.0

    def embed(self, texts: Sequence[str], within: float | None = None) -> "Floats":
        if within is None:
            return self._embed_within(list(texts), FILL_WITHIN)
        return self._embed_unless_failing(list(texts), within)

    def ask(self, text: str) -> "Floats":
        return self._embed_unless_failing([text], ANSWER_WITHIN)[0]  # type: ignore[no-any-return]

    def _embed_unless_failing(self, texts: list[str], seconds: float) -> "Floats":
        """Embed, but raise at once if the endpoint has just failed, because a person waits for the answer."""
        if time.monotonic() < self._alone_until:
            raise ModelFailed("the embedder has just failed", code="embedder")
        try:
            return self._embed_within(texts, seconds)
        except ModelFailed:
            self._alone_until = time.monotonic() + LEFT_ALONE
            raise

    def _embed_within(self, texts: list[str], seconds: float) -> "Floats":
        """Embed within a total time. In a thread, because the timeout of a socket begins anew with every byte that
        comes; a daemon thread, because a process must not wait for it when it ends."""
        answered: SimpleQueue[Floats | ModelFailed] = SimpleQueue()

        def fetch() -> None:
            try:
                answered.put(self._fetch(texts, seconds))
            except ModelFailed as error:
                answered.put(error)

        threading.Thread(target=fetch, name="keepbook embeds", daemon=True).start()
        try:
            found = answered.get(timeout=seconds)
        except Empty:
            raise ModelFailed("the embedder took too long", code="embedder") from None
        if isinstance(found, ModelFailed):
            raise found
        return found

    def _fetch(self, texts: list[str], seconds: float) -> "Floats":
        import numpy as np  # comes with the extra; without it there is nothing to do with vectors

        if not texts:
            return np.zeros((0, 1), dtype=np.float32)
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        body = json.dumps({"model": self._model, "input": texts, "encoding_format": "float"}).encode()
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 an http address, checked
        try:
            with self._outward.open(request, timeout=seconds) as answer:
                data = json.load(answer)["data"]
            rows = np.asarray([item["embedding"] for item in sorted(data, key=lambda item: item["index"])], np.float32)
        except HTTPError as error:
            error.close()  # else the connection stays open
            raise ModelFailed(f"the embedder did not answer (HTTP {error.code})", code="embedder") from error
        except (OSError, ValueError, KeyError, TypeError, HTTPException) as error:
            raise ModelFailed(f"the embedder did not answer ({type(error).__name__})", code="embedder") from error
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            raise ModelFailed("the embedder gave another number of vectors than it was asked for", code="embedder")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.maximum(lengths, 1e-12)  # type: ignore[no-any-return]
