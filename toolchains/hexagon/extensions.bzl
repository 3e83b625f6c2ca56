"""The module extension that finds Qualcomm's Hexagon SDK."""

load(":repository.bzl", "hexagon_sdk_repository")

_configure = tag_class(
    attrs = {
        "path": attr.string(
            doc = "The SDK's folder; relative to the workspace if it is not absolute. Default: HEXAGON_SDK_ROOT.",
        ),
        "tools": attr.string(
            doc = "Which of its compilers to use, as in \"8.7.06\". Default: the newest.",
        ),
    },
    doc = "How the application is built. Only the root module's counts.",
)

def _hexagon_sdk_impl(module_ctx):
    tags = [tag for module in module_ctx.modules if module.is_root for tag in module.tags.configure]
    if len(tags) > 1:
        fail("hexagon_sdk.configure() stands %d times in MODULE.bazel: keep one" % len(tags))
    attributes = {name: getattr(tags[0], name) for name in ["path", "tools"]} if tags else {}
    hexagon_sdk_repository(name = "rules_dnn_hexagon_sdk", **attributes)

hexagon_sdk = module_extension(
    implementation = _hexagon_sdk_impl,
    doc = "Defines rules_dnn_hexagon_sdk: C++ toolchains for Qualcomm's DSP, with Qualcomm's SDK.",
    tag_classes = {"configure": _configure},
)
