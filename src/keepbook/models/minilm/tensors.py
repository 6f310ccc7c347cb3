"""Makes the tensors of the graphs: those that embedder and reader share (`all_tensors`), and each one's own (`thin`).

A matrix consists of integers (those of the base, unchanged, with a scale per column) and, added to them, a product of
two thin float matrices. The rows that are multiplied with it are rounded to integers as well, each by its own largest
value. A few places of the stream between the layers (`ASIDE`) are many times larger than the others, which would all be
rounded to zero: these places are left out of the integers and go through the thin product. The adapters of the reader
are a thin product too, so that embedder and reader use the same integers. The query, key and value matrices of
attention are put side by side, because they are always multiplied with the same rows.
"""

from typing import TYPE_CHECKING

from keepbook.models.minilm.parts import INNER, LAYERS, MATRICES, WIDTH

if TYPE_CHECKING:
    from keepbook.models.minilm.parts import Array, Arrays, BaseWeights

ASIDE = (63, 99, 157, 223, 267, 303, 338, 347)
"""The large places of the stream, found on the training chats. The result is off by .025 if they are left out of the
integers, and by .06 if not."""
LOWEST = 0.17
"""No value of GELU is below -LOWEST. It is added before rounding, so that all integers are used, and what that adds to
the product is subtracted from the bias."""
MIDDLE = 128
"""The byte that stands for zero."""
_PLACES, _WORDS = 512, 30522
PRODUCTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "seen": (WIDTH, MATRICES[:3]),
    "joined": (WIDTH, MATRICES[3:4]),
    "inner": (WIDTH, MATRICES[4:5]),
    "outer": (INNER, MATRICES[5:6]),
}
"""The four products of a layer: the width of the rows that go in, and the base's matrices, which are side by side."""
STREAM = ("seen", "inner")
"""The products whose rows are the stream between the layers."""
RANK = 16
"""The rank of an adapter."""
_NORMS = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}


def rank(name: str, adapted: bool) -> int:
    """The rank of the thin product that is added to a matrix; 0 if there is none."""
    found = 0
    if adapted:
        found += RANK * len(PRODUCTS[name][1])
    if name in STREAM:
        found += len(ASIDE)
    return found


def shapes(adapted: bool) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The tensors that a graph needs: kind and shape by name."""
    found: dict[str, tuple[str, tuple[int, ...]]] = {}
    for table, rows in (("word", _WORDS), ("position", _PLACES)):
        found[f"{table}.q"], found[f"{table}.scale"] = ("i1", (rows, WIDTH)), ("f4", (rows, 1))
    found["type"] = ("f4", (2, WIDTH))
    norms = ["norm"]
    for layer in range(LAYERS):
        for name, (width, matrices) in PRODUCTS.items():
            at, wide = f"{layer}.{name}", INNER if name == "inner" else WIDTH * len(matrices)
            found[f"{at}.q"], found[f"{at}.scale"] = ("u1", (width, wide)), ("f4", (wide,))
            found[f"{at}.bias"] = ("f4", (wide,))
            thick = rank(name, adapted)
            if thick:
                found[f"{at}.down"], found[f"{at}.up"] = ("f4", (width, thick)), ("f4", (thick, wide))
        norms += [f"{layer}.{name}" for name in _NORMS]
    for name in norms:
        found[f"{name}.weight"] = found[f"{name}.bias"] = ("f4", (WIDTH,))
    return found


def all_tensors(base: "BaseWeights") -> "Arrays":
    """The tensors that embedder and reader share."""
    found: Arrays = {}
    for table in ("word", "position"):
        found[f"{table}.q"], found[f"{table}.scale"] = base.table(table)
    for layer in range(LAYERS):
        for name in PRODUCTS:
            numbers, found[f"{layer}.{name}.scale"] = _quantised_product(base, layer, name)
            numbers = (numbers.astype("i2") + MIDDLE).astype("u1")
            if name in STREAM:
                numbers[list(ASIDE)] = MIDDLE
            found[f"{layer}.{name}.q"] = numbers
    return found


def thin(base: "BaseWeights", learned: "Arrays | None" = None) -> "Arrays":
    """The tensors that differ between embedder and reader: the base's own, with the `learned` weights added."""
    import numpy as np  # with the first text, like the model

    def vector(name: str) -> "Array":
        return base.vector(name) + (learned[name].astype("f4") if learned else 0)

    found: Arrays = {name: vector(name) for name in ("type", "norm.weight", "norm.bias")}
    for layer in range(LAYERS):
        for name in PRODUCTS:
            found |= {f"{layer}.{name}.{part}": array for part, array in _thin(base, layer, name, learned).items()}
            bias = np.concatenate([vector(f"{layer}.{matrix}.bias") for matrix in PRODUCTS[name][1]])
            if name == "outer":
                found[f"{layer}.{name}.bias"] = bias - LOWEST * _sums(base, layer)
            else:
                found[f"{layer}.{name}.bias"] = bias
        for name, held in _NORMS.items():
            for kind in ("weight", "bias"):
                found[f"{layer}.{name}.{kind}"] = vector(f"{layer}.{held}.{kind}")
    return found


def _quantised_product(base: "BaseWeights", layer: int, name: str) -> "tuple[Array, Array]":
    """A product's matrices side by side: integers, and a scale for each column."""
    import numpy as np  # with the first text, like the model

    numbers, scales = zip(*(base.whole(f"{layer}.{matrix}") for matrix in PRODUCTS[name][1]), strict=True)
    return np.concatenate(numbers, axis=1), np.concatenate([scale.reshape(-1) for scale in scales])


def _sums(base: "BaseWeights", layer: int) -> "Array":
    numbers, scale = _quantised_product(base, layer, "outer")
    return numbers.sum(axis=0, dtype="f4") * scale  # type: ignore[no-any-return]


def _thin(base: "BaseWeights", layer: int, name: str, learned: "Arrays | None") -> "Arrays":
    """The two factors of the thin product: the adapters, and the places that were left out of the integers."""
    import numpy as np  # with the first text, like the model

    numbers, scale = _quantised_product(base, layer, name)
    width, wide = numbers.shape
    down, up, at = [], [], 0
    if learned:
        for matrix in PRODUCTS[name][1]:
            first, second = (learned[f"{layer}.{matrix}.{part}"].astype("f4") for part in ("down", "up"))
            down.append(first)
            up.append(np.pad(second, ((0, 0), (at, wide - at - second.shape[1]))))  # each beside its own matrix
            at += second.shape[1]
    if name in STREAM:
        down.append(np.eye(width, dtype="f4")[list(ASIDE)].T)
        up.append(numbers[list(ASIDE)].astype("f4") * scale)
    if down:
        return {"down": np.ascontiguousarray(np.hstack(down)), "up": np.vstack(up)}
    return {}
