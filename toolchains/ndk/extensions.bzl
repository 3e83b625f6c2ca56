"""The module extension that finds the Android NDK."""

load(":release.bzl", "FIRST_API_LEVEL", "HOSTS")
load(":repository.bzl", "ndk_repository")

_configure = tag_class(
    attrs = {
        "api_level": attr.int(
            default = FIRST_API_LEVEL,
            doc = "The API level of the oldest Android version to build for.",
        ),
        "host": attr.string(
            doc = "The host whose tools in the NDK are used. Default: this machine.",
            values = [""] + HOSTS.keys(),
        ),
        "path": attr.string(
            doc = "The NDK's directory: an absolute path, or relative to the workspace. Default: ANDROID_NDK_HOME.",
        ),
    },
    doc = "The tag `configure` sets the NDK's location, host and API level. Only the root module's tag has an effect.",
)

def _ndk_impl(module_ctx):
    tags = [tag for module in module_ctx.modules if module.is_root for tag in module.tags.configure]
    if len(tags) > 1:
        fail("MODULE.bazel has ndk.configure() %d times: keep one" % len(tags))
    attributes = {name: getattr(tags[0], name) for name in ["api_level", "host", "path"]} if tags else {}
    ndk_repository(name = "rules_dnn_ndk", **attributes)

ndk = module_extension(
    implementation = _ndk_impl,
    doc = "Defines rules_dnn_ndk: C++ toolchains for Android, with this machine's NDK.",
    tag_classes = {"configure": _configure},
)
