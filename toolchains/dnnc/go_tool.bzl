"""Go programs that builds and users run, all built in one configuration.

Bazel compiles Go's standard library for each configuration with a Go program. To share one, these
programs are built for the execution platform with fixed settings of the Go rules.
"""

load("@rules_go//go:def.bzl", "go_binary")

def _go_setting(name):
    return str(Label("@rules_go//go/config:" + name))

# Pure Go needs no C compiler.
_SETTINGS = {
    _go_setting("debug"): False,
    _go_setting("linkmode"): "normal",
    _go_setting("msan"): False,
    _go_setting("pure"): True,
    _go_setting("race"): False,
    _go_setting("static"): False,
    _go_setting("tags"): [],
}

def _one_configuration_impl(_settings, _attr):
    return _SETTINGS

_one_configuration = transition(
    implementation = _one_configuration_impl,
    inputs = [],
    outputs = _SETTINGS.keys(),
)

def _link_impl(ctx):
    info = ctx.attr.program[DefaultInfo]
    executable = ctx.actions.declare_file("%s_/%s" % (ctx.label.name, ctx.attr.file))
    ctx.actions.symlink(
        is_executable = True,
        output = executable,
        progress_message = "Gathering %{label}",
        target_file = info.files_to_run.executable,
    )
    return [DefaultInfo(
        executable = executable,
        files = depset([executable]),
        runfiles = ctx.runfiles([executable]).merge(info.default_runfiles),
    )]

_FILE = attr.string(
    doc = "The program's file name.",
    mandatory = True,
)

go_configured = rule(
    implementation = _link_impl,
    cfg = _one_configuration,
    doc = "A program built with the fixed Go settings of rules_dnn.",
    attrs = {
        "file": _FILE,
        "program": attr.label(
            doc = "The go_binary.",
            executable = True,
            cfg = "target",
            mandatory = True,
        ),
    },
    executable = True,
)

go_here = rule(
    implementation = _link_impl,
    doc = "A program for the execution platform, which `bazel run` can run with any --platforms.",
    attrs = {
        "file": _FILE,
        "program": attr.label(
            doc = "The program.",
            executable = True,
            cfg = "exec",
            mandatory = True,
        ),
    },
    executable = True,
)

def go_tool(name, visibility = None, tags = None, testonly = None, **kwargs):
    """Declares a Go program that `bazel run` can start from any module.

    Args:
      name: the program.
      visibility: visibility of the program.
      tags: tags of the program.
      testonly: whether only tests may depend on it.
      **kwargs: attributes of go_binary.
    """
    inner = (tags or []) + ["manual"]
    go_binary(
        name = name + ".program",
        tags = inner,
        testonly = testonly,
        visibility = ["//visibility:private"],
        **kwargs
    )
    go_configured(
        name = name + ".configured",
        file = name,
        program = ":%s.program" % name,
        tags = inner,
        testonly = testonly,
        visibility = ["//visibility:private"],
    )
    go_here(
        name = name,
        file = name,
        program = ":%s.configured" % name,
        tags = tags,
        testonly = testonly,
        visibility = visibility,
    )
