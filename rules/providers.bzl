"""Providers of rules_dnn. Rules outside rules_dnn may read and return them, too."""

DnnModelInfo = provider(
    doc = "A compiled network.",
    fields = {
        "backend": "string: cpu, hvx or opencl.",
        "c_prefix": "string: the prefix of the header's C functions and types.",
        "chip": "string: name of the platform's chip. The compiler specializes kernels to its facts.",
        "header": "File: the generated header, for C and C++.",
        "include": "string: the path by which C and C++ sources include the header.",
        "library": "File: the network's static library. It includes the runtime only if the dnn_model has a target.",
        "manifest": "File: JSON that describes the network, its blocks and its memory.",
        "sources": "depset of File: the generated sources: the header, a directory of kernels for each chip, assembly of embedded weights, and kernels in OpenCL C, which the library embeds.",
        "variants": "list of string: names of additional chips that the library has kernels for; create() chooses one at run time.",
        "weights": "File: the packed weights. With weights = \"file\" the program opens this file; otherwise the library embeds it.",
    },
)

DnnGraphInfo = provider(
    doc = "A network before it is compiled for a chip.",
    fields = {
        "consts": "File: constants that the compiler computed, and that no file of the model holds.",
        "external": "tuple of struct(location = string, file = File): the ONNX model's external data. location is the path that the model names.",
        "graph": "File: the network as text IR, which refers to weights by file and offset.",
        "pruning": "File: JSON report of pruning; None if the ONNX model was not pruned.",
        "pruning_log": "File: JSON log of the training of the pruned weights, or None.",
        "src": "File: the ONNX model.",
    },
)

DnnPruningInfo = provider(
    doc = "How a network is pruned: by masks, or by settings and an optional policy.",
    fields = {
        "calibration": "File: inputs from which BatchNormalization statistics are computed again, or None.",
        "log": "File: the log of training, for the report, or None.",
        "masks": "File: masks of the weights that are kept; None if settings choose them.",
        "packed": "bool: with masks, whether kernels of all layers store only the weights that are kept, even if the masks do not request it. False with settings, which have a field packed.",
        "policy": "File: Starlark function that chooses settings for each layer, or None.",
        "samples": "File: labelled inputs to measure sensitivity with, or None.",
        "settings": "File: JSON for `dnnc prune`; None if there are masks.",
        "shrink": "bool: whether empty filters and channels are removed.",
    },
)

DnnChipInfo = provider(
    doc = "Facts of a chip, and the C++ flags for its kernels.",
    fields = {
        "copts": "list of string: C++ compiler flags that select the chip's instruction set.",
        "facts": "File: JSON for dnnc: vector width, registers, caches.",
        "name": "string: the chip's name in manifests and messages.",
        "variants": "list of DnnChipInfo: more capable chips, the least capable first. A library built for this chip has kernels for these, too.",
    },
)

DnncToolchainInfo = provider(
    doc = "The compiler that translates networks to C and C++ sources.",
    fields = {
        "dnnc": "FilesToRunProvider: the compiler.",
    },
)
