"""dnn_prune: a network that was pruned by training."""

load("//rules:providers.bzl", "DnnPruningInfo")
load(":actions.bzl", "DNNC_EXEC_GROUPS", "DNNC_GROUP", "run_train")
load(":check.bzl", "check_images", "check_src", "check_training")
load(":dnnc_toolchain.bzl", "DNNC_TYPE")

def _settings(ctx):
    """Declares the file with the settings of training."""
    settings = ctx.actions.declare_file(ctx.label.name + ".settings.json")
    ctx.actions.write(settings, json.encode_indent({
        key: json.decode(ctx.attr.settings[key])
        for key in sorted(ctx.attr.settings)
    }, indent = " ") + "\n")
    return settings

def _options(ctx):
    """Returns the inputs of `dnnc train admm`: Files, and a dict from option name to number."""
    src = check_src(ctx.attr.src.label, ctx.files.src)
    pruning = ctx.attr.pruning[DnnPruningInfo]
    check_training(ctx.attr.pruning.label, pruning, ctx.attr.settings)
    return struct(
        data = ctx.file.data,
        images = check_images(ctx.files.images, ctx.file.data),
        numbers = {
            "choose": ctx.attr.choose,
            "epochs": ctx.attr.epochs,
            "growth": ctx.attr.growth,
            "iterations": ctx.attr.iterations,
            "most": ctx.attr.most,
            "retrain": ctx.attr.retrain,
            "rho": ctx.attr.rho,
            "steps": ctx.attr.steps,
        },
        policy = pruning.policy,
        pruning = pruning.settings,
        samples = pruning.samples,
        settings = _settings(ctx),
        src = src,
    )

_ATTRS = {
    "choose": attr.int(
        doc = "The number of epochs at the start of retraining in which the trainer updates the masks.",
    ),
    "data": attr.label(
        allow_single_file = [".json"],
        doc = "A JSON file that lists the images.",
        mandatory = True,
    ),
    "epochs": attr.int(
        default = 10,
        doc = "Epochs of each iteration and step.",
    ),
    "growth": attr.string(
        default = "10",
        doc = "The factor by which rho grows with each iteration.",
    ),
    "images": attr.label_list(
        allow_files = True,
        doc = "The files that the data name.",
    ),
    "iterations": attr.int(
        default = 4,
        doc = "Iterations of ADMM.",
    ),
    "most": attr.string(
        default = "0.1",
        doc = "The maximum of rho.",
    ),
    "pruning": attr.label(
        doc = "A dnn_pruning.",
        mandatory = True,
        providers = [DnnPruningInfo],
    ),
    "retrain": attr.int(
        default = 40,
        doc = "Epochs of masked training at the end.",
    ),
    "rho": attr.string(
        default = "0.001",
        doc = "Weight of the quadratic terms in the first iteration.",
    ),
    "settings": attr.string_dict(
        doc = "Settings of training: a dict from name to JSON.",
    ),
    "src": attr.label(
        allow_files = True,
        doc = "The ONNX model.",
        mandatory = True,
    ),
    "steps": attr.int(
        doc = "The number of masked trainings after the iterations. Each one drops some kernels.",
    ),
}

def _pruned(model, masks, log):
    """Returns the providers of a network that was pruned."""
    return [
        DefaultInfo(files = depset([model])),
        DnnPruningInfo(
            calibration = None,
            log = log,
            masks = masks,
            packed = False,  # the masks have it for each layer
            policy = None,
            samples = None,
            settings = None,
            shrink = False,
        ),
        OutputGroupInfo(
            log = depset([log]),
            masks = depset([masks]),
        ),
    ]

def _dnn_pruned_impl(ctx):
    missing = [name for name, file in [(ctx.attr.names[0], ctx.file.model), (ctx.attr.names[1], ctx.file.masks), (ctx.attr.names[2], ctx.file.log)] if not file]
    if missing:
        fail("\n%s has not been trained yet: %s beside the BUILD file %s missing. Write them with\n\n    bazel run %s.update\n\nand check them in, or train in every build with train_in_build = True" % (
            ctx.label,
            ", ".join(missing),
            "are" if len(missing) > 1 else "is",
            ctx.label,
        ))
    return _pruned(ctx.file.model, ctx.file.masks, ctx.file.log)

_dnn_pruned = rule(
    implementation = _dnn_pruned_impl,
    doc = "A network that NAME.update pruned, with masks and log.",
    attrs = {
        "log": attr.label(
            allow_single_file = True,
            doc = "The log of training: accuracies and residuals.",
        ),
        "masks": attr.label(
            allow_single_file = True,
            doc = "The masks.",
        ),
        "model": attr.label(
            allow_single_file = [".onnx"],
            doc = "The pruned model.",
        ),
        "names": attr.string_list(
            doc = "Of model, masks and log.",
            mandatory = True,
        ),
    },
    provides = [DnnPruningInfo],
)

def _dnn_pruned_in_build_impl(ctx):
    for what, found in [("trainer", ctx.attr.trainer), ("out", ctx.attr.out)]:
        if found:
            fail("\n%s: builds train with the built-in trainer and write no files to check in: leave out either train_in_build or %s" % (ctx.label, what))
    base = "%s/%s" % (ctx.label.name, ctx.label.name.split("/")[-1])
    files = run_train(ctx, base, _options(ctx))
    return _pruned(files.model, files.masks, files.log)

_dnn_pruned_in_build = rule(
    implementation = _dnn_pruned_in_build_impl,
    doc = "A network that the build prunes with the built-in trainer.",
    attrs = _ATTRS | {
        "out": attr.string(
            doc = "Refused, because no files are checked in.",
        ),
        "trainer": attr.label(
            doc = "Refused, because builds train with the built-in trainer only.",
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    provides = [DnnPruningInfo],
)

def _dnn_pruner_impl(ctx):
    o = _options(ctx)
    args = ["-model=" + o.src.short_path, "-data=" + o.data.short_path, "-pruning=@" + o.pruning.short_path, "-settings=@" + o.settings.short_path]
    args += ["-image=%s=%s" % (entry.location, entry.file.short_path) for entry in o.images]
    if o.policy:
        args.append("-policy=" + o.policy.short_path)
    if o.samples:
        args.append("-samples=" + o.samples.short_path)
    args += ["-%s=%s" % (name, o.numbers[name]) for name in sorted(o.numbers)]
    package = ctx.label.package + "/" if ctx.label.package else ""
    trainer = ctx.attr.trainer[DefaultInfo].files_to_run.executable if ctx.attr.trainer else None
    plan = ctx.actions.declare_file(ctx.label.name + ".plan")
    ctx.actions.write(plan, json.encode_indent(struct(
        args = args,
        log = package + ctx.attr.names[2],
        masks = package + ctx.attr.names[1],
        name = str(ctx.label),
        out = package + ctx.attr.names[0],
        trainer = trainer.short_path if trainer else "",
    )))
    executable = ctx.actions.declare_file(ctx.label.name + "/update")
    ctx.actions.symlink(
        is_executable = True,
        output = executable,
        progress_message = "Gathering %{label}",
        target_file = ctx.exec_groups[DNNC_GROUP].toolchains[DNNC_TYPE].dnnc_info.dnnc.executable,
    )
    runfiles = ctx.runfiles([plan, o.src, o.data, o.pruning, o.settings] + [file for file in [o.policy, o.samples] if file] + [entry.file for entry in o.images])
    if ctx.attr.trainer:
        runfiles = runfiles.merge(ctx.runfiles([trainer])).merge(ctx.attr.trainer[DefaultInfo].default_runfiles)
    return [DefaultInfo(
        executable = executable,
        runfiles = runfiles,
    )]

_dnn_pruner = rule(
    implementation = _dnn_pruner_impl,
    doc = "A command that prunes a network by training and writes the results into the workspace.",
    attrs = _ATTRS | {
        "names": attr.string_list(
            doc = "Of model, masks and log.",
            mandatory = True,
        ),
        "trainer": attr.label(
            cfg = "target",
            doc = "The trainer's executable.",
            executable = True,
        ),
    },
    exec_groups = DNNC_EXEC_GROUPS,
    executable = True,
)

def _text(x):
    """Returns a number as text, and any other value, such as a select(), unchanged."""
    return str(x) if type(x) in ["int", "float"] else x

# Attributes of the network that also apply to NAME.update.
_SHARED = ["compatible_with", "restricted_to", "target_compatible_with", "testonly"]

def dnn_prune(
        name,
        src,
        pruning,
        data,
        images = None,
        trainer = None,
        iterations = None,
        steps = None,
        epochs = None,
        retrain = None,
        choose = None,
        rho = None,
        growth = None,
        most = None,
        settings = None,
        out = None,
        train_in_build = False,
        tags = None,
        visibility = None,
        **kwargs):
    """Prunes a network by training, as in PatDNN: with ADMM, followed by masked training.

    `bazel run NAME.update` trains on the machine that runs it. It writes three files beside the
    BUILD file: the pruned model, its masks, and a log with the accuracy before and after and the
    residuals of each iteration. Check them in. If the command is interrupted, run it again: it
    continues. `:NAME` is the pruned model, and `dnn_model(src = ":NAME")` compiles it. Add
    `pruning = ":NAME"` for a report of what was pruned.

    Builds do not train unless train_in_build is set. The built-in trainer computes the same bytes
    on every machine.

    Args:
      name: the target.
      src: the .onnx file of a trained network, with its weights in the same file.
      pruning: a dnn_pruning without masks, calibration and shrink. If it sets packed, so do the
        masks.
      data: a JSON file that lists the images; docs/trainers.md describes it.
      images: the files that data names, by their paths relative to data. If a file is missing
        here, only NAME.update finds it.
      trainer: an executable that implements the protocol of docs/trainers.md, for NAME.update.
        Default: the built-in trainer.
      iterations: the number of ADMM iterations. Default: 4.
      steps: the number of masked trainings after the iterations. Each one drops some kernels, the
        first ones most of them. Default: 0.
      epochs: epochs of each iteration and step. Default: 10.
      retrain: epochs of masked training at the end. Default: 40.
      choose: the number of epochs at the start of retrain in which the trainer updates the masks
        every 16 steps. It trains all weights in these epochs, and drops kernels gradually in the
        first half of them. The built-in trainer does not support it. Default: 0, the masks stay
        as they are.
      rho: weight of the quadratic terms in the first iteration. Default: 0.001.
      growth: the factor by which rho grows with each iteration. Default: 10.
      most: the maximum of rho. Default: 0.1.
      settings: settings of training, as in {"batch": 128, "learning_rate": 0.01};
        docs/trainers.md lists them.
      out: the prefix of the three files' names: OUT.onnx, OUT.masks and OUT.log.json. Default:
        name.
      train_in_build: whether builds train, again after each change of an input. There is no
        NAME.update then, and only the built-in trainer is supported.
      tags: tags of NAME.
      visibility: visibility of NAME.
      **kwargs: attributes common to all rules.
    """
    training = dict(
        choose = choose,
        data = data,
        epochs = epochs,
        growth = _text(growth),
        images = images,
        iterations = iterations,
        most = _text(most),
        pruning = pruning,
        retrain = retrain,
        rho = _text(rho),
        settings = {key: json.encode(settings[key]) for key in settings} if settings else None,
        src = src,
        steps = steps,
    )
    if train_in_build:
        _dnn_pruned_in_build(
            name = name,
            out = out,
            tags = tags,
            trainer = trainer,
            visibility = visibility,
            **(training | kwargs)
        )
        return
    base = out or name
    names = [base + ".onnx", base + ".masks", base + ".log.json"]
    there = native.glob(names, allow_empty = True)
    _dnn_pruned(
        name = name,
        log = names[2] if names[2] in there else None,
        masks = names[1] if names[1] in there else None,
        model = names[0] if names[0] in there else None,
        names = names,
        tags = tags,
        visibility = visibility,
        **{key: value for key, value in kwargs.items() if key != "exec_properties"}
    )
    package = native.package_name()
    _dnn_pruner(
        name = name + ".update",
        args = ["train", "update", "-plan=%s%s.update.plan" % (package + "/" if package else "", name)],
        names = names,
        tags = (tags or []) + ["manual"],
        trainer = trainer,
        visibility = ["//visibility:private"],
        **(training | {key: kwargs[key] for key in _SHARED + ["exec_properties"] if key in kwargs})
    )
