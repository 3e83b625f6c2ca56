"""Providers of rules_dnn: what its rules tell each other and rules outside."""

DnnModelInfo = provider(
    doc = "A compiled network.",
    fields = {
        "backend": "string: what computes: cpu, hvx or opencl.",
        "c_prefix": "string: what the C functions and types of the header begin with.",
        "chip": "string: name of the platform's chip, for whose facts kernels are made.",
        "header": "File: the generated header, C and C++.",
        "include": "string: how C and C++ sources include the header.",
        "library": "File: the static library of the network, without the runtime it needs; of a dnn_model with a target, with the runtime.",
        "manifest": "File: JSON that describes the network, its blocks and its memory.",
        "sources": "depset of File: all that was generated to be compiled: header, a directory of kernels and one for each variant, assembly of embedded weights, and the device's kernels in OpenCL C, which the library holds.",
        "variants": "list of string: names of the further chips that the library has kernels for; create() chooses among all.",
        "weights": "File: the packed weights. With weights = \"file\" the program opens it, otherwise the library holds it.",
    },
)

DnnGraphInfo = provider(
    doc = "A network before it is compiled for a chip.",
    fields = {
        "consts": "File: constants that the network's own files do not hold.",
        "external": "tuple of struct(location = string, file = File): the ONNX model's external data, by the location the model names.",
        "graph": "File: the network as text IR, which refers to weights by file and offset.",
        "pruning": "File: JSON that tells what pruning made of the ONNX model; None where it is as it was given.",
        "pruning_log": "File: JSON that tells how the pruned weights were trained, or None.",
        "src": "File: the ONNX model.",
    },
)

DnnPruningInfo = provider(
    doc = "How networks are pruned: by masks, or by settings and a policy.",
    fields = {
        "calibration": "File: inputs by which BatchNormalizations get their statistics anew, or None.",
        "log": "File: how the weights were trained, for the report, or None.",
        "masks": "File: which weights are kept; None where settings say so.",
        "packed": "bool: whether the layers of the masks have kernels that store what is kept and nothing else, whatever the masks ask for; settings say it themselves.",
        "policy": "File: Starlark that decides for each layer, or None.",
        "samples": "File: labelled inputs by which sensitivity is measured, or None.",
        "settings": "File: JSON for `dnnc prune`; None where masks say all.",
        "shrink": "bool: whether empty filters and channels are taken out.",
    },
)

DnnChipInfo = provider(
    doc = "What is known of a chip.",
    fields = {
        "copts": "list of string: C++ compiler flags that select the chip's instruction set.",
        "facts": "File: JSON, read by the compiler: vector width, registers, caches.",
        "name": "string: the chip's name in manifests and messages.",
        "variants": "list of DnnChipInfo: more capable chips for which the library of a platform with this one has kernels, too, the least capable first.",
    },
)

DnncToolchainInfo = provider(
    doc = "The compiler from networks to sources.",
    fields = {
        "dnnc": "FilesToRunProvider: the compiler.",
    },
)
