"""The network: the base, what is learned on top of it, and the heads.

`rank` adapters: each matrix of the base stays as it is and gets a product of two thin ones; biases, norms and the two
token types are learned whole. `rank=None` learns everything (to measure what the adapters cost; it is not shipped).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as f

from keepbook.models.minilm.parts import HEADS, LAYERS, MATRICES, WIDTH, BaseWeights
from keepbook.models.reader.values import ACTS, CATEGORIES, LABELS, TIES

OUTPUTS = (len(LABELS), *(len(names) for names in CATEGORIES.values()), len(ACTS))
HIDDEN, PAIR_HIDDEN = 256, 128
ALPHA = 2.0
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


class Adapted(nn.Module):
    """A matrix of the base (in × out) with its adapter."""

    def __init__(self, matrix: Tensor, bias: Tensor, rank: int | None) -> None:
        super().__init__()
        self.bias = nn.Parameter(bias.clone())
        if rank is None:
            self.matrix = nn.Parameter(matrix.clone())
        else:
            self.register_buffer("matrix", matrix, persistent=False)
            self.down = nn.Parameter(torch.randn(matrix.shape[0], rank) / matrix.shape[0] ** 0.5)
            self.up = nn.Parameter(torch.zeros(rank, matrix.shape[1]))

    def forward(self, x: Tensor) -> Tensor:
        out = x @ self.matrix + self.bias
        return out + ALPHA * ((x @ self.down) @ self.up) if hasattr(self, "down") else out


class Layer(nn.Module):
    def __init__(self, base: BaseWeights, layer: int, rank: int | None, drop: float) -> None:
        super().__init__()
        self.matrices = nn.ModuleList(
            Adapted(torch.tensor(base.matrix(f"{layer}.{name}")), vector(base, f"{layer}.{name}.bias"), rank)
            for name in MATRICES
        )
        self.norms = nn.ModuleList(norm(base, f"{layer}.{at}") for at in NORMS)
        self.drop = drop

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value, joined, inner, outer = self.matrices
        shape = (x.shape[0], x.shape[1], HEADS, WIDTH // HEADS)
        heads = [part(x).view(shape).transpose(1, 2) for part in (query, key, value)]
        seen = f.scaled_dot_product_attention(*heads, attn_mask=mask, dropout_p=self.drop if self.training else 0.0)
        seen = joined(seen.transpose(1, 2).reshape(x.shape))
        x = self.norms[0](x + f.dropout(seen, self.drop, self.training))
        return self.norms[1](x + f.dropout(outer(f.gelu(inner(x))), self.drop, self.training))


class Encoder(nn.Module):
    """The base with adapters, without a head."""

    def __init__(self, base: BaseWeights, rank: int | None = 16, drop: float = 0.1) -> None:
        super().__init__()
        tables = (base.table(name) for name in ("word", "position"))
        words, places = (torch.tensor(whole.astype("f4") * scale) for whole, scale in tables)
        if rank is None:
            self.words, self.places = nn.Parameter(words), nn.Parameter(places)
        else:
            self.register_buffer("words", words, persistent=False)
            self.register_buffer("places", places, persistent=False)
        self.types = nn.Parameter(vector(base, "type"))
        self.norm = norm(base, "norm")
        self.layers = nn.ModuleList(Layer(base, layer, rank, drop) for layer in range(LAYERS))
        self.drop = drop

    def encode(self, ids: list[list[int]], types: list[list[int]]) -> Tensor:
        device = self.types.device
        longest = max(map(len, ids))
        rows = torch.tensor([row + [0] * (longest - len(row)) for row in ids], device=device)
        kinds = torch.tensor([row + [0] * (longest - len(row)) for row in types], device=device)
        lengths = torch.tensor([len(row) for row in ids], device=device)
        mask = (torch.arange(longest, device=device)[None] < lengths[:, None])[:, None, None, :]
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            x = f.embedding(rows, self.words) + f.embedding(kinds, self.types) + self.places[:longest]
            x = f.dropout(self.norm(x), self.drop, self.training)
            for layer in self.layers:
                x = layer(x, mask)
        return x.float()


class Net(Encoder):
    """The encoder with the heads of the reader."""

    def __init__(self, base: BaseWeights, rank: int | None = 16, drop: float = 0.1) -> None:
        super().__init__(base, rank, drop)
        self.piece = nn.Linear(3 * WIDTH, HIDDEN)
        self.said = nn.Linear(HIDDEN, sum(OUTPUTS))
        self.cut = nn.Linear(WIDTH, 1)
        self.pair = nn.Linear(3 * WIDTH, PAIR_HIDDEN)
        self.tie = nn.Linear(PAIR_HIDDEN, len(TIES))

    def pieces(self, hidden: Tensor, spans: list[tuple[int, int, int]]) -> list[Tensor]:
        """Label, categories and act of each (row, from, until), as logits."""
        rows = torch.tensor([row for row, _, _ in spans], device=hidden.device)
        v = torch.cat([*pooled(hidden, spans), hidden[rows, 0]], dim=1)
        inside = f.dropout(f.gelu(self.piece(v), approximate="tanh"), self.drop, self.training)
        return list(self.said(inside).split(OUTPUTS, dim=1))

    def ties(self, hidden: Tensor, earlier: list[tuple[int, int, int]], later: list[tuple[int, int, int]]) -> Tensor:
        v = torch.cat([pooled(hidden, earlier)[0], pooled(hidden, later)[0], hidden[:, 0]], dim=1)
        return self.tie(f.dropout(f.gelu(self.pair(v), approximate="tanh"), self.drop, self.training))


def vector(base: BaseWeights, name: str) -> Tensor:
    return torch.tensor(base.vector(name))


def norm(base: BaseWeights, name: str) -> nn.LayerNorm:
    found = nn.LayerNorm(WIDTH, eps=1e-12)
    found.weight.data, found.bias.data = vector(base, f"{name}.weight"), vector(base, f"{name}.bias")
    return found


def pooled(hidden: Tensor, spans: list[tuple[int, int, int]]) -> tuple[Tensor, Tensor]:
    """Mean and maximum of the tokens of each (row, from, until)."""
    device, width = hidden.device, hidden.shape[1]
    counts = torch.tensor([until - begin for _, begin, until in spans], device=device)
    flat = torch.tensor([row * width + at for row, begin, until in spans for at in range(begin, until)], device=device)
    owner = torch.repeat_interleave(torch.arange(len(spans), device=device), counts)
    tokens = hidden.reshape(-1, WIDTH)[flat]
    total = torch.zeros(len(spans), WIDTH, device=device).index_add(0, owner, tokens)
    most = torch.full((len(spans), WIDTH), -1e4, device=device)
    most = most.scatter_reduce(0, owner[:, None].expand(-1, WIDTH), tokens, "amax")
    return total / counts[:, None], most


HEADS_OF_READER = ("piece", "said", "cut", "pair", "tie")


def learned(net: Encoder, base: BaseWeights, heads: tuple[str, ...] = HEADS_OF_READER) -> dict[str, np.ndarray]:
    """What the runtime needs of a network with adapters, in float16, by the names it knows."""
    found = {"type": net.types - vector(base, "type").to(net.types.device)}

    def vectors(module: nn.Module, name: str, kinds: tuple[str, ...]) -> None:
        for kind in kinds:
            value = getattr(module, kind)
            found[f"{name}.{kind}"] = value - vector(base, f"{name}.{kind}").to(value.device)

    vectors(net.norm, "norm", ("weight", "bias"))
    for at, layer in enumerate(net.layers):
        for matrix, name in zip(layer.matrices, MATRICES, strict=True):
            found[f"{at}.{name}.down"], found[f"{at}.{name}.up"] = matrix.down, ALPHA * matrix.up
            vectors(matrix, f"{at}.{name}", ("bias",))
        for one, name in zip(layer.norms, NORMS, strict=True):
            vectors(one, f"{at}.{name}", ("weight", "bias"))
    for name in heads:
        head = getattr(net, name)
        found[f"head.{name}.weight"], found[f"head.{name}.bias"] = head.weight, head.bias
    return {name: value.detach().cpu().numpy().astype("f2") for name, value in found.items()}


def warm(net: Encoder, base: BaseWeights, file: Any, heads: tuple[str, ...] = ()) -> None:
    """Begin with what a reader has learned before instead of with the bare base."""

    def put(value: Tensor, name: str, start: Tensor | None = None, by: float = 1.0) -> None:
        given = torch.tensor(file[name].astype("f4")) / by
        value.data.copy_(given if start is None else start + given)

    put(net.types, "type", vector(base, "type"))
    for kind in ("weight", "bias"):
        put(getattr(net.norm, kind), f"norm.{kind}", vector(base, f"norm.{kind}"))
    for at, layer in enumerate(net.layers):
        for matrix, name in zip(layer.matrices, MATRICES, strict=True):
            put(matrix.down, f"{at}.{name}.down")
            put(matrix.up, f"{at}.{name}.up", by=ALPHA)
            put(matrix.bias, f"{at}.{name}.bias", vector(base, f"{at}.{name}.bias"))
        for one, name in zip(layer.norms, NORMS, strict=True):
            for kind in ("weight", "bias"):
                put(getattr(one, kind), f"{at}.{name}.{kind}", vector(base, f"{at}.{name}.{kind}"))
    for name in heads:
        for kind in ("weight", "bias"):
            put(getattr(getattr(net, name), kind), f"head.{name}.{kind}")
