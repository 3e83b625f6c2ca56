"""A C++ toolchain for every platform, which tests analyze and never run."""

load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "feature", "tool_path")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/toolchains:cc_toolchain_config_info.bzl", "CcToolchainConfigInfo")

_TOOLS = ["ar", "cpp", "gcc", "gcov", "ld", "nm", "objcopy", "objdump", "strip"]

def _fake_cc_config_impl(ctx):
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        compiler = "none",
        features = [feature(name = "supports_pic", enabled = True)],
        target_cpu = "none",
        target_libc = "none",
        target_system_name = "none",
        tool_paths = [tool_path(name = tool, path = "/bin/false") for tool in _TOOLS],
        toolchain_identifier = "fake",
    )

fake_cc_config = rule(
    implementation = _fake_cc_config_impl,
    doc = "Configuration of a cc_toolchain without tools.",
    provides = [CcToolchainConfigInfo],
)
