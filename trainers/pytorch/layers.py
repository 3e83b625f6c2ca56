"""Convolutions, pools and normalisations of the table of operators."""

import torch
import torch.nn.functional as F

from table import Unsupported, numbers, operator

CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def spatial(functions, x, what):
    """Returns the function for the operand's number of axes besides images and channels."""
    if x.dim() - 2 not in functions:
        raise Unsupported(f"{what} of operands of rank {x.dim()} are not supported; want rank 3, 4 or 5")
    return functions[x.dim() - 2]


class Window:
    """Strides, dilations and padding of a convolution or pool."""

    def __init__(self, spec):
        self.auto = spec.only("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
        self.pads, self.strides, self.dilations = spec.take("pads"), spec.take("strides"), spec.take("dilations")
        self.up = bool(spec.take("ceil_mode", 0)) if "Pool" in spec.op else False

    def fit(self, sizes, kernel):
        """Returns strides, dilations and padding (begins and ends) for operands of these sizes."""
        n = len(kernel)
        strides, dilations = self.strides or [1] * n, self.dilations or [1] * n
        pads = self.pads if self.pads and self.auto == "NOTSET" else [0] * 2 * n
        if self.auto.startswith("SAME"):
            pads = [0] * 2 * n
            for i, size in enumerate(sizes):
                whole = max(0, (-(-size // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size)
                first = whole // 2 if self.auto == "SAME_UPPER" else whole - whole // 2
                pads[i], pads[n + i] = first, whole - first
        return strides, dilations, pads[:n], pads[n:]

    def rounded_up(self, sizes, kernel, strides, dilations, begin, end):
        """Returns the padding at the ends for sizes that are rounded up; windows must not begin in
        it.
        """
        end = list(end)
        for i, size in enumerate(sizes):
            reach = (kernel[i] - 1) * dilations[i] + 1
            whole = size + begin[i] + end[i] - reach
            out = -(-whole // strides[i]) + 1
            if (out - 1) * strides[i] >= size + begin[i]:
                out -= 1
            end[i] += max(0, (out - 1) * strides[i] - whole)
        return end


def padding(begin, end):
    """Returns padding in F.pad's order: the last axis first."""
    return [p for pair in zip(reversed(begin), reversed(end)) for p in pair]


@operator("Conv")
def conv(spec):
    window, groups = Window(spec), spec.take("group", 1)
    spec.take("kernel_shape")

    def apply(run, x, w, b=None):
        function = spatial(CONVOLUTIONS, x, "convolutions")
        strides, dilations, begin, end = window.fit(x.shape[2:], w.shape[2:])
        if begin != end:
            x, begin = F.pad(x, padding(begin, end)), [0] * len(begin)
        return function(x, w, b, strides, begin, dilations, groups)

    return apply


@operator("ConvTranspose")
def conv_transpose(spec):
    window, groups, extra = Window(spec), spec.take("group", 1), spec.take("output_padding")
    spec.take("kernel_shape")
    if window.auto != "NOTSET" or spec.take("output_shape"):
        raise Unsupported("auto_pad and output_shape are not supported; set pads")

    def apply(run, x, w, b=None):
        function = spatial(TRANSPOSED, x, "transposed convolutions")
        strides, dilations, begin, end = window.fit(x.shape[2:], w.shape[2:])
        if begin == end:
            return function(x, w, b, strides, begin, extra or 0, groups, dilations)
        y = function(x, w, b, strides, 0, extra or 0, groups, dilations)
        return F.pad(y, padding([-p for p in begin], [-p for p in end]))

    return apply


@operator("MaxPool")
def max_pool(spec):
    spec.one_result()
    spec.only("storage_order", 0)
    window, kernel = Window(spec), spec.take("kernel_shape")

    def apply(run, x):
        function = spatial(MAX_POOLS, x, "pools")
        strides, dilations, begin, end = window.fit(x.shape[2:], kernel)
        if window.up:
            end = window.rounded_up(x.shape[2:], kernel, strides, dilations, begin, end)
        if begin != end or any(2 * p > k for p, k in zip(begin, kernel)):
            x, begin = F.pad(x, padding(begin, end), value=-torch.inf), [0] * len(begin)
        return function(x, kernel, strides, begin, dilations)

    return apply


@operator("AveragePool")
def average_pool(spec):
    window, kernel, counted = Window(spec), spec.take("kernel_shape"), bool(spec.take("count_include_pad", 0))

    def apply(run, x):
        if x.dim() - 2 not in CONVOLUTIONS:
            raise Unsupported(f"pools of operands of rank {x.dim()} are not supported; want rank 3, 4 or 5")
        strides, dilations, begin, end = window.fit(x.shape[2:], kernel)
        added = window.rounded_up(x.shape[2:], kernel, strides, dilations, begin, end) if window.up else end
        ones = torch.ones_like(x[:1, :1])
        if counted:  # padding counts, but rounding up adds padding that does not
            ones = F.pad(ones, padding(begin, end), value=1)
            count = F.pad(ones, padding([0] * len(begin), [a - e for a, e in zip(added, end)]))
        else:
            count = F.pad(ones, padding(begin, added))
        return sums(F.pad(x, padding(begin, added)), kernel, strides, dilations) / sums(count, kernel, strides, dilations)

    return apply


def sums(x, kernel, strides, dilations):
    """Returns the sums of windows."""
    for i, size in enumerate(kernel):
        axis, last = 2 + i, (size - 1) * dilations[i]
        n = (x.shape[axis] - last - 1) // strides[i] + 1
        x = sum(x.narrow(axis, k * dilations[i], (n - 1) * strides[i] + 1)[(slice(None),) * axis + (slice(None, None, strides[i]),)] for k in range(size))
    return x


@operator("GlobalAveragePool")
def global_average_pool(spec):
    return lambda run, x: x.mean(list(range(2, x.dim())), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(spec):
    return lambda run, x: x.amax(list(range(2, x.dim())), keepdim=True)


@operator("BatchNormalization")
def batch_normalization(spec):
    """Uses and updates the statistics in training, whatever mode the exporter set in the node.

    ONNX updates the variance with the variance of the batch's elements. PyTorch uses an estimate of
    the population's variance, which is n / (n - 1) times as large.
    """
    spec.one_result()
    epsilon, momentum = spec.take("epsilon", 1e-5), spec.take("momentum", 0.9)
    spec.take("training_mode")
    spec.only("spatial", 1)
    spec.take("is_test")

    def apply(run, x, scale, bias, mean, variance):
        if not run.training:
            return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)
        n = x.numel() // x.shape[1]
        moved = variance.clone()
        y = F.batch_norm(x, mean, moved, scale, bias, True, 1 - momentum, epsilon)
        with torch.no_grad():  # moved = momentum * variance + (1 - momentum) * n / (n - 1) * of the batch
            share = (n - 1) / n
            variance.mul_(momentum * (1 - share)).add_(moved, alpha=share)
        return y

    return apply


@operator("InstanceNormalization")
def instance_normalization(spec):
    epsilon = spec.take("epsilon", 1e-5)
    return lambda run, x, scale, bias: F.instance_norm(x, None, None, scale, bias, True, 0.0, epsilon)


@operator("GroupNormalization")
def group_normalization(spec):
    groups, epsilon = spec.take("num_groups"), spec.take("epsilon", 1e-5)
    spec.only("stash_type", 1)

    def apply(run, x, scale, bias):
        if scale.shape[0] == groups != x.shape[1]:  # before opset 21 there is one element for each group
            scale, bias = scale.repeat_interleave(x.shape[1] // groups), bias.repeat_interleave(x.shape[1] // groups)
        return F.group_norm(x, groups, scale, bias, epsilon)

    return apply


@operator("LayerNormalization")
def layer_normalization(spec):
    spec.one_result()
    axis, epsilon = spec.take("axis", -1), spec.take("epsilon", 1e-5)
    spec.only("stash_type", 1)

    def apply(run, x, scale, bias=None):
        shape = x.shape[axis % x.dim():]
        y = F.layer_norm(x, shape, None, None, epsilon) * scale
        return y if bias is None else y + bias

    return apply


@operator("LRN")
def lrn(spec):
    alpha, beta, bias, size = spec.take("alpha", 1e-4), spec.take("beta", 0.75), spec.take("bias", 1.0), spec.take("size")

    def apply(run, x):
        first = (size - 1) // 2
        squares = F.pad((x * x).movedim(1, -1), (first, size - 1 - first)).movedim(-1, 1)
        return x / (bias + alpha / size * sums(squares.unsqueeze(0).transpose(0, 1).flatten(3), (size,), (1,), (1,)).reshape(x.shape)) ** beta

    return apply


@operator("Resize", "Upsample")
def resize(spec):
    """Supports the nearest and linear modes that PyTorch has."""
    mode = spec.only("mode", "nearest", "linear")
    old = spec.op == "Upsample" or spec.opset < 11
    how = spec.take("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    nearest = spec.take("nearest_mode", "floor" if old else "round_prefer_floor")
    spec.take("cubic_coeff_a")
    spec.take("extrapolation_value")
    spec.only("exclude_outside", 0)
    spec.only("antialias", 0)
    fixed = spec.take("scales")
    if mode == "nearest" and (how, nearest) != ("asymmetric", "floor"):
        raise Unsupported("of mode nearest only asymmetric coordinates, rounded down, are supported")
    if mode == "linear" and how not in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        raise Unsupported(f"coordinates {how} of mode linear are not supported; half_pixel and align_corners are")

    def apply(run, x, *operands):
        scales = operands[0] if len(operands) == 1 else operands[1] if len(operands) > 1 else None
        if len(operands) > 2 and operands[2] is not None:
            sizes = numbers(operands[2])
        else:
            factors = fixed if scales is None else scales.tolist()
            sizes = [int(s * f) for s, f in zip(x.shape, factors)]
            if any(abs(s * f - n) > 1e-4 for s, f, n in zip(x.shape, factors, sizes)):
                raise Unsupported(f"scales {factors} of sizes {list(x.shape)}, whose products are not integers, are not supported")
        if how == "pytorch_half_pixel" and 1 in sizes[2:]:
            raise Unsupported("pytorch_half_pixel with results of one element is not supported")
        if sizes[:2] != list(x.shape[:2]) or x.dim() != 4:
            raise Unsupported("want rank 4, and the same number of images and channels")
        if mode == "nearest":
            return F.interpolate(x, sizes[2:], mode="nearest")
        return F.interpolate(x, sizes[2:], mode="bilinear", align_corners=how == "align_corners")

    return apply

