"""ONNX graphs as differentiable PyTorch functions: a small importer of operators for image
networks.
"""

import onnx
import torch
from onnx import numpy_helper

import operators


class Refused(Exception):
    """A model, a job or data that this trainer rejects; the message is for their author."""


def label(node):
    """Returns a node's name for messages."""
    return f'node "{node.name or node.output[0]}" ({node.op_type})'


class Step:
    """A node, its function, and names of values.

    The names are Python lists, which torch.compile understands, unlike protobuf's lists.
    """

    def __init__(self, node, function):
        self.node, self.function = node, function
        self.inputs, self.outputs, self.dead = list(node.input), list(node.output), []


class Network:
    """A graph with one input, images, and one output, logits.

    Weights are trained; statistics (mean and variance of BatchNormalizations) are updated by
    batches. Both are tensors by name.
    """

    def __init__(self, path, given, device="cpu", channels_last=False):
        """Reads the model at path; given are tensors by name that replace its weights and
        statistics.
        """
        self.device, self.format = torch.device(device), torch.channels_last if channels_last else torch.contiguous_format
        try:
            model = onnx.load(path)
        except Exception as e:  # protobuf's own errors have no common base
            raise Refused(f"{path}: reading the ONNX model: {e}") from e
        self.opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
        graph = model.graph
        constants = {t.name: t for t in graph.initializer}
        nodes = []
        for node in graph.node:
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                constants[node.output[0]] = constant(node)
            else:
                nodes.append(node)
        self.input = self._only("input", [v for v in graph.input if v.name not in constants])
        self.output = self._only("output", graph.output)
        nodes = self._logits(nodes)
        self.order = list(given)
        moved = statistics_of(nodes)
        self.weights, self.statistics, self.constants = {}, {}, {}
        for name, tensor in given.items():
            self._take(constants, name, tensor, moved)
        for name, value in constants.items():
            if name not in given:
                self.constants[name] = self._constant(value)
        self.steps = [self._step(n) for n in nodes]
        self._drop_dead()

    def _only(self, what, values):
        if len(values) != 1:
            raise Refused(f"the network has {len(values)} {what}s; training wants one input, images, and one output, the logits of their classes")
        return values[0].name

    def _logits(self, nodes):
        """Removes a softmax at the end, because the loss contains one."""
        for n in nodes:
            if n.op_type == "Softmax" and n.output[0] == self.output:
                self.output = n.input[0]
                return [m for m in nodes if m is not n]
        return nodes

    def _take(self, constants, name, tensor, moved):
        if name not in constants:
            raise Refused(f'weights.safetensors: tensor "{name}" is not one of the network\'s weights')
        want = self._constant(constants[name])
        if want.dtype != torch.float32 or want.shape != tensor.shape:
            raise Refused(f'weights.safetensors: "{name}" has shape {list(tensor.shape)}; the network\'s has {list(want.shape)} and type {want.dtype}')
        kind = moved.get(name)
        if kind == "both":
            raise Refused(f'"{name}" is a statistic of a BatchNormalization, but also read as weights')
        t = tensor.to(self.device, copy=True)
        if kind is None:
            if t.dim() == 4:
                t = t.contiguous(memory_format=self.format)
            self.weights[name] = t.requires_grad_()
        else:
            self.statistics[name] = t

    def _constant(self, value):
        t = torch.from_numpy(numpy_helper.to_array(value).copy()) if isinstance(value, onnx.TensorProto) else value
        return t.to(self.device) if t.is_floating_point() else t

    def _step(self, node):
        if node.domain not in ("", "ai.onnx"):
            raise Refused(f'{label(node)} has the domain "{node.domain}"; this trainer supports only operators of ONNX\'s own domain')
        build = operators.TABLE.get(node.op_type)
        if build is None:
            raise Refused(f"{label(node)}: this trainer has no derivative of this operator; it has {', '.join(sorted(operators.TABLE))}")
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        spec = operators.Spec(node.op_type, self.opset, attributes, list(node.input), [o for o in node.output if o])
        try:
            function = build(spec)
            if attributes:
                raise operators.Unsupported(f"attribute {sorted(attributes)[0]} is not supported")
        except operators.Unsupported as e:
            raise Refused(f"{label(node)}: {e}") from e
        return Step(node, function)

    def _drop_dead(self):
        """Records after which step each value is no longer read, so that it can be released."""
        last = {}
        for i, step in enumerate(self.steps):
            for name in step.inputs:
                last[name] = i
        for name, i in last.items():
            if name and name != self.output:
                self.steps[i].dead.append(name)

    def __call__(self, images, training=False):
        """Returns the logits of images; in training, BatchNormalizations use and update batch
        statistics.
        """
        values = {**self.constants, **self.weights, **self.statistics, self.input: images}
        run = operators.Run(training)
        for step in self.steps:
            try:
                out = step.function(run, *[values[name] if name else None for name in step.inputs])
            except KeyError as e:
                raise Refused(f"{label(step.node)} reads {e}, which no earlier node computes") from e
            except (RuntimeError, ValueError, IndexError, TypeError) as e:
                if isinstance(e, torch.OutOfMemoryError):
                    raise
                raise Refused(f"{label(step.node)}: {e}") from e
            out = out if isinstance(out, tuple) else (out,)
            for name, value in zip(step.outputs, out):
                values[name] = value
            for name in step.dead:
                values.pop(name, None)
        return values[self.output]

    def tensors(self):
        """Returns all weights and statistics, on the processor, in the order of the request."""
        both = {**self.weights, **self.statistics}
        return {name: both[name].detach().to("cpu", torch.float32).contiguous() for name in self.order}


def constant(node):
    """Returns the value of a Constant node."""
    a = node.attribute[0]
    value = onnx.helper.get_attribute_value(a)
    if a.name == "value":
        return value
    types = {"value_float": torch.float32, "value_floats": torch.float32, "value_int": torch.int64, "value_ints": torch.int64}
    if a.name not in types:
        raise Refused(f"{label(node)}: attribute {a.name} is not supported")
    return torch.tensor(value, dtype=types[a.name])


def statistics_of(nodes):
    """Maps the names of BatchNormalizations' mean and variance to "moved", or to "both" if other
    nodes read them, too.
    """
    statistics = {name for n in nodes if n.op_type == "BatchNormalization" for name in n.input[3:5]}
    others = {name for n in nodes for i, name in enumerate(n.input) if not (n.op_type == "BatchNormalization" and i in (3, 4))}
    return {name: "both" if name in others else "moved" for name in statistics}
