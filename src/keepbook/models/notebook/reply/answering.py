"""How likely a line answers a question, as learned from books with questions (`training/answers_fit.py`).

What counts is the words that both have, how like they are in meaning, and which kinds of questions go with which kinds
of lines: "when is my dentist appointment?" is not answered by the dentist's name. It was learned for the embedder that
comes with Keepbook; with another one, or none, words and likeness alone decide (`lookup`).
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import content_words, numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

ANSWERS = -0.5
"""About these log-odds are even, on left-out books."""
WEIGHTS = Path(__file__).parent / "answering.npz"


class AnswerWeights(NamedTuple):
    """`center` and `axes` take a direction to a few coordinates; the last of the `weights` is the bias."""

    space: str
    center: "Floats"
    axes: "Floats"
    weights: "Floats"


def answer_score(question: str, line: str, sense: Sense) -> float | None:
    """The log-odds that a line answers a question; None where the embedder is another one, or fails."""
    known = answer_weights()
    if sense.space != known.space:
        return None
    one, other = sense.direction(question), sense.direction(line)
    if one is None or other is None:
        return None
    return float(features(question, line, one, other, known) @ known.weights[:-1] + known.weights[-1])


def features(question: str, line: str, one: "Floats", other: "Floats", known: AnswerWeights) -> "Floats":
    """What speaks for or against: shared words, numbers, likeness, each coordinate of one with each of the other."""
    import numpy as np  # comes with the embedder

    asked, said = set(content_words(question)), set(content_words(line))
    shared = len(asked & said) / max(1, len(asked))
    lacks_number = not numbers(question) <= numbers(line)
    plain = [float(one @ other), shared, float(asked <= said), float(lacks_number), float(bool(numbers(line)))]
    kinds = np.outer((one - known.center) @ known.axes.T, (other - known.center) @ known.axes.T)
    found: Floats = np.concatenate([plain, kinds.ravel()]).astype(np.float32)
    return found


@cache
def answer_weights() -> AnswerWeights:
    import numpy as np  # as above

    with np.load(WEIGHTS) as kept:
        return AnswerWeights(str(kept["space"]), kept["center"], kept["axes"], kept["weights"])
