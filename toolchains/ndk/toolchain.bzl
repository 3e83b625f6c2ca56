"""Macros that the BUILD file of the NDK's repository calls for each ABI."""

load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")
load("//toolchains/cc:missing.bzl", "missing_toolchain")
load(":config.bzl", "ndk_toolchain_config")
load(":release.bzl", "TRIPLES")

def _register(name, target_cpu, exec_constraints = []):
    native.toolchain(
        name = name + "_toolchain",
        exec_compatible_with = exec_constraints,
        target_compatible_with = [
            "@platforms//cpu:" + target_cpu,
            "@platforms//os:android",
        ],
        toolchain = name,
        toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
    )

def _programs(names, suffix):
    """Returns programs, and the shared libraries that they need to start."""
    return native.glob(
        ["bin/%s%s" % (name, suffix) for name in names] + [
            "bin/*.dll",
            "lib/*.dylib",
            "lib/*.so*",
            "lib/x86_64-unknown-linux-gnu/*.so*",
        ],
        allow_empty = True,
    )

def _headers(clang_version, triple):
    """Returns the headers for an ABI, without headers of other ABIs."""
    others = [other for other in TRIPLES.values() + ["arm-linux-androideabi", "i686-linux-android", "riscv64-linux-android"] if other != triple]
    return native.glob(
        [
            "lib/clang/%s/include/**" % clang_version,
            "sysroot/usr/include/**",
        ],
        exclude = ["sysroot/usr/include/%s/**" % other for other in others],
    )

def _libraries(clang_version, triple, api_level):
    arch = triple.partition("-")[0]
    return native.glob([
        "lib/clang/%s/lib/linux/*%s*" % (clang_version, arch),
        "lib/clang/%s/lib/linux/%s/**" % (clang_version, arch),
        "sysroot/usr/lib/%s/*" % triple,
        "sysroot/usr/lib/%s/%d/**" % (triple, api_level),
    ], allow_empty = True)

def ndk_toolchain(name, target_cpu, triple, api_level, clang_version, exec_constraints, suffix):
    """Defines a cc_toolchain with the NDK.

    The NDK's directories bin, lib and sysroot are in this package.

    Args:
      name: the cc_toolchain's name. Pass NAME_toolchain to register_toolchains.
      target_cpu: the processor to build for.
      triple: clang's target triple, without the API level.
      api_level: the API level of the oldest Android version to build for.
      clang_version: the name of the directory with clang's own headers.
      exec_constraints: constraints of the platforms on which its programs run.
      suffix: the suffix of programs' names, such as .exe.
    """
    ndk_toolchain_config(
        name = name + "_config",
        api_level = api_level,
        clang_version = clang_version,
        cpu = target_cpu,
        suffix = suffix,
        triple = triple,
    )

    # bin/clang is a link to a program such as clang-18.
    clang = _programs(["clang", "clang-1*", "clang-2*"], suffix)
    files = {
        "ar": _programs(["llvm-ar"], suffix),
        "compiler": clang + _headers(clang_version, triple),
        "dwp": _programs(["llvm-dwp"], suffix),
        "linker": depset(clang + _programs(["ld", "ld.lld", "lld"], suffix)).to_list() + _libraries(clang_version, triple, api_level),
        "objcopy": _programs(["llvm-objcopy"], suffix),
        # llvm-strip is a link to llvm-objcopy.
        "strip": _programs(["llvm-objcopy", "llvm-strip"], suffix),
    }
    for kind, sources in files.items():
        native.filegroup(
            name = "%s_%s_files" % (name, kind),
            srcs = sources,
        )
    native.filegroup(
        name = name + "_files",
        srcs = ["%s_%s_files" % (name, kind) for kind in files],
    )
    cc_toolchain(
        name = name,
        all_files = name + "_files",
        ar_files = name + "_ar_files",
        as_files = name + "_compiler_files",
        compiler_files = name + "_compiler_files",
        dwp_files = name + "_dwp_files",
        linker_files = name + "_linker_files",
        objcopy_files = name + "_objcopy_files",
        strip_files = name + "_strip_files",
        toolchain_config = name + "_config",
        toolchain_identifier = "ndk-%s%d" % (triple, api_level),
    )
    _register(name, target_cpu, exec_constraints)

def missing_ndk_toolchain(name, target_cpu, message):
    """Defines a toolchain that fails with an error if Bazel selects it.

    Args:
      name: the target's name. Pass NAME_toolchain to register_toolchains.
      target_cpu: the processor that the toolchain would build for.
      message: the error.
    """
    missing_toolchain(
        name = name,
        message = message,
    )
    _register(name, target_cpu)
