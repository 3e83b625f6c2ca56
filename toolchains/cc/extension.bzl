"""The module extension that finds clang."""

load(":repository.bzl", "clang_repository")

def _clang_impl(_module_ctx):
    clang_repository(name = "rules_dnn_clang")

clang = module_extension(
    implementation = _clang_impl,
    doc = "Defines rules_dnn_clang: C++ toolchains that run this machine's clang. //toolchains/cc:BUILD.bazel refers to it.",
)
