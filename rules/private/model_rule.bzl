"""The rule behind dnn_model. It compiles a network for the platform of its configuration."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@rules_cc//cc:find_cc_toolchain.bzl", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")
load("//rules:providers.bzl", "DnnChipInfo", "DnnGraphInfo", "DnnModelInfo", "DnnPruningInfo")
load(":actions.bzl", "DNNC_EXEC_GROUPS", "run_compile", "run_graph")
load(":cc.bzl", "archive_with", "compile_and_link")
load(":cc_found.bzl", "check_cc_toolchain")
load(":check.bzl", "check_accumulation", "check_api", "check_backend", "check_bare", "check_device", "check_dims", "check_external", "check_options", "check_precision", "check_remote", "check_shards", "check_src", "check_variants")
load(":dnn_chip.bzl", "CHIP_TYPE")
load(":dnn_skeleton.bzl", "REMOTE_ATTRS", "skeletons_of")
load(":names.bzl", "c_prefix")
load(":private_info.bzl", "BuiltForInfo", "ModelPartsInfo")
load(":runtimes.bzl", "RUNTIME_ATTRS")

def _names(ctx):
    api = ctx.attr.api or ctx.attr.default_api or ctx.label.name
    prefix = ctx.attr.c_prefix or c_prefix(ctx.label.package, api)
    namespace = ctx.attr.cpp_namespace or prefix
    check_api(api, prefix, namespace)
    return struct(
        api = api,
        prefix = prefix,
        namespace = namespace,
        base = "%s/%s" % (ctx.label.name, api),
        include_dir = ctx.label.name + "/include",
        include = "%s/%s.h" % (ctx.label.package, api) if ctx.label.package else api + ".h",
    )

def _chip(ctx):
    toolchain = ctx.toolchains[CHIP_TYPE]
    if not toolchain:
        fail(("\nno chip is known for the platform %s: declare one with dnn_chip(name, facts, constraints), " +
              "with constraints of this platform, and call register_toolchains(\"//PACKAGE:NAME_toolchain\") in MODULE.bazel; " +
              "rules_dnn has chips for @platforms//cpu:x86_64 and @platforms//cpu:arm64") % ctx.fragments.platform.platform)
    return toolchain.chip_info

def _variants(ctx, chip):
    """Returns DnnChipInfos of additional chips to make kernels for: [] for OpenCL and skeletons."""
    if ctx.attr.backend == "opencl" or ctx.attr.skeleton:
        return []
    variants = chip.variants if ctx.attr.chip_variants else [target[DnnChipInfo] for target in ctx.attr.variants]
    check_variants(chip, variants)
    return variants

def _graph(ctx, base):
    """Returns the network from here or from src, directories with dumps, and reports of pruning."""
    if DnnGraphInfo in ctx.attr.src:
        for name in ["dims", "external_data", "pruning"]:
            if getattr(ctx.attr, name):
                fail("\n%s is set, but src is %s, which reads the ONNX model: set %s there" % (name, ctx.attr.src.label, name))
        return ctx.attr.src[DnnGraphInfo], [], []
    src = check_src(ctx.attr.src.label, ctx.files.src)
    return run_graph(
        ctx,
        base,
        src = src,
        external = check_external(ctx.files.external_data, src),
        dims = ctx.attr.dims,
        options = ctx.attr.dnnc_opts,
        pruning = ctx.attr.pruning[DnnPruningInfo] if ctx.attr.pruning else None,
    )

def _bare(ctx):
    """Reports whether the model is built for a DSP platform. Its kernels are then in C."""
    bare = ctx.target_platform_has_constraint(ctx.attr._hexagon[platform_common.ConstraintValueInfo])
    if bare:
        check_bare(ctx.attr.backend, ctx.fragments.platform.platform)
    return bare

def _device(ctx):
    """Returns the File of the device's facts, or None."""
    if ctx.attr.backend != "opencl":
        return None
    return ctx.file.device or ctx.file._device

def _runtime(ctx):
    """Returns the CcInfo of the runtime that the model is linked with."""
    if ctx.attr.skeleton:
        return ctx.attr._skeleton[CcInfo]
    return {"hvx": ctx.attr._fastrpc, "opencl": ctx.attr._opencl}.get(ctx.attr.backend, ctx.attr._runtime)[CcInfo]

def _check(ctx):
    check_backend(ctx.attr.backend)
    check_device(ctx.attr.backend, ctx.attr.device, [] if ctx.attr.chip_variants else ctx.attr.variants)
    check_precision(ctx.attr.precision, ctx.attr.pruning, ctx.attr.backend, ctx.attr.calibration)
    check_accumulation(ctx.attr.accumulation, ctx.attr.precision, ctx.attr.backend)
    check_shards(ctx.attr.shards)
    check_dims(ctx.attr.dims)
    check_options(ctx.attr.dnnc_opts)

def _dnn_model_impl(ctx):
    _check(ctx)
    check_cc_toolchain(ctx)
    names = _names(ctx)
    chip = _chip(ctx)
    bare = _bare(ctx)
    check_remote(ctx.attr)
    skeletons, made_skeletons = skeletons_of(ctx, names.prefix)
    variants = _variants(ctx, chip)
    graph, graph_dumps, pruned = _graph(ctx, names.base)
    header = ctx.actions.declare_file("%s/%s" % (names.include_dir, names.include))
    files, compile_dumps = run_compile(
        ctx,
        names.base,
        graph = graph,
        chip = chip,
        api = names.api,
        prefix = names.prefix,
        namespace = names.namespace,
        header = header,
        embed = ctx.attr.weights == "embed",
        remote = sorted(ctx.attr.dsp) if ctx.attr.backend == "hvx" else [],
        skeleton = ctx.attr.skeleton,
        observe = ctx.attr._observe[BuildSettingInfo].value and ctx.attr.backend != "hvx" and not ctx.attr.skeleton,
        shards = ctx.attr.shards,
        options = ctx.attr.dnnc_opts,
        tuning = ctx.file.tuning,
        variants = variants,
        warnings = ctx.attr._warnings[BuildSettingInfo].value,
        device = _device(ctx),
        precision = ctx.attr.precision,
        accumulation = ctx.attr.accumulation,
        calibration = ctx.file.calibration,
        c = bare,
    )
    runtime = _runtime(ctx)
    cc_info, library, objects = compile_and_link(
        ctx,
        ctx.label.name,
        header = header,
        include_dir = header.path[:-len(names.include) - 1],
        kernels = files.kernels,
        copts = chip.copts,
        assembly = files.assembly,
        weights = files.weights,
        runtime = runtime,
        variants = files.variants,
        kernels_c = files.kernels_c,
    )
    archive = archive_with(ctx, ctx.label.name + ".archive", objects, runtime)
    loaded = [] if files.assembly else [files.weights]
    sources = depset([header, files.kernels] + [variant.kernels for variant in files.variants] + [file for file in [files.kernels_c, files.assembly, files.device_source] if file])
    return [
        DefaultInfo(
            files = depset([library, header, files.manifest] + loaded),
            runfiles = ctx.runfiles(files = loaded + made_skeletons),
        ),
        cc_info,
        BuiltForInfo(
            archive = archive,
            loaded = loaded,
            platform = ctx.fragments.platform.platform,
            refusal = None,
        ),
        DnnModelInfo(
            backend = ctx.attr.backend,
            c_prefix = names.prefix,
            chip = chip.name,
            header = header,
            include = names.include,
            library = library,
            manifest = files.manifest,
            sources = sources,
            variants = [variant.name for variant in variants],
            weights = files.weights,
        ),
        ModelPartsInfo(
            accumulation = ctx.attr.accumulation,
            api = names.api,
            c_prefix = names.prefix,
            calibration = ctx.file.calibration,
            chip = chip,
            device = _device(ctx),
            graph = graph,
            namespace = names.namespace,
            options = ctx.attr.dnnc_opts,
            precision = ctx.attr.precision,
            shards = ctx.attr.shards,
            variants = variants,
        ),
        OutputGroupInfo(
            archive = depset([archive]),
            dsp = depset(skeletons),
            dump = depset(graph_dumps + compile_dumps),
            manifest = depset([files.manifest]),
            pruning = depset(pruned + ([files.page] if files.page else [])),
            sources = sources,
            weights = depset([files.weights]),
        ),
    ]

dnn_model_rule = rule(
    implementation = _dnn_model_impl,
    doc = "Compiles a network for the platform it is built for.",
    attrs = REMOTE_ATTRS | RUNTIME_ATTRS | {
        "accumulation": attr.string(
            default = "fp32",
            doc = "fp32: products are summed in f32. fp16: with precision = \"fp16\", chips with instructions for it multiply and add in f16.",
        ),
        "api": attr.string(
            doc = "Name of the generated header, without .h. Default: the target's name.",
        ),
        "backend": attr.string(
            default = "cpu",
            doc = "cpu: the processor runs the model. opencl: an OpenCL device and the processor do. hvx: a Hexagon DSP does.",
        ),
        "c_prefix": attr.string(
            doc = "Prefix of C names. Default: package and api, with _ for characters that an identifier cannot have.",
        ),
        "calibration": attr.label(
            allow_single_file = True,
            doc = "Inputs that show which values leave the range of precision = \"fp16\".",
        ),
        "chip_variants": attr.bool(
            default = True,
            doc = "Whether to use the variants of the platform's chip instead of the attribute variants.",
        ),
        "cpp_namespace": attr.string(
            doc = "Namespace of the C++ wrapper. Default: c_prefix.",
        ),
        "default_api": attr.string(
            doc = "The name that was passed to the macro. The target's own name may have a suffix.",
        ),
        "device": attr.label(
            allow_single_file = [".json"],
            doc = "Facts of the device for backend = \"opencl\".",
        ),
        "dims": attr.string_dict(
            doc = "Numbers or ranges (\"1..64\", \"1..\") for symbols of the model's shapes.",
        ),
        "dnnc_opts": attr.string_list(
            doc = "Additional options for dnnc, such as -disable=anchors. With -dump=PASS the output group dump has the IR after that pass.",
        ),
        "external_data": attr.label_list(
            allow_files = True,
            doc = "Files of the ONNX model's external data.",
        ),
        "precision": attr.string(
            default = "fp32",
            doc = "fp32: the network's own types. fp16, bf16: f32 values and weights are stored in 16 bits.",
        ),
        "pruning": attr.label(
            doc = "A dnn_pruning, which prunes the weights before the network is compiled.",
            providers = [DnnPruningInfo],
        ),
        "shards": attr.int(
            default = 8,
            doc = "The number of C++ files that the kernels are split into. Bazel compiles them in parallel.",
        ),
        "src": attr.label(
            allow_files = True,
            doc = "An ONNX model, or a target with DnnGraphInfo.",
            mandatory = True,
        ),
        "tuning": attr.label(
            allow_single_file = [".json"],
            doc = "The record that NAME.tune wrote. Kernels are chosen by the times that it has for the chip or device.",
        ),
        "variants": attr.label_list(
            doc = "Additional dnn_chips that the library has kernels for, the least capable first.",
            providers = [DnnChipInfo],
        ),
        "weights": attr.string(
            default = "embed",
            doc = "embed: the library embeds the weights. file: the weights are a file, which the program opens.",
            values = ["embed", "file"],
        ),
        "_device": attr.label(
            allow_single_file = True,
            default = Label("//platforms/devices:opencl_buffers.json"),
        ),
        "_hexagon": attr.label(
            default = Label("//platforms:hexagon"),
            providers = [platform_common.ConstraintValueInfo],
        ),
        "_observe": attr.label(
            default = Label("//rules:observe"),
            providers = [BuildSettingInfo],
        ),
        "_warnings": attr.label(
            default = Label("//rules:warnings"),
            providers = [BuildSettingInfo],
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    fragments = ["cpp", "platform"],
    provides = [BuiltForInfo, CcInfo, DnnModelInfo, ModelPartsInfo],
    toolchains = use_cc_toolchain() + [
        config_common.toolchain_type(CHIP_TYPE, mandatory = False),
    ],
)
