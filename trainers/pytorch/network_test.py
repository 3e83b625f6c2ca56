"""Tests of the importer, of training and of the protocol, with generated networks.

    python -m unittest network_test
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import safetensors.torch
import torch
from onnx import TensorProto, helper, numpy_helper

import captured
import fit
import images
import network
import settings
import teachers

SETTINGS = {
    "epochs": 2, "batch": 8, "learning_rate": 0.05, "schedule": "cosine", "optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.0,
    "label_smoothing": 0.0, "flip": False, "crop": 0, "seed": 1,
}


def weights():
    r = numpy.random.default_rng(3)
    draw = lambda *shape: r.normal(0, 0.3, shape).astype(numpy.float32)
    return {"w": draw(4, 1, 3, 3), "scale": numpy.ones(4, numpy.float32), "bias": numpy.zeros(4, numpy.float32), "mean": draw(4),
            "variance": 1 + draw(4) ** 2, "f": draw(3, 4), "g": numpy.zeros(3, numpy.float32)}


def save(path, nodes=None, values=None):
    """Writes a network of a convolution, BatchNormalization, Dropout, pooling and Gemm, whose
    logits end in a softmax.
    """
    nodes = nodes or [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"], "norm", momentum=0.75),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Dropout", ["r"], ["d"]),
        helper.make_node("GlobalAveragePool", ["d"], ["p"]),
        helper.make_node("Flatten", ["p"], ["q"]),
        helper.make_node("Gemm", ["q", "f", "g"], ["z"], transB=1),
        helper.make_node("Softmax", ["z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 1, 6, 6])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, k) for k, v in (values or weights()).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)]), path)


def given():
    return {k: torch.from_numpy(v) for k, v in weights().items()}


def pictures(folder, n=64):
    """Writes MNIST files with three classes: a bright row, a bright column or nothing."""
    r = numpy.random.default_rng(5)
    x, y = r.integers(0, 60, (n, 6, 6), numpy.uint8), (numpy.arange(n) % 3).astype(numpy.uint8)
    for i in range(n):
        if y[i] == 0:
            x[i, i % 6] = 220
        elif y[i] == 1:
            x[i, :, i % 6] = 220
    for name, content in (("images", numpy.array([0x803, n, 6, 6], ">u4").tobytes() + x.tobytes()), ("labels", numpy.array([0x801, n], ">u4").tobytes() + y.tobytes())):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)
    return {"kind": "mnist", "train": ["images", "labels"], "test": ["images", "labels"], "mean": [0.2], "deviation": [0.3]}


class Folder(unittest.TestCase):
    def setUp(self):
        t = tempfile.TemporaryDirectory()
        self.addCleanup(t.cleanup)
        self.folder = t.name
        self.model = os.path.join(t.name, "net.onnx")
        save(self.model)


class NetworkTest(Folder):
    def test_statistics(self):
        """A batch updates mean and variance as ONNX defines: with the variance of its elements. The
        softmax is removed.
        """
        net = network.Network(self.model, given())
        x = torch.randn(5, 1, 6, 6)
        torch.manual_seed(1)
        net(x, training=True)
        c = torch.nn.functional.conv2d(x, given()["w"], padding=1)
        mean, variance = c.mean((0, 2, 3)), c.var((0, 2, 3), unbiased=False)
        torch.testing.assert_close(net.statistics["mean"], 0.75 * given()["mean"] + 0.25 * mean)
        torch.testing.assert_close(net.statistics["variance"], 0.75 * given()["variance"] + 0.25 * variance)
        self.assertEqual(sorted(net.statistics), ["mean", "variance"])
        self.assertEqual(list(net.tensors()), list(weights()))
        self.assertEqual(net.output, "z")
        self.assertTrue(torch.equal(net(x), net(x)), "evaluation drops nothing")
        self.assertFalse(torch.equal(net(x, training=True), net(x, training=True)))

    def test_channels_last(self):
        x = torch.randn(5, 1, 6, 6)
        a, b = network.Network(self.model, given()), network.Network(self.model, given(), channels_last=True)
        torch.testing.assert_close(a(x), b(x.contiguous(memory_format=torch.channels_last)))

    def test_shapes(self):
        """Computed shapes, and operators whose node tests cannot be used here."""
        one = lambda name, *values: helper.make_node("Constant", [], [name], value_ints=list(values))
        save(self.model, [
            helper.make_node("Upsample", ["x"], ["u"], "up", mode="nearest", scales=[1.0, 1.0, 2.0, 2.0]),
            helper.make_node("LayerNormalization", ["u", "scale2", "bias2"], ["l"], epsilon=1e-3),
            helper.make_node("Shape", ["l"], ["s"]), one("zero", 0), one("rest", -1), helper.make_node("Gather", ["s", "zero"], ["n"]),
            helper.make_node("Cast", ["n"], ["i"], to=TensorProto.INT32), helper.make_node("Cast", ["i"], ["m"], to=TensorProto.INT64),
            helper.make_node("Concat", ["m", "rest"], ["to"], axis=0), helper.make_node("Reshape", ["l", "to"], ["y"]),
        ], {"scale2": numpy.arange(12, dtype=numpy.float32), "bias2": numpy.ones(12, numpy.float32)})
        x = torch.randn(3, 1, 6, 6)
        want = torch.nn.functional.interpolate(x, scale_factor=2)
        want = torch.nn.functional.layer_norm(want, (12,), torch.arange(12.0), torch.ones(12), 1e-3).flatten(1)
        torch.testing.assert_close(network.Network(self.model, {})(x), want)

    def test_refused(self):
        conv = lambda **k: [helper.make_node("Conv", ["x", "w"], ["y"], "conv", **k)]
        for want, nodes, tensors in (
            ('node "top" (TopK): this trainer has no derivative of this operator; it has Abs, Add,', [helper.make_node("TopK", ["x"], ["y"], "top")], {}),
            ('node "conv" (Conv): attribute shades is not supported', conv(shades=3), {}),
            ('node "conv" (Conv): auto_pad = \'HALF\'; supported are \'NOTSET\'', conv(auto_pad="HALF"), {}),
            ('node "own" (Conv) has the domain "mine"', [helper.make_node("Conv", ["x", "w"], ["y"], "own", domain="mine")], {}),
            ('tensor "v" is not one of the network\'s weights', conv(), {"v": torch.zeros(1)}),
            ('"w" has shape [4]; the network\'s has [4, 1, 3, 3]', conv(), {"w": torch.zeros(4)}),
        ):
            with self.assertRaises(network.Refused) as e:
                save(self.model, nodes)
                network.Network(self.model, tensors)
            self.assertIn(want, str(e.exception))
        save(self.model, [helper.make_node("MatMul", ["x", "f"], ["y"], "product")])
        with self.assertRaisesRegex(network.Refused, 'node "product" \\(MatMul\\): '):
            network.Network(self.model, {})(torch.zeros(2, 1, 6, 6))
        with open(self.model, "wb") as f:
            f.write(b"\xff\xff")
        with self.assertRaisesRegex(network.Refused, "reading the ONNX model"):
            network.Network(self.model, {})


class FitTest(Folder):
    def run_fit(self, **more):
        settings = {**SETTINGS, **more.pop("settings", {})}
        run = fit.Fit(network.Network(self.model, given()), settings, **more)
        train, test = images.load(pictures(self.folder), self.folder, "cpu")
        states = []
        run.run(train, test, lambda r: states.append(torch.save(r.state(), os.path.join(self.folder, "state"))), lambda text: None, 0)
        return run, train, test

    def test_learns(self):
        for optimizer, rate in (("sgd", 0.1), ("adam", 0.02)):
            run, _, _ = self.run_fit(settings={"epochs": 12, "optimizer": optimizer, "learning_rate": rate})
            self.assertGreater(run.last["accuracy"], 0.9, optimizer)

    def test_precisions(self):
        """Mixed precision also trains, with masks and terms in the weights' memory layout."""
        for how in fit.PRECISIONS:
            net = network.Network(self.model, given(), channels_last=True)
            mask = torch.arange(36).reshape(4, 1, 3, 3) % 3 == 0
            run = fit.Fit(net, {**SETTINGS, "epochs": 12, "learning_rate": 0.1, "flip": True, "crop": 1}, [("w", 0.01, given()["w"])], {"w": mask}, how)
            train, test = images.load(pictures(self.folder), self.folder, "cpu")
            run.run(train, test, None, lambda text: None, 1e9)
            self.assertGreater(run.last["accuracy"], 0.8, how)
            self.assertTrue((run.network.tensors()["w"][~mask] == 0).all())
            self.assertEqual({t.dtype for t in run.network.tensors().values()}, {torch.float32})

    def test_goes_on(self):
        run, train, test = self.run_fit()
        again = fit.Fit(network.Network(self.model, given()), SETTINGS)
        again.restore(torch.load(os.path.join(self.folder, "state"), weights_only=True))
        self.assertEqual(again.epoch, 1)
        again.run(train, test, None, lambda text: None, 1e9)
        for name, t in run.network.tensors().items():
            self.assertTrue(torch.equal(t, again.network.tensors()[name]), name)

    def test_mask(self):
        mask = torch.arange(36).reshape(4, 1, 3, 3) % 3 == 0
        for optimizer in ("sgd", "adam"):
            run, _, _ = self.run_fit(masks={"w": mask}, settings={"optimizer": optimizer, "weight_decay": 0.01})
            w = run.network.tensors()["w"]
            self.assertTrue((w[~mask] == 0).all())
            self.assertTrue((w[mask] != given()["w"][mask]).all())

    def test_terms(self):
        """The gradient of a term is rho * (W - target), and terms of one weight add up.

        It checks the result of one step of SGD without momentum and with a constant loss.
        """
        target, other = torch.ones(4, 1, 3, 3), torch.full((4, 1, 3, 3), 3.0)
        run = fit.Fit(network.Network(self.model, given()), {**SETTINGS, "momentum": 0.0}, terms=[("w", 0.5, target), ("w", 0.25, other)])
        x = torch.zeros(8, 1, 6, 6)
        run.lr.fill_(0.1)
        run._step(x, torch.zeros(8, dtype=torch.int64))
        w = given()["w"]
        torch.testing.assert_close(run.network.tensors()["w"], w - 0.1 * (0.5 * (w - target) + 0.25 * (w - other)))

    def test_distillation(self):
        """A part of the loss is the divergence of the outputs, softened by the temperature, times
        its square.
        """
        x, y = torch.randn(8, 1, 6, 6), torch.arange(8) % 3
        wanted = torch.randn(8, 3)
        run = fit.Fit(network.Network(self.model, given()), {**SETTINGS, "distillation": 0.25, "temperature": 3}, teacher=lambda images: wanted)
        torch.manual_seed(1)
        loss = run._loss(x, y)
        torch.manual_seed(1)
        z = run.network(x, training=True)
        p, q = torch.softmax(wanted / 3, 1), torch.softmax(z / 3, 1)
        far = (p * (p / q).log()).sum(1).mean()
        torch.testing.assert_close(loss, 0.75 * torch.nn.functional.cross_entropy(z, y) + 0.25 * 9 * far)
        train, test = images.load(pictures(self.folder), self.folder, "cpu")
        run = fit.Fit(network.Network(self.model, given()), {**SETTINGS, "epochs": 12, "learning_rate": 0.1, "distillation": 1, "temperature": 2},
                      teacher=lambda images: torch.tensor([0.0, 0.0, 9.0]).expand(len(images), 3))
        run.run(train, test, None, lambda text: None, 1e9)
        self.assertAlmostEqual(run.last["accuracy"], (test.classes == 2).float().mean().item(), msg="it answers like the teacher")

    def test_answers(self):
        """Stored answers of teachers to all moved images train like the teachers themselves, up to
        16-bit rounding.
        """
        train, test = images.load(pictures(self.folder), self.folder, "cpu")
        asked = teachers.Teachers([network.Network(self.model, {}), lambda x: 3 * x.mean(1).flatten(1)[:, :3]])
        settings, ends = {**SETTINGS, "flip": True, "crop": 1, "distillation": 0.7, "temperature": 4}, []
        known = teachers.answers(asked, train, True, 1, "fp32", torch.contiguous_format)
        self.assertEqual(known.shape, (18, len(train), 3))
        for teacher in (asked, known):
            run = fit.Fit(network.Network(self.model, given()), settings, teacher=teacher)
            run.run(train, test, None, lambda text: None, 1e9)
            ends.append(run.network.tensors())
        for name, t in ends[0].items():
            torch.testing.assert_close(ends[1][name], t, rtol=1e-2, atol=1e-3)
        with self.assertRaises(AssertionError, msg="different answers must lead to different weights"):
            run = fit.Fit(network.Network(self.model, given()), settings, teacher=known.roll(1, 1))
            run.run(train, test, None, lambda text: None, 1e9)
            torch.testing.assert_close(run.network.tensors()["f"], ends[0]["f"], rtol=1e-2, atol=1e-3)

    def test_ahead(self):
        """The number of batches that are prepared at a time does not change the result."""
        run, _, _ = self.run_fit()
        before, fit.AHEAD = fit.AHEAD, 1
        self.addCleanup(setattr, fit, "AHEAD", before)
        one, _, _ = self.run_fit()
        for name, t in run.network.tensors().items():
            self.assertTrue(torch.equal(t, one.network.tensors()[name]), name)

    def test_tested(self):
        """Accuracy is tested every `tested` epochs and at the end."""
        lines = []
        run = fit.Fit(network.Network(self.model, given()), {**SETTINGS, "epochs": 5})
        run.run(*images.load(pictures(self.folder), self.folder, "cpu"), None, lines.append, 1e9, tested=2)
        self.assertEqual(["accuracy" in line for line in lines], [False, True, False, True, True])

    def test_cycles(self):
        """With two cycles, each has the learning rates of a training with half as many epochs."""
        net = network.Network(self.model, given())
        once, twice = (fit.Fit(net, {**SETTINGS, "schedule": "cosine", "epochs": epochs, "cycles": cycles}) for epochs, cycles in ((2, 0), (4, 2)))
        rates = [once.rate(i, 6) for i in range(6)]
        self.assertEqual([twice.rate(i, 12) for i in range(12)], 2 * rates)
        self.assertLess(rates[5], rates[0] / 5)

    def test_kept(self):
        """Tensors that a warm-up changes are restored; tensors that it created are 0."""
        a, made = torch.ones(3), []
        with captured.kept(lambda: [a, *made]):
            a.add_(1)
            made.append(torch.full((2,), 5.0))
        self.assertEqual((a.tolist(), made[0].tolist()), ([1, 1, 1], [0, 0]))
        with self.assertRaisesRegex(RuntimeError, "out of memory"):  # training continues without a graph
            with captured.kept(lambda: [a, *made]):
                a.add_(1)
                raise RuntimeError("out of memory")
        self.assertEqual(a.tolist(), [1, 1, 1])

    @unittest.skipUnless(torch.cuda.is_available(), "CUDA graphs want a GPU")
    def test_captured(self):
        """Steps as CUDA graphs produce the same weights as separate steps."""
        for optimizer in ("sgd", "adam"):
            ends = []
            for graphs in (False, True):
                run = fit.Fit(network.Network(self.model, given(), "cuda"), {**SETTINGS, "optimizer": optimizer}, graphs=graphs)
                run.run(*images.load(pictures(self.folder), self.folder, "cuda"), lambda r: None, lambda text: None, 0)
                self.assertEqual(run.graphs, graphs, "the step was not captured")
                ends.append(run.network.tensors())
            for name, t in ends[0].items():
                torch.testing.assert_close(t, ends[1][name])

    def test_refused(self):
        for want, more in (
            ("settings: distillation wants a teacher", {"settings": {"distillation": 0.5, "temperature": 2}}),
            ("settings: temperature is 0.5; want 1 to 100", {"settings": {"distillation": 0.5, "temperature": 0.5}}),
            ("the loss is (nan|inf) in epoch 1; a smaller learning rate may help", {"settings": {"learning_rate": 1e3, "epochs": 5, "weight_decay": 1.0}}),
            ("settings: cycles is 3; want 0, or a divisor of the epochs, 4, of a cosine", {"settings": {"epochs": 4, "cycles": 3}}),
            ("settings: part: want ", {"settings": {"part": 8}}),
            ("settings: optimizer is \"lbfgs\"", {"settings": {"optimizer": "lbfgs"}}),
            ("settings: batch is 0; want 1 to", {"settings": {"batch": 0}}),
            ("settings: nesterov: want ", {"settings": {"nesterov": True}}),
            ("65 images to train with|64 images to train with, fewer than a batch of 65", {"settings": {"batch": 65}}),
            ('a mask: the network has no weights "mean" to train', {"masks": {"mean": torch.ones(4)}}),
            ('a quadratic term: shape \\[2\\] for weights "w"', {"terms": [("w", 1, torch.zeros(2))]}),
        ):
            with self.assertRaisesRegex(network.Refused, want):
                settings.check({**SETTINGS, **more.get("settings", {})})
                self.run_fit(**more)


class ImagesTest(Folder):
    def test_augment(self):
        """Images are moved by up to crop pixels, with zeros around them, and half of them are
        mirrored.
        """
        x = torch.arange(1, 37, dtype=torch.float32).reshape(1, 1, 6, 6).repeat(400, 2, 1, 1)
        g = torch.Generator()
        g.manual_seed(1)
        y, ways = images.augment(x, True, 2, g)
        self.assertEqual(y.shape, x.shape)
        every = list(images.moves(x, True, 2))
        self.assertEqual(len(every), 50)
        for i, way in enumerate(ways.tolist()):
            self.assertTrue(torch.equal(y[i], every[way][i]), f"image {i} is not moved like form {way}")
        padded = torch.nn.functional.pad(x[0, 0], [2] * 4)
        seen = set()
        for image in y:
            self.assertTrue(torch.equal(image[0], image[1]))
            found = [(m, i, j) for m in (0, 1) for i in range(5) for j in range(5)
                     if torch.equal(image[0], (padded.flip(1) if m else padded)[i: i + 6, j: j + 6])]
            self.assertEqual(len(found), 1)
            seen.update(found)
        self.assertEqual(len(seen), 50, "all moves occur")
        for flip, crop in ((True, 0), (False, 1), (False, 0)):
            y, ways = images.augment(x, flip, crop, g)
            every = list(images.moves(x, flip, crop))
            self.assertEqual(len(set(ways.tolist())), len(every))
            for i, way in enumerate(ways.tolist()):
                self.assertTrue(torch.equal(y[i], every[way][i]), (flip, crop))
        self.assertTrue(torch.equal(y, x))

    def test_files(self):
        spec = pictures(self.folder)
        train, test = images.load({**spec, "most": 5}, self.folder, "cpu")
        self.assertEqual((len(train), len(test)), (5, 5))
        x, y = train.batch(torch.tensor([0]))
        self.assertAlmostEqual(x.max().item(), (220 / 255 - 0.2) / 0.3, places=5)
        with open(os.path.join(self.folder, "rows"), "wb") as f:
            f.write((bytes([7]) + bytes(range(256)) * 12) * 2)
        train, _ = images.load({"kind": "cifar10", "train": ["rows"], "test": ["rows"]}, self.folder, "cpu")
        self.assertEqual((train.pixels.shape, train.classes.tolist(), train.pixels[1, 2, 31, 31].item()), (torch.Size([2, 3, 32, 32]), [7, 7], 255))
        for want, change in (
            ('kind is "other"', {"kind": "other"}), ("no files are named", {"train": []}), ("No such file", {"test": ["none", "none"]}),
            ("not a pair", {"train": ["labels", "images"]}), ("want an object of", {"more": 1}), ("a multiple of 3073", {"kind": "cifar10"}),
            ("2 means and 0 deviations", {"mean": [1, 2], "deviation": []}),
        ):
            with self.assertRaisesRegex(network.Refused, want):
                images.load({**spec, **change}, self.folder, "cpu")


class ProtocolTest(Folder):
    def start(self, *options, **change):
        """Runs the trainer like a driver."""
        request = {"version": 1, "model": "net.onnx", "data": pictures(self.folder), "settings": SETTINGS, "terms": None, "masks": False, "workers": 1, **change}
        with open(os.path.join(self.folder, "request.json"), "w") as f:
            json.dump(request, f)
        if not os.path.exists(os.path.join(self.folder, "weights.safetensors")):
            safetensors.torch.save_file(given(), os.path.join(self.folder, "weights.safetensors"))
        here = os.path.dirname(os.path.abspath(__file__))
        return subprocess.run([sys.executable, os.path.join(here, "train.py"), "--device=cpu", *options, self.folder], capture_output=True, text=True)

    def test_job(self):
        p = self.start()
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn("epoch 2 of 2: loss", p.stdout)
        with open(os.path.join(self.folder, "result.json")) as f:
            result = json.load(f)
        for name, file in (("request_sha256", "request.json"), ("output_sha256", "output.safetensors")):
            with open(os.path.join(self.folder, file), "rb") as f:
                self.assertEqual(result[name], hashlib.sha256(f.read()).hexdigest())
        self.assertEqual(set(result), {"version", "request_sha256", "output_sha256", "metrics"})
        self.assertEqual(set(safetensors.torch.load_file(os.path.join(self.folder, "output.safetensors"))), set(weights()))

    def test_distillation(self):
        """The teacher has the model's own weights, not the initial weights of the job."""
        other = {**given(), "f": torch.zeros(3, 4)}
        safetensors.torch.save_file(other, os.path.join(self.folder, "weights.safetensors"))
        p = self.start(settings={**SETTINGS, "distillation": 1, "temperature": 1, "learning_rate": 0.3, "epochs": 30})
        self.assertEqual(p.returncode, 0, p.stderr)
        out = safetensors.torch.load_file(os.path.join(self.folder, "output.safetensors"))
        teacher, student = network.Network(self.model, given()), network.Network(self.model, out)
        train, _ = images.load(pictures(self.folder), self.folder, "cpu")
        x, _ = train.batch(slice(0, 64))
        self.assertGreater((teacher(x).argmax(1) == student(x).argmax(1)).float().mean(), 0.9)

    def test_teacher(self):
        """Another network may be the teacher: here its answer is always the last class."""
        path = os.path.join(self.folder, "teacher.onnx")
        save(path, values={**weights(), "f": numpy.zeros((3, 4), numpy.float32), "g": numpy.array([0, 0, 9], numpy.float32)})
        p = self.start("--teacher=" + path, settings={**SETTINGS, "distillation": 1, "temperature": 2, "learning_rate": 0.1, "epochs": 12})
        self.assertEqual(p.returncode, 0, p.stderr)
        student = network.Network(self.model, safetensors.torch.load_file(os.path.join(self.folder, "output.safetensors")))
        train, _ = images.load(pictures(self.folder), self.folder, "cpu")
        x, _ = train.batch(slice(0, 64))
        self.assertEqual(set(student(x).argmax(1).tolist()), {2})

    def test_teachers(self):
        """Several teachers' answers are averaged, and computed once for a folder of answers, for
        the same teachers and images.
        """
        paths = []
        for i, g in enumerate(([0, 9, 0], [0, 0, 9.5])):
            paths.append(os.path.join(self.folder, f"teacher{i}.onnx"))
            save(paths[-1], values={**weights(), "f": numpy.zeros((3, 4), numpy.float32), "g": numpy.array(g, numpy.float32)})
        kept, said = os.path.join(self.folder, "answers"), []
        settings = {**SETTINGS, "distillation": 1, "temperature": 1, "learning_rate": 0.1, "epochs": 8}
        both = ["--teacher=" + path for path in paths]
        for options in (both, [*both, "--answers=" + kept], [*both, "--answers=" + kept], [both[0], "--answers=" + kept]):
            p = self.start(*options, settings=settings)
            self.assertEqual(p.returncode, 0, p.stderr)
            said.append("asking the teachers" in p.stdout)
            student = network.Network(self.model, safetensors.torch.load_file(os.path.join(self.folder, "output.safetensors")))
            train, _ = images.load(pictures(self.folder), self.folder, "cpu")
            share = torch.softmax(student(train.batch(slice(0, 64))[0]), 1).mean(0)
            self.assertTrue(share[2] > share[1] > 0.3 if both[1] in options else share[1] > 0.9, share)
        self.assertEqual(said, [False, True, False, True])
        p = self.start("--teacher=" + os.path.join(self.folder, "none.onnx"), settings={**settings, "epochs": 0})
        self.assertEqual(p.returncode, 0, "an evaluation does not need teachers: " + p.stderr)
        self.assertEqual(len([n for n in os.listdir(kept) if n.endswith(".pt")]), 2)

    def test_teacher_of_other_classes(self):
        path = os.path.join(self.folder, "teacher.onnx")
        save(path, values={**weights(), "f": numpy.zeros((5, 4), numpy.float32), "g": numpy.zeros(5, numpy.float32)})
        p = self.start("--teacher=" + path, settings={**SETTINGS, "distillation": 1, "temperature": 2})
        self.assertEqual(p.returncode, 1)
        self.assertIn("the teacher has logits of shape (1, 5); those of the network that learns have (1, 3)", p.stderr)

    def test_refused(self):
        for want, change in (
            ("is of version 7 of the protocol; this trainer has version 1", {"version": 7}),
            ("request.json: epochs: want data, masks", {"epochs": 3}),
            ('terms.safetensors', {"terms": [{"weight": "w", "rho": 1, "target": "t"}]}),
            ("masks.safetensors", {"masks": True}),
        ):
            p = self.start(**change)
            self.assertEqual(p.returncode, 1)
            self.assertIn(want, p.stderr)
            self.assertNotIn("Traceback", p.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "result.json")))


if __name__ == "__main__":
    unittest.main()
