"""The rule that configures a cc_toolchain for the NDK's clang."""

load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES", "ALL_CC_LINK_ACTION_NAMES")
load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "tool_path")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/toolchains:cc_toolchain_config_info.bzl", "CcToolchainConfigInfo")
load("//toolchains/cc:features.bzl", "clang_features")

# Bazel's names of tools, and the NDK's programs.
_TOOLS = {
    "ar": "llvm-ar",
    "cpp": "clang",
    "dwp": "llvm-dwp",
    "gcc": "clang",
    "gcov": "llvm-cov",
    "ld": "ld.lld",
    "nm": "llvm-nm",
    "objcopy": "llvm-objcopy",
    "objdump": "llvm-objdump",
    "strip": "llvm-strip",
}

_LINK_FLAGS = [
    (ALL_CC_LINK_ACTION_NAMES, [
        # The application's own C++ may need the C++ library; models do not. Linked statically, it
        # has the version that the application was compiled for.
        "-static-libstdc++",
        # Devices with 16 KB pages load only libraries with this alignment. Releases up to r27
        # align to 4 KB by default.
        "-Wl,-z,max-page-size=16384",
    ]),
    # Report undefined symbols in the build, and not in dlopen() on the device. This does not
    # apply to the libraries that Bazel links for tests only, because it links each without its
    # dependencies.
    ([ACTION_NAMES.cpp_link_dynamic_library, ACTION_NAMES.cpp_link_executable], ["-Wl,--no-undefined"]),
]

def _ndk_toolchain_config_impl(ctx):
    sysroot = ctx.label.workspace_root + "/sysroot"
    triple = "%s%d" % (ctx.attr.triple, ctx.attr.api_level)
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        abi_libc_version = "bionic",
        abi_version = ctx.attr.triple,
        builtin_sysroot = sysroot,
        compiler = "clang",
        cxx_builtin_include_directories = [
            sysroot + "/usr/include",
            "%s/lib/clang/%s/include" % (ctx.label.workspace_root, ctx.attr.clang_version),
        ],
        features = clang_features(triple, _LINK_FLAGS),
        host_system_name = "local",
        target_cpu = ctx.attr.cpu,
        target_libc = "bionic",
        target_system_name = triple,
        tool_paths = [
            tool_path(name = name, path = "bin/%s%s" % (tool, ctx.attr.suffix))
            for name, tool in _TOOLS.items()
        ],
        toolchain_identifier = "ndk-" + triple,
    )

ndk_toolchain_config = rule(
    implementation = _ndk_toolchain_config_impl,
    attrs = {
        "api_level": attr.int(mandatory = True, doc = "The oldest Android to build for."),
        "clang_version": attr.string(mandatory = True, doc = "The name of the directory with clang's own headers."),
        "cpu": attr.string(mandatory = True, doc = "The processor to build for."),
        "suffix": attr.string(doc = "The suffix of programs' names, such as .exe."),
        "triple": attr.string(mandatory = True, doc = "clang's target triple, without the API level."),
    },
    doc = "Configures a cc_toolchain that runs the NDK's clang. The target must be in the NDK's repository.",
    provides = [CcToolchainConfigInfo],
)
