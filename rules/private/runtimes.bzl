"""What models are linked with, if anything compiles C++ for the platform."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

# By the names of their targets in //rules/toolchain: of models on processors, beside an OpenCL device, of stubs, and of skeletons.
RUNTIME_ATTRS = {
    "_" + name: attr.label(
        default = Label("//rules/toolchain:" + name),
        providers = [CcInfo],
    )
    for name in ["fastrpc", "opencl", "runtime", "skeleton"]
}
