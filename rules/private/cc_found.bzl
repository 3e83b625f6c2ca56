"""Lets dnn_model say what to do where no C++ toolchain builds for a platform.

Its runtime is a cc_library, which would fail before it, in Bazel's words: where there is no toolchain, it depends on
no runtime.
"""

load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//toolchains/cc:missing.bzl", "MISSING_COMPILER")

def _cc_found_impl(ctx):
    toolchain = find_cc_toolchain(ctx, mandatory = False)
    found = toolchain and toolchain.compiler != MISSING_COMPILER
    return [config_common.FeatureFlagInfo(value = "yes" if found else "no")]

cc_found = rule(
    implementation = _cc_found_impl,
    doc = "For a config_setting's flag_values: yes where a C++ toolchain builds for the platform, or else no.",
    fragments = ["platform"],
    toolchains = use_cc_toolchain(),
)

def _no_runtime_impl(_ctx):
    return [CcInfo()]

no_runtime = rule(
    implementation = _no_runtime_impl,
    doc = "What stands in for the runtime where nothing can compile it.",
    provides = [CcInfo],
)

def check_cc_toolchain(ctx):
    """Fails unless a C++ toolchain builds for the platform.

    Args:
      ctx: the context of a rule with the fragment platform.
    """
    if not find_cc_toolchain(ctx, mandatory = False):
        fail(("\nno C++ toolchain builds for the platform %s: register one in MODULE.bazel or WORKSPACE. With this machine's clang: " +
              "register_toolchains(\"@rules_dnn//toolchains/cc:linux_arm64\"), or linux_x86_64, or hexagon; with the Android NDK: see \"Android\" in " +
              "README.md of rules_dnn") % ctx.fragments.platform.platform)
