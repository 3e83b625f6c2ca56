"""The features of toolchains with clang, the machine's or a vendor's: tables of flags.

Bazel adds its own features for what is the same in every Unix toolchain (inputs, outputs, includes,
libraries, -fPIC, user flags). It puts user flags after all that is here.
"""

load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES", "ALL_CC_COMPILE_ACTION_NAMES", "ALL_CC_LINK_ACTION_NAMES", "ALL_CPP_COMPILE_ACTION_NAMES")
load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "feature", "flag_group", "flag_set")

_COMPILE = ALL_CC_COMPILE_ACTION_NAMES
_COMPILE_CPP = ALL_CPP_COMPILE_ACTION_NAMES + [ACTION_NAMES.linkstamp_compile]
_LINK = ALL_CC_LINK_ACTION_NAMES
_LINK_PROGRAM = [ACTION_NAMES.cpp_link_executable]

# What the toolchain can do; Bazel asks for these by name. Libraries need not be archives only for linkers that know --start-lib.
_ABILITIES = [
    "supports_dynamic_linker",
    "supports_pic",
]
_ABILITIES_OF_LLD = _ABILITIES + ["supports_start_end_lib"]

# The same bytes in every directory, at every time.
_SAME_BYTES = [
    (_COMPILE, [
        "-ffile-compilation-dir=.",
        "-Wno-builtin-macro-redefined",
        '-D__DATE__="redacted"',
        '-D__TIME__="redacted"',
        '-D__TIMESTAMP__="redacted"',
    ]),
]

# Compilation modes. Exactly one is on; its flags are in _MODE_FLAGS.
_MODES = ["dbg", "fastbuild", "opt"]

_MODE_FLAGS = {
    "dbg": [(_COMPILE, ["-g"])],
    "fastbuild": [],
    "opt": [
        (_COMPILE, ["-O2", "-DNDEBUG", "-ffunction-sections", "-fdata-sections"]),
        (_LINK, ["-Wl,--gc-sections"]),
    ],
}

# Features that a target or a command line switches on: --features=asan.
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
    """Returns what a target's operating system and C library allow, or what their absence demands."""
    if not bare_cpu:
        return [
            (_COMPILE, ["-fstack-protector-strong", "-Wall"]),
            (_COMPILE_CPP, ["-std=c++17"]),
        ]
    return [
        # Headers of the machine that compiles would be found, too.
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
      triple: the target's name for clang.
      more_flags: pairs of actions and their flags, which come after those of every toolchain.
      bare_cpu: of a target without libraries, the least processor that programs are for. There the language's standard is
        whatever compiles a file: Bazel takes C sources of a folder for C++.

    Returns:
      A list of features, in the order of their flags.
    """
    return _features(_default_flags(triple, bare_cpu) + more_flags, _ABILITIES_OF_LLD) + [
        feature(name = name, flag_sets = _flag_sets(flags))
        for name, flags in _OPTIONAL_FLAGS.items()
    ]

def vendor_features(compile_flags, link_flags):
    """Returns the features of a toolchain with a vendor's clang, which knows its target, libraries and linker by itself.

    Args:
      compile_flags: flags of all that is compiled, assembly included.
      link_flags: flags of all that is linked, after libraries.

    Returns:
      A list of features, in the order of their flags.
    """
    return _features(
        [(_COMPILE, ["-no-canonical-prefixes"] + compile_flags)] + _SAME_BYTES + [(_LINK, ["-no-canonical-prefixes"] + link_flags)],
        _ABILITIES,
    )
