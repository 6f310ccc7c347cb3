"""Training the second reading of deeds (`move_reader.move_pairs`): a clause and one line in a window."""

import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from keepbook.models.minilm.parts import WIDTH, BaseWeights
from keepbook.models.reader.move_reader.move_pairs import (
    NO_SIGNS,
    PAIR_FLAGS,
    PAIR_OUTPUTS,
    PAIR_TIES,
    line_named,
    pair_signs,
    pair_window,
)
from keepbook.models.reader.move_reader.move_signs import SIGNS, MoveRequest
from keepbook.models.reader.move_reader.move_windows import MoveCoder
from keepbook.models.reader.moves import MOVES
from training.move_cases import Case
from training.move_fit import Plan, act_loss, descend, epoch_batches
from training.net import Encoder, pooled, warm

HIDDEN = 128
PAIR_NET_HEADS = ("inside", "told")
UNKNOWN = -1
NOTHING, MEANT, LIKE, OTHER = 0.35, 3, 2, 1
"""How often an idle clause is read without a line; lines of an acting clause: meant, alike in words, any other."""


class PairExample(NamedTuple):
    """A window and what is right. `ties` are the answers that would be right, none where nothing is known."""

    ids: Any
    types: Any
    clause: tuple[int, int]
    line: tuple[int, int] | None
    signs: Any
    ties: tuple[int, ...]
    acts: tuple[int, ...]
    flags: tuple[int, ...]


@dataclass(frozen=True)
class PairPlan(Plan):
    epochs: int = 8
    batch: int = 96
    mixed: int = 20
    act: float = 0.5


class PairNet(Encoder):
    def __init__(self, base: BaseWeights, rank: int | None = 16, drop: float = 0.1) -> None:
        super().__init__(base, rank, drop)
        self.inside = nn.Linear(5 * WIDTH + SIGNS, HIDDEN)
        self.told = nn.Linear(HIDDEN, sum(PAIR_OUTPUTS))

    def read(self, batch: Sequence[PairExample]) -> tuple[Tensor, ...]:
        hidden = self.encode([one.ids.tolist() for one in batch], [one.types.tolist() for one in batch])
        clause = torch.cat(pooled(hidden, [(row, *one.clause) for row, one in enumerate(batch)]), dim=1)
        line = torch.cat(pooled(hidden, [(row, *(one.line or (0, 1))) for row, one in enumerate(batch)]), dim=1)
        there = torch.tensor([one.line is not None for one in batch], device=hidden.device)
        signs = torch.from_numpy(np.stack([one.signs for one in batch]).astype("f4")).to(hidden.device)
        seen = torch.cat([clause, hidden[:, 0], line * there[:, None], signs], dim=1)
        inside = f.dropout(f.gelu(self.inside(seen), approximate="tanh"), self.drop, self.training)
        return self.told(inside).split(PAIR_OUTPUTS, dim=1)  # type: ignore[no-any-return]


# Examples


def pair_examples(case: Case, coder: MoveCoder, chance: random.Random) -> list[PairExample]:
    """Windows of a case: of clauses that act, more than of others."""
    asked = MoveRequest(case.turns, case.at, case.pieces, case.lines)
    found = []
    for which in range(len(case.clauses)):
        signs = pair_signs(asked, which)
        for name in _drawn_names(case, which, signs, chance):
            line = None if name is None else line_named(asked, name)
            window = pair_window(coder, asked, which, line)
            if window is None or (line is not None and window.lines[0][1] <= window.lines[0][0]):
                continue
            tokens = window.pieces[window.judged[0]][1]
            beside = NO_SIGNS if name is None else signs[name]
            found.append(PairExample(
                np.array(window.ids, "i4"), np.array(window.types, "i1"), tokens, window.lines[0] if line else None,
                np.array(beside, "f2"), *_right(case, which, name),
            ))  # fmt: skip
    return found


def _drawn_names(case: Case, which: int, signs: dict[str, list[float]], chance: random.Random) -> list[str | None]:
    clause, points = case.clauses[which], case.points[which]
    acting = clause.acts[0] not in ("say", "talk") or bool(points)
    found: list[str | None] = [None] if chance.random() < (0.7 if acting else NOTHING) else []
    if points is None:
        return found
    own = f"{case.at}:{case.pieces[which][0]}"
    aside = {line.id for line in case.lines if line.kind in ("question", "choice")} | {own}
    meant = [name for name in sorted(points) if name in signs and name not in aside]
    others = [name for name in signs if name not in points and name not in aside]
    others.sort(key=lambda name: -signs[name][6] - 0.2 * chance.random())
    if not acting:
        return found + (others[:1] if chance.random() < 0.6 else [])
    chance.shuffle(meant)
    rest = others[LIKE:]
    return [*found, *meant[:MEANT], *others[:LIKE], *chance.sample(rest, min(OTHER, len(rest)))]


def _right(case: Case, which: int, name: str | None) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    clause, points = case.clauses[which], case.points[which]
    acts = tuple(MOVES.index(act) for act in clause.acts)
    flags = tuple(UNKNOWN if (one := getattr(clause, flag)) is None else int(one) for flag in PAIR_FLAGS)
    if name is None or points is None:
        return (), acts, flags
    if name not in points:
        return (PAIR_TIES.index("none"),), acts, flags
    return tuple(PAIR_TIES.index(act) for act in clause.acts if act in PAIR_TIES), acts, flags


# Training

Windows = Sequence[Sequence[Sequence[PairExample]]]
"""By dialogue and variation."""


def train(base: BaseWeights, told: Windows, chats: Windows, plan: PairPlan, device: str, begin: bytes) -> PairNet:
    """`begin`: the reader of pieces to begin with."""
    torch.manual_seed(plan.seed)
    chance = random.Random(plan.seed)
    net = PairNet(base, plan.rank, plan.drop)
    with np.load(io.BytesIO(begin)) as file:
        warm(net, base, file)
    epochs = [epoch_batches(told, chats, epoch, plan, chance) for epoch in range(plan.epochs)]
    return descend(net.to(device), epochs, PAIR_NET_HEADS, plan, pair_loss)


def pair_loss(net: PairNet, batch: list[PairExample], plan: PairPlan) -> Tensor:
    ties, acts, flags = net.read(batch)
    loss = plan.act * act_loss(acts, [one.acts for one in batch], plan.smooth)
    known = [row for row, one in enumerate(batch) if one.ties]
    if known:
        loss = loss + act_loss(ties[known], [batch[row].ties for row in known], plan.smooth)
    right = torch.tensor([one.flags for one in batch], device=flags.device)
    there = right != UNKNOWN
    wrong = f.binary_cross_entropy_with_logits(flags, right.clamp(min=0).float(), reduction="none")
    return loss + plan.flag * (wrong * there).sum() / there.sum().clamp(min=1)
