"""dnn_chip: facts that kernels are specialised to."""

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
    doc = "A chip's facts, as a toolchain's implementation.",
    attrs = {
        "copts": attr.string_list(
            doc = "C++ compiler flags that select the chip's instruction set.",
        ),
        "facts": attr.label(
            doc = "JSON file with the chip's facts.",
            allow_single_file = [".json"],
        ),
        "out": attr.output(
            doc = "That file, where there is none yet.",
        ),
        "text": attr.string(
            doc = "What out holds.",
        ),
        "variants": attr.label_list(
            doc = "More capable chips for which libraries have kernels, too.",
            providers = [DnnChipInfo],
        ),
    },
    provides = [DnnChipInfo, platform_common.ToolchainInfo],
)

def _text(name, facts, copts):
    """Returns the JSON file of facts that are given as a dict."""
    for field in ["name", "copts"]:
        if field in facts:
            fail("dnn_chip %s: facts has %s, which is an attribute of dnn_chip: leave it out of facts" % (name, field))
    return json.encode_indent(facts | {"copts": copts, "name": name}, indent = "  ") + "\n"

def dnn_chip(name, facts, constraints, copts = [], variants = [], **kwargs):
    """Declares a chip; register NAME_toolchain to have it used for platforms with its constraints.

    Of several registered chips that fit a platform the first one counts. The root module's come
    first, so a chip of one's own may have the constraints of one of ours.

    A chip is code that one trusts, as a BUILD file is: its copts, here and in its JSON file, are given to
    the C++ compiler as they are, and compilers have options that load plugins, read and write files or run
    programs. Read a chip's files before you register one that somebody else wrote. Models need no such
    trust: an ONNX file or a tuning record brings no options.

    Args:
      name: the chip's name. `NAME_toolchain` is what register_toolchains takes.
      facts: vector width, registers, caches: a dict, as those of @rules_dnn//platforms/chips:chips.bzl, of which
        NAME.json is made; or a JSON file, which has the name and the copts, too.
      constraints: constraint values that a platform with this chip has.
      copts: C++ compiler flags that select the instruction set, given to kernels only. They are not
        checked: see above.
      variants: dnn_chips, the least capable first, for which libraries for a platform with this chip have kernels, too, unless
        a dnn_model says otherwise.
      **kwargs: attributes common to all rules.
    """
    if not facts:
        fail("dnn_chip %s: no facts; want a dict, as those of @rules_dnn//platforms/chips:chips.bzl, or a JSON file" % name)
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
