"""Tests of the error messages for wrong attributes."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "platform_settings")

def _message_impl(ctx):
    env = analysistest.begin(ctx)
    for message in ctx.attr.messages:
        asserts.expect_failure(env, message)
    return analysistest.end(env)

_ATTRS = {"messages": attr.string_list(doc = "Texts that the error must contain.")}

_message_test = analysistest.make(
    _message_impl,
    attrs = _ATTRS,
    config_settings = SETTINGS,
    expect_failure = True,
)

_riscv_test = analysistest.make(
    _message_impl,
    attrs = _ATTRS,
    config_settings = platform_settings("//rules/tests:linux_riscv64"),
    expect_failure = True,
)

# Without the fake C++ toolchain, none builds for this platform.
_no_cc_test = analysistest.make(
    _message_impl,
    attrs = _ATTRS,
    config_settings = platform_settings("//rules/tests:linux_riscv64") | {
        "//command_line_option:extra_toolchains": [str(Label("//rules/tests/fake:dnnc_toolchain"))],
    },
    expect_failure = True,
)

# For each case: attributes of dnn_model, and texts that the message must contain.
_CASES = {
    "accumulation": (
        {"accumulation": "half", "precision": "fp16"},
        ["accumulation = \"half\"", "write \"fp32\"", "\"fp16\""],
    ),
    "accumulation_of_bf16": (
        {"accumulation": "fp16", "precision": "bf16"},
        ["accumulation = \"fp16\"", "the model has precision = \"bf16\"", "write precision = \"fp16\", or leave accumulation out"],
    ),
    "accumulation_of_fp32": (
        {"accumulation": "fp16"},
        ["accumulation = \"fp16\"", "the model has precision = \"fp32\"", "write precision = \"fp16\", or leave accumulation out"],
    ),
    "accumulation_of_hvx": (
        {"accumulation": "fp16", "backend": "hvx", "precision": "fp16"},
        ["accumulation = \"fp16\"", "only kernels of processors add in f16", "backend = \"hvx\"", "leave accumulation out"],
    ),
    "accumulation_of_opencl": (
        {"accumulation": "fp16", "backend": "opencl", "precision": "fp16"},
        ["accumulation = \"fp16\"", "only kernels of processors add in f16", "backend = \"opencl\"", "leave accumulation out"],
    ),
    "api": ({"api": "../net"}, ["api = \"../net\"", "write letters, digits"]),
    "backend_none": ({"backend": "gpu"}, ["backend = \"gpu\"", "write \"cpu\", \"hvx\" or \"opencl\""]),
    "calibration_of_bf16": (
        {"calibration": "data/images.bin", "precision": "bf16"},
        ["calibration = ", "images.bin", "write precision = \"fp16\", or leave calibration out"],
    ),
    "calibration_of_fp32": (
        {"calibration": "data/images.bin"},
        ["calibration = ", "images.bin", "is not used with precision = \"fp32\""],
    ),
    "device_of_cpu": ({"device": "//platforms/devices:opencl_images.json"}, ["device = ", "opencl_images.json", "backend = \"cpu\" does not use a device"]),
    "dim_empty": ({"dims": {"": "1"}}, ["dims = {\"\": \"1\"}", "symbol of the model's shapes"]),
    "dim_order": ({"dims": {"N": "64..1"}}, ["dims = {\"N\": \"64..1\"}", "{\"N\": \"1..64\"} or"]),
    "dim_size": ({"dims": {"N": "9223372036854775808"}}, ["dims = {\"N\": \"9223372036854775808\"}"]),
    "dsp_none": ({"backend": "hvx", "dsp": []}, ["dsp = []", "write the versions of Hexagon"]),
    "dsp_of_cpu": ({"dsp": ["v68"]}, ["dsp = [\"v68\"]", "backend = \"cpu\" has no libraries on a DSP: leave dsp out"]),
    "dsp_twice": ({"backend": "hvx", "dsp": ["v68", "v68"]}, ["dsp = [\"v68\", \"v68\"]", "\"v68\" is listed twice"]),
    "dsp_unknown": ({"backend": "hvx", "dsp": ["v68", "v1"]}, ["\"v1\" is not a Hexagon version", "write some of", "\"v68\""]),
    "external_of_import": (
        {"external_data": ["data/weights.bin"], "src": ":imported"},
        ["external_data is set, but src is", "imported", "set external_data there"],
    ),
    "external_twice": (
        {"external_data": ["data/weights.bin", "//rules/tests/elsewhere:weights.bin"]},
        ["external_data", "keep one"],
    ),
    "hvx_bf16": (
        {"backend": "hvx", "precision": "bf16"},
        ["precision = \"bf16\"", "the DSP's kernels have no float vectors", "quantize the network"],
    ),
    "hvx_device": (
        {"backend": "hvx", "device": "//platforms/devices:opencl_images.json"},
        ["device = ", "backend = \"hvx\" does not use a device"],
    ),
    "hvx_precision": (
        {"backend": "hvx", "precision": "fp16"},
        ["precision = \"fp16\"", "the DSP's kernels have no float vectors", "quantize the network"],
    ),
    "namespace": ({"cpp_namespace": "a:b"}, ["cpp_namespace = \"a:b\"", "joined by ::"]),
    "option_bare": ({"dnnc_opts": ["anchors"]}, ["dnnc_opts = \"anchors\"", "begins with a dash"]),
    "option_of_rule_warnings": ({"dnnc_opts": ["--warnings=none"]}, ["dnnc_opts = \"--warnings=none\"", "leave it out"]),
    "opencl_variants": (
        {"backend": "opencl", "variants": ["//platforms/chips:x86_64_v3"]},
        ["variants = ", "x86_64_v3", "has processor kernels for one chip only", "leave variants out"],
    ),
    "option_of_device": ({"dnnc_opts": ["--device=x.json"]}, ["dnnc_opts = \"--device=x.json\"", "leave it out"]),
    "option_of_rule": ({"dnnc_opts": ["--out=x"]}, ["dnnc_opts = \"--out=x\"", "leave it out"]),
    "option_of_rule_remote": ({"dnnc_opts": ["--remote=v68"]}, ["dnnc_opts = \"--remote=v68\"", "use the rule's attributes"]),
    "option_of_rule_skeleton": ({"dnnc_opts": ["--skeleton"]}, ["dnnc_opts = \"--skeleton\"", "use the rule's attributes"]),
    "option_of_rule_accumulation": ({"dnnc_opts": ["--accumulation=fp16"]}, ["dnnc_opts = \"--accumulation=fp16\"", "use the rule's attributes"]),
    "option_of_rule_calibration": ({"dnnc_opts": ["--calibration=x"]}, ["dnnc_opts = \"--calibration=x\"", "use the rule's attributes"]),
    "option_of_rule_precision": ({"dnnc_opts": ["--precision=fp16"]}, ["dnnc_opts = \"--precision=fp16\"", "use the rule's attributes"]),
    "precision": ({"precision": "half"}, ["precision = \"half\"", "write \"fp32\"", "\"fp16\"", "\"bf16\""]),
    "precision_bf16_of_pruned": (
        {"backend": "opencl", "precision": "bf16", "pruning": ":by_masks"},
        ["precision = \"bf16\"", "by_masks", "leave out precision, pruning, or backend"],
    ),
    "precision_of_pruned": (
        {"backend": "opencl", "precision": "fp16", "pruning": ":by_masks"},
        ["precision = \"fp16\"", "by_masks", "leave out precision, pruning, or backend"],
    ),
    "prefix": ({"c_prefix": "9net"}, ["c_prefix = \"9net\"", "write an identifier"]),
    "shards": ({"shards": 0}, ["shards = 0", "1 to 256"]),
    "src": ({"src": "data/weights.bin"}, ["src = ", "data/weights.bin", "one .onnx file"]),
    "variants_of_platform": ({"variants": ["//platforms/chips:x86_64"]}, ["variants = [\"x86_64\"]", "x86_64 is listed twice, or is the chip of the platform", "leave it out"]),
    "variants_twice": ({"variants": ["//platforms/chips:x86_64_v3", ":x86_64_v3_again"]}, ["variants = [\"x86_64_v3\"", "leave it out"]),
}

def failure_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    native.alias(
        name = "x86_64_v3_again",
        actual = "//platforms/chips:x86_64_v3",
    )
    native.platform(
        name = "linux_riscv64",
        constraint_values = [
            "@platforms//cpu:riscv64",
            "@platforms//os:linux",
        ],
    )
    for case, (attributes, messages) in _CASES.items():
        dnn_model(
            name = "wrong_" + case,
            tags = MANUAL,
            **({"src": "data/model.onnx"} | attributes)
        )
        _message_test(
            name = "failure_%s_test" % case,
            messages = messages,
            target_under_test = ":wrong_" + case,
        )
    _riscv_test(
        name = "failure_chip_test",
        messages = ["no chip is known for the platform", "linux_riscv64", "dnn_chip(name, facts, constraints)", "register_toolchains"],
        target_under_test = ":plain",
    )
    _no_cc_test(
        name = "failure_cc_test",
        messages = ["no C++ toolchain builds for the platform", "linux_riscv64", "register_toolchains(\"@rules_dnn//toolchains/cc:linux_arm64\")"],
        target_under_test = ":plain",
    )
    native.test_suite(
        name = name,
        tests = [":failure_cc_test", ":failure_chip_test"] + [":failure_%s_test" % case for case in _CASES],
    )
