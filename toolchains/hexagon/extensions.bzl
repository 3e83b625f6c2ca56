"""The module extension that finds Qualcomm's Hexagon SDK."""

load(":repository.bzl", "hexagon_sdk_repository")

_configure = tag_class(
    attrs = {
        "path": attr.string(
            doc = "The SDK's directory: an absolute path, or relative to the workspace. Default: HEXAGON_SDK_ROOT.",
        ),
        "tools": attr.string(
            doc = "The version of the SDK's compiler to use, such as \"8.7.06\". Default: the newest.",
        ),
    },
    doc = "The tag `configure` sets the SDK's location and compiler. Only the root module's tag has an effect.",
)

def _hexagon_sdk_impl(module_ctx):
    tags = [tag for module in module_ctx.modules if module.is_root for tag in module.tags.configure]
    if len(tags) > 1:
        fail("MODULE.bazel has hexagon_sdk.configure() %d times: keep one" % len(tags))
    attributes = {name: getattr(tags[0], name) for name in ["path", "tools"]} if tags else {}
    hexagon_sdk_repository(name = "rules_dnn_hexagon_sdk", **attributes)

hexagon_sdk = module_extension(
    implementation = _hexagon_sdk_impl,
    doc = "Defines rules_dnn_hexagon_sdk: C++ toolchains for Qualcomm's DSP, with Qualcomm's SDK.",
    tag_classes = {"configure": _configure},
)
