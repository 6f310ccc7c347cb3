"""The heads of the move reader, in numpy: they make moves of the token vectors of a window.

Training evaluates with the same functions, so what was measured is what runs.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from keepbook.models.reader.move_reader.head_numbers import gelu, pool_tokens, sigmoid, softmax_array
from keepbook.models.reader.move_reader.move_signs import MoveRequest, move_features
from keepbook.models.reader.move_reader.move_windows import MoveWindow
from keepbook.models.reader.moves import MOVES, RESTS, Heat, Move, Need
from keepbook.models.reader.values import LABELS

if TYPE_CHECKING:
    import numpy as np

    from keepbook.models.minilm.parts import Arrays

    Floats = np.ndarray[Any, Any]

FLAGS = ("mistake", "ahead", "own", "unsure", "exchange")
NEEDS = ("none", "words", "question")
NONES = ("one", "choice")
"""Scores for meaning no line, and for choosing none of the choices."""
POINTS = ("many", "one", "choice")
"""Three scores for each line: that it is meant at all, that it is meant and no other, and that it is the choice."""
OUTPUTS = (len(MOVES), len(LABELS), len(FLAGS), len(RESTS), len(NEEDS), len(NONES))
"""The sizes of the groups of scores that a piece gets by itself."""
SINGLE, SEVERAL = ("say", "change", "end"), ("withdraw", "keep", "undo", "ask", "answer")
"""Acts that mean one line, and acts that may mean several."""
STRETCHES = ("old", "new", "need", "who")
"""The kinds of stretches for which the head scores a first and a last token, in its order."""
LONGEST = 40
"""The most tokens of a stretch."""
SEEN = 0.1
"""A stretch with a lower probability is left out."""


class MoveHeads:
    def __init__(self, weights: "Arrays", heat: Heat | None = None) -> None:
        self._w = weights
        self._heat = heat or Heat()
        self._key = weights["head.key.weight"].shape[0] // (2 * len(STRETCHES))

    def read(self, asked: MoveRequest, window: MoveWindow, hidden: "Floats") -> list[tuple[int, Move]]:
        """The moves of the pieces that are judged in a window: the number of the piece, and its move."""
        import numpy as np  # loaded by now

        pools = [pool_tokens(hidden, tokens) for _, tokens in window.pieces]
        own = [np.concatenate([*pools[row], hidden[0]]) for row in window.judged]
        inside = gelu(self._linear("piece", np.stack(own)))
        scores = self._linear("does", inside)
        marks = [pool_tokens(hidden, tokens) for tokens in window.lines] + pools
        beside = np.concatenate([self._matches(window, hidden), _signs(asked, window)], axis=2)
        points = self._points(inside, np.stack([np.concatenate(mark) for mark in marks]), beside)
        found = []
        for at, row in enumerate(window.judged):
            spans = _Spans(self._stretch_scores(inside[at], hidden), self._heat)
            move = self._move(asked, window, row, _Scores(scores[at], points[at], spans))
            found.append((window.pieces[row][0], move))
        return found

    def _matches(self, window: MoveWindow, hidden: "Floats") -> "Floats":
        """For each judged piece and each mark (a line or piece): the mean best similarity of the mark's tokens with
        those of the piece, and of the piece's tokens with those of the mark."""
        import numpy as np  # loaded by now

        toward = self._linear("match", hidden)
        toward = toward / np.maximum(np.linalg.norm(toward, axis=1, keepdims=True), 1e-6)
        near = toward @ toward.T
        tokens = [*window.lines, *(one for _, one in window.pieces)]
        found = []
        for row in window.judged:
            part = near[slice(*window.pieces[row][1])]
            blocks = [part[:, slice(*one)] for one in tokens]
            found.append([(block.max(0).mean(), block.max(1).mean()) for block in blocks])
        return np.array(found, "f4")

    def _move(self, asked: MoveRequest, window: MoveWindow, row: int, scores: "_Scores") -> Move:
        which, tokens = window.pieces[row]
        heat = self._heat
        parts = _split(scores.does)
        acts = dict(zip(MOVES, softmax_array(parts[0] * heat.act).tolist(), strict=True))
        flags = dict(zip(FLAGS, sigmoid(parts[2] * heat.flag).tolist(), strict=True))
        needs = dict(zip(NEEDS, softmax_array(parts[4] * heat.need).tolist(), strict=True))
        exchange, own = flags.pop("exchange"), flags.pop("own")
        names = [line.id for line in asked.lines[: len(window.lines)]]
        names += [f"{asked.at}:{asked.pieces[one][0]}" for one, _ in window.pieces]
        itself = len(window.lines) + row
        chances = self._chances(asked, scores.points, parts[5], acts, itself)
        who = None
        if own < 0.5:
            who = _person_named(asked, window, scores.spans)
        return Move(
            *asked.pieces[which],
            acts,
            {name: chances[mark] for mark, name in enumerate(names) if mark != itself},
            **flags,
            own=own,
            rest=dict(zip(RESTS, softmax_array(parts[3] * heat.flag).tolist(), strict=True)),
            old=self._old(asked, window, names, itself, scores.spans, exchange),
            new=_letters(window, scores.spans.best("new", range(*tokens)), 0, exchange),
            needs=_needs(window, row, asked, scores.spans, needs),
            who=who,
        )

    def _chances(
        self, asked: MoveRequest, points: "Floats", nones: "Floats", acts: Mapping[str, float], itself: int
    ) -> list[float]:
        """The probability that each mark is meant. Choices exclude each other. Lines exclude each other as far as the
        act is one that means a single line: the two probabilities are mixed by how likely such an act is."""
        import numpy as np  # loaded by now

        kinds = np.array([line.kind for line in asked.lines] + ["piece"] * (len(points) - len(asked.lines)))
        choice, question = kinds == "choice", kinds == "question"
        several, one, chosen = points.T * self._heat.point
        several = sigmoid(several)
        single = sum(acts[act] for act in SINGLE)
        share = single / max(1e-6, single + sum(acts[act] for act in SEVERAL))
        lines = ~choice & ~question
        lines[itself] = False
        found = several.copy()
        found[lines] = share * _against(one[lines], nones[0] * self._heat.point) + (1 - share) * several[lines]
        found[choice] = _against(chosen[choice], nones[1] * self._heat.point)
        return found.tolist()  # type: ignore[no-any-return]

    def _old(
        self,
        asked: MoveRequest,
        window: MoveWindow,
        names: Sequence[str],
        itself: int,
        spans: "_Spans",
        exchange: float,
    ) -> Mapping[str, tuple[int, int, float]]:
        """For every line and other piece, the stretch of it that would be replaced."""
        tokens = [*window.lines, *(one for _, one in window.pieces)]
        found = {}
        for mark, name in enumerate(names):
            base = 0
            if mark >= len(window.lines):
                base = asked.pieces[window.pieces[mark - len(window.lines)][0]][0]
            stretch = _letters(window, spans.best("old", range(*tokens[mark])), base, exchange)
            if mark != itself and stretch:
                found[name] = stretch
        return found

    def _points(self, inside: "Floats", marks: "Floats", beside: "Floats") -> "Floats":
        """The scores POINTS for each piece (row) and each mark (column)."""
        import numpy as np  # loaded by now

        aims, marked = self._linear("aim", inside), self._linear("mark", marks)
        shape = (len(aims), len(marked), aims.shape[1])
        one, two = np.broadcast_to(aims[:, None], shape), np.broadcast_to(marked[None], shape)
        joined = gelu(self._linear("joined", np.concatenate([one, two, one * two, beside], axis=2)))
        return self._linear("point", joined)

    def _stretch_scores(self, inside: "Floats", hidden: "Floats") -> "Floats":
        """The scores of a stretch, by kind, first or last token, and token."""
        ask = self._linear("ask", inside).reshape(2 * len(STRETCHES), self._key)
        keys = self._w["head.key.weight"].reshape(2 * len(STRETCHES), self._key, -1)
        bias = self._w["head.key.bias"].reshape(2 * len(STRETCHES), self._key)
        # This is ask · (W h + b) for every token h, computed as (ask W) · h + ask · b, which is cheaper.
        import numpy as np  # loaded by now

        toward = np.einsum("sk,skw->sw", ask, keys)
        scores = (toward @ hidden.T + (ask * bias).sum(1, keepdims=True)) / self._key**0.5
        return (scores + self._linear("edge", hidden).T).reshape(len(STRETCHES), 2, -1)  # type: ignore[no-any-return]

    def _linear(self, name: str, x: "Floats") -> "Floats":
        return x @ self._w[f"head.{name}.weight"].T + self._w[f"head.{name}.bias"]


class _Scores(NamedTuple):
    does: "Floats"
    points: "Floats"
    spans: "_Spans"


class _Spans:
    """Finds the likeliest stretch of a kind among some tokens."""

    def __init__(self, scores: "Floats", heat: Heat) -> None:
        self._scores, self._heat = scores, heat

    def best(self, kind: str, tokens: Sequence[int]) -> tuple[int, int, float]:
        """The first and last token, and the probability, given that there is such a stretch."""
        import numpy as np  # loaded by now

        if not len(tokens):
            return 0, 0, 0.0
        part = self._scores[STRETCHES.index(kind)][:, list(tokens)] * self._heat.stretch
        begins, ends = (softmax_array(one) for one in part)
        both = np.triu(np.outer(begins, ends)) - np.triu(np.outer(begins, ends), LONGEST)
        first, last = np.unravel_index(int(both.argmax()), both.shape)
        return tokens[int(first)], tokens[int(last)], float(both[first, last])


def _letters(
    window: MoveWindow, found: tuple[int, int, float], base: int, there: float
) -> tuple[int, int, float] | None:
    """A stretch of tokens as characters; `there` is the probability that there is one at all. None if it is less likely
    than SEEN."""
    first, last, likely = found[0], found[1], found[2] * there
    if likely < SEEN:
        return None
    return window.places[first].start - base, window.places[last].end - base, likely


def need_tokens(window: MoveWindow, piece: int) -> list[int]:
    """The tokens where the words that a piece needs may be: all of the person's except the piece itself."""
    begin, end = window.pieces[piece][1]
    others = {turn for _, turn in window.asked}
    return [
        at
        for at, place in enumerate(window.places)
        if place.turn >= 0 and place.turn not in others and not begin <= at < end
    ]


def _needs(
    window: MoveWindow, row: int, asked: MoveRequest, spans: _Spans, kinds: Mapping[str, float]
) -> tuple[Need, ...]:
    if kinds["question"] >= max(kinds["words"], SEEN) and window.asked:
        turn = window.asked[-1][1]
        return (Need(turn, 0, len(asked.turns[turn].text), kinds["question"]),)
    first, last, likely = spans.best("need", need_tokens(window, row))
    one, two = window.places[first], window.places[last]
    if likely * kinds["words"] < SEEN or one.turn != two.turn:
        return ()
    return (Need(one.turn, one.start, two.end, likely * kinds["words"]),)


def _person_named(asked: MoveRequest, window: MoveWindow, spans: _Spans) -> str | None:
    found = _letters(window, spans.best("who", range(*window.own)), 0, 1.0)
    if found and found[2] >= 0.5:
        return asked.text()[found[0] : found[1]]
    return None


def _split(does: "Floats") -> "list[Floats]":
    edges = [0]
    for size in OUTPUTS:
        edges.append(edges[-1] + size)
    return [does[start:end] for start, end in pairwise(edges)]


def _against(scores: "Floats", none: float) -> "Floats":
    """The probability of each, if exactly one of them or none is true."""
    import numpy as np  # loaded by now

    return softmax_array(np.append(scores, none))[:-1]


def _signs(asked: MoveRequest, window: MoveWindow) -> "Floats":
    import numpy as np  # loaded by now

    given = asked._replace(lines=asked.lines[: len(window.lines)])
    shown = [which for which, _ in window.pieces]
    return np.array(move_features(given, shown, [shown[row] for row in window.judged]), "f4")
