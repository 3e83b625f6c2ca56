"""The rule behind dnn_model with a target. Every configuration builds the model for one platform."""

load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:providers.bzl", "DnnModelInfo")
load(":cc.bzl", "header_context")
load(":for_target.bzl", "FOR_TARGET_ATTRS", "for_target", "only")
load(":names.bzl", "shown_label")
load(":private_info.bzl", "BuiltForInfo")

# Platforms of the machine that runs Bazel. --platforms may name any of them, and Bazel does not
# resolve aliases there.
_HOST = [
    Label("//platforms:host"),
    Label("@bazel_tools//tools:host_platform"),
    Label("@platforms//host:host"),
]

def _same_platform(ctx, built_for):
    """Reports whether the target is built in a configuration for the model's platform."""
    current = ctx.fragments.platform.platform
    same = [built_for.platform]
    if ctx.attr.target:
        same.append(ctx.attr.target.label)  # an alias is resolved here
    return current in same or (current in _HOST and any([label in _HOST for label in same]))

def _link(ctx, name, file):
    """Declares a symlink to a file in the directory with the target's name."""
    link = ctx.actions.declare_file("%s/%s" % (ctx.label.name, name))
    ctx.actions.symlink(
        output = link,
        target_file = file,
        progress_message = "Gathering %{label}",
    )
    return link

def _refusal(ctx, built_for):
    """Returns the reason why binaries of this configuration cannot link the model, or None."""
    if _same_platform(ctx, built_for):
        return None
    return ("%s is made for the platform %s, its target, and cannot be linked for %s: link a dnn_model without target, " +
            "which is built for the platform of the binary that links it, or build with --platforms=%s") % (
        shown_label(ctx.label),
        shown_label(built_for.platform),
        shown_label(ctx.fragments.platform.platform),
        shown_label(built_for.platform),
    )

def _refused(ctx, info, refusal):
    """Returns a CcInfo that cannot be used: its action fails with the text of the refusal.

    Without a CcInfo, Bazel would only report that it is missing, and not the reason.
    """
    include_dir = ctx.label.name + "/refused"
    header = ctx.actions.declare_file("%s/%s" % (include_dir, info.include))
    ctx.actions.run_shell(
        mnemonic = "DnnRefuse",
        progress_message = "Linking %{label} for another platform",
        command = "printf '\\nerror: %s\\n\\n' \"$1\" >&2; exit 1",
        arguments = [refusal],
        outputs = [header],
    )
    return CcInfo(
        compilation_context = header_context(header, header.path[:-len(info.include) - 1]),
        linking_context = cc_common.create_linking_context(linker_inputs = depset([
            cc_common.create_linker_input(
                owner = ctx.label,
                additional_inputs = depset([header]),
            ),
        ])),
    )

def _dnn_model_for_its_target_only_impl(ctx):
    model = only(ctx.attr.model)
    info = model[DnnModelInfo]
    built_for = model[BuiltForInfo]
    groups = model[OutputGroupInfo]
    library = _link(ctx, "lib%s.%s" % (ctx.label.name.split("/")[-1], built_for.archive.extension), built_for.archive)
    header = _link(ctx, info.header.basename, info.header)
    manifest = _link(ctx, info.manifest.basename, info.manifest)
    loaded = [_link(ctx, file.basename, file) for file in built_for.loaded]
    refusal = _refusal(ctx, built_for)
    return [
        DefaultInfo(
            files = depset([library, header, manifest] + loaded),
            runfiles = ctx.runfiles(files = loaded).merge(model[DefaultInfo].default_runfiles),
        ),
        DnnModelInfo(
            backend = info.backend,
            c_prefix = info.c_prefix,
            chip = info.chip,
            header = header,
            include = info.include,
            library = library,
            manifest = manifest,
            sources = info.sources,
            variants = info.variants,
            weights = loaded[0] if loaded else info.weights,
        ),
        OutputGroupInfo(
            archive = depset([library]),
            dsp = depset([_link(ctx, file.basename, file) for file in groups.dsp.to_list()]),
            dump = groups.dump,
            manifest = depset([manifest]),
            pruning = groups.pruning,
            sources = groups.sources,
            weights = groups.weights,
        ),
        BuiltForInfo(
            archive = built_for.archive,
            loaded = loaded,
            platform = built_for.platform,
            refusal = refusal,
        ),
        _refused(ctx, info, refusal) if refusal else model[CcInfo],
    ]

dnn_model_for_its_target_only = rule(
    implementation = _dnn_model_for_its_target_only_impl,
    doc = """\
Builds a model for its target's platform, and gathers library, header and manifest in one directory.

Only binaries for that platform can link it. The library in the directory includes the runtime, so it can be linked without Bazel.
""",
    attrs = FOR_TARGET_ATTRS | {
        "model": attr.label(
            cfg = for_target,
            doc = "The model, which is built for the platform in target.",
            mandatory = True,
            providers = [DnnModelInfo, BuiltForInfo, CcInfo],
        ),
    },
    fragments = ["platform"],
    provides = [BuiltForInfo, CcInfo, DnnModelInfo],
)
