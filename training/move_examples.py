"""Cases as windows of tokens with what is right for each piece, small enough to be kept by the ten thousand."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keepbook.models.reader.move_reader.move_heads import FLAGS, NEEDS, STRETCHES, need_tokens
from keepbook.models.reader.move_reader.move_signs import MoveRequest as SignsAsked
from keepbook.models.reader.move_reader.move_signs import move_features
from keepbook.models.reader.move_reader.move_windows import MoveCoder, MoveWindow
from keepbook.models.reader.moves import MOVES, RESTS
from keepbook.models.reader.values import LABELS
from training.move_cases import Case
from training.moves import Clause, Stretch

UNKNOWN = -1


class Looked(NamedTuple):
    """A stretch that is looked for: its kind, by which piece, among which tokens, and its first and last one."""

    kind: int
    piece: int
    tokens: Any
    right: Stretch


@dataclass
class Example:
    """A window and what is right. Pieces are counted among those judged, marks are the lines, then the pieces seen."""

    ids: Any
    types: Any
    judged: list[Stretch]
    marks: list[Stretch]
    acts: list[list[int]]
    labels: list[int]
    flags: list[list[int]]
    rests: list[int]
    needs: list[int]
    pairs: Any
    """Piece, mark, whether it is meant, and what the mark is: 0 a line or piece, 1 a question, 2 a choice."""
    signs: Any
    """What can be seen of each pair."""
    ones: list[int]
    """The line that each piece means: 0 none, else 1 + mark; UNKNOWN where there are several."""
    choices: list[int]
    """The same for the choice; UNKNOWN where nothing is asked."""
    looked: list[Looked]


def examples(case: Case, coder: MoveCoder, only: list[int] | None = None) -> list[Example]:
    """The windows of a case; with `only`, of these pieces alone."""
    given = (case.turns, case.at, case.pieces, case.lines)
    found = coder.windows(*given) if only is None else coder.alone(*given, only)
    return [_example(case, window) for window in found]


def _example(case: Case, window: MoveWindow) -> Example:
    seen = [which for which, _ in window.pieces]
    judged = [seen[row] for row in window.judged]
    clauses = [case.clauses[which] for which in judged]
    names = [line.id for line in case.lines] + [f"{case.at}:{case.clauses[which].start}" for which in seen]
    kinds = [{"question": 1, "choice": 2}.get(line.kind, 0) for line in case.lines] + [0] * len(seen)
    every = move_features(SignsAsked(case.turns, case.at, case.pieces, case.lines), seen, judged)
    pairs, visible = [], []
    for piece, (which, row) in enumerate(zip(judged, window.judged, strict=True)):
        meant = case.points[which]
        for mark, name in enumerate(names):
            if meant is not None and mark != len(case.lines) + row:
                pairs.append((piece, mark, int(name in meant), kinds[mark]))
                visible.append(every[piece][mark])
    return Example(
        np.array(window.ids, "i4"),
        np.array(window.types, "i1"),
        [window.pieces[row][1] for row in window.judged],
        [*window.lines, *(tokens for _, tokens in window.pieces)],
        [[MOVES.index(act) for act in clause.acts] for clause in clauses],
        [LABELS.index(clause.label) if clause.label else UNKNOWN for clause in clauses],
        [_flags(clause) for clause in clauses],
        [UNKNOWN if clause.rest is None else RESTS.index(clause.rest) for clause in clauses],
        [_need(clause) for clause in clauses],
        np.array(pairs, "i4").reshape(-1, 4),
        np.array(visible, "f2"),
        [_one(pairs, piece, 0) for piece in range(len(judged))],
        [_one(pairs, piece, 2) if 2 in kinds else UNKNOWN for piece in range(len(judged))],
        [one for piece, clause in enumerate(clauses) for one in _looked(case, window, piece, clause, names)],
    )


def _flags(clause: Clause) -> list[int]:
    exchange = bool(clause.new) if clause.exchange and clause.acts[0] in ("change", "answer", "end", "say") else None
    values = {
        "mistake": clause.mistake, "ahead": clause.ahead, "own": clause.own, "unsure": clause.unsure,
        "exchange": exchange,
    }  # fmt: skip
    return [UNKNOWN if (one := values[name]) is None else int(one) for name in FLAGS]


def _need(clause: Clause) -> int:
    if clause.needs is None:
        return UNKNOWN
    if not clause.needs:
        return NEEDS.index("none")
    return NEEDS.index("question" if clause.needs[0][1] < 0 else "words")


def _one(pairs: list[tuple[int, int, int, int]], piece: int, kind: int) -> int:
    mine = [pair for pair in pairs if pair[0] == piece and pair[3] == kind]
    meant = [mark for _, mark, right, _ in mine if right]
    if not mine or len(meant) > 1:
        return UNKNOWN
    return 1 + meant[0] if meant else 0


def _looked(case: Case, window: MoveWindow, piece: int, clause: Clause, names: list[str]) -> list[Looked]:
    row = window.judged[piece]
    which, own = window.pieces[row]
    marks = [*window.lines, *(tokens for _, tokens in window.pieces)]
    found: list[Looked | None] = []
    old = case.olds[which]
    if old and clause.new and old[0] in names:
        mark = names.index(old[0])
        base = 0
        if mark >= len(case.lines):
            base = case.clauses[window.pieces[mark - len(case.lines)][0]].start
        found.append(_stretch(window, "old", piece, list(range(*marks[mark])), old[1], base))
        found.append(_stretch(window, "new", piece, list(range(*own)), clause.new))
    if clause.needs and clause.needs[0][1] >= 0:
        turn, start, end = clause.needs[0]
        tokens = need_tokens(window, row)
        inside = [at for at in tokens if window.places[at].turn == turn]
        found.append(_stretch(window, "need", piece, tokens, (start, end), inside=inside))
    if clause.who:
        found.append(_stretch(window, "who", piece, list(range(*window.own)), clause.who))
    return [one for one in found if one]


def _stretch(
    window: MoveWindow,
    kind: str,
    piece: int,
    tokens: list[int],
    stretch: Stretch,
    base: int = 0,
    inside: list[int] | None = None,
) -> Looked | None:
    """The first and last token that lie in a stretch; None where it is not among the tokens."""
    start, end = stretch[0] + base, stretch[1] + base
    among = tokens if inside is None else inside
    lie = [at for at in among if window.places[at].start < end and window.places[at].end > start]
    return Looked(STRETCHES.index(kind), piece, np.array(tokens, "i2"), (lie[0], lie[-1])) if lie else None
