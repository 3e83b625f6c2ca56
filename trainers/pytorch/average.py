"""The moving average of weights and statistics over the steps of training."""

import contextlib

import torch


class Average:
    """An exponential moving average of tensors that steps change in place.

    It begins with the first step: the bias from its initial zeros is divided out.
    """

    def __init__(self, tensors, decay):
        self.tensors, self.decay = tensors, decay
        self.sums, self.count = [torch.zeros_like(t, requires_grad=False) for t in tensors], 0

    @torch.no_grad()
    def add(self):
        """Adds the tensors after a step.

        It does not count steps, because it may be part of a CUDA graph; the caller increments
        count.
        """
        torch._foreach_lerp_(self.sums, [t.detach() for t in self.tensors], 1 - self.decay)

    @torch.no_grad()
    def forget(self):
        """Restarts the average."""
        self.count = 0
        torch._foreach_zero_(self.sums)

    @torch.no_grad()
    def take(self):
        """Sets the tensors to their averages."""
        if self.count:
            for t, s in zip(self.tensors, self.sums):
                t.copy_(s / (1 - self.decay ** self.count))

    @contextlib.contextmanager
    def taken(self):
        """Sets the tensors to their averages inside the with block, and restores them afterwards.
        """
        before = [t.detach().clone() for t in self.tensors]
        self.take()
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_([t.detach() for t in self.tensors], before)

    def state(self):
        return {"sums": self.sums, "count": self.count}

    @torch.no_grad()
    def restore(self, state):
        self.count = state["count"]
        torch._foreach_copy_(self.sums, state["sums"])
