"""agreement_test: a compiled model against another engine's answer."""

load("@bazel_skylib//rules:native_binary.bzl", "native_test")
load("//rules:defs.bzl", "dnn_benchmark")
load("//toolchains/qemu:defs.bzl", "emulated_binary")

def agreement_test(name, model, input, reference, emulated = False, **kwargs):
    """Declares a test that runs a model on synthetic numbers and compares its output.

    Args:
      name: the test.
      model: a dnn_model of this package with weights = "file" and without target.
      input: the model's input and its shape, as in "input=1,3,224,224".
      reference: the .npy file that holds ONNX Runtime's output.
      emulated: whether the model is built for linux_arm64 and runs under an emulator.
      **kwargs: attributes of the test.
    """
    program = name + ".program"
    dnn_benchmark(
        name = program,
        testonly = True,
        model = model,
        tags = ["manual"],
    )
    if emulated:
        emulated_binary(
            name = name + ".emulated",
            testonly = True,
            binary = program,
            tags = ["manual"],
        )
        program = name + ".emulated"
    weights = "%s/%s.weights" % (native.package_name(), "/".join([model, model]))
    native_test(
        name = name,
        src = "//tests/models/agrees",
        out = name + ".agrees",
        args = [
            "--program=$(rootpath %s)" % program,
            "--weights=" + weights,
            "--input=" + input,
            "--reference=$(rootpath %s)" % reference,
            "--threads=2",
        ],
        data = [program, reference],
        **kwargs
    )
