"""NAME_bench of a dnn_model with a target: starts the program that measures the model."""

load(":actions.bzl", "DNNC_EXEC_GROUPS")
load(":dnn_benchmark.bzl", "BenchmarkInfo")
load(":for_target.bzl", "FOR_TARGET_ATTRS", "dnnc_starter", "for_target", "only", "plan_option")
load(":names.bzl", "shown_label")

def _bench_impl(ctx):
    target = only(ctx.attr.program)
    program = target[DefaultInfo].files_to_run.executable
    info = only(ctx.attr.served)[BenchmarkInfo]
    shown = ctx.actions.declare_file("%s_/%s.program" % (ctx.label.name, ctx.label.name))
    ctx.actions.symlink(
        is_executable = True,
        output = shown,
        progress_message = "Gathering %{label}",
        target_file = program,
    )
    plan = ctx.actions.declare_file(ctx.label.name + ".plan")
    ctx.actions.write(plan, json.encode_indent(struct(
        model = shown_label(ctx.label.same_package_label(ctx.attr.model)),
        platform = shown_label(info.platform),
        program = shown.short_path,
        weights = info.loaded[0].short_path if info.loaded else "",
    )))
    executable = dnnc_starter(ctx, "bench")
    return [DefaultInfo(
        executable = executable,
        files = depset([executable, shown]),
        runfiles = ctx.runfiles([plan, shown, program] + info.loaded).merge(target[DefaultInfo].default_runfiles),
    )]

_dnn_bench = rule(
    implementation = _bench_impl,
    doc = "Starts a benchmark program that is built for a target. A command such as an emulator runs it if this machine cannot.",
    attrs = FOR_TARGET_ATTRS | {
        "model": attr.string(
            doc = "The model's name in messages.",
            mandatory = True,
        ),
        "program": attr.label(
            cfg = for_target,
            doc = "The program.",
            mandatory = True,
        ),
        "served": attr.label(
            cfg = for_target,
            doc = "The source that names the model to the program.",
            mandatory = True,
            providers = [BenchmarkInfo],
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    executable = True,
)

def dnn_bench(name, model, **kwargs):
    """Declares a target that starts NAME.program, which dnn_benchmark declares.

    Args:
      name: the target to run.
      model: the name of the dnn_model, for messages.
      **kwargs: attributes of the rule.
    """
    _dnn_bench(
        name = name,
        args = ["bench", plan_option(name)],
        model = model,
        program = ":%s.program" % name,
        served = ":%s.program.served" % name,
        **kwargs
    )
