"""Data movement operators, and operators that compute shapes."""

import onnx
import torch
import torch.nn.functional as F

from table import Unsupported, like, numbers, operator


@operator("Shape")
def shape(spec):
    start, end = spec.take("start", 0), spec.take("end")
    return lambda run, x: torch.tensor(list(x.shape)[start:end], dtype=torch.int64)


@operator("Size")
def size(spec):
    return lambda run, x: torch.tensor(x.numel(), dtype=torch.int64)


@operator("Flatten")
def flatten(spec):
    axis = spec.take("axis", 1)

    def apply(run, x):
        rows = 1
        for d in x.shape[: axis % x.dim() if axis < x.dim() else axis]:
            rows *= d
        return x.reshape(rows, -1)

    return apply


@operator("Reshape")
def reshape(spec):
    zeros, fixed = spec.take("allowzero", 0), spec.take("shape")

    def apply(run, x, to=None):
        to = list(fixed) if to is None else numbers(to)
        return x.reshape([x.shape[i] if d == 0 and not zeros else d for i, d in enumerate(to)])

    return apply


def axes_of(spec):
    """Returns a function for axes that are an attribute in old opsets and an operand in new ones.
    """
    fixed = spec.take("axes")
    return lambda given: fixed if given is None else numbers(given)


@operator("Squeeze")
def squeeze(spec):
    axes = axes_of(spec)

    def apply(run, x, given=None):
        over = axes(given)
        return x.squeeze() if over is None else x.squeeze(tuple(over))

    return apply


@operator("Unsqueeze")
def unsqueeze(spec):
    axes = axes_of(spec)

    def apply(run, x, given=None):
        over = axes(given)
        rank = x.dim() + len(over)
        for a in sorted(a % rank for a in over):
            x = x.unsqueeze(a)
        return x

    return apply


@operator("Transpose")
def transpose(spec):
    order = spec.take("perm")
    return lambda run, x: x.permute(order if order is not None else list(reversed(range(x.dim()))))


@operator("Concat")
def concat(spec):
    axis = spec.take("axis")
    return lambda run, *all: torch.cat(all, axis)


@operator("Split")
def split(spec):
    axis, fixed, parts = spec.take("axis", 0), spec.take("split"), spec.take("num_outputs", len(spec.outputs))

    def apply(run, x, given=None):
        sizes = fixed if given is None else numbers(given)
        if sizes is None:
            sizes = -(-x.shape[axis] // parts)
        return tuple(torch.split(x, sizes, axis))

    return apply


@operator("Slice")
def slice_(spec):
    fixed = [spec.take(name) for name in ("starts", "ends", "axes")]

    def apply(run, x, *operands):
        given = [None if o is None else numbers(o) for o in operands] or list(fixed)
        given += [None] * (4 - len(given))
        starts, ends, axes, steps = given
        axes = range(len(starts)) if axes is None else axes
        for i, axis in enumerate(axes):
            x = part(x, axis % x.dim(), starts[i], ends[i], 1 if steps is None else steps[i])
        return x

    return apply


def part(x, axis, start, end, step):
    """Returns elements along an axis, with the semantics of Python's slices."""
    which = range(x.shape[axis])[slice(start, None if step < 0 and end < -x.shape[axis] else end, step)]
    if step > 0:
        return x[(slice(None),) * axis + (slice(which.start, which.stop, step),)]
    return x.index_select(axis, torch.tensor(list(which), device=x.device, dtype=torch.int64))


@operator("Gather")
def gather(spec):
    axis = spec.take("axis", 0)

    def apply(run, x, indices):
        at = axis % x.dim()
        flat = like(x, indices).reshape(-1)
        flat = torch.where(flat < 0, flat + x.shape[at], flat)
        return x.index_select(at, flat).reshape(*x.shape[:at], *indices.shape, *x.shape[at + 1:])

    return apply


@operator("Expand")
def expand(spec):
    return lambda run, x, to: x.expand(torch.broadcast_shapes(x.shape, numbers(to)))


@operator("Tile")
def tile(spec):
    return lambda run, x, times: x.repeat(numbers(times))


@operator("Pad")
def pad(spec):
    mode = spec.only("mode", "constant", "reflect", "edge")
    fixed, number = spec.take("pads", spec.take("paddings")), spec.take("value", 0.0)

    def apply(run, x, given=None, value=None, axes=None):
        pads = fixed if given is None else numbers(given)
        if axes is not None:
            pads = spread(pads, [a % x.dim() for a in numbers(axes)], x.dim())
        n = x.dim()
        all = [p for i in reversed(range(n)) for p in (pads[i], pads[n + i])]
        if mode == "constant":
            return F.pad(x, all, value=number if value is None else value.item())
        while all and all[-2:] == [0, 0]:
            all = all[:-2]
        return F.pad(x, all, mode="replicate" if mode == "edge" else mode) if all else x

    return apply


def spread(pads, axes, rank):
    """Extends the padding of some axes to all axes."""
    out = [0] * 2 * rank
    for i, a in enumerate(axes):
        out[a], out[rank + a] = pads[i], pads[len(axes) + i]
    return out


@operator("DepthToSpace")
def depth_to_space(spec):
    block, mode = spec.take("blocksize"), spec.only("mode", "DCR", "CRD")

    def apply(run, x):
        n, c, h, w = x.shape
        if mode == "CRD":
            return F.pixel_shuffle(x, block)
        return x.reshape(n, block, block, c // block**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // block**2, h * block, w * block)

    return apply


@operator("SpaceToDepth")
def space_to_depth(spec):
    block = spec.take("blocksize")
    spec.only("mode", "DCR")

    def apply(run, x):
        n, c, h, w = x.shape
        return x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4).reshape(n, c * block**2, h // block, w // block)

    return apply


@operator("Cast")
def cast(spec):
    to = spec.take("to")
    spec.take("saturate")
    types = {onnx.TensorProto.FLOAT: torch.float32, onnx.TensorProto.INT64: torch.int64, onnx.TensorProto.INT32: torch.int32, onnx.TensorProto.BOOL: torch.bool}
    if to not in types:
        raise Unsupported(f"casts to {onnx.TensorProto.DataType.Name(to)} are not supported")
    return lambda run, x: x.to(types[to])


@operator("ConstantOfShape")
def constant_of_shape(spec):
    value = spec.take("value")
    number = torch.zeros(1) if value is None else torch.from_numpy(onnx.numpy_helper.to_array(value).copy())
    return lambda run, to: number.reshape(-1)[0].repeat(numbers(to)) if numbers(to) else number.reshape(())


@operator("Where")
def where(spec):
    return lambda run, condition, a, b: torch.where(like(a, condition), a, like(a, b))
