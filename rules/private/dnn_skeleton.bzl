"""backend = "hvx": skeleton libraries on the DSP, which a model's stub calls."""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//platforms/chips:chips.bzl", "CHIPS")
load("//rules:providers.bzl", "DnnModelInfo")
load("//toolchains/cc:missing.bzl", "MISSING_COMPILER")
load(":cc.bzl", "cc_setup")
load(":names.bzl", "shown_label")

_PLATFORMS = "//command_line_option:platforms"

_PREFIX = "hexagon_"

# The platform for each Hexagon version that rules_dnn has a chip for.
DSPS = {
    chip.removeprefix(_PREFIX): Label("//platforms:" + chip)
    for chip in CHIPS
    if chip.startswith(_PREFIX)
}

# The function that FastRPC looks up in a skeleton library (runtime/fastrpc/wire.h). No object
# refers to it, so the linker needs -u to keep it.
_ENTRY = "dnn_skel_handle_invoke"

DnnSkeletonInfo = provider(
    doc = "A model's skeleton library, or the reason why it cannot be built.",
    fields = {
        "library": "File: the shared library; None if no toolchain can link it.",
        "problem": "string: the error message if there is no library and no refusing; otherwise None.",
        "refusing": "File: a toolchain's program that prints an error message and fails, or None.",
    },
)

def skeleton_name(prefix, version):
    """Returns a skeleton library's file name.

    The stub uses the same name (gen/emit/cppapi/remote.go).
    """
    return "lib%s_%s_skel.so" % (prefix, version)

def _linked(ctx, model):
    """Declares the shared library of a model that was compiled with skeleton = True."""
    toolchain, features = cc_setup(ctx)
    info = model[DnnModelInfo]
    name = skeleton_name(info.c_prefix, info.chip.removeprefix(_PREFIX))
    made = cc_common.link(
        actions = ctx.actions,
        name = "%s/%s" % (ctx.label.name, name.removeprefix("lib").removesuffix(".so")),
        cc_toolchain = toolchain,
        feature_configuration = features,
        language = "c++",
        linking_contexts = [model[CcInfo].linking_context],
        output_type = "dynamic_library",
        user_link_flags = ["-Wl,-u," + _ENTRY, "-Wl,-soname," + name],
    ).library_to_link
    return made.resolved_symlink_dynamic_library or made.dynamic_library

def _dnn_skeleton_impl(ctx):
    if ctx.attr.model:
        library = _linked(ctx, ctx.attr.model)
        return [
            DefaultInfo(files = depset([library])),
            DnnSkeletonInfo(library = library, problem = None, refusing = None),
        ]
    toolchain = find_cc_toolchain(ctx, mandatory = False)
    if toolchain and toolchain.compiler == MISSING_COMPILER:
        return [DnnSkeletonInfo(library = None, problem = None, refusing = toolchain.all_files.to_list()[0])]
    return [DnnSkeletonInfo(
        library = None,
        refusing = None,
        problem = ("no C++ toolchain builds for the platform %s, so there is no skeleton library that runs the model on that DSP: register a toolchain in " +
                   "MODULE.bazel or WORKSPACE. With this machine's clang: register_toolchains(\"@rules_dnn//toolchains/cc:hexagon\"). With Qualcomm's SDK in HEXAGON_SDK_ROOT: see " +
                   "docs/guides/hexagon.md of rules_dnn. The application's stub builds without it") % shown_label(ctx.fragments.platform.platform),
    )]

dnn_skeleton_rule = rule(
    implementation = _dnn_skeleton_impl,
    doc = "Links the shared library that FastRPC loads on the DSP.",
    attrs = {
        "model": attr.label(
            doc = "The model, compiled with skeleton = True. Unset if no toolchain compiles C++ for the platform.",
            providers = [CcInfo, DnnModelInfo],
        ),
    },
    fragments = ["cpp", "platform"],
    provides = [DnnSkeletonInfo],
    toolchains = use_cc_toolchain(mandatory = False),
)

def _per_dsp_impl(settings, attr):
    # A select() may choose another backend. Then the rule does not read the skeletons.
    versions = attr.dsp if attr.backend == "hvx" else []
    split = {version: {_PLATFORMS: str(DSPS[version])} for version in versions if version in DSPS}
    return split or {"none": {_PLATFORMS: settings[_PLATFORMS]}}

_per_dsp = transition(
    implementation = _per_dsp_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

# Attributes of a model's rule for its skeleton libraries.
REMOTE_ATTRS = {
    "dsp": attr.string_list(
        default = ["v68"],
        doc = "Versions of Hexagon that backend = \"hvx\" has skeleton libraries for.",
    ),
    "dsp_is_set": attr.bool(
        doc = "Whether the caller set dsp.",
    ),
    "skeleton": attr.bool(
        doc = "Whether the model is compiled to be linked as a skeleton library.",
    ),
    "skeletons": attr.label(
        cfg = _per_dsp,
        doc = "The model as a skeleton library, for backend = \"hvx\".",
        providers = [DnnSkeletonInfo],
    ),
}

def _refused(ctx, name, info):
    """Declares a library that cannot be built.

    Its action fails with an error message of ours or of the toolchain.
    """
    library = ctx.actions.declare_file("%s/%s" % (ctx.label.name, name))
    common = dict(
        mnemonic = "DnnRefuse",
        progress_message = "Linking a skeleton of %{label}",
        outputs = [library],
    )
    if info.refusing:
        ctx.actions.run(executable = info.refusing, **common)
    else:
        ctx.actions.run_shell(
            command = "printf '\\nerror: %s\\n\\n' \"$1\" >&2; exit 1",
            arguments = [info.problem],
            **common
        )
    return library

def skeletons_of(ctx, prefix):
    """Returns the skeleton libraries of a model.

    Args:
      ctx: the context of a rule with REMOTE_ATTRS.
      prefix: the prefix of the model's C names.

    Returns:
      A list of all libraries, and a list of those that can be built. The actions of the others
      fail, because no toolchain can link them.
    """
    if ctx.attr.backend != "hvx":
        return [], []
    all, made = [], []
    for version, target in sorted(ctx.split_attr.skeletons.items()):
        info = target[DnnSkeletonInfo]
        if info.library:
            made.append(info.library)
        all.append(info.library or _refused(ctx, skeleton_name(prefix, version), info))
    return all, made
