"""PyTorch's networks: those that networks.py measures, and their ONNX graphs without weights.

    python3 torch_networks.py FOLDER BATCH [NAME...]    # writes NAME_batchBATCH.onnx

Run as `torch_networks.py --serve NAME TYPE BATCH...` it answers networks.py, a line each: "MODE BATCH SECONDS" -> {"ms": [...]}. TYPE is float, or half:
weights, values, inputs and outputs in 16 bits. bert_base and gpt2 want transformers, sd_unet diffusers; weights are random."""
import json, os, sys, tempfile, time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "3")  # several networks compile at once

TOKENS = 128


def image(build):
    """A network of torchvision."""
    def network():
        import torchvision
        return getattr(torchvision.models, build)()
    return network, lambda torch, n: (torch.randn(n, 3, 224, 224),)


class Called:
    """Makes a network of transformers or diffusers one of tensors: operands by name, as their decorators and PyTorch's tracing disagree about the
    others, and a tuple of tensors as its result."""

    def __new__(cls, network, *names):
        import torch

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, *tensors):
                return self.network(**dict(zip(names, tensors)), return_dict=False)

        return Module()


def bert():
    import transformers
    return Called(transformers.BertModel(transformers.BertConfig()), "input_ids", "attention_mask")


def gpt2():
    import transformers
    return Called(transformers.GPT2Model(transformers.GPT2Config(use_cache=False)), "input_ids", "attention_mask")


def unet():
    """Stable Diffusion 1.5's."""
    import diffusers
    return Called(diffusers.UNet2DConditionModel(cross_attention_dim=768, attention_head_dim=8), "sample", "timestep", "encoder_hidden_states")


# VGG-16's unique convolutions of 3x3 whose kernels PatDNN prunes, by its names: channels in and out, and the image's side.
LAYERS = {"L2": (64, 64, 224), "L3": (64, 128, 112), "L4": (128, 128, 112), "L5": (128, 256, 56), "L6": (256, 256, 56), "L7": (256, 512, 28),
          "L8": (512, 512, 28), "L9": (512, 512, 14)}


def layer(channels, filters, side):
    """One of them, with its Relu."""
    def network():
        import torch
        return torch.nn.Sequential(torch.nn.Conv2d(channels, filters, 3, padding=1), torch.nn.ReLU())
    return network, lambda torch, n: (torch.randn(n, channels, side, side),)


def tokens(torch, n):
    """Numbers of words, and which of them count: all."""
    return torch.ones(n, TOKENS, dtype=torch.int64), torch.ones(n, TOKENS, dtype=torch.int64)


NETWORKS = {name: image(name) for name in ("swin_t", "vit_b_16", "convnext_tiny", "resnet50", "mobilenet_v2", "efficientnet_b0", "vgg16")} | {
    "bert_base": (bert, tokens),
    "gpt2": (gpt2, tokens),
    "sd_unet": (unet, lambda torch, n: (torch.randn(n, 4, 32, 32), torch.ones(n), torch.randn(n, 77, 768))),
} | {"vgg16_" + name: layer(*sizes) for name, sizes in LAYERS.items()}


def strip(model, folder):
    """Takes weights out, as the graphs that `dnnc graph --fill-random` fills have none: of each stay its mean, spread and range. Folder has those
    that are not in the model."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    for seed, t in enumerate(model.graph.initializer):
        x = numpy_helper.to_array(t, folder) if t.data_type == onnx.TensorProto.FLOAT else np.zeros(0)
        if x.size <= 64:
            if t.data_location == onnx.TensorProto.EXTERNAL:
                onnx.external_data_helper.load_external_data_for_tensor(t, folder)
            continue
        for field in ("raw_data", "float_data", "external_data"):
            t.ClearField(field)
        t.data_location = onnx.TensorProto.EXTERNAL
        facts = {"location": "random", "seed": seed + 1, "mean": x.mean(), "std": x.std(), "min": x.min(), "max": x.max()}
        for key, value in facts.items():
            t.external_data.add(key=key, value=str(value))
    return model


def export(name, batch, path):
    import onnx
    import torch
    torch.backends.mha.set_fastpath_enabled(False)
    build, inputs = NETWORKS[name]
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        file = os.path.join(folder, "graph.onnx")  # a file, as weights may be more than a message holds
        torch.onnx.export(build().eval(), inputs(torch, batch), file, opset_version=17, dynamo=False)
        onnx.save(strip(onnx.load(file, load_external_data=False), folder), path)


class Runs:
    """A network as PyTorch runs it: eager, compiled, and as CUDA graphs."""

    def __init__(self, name, type, batches):
        import torch
        self.torch = torch
        dtype = getattr(torch, type)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        build, inputs = NETWORKS[name]
        with torch.device("cuda"):
            network = build().eval().to(dtype)
        self.modes = {
            "eager": network,
            "compile": torch.compile(network, dynamic=False),
            "graphs": torch.compile(network, dynamic=False, mode="reduce-overhead"),
        }
        self.inputs = {n: [x.to("cuda", dtype if x.is_floating_point() else None) for x in inputs(torch, n)] for n in batches}
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


def serve(name, type, batches):
    try:
        runs = Runs(name, type, batches)
        print(json.dumps({"torch": runs.torch.__version__}), flush=True)
        for line in sys.stdin:
            mode, batch, seconds = line.split()
            print(json.dumps({"ms": runs.time(mode, int(batch), float(seconds))}), flush=True)
    except Exception as e:
        print(json.dumps({"error": "%s: %s" % (type(e).__name__, str(e)[:300])}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], sys.argv[3], [int(n) for n in sys.argv[4:]])
    else:
        for name in sys.argv[3:] or NETWORKS:
            export(name, int(sys.argv[2]), "%s/%s_batch%s.onnx" % (sys.argv[1], name, sys.argv[2]))
