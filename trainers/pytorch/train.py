"""A trainer in PyTorch that implements the protocol of docs/trainers.md.

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
    """Prints and flushes a line: a driver stops a trainer that prints nothing for long."""
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
        """Returns a path of the request: absolute, or relative to the folder."""
        return os.path.join(self.folder, name)

    def tensors(self, name):
        """Returns the tensors of a file."""
        try:
            return safetensors.torch.load_file(self.path(name))
        except (OSError, safetensors.SafetensorError) as e:
            raise network.Refused(f"{name}: {e}") from e

    def terms(self):
        """Returns the quadratic terms with their targets."""
        if not self.request["terms"]:
            return []
        targets, out = self.tensors(TERMS), []
        for t in self.request["terms"]:
            if t["target"] not in targets:
                raise network.Refused(f'{TERMS} has no tensor "{t["target"]}", which is the target of a quadratic term of "{t["weight"]}"')
            out.append((t["weight"], t["rho"], targets[t["target"]]))
        return out

    def finish(self, tensors, metrics):
        """Writes the results; the result file comes last."""
        for name, t in tensors.items():
            if not torch.isfinite(t).all():
                raise network.Refused(f'weights "{name}" are not finite; a smaller learning rate may help')
        fit.write(self.path(OUTPUT), lambda part: safetensors.torch.save_file(tensors, part))
        with open(self.path(OUTPUT), "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest()
        result = {"version": VERSION, "request_sha256": self.digest, "output_sha256": digest, "metrics": metrics}
        fit.write(self.path(RESULT), json.dumps(result).encode())


def restore(job, run):
    """Continues from the checkpoint of this request, if it exists."""
    try:
        state = torch.load(job.path(CHECKPOINT), map_location=run.network.device, weights_only=True)
        if state["request"] != job.digest:
            return
        run.restore(state)
    except FileNotFoundError:
        return
    except Exception as e:  # this program wrote the file: if it is damaged, only time is lost
        log(f"{CHECKPOINT} cannot be read ({e}): beginning anew")
        return
    log(f"going on after epoch {run.epoch}")


def suits(teacher, net, train):
    """Rejects a teacher whose logits do not match the network's classes."""
    with torch.no_grad():
        x, _ = train.batch(slice(0, 1))
        has, want = tuple(teacher(x).shape), tuple(net(x).shape)
    if has != want:
        raise network.Refused(f"the teacher has logits of shape {has}; those of the network that learns have {want}")


def teach(args, job, net, train):
    """Returns the source of logits for distillation: the teachers, or with --answers their stored
    answers.
    """
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
    suits(lambda x: known[0, :len(x)], net, train)  # the stored answers may belong to another network
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
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="default: cuda if it is available")
    p.add_argument("--precision", choices=fit.PRECISIONS, default="fp32", help="of training; the accuracy at the end is always computed in fp32")
    p.add_argument("--checkpoint-seconds", type=float, default=30, help="minimum time of training between checkpoints")
    p.add_argument("--test-every", type=int, default=1, metavar="EPOCHS", help="test the accuracy after this many epochs, and at the end")
    p.add_argument("--no-graphs", action="store_true", help="launch each kernel on a GPU, instead of each step as a CUDA graph")
    p.add_argument("--compile", action="store_true", help="compile the network by torch.compile; useful for long jobs")
    p.add_argument("--teacher", metavar="MODEL", action="append",
                   help="the ONNX network to distil from (default: the job's own, as given); with several networks, their mean")
    p.add_argument("--answers", metavar="FOLDER",
                   help="call the teachers only once for each image in each mirrored and moved form, and store the answers in this folder for all trainings")
    p.add_argument("--deterministic", action="store_true", help="compute the same weights from the same job on the same machine")
    p.add_argument("folder", help="the job's folder")
    try:
        serve(p.parse_args())
    except (network.Refused, OSError) as e:
        sys.exit(f"train.py: {e}")


if __name__ == "__main__":
    main()
