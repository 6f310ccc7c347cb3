"""Which embedder the settings name. Nothing is loaded before the first text, and none is not an error.

`auto` is the best that is installed and needs no network, `none` is words alone, `onnx:DIR` a sentence model in a
folder (`model.onnx`, `tokenizer.json`), `openai:MODEL` any endpoint that speaks OpenAI's embeddings.
"""

from pathlib import Path

from keepbook.book.vectors import Embedder
from keepbook.errors import Invalid
from keepbook.models.embedders.local import OnnxEmbedder, bundled
from keepbook.models.embedders.remote import RemoteEmbedder


def choose_embedder(name: str, *, base_url: str | None = None, key: str | None = None) -> Embedder | None:
    """The embedder of that name, or none."""
    kind, _, rest = name.partition(":")
    if name == "none":
        return None
    if name == "auto":
        return bundled()
    if kind == "onnx" and rest:
        return OnnxEmbedder.in_folder(Path(rest).expanduser())
    if kind == "openai" and rest:
        return RemoteEmbedder(rest, base_url or "https://api.openai.com/v1", key)
    raise Invalid(f"the embedder is auto, none, onnx:DIR or openai:MODEL, not {name!r}", field="embedder")
