"""Tests of dnn_chip: the chip that a platform resolves to, and the two forms of a chip's facts."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//platforms/chips:chips.bzl", "CHIPS")
load("//rules:defs.bzl", "DnnChipInfo", "DnnModelInfo", "dnn_chip", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS")

# Platforms and their chips: the platforms of rules_dnn, and platforms of users with a level, with a
# processor, or with neither.
_HERE = {
    ":level_and_processor": "x86_64_zen4",
    ":plain_arm64": "arm64",
    ":plain_hexagon": "hexagon_v68",
    ":plain_x86_64": "x86_64",
    ":processor": "arm64_cortex_a55",
}

_PLATFORMS = {
    str(Label(platform)): chip
    for platform, chip in _HERE.items() + [
        ("//platforms:%s_%s" % (system, chip), chip)
        for system in ["android", "linux"]
        for chip in CHIPS
        if CHIPS[chip]["facts"]["cpu"] != "hexagon"
    ] + [
        ("//platforms:" + chip, chip)
        for chip in CHIPS
        if CHIPS[chip]["facts"]["cpu"] == "hexagon"
    ]
}

def _every_platform_impl(_settings, _attr):
    return {
        platform: {"//command_line_option:platforms": platform}
        for platform in _PLATFORMS
    }

_every_platform = transition(
    implementation = _every_platform_impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

_ChosenInfo = provider(doc = "Chips of platforms.", fields = {"chips": "dict of string: chips' names, by platforms."})

def _chosen_impl(ctx):
    return [_ChosenInfo(chips = {
        platform: model[DnnModelInfo].chip
        for platform, model in ctx.split_attr.model.items()
    })]

_chosen = rule(
    implementation = _chosen_impl,
    doc = "Builds a model for every platform.",
    attrs = {
        "model": attr.label(
            cfg = _every_platform,
            doc = "The model.",
            providers = [DnnModelInfo],
        ),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def _platforms_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, _PLATFORMS, analysistest.target_under_test(env)[_ChosenInfo].chips)
    return analysistest.end(env)

_platforms_test = analysistest.make(_platforms_impl, config_settings = SETTINGS)

_FACTS = {"cpu": "x86_64", "vector_bits": 256, "vector_registers": 16}

def _entry_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[DnnChipInfo]
    asserts.equals(env, "of_entry", info.name)
    asserts.equals(env, ["-mavx2"], info.copts)
    asserts.equals(env, "rules/tests/of_entry.json", info.facts.short_path)
    written = analysistest.target_actions(env)[0].content
    asserts.equals(env, _FACTS | {"copts": ["-mavx2"], "name": "of_entry"}, json.decode(written))
    return analysistest.end(env)

_entry_test = analysistest.make(_entry_impl)

def _file_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[DnnChipInfo]
    asserts.equals(env, "of_file", info.name)
    asserts.equals(env, "rules/tests/data/chip.json", info.facts.short_path)
    asserts.true(env, info.facts.is_source)
    return analysistest.end(env)

_file_test = analysistest.make(_file_impl)

def _fixtures():
    for name, values in {
        "level_and_processor": ["@platforms//cpu:x86_64", "//platforms:x86_64_v3", "//platforms:x86_64_zen4"],
        "plain_arm64": ["@platforms//cpu:arm64"],
        "plain_hexagon": ["//platforms:hexagon"],
        "plain_x86_64": ["@platforms//cpu:x86_64"],
        "processor": ["@platforms//cpu:arm64", "//platforms:arm64_cortex_a55"],
    }.items():
        native.platform(
            name = name,
            constraint_values = values + ["@platforms//os:linux"],
        )
    dnn_model(name = "any_chip", src = "data/model.onnx", tags = MANUAL)
    _chosen(name = "chosen_chips", model = ":any_chip", tags = MANUAL)
    dnn_chip(name = "of_entry", constraints = [], copts = ["-mavx2"], facts = _FACTS, tags = MANUAL)
    dnn_chip(name = "of_file", constraints = [], facts = "data/chip.json", tags = MANUAL)

def chip_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    _fixtures()
    tests = {
        "entry": (_entry_test, ":of_entry"),
        "file": (_file_test, ":of_file"),
        "platforms": (_platforms_test, ":chosen_chips"),
    }
    for test, (rule, target) in tests.items():
        rule(name = "chip_%s_test" % test, target_under_test = target)
    native.test_suite(
        name = name,
        tests = [":chip_%s_test" % test for test in tests],
    )
