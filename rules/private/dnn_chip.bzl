"""dnn_chip: facts of a chip, to which the compiler specializes kernels."""

load("//rules:providers.bzl", "DnnChipInfo")

CHIP_TYPE = Label("//rules/toolchain:chip_type")

def _dnn_chip_impl(ctx):
    facts = ctx.file.facts
    if not facts:
        facts = ctx.outputs.out
        ctx.actions.write(facts, ctx.attr.text)
    info = DnnChipInfo(
        name = ctx.label.name,
        facts = facts,
        copts = ctx.attr.copts,
        variants = [chip[DnnChipInfo] for chip in ctx.attr.variants],
    )
    return [
        DefaultInfo(files = depset([facts])),
        info,
        platform_common.ToolchainInfo(chip_info = info),
    ]

_dnn_chip = rule(
    implementation = _dnn_chip_impl,
    doc = "A chip's facts: the implementation of a toolchain.",
    attrs = {
        "copts": attr.string_list(
            doc = "C++ compiler flags that select the chip's instruction set.",
        ),
        "facts": attr.label(
            doc = "JSON file with the chip's facts.",
            allow_single_file = [".json"],
        ),
        "out": attr.output(
            doc = "The JSON file to write, if facts is not set.",
        ),
        "text": attr.string(
            doc = "The text to write to out.",
        ),
        "variants": attr.label_list(
            doc = "More capable chips that libraries have kernels for, too.",
            providers = [DnnChipInfo],
        ),
    },
    provides = [DnnChipInfo, platform_common.ToolchainInfo],
)

def _text(name, facts, copts):
    """Returns the text of the JSON file for facts that are a dict."""
    for field in ["name", "copts"]:
        if field in facts:
            fail("dnn_chip %s: facts has %s, which is an attribute of dnn_chip: leave it out of facts" % (name, field))
    return json.encode_indent(facts | {"copts": copts, "name": name}, indent = "  ") + "\n"

def dnn_chip(name, facts, constraints, copts = [], variants = [], **kwargs):
    """Declares a chip. Register NAME_toolchain to use it for platforms with its constraints.

    If several registered chips fit a platform, Bazel takes the first one. The root module's chips
    come first, so your chip may have the same constraints as a chip of rules_dnn.

    A chip needs the same trust as a BUILD file. The C++ compiler gets its copts, from here and
    from its JSON file, unchecked. Compilers have options that load plugins, read and write files
    or run programs. Before you register a chip that somebody else wrote, read its files. Models
    need no such trust: ONNX files and tuning records cannot add compiler options.

    Args:
      name: the chip's name. Pass `NAME_toolchain` to register_toolchains.
      facts: vector width, registers, caches: a dict such as those in
        @rules_dnn//platforms/chips:chips.bzl, which is written to NAME.json; or a JSON file,
        which also has the name and the copts.
      constraints: constraint values of the platforms that have this chip.
      copts: C++ compiler flags that select the instruction set. Only kernels are compiled with
        them. They are not checked: see above.
      variants: more capable dnn_chips, the least capable first. Libraries for a platform with
        this chip have kernels for these, too, unless a dnn_model sets variants.
      **kwargs: attributes common to all rules.
    """
    if not facts:
        fail("dnn_chip %s: no facts; want a dict such as those in @rules_dnn//platforms/chips:chips.bzl, or a JSON file" % name)
    given = type(facts) == "dict"
    _dnn_chip(
        name = name,
        copts = copts,
        facts = None if given else facts,
        out = name + ".json" if given else None,
        text = _text(name, facts, copts) if given else None,
        variants = variants,
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
