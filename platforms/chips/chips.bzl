"""The chips that rules_dnn knows, most special first."""

load("//rules:defs.bzl", "dnn_chip")

_X86_64_V3 = ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe", "-mpopcnt"]

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
    "arm64": struct(
        constraints = ["@platforms//cpu:arm64"],
        copts = [],
    ),
}

def declare_chips():
    """Declares a dnn_chip for each row of CHIPS."""
    for name, chip in CHIPS.items():
        dnn_chip(
            name = name,
            constraints = chip.constraints,
            copts = chip.copts,
            facts = name + ".json",
            visibility = ["//visibility:public"],
        )
