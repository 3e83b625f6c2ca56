"""NAME.tune of a dnn_model: measures kernels and writes the record that builds read."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@rules_cc//cc:find_cc_toolchain.bzl", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load(":actions.bzl", "DNNC_EXEC_GROUPS", "run_compile")
load(":cc.bzl", "compile_and_link", "link_program")
load(":dnn_benchmark.bzl", "served_source")
load(":for_target.bzl", "FOR_TARGET_ATTRS", "dnnc_starter", "for_target", "only", "plan_option")
load(":names.bzl", "shown_label")
load(":private_info.bzl", "ModelPartsInfo")
load(":runtimes.bzl", "RUNTIME_ATTRS")

# The maximum number of candidate kernels of a block. Each one is measured in its own program.
CANDIDATES = 8

def _program(ctx, number, record):
    """Declares a program in which each block of the model uses a candidate kernel by its number.

    Args:
      ctx: the rule's context.
      number: the candidate's number, from 1.
      record: the File of the tuning record from which a search finds candidates, or None.

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
        warnings = "none",  # the model's own build prints them
        candidate = number,
        precision = model.precision,
        accumulation = model.accumulation,
        calibration = model.calibration,
        tuning = record,
        variants = model.variants,  # the program measures the variant that the machine runs, with the library's layouts
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
    """Returns the record's path in the workspace."""
    if ctx.file.tuning:
        return ctx.file.tuning.short_path
    return "%s%s.json" % (ctx.label.package + "/" if ctx.label.package else "", ctx.attr.tuner)

def _tuner_programs_impl(ctx):
    record = None
    if ctx.attr._search[BuildSettingInfo].value:
        record = ctx.file.tuning
        if not record:
            fail("\n%s needs a tuning record to search from, but the model has no tuning: run it without --@rules_dnn//rules:search, then set tuning = \"%s.json\" in the dnn_model" % (ctx.attr.tuner, ctx.attr.tuner))
    programs = [_program(ctx, i + 1, record) for i in range(CANDIDATES)]
    plan = ctx.actions.declare_file(ctx.label.name + ".json")
    ctx.actions.write(plan, json.encode_indent(struct(
        model = shown_label(ctx.label.same_package_label(ctx.attr.shown)),
        platform = shown_label(ctx.fragments.platform.platform),
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
    return [DefaultInfo(
        files = depset([plan]),
        runfiles = ctx.runfiles([plan] + [file for p in programs for file in [p.program, p.manifest, p.weights]]),
    )]

_tuner_programs = rule(
    implementation = _tuner_programs_impl,
    doc = "Programs of a model with different candidate kernels, and the plan that lists them.",
    attrs = {
        "model": attr.label(
            doc = "The model.",
            mandatory = True,
            providers = [ModelPartsInfo],
        ),
        "shown": attr.string(
            doc = "The model's name in messages.",
            mandatory = True,
        ),
        "tuner": attr.string(
            doc = "The name of the target that runs the programs.",
            mandatory = True,
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
    fragments = ["cpp", "platform"],
    toolchains = use_cc_toolchain(),
)

def _dnn_tuner_impl(ctx):
    programs = only(ctx.attr.programs)[DefaultInfo]
    plan = ctx.actions.declare_file(ctx.label.name + ".plan")
    ctx.actions.symlink(
        output = plan,
        progress_message = "Gathering %{label}",
        target_file = programs.files.to_list()[0],
    )
    return [DefaultInfo(
        executable = dnnc_starter(ctx, "tune"),
        runfiles = ctx.runfiles([plan]).merge(programs.default_runfiles),
    )]

_dnn_tuner = rule(
    implementation = _dnn_tuner_impl,
    doc = "Measures programs that are built for a target.",
    attrs = FOR_TARGET_ATTRS | {
        "programs": attr.label(
            cfg = for_target,
            doc = "The programs and their plan.",
            mandatory = True,
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    executable = True,
)

def dnn_tuner(name, model, shown, target = None, tuning = None, tags = None, visibility = None, shared = {}, **kwargs):
    """Declares a target that measures a model's kernels.

    Args:
      name: the target to run.
      model: the model, which is built for the platform in target.
      shown: the name of the dnn_model, for messages.
      target: the platform to measure. Default: the platform of the build.
      tuning: the record to write. Default: NAME.json.
      tags: tags of both targets.
      visibility: visibility of the target to run.
      shared: attributes of both targets.
      **kwargs: attributes of the target that compiles the programs.
    """
    _tuner_programs(
        name = name + ".programs",
        model = model,
        shown = shown,
        tags = tags,
        tuner = name,
        tuning = tuning,
        visibility = ["//visibility:private"],
        **(shared | kwargs)
    )
    _dnn_tuner(
        name = name,
        args = ["tune", plan_option(name)],
        programs = ":%s.programs" % name,
        tags = tags,
        target = target,
        visibility = visibility,
        **shared
    )
