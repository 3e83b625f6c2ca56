"""Measures the networks of networks.json beside PyTorch, in turns: python3 networks.py [--only=REGEX] [--out=FOLDER] [--alone] [--known=FILE] [--cxx=COMPILER]. Prints a table.

Times are of whole runs by the host's clock, each waited for, with inputs and outputs in the GPU's memory, TF32 off; medians of the rounds.
FOLDER gets how long the kernels of each block take. FILE has the outputs of one image, and is written where it is not there: on another device the
error is the distance from those. COMPILER makes the programs where they were not made before. All that compiles does so first, at once; then one network runs at a time."""
import concurrent.futures, glob, json, os, re, statistics, subprocess, sys, tempfile, time

import opencl

here = os.path.dirname(os.path.abspath(__file__))
ROUNDS, SECONDS, STREAM, OBSERVED = 5, 0.15, 20, 7
MODES = ("eager", "compile", "graphs")
PATIENCE = 250  # seconds for what compiles
started = []  # processes


class Program:
    """A program that answers lines by lines of JSON."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
        started.append(self)
        self.ready = False
        self.first = self.answer()
        self.ready = True

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer
        raise RuntimeError("the program ended")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def weights(network, folder):
    """Makes the weights that a network's program reads, as it was made."""
    def dnnc(*args):
        call([os.path.join(here, "dnnc"), *args], cwd=here, stdout=subprocess.DEVNULL)

    to = os.path.join(folder, network["Program"])
    os.makedirs(to)
    src, fill = network["Graph"], ["--fill-random"]
    if network["Pruning"]:
        src, fill = os.path.join(to, "pruned.onnx"), []
        open(os.path.join(to, "settings.json"), "w").write(network["Pruning"])
        call([os.path.join(here, "fill"), os.path.join(here, network["Graph"]), "%s/filled.onnx" % to])
        dnnc("prune", "--src=%s/filled.onnx" % to, "--settings=%s/settings.json" % to, "--out=" + src)
    dnnc("graph", *fill, "--src=" + src, "--out=%s/graph.txt" % to, "--out-consts=%s/graph.consts" % to)
    dnnc("compile", "--graph=%s/graph.txt" % to, "--consts=%s/graph.consts" % to, "--src=" + src, "--out-header=%s/model.h" % to, "--out-kernels=%s/kernels" % to,
         "--out-weights=%s/model.weights" % to, "--out-manifest=%s/model.json" % to, "--out-device-source=%s/model.cl" % to, *network["Options"])
    return os.path.join(to, "model.weights")


def call(command, **more):
    """Runs a program to its end, for which it has as long as all that compiles."""
    subprocess.run(command, check=True, timeout=PATIENCE, **more)


def compiled(cxx, files, folder, name, options):
    """Objects of C++ files."""
    objects = []
    for i, file in enumerate(files):
        objects.append(os.path.join(folder, "%s_%d.o" % (name, i)))
        call([cxx, *options, "-I" + os.path.join(here, "source"), "-c", file, "-o", objects[-1]])
    return objects


def shared(cxx, copts, folder):
    """Objects of what all programs share."""
    source = lambda *parts: glob.glob(os.path.join(here, "source", *parts))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        jobs = [pool.submit(compiled, cxx, [f], folder, "runtime%d" % i, copts["Runtime"])
                for i, f in enumerate(source("runtime", "dnn_*.cc") + source("runtime", "opencl", "*.cc"))]
        jobs += [pool.submit(compiled, cxx, [f], folder, "program%d" % i, copts["Program"]) for i, f in enumerate(source("runtime", "serve", "*.cc") + source("*.cc"))]
        return [o for j in jobs for o in j.result()]


def build(cxx, copts, objects, network, to):
    """The program of a network whose sources are in a folder."""
    kernels = compiled(cxx, sorted(glob.glob(os.path.join(to, "kernels", "*.cc"))), to, "kernels", [*copts["Kernels"], "-I" + to, "-I" + os.path.join(to, "kernels")])
    call([cxx, *objects, *kernels, "-pthread", "-ldl", "-o", os.path.join(here, network["Program"])])


def ours(network, folder, cxx, copts, objects):
    start = time.time()
    path = weights(network, folder)
    made = time.time()
    if cxx:
        build(cxx, copts, objects, network, os.path.dirname(path))
    program = Program([os.path.join(here, network["Program"]), path])
    print("%s: weights %.1f s, program %.1f s" % (network["Program"], made - start, time.time() - made), flush=True)
    os.remove(path)
    return program


def theirs(name, type, batches):
    start = time.time()
    program = Program([sys.executable, os.path.join(here, "torch_networks.py"), "--serve", name, type, *map(str, batches)], stderr=subprocess.DEVNULL)
    print("%s in %s of PyTorch %s: %.1f s" % (name, type, program.first["torch"], time.time() - start), flush=True)
    return program


def agreement(program, known, network):
    """How far the images of a run, copies of one, are from what is known of the same weights or the first of them, relative to the range of that."""
    got = program.ask("output")["values"]
    if program.ask("output")["values"] != got:
        raise RuntimeError("two runs differ")
    if None in got:
        raise RuntimeError("the output has infinities or NaN")
    one = known.setdefault(network["Graph"] + network["Pruning"], got[:len(got) // network["Batch"]])
    scale = max(map(abs, one)) or 1
    return max(abs(x - one[i % len(one)]) for i, x in enumerate(got)) / scale


def measure(network, program, torch, out):
    """The medians of the rounds, ours first, and what is known of the kernels."""
    def median(ms):
        return statistics.median(ms["ms"])

    asks = {"ours": lambda: program.ask("time %g" % SECONDS)}
    for mode in MODES if torch else ():
        asks[mode] = lambda mode=mode: torch.ask("%s %d %g" % (mode, network["Batch"], SECONDS))
    times = {k: [] for k in asks}
    for _ in range(ROUNDS):
        for k, ask in asks.items():
            times[k].append(median(ask()))
    row = {k: statistics.median(v) for k, v in times.items()}
    row["stream"] = median(program.ask("stream %d" % STREAM))
    blocks = program.ask("blocks %d" % OBSERVED)["blocks"]
    device = [b for b in blocks if b["device"]]
    row["kernels"] = sum(b["us"] for b in device) / 1e3
    row["launches"] = sum(b["calls"] for b in device)
    row["host"] = sum(b["calls"] > 0 and not b["device"] for b in blocks)
    if out:
        json.dump(blocks, open(os.path.join(out, network["Program"] + ".json"), "w"), indent=1)
    return row


def main():
    options = dict((a.split("=", 1) + [""])[:2] for a in sys.argv[1:])
    wanted, out = re.compile(options.get("--only", "")), options.get("--out", "")
    if out:
        os.makedirs(out, exist_ok=True)
    written = json.load(open(os.path.join(here, "networks.json")))
    networks, copts = [n for n in written["Networks"] if wanted.search(n["Program"])], written["Copts"]
    names = [] if "--alone" in options else sorted({(n["Name"], n["Type"]) for n in networks if n["Type"]})
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(64) as pool:
        opencl.find(folder)
        torch = {n: pool.submit(theirs, *n, sorted({x["Batch"] for x in networks if (x["Name"], x["Type"]) == n})) for n in names}
        cxx = options.get("--cxx", "")
        objects = shared(cxx, copts, folder) if cxx else []
        programs = {n["Program"]: pool.submit(ours, n, folder, cxx, copts, objects) for n in networks}
        concurrent.futures.wait([*torch.values(), *programs.values()], timeout=PATIENCE)
        for p in started:
            if not p.ready:
                p.process.kill()
    known, file = {}, options.get("--known", "")
    if file and os.path.exists(file):
        known = json.load(open(file))
    table = ["| network | batch | variant | ours ms | started together | kernels | launches | eager ms | compile ms | graphs ms | compile's over ours | error |", "|---|" + "---|" * 11]
    for n in sorted(networks, key=lambda n: (n["Name"], n["Batch"], n["Variant"])):
        try:
            program = programs[n["Program"]].result()
            error = agreement(program, known, n)
            other = None
            if (n["Name"], n["Type"]) in torch:
                try:
                    other = torch[n["Name"], n["Type"]].result()
                except Exception as e:
                    print("%s: PyTorch: %s" % (n["Program"], e), flush=True)
            row = measure(n, program, other, out)
            cells = ["%.3g" % row[m] if m in row else "-" for m in MODES]
            ratio = "%.2f" % (row["compile"] / row["ours"]) if "compile" in row else "-"
            launches = "%d" % row["launches"] + (" and %d of the processor" % row["host"] if row["host"] else "")
            table.append("| %s | %d | %s | %.3g | %.3g | %.3g | %s | %s | %s | %.0e |" % (
                n["Name"], n["Batch"], n["Variant"], row["ours"], row["stream"], row["kernels"], launches, " | ".join(cells), ratio, error))
            print(table[-1], flush=True)
        except Exception as e:
            print("%s: %s" % (n["Program"], e), flush=True)
    print("\n" + "\n".join(table))
    if file and not os.path.exists(file):
        json.dump(known, open(file, "w"))
    for p in [*torch.values(), *programs.values()]:
        if not p.exception():
            p.result().close()


main()
