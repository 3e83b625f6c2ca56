"""Measures the kernels of cases.json beside PyTorch, in turns: python3 measure.py [REGEX]. Prints a table.

Times are by the device: of ours the sum of a run's kernels, by their events; of PyTorch's a replay of a CUDA graph of 20 runs, divided
by 20, so that what its host does is not counted. TF32 is off."""
import ctypes, json, os, re, sys, time

os.environ["CUDA_CACHE_DISABLE"] = "1"
os.environ["CUDA_MPS_PIPE_DIRECTORY"] = "/none"  # as a client of MPS the driver has no OpenCL
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import numpy as np

import cl as opencl

ROUNDS = 3


def constant(c):
    """The elements of a file."""
    return np.fromfile(os.path.join(here, c["File"]), np.float32).reshape(c["Shape"])


class Ours:
    """A case's kernels on its buffers."""

    def __init__(self, device, case, inputs):
        self.cl, self.case, buffers = device, case, {}
        for i, x in enumerate(inputs):
            buffers[i] = device.buffer(x.nbytes)
            device.write(buffers[i], x)
        for n, c in case["Constants"].items():
            x = constant(c)
            buffers[int(n)] = device.buffer(x.nbytes)
            device.write(buffers[int(n)], x)
        program, _ = device.build(case["Source"])
        self.kernels = []
        for c in case["Calls"]:
            k = device.kernel(program, c["Kernel"])
            args = []
            for n, size in zip(c["Buffers"], c["Bytes"]):
                if n not in buffers:
                    buffers[n] = device.buffer(max(size, 4))
                args += [buffers[n], ctypes.c_ulong(0)]
            device.args(k, *args)
            self.kernels.append((k, c["Global"], c["Local"]))
        self.output = buffers[len(inputs)]

    def run(self):
        return [self.cl.run(k, g, l) for k, g, l in self.kernels]

    def nanos(self, runs):
        all = [self.run() for _ in range(runs)]
        self.cl.finish()
        times = sorted(sum(self.cl.nanos(e) for e in events) for events in all)
        return times[len(times) // 2]


class Theirs:
    """PyTorch's expression, as a CUDA graph."""

    def __init__(self, torch, case, inputs):
        self.torch = torch
        names = dict(zip("abcdef", (torch.from_numpy(x).cuda() for x in inputs)), torch=torch)
        def run():
            return eval(case["Torch"], names)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.result = run()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(20):
                run()

    def nanos(self):
        a, b = (self.torch.cuda.Event(enable_timing=True) for _ in "ab")
        a.record()
        self.graph.replay()
        b.record()
        self.torch.cuda.synchronize()
        return a.elapsed_time(b) * 1e6 / 20


def main():
    cases = json.load(open(os.path.join(here, "cases.json")))
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    device = opencl.CL()
    print(device.name)
    try:
        import torch
        assert torch.cuda.is_available()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
    except (ImportError, AssertionError):
        torch = None
        print("no PyTorch with a GPU here: only ours")
    rng = np.random.default_rng(1)
    print("| operator | ours us | PyTorch us | PyTorch's time over ours | TFLOP/s | GB/s | error |\n|---|---|---|---|---|---|---|")
    for case in cases:
        if not wanted.search(case["Name"]):
            continue
        inputs = [rng.standard_normal(s, dtype=np.float32) for s in case["Inputs"]]
        try:
            ours = Ours(device, case, inputs)
            ours.run()
            device.finish()
            y = np.full(case["Output"], np.nan, np.float32)
            device.read(ours.output, y)
            weights = [constant(case["Weights"])] if case["Weights"] else []
            theirs = Theirs(torch, case, inputs + weights) if torch else None
            error = "-"
            if theirs:
                want = theirs.result.cpu().numpy().astype(np.float64)
                error = "%.0e" % (np.abs(y - want).max() / np.abs(want).max())
            elif not np.isfinite(y).all():
                error = "NaN"
            a, b = [], []
            for _ in range(ROUNDS if torch else 1):
                a.append(ours.nanos(10 if torch else 1))
                if theirs:
                    b.append(theirs.nanos())
            a, b = sorted(a)[len(a) // 2], sorted(b)[len(b) // 2] if b else float("nan")
            bytes = sum(x.nbytes for x in inputs + weights) + y.nbytes
            print("| %s | %.1f | %.1f | %.2f | %.1f | %.0f | %s |" % (case["Name"], a / 1e3, b / 1e3, b / a, case["Flop"] / a / 1e3, bytes / a, error), flush=True)
        except Exception as e:
            print("| %s | %s |" % (case["Name"], str(e)[:300].replace("\n", " ")), flush=True)


main()
