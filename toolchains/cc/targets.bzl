"""The targets of the clang toolchains."""

_LINUX = "@platforms//os:linux"

# Targets by their names in //platforms. cpu is Bazel's name of the processor, constraints are the
# constraint values of the target's platforms, and triple is clang's target. package is the Debian
# package with the target's C++ library. bare_cpu is, for a target without libraries, the oldest
# processor that programs run on.
TARGETS = {
    # Qualcomm's DSP. Programs for one of its versions run on every later version.
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
    """Returns the constraints of a target's platforms as labels for every repository."""
    return [str(constraint) for constraint in target.constraints]
