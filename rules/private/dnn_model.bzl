"""dnn_model: a network as a C++ library."""

load(":check.bzl", "dims_as_text")
load(":dnn_bench.bzl", "dnn_bench")
load(":dnn_benchmark.bzl", "dnn_benchmark")
load(":dnn_skeleton.bzl", "dnn_skeleton_rule")
load(":dnn_tuner.bzl", "dnn_tuner")
load(":model_rule.bzl", "dnn_model_rule")
load(":target_rule.bzl", "dnn_model_for_its_target_only")

# Attributes of both targets that the macro declares if target is set.
_SHARED = ["compatible_with", "restricted_to", "target_compatible_with", "testonly"]

# Attributes of compiling. Only the target that compiles the network takes them.
_COMPILING = ["exec_compatible_with", "exec_properties", "features", "toolchains"]

# Attributes that affect only the processor's kernels. A skeleton library does not take them.
_OF_PROCESSOR = ["backend", "chip_variants", "device", "dsp", "dsp_is_set", "tuning", "variants", "weights"]

def _skeleton(name, model, tags, shared):
    """Declares a model's skeleton library.

    It is compiled only if a C++ toolchain builds for the DSP.
    """
    shared = {key: value for key, value in shared.items() if key in ["testonly"] + _COMPILING}  # others restrict the processor's platforms
    dnn_model_rule(
        name = name + ".model",
        skeleton = True,
        tags = (tags or []) + ["manual"],
        visibility = ["//visibility:private"],
        **({key: value for key, value in model.items() if key not in _OF_PROCESSOR} | shared)
    )
    dnn_skeleton_rule(
        name = name,
        model = select({
            Label("//rules/toolchain:has_cc"): ":%s.model" % name,
            "//conditions:default": None,
        }),
        tags = (tags or []) + ["manual"],
        visibility = ["//visibility:private"],
        **{key: shared[key] for key in ["features", "testonly"] if key in shared}
    )

def dnn_model(
        name,
        src,
        target = None,
        backend = "cpu",
        device = None,
        pruning = None,
        accumulation = "fp32",
        api = None,
        c_prefix = None,
        calibration = None,
        cpp_namespace = None,
        dims = None,
        dnnc_opts = None,
        dsp = None,
        external_data = None,
        precision = "fp32",
        shards = None,
        tuning = None,
        variants = None,
        visibility = None,
        weights = None,
        tags = None,
        **kwargs):
    """Compiles a network to a C++ library.

    Without target, NAME is built for the platform of the binary that links it, like a cc_library.
    With target, every build compiles NAME for that platform and puts its files into
    bazel-bin/PACKAGE/NAME/; only binaries for that platform can link it. Every attribute except
    name, tags and visibility accepts select().

    `bazel run -c opt NAME_bench` measures the model on the machine that runs the command,
    whatever its target. Built with --platforms, NAME_bench is a program for another machine.

    `bazel run -c opt NAME.tune` measures several kernels of each block on the machine that runs
    the command. It writes times to the record NAME.tune.json beside the BUILD file, or to the
    file that `tuning` names. Builds measure nothing: if `tuning` names the record, they choose
    kernels by it. The record has times for each chip and each computation of a block. Blocks that
    it does not have are chosen by estimates. With backend = "opencl", a device's blocks are
    measured on the device, by its own clocks, and recorded under the name in `device`'s facts.
    `-- --help` lists options.

    Args:
      name: the target. Sources write `#include "PACKAGE/NAME.h"`.
      src: an .onnx file, or a target with DnnGraphInfo such as a dnn_import.
      target: a platform() to build for: one of @rules_dnn//platforms or your own. Default: the
        platform of the binary that links the model. With a target, the library includes the
        runtime, and can be linked without Bazel.
      backend: "cpu" (the default), "opencl" or "hvx". "opencl": an OpenCL device runs the model.
        The processor runs blocks that only it supports, or that are estimated to take less time
        on it. create() opens the machine's OpenCL library, and its options choose the device.
        Inputs and outputs may be in OpenCL memory of the application (PREFIX_start). The
        attribute variants is refused. "hvx": a Qualcomm Hexagon DSP runs the model. NAME is a
        stub with the usual API, which calls a skeleton library on the DSP through FastRPC. The
        stub also includes the model for the processor, which runs if no DSP is available and
        create()'s options ask for it. variants, tuning, NAME.tune and weights = "file" apply to
        the processor's model only. precision = "fp16", precision = "bf16" and NAME_bench are
        refused. "opencl" and "hvx" refuse accumulation = "fp16".
      device: for backend = "opencl", a JSON file of facts of the devices to make kernels for,
        such as those in @rules_dnn//platforms/devices. Default: opencl_buffers.json there, for
        any device.
      pruning: a dnn_pruning, which prunes the weights first, without training. The output group
        pruning has the report (JSON, and a page with pictures) and the masks. The processor's
        kernels skip dropped weights unless another kernel is at least 10 % faster, by estimates
        or by the tuning record; with packed of dnn_pruning they always do. Convolutions with
        stride 1 along rows skip each filter's own dropped weights. Other layers skip weights that
        are dropped at the same position in all of 8 or 16 neighboring filters. The number is 16
        with AVX-512, as in a default build for x86-64.
      accumulation: "fp32" (the default) sums products in f32. "fp16", only with precision = "fp16",
        is for chips with instructions for arithmetic of f16: arm64_fp16, arm64_i8mm and each named
        ARM processor. Their kernels multiply and add in f16: blocks of up to 128 products, and then
        the sums of the blocks. Other operators whose operands are all f16, such as additions and
        sigmoids, compute in f16, too. A number beyond 65504 becomes
        infinite, and results are less exact: check the accuracy on your own data. If the library
        has variants, other chips compute and sum in f32. It is an error if no chip of the library
        has such instructions, or with backend = "opencl" or "hvx". The manifest has the type of
        sums, and the number of steps that add in f16 (precision).
      api: name of the header, without .h. Default: name. Targets with the same api have the same
        headers, C names and namespaces, so a select() may choose among them.
      c_prefix: prefix of the C names. Default: package and api, such as app_model for //app:model.
      calibration: for precision = "fp16", a safetensors file of inputs, by the names of the
        model's inputs. Their first dimension may be larger than the model takes. The build runs
        the network on them in the interpreter. A value stays in f32 if its numbers exceed half of
        f16's range; the other half is a margin for other inputs. Values computed from it stay in
        f32, too, up to the next one that is known to be in range. The build warns of them
        (range), and the manifest lists them. Without calibration, the compiler knows only bounds
        that follow from constants, integers of at most 16 bits and bounded functions.
      cpp_namespace: namespace of the C++ wrapper. Default: c_prefix.
      dims: numbers or ranges for symbols of the model's shapes, as in {"N": "1..64", "H": "224"}.
        Without a bound, or with "1..", a symbol may be any number from 1.
      dnnc_opts: additional options for dnnc, such as ["-disable=anchors"]. With -dump=PASS, the
        output group dump has the IR after that pass. --accept=KIND accepts warnings of a kind.
      dsp: for backend = "hvx", Hexagon versions to build skeleton libraries for, as in ["v68",
        "v73"]. A DSP loads the most capable one that it can run. The libraries, each
        libPREFIX_VERSION_skel.so, are the output group dsp, and runfiles of binaries that link
        NAME. Default: ["v68"], which all later versions can run.
      external_data: files of the ONNX model's external data, in the directories that the model
        names.
      precision: "fp32" (the default) keeps the network's own types. "fp16" stores f32 values and
        weights in 16 bits, half the memory, and computes and sums in f32 unless accumulation is
        "fp16". Inputs and outputs keep their types. Small weights of a node and weights of
        depthwise convolutions may be packed as f32. These values stay in f32: values that 16 bits
        cannot represent; inputs that are only added, such as masks; squares of numbers of unknown
        size; and values that `calibration` shows to leave the range. The manifest lists them with
        the reasons (precision). Unless accumulation is "fp16", no finite number becomes infinite: a
        result outside the range becomes its limit, 65504. Infinities and NaNs stay, and f16 values
        of the network itself follow ONNX. "bf16" is the same with bf16, which has f32's range and 8
        binary digits. If all chips of the library have instructions that multiply pairs of bf16 and
        sum in f32, kernels use them, also for a network whose own floats are bf16. Such chips are
        x86_64_zen4 and x86_64_zen5 (AVX512-BF16), x86_64_sapphire_rapids (AMX), and arm64_i8mm,
        arm64_neoverse_v1 and arm64_neoverse_v2 (FEAT_BF16). These instructions sum in a different order, round differently and treat
        denormal numbers as zeros, regardless of keep_denormals. On other chips and with backend =
        "opencl", bf16 is widened to f32. The manifest has the types of storage, products and sums,
        and the number of kernels with such instructions. Quantized networks are refused, because
        their integers are smaller already. With pruning, kernels that skip dropped weights store
        the remaining ones in 16 bits, widen them to f32, and use no instructions for pairs of bf16.
        With pruning and backend = "opencl", "fp16" and "bf16" are refused, because OpenCL kernels
        only skip weights of f32.
      shards: the number of C++ files that the kernels are split into, 1 to 256. Bazel compiles
        them in parallel. Default: 8.
      tuning: the record that NAME.tune wrote. A record that has only one chip, or device, is an
        error if the model is built for a different one: use select(), or run NAME.tune on each.
      variants: dnn_chips that the library has kernels for besides the platform's chip, the least
        capable first. create() chooses the last one whose instructions the processor has, or the
        one that its options or DNN_VARIANT name. Default: the variants of the platform's chip.
        For an x86-64 platform without a level or processor they are x86_64_v3, x86_64_v4 and
        x86_64_v4_vnni; for 64-bit ARM, arm64_dotprod. With [] the library has kernels for the
        platform's chip only.
      visibility: visibility of NAME.
      weights: "embed" (the default): the library embeds the weights. "file": the weights are a
        file, which is in the runfiles of binaries that link the library. The program passes its
        path to create().
      tags: tags of NAME.
      **kwargs: attributes common to all rules.
    """
    model = dict(
        accumulation = accumulation,
        api = api,
        backend = backend,
        c_prefix = c_prefix,
        calibration = calibration,
        chip_variants = variants == None,
        cpp_namespace = cpp_namespace,
        default_api = name,
        device = device,
        dims = dims_as_text(dims),
        dnnc_opts = dnnc_opts,
        dsp = dsp,
        dsp_is_set = dsp != None,
        external_data = external_data,
        precision = precision,
        pruning = pruning,
        shards = shards,
        src = src,
        tuning = tuning,
        variants = variants,
        weights = weights,
    )
    shared = {key: kwargs[key] for key in _SHARED + _COMPILING if key in kwargs}
    both = {key: kwargs[key] for key in _SHARED if key in kwargs}
    followed = ":" + name if target == None else ":%s.model" % name
    dnn_benchmark(
        name = name + ("_bench" if target == None else "_bench.program"),
        model = followed,
        tags = (tags or []) + ["manual"],
        visibility = ["//visibility:private"],
        **both
    )
    if target != None:
        dnn_bench(
            name = name + "_bench",
            model = name,
            tags = (tags or []) + ["manual"],
            target = target,
            visibility = ["//visibility:private"],
            **both
        )
    dnn_tuner(
        name = name + ".tune",
        model = followed,
        shared = both,
        shown = name,
        tags = (tags or []) + ["manual"],
        target = target,
        tuning = tuning,
        visibility = ["//visibility:private"],
        **{key: shared[key] for key in _COMPILING if key in shared}
    )
    if backend not in ["cpu", "opencl"]:  # "hvx", or a select() that may be
        _skeleton(name + ".skeleton", model, tags, shared)
        model["skeletons"] = ":%s.skeleton" % name
    if target == None:
        dnn_model_rule(
            name = name,
            tags = tags,
            visibility = visibility,
            **(model | kwargs)
        )
        return
    dnn_model_rule(
        name = name + ".model",
        tags = (tags or []) + ["manual"],
        visibility = ["//visibility:private"],
        **(model | shared)
    )
    dnn_model_for_its_target_only(
        name = name,
        model = ":%s.model" % name,
        tags = tags,
        target = target,
        visibility = visibility,
        **{key: value for key, value in kwargs.items() if key not in _COMPILING}
    )
