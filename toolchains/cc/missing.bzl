"""A substitute for a toolchain that is not available on this machine."""

def _missing_toolchain_impl(ctx):
    fail(ctx.attr.message)

missing_toolchain = rule(
    implementation = _missing_toolchain_impl,
    attrs = {
        "message": attr.string(mandatory = True, doc = "The error: the missing program or library, and the cure."),
    },
    doc = "Fails with a message when it is analyzed, that is, if Bazel selects it for a target.",
)

# The compiler's name in a cc_toolchain whose programs all print an error and fail. Such a
# toolchain is used if only a part of the build needs it, so that the other parts still build.
MISSING_COMPILER = "missing"
