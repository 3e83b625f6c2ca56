"""What follows a dnn_model's target: the transition to its platform, and what the rules that start programs for it have in common."""

load(":actions.bzl", "DNNC_GROUP")
load(":dnnc_toolchain.bzl", "DNNC_TYPE")

_PLATFORMS = "//command_line_option:platforms"

def _for_target_impl(settings, attr):
    # A select() may leave the target out for some configurations.
    return {_PLATFORMS: str(attr.target) if attr.target else settings[_PLATFORMS]}

for_target = transition(
    implementation = _for_target_impl,
    inputs = [_PLATFORMS],
    outputs = [_PLATFORMS],
)

# What a rule with the transition has.
FOR_TARGET_ATTRS = {
    "target": attr.label(
        doc = "The platform. Default: that of the build.",
        providers = [platform_common.PlatformInfo],
    ),
}

def only(dep):
    """Returns the one target of an attribute with a transition, which some versions of Bazel give as a list."""
    return dep[0] if type(dep) == type([]) else dep

def dnnc_starter(ctx, name):
    """Declares a link to the compiler, a rule's executable: its command reads a plan.

    Args:
      ctx: the context of a rule with DNNC_EXEC_GROUPS.
      name: the link's file name.

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
    """Returns the option of a command for the plan of a target of the package, where `bazel run` starts it.

    Args:
      name: the target.
    """
    package = native.package_name()
    repository = native.repo_name()
    return "--plan=%s%s%s.plan" % ("../%s/" % repository if repository else "", package + "/" if package else "", name)
