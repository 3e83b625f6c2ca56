"""Providers that only the rules in this directory use."""

ModelPartsInfo = provider(
    doc = "Inputs and options of compiling a model, for rules that compile it with other options.",
    fields = {
        "accumulation": "string: the type that adds products.",
        "api": "string: the header's name, without .h.",
        "c_prefix": "string: prefix of C names.",
        "calibration": "File: inputs that show which values leave the range of fp16, or None.",
        "chip": "DnnChipInfo: the chip.",
        "device": "File: facts of the OpenCL device that runs blocks beside the chip, or None.",
        "graph": "DnnGraphInfo: the network.",
        "namespace": "string: namespace of the C++ wrapper.",
        "options": "list of string: additional options for dnnc.",
        "precision": "string: the type that stores floats.",
        "shards": "int: the number of C++ files that the kernels are split into.",
        "variants": "list of DnnChipInfo: additional chips that the library has kernels for.",
    },
)

BuiltForInfo = provider(
    doc = "The platform that a model was built for, and whether a binary of this build can link it.",
    fields = {
        "archive": "File: the static library of the model and of the runtime it needs.",
        "loaded": "list of File: files that the program opens when it runs.",
        "platform": "Label: the platform in --platforms when the model was built.",
        "refusal": "string: the reason why a binary of this build cannot link the model; None if it can.",
    },
)
