"""Public rules and providers of rules_dnn."""

load("//rules/private:dnn_benchmark.bzl", _dnn_benchmark = "dnn_benchmark")
load("//rules/private:dnn_chip.bzl", _dnn_chip = "dnn_chip")
load("//rules/private:dnn_import.bzl", _dnn_import = "dnn_import")
load("//rules/private:dnn_model.bzl", _dnn_model = "dnn_model")
load("//rules/private:dnn_prune.bzl", _dnn_prune = "dnn_prune")
load("//rules/private:dnn_pruning.bzl", _dnn_pruning = "dnn_pruning")
load("//rules/private:dnn_quantize.bzl", _dnn_quantize = "dnn_quantize")
load("//rules/private:dnnc_toolchain.bzl", _dnnc_toolchain = "dnnc_toolchain")
load(
    ":providers.bzl",
    _DnnChipInfo = "DnnChipInfo",
    _DnnGraphInfo = "DnnGraphInfo",
    _DnnModelInfo = "DnnModelInfo",
    _DnnPruningInfo = "DnnPruningInfo",
    _DnncToolchainInfo = "DnncToolchainInfo",
)

# Rules.
dnn_benchmark = _dnn_benchmark
dnn_chip = _dnn_chip
dnn_import = _dnn_import
dnn_model = _dnn_model
dnn_prune = _dnn_prune
dnn_pruning = _dnn_pruning
dnn_quantize = _dnn_quantize
dnnc_toolchain = _dnnc_toolchain

# Providers.
DnnChipInfo = _DnnChipInfo
DnnGraphInfo = _DnnGraphInfo
DnnModelInfo = _DnnModelInfo
DnnPruningInfo = _DnnPruningInfo
DnncToolchainInfo = _DnncToolchainInfo
