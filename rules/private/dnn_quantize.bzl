"""dnn_quantize: a network of 8-bit integers, or with weights of 4 bits."""

load(":actions.bzl", "DNNC_EXEC_GROUPS", "run_quantize")
load(":check.bzl", "check_external", "check_percentile", "check_src")

def _dnn_quantize_impl(ctx):
    src = check_src(ctx.attr.src.label, ctx.files.src)
    settings = ctx.actions.declare_file(ctx.label.name + ".settings.json")
    ctx.actions.write(settings, json.encode_indent({
        "activations": ctx.attr.activations,
        "block_size": ctx.attr.block_size,
        "correct_bias": ctx.attr.correct_bias,
        "equalize": ctx.attr.equalize,
        "float": ctx.attr.keep_float,
        "per_channel": ctx.attr.per_channel,
        "percentile": check_percentile(ctx.attr.percentile),
        "range": ctx.attr.range,
        "weight_bits": ctx.attr.weight_bits,
        "wide": ctx.attr.wide,
    }, indent = " ") + "\n")
    files = run_quantize(ctx, struct(
        alone = ctx.attr.alone,
        calibration = ctx.file.calibration,
        check = ctx.file.check,
        external = check_external(ctx.files.external_data, src),
        settings = settings,
        src = src,
    ))
    return [
        DefaultInfo(files = depset([files.model])),
        OutputGroupInfo(report = depset([files.report])),
    ]

_dnn_quantize = rule(
    implementation = _dnn_quantize_impl,
    doc = "A network that is quantized after training.",
    attrs = {
        "activations": attr.string(
            default = "uint8",
            doc = "The type of activations.",
        ),
        "alone": attr.int(
            doc = "On how many inputs each layer is quantized alone.",
        ),
        "block_size": attr.int(
            default = 32,
            doc = "How many weights of 4 bits have one scale.",
        ),
        "calibration": attr.label(
            allow_single_file = True,
            doc = "Inputs.",
        ),
        "check": attr.label(
            allow_single_file = True,
            doc = "Inputs, and labels, for the report.",
        ),
        "correct_bias": attr.bool(
            default = True,
            doc = "Whether biases are corrected.",
        ),
        "equalize": attr.bool(
            doc = "Whether ranges of channels are made alike.",
        ),
        "external_data": attr.label_list(
            allow_files = True,
            doc = "Files of the model's weights.",
        ),
        "keep_float": attr.string_list(
            doc = "Operators and nodes that stay float.",
        ),
        "per_channel": attr.bool(
            default = True,
            doc = "Whether each channel of weights has a scale.",
        ),
        "percentile": attr.string(
            default = "99.99",
            doc = "Percent of the elements within a range.",
        ),
        "range": attr.string(
            default = "minmax",
            doc = "How ranges are chosen.",
        ),
        "src": attr.label(
            allow_files = True,
            doc = "The ONNX model.",
            mandatory = True,
        ),
        "weight_bits": attr.int(
            default = 8,
            doc = "How many bits weights have.",
        ),
        "wide": attr.string_list(
            doc = "Nodes whose activations have 16 bits.",
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
)

def dnn_quantize(
        name,
        src,
        calibration = None,
        activations = None,
        range = None,
        percentile = None,
        per_channel = None,
        correct_bias = None,
        equalize = None,
        weight_bits = None,
        block_size = None,
        keep_float = None,
        wide = None,
        check = None,
        alone = None,
        external_data = None,
        **kwargs):
    """Quantizes a network after training: `dnn_model(src = ":NAME")` compiles what comes of it.

    The build runs the network on the calibration's inputs, in the interpreter, and takes the ranges of activations from what it sees. `:NAME` is an ONNX model with
    QuantizeLinear and DequantizeLinear around what is computed in integers; its inputs and outputs keep their types. Weights have 8 bits and
    zero point 0. With `weight_bits = 4` only the weights of MatMul and Gemm change: `:NAME` has them as ONNX Runtime's MatMulNBits, and computes in floats.
    `--output_groups=report` makes the report: scales by node, what stays float and why, and how far results are from the float network's.

    Args:
      name: the target.
      src: the .onnx file, or a target that makes one, as dnn_prune.
      calibration: a safetensors file of inputs, by the names of the model's inputs; of the first dimension there may be more than the model takes. Weights of 4 bits
        take none, those of 8 must have it.
      activations: their type: "uint8", "int8", "uint16" or "int16". Default: "uint8".
      range: how the range of an activation is chosen: "minmax", all that was seen; "percentile", without what is beyond; "mse", the one with the
        least squared error. Default: "minmax".
      percentile: how many percent of the elements the range of "percentile" holds. Default: 99.99.
      per_channel: whether each channel of weights has a scale of its own. Default: True.
      correct_bias: whether the mean error that quantization makes in a channel is taken from its bias. Default: True.
      equalize: whether the ranges of channels of neighbouring convolutions are made alike first. Default: False.
      weight_bits: 8, or 4: then weights of MatMul and Gemm are stored in 4 bits, all is computed in floats, and none of activations, range, percentile, per_channel,
        correct_bias, equalize and wide may be set. Default: 8.
      block_size: of weights of 4 bits, how many along the sum have one scale: 16, 32, 64, 128 or 256. Default: 32.
      keep_float: operators, or names of nodes, that stay float.
      wide: names of nodes whose activations have 16 bits.
      check: a safetensors file of inputs for the report, with a tensor "labels" where accuracy is wanted. Default: the calibration; of 4 bits none, and the report has no
        errors.
      alone: on how many of the calibration's inputs (of 4 bits: of those of check) the report tells what each layer costs when it alone is quantized. Default: 0.
      external_data: files of the model's weights.
      **kwargs: attributes common to all rules.
    """
    _dnn_quantize(
        name = name,
        src = src,
        activations = activations,
        alone = alone,
        block_size = block_size,
        calibration = calibration,
        check = check,
        correct_bias = correct_bias,
        equalize = equalize,
        external_data = external_data,
        keep_float = keep_float,
        per_channel = per_channel,
        percentile = str(percentile) if type(percentile) in ["int", "float"] else percentile,
        range = range,
        weight_bits = weight_bits,
        wide = wide,
        **kwargs
    )
