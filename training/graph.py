"""The encoder as an ONNX graph of our own, without a single weight in it.

Every matrix is an input, as the words are: the runtime merges them from the base and the adapters when it opens the
file. One window at a time, so there is neither a batch nor a mask; the tables stay int8 and only the rows that are
needed become floats, and the matrices stay float16 until they are used.
"""

from onnx import TensorProto, helper

from keepbook.models.reader.merge import shapes
from keepbook.models.reader.minilm import HEADS, LAYERS, WIDTH

EPSILON = 1e-12


class _Graph:
    def __init__(self) -> None:
        self.nodes: list = []
        self.count = 0

    def __call__(self, kind: str, *given: str, **settings: object) -> str:
        self.count += 1
        out = f"x{self.count}"
        self.nodes.append(helper.make_node(kind, list(given), [out], **settings))
        return out


def graph() -> bytes:
    """The file: small, and the same each time."""
    add = _Graph()
    x = _embedded(add)
    for layer in range(LAYERS):
        x = _layer(add, x, layer)
    add.nodes.append(helper.make_node("Identity", [x], ["hidden"]))
    ints, floats = TensorProto.INT64, TensorProto.FLOAT
    made = helper.make_graph(
        add.nodes,
        "reader",
        [*(helper.make_tensor_value_info(name, ints, ["n"]) for name in ("ids", "types")), *_supplied()],
        [helper.make_tensor_value_info("hidden", floats, ["n", WIDTH])],
        _constants(),
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="keepbook")
    return model.SerializeToString(deterministic=True)


def _supplied() -> list:
    kinds = {"i1": TensorProto.INT8, "f2": TensorProto.FLOAT16, "f4": TensorProto.FLOAT}
    return [helper.make_tensor_value_info(name, kinds[kind], shape) for name, (kind, shape) in shapes().items()]


def _constants() -> list:
    head = WIDTH // HEADS
    return [
        helper.make_tensor("split", TensorProto.INT64, [3], [-1, HEADS, head]),
        helper.make_tensor("joined", TensorProto.INT64, [2], [-1, WIDTH]),
        helper.make_tensor("thirds", TensorProto.INT64, [3], [WIDTH] * 3),
        helper.make_tensor("zero", TensorProto.INT64, [], [0]),
        helper.make_tensor("one", TensorProto.INT64, [], [1]),
        helper.make_tensor("shrink", TensorProto.FLOAT, [], [head**-0.5]),
        helper.make_tensor("root", TensorProto.FLOAT, [], [2**0.5]),
        helper.make_tensor("half", TensorProto.FLOAT, [], [0.5]),
        helper.make_tensor("unit", TensorProto.FLOAT, [], [1.0]),
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
    parts = [f"{layer}.{name}" for name in ("seen", "joined", "inner", "outer")]
    heads = [f"{layer}.{name}" for name in ("query", "key", "value")]
    add.nodes.append(helper.make_node("Split", [_times(add, x, parts[0]), "thirds"], heads, axis=1))
    query, key, value = (add("Reshape", one, "split") for one in heads)
    query = add("Mul", add("Transpose", query, perm=[1, 0, 2]), "shrink")
    weights = add("Softmax", add("MatMul", query, add("Transpose", key, perm=[1, 2, 0])), axis=-1)
    seen = add("Transpose", add("MatMul", weights, add("Transpose", value, perm=[1, 0, 2])), perm=[1, 0, 2])
    x = _norm(add, add("Add", x, _times(add, add("Reshape", seen, "joined"), parts[1])), f"{layer}.norm1")
    inner = _times(add, x, parts[2])
    gelu = add("Mul", add("Mul", inner, add("Add", add("Erf", add("Div", inner, "root")), "unit")), "half")
    return _norm(add, add("Add", x, _times(add, gelu, parts[3])), f"{layer}.norm2")


def _times(add: _Graph, x: str, name: str) -> str:
    return add("Gemm", x, add("Cast", name, to=TensorProto.FLOAT), f"{name}.bias")


def _norm(add: _Graph, x: str, name: str) -> str:
    return add("LayerNormalization", x, f"{name}.weight", f"{name}.bias", axis=-1, epsilon=EPSILON)
