"""A trainer in PyTorch that speaks the protocol of docs/trainers.md.

    python train.py [--device=cuda] [--precision=bf16] FOLDER

runs the job in FOLDER. It needs the packages torch, numpy, onnx and safetensors.
"""

import argparse
import hashlib
import json
import os
import sys

import safetensors
import safetensors.torch
import torch

import fit
import images
import network
import settings
import teachers

VERSION = 1
REQUEST, WEIGHTS, TERMS, MASKS = "request.json", "weights.safetensors", "terms.safetensors", "masks.safetensors"
OUTPUT, RESULT, CHECKPOINT = "output.safetensors", "result.json", "checkpoint.pt"
FIELDS = {"version", "model", "data", "settings", "terms", "masks", "workers"}


def log(text):
    """Prints a line at once: a driver stops a trainer that prints nothing for long."""
    print(text, flush=True)


class Job:
    """The request in a folder, and its files."""

    def __init__(self, folder):
        self.folder = folder
        with open(self.path(REQUEST), "rb") as f:
            content = f.read()
        self.digest = hashlib.sha256(content).hexdigest()
        try:
            self.request = json.loads(content)
            version = self.request["version"]
        except (ValueError, KeyError, TypeError) as e:
            raise network.Refused(f"{REQUEST}: want a JSON object with a version: {e!r}") from e
        if version != VERSION:
            raise network.Refused(f"{REQUEST} is of version {version} of the protocol; this trainer has version {VERSION}")
        if set(self.request) - {"choices"} != FIELDS:
            wrong = (set(self.request) - {"choices"}) ^ FIELDS
            raise network.Refused(f"{REQUEST}: {', '.join(sorted(wrong))}: want {', '.join(sorted(FIELDS))}, perhaps choices, and no others")
        settings.check(self.request["settings"])

    def path(self, name):
        """A path of the request: absolute, or relative to the folder."""
        return os.path.join(self.folder, name)

    def tensors(self, name):
        """The tensors of a file."""
        try:
            return safetensors.torch.load_file(self.path(name))
        except (OSError, safetensors.SafetensorError) as e:
            raise network.Refused(f"{name}: {e}") from e

    def terms(self):
        """Quadratic terms, with their targets."""
        if not self.request["terms"]:
            return []
        targets, out = self.tensors(TERMS), []
        for t in self.request["terms"]:
            if t["target"] not in targets:
                raise network.Refused(f'{TERMS} has no tensor "{t["target"]}", which is the target of a quadratic term of "{t["weight"]}"')
            out.append((t["weight"], t["rho"], targets[t["target"]]))
        return out

    def finish(self, tensors, metrics):
        """Writes what came of it, the result last."""
        for name, t in tensors.items():
            if not torch.isfinite(t).all():
                raise network.Refused(f'weights "{name}" are not finite; a smaller learning rate may help')
        fit.write(self.path(OUTPUT), lambda part: safetensors.torch.save_file(tensors, part))
        with open(self.path(OUTPUT), "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        result = {"version": VERSION, "request_sha256": self.digest, "output_sha256": digest, "metrics": metrics}
        fit.write(self.path(RESULT), json.dumps(result).encode())


def restore(job, run):
    """Goes on from the checkpoint of this request, if there is one."""
    try:
        state = torch.load(job.path(CHECKPOINT), map_location=run.network.device, weights_only=True)
        if state["request"] != job.digest:
            return
        run.restore(state)
    except FileNotFoundError:
        return
    except Exception as e:  # it is this program's own file: if it is damaged, nothing is lost but time
        log(f"{CHECKPOINT} cannot be read ({e}): beginning anew")
        return
    log(f"going on after epoch {run.epoch}")


def suits(teacher, net, train):
    """Refuses a teacher whose logits are not those of the network's classes."""
    with torch.no_grad():
        x, _ = train.batch(slice(0, 1))
        has, want = tuple(teacher(x).shape), tuple(net(x).shape)
    if has != want:
        raise network.Refused(f"the teacher has logits of shape {has}; those of the network that learns have {want}")


def teach(args, job, net, train):
    """What gives the logits that distillation wants: the teachers, or with --answers what they have said."""
    paths, s = args.teacher or [job.path(job.request["model"])], job.request["settings"]

    def asked():
        networks = [network.Network(path, {}, net.device) for path in paths]
        for n in networks:
            suits(n, net, train)
        return teachers.Teachers([torch.compile(n.__call__, dynamic=False) for n in networks] if args.compile and s["epochs"] >= fit.TRIED else networks)

    if not args.answers:
        return asked()
    of = {"teachers": [teachers.digest(path) for path in paths], "data": train.digest(), "flip": s["flip"], "crop": s["crop"], "precision": args.precision}
    known = teachers.kept(args.answers, of, lambda: teachers.answers(asked(), train, s["flip"], s["crop"], args.precision, net.format), log).to(net.device)
    suits(lambda x: known[0, :len(x)], net, train)  # they may have been asked for another network
    return known


def serve(args):
    """Runs the job in a folder."""
    job = Job(args.folder)
    request, settings = job.request, job.request["settings"]
    if request["workers"] > 0:
        torch.set_num_threads(request["workers"])
    device = torch.device(args.device)
    torch.backends.cudnn.benchmark = settings["epochs"] >= fit.TRIED and not args.deterministic
    if args.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    log(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name(device) if device.type == 'cuda' else 'the processor'}, {args.precision}")
    net = network.Network(job.path(request["model"]), job.tensors(WEIGHTS), device, channels_last=device.type == "cuda")
    train, test = images.load(request["data"], job.folder, device)
    teacher = teach(args, job, net, train) if settings.get("distillation") and settings["epochs"] else None
    forward = net
    if args.compile and settings["epochs"] >= fit.TRIED:
        forward = torch.compile(net.__call__, dynamic=False)
    run = fit.Fit(net, settings, job.terms(), job.tensors(MASKS) if request["masks"] else None, args.precision, teacher, not args.no_graphs, forward,
                  request.get("choices"))
    if settings["epochs"] == 0:
        metrics = {"epoch": 0, "loss": 0.0, "accuracy": run.accuracy(test)}
    else:
        restore(job, run)
        save = lambda r: fit.write(job.path(CHECKPOINT), lambda part: torch.save({"request": job.digest, **r.state()}, part))
        metrics = run.run(train, test, save, log, args.checkpoint_seconds, args.test_every)
    job.finish(net.tensors(), metrics)


def main():
    p = argparse.ArgumentParser(description="Trains a network as docs/trainers.md describes.")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="default: cuda where there is one")
    p.add_argument("--precision", choices=fit.PRECISIONS, default="fp32", help="of training; accuracy at the end is always that of fp32")
    p.add_argument("--checkpoint-seconds", type=float, default=30, help="how long to train at least between checkpoints")
    p.add_argument("--test-every", type=int, default=1, metavar="EPOCHS", help="how often to test the accuracy; at the end it is tested in any case")
    p.add_argument("--no-graphs", action="store_true", help="launch kernels one by one on a GPU, instead of each step as a CUDA graph")
    p.add_argument("--compile", action="store_true", help="compile the network by torch.compile, for jobs that are long enough for it")
    p.add_argument("--teacher", metavar="MODEL", action="append",
                   help="the ONNX network whose logits distillation wants (default: the job's own, as given); of several it is the mean")
    p.add_argument("--answers", metavar="FOLDER",
                   help="ask teachers but once for every image, mirrored and moved in every way, and keep it in this folder for all trainings")
    p.add_argument("--deterministic", action="store_true", help="the same weights from the same job on the same machine")
    p.add_argument("folder", help="of the job")
    try:
        serve(p.parse_args())
    except (network.Refused, OSError) as e:
        sys.exit(f"train.py: {e}")


if __name__ == "__main__":
    main()
