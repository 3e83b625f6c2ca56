"""The Linux targets of the clang toolchains."""

# By the names of //platforms: Bazel's name of the processor, clang's triple, and the Debian package with
# the target's C++ library.
TARGETS = {
    "linux_arm64": struct(
        cpu = "aarch64",
        package = "g++-aarch64-linux-gnu",
        triple = "aarch64-linux-gnu",
    ),
    "linux_x86_64": struct(
        cpu = "x86_64",
        package = "g++-x86-64-linux-gnu",
        triple = "x86_64-linux-gnu",
    ),
}

def constraints(target):
    """Returns the constraints of a target's platforms."""
    return [
        "@platforms//cpu:" + target.cpu,
        "@platforms//os:linux",
    ]
