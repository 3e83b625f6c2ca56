"""Serves an ONNX model under another engine, in fp32, to the protocol of a model's own program.

usage: peers.py ENGINE MODEL FOLDER INPUTS --serve
  ENGINE   a class below
  FOLDER   for what the engine's converter makes of the model
  INPUTS   JSON: {name: [type, [dimensions]]}, in the model's order

Requests are lines of standard input, answers lines of standard output: load, inputs, run, outputs (see
runtime/serve/server.h).
"""
import json
import os
import subprocess
import sys
import time

import numpy

CONVERTER_SECONDS = 300


def convert(command, folder):
    """Runs an engine's converter with this Python, or one that lies beside it."""
    command = [os.path.join(os.path.dirname(sys.executable), command[0])] + command[1:]
    done = subprocess.run(command, cwd=folder, timeout=CONVERTER_SECONDS, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[:3]} failed: {(done.stdout + done.stderr)[-300:]}")


def output_names(model):
    import onnx

    return [o.name for o in onnx.load(model, load_external_data=False).graph.output]


class OnnxRuntime:
    def __init__(self, model, folder, inputs, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.version = onnxruntime.__version__

    def set(self, feeds):
        self.feeds = feeds

    def run(self):
        self.answers = self.session.run(None, self.feeds)

    def outputs(self):
        return self.answers


class OpenVino:
    def __init__(self, model, folder, inputs, threads):
        import openvino

        core = openvino.Core()
        network = core.read_model(model)
        network.reshape({name: shape for name, (_, shape) in inputs.items()})
        options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1", "PERFORMANCE_HINT": "LATENCY"}
        self.compiled = core.compile_model(network, "CPU", options)
        self.request = self.compiled.create_infer_request()
        self.version = openvino.__version__.split("-")[0]

    def set(self, feeds):
        self.feeds = feeds

    def run(self):
        self.answers = self.request.infer(self.feeds, share_inputs=True, share_outputs=True)

    def outputs(self):
        return [self.answers[o] for o in self.compiled.outputs]


class Mnn:
    def __init__(self, model, folder, inputs, threads):
        import MNN
        import MNN.expr
        import MNN.nn

        converted = os.path.join(folder, "model.mnn")
        if not os.path.exists(converted):
            # Not the program of this name: it installs a package of logging by pip first, which takes protobuf away from onnx.
            program = "import MNN, _tools, sys; _tools.mnnconvert(['mnnconvert'] + sys.argv[1:])"
            arguments = ["-f", "ONNX", "--modelFile", model, "--MNNModel", converted, "--bizCode", "peer"]
            convert([os.path.basename(sys.executable), "-c", program] + arguments, folder)
        self.expr, self.version = MNN.expr, MNN.version()
        # The module uses what the manager owns.
        self.manager = MNN.nn.create_runtime_manager(({"backend": "CPU", "numThread": threads, "precision": "high"},))
        self.network = MNN.nn.load_module_from_file(converted, list(inputs), output_names(model), runtime_manager=self.manager)

    def set(self, feeds):
        e, self.feeds = self.expr, []
        for array in feeds.values():
            real = array.dtype.kind == "f"
            array = numpy.ascontiguousarray(array if real else array.astype(numpy.int32))
            self.feeds.append(e.const(array, list(array.shape), e.NCHW, e.float if real else e.int))

    def run(self):
        answers = self.network.forward(self.feeds)
        self.answers = answers if isinstance(answers, (list, tuple)) else [answers]
        for x in self.answers:
            x.read()  # or nothing would be computed yet

    def outputs(self):
        e = self.expr
        return [numpy.array((e.convert(x, e.NCHW) if x.data_format == e.NC4HW4 else x).read()) for x in self.answers]


class Ncnn:
    TYPES = {"f32": "f32", "i64": "i64", "i32": "i32"}

    def __init__(self, model, folder, inputs, threads):
        import ncnn

        for name, (kind, shape) in inputs.items():
            if kind not in self.TYPES or not shape or shape[0] != 1:
                raise RuntimeError(f"input {name} is {kind}{shape}: ncnn wants a batch of one, float32 or integers")
        parameters = os.path.join(folder, "model.ncnn.param")
        if not os.path.exists(parameters):
            link = os.path.join(folder, "model.onnx")
            if not os.path.exists(link):
                os.symlink(os.path.abspath(model), link)
            shapes = ",".join("[" + ",".join(map(str, shape)) + "]" + self.TYPES[kind] for kind, shape in inputs.values())
            convert(["pnnx", "model.onnx", f"inputshape={shapes}", "fp16=0"], folder)
        self.ncnn, self.version, self.network = ncnn, ncnn.__version__, ncnn.Net()
        options = self.network.opt
        options.num_threads = threads
        options.use_fp16_storage = options.use_fp16_arithmetic = options.use_bf16_storage = False
        if self.network.load_param(parameters) or self.network.load_model(os.path.join(folder, "model.ncnn.bin")):
            raise RuntimeError("ncnn cannot load what pnnx made of the model")
        self.ins, self.outs = self.network.input_names(), self.network.output_names()

    def set(self, feeds):
        self.feeds = []
        for array in feeds.values():
            array = array.astype(numpy.int32) if array.dtype.kind == "i" else array
            self.feeds.append(self.ncnn.Mat(numpy.ascontiguousarray(array[0])).clone())

    def run(self):
        extractor = self.network.create_extractor()
        for name, feed in zip(self.ins, self.feeds):
            extractor.input(name, feed)
        self.answers = []
        for name in self.outs:
            status, answer = extractor.extract(name)
            if status:
                raise RuntimeError(f"ncnn: output {name}: status {status}")
            self.answers.append(answer)

    def outputs(self):
        return [numpy.array(x)[None] for x in self.answers]


ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "mnn": Mnn, "ncnn": Ncnn}


class Server:
    def __init__(self, engine, model, folder, inputs):
        self.make, self.model, self.folder, self.inputs = ENGINES[engine], model, folder, inputs

    def load(self, threads):
        self.engine = self.make(self.model, self.folder, self.inputs, threads)
        return {"ok": True, "version": self.engine.version}

    def set(self, files):
        self.engine.set({name: numpy.load(files[name]) for name in self.inputs})
        return {"ok": True}

    def run(self, seconds=0.0, min_runs=1):
        ms, end = [], time.perf_counter() + seconds
        while len(ms) < min_runs or time.perf_counter() < end:
            start = time.perf_counter()
            self.engine.run()
            ms.append(1e3 * (time.perf_counter() - start))
        return {"ms": ms}

    def outputs(self, dir):
        files = {}
        for i, (name, array) in enumerate(zip(output_names(self.model), self.engine.outputs())):
            files[name] = os.path.join(dir, f"peer_{i}.npy")
            numpy.save(files[name], numpy.ascontiguousarray(array))
        return {"files": files}

    def answer(self, request):
        methods = {"load": self.load, "inputs": self.set, "run": self.run, "outputs": self.outputs}
        return methods[request.pop("cmd")](**request)


def main():
    engine, model, folder, inputs = sys.argv[1:5]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print is no answer
    server = Server(engine, model, folder, json.loads(inputs))
    for line in sys.stdin:
        try:
            answer = server.answer(json.loads(line))
        except Exception as e:  # whoever asks decides what a failure means
            answer = {"error": f"{type(e).__name__}: {e}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
