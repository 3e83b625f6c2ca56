"""NAME.tune of a dnn_model: measures kernels and writes the record that builds read."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@rules_cc//cc:find_cc_toolchain.bzl", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":actions.bzl", "DNNC_EXEC_GROUPS", "DNNC_GROUP", "run_compile")
load(":cc.bzl", "compile_and_link", "link_program")
load(":dnn_benchmark.bzl", "served_source")
load(":dnnc_toolchain.bzl", "DNNC_TYPE")
load(":private_info.bzl", "ModelPartsInfo")
load(":runtimes.bzl", "RUNTIME_ATTRS")

# How many kernels of a block are measured at most: a program for each.
CANDIDATES = 8

def _program(ctx, number, record):
    """Declares a program of the model in which each block has its k-th kernel.

    Args:
      ctx: the rule's context.
      number: the kernel's number, from 1.
      record: the File of the tuning record that leads to the kernels, or None.

    Returns:
      A struct of the Files program, manifest and weights.
    """
    model = ctx.attr.model[ModelPartsInfo]
    name = "%s_%d" % (ctx.label.name, number)
    header = ctx.actions.declare_file("%s/%s.h" % (name, model.api))
    files, _ = run_compile(
        ctx,
        "%s/%s" % (name, model.api),
        graph = model.graph,
        chip = model.chip,
        api = model.api,
        prefix = model.c_prefix,
        namespace = model.namespace,
        header = header,
        embed = False,
        shards = model.shards,
        options = model.options,
        warnings = "none",  # the model's own build has them
        candidate = number,
        precision = model.precision,
        calibration = model.calibration,
        tuning = record,
        variants = model.variants,  # it measures those that the machine runs, in the layouts that are the library's
        device = model.device,
    )
    library, _, _ = compile_and_link(
        ctx,
        name,
        header = header,
        include_dir = header.dirname,
        kernels = files.kernels,
        copts = model.chip.copts,
        assembly = None,
        weights = files.weights,
        runtime = (ctx.attr._opencl if model.device else ctx.attr._runtime)[CcInfo],
        variants = files.variants,
    )
    source = ctx.actions.declare_file(name + "/served.cc")
    ctx.actions.write(source, served_source(
        prefix = model.c_prefix,
        weights = "nullptr",
    ))
    return struct(
        manifest = files.manifest,
        program = link_program(ctx, name + "/program", source, [ctx.attr._bench[CcInfo], library]),
        weights = files.weights,
    )

def _record(ctx):
    """Returns the path of the record in the workspace."""
    if ctx.file.tuning:
        return ctx.file.tuning.short_path
    return "%s%s.json" % (ctx.label.package + "/" if ctx.label.package else "", ctx.label.name)

def _dnn_tuner_impl(ctx):
    record = None
    if ctx.attr._search[BuildSettingInfo].value:
        record = ctx.file.tuning
        if not record:
            fail("\n%s searches by what was measured, and the model names no record: run it without --@rules_dnn//rules:search, then say tuning = \"%s.json\" in the dnn_model" % (ctx.label, ctx.label.name))
    programs = [_program(ctx, i + 1, record) for i in range(CANDIDATES)]
    plan = ctx.actions.declare_file(ctx.label.name + ".plan")
    ctx.actions.write(plan, json.encode_indent(struct(
        programs = [
            struct(
                manifest = p.manifest.short_path,
                program = p.program.short_path,
                weights = p.weights.short_path,
            )
            for p in programs
        ],
        record = _record(ctx),
    )))
    executable = ctx.actions.declare_file(ctx.label.name + "/tune")
    ctx.actions.symlink(
        is_executable = True,
        output = executable,
        progress_message = "Gathering %{label}",
        target_file = ctx.exec_groups[DNNC_GROUP].toolchains[DNNC_TYPE].dnnc_info.dnnc.executable,
    )
    return [DefaultInfo(
        executable = executable,
        runfiles = ctx.runfiles([plan] + [file for p in programs for file in [p.program, p.manifest, p.weights]]),
    )]

_dnn_tuner = rule(
    implementation = _dnn_tuner_impl,
    doc = "Programs of a model that differ in the kernels of its blocks, and what measures them.",
    attrs = {
        "model": attr.label(
            doc = "The model.",
            mandatory = True,
            providers = [ModelPartsInfo],
        ),
        "tuning": attr.label(
            allow_single_file = [".json"],
            doc = "The record to write. Default: NAME.json.",
        ),
        "_bench": attr.label(
            default = Label("//runtime/bench"),
            providers = [CcInfo],
        ),
        "_opencl": RUNTIME_ATTRS["_opencl"],
        "_runtime": RUNTIME_ATTRS["_runtime"],
        "_search": attr.label(
            default = Label("//rules:search"),
            providers = [BuildSettingInfo],
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    executable = True,
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

def dnn_tuner(name, **kwargs):
    """Declares what measures a model's kernels.

    Args:
      name: the target to run.
      **kwargs: attributes of the rule.
    """
    package = native.package_name()
    _dnn_tuner(
        name = name,
        args = ["tune", "--plan=%s%s.plan" % (package + "/" if package else "", name)],
        **kwargs
    )
