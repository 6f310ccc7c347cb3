"""The network that reads moves: the encoder with its own adapters, and the heads for act, pointer and stretches.

A piece is the mean and maximum of its tokens with the first token of the window. What it may point at (a line, another
piece of the turn) is the same of its own tokens. Stretches are found by a beginning and an end among the tokens that
come into question; whether there is one at all is said of the piece.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as f

from keepbook.models.minilm.parts import WIDTH, BaseWeights
from keepbook.models.reader.move_reader.move_heads import OUTPUTS, POINTS, STRETCHES
from keepbook.models.reader.move_reader.move_signs import SIGNS
from training.net import Encoder, pooled

HIDDEN, AIM, JOINED, KEY = 256, 128, 96, 64
MATCH = 64
HEADS = ("piece", "does", "aim", "mark", "joined", "point", "ask", "key", "edge", "match")

Span = tuple[int, int, int]
"""Row of the batch, and tokens from, until."""


class Read(NamedTuple):
    """What speaks for each answer, for all pieces of a batch."""

    acts: Tensor
    labels: Tensor
    flags: Tensor
    rests: Tensor
    needs: Tensor
    nones: Tensor
    inside: Tensor


class MoveNet(Encoder):
    def __init__(self, base: BaseWeights, rank: int | None = 16, drop: float = 0.1) -> None:
        super().__init__(base, rank, drop)
        self.piece = nn.Linear(3 * WIDTH, HIDDEN)
        self.does = nn.Linear(HIDDEN, sum(OUTPUTS))
        self.aim = nn.Linear(HIDDEN, AIM)
        self.mark = nn.Linear(2 * WIDTH, AIM)
        self.joined = nn.Linear(3 * AIM + 2 + SIGNS, JOINED)
        self.point = nn.Linear(JOINED, len(POINTS))
        self.ask = nn.Linear(HIDDEN, 2 * len(STRETCHES) * KEY)
        self.key = nn.Linear(WIDTH, 2 * len(STRETCHES) * KEY)
        self.edge = nn.Linear(WIDTH, 2 * len(STRETCHES))
        self.match = nn.Linear(WIDTH, MATCH)

    def pieces(self, hidden: Tensor, spans: list[Span]) -> Read:
        rows = torch.tensor([row for row, _, _ in spans], device=hidden.device)
        v = torch.cat([*pooled(hidden, spans), hidden[rows, 0]], dim=1)
        inside = f.dropout(f.gelu(self.piece(v), approximate="tanh"), self.drop, self.training)
        return Read(*self.does(inside).split(OUTPUTS, dim=1), inside)

    def points(self, hidden: Tensor, inside: Tensor, pairs: "Pairs") -> Tensor:
        """How much speaks for each pair (piece, mark), in the ways of `POINTS`."""
        aims, marked = self.aim(inside), self.mark(torch.cat(pooled(hidden, pairs.marks), dim=1))
        one, two = aims[pairs.pairs[:, 0]], marked[pairs.pairs[:, 1]]
        beside = torch.cat([self.matches(hidden, pairs), pairs.signs], dim=1)
        joined = f.gelu(self.joined(torch.cat([one, two, one * two, beside], dim=1)), approximate="tanh")
        return self.point(f.dropout(joined, self.drop, self.training))

    def matches(self, hidden: Tensor, pairs: "Pairs") -> Tensor:
        """How well each mark's tokens are matched by those of the piece, and the other way round."""
        toward = f.normalize(self.match(hidden), dim=2, eps=1e-6)
        near = toward @ toward.transpose(1, 2)
        by_piece, by_mark = (_nearest(near, some) for some in (pairs.pieces, pairs.marks))
        piece, mark = pairs.pairs[:, 0], pairs.pairs[:, 1]
        begins, ends = (torch.tensor(some, device=hidden.device)[:, 1:].T for some in (pairs.pieces, pairs.marks))
        there = _mean(by_piece[piece], begins=ends[0][mark], ends=ends[1][mark])
        back = _mean(by_mark[mark], begins=begins[0][piece], ends=begins[1][piece])
        return torch.stack([there, back], dim=1)

    def stretch(self, hidden: Tensor, inside: Tensor, kind: str, which: Tensor, allowed: Tensor) -> Tensor:
        """For each asked piece (row of the batch, piece): scores of all tokens as beginning and as end.

        `allowed` are the tokens that come into question.
        """
        at = STRETCHES.index(kind) * 2 * KEY
        part = slice(at, at + 2 * KEY)
        asks = f.linear(inside[which[:, 1]], self.ask.weight[part], self.ask.bias[part]).view(-1, 2, KEY)
        keys = f.linear(hidden, self.key.weight[part], self.key.bias[part]).view(*hidden.shape[:2], 2, KEY)
        scores = torch.einsum("nsk,nlsk->nsl", asks, keys[which[:, 0]]) / KEY**0.5
        edge = slice(2 * STRETCHES.index(kind), 2 * STRETCHES.index(kind) + 2)
        edges = f.linear(hidden, self.edge.weight[edge], self.edge.bias[edge])
        scores = scores + edges[which[:, 0]].transpose(1, 2)
        return scores.masked_fill(~allowed[:, None, :], -1e4)


class Pairs(NamedTuple):
    """The pieces and marks of a batch, and the pairs that are asked about with what can be seen of each."""

    pieces: list[Span]
    marks: list[Span]
    pairs: Tensor
    signs: Tensor


def _nearest(near: Tensor, spans: list[Span]) -> Tensor:
    """For each stretch, how near every token of its row comes to one of its own."""
    rows, begins, ends = torch.tensor(spans, device=near.device).T
    places = torch.arange(near.shape[1], device=near.device)[None]
    inside = (places >= begins[:, None]) & (places < ends[:, None])
    return near[rows].masked_fill(~inside[:, :, None], -2.0).amax(1)


def _mean(values: Tensor, begins: Tensor, ends: Tensor) -> Tensor:
    """The mean of each row's values from begin to end."""
    places = torch.arange(values.shape[1], device=values.device)[None]
    inside = (places >= begins[:, None]) & (places < ends[:, None])
    return (values * inside).sum(1) / inside.sum(1).clamp(min=1)
