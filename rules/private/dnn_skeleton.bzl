"""backend = "hvx": the libraries on the DSP that a model's stub calls."""

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

# The platform of each version of Hexagon that there is a chip of.
DSPS = {
    chip.removeprefix(_PREFIX): Label("//platforms:" + chip)
    for chip in CHIPS
    if chip.startswith(_PREFIX)
}

# What FastRPC looks up in a skeleton library (runtime/fastrpc/wire.h): nothing else refers to it.
_ENTRY = "dnn_skel_handle_invoke"

DnnSkeletonInfo = provider(
    doc = "A model's library on a DSP.",
    fields = {
        "library": "File: the shared library; None where nothing can link it.",
        "problem": "string: why, and what to do; or None.",
        "refusing": "File: or a program that says so, and fails.",
    },
)

def skeleton_name(prefix, version):
    """Returns a skeleton library's file name, as the stub has it (gen/print/cppapi/remote.go)."""
    return "lib%s_%s_skel.so" % (prefix, version)

def _linked(ctx, model):
    """Declares the shared library of a model that was compiled as a skeleton."""
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
        problem = ("no C++ toolchain builds for the platform %s, and so there is no skeleton library that runs the model on that DSP: register one in " +
                   "MODULE.bazel or WORKSPACE. With this machine's clang: register_toolchains(\"@rules_dnn//toolchains/cc:hexagon\"); with Qualcomm's SDK, whose folder HEXAGON_SDK_ROOT names: see \"On a Hexagon DSP\" in " +
                   "README.md of rules_dnn. The application's stub builds without it") % shown_label(ctx.fragments.platform.platform),
    )]

dnn_skeleton_rule = rule(
    implementation = _dnn_skeleton_impl,
    doc = "Links a model that was compiled as a skeleton to the shared library that FastRPC loads on the DSP.",
    attrs = {
        "model": attr.label(
            doc = "The model, compiled with skeleton = True; none where nothing compiles C++ for the platform.",
            providers = [CcInfo, DnnModelInfo],
        ),
    },
    fragments = ["cpp", "platform"],
    provides = [DnnSkeletonInfo],
    toolchains = use_cc_toolchain(mandatory = False),
)

def _per_dsp_impl(settings, attr):
    # Backends of a select() may be others: what is built then is read by nobody.
    versions = attr.dsp if attr.backend == "hvx" else []
    split = {version: {_PLATFORMS: str(DSPS[version])} for version in versions if version in DSPS}
    return split or {"none": {_PLATFORMS: settings[_PLATFORMS]}}

_per_dsp = transition(
    implementation = _per_dsp_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

# What a model's rule has of its skeletons.
REMOTE_ATTRS = {
    "dsp": attr.string_list(
        default = ["v68"],
        doc = "Versions of Hexagon that backend = \"hvx\" has skeleton libraries for.",
    ),
    "dsp_is_set": attr.bool(
        doc = "Whether dsp is written.",
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
    """Declares a library that cannot be made: building it fails with our words, or a toolchain's."""
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
    """Finds the skeleton libraries of a model.

    Args:
      ctx: the context of a rule with REMOTE_ATTRS.
      prefix: what the model's C names begin with.

    Returns:
      A list of all libraries, of which those fail to build that nothing can link, and a list of the others.
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
