"""The module extension that finds the Android NDK."""

load(":release.bzl", "FIRST_API_LEVEL", "HOSTS")
load(":repository.bzl", "ndk_repository")

_configure = tag_class(
    attrs = {
        "api_level": attr.int(
            default = FIRST_API_LEVEL,
            doc = "The oldest Android that the programs are for, as an API level.",
        ),
        "host": attr.string(
            doc = "Whose tools to use of those that the NDK has. Default: those for this machine.",
            values = [""] + HOSTS.keys(),
        ),
        "path": attr.string(
            doc = "The NDK's folder; relative to the workspace if it is not absolute. Default: ANDROID_NDK_HOME.",
        ),
    },
    doc = "How the application is built. Only the root module's counts.",
)

def _ndk_impl(module_ctx):
    tags = [tag for module in module_ctx.modules if module.is_root for tag in module.tags.configure]
    if len(tags) > 1:
        fail("ndk.configure() stands %d times in MODULE.bazel: keep one" % len(tags))
    attributes = {name: getattr(tags[0], name) for name in ["api_level", "host", "path"]} if tags else {}
    ndk_repository(name = "rules_dnn_ndk", **attributes)

ndk = module_extension(
    implementation = _ndk_impl,
    doc = "Defines rules_dnn_ndk: C++ toolchains for Android, with the machine's NDK.",
    tag_classes = {"configure": _configure},
)
