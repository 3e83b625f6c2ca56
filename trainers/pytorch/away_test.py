"""Tests of away.py with few images, and a program that replaces dnntrain.

    python -m unittest away_test
"""

import filecmp
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import away
import sheets

HERE = os.path.dirname(os.path.abspath(__file__))

# Records its folder; the first time, a training leaves a checkpoint and fails.
PROGRAM = """#!{python}
import json, os, sys
of = lambda name: sys.argv[sys.argv.index(name) + 1]
job = os.path.join(of("-folder"), "retrained" if sys.argv[1] == "admm" else "fit")
os.makedirs(job, exist_ok=True)
assert os.path.getsize(of("-model")) and len(json.load(open(of("-data")))["train"]) == 5
at = os.path.join(job, "checkpoint.pt")
if not os.path.exists(at):
    open(at, "w").write(of("-folder"))
    sys.exit("taken away")
print("it goes on from", open(at).read())
with open(os.path.join(job, "result.json"), "w") as f:
    json.dump({{"metrics": {{"accuracy": 0.9}}}}, f)
accuracy = {{"accuracy": 0.75}}
with open(os.path.join(of("-folder"), "log.json"), "w") as f:
    json.dump({{"before": accuracy, "projected": accuracy, "after": accuracy, "residuals": [], "layers": [{{"weights": 9, "kept_weights": 2}}]}}, f)
"""


class AwayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(self.at("data"))
        os.makedirs(self.at("models"))
        r = numpy.random.default_rng(1)
        for name in sheets.TRAIN + sheets.TEST:
            sheets.save(self.at("data", name + ".bin"), sheets.rows(r.integers(0, 256, (100, 32, 32, 3), numpy.uint8), r.integers(0, 10, 100).astype(numpy.uint8)))
        self.weights = r.normal(0, 1, (3, 4)).astype(numpy.float32)
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(self.weights, "w")])
        for name in ("resnet20", "vgg16"):
            onnx.save(helper.make_model(graph), self.at("models", name + "_cifar10.onnx"))
        with open(self.at("program"), "w") as f:
            f.write(PROGRAM.format(python=sys.executable))

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, "away.py"), *arguments], capture_output=True, text=True)

    def pack(self, *more):
        p = self.start("pack", "--data", self.at("data"), "--models", self.at("models"), "--dnntrain", self.at("program"), *more, "--parts", self.at("parts"))
        self.assertEqual(p.returncode, 0, p.stderr)

    def run_away(self, work, results):
        return self.start("run", "--parts", self.at("parts"), "--work", self.at(work), "--results", self.at(results), "--", "--nets=resnet20", "--seeds=1")

    def test_there_and_back(self):
        """Packed parts run; returned states, packed again, continue in a new folder with the same
        path, and finished jobs are not run again.
        """
        self.pack("--most=1")
        p = self.run_away("work", "first")
        self.assertEqual(p.returncode, 3, p.stderr)
        self.assertTrue(filecmp.cmp(self.at("data", "test_batch.bin"), self.at("work", "data", "test_batch.bin"), shallow=False))
        found = numpy_helper.to_array(onnx.load(self.at("work", "models", "vgg16_cifar10.onnx")).graph.initializer[0])
        numpy.testing.assert_allclose(found, self.weights, rtol=1e-3)
        self.assertEqual(found.dtype, numpy.float32)
        self.assertEqual(sorted(os.listdir(self.at("first"))), ["logs.tar.gz", "state1.tar", "summary.json", "table.txt"])

        self.pack("--state", self.at("first", "state1.tar"))
        os.rename(self.at("work"), self.at("before"))
        p = self.run_away("work", "second")
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        self.assertIn("lost points: mean 15.00", p.stdout)
        with open(self.at("second", "table.txt")) as f:
            self.assertEqual(f.read(), p.stdout)
        with open(self.at("work", "out", "resnet20-dense-1", "log.txt")) as f:
            self.assertIn("it goes on from " + self.at("work", "out", "resnet20-dense-1"), f.read())
        with tarfile.open(self.at("second", "state1.tar")) as tar:
            names = tar.getnames()
        self.assertIn("resnet20-dense-1/fit/result.json", names)
        self.assertNotIn("resnet20-dense-1/fit/checkpoint.pt", names, "a job that is done needs none")
        p = self.run_away("work", "third")
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertNotIn("seed 1: done", p.stdout, "nothing is run again")

    def test_divide(self):
        paths = []
        for i, size in enumerate([5, 9, 4, 1, 20]):
            paths.append(self.at(f"file{i}"))
            with open(paths[-1], "wb") as f:
                f.write(bytes(size))
        self.assertEqual([[os.path.getsize(p) for p in part] for part in away.divide(paths, 10)], [[20], [9, 1], [5, 4]])


if __name__ == "__main__":
    unittest.main()
