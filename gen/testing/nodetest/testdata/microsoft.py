"""Prints microsoft.json: what ONNX Runtime says of its own operators.

Usage: python microsoft.py > microsoft.json (with PyPI's onnxruntime, onnx and numpy installed).
"""

import json

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

TYPES = {"float32": "f32", "float16": "f16", "uint8": "u8", "int8": "i8", "int32": "i32", "bool": "bool", "int64": "i64"}
R = np.random.default_rng(17)


def data(shape, dtype):
    i = np.iinfo(dtype)
    return R.integers(i.min, i.max + 1, shape).astype(dtype)


def floats(*shape):
    return R.standard_normal(shape).astype(np.float32)


def f32(x):
    return np.array(x, np.float32)


def cases():
    for t, za, zy in ((np.uint8, 117, 100), (np.int8, -5, 7)):
        name = np.dtype(t).name

        def z(x):
            return np.array(x, t)

        def case(op, inputs, what="", **attrs):
            return f"{op}_{name}{what}", op, inputs, attrs

        x, y = data((2, 3, 7, 5), t), data((2, 3, 7, 5), t)
        pair = [x, f32(0.02), z(za), y, f32(0.037), z(zy), f32(0.05), z(3)]
        yield case("QLinearAdd", pair)
        yield case("QLinearAdd", [x, f32(0.0213), z(0), data((3, 1, 5), t), f32(0.0117), z(zy), f32(0.0411), z(0)], "_broadcast")
        yield case("QLinearMul", [*pair[:6], f32(0.07), z(3)])
        yield case("QLinearMul", [x, f32(0.02), z(za), z(za + 40), f32(0.1), z(zy), f32(0.04), z(9)], "_scalar")
        one = [x, f32(0.02), z(za), f32(0.03), z(zy)]
        yield case("QLinearAveragePool", one, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
        yield case("QLinearAveragePool", one, "_padding", kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1)
        yield case("QLinearAveragePool", [x, f32(0.02), z(0), f32(0.011), z(0)], "_ceil", kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)
        yield case("QLinearAveragePool", one, "_last", kernel_shape=[2, 3], channels_last=1)
        yield case("QLinearGlobalAveragePool", [x, f32(0.02), z(za), f32(0.005), z(zy)], channels_last=0)
        yield case("QLinearGlobalAveragePool", [x, f32(0.02), z(za), f32(0.005), z(zy)], "_last", channels_last=1)
        yield case("QLinearLeakyRelu", one, alpha=0.2)
        yield case("QLinearLeakyRelu", [x, f32(0.02), z(0), f32(0.03), z(0)], "_default")
        yield case("QLinearSigmoid", [x, f32(0.05), z(za), f32(1 / 256), z(0 if t == np.uint8 else -128)])
        low = z(0 if t == np.uint8 else -128)
        yield case("QLinearSoftmax", [x, f32(0.05), z(za), f32(1 / 256), low], axis=-1, opset=13)
        yield case("QLinearSoftmax", [x, f32(0.02), z(za), f32(1 / 256), low], "_old", axis=2, opset=11)
        yield case("QLinearReduceMean", [x, f32(0.02), z(za), f32(0.007), z(zy)], axes=[2, 3], keepdims=1)
        yield case("QLinearReduceMean", [x, f32(0.02), z(za), f32(0.007), z(zy)], "_channels", axes=[1], keepdims=0)
        yield case("QLinearConcat", [f32(0.03), z(zy), x, f32(0.02), z(za), data((2, 4, 7, 5), t), f32(0.03), z(zy)], axis=1)
        where = [data((2, 3, 7, 5), np.int8) > 0, x, f32(0.02), z(za), y, f32(0.04), z(zy), f32(0.05), z(1)]
        yield case("QLinearWhere", where)
        for w in (np.int8, np.uint8):
            zw = np.array(0 if w == np.int8 else 131, w)
            a, m = data((5, 24), t), data((24, 9), w)
            b = R.integers(-3000, 3000, 9).astype(np.int32)
            wide = "_" + np.dtype(w).name
            if t == np.int8 and w == np.uint8:
                continue  # ONNX Runtime has no such product
            yield case("QGemm", [a, f32(0.02), z(za), m, f32(0.01), zw, b, f32(0.2), z(zy)], wide)
            each = np.abs(floats(9)) * np.float32(0.01) + np.float32(0.002)
            zeros = np.full(9, zw, w)
            yield case("QGemm", [a, f32(0.02), z(za), np.ascontiguousarray(m.T), each, zeros, b, f32(0.2), z(zy)], wide + "_columns", transB=1)
            yield case("QGemm", [a, f32(0.02), z(za), m, f32(0.01), zw], wide + "_float", alpha=0.5)
            yield case("MatMulIntegerToFloat", [a, m, f32(0.02), f32(0.01), z(za), zw, floats(9)], wide)
            yield case("MatMulIntegerToFloat", [a, m, f32(0.02), each, None, zeros], wide + "_columns")
            if t == np.uint8:
                yield case("DynamicQuantizeMatMul", [floats(5, 24), m, f32(0.01), zw, floats(9)], wide)
                yield case("DynamicQuantizeMatMul", [floats(5, 24), m, each, zeros], wide + "_columns")
    for k, n, size, zero, bias in ((64, 5, 32, None, False), (80, 6, 32, "u8", True), (40, 3, 16, "f32", False)):
        blocks = -(-k // size)
        inputs = [floats(4, k), data((n, blocks, size // 2), np.uint8), np.abs(floats(n * blocks)) * np.float32(0.1)]
        if zero == "u8":
            inputs.append(data((n * ((blocks + 1) // 2),), np.uint8))
        elif zero == "f32":
            inputs.append(floats(n, blocks) + np.float32(7))
        elif bias:
            inputs.append(None)
        if bias:
            inputs += [None, floats(n)]
        yield f"MatMulNBits_{k}_{zero}", "MatMulNBits", inputs, {"K": k, "N": n, "bits": 4, "block_size": size}


def gathered():
    """GatherBlockQuantized of rows of a table; 7 and -9 are outside of it."""
    places = np.array([[0, 3], [4, -1]], np.int64)
    for what, shape, at, bits, size, zero in (
        ("4", (5, 16), places, 4, 16, False), ("4_zero", (5, 3, 32), places.astype(np.int32), 4, 32, True), ("4_rest", (5, 20), places[0], 4, 16, True),
        ("8", (5, 32), places, 8, 16, False), ("8_zero", (5, 32), np.array([1, 7, -9, -5], np.int64), 8, 16, True), ("8_rest", (5, 40), places, 8, 16, True),
    ):
        blocks = -(-shape[-1] * (8 // bits) // size)
        inputs = [data(shape, np.uint8), at, floats(*shape[:-1], blocks)]
        if zero:
            inputs.append(data((*shape[:-1], -(-blocks * bits // 8)), np.uint8))
        yield f"GatherBlockQuantized_{what}", "GatherBlockQuantized", inputs, {"bits": bits, "block_size": size, "quantize_axis": len(shape) - 1}, [1], {"free": [1]}


def fused():
    """Operators of floats: what the optimizers make of several nodes. A case's number of results is 1, or its last item's."""
    x, b = floats(2, 5, 8), floats(8)
    yield "Gelu", "Gelu", [x], {}
    yield "BiasGelu", "BiasGelu", [x, b], {}
    yield "FastGelu", "FastGelu", [x], {}
    yield "FastGelu_bias", "FastGelu", [x, b], {}
    yield "QuickGelu", "QuickGelu", [x], {}
    yield "QuickGelu_alpha", "QuickGelu", [x], {"alpha": 0.5}
    yield "FusedMatMul", "FusedMatMul", [floats(2, 3, 5), floats(5, 4)], {"alpha": 0.25}
    yield "FusedMatMul_turned", "FusedMatMul", [floats(2, 5, 3), floats(2, 4, 5)], {"transA": 1, "transB": 1}
    yield "FusedMatMul_batch", "FusedMatMul", [floats(3, 2, 4, 5), floats(2, 4, 5, 6)], {"transBatchA": 1}
    yield "FusedMatMul_both", "FusedMatMul", [floats(5, 2, 4, 3), floats(2, 4, 5, 6)], {"transBatchA": 1, "transA": 1}
    yield "FusedGemm", "FusedGemm", [floats(3, 5), floats(4, 5), floats(4)], {"transB": 1, "alpha": 0.5, "beta": 2.0, "activation": "Relu"}
    yield "FusedGemm_leaky", "FusedGemm", [floats(3, 5), floats(5, 4), floats(4)], {"activation": "LeakyRelu", "activation_alpha": 0.3}
    image, w = floats(1, 4, 6, 5), floats(4, 2, 3, 3)
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "group": 2, "strides": [1, 1], "dilations": [1, 1]}
    yield "FusedConv", "FusedConv", [image, w, floats(4)], dict(conv, activation="Relu")
    yield "FusedConv_sum", "FusedConv", [image, w, floats(4), floats(1, 4, 6, 5)], dict(conv, activation="Relu")
    yield "FusedConv_clip", "FusedConv", [image, w], dict(conv, activation="Clip", activation_params=[-0.5, 0.75])
    yield "FusedConv_hard", "FusedConv", [image, w], dict(conv, activation="HardSigmoid", activation_params=[0.2, 0.4])
    rows, skip, gain = floats(2, 5, 8), floats(2, 5, 8), floats(8)
    yield "SkipLayerNormalization", "SkipLayerNormalization", [rows, skip, gain, floats(8), floats(8)], {"epsilon": 1e-5}, [1, 0, 0, 1]
    yield "SkipLayerNormalization_plain", "SkipLayerNormalization", [rows, floats(1, 5, 8), gain], {"epsilon": 1e-3}
    yield "SkipSimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", [rows, skip, gain, floats(8)], {"epsilon": 1e-5}, [1, 0, 0, 1]
    yield "SkipSimplifiedLayerNormalization_plain", "SkipSimplifiedLayerNormalization", [rows, skip, gain], {}
    ids, tables = np.array([[3, 1, 0, 6], [2, 2, 5, 4]], np.int32), [floats(7, 8), floats(6, 8)]
    segments, mask = np.array([[0, 0, 1, 1], [0, 1, 1, 0]], np.int32), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    yield ("EmbedLayerNormalization", "EmbedLayerNormalization", [ids, segments, *tables, floats(2, 8), gain, floats(8), mask],
           {"epsilon": 1e-6, "mask_index_type": 1}, [1, 1, 1])
    yield ("EmbedLayerNormalization_places", "EmbedLayerNormalization", [ids, None, *tables, None, gain, floats(8), None, ids[:, ::-1] % 6],
           {"epsilon": 1e-6}, [1, 1])
    bias, wide = floats(24), floats(8, 24)
    for name, m in (("raw", mask), ("lengths", np.array([3, 1], np.int32)), ("rows", (data((2, 4, 4), np.int8) > 0).astype(np.int32))):
        yield f"Attention_{name}", "Attention", [floats(2, 4, 8), wide, bias, m], {"num_heads": 2}
    yield "Attention_causal", "Attention", [floats(2, 4, 8), wide, bias], {"num_heads": 2, "unidirectional": 1, "scale": 0.3}
    yield "Attention_bias", "Attention", [floats(2, 4, 8), wide, bias, mask, None, floats(2, 2, 4, 4)], {"num_heads": 2, "mask_filter_value": -3.5}
    yield "Attention_past", "Attention", [floats(2, 4, 8), wide, bias, None, floats(2, 2, 2, 3, 4)], {"num_heads": 2, "unidirectional": 1}, [1, 1]
    yield "Attention_sizes", "Attention", [floats(2, 4, 8), floats(8, 28), floats(28)], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}
    q, kv = floats(2, 4, 8), [floats(2, 5, 8), floats(2, 5, 6)]
    long = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)
    yield "MultiHeadAttention", "MultiHeadAttention", [q, *kv], {"num_heads": 2}
    yield "MultiHeadAttention_bias", "MultiHeadAttention", [q, *kv, floats(22), long], {"num_heads": 2}
    yield "MultiHeadAttention_added", "MultiHeadAttention", [q, *kv, None, None, floats(1, 2, 4, 5)], {"num_heads": 2, "scale": 0.7}
    yield "MultiHeadAttention_heads", "MultiHeadAttention", [q, floats(2, 2, 5, 4), floats(2, 2, 5, 4)], {"num_heads": 2}
    yield ("MultiHeadAttention_past", "MultiHeadAttention", [q, floats(2, 4, 8), floats(2, 4, 8), None, None, None, floats(2, 2, 3, 4), floats(2, 2, 3, 4)],
           {"num_heads": 2, "unidirectional": 1}, [1, 1, 1])
    angle = floats(10, 2)
    cache = [np.cos(angle), np.sin(angle)]
    places = np.array([[0, 1, 2, 3], [4, 5, 6, 7]], np.int64)
    yield "RotaryEmbedding", "RotaryEmbedding", [floats(2, 4, 8), places, *cache], {}
    yield "RotaryEmbedding_offset", "RotaryEmbedding", [floats(2, 3, 4, 4), np.array([5], np.int64), *cache], {"interleaved": 1}
    yield "RotaryEmbedding_part", "RotaryEmbedding", [floats(2, 4, 12), places, *cache], {"num_heads": 2, "rotary_embedding_dim": 4}
    for t in (np.int8, np.uint8):
        for direction, columns in (("forward", False), ("bidirectional", True)):
            d, columns = 2 if direction == "bidirectional" else 1, columns and t == np.int8
            scales = (d, 12) if columns else (d,)
            zero = np.zeros(scales, t) if t == np.int8 else np.full(scales, 131, t)
            scale = [np.abs(floats(*scales)) * np.float32(0.002) + np.float32(0.002) for _ in range(2)]
            inputs = [floats(4, 1, 5), data((d, 5, 12), t), data((d, 3, 12), t), floats(d, 24), None, floats(d, 1, 3), floats(d, 1, 3), None]
            name = f"DynamicQuantizeLSTM_{np.dtype(t).name}_{direction}"
            yield name, "DynamicQuantizeLSTM", inputs + [scale[0], zero, scale[1], zero], {"hidden_size": 3, "direction": direction}, [1, 1, 1]
    yield "EmbedLayerNormalization_ones", "EmbedLayerNormalization", [ids, None, *tables, None, gain, floats(8), mask * 3 - 2 * mask[::-1]], {"epsilon": 1e-6}, [1, 1]


def grouped():
    """GroupQueryAttention of a prompt and of steps behind it. Of each batch of the first result some rows are specified."""
    half = 8
    angle = np.outer(np.arange(12, dtype=np.float32), np.float32(0.5) ** np.arange(half, dtype=np.float32))
    cache = [np.cos(angle), np.sin(angle)]

    def case(what, heads, shared, length, earlier, lasts, total=None, size=2 * half, packed=False, rotary=False, past=True, **attrs):
        batch, extra = len(lasts), attrs.pop("extra", {})
        sizes = [heads * size, shared * size, shared * size]
        qkv = [floats(batch, length, sum(sizes)), None, None] if packed else [floats(batch, length, n) for n in sizes]
        pasts = [floats(batch, shared, earlier, size) for _ in range(2)] if past else [None, None]
        inputs = [*qkv, *pasts, np.array(lasts, np.int32), np.array(earlier + length if total is None else total, np.int32)]
        if rotary:
            inputs += cache
            attrs = {"do_rotary": 1, **attrs}
        for i, x in extra.items():
            inputs += [None] * (i + 1 - len(inputs))
            inputs[i] = x
        known = np.array(lasts) + 1
        rows = [np.minimum(known, inputs[16] if len(inputs) > 16 else length).tolist()]
        free = [i for i in range(6) if inputs[i] is not None]
        return f"GroupQueryAttention_{what}", "GroupQueryAttention", inputs, {"num_heads": heads, "kv_num_heads": shared, **attrs}, [1, 1, 1], {"rows": rows, "free": free, "bounded": [6]}  # how many keys there are is a dimension

    yield case("prompt", 2, 1, 5, 0, [4], size=8, past=False)
    yield case("prompt_rotary", 2, 1, 5, 0, [4], rotary=True)
    yield case("prompt_packed", 2, 2, 4, 0, [3, 3], packed=True, rotary=True)
    yield case("prompt_packed_shared", 6, 2, 3, 0, [2], packed=True, rotary=True, rotary_interleaved=1)
    yield case("step", 4, 2, 1, 5, [5], rotary=True)
    yield case("step_batch", 4, 2, 1, 5, [5, 3], rotary=True)
    yield case("step_equal", 2, 2, 1, 5, [5, 4], size=8)
    yield case("step_packed", 2, 1, 1, 5, [5, 2], packed=True, rotary=True)
    yield case("step_buffer", 2, 1, 1, 9, [5], total=6, rotary=True)
    yield case("prompt_buffer", 2, 1, 4, 6, [3, 3], total=4, rotary=True)
    yield case("prompt_padding", 2, 1, 4, 0, [3, 1], rotary=True)
    yield case("prompt_padding_window", 4, 1, 4, 5, [1, 3], total=4, local_window_size=2, rotary=True)
    yield case("steps", 4, 2, 3, 5, [7], rotary=True)
    yield case("window", 4, 2, 6, 0, [5], local_window_size=3, size=8)
    yield case("window_step", 2, 1, 1, 6, [6, 4], local_window_size=3, rotary=True)
    yield case("softcap", 4, 2, 4, 0, [3], softcap=0.5, scale=0.7, size=8)
    yield case("part", 2, 1, 3, 0, [2], size=32, rotary=True)
    yield case("bias", 4, 2, 3, 2, [4], size=8, extra={10: floats(1, 4, 3, 5)})
    yield case("bias_shared", 4, 2, 1, 3, [3, 2], size=8, extra={10: floats(2, 1, 1, 4)})
    yield case("places", 2, 1, 1, 5, [5, 5], rotary=True, extra={9: np.array([[3], [7]], np.int64)})
    yield case("places_prompt", 2, 1, 3, 0, [2, 1], rotary=True, extra={9: np.array([[4, 0, 0], [1, 5, 5]], np.int64)})
    yield case("places_chunk", 2, 1, 3, 2, [4], rotary=True, extra={9: np.array([[4, 0, 7]], np.int64)})
    yield case("both_ways", 4, 2, 4, 0, [3], size=8, causal=0)
    yield case("chunk", 2, 1, 4, 6, [4, 5], total=6, rotary=True, extra={16: np.array([4, 4], np.int32)})
    yield case("chunk_padding", 2, 1, 3, 6, [3, 3], total=6, rotary=True, extra={16: np.array([1, 3], np.int32)})
    yield case("chunk_padding_behind", 2, 1, 3, 7, [4, 2], total=5, rotary=True, extra={16: np.array([1, 2], np.int32)})
    yield case("places_chunk_first", 2, 1, 3, 5, [2, 2], total=3, rotary=True, extra={9: np.array([[4, 0, 7], [1, 5, 5]], np.int64), 16: np.array([3, 3], np.int32)})


def quantized():
    x, w = data((2, 4, 8), np.uint8), data((8, 24), np.int8)
    scales = [f32(0.02), f32(0.01)]
    yield "QAttention", "QAttention", [x, w, floats(24), *scales, None, np.array(117, np.uint8), np.array(0, np.int8)], {"num_heads": 2}
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    yield "QAttention_mask", "QAttention", [x, w, floats(24), *scales, mask, np.array(117, np.uint8)], {"num_heads": 2}
    each = [f32(0.02), np.abs(floats(24)) * np.float32(0.01) + np.float32(0.002)]
    past = floats(2, 2, 2, 3, 4)
    yield ("QAttention_past", "QAttention", [x, w, floats(24), *each, None, np.array(117, np.uint8), np.zeros(24, np.int8), past],
           {"num_heads": 2, "unidirectional": 1}, [1, 1])


def run(op, inputs, attrs, wants=(1,), free=(0,)):
    results = [f"y{i}" if w else "" for i, w in enumerate(wants)]
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    feeds = {n: x for n, x in zip(names, inputs) if n}
    nodes = [helper.make_node(op, names, results, domain="com.microsoft", **attrs)]
    if op == "QLinearReduceMean":  # of which there is a definition, and no kernel: what the definition says
        nodes = [
            helper.make_node("DequantizeLinear", names[:3], ["x"]),
            helper.make_node("ReduceMean", ["x"], ["m"], **attrs),
            helper.make_node("QuantizeLinear", ["m", *names[3:]], results),
        ]
    # Weights and what belongs to them are constants, as some kernels want them.
    free = {names[i] for i in free}
    types = {n: helper.np_dtype_to_tensor_dtype(x.dtype) for n, x in feeds.items()}
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(n, types[n], x.shape) for n, x in feeds.items() if n in free],
        [helper.make_empty_tensor_value_info(r) for r in results if r],
        [helper.make_tensor(n, types[n], x.shape, x.ravel()) for n, x in feeds.items() if n not in free],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ys = iter(session.run(None, {n: x for n, x in feeds.items() if n in free}))
    return [next(ys) if w else None for w in wants]


def tensor(x):
    if x is None:
        return None
    return {"type": TYPES[x.dtype.name], "shape": list(x.shape), "data": [float(f"{v:.9g}") if x.dtype.kind == "f" else int(v) for v in x.ravel()]}


def main():
    out = []
    for name, op, inputs, attrs, *more in [*cases(), *fused(), *grouped(), *gathered(), *quantized()]:
        more += [[1], {}][len(more):]
        ys = run(op, inputs, attrs, more[0], more[1].get("free", [0]))
        out.append({"name": name, "op": op, "attrs": attrs, "inputs": [tensor(x) for x in inputs], "outputs": [tensor(y) for y in ys], **more[1]})
    print("[\n" + ",\n".join(json.dumps(c) for c in out) + "\n]")


main()
