"""cifar10.py on another machine, which has a GPU and PyTorch but no network, in calls of a few
minutes.

    python away.py pack --data=FOLDER --models=FOLDER --dnntrain=PATH [--state FILE ...]
        [--most=34] --parts=PARTS

runs on this machine. It writes the folders PARTS/1, PARTS/2, ..., each at most --most MB large:
CIFAR-10's binary files as WebP sheets, the program, resnet20_cifar10.onnx, the --teachers with
16-bit weights, and the states of an earlier run. The folders may be transferred separately.

    python away.py run --parts=PARTS --work=FOLDER --results=FOLDER [--minutes=8]
        -- ARGUMENTS OF cifar10.py

runs on the other machine. It unpacks all parts to the work folder, unless that exists, and lets
processes share the GPU (nvidia-cuda-mps-control). It runs cifar10.py with these arguments for
--minutes. It leaves at most seven files of at most 16 MB in the results folder: the table
(table.txt), summary.json, logs.tar.gz, and state1.tar to state4.tar with everything that later
runs need. State that does not fit is listed, and trained again later.

If it is called again, it continues from the work folder. On a new machine it continues from the
packed states, if the work folder has the same path there. The states contain finished networks:
NET-admm-SEED/pruned.onnx, pruned.masks and log.json.
"""

import argparse
import glob
import gzip
import os
import shutil
import subprocess
import sys
import tarfile

import numpy
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
MB = 1 << 20
STATES, STATE_MB = 4, 15.5  # number of state files to return, and their maximum size
FLOAT, HALF = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16


def narrowed(model):
    """Returns the model with 16-bit weights for transfer; it must be widened before use."""
    return retyped(model, FLOAT, HALF, numpy.float32, numpy.float16)


def widened(model):
    return retyped(model, HALF, FLOAT, numpy.float16, numpy.float32)


def retyped(model, before, after, have, want):
    for t in model.graph.initializer:
        if t.data_type == before:
            array = onnx.numpy_helper.to_array(t).astype(have, copy=False).astype(want)
            t.CopyFrom(onnx.numpy_helper.from_array(array, t.name))
            assert t.data_type == after
    return model


def divide(files, most):
    """Divides files into lists of at most `most` bytes, unless a single file is larger.

    The largest files come first; each goes to the first list with room for it.
    """
    parts = []
    for path in sorted(files, key=lambda p: (-os.path.getsize(p), p)):
        for part in parts:
            if sum(map(os.path.getsize, part)) + os.path.getsize(path) <= most:
                part.append(path)
                break
        else:
            parts.append([path])
    return parts


def pack(args):
    whole = os.path.join(args.parts, "whole")
    shutil.rmtree(args.parts, ignore_errors=True)
    os.makedirs(whole)
    subprocess.run([sys.executable, os.path.join(HERE, "sheets.py"), "pack", args.data, whole], check=True)
    with open(args.dnntrain, "rb") as program, gzip.open(os.path.join(whole, "dnntrain.gz"), "wb") as small:
        shutil.copyfileobj(program, small)
    shutil.copy(os.path.join(args.models, "resnet20_cifar10.onnx"), whole)
    for name in args.teachers:
        onnx.save(narrowed(onnx.load(os.path.join(args.models, name + "_cifar10.onnx"))), os.path.join(whole, name + "_cifar10.half"))
    for path in args.state:
        shutil.copy(path, whole)
    for i, part in enumerate(divide(glob.glob(os.path.join(whole, "*")), args.most * MB)):
        folder = os.path.join(args.parts, str(i + 1))
        os.makedirs(folder)
        for path in part:
            os.rename(path, os.path.join(folder, os.path.basename(path)))
        print(f"{folder}: {sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)) / MB:.1f} MB")
    os.rmdir(whole)


def unpack(parts, work):
    """Creates the work folder, unless it exists: a run may have continued there."""
    if os.path.exists(os.path.join(work, "ready")):
        return
    sheets, models, out = (os.path.join(work, name) for name in ("sheets", "models", "out"))
    for folder in (sheets, models, out):
        os.makedirs(folder, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(parts, "*", "*"))):
        name = os.path.basename(path)
        if name.endswith(".half"):
            onnx.save(widened(onnx.load(path)), os.path.join(models, name.removesuffix(".half") + ".onnx"))
        elif name.endswith(".gz"):
            with gzip.open(path) as small, open(os.path.join(work, name.removesuffix(".gz")), "wb") as program:
                shutil.copyfileobj(small, program)
        elif name.endswith(".tar"):
            with tarfile.open(path) as tar:
                tar.extractall(out, filter="data")
        else:
            shutil.copy(path, {".onnx": models, ".webp": sheets, ".labels": sheets}.get(os.path.splitext(name)[1], work))
    os.chmod(os.path.join(work, "dnntrain"), 0o755)
    subprocess.run([sys.executable, os.path.join(HERE, "sheets.py"), "unpack", sheets, os.path.join(work, "data")], check=True)
    open(os.path.join(work, "ready"), "w").close()


def needed(out):
    """Lists the files that later runs need and the results; it omits checkpoints of finished jobs.
    """
    for folder, _, files in os.walk(out):
        done = "result.json" in files
        for name in files:
            if not name.endswith(".part") and not (done and name.startswith("checkpoint")):
                yield os.path.join(folder, name)


def gather(out, results):
    """Writes the result files to the results folder."""
    if os.path.exists(os.path.join(out, "summary.json")):
        shutil.copy(os.path.join(out, "summary.json"), results)
    with tarfile.open(os.path.join(results, "logs.tar.gz"), "w:gz") as tar:
        for path in sorted(glob.glob(os.path.join(out, "*", "log.txt"))):
            tar.add(path, os.path.basename(os.path.dirname(path)) + ".txt")
    parts = divide(list(needed(out)), STATE_MB * MB)
    if len(parts) > STATES:
        lost = sorted({os.path.relpath(p, out).split(os.sep)[0] for part in parts[STATES:] for p in part})
        print(f"the state is {len(parts)} files of {STATE_MB} MB, and {STATES} are returned; all or a part of {', '.join(lost)} is left out")
    for i, part in enumerate(parts[:STATES]):
        with tarfile.open(os.path.join(results, f"state{i + 1}.tar"), "w") as tar:
            for path in sorted(part):
                tar.add(path, os.path.relpath(path, out))


def run(args):
    os.makedirs(args.results, exist_ok=True)
    unpack(args.parts, args.work)
    if shutil.which("nvidia-cuda-mps-control"):
        subprocess.run(["nvidia-cuda-mps-control", "-d"], stdin=subprocess.DEVNULL)
    at, out = lambda name: os.path.join(args.work, name), os.path.join(args.work, "out")
    command = [sys.executable, os.path.join(HERE, "cifar10.py"), "--dnntrain", at("dnntrain"), "--data", at("data/cifar10.json"), "--models", at("models"), "--out", out,
               "--minutes", str(args.minutes), *args.arguments]
    with open(os.path.join(args.results, "table.txt"), "w") as table:
        p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in p.stdout:
            print(line, end="", flush=True)
            table.write(line)
            table.flush()
    gather(out, args.results)
    sys.exit(p.wait())


def main():
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    here = commands.add_parser("pack")
    here.add_argument("--data", required=True, help="the folder of CIFAR-10's binary files")
    here.add_argument("--models", required=True)
    here.add_argument("--dnntrain", required=True, help="the program, as built for the other machine")
    here.add_argument("--teachers", nargs="*", default=["vgg16"], help="the other models that go over, NAME of NAME_cifar10.onnx")
    here.add_argument("--state", nargs="*", default=[], metavar="FILE", help="state*.tar of an earlier run")
    here.add_argument("--most", type=float, default=34, metavar="MB", help="of a part")
    here.add_argument("--parts", required=True)
    there = commands.add_parser("run")
    there.add_argument("--parts", required=True)
    there.add_argument("--work", required=True)
    there.add_argument("--results", required=True)
    there.add_argument("--minutes", type=float, default=8)
    args = p.parse_args(arguments[:at])
    args.arguments = arguments[at + 1:]
    {"pack": pack, "run": run}[args.command](args)


if __name__ == "__main__":
    main()
