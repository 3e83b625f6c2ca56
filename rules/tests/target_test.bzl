"""Tests of dnn_model with a target."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "DnnModelInfo", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "paths", "platform_settings")

_DIR = "rules/tests/on_arm64/"

def _files_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, [
        _DIR + "libon_arm64.a",
        _DIR + "net.h",
        _DIR + "net.manifest.json",
        _DIR + "net.weights",
    ], paths(target[DefaultInfo].files.to_list()))
    asserts.equals(env, ["Symlink"] * 4, [a.mnemonic for a in analysistest.target_actions(env)])
    info = target[DnnModelInfo]
    asserts.equals(env, "arm64", info.chip)
    asserts.equals(env, [_DIR + "libon_arm64.a", _DIR + "net.h", _DIR + "net.manifest.json", _DIR + "net.weights"], paths([info.library, info.header, info.manifest, info.weights]))
    groups = target[OutputGroupInfo]
    asserts.equals(env, [info.manifest], groups.manifest.to_list())
    asserts.equals(env, 2, len(groups.sources.to_list()))
    asserts.equals(env, CcInfo in target, ctx.attr.links)
    return analysistest.end(env)

_LINKS = {"links": attr.bool(doc = "Whether the target can be linked.")}

_elsewhere_test = analysistest.make(_files_impl, attrs = _LINKS, config_settings = SETTINGS)
_same_test = analysistest.make(
    _files_impl,
    attrs = _LINKS,
    config_settings = platform_settings("//platforms:linux_arm64"),
)

def _links_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, ctx.attr.links, CcInfo in analysistest.target_under_test(env))
    return analysistest.end(env)

_links_by_default_test = analysistest.make(
    _links_impl,
    attrs = _LINKS,
    config_settings = {name: SETTINGS[name] for name in SETTINGS if name != "//command_line_option:platforms"},
)
_links_on_host_test = analysistest.make(
    _links_impl,
    attrs = _LINKS,
    config_settings = platform_settings("//platforms:host"),
)
_links_on_arm64_test = analysistest.make(
    _links_impl,
    attrs = _LINKS,
    config_settings = platform_settings("//platforms:linux_arm64"),
)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "'//rules/tests:on_arm64' does not have mandatory providers: 'CcInfo'")
    asserts.expect_failure(env, "dnn_model_for_its_target_only")
    return analysistest.end(env)

_refused_test = analysistest.make(_refused_impl, config_settings = SETTINGS, expect_failure = True)

def _linked_impl(ctx):
    env = analysistest.begin(ctx)
    inputs = analysistest.target_under_test(env)[CcInfo].linking_context.linker_inputs.to_list()
    asserts.true(env, Label(":on_arm64.model") in [i.owner for i in inputs])
    return analysistest.end(env)

_linked_test = analysistest.make(
    _linked_impl,
    config_settings = platform_settings("//platforms:linux_arm64"),
)

def target_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    dnn_model(
        name = "on_arm64",
        src = "data/model.onnx",
        api = "net",
        exec_properties = {"dnnc.cores": "2"},
        tags = MANUAL,
        target = "//platforms:linux_arm64",
        weights = "file",
    )
    dnn_model(name = "on_host", src = "data/model.onnx", tags = MANUAL, target = "//platforms:host")
    dnn_model(
        name = "on_arm64_or_any",
        src = "data/model.onnx",
        tags = MANUAL,
        target = select({
            "@platforms//cpu:arm64": None,
            "//conditions:default": "//platforms:linux_arm64",
        }),
    )
    cc_library(name = "uses_on_arm64", tags = MANUAL, deps = [":on_arm64"])

    _elsewhere_test(name = "target_elsewhere_test", links = False, target_under_test = ":on_arm64")
    _same_test(name = "target_same_test", links = True, target_under_test = ":on_arm64")
    _links_by_default_test(name = "target_host_by_default_test", links = True, target_under_test = ":on_host")
    _links_on_host_test(name = "target_host_test", links = True, target_under_test = ":on_host")
    _links_on_arm64_test(name = "target_host_from_arm64_test", links = False, target_under_test = ":on_host")
    _links_by_default_test(name = "target_selected_test", links = False, target_under_test = ":on_arm64_or_any")
    _links_on_arm64_test(name = "target_none_selected_test", links = True, target_under_test = ":on_arm64_or_any")
    _refused_test(name = "target_refused_test", target_under_test = ":uses_on_arm64")
    _linked_test(name = "target_linked_test", target_under_test = ":uses_on_arm64")
    native.test_suite(
        name = name,
        tests = [
            ":target_elsewhere_test",
            ":target_host_by_default_test",
            ":target_host_from_arm64_test",
            ":target_host_test",
            ":target_linked_test",
            ":target_none_selected_test",
            ":target_refused_test",
            ":target_same_test",
            ":target_selected_test",
        ],
    )
