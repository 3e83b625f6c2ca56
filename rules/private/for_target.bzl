"""The transition to a dnn_model's target platform, and helpers for rules that run programs there."""

load(":actions.bzl", "DNNC_GROUP")
load(":dnnc_toolchain.bzl", "DNNC_TYPE")

_PLATFORMS = "//command_line_option:platforms"

def _for_target_impl(settings, attr):
    # A select() may set no target in some configurations.
    return {_PLATFORMS: str(attr.target) if attr.target else settings[_PLATFORMS]}

for_target = transition(
    implementation = _for_target_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

# Attributes of a rule with the transition.
FOR_TARGET_ATTRS = {
    "target": attr.label(
        doc = "The platform. Default: the platform of the build.",
        providers = [platform_common.PlatformInfo],
    ),
}

def only(dep):
    """Returns the single target of an attribute with a transition.

    In some versions of Bazel, it is in a list.
    """
    return dep[0] if type(dep) == type([]) else dep

def dnnc_starter(ctx, name):
    """Declares a symlink to the compiler as a rule's executable.

    The rule runs it with a command that reads a plan.

    Args:
      ctx: the context of a rule with DNNC_EXEC_GROUPS.
      name: the symlink's file name.

    Returns:
      The File.
    """
    executable = ctx.actions.declare_file("%s_/%s" % (ctx.label.name, name))
    ctx.actions.symlink(
        is_executable = True,
        output = executable,
        progress_message = "Gathering %{label}",
        target_file = ctx.exec_groups[DNNC_GROUP].toolchains[DNNC_TYPE].dnnc_info.dnnc.executable,
    )
    return executable

def plan_option(name):
    """Returns the option --plan for a target of this package.

    Its path is relative to the directory in which `bazel run` starts the target.

    Args:
      name: the target.
    """
    package = native.package_name()
    repository = native.repo_name()
    return "--plan=%s%s%s.plan" % ("../%s/" % repository if repository else "", package + "/" if package else "", name)
