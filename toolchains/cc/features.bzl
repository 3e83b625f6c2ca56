"""Features of toolchains with this machine's or a vendor's clang: tables of flags.

Bazel adds its own features for flags that all Unix toolchains have (inputs, outputs, includes,
libraries, -fPIC, user flags). User flags come after the flags in this file.
"""

load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES", "ALL_CC_COMPILE_ACTION_NAMES", "ALL_CC_LINK_ACTION_NAMES", "ALL_CPP_COMPILE_ACTION_NAMES")
load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "feature", "flag_group", "flag_set")

_COMPILE = ALL_CC_COMPILE_ACTION_NAMES
_COMPILE_CPP = ALL_CPP_COMPILE_ACTION_NAMES + [ACTION_NAMES.linkstamp_compile]
_LINK = ALL_CC_LINK_ACTION_NAMES
_LINK_PROGRAM = [ACTION_NAMES.cpp_link_executable]

# Capabilities of the toolchain, which Bazel checks by name. Only linkers that support --start-lib
# can link objects that are not in an archive as a library.
_ABILITIES = [
    "supports_dynamic_linker",
    "supports_pic",
]
_ABILITIES_OF_LLD = _ABILITIES + ["supports_start_end_lib"]

# Flags for the same bytes in every directory and at every time.
_SAME_BYTES = [
    (_COMPILE, [
        "-ffile-compilation-dir=.",
        "-Wno-builtin-macro-redefined",
        '-D__DATE__="redacted"',
        '-D__TIME__="redacted"',
        '-D__TIMESTAMP__="redacted"',
    ]),
]

# Compilation modes. Exactly one is enabled; its flags are in _MODE_FLAGS.
_MODES = ["dbg", "fastbuild", "opt"]

_MODE_FLAGS = {
    "dbg": [(_COMPILE, ["-g"])],
    "fastbuild": [],
    "opt": [
        (_COMPILE, ["-O2", "-DNDEBUG", "-ffunction-sections", "-fdata-sections"]),
        (_LINK, ["-Wl,--gc-sections"]),
    ],
}

# Features that a target or the command line can enable: --features=asan.
_OPTIONAL_FLAGS = {
    "asan": [
        (_COMPILE, ["-fsanitize=address", "-fno-omit-frame-pointer", "-g1"]),
        (_LINK, ["-fsanitize=address"]),
    ],
    "static_libstdcxx": [(_LINK, ["-static-libstdc++", "-static-libgcc"])],
    "tsan": [
        (_COMPILE, ["-fsanitize=thread", "-fno-omit-frame-pointer", "-g1"]),
        (_LINK, ["-fsanitize=thread"]),
    ],
    "ubsan": [
        (_COMPILE, ["-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-g1"]),
        (_LINK, ["-fsanitize=undefined"]),
    ],
}

def _environment_flags(bare_cpu):
    """Returns flags for a target with an operating system and C library, or without them."""
    if not bare_cpu:
        return [
            (_COMPILE, ["-fstack-protector-strong", "-Wall"]),
            (_COMPILE_CPP, ["-std=c++17"]),
        ]
    return [
        # Without -nostdlibinc, clang would find the host's headers.
        (_COMPILE, ["-mcpu=" + bare_cpu, "-ffreestanding", "-nostdlibinc", "-Wall"]),
        (_LINK, ["-nostdlib"]),
        (_LINK_PROGRAM, ["-static"]),
    ]

def _default_flags(triple, bare_cpu):
    target = "--target=" + triple
    return [
        (_COMPILE, [target, "-no-canonical-prefixes"]),
    ] + _environment_flags(bare_cpu) + _SAME_BYTES + [
        (_LINK, [
            target,
            "-no-canonical-prefixes",
            "--driver-mode=g++",
            "-fuse-ld=lld",
            "-Wl,--build-id=md5",
            "-Wl,-z,relro,-z,now",
        ]),
    ]

def _flag_sets(flags):
    return [
        flag_set(actions = actions, flag_groups = [flag_group(flags = words)])
        for actions, words in flags
    ]

def _features(flags, abilities):
    return [
        feature(name = name, enabled = True)
        for name in abilities
    ] + [
        feature(name = "default_flags", enabled = True, flag_sets = _flag_sets(flags)),
    ] + [
        feature(name = name, flag_sets = _flag_sets(_MODE_FLAGS[name]))
        for name in _MODES
    ]

def clang_features(triple, more_flags = [], bare_cpu = ""):
    """Returns the features of a toolchain with clang and lld.

    Args:
      triple: clang's target triple.
      more_flags: pairs of actions and flags, which come after the flags of every toolchain.
      bare_cpu: for a target without libraries, the oldest processor that programs run on. There
        are no -std= flags for such a target, because Bazel compiles C sources in a directory as
        C++.

    Returns:
      A list of features, in the order of their flags.
    """
    return _features(_default_flags(triple, bare_cpu) + more_flags, _ABILITIES_OF_LLD) + [
        feature(name = name, flag_sets = _flag_sets(flags))
        for name, flags in _OPTIONAL_FLAGS.items()
    ]

def vendor_features(compile_flags, link_flags):
    """Returns the features of a toolchain with a vendor's clang.

    Such a clang has its own default target, libraries and linker.

    Args:
      compile_flags: flags for all compile actions, including assembly.
      link_flags: flags for all link actions, after libraries.

    Returns:
      A list of features, in the order of their flags.
    """
    return _features(
        [(_COMPILE, ["-no-canonical-prefixes"] + compile_flags)] + _SAME_BYTES + [(_LINK, ["-no-canonical-prefixes"] + link_flags)],
        _ABILITIES,
    )
