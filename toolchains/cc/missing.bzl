"""What stands in for a toolchain that this machine cannot have."""

def _missing_toolchain_impl(ctx):
    fail(ctx.attr.message)

missing_toolchain = rule(
    implementation = _missing_toolchain_impl,
    attrs = {
        "message": attr.string(mandatory = True, doc = "What is missing, and what to do."),
    },
    doc = "Fails when it is analysed, which is when Bazel has selected it for a target.",
)
