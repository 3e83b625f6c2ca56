"""Prints microsoft_values.txt: which numbers ONNX Runtime's own operators take as places, lengths and counts.

Usage: python microsoft_values.py > microsoft_values.txt (with PyPI's onnxruntime, onnx and numpy installed; it reads microsoft.json).
A line is a case of microsoft.json, the number of an operand of integers, what becomes of it ("ok", "refused", or "crash"), and what its
first element then is.
"""

import os
import sys

import numpy as np

from microsoft_shapes import accepts, read

# Operands of integers that are data.
DATA = {("QGemm", 6)}


def main():
    seen = set()
    for case, inputs in read():
        kind = (case["op"], *(x is not None for x in inputs), *(len(x.shape) for x in inputs if x is not None and x.dtype in (np.int32, np.int64)))
        if kind in seen:
            continue
        seen.add(kind)
        for i, x in enumerate(inputs):
            if x is None or x.dtype not in (np.int32, np.int64) or (case["op"], i) in DATA or not x.size:
                continue
            outcomes = {"ok": [], "refused": [], "crash": []}
            for value in (-2, -1, *range(13), np.iinfo(x.dtype).min, np.iinfo(x.dtype).max):
                sys.stdout.flush()
                child = os.fork()  # what it takes without looking may end it
                if child == 0:
                    changed = x.copy()
                    changed.reshape(-1)[0] = value
                    os._exit(0 if accepts(case, [*inputs[:i], changed, *inputs[i + 1 :]]) else 1)
                _, status = os.waitpid(child, 0)
                outcomes[{0: "ok", 1: "refused"}.get(os.waitstatus_to_exitcode(status), "crash")].append(str(value))
            for what, values in outcomes.items():
                if values:
                    print(case["name"], i, what, *values)


main()
