"""The table of differentiable operators: elementwise operators, products and reductions are here,
the others in layers and shapes.
"""

import math

import torch
import torch.nn.functional as F

import layers  # noqa: F401  rows of the table
import shapes  # noqa: F401
from table import TABLE, Run, Spec, Unsupported, like, numbers, operator  # noqa: F401  the other names are for readers of the table

# Elementwise operators with one operand, by PyTorch's functions.
for _name, _function in {
    "Abs": torch.abs, "Exp": torch.exp, "Log": torch.log, "Neg": torch.neg, "Reciprocal": torch.reciprocal, "Sqrt": torch.sqrt,
    "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Relu": F.relu, "Softplus": F.softplus, "Softsign": F.softsign, "HardSwish": F.hardswish,
    "Mish": F.mish, "Sin": torch.sin, "Cos": torch.cos, "Erf": torch.erf, "Identity": lambda x: x,
}.items():
    TABLE[_name] = lambda spec, function=_function: lambda run, x: function(x)


def binary(function):
    """Returns a builder for an operator of two operands with broadcasting."""

    def build(spec):
        if spec.opset < 7 and spec.attributes:
            raise Unsupported("broadcasting of opset 6 and older is not supported: convert the model to a newer opset")

        def apply(run, a, b):
            if a.device != b.device:  # one is a constant of the graph
                a, b = (like(b, a), b) if a.dim() == 0 or b.device.type != "cpu" else (a, like(a, b))
            return function(a, b)

        return apply

    return build


def divide(a, b):
    """ONNX's Div, which truncates for integers."""
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


for _name, _function in {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": divide, "Pow": torch.pow}.items():
    TABLE[_name] = binary(_function)


def variadic(function):
    """Returns a builder for an operator of any number of operands."""

    def build(spec):
        def apply(run, *all):
            out = all[0]
            for x in all[1:]:
                out = function(out, x)
            return out / len(all) if spec.op == "Mean" else out

        return apply

    return build


for _name, _function in {"Sum": torch.add, "Mean": torch.add, "Max": torch.maximum, "Min": torch.minimum}.items():
    TABLE[_name] = variadic(_function)


def parametric(function, **defaults):
    """Returns a builder for an activation with numbers as attributes."""

    def build(spec):
        values = {name: float(spec.take(name, value)) for name, value in defaults.items()}
        return lambda run, x: function(x, **values)

    return build


SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
for _name, _build in {
    "LeakyRelu": parametric(lambda x, alpha: F.leaky_relu(x, alpha), alpha=0.01),
    "Elu": parametric(lambda x, alpha: torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0))), alpha=1),
    "Celu": parametric(lambda x, alpha: F.celu(x, alpha), alpha=1),
    "Selu": parametric(
        lambda x, alpha, gamma: gamma * torch.where(x > 0, x, alpha * torch.expm1(x.clamp(max=0))), alpha=SELU_ALPHA, gamma=SELU_GAMMA),
    "HardSigmoid": parametric(lambda x, alpha, beta: (alpha * x + beta).clamp(0, 1), alpha=0.2, beta=0.5),
    "ThresholdedRelu": parametric(lambda x, alpha: torch.where(x > alpha, x, torch.zeros_like(x)), alpha=1),
    "Swish": parametric(lambda x, alpha: x * torch.sigmoid(alpha * x), alpha=1),
}.items():
    TABLE[_name] = _build


@operator("Gelu")
def gelu(spec):
    how = spec.only("approximate", "none", "tanh")
    return lambda run, x: F.gelu(x, approximate=how)


@operator("PRelu")
def prelu(spec):
    return lambda run, x, slope: torch.where(x < 0, x * slope, x)


@operator("Clip")
def clip(spec):
    if spec.opset < 11:
        low, high = spec.take("min", -math.inf), spec.take("max", math.inf)
        return lambda run, x: x.clamp(low, high)

    def apply(run, x, low=None, high=None):
        if low is None and high is None:
            return x
        return x.clamp(None if low is None else low.item(), None if high is None else high.item())

    return apply


@operator("Dropout")
def dropout(spec):
    """Drops elements in training, whatever mode the exporter set in the node."""
    spec.take("seed")
    spec.one_result()
    ratio = spec.take("ratio", 0.5)

    def apply(run, x, given=None, mode=None):
        return F.dropout(x, ratio if given is None else given.item(), run.training)

    return apply


@operator("Softmax", "LogSoftmax")
def softmax(spec):
    axis = spec.take("axis", -1 if spec.opset >= 13 else 1)
    function = torch.softmax if spec.op == "Softmax" else torch.log_softmax

    def apply(run, x):
        if spec.opset >= 13:
            return function(x, axis)
        return function(x.flatten(axis % x.dim()).reshape(*x.shape[: axis % x.dim()], -1), -1).reshape(x.shape)

    return apply


@operator("MatMul")
def matmul(spec):
    return lambda run, a, b: torch.matmul(a, b)


@operator("Gemm")
def gemm(spec):
    alpha, beta = spec.take("alpha", 1.0), spec.take("beta", 1.0)
    left, right = spec.take("transA", 0), spec.take("transB", 0)
    if spec.opset < 7:
        spec.take("broadcast")

    def apply(run, a, b, c=None):
        a = a.t() if left else a
        if alpha == 1 and beta == 1 and c is not None and c.dim() == 1 and right:
            return F.linear(a, b, c)
        out = alpha * torch.matmul(a, b.t() if right else b)
        return out if c is None else out + beta * c

    return apply


def reduction(function):
    """Returns a builder for a reduction, whose axes are an attribute in old opsets and an operand
    in new ones.
    """

    def build(spec):
        fixed, keep, empty = spec.take("axes"), bool(spec.take("keepdims", 1)), spec.take("noop_with_empty_axes", 0)

        def apply(run, x, axes=None):
            over = fixed if axes is None else numbers(axes)
            if not over:
                if empty:
                    raise Unsupported("noop_with_empty_axes without axes is not supported")
                over = list(range(x.dim()))
            return function(x, over, keep)

        return apply

    return build


for _name, _function in {
    "ReduceMean": lambda x, d, k: torch.mean(x, d, keepdim=k), "ReduceSum": lambda x, d, k: torch.sum(x, d, keepdim=k),
    "ReduceMax": lambda x, d, k: torch.amax(x, d, keepdim=k), "ReduceMin": lambda x, d, k: torch.amin(x, d, keepdim=k),
    "ReduceL2": lambda x, d, k: torch.sqrt(torch.sum(x * x, d, keepdim=k)), "ReduceSumSquare": lambda x, d, k: torch.sum(x * x, d, keepdim=k),
}.items():
    TABLE[_name] = reduction(_function)
