"""Qualcomm's Hexagon SDK for a WORKSPACE."""

load(":repository.bzl", "hexagon_sdk_repository")

def hexagon_sdk(name = "rules_dnn_hexagon_sdk", path = "", tools = ""):
    """Defines C++ toolchains for Qualcomm's DSP, with Qualcomm's SDK, and registers them.

    Args:
      name: the repository's name.
      path: the SDK's folder; relative to the workspace if it is not absolute. Default: HEXAGON_SDK_ROOT.
      tools: which of its compilers to use, as in "8.7.06". Default: the newest.
    """
    hexagon_sdk_repository(name = name, path = path, tools = tools)
    native.register_toolchains("@%s//:all" % name)
