"""A macro for a cc_toolchain with clang."""

load(":config.bzl", "clang_toolchain_config")
load(":registered.bzl", "registered_toolchain")

def clang_toolchain(name, exec_cpu, target_cpu, constraints, triple, tools, include_directories, identity, bare_cpu = ""):
    """Defines a cc_toolchain with clang, and a toolchain NAME_toolchain.

    Args:
      name: the cc_toolchain's name.
      exec_cpu: the processor on which clang runs.
      target_cpu: the processor to build for.
      constraints: constraint values of the target's platforms.
      triple: clang's target triple.
      tools: a dict from tool names to absolute paths.
      include_directories: absolute paths of clang's own include directories.
      identity: a file that changes with the compiler.
      bare_cpu: for a target without libraries, the oldest processor that programs run on.
    """
    clang_toolchain_config(
        name = name + "_config",
        bare_cpu = bare_cpu,
        cpu = target_cpu,
        include_directories = include_directories,
        tools = tools,
        triple = triple,
    )
    native.filegroup(
        name = name + "_files",
        srcs = [identity],
    )
    registered_toolchain(
        name = name,
        constraints = constraints,
        exec_cpu = exec_cpu,
        identifier = "clang-" + triple,
    )
