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
    doc = "Says how networks are pruned.",
    attrs = {
        "calibration": attr.label(
            allow_single_file = True,
            doc = "Inputs by which BatchNormalizations get their statistics anew.",
        ),
        "connectivity": attr.string(
            default = "1",
            doc = "How many times fewer kernels convolutions keep.",
        ),
        "entries": attr.string_dict(
            default = {"3x3": "4"},
            doc = "How many taps kernels of a size keep.",
        ),
        "exempt": attr.string_list(
            doc = "Layers that stay dense, by the name of their weights or of their node.",
        ),
        "exempt_first": attr.bool(
            default = True,
            doc = "Whether the first layer stays dense.",
        ),
        "fully_connected": attr.string(
            default = "1",
            doc = "How many times fewer weights fully connected layers keep.",
        ),
        "given": attr.string_list(
            doc = "The attributes that the macro's caller set.",
        ),
        "masks": attr.label(
            allow_single_file = True,
            doc = "Masks of a network that was trained with them.",
        ),
        "packed": attr.bool(
            doc = "Whether kernels store what is left of weights and nothing else, also where others are faster.",
        ),
        "patterns": attr.int(
            default = 8,
            doc = "How many patterns the set has.",
        ),
        "policy": attr.label(
            allow_single_file = [".star"],
            doc = "A file that decides for each layer.",
        ),
        "samples": attr.label(
            allow_single_file = True,
            doc = "Labelled inputs by which sensitivity is measured.",
        ),
        "sensitivity": attr.string_dict(
            doc = "Numbers for the policy, by names of weights.",
        ),
        "set": attr.string(
            default = "model",
            doc = "What has one set of patterns: model, or each layer.",
        ),
        "share": attr.int(
            default = 1,
            doc = "How many filters in a row have the same kernels.",
        ),
        "shrink": attr.bool(
            doc = "Whether empty filters and channels are taken out.",
        ),
    },
    provides = [DnnPruningInfo],
)

def _text(x):
    """Returns a number as text, and what select() and the like give as it is."""
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
    """Says how networks are pruned, as PatDNN does: `dnn_model(pruning = ":NAME")`.

    Kernels of a convolution, each of one filter and one input channel, keep the taps of one of a few patterns, and the weakest kernels go
    altogether. Builds train nothing. With masks they keep what a network keeps that was trained with them; otherwise they project the
    weights once, as they are, and warn (kind `pruning`) that accuracy is probably lost.

    Args:
      name: the target. Building it writes NAME.json, the settings that `dnnc prune` reads.
      patterns: how many patterns the set has: the most frequent ones of the centre and the largest weights. 0: kernels are kept
        whole. Default: 8.
      entries: how many taps kernels of a size keep, as in {"3x3": 4, "5x5": 9}, or a number, which is that of 3x3. Kernels of other
        sizes are kept whole. Default: 4.
      set: what has one set of patterns: "model", or each "layer". Default: "model".
      connectivity: how many times fewer kernels convolutions keep, as in 3.6. Depthwise ones keep all. Default: 1, all.
      fully_connected: how many times fewer weights Gemm and MatMul keep. Default: 1, all.
      share: how many filters in a row have the same kernels: 1, 4, 8 or 16. With 16, kernels are faster; already 4 can cost accuracy (docs/performance.md). Default: 1.
      packed: whether layers that processors compute have kernels that store what is left of their weights and nothing else, wherever there are such, even if others are faster: library and
        memory are as much smaller as the weights. Where registers have filters that keep different weights, and no other kernel does so, they store what any of these keeps. Beside masks
        True holds for all their layers, and False leaves what they ask for. Default: False, a kernel that stores weights otherwise is taken where it is faster by a tenth, by estimates or by
        the tuning record.
      exempt_first: whether the first layer stays dense. Default: True.
      exempt: further layers that stay dense, by the name of their weights or of their node.
      policy: a .star file whose function policy(layer) decides for each layer that is not exempt; `dnnc prune --help` has what it sees.
      sensitivity: numbers for the policy, by names of weights, as in {"conv1.weight": 0.3}.
      samples: a safetensors file of inputs, by the names of the model's inputs, with a tensor "labels" of integers, the class of each row of the first output: by how much
        their loss grows when one layer alone is pruned as the other attributes say, without training, is what the policy reads as sensitivity, of layers that
        sensitivity does not name. The report has it, too.
      masks: a file of masks, as `dnnc prune` and training write them. They say all: other attributes are refused beside them, but packed, calibration and shrink.
      calibration: a safetensors file of inputs, by the names of the model's inputs: of these BatchNormalizations get their mean and
        variance anew, in the interpreter. There must be some that are not folded into weights.
      shrink: whether filters and channels that are empty or not read are taken out, with what computes and reads them. The model is written
        anew then, without what does not change what it computes; external data become one file.
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
