"""Training the linear reader of moves: the same cases, a sum of weights for each piece."""

import json
import random

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from keepbook.models.reader.move_reader.move_linear import OUTPUTS, ROWS, piece_rows
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from keepbook.models.reader.moves import MOVES
from training.move_cases import cases, drawn
from training.move_fit import act_loss
from training.moves import Dialogue

EPOCHS, BATCH, RATE, DECAY, VIEWS = 6, 128, 0.03, 2e-6, 2
UNKNOWN = -1


def train(dialogues: list[Dialogue], seed: int = 0) -> bytes:
    """The weights file."""
    torch.manual_seed(seed)
    rows, acts, ahead = _pieces(dialogues, random.Random(seed))
    table, bias = _fit(rows, acts, torch.tensor(ahead))
    scale = np.maximum(np.abs(table).max(0), 1e-6) / 127
    whole = np.clip(np.round(table / scale), -127, 127).astype("i1")
    head = {"bias": [round(float(one), 5) for one in bias], "scale": [float(f"{one:.5g}") for one in scale]}
    return json.dumps(head).encode() + b"\n" + whole.tobytes()


def _pieces(dialogues: list[Dialogue], chance: random.Random) -> tuple[list[list[int]], list[list[int]], list[int]]:
    rows, acts, ahead = [], [], []
    for one in dialogues:
        if not one.told and chance.random() < 0.5:
            continue
        views = [*cases(one)]
        for _ in range(VIEWS if one.told else 0):
            views += drawn(one, (), chance)
        for case in views:
            asked = MoveRequest(case.turns, case.at, case.pieces, case.lines)
            for which, clause in enumerate(case.clauses):
                rows.append(piece_rows(asked, which))
                acts.append([MOVES.index(act) for act in clause.acts])
                ahead.append(UNKNOWN if clause.ahead is None else int(clause.ahead))
    return rows, acts, ahead


def _fit(rows: list[list[int]], acts: list[list[int]], ahead: Tensor) -> tuple[np.ndarray, np.ndarray]:
    bag = nn.EmbeddingBag(ROWS, OUTPUTS, mode="sum")
    nn.init.zeros_(bag.weight)
    bias = nn.Parameter(torch.zeros(OUTPUTS))
    optimizer = torch.optim.AdamW([bag.weight, bias], lr=RATE, weight_decay=0.0)
    order, chance = list(range(len(rows))), random.Random(1)
    steps = EPOCHS * -(-len(rows) // BATCH)
    pace = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (steps - step) / steps)
    for _ in range(EPOCHS):
        chance.shuffle(order)
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            lengths = torch.tensor([len(rows[one]) for one in batch])
            flat = torch.tensor([row for one in batch for row in rows[one]])
            logits = bag(flat, lengths.cumsum(0) - lengths) / lengths.sqrt()[:, None] + bias
            loss = act_loss(logits[:, :-1], [acts[one] for one in batch], 0.03)
            known = ahead[batch] != UNKNOWN
            if bool(known.any()):
                loss = loss + 0.3 * f.binary_cross_entropy_with_logits(logits[known, -1], ahead[batch][known].float())
            loss = loss + DECAY * bag.weight.square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            pace.step()
    return bag.weight.detach().numpy(), bias.detach().numpy()
