"""What stands in for a toolchain that this machine cannot have."""

def _missing_ndk_impl(ctx):
    fail(ctx.attr.message)

missing_ndk = rule(
    implementation = _missing_ndk_impl,
    attrs = {
        "message": attr.string(mandatory = True, doc = "What is missing, and what to do."),
    },
    doc = "Fails when it is analysed, which is when Bazel has selected it for a target.",
)
