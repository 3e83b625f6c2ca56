"""Prints recurrent.json: what ONNX Runtime says of recurrent operators.

Usage: python recurrent.py > recurrent.json (with PyPI's onnxruntime and onnx installed).

Operands are waves: element i of one of step s is sin(s * (i + 1)), or 3 times that where a
case says so. ONNX Runtime does not take batches first: their case runs as one of steps
first, with operands and results turned round here.
"""

import json

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

STEPS, BATCH, INPUT, HIDDEN = 4, 3, 2, 3
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def wave(step, *shape):
    n = np.arange(1, np.prod(shape) + 1)
    return np.sin(step * n).astype(np.float32).reshape(shape)


def operands(case):
    """X, W, R, B, sequence_lens, initial_h, initial_c, P; None where the case has none."""
    at, has = case["attrs"], case["has"]
    d = 2 if at.get("direction") == "bidirectional" else 1
    rows = GATES[case["op"]] * HIDDEN
    first = at.get("layout", 0) == 1
    state = (BATCH, d, HIDDEN) if first else (d, BATCH, HIDDEN)
    out = [
        wave(0.7, *((BATCH, STEPS, INPUT) if first else (STEPS, BATCH, INPUT))) * np.float32(case.get("scale", 1)),
        wave(1.3, d, rows, INPUT),
        wave(2.1, d, rows, HIDDEN),
        wave(0.9, d, 2 * rows) if "B" in has else None,
        np.array(case["lens"], np.int32) if "lens" in case else None,
        wave(1.7, *state) if "h" in has else None,
    ]
    if case["op"] == "LSTM":
        out += [wave(0.4, *state) if "c" in has else None, wave(0.6, d, 3 * HIDDEN) if "P" in has else None]
    return out


def run(case):
    at = dict(case["attrs"], hidden_size=HIDDEN)
    first = at.pop("layout", 0) == 1
    feeds, names = {}, []
    for i, x in enumerate(operands(case)):
        if x is not None and first and i in (0, 5, 6):
            x = np.ascontiguousarray(x.swapaxes(0, 1))
        names.append("" if x is None else f"x{i}")
        if x is not None:
            feeds[f"x{i}"] = x
    results = ["Y", "Y_h"] + ["Y_c"] * (case["op"] == "LSTM")
    types = {np.dtype("float32"): TensorProto.FLOAT, np.dtype("int32"): TensorProto.INT32}
    graph = helper.make_graph(
        [helper.make_node(case["op"], names, results, **at)], "g",
        [helper.make_tensor_value_info(n, types[x.dtype], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info(r, TensorProto.FLOAT, None) for r in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    out = session.run(None, feeds)
    if first:
        out = [out[0].transpose(2, 0, 1, 3)] + [x.swapaxes(0, 1) for x in out[1:]]
    return [{"shape": list(x.shape), "data": [float(f"{v:.7g}") for v in x.ravel()]} for x in out]


def cases():
    def case(name, op, has="", lens=None, scale=1, **attrs):
        c = {"name": name, "op": op, "has": has.split(), "attrs": attrs}
        if lens is not None:
            c["lens"] = lens
        if scale != 1:
            c["scale"] = scale
        return c

    numbers = {
        "Relu": {}, "Tanh": {}, "Sigmoid": {}, "Softsign": {}, "Softplus": {}, "LeakyRelu": {}, "Elu": {},
        "HardSigmoid": {}, "ThresholdedRelu": {"activation_alpha": [0.25]},
        "Affine": {"activation_alpha": [0.5], "activation_beta": [0.125]},
        "ScaledTanh": {"activation_alpha": [1.5], "activation_beta": [0.75]},
    }
    for name, at in numbers.items():
        yield case(name, "RNN", "B", activations=[name], **at)
    yield case("LeakyRelu and alpha", "RNN", "B", activations=["LeakyRelu"], activation_alpha=[0.2])
    yield case("Elu and alpha", "RNN", "B", activations=["Elu"], activation_alpha=[0.5])
    yield case("HardSigmoid and numbers", "RNN", "B", activations=["HardSigmoid"], activation_alpha=[0.4], activation_beta=[0.3])
    yield case("RNN clipped", "RNN", "B h", scale=3, clip=0.5)
    yield case("RNN backward, lengths", "RNN", "B h", lens=[4, 1, 2], direction="reverse")
    yield case("RNN, both directions, two functions, lengths", "RNN", "B h", lens=[2, 4, 3], direction="bidirectional",
               activations=["ScaledTanh", "LeakyRelu"], activation_alpha=[0.9, 0.3], activation_beta=[1.1])
    yield case("RNN, batch first", "RNN", "B h", lens=[2, 4, 3], direction="bidirectional", layout=1)
    for linear in 0, 1:
        at = {"linear_before_reset": linear}
        yield case(f"GRU {linear}", "GRU", **at)
        yield case(f"GRU {linear}, bias, state, lengths", "GRU", "B h", lens=[3, 0, 4], **at)
        yield case(f"GRU {linear}, backward, clipped", "GRU", "B h", lens=[1, 3, 4], scale=3, clip=0.75, direction="reverse", **at)
        yield case(f"GRU {linear}, both directions, four functions", "GRU", "B h", direction="bidirectional",
                   activations=["HardSigmoid", "Softsign", "Sigmoid", "Affine"],
                   activation_alpha=[0.3, 0.6], activation_beta=[0.4, 0.2], **at)
        yield case(f"GRU {linear}, batch first", "GRU", "B h", lens=[3, 1, 4], layout=1, **at)
    for coupled in 0, 1:
        at = {"input_forget": coupled}
        yield case(f"LSTM {coupled}", "LSTM", **at)
        yield case(f"LSTM {coupled}, everything, backward", "LSTM", "B h c P", lens=[4, 2, 0], direction="reverse", **at)
        yield case(f"LSTM {coupled}, everything, both directions", "LSTM", "B h c P", lens=[1, 4, 2], direction="bidirectional",
                   activations=["HardSigmoid", "Tanh", "Softplus", "Sigmoid", "ScaledTanh", "Elu"],
                   activation_alpha=[0.3, 0.8, 0.5], activation_beta=[0.45, 1.2], **at)
        yield case(f"LSTM {coupled}, clipped, peepholes", "LSTM", "B h c P", scale=3, clip=0.5, **at)
        yield case(f"LSTM {coupled}, batch first", "LSTM", "B h c P", lens=[3, 1, 4], direction="bidirectional", layout=1, **at)


def main():
    onnxruntime.set_default_logger_severity(3)
    print("[")
    lines = [json.dumps(dict(c, outputs=run(c))) for c in cases()]
    print(",\n".join(lines))
    print("]")


main()
