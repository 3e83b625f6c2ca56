"""dnn_pruning: how a network is pruned."""

load("//rules:providers.bzl", "DnnPruningInfo")
load(":check.bzl", "check_pruning")

def _dnn_pruning_impl(ctx):
    check_pruning(ctx.attr)
    if ctx.file.masks:
        return [
            DefaultInfo(files = depset([ctx.file.masks])),
            DnnPruningInfo(
                calibration = ctx.file.calibration,
                log = None,
                masks = ctx.file.masks,
                packed = ctx.attr.packed,
                policy = None,
                samples = None,
                settings = None,
                shrink = ctx.attr.shrink,
            ),
        ]
    settings = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(settings, json.encode_indent({
        "connectivity": float(ctx.attr.connectivity),
        "entries": {size: int(ctx.attr.entries[size]) for size in sorted(ctx.attr.entries)},
        "exempt": ctx.attr.exempt,
        "exempt_first": ctx.attr.exempt_first,
        "fully_connected": float(ctx.attr.fully_connected),
        "packed": ctx.attr.packed,
        "patterns": ctx.attr.patterns,
        "sensitivity": {name: float(ctx.attr.sensitivity[name]) for name in sorted(ctx.attr.sensitivity)},
        "set": ctx.attr.set,
        "share": ctx.attr.share,
    }, indent = " ") + "\n")
    return [
        DefaultInfo(files = depset([settings])),
        DnnPruningInfo(
            calibration = ctx.file.calibration,
            log = None,
            masks = None,
            packed = False,
            policy = ctx.file.policy,
            samples = ctx.file.samples,
            settings = settings,
            shrink = ctx.attr.shrink,
        ),
    ]

dnn_pruning_rule = rule(
    implementation = _dnn_pruning_impl,
    doc = "Settings or masks for pruning networks.",
    attrs = {
        "calibration": attr.label(
            allow_single_file = True,
            doc = "Inputs from which BatchNormalization statistics are computed again.",
        ),
        "connectivity": attr.string(
            default = "1",
            doc = "Convolutions keep one kernel in this many.",
        ),
        "entries": attr.string_dict(
            default = {"3x3": "4"},
            doc = "The number of taps that kernels of each size keep.",
        ),
        "exempt": attr.string_list(
            doc = "Layers that stay dense, by the name of their weights or node.",
        ),
        "exempt_first": attr.bool(
            default = True,
            doc = "Whether the first layer stays dense.",
        ),
        "fully_connected": attr.string(
            default = "1",
            doc = "Fully connected layers keep one weight in this many.",
        ),
        "given": attr.string_list(
            doc = "The attributes that the macro's caller set.",
        ),
        "masks": attr.label(
            allow_single_file = True,
            doc = "Masks of a network that was trained with them.",
        ),
        "packed": attr.bool(
            doc = "Whether kernels store only the remaining weights, even if other kernels are faster.",
        ),
        "patterns": attr.int(
            default = 8,
            doc = "The number of patterns in the set.",
        ),
        "policy": attr.label(
            allow_single_file = [".star"],
            doc = "A Starlark file that chooses settings for each layer.",
        ),
        "samples": attr.label(
            allow_single_file = True,
            doc = "Labelled inputs to measure sensitivity with.",
        ),
        "sensitivity": attr.string_dict(
            doc = "Sensitivities for the policy, by names of weights.",
        ),
        "set": attr.string(
            default = "model",
            doc = "Whether the model has one set of patterns (model), or each layer its own (layer).",
        ),
        "share": attr.int(
            default = 1,
            doc = "How many neighboring filters keep the same kernels.",
        ),
        "shrink": attr.bool(
            doc = "Whether empty filters and channels are removed.",
        ),
    },
    provides = [DnnPruningInfo],
)

def _text(x):
    """Returns a number as text, and any other value, such as a select(), unchanged."""
    return str(x) if type(x) in ["int", "float"] else x

def _texts(x):
    return {key: _text(value) for key, value in x.items()} if type(x) == "dict" else x

def dnn_pruning(
        name,
        patterns = None,
        entries = None,
        set = None,
        connectivity = None,
        fully_connected = None,
        share = None,
        packed = None,
        exempt_first = None,
        exempt = None,
        policy = None,
        sensitivity = None,
        samples = None,
        masks = None,
        calibration = None,
        shrink = None,
        **kwargs):
    """Describes how networks are pruned, as in PatDNN. Use it with `dnn_model(pruning = ":NAME")`.

    A kernel of a convolution is the weights of one filter and one input channel. Each kernel
    keeps the taps of one of a few patterns, and the weakest kernels are dropped entirely. Builds
    do not train. With masks, they keep the weights that the masks of a trained network keep.
    Without masks, they drop the smallest weights once and warn (kind `pruning`) that accuracy is
    probably lost.

    Args:
      name: the target. Building it writes NAME.json, the settings that `dnnc prune` reads.
      patterns: the number of patterns in the set. A pattern has the center and the largest
        weights of a kernel; the set has the most frequent ones. 0: kernels keep all their taps.
        Default: 8.
      entries: the number of taps that kernels of each size keep, as in {"3x3": 4, "5x5": 9}; a
        single number is for 3x3. Kernels of other sizes keep all their taps. Default: 4.
      set: "model": all layers have the same set of patterns; "layer": each layer has its own.
        Default: "model".
      connectivity: the number of kernels divided by the number that convolutions keep: 3.6 keeps
        one in 3.6. Depthwise convolutions keep all. Default: 1, all.
      fully_connected: the same ratio for the weights of Gemm and MatMul. Default: 1, all.
      share: the number of neighboring filters that keep the same kernels: 1, 4, 8 or 16. With 16,
        kernels are faster; 4 or more can cost accuracy (docs/measurements/pruned_accuracy.md).
        Default: 1.
      packed: whether the processor's kernels store only the remaining weights, even if other
        kernels are faster. Library and memory then shrink with the weights. If a vector register
        holds filters that keep different weights, and no other kernel is available, the kernel
        stores each weight that any of these filters keeps. With masks, True applies to all their
        layers, and False keeps the masks' own setting. Default: False: a kernel that stores more
        weights is chosen if it is at least 10 % faster, by estimates or by the tuning record.
      exempt_first: whether the first layer stays dense. Default: True.
      exempt: additional layers that stay dense, by the name of their weights or node.
      policy: a .star file with a function policy(layer), which chooses settings for each layer
        that is not exempt. `dnnc prune --help` describes its argument.
      sensitivity: numbers for the policy, by names of weights, as in {"conv1.weight": 0.3}.
      samples: a safetensors file of inputs, by the names of the model's inputs, with an integer
        tensor "labels", the class of each row of the first output. The build prunes each layer
        alone by the other attributes, without training, and measures how much the loss of these
        inputs grows. A policy reads this number as a layer's sensitivity unless the attribute
        sensitivity names the layer. The report has it, too.
      masks: a file of masks, which `dnnc prune` or training wrote. With masks, only packed,
        calibration and shrink may be set.
      calibration: a safetensors file of inputs, by the names of the model's inputs. The
        interpreter computes the mean and variance of BatchNormalizations from them again. The
        model must have BatchNormalizations that are not folded into weights.
      shrink: whether filters and channels that are empty or unused are removed, with the
        operators that compute and read them. The build then writes a new model without operators
        that do not affect its results. External data become one file.
      **kwargs: attributes common to all rules.
    """
    attributes = dict(
        connectivity = _text(connectivity),
        entries = {"3x3": str(entries)} if type(entries) == "int" else _texts(entries),
        exempt = exempt,
        exempt_first = exempt_first,
        fully_connected = _text(fully_connected),
        patterns = patterns,
        policy = policy,
        samples = samples,
        sensitivity = _texts(sensitivity),
        set = set,
        share = share,
    )
    dnn_pruning_rule(
        name = name,
        given = [key for key in sorted(attributes) if attributes[key] != None],
        calibration = calibration,
        masks = masks,
        packed = packed,
        shrink = shrink,
        **(attributes | kwargs)
    )
