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

# The compiler's name in a cc_toolchain all of whose programs say what is missing, and fail: for a toolchain that may be selected for a part of a
# build that goes on without it.
MISSING_COMPILER = "missing"
