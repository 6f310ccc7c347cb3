"""The encoder reader: MiniLM-L6 with adapters of our own.

Only the adapters are in the package; the base model comes with the embedder's extra. A turn in a script that the base
does not know is read by the linear reader alone, because all its tokens would be unknown. Other turns are scored by the
linear reader too: the two make different mistakes, and together they make fewer than either.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from keepbook.forking import OncePerProcess
from keepbook.models.minilm.inference import Encoder, MiniLM
from keepbook.models.reader import model_files
from keepbook.models.reader.linear import LinearReader
from keepbook.models.reader.values import ACTS, CATEGORIES, LABELS, TIES, KeepThresholds, ReaderPiece, ReaderTurn
from keepbook.models.reader.windows import CodedTurn, Coder, Window, stretches

if TYPE_CHECKING:
    import numpy as np

    from keepbook.models.minilm.parts import Arrays

    Floats = np.ndarray[Any, Any]

KEPT_WINDOWS = 512
"""How many windows' pieces are cached: those of a long chat, and a few more."""
KEPT_TIES = 2048
"""How many ties of pairs are cached: with each turn of a chat, most of them are asked for again."""
UNREADABLE = 0.3
"""A turn with a larger share of unknown tokens is read by the linear reader."""


class EncoderReader:
    name = "encoder"

    def __init__(
        self,
        base: MiniLM,
        linear: Callable[[], LinearReader] = LinearReader,
        file: Callable[[str], bytes] = model_files.read_pinned,
    ) -> None:
        self._base, self._linear, self._file = base, linear, file
        self._network = OncePerProcess(self._open_network)

    def read(self, turns: Sequence[ReaderTurn], upto: int | None = None, only: int | None = None) -> list[ReaderPiece]:
        given, linear = turns[:upto], self._linear()
        model = self._model
        coded = model.coder.code(given)
        strange = {at for at, one in enumerate(coded) if one.role == "user" and model.strange(one)}
        if strange:
            found = [piece for piece in linear.read(given, only=only) if piece.turn in strange]
        else:
            found = []
        kept = [
            window
            for window in model.coder.windows(coded, leave=strange)
            if only is None or any(run.turn == only for run in window.runs)
        ]
        every = [one for window in kept for one in model.score_window(given, coded, window)]
        read = [one for one in every if only in (None, one.turn)]
        cut: dict[int, list[tuple[int, int]]] = {}
        for one in read:
            cut.setdefault(one.turn, []).append((one.start, one.end))
        found += [
            model.piece(given, one, said) for one, said in zip(read, linear.score_pieces(given, cut), strict=True)
        ]
        return sorted(found, key=lambda piece: (piece.turn, piece.start))

    def tie(self, earlier: str, later: str, before: str = "") -> Mapping[str, float]:
        return self._model.tie(earlier, later, before)

    @property
    def bars(self) -> KeepThresholds:
        return self._model.chosen.bars

    @property
    def _model(self) -> "_Model":
        return self._network.get()

    def _open_network(self) -> "_Model":
        import numpy as np  # loaded with the first text: a program that never reads does not need it

        with np.load(io.BytesIO(self._file("encoder.npz")), allow_pickle=False) as file:
            learned = {name: file[name] for name in file.files}
        heads = {name: learned[name].astype("f4") for name in learned if name.startswith("head.")}
        return _Model(self._base.encoder(learned), heads, Coder(self._base.tokenizer()))


class _ScoredPiece(NamedTuple):
    """A piece and its score for each output."""

    turn: int
    start: int
    end: int
    scores: "Floats"


class _Model:
    """An opened encoder: windows in, pieces out."""

    def __init__(self, encode: Encoder, heads: "Arrays", coder: Coder) -> None:
        self._encode, self._heads, self.coder = encode, heads, coder
        self.chosen = model_files.thresholds_of("encoder")
        self._read: dict[Any, list[_ScoredPiece]] = {}
        self.tie = lru_cache(maxsize=KEPT_TIES)(self._tie)

    def strange(self, coded: CodedTurn) -> bool:
        return not coded.ids or coded.ids.count(self.coder.unknown) > UNREADABLE * len(coded.ids)

    def score_window(
        self, turns: Sequence[ReaderTurn], coded: Sequence[CodedTurn], window: Window
    ) -> list["_ScoredPiece"]:
        """The pieces of a window with their scores. They are cached, because a chat is read anew with every turn and
        most of its windows stay the same."""
        where = tuple((run, turns[run.turn].text) for run in window.runs)
        key = (tuple(window.ids), tuple(window.types), where)
        found = self._read.get(key)
        if found is None:
            found = self._score_window(turns, coded, window)
            if len(self._read) >= KEPT_WINDOWS:
                self._read.clear()
            self._read[key] = found
        return found

    def _score_window(
        self, turns: Sequence[ReaderTurn], coded: Sequence[CodedTurn], window: Window
    ) -> list["_ScoredPiece"]:
        import numpy as np  # loaded by now

        hidden = self._encode(window.ids, window.types)
        chances = _sigmoid(hidden @ self._heads["head.cut.weight"].T + self._heads["head.cut.bias"])[:, 0]
        places, vectors = [], []
        for run in window.runs:
            text, one = turns[run.turn].text, coded[run.turn]
            for first, until, start, end in stretches(text, one, run, chances[run.at : run.at + run.size].tolist()):
                tokens = hidden[first:until]
                vectors.append(np.concatenate([tokens.mean(0), tokens.max(0), hidden[0]]))
                places.append((run.turn, start, end))
        scores = self._head("piece", "said", np.stack(vectors))
        return [_ScoredPiece(*place, one) for place, one in zip(places, scores, strict=True)]

    def _tie(self, earlier: str, later: str, before: str) -> Mapping[str, float]:
        import numpy as np  # loaded by now

        pair = self.coder.pair(earlier, later, before)
        hidden = self._encode(pair.ids, pair.types)
        first, last = (hidden[slice(*where)] for where in (pair.earlier, pair.later))
        if not len(first) or not len(last):
            return dict(zip(TIES, (1.0, 0.0, 0.0, 0.0), strict=True))
        scores = self._head("pair", "tie", np.concatenate([first.mean(0), last.mean(0), hidden[0]])[None])[0]
        return dict(zip(TIES, _softmax(scores * self.chosen.ties).tolist(), strict=True))

    def _head(self, first: str, second: str, vectors: "Floats") -> "Floats":
        w = self._heads
        inside = _gelu(vectors @ w[f"head.{first}.weight"].T + w[f"head.{first}.bias"])
        return inside @ w[f"head.{second}.weight"].T + w[f"head.{second}.bias"]

    def piece(self, turns: Sequence[ReaderTurn], read: "_ScoredPiece", beside: Sequence[float]) -> ReaderPiece:
        import numpy as np  # loaded by now

        turn, start, end, scores = read
        both = self.chosen.own * scores[: len(LABELS)] + self.chosen.beside * np.array(beside)
        probabilities = dict(zip(LABELS, _softmax(both).tolist(), strict=True))
        at = len(LABELS)
        categories = {}
        for vocabulary, names in CATEGORIES.items():
            categories[vocabulary] = names[int(scores[at : at + len(names)].argmax())]
            at += len(names)
        label = max(probabilities, key=lambda name: probabilities[name])
        act = None
        if label == "order":
            act = ACTS[int(scores[at:].argmax())]
        text = turns[turn].text[start:end]
        verdict = self.chosen.bars.verdict(probabilities)
        return ReaderPiece(turn, start, end, text, label, probabilities, categories, act, verdict)


def _softmax(scores: "Floats") -> "Floats":
    import numpy as np  # loaded by now

    powers = np.exp(scores - scores.max())
    return powers / powers.sum()  # type: ignore[no-any-return]


def _sigmoid(scores: "Floats") -> "Floats":
    import numpy as np  # loaded by now

    return 1 / (1 + np.exp(-scores))


def _gelu(x: "Floats") -> "Floats":
    """GELU in its approximation by tanh, with which the heads were trained; numpy has no erf."""
    import numpy as np  # loaded by now

    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))  # type: ignore[no-any-return]
