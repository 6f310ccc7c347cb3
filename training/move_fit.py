"""Training the reader of moves: fixed seeds, a fixed order, and a running mean of the weights as the result."""

import io
import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from keepbook.models.minilm.parts import BaseWeights
from training.move_examples import UNKNOWN, Example
from training.move_net import HEADS, STRETCHES, MoveNet, Pairs, Span
from training.move_views import Views
from training.net import warm


@dataclass(frozen=True)
class Plan:
    """What a training run is made of."""

    rank: int | None = 16
    epochs: int = 12
    warm: bool = True
    """Begin with what the reader of pieces has learned."""
    chat_share: float = 0.2
    """Of the chats, how many are read in an epoch; of the moves all are."""
    batch: int = 48
    rate: float = 1e-3
    head_rate: float = 1.5e-3
    smooth: float = 0.03
    drop: float = 0.1
    label: float = 0.3
    many: float = 1.5
    one: float = 0.5
    choice: float = 0.5
    stretch: float = 0.3
    flag: float = 0.3
    need: float = 0.3
    average: float = 0.995
    decay: float = 0.01
    mixed: int = 40
    """By how many tokens the windows of a batch may differ, about."""
    seed: int = 0


def train(base: BaseWeights, told: Views, chats: Views, plan: Plan, device: str, begin: bytes) -> MoveNet:
    """`begin`: the reader of pieces to begin with."""
    torch.manual_seed(plan.seed)
    chance = random.Random(plan.seed)
    net = MoveNet(base, plan.rank, plan.drop)
    if plan.warm:
        with np.load(io.BytesIO(begin)) as file:
            warm(net, base, file)
    epochs = [epoch_batches(told, chats, epoch, plan, chance) for epoch in range(plan.epochs)]
    return descend(net.to(device), epochs, HEADS, plan, loss_of)


Net = TypeVar("Net", bound=nn.Module)


def descend(
    net: Net, epochs: list[list[list[Any]]], heads: Sequence[str], plan: Plan, loss_of_batch: Callable[..., Tensor]
) -> Net:
    """The running mean of a network that goes through all batches."""
    net.train()
    kept = deepcopy(net)
    steps = sum(map(len, epochs))
    begins = tuple(f"{name}." for name in heads)
    groups: list[dict[str, Any]] = [
        {"params": [p for name, p in net.named_parameters() if not name.startswith(begins)], "lr": plan.rate},
        {"params": [p for name, p in net.named_parameters() if name.startswith(begins)], "lr": plan.head_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=plan.decay)
    pace = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (0.1 * steps + 1)) * max(0.0, (steps - step) / steps)
    )
    for done, batch in enumerate((batch for batches in epochs for batch in batches), 1):
        loss = loss_of_batch(net, batch, plan)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        pace.step()
        _average(kept, net, min(plan.average, (1 + done) / (10 + done)))
    return kept.eval()


def _average(kept: nn.Module, net: nn.Module, weight: float) -> None:
    """Move what is kept towards the network of this step."""
    with torch.no_grad():
        mean = [p for p in kept.parameters() if p.requires_grad]
        torch._foreach_lerp_(mean, [p for p in net.parameters() if p.requires_grad], 1 - weight)


def epoch_batches(
    told: Sequence[Sequence[Sequence[Any]]],
    chats: Sequence[Sequence[Sequence[Any]]],
    epoch: int,
    plan: Plan,
    chance: random.Random,
) -> list[list[Any]]:
    """All batches of an epoch, windows of about one length together, in an order that chance decides."""
    found = [one for some in told for one in some[epoch % len(some)]]
    found += [one for some in chats if chance.random() < plan.chat_share for one in some[epoch % len(some)]]
    order = sorted(range(len(found)), key=lambda at: len(found[at].ids) + chance.random() * plan.mixed)
    batches = [[found[at] for at in order[begin : begin + plan.batch]] for begin in range(0, len(order), plan.batch)]
    chance.shuffle(batches)
    return batches


def loss_of(net: MoveNet, batch: list[Example], plan: Plan) -> Tensor:
    hidden = net.encode([one.ids.tolist() for one in batch], [one.types.tolist() for one in batch])
    device = hidden.device
    spans = [(row, *tokens) for row, one in enumerate(batch) for tokens in one.judged]
    read = net.pieces(hidden, spans)

    def right(name: str) -> Tensor:
        return torch.tensor([one for item in batch for one in getattr(item, name)], device=device)

    loss = act_loss(read.acts, [one for item in batch for one in item.acts], plan.smooth)
    loss = loss + plan.label * _chosen(read.labels, right("labels"))
    loss = loss + 0.5 * plan.flag * _chosen(read.rests, right("rests"))
    loss = loss + plan.need * _chosen(read.needs, right("needs"))
    flags = right("flags")
    wrong = f.binary_cross_entropy_with_logits(read.flags, flags.clamp(min=0).float(), reduction="none")
    known = flags != UNKNOWN
    loss = loss + plan.flag * (wrong * known).sum() / known.sum().clamp(min=1) * 2
    loss = loss + point_loss(net, hidden, read.inside, read.nones, spans, batch, plan)
    for kind in range(len(STRETCHES)):
        loss = loss + plan.stretch * stretch_loss(net, hidden, read.inside, batch, kind)
    return loss


def _chosen(scores: Tensor, right: Tensor) -> Tensor:
    """Cross-entropy where something is known, 0 where nothing is."""
    return f.cross_entropy(scores, right, ignore_index=UNKNOWN, reduction="sum") / (right != UNKNOWN).sum().clamp(min=1)


def act_loss(logits: Tensor, acts: Sequence[Sequence[int]], smooth: float) -> Tensor:
    """Any of the acts that would be right."""
    right = np.full(tuple(logits.shape), -1e4, "f4")
    for row, some in enumerate(acts):
        right[row, list(some)] = 0
    chances = f.log_softmax(logits, dim=1)
    likely = (chances + torch.from_numpy(right).to(logits.device)).logsumexp(1)
    return -((1 - smooth) * likely + smooth * chances.mean(1)).mean()


def offsets(batch: list[Example]) -> list[int]:
    """The number of pieces before each window of a batch."""
    found = [0]
    for one in batch:
        found.append(found[-1] + len(one.judged))
    return found


def point_loss(
    net: MoveNet, hidden: Tensor, inside: Tensor, nones: Tensor, spans: list[Span], batch: list[Example], plan: Plan
) -> Tensor:
    marks, pairs, columns = marked(batch)
    if not len(pairs):
        return hidden.sum() * 0
    device = hidden.device
    given = torch.from_numpy(pairs).to(device)
    seen = torch.from_numpy(np.concatenate([one.signs for one in batch if len(one.pairs)]).astype("f4")).to(device)
    scores = net.points(hidden, inside, Pairs(spans, marks, given[:, :2], seen))
    plain = given[:, 3] != 2
    loss = plan.many * f.binary_cross_entropy_with_logits(scores[plain, 0], given[plain, 2].float())
    where = torch.from_numpy(columns).to(device)
    for way, kind, name in ((1, 0, "ones"), (2, 2, "choices")):
        some = given[:, 3] == kind
        table = torch.full((len(spans), 1 + int(where.max()) + 1), -1e4, device=device)
        table = table.index_put((torch.arange(len(spans), device=device), torch.zeros_like(table[:, 0]).long()),
                                nones[:, way - 1])  # fmt: skip
        table = table.index_put((given[some, 0], 1 + where[some]), scores[some, way])
        right = torch.tensor([one for item in batch for one in getattr(item, name)], device=device)
        loss = loss + (plan.one if way == 1 else plan.choice) * _chosen(table, right)
    return loss


def marked(batch: list[Example]) -> tuple[list[Span], np.ndarray, np.ndarray]:
    """All marks of a batch; the pairs with piece and mark counted in the batch; and each pair's mark in its window."""
    marks: list[Span] = []
    pairs, columns = [np.zeros((0, 4), "i8")], [np.zeros(0, "i8")]
    for row, (one, before) in enumerate(zip(batch, offsets(batch), strict=False)):
        pairs.append(one.pairs.astype("i8") + np.array([before, len(marks), 0, 0]))
        columns.append(one.pairs[:, 1].astype("i8"))
        marks += [(row, *tokens) for tokens in one.marks]
    return marks, np.concatenate(pairs), np.concatenate(columns)


def stretch_loss(net: MoveNet, hidden: Tensor, inside: Tensor, batch: list[Example], kind: int) -> Tensor:
    which, right = [], []
    mask = np.zeros((sum(one.kind == kind for item in batch for one in item.looked), hidden.shape[1]), bool)
    for row, (item, before) in enumerate(zip(batch, offsets(batch), strict=False)):
        for one in item.looked:
            if one.kind == kind:
                mask[len(which), one.tokens] = True
                which.append((row, before + one.piece))
                right.append(one.right)
    if not which:
        return hidden.sum() * 0
    given = torch.tensor(which, device=hidden.device)
    scores = net.stretch(hidden, inside, STRETCHES[kind], given, torch.from_numpy(mask).to(hidden.device))
    places = torch.tensor(right, device=hidden.device)
    return f.cross_entropy(scores[:, 0], places[:, 0]) + f.cross_entropy(scores[:, 1], places[:, 1])
