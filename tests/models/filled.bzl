"""filled_model: an ONNX model with synthetic weights."""

def _filled_model_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".onnx")
    outputs = [out]
    args = ctx.actions.args()
    args.add(ctx.file.src)
    args.add(out)
    if ctx.attr.external_data:
        outputs.append(ctx.actions.declare_file(ctx.label.name + ".data"))
        args.add(outputs[1])
    ctx.actions.run(
        mnemonic = "FillModel",
        progress_message = "Filling network %{label}",
        executable = ctx.executable._fill,
        arguments = [args],
        inputs = [ctx.file.src],
        outputs = outputs,
        execution_requirements = {"supports-path-mapping": "1"},
    )
    return [DefaultInfo(files = depset(outputs))]

filled_model = rule(
    implementation = _filled_model_impl,
    doc = "Gives weights to a model whose own were taken out: NAME.onnx.",
    attrs = {
        "external_data": attr.bool(
            doc = "Whether the weights go to NAME.data beside the model, as they must where they have more than 1 GB.",
        ),
        "src": attr.label(
            allow_single_file = [".onnx"],
            doc = "The model without weights.",
            mandatory = True,
        ),
        "_fill": attr.label(
            cfg = "exec",
            default = "//tools/fill",
            executable = True,
        ),
    },
)
