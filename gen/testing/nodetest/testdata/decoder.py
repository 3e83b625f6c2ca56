r"""Writes a decoder of language as onnxruntime-genai's builder exports it, with random weights of 4 bits, and what ONNX Runtime answers.

Usage: python decoder.py decoder.onnx decoder.json (with PyPI's onnxruntime, onnx and numpy installed). Without decoder.json it writes a model of any size, to
compare and to time:

  python decoder.py mid.onnx --hidden 512 --heads 8 --shared 2 --inner 1408 --words 4096 --longest 4096
  go run ./tools/compare mid.onnx --int-limit 4096 --dims batch_size=1..4 --dims sequence_length=1..512 --dims past_sequence_length=0..4096 \
    --dims total_sequence_length=1..4096 --run batch_size=1,sequence_length=1,past_sequence_length=1023,total_sequence_length=1024 --rounds 5
"""

import argparse
import json

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, save

MICROSOFT = "com.microsoft"


class Decoder:
    def __init__(self, o):
        self.o, self.random = o, np.random.default_rng(o.seed)
        self.size = o.hidden // o.heads
        self.nodes, self.weights = [], []

    def constant(self, name, x):
        self.weights.append(numpy_helper.from_array(x, name))
        return name

    def node(self, op, inputs, outputs, domain="", **attrs):
        self.nodes.append(helper.make_node(op, inputs, outputs, outputs[0], domain=domain, **attrs))
        return outputs[0]

    def gain(self, name):
        return self.constant(name, (1 + 0.1 * self.random.standard_normal(self.o.hidden)).astype(np.float32))

    def packed(self, name, rows, columns, larger=1):
        """A matrix of 4 bits, two to a byte, and a scale for each block of a row, as constants."""
        blocks = columns // self.o.block
        scale = larger * (0.1 + self.random.random((rows, blocks))) / (4 * columns**0.5)
        bytes_ = self.random.integers(0, 256, (rows, blocks, self.o.block // 2)).astype(np.uint8)
        return bytes_, self.constant(f"{name}.scale", scale.astype(np.float32))

    def product(self, name, x, rows, columns, zeros=False):
        w, scale = self.packed(name, rows, columns)
        inputs = [x, self.constant(f"{name}.weight", w), scale]
        if zeros:
            bytes_ = self.random.integers(0, 256, (rows, (w.shape[1] + 1) // 2)).astype(np.uint8)
            inputs.append(self.constant(f"{name}.zeros", bytes_))
        attrs = {"K": columns, "N": rows, "bits": 4, "block_size": self.o.block, "accuracy_level": 0}
        return self.node("MatMulNBits", inputs, [f"{name}/out"], MICROSOFT, **attrs)

    def norm(self, at, skip, y):
        """The sum of what a layer reads and what it adds, normalized, and the sum."""
        results = [f"{at}/out", "", "", f"{at}/sum"]
        self.node("SkipSimplifiedLayerNormalization", [skip, y, self.gain(f"{at}.weight")], results, MICROSOFT, epsilon=1e-6)
        return results[0], results[3]

    def layer(self, i, x, skip):
        """A layer; of two the second has queries, keys and values as one product, and zero points."""
        o, at, odd = self.o, f"layers.{i}", i % 2 == 1
        q, kv = o.heads * self.size, o.shared * self.size
        if odd:
            qkv = [self.product(f"{at}.qkv", x, q + 2 * kv, o.hidden, zeros=True), "", ""]
        else:
            qkv = [self.product(f"{at}.{n}", x, rows, o.hidden) for n, rows in (("q", q), ("k", kv), ("v", kv))]
        past, present = ([f"{cache}.{i}.{n}" for n in ("key", "value")] for cache in ("past_key_values", "present"))
        y = self.node(
            "GroupQueryAttention", [*qkv, *past, "lasts", "total", "cos_cache", "sin_cache"], [f"{at}.attention", *present], MICROSOFT,
            num_heads=o.heads, kv_num_heads=o.shared, do_rotary=1, rotary_interleaved=0, local_window_size=o.window, scale=self.size**-0.5, softcap=0.0)
        y, skip = self.norm(f"{at}.post_norm", skip, self.product(f"{at}.o", y, o.hidden, q))
        gate, up = (self.product(f"{at}.{n}", y, o.inner, o.hidden, odd) for n in ("gate", "up"))
        gate = self.node("Mul", [gate, self.node("Sigmoid", [gate], [f"{at}.sigmoid"])], [f"{at}.silu"])
        return self.product(f"{at}.down", self.node("Mul", [gate, up], [f"{at}.gated"]), o.hidden, o.inner), skip

    def lengths(self):
        """How many keys there are, and the last one of each batch, by the mask."""
        self.constant("ones", np.array([1], np.int64))
        self.constant("one", np.array(1, np.int64))
        self.node("Sub", [self.node("ReduceSum", ["attention_mask", "ones"], ["known"], keepdims=0), "ones"], ["lasts_64"])
        self.node("Cast", ["lasts_64"], ["lasts"], to=TensorProto.INT32)
        self.node("Gather", [self.node("Shape", ["attention_mask"], ["mask_shape"]), "one"], ["total_64"], axis=0)
        self.node("Cast", ["total_64"], ["total"], to=TensorProto.INT32)

    def model(self):
        o = self.o
        angle = np.outer(np.arange(o.longest), 10000.0 ** (-np.arange(0, self.size, 2) / self.size))
        self.constant("cos_cache", np.cos(angle).astype(np.float32))
        self.constant("sin_cache", np.sin(angle).astype(np.float32))
        self.lengths()
        w, scale = self.packed("embed", o.words, o.hidden, 8)
        table = self.constant("embed.weight", w.reshape(o.words, -1))
        attrs = {"bits": 4, "block_size": o.block, "gather_axis": 0, "quantize_axis": 1}
        skip = self.node("GatherBlockQuantized", [table, "input_ids", scale], ["embed"], MICROSOFT, **attrs)
        x = self.node("SimplifiedLayerNormalization", [skip, self.gain("layers.0.norm.weight")], ["layers.0.norm"], axis=-1, epsilon=1e-6, stash_type=1)
        for i in range(o.layers):
            y, skip = self.layer(i, x, skip)
            x, skip = self.norm(f"layers.{i + 1}.norm", skip, y)
        self.node("Identity", [self.product("lm_head", x, o.words, o.hidden)], ["logits"])
        info, f, i64 = helper.make_tensor_value_info, TensorProto.FLOAT, TensorProto.INT64
        past, present = ([f"{cache}.{i}.{n}" for i in range(o.layers) for n in ("key", "value")] for cache in ("past_key_values", "present"))
        graph = helper.make_graph(
            self.nodes, "decoder",
            [info("input_ids", i64, ["batch_size", "sequence_length"]), info("attention_mask", i64, ["batch_size", "total_sequence_length"]),
             *(info(n, f, ["batch_size", o.shared, "past_sequence_length", self.size]) for n in past)],
            [info("logits", f, ["batch_size", "sequence_length", o.words]),
             *(info(n, f, ["batch_size", o.shared, "total_sequence_length", self.size]) for n in present)],
            self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)


# Words, the mask, and whether the cache begins anew: a prompt of which one batch is shorter, and steps; a prompt of one batch, several words behind it, and a
# step.
STEPS = [
    ([[3, 17, 40, 8], [9, 2, 0, 0]], [[1, 1, 1, 1], [1, 1, 0, 0]], True),
    ([[11], [25]], [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], False),
    ([[30], [5]], [[1] * 6, [1, 1, 1, 1, 0, 0]], False),
    ([[7, 7, 21]], [[1, 1, 1]], True),
    ([[4, 33]], [[1] * 5], False),
    ([[12]], [[1] * 6], False),
]


def answers(model, o):
    """What ONNX Runtime says of each step: of words that are no padding the logits."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names, cache, out = [x.name for x in session.get_inputs()][2:], [], []
    for words, mask, anew in STEPS:
        words, mask = np.array(words, np.int64), np.array(mask, np.int64)
        if anew:
            cache = [np.zeros((len(words), o.shared, 0, o.hidden // o.heads), np.float32) for _ in names]
        logits, *cache = session.run(None, {"input_ids": words, "attention_mask": mask, **dict(zip(names, cache))})
        valid = np.minimum(mask.sum(1), words.shape[1])
        kept = [[[float(f"{x:.9g}") for x in logits[b, s]] for s in range(n)] for b, n in enumerate(valid)]
        out.append({"words": words.tolist(), "mask": mask.tolist(), "anew": anew, "logits": kept})
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("answers", nargs="?")
    for name, x in (("seed", 1), ("layers", 2), ("hidden", 32), ("heads", 2), ("shared", 1), ("inner", 64), ("words", 48), ("block", 16), ("longest", 8), ("window", -1)):
        p.add_argument(f"--{name}", type=int, default=x)
    o = p.parse_args()
    model = Decoder(o).model()
    save(model, o.file)
    if o.answers:
        with open(o.answers, "w") as f:
            f.write("[\n" + ",\n".join(json.dumps(x) for x in answers(model, o)) + "\n]\n")


main()
