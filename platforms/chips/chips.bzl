"""The chips that rules_dnn supports, as data.

A chip is an entry of CHIPS:

- constraints: the constraint values of the chip's platforms, by their settings. No platform meets
  the constraints of two chips, so the order of toolchains does not matter. The chip of a level
  requires the processor "any".
- copts: compiler flags, for kernels only. create() checks that the processor has all CPU features
  (cpu_features) that the flags enable.
- facts: the facts for the compiler; docs/reference/chips.md lists the fields. dnn_chip adds the
  name and the copts.
- variants: additional chips that a library for this chip has kernels for, the least capable first.
  create() chooses the last one whose cpu_features the processor has.
- runs: for a processor, the levels whose kernels run on it in builds that do not name a
  processor. The compiler chooses the kernels of a level with the smallest worst-case loss on
  these processors.

The BUILD files of //platforms and //platforms/chips declare constraint values, platforms and
toolchains from this data. Programs and tests without Bazel read it with package gen/target/chips,
which understands literals, names, +, * and |. So this file must not load or call anything.

How the numbers are defined:

- Caches: the smallest size among a processor's variants.
- fma_per_cycle, loads_per_cycle, stores_per_cycle, arithmetic_per_cycle: whole vectors. If units
  or the path to the cache have 256 bits, two of them count as one 512-bit vector.
- fma_latency: latency for floats, if it differs from gen/target/instr.
- issue_per_cycle: operations that are renamed or dispatched in a cycle.
- l2_bytes_per_cycle: sustained reads if a measurement is known, otherwise half of the port's
  width.
- bytes_per_cycle: an estimate of the bytes that one core reads from memory, divided by its clock.
- l3_bytes: the bytes of the shared cache that one core may fill, for the smallest common variant.
- l3_bytes_per_cycle: an estimate of the bytes that one core reads from there.
- lane_cycles: vinsertps from memory (uops.info), or ld1 of a lane.
- crossing_cycles: a line that two cores of a cluster write in turn, in cycles of about 3 GHz
  ("Core to Core Latency Data on Large Systems", chipsandcheese.com, and anandtech.com's reviews).
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

# Additions of AVX-512 VNNI.
_AVX512_VNNI_COPTS = ["-mavx512vnni"]

_AVX512_VNNI = {
    "cpu_features": ["avx512vnni"] + _X86_64_V4_FEATURES,
    "instructions": ["fma_f32x16", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16"],
}

# Additions of AVX512-BF16: products of pairs of bf16, used only with precision = "bf16".
_AVX512_BF16_COPTS = _AVX512_VNNI_COPTS + ["-mavx512bf16"]

_AVX512_BF16 = {
    "cpu_features": ["avx512bf16", "avx512vnni"] + _X86_64_V4_FEATURES,
    "instructions": ["fma_f32x16", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16", "vdpbf16ps_x16"],
}

# Additions of AMX: matrix products of bytes and of bf16. Kernels without matrix products, such as
# depthwise convolutions, use AVX-512.
_AMX_COPTS = ["-mamx-tile", "-mamx-int8", "-mamx-bf16"]

_AMX = {
    "cpu_features": ["avx512bf16", "avx512vnni"] + _X86_64_V4_FEATURES + ["amx_tile", "amx_int8", "amx_bf16"],
    "instructions": ["fma_f32x16", "vpdpbusd_u8i8x16", "vpdpbusd_i8u8x16", "tdpbusd_u8i8x16", "tdpbsud_i8u8x16", "tdpbssd_i8i8x16", "tdpbuud_u8u8x16", "vdpbf16ps_x16", "tdpbf16ps_x16"],
}

# Additions of AVX-VNNI to AVX2.
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

# Rates that are assumed for an unknown processor of 64-bit ARM.
_ANY_ARM64_RATES = {
    "bytes_per_cycle": 4,
    "fma_per_cycle": 2,
    "issue_per_cycle": 4,
    "l1d_bytes": 32 * _KB,
    "l2_bytes": 256 * _KB,
    "loads_per_cycle": 2,
}

# Dot products (Armv8.2), which all 64-bit ARM processors below have. GNU's assembler of Debian 12
# does not accept them for armv8-a+dotprod.
_DOTPROD_COPTS = ["-march=armv8.2-a+dotprod"]

_DOTPROD = {
    "cpu_features": ["asimddp"],
    "instructions": ["fma_f32x4", "sdot_i8x4", "udot_u8x4"],
}

# Arithmetic of f16 (FEAT_FP16), which all processors below have, too. It is used only with
# accumulation = "fp16".
_FP16_COPTS = ["-march=armv8.2-a+dotprod+fp16"]

_FP16 = {
    "cpu_features": ["asimddp", "asimdhp"],
    "instructions": ["fma_f32x4", "sdot_i8x4", "udot_u8x4", "fma_f16x8"],
}

# Products of f16 that are added in f32 (FEAT_FHM; processors of Armv8.4 with FEAT_FP16 have it).
_FHM_COPTS = ["-march=armv8.2-a+dotprod+fp16+fp16fml"]

_FHM = {
    "cpu_features": ["asimddp", "asimdfhm", "asimdhp"],
    "instructions": ["fma_f32x4", "sdot_i8x4", "udot_u8x4", "fma_f16x8", "fmlal_f16x4"],
}

# Matrix products of bytes, and products of pairs of bf16, which are used only with precision =
# "bf16" (Armv8.6; optional from Armv8.2 on).
_I8MM_COPTS = ["-march=armv8.2-a+dotprod+fp16+fp16fml+i8mm+bf16"]

_I8MM = {
    "cpu_features": ["asimddp", "asimdfhm", "asimdhp", "bf16", "i8mm"],
    "instructions": ["fma_f32x4", "smmla_i8x4", "ummla_u8x4", "usmmla_u8i8x4", "bfdot_x4", "bfmmla_x4", "fma_f16x8", "fmlal_f16x4"],
}

_HEXAGON = {"@platforms//cpu": "//platforms:hexagon"}

# Qualcomm's DSP with 128-byte HVX. -fvectorize lets clang use HVX for loops of integers. There
# are no vectors of floats. Products of floats are rounded before they are added, as in the scalar
# code of all other kernels. -pipeliner-max-mii=200 lets clang modulo schedule scalar loops of up
# to 200 packets, such as an exponential; the default is 27.
_HVX_COPTS = ["-mhvx", "-mhvx-length=128b", "-fvectorize", "-ffp-contract=off", "-mllvm", "-pipeliner-max-mii=200"]

# Versions from v68 on have vectors of floats, but in formats that round differently.
_NO_HVX_FLOAT_COPTS = ["-mno-hvx-qfloat", "-mno-hvx-ieee-fp"]

# A packet can have two products of a vector of bytes and a scalar, a vector load and a vector
# store (resources in LLVM's tables for v66 to v69). The size and speed of L2 are estimates.
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

# From v69 on, a product of two vectors uses one of the two multipliers (llvm-mc accepts two such
# products in a packet).
_HVX_V69 = {
    "instruction_units": {"vrmpy_i8i8": 1, "vrmpy_u8i8": 1},
}

CHIPS = {
    # Levels, for builds that do not name a processor.
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
    # The same with AVX-512 VNNI: Ice Lake, Zen 4 and later.
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
    # In-order processors, such as the Cortex-A55, need code that the compiler schedules for them.
    # It makes no difference on other processors, as //tools/mca shows.
    "arm64": {
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_baseline"},
        "copts": ["-mtune=cortex-a55"],
        "facts": _ARM64 | _ANY_ARM64_RATES,
        "variants": ["arm64_dotprod"],
    },
    # Armv8.2 with dot products. Its float kernels are equal to arm64's, so a library for both has
    # only integer kernels twice. Kernels do not use its arithmetic on 16-bit floats: they convert
    # with Armv8.0's instructions and compute in 32 bits.
    "arm64_dotprod": {
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_dotprod"},
        "copts": _DOTPROD_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _DOTPROD | _ANY_ARM64_RATES,
    },
    # The same with arithmetic of f16: Cortex-A55 and A75, Neoverse N1, Apple's A11, and later
    # processors.
    "arm64_fp16": {
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_fp16"},
        "copts": _FP16_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _FP16 | _ANY_ARM64_RATES,
    },
    # The same with matrix products of bytes and products of pairs of bf16: Neoverse V1 and N2,
    # Cortex-A710 and X2, Apple's M2, and later processors. It is not among the variants of arm64,
    # because its kernels need integer weights in a different order. A library with this variant has
    # integer weights twice.
    "arm64_i8mm": {
        "constraints": _ANY_ARM64 | {"//platforms:arm64_level": "//platforms:arm64_i8mm"},
        "copts": _I8MM_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _I8MM | _ANY_ARM64_RATES,
    },
    # Qualcomm's DSP.
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
    # LLVM's tables end at v69. The timings of v73 are assumed to be equal.
    "hexagon_v73": {
        "constraints": _HEXAGON | {"//platforms:hexagon_version": "//platforms:hvx_v73"},
        "copts": ["-mcpu=hexagonv73"] + _HVX_COPTS + _NO_HVX_FLOAT_COPTS,
        "facts": _HVX | _HVX_V69,
    },

    # Processors, for builds that name one. On x86-64 the flags are the level's, and the additions
    # above. Flags do not enable a CPU feature that no row of gen/target/instr uses, and create()
    # does not check it.

    # Intel Haswell and Broadwell. uops.info: FMA on ports 0 and 1 with 5 cycles, loads on ports 2
    # and 3, 4 micro-operations renamed. L2 is 64 bytes wide (Intel's optimization manual); 54
    # GiB/s at 2.5 GHz were measured (community.intel.com, "L1-, L2- and L3-bandwidth of E5-2680
    # v3"). One store of 256 bits (port 4), vinsertps on port 5. L3 has 6 MB or more.
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
    # Intel Alder Lake's performance cores, Golden Cove without AVX-512. uops.info: FMA on ports 0
    # and 1, loads on ports 2, 3 and 11, 6 micro-operations renamed. Caches: "Popping the Hood on
    # Golden Cove", chipsandcheese.com; L2 is 64 bytes wide. Two stores of 256 bits (ports 4 and
    # 9), vinsertps on ports 1 and 5. L3 has 12 MB or more.
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
    # Intel Sapphire Rapids and Emerald Rapids, Golden Cove with AVX-512: FMA of 512 bits on ports
    # 0 and 5, two loads of 512 bits, 6 micro-operations renamed (Intel's optimization manual). L2
    # has 2 MB and is 64 bytes wide. Two stores of 256 bits or one of 512 (Intel's optimization
    # manual). L3 has 1.875 MB per core of a mesh, 26 MB or more ("A Peek at Sapphire Rapids",
    # chipsandcheese.com).
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
    # AMD Zen 2: two FMA and two additions of 256 bits, two loads, one store (AMD's software
    # optimization guide 56305), FMA with 5 cycles (uops.info), 6 operations dispatched. L2 is 32
    # bytes wide. The L3 of 4 cores has 4 MB in laptops and 16 MB elsewhere. widen_cycles is for
    # 256 bits on Zen 4, where conversions run in parallel with FMA.
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
    # AMD Zen 3: as Zen 2, with FMA of 4 cycles and an L3 for 8 cores (AMD's software optimization
    # guide 56665): 16 MB in laptops, 32 MB elsewhere. Three loads, at most two of them of
    # vectors.
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
    # AMD Zen 4: units and loads have 256 bits, so one FMA and one load of 512 bits start in each
    # cycle; 6 operations dispatched (AMD's software optimization guide 57647, Agner Fog's
    # microarchitecture manual). L2 is 32 bytes wide, and a core of an EPYC was measured to read
    # 32 bytes a cycle. A store has 256 bits, and four units of 256 bits compute (57647). L3 has
    # 32 MB, 16 MB in laptops; its cores are 15 to 19 ns apart ("AMD Zen 4 Ryzen 9 7950X and Ryzen
    # 5 7600X Review", anandtech.com).
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
    # AMD Zen 5 in desktops and servers; in laptops it has units of 256 bits, like x86_64_zen4.
    # Two FMA and two loads of 512 bits, 8 operations dispatched, L2 64 bytes wide (AMD's software
    # optimization guide 58455; "Zen5's AVX512 Teardown", numberworld.org). One store of 512 bits,
    # and four units of 512 bits compute (58455). L3 as in Zen 4.
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
    # In order. Two pipes of 64 bits together compute one FMA of 128 bits, 2 instructions issue,
    # and a load has 64 bits (Arm's software optimization guide EPM128372; ncnn,
    # docs/developer-guide/arm-a53-a55-dual-issue.md). L2 has 64 to 256 KB, 128 KB in phones. A
    # store has 128 bits. The cluster's L3 (DSU) has 1 MB or more.
    "arm64_cortex_a55": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_a55",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _FP16_COPTS + ["-mtune=cortex-a55"],
        "facts": _ARM64 | _FP16 | {
            "arithmetic_per_cycle": 1,
            "bytes_per_cycle": 2,
            "crossing_cycles": 150,
            "fma_per_cycle": 1,
            "in_order": True,
            "instructions": ["fma_f32x4_halves", "sdot_i8x4", "udot_u8x4", "fma_f16x8"],
            "issue_per_cycle": 2,
            "l1d_bytes": 32 * _KB,
            "l1d_ways": 4,
            "l2_bytes": 128 * _KB,
            "l2_bytes_per_cycle": 8,
            "l3_bytes": 1 * _MB,
            "l3_bytes_per_cycle": 4,
            "lane_cycles": 1,
            "loads_per_cycle": 0.5,
            "stores_per_cycle": 1,
        },
        "runs": ["arm64", "arm64_dotprod"],
    },
    # Two pipes of 128 bits, two loads, 4 instructions decoded (Arm's software optimization
    # guide). L2 has 128 to 512 KB, 256 or 512 KB in phones. One store of 16 bytes. The cluster's
    # L3 has 2 or 4 MB.
    "arm64_cortex_a76": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_a76",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _FP16_COPTS + ["-mtune=cortex-a76"],
        "facts": _ARM64 | _FP16 | {
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
    # Two pipes of 128 bits, three loads, 6 macro-operations dispatched (Arm's software
    # optimization guide; "Arm's New Cortex-A78 and Cortex-X1 Microarchitectures", anandtech.com).
    # L1D has 32 or 64 KB, L2 256 or 512 KB. Two stores of 16 bytes, compared with one on the A76
    # (the same article).
    "arm64_cortex_a78": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_a78",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _FP16_COPTS + ["-mtune=cortex-a78"],
        "facts": _ARM64 | _FP16 | {
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
    # Four pipes of 128 bits, three loads, 8 macro-operations dispatched (the same two sources).
    # L2 has 512 KB or 1 MB. Two stores of 16 bytes. The cluster's L3 has 4 or 8 MB.
    "arm64_cortex_x1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_cortex_x1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _FP16_COPTS + ["-mtune=cortex-x1"],
        "facts": _ARM64 | _FP16 | {
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
    # The Cortex-A76 for servers: two pipes of 128 bits, two loads, 4 instructions decoded (Arm's
    # software optimization guide, and LLVM's model). L2 of Graviton2 and Altra has 1 MB. One
    # store of 16 bytes. The mesh has 32 MB (learn.arm.com, "Memory subsystem").
    "arm64_neoverse_n1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_neoverse_n1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _FP16_COPTS + ["-mtune=neoverse-n1"],
        "facts": _ARM64 | _FP16 | {
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
    # The Cortex-X1 for servers: four pipes of 128 bits, three loads, 8 macro-operations dispatched
    # (Arm's software optimization guide, and LLVM's model). gen/target/instr has no row for its SVE
    # of 256 bits. L2 of Graviton3 has 1 MB. Two stores of 16 bytes. The mesh has 32 MB.
    "arm64_neoverse_v1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_neoverse_v1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _I8MM_COPTS + ["-mtune=neoverse-v1"],
        "facts": _ARM64 | _I8MM | {
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
    # The Cortex-X3 for servers: four pipes of 128 bits, three loads, 8 macro-operations dispatched
    # (Arm's software optimization guide PJDOC-466751330-593177; "Arm's Neoverse V2, in AWS's
    # Graviton 4", chipsandcheese.com). gen/target/instr has no row for its SVE of 128 bits. L2 has
    # 1 MB in Grace and 2 MB in Graviton4. Bytes per cycle are copied from arm64_neoverse_v1. Two
    # stores of 16 bytes. The mesh of Graviton4 has 36 MB, and cores are 30 to 60 ns apart (the same
    # article).
    "arm64_neoverse_v2": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_neoverse_v2",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _I8MM_COPTS + ["-mtune=neoverse-v2"],
        "facts": _ARM64 | _I8MM | {
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
    # The performance cores, Firestorm: four pipes of 128 bits, three loads, 8 instructions
    # decoded (dougallj.github.io/applecpu; "Apple Announces The Apple Silicon M1",
    # anandtech.com). l2_bytes is a quarter of the 12 MB of L2, and l3_bytes is all of it. GCC 14
    # does not support -mtune=apple-m1. Two stores of 16 bytes.
    "arm64_apple_m1": {
        "constraints": {
            "//platforms:arm64_processor": "//platforms:arm64_apple_m1",
            "@platforms//cpu": "@platforms//cpu:arm64",
        },
        "copts": _FHM_COPTS + ["-mtune=cortex-x1"],
        "facts": _ARM64 | _FHM | {
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
