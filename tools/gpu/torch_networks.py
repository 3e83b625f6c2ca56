"""PyTorch's networks: those that networks.py measures, and their ONNX graphs without weights.

    python3 torch_networks.py FOLDER BATCH [NAME...]    # writes NAME_batchBATCH.onnx

Run as `torch_networks.py --serve NAME BATCH...` it answers networks.py, a line each: "MODE BATCH SECONDS" -> {"ms": [...]}."""
import json, os, sys, time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "3")  # several networks compile at once

TOKENS = 128


def image(build):
    """A network of torchvision."""
    def network():
        import torchvision
        return getattr(torchvision.models, build)()
    return network, lambda torch, n: (torch.randn(n, 3, 224, 224),)


def bert():
    import transformers
    return transformers.BertModel(transformers.BertConfig())


def gpt2():
    import transformers
    return transformers.GPT2Model(transformers.GPT2Config(use_cache=False))


def unet():
    import diffusers
    return diffusers.UNet2DConditionModel(cross_attention_dim=768, attention_head_dim=8)


NETWORKS = {name: image(name) for name in ("swin_t", "vit_b_16", "convnext_tiny", "resnet50", "mobilenet_v2", "efficientnet_b0")} | {
    "bert_base": (bert, lambda torch, n: (torch.ones(n, TOKENS, dtype=torch.int64), torch.ones(n, TOKENS, dtype=torch.int64))),
    "gpt2": (gpt2, lambda torch, n: (torch.ones(n, TOKENS, dtype=torch.int64),)),
    "sd_unet": (unet, lambda torch, n: (torch.randn(n, 4, 32, 32), torch.ones(n), torch.randn(n, 77, 768))),
}


def strip(model):
    """Takes weights out, as the graphs that `dnnc graph --fill-random` fills have none: of each stay its mean, spread and range."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    for seed, t in enumerate(model.graph.initializer):
        x = numpy_helper.to_array(t) if t.data_type == onnx.TensorProto.FLOAT else np.zeros(0)
        if x.size <= 64:
            continue
        for field in ("raw_data", "float_data"):
            t.ClearField(field)
        t.data_location = onnx.TensorProto.EXTERNAL
        facts = {"location": "random", "seed": seed + 1, "mean": x.mean(), "std": x.std(), "min": x.min(), "max": x.max()}
        for key, value in facts.items():
            t.external_data.add(key=key, value=str(value))
    return model


def export(name, batch, path):
    import io
    import onnx
    import torch
    torch.backends.mha.set_fastpath_enabled(False)
    build, inputs = NETWORKS[name]
    text = io.BytesIO()
    with torch.inference_mode():
        network = build().eval()
        torch.onnx.export(network, inputs(torch, batch), text, opset_version=17, dynamo=False)
    onnx.save(strip(onnx.load_from_string(text.getvalue())), path)


class Runs:
    """A network as PyTorch runs it: eager, compiled, and as CUDA graphs."""

    def __init__(self, name, batches):
        import torch
        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        build, inputs = NETWORKS[name]
        network = build().eval().cuda()
        self.modes = {
            "eager": network,
            "compile": torch.compile(network, dynamic=False),
            "graphs": torch.compile(network, dynamic=False, mode="reduce-overhead"),
        }
        self.inputs = {n: [x.cuda() for x in inputs(torch, n)] for n in batches}
        for mode in self.modes:
            for n in batches:
                self.time(mode, n, 0)

    def time(self, mode, batch, seconds):
        """Milliseconds of runs, each of which is waited for."""
        ms, network, inputs = [], self.modes[mode], self.inputs[batch]
        with self.torch.inference_mode():
            for _ in range(3):
                network(*inputs)
            self.torch.cuda.synchronize()
            start = time.perf_counter()
            while len(ms) < 3 or time.perf_counter() - start < seconds:
                one = time.perf_counter()
                network(*inputs)
                self.torch.cuda.synchronize()
                ms.append((time.perf_counter() - one) * 1e3)
        return ms


def serve(name, batches):
    try:
        runs = Runs(name, batches)
        print(json.dumps({"torch": runs.torch.__version__}), flush=True)
        for line in sys.stdin:
            mode, batch, seconds = line.split()
            print(json.dumps({"ms": runs.time(mode, int(batch), float(seconds))}), flush=True)
    except Exception as e:
        print(json.dumps({"error": "%s: %s" % (type(e).__name__, str(e)[:300])}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], [int(n) for n in sys.argv[3:]])
    else:
        for name in sys.argv[3:] or NETWORKS:
            export(name, int(sys.argv[2]), "%s/%s_batch%s.onnx" % (sys.argv[1], name, sys.argv[2]))
