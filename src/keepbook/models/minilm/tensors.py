"""The tensors of the graph: what every caller computes with (`all_tensors`), and what makes it theirs (`thin`).

A matrix is whole numbers (those of the base, unchanged, with a scale per column) and a thin product of floats beside
them. The rows of words that go in are rounded to whole numbers as well, each by its own largest value. A few places of
the stream between the layers (`ASIDE`) are many times larger than the others and would leave nothing of them: they are
taken out of the whole numbers and go through the thin product. What the reader has learned is a thin product too
(adapters), so that both use the same whole numbers. The three matrices that attention asks, answers and speaks with
lie side by side, since they are always multiplied with the same words.
"""

from typing import TYPE_CHECKING

from keepbook.models.minilm.parts import INNER, LAYERS, MATRICES, WIDTH

if TYPE_CHECKING:
    from keepbook.models.minilm.parts import Array, Arrays, BaseWeights

ASIDE = (63, 99, 157, 223, 267, 303, 338, 347)
"""The large places of the stream, counted on the training chats: with them the result is .06 off, without .025."""
LOWEST = 0.17
"""No value of GELU is below -LOWEST. It is added before rounding, so that no whole number is left unused, and what that
adds to the product is taken from the bias."""
MIDDLE = 128
"""Where zero lies in a byte."""
_PLACES, _WORDS = 512, 30522
PRODUCTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "seen": (WIDTH, MATRICES[:3]),
    "joined": (WIDTH, MATRICES[3:4]),
    "inner": (WIDTH, MATRICES[4:5]),
    "outer": (INNER, MATRICES[5:6]),
}
"""The four products of a layer: how wide the rows are that go in, and the base's matrices side by side."""
STREAM = ("seen", "inner")
"""Those that are given the stream between the layers."""
RANK = 16
"""Of an adapter."""
_NORMS = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}


def rank(name: str, adapted: bool) -> int:
    """The rank of the product beside a matrix; 0 means that there is none."""
    return (RANK * len(PRODUCTS[name][1]) if adapted else 0) + (len(ASIDE) if name in STREAM else 0)


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
            if thick := rank(name, adapted):
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
    """A product's matrices side by side: whole numbers, and a scale for each column."""
    import numpy as np  # with the first text, like the model

    numbers, scales = zip(*(base.whole(f"{layer}.{matrix}") for matrix in PRODUCTS[name][1]), strict=True)
    return np.concatenate(numbers, axis=1), np.concatenate([scale.reshape(-1) for scale in scales])


def _sums(base: "BaseWeights", layer: int) -> "Array":
    numbers, scale = _quantised_product(base, layer, "outer")
    return numbers.sum(axis=0, dtype="f4") * scale  # type: ignore[no-any-return]


def _thin(base: "BaseWeights", layer: int, name: str, learned: "Arrays | None") -> "Arrays":
    """The two factors of the product beside the whole numbers: adapters, and what was put aside."""
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
