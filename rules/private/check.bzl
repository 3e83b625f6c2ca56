"""Checks of attributes at analysis time. Each message says what to write instead."""

load(":dnn_skeleton.bzl", "DSPS")
load(":names.bzl", "is_api", "is_namespace", "is_prefix", "location")

_MAX_SHARDS = 256
_MAX_DIM = 9223372036854775807

# What users write in attributes.
_BACKENDS = ["cpu", "hvx", "opencl"]

# What the rules themselves give to dnnc.
_RULE_OPTIONS = [
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
    """Fails unless it is a backend.

    Args:
      backend: the attribute's value.
    """
    if backend not in _BACKENDS:
        _fail("backend", backend, "write \"cpu\", \"hvx\" or \"opencl\"")

def check_bare(backend, platform):
    """Fails unless the backend is one that a DSP's own library has.

    Args:
      backend: the attribute's value.
      platform: the platform's label.
    """
    if backend != "cpu":
        _fail("backend", backend, ("the platform %s is a DSP, which computes all itself: leave backend out, and the model is the DSP's own library; " +
                                   "a model of any other backend is a processor's") % platform)

def check_remote(attributes):
    """Fails unless the attributes go with a model that runs on a DSP, or with one that does not.

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
            _fail("dsp", dsp, "%s is no version of Hexagon that rules_dnn has a chip of: write some of %s" % (repr(version), sorted(DSPS)))
        if version in dsp[:i]:
            _fail("dsp", dsp, "%s is there twice: leave it out" % repr(version))
    if attributes.precision != "fp32":
        _fail("precision", attributes.precision, "the DSP has no vectors of floats for its kernels, and would convert each value by itself: leave precision out, or quantize the network")

# Types in which floats are stored.
_PRECISIONS = ["fp32", "fp16", "bf16"]

def check_precision(precision, pruning, calibration):
    """Fails unless floats can be stored so.

    Args:
      precision: the attribute's value.
      pruning: the dnn_pruning, or None.
      calibration: the target with inputs, or None.
    """
    if precision in _PRECISIONS and precision != "fp16" and calibration:
        _fail("calibration", str(calibration.label), "it shows which values leave the range of fp16, and precision = \"%s\" has none to leave: write precision = \"fp16\", or leave calibration out" % precision)
    if precision in ["fp16", "bf16"] and pruning:
        _fail("precision", precision, "kernels that leave out the weights that %s drops are of f32, and in 16 bits all weights would be computed with: leave out precision, or pruning" % pruning.label)
    if precision not in _PRECISIONS:
        _fail("precision", precision, "write \"fp32\", floats as the network has them, or \"fp16\" or \"bf16\", values and weights of f32 stored in 16 bits")

def check_device(backend, device, variants):
    """Fails unless the attributes go with the backend.

    Args:
      backend: the attribute's value.
      device: the label of the device's facts, or None.
      variants: the labels of the further chips that are written.
    """
    if backend != "opencl":
        if device:
            _fail("device", str(device.label), "backend = \"%s\" runs nothing on a device: leave device out, or write backend = \"opencl\"" % backend)
        return
    if variants:
        _fail("variants", [str(target.label) for target in variants], "a model with backend = \"opencl\" has kernels for one chip beside the device: leave variants out")

# Numbers of filters that may have the same kernels.
_SHARES = [1, 4, 8, 16]

def _digits(text):
    """Reports whether a text is a number without sign, as 3, 3.6 or 1e9."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, point, part = mantissa.partition(".")
    return whole.isdigit() and (part.isdigit() or not point) and (exponent.lstrip("+-").isdigit() or not exponent)

def _check_rate(name, text):
    if not _digits(text) or float(text) < 1:
        _fail(name, text, "write how many times fewer are kept, a number of 1 or more, as in %s = 3.6" % name)

def check_pruning(attributes):
    """Fails unless the attributes of a dnn_pruning make sense together.

    Args:
      attributes: ctx.attr of the rule.
    """
    if attributes.masks and attributes.given:
        _fail(attributes.given[0], getattr(attributes, attributes.given[0]), "masks say which weights are kept, and beside them only packed, calibration and shrink are read: leave out either masks or %s" % ", ".join(attributes.given))
    if attributes.patterns < 0 or attributes.patterns > 255:
        _fail("patterns", attributes.patterns, "write how many patterns the set has, 1 to 255, or 0 for none")
    if attributes.set not in ["model", "layer"]:
        _fail("set", attributes.set, "write \"model\" or \"layer\"")
    if attributes.share not in _SHARES:
        _fail("share", attributes.share, "write how many filters have the same kernels, one of %s" % _SHARES)
    _check_rate("connectivity", attributes.connectivity)
    _check_rate("fully_connected", attributes.fully_connected)
    for size, count in attributes.entries.items():
        if not all([d.isdigit() for d in size.split("x")]) or not count.isdigit():
            _fail("entries", {size: count}, "write how many taps kernels of a size keep, as in entries = {\"3x3\": 4}")
    for name, number in attributes.sensitivity.items():
        if not _digits(number.removeprefix("-")):
            _fail("sensitivity", {name: number}, "write numbers, as in sensitivity = {\"conv1.weight\": 0.3}")

def check_variants(chip, variants):
    """Fails unless the chips of a library are different ones.

    Args:
      chip: the DnnChipInfo of the platform's chip.
      variants: the DnnChipInfos of the others.
    """
    names = [info.name for info in [chip] + variants]
    for i, name in enumerate(names):
        if name in names[:i]:
            _fail("variants", names[1:], "%s is there twice, or is the chip of the platform, for which the library has kernels anyway: leave it out" % name)

def check_api(api, prefix, namespace):
    """Fails unless the names can be a header, the start of C names and a C++ namespace.

    Args:
      api: the header's name.
      prefix: what C names begin with.
      namespace: the namespace of the C++ wrapper.
    """
    if not is_api(api):
        _fail("api", api, "it names the header: write letters, digits, _ - + . and / only, as in api = \"model\"")
    if not is_prefix(prefix):
        _fail("c_prefix", prefix, "C names begin with it: write an identifier other than the runtime's dnn and rules_dnn, as in c_prefix = \"app_model\"")
    if not is_namespace(namespace):
        _fail("cpp_namespace", namespace, "write identifiers joined by ::, none of which is a keyword of C++, a macro, std or a name of the runtime, as in cpp_namespace = \"app::model\"")

def check_shards(shards):
    """Fails unless the number of kernel files makes sense."""
    if shards < 1 or shards > _MAX_SHARDS:
        _fail("shards", shards, "write how many C++ files the kernels go to, 1 to %d" % _MAX_SHARDS)

def _is_number(text):
    digits = text.removeprefix("-")  # numbers that a run computes may be negative
    return digits.isdigit() and int(digits) <= _MAX_DIM

def _is_range(text):
    low, dots, high = text.partition("..")
    if not dots:
        return _is_number(text)
    return _is_number(low) and (not high or _is_number(high) and int(low) <= int(high))

def dims_as_text(dims):
    """Returns the attribute dims with texts for numbers: {"N": 4} is {"N": "4"}. What a select() chooses from stays as it is.

    Args:
      dims: what people wrote.
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
            _fail("dims", {symbol: bound}, "a key is a symbol of the model's shapes, without =, as in dims = {\"N\": \"1..64\"}")
        if not _is_range(bound):
            _fail("dims", {symbol: bound}, "write a number, a range from low to high or one without end, as in dims = {\"%s\": \"1..64\"}, {\"%s\": \"4\"} or {\"%s\": \"1..\"}" % (symbol, symbol, symbol))

def check_options(options):
    """Fails if an option for dnnc is one that the rule gives itself, or none at all.

    Args:
      options: the attribute dnnc_opts.
    """
    for option in options:
        name = option.lstrip("-").partition("=")[0]
        if not option.startswith("-") or not name:
            _fail("dnnc_opts", option, "an option begins with a dash and holds its value, as in \"-disable=anchors\"")
        if name in _RULE_OPTIONS:
            _fail("dnnc_opts", option, "the rule gives this option to dnnc itself: leave it out, and use the rule's attributes")

def check_src(label, files):
    """Returns the ONNX model among the files of src; fails unless there is one and no more."""
    if len(files) != 1 or files[0].is_directory or files[0].extension != "onnx":
        _fail("src", str(label), "it is %s: write one .onnx file, or a target with DnnGraphInfo, as dnn_import; files of weights go to external_data" % [f.short_path for f in files])
    return files[0]

def check_percentile(percentile):
    """Fails unless a text is a number. All else that a dnn_quantize says `dnnc quantize` checks, when it runs.

    Args:
      percentile: the attribute's value.

    Returns:
      The number.
    """
    if not percentile.replace(".", "", 1).isdigit():
        _fail("percentile", percentile, "want a number above 50 and at most 100")
    return float(percentile)

def check_images(files, data):
    """Fails unless each file of images has one location.

    Args:
      files: the Files of the attribute images.
      data: the File that names them.

    Returns:
      A tuple of struct(location, file).
    """
    return _located("images", files, data)

def check_training(label, pruning, settings):
    """Fails unless a network can be trained with what a dnn_pruning says.

    Args:
      label: the label of the dnn_pruning.
      pruning: its DnnPruningInfo.
      settings: settings of training, JSON by name.
    """
    for what, found in [("masks", pruning.masks), ("calibration", pruning.calibration), ("shrink", pruning.shrink)]:
        if found:
            _fail("pruning", str(label), "it has %s, which training takes no notice of: leave it out, and set it in a dnn_pruning for the model that comes of it" % what)
    if "epochs" in settings:
        _fail("settings", settings, "epochs are attributes of their own: epochs, of each iteration, and retrain")

def check_external(files, src):
    """Fails unless each file of external data has one location.

    Args:
      files: the Files of the attribute external_data.
      src: the File of the ONNX model.

    Returns:
      A tuple of struct(location, file).
    """
    return _located("external_data", files, src)

def _located(attribute, files, src):
    """Returns a tuple of struct(location, file); fails unless each of an attribute's files has one location beside another file."""
    seen = {}
    for file in files:
        if file.is_directory:
            _fail(attribute, file.short_path, "it is a directory: list its files")
        at = location(file, src)
        if "=" in at:
            _fail(attribute, file.short_path, "the compiler is given %s with =, which ends its name there: name the file, and the model's location, without =" % repr(at))
        if at in seen:
            _fail(attribute, [seen[at].short_path, file.short_path], "both would be found as %s beside %s: keep one" % (repr(at), "the model" if attribute == "external_data" else src.basename))
        seen[at] = file
    return tuple([struct(location = at, file = file) for at, file in seen.items()])
