"""Runs a model under ONNX Runtime: reads JSON (model, inputs, dir) from standard input, writes JSON (version, files)."""
import json
import sys

import numpy
import onnxruntime

ask = json.load(sys.stdin)
if not ask["model"]:  # only whether these modules are to be had
    sys.exit()
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(ask["model"], options, providers=["CPUExecutionProvider"])
answers = session.run(None, {name: numpy.load(path) for name, path in ask["inputs"].items()})
files = {}
for i, (output, answer) in enumerate(zip(session.get_outputs(), answers)):
    files[output.name] = f"{ask['dir']}/ort_{i}.npy"
    numpy.save(files[output.name], numpy.ascontiguousarray(answer))
print(json.dumps({"version": onnxruntime.__version__, "files": files}))
