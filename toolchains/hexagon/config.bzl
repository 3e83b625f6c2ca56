"""The rule that configures a cc_toolchain for the clang of Qualcomm's SDK."""

load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "tool_path")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/toolchains:cc_toolchain_config_info.bzl", "CcToolchainConfigInfo")
load("//toolchains/cc:features.bzl", "vendor_features")
load("//toolchains/cc:missing.bzl", "MISSING_COMPILER")
load(":layout.bzl", "PROGRAMS", "compile_flags", "link_flags")

def _hexagon_toolchain_config_impl(ctx):
    root = ctx.label.workspace_root
    tools = root + "/Tools"
    includes = [root + "/" + folder for folder in ctx.attr.include_directories]
    version = ctx.attr.version
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        abi_libc_version = "qurt",
        abi_version = version,
        compiler = MISSING_COMPILER if ctx.attr.missing else "clang",
        cxx_builtin_include_directories = [tools + "/lib/clang", tools + "/target/hexagon/include"] + includes,
        features = vendor_features(
            compile_flags(version) + [word for folder in includes for word in ["-isystem", folder]],
            link_flags(version, tools),
        ),
        host_system_name = "local",
        target_cpu = "hexagon",
        target_libc = "qurt",
        target_system_name = "hexagon",
        tool_paths = [
            tool_path(name = name, path = ctx.attr.programs.get(name, "/bin/false"))
            for name in PROGRAMS.keys() + ["dwp"]
        ],
        toolchain_identifier = "hexagon-sdk-" + version,
    )

hexagon_toolchain_config = rule(
    implementation = _hexagon_toolchain_config_impl,
    attrs = {
        "include_directories": attr.string_list(doc = "Directories of the SDK's headers, relative to the package."),
        "missing": attr.bool(doc = "Whether the programs only print an error and fail."),
        "programs": attr.string_dict(mandatory = True, doc = "Paths of programs relative to the package, by Bazel's names of tools."),
        "version": attr.string(mandatory = True, doc = "The Hexagon version, such as \"v68\"."),
    },
    doc = "Configures a cc_toolchain that runs the clang of Qualcomm's SDK. The target must be in the SDK's repository.",
    provides = [CcToolchainConfigInfo],
)
