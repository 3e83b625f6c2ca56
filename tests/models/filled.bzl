"""filled_model: an ONNX model with synthetic weights."""

def _filled_model_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".onnx")
    args = ctx.actions.args()
    args.add(ctx.file.src)
    args.add(out)
    ctx.actions.run(
        mnemonic = "FillModel",
        progress_message = "Filling network %{label}",
        executable = ctx.executable._fill,
        arguments = [args],
        inputs = [ctx.file.src],
        outputs = [out],
        execution_requirements = {"supports-path-mapping": "1"},
    )
    return [DefaultInfo(files = depset([out]))]

filled_model = rule(
    implementation = _filled_model_impl,
    doc = "Gives weights to a model whose own were taken out: NAME.onnx.",
    attrs = {
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
