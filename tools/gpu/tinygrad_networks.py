"""Measures tinygrad's OpenCL kernels of the networks of networks.json: python3 tinygrad_networks.py [REGEX]. Prints a table.

As networks.py does: weights are filled in by `fill`, times are of whole runs by the host's clock, each waited for, with inputs in the GPU's memory; its
JIT replays the kernels of a run, and nothing is searched for. All networks compile at once, in processes of their own, for PATIENCE seconds."""
import json, os, re, statistics, subprocess, sys, tempfile, threading, time

here = os.path.dirname(os.path.abspath(__file__))
SECONDS, PATIENCE = 0.5, float(os.environ.get("PATIENCE", "100"))
LIBRARIES = ("/usr/local/nvidia/lib64/libOpenCL.so.1", "/usr/local/cuda/lib64/libOpenCL.so.1", "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1",
             "/usr/local/nvidia/lib64/libnvidia-opencl.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-opencl.so.1")


def serve(path):
    """A line once a network runs, with how many kernels it has, and one with the milliseconds of runs for each line that comes."""
    from tinygrad import Device, GlobalCounters, Tensor, TinyJit
    from tinygrad.nn.onnx import OnnxRunner
    network = OnnxRunner(path)
    inputs = {}
    for name, spec in network.graph_inputs.items():
        shape = tuple(1 if isinstance(d, str) else d for d in spec.shape)
        is_float = "float" in str(spec.dtype)
        inputs[name] = (Tensor.randn(*shape, dtype=spec.dtype) if is_float else Tensor.ones(*shape, dtype=spec.dtype)).contiguous().realize()

    @TinyJit
    def run(**inputs):
        return [y.realize() for y in network(inputs).values()]

    def once():
        start = time.perf_counter()
        GlobalCounters.reset()
        run(**inputs)
        Device[Device.DEFAULT].synchronize()
        return (time.perf_counter() - start) * 1e3

    for _ in range(4):
        once()
    print(json.dumps({"kernels": GlobalCounters.kernel_count, "device": Device.DEFAULT}), flush=True)
    for line in sys.stdin:
        ms, end = [], time.perf_counter() + float(line)
        while len(ms) < 3 or time.perf_counter() < end:
            ms.append(once())
        print(json.dumps({"ms": ms}), flush=True)


def answer(process):
    for line in process.stdout:
        if line.startswith("{"):
            return json.loads(line)
    raise RuntimeError(process.stderr.read().strip().splitlines()[-1:])


def main():
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    networks = [n for n in json.load(open(os.path.join(here, "networks.json")))["Networks"] if not n["Variant"] and wanted.search(n["Program"])]
    with tempfile.TemporaryDirectory() as folder:
        found = [p for p in LIBRARIES if os.path.exists(p)]
        env = dict(os.environ, DEV="CL", CUDA_MPS_PIPE_DIRECTORY=os.path.join(folder, "none"), CACHEDB=os.path.join(folder, "cache.db"))
        if "OPENCL_PATH" not in env and found:
            env["OPENCL_PATH"] = found[0]
        driver = os.path.join(folder, "nvidia.icd")
        open(driver, "w").write("libnvidia-opencl.so.1\n")
        if not os.path.isdir("/etc/OpenCL/vendors") or not os.listdir("/etc/OpenCL/vendors"):
            env.setdefault("OCL_ICD_VENDORS", folder)
        processes = {}
        for n in networks:
            filled = os.path.join(folder, n["Program"] + ".onnx")
            subprocess.run([os.path.join(here, "fill"), os.path.join(here, n["Graph"]), filled], check=True)
            processes[n["Program"]] = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", filled], env=env, text=True,
                                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        late = threading.Timer(PATIENCE, lambda: [p.kill() for p in processes.values() if not getattr(p, "is_ready", False)])
        late.daemon = True
        late.start()
        ready = {}
        for name, p in processes.items():
            try:
                ready[name] = answer(p)
                p.is_ready = True
            except Exception as e:
                print("%s: %s" % (name, e), flush=True)
        late.cancel()
        print("| network | batch | tinygrad ms | kernels | device |\n|---|---|---|---|---|")
        for n in networks:
            if n["Program"] not in ready:
                continue
            p, first = processes[n["Program"]], ready[n["Program"]]
            try:
                p.stdin.write("%g\n" % SECONDS)
                p.stdin.flush()
                print("| %s | %d | %.3g | %d | %s |" % (n["Name"], n["Batch"], statistics.median(answer(p)["ms"]), first["kernels"], first["device"]), flush=True)
            except Exception as e:
                print("%s: %s" % (n["Program"], e), flush=True)
        for p in processes.values():
            p.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
