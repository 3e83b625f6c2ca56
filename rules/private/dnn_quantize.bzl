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
            doc = "The number of inputs on which the report measures, for each layer, the error if only that layer is quantized.",
        ),
        "block_size": attr.int(
            default = 32,
            doc = "The number of 4-bit weights that share a scale.",
        ),
        "calibration": attr.label(
            allow_single_file = True,
            doc = "Inputs from which the ranges of activations are chosen.",
        ),
        "check": attr.label(
            allow_single_file = True,
            doc = "Inputs, and optionally labels, for the report.",
        ),
        "correct_bias": attr.bool(
            default = True,
            doc = "Whether biases are corrected.",
        ),
        "equalize": attr.bool(
            doc = "Whether ranges of channels are equalized.",
        ),
        "external_data": attr.label_list(
            allow_files = True,
            doc = "Files of the ONNX model's external data.",
        ),
        "keep_float": attr.string_list(
            doc = "Operators and nodes that stay in floats.",
        ),
        "per_channel": attr.bool(
            default = True,
            doc = "Whether each channel of weights has a scale.",
        ),
        "percentile": attr.string(
            default = "99.99",
            doc = "The percentage of elements within a range.",
        ),
        "range": attr.string(
            default = "minmax",
            doc = "The method that chooses ranges of activations.",
        ),
        "src": attr.label(
            allow_files = True,
            doc = "The ONNX model.",
            mandatory = True,
        ),
        "weight_bits": attr.int(
            default = 8,
            doc = "The number of bits of a weight.",
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
    """Quantizes a network after training. `dnn_model(src = ":NAME")` compiles the result.

    The build runs the network on the calibration inputs in the interpreter, and chooses the
    ranges of activations from their values. `:NAME` is an ONNX model with QuantizeLinear and
    DequantizeLinear around the operators that compute in integers. Its inputs and outputs keep
    their types. Weights have 8 bits and zero point 0. With `weight_bits = 4`, only the weights of
    MatMul and Gemm change: `:NAME` stores them for ONNX Runtime's MatMulNBits and computes in
    floats. `--output_groups=report` builds the report: the scales of each node, the nodes that
    stay in floats and why, and the error of the results compared with the float network.

    Args:
      name: the target.
      src: the .onnx file, or a target that makes one, such as a dnn_prune.
      calibration: a safetensors file of inputs, by the names of the model's inputs. Their first
        dimension may be larger than the model takes. Required with 8-bit weights, refused with
        4-bit weights.
      activations: the type of activations: "uint8", "int8", "uint16" or "int16". Default: "uint8".
      range: how the range of an activation is chosen from its calibration values: "minmax", from
        minimum to maximum; "percentile", without outliers; "mse", the range with the least
        squared error. Default: "minmax".
      percentile: for range = "percentile", the percentage of elements within the range. Default:
        99.99.
      per_channel: whether each channel of weights has its own scale. Default: True.
      correct_bias: whether the mean error of quantization in a channel is subtracted from its
        bias. Default: True.
      equalize: whether to equalize the ranges of channels of neighboring convolutions first.
        Default: False.
      weight_bits: 8 or 4. With 4, weights of MatMul and Gemm are stored in 4 bits and everything
        is computed in floats; activations, range, percentile, per_channel, correct_bias, equalize
        and wide must not be set. Default: 8.
      block_size: the number of 4-bit weights along the sum that share a scale: 16, 32, 64, 128 or
        256. Default: 32.
      keep_float: operators, or names of nodes, that stay in floats.
      wide: names of nodes whose activations have 16 bits.
      check: a safetensors file of inputs for the report. With a tensor "labels", the report has
        the accuracy. Default: the calibration inputs. With 4-bit weights there is no default, and
        the report has no errors without check.
      alone: the number of inputs on which the report measures, for each layer, the error if only
        that layer is quantized. They are the first ones of calibration, or of check with 4-bit
        weights. Default: 0.
      external_data: files of the ONNX model's external data.
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
