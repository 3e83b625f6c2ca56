"""The directory layout of Qualcomm's Hexagon SDK, which is the same in releases 4 to 6.

The layout and the flags of skeletons come from copies of the SDK's own CMake toolchain
(build/cmake/hexagon_toolchain.cmake) in projects that build with it. They were not tested with an
SDK.
"""

# The directory of compilers below the SDK's, with a directory for each version.
TOOLS = "tools/HEXAGON_Tools"

# Bazel's names of tools, each with usable programs of the compiler, the preferred one first. A
# toolchain needs those in REQUIRED.
PROGRAMS = {
    "gcc": ["hexagon-clang"],
    "ar": ["hexagon-ar", "hexagon-llvm-ar"],
    "cpp": ["hexagon-clang"],
    "gcov": ["hexagon-llvm-cov"],
    "ld": ["hexagon-link"],
    "nm": ["hexagon-nm", "hexagon-llvm-nm"],
    "objcopy": ["hexagon-llvm-objcopy", "hexagon-objcopy"],
    "objdump": ["hexagon-llvm-objdump", "hexagon-objdump"],
    "strip": ["hexagon-strip", "hexagon-llvm-strip"],
}
REQUIRED = ["gcc", "ar"]

# Directories of the SDK's headers for code on any DSP, and of its operating system for one
# version.
_INCLUDES = ["incs", "incs/stddef", "ipc/fastrpc/incs"]
_QURT = "rtos/qurt/compute%s"
_QURT_INCLUDES = ["include", "include/qurt", "include/posix"]

# Functions that --wrap replaces in libraries on the DSP. The process has a separate heap for each
# library.
_WRAPPED = ["malloc", "calloc", "free", "realloc", "memalign"]

def include_directories(version):
    """Returns the directories of headers for a Hexagon version, relative to the SDK's."""
    qurt = _QURT % version
    return _INCLUDES + [qurt + "/" + folder for folder in _QURT_INCLUDES]

def libraries(version):
    """Returns the directory of -fPIC libraries for a version, relative to a compiler's Tools."""
    return "target/hexagon/lib/%s/G0/pic" % version

def compile_flags(version):
    """Returns the compile flags of shared libraries for a version.

    They have -G0, because such libraries cannot have a small data section.
    """
    return ["-m" + version, "-G0", "-Wall"]

def link_flags(version, tools):
    """Returns the link flags of shared libraries for a version.

    Args:
      version: the Hexagon version, such as "v68".
      tools: the path of the compiler's Tools.
    """
    return [
        "-m" + version,
        "-G0",
        "-fpic",
        "-Wl,-Bsymbolic",
        "-Wl,-L%s/%s" % (tools, libraries(version)),
        "-Wl,-L%s/target/hexagon/lib" % tools,
        "-Wl,--no-threads",
    ] + ["-Wl,--wrap=" + name for name in _WRAPPED] + ["-lc"]

def _numbers(version):
    return [int(part) for part in version.split(".")]

def _is_version(name):
    return all([part.isdigit() for part in name.split(".")])

def newest(names):
    """Returns the name of the newest compiler.

    Args:
      names: names of directories and files, as in ["8.7.06", "19.0.04", "readme"].

    Returns:
      The name with the highest version number, or None.
    """
    return ([None] + sorted([name for name in names if _is_version(name)], key = _numbers))[-1]
