"""Quantizes models with dnnc and with onnxruntime's own quantizer, on the same inputs, and prints how far both are from the float model.

Each is run by ONNX Runtime without its optimisations. A figure is a signal-to-noise ratio in dB: of the outputs together, and of the
activations that both have quantized, layer by layer.

  go build -o /tmp/dnnc ./gen/cmd/dnnc && go run ./tools/fill MODEL.onnx /tmp/filled.onnx     # where weights were taken out
  python tools/quantize/beside.py --dnnc /tmp/dnnc /tmp/filled.onnx
  python tools/quantize/beside.py --dnnc /tmp/dnnc --layers --settings '{"range": "mse"}' /tmp/filled.onnx
  python tools/quantize/beside.py --dnnc /tmp/dnnc --keep FOLDER /tmp/filled.onnx             # filled_int8.onnx, and filled_qdq.onnx of onnxruntime

Inputs are smooth random images, or, of models that read integers, random ones below --limit. Needs numpy, onnx and onnxruntime.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

TYPES = {"float32": "F32", "int64": "I64", "int32": "I32"}


def inputs_of(model, count, dims, limit):
    """Returns a list of count dictionaries of inputs, by name."""
    graph = onnx.load(model, load_external_data=False).graph
    constants = {t.name for t in graph.initializer}
    random = np.random.default_rng(0)
    samples = [{} for _ in range(count)]
    for value in graph.input:
        if value.name in constants:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [d.dim_value or dims.get(d.dim_param, 1) for d in value.type.tensor_type.shape.dim]
        for sample in samples:
            sample[value.name] = smooth(random, shape) if kind == np.float32 else random.integers(0, 2 if "mask" in value.name or "type" in value.name else limit, shape).astype(kind)
    return samples


def smooth(random, shape):
    """Returns random numbers with deviation 1, similar to their neighbours."""
    x = random.normal(size=shape)
    for axis in range(len(shape))[-2:]:
        if shape[axis] > 8:
            for _ in range(3):
                x = (x + np.roll(x, 1, axis) + np.roll(x, -1, axis)) / 3
    return (x / x.std()).astype(np.float32)


def write_safetensors(path, samples):
    header, parts, at = {}, [], 0
    for name in samples[0]:
        x = np.concatenate([s[name] for s in samples])
        header[name] = {"dtype": TYPES[x.dtype.name], "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        parts.append(x.tobytes())
        at += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


class Reader(quantization.CalibrationDataReader):
    """Returns the samples sequentially."""

    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def results(path, samples, names):
    """Runs a model on samples. Returns, for each, its outputs and the values of names, by name."""
    model = onnx.load(path)
    outputs = [o.name for o in model.graph.output]
    model.graph.output.extend([onnx.ValueInfoProto(name=n) for n in names if n not in outputs])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    wanted = [o.name for o in session.get_outputs()]
    return outputs, [dict(zip(wanted, session.run(wanted, s))) for s in samples]


def activations(path, suffix):
    """Returns what the quantized model calls the float model's activations, by the float model's names."""
    graph = onnx.load(path, load_external_data=False).graph
    makers = {o: n for n in graph.node for o in n.output}
    found = {}
    for node in graph.node:
        quantize = makers.get(node.input[0])
        if node.op_type == "DequantizeLinear" and quantize is not None and quantize.op_type == "QuantizeLinear":
            name = node.output[0]
            found[name[: -len(suffix)] if name.endswith(suffix) else name] = name
    return found


def decibels(pairs):
    """Returns the signal-to-noise ratio of pairs of float and quantized values."""
    signal = sum(float((a.astype(np.float64) ** 2).sum()) for a, _ in pairs)
    noise = sum(float(((a.astype(np.float64) - b) ** 2).sum()) for a, b in pairs)
    return 200.0 if noise == 0 else 0.0 if signal == 0 else 10 * np.log10(signal / noise)


def compare(model, o, folder):
    """Quantizes a model in both ways. Returns decibels of the outputs, and by activation, for both."""
    samples = inputs_of(model, o.samples, {k: int(v) for k, v in (d.split("=") for d in o.dims)}, o.limit)
    name = os.path.splitext(os.path.basename(model))[0]
    inputs, settings, ours, theirs, simple = (os.path.join(folder, n) for n in ["inputs.safetensors", "settings.json", name + "_int8.onnx", name + "_qdq.onnx", "simple.onnx"])
    write_safetensors(inputs, samples)
    with open(settings, "w") as f:
        f.write(o.settings)
    subprocess.run([o.dnnc, "quantize", "--src=" + model, "--calibration=" + inputs, "--settings=" + settings, "--out=" + ours], check=True)
    quant_pre_process(model, simple, skip_symbolic_shape=True)
    quantization.quantize_static(simple, theirs, Reader(samples), quant_format=quantization.QuantFormat.QDQ, per_channel=True, weight_type=quantization.QuantType.QInt8, activation_type=quantization.QuantType.QUInt8)
    both = {"ours": activations(ours, "_dequantized"), "onnxruntime": activations(theirs, "_DequantizeLinear_Output")}
    common = [n for n in both["ours"] if n in both["onnxruntime"]]
    outputs, float_values = results(simple, samples, common)
    found = {}
    for who, path in [("ours", ours), ("onnxruntime", theirs)]:
        names = {n: both[who][n] for n in common}
        of, values = results(path, samples, list(names.values()))
        layers = {n: decibels([(f[n], v[names[n]]) for f, v in zip(float_values, values)]) for n in common if n in float_values[0]}
        found[who] = (decibels([(f[a], v[b]) for a, b in zip(outputs, of) for f, v in zip(float_values, values)]), layers)
    for path in (ours, theirs) if o.keep else ():
        shutil.copy(path, o.keep)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="ONNX models with their weights")
    parser.add_argument("--dnnc", required=True, help="the compiler")
    parser.add_argument("--samples", type=int, default=8, help="inputs to calibrate with and to compare on (default 8)")
    parser.add_argument("--settings", default="{}", help="JSON for dnnc quantize")
    parser.add_argument("--dims", action="append", default=[], help="SYMBOL=NUMBER; others are 1")
    parser.add_argument("--limit", type=int, default=1000, help="what integer inputs stay below (default 1000)")
    parser.add_argument("--keep", help="a folder for both quantized models")
    parser.add_argument("--layers", action="store_true", help="print each activation")
    o = parser.parse_args()
    print("| model | outputs, dB: ours | onnxruntime | activations of both | median: ours | onnxruntime | least: ours | onnxruntime |\n" + "| --- " * 8 + "|")
    for model in o.models:
        with tempfile.TemporaryDirectory() as folder:
            found = compare(os.path.abspath(model), o, folder)
        layers = [list(found[w][1].values()) for w in ["ours", "onnxruntime"]]
        cells = [os.path.basename(model), "%.1f" % found["ours"][0], "%.1f" % found["onnxruntime"][0], str(len(layers[0]))]
        for f in (np.median, np.min):
            cells += ["%.1f" % f(x) if x else "" for x in layers]
        print("| " + " | ".join(cells) + " |", flush=True)
        if o.layers:
            for name, db in found["ours"][1].items():
                print("    %-60s %6.1f %6.1f" % (name, db, found["onnxruntime"][1][name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
