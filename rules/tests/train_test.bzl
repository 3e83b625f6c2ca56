"""Tests of dnn_prune."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "DnnPruningInfo", "dnn_model", "dnn_prune", "dnn_pruning")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action", "paths")

_NUMBERS = ["-choose=0", "-epochs=3", "-growth=10", "-iterations=2", "-most=0.5", "-retrain=40", "-rho=0.001", "-steps=0"]

def _command_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "train",
        "admm",
        "-model=rules/tests/data/model.onnx",
        "-data=rules/tests/data/images.json",
        "-image=images.bin=rules/tests/data/images.bin",
        "-image=more/images.bin=rules/tests/data/more/images.bin",
        "-pruning=@rules/tests/train_by_policy.json",
        "-settings=@rules/tests/trained.settings.json",
        "-policy=rules/tests/data/policy.star",
        "-samples=rules/tests/data/weights.bin",
    ] + _NUMBERS + [
        "-workers=2",
        "-quiet",
        "-out=rules/tests/trained/trained.onnx",
        "-out-masks=rules/tests/trained/trained.masks",
        "-out-log=rules/tests/trained/trained.log.json",
    ], [_short(arg) for arg in arguments(env, "DnnTrain")])
    written = [a for a in analysistest.target_actions(env) if a.mnemonic == "FileWrite"]
    asserts.equals(env, [{"batch": 16, "learning_rate": 0.5, "optimizer": "adam"}], [json.decode(a.content) for a in written])
    return analysistest.end(env)

def _short(arg):
    option, root, rest = arg.partition("=@bazel-out/")
    return option + "=@" + rest.partition("/bin/")[2] if root else arg

_command_test = analysistest.make(_command_impl, config_settings = SETTINGS)

def _hermetic_impl(ctx):
    env = analysistest.begin(ctx)
    action = only_action(env, "DnnTrain")
    asserts.equals(env, {}, action.env)
    for file in action.inputs.to_list():
        known = "rules/tests/fake" in file.path or "_middlemen" in file.path or any([file.path in arg for arg in action.argv])
        asserts.true(env, known, "DnnTrain reads %s" % file.path)
    return analysistest.end(env)

_hermetic_test = analysistest.make(_hermetic_impl, config_settings = SETTINGS)

def _source_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.true(env, "--src=" + ctx.attr.src in arguments(env, "DnnPrune"), "%s" % arguments(env, "DnnPrune"))
    asserts.true(env, "--masks=" + ctx.attr.masks in arguments(env, "DnnPrune"), "%s" % arguments(env, "DnnPrune"))
    return analysistest.end(env)

_source_test = analysistest.make(
    _source_impl,
    attrs = {
        "masks": attr.string(doc = "The masks that are applied."),
        "src": attr.string(doc = "The model that is compiled."),
    },
    config_settings = SETTINGS,
)

def _checked_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["rules/tests/data/checked.onnx"], paths(target[DefaultInfo].files.to_list()))
    asserts.equals(env, "rules/tests/data/checked.masks", target[DnnPruningInfo].masks.short_path)
    asserts.equals(env, ["rules/tests/data/checked.log.json"], paths(target[OutputGroupInfo].log.to_list()))
    asserts.equals(env, [], analysistest.target_actions(env))
    return analysistest.end(env)

_checked_test = analysistest.make(_checked_impl, config_settings = SETTINGS)

def _plan_impl(ctx):
    env = analysistest.begin(ctx)
    runfiles = [file.short_path for file in analysistest.target_under_test(env)[DefaultInfo].default_runfiles.files.to_list()]
    plan = [a for a in analysistest.target_actions(env) if a.mnemonic == "FileWrite" and a.outputs.to_list()[0].extension == "plan"]
    asserts.equals(env, 1, len(plan))
    asserts.true(env, plan[0].outputs.to_list()[0].short_path in runfiles, "the plan is not there when it runs")
    content = json.decode(plan[0].content)
    asserts.equals(env, [
        "-model=rules/tests/data/model.onnx",
        "-data=rules/tests/data/images.json",
        "-pruning=@rules/tests/train_by_policy.json",
        "-settings=@rules/tests/checked.update.settings.json",
        "-image=images.bin=rules/tests/data/images.bin",
        "-image=more/images.bin=rules/tests/data/more/images.bin",
        "-policy=rules/tests/data/policy.star",
        "-samples=rules/tests/data/weights.bin",
    ] + _NUMBERS, content["args"])
    for arg in content["args"]:
        path = arg.rpartition("=")[2].removeprefix("@")
        asserts.true(env, "/" not in path or path in runfiles, "%s is not there when it runs" % path)
    asserts.equals(env, ["rules/tests/data/checked.onnx", "rules/tests/data/checked.masks", "rules/tests/data/checked.log.json"], [content[key] for key in ["out", "masks", "log"]])
    asserts.true(env, content["trainer"] in runfiles, "the trainer is not there when it runs")
    asserts.true(env, content["name"].endswith("//rules/tests:checked.update"), content["name"])
    return analysistest.end(env)

_plan_test = analysistest.make(_plan_impl, config_settings = SETTINGS)

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

_TRAINING = dict(
    src = "data/model.onnx",
    data = "data/images.json",
    epochs = 3,
    images = ["data/images.bin", "data/more/images.bin"],
    iterations = 2,
    most = 0.5,
    pruning = ":train_by_policy",
    settings = {"batch": 16, "learning_rate": 0.5, "optimizer": "adam"},
    tags = MANUAL,
)

# For each case: attributes of dnn_prune, and texts that the message must contain.
_FAILURES = {
    "calibration": ({"pruning": ":train_by_calibration"}, ["train_by_calibration", "it has calibration, which training ignores"]),
    "epochs": ({"settings": {"epochs": 3}}, ["epochs is not a setting: use the attributes epochs"]),
    "masks": ({"pruning": ":train_by_masks"}, ["it has masks, which training ignores"]),
    "missing": ({"train_in_build": False}, ["wrong_train_missing.onnx, wrong_train_missing.masks, wrong_train_missing.log.json beside the BUILD file are missing", "wrong_train_missing.update", "train_in_build = True"]),
    "out": ({"out": "x"}, ["leave out either train_in_build or out"]),
    "some": ({"out": "data/model", "train_in_build": False}, ["data/model.masks, data/model.log.json beside"]),
    "src": ({"src": "data/weights.bin"}, ["write one .onnx file"]),
    "trainer": ({"trainer": "//rules/tests/fake"}, ["builds train with the built-in trainer", "leave out either train_in_build or trainer"]),
    "twice": ({"images": ["data/weights.bin", "//rules/tests/elsewhere:weights.bin"]}, ["images = ", "both files have the path \"weights.bin\" beside images.json"]),
}

def train_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    dnn_pruning(name = "train_by_policy", policy = "data/policy.star", samples = "data/weights.bin", tags = MANUAL)
    dnn_pruning(name = "train_by_masks", masks = "data/weights.bin", tags = MANUAL)
    dnn_pruning(name = "train_by_calibration", calibration = "data/weights.bin", tags = MANUAL)
    dnn_prune(name = "trained", train_in_build = True, **_TRAINING)
    dnn_prune(name = "checked", out = "data/checked", trainer = "//rules/tests/fake", **_TRAINING)
    dnn_model(name = "of_trained", src = ":trained", pruning = ":trained", tags = MANUAL)
    dnn_model(name = "of_checked", src = ":checked", pruning = ":checked", tags = MANUAL)
    _command_test(name = "train_command_test", target_under_test = ":trained")
    _hermetic_test(name = "train_hermetic_test", target_under_test = ":trained")
    _checked_test(name = "train_checked_test", target_under_test = ":checked")
    _plan_test(name = "train_plan_test", target_under_test = ":checked.update")
    _source_test(
        name = "train_build_source_test",
        masks = "rules/tests/trained/trained.masks",
        src = "rules/tests/trained/trained.onnx",
        target_under_test = ":of_trained",
    )
    _source_test(
        name = "train_checked_source_test",
        masks = "rules/tests/data/checked.masks",
        src = "rules/tests/data/checked.onnx",
        target_under_test = ":of_checked",
    )
    for case, (attributes, messages) in _FAILURES.items():
        dnn_prune(name = "wrong_train_" + case, **(_TRAINING | {"train_in_build": True} | attributes))
        _failure_test(name = "train_wrong_%s_test" % case, messages = messages, target_under_test = ":wrong_train_" + case)
    native.test_suite(
        name = name,
        tests = [":train_%s_test" % test for test in ["build_source", "checked", "checked_source", "command", "hermetic", "plan"] + ["wrong_" + case for case in _FAILURES]],
    )
