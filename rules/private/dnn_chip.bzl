"""dnn_chip: facts that kernels are specialised to."""

load("//rules:providers.bzl", "DnnChipInfo")

CHIP_TYPE = Label("//rules/toolchain:chip_type")

def _dnn_chip_impl(ctx):
    info = DnnChipInfo(
        name = ctx.label.name,
        facts = ctx.file.facts,
        copts = ctx.attr.copts,
    )
    return [
        DefaultInfo(files = depset([ctx.file.facts])),
        info,
        platform_common.ToolchainInfo(chip_info = info),
    ]

_dnn_chip = rule(
    implementation = _dnn_chip_impl,
    doc = "A chip's facts, as a toolchain's implementation.",
    attrs = {
        "copts": attr.string_list(
            doc = "C++ compiler flags that select the chip's instruction set.",
        ),
        "facts": attr.label(
            doc = "JSON file with the chip's facts.",
            allow_single_file = [".json"],
            mandatory = True,
        ),
    },
    provides = [DnnChipInfo, platform_common.ToolchainInfo],
)

def dnn_chip(name, facts, constraints, copts = [], **kwargs):
    """Declares a chip; register NAME_toolchain to have it used for platforms with its constraints.

    Of several registered chips that fit a platform the first one counts. The root module's come
    first, so a chip of one's own may have the constraints of one of ours.

    A chip is code that one trusts, as a BUILD file is: its copts, here and in its JSON file, are given to
    the C++ compiler as they are, and compilers have options that load plugins, read and write files or run
    programs. Read a chip's files before you register one that somebody else wrote. Models need no such
    trust: an ONNX file or a tuning record brings no options.

    Args:
      name: the chip's name. `NAME_toolchain` is what register_toolchains takes.
      facts: JSON file with vector width, registers, caches, as those of @rules_dnn//platforms/chips.
      constraints: constraint values that a platform with this chip has.
      copts: C++ compiler flags that select the instruction set, given to kernels only. They are not
        checked: see above.
      **kwargs: attributes common to all rules.
    """
    _dnn_chip(
        name = name,
        copts = copts,
        facts = facts,
        **kwargs
    )
    native.toolchain(
        name = name + "_toolchain",
        tags = kwargs.get("tags"),
        target_compatible_with = constraints,
        testonly = kwargs.get("testonly"),
        toolchain = ":" + name,
        toolchain_type = CHIP_TYPE,
        visibility = kwargs.get("visibility"),
    )
