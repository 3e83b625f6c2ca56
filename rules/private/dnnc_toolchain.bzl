"""dnnc_toolchain: the executable that compiles networks."""

load("//rules:providers.bzl", "DnncToolchainInfo")

DNNC_TYPE = Label("//rules/toolchain:dnnc_type")

def _dnnc_toolchain_impl(ctx):
    info = DnncToolchainInfo(dnnc = ctx.attr.dnnc[DefaultInfo].files_to_run)
    return [info, platform_common.ToolchainInfo(dnnc_info = info)]

_dnnc_toolchain = rule(
    implementation = _dnnc_toolchain_impl,
    doc = "The compiler: the implementation of a toolchain.",
    attrs = {
        "dnnc": attr.label(
            allow_single_file = True,
            doc = "Any executable that has dnnc's command line.",
            mandatory = True,
            executable = True,
            cfg = "exec",
        ),
    },
    provides = [DnncToolchainInfo, platform_common.ToolchainInfo],
)

def dnnc_toolchain(name, dnnc, exec_compatible_with = [], **kwargs):
    """Declares a compiler. Register NAME_toolchain to use it.

    Args:
      name: the compiler's target. Pass `NAME_toolchain` to register_toolchains.
      dnnc: label of any executable that has dnnc's command line, built from source or prebuilt.
      exec_compatible_with: constraints of the machines that can run a prebuilt executable. Leave
        it empty for one that is built from source.
      **kwargs: attributes common to all rules.
    """
    _dnnc_toolchain(
        name = name,
        dnnc = dnnc,
        **kwargs
    )
    native.toolchain(
        name = name + "_toolchain",
        exec_compatible_with = exec_compatible_with,
        tags = kwargs.get("tags"),
        testonly = kwargs.get("testonly"),
        toolchain = ":" + name,
        toolchain_type = DNNC_TYPE,
        visibility = kwargs.get("visibility"),
    )
