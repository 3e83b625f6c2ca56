"""The table of differentiable operators: by name, what makes of a node's attributes a function of its operands.

A builder takes what it knows from spec.attributes; what it leaves there is refused. Functions get the run first, which says
whether it is one of training, then the operands, None for those that are left out. Whole numbers (shapes, axes, indices) stay on the processor.
"""

TABLE = {}


class Unsupported(Exception):
    """A variant of an operator that there is none of here."""


class Spec:
    """A node's operator, opset version, attributes and names of operands and results."""

    def __init__(self, op, opset, attributes, inputs, outputs):
        self.op, self.opset, self.attributes, self.inputs, self.outputs = op, opset, attributes, inputs, outputs

    def take(self, name, default=None):
        """An attribute, which counts as understood."""
        value = self.attributes.pop(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def only(self, name, *values):
        """An attribute of which only some values are supported, the default first."""
        value = self.take(name, values[0])
        if value not in values:
            raise Unsupported(f"{name} = {value!r}; supported are {', '.join(map(repr, values))}")
        return value

    def one_result(self):
        """Refuses further results."""
        if len(self.outputs) > 1:
            raise Unsupported(f"results besides the first ({', '.join(self.outputs[1:])}) are not supported")


class Run:
    """What functions know of a run."""

    def __init__(self, training):
        self.training = training


def operator(*names):
    """Registers a builder."""

    def add(build):
        for name in names:
            TABLE[name] = build
        return build

    return add


def numbers(tensor):
    """A tensor of whole numbers as a list."""
    return [int(x) for x in tensor.reshape(-1).tolist()]


def like(x, value):
    """An operand moved to where x lies."""
    return value.to(x.device) if value.device != x.device else value
