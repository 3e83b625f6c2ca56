"""The module extension that finds models outside of this repository."""

load(":repository.bzl", "models_repository")

def _models_impl(_module_ctx):
    models_repository(name = "rules_dnn_models")

models = module_extension(
    implementation = _models_impl,
    doc = "Defines rules_dnn_models: the files of the folder $DNN_MODELS.",
)
