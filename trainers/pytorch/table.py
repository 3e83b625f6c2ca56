"""The table of differentiable operators: a builder by name, which makes a function of a node's
operands from its attributes.

A builder takes the attributes that it supports from spec.attributes; any that remain are rejected.
The first argument of a function is the run, which has the mode; the operands follow, and None
stands for missing ones. Integers (shapes, axes, indices) stay on the processor.
"""

TABLE = {}


class Unsupported(Exception):
    """A variant of an operator that this trainer does not support."""


class Spec:
    """A node's operator, opset version, attributes and names of operands and results."""

    def __init__(self, op, opset, attributes, inputs, outputs):
        self.op, self.opset, self.attributes, self.inputs, self.outputs = op, opset, attributes, inputs, outputs

    def take(self, name, default=None):
        """Removes and returns an attribute; removed attributes count as supported."""
        value = self.attributes.pop(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def only(self, name, *values):
        """Returns an attribute; only these values are supported, and the first is the default."""
        value = self.take(name, values[0])
        if value not in values:
            raise Unsupported(f"{name} = {value!r}; supported are {', '.join(map(repr, values))}")
        return value

    def one_result(self):
        """Rejects nodes with more than one result."""
        if len(self.outputs) > 1:
            raise Unsupported(f"results besides the first ({', '.join(self.outputs[1:])}) are not supported")


class Run:
    """The state of a run that functions see."""

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
    """Returns an integer tensor as a list."""
    return [int(x) for x in tensor.reshape(-1).tolist()]


def like(x, value):
    """Returns an operand on the device of x."""
    return value.to(x.device) if value.device != x.device else value
