"""The base as an ONNX graph of our own, as it is and with adapters: `python -m training.graph` writes both.

There is not a single weight in it: it is opened with them (`keepbook.models.minilm.tensors`). One text at a time, so
there is neither a batch nor a mask; the tables stay int8 and only the rows that are needed become floats. Needs onnx.
"""

import hashlib
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from keepbook.models.minilm import inference
from keepbook.models.minilm.parts import HEADS, LAYERS, WIDTH
from keepbook.models.minilm.tensors import ASIDE, LOWEST, MIDDLE, STREAM, rank, shapes

EPSILON = 1e-12
MICROSOFT = "com.microsoft"
KINDS = {"i1": TensorProto.INT8, "u1": TensorProto.UINT8, "f4": TensorProto.FLOAT}


class _Graph:
    def __init__(self, adapted: bool) -> None:
        self.adapted = adapted
        self.nodes: list = []
        self.count = 0

    def __call__(self, kind: str, *given: str, **settings: object) -> str:
        self.count += 1
        out = f"x{self.count}"
        self.nodes.append(helper.make_node(kind, list(given), [out], **settings))
        return out


def graph(adapted: bool) -> bytes:
    """The file: small, and the same each time."""
    add = _Graph(adapted)
    x = _embedded(add)
    for layer in range(LAYERS):
        x = _layer(add, x, layer)
    add.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
    made = helper.make_graph(
        add.nodes,
        "minilm",
        [_value(name, TensorProto.INT64, ["n"]) for name in ("ids", "types")],
        [_value("hidden", TensorProto.FLOAT, ["n", WIDTH])],
        [*_constants(), *_left_open(adapted)],
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(made, opset_imports=versions, ir_version=8, producer_name="keepbook")
    return model.SerializeToString(deterministic=True)


_value = helper.make_tensor_value_info


def _left_open(adapted: bool) -> list:
    """Tensors that whoever opens the graph has to bring."""
    found = []
    for name, (kind, shape) in shapes(adapted).items():
        tensor = TensorProto(name=name, data_type=KINDS[kind], dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="the base")
        found.append(tensor)
    return found


def _constants() -> list:
    head = WIDTH // HEADS
    small = np.ones(WIDTH, "f4")
    small[list(ASIDE)] = 0
    floats = {
        "shrink": head**-0.5, "root": 2**0.5, "half": 0.5, "unit": 1.0,
        "lowest": LOWEST, "all": 255.0, "side": MIDDLE - 1.0, "middle": MIDDLE + 0.5,
    }  # fmt: skip
    return [
        helper.make_tensor("split", TensorProto.INT64, [3], [-1, HEADS, head]),
        helper.make_tensor("joined", TensorProto.INT64, [2], [-1, WIDTH]),
        helper.make_tensor("thirds", TensorProto.INT64, [3], [WIDTH] * 3),
        helper.make_tensor("zero", TensorProto.INT64, [], [0]),
        helper.make_tensor("one", TensorProto.INT64, [], [1]),
        helper.make_tensor("small", TensorProto.FLOAT, [WIDTH], small.tolist()),
        *(helper.make_tensor(name, TensorProto.FLOAT, [], [value]) for name, value in floats.items()),
        helper.make_tensor("low zero", TensorProto.UINT8, [], [0]),
        helper.make_tensor("middle zero", TensorProto.UINT8, [], [MIDDLE]),
    ]


def _embedded(add: _Graph) -> str:
    size = add("Squeeze", add("Shape", "ids"))
    places = add("Range", "zero", size, "one")
    x = add("Add", _rows(add, "word", "ids"), _rows(add, "position", places))
    x = add("Add", x, add("Gather", "type", "types"))
    return _norm(add, x, "norm")


def _rows(add: _Graph, table: str, at: str) -> str:
    whole = add("Cast", add("Gather", f"{table}.q", at), to=TensorProto.FLOAT)
    return add("Mul", whole, add("Gather", f"{table}.scale", at))


def _layer(add: _Graph, x: str, layer: int) -> str:
    heads = [f"{layer}.{name}" for name in ("query", "key", "value")]
    add.nodes.append(helper.make_node("Split", [_times(add, x, layer, "seen"), "thirds"], heads, axis=1))
    query, key, value = (add("Reshape", one, "split") for one in heads)
    query = add("Mul", add("Transpose", query, perm=[1, 0, 2]), "shrink")
    weights = add("Softmax", add("MatMul", query, add("Transpose", key, perm=[1, 2, 0])), axis=-1)
    seen = add("Transpose", add("MatMul", weights, add("Transpose", value, perm=[1, 0, 2])), perm=[1, 0, 2])
    joined = _times(add, add("Reshape", seen, "joined"), layer, "joined")
    x = _norm(add, add("Add", x, joined), f"{layer}.norm1")
    inner = _times(add, x, layer, "inner")
    gelu = add("Mul", add("Mul", inner, add("Add", add("Erf", add("Div", inner, "root")), "unit")), "half")
    return _norm(add, add("Add", x, _times(add, gelu, layer, "outer")), f"{layer}.norm2")


def _times(add: _Graph, x: str, layer: int, product: str) -> str:
    """Rows times a matrix: rounded rows times its whole numbers, and the thin product of floats beside it."""
    name = f"{layer}.{product}"
    rows, scale, zero = _positive(add, x) if product == "outer" else _rounded(add, x, product in STREAM)
    whole = add(
        "MatMulIntegerToFloat", rows, f"{name}.q", "unit", f"{name}.scale", zero, "middle zero", domain=MICROSOFT
    )
    thin = f"{name}.bias"
    if rank(product, add.adapted):
        thin = add("Gemm", add("MatMul", x, f"{name}.down"), f"{name}.up", thin)
    return add("Add", add("Mul", whole, scale), thin)


def _rounded(add: _Graph, x: str, stream: bool) -> tuple[str, str, str]:
    """Rows as bytes around the middle, each by its largest value; what to multiply by afterwards; where zero is."""
    x = add("Mul", x, "small") if stream else x
    largest = add("ReduceMax", add("Abs", x), axes=[1], keepdims=1)
    spread = add("Add", add("Mul", x, add("Div", "side", largest)), "middle")
    return add("Cast", spread, to=TensorProto.UINT8), add("Div", largest, "side"), "middle zero"


def _positive(add: _Graph, x: str) -> tuple[str, str, str]:
    """The same for rows that have a lowest value: none of the byte is left unused."""
    largest = add("Add", add("ReduceMax", x, axes=[1], keepdims=1), "lowest")
    spread = add("Add", add("Mul", add("Add", x, "lowest"), add("Div", "all", largest)), "half")
    return add("Cast", spread, to=TensorProto.UINT8), add("Div", largest, "all"), "low zero"


def _norm(add: _Graph, x: str, name: str) -> str:
    return add("LayerNormalization", x, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=EPSILON)


def main() -> None:
    for adapted, name in inference.GRAPHS.items():
        made = graph(adapted)
        (Path(inference.__file__).parent / name).write_bytes(made)
        print(f'"{name}": "{hashlib.sha256(made).hexdigest()}", has to stand in inference.SHA256')


if __name__ == "__main__":
    main()
