"""The Android NDK for a WORKSPACE."""

load(":release.bzl", "FIRST_API_LEVEL")
load(":repository.bzl", "ndk_repository")

def android_ndk(name = "rules_dnn_ndk", api_level = FIRST_API_LEVEL, path = "", host = ""):
    """Defines C++ toolchains for Android, with this machine's NDK, and registers them.

    Args:
      name: the repository's name.
      api_level: the API level of the oldest Android version to build for.
      path: the NDK's directory: an absolute path, or relative to the workspace. Default:
        ANDROID_NDK_HOME.
      host: the host whose tools in the NDK are used, such as "linux-x86_64". Default: this
        machine.
    """
    ndk_repository(name = name, api_level = api_level, host = host, path = path)
    native.register_toolchains("@%s//:all" % name)
