"""The rule behind dnn_model with a target: builds a model for one platform, wherever it is asked for."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:providers.bzl", "DnnModelInfo")
load(":private_info.bzl", "BuiltForInfo")

_PLATFORMS = "//command_line_option:platforms"

def _for_target_impl(settings, attr):
    # A select() may leave the target out for some configurations.
    return {_PLATFORMS: str(attr.target) if attr.target else settings[_PLATFORMS]}

_for_target = transition(
    implementation = _for_target_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

def _only(dep):
    """Returns the one target of an attribute with a transition, which some versions of Bazel give as a list."""
    return dep[0] if type(dep) == type([]) else dep

# Names of the machine that runs Bazel. --platforms may hold any of them, and is not resolved.
_HOST = [
    Label("//platforms:host"),
    Label("@bazel_tools//tools:host_platform"),
    Label("@platforms//host:host"),
]

def _same_platform(ctx, built_for):
    """Reports whether what depends on this target has the model's platform."""
    current = ctx.fragments.platform.platform
    same = [built_for.platform]
    if ctx.attr.target:
        same.append(ctx.attr.target.label)  # an alias is resolved here
    return current in same or (current in _HOST and any([label in _HOST for label in same]))

def _link(ctx, name, file):
    """Puts a file into the folder named for the target."""
    link = ctx.actions.declare_file("%s/%s" % (ctx.label.name, name))
    ctx.actions.symlink(
        output = link,
        target_file = file,
        progress_message = "Gathering %{label}",
    )
    return link

def _dnn_model_for_its_target_only_impl(ctx):
    model = _only(ctx.attr.model)
    info = model[DnnModelInfo]
    built_for = model[BuiltForInfo]
    groups = model[OutputGroupInfo]
    library = _link(ctx, "lib%s.%s" % (ctx.label.name.split("/")[-1], info.library.extension), info.library)
    header = _link(ctx, info.header.basename, info.header)
    manifest = _link(ctx, info.manifest.basename, info.manifest)
    loaded = [_link(ctx, file.basename, file) for file in built_for.loaded]
    providers = [
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
            weights = loaded[0] if loaded else info.weights,
        ),
        OutputGroupInfo(
            dump = groups.dump,
            manifest = depset([manifest]),
            sources = groups.sources,
            weights = groups.weights,
        ),
        built_for,
    ]
    if _same_platform(ctx, built_for):
        providers.append(model[CcInfo])
    return providers

dnn_model_for_its_target_only = rule(
    implementation = _dnn_model_for_its_target_only_impl,
    doc = """\
Builds a model for its target's platform, and gathers library, header and manifest in one folder.

It can be linked (has CcInfo) only by what is built for that platform. Otherwise Bazel says that it "does not have mandatory
providers: 'CcInfo'": link a dnn_model without target there, which follows the platform of what links it.
""",
    attrs = {
        "model": attr.label(
            cfg = _for_target,
            doc = "The model, which follows its configuration.",
            mandatory = True,
            providers = [DnnModelInfo, BuiltForInfo, CcInfo],
        ),
        "target": attr.label(
            doc = "The platform.",
            providers = [platform_common.PlatformInfo],
        ),
    },
    fragments = ["platform"],
    provides = [DnnModelInfo],
)
