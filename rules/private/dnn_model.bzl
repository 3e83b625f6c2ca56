"""dnn_model: a network as a C++ library."""

load(":check.bzl", "dims_as_text")
load(":dnn_bench.bzl", "dnn_bench")
load(":dnn_benchmark.bzl", "dnn_benchmark")
load(":dnn_skeleton.bzl", "dnn_skeleton_rule")
load(":dnn_tuner.bzl", "dnn_tuner")
load(":model_rule.bzl", "dnn_model_rule")
load(":target_rule.bzl", "dnn_model_for_its_target_only")

# What applies to both targets that the macro makes when there is a platform to build for.
_SHARED = ["compatible_with", "restricted_to", "target_compatible_with", "testonly"]

# What says how and where the network is compiled: it means nothing for the other target.
_COMPILING = ["exec_compatible_with", "exec_properties", "features", "toolchains"]

# What of a model is of its kernels on the processor, and not of those on a DSP.
_OF_PROCESSOR = ["backend", "chip_variants", "device", "dsp", "dsp_is_set", "tuning", "variants", "weights"]

def _skeleton(name, model, tags, shared):
    """Declares a model's skeleton library for the platform that it is built for; nothing compiles it where nothing can."""
    shared = {key: value for key, value in shared.items() if key in ["testonly"] + _COMPILING}  # the rest is of the processor's platforms
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

    Without target, NAME follows the platform it is built for and is linked like a cc_library. With
    target, NAME is built for that platform from anywhere, its files lie in bazel-bin/PACKAGE/NAME/,
    and only what is built for that platform can link it. select() works in every attribute but name, tags and visibility.

    `bazel run -c opt NAME_bench` measures the model on the machine that runs it, whatever its target;
    built with --platforms, NAME_bench is a program for another machine.

    `bazel run -c opt NAME.tune` measures, on the machine that runs it, several kernels of each block, and writes the
    record NAME.tune.json beside the BUILD file, or what `tuning` names. Builds measure nothing: they choose kernels
    by the record, once `tuning` names it. It has times by chip and by what blocks compute: what it does
    not know is chosen by estimates. With backend = "opencl" blocks that a device runs are measured there, by the
    device's clocks, and the record has their times by the name in `device`'s facts. `-- --help` has more.

    Args:
      name: the target. Sources write `#include "PACKAGE/NAME.h"`.
      src: an .onnx file, or a target with DnnGraphInfo, as dnn_import.
      target: a platform() to build for, one of @rules_dnn//platforms or of one's own. Default: the platform
        of what links the model. With a target the library holds its runtime, too, and is linked without Bazel.
      backend: what computes: "cpu", or "opencl": an OpenCL device of the machine that runs the model, and the processor where a block can run
        there only, or is estimated to take less. create() opens the machine's OpenCL library; its options choose the device. Inputs and outputs
        may lie in the application's OpenCL memory (PREFIX_start). variants are of processors, and refused.
        "hvx": a Qualcomm Hexagon DSP, by FastRPC: NAME is a stub with the API of every model, which calls a skeleton library on the DSP, and holds the
        model for the processor, too, which runs it where no DSP does, if create()'s options say so. variants, tuning, NAME.tune and weights = "file" are of
        that one; precision = "fp16" or "bf16" and NAME_bench are refused.
      device: facts of the devices that backend = "opencl" makes kernels for, a JSON file as those of @rules_dnn//platforms/devices.
        Default: opencl_buffers.json there, which is of no device in particular.
      pruning: a dnn_pruning, by which weights are pruned first, without training. The output group pruning holds
        the report (JSON, and a page with pictures) and the masks. Kernels for processors leave out
        weights that were dropped, unless others are faster by a tenth, by estimates or by the tuning record (packed of dnn_pruning: always): those of each filter by itself in convolutions
        of stride 1 along rows; elsewhere those at the same places in all of 8 or 16 neighbouring filters (16 with
        AVX-512, as in a plain build for x86-64).
      api: name of the header, without .h. Default: name. Targets with the same api are alternatives
        for select(): their headers, C names and namespaces are the same.
      c_prefix: what C names begin with. Default: package and api, as in app_model for //app:model.
      calibration: with precision = "fp16", a safetensors file of inputs, by the names of the model's inputs; of the first dimension there may
        be more than the model takes. The build runs the network on them, in the interpreter. A value whose numbers go beyond half of f16's
        range on them, of which other inputs may take the other half, stays f32, as does what computes with it up to the next value that
        is known to be within; the build warns of it (range) and the manifest lists it. Default: none; then only values are known to
        leave the range whose bounds follow from constants, integers of 16 bits and less, and functions with bounds.
      cpp_namespace: namespace of the C++ wrapper. Default: c_prefix.
      dims: numbers or ranges for symbols of the model's shapes, as in {"N": "1..64", "H": "224"}.
        Without a bound, or with "1..", a symbol may be anything from 1.
      dnnc_opts: further options for the compiler, as in ["-disable=anchors"]. With -dump=PASS the
        output group dump holds what the compiler printed; --accept=KIND accepts warnings of a kind.
      dsp: versions of Hexagon that backend = "hvx" has skeleton libraries for, as in ["v68", "v73"]: a DSP takes the most capable that it can run. They
        are the output group dsp, libPREFIX_VERSION_skel.so each, and runfiles of what links NAME. Default: ["v68"], which all later ones run.
      external_data: files that hold the ONNX model's external data, in the folders in which the model names them.
      precision: "fp32" (the default): floats as the network has them. "fp16": values and weights of f32 are stored in 16 bits, half the
        memory, and computed and summed in f32; inputs and outputs keep their types, and weights of which a node has few, and those of
        depthwise convolutions, may be packed as f32. What 16 bits cannot hold stays f32, as do inputs that are only added, such as
        masks, squares of numbers whose size is not known, and what `calibration` shows to leave the range; the manifest lists it with
        the reasons (precision). No finite number becomes infinite: what ends beyond the range becomes its end, 65504; infinities and
        NaNs stay, and f16 that the network itself has is ONNX's. "bf16": the same in bf16, which has f32's range and 8 binary digits. Products of two values of
        bf16, also of a network whose own floats are bf16, are then summed in f32 by the processor's instructions for pairs of them,
        where all chips of the library have some (AVX512-BF16: x86_64_zen4, x86_64_zen5; with AMX: x86_64_sapphire_rapids): in another
        order, and with denormal numbers as zeros whatever keep_denormals says. Elsewhere, and with backend = "opencl", they are widened
        to f32. The manifest has the types of storage, products and sums, and how many kernels sum pairs. A quantized network is
        refused, as its integers are smaller already, and so is pruning, whose kernels are of f32.
      shards: how many C++ files the kernels go to, to be compiled in parallel, 1 to 256. Default: 8.
      tuning: the record that NAME.tune wrote. One of a single other chip, or device, than the model is built for is an
        error: use select(), or run NAME.tune on each.
      variants: dnn_chips that the library has kernels for besides the platform's chip, the least capable first: create() takes the last
        whose instructions the processor has, or the one that its options or DNN_VARIANT name. Default: those of the platform's
        chip; of a platform of x86-64 without a level or processor these are x86_64_v3, x86_64_v4 and x86_64_v4_vnni, of
        one of 64-bit ARM arm64_dotprod. [] has none.
      visibility: visibility of NAME.
      weights: "embed" (the default): the library holds the weights. "file": a file beside it does,
        which is in the runfiles of what links the library, and is given to create().
      tags: tags of NAME.
      **kwargs: attributes common to all rules.
    """
    model = dict(
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
