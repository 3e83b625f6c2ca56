"""Tests of dnn_model with backend = "hvx"."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "DnnModelInfo", "dnn_model")
load("//rules/private:dnn_skeleton.bzl", "dnn_skeleton_rule")
load("//rules/private:model_rule.bzl", "dnn_model_rule")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action", "paths", "platform_settings")

_HERE = "rules/tests/"

_OPTIONS = ["--chip", "--remote", "--skeleton", "--tuning", "--variant", "--weights"]

_ATTRS = {
    "chip": attr.string(doc = "The platform's chip."),
    "linkopts": attr.string_list(doc = "Flags that link the stub."),
    "made": attr.bool(default = True, doc = "Whether the skeleton libraries can be linked."),
    "variants": attr.string_list(doc = "Chips that the processor's model has kernels for, too."),
    "weights": attr.string(default = "embed", doc = "The model's attribute weights, which applies to the processor's weights."),
}

_SKELETON = _HERE + "%s/librules_tests_%s_v68_skel.so"

def _stub_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "--chip=platforms/chips/%s.json" % ctx.attr.chip,
        "--weights=" + ctx.attr.weights,
    ] + [
        "--variant=platforms/chips/%s.json" % variant
        for variant in ctx.attr.variants
    ] + ["--remote=v68"], [arg for arg in arguments(env, "DnnCompile") if arg.partition("=")[0] in _OPTIONS])

    target = analysistest.target_under_test(env)
    info = target[DnnModelInfo]
    asserts.equals(env, "hvx", info.backend)
    asserts.equals(env, ctx.attr.variants, info.variants)
    inputs = target[CcInfo].linking_context.linker_inputs.to_list()
    owners = [str(i.owner) for i in inputs]
    for label in ["//runtime/fastrpc:stub", "//runtime:dnn_runtime"]:
        asserts.true(env, str(Label(label)) in owners, "%s is not linked: %s" % (label, owners))
    asserts.false(env, str(Label("//runtime/fastrpc:skeleton")) in owners, "the skeleton is of the DSP")
    flags = [flag for i in inputs if i.owner == Label("//runtime:library") for flag in i.user_link_flags]
    asserts.equals(env, ctx.attr.linkopts, flags)

    # The libraries on the DSP are built for the output group, and for binaries that link the stub.
    name = target.label.name
    asserts.equals(env, [_SKELETON % (name + (".skeleton" if ctx.attr.made else ""), name)], paths(target[OutputGroupInfo].dsp.to_list()))
    asserts.false(env, [f for f in target[DefaultInfo].files.to_list() if f.extension == "so"], "the stub is built without the DSP's libraries")
    runfiles = [path for path in paths(target[DefaultInfo].default_runfiles.files.to_list()) if path.endswith(".so")]
    asserts.equals(env, paths(target[OutputGroupInfo].dsp.to_list()) if ctx.attr.made else [], runfiles)
    if not ctx.attr.made:
        said = only_action(env, "DnnRefuse").argv[-1]
        for part in ["no C++ toolchain builds for the platform", "platforms:hexagon_v68", "no skeleton library", "toolchains/cc:hexagon", "stub builds without it"]:
            asserts.true(env, part in said, "%s is not in %s" % (part, said))
    return analysistest.end(env)

_stub_test = analysistest.make(_stub_impl, attrs = _ATTRS, config_settings = SETTINGS)
_arm64_test = analysistest.make(_stub_impl, attrs = _ATTRS, config_settings = platform_settings("//platforms:linux_arm64"))
_android_test = analysistest.make(_stub_impl, attrs = _ATTRS, config_settings = platform_settings("//platforms:android_arm64"))

# A stub for one platform, with its skeletons in the same directory.
def _for_its_target_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, [_SKELETON % ("hvx_on_arm64", "hvx_on_arm64")], paths(target[OutputGroupInfo].dsp.to_list()))
    asserts.equals(env, "arm64", target[DnnModelInfo].chip)
    return analysistest.end(env)

_for_its_target_test = analysistest.make(_for_its_target_impl, config_settings = SETTINGS)

def _skeleton_compile_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "--chip=platforms/chips/hexagon_v68.json",
        "--weights=embed",
        "--skeleton",
    ], [arg for arg in arguments(env, "DnnCompile") if arg.partition("=")[0] in _OPTIONS])
    owners = [str(i.owner) for i in analysistest.target_under_test(env)[CcInfo].linking_context.linker_inputs.to_list()]
    asserts.true(env, str(Label("//runtime/fastrpc:skeleton")) in owners, "the skeleton's runtime is not linked: %s" % owners)
    return analysistest.end(env)

_skeleton_compile_test = analysistest.make(_skeleton_compile_impl, config_settings = platform_settings("//platforms:hexagon_v68"))

def _skeleton_link_impl(ctx):
    env = analysistest.begin(ctx)
    links = [a for a in analysistest.target_actions(env) if a.mnemonic == "CppLink"]
    asserts.equals(env, 1, len(links))
    asserts.equals(env, [_SKELETON % ("hvx.skeleton", "hvx")], paths(links[0].outputs.to_list()))
    for flag in ["-Wl,-u,dnn_skel_handle_invoke", "-Wl,-soname,librules_tests_hvx_v68_skel.so"]:
        asserts.true(env, flag in links[0].argv, "%s is not in %s" % (flag, links[0].argv))
    inputs = paths(links[0].inputs.to_list())
    for name in ["rules/tests/libhvx.skeleton.model.", "runtime/fastrpc/libskeleton.", "runtime/libdnn_runtime."]:
        asserts.true(env, [path for path in inputs if path.startswith(name)] != [], "%sa is not in %s" % (name, inputs))
    return analysistest.end(env)

_skeleton_link_test = analysistest.make(_skeleton_link_impl, config_settings = platform_settings("//platforms:hexagon_v68"))

# NAME.tune measures the kernels of the processor.
def _tune_impl(ctx):
    env = analysistest.begin(ctx)
    compiles = [a for a in analysistest.target_actions(env) if a.mnemonic == "DnnCompile"]
    asserts.equals(env, 8, len(compiles))
    for action in compiles:
        asserts.equals(env, [], [arg for arg in action.argv if arg.startswith("--remote") or arg == "--skeleton"])
    return analysistest.end(env)

_tune_test = analysistest.make(_tune_impl, config_settings = SETTINGS)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.message)
    return analysistest.end(env)

_MESSAGE = {"message": attr.string(doc = "Text that the error must contain.")}
_refused_test = analysistest.make(_refused_impl, attrs = _MESSAGE, config_settings = SETTINGS, expect_failure = True)
_on_hexagon_test = analysistest.make(_refused_impl, attrs = _MESSAGE, config_settings = platform_settings("//platforms:hexagon_v68"), expect_failure = True)

def hvx_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    dnn_model(
        name = "hvx",
        src = "data/model.onnx",
        backend = "hvx",
        tags = MANUAL,
    )
    dnn_model(
        name = "hvx_on_arm64",
        src = "data/model.onnx",
        backend = "hvx",
        dsp = ["v68"],
        tags = MANUAL,
        target = "//platforms:linux_arm64",
    )

    # The macro does the same if no toolchain compiles for the DSP.
    dnn_skeleton_rule(
        name = "no_skeleton",
        tags = MANUAL,
    )
    dnn_model_rule(
        name = "hvx_alone",
        src = "data/model.onnx",
        backend = "hvx",
        skeletons = ":no_skeleton",
        tags = MANUAL,
    )

    # Attributes that apply to the processor's model.
    dnn_model(
        name = "hvx_more",
        src = "data/model.onnx",
        backend = select({
            "@platforms//os:android": "cpu",
            "//conditions:default": "hvx",
        }),
        dims = {"N": "1..4"},
        external_data = ["data/weights.bin"],
        pruning = ":by_masks",
        shards = 2,
        tags = MANUAL,
        target_compatible_with = ["@platforms//os:linux"],
        variants = ["//platforms/chips:x86_64_v3"],
        weights = "file",
    )
    _stub_test(
        name = "hvx_x86_64_test",
        chip = "x86_64",
        linkopts = ["-ldl"],
        target_under_test = ":hvx",
        variants = ["x86_64_v3", "x86_64_v4", "x86_64_v4_vnni"],
    )
    _stub_test(
        name = "hvx_attributes_test",
        chip = "x86_64",
        linkopts = ["-ldl"],
        target_under_test = ":hvx_more",
        variants = ["x86_64_v3"],
        weights = "file",
    )
    _stub_test(
        name = "hvx_without_toolchain_test",
        chip = "x86_64",
        linkopts = ["-ldl"],
        made = False,
        target_under_test = ":hvx_alone",
        variants = ["x86_64_v3", "x86_64_v4", "x86_64_v4_vnni"],
    )
    _arm64_test(
        name = "hvx_arm64_test",
        chip = "arm64",
        linkopts = ["-ldl"],
        target_under_test = ":hvx",
        variants = ["arm64_dotprod"],
    )
    _android_test(
        name = "hvx_android_test",
        chip = "arm64",
        target_under_test = ":hvx",
        variants = ["arm64_dotprod"],
    )
    _for_its_target_test(
        name = "hvx_target_test",
        target_under_test = ":hvx_on_arm64",
    )
    _skeleton_compile_test(
        name = "hvx_skeleton_compile_test",
        target_under_test = ":hvx.skeleton.model",
    )
    _skeleton_link_test(
        name = "hvx_skeleton_link_test",
        target_under_test = ":hvx.skeleton",
    )
    _refused_test(
        name = "hvx_bench_test",
        message = "runs them on a DSP, which does not report their times",
        target_under_test = ":hvx_bench.served",
    )
    _tune_test(
        name = "hvx_tune_test",
        target_under_test = ":hvx.tune.programs",
    )
    _on_hexagon_test(
        name = "hvx_on_hexagon_test",
        message = "is a DSP and supports only models without backend: leave backend out",
        target_under_test = ":hvx",
    )
    native.test_suite(
        name = name,
        tests = [
            ":hvx_android_test",
            ":hvx_arm64_test",
            ":hvx_attributes_test",
            ":hvx_bench_test",
            ":hvx_on_hexagon_test",
            ":hvx_skeleton_compile_test",
            ":hvx_skeleton_link_test",
            ":hvx_target_test",
            ":hvx_tune_test",
            ":hvx_without_toolchain_test",
            ":hvx_x86_64_test",
        ],
    )
