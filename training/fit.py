"""Training the encoder: fixed seeds, a fixed order, and a running mean of the weights as the result."""

import io
import random
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as f

from keepbook.models.minilm.parts import BaseWeights
from keepbook.models.reader import model_files
from keepbook.models.reader.values import TIES
from keepbook.models.reader.windows import Coder
from training.chats import Chat
from training.examples import EITHER, SKIP, Example, Tied, drawn, tied
from training.net import HEADS_OF_READER, Net, warm

CUT_WEIGHT, CATEGORY_WEIGHT, PAIR_WEIGHT = 0.5, 0.3, 0.5


@dataclass(frozen=True)
class Plan:
    """What a training run is made of."""

    rank: int | None = 16
    epochs: int = 10
    views: int = 1
    """Variations of every chat in an epoch."""
    batch: int = 32
    rate: float = 8e-4
    head_rate: float = 7.5e-4
    smooth: float = 0.05
    drop: float = 0.1
    twice: float = 0.0
    """Weight of the agreement between two readings with different dropout."""
    rough: float = 0.0
    """The share of chats that are cut roughly, as a reader cuts, instead of as their writer did."""
    pairs: bool = True
    average: float = 0.99
    decay: float = 0.01
    warm: bool = False
    """Begin with what is shipped."""
    seed: int = 0


def train(base: BaseWeights, chats: list[Chat], coder: Coder, plan: Plan, device: str) -> Net:
    torch.manual_seed(plan.seed)
    chance = random.Random(plan.seed)
    net = Net(base, plan.rank, plan.drop)
    if plan.warm:
        with np.load(io.BytesIO(model_files.read_pinned("encoder.npz"))) as file:
            warm(net, base, file, HEADS_OF_READER)
    net = net.to(device).train()
    kept = deepcopy(net)
    epochs = [_epoch(chats, coder, plan, chance) for _ in range(plan.epochs)]
    steps = sum(map(len, epochs))
    heads = ("piece.", "said.", "cut.", "pair.", "tie.")
    groups: list[dict[str, Any]] = [
        {"params": [p for name, p in net.named_parameters() if not name.startswith(heads)], "lr": plan.rate},
        {"params": [p for name, p in net.named_parameters() if name.startswith(heads)], "lr": plan.head_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=plan.decay)
    pace = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, step / (0.1 * steps + 1)) * max(0.0, (steps - step) / max(1, steps))
    )
    done = 0
    for batches in epochs:
        for batch in batches:
            loss = _pair_loss(net, batch) if isinstance(batch[0], Tied) else _piece_loss(net, batch, plan)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            pace.step()
            done += 1
            _average(kept, net, min(plan.average, (1 + done) / (10 + done)))
    return kept.eval()


def _average(kept: Net, net: Net, weight: float) -> None:
    with torch.no_grad():
        held = [p for p in kept.parameters() if p.requires_grad]
        torch._foreach_lerp_(held, [p for p in net.parameters() if p.requires_grad], 1 - weight)


def _epoch(chats: list[Chat], coder: Coder, plan: Plan, chance: random.Random) -> list[list[Any]]:
    """All batches of an epoch, windows of about one length together, in an order that chance decides."""
    windows = [one for _ in range(plan.views) for one in drawn(chats, coder, chance, plan.rough) if one.spans]
    batches = _batches(windows, [len(one.window.ids) for one in windows], plan.batch, chance)
    if plan.pairs:
        pairs = tied(chats, coder, chance)
        batches += _batches(pairs, [len(one.pair.ids) for one in pairs], 2 * plan.batch, chance)
    chance.shuffle(batches)
    return batches


def _batches(given: list[Any], lengths: list[int], size: int, chance: random.Random) -> list[list[Any]]:
    order = sorted(range(len(given)), key=lambda at: lengths[at] + chance.random() * 40)
    return [[given[at] for at in order[begin : begin + size]] for begin in range(0, len(order), size)]


def _piece_loss(net: Net, batch: list[Example], plan: Plan) -> Tensor:
    """With `twice`, every window stands in the batch twice, so that one pass gives both readings."""
    batch = [*batch, *batch] if plan.twice else batch
    ids, types = [one.window.ids for one in batch], [one.window.types for one in batch]
    spans = [(row, *span) for row, one in enumerate(batch) for span in one.spans]
    given = [one for item in batch for one in item.right]
    right = torch.tensor(given, device=net.types.device)
    begins = torch.tensor([(row, *one) for row, item in enumerate(batch) for one in item.begins], device=right.device)
    hidden = net.encode(ids, types)
    labels, *rest = net.pieces(hidden, spans)
    loss = f.cross_entropy(labels, right[:, 0], label_smoothing=plan.smooth)
    for at, logits in enumerate(rest, 1):
        if any(one[at] != SKIP for one in given):
            loss = loss + CATEGORY_WEIGHT * f.cross_entropy(logits, right[:, at], ignore_index=SKIP)
    cuts = net.cut(hidden[begins[:, 0], begins[:, 1]])[:, 0]
    weight = torch.tensor(2.0, device=right.device)
    loss = loss + CUT_WEIGHT * f.binary_cross_entropy_with_logits(cuts, begins[:, 2].float(), pos_weight=weight)
    if not plan.twice:
        return loss
    first, second = f.log_softmax(labels, dim=1).chunk(2)
    apart = f.kl_div(first, second, log_target=True, reduction="batchmean")
    apart = apart + f.kl_div(second, first, log_target=True, reduction="batchmean")
    return loss + plan.twice * apart / 2


def _pair_loss(net: Net, batch: list[Tied]) -> Tensor:
    logits = f.log_softmax(tie_logits(net, batch), dim=1)
    ties = torch.tensor([one.tie for one in batch], device=logits.device)
    certain = logits.gather(1, ties.clamp(min=0)[:, None])[:, 0]
    either = logits[:, [TIES.index("repeats"), TIES.index("corrects")]].logsumexp(1)
    return -PAIR_WEIGHT * torch.where(ties == EITHER, either, certain).mean()


def tie_logits(net: Net, batch: list[Tied]) -> Tensor:
    hidden = net.encode([one.pair.ids for one in batch], [one.pair.types for one in batch])
    earlier = [(row, *one.pair.earlier) for row, one in enumerate(batch)]
    later = [(row, *one.pair.later) for row, one in enumerate(batch)]
    return net.ties(hidden, earlier, later)
