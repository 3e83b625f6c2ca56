"""Qualcomm's Hexagon SDK for a WORKSPACE."""

load(":repository.bzl", "hexagon_sdk_repository")

def hexagon_sdk(name = "rules_dnn_hexagon_sdk", path = "", tools = ""):
    """Defines C++ toolchains for Qualcomm's DSP, with Qualcomm's SDK, and registers them.

    Args:
      name: the repository's name.
      path: the SDK's directory: an absolute path, or relative to the workspace. Default:
        HEXAGON_SDK_ROOT.
      tools: the version of the SDK's compiler to use, such as "8.7.06". Default: the newest.
    """
    hexagon_sdk_repository(name = name, path = path, tools = tools)
    native.register_toolchains("@%s//:all" % name)
