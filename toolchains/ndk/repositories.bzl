"""The Android NDK for a WORKSPACE."""

load(":release.bzl", "FIRST_API_LEVEL")
load(":repository.bzl", "ndk_repository")

def android_ndk(name = "rules_dnn_ndk", api_level = FIRST_API_LEVEL, path = "", host = ""):
    """Defines C++ toolchains for Android, with the machine's NDK, and registers them.

    Args:
      name: the repository's name.
      api_level: the oldest Android that the programs are for, as an API level.
      path: the NDK's folder; relative to the workspace if it is not absolute. Default: ANDROID_NDK_HOME.
      host: whose tools to use of those that the NDK has, as in "linux-x86_64". Default: those for this machine.
    """
    ndk_repository(name = name, api_level = api_level, host = host, path = path)
    native.register_toolchains("@%s//:all" % name)
