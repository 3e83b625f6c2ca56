"""Prints microsoft_shapes.txt: which shapes of operands ONNX Runtime's own operators take.

Usage: python microsoft_shapes.py > microsoft_shapes.txt (with PyPI's onnxruntime, onnx and numpy installed; it reads microsoft.json).
A line is a case of microsoft.json, the number of an operand, what becomes of it ("ok", "refused", or "crash"), and other shapes with
which it does.
"""

import json
import os
import sys

import numpy as np
import onnxruntime
from onnx import helper

TYPES = {"f32": np.float32, "f16": np.float16, "u8": np.uint8, "i8": np.int8, "i32": np.int32, "bool": np.bool_, "i64": np.int64}


def others(shape):
    """Yields other shapes of an operand: axes swapped, added, left out, longer and of length 1, and other shapes of as many elements."""
    n = int(np.prod(shape))
    yield (1, *shape)
    yield (*shape, 1)
    if not shape:
        yield (2,)
        yield (1, 1)
    else:
        yield ()
        yield (1,)
        yield (n,)
    if shape and shape[0] == 1:
        yield tuple(shape[1:])
    if n % 2 == 0 and n > 2:
        yield (2, n // 2)
    for k, d in enumerate(shape):
        if k and d != shape[k - 1]:
            yield (*shape[: k - 1], d, shape[k - 1], *shape[k + 1 :])
        yield (*shape[:k], d + 1, *shape[k + 1 :])
        yield (*shape[:k], 1, *shape[k + 1 :])


def accepts(case, inputs):
    results = [f"y{i}" if y is not None else "" for i, y in enumerate(case["outputs"])]
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    feeds = {n: x for n, x in zip(names, inputs) if n}
    free = {names[i] for i in case.get("free", [0])}
    types = {n: helper.np_dtype_to_tensor_dtype(x.dtype) for n, x in feeds.items()}
    graph = helper.make_graph(
        [helper.make_node(case["op"], names, results, domain="com.microsoft", **case["attrs"])], "g",
        [helper.make_tensor_value_info(n, types[n], x.shape) for n, x in feeds.items() if n in free],
        [helper.make_empty_tensor_value_info(r) for r in results if r],
        [helper.make_tensor(n, types[n], x.shape, x.ravel()) for n, x in feeds.items() if n not in free],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        session.run(None, {n: x for n, x in feeds.items() if n in free})
    except Exception:  # whatever the reason
        return False
    return True


def read():
    """Yields the cases and their operands."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "microsoft.json"), encoding="utf-8") as f:
        cases = json.load(f)
    for case in cases:
        if case["op"] != "QLinearReduceMean":  # which has no kernel
            yield case, [None if x is None else np.array(x["data"], TYPES[x["type"]]).reshape(x["shape"]) for x in case["inputs"]]


def main():
    seen = set()
    for case, inputs in read():
        kind = (case["op"], *(x is not None and len(x.shape) for x in inputs))
        if kind in seen:  # one case of each kind is enough
            continue
        seen.add(kind)
        for i, x in enumerate(inputs):
            if x is None:
                continue
            outcomes = {"ok": [], "refused": [], "crash": []}
            for shape in dict.fromkeys(others(x.shape)):
                if shape == x.shape:
                    continue
                sys.stdout.flush()
                child = os.fork()  # what it takes without looking may end it
                if child == 0:
                    changed = [*inputs[:i], np.resize(x, shape), *inputs[i + 1 :]]
                    os._exit(0 if accepts(case, changed) else 1)
                _, status = os.waitpid(child, 0)
                what = {0: "ok", 1: "refused"}.get(os.waitstatus_to_exitcode(status), "crash")
                outcomes[what].append("x".join(map(str, shape)) or "scalar")
            for what, shapes in outcomes.items():
                if shapes:
                    print(case["name"], i, what, *shapes)


if __name__ == "__main__":
    main()
