"""Tests of NAME.tune, which writes a tuning record, and of dnn_model with such a record."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//rules:defs.bzl", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action")

_CANDIDATES = 8

def _record_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.true(env, "--tuning=rules/tests/data/model.tune.json" in arguments(env, "DnnCompile"))
    inputs = [file.short_path for file in only_action(env, "DnnCompile").inputs.to_list()]
    asserts.true(env, "rules/tests/data/model.tune.json" in inputs, "the compiler cannot read the record")
    return analysistest.end(env)

_record_test = analysistest.make(_record_impl, config_settings = SETTINGS)

def _searched_impl(ctx):
    env = analysistest.begin(ctx)
    compiling = [action for action in analysistest.target_actions(env) if action.mnemonic == "DnnCompile"]
    asserts.equals(env, _CANDIDATES, len(compiling))
    for i, action in enumerate(compiling):
        got = [arg for arg in action.argv if "--candidate" in arg or "--tuning" in arg]
        asserts.equals(env, ["--tuning=rules/tests/data/model.tune.json", "--candidate=%d" % (i + 1)], got)
        asserts.true(env, "rules/tests/data/model.tune.json" in [file.short_path for file in action.inputs.to_list()], "the compiler cannot read the record")
    return analysistest.end(env)

_SEARCHING = SETTINGS | {str(Label("//rules:search")): True}

_searched_test = analysistest.make(_searched_impl, config_settings = _SEARCHING)

def _unrecorded_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "needs a tuning record to search from, but the model has no tuning")
    return analysistest.end(env)

_unrecorded_test = analysistest.make(_unrecorded_impl, config_settings = _SEARCHING, expect_failure = True)

def _programs_impl(ctx):
    env = analysistest.begin(ctx)
    actions = analysistest.target_actions(env)
    compiling = [action.argv for action in actions if action.mnemonic == "DnnCompile"]
    got = [[arg for arg in argv if "--accumulation" in arg or "--calibration" in arg or "--candidate" in arg or "--precision" in arg or "--tuning" in arg or "--weights" in arg or "disable" in arg] for argv in compiling]
    want = [["--weights=file", "--precision=fp16", "--accumulation=fp16", "--calibration=rules/tests/data/images.bin", "--candidate=%d" % (i + 1), "-disable=winograd"] for i in range(_CANDIDATES)]
    asserts.equals(env, want, got)
    asserts.equals(env, [], [action.mnemonic for action in actions if action.mnemonic == "DnnGraph"], "the network is imported once, for the model")
    links = [action for action in actions if action.mnemonic == "CppLink"]
    asserts.equals(env, _CANDIDATES, len(links))

    runfiles = [file.short_path for file in analysistest.target_under_test(env)[DefaultInfo].default_runfiles.files.to_list()]
    plan = [action for action in actions if action.mnemonic == "FileWrite" and action.outputs.to_list()[0].basename.endswith(".programs.json")]
    asserts.equals(env, 1, len(plan))
    asserts.true(env, plan[0].outputs.to_list()[0].short_path in runfiles, "the plan is not there when it runs")
    content = json.decode(plan[0].content)
    asserts.equals(env, ctx.attr.record, content["record"])
    asserts.true(env, content["model"] in ["//rules/tests:%s" % name for name in ["on_device", "on_device_tuned", "tuned", "untuned"]], content["model"])
    asserts.equals(env, _CANDIDATES, len(content["programs"]))
    for program in content["programs"]:
        for what in ["manifest", "program", "weights"]:
            asserts.true(env, program[what] in runfiles, "%s is not there when it runs" % program[what])
    return analysistest.end(env)

def _measures_target_impl(ctx):
    env = analysistest.begin(ctx)
    runfiles = analysistest.target_under_test(env)[DefaultInfo].default_runfiles.files.to_list()
    programs = [file for file in runfiles if file.short_path.endswith(ctx.attr.program)]
    asserts.equals(env, 1, len(programs), "programs that it starts")
    plan = [file for file in runfiles if file.extension == "plan"]
    asserts.equals(env, 1, len(plan), "plans")
    asserts.true(env, programs[0].root != plan[0].root, "the program follows the build, and not the target")
    asserts.equals(env, ctx.attr.command, analysistest.target_under_test(env)[DefaultInfo].files_to_run.executable.basename)
    return analysistest.end(env)

# The command that starts the programs is built for the machine that runs Bazel. The programs are
# built for the target.
_measures_target_test = analysistest.make(
    _measures_target_impl,
    attrs = {
        "command": attr.string(doc = "The compiler's command."),
        "program": attr.string(doc = "How a program's path ends."),
    },
    config_settings = SETTINGS,
)

_programs_test = analysistest.make(
    _programs_impl,
    attrs = {"record": attr.string(doc = "The record's path in the workspace.")},
    config_settings = SETTINGS,
)

def tune_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    dnn_model(
        name = "tuned",
        src = "data/model.onnx",
        accumulation = "fp16",
        calibration = "data/images.bin",
        dnnc_opts = ["-disable=winograd"],
        precision = "fp16",
        tags = MANUAL,
        tuning = "data/model.tune.json",
    )
    _record_test(
        name = "tuning_record_test",
        target_under_test = ":tuned",
    )
    _record_test(
        name = "tuning_device_record_test",
        target_under_test = ":on_device_tuned",
    )
    _programs_test(
        name = "tuning_programs_test",
        record = "rules/tests/data/model.tune.json",
        target_under_test = ":tuned.tune.programs",
    )
    dnn_model(
        name = "untuned",
        src = "data/model.onnx",
        accumulation = "fp16",
        calibration = "data/images.bin",
        dnnc_opts = ["-disable=winograd"],
        precision = "fp16",
        tags = MANUAL,
        target = "//platforms:linux_x86_64",
    )
    _programs_test(
        name = "tuning_target_programs_test",
        record = "rules/tests/untuned.tune.json",
        target_under_test = ":untuned.tune.programs",
    )
    _searched_test(
        name = "tuning_searched_test",
        target_under_test = ":tuned.tune.programs",
    )
    _unrecorded_test(
        name = "tuning_unrecorded_test",
        target_under_test = ":untuned.tune.programs",
    )
    dnn_model(
        name = "elsewhere",
        src = "data/model.onnx",
        tags = MANUAL,
        target = "//platforms:linux_arm64",
    )
    _measures_target_test(
        name = "tuning_follows_target_test",
        command = "tune",
        program = "elsewhere.tune.programs_1/program",
        target_under_test = ":elsewhere.tune",
    )
    _measures_target_test(
        name = "bench_follows_target_test",
        command = "bench",
        program = "tests/elsewhere_bench.program",
        target_under_test = ":elsewhere_bench",
    )
    native.test_suite(
        name = name,
        tests = [
            ":bench_follows_target_test",
            ":tuning_device_record_test",
            ":tuning_follows_target_test",
            ":tuning_programs_test",
            ":tuning_record_test",
            ":tuning_searched_test",
            ":tuning_target_programs_test",
            ":tuning_unrecorded_test",
        ],
    )
