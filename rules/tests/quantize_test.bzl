"""Tests of dnn_quantize."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "dnn_model", "dnn_quantize")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action", "paths")

_HERE = "rules/tests/"

def _command_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "quantize",
        "--src=rules/tests/data/model.onnx",
        "--external=weights.bin=rules/tests/data/weights.bin",
        "--settings=rules/tests/quantized.settings.json",
        "--calibration=rules/tests/data/images.bin",
        "--check=rules/tests/data/images.json",
        "--alone=2",
        "--out=rules/tests/quantized.onnx",
        "--out-report=rules/tests/quantized.quantized.json",
        "--quiet",
    ], arguments(env, "DnnQuantize"))
    action = only_action(env, "DnnQuantize")
    asserts.equals(env, {}, action.env)
    for file in action.inputs.to_list():
        known = "rules/tests/fake" in file.path or "_middlemen" in file.path or any([file.path in arg for arg in action.argv])
        asserts.true(env, known, "DnnQuantize reads %s" % file.path)
    target = analysistest.target_under_test(env)
    asserts.equals(env, [_HERE + "quantized.onnx"], paths(target[DefaultInfo].files.to_list()))
    asserts.equals(env, [_HERE + "quantized.quantized.json"], paths(target[OutputGroupInfo].report.to_list()))
    return analysistest.end(env)

_command_test = analysistest.make(_command_impl, config_settings = SETTINGS)

def _settings_impl(ctx):
    env = analysistest.begin(ctx)
    written = only_action(env, "FileWrite")
    asserts.equals(env, json.decode(ctx.attr.want), json.decode(written.content))
    return analysistest.end(env)

_settings_test = analysistest.make(_settings_impl, attrs = {"want": attr.string(doc = "The settings.")}, config_settings = SETTINGS)

def _compiled_impl(ctx):
    env = analysistest.begin(ctx)
    src = "--src=rules/tests/quantized.onnx"
    for mnemonic in ["DnnGraph", "DnnCompile"]:
        argv = arguments(env, mnemonic)
        asserts.true(env, src in argv, "%s is not in %s" % (src, argv))
    return analysistest.end(env)

_compiled_test = analysistest.make(_compiled_impl, config_settings = SETTINGS)

def _failure_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.want)
    return analysistest.end(env)

_failure_test = analysistest.make(_failure_impl, attrs = {"want": attr.string(doc = "Text that the error must contain.")}, config_settings = SETTINGS, expect_failure = True)

# Attributes that fail at analysis time, and texts that the error must contain. dnnc checks all
# other settings when it runs.
_WRONG = {
    "percentile": ({"percentile": "most"}, "want a number above 50 and at most 100"),
}

# The default settings, equal to the defaults of `dnnc quantize`.
_DEFAULTS = {
    "activations": "uint8",
    "block_size": 32,
    "correct_bias": True,
    "equalize": False,
    "float": [],
    "per_channel": True,
    "percentile": 99.99,
    "range": "minmax",
    "weight_bits": 8,
    "wide": [],
}

_SETTINGS = {
    "all": (
        dict(activations = "int8", correct_bias = False, equalize = True, keep_float = ["fc"], per_channel = False, percentile = 99, range = "mse", wide = ["stem"]),
        {"activations": "int8", "correct_bias": False, "equalize": True, "float": ["fc"], "per_channel": False, "percentile": 99.0, "range": "mse", "wide": ["stem"]},
    ),
    "default": ({}, {}),
    "four_bits": ({"block_size": 64, "calibration": None, "weight_bits": 4}, {"block_size": 64, "weight_bits": 4}),
}

def quantize_test_suite(name):
    """Tests of the rule.

    Args:
      name: the suite.
    """
    dnn_quantize(
        name = "quantized",
        src = "data/model.onnx",
        alone = 2,
        calibration = "data/images.bin",
        check = "data/images.json",
        external_data = ["data/weights.bin"],
        tags = MANUAL,
    )
    dnn_model(
        name = "of_quantized",
        src = ":quantized",
        tags = MANUAL,
    )
    _command_test(name = name + "_command", target_under_test = ":quantized")
    _compiled_test(name = name + "_compiled", target_under_test = ":of_quantized")
    tests = [name + suffix for suffix in ["_command", "_compiled"]]
    for case, (attributes, want) in _WRONG.items():
        dnn_quantize(
            name = "wrong_quantized_" + case,
            src = "data/model.onnx",
            calibration = "data/images.bin",
            tags = MANUAL,
            **attributes
        )
        test = "%s_wrong_%s" % (name, case)
        _failure_test(name = test, target_under_test = ":wrong_quantized_" + case, want = want)
        tests.append(test)
    for case, (attributes, want) in _SETTINGS.items():
        dnn_quantize(
            name = "quantized_" + case,
            src = "data/model.onnx",
            tags = MANUAL,
            **({"calibration": "data/images.bin"} | attributes)
        )
        test = "%s_settings_%s" % (name, case)
        _settings_test(name = test, target_under_test = ":quantized_" + case, want = json.encode(_DEFAULTS | want))
        tests.append(test)
    native.test_suite(name = name, tests = tests)
