"""Training the linear reader: the same chats and variations, a sum of weights for each piece, and for each place."""

import json
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from keepbook.models.reader import features
from keepbook.models.reader.linear import OUTPUTS, LinearReader
from keepbook.models.reader.values import LABELS, KeepThresholds, TrainedChoice
from training.chats import Chat, until, varied
from training.examples import SKIP, right_of, turns_of
from training.judge import Guess
from training.net import OUTPUTS as SPLIT

EPOCHS, BATCH, RATE, DECAY, VIEWS = 6, 128, 0.03, 2e-6, 3
CUT_EPOCHS = 4
CUT_BAR = 0.0
PLAIN = TrainedChoice(KeepThresholds(0.8, 0.1, 0.5))


def train(chats: list[Chat], device: str, seed: int = 0) -> bytes:
    """The weights file."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    views = list(chats)
    for _ in range(VIEWS):
        for chat in chats:
            users = [at for at, turn in enumerate(chat.turns) if turn.role == "user"]
            short = until(chat, chance.choice(users) + 1) if chance.random() < 0.3 else chat
            views.append(varied(short, chance))
    rows, right = _pieces(views)
    table, bias = _fit(rows, torch.tensor(right), device, (features.ROWS, OUTPUTS), EPOCHS, _piece_loss)
    places, begins = _places(views[: 2 * len(chats)])
    cuts, cut_bias = _fit(
        places, torch.tensor(begins), device, (features.CUT_ROWS, 1), CUT_EPOCHS, _cut_loss, plain=True
    )
    scale = np.abs(table).max(0) / 127
    cut_scale = float(np.abs(cuts).max() / 127)
    head: dict[str, Any] = {
        "bias": [round(float(one), 5) for one in bias], "scale": [float(f"{one:.6g}") for one in scale],
        "cut_bias": round(float(cut_bias[0]), 5), "cut_scale": float(f"{cut_scale:.6g}"), "cut_bar": CUT_BAR,
    }  # fmt: skip
    whole = np.rint(table / scale).astype("i1"), np.rint(cuts / cut_scale).astype("i1")
    return json.dumps(head).encode() + b"\n" + whole[0].tobytes() + whole[1].tobytes()


def guesses(weights: bytes, chats: list[Chat]) -> list[Guess]:
    reader = LinearReader(weights, PLAIN)
    return [
        Guess(chat.id, one.turn, one.start, one.end, tuple(one.probabilities[name] for name in LABELS))
        for chat in chats
        for one in reader.read(turns_of(chat))
    ]


def beside(weights: bytes, chats: list[Chat], cut: list[Guess]) -> list[Guess]:
    """Another reader's guesses with this one's opinion of the same pieces."""
    reader = LinearReader(weights, PLAIN)
    lie: dict[str, dict[int, list[tuple[int, int]]]] = {}
    for one in cut:
        lie.setdefault(one.chat, {}).setdefault(one.turn, []).append((one.start, one.end))
    said = {}
    for chat in chats:
        places = lie.get(chat.id, {})
        keys = [(chat.id, turn, start) for turn in sorted(places) for start, _ in places[turn]]
        said.update(zip(keys, reader.score_pieces(turns_of(chat), places), strict=True))
    return [replace(one, beside=tuple(said[one.chat, one.turn, one.start])) for one in cut]


def given_cuts(weights: bytes, chats: list[Chat]) -> tuple[Tensor, Tensor]:
    """Scores and what is right, for the writers' own parts."""
    reader = LinearReader(weights, PLAIN)
    rows, right = _pieces(chats)
    return torch.tensor([reader.scores(one) for one in rows]), torch.tensor(right)


def _lie(chat: Chat) -> dict[int, list[tuple[int, int]]]:
    found = {}
    for at, turn in enumerate(chat.turns):
        if turn.role == "user":
            edges = [0]
            for part in turn.parts:
                edges.append(edges[-1] + len(part.text))
            found[at] = list(pairwise(edges))
    return found


def _pieces(chats: list[Chat]) -> tuple[list[list[int]], list[tuple[int, int, int, int]]]:
    rows, right = [], []
    for chat in chats:
        parts = [part for turn in chat.turns if turn.role == "user" for part in turn.parts]
        for part, (_, _, found) in zip(parts, features.of_chat(turns_of(chat), _lie(chat)), strict=True):
            rows.append(found)
            right.append(right_of(part))
    return rows, right


def _places(chats: list[Chat]) -> tuple[list[list[int]], list[int]]:
    rows, begins = [], []
    for chat in chats:
        for at, lie in _lie(chat).items():
            starts = {start for start, _ in lie}
            for start, found in features.places(chat.turns[at].text):
                rows.append(found)
                begins.append(int(start in starts))
    return rows, begins


def _fit(rows: list[list[int]], right: Tensor, device: str, shape: tuple[int, int], epochs: int, loss_of: Any,
         plain: bool = False) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    bag = nn.EmbeddingBag(*shape, mode="sum").to(device)
    nn.init.zeros_(bag.weight)
    bias = nn.Parameter(torch.zeros(shape[1], device=device))
    optimizer = torch.optim.AdamW([bag.weight, bias], lr=RATE, weight_decay=0.0)
    order = list(range(len(rows)))
    chance = random.Random(1)
    steps = epochs * -(-len(rows) // BATCH)
    pace = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (steps - step) / steps)
    for _ in range(epochs):
        chance.shuffle(order)
        for at in range(0, len(order), BATCH):
            batch = order[at : at + BATCH]
            given = [rows[one] for one in batch]
            lengths = torch.tensor([len(one) for one in given])
            flat = torch.tensor([row for one in given for row in one], device=device)
            begins = (lengths.cumsum(0) - lengths).to(device)
            size = 1.0 if plain else lengths.sqrt().to(device)[:, None]
            logits = bag(flat, begins) / size + bias
            loss = loss_of(logits, right[batch].to(device)) + DECAY * bag.weight.square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            pace.step()
    return bag.weight.detach().cpu().numpy(), bias.detach().cpu().numpy()


def _piece_loss(logits: Tensor, right: Tensor) -> Tensor:
    labels, *rest = logits.split(SPLIT, dim=1)
    loss = f.cross_entropy(labels, right[:, 0], label_smoothing=0.05)
    for at, one in enumerate(rest, 1):
        if bool((right[:, at] != SKIP).any()):
            loss = loss + 0.3 * f.cross_entropy(one, right[:, at], ignore_index=SKIP)
    return loss


def _cut_loss(logits: Tensor, begins: Tensor) -> Tensor:
    return f.binary_cross_entropy_with_logits(logits[:, 0], begins.float())
