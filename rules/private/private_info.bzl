"""Providers that rules of this folder tell each other."""

BuiltForInfo = provider(
    doc = "Where a model can be linked.",
    fields = {
        "loaded": "list of File: what the program opens when it runs.",
        "platform": "Label: the platform in --platforms when the model was built.",
    },
)
