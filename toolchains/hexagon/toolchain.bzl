"""The macro of the repository that toolchains/hexagon makes: its BUILD file calls it for each version."""

load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")
load(":config.bzl", "hexagon_toolchain_config")
load(":layout.bzl", "PROGRAMS")

def hexagon_toolchain(name, version, constraints, include_directories, programs = {}, missing = None):
    """Defines a cc_toolchain with Qualcomm's SDK, whose folders Tools, incs, ipc and rtos are in this package.

    Args:
      name: the cc_toolchain's name; NAME_toolchain is what one registers.
      version: the version of Hexagon, as in "v68".
      constraints: what platforms of the version have.
      include_directories: folders of the SDK's headers.
      programs: programs below the package, by Bazel's names of tools.
      missing: a program that says why there are none, and fails.
    """
    if missing:
        programs = {name: missing for name in PROGRAMS}
    hexagon_toolchain_config(
        name = name + "_config",
        include_directories = include_directories,
        missing = missing != None,
        programs = programs,
        version = version,
    )
    native.filegroup(
        name = name + "_files",
        srcs = [missing] if missing else native.glob(
            [
                "Tools/bin/*",
                "Tools/lib/*.so*",
                "Tools/lib/clang/**",
                "Tools/target/hexagon/include/**",
                "Tools/target/hexagon/lib/*",
                "Tools/target/hexagon/lib/%s/**" % version,
            ] + [folder + "/**" for folder in include_directories],
            allow_empty = True,
        ),
    )
    cc_toolchain(
        name = name,
        all_files = name + "_files",
        ar_files = name + "_files",
        as_files = name + "_files",
        compiler_files = name + "_files",
        dwp_files = name + "_files",
        linker_files = name + "_files",
        objcopy_files = name + "_files",
        strip_files = name + "_files",
        toolchain_config = name + "_config",
        toolchain_identifier = "hexagon-sdk-" + version,
    )
    native.toolchain(
        name = name + "_toolchain",
        exec_compatible_with = [
            "@platforms//cpu:x86_64",
            "@platforms//os:linux",
        ],
        target_compatible_with = constraints,
        toolchain = name,
        toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
    )
