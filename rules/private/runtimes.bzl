"""Runtime libraries that models are linked with.

They are empty if no toolchain compiles C++ for the platform.
"""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# Attributes for the targets in //rules/toolchain: runtimes of models on processors (runtime), with
# an OpenCL device (opencl), of stubs (fastrpc) and of skeleton libraries (skeleton).
RUNTIME_ATTRS = {
    "_" + name: attr.label(
        default = Label("//rules/toolchain:" + name),
        providers = [CcInfo],
    )
    for name in ["fastrpc", "opencl", "runtime", "skeleton"]
}
