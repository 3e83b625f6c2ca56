"""The actions that run dnnc.

They pass files as File objects, so that Bazel may map paths. Two configurations then share an
action's result if they do not differ in anything that the action reads.
"""

load("//rules:providers.bzl", "DnnGraphInfo")
load(":dnnc_toolchain.bzl", "DNNC_TYPE")

# The execution group in which dnnc runs. exec_properties of a target may name it.
DNNC_GROUP = "dnnc"

DNNC_EXEC_GROUPS = {DNNC_GROUP: exec_group(toolchains = [DNNC_TYPE])}

def _run(ctx, mnemonic, what, inputs, outputs, args, **kwargs):
    toolchain = ctx.exec_groups[DNNC_GROUP].toolchains[DNNC_TYPE]
    ctx.actions.run(
        mnemonic = mnemonic,
        progress_message = what + " %{label}",
        executable = toolchain.dnnc_info.dnnc,
        arguments = [args],
        inputs = inputs,
        outputs = outputs,
        exec_group = DNNC_GROUP,
        execution_requirements = {"supports-path-mapping": "1"},
        **kwargs
    )

def _add_external(args, external):
    for entry in external:
        args.add(entry.file, format = "--external=%s=%%s" % entry.location.replace("%", "%%"))

def _add_directory(args, option, directory):
    args.add_all([directory], format_each = option + "=%s", expand_directories = False)

def _dump(ctx, args, options, path):
    """Returns a list with a declared output directory for dumps if the options have -dump, or []."""
    if not any([o.lstrip("-").partition("=")[0] == "dump" for o in options]):
        return []
    directory = ctx.actions.declare_directory(path)
    _add_directory(args, "--dump-dir", directory)
    return [directory]

def _add_dims(args, dims):
    args.add_all(["%s=%s" % (symbol, dims[symbol]) for symbol in sorted(dims)], format_each = "--dim=%s")

def run_prune(ctx, base, src, external, dims, pruning):
    """Declares the action that prunes an ONNX model.

    Args:
      ctx: the rule's context.
      base: prefix of the outputs' paths, relative to the package.
      src: the File of the ONNX model.
      external: a tuple of struct(location, file).
      dims: bounds of symbols.
      pruning: a DnnPruningInfo.

    Returns:
      A struct of the Files src, masks, report (JSON) and page (HTML), and external, the pruned
      model's tuple of struct(location, file).
    """
    files = struct(
        external = tuple([
            struct(location = entry.location, file = ctx.actions.declare_file("%s.pruned/%s" % (base, entry.location)))
            # dnnc writes a model that shrinks as a new file, with one file of external data.
            for entry in (external[:1] if pruning.shrink else external)
        ]),
        masks = ctx.actions.declare_file(base + ".masks.safetensors"),
        page = ctx.actions.declare_file(base + ".pruning.html"),
        report = ctx.actions.declare_file(base + ".pruning.json"),
        src = ctx.actions.declare_file(base + ".pruned.onnx"),
    )
    args = ctx.actions.args()
    args.add("prune")
    args.add(src, format = "--src=%s")
    _add_external(args, external)
    _add_dims(args, dims)
    inputs = [src] + [entry.file for entry in external]
    for option, file in [("masks", pruning.masks), ("settings", pruning.settings), ("policy", pruning.policy), ("calibration", pruning.calibration), ("samples", pruning.samples), ("log", pruning.log)]:
        if file:
            args.add(file, format = "--%s=%%s" % option)
            inputs.append(file)
    if pruning.packed:
        args.add("--packed")
    if pruning.shrink:
        args.add("--shrink")
    args.add(files.src, format = "--out=%s")
    for entry in files.external:
        args.add(entry.file, format = "--out-external=%s=%%s" % entry.location.replace("%", "%%"))
    args.add(files.masks, format = "--out-masks=%s")
    args.add(files.report, format = "--out-report=%s")
    args.add(files.page, format = "--out-page=%s")

    # The action that compiles the network prints the warnings of pruning, too.
    args.add("--warnings=none")
    _run(
        ctx,
        mnemonic = "DnnPrune",
        what = "Pruning network",
        inputs = inputs,
        outputs = [files.src, files.masks, files.report, files.page] + [entry.file for entry in files.external],
        args = args,
    )
    return files

def run_quantize(ctx, o):
    """Declares the action that quantizes an ONNX model.

    Args:
      ctx: the rule's context.
      o: a struct of the Files src and settings, and the Files calibration and check or None. Its
        field external is a tuple of struct(location, file); alone is the number of inputs on
        which the report measures, for each layer, the error if only that layer is quantized.

    Returns:
      A struct of the Files model and report.
    """
    files = struct(
        model = ctx.actions.declare_file(ctx.label.name + ".onnx"),
        report = ctx.actions.declare_file(ctx.label.name + ".quantized.json"),
    )
    args = ctx.actions.args()
    args.add("quantize")
    args.add(o.src, format = "--src=%s")
    _add_external(args, o.external)
    args.add(o.settings, format = "--settings=%s")
    inputs = [o.src, o.settings] + [entry.file for entry in o.external]
    if o.calibration:
        args.add(o.calibration, format = "--calibration=%s")
        inputs.append(o.calibration)
    if o.check:
        args.add(o.check, format = "--check=%s")
        inputs.append(o.check)
    if o.alone:
        args.add(o.alone, format = "--alone=%s")
    args.add(files.model, format = "--out=%s")
    args.add(files.report, format = "--out-report=%s")
    args.add("--quiet")
    _run(
        ctx,
        mnemonic = "DnnQuantize",
        what = "Quantizing network",
        inputs = inputs,
        outputs = [files.model, files.report],
        args = args,
    )
    return files

# The number of threads that train in a build. Results do not depend on it.
_TRAINING_THREADS = 2

def _training_resources(_os, _inputs):
    return {"cpu": _TRAINING_THREADS, "memory": 2000}

def run_train(ctx, base, options):
    """Declares the action that prunes an ONNX model by training.

    Args:
      ctx: the rule's context.
      base: prefix of the outputs' paths, relative to the package.
      options: a struct of the Files src, data, pruning and settings, and the Files policy and
        samples or None. Its field images is a tuple of struct(location, file); numbers is a dict
        from option name to text.

    Returns:
      A struct of the Files model, masks and log.
    """
    files = struct(
        log = ctx.actions.declare_file(base + ".log.json"),
        masks = ctx.actions.declare_file(base + ".masks"),
        model = ctx.actions.declare_file(base + ".onnx"),
    )
    args = ctx.actions.args()
    args.add_all(["train", "admm"])
    args.add(options.src, format = "-model=%s")
    args.add(options.data, format = "-data=%s")
    for entry in options.images:
        args.add(entry.file, format = "-image=%s=%%s" % entry.location.replace("%", "%%"))
    args.add(options.pruning, format = "-pruning=@%s")
    args.add(options.settings, format = "-settings=@%s")
    if options.policy:
        args.add(options.policy, format = "-policy=%s")
    if options.samples:
        args.add(options.samples, format = "-samples=%s")
    for name in sorted(options.numbers):
        args.add("-%s=%s" % (name, options.numbers[name]))
    args.add("-workers=%d" % _TRAINING_THREADS)
    args.add("-quiet")
    args.add(files.model, format = "-out=%s")
    args.add(files.masks, format = "-out-masks=%s")
    args.add(files.log, format = "-out-log=%s")
    _run(
        ctx,
        mnemonic = "DnnTrain",
        what = "Training network",
        inputs = [options.src, options.data, options.pruning, options.settings] + [file for file in [options.policy, options.samples] if file] + [entry.file for entry in options.images],
        outputs = [files.model, files.masks, files.log],
        args = args,
        resource_set = _training_resources,
    )
    return files

def run_graph(ctx, base, src, external, dims, options, pruning = None):
    """Declares the action that reads an ONNX model. Its command line does not depend on the target.

    Args:
      ctx: the rule's context.
      base: prefix of the outputs' paths, relative to the package.
      src: the File of the ONNX model.
      external: a tuple of struct(location, file).
      dims: bounds of symbols.
      options: additional options for dnnc.
      pruning: a DnnPruningInfo, or None.

    Returns:
      A DnnGraphInfo, a list of directories with dumps, and a list of Files that describe pruning.
    """
    pruned = None
    if pruning:
        pruned = run_prune(ctx, base, src, external, dims, pruning)
        src, external = pruned.src, pruned.external
    info = DnnGraphInfo(
        graph = ctx.actions.declare_file(base + ".graph.txt"),
        consts = ctx.actions.declare_file(base + ".consts"),
        pruning = pruned.report if pruned else None,
        pruning_log = pruning.log if pruning else None,
        src = src,
        external = external,
    )
    args = ctx.actions.args()
    args.add("graph")
    args.add(src, format = "--src=%s")
    _add_external(args, external)
    _add_dims(args, dims)
    args.add(info.graph, format = "--out=%s")
    args.add(info.consts, format = "--out-consts=%s")
    dumps = _dump(ctx, args, options, base + ".dump/graph")
    args.add_all(options)
    _run(
        ctx,
        mnemonic = "DnnGraph",
        what = "Importing network",
        inputs = [src] + [entry.file for entry in external],
        outputs = [info.graph, info.consts] + dumps,
        args = args,
    )
    return info, dumps, ([pruned.report, pruned.page, pruned.masks] if pruned else [])

def _declare_variants(ctx, base, variants):
    """Declares a directory of kernel sources for each additional chip."""
    return [
        struct(
            chip = chip,
            kernels = ctx.actions.declare_directory("%s.kernels.%s" % (base, chip.name)),
        )
        for chip in variants
    ]

def run_compile(ctx, base, graph, chip, api, prefix, namespace, header, embed, shards, options, warnings, tuning = None, candidate = 0, variants = [], device = None, precision = "fp32", accumulation = "fp32", calibration = None, c = False, remote = [], skeleton = False, observe = False):
    """Declares the action that compiles a network to sources.

    Args:
      ctx: the rule's context.
      base: prefix of the outputs' paths, relative to the package.
      graph: a DnnGraphInfo.
      chip: a DnnChipInfo.
      api: the name of the header, without .h.
      prefix: the prefix of C names.
      namespace: the C++ namespace.
      header: the File of the header.
      embed: whether the library embeds the weights.
      shards: the number of C++ files that the kernels are split into.
      options: additional options for dnnc.
      warnings: print, error or none.
      tuning: the File of the tuning record, or None.
      candidate: 0 to use the best kernel for each block, or the number of a candidate kernel,
        from 1.
      variants: DnnChipInfos of additional chips, the least capable first.
      device: the File of facts of an OpenCL device that runs blocks beside the chip, or None.
      precision: the type that stores floats: fp32 (the network's own types), fp16 or bf16.
      accumulation: the type that adds products: fp32, or with precision fp16 also fp16.
      calibration: the File of inputs that show which values leave the range of fp16, or None.
      c: whether dnnc writes the chip's kernels in C.
      remote: Hexagon versions whose skeleton libraries the sources call, the least capable first.
      skeleton: whether the sources are for a skeleton library.
      observe: whether the model has PREFIX_observe.

    Returns:
      A struct of Files, and a list of directories with dumps. In the struct, assembly is None
      unless embed, and kernels_c is None unless c. device_source is None without a device. page
      is None if the network was not pruned. The field variants is a list of struct(chip,
      kernels).
    """

    # A rule outside rules_dnn may return a DnnGraphInfo without the fields of pruning.
    pruning, log = getattr(graph, "pruning", None), getattr(graph, "pruning_log", None)
    files = struct(
        kernels = ctx.actions.declare_directory(base + ".kernels"),
        kernels_c = ctx.actions.declare_directory(base + ".kernels_c") if c else None,
        weights = ctx.actions.declare_file(base + ".weights"),
        assembly = ctx.actions.declare_file(base + ".weights.S") if embed else None,
        manifest = ctx.actions.declare_file(base + ".manifest.json"),
        page = ctx.actions.declare_file(base + ".report.html") if pruning else None,
        device_source = ctx.actions.declare_file(base + ".cl") if device else None,
        variants = _declare_variants(ctx, base, variants),
    )
    args = ctx.actions.args()
    args.add("compile")
    args.add(graph.graph, format = "--graph=%s")
    args.add(graph.consts, format = "--consts=%s")
    args.add(graph.src, format = "--src=%s")
    _add_external(args, graph.external)
    args.add(chip.facts, format = "--chip=%s")
    args.add(api, format = "--api=%s")
    args.add(prefix, format = "--prefix=%s")
    args.add(namespace, format = "--namespace=%s")
    args.add("embed" if embed else "file", format = "--weights=%s")
    args.add(str(shards), format = "--shards=%s")
    args.add(header, format = "--out-header=%s")
    _add_directory(args, "--out-kernels", files.kernels)
    if c:
        _add_directory(args, "--out-kernels-c", files.kernels_c)
    args.add(files.weights, format = "--out-weights=%s")
    if embed:
        args.add(files.assembly, format = "--out-weights-asm=%s")
    args.add(files.manifest, format = "--out-manifest=%s")
    for variant in files.variants:
        args.add(variant.chip.facts, format = "--variant=%s")
        _add_directory(args, "--out-variant", variant.kernels)
    if pruning:
        args.add(pruning, format = "--pruning=%s")
        args.add(files.page, format = "--out-pruning-page=%s")
        if log:
            args.add(log, format = "--pruning-log=%s")
    if device:
        args.add(device, format = "--device=%s")
        args.add(files.device_source, format = "--out-device-source=%s")
    if tuning:
        args.add(tuning, format = "--tuning=%s")
    args.add_all(remote, format_each = "--remote=%s")
    if skeleton:
        args.add("--skeleton")
    if observe:
        args.add("--observe")
    if precision != "fp32":
        args.add(precision, format = "--precision=%s")
    if accumulation != "fp32":
        args.add(accumulation, format = "--accumulation=%s")
    if calibration:
        args.add(calibration, format = "--calibration=%s")
    if candidate:
        args.add(candidate, format = "--candidate=%s")
    args.add(warnings, format = "--warnings=%s")
    if ctx.var["COMPILATION_MODE"] != "opt":
        # Only builds with -c opt are released. Other builds run on the developer's machine and need
        # no warning of a baseline chip.
        args.add("--accept=baseline")
    dumps = _dump(ctx, args, options, base + ".dump/compile")
    args.add_all(options)
    outputs = [header, files.kernels, files.weights, files.manifest] + ([files.assembly] if embed else [])
    outputs += [variant.kernels for variant in files.variants] + [file for file in [files.kernels_c, files.device_source, files.page] if file]
    _run(
        ctx,
        mnemonic = "DnnCompile",
        what = "Compiling network",
        inputs = [graph.graph, graph.consts, graph.src, chip.facts] + [variant.facts for variant in variants] + [file for file in [pruning, log if pruning else None, tuning, device, calibration] if file] + [entry.file for entry in graph.external],
        outputs = outputs + dumps,
        args = args,
    )
    return files, dumps
