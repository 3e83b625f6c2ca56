"""Where Qualcomm's Hexagon SDK has what: its releases 4 to 6 are alike.

The layout and the flags of skeletons are those of the SDK's own CMake toolchain (build/cmake/hexagon_toolchain.cmake) as projects that build with it
have them. No SDK was there when this was written.
"""

# The folder of compilers, one a version, below the SDK's.
TOOLS = "tools/HEXAGON_Tools"

# Bazel's names of tools, each with the compilers' programs that will do, best first. Without the first two there is no toolchain.
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

# Headers of the SDK for code on the DSP, of whatever version; and of its operating system, for one.
_INCLUDES = ["incs", "incs/stddef", "ipc/fastrpc/incs"]
_QURT = "rtos/qurt/compute%s"
_QURT_INCLUDES = ["include", "include/qurt", "include/posix"]

# What libraries on the DSP call in place of the C library's own: the process has a heap for each of them.
_WRAPPED = ["malloc", "calloc", "free", "realloc", "memalign"]

def include_directories(version):
    """Returns the folders of headers for a version of Hexagon, below the SDK's."""
    qurt = _QURT % version
    return _INCLUDES + [qurt + "/" + folder for folder in _QURT_INCLUDES]

def libraries(version):
    """Returns the folder of position-independent libraries for a version, below that of a compiler's Tools."""
    return "target/hexagon/lib/%s/G0/pic" % version

def compile_flags(version):
    """Returns the flags of code in shared libraries for a version: nothing lies in a small data section, which such libraries have none of."""
    return ["-m" + version, "-G0", "-Wall"]

def link_flags(version, tools):
    """Returns the flags of shared libraries for a version.

    Args:
      version: as in "v68".
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
    """Finds the newest compiler.

    Args:
      names: names of folders, as in ["8.7.06", "19.0.04", "readme"].

    Returns:
      The one with the greatest numbers, or None.
    """
    return ([None] + sorted([name for name in names if _is_version(name)], key = _numbers))[-1]
