#!/usr/bin/env python3
"""Asks ONNX Runtime what the tests of this folder expect.

usage: reference.py MODEL.onnx OUT.npy      (needs: onnxruntime, numpy)

MODEL.onnx has weights, one input and one output, of static shapes. The input is that of //tools/check:
input.go says which numbers.
"""
import sys

import numpy as np
import onnxruntime


def mix(x):
    x = (x + np.uint32(1)) * np.uint32(0x9E3779B1)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x85EBCA6B)
    return x ^ x >> np.uint32(13)


def made(shape):
    h = mix(np.arange(np.prod(shape), dtype=np.uint32))
    return ((h >> np.uint32(8)).astype(np.float64) / (1 << 22) - 2).astype(np.float32).reshape(shape)


def main(model, out):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (input,) = session.get_inputs()
    (answer,) = session.run(None, {input.name: made(input.shape)})
    np.save(out, answer)
    print(f"ONNX Runtime {onnxruntime.__version__}: {answer.shape}, from {answer.min()} to {answer.max()}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
