"""dnn_import: reads an ONNX model once for several dnn_models."""

load("//rules:providers.bzl", "DnnGraphInfo", "DnnPruningInfo")
load(":actions.bzl", "DNNC_EXEC_GROUPS", "run_graph")
load(":check.bzl", "check_dims", "check_external", "check_options", "check_src", "dims_as_text")

def _dnn_import_impl(ctx):
    check_dims(ctx.attr.dims)
    check_options(ctx.attr.dnnc_opts)
    src = check_src(ctx.attr.src.label, ctx.files.src)
    graph, dumps, pruned = run_graph(
        ctx,
        "%s/%s" % (ctx.label.name, ctx.label.name.split("/")[-1]),
        src = src,
        external = check_external(ctx.files.external_data, src),
        dims = ctx.attr.dims,
        options = ctx.attr.dnnc_opts,
        pruning = ctx.attr.pruning[DnnPruningInfo] if ctx.attr.pruning else None,
    )
    return [
        DefaultInfo(files = depset([graph.graph, graph.consts])),
        graph,
        OutputGroupInfo(dump = depset(dumps), pruning = depset(pruned)),
    ]

_dnn_import = rule(
    implementation = _dnn_import_impl,
    doc = "Reads an ONNX model once for several dnn_models, which name it as src and may have different APIs and options.",
    attrs = {
        "dims": attr.string_dict(
            doc = "Numbers or ranges (\"1..64\", \"1..\") for symbols of the model's shapes.",
        ),
        "dnnc_opts": attr.string_list(
            doc = "Additional options for dnnc, such as -disable=rewrite. With -dump=PASS the output group dump has the IR after that pass.",
        ),
        "external_data": attr.label_list(
            allow_files = True,
            doc = "Files of the ONNX model's external data.",
        ),
        "pruning": attr.label(
            doc = "A dnn_pruning, which prunes the weights before the model is read.",
            providers = [DnnPruningInfo],
        ),
        "src": attr.label(
            allow_files = True,
            doc = "The ONNX model.",
            mandatory = True,
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    provides = [DnnGraphInfo],
)

def dnn_import(name, src, dims = None, **kwargs):
    """Reads an ONNX model once for several dnn_models.

    They name it as src, and may have different APIs and options.

    Args:
      name: the target.
      src: the ONNX model.
      dims: numbers or ranges ("1..64", "1..") for symbols of the model's shapes.
      **kwargs: attributes of the rule.
    """
    _dnn_import(
        name = name,
        src = src,
        dims = dims_as_text(dims),
        **kwargs
    )
