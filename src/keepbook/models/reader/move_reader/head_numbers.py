"""Functions that the heads use on the vectors of tokens, in numpy."""

from typing import TYPE_CHECKING, Any

from keepbook.models.reader.move_reader.move_windows import Offsets

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, Any]


def pool_tokens(hidden: "Floats", tokens: Offsets) -> "tuple[Floats, Floats]":
    part = hidden[tokens[0] : tokens[1]]
    return part.mean(0), part.max(0)


def softmax_array(scores: "Floats") -> "Floats":
    import numpy as np  # loaded by now

    powers = np.exp(scores - scores.max())
    return powers / powers.sum()  # type: ignore[no-any-return]


def sigmoid(scores: "Floats") -> "Floats":
    import numpy as np  # loaded by now

    return 1 / (1 + np.exp(-scores))


def gelu(x: "Floats") -> "Floats":
    """GELU in its form with tanh, because numpy has no erf. The heads were trained with it."""
    import numpy as np  # loaded by now

    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))  # type: ignore[no-any-return]
