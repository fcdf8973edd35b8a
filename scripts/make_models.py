#!/usr/bin/env python3
"""Writes the models that tests need and no package brings to .cache/models/generated, the same bytes every time.

Run it as it is: it gets its Python packages by itself, and does nothing while this file is as at its last run.
To add a model, write a function that returns it (see the last part) and enter it in MODELS, or in BROKEN if it is meant
to be refused.
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ beside the scripts
from fetch import MODELS as CACHED_MODELS, fetch_python, is_current, outdated, replace_folder  # noqa: E402
from fetch import scratch, stamp  # noqa: E402

GENERATED = CACHED_MODELS / "generated"
SOURCE = Path(__file__).read_text(encoding="utf-8")

if is_current(GENERATED / ".stamp", [SOURCE]):
    sys.exit()  # before the imports below, which take longer than all the rest

sys.path.insert(0, str(fetch_python()))
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto as T, helper, numpy_helper  # noqa: E402

NUMPY_TYPES = {T.FLOAT: np.float32, T.FLOAT16: np.float16}
value = helper.make_tensor_value_info


class Graph:
    """A graph under construction: every method adds something and returns its name. Weights are random but seeded."""

    def __init__(self, seed=0, dtype=T.FLOAT):
        self.nodes, self.initializers = [], []
        self.dtype, self.random = dtype, np.random.default_rng(seed)

    def weight(self, name, shape, scale, mean=0.0):
        return self.constant(name, (self.random.standard_normal(shape) * scale + mean).astype(NUMPY_TYPES[self.dtype]))

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def integer(self, name, number):
        return self.constant(name, np.array(number, np.int64))

    def number(self, name, number):
        return self.constant(name, np.array(number, NUMPY_TYPES[self.dtype]))

    def op(self, kind, *inputs, out=None, domain="", **attributes):
        """A node; `out` names its output, or its outputs when it is a list."""
        label = f"{kind}_{len(self.nodes) + 1}"
        out = out or label.lower()
        outputs = [out] if isinstance(out, str) else out
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f"/{label}", domain=domain, **attributes))
        return out

    def model(self, name, inputs, outputs, opset=17, ir=8, domains=None, metadata=None):
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)
        opsets = [helper.make_opsetid(*entry) for entry in {"": opset, **(domains or {})}.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir, producer_name="make_models.py",
                                  producer_version="1")
        helper.set_model_props(model, metadata or {})
        return model


# --- networks -------------------------------------------------------------------------------------------------------

def resnet(dtype=T.FLOAT, batch="batch", size=224, widths=(64, 128, 256, 512), depth=2, classes=1000,
           input_name="input.1", output_name="191", seed=1):
    """A residual network as the PyTorch exporter writes it, before batch norms are folded."""
    g, layers = Graph(seed, dtype), 0

    def conv(x, c_in, c_out, kernel, stride):
        nonlocal layers
        layers += 1
        name, half = f"layer.{layers}", kernel // 2
        weight = g.weight(f"{name}.weight", (c_out, c_in, kernel, kernel), (2 / (c_in * kernel * kernel)) ** 0.5)
        y = g.op("Conv", x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[half] * 4)
        return g.op("BatchNormalization", y, g.weight(f"{name}.bn.weight", (c_out,), 0.05, 1.0),
                    g.weight(f"{name}.bn.bias", (c_out,), 0.05), g.weight(f"{name}.bn.mean", (c_out,), 0.05),
                    g.constant(f"{name}.bn.var", np.ones(c_out, NUMPY_TYPES[dtype])), epsilon=1e-5)

    def block(x, c_in, c_out, stride):
        y = conv(g.op("Relu", conv(x, c_in, c_out, 3, stride)), c_out, c_out, 3, 1)
        shortcut = x if (c_in, stride) == (c_out, 1) else conv(x, c_in, c_out, 1, stride)
        return g.op("Relu", g.op("Add", y, shortcut))

    x = g.op("Relu", conv(input_name, 3, widths[0], 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = widths[0]
    for stage, width in enumerate(widths):
        for index in range(depth):
            x = block(x, channels, width, 2 if stage > 0 and index == 0 else 1)
            channels = width
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    g.op("Gemm", x, g.weight("fc.weight", (classes, channels), (1 / channels) ** 0.5),
         g.weight("fc.bias", (classes,), 0.01), transB=1, out=output_name)
    return g.model("resnet", [value(input_name, dtype, [batch, 3, size, size])],
                   [value(output_name, dtype, [batch, classes])],
                   metadata={"author": "make_models.py", "task": "image-classification"})


def bert(layers=6, hidden=384, heads=12, inner=1536, vocabulary=30522, positions=512):
    """A transformer encoder of MiniLM's size: int64 ids and mask, dynamic batch and length."""
    g = Graph(seed=2)
    embed_words = g.weight("embeddings.word", (vocabulary, hidden), 0.05)
    g.integer("head_split", [0, 0, heads, hidden // heads])
    g.integer("head_join", [0, 0, hidden])
    g.integer("axes_12", [1, 2])
    g.integer("axes_0", [0])
    for name, number in ("int_0", 0), ("int_1", 1):
        g.integer(name, number)
    for name, number in ("one", 1), ("half", 0.5), ("sqrt2", 2**0.5), ("off", -1e4):
        g.number(name, number)
    g.number("scale", (hidden // heads) ** -0.5)

    def linear(x, name, c_in, c_out):
        y = g.op("MatMul", x, g.weight(f"{name}.weight", (c_in, c_out), 0.04 * (384 / c_in) ** 0.5))
        return g.op("Add", y, g.weight(f"{name}.bias", (c_out,), 0.02))

    def norm(x, name):
        return g.op("LayerNormalization", x, g.weight(f"{name}.weight", (hidden,), 0.02, 1.0),
                    g.weight(f"{name}.bias", (hidden,), 0.02), axis=-1, epsilon=1e-12)

    def split(x, name, perm):
        return g.op("Transpose", g.op("Reshape", linear(x, name, hidden, hidden), "head_split"), perm=perm)

    def attention(x, name):
        queries, keys = split(x, name + "q", [0, 2, 1, 3]), split(x, name + "k", [0, 2, 3, 1])
        values = split(x, name + "v", [0, 2, 1, 3])
        scores = g.op("Add", g.op("Mul", g.op("MatMul", queries, keys), "scale"), mask)
        context = g.op("MatMul", g.op("Softmax", scores, axis=-1), values)
        context = g.op("Reshape", g.op("Transpose", context, perm=[0, 2, 1, 3]), "head_join")
        return linear(context, name + "o", hidden, hidden)

    def gelu(x):
        return g.op("Mul", g.op("Mul", x, g.op("Add", g.op("Erf", g.op("Div", x, "sqrt2")), "one")), "half")

    words = g.op("Gather", embed_words, "input_ids")
    length = g.op("Gather", g.op("Shape", "input_ids"), "int_1", axis=0)
    places = g.op("Unsqueeze", g.op("Range", "int_0", length, "int_1"), "axes_0")
    places = g.op("Gather", g.weight("embeddings.pos", (positions, hidden), 0.05), places)
    x = norm(g.op("Add", words, places), "embeddings.ln")
    mask = g.op("Cast", g.op("Unsqueeze", "attention_mask", "axes_12"), to=T.FLOAT)
    mask = g.op("Mul", g.op("Sub", "one", mask), "off")
    for layer in range(layers):
        name = f"encoder.layer.{layer}."
        x = norm(g.op("Add", attention(x, name), x), name + "ln1")
        y = linear(gelu(linear(x, name + "ffn1", hidden, inner)), name + "ffn2", inner, hidden)
        x = norm(g.op("Add", y, x), name + "ln2")
    g.op("Identity", x, out="last_hidden_state")
    return g.model("bert", [value(name, T.INT64, ["batch", "sequence"]) for name in ("input_ids", "attention_mask")],
                   [value("last_hidden_state", T.FLOAT, ["batch", "sequence", hidden])])


def mlp(sizes=(16, 32, 4), seed=3):
    """Fully connected layers, `x` to a softmax `y`."""
    g, x, last = Graph(seed), "x", len(sizes) - 2
    for index, (c_in, c_out) in enumerate(zip(sizes, sizes[1:])):
        y = g.op("Gemm", x, g.weight(f"fc{index}.weight", (c_out, c_in), (2 / c_in) ** 0.5),
                 g.weight(f"fc{index}.bias", (c_out,), 0.01), transB=1)
        x = g.op("Softmax", y, axis=-1, out="y") if index == last else g.op("Relu", y)
    return g.model("mlp", [value("x", T.FLOAT, ["batch", sizes[0]])], [value("y", T.FLOAT, ["batch", sizes[-1]])])


def add_tiny():
    """One addition of four numbers, for measuring what a call costs."""
    g = Graph(seed=10)
    g.op("Add", "x", g.weight("w", (1, 4), 1.0), out="y")
    return g.model("add", [value("x", T.FLOAT, [1, 4])], [value("y", T.FLOAT, [1, 4])])


def zeros(rows, columns):
    """A matrix of zeros for tests of size: `x` plus as many values as it has, all of them 0."""
    g = Graph()
    products = g.op("MatMul", "x", g.constant("w", np.zeros((rows, columns), np.float32)))
    g.op("Add", g.op("ReduceMax", products, axes=[1], keepdims=1), "x", out="y")
    return g.model("zeros", [value("x", T.FLOAT, ["batch", rows])], [value("y", T.FLOAT, ["batch", rows])])


# --- control flow, types and names ----------------------------------------------------------------------------------

def control_flow():
    """flag ? x * 2 : x - 1, added to itself n times; `trace` has the sum after each step."""
    def branch(kind, number):
        g = Graph()
        g.op("Constant", value=numpy_helper.from_array(np.float32(number)), out=f"number_{kind}")
        result = g.op(kind, "x", f"number_{kind}", out=f"result_{kind}")
        return helper.make_graph(g.nodes, f"branch_{kind}", [], [value(result, T.FLOAT, ["batch", 8])])

    g, body = Graph(), Graph()
    start = g.op("If", "flag", then_branch=branch("Mul", 2), else_branch=branch("Sub", 1))
    body.op("Identity", "cond_in", out="cond_out")
    body.op("Add", "acc_in", start, out="acc_out")
    body.op("ReduceSum", "acc_out", keepdims=0, out="sum")
    g.op("Loop", "n", "", start, out=["acc", "trace"], body=helper.make_graph(
        body.nodes, "body",
        [value("step", T.INT64, []), value("cond_in", T.BOOL, []), value("acc_in", T.FLOAT, None)],
        [value("cond_out", T.BOOL, []), value("acc_out", T.FLOAT, None), value("sum", T.FLOAT, [])]))
    return g.model("control", [value("x", T.FLOAT, ["batch", 8]), value("n", T.INT64, []), value("flag", T.BOOL, [])],
                   [value("acc", T.FLOAT, ["batch", 8]), value("trace", T.FLOAT, ["n"])])


def slow(size=256):
    """n matrix products, one after the other, for tests that abort: 0.1 to 0.2 ms each. `y` is 1."""
    g, body = Graph(), Graph()
    g.constant("average", np.full((size, size), 1 / size, np.float32))
    g.constant("ones", np.ones((size, size), np.float32))
    body.op("Identity", "cond_in", out="cond_out")
    body.op("MatMul", "acc_in", "average", out="acc_out")
    g.op("Loop", "n", "", "ones", out="acc", body=helper.make_graph(
        body.nodes, "body",
        [value("step", T.INT64, []), value("cond_in", T.BOOL, []), value("acc_in", T.FLOAT, [size, size])],
        [value("cond_out", T.BOOL, []), value("acc_out", T.FLOAT, [size, size])]))
    g.op("ReduceMean", "acc", keepdims=0, out="y")
    return g.model("slow", [value("n", T.INT64, [])], [value("y", T.FLOAT, [])])


def strings():
    """Strings to numbers, and strings to the same strings."""
    g = Graph()
    g.op("LabelEncoder", "text", out="label", domain="ai.onnx.ml", keys_strings=["cat", "dog", "bird", "naïve"],
         values_int64s=[0, 1, 2, 3], default_int64=-1)
    g.op("Identity", "text", out="echo")
    return g.model("strings", [value("text", T.STRING, ["batch"])],
                   [value("label", T.INT64, ["batch"]), value("echo", T.STRING, ["batch"])], domains={"ai.onnx.ml": 2})


def string_norm():
    """Drops stop words; needs no locale."""
    g = Graph()
    g.op("StringNormalizer", "text", out="kept", case_change_action="NONE", is_case_sensitive=1, stopwords=["the", "a"])
    return g.model("string_norm", [value("text", T.STRING, ["n"])], [value("kept", T.STRING, ["m"])])


def sequence():
    """A tensor to the sequence of its rows, and their number."""
    g = Graph()
    g.op("SplitToSequence", "x", g.integer("one", 1), axis=0, keepdims=1, out="chunks")
    g.op("SequenceLength", "chunks", out="count")
    chunks = helper.make_sequence_type_proto(helper.make_tensor_type_proto(T.FLOAT, None))
    return g.model("sequence", [value("x", T.FLOAT, ["batch", 4])],
                   [helper.make_value_info("chunks", chunks), value("count", T.INT64, [])])


def zipmap(labels=("setosa", "versicolor", "virginica"), key=T.STRING):
    """A classifier as scikit-learn's exporter writes it: labels and a sequence of maps."""
    g, classes = Graph(seed=5), {"classlabels_strings" if key == T.STRING else "classlabels_int64s": list(labels)}
    coefficients = [float(number) for number in np.round(g.random.standard_normal(12), 3)]
    # The two operators name the same attribute differently for integers.
    linear = {name.replace("int64s", "ints"): values for name, values in classes.items()}
    g.op("LinearClassifier", "float_input", out=["label", "scores"], domain="ai.onnx.ml", coefficients=coefficients,
         intercepts=[0.1, -0.2, 0.05], multi_class=1, post_transform="SOFTMAX", **linear)
    g.op("Identity", "label", out="output_label")
    g.op("ZipMap", "scores", out="output_probability", domain="ai.onnx.ml", **classes)
    element = helper.make_map_type_proto(key, helper.make_tensor_type_proto(T.FLOAT, []))
    probability = helper.make_value_info("output_probability", helper.make_sequence_type_proto(element))
    return g.model("zipmap", [value("float_input", T.FLOAT, ["N", 4])],
                   [value("output_label", key, ["N"]), probability], domains={"ai.onnx.ml": 1})


def names():
    """Names with dots, slashes and colons."""
    g = Graph(seed=6)
    y = g.op("Add", "a.b/c:0", g.op("Cast", "ids:0", to=T.FLOAT))
    g.op("MatMul", y, g.weight("w/kernel:0", (4, 3), 0.5), out="out.x/y:0")
    return g.model("names", [value("a.b/c:0", T.FLOAT, ["N", 4]), value("ids:0", T.INT32, ["N", 1])],
                   [value("out.x/y:0", T.FLOAT, ["N", 3])])


def dunder():
    """Names that mean something to JavaScript objects."""
    g = Graph()
    g.op("Add", "__proto__", "constructor", out="toString")
    g.op("Sub", "__proto__", "constructor", out="hasOwnProperty")
    return g.model("dunder", [value(name, T.FLOAT, ["N"]) for name in ("__proto__", "constructor")],
                   [value(name, T.FLOAT, ["N"]) for name in ("toString", "hasOwnProperty")])


def odd_names():
    """Names from real exporters and others that a file may hold: each output is its input and 1."""
    g, pairs = Graph(), {"past_key_values.0.key": "present.0.key", "images:0": "scores:0", "/model/in": "/model/out",
                         "a b": "c d", "模": "型", "__proto__": "toString", "constructor": "valueOf"}
    g.number("one", 1)
    for name, out in pairs.items():
        g.op("Add", name, "one", out=out)
    return g.model("odd_names", *[[value(name, T.FLOAT, ["N"]) for name in names]
                                  for names in (pairs.keys(), pairs.values())])


def dunder_outputs():
    """As dunder, the other way round."""
    g = Graph()
    for name in "__proto__", "constructor":
        g.op("Identity", "x", out=name)
    return g.model("dunder", [value("x", T.FLOAT, ["N"])],
                   [value(name, T.FLOAT, ["N"]) for name in ("__proto__", "constructor")])


def cast(dtype):
    """`packed` to float32, and float32 `numbers` to that type, since Identity has no kernel for types under 8 bits."""
    g = Graph()
    g.op("Cast", "packed", to=T.FLOAT, out="unpacked")
    g.op("Cast", "numbers", to=dtype, out="repacked")
    opset = 25 if dtype in (T.INT2, T.UINT2) else 21
    return g.model("cast", [value("packed", dtype, ["N"]), value("numbers", T.FLOAT, ["M"])],
                   [value("unpacked", T.FLOAT, ["N"]), value("repacked", dtype, ["M"])],
                   opset=opset, ir=IR_OF_OPSET[opset])


def concat4():
    """Concat along an axis whose lengths may be 0."""
    g = Graph()
    g.op("Concat", "a", "b", axis=2, out="y")
    return g.model("concat4", [value("a", T.FLOAT, [1, 2, "n", 4]), value("b", T.FLOAT, [1, 2, "m", 4])],
                   [value("y", T.FLOAT, [1, 2, "rows", 4])])


def concat():
    """Two inputs whose rows are free of each other."""
    g = Graph()
    g.op("Concat", "a", "b", axis=0, out="y")
    return g.model("concat", [value("a", T.FLOAT, ["rows_a", 2]), value("b", T.FLOAT, ["rows_b", 2])],
                   [value("y", T.FLOAT, ["rows", 2])])


def scalar():
    """Rank 0 in and out: x + 1."""
    g = Graph()
    g.op("Add", "x", g.number("one", 1), out="y")
    return g.model("scalar", [value("x", T.FLOAT, [])], [value("y", T.FLOAT, [])])


def identity(dtype=T.FLOAT, shape=("batch", 4), **versions):
    g = Graph()
    g.op("Identity", "x", out="y")
    return g.model("identity", [value("x", dtype, shape)], [value("y", dtype, shape)], **versions)


def unused_initializers(count=200):
    """ONNX Runtime warns of each of them."""
    model, nothing = identity(), np.zeros(4, np.float32)
    model.graph.initializer.extend(numpy_helper.from_array(nothing, f"unused.{index}") for index in range(count))
    return model


# Every element type that Identity takes, with the oldest opset (and IR) that we write it in.
DTYPES = {
    "float32": T.FLOAT, "float64": T.DOUBLE, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16,
    **{name: T.DataType.Value(name.upper()) for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "string", "complex64",
        "complex128", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "int4", "uint4", "float4e2m1",
        "float8e8m0", "int2", "uint2")},
}
NEWER_DTYPES = {"float8e4m3fn": 19, "float8e4m3fnuz": 19, "float8e5m2": 19, "float8e5m2fnuz": 19, "int4": 21,
                "uint4": 21, "float4e2m1": 23, "float8e8m0": 24, "int2": 25, "uint2": 25}
IR_OF_OPSET = {17: 8, 19: 9, 21: 10, 23: 11, 24: 12, 25: 13}


def identity_of(name):
    opset = NEWER_DTYPES.get(name, 17)
    return identity(DTYPES[name], ["N"], opset=opset, ir=IR_OF_OPSET[opset])


# --- weights in files of their own ----------------------------------------------------------------------------------

def externalize(model, location, threshold=1024):
    """Moves the large weights to the files that `location` names; returns the model and the files' bytes."""
    files = {}
    for tensor in model.graph.initializer:
        raw = tensor.raw_data
        if len(raw) >= threshold:
            content = files.setdefault(location(tensor.name), bytearray())
            onnx.external_data_helper.set_external_data(tensor, location(tensor.name), len(content), len(raw))
            tensor.ClearField("raw_data")
            content += raw
    return model, files


def mlp_external():
    """All weights in one file."""
    return externalize(mlp((1024, 2048, 2048, 1000), seed=4), lambda name: "mlp_external.onnx.data")


def wide_external(count=64):
    """Each of many weights in a file of its own, in a folder: y = x + w0 + w1 + …"""
    g = Graph(seed=8)
    g.op("Sum", "x", *[g.weight(f"w{index}", (512,), 1.0) for index in range(count)], out="y")
    model = g.model("wide", [value("x", T.FLOAT, ["batch", 512])], [value("y", T.FLOAT, ["batch", 512])])
    return externalize(model, lambda name: f"wide_external/{name}.bin")


def external_at(location):
    """A model whose weight is said to lie where nothing is, or where a model may not reach."""
    g = Graph(seed=9)
    g.op("Add", "x", g.weight("w", (512,), 1.0), out="y")
    model = g.model("external", [value("x", T.FLOAT, [512])], [value("y", T.FLOAT, [512])])
    return externalize(model, lambda name: location)[0]


# --- models to be refused -------------------------------------------------------------------------------------------

def one_op(kind, *inputs, dtype=T.FLOAT, **versions):
    """A single node, however wrong, from `x` (and a constant int64 `i`) to `y`."""
    domain = next(iter(versions.get("domains", {})), "")
    g = Graph()
    if "i" in inputs:
        g.integer("i", [1, 2, 3, 4])
    g.op(kind, *inputs, out="y", domain=domain)
    return g.model(kind.lower(), [value("x", dtype, ["batch", 4])], [value("y", dtype, ["batch", 4])], **versions)


MODELS = {
    "resnet18": resnet,
    "resnet18_fp16": lambda: resnet(T.FLOAT16),
    "cnn_fixed1": lambda: resnet(batch=1, size=96, widths=(16, 32, 64, 128), depth=1, classes=10, input_name="data",
                                 output_name="prob", seed=7),
    "bert6": bert,
    "mlp_tiny": mlp,
    "mlp128": lambda: mlp((128, 128, 128, 128, 10), seed=11),
    "zeros_50mb": lambda: zeros(2560, 5120),
    "zeros_200mb": lambda: zeros(5120, 10240),
    "add_tiny": add_tiny,
    "mlp_external": mlp_external,
    "wide_external": wide_external,
    "control_flow": control_flow,
    "slow": slow,
    "strings": strings,
    "string_norm": string_norm,
    "sequence": sequence,
    "zipmap": zipmap,
    "zipmap_int64": lambda: zipmap((10, 20, 30), T.INT64),
    "names": names,
    "dunder": dunder,
    "dunder_outputs": dunder_outputs,
    "odd_names": odd_names,
    "concat": concat,
    "concat4": concat4,
    "scalar": scalar,
    "identity": identity,
    "two_unknowns": lambda: identity(shape=["rows", "columns"]),
    "rank0": lambda: identity(shape=[]),
    "rank3": lambda: identity(shape=["a", "b", "c"]),
    "image": lambda: identity(shape=[1, 3, 224, 224]),
    "unused_initializers": unused_initializers,
    **{f"identity_{name}": lambda name=name: identity_of(name) for name in DTYPES},
    **{f"cast_{name}": lambda name=name: cast(DTYPES[name]) for name in ("int4", "uint4", "int2", "uint2")},
}
BROKEN = {
    "future_ir": lambda: identity(ir=99),
    "future_opset": lambda: identity(opset=99),
    "unknown_op": lambda: one_op("Bar", "x", domains={"com.foo": 1}),
    "relu_opset1": lambda: one_op("Relu", "x", opset=1, ir=3),
    "wrong_type": lambda: one_op("Add", "x", "i"),
    "undefined_input": lambda: one_op("Add", "x", "nobody"),
    "missing_external": lambda: external_at("missing_external.onnx.data"),
    "escaping_external": lambda: external_at("../../python/onnx/helper.py"),
    "truncated": lambda: identity().SerializeToString()[:-20],
    "not_onnx": lambda: b"This is no model.\n",
    "empty": lambda: b"",
}


def write(name, built, folder):
    """Saves what a builder returned: a model, a model and its files, or plain bytes. Returns the names of the files."""
    model, files = built if isinstance(built, tuple) else (built, {})
    files[f"{name}.onnx"] = model if isinstance(model, bytes) else model.SerializeToString(deterministic=True)
    for file, content in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(content)
    return list(files)


def main():
    with outdated(GENERATED / ".stamp", SOURCE) as stale:
        if stale:
            with scratch() as temporary:
                folder, files = temporary / "new", []
                folder.mkdir()
                for name, build in {**MODELS, **BROKEN}.items():
                    files += write(name, build(), folder)
                    if name in MODELS:
                        onnx.checker.check_model(folder / f"{name}.onnx", full_check=True)
                stamp(folder / ".stamp", files, SOURCE)
                replace_folder(folder, GENERATED)


if __name__ == "__main__":
    main()
