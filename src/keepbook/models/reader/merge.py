"""What was learned, laid over the base: the tensors that the reader's graph is opened with.

`encoder.npz` holds thin matrices (adapters), differences of the biases and norms, and the heads, all in float16. A
matrix of the base plus the product of its two adapters is the matrix the reader computes with, held as float16 and
widened as it is used; the three that attention asks, answers and speaks with are laid side by side, since they are
always multiplied with the same words.
"""

from typing import TYPE_CHECKING

from keepbook.models.reader.minilm import INNER, LAYERS, MATRICES, WIDTH

if TYPE_CHECKING:
    from keepbook.models.reader.minilm import Array, Arrays, Parts

_PLACES, _WORDS = 512, 30522
_JOINED = {"joined": MATRICES[3], "inner": MATRICES[4], "outer": MATRICES[5]}
_NORMS = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}


def shapes() -> dict[str, tuple[str, tuple[int, ...]]]:
    """The graph's tensors: kind and shape by name."""
    found: dict[str, tuple[str, tuple[int, ...]]] = {}
    for table, rows in (("word", _WORDS), ("position", _PLACES)):
        found[f"{table}.q"], found[f"{table}.scale"] = ("i1", (rows, WIDTH)), ("f4", (rows, 1))
    found["type"] = ("f4", (2, WIDTH))
    norms = ["norm"]
    for layer in range(LAYERS):
        sizes = {"seen": (WIDTH, 3 * WIDTH), "joined": (WIDTH, WIDTH), "inner": (WIDTH, INNER), "outer": (INNER, WIDTH)}
        for name, shape in sizes.items():
            found[f"{layer}.{name}"], found[f"{layer}.{name}.bias"] = ("f2", shape), ("f4", shape[1:])
        norms += [f"{layer}.{name}" for name in _NORMS]
    for name in norms:
        found[f"{name}.weight"] = found[f"{name}.bias"] = ("f4", (WIDTH,))
    return found


def merged(base: "Parts", learned: "Arrays") -> "Arrays":
    """The graph's tensors by name."""
    import numpy as np  # with the first reading, like the model

    def matrix(name: str) -> "Array":
        adapter = learned[f"{name}.down"].astype("f4") @ learned[f"{name}.up"].astype("f4")
        return (base.matrix(name) + adapter).astype("f2")  # type: ignore[no-any-return]

    def vector(name: str) -> "Array":
        return base.vector(name) + learned[name].astype("f4")  # type: ignore[no-any-return]

    found: Arrays = {}
    for table in ("word", "position"):
        found[f"{table}.q"], found[f"{table}.scale"] = (array.copy() for array in base.table(table))
    for name in ("type", "norm.weight", "norm.bias"):
        found[name] = vector(name)
    for layer in range(LAYERS):
        found[f"{layer}.seen"] = np.concatenate([matrix(f"{layer}.{name}") for name in MATRICES[:3]], axis=1)
        found[f"{layer}.seen.bias"] = np.concatenate([vector(f"{layer}.{name}.bias") for name in MATRICES[:3]])
        for name, held in _JOINED.items():
            found[f"{layer}.{name}"] = matrix(f"{layer}.{held}")
            found[f"{layer}.{name}.bias"] = vector(f"{layer}.{held}.bias")
        for name, held in _NORMS.items():
            for kind in ("weight", "bias"):
                found[f"{layer}.{name}.{kind}"] = vector(f"{layer}.{held}.{kind}")
    return found
