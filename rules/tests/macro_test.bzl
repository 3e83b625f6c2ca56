"""Tests of the targets that the macro dnn_model declares."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load("//rules:defs.bzl", "dnn_model")

# Arguments that the macro must not change, because the caller may use them again.
_TAGS = ["manual", "mine"]
_DIMS = {"N": "1"}

def _macro_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, ctx.attr.want, ctx.attr.got)
    return unittest.end(env)

_macro_test = unittest.make(
    _macro_impl,
    attrs = {
        "got": attr.string_list_dict(doc = "The actual values."),
        "want": attr.string_list_dict(doc = "The expected values."),
    },
)

def _shown(name):
    rule = native.existing_rule(name)
    return {
        "compatible": [str(label) for label in rule.get("target_compatible_with", [])],
        "exec": ["%s=%s" % item for item in sorted(rule.get("exec_properties", {}).items())],
        "kind": [rule["kind"]],
        "tags": sorted(rule["tags"]),
        "testonly": [str(rule["testonly"])],
        "visibility": [str(label) for label in rule["visibility"]],
    }

def macro_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    tags = list(_TAGS)
    dims = dict(_DIMS)
    dnn_model(
        name = "common",
        testonly = True,
        src = "data/model.onnx",
        dims = dims,
        exec_properties = {"dnnc.cores": "2"},
        tags = tags,
        target = "//platforms:linux_arm64",
        target_compatible_with = ["@platforms//os:linux"],
        visibility = ["//rules:__subpackages__"],
    )
    dnn_model(
        name = "follows",
        testonly = True,
        src = "data/model.onnx",
        exec_properties = {"dnnc.cores": "2"},
        tags = tags,
        target_compatible_with = ["@platforms//os:linux"],
        visibility = ["//rules:__subpackages__"],
    )
    asked = {
        "compatible": [str(Label("@platforms//os:linux"))],
        "testonly": ["True"],
    }
    _macro_test(
        name = "macro_target_test",
        got = _shown("common"),
        want = asked | {
            "exec": [],  # it compiles nothing
            "kind": ["dnn_model_for_its_target_only"],
            "tags": _TAGS,
            "visibility": ["//rules:__subpackages__"],
        },
    )
    _macro_test(
        name = "macro_model_test",
        got = _shown("common.model"),
        want = asked | {
            "exec": ["dnnc.cores=2"],
            "kind": ["dnn_model_rule"],
            "tags": ["manual"] + _TAGS,
            "visibility": ["//visibility:private"],
        },
    )
    _macro_test(
        name = "macro_follows_test",
        got = _shown("follows"),
        want = asked | {
            "exec": ["dnnc.cores=2"],
            "kind": ["dnn_model_rule"],
            "tags": _TAGS,
            "visibility": ["//rules:__subpackages__"],
        },
    )
    bench = asked | {
        "exec": [],  # C++ alone
        "kind": ["cc_binary"],
        "tags": ["manual"] + _TAGS,
        "visibility": ["//visibility:private"],
    }
    _macro_test(
        name = "macro_bench_test",
        got = _shown("follows_bench"),
        want = bench,
    )
    _macro_test(
        name = "macro_target_bench_test",
        got = _shown("common_bench"),
        want = bench | {"kind": ["_dnn_bench"]},
    )
    _macro_test(
        name = "macro_tune_test",
        got = _shown("follows.tune") | {"args": native.existing_rule("follows.tune")["args"]},
        want = asked | {
            "args": ["tune", "--plan=rules/tests/follows.tune.plan"],
            "exec": [],  # it compiles nothing
            "kind": ["_dnn_tuner"],
            "tags": ["manual"] + _TAGS,
            "visibility": ["//visibility:private"],
        },
    )
    _macro_test(
        name = "macro_tune_programs_test",
        got = _shown("follows.tune.programs"),
        want = asked | {
            "exec": ["dnnc.cores=2"],
            "kind": ["_tuner_programs"],
            "tags": ["manual"] + _TAGS,
            "visibility": ["//visibility:private"],
        },
    )
    _macro_test(
        name = "macro_arguments_test",
        got = {"dims": dims.keys(), "tags": tags},
        want = {"dims": _DIMS.keys(), "tags": _TAGS},
    )
    native.test_suite(
        name = name,
        tests = [
            ":macro_arguments_test",
            ":macro_bench_test",
            ":macro_follows_test",
            ":macro_model_test",
            ":macro_target_bench_test",
            ":macro_target_test",
            ":macro_tune_programs_test",
            ":macro_tune_test",
        ],
    )
