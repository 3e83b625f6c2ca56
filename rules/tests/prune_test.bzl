"""Tests of dnn_pruning, and of rules with the attribute pruning."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "DnnPruningInfo", "dnn_import", "dnn_model", "dnn_pruning")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action", "paths")

_HERE = "rules/tests/"

def _prune_command_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "prune",
        "--src=rules/tests/data/model.onnx",
        "--external=more/weights.bin=rules/tests/data/more/weights.bin",
        "--external=weights.bin=rules/tests/data/weights.bin",
        "--dim=N=1..64",
        "--settings=rules/tests/by_policy.json",
        "--policy=rules/tests/data/policy.star",
        "--samples=rules/tests/data/weights.bin",
        "--out=rules/tests/pruned/net.pruned.onnx",
        "--out-external=more/weights.bin=rules/tests/pruned/net.pruned/more/weights.bin",
        "--out-external=weights.bin=rules/tests/pruned/net.pruned/weights.bin",
        "--out-masks=rules/tests/pruned/net.masks.safetensors",
        "--out-report=rules/tests/pruned/net.pruning.json",
        "--out-page=rules/tests/pruned/net.pruning.html",
        "--warnings=none",
    ], arguments(env, "DnnPrune"))
    return analysistest.end(env)

_prune_command_test = analysistest.make(_prune_command_impl, config_settings = SETTINGS)

def _pruned_impl(ctx):
    env = analysistest.begin(ctx)

    # The following actions read the pruned model, and not the original one.
    src = "--src=rules/tests/pruned/net.pruned.onnx"
    external = "--external=weights.bin=rules/tests/pruned/net.pruned/weights.bin"
    for mnemonic in ["DnnGraph", "DnnCompile"]:
        argv = arguments(env, mnemonic)
        for want in [src, external]:
            asserts.true(env, want in argv, "%s is not in %s" % (want, argv))
        given = [file.path for file in only_action(env, mnemonic).inputs.to_list() if "tests/data/" in file.path]
        asserts.equals(env, [], given)
    argv = arguments(env, "DnnCompile")
    for want in ["--pruning=rules/tests/pruned/net.pruning.json", "--out-pruning-page=rules/tests/pruned/net.report.html"]:
        asserts.true(env, want in argv, "%s is not in %s" % (want, argv))
    asserts.equals(env, [], [arg for arg in argv if arg.startswith("--pruning-log")])
    groups = analysistest.target_under_test(env)[OutputGroupInfo]
    asserts.equals(env, [_HERE + "pruned/net.masks.safetensors", _HERE + "pruned/net.pruning.html", _HERE + "pruned/net.pruning.json", _HERE + "pruned/net.report.html"], paths(groups.pruning.to_list()))
    return analysistest.end(env)

_pruned_test = analysistest.make(_pruned_impl, config_settings = SETTINGS)

def _hermetic_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "DnnPrune")
    asserts.equals(env, {}, action.env)
    for file in action.inputs.to_list():
        known = "rules/tests/fake" in file.path or "_middlemen" in file.path or any([file.path in arg for arg in action.argv])
        asserts.true(env, known, "DnnPrune reads %s" % file.path)
    return analysistest.end(env)

_hermetic_test = analysistest.make(_hermetic_impl, config_settings = SETTINGS)

def _masks_impl(ctx):
    env = analysistest.begin(ctx)
    argv = arguments(env, "DnnPrune")
    asserts.true(env, "--masks=rules/tests/data/weights.bin" in argv, "%s" % argv)
    asserts.equals(env, [], [arg for arg in argv if arg == "--packed" or arg.startswith("--settings") or arg.startswith("--policy")])
    return analysistest.end(env)

_masks_test = analysistest.make(_masks_impl, config_settings = SETTINGS)

def _shrink_impl(ctx):
    env = analysistest.begin(ctx)
    argv = arguments(env, "DnnPrune")
    for want in ["--packed", "--shrink", "--calibration=rules/tests/data/weights.bin", "--masks=rules/tests/data/more/weights.bin"]:
        asserts.true(env, want in argv, "%s is not in %s" % (want, argv))

    # The first file of external data holds all weights.
    asserts.equals(env, 1, len([arg for arg in argv if arg.startswith("--out-external")]))
    asserts.equals(env, 1, len([arg for arg in arguments(env, "DnnGraph") if arg.startswith("--external")]))
    return analysistest.end(env)

_shrink_test = analysistest.make(_shrink_impl, config_settings = SETTINGS)

def _of_import_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [], [a for a in analysistest.target_actions(env) if a.mnemonic in ["DnnGraph", "DnnPrune"]])
    argv = arguments(env, "DnnCompile")
    for want in ["--src=rules/tests/pruned_import/pruned_import.pruned.onnx", "--pruning=rules/tests/pruned_import/pruned_import.pruning.json"]:
        asserts.true(env, want in argv, "%s is not in %s" % (want, argv))
    return analysistest.end(env)

_of_import_test = analysistest.make(_of_import_impl, config_settings = SETTINGS)

def _plain_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [], [a for a in analysistest.target_actions(env) if a.mnemonic == "DnnPrune"])
    asserts.equals(env, [], [arg for arg in arguments(env, "DnnCompile") if arg.startswith("--pruning")])
    asserts.equals(env, [], analysistest.target_under_test(env)[OutputGroupInfo].pruning.to_list())
    return analysistest.end(env)

_plain_test = analysistest.make(_plain_impl, config_settings = SETTINGS)

def _settings_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    written = [a for a in analysistest.target_actions(env) if a.mnemonic == "FileWrite"]
    asserts.equals(env, 1, len(written))
    asserts.equals(env, json.decode(ctx.attr.want), json.decode(written[0].content))
    asserts.equals(env, written[0].outputs.to_list(), [target[DnnPruningInfo].settings])
    asserts.equals(env, None, target[DnnPruningInfo].masks)
    return analysistest.end(env)

_settings_test = analysistest.make(_settings_impl, attrs = {"want": attr.string(doc = "The settings.")})

# The default settings, equal to the defaults of `dnnc prune`.
_DEFAULTS = {
    "connectivity": 1.0,
    "entries": {"3x3": 4},
    "exempt": [],
    "exempt_first": True,
    "fully_connected": 1.0,
    "packed": False,
    "patterns": 8,
    "sensitivity": {},
    "set": "model",
    "share": 1,
}

_SETTINGS = {
    "all": (
        dict(patterns = 12, entries = {"3x3": 5, "5x5": "9"}, set = "layer", connectivity = 3.6, fully_connected = 2, share = 16, packed = True, exempt_first = False, exempt = ["fc"], sensitivity = {"a": 0.5, "b": -1}),
        dict(patterns = 12, entries = {"3x3": 5, "5x5": 9}, set = "layer", connectivity = 3.6, fully_connected = 2.0, share = 16, packed = True, exempt_first = False, exempt = ["fc"], sensitivity = {"a": 0.5, "b": -1.0}),
    ),
    "default": ({}, {}),
    "number": ({"entries": 3}, {"entries": {"3x3": 3}}),
    "none": ({"patterns": 0, "connectivity": 1e1}, {"connectivity": 10.0, "patterns": 0}),
    "selected": ({"connectivity": select({"//conditions:default": "2.5"})}, {"connectivity": 2.5}),
}

def _failure_impl(ctx):
    env = analysistest.begin(ctx)
    for message in ctx.attr.messages:
        asserts.expect_failure(env, message)
    return analysistest.end(env)

_failure_test = analysistest.make(
    _failure_impl,
    attrs = {"messages": attr.string_list(doc = "Texts that the error must contain.")},
    config_settings = SETTINGS,
    expect_failure = True,
)

# For each case: attributes of dnn_pruning, and texts that the message must contain.
_FAILURES = {
    "connectivity": ({"connectivity": 0.5}, ["connectivity = \"0.5\"", "as in connectivity = 3.6"]),
    "connectivity_text": ({"connectivity": "3.6x"}, ["connectivity = \"3.6x\""]),
    "entries": ({"entries": {"3x": 4}}, ["entries = {\"3x\": \"4\"}"]),
    "fully_connected": ({"fully_connected": 0}, ["fully_connected = \"0\""]),
    "masks": ({"masks": "data/weights.bin", "patterns": 8, "share": 4}, ["patterns = 8", "leave out either masks or patterns, share"]),
    "patterns": ({"patterns": -1}, ["patterns = -1", "0 for none"]),
    "sensitivity": ({"sensitivity": {"a": "x"}}, ["sensitivity = {\"a\": \"x\"}"]),
    "set": ({"set": "net"}, ["set = \"net\""]),
    "share": ({"share": 5}, ["share = 5", "[1, 4, 8, 16]"]),
}

def _fixtures():
    dnn_pruning(name = "by_policy", connectivity = 3.6, policy = "data/policy.star", samples = "data/weights.bin", tags = MANUAL)
    dnn_pruning(name = "by_masks", masks = "data/weights.bin", tags = MANUAL)
    dnn_model(
        name = "pruned",
        src = "data/model.onnx",
        api = "net",
        dims = {"N": "1..64"},
        external_data = ["data/more/weights.bin", "data/weights.bin"],
        pruning = ":by_policy",
        tags = MANUAL,
    )
    dnn_pruning(
        name = "by_shrinking",
        calibration = "data/weights.bin",
        masks = "data/more/weights.bin",
        packed = True,
        shrink = True,
        tags = MANUAL,
    )
    dnn_model(
        name = "shrunk",
        src = "data/model.onnx",
        external_data = ["data/more/weights.bin", "data/weights.bin"],
        pruning = ":by_shrinking",
        tags = MANUAL,
    )
    dnn_model(name = "masked", src = "data/model.onnx", pruning = ":by_masks", tags = MANUAL)
    dnn_import(name = "pruned_import", src = "data/model.onnx", pruning = ":by_policy", tags = MANUAL)
    dnn_model(name = "of_pruned_import", src = ":pruned_import", tags = MANUAL)
    dnn_model(name = "pruned_twice", src = ":pruned_import", pruning = ":by_policy", tags = MANUAL)
    dnn_model(name = "pruned_by_import", src = "data/model.onnx", pruning = ":pruned_import", tags = MANUAL)

def prune_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    _fixtures()
    tests = {
        "command": (_prune_command_test, ":pruned"),
        "hermetic": (_hermetic_test, ":pruned"),
        "masks": (_masks_test, ":masked"),
        "model": (_pruned_test, ":pruned"),
        "of_import": (_of_import_test, ":of_pruned_import"),
        "plain": (_plain_test, ":plain"),
        "shrink": (_shrink_test, ":shrunk"),
    }
    for test, (rule, target) in tests.items():
        rule(name = "prune_%s_test" % test, target_under_test = target)
    for case, (attributes, want) in _SETTINGS.items():
        dnn_pruning(name = "settings_" + case, tags = MANUAL, **attributes)
        _settings_test(name = "prune_settings_%s_test" % case, target_under_test = ":settings_" + case, want = json.encode(_DEFAULTS | want))
    for case, (attributes, messages) in _FAILURES.items():
        dnn_pruning(name = "wrong_pruning_" + case, tags = MANUAL, **attributes)
        _failure_test(name = "prune_wrong_%s_test" % case, messages = messages, target_under_test = ":wrong_pruning_" + case)
    _failure_test(
        name = "prune_wrong_import_test",
        messages = ["pruning is set, but src is", "set pruning there"],
        target_under_test = ":pruned_twice",
    )
    _failure_test(
        name = "prune_wrong_label_test",
        messages = ["DnnPruningInfo"],
        target_under_test = ":pruned_by_import",
    )
    native.test_suite(
        name = name,
        tests = [":prune_%s_test" % test for test in tests.keys() +
                                                     ["settings_" + case for case in _SETTINGS] +
                                                     ["wrong_" + case for case in _FAILURES.keys() + ["import", "label"]]],
    )
