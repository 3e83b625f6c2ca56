"""Training: the optimizer, quadratic terms and masks, epochs and checkpoints."""

import contextlib
import hashlib
import math
import os
import time

import torch

import average
import captured
import choices
import images
from network import Refused

PRECISIONS = ("fp32", "tf32", "bf16")
TRIED = 10  # minimum number of epochs for which benchmarking convolution algorithms pays
AHEAD = 1 << 28  # bytes of images that are prepared at a time


@contextlib.contextmanager
def precision(name, device):
    """Computes with the named precision in the with block.

    bf16 multiplies and stores in bf16, but keeps weights, sums and the loss in f32.
    """
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name != "fp32"
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=name == "bf16"):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


@contextlib.contextmanager
def untried():
    """Disables the benchmark of convolution algorithms in the with block.

    For a few batches of a size, the benchmark takes longer than it saves.
    """
    before, torch.backends.cudnn.benchmark = torch.backends.cudnn.benchmark, False
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


class Fit:
    """A training that can be interrupted and continued."""

    def __init__(self, network, settings, terms=(), masks=None, how="fp32", teacher=None, graphs=False, forward=None, chosen=None):
        """Prepares a training.

        terms are (weight's name, rho, target). masks are tensors by the weights' names, true for
        elements that are kept. teacher returns the logits for distillation: a network, or a tensor
        of teachers.answers(). graphs requests steps as CUDA graphs. forward is the function that
        calls the network, for example compiled. chosen are a request's choices.
        """
        self.network, self.settings, self.how, self.teacher, self.graphs = network, settings, how, teacher, graphs
        self.forward = forward or network
        self.epoch, self.last, self.began = 0, {"epoch": 0, "loss": 0.0, "accuracy": 0.0}, time.monotonic()
        if settings.get("distillation") and settings["epochs"] and teacher is None:
            raise Refused("settings: distillation wants a teacher")
        self._constrain(terms, masks or {})
        s, device = settings, network.device
        find = lambda what, name: self._find(what, name, None)
        self.choices = choices.Choices(chosen, find, s["epochs"]) if chosen else None
        self._apart()
        both = [*network.weights.values(), *network.statistics.values()]
        if self.choices and s.get("average") and self.choices.epochs >= s["epochs"]:
            raise Refused(f"settings: average: want epochs after the {self.choices.epochs} of the choices, as until then masks change")
        self.average = average.Average(both, s["average"]) if s.get("average") else None
        trained = [self.choices.trained(w) if self.choices else w for w in network.weights.values()]
        self.lr = torch.tensor(s["learning_rate"], device=device)  # a tensor, so that a captured step reads the current value
        self.total = torch.zeros((), device=device)
        decay, rest = [w for w in trained if w.dim() >= 2], [w for w in trained if w.dim() < 2]
        groups = [{"params": decay, "weight_decay": s["weight_decay"]}, {"params": rest, "weight_decay": 0.0}]
        groups, more = [g for g in groups if g["params"]], {"fused": True} if device.type == "cuda" else {}
        if s["optimizer"] == "sgd":
            self.optimizer = torch.optim.SGD(groups, lr=self.lr, momentum=s["momentum"], **more)
        else:
            more.update({"capturable": True} if device.type == "cuda" else {"foreach": False})
            self.optimizer = torch.optim.AdamW(groups, lr=self.lr, betas=(0.9, 0.999), eps=1e-8, **more)

    def _find(self, what, name, tensor):
        w = self.network.weights.get(name)
        if w is None:
            raise Refused(f'{what}: the network has no weights "{name}" to train')
        if tensor is not None and w.shape != tensor.shape:
            raise Refused(f'{what}: shape {list(tensor.shape)} for weights "{name}" of shape {list(w.shape)}')
        return w

    def _constrain(self, terms, masks):
        """Merges the terms of a weight: their gradients sum to sum(rho) * W - sum(rho * target)."""
        self.masked, self.kept, sums = [], [], {}
        for name, mask in masks.items():
            w = self._find("a mask", name, mask)
            self.masked.append(w)
            self.kept.append((mask != 0).to(w.device, w.dtype).contiguous(memory_format=memory_format(w)))
        self._mask()
        for name, rho, target in terms:
            w = self._find("a quadratic term", name, target)
            target = target.to(w.device).contiguous(memory_format=memory_format(w)) * rho
            before = sums.get(name)
            sums[name] = (w, rho, target) if before is None else (w, before[1] + rho, before[2] + target)
        self.pulled = {}  # weights by their sum of rho
        for w, rho, target in sums.values():
            ws, targets = self.pulled.setdefault(rho, ([], []))
            ws.append(w)
            targets.append(target)

    def _apart(self):
        """Rejects weights with choices that also have a mask or quadratic terms."""
        held = [*self.masked, *(w for ws, _ in self.pulled.values() for w in ws)]
        if self.choices and {id(w) for w in held} & {id(w) for w in self.choices.weights}:
            raise Refused("choices: of weights that have a mask or a quadratic term")

    @torch.no_grad()
    def _mask(self):
        if self.masked:
            for w, kept in zip(self.masked, self.kept):  # masked elements become +0, even if they are infinite
                w.masked_fill_(kept == 0, 0)

    def rate(self, step, all):
        """Returns the learning rate of a step; `all` is the total number of steps."""
        s = self.settings
        if s.get("cycles", 0) > 1:
            all //= s["cycles"]
            step %= all
        return s["learning_rate"] * (1 if s["schedule"] == "constant" else 0.5 * (1 + math.cos(math.pi * step / all)))

    def run(self, train, test, save, log, every, tested=1):
        """Trains to the end.

        It saves after an epoch if `every` seconds have passed since the last time. It tests the
        accuracy every `tested` epochs and at the end.
        """
        s = self.settings
        if len(train) < s["batch"]:
            raise Refused(f"{len(train)} images to train with, fewer than a batch of {s['batch']}")
        if self.choices:
            self.choices.ends(len(train) // s["batch"])
        saved, step = time.monotonic(), None
        while self.epoch < s["epochs"]:
            step = step or self._captured(train, log)
            loss = self._epoch(train, step)
            self.epoch += 1
            last, line = self.epoch == s["epochs"], f"epoch {self.epoch} of {s['epochs']}: loss {loss:.4f}"
            self.last = {**self.last, "epoch": self.epoch, "loss": loss}
            if last or self.epoch % tested == 0:
                if last and self.average:
                    self.average.take()
                with self.average.taken() if self.average and not last and not self._choosing() else contextlib.nullcontext():
                    self.last["accuracy"] = self.accuracy(test, "fp32" if last else self.how)
                line += f", accuracy {self.last['accuracy']:.4f}"
            log(f"{line}, {time.monotonic() - self.began:.1f} s")
            if not last and time.monotonic() - saved >= every:
                save(self)
                saved = time.monotonic()
        return self.last

    def _choosing(self):
        return self.choices and self.epoch <= self.choices.epochs

    def _captured(self, train, log):
        """Returns the step, as a CUDA graph if that is requested and the network can be captured.
        """
        if not self.graphs or self.network.device.type != "cuda":
            return self._step
        examples = self._ready(train, torch.arange(self.settings["batch"], device=self.network.device), None)
        try:
            return captured.Captured(self._step, examples, self._changed)
        except RuntimeError as e:
            log(f"steps are not CUDA graphs: {str(e).splitlines()[0]}")
            self.graphs = False
            return self._step

    def _changed(self):
        """Returns all tensors that a step changes."""
        states = [t for state in self.optimizer.state.values() for t in state.values() if isinstance(t, torch.Tensor)]
        own = [*(self.choices.all if self.choices else []), *(self.average.sums if self.average else [])]
        return [*self.network.weights.values(), *self.network.statistics.values(), *states, *own, self.total]

    def _ready(self, train, which, generator):
        """Prepares images, classes and, if they are known, the teachers' logits for steps.

        With a generator the images are mirrored and moved.
        """
        s = self.settings
        x, y = train.batch(which)
        way = torch.zeros_like(y)
        if generator is not None and (s["flip"] or s["crop"]):
            x, way = images.augment(x, s["flip"], s["crop"], generator)
        known = [self.teacher[way, which].float()] if isinstance(self.teacher, torch.Tensor) else []
        return [x.to(torch.bfloat16 if self.how == "bf16" else x.dtype).contiguous(memory_format=self.network.format), y, *known]

    def _epoch(self, train, step):
        s, n = self.settings, len(train) // self.settings["batch"]
        generator = torch.Generator(self.network.device)
        generator.manual_seed(mix(s["seed"], self.epoch, "order"))
        torch.manual_seed(mix(s["seed"], self.epoch, "dropout"))
        order = torch.randperm(len(train), device=self.network.device, generator=generator)
        self.total.zero_()
        if self.average and self.choices and self.epoch == self.choices.epochs:
            self.average.forget()  # from this epoch on the masks do not change, and the average begins
        batches = max(1, AHEAD // (4 * train.pixels[0].numel() * s["batch"]))  # number of batches to prepare at a time
        for first in range(0, n, batches):
            ready = self._ready(train, order[first * s["batch"]: min(first + batches, n) * s["batch"]], generator)
            for i in range(len(ready[0]) // s["batch"]):
                self._before(self.epoch * n + first + i, n)
                step(*(t[i * s["batch"]: (i + 1) * s["batch"]] for t in ready))
        loss = self.total.item() / n
        if not math.isfinite(loss):
            raise Refused(f"the loss is {loss} in epoch {self.epoch + 1}; a smaller learning rate may help")
        return loss

    def _before(self, step, n):
        """Sets values that change from step to step, which a captured step reads; n is the number
        of steps in an epoch.
        """
        self.lr.fill_(self.rate(step, self.settings["epochs"] * n))
        if self.choices:
            self.choices.choose(self.epoch, step, n)
        if self.average:
            self.average.count += 1

    def _loss(self, x, y, wanted=None):
        """Computes the cross entropy; with distillation, a part of the loss compares with the
        teacher's softened outputs.

        wanted are the teacher's logits; if it is None, the teacher is called.
        """
        s = self.settings
        with precision(self.how, self.network.device):
            logits = self.forward(x, training=True)
        logits = logits.float()
        loss = torch.nn.functional.cross_entropy(logits, y, label_smoothing=s["label_smoothing"])
        share, t = s.get("distillation", 0), s.get("temperature", 1)
        if not share:
            return loss
        if wanted is None:
            with torch.no_grad(), precision(self.how, self.network.device):
                wanted = self.teacher(x).float()
        # The divergence times t^2, so that its gradient has the scale of the loss's for any t.
        far = torch.nn.functional.kl_div(torch.log_softmax(logits / t, 1), torch.log_softmax(wanted / t, 1), reduction="batchmean", log_target=True)
        return (1 - share) * loss + share * t * t * far

    def _step(self, x, y, wanted=None):
        """Does one step with the learning rate self.lr, and adds its loss to self.total."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._loss(x, y, wanted)
        loss.backward()
        with torch.no_grad():
            for rho, (ws, targets) in self.pulled.items():
                for w in ws:
                    if w.grad is None:
                        w.grad = torch.zeros_like(w)
                gradients = [w.grad for w in ws]
                torch._foreach_add_(gradients, ws, alpha=rho)
                torch._foreach_sub_(gradients, targets)
        if self.choices:
            self.choices.pass_on()
        self.optimizer.step()
        with torch.no_grad():
            if self.masked:
                torch._foreach_mul_(self.masked, self.kept)
            if self.choices:
                self.choices.apply()
            if self.average:
                self.average.add()
            self.total += loss

    @torch.no_grad()
    @untried()
    def accuracy(self, data, how="fp32", batch=1000):
        """Returns the fraction of images whose class has the largest logit."""
        right = torch.zeros((), device=self.network.device, dtype=torch.int64)
        for at in range(0, len(data), batch):
            x, y = data.batch(slice(at, at + batch), self.network.format)
            with precision(how, self.network.device):
                logits = self.network(x)
            if logits.dim() != 2 or len(logits) != len(x):
                raise Refused(f"the output has shape {list(logits.shape)} for {len(x)} images; want their logits")
            if at == 0 and int(data.classes.max()) >= logits.shape[1]:
                raise Refused(f"an image has class {int(data.classes.max())}; the network has {logits.shape[1]} classes")
            right += (logits.argmax(1) == y).sum()
        return right.item() / len(data)

    def state(self):
        """Returns everything that a training needs to continue."""
        n = self.network
        more = {"choices": self.choices, "average": self.average}
        return {"epoch": self.epoch, "last": self.last, "weights": {k: w.detach() for k, w in n.weights.items()},
                "statistics": n.statistics, "optimizer": self.optimizer.state_dict(), **{k: x.state() for k, x in more.items() if x}}

    @torch.no_grad()
    def restore(self, state):
        """Continues from a state."""
        self.epoch, self.last = state["epoch"], state["last"]
        for mine, saved in ((self.network.weights, state["weights"]), (self.network.statistics, state["statistics"])):
            for name, tensor in mine.items():
                tensor.copy_(saved[name])
        if self.choices:
            self.choices.restore(state["choices"])
        if self.average:
            self.average.restore(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr  # steps read this tensor


def memory_format(w):
    """Returns the memory format of a weight."""
    last = w.dim() == 4 and w.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if last else torch.contiguous_format


def mix(*keys):
    """Returns a seed that is unique to these keys."""
    text = " ".join(map(str, keys)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little") >> 1


def write(path, content):
    """Writes a file atomically; content is bytes, or a function that writes a file with a given
    name.
    """
    part = path + ".part"
    if callable(content):
        content(part)
    else:
        with open(part, "wb") as f:
            f.write(content)
    with open(part, "rb+") as f:
        os.fsync(f.fileno())
    os.replace(part, path)
