"""The chips that rules_dnn knows: all that is known of each, as data.

A chip is an entry of CHIPS:

- constraints: the constraint values of platforms that have it, by their settings. No platform has those of two chips, so
  that no order counts: a chip of a level or a kind says that the processor may be any.
- copts: compiler flags, for kernels only. What create() checks for (cpu_features) covers what they let the compiler use.
- facts: what the compiler reads, by the fields that docs/reference/chips.md lists; dnn_chip adds the name and the copts.
- variants: of a chip that stands for any processor of its kind, the more capable ones for which a library has kernels, too,
  the least capable first. create() takes the last whose cpu_features the processor has.
- runs: of a processor, the chips of levels and kinds whose kernels run on it in builds that do not know it: what is chosen for these is
  what loses least, at worst, on any of their processors.

From here come constraint values, platforms and toolchains (//platforms, //platforms/chips); programs and tests without
Bazel read it with package gen/target/chips, which knows literals, names, +, * and |: this file loads and calls nothing.

Caches are the smallest of a processor's variants where these differ. fma_per_cycle and loads_per_cycle are of whole vectors (on
64-bit ARM, of the halves that kernels load), fma_latency is of floats where it is not as in gen/instr, issue_per_cycle is what is renamed or dispatched in a cycle. l2_bytes_per_cycle is what
reads sustain, where somebody measured it, else half of the width of the cache's port. bytes_per_cycle is an estimate: what
one core reads from memory, over its clock. l3_bytes is how much one core may fill of the cache that cores share, in the least of a processor's
variants that are common; l3_bytes_per_cycle, what one core reads from there, is an estimate, too. stores_per_cycle and arithmetic_per_cycle are of whole vectors, too: of 512 bits one where
units or the way to the cache have 256. lane_cycles is of vinsertps from memory, which uops.info has, or of ld1 of a lane. crossing_cycles are of a line that
two cores of a cluster write in turn, in cycles of about 3 GHz ("Core to Core Latency Data on Large Systems", chipsandcheese.com, and anandtech.com's reviews).
"""

_KB = 1024

_MB = 1024 * 1024

_ANY_X86_64 = {
    "//platforms:x86_64_processor": "//platforms:x86_64_any",
    "@platforms//cpu": "@platforms//cpu:x86_64",
}

_X86_64_V3_COPTS = ["-mavx2", "-mfma", "-mbmi2", "-mf16c"]

_X86_64_V3_FEATURES = ["avx2", "fma", "bmi2", "f16c"]

_X86_64_V3 = {
    "cpu": "x86_64",
    "cpu_features": _X86_64_V3_FEATURES,
    "fma_per_cycle": 2,
    "instructions": ["fma_f32x8", "pmaddwd_i16x8"],
    "prefetch_bytes": 8 * _KB,
    "vector_bits": 256,
    "vector_registers": 16,
}

_X86_64_V4_COPTS = ["-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512"] + _X86_64_V3_COPTS

_X86_64_V4_FEATURES = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"] + _X86_64_V3_FEATURES

_X86_64_V4 = {
    "cpu": "x86_64",
    "cpu_features": _X86_64_V4_FEATURES,
    "instructions": ["fma_f32x16", "pmaddwd_i16x16"],
    "prefetch_bytes": 8 * _KB,
    "vector_bits": 512,
    "vector_registers": 32,
}

# What AVX-512 VNNI adds.
_AVX512_VNNI_COPTS = ["-mavx512vnni"]

_AVX512_VNNI = {
    "cpu_features": ["avx512vnni"] + _X86_64_V4_FEATURES,
    "instructions": ["fma_f32x16", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16"],
}

# What AVX512-BF16 adds to that: products of pairs of bf16, for networks with precision = "bf16" alone.
_AVX512_BF16_COPTS = _AVX512_VNNI_COPTS + ["-mavx512bf16"]

_AVX512_BF16 = {
    "cpu_features": ["avx512bf16", "avx512vnni"] + _X86_64_V4_FEATURES,
    "instructions": ["fma_f32x16", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16", "vdpbf16ps_x16"],
}

# What AMX adds to both, of bytes and of bf16: products of matrices. What multiplies no matrices, as depthwise convolutions, is of AVX-512.
_AMX_COPTS = ["-mamx-tile", "-mamx-int8", "-mamx-bf16"]

_AMX = {
    "cpu_features": ["avx512bf16", "avx512vnni"] + _X86_64_V4_FEATURES + ["amx_tile", "amx_int8", "amx_bf16"],
    "instructions": ["fma_f32x16", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16", "tdpbusd_u8i8x16", "tdpbsud_i8u8x16", "tdpbssd_i8i8x16", "tdpbuud_u8u8x16", "vdpbf16ps_x16", "tdpbf16ps_x16"],
}

# What AVX-VNNI adds to AVX2.
_AVX_VNNI_COPTS = ["-mavxvnni"]

_AVX_VNNI = {
    "cpu_features": ["avxvnni"] + _X86_64_V3_FEATURES,
    "instructions": ["fma_f32x8", "vpdpbusd_u8i8x8", "vpdpbusd_i8u8x8"],
}

_ANY_ARM64 = {
    "//platforms:arm64_processor": "//platforms:arm64_any",
    "@platforms//cpu": "@platforms//cpu:arm64",
}

_ARM64 = {
    "cpu": "arm64",
    "cpu_features": [],
    "instructions": ["fma_f32x4", "smull_i8x4", "umull_u8x4"],
    "vector_bits": 128,
    "vector_registers": 32,
}

# What any processor of 64-bit ARM is taken for.
_ANY_ARM64_RATES = {
    "bytes_per_cycle": 4,
    "fma_per_cycle": 2,
    "issue_per_cycle": 4,
    "l1d_bytes": 32 * _KB,
    "l2_bytes": 256 * _KB,
    "loads_per_cycle": 2,
}

# Dot products, which all processors of 64-bit ARM below have (Armv8.2).
_DOTPROD_COPTS = ["-march=armv8-a+dotprod"]

_DOTPROD = {
    "cpu_features": ["asimddp"],
    "instructions": ["fma_f32x4", "sdot_i8x4", "udot_u8x4"],
}

# Products of matrices of bytes (Armv8.6, and from Armv8.2 on where a processor has them).
_I8MM_COPTS = ["-march=armv8-a+dotprod+i8mm"]

_I8MM = {
    "cpu_features": ["asimddp", "i8mm"],
    "instructions": ["fma_f32x4", "smmla_i8x4", "ummla_u8x4", "usmmla_u8i8x4"],
}

_HEXAGON = {"@platforms//cpu": "//platforms:hexagon"}

# Qualcomm's DSP: HVX of 128 bytes. -fvectorize lets clang use it for loops of integers. Floats have no vectors, and their products are
# rounded before they are added, as in every other kernel's scalar code.
# Loops over scalars of up to 200 packets are modulo scheduled, such as that of an exponential; by default those of 27 are.
_HVX_COPTS = ["-mhvx", "-mhvx-length=128b", "-fvectorize", "-ffp-contract=off", "-mllvm", "-pipeliner-max-mii=200"]

# From v68 on there are vectors of floats, of formats that round otherwise.
_NO_HVX_FLOAT_COPTS = ["-mno-hvx-qfloat", "-mno-hvx-ieee-fp"]

# A packet has a vector of bytes times a scalar on each of two multipliers, a load and a store of vectors (the resources of LLVM's tables for v66 to v69).
# What stays in L2 and how fast it is read is an estimate.
_HVX = {
    "bytes_per_cycle": 8,
    "cpu": "hexagon",
    "cpu_features": [],
    "fma_per_cycle": 2,
    "instructions": ["vrmpy_i8u8", "vrmpy_u8i8", "vrmpy_i8i8", "vmpa_i8u8", "vmpy_i8u8"],
    "integers_only": True,
    "issue_per_cycle": 4,
    "l1d_bytes": 32 * _KB,
    "l2_bytes": 1 * _MB,
    "loads_per_cycle": 2,
    "vector_bits": 1024,
    "vector_registers": 32,
}

# From v69 on a product of two vectors takes one of the two units that multiply (llvm-mc takes two of them in a packet).
_HVX_V69 = {
    "instruction_units": {"vrmpy_i8i8": 1, "vrmpy_u8i8": 1},
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
            "instructions": ["muladd_f32x4", "pmaddwd_i16x4"],
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 256 * _KB,
            "loads_per_cycle": 2,
            "vector_bits": 128,
            "vector_registers": 16,
        },
        "variants": ["x86_64_v3", "x86_64_v4", "x86_64_v4_vnni"],
    },
    # AVX2, FMA and F16C.
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
    # The same with AVX-512 VNNI, as of Ice Lake and Zen 4 on.
    "x86_64_v4_vnni": {
        "constraints": _ANY_X86_64 | {"//platforms:x86_64_level": "//platforms:x86_64_v4_vnni"},
        "copts": _X86_64_V4_COPTS + _AVX512_VNNI_COPTS,
        "facts": _X86_64_V4 | _AVX512_VNNI | {
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
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_baseline"},
        "copts": ["-mtune=cortex-a55"],
        "facts": _ARM64 | _ANY_ARM64_RATES,
        "variants": ["arm64_dotprod"],
    },
    # Armv8.2 with dot products. Its kernels of floats are arm64's, so that a library for both has only those of integers twice. No
    # instruction of 16-bit floats changes kernels: Armv8.0 converts them, and their arithmetic is in 32 bits.
    "arm64_dotprod": {
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_dotprod"},
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _DOTPROD | _ANY_ARM64_RATES,
    },
    # The same with products of matrices of bytes: Neoverse V1 and N2, Cortex-A710 and X2, Apple's M2 and what came after them. It is no variant of the first
    # entry, as its kernels read weights of integers in an order of their own: libraries that it is in have these twice.
    "arm64_i8mm": {
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_i8mm"},
        "copts": _I8MM_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _I8MM | _ANY_ARM64_RATES,
    },
    # Versions of Qualcomm's DSP.
    "hexagon_v66": {
        "constraints": _HEXAGON | {"//platforms:hexagon_version": "//platforms:hvx_v66"},
        "copts": ["-mcpu=hexagonv66"] + _HVX_COPTS,
        "facts": _HVX,
    },
    "hexagon_v68": {
        "constraints": _HEXAGON | {"//platforms:hexagon_version": "//platforms:hvx_v68"},
        "copts": ["-mcpu=hexagonv68"] + _HVX_COPTS + _NO_HVX_FLOAT_COPTS,
        "facts": _HVX,
    },
    "hexagon_v69": {
        "constraints": _HEXAGON | {"//platforms:hexagon_version": "//platforms:hvx_v69"},
        "copts": ["-mcpu=hexagonv69"] + _HVX_COPTS + _NO_HVX_FLOAT_COPTS,
        "facts": _HVX | _HVX_V69,
    },
    # LLVM's tables end at v69: that v73 takes as long is assumed.
    "hexagon_v73": {
        "constraints": _HEXAGON | {"//platforms:hexagon_version": "//platforms:hvx_v73"},
        "copts": ["-mcpu=hexagonv73"] + _HVX_COPTS + _NO_HVX_FLOAT_COPTS,
        "facts": _HVX | _HVX_V69,
    },

    # Processors, for builds that know which one it is. Of x86-64 the flags are the level's. What no row of gen/instr uses is neither a flag nor asked for by create().

    # Intel Haswell and Broadwell. uops.info: FMA on ports 0 and 1, of 5 cycles, loads on 2 and 3, 4 micro-operations renamed. L2 is 64 bytes wide (Intel's
    # optimisation manual); 54 GiB/s at 2.5 GHz were measured (community.intel.com, "L1-, L2- and L3-bandwidth of E5-2680 v3").
    # One store of 256 bits (port 4), vinsertps on port 5. L3 is 6 MB and more.
    "x86_64_haswell": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_haswell",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V3_COPTS,
        "facts": _X86_64_V3 | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 4,
            "crossing_cycles": 150,
            "fma_latency": 5,
            "issue_per_cycle": 4,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 256 * _KB,
            "l2_bytes_per_cycle": 24,
            "l3_bytes": 6 * _MB,
            "l3_bytes_per_cycle": 10,
            "lane_cycles": 1,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
        },
        "runs": ["x86_64_v3"],
    },
    # Intel Alder Lake's performance cores, Golden Cove without AVX-512. uops.info: FMA on ports 0 and 1, loads on 2, 3 and 11, 6 micro-operations
    # renamed. Caches: "Popping the Hood on Golden Cove", chipsandcheese.com; L2 is 64 bytes wide.
    # Two stores of 256 bits (ports 4 and 9), vinsertps on ports 1 and 5. L3 is 12 MB and more.
    "x86_64_alder_lake": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_alder_lake",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V3_COPTS + _AVX_VNNI_COPTS,
        "facts": _X86_64_V3 | _AVX_VNNI | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 6,
            "crossing_cycles": 150,
            "issue_per_cycle": 6,
            "l1d_bytes": 48 * _KB,
            "l1d_ways": 12,
            "l2_bytes": 1280 * _KB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 12 * _MB,
            "l3_bytes_per_cycle": 12,
            "lane_cycles": 0.5,
            "loads_per_cycle": 3,
            "stores_per_cycle": 2,
        },
        "runs": ["x86_64_v3"],
    },
    # Intel Sapphire Rapids and Emerald Rapids, Golden Cove with AVX-512: FMA of 512 bits on ports 0 and 5, two loads of 512 bits, 6 micro-operations
    # renamed (Intel's optimisation manual). L2 is 2 MB and 64 bytes wide.
    # Two stores of 256 bits or one of 512 (Intel's optimisation manual). L3 is 1.875 MB a core of a mesh, 26 MB and more
    # ("A Peek at Sapphire Rapids", chipsandcheese.com).
    "x86_64_sapphire_rapids": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_sapphire_rapids",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V4_COPTS + _AVX512_BF16_COPTS + _AMX_COPTS,
        "facts": _X86_64_V4 | _AMX | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 4,
            "crossing_cycles": 200,
            "fma_per_cycle": 2,
            "issue_per_cycle": 6,
            "l1d_bytes": 48 * _KB,
            "l1d_ways": 12,
            "l2_bytes": 2 * _MB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 26 * _MB,
            "l3_bytes_per_cycle": 8,
            "lane_cycles": 0.5,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
        },
        "runs": ["x86_64_v4", "x86_64_v4_vnni"],
    },
    # AMD Zen 2: two FMA and two additions of 256 bits, two loads, one store (AMD's software optimization guide 56305), FMA of 5 cycles (uops.info), 6 operations
    # dispatched. L2 is 32 bytes wide. L3 of 4 cores is 4 MB of laptops and 16 MB of others. widen_cycles is of 256 bits on Zen 4, where they run beside FMA.
    "x86_64_zen2": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_zen2",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V3_COPTS,
        "facts": _X86_64_V3 | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 5,
            "crossing_cycles": 100,
            "fma_latency": 5,
            "issue_per_cycle": 6,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 512 * _KB,
            "l2_bytes_per_cycle": 28,
            "l3_bytes": 4 * _MB,
            "l3_bytes_per_cycle": 20,
            "lane_cycles": 0.5,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
            "widen_cycles": 0.1,
        },
        "runs": ["x86_64_v3"],
    },
    # AMD Zen 3: as Zen 2, with FMA of 4 cycles and an L3 of 8 cores (AMD's software optimization guide 56665): 16 MB of laptops, 32 MB of others. Three loads, of which
    # two are of vectors.
    "x86_64_zen3": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_zen3",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V3_COPTS,
        "facts": _X86_64_V3 | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 5,
            "crossing_cycles": 70,
            "fma_latency": 4,
            "issue_per_cycle": 6,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 512 * _KB,
            "l2_bytes_per_cycle": 28,
            "l3_bytes": 16 * _MB,
            "l3_bytes_per_cycle": 20,
            "lane_cycles": 0.5,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
            "widen_cycles": 0.1,
        },
        "runs": ["x86_64_v3"],
    },
    # AMD Zen 4: units and loads are of 256 bits, so that an FMA and a load of 512 bits start in each cycle; 6 operations dispatched (AMD's software
    # optimization guide 57647, Agner Fog's microarchitecture manual). L2 is 32 bytes wide, and a core of an EPYC was measured to read so many a cycle.
    # A store is of 256 bits, four units of 256 bits compute (57647). L3 is 32 MB, of laptops 16; its cores are 15 to 19 ns
    # apart ("AMD Zen 4 Ryzen 9 7950X and Ryzen 5 7600X Review", anandtech.com).
    "x86_64_zen4": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_zen4",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V4_COPTS + _AVX512_BF16_COPTS,
        "facts": _X86_64_V4 | _AVX512_BF16 | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 5,
            "crossing_cycles": 70,
            "fma_per_cycle": 1,
            "issue_per_cycle": 6,
            "l1d_bytes": 32 * _KB,
            "l2_bytes": 1 * _MB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 32 * _MB,
            "l3_bytes_per_cycle": 20,
            "lane_cycles": 0.5,
            "loads_per_cycle": 1,
            "stores_per_cycle": 0.5,
        },
        "runs": ["x86_64_v4", "x86_64_v4_vnni"],
    },
    # AMD Zen 5 of desktops and servers; that of laptops has units of 256 bits, as x86_64_zen4. Two FMA and two loads of 512 bits, 8 operations
    # dispatched, L2 64 bytes wide (AMD's software optimization guide 58455; "Zen5's AVX512 Teardown", numberworld.org).
    # One store of 512 bits, four units of 512 bits compute (58455). L3 as of Zen 4.
    "x86_64_zen5": {
        "constraints": {
            "//platforms:x86_64_processor": "//platforms:x86_64_zen5",
            "@platforms//cpu": "@platforms//cpu:x86_64",
        },
        "copts": _X86_64_V4_COPTS + _AVX512_BF16_COPTS,
        "facts": _X86_64_V4 | _AVX512_BF16 | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 6,
            "crossing_cycles": 70,
            "fma_per_cycle": 2,
            "issue_per_cycle": 8,
            "l1d_bytes": 48 * _KB,
            "l1d_ways": 12,
            "l2_bytes": 1 * _MB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 32 * _MB,
            "l3_bytes_per_cycle": 20,
            "lane_cycles": 0.5,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
        },
        "runs": ["x86_64_v4", "x86_64_v4_vnni"],
    },
    # In order. Both pipes of 64 bits make one FMA of 128, 2 instructions issue, and a load is of 64 bits (Arm's software optimization guide EPM128372;
    # ncnn, docs/developer-guide/arm-a53-a55-dual-issue.md). L2 is 64 to 256 KB: of phones, 128.
    # A store is of 128 bits. L3 of the cluster (DSU) is 1 MB and more.
    "arm64_cortex_a55": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_a55",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 1,
            "bytes_per_cycle": 2,
            "crossing_cycles": 150,
            "fma_per_cycle": 1,
            "in_order": True,
            "issue_per_cycle": 2,
            "l1d_bytes": 32 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 128 * _KB,
            "l2_bytes_per_cycle": 8,
            "l3_bytes": 1 * _MB,
            "l3_bytes_per_cycle": 4,
            "lane_cycles": 1,
            "loads_per_cycle": 1,
            "stores_per_cycle": 1,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # Two pipes of 128 bits, two loads, 4 instructions decoded (Arm's software optimization guide). L2 is 128 to 512 KB: of phones, 256 and 512.
    # A store of 16 bytes. L3 of the cluster is 2 or 4 MB.
    "arm64_cortex_a76": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_a76",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-a76"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 4,
            "crossing_cycles": 150,
            "fma_per_cycle": 2,
            "issue_per_cycle": 4,
            "l1d_bytes": 64 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 256 * _KB,
            "l2_bytes_per_cycle": 16,
            "l3_bytes": 2 * _MB,
            "l3_bytes_per_cycle": 8,
            "lane_cycles": 0.5,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # Two pipes of 128 bits, three loads, 6 macro-operations dispatched (Arm's software optimization guide; "Arm's New Cortex-A78 and Cortex-X1
    # Microarchitectures", anandtech.com). L1D is 32 or 64 KB, L2 256 or 512.
    # Two stores of 16 bytes, twice what the A76 has (the same article).
    "arm64_cortex_a78": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_a78",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-a78"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 4,
            "crossing_cycles": 150,
            "fma_per_cycle": 2,
            "issue_per_cycle": 6,
            "l1d_bytes": 32 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 256 * _KB,
            "l2_bytes_per_cycle": 16,
            "l3_bytes": 2 * _MB,
            "l3_bytes_per_cycle": 8,
            "lane_cycles": 0.5,
            "loads_per_cycle": 3,
            "stores_per_cycle": 2,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # Four pipes of 128 bits, three loads, 8 macro-operations dispatched (the same two). L2 is 512 KB or 1 MB.
    # Two stores of 16 bytes. L3 of the cluster is 4 or 8 MB.
    "arm64_cortex_x1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_x1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-x1"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 5,
            "crossing_cycles": 150,
            "fma_per_cycle": 4,
            "issue_per_cycle": 8,
            "l1d_bytes": 64 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 512 * _KB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 4 * _MB,
            "l3_bytes_per_cycle": 12,
            "lane_cycles": 0.5,
            "loads_per_cycle": 3,
            "stores_per_cycle": 2,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # The Cortex-A76 of servers: two pipes of 128 bits, two loads, 4 instructions decoded (Arm's software optimization guide, and LLVM's model of it). L2 of
    # Graviton2 and Altra: 1 MB.
    # A store of 16 bytes. The mesh has 32 MB (learn.arm.com, "Memory subsystem").
    "arm64_neoverse_n1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_neoverse_n1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=neoverse-n1"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 2,
            "bytes_per_cycle": 5,
            "crossing_cycles": 150,
            "fma_per_cycle": 2,
            "issue_per_cycle": 4,
            "l1d_bytes": 64 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 1 * _MB,
            "l2_bytes_per_cycle": 16,
            "l3_bytes": 32 * _MB,
            "l3_bytes_per_cycle": 8,
            "lane_cycles": 0.5,
            "loads_per_cycle": 2,
            "stores_per_cycle": 1,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # The Cortex-X1 of servers: four pipes of 128 bits, three loads, 8 macro-operations dispatched (Arm's software optimization guide, and LLVM's model of
    # it). Its SVE of 256 bits has no row. L2 of Graviton3: 1 MB.
    # Two stores of 16 bytes. The mesh has 32 MB.
    "arm64_neoverse_v1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_neoverse_v1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=neoverse-v1"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 5,
            "crossing_cycles": 150,
            "fma_per_cycle": 4,
            "issue_per_cycle": 8,
            "l1d_bytes": 64 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 1 * _MB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 32 * _MB,
            "l3_bytes_per_cycle": 10,
            "lane_cycles": 0.5,
            "loads_per_cycle": 3,
            "stores_per_cycle": 2,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # The Cortex-X3 of servers: four pipes of 128 bits, three loads, 8 macro-operations dispatched (Arm's software optimization guide PJDOC-466751330-593177;
    # "Arm's Neoverse V2, in AWS's Graviton 4", chipsandcheese.com). Its SVE of 128 bits has no row. L2 of Grace: 1 MB, of Graviton4: 2 MB. Bytes a cycle are
    # those of arm64_neoverse_v1.
    # Two stores of 16 bytes. The mesh of Graviton4 has 36 MB, and cores are 30 to 60 ns apart (the same article).
    "arm64_neoverse_v2": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_neoverse_v2",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=neoverse-v2"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 5,
            "crossing_cycles": 130,
            "fma_per_cycle": 4,
            "issue_per_cycle": 8,
            "l1d_bytes": 64 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 1 * _MB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 36 * _MB,
            "l3_bytes_per_cycle": 10,
            "lane_cycles": 0.5,
            "loads_per_cycle": 3,
            "stores_per_cycle": 2,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # The performance cores, Firestorm: four pipes of 128 bits, three loads, 8 instructions decoded; of L2, 12 MB, a quarter (dougallj.github.io/applecpu;
    # "Apple Announces The Apple Silicon M1", anandtech.com). GCC 14 does not know -mtune=apple-m1.
    # Two stores of 16 bytes. What is behind a core's quarter of L2 is the other three.
    "arm64_apple_m1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_apple_m1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-x1"],
        "facts": _ARM64 | _DOTPROD | {
            "arithmetic_per_cycle": 4,
            "bytes_per_cycle": 16,
            "crossing_cycles": 120,
            "fma_per_cycle": 4,
            "issue_per_cycle": 8,
            "l1d_bytes": 128 * _KB,
            "l2_bytes": 3 * _MB,
            "l2_bytes_per_cycle": 32,
            "l3_bytes": 12 * _MB,
            "l3_bytes_per_cycle": 20,
            "lane_cycles": 0.5,
            "loads_per_cycle": 3,
            "stores_per_cycle": 2,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
}
