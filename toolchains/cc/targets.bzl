"""The targets of the clang toolchains."""

_LINUX = "@platforms//os:linux"

# By the names of //platforms: Bazel's name of the processor, what a platform of the target has, clang's triple, the Debian package with the
# target's C++ library, and, of a target that has no libraries, the least processor.
TARGETS = {
    # Qualcomm's DSP. What is linked for one of its versions runs on every later one.
    "hexagon": struct(
        bare_cpu = "hexagonv66",
        constraints = [Label("//platforms:hexagon")],
        cpu = "hexagon",
        package = "",
        triple = "hexagon-unknown-elf",
    ),
    "linux_arm64": struct(
        bare_cpu = "",
        constraints = ["@platforms//cpu:aarch64", _LINUX],
        cpu = "aarch64",
        package = "g++-aarch64-linux-gnu",
        triple = "aarch64-linux-gnu",
    ),
    "linux_x86_64": struct(
        bare_cpu = "",
        constraints = ["@platforms//cpu:x86_64", _LINUX],
        cpu = "x86_64",
        package = "g++-x86-64-linux-gnu",
        triple = "x86_64-linux-gnu",
    ),
}

def constraints(target):
    """Returns the constraints of a target's platforms, as labels' texts that mean the same in every repository."""
    return [str(constraint) for constraint in target.constraints]
