"""The moving average of weights and statistics over the steps of training."""

import contextlib

import torch


class Average:
    """An exponential moving average of tensors that steps change in place. It begins with the first step: that it began as 0 is divided out."""

    def __init__(self, tensors, decay):
        self.tensors, self.decay = tensors, decay
        self.sums, self.count = [torch.zeros_like(t, requires_grad=False) for t in tensors], 0

    @torch.no_grad()
    def add(self):
        """After each step. It counts no steps, since it may be part of a CUDA graph: whoever asks for steps counts them."""
        torch._foreach_lerp_(self.sums, [t.detach() for t in self.tensors], 1 - self.decay)

    @torch.no_grad()
    def forget(self):
        """Begins anew."""
        self.count = 0
        torch._foreach_zero_(self.sums)

    @torch.no_grad()
    def take(self):
        """Gives the tensors the averages."""
        if self.count:
            for t, s in zip(self.tensors, self.sums):
                t.copy_(s / (1 - self.decay ** self.count))

    @contextlib.contextmanager
    def taken(self):
        """The tensors are the averages meanwhile."""
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
