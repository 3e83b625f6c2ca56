"""Runs a model under ONNX Runtime: reads JSON (model, inputs, dir, threads, seconds, large, plain) from standard input, writes JSON (version, files, ms)."""
import json
import sys
import time

import numpy
import onnxruntime

ask = json.load(sys.stdin)
if not ask["model"]:  # only whether these modules are to be had
    sys.exit()
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
options.intra_op_num_threads = ask["threads"]
if ask["large"] and not ask["seconds"]:  # no second copy of the weights in another order, unless that is timed
    options.add_session_config_entry("session.disable_prepacking", "1")
if ask["plain"]:
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(ask["model"], options, providers=["CPUExecutionProvider"])
inputs = {name: numpy.load(path) for name, path in ask["inputs"].items()}
answers = session.run(None, inputs)
ms = []
end = time.perf_counter() + ask["seconds"]
while ask["seconds"] and (len(ms) < 3 or time.perf_counter() < end):
    start = time.perf_counter()
    session.run(None, inputs)
    ms.append(1e3 * (time.perf_counter() - start))
files = {}
for i, (output, answer) in enumerate(zip(session.get_outputs(), answers)):
    files[output.name] = f"{ask['dir']}/ort_{i}.npy"
    numpy.save(files[output.name], numpy.ascontiguousarray(answer))
print(json.dumps({"version": onnxruntime.__version__, "files": files, "ms": ms}))
