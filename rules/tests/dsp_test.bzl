"""Tests of dnn_model for a DSP."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "DnnModelInfo", "dnn_model")
load("//rules/private:cc.bzl", "KERNEL_C_COPTS")
load("//toolchains/cc:features.bzl", "clang_features")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "paths", "platform_settings")

_DIR = "rules/tests/"

def _compiled_impl(ctx):
    env = analysistest.begin(ctx)
    got = [arg for arg in arguments(env, "DnnCompile") if arg.partition("=")[0] in ["--chip", "--out-kernels", "--out-kernels-c", "--variant"]]
    asserts.equals(env, [
        "--chip=platforms/chips/%s.json" % ctx.attr.chip,
        "--out-kernels=" + _DIR + "any_dsp/any_dsp.kernels",
        "--out-kernels-c=" + _DIR + "any_dsp/any_dsp.kernels_c",
    ], got)
    target = analysistest.target_under_test(env)
    info = target[DnnModelInfo]
    asserts.equals(env, ["cpu", ctx.attr.chip, []], [info.backend, info.chip, info.variants])
    asserts.true(env, _DIR + "any_dsp/any_dsp.kernels_c" in paths(info.sources.to_list()))

    # The runtime for a DSP, without anything that needs an operating system.
    linked = target[CcInfo].linking_context.linker_inputs.to_list()
    owners = [str(i.owner) for i in linked]
    for label in ["//runtime:dnn_runtime", "//runtime/dsp:dsp"]:
        asserts.true(env, str(Label(label)) in owners, "%s is not linked: %s" % (label, owners))
    asserts.equals(env, [], [flag for i in linked for flag in i.user_link_flags])
    return analysistest.end(env)

_CHIP = {"chip": attr.string(doc = "The chip.")}

_TESTS = {
    chip: analysistest.make(_compiled_impl, attrs = _CHIP, config_settings = platform_settings("//platforms:" + chip))
    for chip in ["hexagon_v66", "hexagon_v68", "hexagon_v69", "hexagon_v73"]
}
_v66_test = _TESTS["hexagon_v66"]
_v68_test = _TESTS["hexagon_v68"]
_v69_test = _TESTS["hexagon_v69"]
_v73_test = _TESTS["hexagon_v73"]

def _from_anywhere_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, "hexagon_v73", target[DnnModelInfo].chip)
    asserts.equals(env, [
        _DIR + "on_dsp/libon_dsp.a",
        _DIR + "on_dsp/net.h",
        _DIR + "on_dsp/net.manifest.json",
    ], paths(target[DefaultInfo].files.to_list()))
    return analysistest.end(env)

_from_anywhere_test = analysistest.make(_from_anywhere_impl, config_settings = SETTINGS)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "is a DSP and supports only models without backend")
    return analysistest.end(env)

_refused_test = analysistest.make(_refused_impl, config_settings = platform_settings("//platforms:hexagon_v68"), expect_failure = True)

def _elsewhere_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.false(env, any([arg.startswith("--out-kernels-c") for arg in arguments(env, "DnnCompile")]))
    return analysistest.end(env)

_elsewhere_test = analysistest.make(_elsewhere_impl, config_settings = SETTINGS)

def _flags(bare_cpu, action):
    """Returns the default flags of an action with a clang toolchain."""
    return [
        flag
        for feature in clang_features("TRIPLE", bare_cpu = bare_cpu)
        if feature.name == "default_flags"
        for set in feature.flag_sets
        if action in set.actions
        for group in set.flag_groups
        for flag in group.flags
    ]

def _flags_impl(ctx):
    env = analysistest.begin(ctx)
    compiled, hosted = _flags("hexagonv66", "c++-compile"), _flags("", "c++-compile")
    asserts.equals(env, ["--target=TRIPLE", "-no-canonical-prefixes", "-mcpu=hexagonv66", "-ffreestanding", "-nostdlibinc", "-Wall"], compiled[:6])
    asserts.false(env, any([flag.startswith("-std=") for flag in compiled]), "Bazel compiles kernels in C as C++: %s" % compiled)
    asserts.true(env, "-std=c++17" in hosted and "-fstack-protector-strong" in hosted, "%s" % hosted)
    asserts.false(env, "-nostdlib" in _flags("", "c++-link-executable"))
    asserts.true(env, "-nostdlib" in _flags("hexagonv66", "c++-link-executable") and "-static" in _flags("hexagonv66", "c++-link-executable"))
    asserts.false(env, "-static" in _flags("hexagonv66", "c++-link-dynamic-library"), "a skeleton is a shared library")

    # Kernels are compiled as C, even if the toolchain compiles the directory as C++.
    asserts.equals(env, ["-std=c11", "-O3", "-fno-fast-math", "-ffp-contract=fast", "-fno-math-errno", "-fvisibility=hidden"], KERNEL_C_COPTS)
    return analysistest.end(env)

_flags_test = analysistest.make(_flags_impl)

def dsp_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    dnn_model(name = "any_dsp", src = "data/model.onnx", tags = MANUAL)
    dnn_model(name = "on_dsp", src = "data/model.onnx", api = "net", tags = MANUAL, target = "//platforms:hexagon_v73")
    dnn_model(name = "opencl_on_dsp", src = "data/model.onnx", backend = "opencl", tags = MANUAL)
    cc_library(name = "any_library", tags = MANUAL)
    for test, chip in [(_v66_test, "hexagon_v66"), (_v68_test, "hexagon_v68"), (_v69_test, "hexagon_v69"), (_v73_test, "hexagon_v73")]:
        test(name = "dsp_%s_test" % chip, chip = chip, target_under_test = ":any_dsp")
    _from_anywhere_test(name = "dsp_from_anywhere_test", target_under_test = ":on_dsp")
    _refused_test(name = "dsp_refused_test", target_under_test = ":opencl_on_dsp")
    _elsewhere_test(name = "dsp_elsewhere_test", target_under_test = ":any_dsp")
    _flags_test(name = "dsp_flags_test", target_under_test = ":any_library")
    native.test_suite(
        name = name,
        tests = [":dsp_%s_test" % test for test in ["elsewhere", "flags", "from_anywhere", "hexagon_v66", "hexagon_v68", "hexagon_v69", "hexagon_v73", "refused"]],
    )
