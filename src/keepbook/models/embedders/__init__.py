"""Embedders turn a text into a vector: `find_bundled`, `local` or `remote`, as the settings choose.

`embedder = "auto"` takes the best one that is installed and needs no network: the one that `keepbook embedder install`
has installed, else the one that came with a package. `"none"` means recall by words alone, `onnx:DIR` a sentence model
in a folder (`model.onnx`, `tokenizer.json`), `openai:MODEL` any endpoint with OpenAI's API for embeddings. A model is
loaded with the first text.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from keepbook.book.recall.vectors import Embedder
from keepbook.errors import Invalid
from keepbook.models.embedders.bundled import BundledEmbedder, find_bundled
from keepbook.models.embedders.install import installed_embedder
from keepbook.models.embedders.local import OnnxEmbedder

if TYPE_CHECKING:
    from keepbook.models.outward import OutwardDoor


def place_of_embedder(embedder: Embedder) -> str:
    """The folder or the address of an embedder."""
    if isinstance(embedder, OnnxEmbedder | BundledEmbedder):
        return str(embedder.weights.parent)
    return getattr(embedder, "url", type(embedder).__name__)


def choose_embedder(
    name: str, *, base_url: str | None = None, key: str | None = None, outward: "OutwardDoor | None" = None
) -> Embedder | None:
    """The embedder of that name; None for `none`, or if nothing is installed. `outward` connects to a `base_url`."""
    kind, _, rest = name.partition(":")
    if name == "none":
        return None
    if name == "auto":
        return installed_embedder() or find_bundled()
    if kind == "onnx" and rest:
        return OnnxEmbedder.in_folder(Path(rest).expanduser())
    if kind == "openai" and rest:
        # Loaded for this setting alone: few have it.
        from keepbook.models.embedders.remote import RemoteEmbedder

        if base_url:
            return RemoteEmbedder(rest, base_url, key, outward)
        return RemoteEmbedder(rest, "https://api.openai.com/v1", key)
    raise Invalid(f"the embedder is auto, none, onnx:DIR or openai:MODEL, not {name!r}", field="embedder")
