"""Prunes the CIFAR-10 networks by ADMM and compares them with dense networks of equal training
time. Several seeds run at once on one GPU.

    python cifar10.py --dnntrain=PATH --data=cifar10.json --models=FOLDER --out=FOLDER
        [--nets vgg16 resnet20 ...] [--seeds 1 2 3]

--models has vgg16_cifar10.onnx and resnet20_cifar10.onnx. The plans vgg16_taught, resnet20_steps,
resnet20_choose and resnet20_night use the same networks. With --kinds=again a second dense network
is trained from the start and distilled from the first one, like the pruned networks of
vgg16_taught.

Each run has a folder in --out with logs, checkpoints and results. If the program is stopped, by
--minutes or otherwise, the same command continues and skips finished runs. It ends with a table,
and with summary.json and the pruned networks in --out.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DONE = "done.json"  # in a run's folder: the command that has finished

COMMON = {"schedule": "cosine", "optimizer": "sgd", "momentum": 0.9, "weight_decay": 5e-4, "label_smoothing": 0, "flip": True, "crop": 4,
          "distillation": 0.5, "temperature": 4}
POLICIES = os.path.join(HERE, "policies")
NETS = {
    "vgg16": {
        "pruning": {"patterns": 8, "connectivity": 3.6}, "policy": os.path.join(POLICIES, "vgg16_cifar10.star"),
        "iterations": 5, "steps": 0, "epochs": 3, "retrain": 85, "rho": 0.01, "growth": 3, "most": 1,
        "admm": {"batch": 512, "learning_rate": 0.02}, "tune": {"batch": 512, "learning_rate": 0.1},
    },
    "vgg16_taught": {  # like vgg16, but distilled from the dense network of the same seed, trained for the same time
        "model": "vgg16", "teacher": "dense", "pruning": {"patterns": 8, "connectivity": 3.6}, "policy": os.path.join(POLICIES, "vgg16_cifar10.star"),
        "iterations": 5, "steps": 0, "epochs": 3, "retrain": 85, "rho": 0.01, "growth": 3, "most": 1,
        "admm": {"batch": 512, "learning_rate": 0.02}, "tune": {"batch": 512, "learning_rate": 0.1},
    },
    "resnet20": {
        "pruning": {"patterns": 8, "connectivity": 2}, "policy": os.path.join(POLICIES, "resnet20_cifar10.star"),
        "iterations": 6, "steps": 0, "epochs": 3, "retrain": 130, "rho": 0.01, "growth": 3, "most": 1,
        "admm": {"batch": 256, "learning_rate": 0.02}, "tune": {"batch": 256, "learning_rate": 0.1, "distillation": 0.7},
    },
    "resnet20_steps": {  # without ADMM: a few kernels are pruned at a time
        "model": "resnet20", "teacher": "vgg16", "pruning": {"patterns": 8, "connectivity": 2, "set": "layer"}, "policy": os.path.join(POLICIES, "resnet20_cifar10_steps.star"),
        "iterations": 0, "steps": 4, "epochs": 15, "retrain": 140, "rho": 0.01, "growth": 3, "most": 1,
        "admm": {"batch": 256, "learning_rate": 0.1, "distillation": 0.7}, "tune": {"batch": 256, "learning_rate": 0.1, "distillation": 0.7},
    },
    "resnet20_choose": {  # masks are chosen every 16 steps during the first three quarters
        "model": "resnet20", "teacher": "vgg16", "pruning": {"patterns": 8, "connectivity": 2, "set": "layer"}, "policy": os.path.join(POLICIES, "resnet20_cifar10_steps.star"),
        "iterations": 0, "steps": 0, "epochs": 0, "retrain": 120, "choose": 90, "every": 16, "fade": 0.005, "rho": 0.01, "growth": 3, "most": 1,
        "admm": {"batch": 256, "learning_rate": 0.1, "distillation": 0.7}, "tune": {"batch": 256, "learning_rate": 0.1, "distillation": 0.7, "average": 0.999},
    },
    "resnet20_night": {  # a training that the built-in trainer can do in a night
        "model": "resnet20", "pruning": {"patterns": 8, "connectivity": 1.9, "set": "layer"}, "policy": os.path.join(POLICIES, "resnet20_cifar10_night.star"),
        "iterations": 0, "steps": 2, "epochs": 2, "retrain": 18, "rho": 0.01, "growth": 3, "most": 1,
        "admm": {"batch": 384, "learning_rate": 0.05, "distillation": 0.7}, "tune": {"batch": 384, "learning_rate": 0.1, "distillation": 0.7, "cycles": 2},
    },
}


class Work:
    """One training: a network and a seed, dense or pruned."""

    def __init__(self, args, net, seed, kind):
        self.net, self.seed, self.kind, self.plan = net, seed, kind, args.plans[net]
        self.folder = os.path.join(args.out, f"{net}-{kind}-{seed}")
        self.process, self.began, self.status = None, None, "waits"
        self.args = args

    def command(self):
        a, p = self.args, self.plan
        common = ["-model", self.onnx(p.get("model", self.net)), "-data", a.data, "-folder", self.folder, "-patience", "5m"]
        tune = {**COMMON, **p["tune"], "seed": self.seed}
        if self.kind != "admm":
            epochs = (p["iterations"] + p["steps"]) * p["epochs"] + p["retrain"]
            own = ["fit", *common, "-settings", json.dumps({**tune, "epochs": epochs})]
        else:
            own = ["admm", *common, "-pruning", json.dumps(p["pruning"]), "-settings", json.dumps({**COMMON, **p["admm"], "seed": 1000 * self.seed}),
                   "-retrain-settings", json.dumps(tune)]
            for name in ("iterations", "steps", "epochs", "retrain", "choose", "every", "fade", "rho", "growth", "most"):
                own += ["-" + name, str(p[name])] if name in p else []
            if p["policy"]:
                own += ["-policy", os.path.abspath(p["policy"])]
        teachers = ["--teacher=" + path for path in self.teachers()]
        return [a.dnntrain, *own, "--", sys.executable, os.path.join(HERE, "train.py"), *a.trainer, *teachers]

    def needs(self):
        """Returns the training that must end before this one starts, (network, kind, seed), or
        None.
        """
        return (self.net, "dense", self.seed) if self.kind == "again" or self.kind == "admm" and self.plan.get("teacher") == "dense" else None

    def teachers(self):
        """Returns the networks to distil from; an empty list means the trained network, as given.
        """
        if self.needs():
            return [os.path.join(self.args.out, "{}-{}-{}".format(*self.needs()), "trained.onnx")]
        others = self.plan.get("teacher", "dense")
        return [] if others == "dense" else [self.onnx(name) for name in others.split()]

    def onnx(self, network):
        return os.path.join(self.args.models, network + "_cifar10.onnx")

    def finished(self):
        """Reports whether the same command has already finished."""
        try:
            with open(os.path.join(self.folder, DONE)) as f:
                return json.load(f) == self.command()
        except (OSError, ValueError):
            return False

    def start(self):
        """Starts the training, unless it has finished."""
        if self.finished():
            self.status = "done"
            return
        os.makedirs(self.folder, exist_ok=True)
        log = open(os.path.join(self.folder, "log.txt"), "ab")
        # PyTorch's own thread pool has no work on a GPU.
        env = {"OMP_NUM_THREADS": "1", **os.environ}
        self.process, self.began, self.status = subprocess.Popen(self.command(), stdout=log, stderr=log, env=env), time.monotonic(), "runs"

    def poll(self):
        code = self.process.poll()
        if code is not None:
            self.status = "done" if code == 0 else "FAILED"
            if code == 0:
                with open(os.path.join(self.folder, DONE), "w") as f:
                    json.dump(self.command(), f)
            took = time.monotonic() - self.began
            print(f"{self.net} {self.kind} seed {self.seed}: {self.status} after {took:.0f} s: {self.last()}", flush=True)

    def last(self):
        """Returns the last line of the log."""
        try:
            with open(os.path.join(self.folder, "log.txt"), errors="replace") as f:
                lines = [line for line in f.read().splitlines() if line.strip()]
            return lines[-1] if lines else ""
        except OSError:
            return ""

    def result(self):
        """Returns the result of the training."""
        if self.kind != "admm":
            with open(os.path.join(self.folder, "fit", "result.json")) as f:
                return {"after": json.load(f)["metrics"]["accuracy"]}
        with open(os.path.join(self.folder, "log.json")) as f:
            log = json.load(f)
        out = {name: log[name]["accuracy"] for name in ("before", "projected", "after")}
        out["times"] = sum(x["weights"] for x in log["layers"]) / sum(x["kept_weights"] for x in log["layers"])
        of = lambda i, key: statistics.mean(x[key] for x in log["residuals"] if x["iteration"] == i and x[key] > 0)
        last = max((x["iteration"] for x in log["residuals"]), default=0)
        out["residuals"] = {key: [of(i, key) for i in range(1, last + 1)] for key in ("patterns", "connectivity")}
        return out


def run(works, parallel, deadline, every=60):
    """Runs all works, at most `parallel` at a time; stops running ones at the deadline."""
    waiting, running, shown = list(works), [], time.monotonic()
    of = {(w.net, w.kind, w.seed): w for w in works}
    while waiting or running:
        ready = [w for w in waiting if not w.needs() or w.needs() in of and of[w.needs()].status == "done"]
        for w in ready[:parallel - len(running)]:
            waiting.remove(w)
            w.start()
            running += [w] if w.status == "runs" else []
        if not ready and not running:
            break  # the works that they wait for have failed
        time.sleep(0.2)
        for w in running:
            w.poll()
        running = [w for w in running if w.status == "runs"]
        if time.monotonic() > deadline:
            for w in running:
                w.process.send_signal(signal.SIGTERM)  # dnntrain stops its trainer
            for w in running:
                w.process.wait()
                w.status = "stopped"
            break
        if time.monotonic() - shown > every:
            shown = time.monotonic()
            for w in running:
                print(f"  {w.net} {w.kind} seed {w.seed}: {w.last()}", flush=True)


def table(works, args):
    """Prints the results of all works."""
    summary = {"plans": args.plans, "runs": []}
    for net in args.nets:
        print(f"\n{net}: {json.dumps(args.plans[net])}")
        again = "again" in args.kinds
        print("seed  before   dense " + "  again " * again + " pruned    lost  projected  fewer weights  |W-Z|/|W| and |W-Y|/|W| by iteration")
        lost = []
        for seed in args.seeds:
            of = {w.kind: w for w in works if w.net == net and w.seed == seed}
            done = {kind: w.result() if w.status == "done" else {} for kind, w in of.items()}
            dense, pruned = done.get("dense", {}), done.get("admm", {})
            percent = lambda x: f"{100 * x:6.2f}" if x is not None else "     -"
            difference = dense["after"] - pruned["after"] if dense and pruned else None
            if difference is not None:
                lost.append(100 * difference)
            steps = ["/".join(f"{100 * x:.1f}%" for x in pair) for pair in zip(*pruned["residuals"].values())] if pruned else []
            second = f"  {percent(done.get('again', {}).get('after'))}" if again else ""
            print(f"{seed:4}  {percent(pruned.get('before'))}  {percent(dense.get('after'))}{second}  {percent(pruned.get('after'))}  {percent(difference)}"
                  f"     {percent(pruned.get('projected'))}  {pruned.get('times', 0):12.2f}x  {' '.join(steps)}")
            summary["runs"].append({"net": net, "seed": seed, "dense": dense, "pruned": pruned, **({"again": done.get("again", {})} if again else {})})
        if lost:
            print(f"lost points: mean {statistics.mean(lost):.2f}, worst {max(lost):.2f} of {len(lost)} seeds")
    with open(os.path.join(args.out, "summary.json"), "w") as f:
        json.dump(summary, f, indent=1)
        f.write("\n")


def keep(works, args):
    """Collects small copies of the results of pruned runs."""
    os.makedirs(args.keep, exist_ok=True)
    shutil.copy(os.path.join(args.out, "summary.json"), args.keep)
    with tarfile.open(os.path.join(args.keep, "logs.tar.gz"), "w:gz") as tar:
        for w in works:
            if os.path.exists(os.path.join(w.folder, "log.txt")):
                tar.add(os.path.join(w.folder, "log.txt"), os.path.basename(w.folder) + ".txt")
    for w in works:
        if w.kind != "admm" or w.status != "done":
            continue
        with tarfile.open(os.path.join(args.keep, f"{w.net}-{w.seed}.tar.gz"), "w:gz", compresslevel=6) as tar:
            for file in ("log.json", "pruned.onnx", "pruned.masks"):
                tar.add(os.path.join(w.folder, file), file)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dnntrain", required=True, help="the program")
    p.add_argument("--data", required=True, help="the JSON file that describes the images")
    p.add_argument("--models", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--nets", nargs="+", default=["vgg16", "resnet20"], metavar="NET", help=f"plans: some of {', '.join(NETS)} and those of --plan")
    p.add_argument("--plan", nargs="*", default=[], metavar="NAME=NET", help="further plans: copies of existing ones, which --set can change")
    p.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    p.add_argument("--kinds", nargs="+", default=["admm", "dense"], choices=["admm", "dense", "again"])
    p.add_argument("--parallel", type=int, default=12, help="maximum number of trainings at a time")
    p.add_argument("--minutes", type=float, default=1e6, help="stop after this time; the same command continues")
    p.add_argument("--keep", help="folder for small copies of the results")
    p.add_argument("--set", nargs="*", default=[], metavar="NET.KEY=JSON", help='other settings, for example resnet20.retrain=20 or vgg16.tune.learning_rate=0.1')
    p.add_argument("--trainer", type=shlex.split, default="--precision=bf16 --compile --test-every=5 --checkpoint-seconds=10", help="options of train.py")
    args = p.parse_args()
    plans = dict(NETS)
    for text in args.plan:
        name, _, of = text.partition("=")
        if of not in NETS or name in NETS:
            p.error(f"--plan: {text}: want NAME=NET, a new name and one of {', '.join(NETS)}")
        plans[name] = {"model": of, **NETS[of]}
    if unknown := set(args.nets) - set(plans):
        p.error(f"--nets: {', '.join(sorted(unknown))}: want some of {', '.join(plans)}")
    args.plans = {net: json.loads(json.dumps(plans[net])) for net in args.nets}
    for text in args.set:
        path, value = text.split("=", 1)
        net, *keys = path.split(".")
        at = args.plans.get(net, {})
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = json.loads(value)
    for name in ("dnntrain", "data", "models", "out"):
        setattr(args, name, os.path.abspath(getattr(args, name)))
    works = [Work(args, net, seed, kind) for kind in args.kinds for net in args.nets for seed in args.seeds]
    began = time.monotonic()
    run(works, args.parallel, began + 60 * args.minutes)
    table(works, args)
    if args.keep:
        keep(works, args)
    print(f"{time.monotonic() - began:.0f} s")
    left = [w for w in works if w.status != "done"]
    for w in left:
        print(f"{w.status}: {w.net} {w.kind} seed {w.seed}: {w.last()}")
    sys.exit(3 if left else 0)


if __name__ == "__main__":
    main()
