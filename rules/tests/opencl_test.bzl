"""Tests of dnn_model with backend = "opencl"."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "DnnModelInfo", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action", "paths", "platform_settings")

_HERE = "rules/tests/"

_OPTIONS = ["--chip", "--device", "--out-device-source", "--variant"]

def _device_impl(ctx):
    env = analysistest.begin(ctx)
    got = [arg for arg in arguments(env, "DnnCompile") if arg.partition("=")[0] in _OPTIONS]
    asserts.equals(env, [
        "--chip=platforms/chips/%s.json" % ctx.attr.chip,
        "--device=platforms/devices/%s.json" % ctx.attr.device,
        "--out-device-source=rules/tests/%s.cl" % ctx.attr.source,
    ], got)
    inputs = [file.short_path for file in only_action(env, "DnnCompile").inputs.to_list()]
    asserts.true(env, "platforms/devices/%s.json" % ctx.attr.device in inputs, "the compiler cannot read the device's facts")

    target = analysistest.target_under_test(env)
    info = target[DnnModelInfo]
    asserts.equals(env, "opencl", info.backend)
    asserts.equals(env, [], info.variants)
    source = _HERE + ctx.attr.source + ".cl"
    asserts.true(env, source in paths(info.sources.to_list()))
    asserts.true(env, source in paths(target[OutputGroupInfo].sources.to_list()))
    owners = [str(i.owner) for i in target[CcInfo].linking_context.linker_inputs.to_list()]
    for label in ["//runtime/opencl:opencl", "//runtime/opencl:loader", "//runtime:dnn_runtime"]:
        asserts.true(env, str(Label(label)) in owners, "%s is not linked: %s" % (label, owners))
    return analysistest.end(env)

_ATTRS = {
    "chip": attr.string(doc = "The platform's chip."),
    "device": attr.string(doc = "The device."),
    "source": attr.string(doc = "The path of the kernels in the package, without .cl."),
}

_device_test = analysistest.make(_device_impl, attrs = _ATTRS, config_settings = SETTINGS)

_arm64_test = analysistest.make(_device_impl, attrs = _ATTRS, config_settings = platform_settings("//platforms:linux_arm64"))

_android_test = analysistest.make(_device_impl, attrs = _ATTRS, config_settings = platform_settings("//platforms:android_arm64"))

_CANDIDATES = 8

def _programs_impl(ctx):
    env = analysistest.begin(ctx)
    actions = analysistest.target_actions(env)
    compiling = [action for action in actions if action.mnemonic == "DnnCompile"]
    asserts.equals(env, _CANDIDATES, len(compiling))
    facts = "platforms/devices/%s.json" % ctx.attr.device
    for i, action in enumerate(compiling):
        got = [arg for arg in action.argv if arg.partition("=")[0] in ["--candidate", "--device", "--tuning", "--variant"]]
        asserts.equals(env, ["--device=" + facts, "--candidate=%d" % (i + 1)], got)
        asserts.true(env, facts in [file.short_path for file in action.inputs.to_list()], "the compiler cannot read the device's facts")
    links = [action for action in actions if action.mnemonic == "CppLink"]
    asserts.equals(env, _CANDIDATES, len(links))
    for action in links:
        linked = [str(file.owner) for file in action.inputs.to_list()]
        for label in ["//runtime/opencl:opencl", "//runtime/opencl:loader", "//runtime/bench:bench"]:
            asserts.true(env, str(Label(label)) in linked, "%s is not linked" % label)
    plan = [action for action in actions if action.mnemonic == "FileWrite" and action.outputs.to_list()[0].basename.endswith(".programs.json")]
    asserts.equals(env, [ctx.attr.record], [json.decode(action.content)["record"] for action in plan])
    return analysistest.end(env)

_programs_test = analysistest.make(
    _programs_impl,
    attrs = {
        "device": attr.string(doc = "The device."),
        "record": attr.string(doc = "The record's path in the workspace."),
    },
    config_settings = SETTINGS,
)

def opencl_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    dnn_model(
        name = "on_device",
        src = "data/model.onnx",
        backend = "opencl",
        tags = MANUAL,
    )
    dnn_model(
        name = "on_images",
        src = "data/model.onnx",
        api = "net",
        backend = "opencl",
        device = "//platforms/devices:opencl_images.json",
        tags = MANUAL,
        weights = "file",
    )
    _device_test(
        name = "opencl_default_test",
        chip = "x86_64",
        device = "opencl_buffers",
        source = "on_device/on_device",
        target_under_test = ":on_device",
    )
    _device_test(
        name = "opencl_images_test",
        chip = "x86_64",
        device = "opencl_images",
        source = "on_images/net",
        target_under_test = ":on_images",
    )
    _arm64_test(
        name = "opencl_arm64_test",
        chip = "arm64",
        device = "opencl_buffers",
        source = "on_device/on_device",
        target_under_test = ":on_device",
    )
    _android_test(
        name = "opencl_android_test",
        chip = "arm64",
        device = "opencl_buffers",
        source = "on_device/on_device",
        target_under_test = ":on_device",
    )
    dnn_model(
        name = "on_device_tuned",
        src = "data/model.onnx",
        backend = "opencl",
        device = "//platforms/devices:opencl_pocl.json",
        tags = MANUAL,
        tuning = "data/model.tune.json",
    )
    _programs_test(
        name = "opencl_tune_test",
        device = "opencl_buffers",
        record = "rules/tests/on_device.tune.json",
        target_under_test = ":on_device.tune.programs",
    )
    _programs_test(
        name = "opencl_tune_record_test",
        device = "opencl_pocl",
        record = "rules/tests/data/model.tune.json",
        target_under_test = ":on_device_tuned.tune.programs",
    )
    native.test_suite(
        name = name,
        tests = [
            ":opencl_android_test",
            ":opencl_arm64_test",
            ":opencl_default_test",
            ":opencl_images_test",
            ":opencl_tune_record_test",
            ":opencl_tune_test",
        ],
    )
