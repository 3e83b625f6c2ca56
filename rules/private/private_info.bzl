"""Providers that rules of this folder tell each other."""

ModelPartsInfo = provider(
    doc = "What a model is compiled from and how, for what compiles it otherwise.",
    fields = {
        "api": "string: the header's name, without .h.",
        "c_prefix": "string: what C names begin with.",
        "calibration": "File: inputs that show which values leave the range of fp16, or None.",
        "chip": "DnnChipInfo: the chip.",
        "device": "File: the facts of the device that runs blocks beside the chip; None where there is none.",
        "graph": "DnnGraphInfo: the network.",
        "namespace": "string: of the C++ wrapper.",
        "options": "list of string: further options for dnnc.",
        "precision": "string: in what floats are stored.",
        "shards": "int: how many C++ files the kernels go to.",
        "variants": "list of DnnChipInfo: further chips that the library has kernels for.",
    },
)

BuiltForInfo = provider(
    doc = "Where a model can be linked.",
    fields = {
        "archive": "File: the static library of the model and of the runtime it needs.",
        "loaded": "list of File: what the program opens when it runs.",
        "platform": "Label: the platform in --platforms when the model was built.",
        "refusal": "string: why what is built now cannot link the model; None where it can.",
    },
)
