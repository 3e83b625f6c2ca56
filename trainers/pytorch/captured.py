"""A step of training as one CUDA graph: small networks' steps are otherwise bound by the processor, which launches their kernels one by one."""

import contextlib

import torch

WARM = 3  # steps before the capture: what is allocated and tried out at first must not be captured


class Captured:
    """A function of tensors on a GPU, captured once and replayed: the shapes of its operands stay the same, its result is None."""

    def __init__(self, function, examples, held):
        """Examples are operands. Held are tensors that the function changes in place, as the warm-up must not."""
        self.operands = [torch.empty_like(x).copy_(x) for x in examples]
        self.graph = torch.cuda.CUDAGraph()
        with kept(held):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(WARM):
                    function(*self.operands)
            torch.cuda.current_stream().wait_stream(side)
        # Other threads of this process (of checkpoints, of the data) may call CUDA meanwhile.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            function(*self.operands)

    def __call__(self, *operands):
        for mine, given in zip(self.operands, operands):
            mine.copy_(given)
        self.graph.replay()


@contextlib.contextmanager
def kept(held):
    """Gives tensors back the values that they had. Held is a function that lists them; those that appeared meanwhile become 0, as an optimizer's state
    begins."""
    before = {id(t): (t, t.detach().clone()) for t in held()}
    try:
        yield
    finally:  # after an error training goes on, too, without a graph
        with torch.no_grad():
            for t in held():
                t.copy_(before[id(t)][1]) if id(t) in before else t.zero_()
