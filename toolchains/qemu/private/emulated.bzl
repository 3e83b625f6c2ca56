"""Runs a program, built for another platform, under an emulator on the host."""

_SCRIPT = """\
#!/bin/sh
# Runs {binary} under emulation.
runfiles=${{RUNFILES_DIR:-$0.runfiles}}
export RUNFILES_DIR="$runfiles"
exec "$runfiles/{emulator}" "$runfiles/{program}" "$@"
"""

def _platform_transition_impl(_settings, attr):
    return {"//command_line_option:platforms": [str(attr.platform)]}

_platform_transition = transition(
    implementation = _platform_transition_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _runfiles_path(ctx, file):
    path = file.short_path
    return path[len("../"):] if path.startswith("../") else ctx.workspace_name + "/" + path

def _emulated_impl(ctx):
    binary = ctx.attr.binary[0][DefaultInfo]
    emulator = ctx.attr.emulator[DefaultInfo]
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, is_executable = True, content = _SCRIPT.format(
        binary = ctx.attr.binary[0].label,
        emulator = _runfiles_path(ctx, emulator.files_to_run.executable),
        program = _runfiles_path(ctx, binary.files_to_run.executable),
    ))
    runfiles = ctx.runfiles(files = ctx.files.data).merge_all([
        dep.default_runfiles
        for dep in [binary, emulator] + [data[DefaultInfo] for data in ctx.attr.data]
    ])
    return [DefaultInfo(executable = script, runfiles = runfiles)]

_ATTRS = {
    "binary": attr.label(
        cfg = _platform_transition,
        doc = "The program. It is built for `platform`.",
        mandatory = True,
    ),
    "data": attr.label_list(
        allow_files = True,
        doc = "Files that the program reads. They are built for the target platform, that is, for the host.",
    ),
    "emulator": attr.label(
        default = "//toolchains/qemu:qemu_aarch64",
        doc = "The emulator. It gets the program and its arguments.",
        executable = True,
        # The test, and so the emulator, runs on the target platform.
        cfg = "target",
    ),
    "platform": attr.label(
        default = "//platforms:linux_arm64",
        doc = "The platform to build the program for.",
    ),
    "_allowlist_function_transition": attr.label(
        default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
    ),
}

emulated_binary = rule(
    implementation = _emulated_impl,
    attrs = _ATTRS,
    doc = "A program for another platform that `bazel run` can run on this machine.",
    executable = True,
)

emulated_test = rule(
    implementation = _emulated_impl,
    attrs = _ATTRS,
    doc = "A test for another platform that runs on this machine. `binary` is a cc_test or any program that reports failure by its exit status.",
    test = True,
)
