"""The chips that rules_dnn knows: all that is known of each, as data.

A chip is an entry of CHIPS:

- constraints: the constraint values of platforms that have it, by their settings. No platform has those of two chips, so
  that no order counts: a chip of a level or a kind says that the processor may be any.
- copts: compiler flags, for kernels only. What create() checks for (cpu_features) covers what they let the compiler use.
- facts: what the compiler reads, by the fields that README.md lists; dnn_chip adds the name and the copts.

From here come constraint values, platforms and toolchains (//platforms, //platforms/chips); programs and tests without
Bazel read it with package gen/target/chips, which knows literals, names, +, * and |: this file loads and calls nothing.

Caches are the smallest of a processor's variants where these differ. fma_per_cycle and loads_per_cycle are of whole vectors (on
64-bit ARM, of the halves that kernels load), issue_per_cycle is what is renamed or dispatched in a cycle. l2_bytes_per_cycle is what
reads sustain, where somebody measured it, else half of the width of the cache's port. bytes_per_cycle is an estimate: what
one core reads from memory, over its clock.
"""

_KB = 1024

_MB = 1024 * 1024

_ANY_X86_64 = {
    "//platforms:x86_64_processor": "//platforms:x86_64_any",
    "@platforms//cpu": "@platforms//cpu:x86_64",
}

_X86_64_V3_COPTS = ["-mavx2", "-mfma", "-mbmi2"]

_X86_64_V3 = {
    "cpu": "x86_64",
    "cpu_features": ["avx2", "fma", "bmi2"],
    "fma_per_cycle": 2,
    "instructions": ["fma_f32x8"],
    "prefetch_bytes": 8 * _KB,
    "vector_bits": 256,
    "vector_registers": 16,
}

_X86_64_V4_COPTS = ["-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"] + _X86_64_V3_COPTS

_X86_64_V4 = {
    "cpu": "x86_64",
    "cpu_features": ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma", "bmi2"],
    "instructions": ["fma_f32x16"],
    "prefetch_bytes": 8 * _KB,
    "vector_bits": 512,
    "vector_registers": 32,
}

_ARM64 = {
    "cpu": "arm64",
    "cpu_features": [],
    "instructions": ["fma_f32x4"],
    "vector_bits": 128,
    "vector_registers": 32,
}

CHIPS = {
    # Levels and kinds, for builds that do not know the processor.
    "x86_64": {
        "constraints": _ANY_X86_64 | {"//platforms:x86_64_level": "//platforms:x86_64_baseline"},
        "copts": [],
        "facts": {
            "bytes_per_cycle": 4,
            "cpu": "x86_64",
            "cpu_features": [],
            "fma_per_cycle": 1,
            "instructions": ["muladd_f32x4"],
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 256 * _KB,
            "loads_per_cycle": 2,
            "vector_bits": 128,
            "vector_registers": 16,
        },
    },
    # AVX2 and FMA.
    "x86_64_v3": {
        "constraints": _ANY_X86_64 | {"//platforms:x86_64_level": "//platforms:x86_64_v3"},
        "copts": _X86_64_V3_COPTS,
        "facts": _X86_64_V3 | {
            "bytes_per_cycle": 4,
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 256 * _KB,
            "loads_per_cycle": 2,
        },
    },
    # AVX-512 F, BW, CD, DQ and VL.
    "x86_64_v4": {
        "constraints": _ANY_X86_64 | {"//platforms:x86_64_level": "//platforms:x86_64_v4"},
        "copts": _X86_64_V4_COPTS,
        "facts": _X86_64_V4 | {
            "bytes_per_cycle": 4,
            "fma_per_cycle": 2,
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 1 * _MB,
            "l2_bytes_per_cycle": 32,
            "loads_per_cycle": 2,
        },
    },
    # Processors that compute in order, as the Cortex-A55, need the order that compilers choose for it; to
    # others it makes no difference. //tools/mca tells.
    "arm64": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_any",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": ["-mtune=cortex-a55"],
        "facts": _ARM64 | {
            "bytes_per_cycle": 4,
            "fma_per_cycle": 2,
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 256 * _KB,
            "loads_per_cycle": 2,
        },
    },
    # Qualcomm's DSP: HVX of 128 bytes, integers only: neither qfloat nor IEEE floats. -fvectorize lets clang use it
    # for loops of integers.
    "hexagon_v68": {
        "constraints": {"@platforms//cpu": "//platforms:hexagon"},
        "copts": ["-mcpu=hexagonv68", "-mhvx", "-mhvx-length=128b", "-mno-hvx-qfloat", "-mno-hvx-ieee-fp", "-fvectorize"],
        "facts": {
            "bytes_per_cycle": 8,
            "cpu": "hexagon",
            "cpu_features": [],
            "fma_per_cycle": 2,
            "instructions": ["vrmpy_i8u8", "vrmpy_u8i8", "vrmpy_i8i8"],
            "integers_only": True,
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 1 * _MB,
            "loads_per_cycle": 2,
            "vector_bits": 1024,
            "vector_registers": 32,
        },
    },
}
