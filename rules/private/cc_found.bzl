"""Lets dnn_model report a missing C++ toolchain with a message that names the cure.

The runtime is a cc_library, which would fail first with Bazel's own message. So a model does not
depend on the runtime if no C++ toolchain builds for the platform.
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
    doc = "A flag for config_setting: yes if a C++ toolchain builds for the platform, otherwise no.",
    fragments = ["platform"],
    toolchains = use_cc_toolchain(),
)

def _no_runtime_impl(_ctx):
    return [CcInfo()]

no_runtime = rule(
    implementation = _no_runtime_impl,
    doc = "An empty library that replaces the runtime if no toolchain can compile it.",
    provides = [CcInfo],
)

def check_cc_toolchain(ctx):
    """Fails unless a C++ toolchain builds for the platform.

    Args:
      ctx: the context of a rule with the fragment platform.
    """
    if not find_cc_toolchain(ctx, mandatory = False):
        fail(("\nno C++ toolchain builds for the platform %s: register one in MODULE.bazel or WORKSPACE. With this machine's clang: " +
              "register_toolchains(\"@rules_dnn//toolchains/cc:linux_arm64\"), or linux_x86_64, or hexagon. With the Android NDK: see " +
              "docs/guides/android.md of rules_dnn") % ctx.fragments.platform.platform)
