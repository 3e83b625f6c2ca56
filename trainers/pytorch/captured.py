"""A training step as one CUDA graph.

Otherwise the processor limits the speed of small networks, because it launches each kernel.
"""

import contextlib

import torch

WARM = 3  # steps before the capture, so that initial allocations and benchmarks are not captured


class Captured:
    """A function of tensors on a GPU, captured once and replayed.

    The shapes of its operands must not change, and it returns None.
    """

    def __init__(self, function, examples, held):
        """Captures the function.

        examples are operands. held is a function that lists the tensors that the function changes
        in place; the warm-up must not change them.
        """
        self.operands = [torch.empty_like(x).copy_(x) for x in examples]
        self.graph = torch.cuda.CUDAGraph()
        with kept(held):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(WARM):
                    function(*self.operands)
            torch.cuda.current_stream().wait_stream(side)
        # Other threads of this process (checkpoints, data) may call CUDA during the capture.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            function(*self.operands)

    def __call__(self, *operands):
        for mine, given in zip(self.operands, operands):
            mine.copy_(given)
        self.graph.replay()


@contextlib.contextmanager
def kept(held):
    """Restores tensors after the with block.

    held is a function that lists the tensors. Tensors that appear inside the block become 0, like
    the initial state of an optimizer.
    """
    before = {id(t): (t, t.detach().clone()) for t in held()}
    try:
        yield
    finally:  # also after an error: training continues without a graph
        with torch.no_grad():
            for t in held():
                t.copy_(before[id(t)][1]) if id(t) in before else t.zero_()
