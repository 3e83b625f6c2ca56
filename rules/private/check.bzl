"""Checks of attributes at analysis time. Each error message names a valid value."""

load(":dnn_skeleton.bzl", "DSPS")
load(":names.bzl", "is_api", "is_namespace", "is_prefix", "location")

_MAX_SHARDS = 256
_MAX_DIM = 9223372036854775807

# Valid values of the attribute backend.
_BACKENDS = ["cpu", "hvx", "opencl"]

# Options that the rules pass to dnnc themselves, so that dnnc_opts must not have them.
_RULE_OPTIONS = [
    "accumulation",
    "api",
    "calibration",
    "candidate",
    "chip",
    "consts",
    "device",
    "dim",
    "dump-dir",
    "external",
    "graph",
    "namespace",
    "out",
    "out-consts",
    "out-device-source",
    "out-header",
    "out-kernels",
    "out-manifest",
    "out-variant",
    "out-weights",
    "out-weights-asm",
    "precision",
    "prefix",
    "pruning",
    "remote",
    "shards",
    "skeleton",
    "src",
    "tuning",
    "variant",
    "warnings",
    "weights",
]

def _fail(attribute, found, cure):
    fail("\n%s = %s: %s" % (attribute, repr(found), cure))

def check_backend(backend):
    """Fails unless the backend is known.

    Args:
      backend: the attribute's value.
    """
    if backend not in _BACKENDS:
        _fail("backend", backend, "write \"cpu\", \"hvx\" or \"opencl\"")

def check_bare(backend, platform):
    """Fails if a model for a DSP platform sets a backend other than "cpu".

    Args:
      backend: the attribute's value.
      platform: the platform's label.
    """
    if backend != "cpu":
        _fail("backend", backend, ("the platform %s is a DSP and supports only models without backend: leave backend out to build " +
                                   "a library for the DSP itself, or build for the platform of the application") % platform)

def check_remote(attributes):
    """Fails if attributes contradict backend = "hvx", or need it and the backend is another one.

    Args:
      attributes: ctx.attr of the rule.
    """
    dsp = attributes.dsp
    if attributes.backend != "hvx":
        if attributes.dsp_is_set:
            _fail("dsp", dsp, "backend = \"%s\" has no libraries on a DSP: leave dsp out, or write backend = \"hvx\"" % attributes.backend)
        return
    if not attributes.skeletons:
        _fail("backend", attributes.backend, "the model has no skeleton library: use the macro dnn_model")
    if not dsp:
        _fail("dsp", dsp, "write the versions of Hexagon to make skeleton libraries for, as in dsp = [\"v68\", \"v73\"]")
    for i, version in enumerate(dsp):
        if version not in DSPS:
            _fail("dsp", dsp, "%s is not a Hexagon version that rules_dnn supports: write some of %s" % (repr(version), sorted(DSPS)))
        if version in dsp[:i]:
            _fail("dsp", dsp, "%s is listed twice: remove one" % repr(version))
    if attributes.precision != "fp32":
        _fail("precision", attributes.precision, "the DSP's kernels have no float vectors and would convert each value separately: leave precision out, or quantize the network")

# Types that can store floats.
_PRECISIONS = ["fp32", "fp16", "bf16"]

def check_precision(precision, pruning, backend, calibration):
    """Fails unless the type is known and the model's other attributes allow it.

    Args:
      precision: the attribute's value.
      pruning: the dnn_pruning, or None.
      backend: the attribute's value.
      calibration: the target with calibration inputs, or None.
    """
    if precision in _PRECISIONS and precision != "fp16" and calibration:
        _fail("calibration", str(calibration.label), "calibration finds values outside the range of fp16, and is not used with precision = \"%s\": write precision = \"fp16\", or leave calibration out" % precision)
    if precision in ["fp16", "bf16"] and pruning and backend == "opencl":
        _fail("precision", precision, "OpenCL kernels can skip the weights that %s drops only if they are f32; 16-bit kernels compute with all weights: leave out precision, pruning, or backend = \"opencl\"" % pruning.label)
    if precision not in _PRECISIONS:
        _fail("precision", precision, "write \"fp32\" to keep the network's own types, or \"fp16\" or \"bf16\" to store f32 values and weights in 16 bits")

# Types in which kernels of processors may add products.
_ACCUMULATIONS = ["fp32", "fp16"]

def check_accumulation(accumulation, precision, backend):
    """Fails unless the type of sums is known and the model's other attributes allow it.

    Args:
      accumulation: the attribute's value.
      precision: the attribute's value.
      backend: the attribute's value.
    """
    if accumulation not in _ACCUMULATIONS:
        _fail("accumulation", accumulation, "write \"fp32\" to compute and sum in f32, or \"fp16\" to multiply and add in f16 on chips with instructions for it")
    if accumulation == "fp32":
        return
    if backend != "cpu":
        _fail("accumulation", accumulation, "only kernels of processors add in f16, and the model has backend = \"%s\": leave accumulation out, or leave backend out" % backend)
    if precision != "fp16":
        _fail("accumulation", accumulation, "it adds products of values that are stored in f16, and the model has precision = \"%s\": write precision = \"fp16\", or leave accumulation out" % precision)

def check_device(backend, device, variants):
    """Fails if device or variants contradict the backend.

    Args:
      backend: the attribute's value.
      device: the target of the device's facts, or None.
      variants: the targets in the attribute variants, or [] if it is not set.
    """
    if backend != "opencl":
        if device:
            _fail("device", str(device.label), "backend = \"%s\" does not use a device: leave device out, or write backend = \"opencl\"" % backend)
        return
    if variants:
        _fail("variants", [str(target.label) for target in variants], "a model with backend = \"opencl\" has processor kernels for one chip only: leave variants out")

# How many neighboring filters may share their kept kernels.
_SHARES = [1, 4, 8, 16]

def _digits(text):
    """Reports whether a text is an unsigned number, such as 3, 3.6 or 1e9."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, point, part = mantissa.partition(".")
    return whole.isdigit() and (part.isdigit() or not point) and (exponent.lstrip("+-").isdigit() or not exponent)

def _check_rate(name, text):
    if not _digits(text) or float(text) < 1:
        _fail(name, text, "want a number of at least 1: 3.6 keeps one in 3.6, as in %s = 3.6" % name)

def check_pruning(attributes):
    """Fails if an attribute of a dnn_pruning is invalid or contradicts another.

    Args:
      attributes: ctx.attr of the rule.
    """
    if attributes.masks and attributes.given:
        _fail(attributes.given[0], getattr(attributes, attributes.given[0]), "masks list the weights that are kept, and only packed, calibration and shrink may be set with them: leave out either masks or %s" % ", ".join(attributes.given))
    if attributes.patterns < 0 or attributes.patterns > 255:
        _fail("patterns", attributes.patterns, "want the number of patterns, 1 to 255, or 0 for none")
    if attributes.set not in ["model", "layer"]:
        _fail("set", attributes.set, "write \"model\" or \"layer\"")
    if attributes.share not in _SHARES:
        _fail("share", attributes.share, "want the number of neighboring filters that keep the same kernels, one of %s" % _SHARES)
    _check_rate("connectivity", attributes.connectivity)
    _check_rate("fully_connected", attributes.fully_connected)
    for size, count in attributes.entries.items():
        if not all([d.isdigit() for d in size.split("x")]) or not count.isdigit():
            _fail("entries", {size: count}, "write the number of taps that a kernel of each size keeps, as in entries = {\"3x3\": 4}")
    for name, number in attributes.sensitivity.items():
        if not _digits(number.removeprefix("-")):
            _fail("sensitivity", {name: number}, "write numbers, as in sensitivity = {\"conv1.weight\": 0.3}")

def check_variants(chip, variants):
    """Fails if a library would have kernels for the same chip twice.

    Args:
      chip: the DnnChipInfo of the platform's chip.
      variants: the DnnChipInfos of the additional chips.
    """
    names = [info.name for info in [chip] + variants]
    for i, name in enumerate(names):
        if name in names[:i]:
            _fail("variants", names[1:], "%s is listed twice, or is the chip of the platform, which every library has kernels for: leave it out" % name)

def check_api(api, prefix, namespace):
    """Fails unless the names are valid as a header, a prefix of C names and a C++ namespace.

    Args:
      api: the header's name.
      prefix: the prefix of C names.
      namespace: the namespace of the C++ wrapper.
    """
    if not is_api(api):
        _fail("api", api, "api is the header's name: write letters, digits, _ - + . and / only, as in api = \"model\"")
    if not is_prefix(prefix):
        _fail("c_prefix", prefix, "c_prefix is the prefix of C names: write an identifier other than dnn and rules_dnn, which the runtime uses, as in c_prefix = \"app_model\"")
    if not is_namespace(namespace):
        _fail("cpp_namespace", namespace, "write identifiers joined by ::, without C++ keywords, macros, std, dnn and rules_dnn, as in cpp_namespace = \"app::model\"")

def check_shards(shards):
    """Fails unless the number of kernel files is in range."""
    if shards < 1 or shards > _MAX_SHARDS:
        _fail("shards", shards, "want the number of C++ files that the kernels are split into, 1 to %d" % _MAX_SHARDS)

def _is_number(text):
    digits = text.removeprefix("-")  # a symbol may be a number that a run computes, which may be negative
    return digits.isdigit() and int(digits) <= _MAX_DIM

def _is_range(text):
    low, dots, high = text.partition("..")
    if not dots:
        return _is_number(text)
    return _is_number(low) and (not high or _is_number(high) and int(low) <= int(high))

def dims_as_text(dims):
    """Returns dims with numbers converted to text, as in {"N": "4"} for {"N": 4}.

    A select() is returned unchanged.

    Args:
      dims: the value that the caller passed to a macro.
    """
    if type(dims) != type({}):
        return dims
    return {symbol: str(bound) if type(bound) == type(0) else bound for symbol, bound in dims.items()}

def check_dims(dims):
    """Fails unless dims maps symbols of the model to numbers or ranges.

    Args:
      dims: the attribute's value.
    """
    for symbol, bound in dims.items():
        if not symbol or "=" in symbol:
            _fail("dims", {symbol: bound}, "want a symbol of the model's shapes, without =, as in dims = {\"N\": \"1..64\"}")
        if not _is_range(bound):
            _fail("dims", {symbol: bound}, "write a number, a range from low to high, or a range without an upper end, as in dims = {\"%s\": \"4\"}, {\"%s\": \"1..64\"} or {\"%s\": \"1..\"}" % (symbol, symbol, symbol))

def check_options(options):
    """Fails if dnnc_opts has a malformed option, or one that the rule passes to dnnc itself.

    Args:
      options: the attribute dnnc_opts.
    """
    for option in options:
        name = option.lstrip("-").partition("=")[0]
        if not option.startswith("-") or not name:
            _fail("dnnc_opts", option, "an option begins with a dash and includes its value, as in \"-disable=anchors\"")
        if name in _RULE_OPTIONS:
            _fail("dnnc_opts", option, "the rule passes this option to dnnc itself: leave it out, and use the rule's attributes")

def check_src(label, files):
    """Returns the ONNX model in src; fails unless src is exactly one .onnx file."""
    if len(files) != 1 or files[0].is_directory or files[0].extension != "onnx":
        _fail("src", str(label), "its files are %s: write one .onnx file, or a target with DnnGraphInfo such as a dnn_import; list files of weights in external_data" % [f.short_path for f in files])
    return files[0]

def check_percentile(percentile):
    """Converts the attribute percentile to a number; fails if it is not one.

    `dnnc quantize` checks all other attributes of a dnn_quantize when it runs.

    Args:
      percentile: the attribute's value.

    Returns:
      The number.
    """
    if not percentile.replace(".", "", 1).isdigit():
        _fail("percentile", percentile, "want a number above 50 and at most 100")
    return float(percentile)

def check_images(files, data):
    """Fails if two files of images have the same location.

    Args:
      files: the Files of the attribute images.
      data: the JSON File that names the images.

    Returns:
      A tuple of struct(location, file).
    """
    return _located("images", files, data)

def check_training(label, pruning, settings):
    """Fails if training does not support an attribute of the dnn_pruning, or a setting.

    Args:
      label: the label of the dnn_pruning.
      pruning: its DnnPruningInfo.
      settings: settings of training, a dict from name to JSON.
    """
    for what, found in [("masks", pruning.masks), ("calibration", pruning.calibration), ("shrink", pruning.shrink)]:
        if found:
            _fail("pruning", str(label), "it has %s, which training ignores: leave it out, and set it in another dnn_pruning for the dnn_model that compiles the trained network" % what)
    if "epochs" in settings:
        _fail("settings", settings, "epochs is not a setting: use the attributes epochs (of each iteration and step) and retrain")

def check_external(files, src):
    """Fails if two files of external data have the same location.

    Args:
      files: the Files of the attribute external_data.
      src: the File of the ONNX model.

    Returns:
      A tuple of struct(location, file).
    """
    return _located("external_data", files, src)

def _located(attribute, files, src):
    """Returns a tuple of struct(location, file) for files; fails if two have the same location."""
    seen = {}
    for file in files:
        if file.is_directory:
            _fail(attribute, file.short_path, "it is a directory: list its files")
        at = location(file, src)
        if "=" in at:
            _fail(attribute, file.short_path, "the path %s has =, which ends a path in dnnc's options: rename the file, and change the path in the model" % repr(at))
        if at in seen:
            _fail(attribute, [seen[at].short_path, file.short_path], "both files have the path %s beside %s: keep one" % (repr(at), "the model" if attribute == "external_data" else src.basename))
        seen[at] = file
    return tuple([struct(location = at, file = file) for at, file in seen.items()])
