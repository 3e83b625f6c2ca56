"""Tests of dnn_model with a target."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc:cc_library.bzl", "cc_library")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "DnnModelInfo", "dnn_benchmark", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "only_action", "paths", "platform_settings")

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
    asserts.equals(env, ([] if ctx.attr.links else ["DnnRefuse"]) + ["Symlink"] * 4, sorted([a.mnemonic for a in analysistest.target_actions(env)]))
    info = target[DnnModelInfo]
    asserts.equals(env, "arm64", info.chip)
    asserts.equals(env, [_DIR + "libon_arm64.a", _DIR + "net.h", _DIR + "net.manifest.json", _DIR + "net.weights"], paths([info.library, info.header, info.manifest, info.weights]))
    groups = target[OutputGroupInfo]
    asserts.equals(env, [info.manifest], groups.manifest.to_list())
    asserts.equals(env, 3, len(groups.sources.to_list()))
    asserts.equals(env, [info.library], groups.archive.to_list())
    return analysistest.end(env)

_LINKS = {"links": attr.bool(doc = "Whether the target can be linked.")}

_elsewhere_test = analysistest.make(_files_impl, attrs = _LINKS, config_settings = SETTINGS)
_same_test = analysistest.make(
    _files_impl,
    attrs = _LINKS,
    config_settings = platform_settings("//platforms:linux_arm64"),
)

def _archive_impl(ctx):
    env = analysistest.begin(ctx)
    archives = [a for a in analysistest.target_actions(env) if a.mnemonic == "CppArchive" and a.outputs.to_list()[0].basename == "libon_arm64.model.archive.a"]
    asserts.equals(env, 1, len(archives))
    runtime = [file.basename for file in archives[0].inputs.to_list() if file.short_path.startswith("runtime/_objs/")]
    for name in ["dnn_status", "dnn_context", "dnn_pool"]:
        asserts.true(env, name + ".o" in runtime or name + ".pic.o" in runtime, "%s is not in %s" % (name, runtime))
    return analysistest.end(env)

_archive_test = analysistest.make(_archive_impl, config_settings = SETTINGS)

def _links_impl(ctx):
    env = analysistest.begin(ctx)
    refused = [a for a in analysistest.target_actions(env) if a.mnemonic == "DnnRefuse"]
    asserts.equals(env, ctx.attr.links, not refused)
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
    said = only_action(env, "DnnRefuse").argv[-1]
    for part in ["rules/tests:on_arm64", "made for the platform", "platforms:linux_arm64", "linked for", "platforms:linux_x86_64", "dnn_model without target"]:
        asserts.true(env, part in said, "%s is not in %s" % (part, said))
    return analysistest.end(env)

_refused_test = analysistest.make(_refused_impl, config_settings = SETTINGS)

def _poisoned_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[CcInfo]
    refused = [file for i in info.linking_context.linker_inputs.to_list() for file in i.additional_inputs]
    asserts.equals(env, [_DIR + "refused/rules/tests/net.h"], paths(refused))
    asserts.true(env, refused[0] in info.compilation_context.headers.to_list())
    return analysistest.end(env)

_poisoned_test = analysistest.make(_poisoned_impl, config_settings = SETTINGS)

def _unmeasured_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "rules/tests:on_arm64 is made for the platform")
    return analysistest.end(env)

_unmeasured_test = analysistest.make(_unmeasured_impl, config_settings = SETTINGS, expect_failure = True)

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
    dnn_benchmark(name = "measures_on_arm64", model = ":on_arm64", tags = MANUAL)

    _elsewhere_test(name = "target_elsewhere_test", links = False, target_under_test = ":on_arm64")
    _same_test(name = "target_same_test", links = True, target_under_test = ":on_arm64")
    _links_by_default_test(name = "target_host_by_default_test", links = True, target_under_test = ":on_host")
    _links_on_host_test(name = "target_host_test", links = True, target_under_test = ":on_host")
    _links_on_arm64_test(name = "target_host_from_arm64_test", links = False, target_under_test = ":on_host")
    _links_by_default_test(name = "target_selected_test", links = False, target_under_test = ":on_arm64_or_any")
    _links_on_arm64_test(name = "target_none_selected_test", links = True, target_under_test = ":on_arm64_or_any")
    _archive_test(name = "target_archive_test", target_under_test = ":on_arm64.model")
    _refused_test(name = "target_refused_test", target_under_test = ":on_arm64")
    _poisoned_test(name = "target_poisoned_test", target_under_test = ":uses_on_arm64")
    _unmeasured_test(name = "target_unmeasured_test", target_under_test = ":measures_on_arm64")
    _linked_test(name = "target_linked_test", target_under_test = ":uses_on_arm64")
    native.test_suite(
        name = name,
        tests = [
            ":target_archive_test",
            ":target_elsewhere_test",
            ":target_host_by_default_test",
            ":target_host_from_arm64_test",
            ":target_host_test",
            ":target_linked_test",
            ":target_none_selected_test",
            ":target_poisoned_test",
            ":target_refused_test",
            ":target_same_test",
            ":target_selected_test",
            ":target_unmeasured_test",
        ],
    )
