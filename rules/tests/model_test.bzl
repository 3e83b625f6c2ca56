"""Tests of dnn_model without a target."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:defs.bzl", "DnnModelInfo", "dnn_import", "dnn_model")
load(":fixtures.bzl", "MANUAL", "SETTINGS", "arguments", "only_action", "paths", "platform_settings")

_HERE = "rules/tests/"

def _graph_command_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "graph",
        "--src=rules/tests/data/model.onnx",
        "--external=more/weights.bin=rules/tests/data/more/weights.bin",
        "--external=weights.bin=rules/tests/data/weights.bin",
        "--dim=H=224",
        "--dim=N=1..64",
        "--dim=W=1..",
        "--out=rules/tests/full/net.graph.txt",
        "--out-consts=rules/tests/full/net.consts",
        "-disable=anchors",
    ], arguments(env, "DnnGraph"))
    return analysistest.end(env)

_graph_command_test = analysistest.make(_graph_command_impl, config_settings = SETTINGS)

def _compile_command_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "compile",
        "--graph=rules/tests/full/net.graph.txt",
        "--consts=rules/tests/full/net.consts",
        "--src=rules/tests/data/model.onnx",
        "--external=more/weights.bin=rules/tests/data/more/weights.bin",
        "--external=weights.bin=rules/tests/data/weights.bin",
        "--chip=platforms/chips/x86_64_v3.json",
        "--api=net",
        "--prefix=my_net",
        "--namespace=my::net",
        "--weights=file",
        "--shards=3",
        "--out-header=rules/tests/full/include/rules/tests/net.h",
        "--out-kernels=rules/tests/full/net.kernels",
        "--out-weights=rules/tests/full/net.weights",
        "--out-manifest=rules/tests/full/net.manifest.json",
        "--warnings=print",
        "--accept=baseline",
        "-disable=anchors",
    ], arguments(env, "DnnCompile"))
    return analysistest.end(env)

_compile_command_test = analysistest.make(
    _compile_command_impl,
    config_settings = platform_settings("//platforms:linux_x86_64_v3"),
)

def _default_command_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "compile",
        "--graph=rules/tests/plain/plain.graph.txt",
        "--consts=rules/tests/plain/plain.consts",
        "--src=rules/tests/data/model.onnx",
        "--chip=platforms/chips/arm64.json",
        "--api=plain",
        "--prefix=rules_tests_plain",
        "--namespace=rules_tests_plain",
        "--weights=embed",
        "--shards=8",
        "--out-header=rules/tests/plain/include/rules/tests/plain.h",
        "--out-kernels=rules/tests/plain/plain.kernels",
        "--out-weights=rules/tests/plain/plain.weights",
        "--out-weights-asm=rules/tests/plain/plain.weights.S",
        "--out-manifest=rules/tests/plain/plain.manifest.json",
        "--variant=platforms/chips/arm64_dotprod.json",
        "--out-variant=rules/tests/plain/plain.kernels.arm64_dotprod",
        "--warnings=print",
        "--accept=baseline",
    ], arguments(env, "DnnCompile"))
    return analysistest.end(env)

_default_command_test = analysistest.make(
    _default_command_impl,
    config_settings = platform_settings("//platforms:android_arm64"),
)

def _variants_impl(ctx):
    env = analysistest.begin(ctx)
    argv = arguments(env, "DnnCompile")
    found = [arg for arg in argv if arg.startswith("--chip=") or arg.startswith("--variant=") or arg.startswith("--out-variant=")]
    asserts.equals(env, ctx.attr.want, found)
    names = [arg.partition("platforms/chips/")[2].removesuffix(".json") for arg in found if arg.startswith("--variant=")]
    asserts.equals(env, names, analysistest.target_under_test(env)[DnnModelInfo].variants)
    return analysistest.end(env)

_WANT = {"want": attr.string_list(doc = "The chips in DnnCompile's arguments, in order.")}

_variants_test = analysistest.make(_variants_impl, attrs = _WANT, config_settings = SETTINGS)

_variants_arm64_test = analysistest.make(
    _variants_impl,
    attrs = _WANT,
    config_settings = platform_settings("//platforms:linux_arm64"),
)

_variants_zen4_test = analysistest.make(
    _variants_impl,
    attrs = _WANT,
    config_settings = platform_settings("//platforms:linux_x86_64_zen4"),
)

def _chip(name):
    return "--chip=platforms/chips/%s.json" % name

def _variant(model, name):
    return ["--variant=platforms/chips/%s.json" % name, "--out-variant=rules/tests/%s/%s.kernels.%s" % (model, model, name)]

# The chips that a library has kernels for. By default they are the variants of the platform's chip.
_VARIANTS = {
    "arm64": (_variants_arm64_test, "plain", [_chip("arm64")] + _variant("plain", "arm64_dotprod")),
    "baseline_alone": (_variants_test, "of_one_chip", [_chip("x86_64")]),
    "default": (_variants_test, "plain", [_chip("x86_64")] + _variant("plain", "x86_64_v3") + _variant("plain", "x86_64_v4") + _variant("plain", "x86_64_v4_vnni")),
    "given": (_variants_test, "of_two_chips", [_chip("x86_64")] + _variant("of_two_chips", "x86_64_haswell")),
    "processor": (_variants_zen4_test, "plain", [_chip("x86_64_zen4")]),
}

def _warnings_impl(ctx):
    env = analysistest.begin(ctx)
    argv = arguments(env, "DnnCompile")
    asserts.true(env, "--warnings=error" in argv, "%s" % argv)
    asserts.false(env, "--accept=baseline" in argv, "%s" % argv)
    return analysistest.end(env)

_warnings_test = analysistest.make(
    _warnings_impl,
    config_settings = SETTINGS | {
        "//command_line_option:compilation_mode": "opt",
        str(Label("//rules:warnings")): "error",
    },
)

def _observe_impl(ctx):
    env = analysistest.begin(ctx)
    argv = arguments(env, "DnnCompile")
    asserts.equals(env, ctx.attr.observes, "--observe" in argv, "%s" % argv)
    return analysistest.end(env)

_observe_attrs = {"observes": attr.bool()}

_observe_test = analysistest.make(
    _observe_impl,
    attrs = _observe_attrs,
    config_settings = SETTINGS | {str(Label("//rules:observe")): True},
)

_unobserved_test = analysistest.make(_observe_impl, attrs = _observe_attrs, config_settings = SETTINGS)

def _hermetic_impl(ctx):
    env = analysistest.begin(ctx)
    for mnemonic in ["DnnGraph", "DnnCompile"]:
        action = only_action(env, mnemonic)
        asserts.true(env, action.argv[0].endswith("/rules/tests/fake/fake_/fake"), "%s runs %s" % (mnemonic, action.argv[0]))
        asserts.equals(env, {}, action.env)

        # The command line names all inputs except the compiler and its runfiles.
        for file in action.inputs.to_list():
            known = "rules/tests/fake" in file.path or "_middlemen" in file.path or any([file.path in arg for arg in action.argv])
            asserts.true(env, known, "%s reads %s" % (mnemonic, file.path))
    chips = [file for file in only_action(env, "DnnGraph").inputs.to_list() if "chips" in file.path]
    asserts.equals(env, [], chips, "DnnGraph sees the chip: platforms would not share it")
    return analysistest.end(env)

_hermetic_test = analysistest.make(_hermetic_impl, config_settings = SETTINGS)

def _providers_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    info = target[DnnModelInfo]
    asserts.equals(env, "cpu", info.backend)
    asserts.equals(env, "x86_64", info.chip)
    asserts.equals(env, "rules_tests_plain", info.c_prefix)
    asserts.equals(env, "rules/tests/plain.h", info.include)
    asserts.equals(env, _HERE + "libplain.a", info.library.short_path)
    asserts.equals(env, _HERE + "plain/include/rules/tests/plain.h", info.header.short_path)
    asserts.equals(env, _HERE + "plain/plain.manifest.json", info.manifest.short_path)
    asserts.equals(env, _HERE + "plain/plain.weights", info.weights.short_path)
    asserts.equals(env, [
        _HERE + "plain/include/rules/tests/plain.h",
        _HERE + "plain/plain.kernels",
        _HERE + "plain/plain.kernels.x86_64_v3",
        _HERE + "plain/plain.kernels.x86_64_v4",
        _HERE + "plain/plain.kernels.x86_64_v4_vnni",
        _HERE + "plain/plain.weights.S",
    ], paths(info.sources.to_list()))
    asserts.equals(env, ["x86_64_v3", "x86_64_v4", "x86_64_v4_vnni"], info.variants)

    asserts.equals(env, paths([info.library, info.header, info.manifest]), paths(target[DefaultInfo].files.to_list()))
    asserts.equals(env, [], target[DefaultInfo].default_runfiles.files.to_list())

    compilation = target[CcInfo].compilation_context
    asserts.true(env, info.header in compilation.headers.to_list())
    asserts.true(
        env,
        info.header.path[:-len("/" + info.include)] in compilation.quote_includes.to_list(),
        "the header cannot be included as " + info.include,
    )
    inputs = target[CcInfo].linking_context.linker_inputs.to_list()
    asserts.equals(env, [Label(":plain"), Label("//runtime:dnn_runtime")], [i.owner for i in inputs])
    return analysistest.end(env)

_providers_test = analysistest.make(_providers_impl, config_settings = SETTINGS)

def _output_groups_impl(ctx):
    env = analysistest.begin(ctx)
    groups = analysistest.target_under_test(env)[OutputGroupInfo]
    asserts.equals(env, [_HERE + "plain/plain.manifest.json"], paths(groups.manifest.to_list()))
    asserts.equals(env, [_HERE + "plain/plain.weights"], paths(groups.weights.to_list()))
    asserts.equals(env, 6, len(groups.sources.to_list()))
    asserts.equals(env, [], groups.dump.to_list())
    return analysistest.end(env)

_output_groups_test = analysistest.make(_output_groups_impl, config_settings = SETTINGS)

def _dump_impl(ctx):
    env = analysistest.begin(ctx)
    groups = analysistest.target_under_test(env)[OutputGroupInfo]
    want = {"DnnCompile": _HERE + "dumping/dumping.dump/compile", "DnnGraph": _HERE + "dumping/dumping.dump/graph"}
    asserts.equals(env, sorted(want.values()), paths(groups.dump.to_list()))
    for mnemonic, path in want.items():
        argv = arguments(env, mnemonic)
        asserts.true(env, "--dump-dir=" + path in argv, "no directory in %s" % argv)
        asserts.true(env, "-dump=fuse" in argv, "no -dump in %s" % argv)
    return analysistest.end(env)

_dump_test = analysistest.make(_dump_impl, config_settings = SETTINGS)

def _weights_file_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    weights = target[DnnModelInfo].weights
    asserts.true(env, weights in target[DefaultInfo].files.to_list())
    asserts.equals(env, [weights], target[DefaultInfo].default_runfiles.files.to_list())
    asserts.equals(env, [], [f for f in target[DnnModelInfo].sources.to_list() if f.extension == "S"])
    return analysistest.end(env)

_weights_file_test = analysistest.make(_weights_file_impl, config_settings = SETTINGS)

def _kernel_flags_impl(ctx):
    env = analysistest.begin(ctx)
    compiled = [a for a in analysistest.target_actions(env) if a.mnemonic == "CppCompile"]

    # Bazel declares the actions of kernels when it has the directory. Only the assembly's is here.
    asserts.equals(env, 1, len(compiled))
    argv = compiled[0].argv
    asserts.false(env, "-O3" in argv, "flags of kernels are given to other files: %s" % argv)
    weights = [f.basename for f in compiled[0].inputs.to_list() if f.extension == "weights"]
    asserts.equals(env, ["plain.weights"], weights)
    asserts.true(env, any([arg.startswith("-I") and arg.endswith(_HERE + "plain") for arg in argv]), "the assembler does not find the weights: %s" % argv)
    return analysistest.end(env)

_kernel_flags_test = analysistest.make(
    _kernel_flags_impl,
    config_settings = SETTINGS | {"//command_line_option:compilation_mode": "dbg"},
)

def _imported_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [], [a for a in analysistest.target_actions(env) if a.mnemonic == "DnnGraph"])
    argv = arguments(env, "DnnCompile")
    for want in [
        "--graph=rules/tests/imported/imported.graph.txt",
        "--consts=rules/tests/imported/imported.consts",
        "--src=rules/tests/data/model.onnx",
        "--external=weights.bin=rules/tests/data/weights.bin",
    ]:
        asserts.true(env, want in argv, "%s is not in %s" % (want, argv))
    return analysistest.end(env)

_imported_test = analysistest.make(_imported_impl, config_settings = SETTINGS)

def _import_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.equals(env, [
        "graph",
        "--src=rules/tests/data/model.onnx",
        "--external=weights.bin=rules/tests/data/weights.bin",
        "--dim=N=1..64",
        "--out=rules/tests/imported/imported.graph.txt",
        "--out-consts=rules/tests/imported/imported.consts",
    ], arguments(env, "DnnGraph"))
    return analysistest.end(env)

_import_test = analysistest.make(_import_impl, config_settings = SETTINGS)

def _select_impl(ctx):
    env = analysistest.begin(ctx)
    argv = arguments(env, "DnnCompile")
    for want in ctx.attr.want:
        asserts.true(env, want in argv, "%s is not in %s" % (want, argv))
    return analysistest.end(env)

_SELECT_ATTRS = {"want": attr.string_list(doc = "Arguments of DnnCompile.")}

_select_arm64_test = analysistest.make(
    _select_impl,
    attrs = _SELECT_ATTRS,
    config_settings = platform_settings("//platforms:linux_arm64"),
)
_select_x86_64_test = analysistest.make(_select_impl, attrs = _SELECT_ATTRS, config_settings = SETTINGS)

def _for_cpu(arm64, other):
    return select({"@platforms//cpu:arm64": arm64, "//conditions:default": other})

def _fixtures():
    dnn_model(name = "plain", src = "data/model.onnx", tags = MANUAL)
    dnn_model(
        name = "full",
        src = "data/model.onnx",
        api = "net",
        c_prefix = "my_net",
        cpp_namespace = "my::net",
        dims = {"N": "1..64", "H": 224, "W": "1.."},
        dnnc_opts = ["-disable=anchors"],
        external_data = ["data/more/weights.bin", "data/weights.bin"],
        shards = 3,
        tags = MANUAL,
        weights = "file",
    )
    dnn_model(name = "dumping", src = "data/model.onnx", dnnc_opts = ["-dump=fuse"], tags = MANUAL)
    dnn_import(
        name = "imported",
        src = "data/model.onnx",
        dims = {"N": "1..64"},
        external_data = ["data/weights.bin"],
        tags = MANUAL,
    )
    dnn_model(name = "of_import", src = ":imported", tags = MANUAL)
    dnn_model(name = "of_one_chip", src = "data/model.onnx", tags = MANUAL, variants = [])
    dnn_model(name = "of_two_chips", src = "data/model.onnx", tags = MANUAL, variants = ["//platforms/chips:x86_64_haswell"])
    dnn_model(
        name = "selected",
        src = _for_cpu("data/model.onnx", ":imported"),
        accumulation = _for_cpu("fp16", "fp32"),
        api = _for_cpu("small", "large"),
        backend = _for_cpu("cpu", "cpu"),
        c_prefix = _for_cpu("s", None),
        calibration = _for_cpu("data/images.bin", None),
        cpp_namespace = _for_cpu(None, "l"),
        dims = _for_cpu({"N": "1"}, {}),
        dnnc_opts = _for_cpu(["-a"], ["-b"]),
        exec_properties = _for_cpu({"dnnc.cores": "2"}, {}),
        external_data = _for_cpu(["data/weights.bin"], []),
        precision = _for_cpu("fp16", "fp32"),
        pruning = _for_cpu(None, None),
        shards = _for_cpu(1, 2),
        tags = MANUAL,
        target_compatible_with = _for_cpu([], ["@platforms//os:linux"]),
        variants = _for_cpu([], []),
        weights = _for_cpu("embed", "file"),
    )

def model_test_suite(name):
    """Declares the tests.

    Args:
      name: name of the suite.
    """
    _fixtures()
    tests = {
        "compile_command": (_compile_command_test, ":full"),
        "default_command": (_default_command_test, ":plain"),
        "dump": (_dump_test, ":dumping"),
        "graph_command": (_graph_command_test, ":full"),
        "hermetic": (_hermetic_test, ":full"),
        "import": (_import_test, ":imported"),
        "imported": (_imported_test, ":of_import"),
        "kernel_flags": (_kernel_flags_test, ":plain"),
        "output_groups": (_output_groups_test, ":plain"),
        "providers": (_providers_test, ":plain"),
        "warnings": (_warnings_test, ":plain"),
        "weights_file": (_weights_file_test, ":full"),
    }
    for test, (rule, target) in tests.items():
        rule(name = "model_%s_test" % test, target_under_test = target)
    _observe_test(name = "model_observe_test", target_under_test = ":plain", observes = True)
    _unobserved_test(name = "model_unobserved_test", target_under_test = ":plain", observes = False)
    for test, (rule, target, want) in _VARIANTS.items():
        rule(name = "model_variants_%s_test" % test, target_under_test = ":" + target, want = want)
    _select_arm64_test(
        name = "model_select_arm64_test",
        target_under_test = ":selected",
        want = ["--src=rules/tests/data/model.onnx", "--graph=rules/tests/selected/small.graph.txt", "--api=small", "--prefix=s", "--namespace=s", "--shards=1", "--precision=fp16", "--accumulation=fp16", "--calibration=rules/tests/data/images.bin", "-a", "--weights=embed"],
    )
    _select_x86_64_test(
        name = "model_select_x86_64_test",
        target_under_test = ":selected",
        want = ["--graph=rules/tests/imported/imported.graph.txt", "--api=large", "--prefix=rules_tests_large", "--namespace=l", "--shards=2", "-b", "--weights=file"],
    )
    native.test_suite(
        name = name,
        tests = [":model_%s_test" % test for test in tests.keys() + ["observe", "select_arm64", "select_x86_64", "unobserved"] + ["variants_" + test for test in _VARIANTS]],
    )
