"""The macro that the BUILD file of the SDK's repository calls for each Hexagon version."""

load("//toolchains/cc:registered.bzl", "registered_toolchain")
load(":config.bzl", "hexagon_toolchain_config")
load(":layout.bzl", "PROGRAMS")

def hexagon_toolchain(name, version, constraints, include_directories, programs = {}, missing = None):
    """Defines a cc_toolchain with Qualcomm's SDK.

    The SDK's directories Tools, incs, ipc and rtos are in this package.

    Args:
      name: the cc_toolchain's name. Pass NAME_toolchain to register_toolchains.
      version: the Hexagon version, such as "v68".
      constraints: constraint values of the version's platforms.
      include_directories: directories of the SDK's headers.
      programs: paths of programs relative to the package, by Bazel's names of tools.
      missing: a program that prints why the SDK cannot be used and fails, or None.
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
    registered_toolchain(
        name = name,
        constraints = constraints,
        exec_cpu = "x86_64",
        identifier = "hexagon-sdk-" + version,
    )
