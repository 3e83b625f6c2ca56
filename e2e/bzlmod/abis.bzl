"""A rule that builds binaries for several platforms at once, like rules for apps."""

def _split_impl(_settings, attr):
    return {
        name: {"//command_line_option:platforms": [str(platform)]}
        for platform, name in attr.platforms.items()
    }

_split = transition(
    implementation = _split_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _for_abis_impl(ctx):
    links = []
    runfiles = ctx.runfiles()
    for name, binaries in ctx.split_attr.binaries.items():
        for binary in binaries:
            executable = binary[DefaultInfo].files_to_run.executable
            for file in [executable] if executable else binary[DefaultInfo].files.to_list():
                link = ctx.actions.declare_file("%s/%s/%s" % (ctx.label.name, name, file.basename))
                ctx.actions.symlink(output = link, target_file = file, is_executable = bool(executable))
                links.append(link)
            runfiles = runfiles.merge(binary[DefaultInfo].default_runfiles)
    return [DefaultInfo(files = depset(links, transitive = [runfiles.files]), runfiles = runfiles)]

for_abis = rule(
    implementation = _for_abis_impl,
    attrs = {
        "binaries": attr.label_list(cfg = _split, mandatory = True),
        "platforms": attr.label_keyed_string_dict(mandatory = True),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
