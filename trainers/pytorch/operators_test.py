"""Compares the table of operators with ONNX's own node tests.

    python -m unittest operators_test
"""

import re
import unittest

import numpy
import onnx
import torch
from onnx import numpy_helper
from onnx.backend.test import loader

import operators

# Messages of cases that are rejected: each rejected case must match one of these.
REFUSED = [
    r"results besides the first .* are not supported",
    r"^\w+ = .*; supported are ",
    r"of mode nearest only asymmetric coordinates",
    r"coordinates \S+ of mode linear are not supported",
    r"want rank 4, and the same number of images and channels",
    r"casts to \w+ are not supported",
    r"auto_pad and output_shape are not supported",
    r"noop_with_empty_axes without axes is not supported",
    r"whose products are not integers, are not supported",
    r"pytorch_half_pixel with results of one element",
    r"attribute (keep_aspect_ratio_policy|axes) is not supported",
    r"broadcasting of opset 6",
]


def tensors(values):
    """Returns the inputs or outputs of a case."""
    return [torch.from_numpy(numpy.array(v) if not isinstance(v, onnx.TensorProto) else numpy_helper.to_array(v).copy()) for v in values]


def run(node, opset, inputs):
    """Returns the results of a node, as the importer computes it."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    spec = operators.Spec(node.op_type, opset, attributes, list(node.input), [o for o in node.output if o])
    function = operators.TABLE[node.op_type](spec)
    if attributes:
        raise operators.Unsupported(f"attribute {sorted(attributes)[0]} is not supported")
    given = iter(inputs)
    out = function(operators.Run(False), *[next(given) if name else None for name in node.input])
    return out if isinstance(out, tuple) else (out,)


class NodeTests(unittest.TestCase):
    def test_all(self):
        passed, refused = {}, {}
        for case in loader.load_model_tests(kind="node"):
            model = case.model
            node = model.graph.node[0]
            types = {v.type.tensor_type.elem_type for v in list(model.graph.input)[:1]}
            floats = types <= {onnx.TensorProto.FLOAT} or node.op_type in ("Gather", "ConstantOfShape", "Where") and types <= {onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}
            if len(model.graph.node) != 1 or node.op_type not in operators.TABLE or node.domain or not floats:
                continue
            if "train" in case.name:
                continue  # BatchNormalization and Dropout: the trainer sets their mode
            if case.name.startswith("test_cast") or case.name.endswith("_empty_set"):
                continue  # types that PyTorch lacks, and reductions of nothing
            with self.subTest(case.name):
                inputs, outputs = case.data_sets[0]
                try:
                    got = run(node, model.opset_import[0].version, tensors(inputs))
                except operators.Unsupported as e:
                    self.assertTrue(any(re.search(r, str(e)) for r in REFUSED), f"{case.name}: {e}")
                    refused.setdefault(node.op_type, []).append(case.name)
                    continue
                want = tensors(outputs)
                self.assertEqual(len(want), len(got))
                for w, g in zip(want, got):
                    self.assertEqual(w.shape, g.shape)
                    self.assertEqual(w.dtype, g.dtype)
                    numpy.testing.assert_allclose(g.numpy(), w.numpy(), rtol=max(1e-4, case.rtol), atol=1e-5)
                passed.setdefault(node.op_type, []).append(case.name)
        # These are in network_test.py: their node tests have types that PyTorch lacks, or further
        # results.
        self.assertEqual(sorted(set(operators.TABLE) - set(passed)), ["Cast", "LayerNormalization"])
        self.assertGreater(sum(map(len, passed.values())), 300)


if __name__ == "__main__":
    unittest.main()
