"""The rule that configures a cc_toolchain for clang."""

load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "tool_path")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/toolchains:cc_toolchain_config_info.bzl", "CcToolchainConfigInfo")
load(":features.bzl", "clang_features")

def _clang_toolchain_config_impl(ctx):
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        abi_libc_version = "unknown",
        abi_version = "unknown",
        compiler = "clang",
        cxx_builtin_include_directories = ctx.attr.include_directories,
        features = clang_features(ctx.attr.triple, bare_cpu = ctx.attr.bare_cpu),
        host_system_name = "local",
        target_cpu = ctx.attr.cpu,
        target_libc = "none" if ctx.attr.bare_cpu else "glibc",
        target_system_name = ctx.attr.triple,
        tool_paths = [tool_path(name = name, path = path) for name, path in ctx.attr.tools.items()],
        toolchain_identifier = "clang-" + ctx.attr.triple,
    )

clang_toolchain_config = rule(
    implementation = _clang_toolchain_config_impl,
    attrs = {
        "bare_cpu": attr.string(doc = "For a target without libraries, the oldest processor that programs run on."),
        "cpu": attr.string(mandatory = True, doc = "The processor to build for."),
        "include_directories": attr.string_list(doc = "Absolute paths of clang's own include directories."),
        "tools": attr.string_dict(mandatory = True, doc = "Absolute paths of tools, by Bazel's names for them."),
        "triple": attr.string(mandatory = True, doc = "clang's target triple."),
    },
    doc = "Configures a cc_toolchain that runs clang and lld.",
    provides = [CcToolchainConfigInfo],
)
