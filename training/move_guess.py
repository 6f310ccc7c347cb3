"""The network's own reading of cases, in batches on whatever device it stands: the windows and heads of the runtime."""

import numpy as np
import torch

from keepbook.models.reader.move_reader.move_encoder import CLOSER
from keepbook.models.reader.move_reader.move_heads import MoveHeads
from keepbook.models.reader.move_reader.move_pairs import PairHeads, PairReader, Pairs
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from keepbook.models.reader.move_reader.move_windows import MoveCoder
from keepbook.models.reader.moves import DEEDS, Move
from training.move_cases import Case
from training.move_net import HEADS, MoveNet
from training.move_pair_fit import PAIR_NET_HEADS, PairNet
from training.net import Encoder

BATCH = 64


def heads_of(net: MoveNet) -> MoveHeads:
    return MoveHeads(_weights(net, HEADS))


def _weights(net: Encoder, heads: tuple[str, ...]) -> dict[str, np.ndarray]:
    found = {}
    for name in heads:
        head = getattr(net, name)
        for kind in ("weight", "bias"):
            value = getattr(head, kind).detach().cpu().numpy()
            found[f"head.{name}.{kind}"] = value.astype("f2").astype("f4")  # as it is shipped
    return found


@torch.no_grad()
def pair_guesses(net: PairNet, given: MoveRequest, moves: list[Move], coder: MoveCoder) -> tuple[Pairs, ...]:
    """What the second reader says of each piece that may be a deed."""

    def encode(ids: list[int], types: list[int]) -> np.ndarray:
        return net.encode([ids], [types])[0].cpu().numpy().astype(np.float32)

    reader = PairReader(encode, PairHeads(_weights(net, PAIR_NET_HEADS)), coder)
    return tuple(
        reader.read(given, which, move) if sum(move.acts[act] for act in DEEDS) >= CLOSER else {}
        for which, move in enumerate(moves)
    )


@torch.no_grad()
def guesses(
    net: MoveNet, cases: list[Case], pieces: list[list[tuple[int, int]]], coder: MoveCoder, alone: bool = False
) -> list[dict[int, Move]]:
    """For every case the moves by piece; `alone`: each piece in a window of its own."""
    heads = heads_of(net)
    found: list[dict[int, Move]] = [{} for _ in cases]
    work = []
    for at, case in enumerate(cases):
        given = (case.turns, case.at, pieces[at], case.lines)
        every = range(len(pieces[at]))
        work += [(at, window) for window in (coder.alone(*given, every) if alone else coder.windows(*given))]
    work.sort(key=lambda one: len(one[1].ids))
    for begin in range(0, len(work), BATCH):
        batch = work[begin : begin + BATCH]
        hidden = net.encode([one.ids for _, one in batch], [one.types for _, one in batch]).cpu().numpy()
        for row, (at, window) in enumerate(batch):
            case = cases[at]
            asked = MoveRequest(case.turns, case.at, pieces[at], case.lines)
            found[at] |= dict(heads.read(asked, window, hidden[row, : len(window.ids)].astype(np.float32)))
    return found
