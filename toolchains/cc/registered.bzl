"""The common part of macros for toolchains whose tools all read the same files."""

load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")

def registered_toolchain(name, exec_cpu, constraints, identifier):
    """Defines a cc_toolchain with NAME_config, and a toolchain NAME_toolchain.

    All tools read NAME_files.

    Args:
      name: the cc_toolchain's name.
      exec_cpu: the processor on which its programs run, under Linux.
      constraints: constraint values of the target's platforms.
      identifier: Bazel's identifier of the toolchain.
    """
    files = name + "_files"
    cc_toolchain(
        name = name,
        all_files = files,
        ar_files = files,
        as_files = files,
        compiler_files = files,
        dwp_files = files,
        linker_files = files,
        objcopy_files = files,
        strip_files = files,
        toolchain_config = name + "_config",
        toolchain_identifier = identifier,
    )
    native.toolchain(
        name = name + "_toolchain",
        exec_compatible_with = [
            "@platforms//cpu:" + exec_cpu,
            "@platforms//os:linux",
        ],
        target_compatible_with = constraints,
        toolchain = name,
        toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
    )
