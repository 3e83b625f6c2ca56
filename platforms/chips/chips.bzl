"""The chips that rules_dnn knows, most specific first."""

# What create() checks for (cpu_features) covers what these flags let the compiler use.
_X86_64_V3 = ["-mavx2", "-mfma", "-mbmi2"]

_X86_64_V4 = ["-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"] + _X86_64_V3

# Each chip's facts are in NAME.json. Bazel does not read JSON, so the compiler flags stand here too;
# a test compares.
CHIPS = {
    "x86_64_v4": struct(
        constraints = ["@platforms//cpu:x86_64", "//platforms:x86_64_v4"],
        copts = _X86_64_V4,
    ),
    "x86_64_v3": struct(
        constraints = ["@platforms//cpu:x86_64", "//platforms:x86_64_v3"],
        copts = _X86_64_V3,
    ),
    "x86_64": struct(
        constraints = ["@platforms//cpu:x86_64"],
        copts = [],
    ),
    # Processors that compute in order, as the Cortex-A55, need the order that compilers choose for it; to
    # others it makes no difference. //tools/mca tells.
    "arm64": struct(
        constraints = ["@platforms//cpu:arm64"],
        copts = ["-mtune=cortex-a55"],
    ),
    # HVX of 128 bytes, integers only: neither qfloat nor IEEE floats. -fvectorize lets clang use it
    # for loops of integers.
    "hexagon_v68": struct(
        constraints = ["//platforms:hexagon"],
        copts = ["-mcpu=hexagonv68", "-mhvx", "-mhvx-length=128b", "-mno-hvx-qfloat", "-mno-hvx-ieee-fp", "-fvectorize"],
    ),
}
