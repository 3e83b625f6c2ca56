"""Masks that are chosen again every few training steps.

A mask keeps a pattern of taps in each kernel, and the strongest of all kernels.
"""

import torch

from network import Refused

FIELDS = {"epochs", "every", "grow", "fade", "weights"}
WEIGHT = {"weight", "filter_axis", "groups", "share", "patterns", "kernels"}


def whole(x, low, high):
    return isinstance(x, int) and not isinstance(x, bool) and low <= x <= high


def check(c, epochs):
    """Rejects invalid choices."""
    if not isinstance(c, dict) or set(c) != FIELDS or not isinstance(c["weights"], list) or not c["weights"]:
        raise Refused(f"choices: want an object of {', '.join(sorted(FIELDS))}, with weights to choose of")
    if not (whole(c["every"], 1, 1 << 30) and whole(c["epochs"], 1, epochs) and whole(c["grow"], 0, c["epochs"])):
        raise Refused(f"choices: every {c['every']} steps in {c['epochs']} epochs, growing in {c['grow']}, of {epochs}; want whole numbers, grow <= epochs <= those of the settings")
    if isinstance(c["fade"], bool) or not isinstance(c["fade"], (int, float)) or not 0 <= c["fade"] <= 1:
        raise Refused(f"choices: fade is {c['fade']}; want 0 to 1")
    for w in c["weights"]:
        if not isinstance(w, dict) or set(w) != WEIGHT:
            raise Refused(f"choices: of each of the weights want {', '.join(sorted(WEIGHT))}")


def share(step, grow):
    """Returns the fraction of the kernels to prune that is pruned at a step.

    Most kernels are pruned in the first steps, while there are many to choose from.
    """
    left = 1 - min(1, step / grow) if grow else 0
    return 1 - left ** 3


class Choice:
    """The possible masks of a tensor: its kernels and the patterns of their taps.

    Kernels of `share` consecutive filters are kept or pruned together.
    """

    def __init__(self, w, spec):
        self.axis, groups, together = spec["filter_axis"], spec["groups"], spec["share"]
        if w.dim() < 2 or self.axis not in (0, 1):
            raise Refused(f'choices: weights "{spec["weight"]}" of shape {list(w.shape)} have no filters along axis {self.axis}')
        filters, taps = w.shape[self.axis], w[0, 0].numel()
        if not (whole(groups, 1, filters) and filters % groups == 0 and whole(together, 1, 1 << 16)):
            raise Refused(f'choices: weights "{spec["weight"]}": groups = {groups}, share = {together} for {filters} filters')
        self.patterns = torch.zeros(len(spec["patterns"]), taps, device=w.device)
        for i, pattern in enumerate(spec["patterns"]):
            if not pattern or not all(whole(t, 0, taps - 1) for t in pattern):
                raise Refused(f'choices: weights "{spec["weight"]}": a pattern {pattern} for kernels of {taps} taps')
            self.patterns[i, pattern] = 1
        each = filters // groups
        per = (each + together - 1) // together  # units in a group, for one channel
        f = torch.arange(filters, device=w.device)
        self.unit = f // each * per + f % each // together
        self.units, self.kernels = (groups * per, w.shape[1 - self.axis]), spec["kernels"]
        if len(self.patterns) == 0 or not whole(self.kernels, 1, self.units[0] * self.units[1]):
            raise Refused(f'choices: weights "{spec["weight"]}": {self.kernels} of {self.units[0] * self.units[1]} kernels, and {len(self.patterns)} patterns')

    @torch.no_grad()
    def kept(self, w, gone):
        """Returns the mask of the nearest allowed weights.

        gone is the fraction of the kernels to prune that is pruned now. Among equal kernels the
        first ones are kept.
        """
        x = w.transpose(0, 1) if self.axis else w
        squares = torch.zeros(*self.units, self.patterns.shape[1], device=w.device)
        squares.index_add_(0, self.unit, x.flatten(2).float().square() if x.dim() > 2 else x[..., None].float().square())
        norm, which = (squares @ self.patterns.T).max(2)
        most = norm.numel()
        keep = most - round(gone * (most - self.kernels))
        order = norm.flatten().argsort(descending=True, stable=True)
        stays = torch.zeros(most, device=w.device).index_fill_(0, order[:keep], 1).view(self.units)
        mask = (self.patterns[which] * stays[..., None])[self.unit]
        mask = mask.view(x.shape)
        return mask.transpose(0, 1) if self.axis else mask


class Choices:
    """Weights whose masks are chosen again during training, while all weights are trained.

    The gradients are those at the masked weights, so that a kernel that was pruned by mistake can
    return (Lin et al.: Dynamic Model Pruning with Feedback). Masked weights also decay by a
    quadratic term, which prevents frequent changes of masks (Zhou et al.: Learning N:M Fine-grained
    Structured Sparse Neural Networks From Scratch).
    """

    def __init__(self, spec, find, epochs):
        """Takes a request's choices; find returns the network's weights by name."""
        check(spec, epochs)
        self.epochs, self.every, self.grow, self.fade = spec["epochs"], spec["every"], spec["grow"], spec["fade"]
        self.weights = [find("choices", w["weight"]) for w in spec["weights"]]  # the masked weights of the network
        if len({id(w) for w in self.weights}) < len(self.weights):
            raise Refused("choices: weights that are named twice")
        self.of = [Choice(w, s) for w, s in zip(self.weights, spec["weights"])]
        self.all = [w.detach().clone() for w in self.weights]  # the trained weights
        self.kept = [torch.ones_like(w) for w in self.weights]
        for w in self.all:
            w.requires_grad_()

    def ends(self, steps):
        """Rejects choices whose last mask is chosen while kernels are still being pruned.

        steps is the number of steps in an epoch. Such a mask would keep too many kernels.
        """
        last = (self.epochs * steps - 1) // self.every * self.every
        if last < self.grow * steps:
            raise Refused(f"choices: every {self.every} steps, of {steps} an epoch, the last of {self.epochs} epochs is before step {last}, which is within the {self.grow} "
                          "in which kernels are dropped; want a smaller every, or more epochs")

    def trained(self, w):
        """Returns the tensor that an optimizer changes instead of the network's weights."""
        for mine, a in zip(self.weights, self.all):
            if mine is w:
                return a
        return w

    @torch.no_grad()
    def choose(self, epoch, step, steps):
        """Chooses masks before a step if it is due; steps is the number of steps in an epoch."""
        if epoch < self.epochs and step % self.every == 0:
            for c, w, kept in zip(self.of, self.all, self.kept):
                kept.copy_(c.kept(w, share(step, self.grow * steps)))
            self.apply()

    @torch.no_grad()
    def pass_on(self):
        """Moves the gradients of the network's weights to the trained weights."""
        for w, a in zip(self.weights, self.all):
            a.grad, w.grad = torch.zeros_like(a) if w.grad is None else w.grad, None
        if self.fade:  # for masked weights only
            gradients = [a.grad for a in self.all]
            torch._foreach_add_(gradients, self.all, alpha=self.fade)
            torch._foreach_sub_(gradients, self.weights, alpha=self.fade)

    @torch.no_grad()
    def apply(self):
        """Sets the network's weights to the masked trained weights."""
        torch._foreach_copy_(self.weights, self.all)
        torch._foreach_mul_(self.weights, self.kept)

    def state(self):
        return {"all": [w.detach() for w in self.all], "kept": self.kept}

    @torch.no_grad()
    def restore(self, state):
        for mine, saved in ((self.all, state["all"]), (self.kept, state["kept"])):
            for to, t in zip(mine, saved):
                to.copy_(t)
        self.apply()
