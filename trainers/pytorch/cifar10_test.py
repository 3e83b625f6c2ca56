"""Tests of cifar10.py with a program that replaces dnntrain."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# Records its start; fails if it should prune and a file "stop" is beside it.
PROGRAM = """#!{python}
import json, os, sys
here, kind, of = os.path.dirname(os.path.abspath(__file__)), sys.argv[1], lambda name: sys.argv[sys.argv.index(name) + 1]
with open(os.path.join(here, "started"), "a") as f:
    print(kind, *[os.path.basename(of("-policy"))] if "-policy" in sys.argv else [], file=f)
if kind == "fit":
    os.makedirs(os.path.join(of("-folder"), "fit"))
    log, file = {{"metrics": {{"accuracy": 0.9}}}}, "fit/result.json"
else:
    if os.path.exists(os.path.join(here, "stop")):
        sys.exit("nothing goes on")
    residuals = [{{"iteration": i, "layer": "w", "patterns": 0.4 / i, "connectivity": 0.2 / i}} for i in (1, 2)] if of("-iterations") != "0" else []
    accuracy = lambda x: {{"accuracy": x}}
    log, file = {{"before": accuracy(0.88), "projected": accuracy(0.5), "after": accuracy(0.895), "residuals": residuals}}, "log.json"
    log["layers"] = [{{"weights": 90, "kept_weights": 20}}]
    for name in ("pruned.onnx", "pruned.masks"):
        open(os.path.join(of("-folder"), name), "w").close()
with open(os.path.join(of("-folder"), file), "w") as f:
    json.dump(log, f)
"""


class Cifar10Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.program = folder.name, os.path.join(folder.name, "program")
        with open(self.program, "w") as f:
            f.write(PROGRAM.format(python=sys.executable))
        os.chmod(self.program, 0o755)

    def start(self, *more):
        out, keep = os.path.join(self.folder, "out"), os.path.join(self.folder, "keep")
        command = [sys.executable, os.path.join(HERE, "cifar10.py"), "--dnntrain", self.program, "--data=data.json", "--models=models", "--out", out, "--keep", keep]
        p = subprocess.run([*command, "--nets=resnet20", "--seeds=7", *more], capture_output=True, text=True)
        try:
            with open(os.path.join(self.folder, "started")) as f:
                started = sorted(f.read().splitlines())
            os.remove(os.path.join(self.folder, "started"))
        except FileNotFoundError:
            started = []
        return p, started

    def test_goes_on(self):
        stop = os.path.join(self.folder, "stop")
        open(stop, "w").close()
        p, started = self.start()
        self.assertEqual((p.returncode, started), (3, ["admm resnet20_cifar10.star", "fit"]), p.stderr)
        self.assertIn("FAILED: resnet20 admm seed 7: nothing goes on", p.stdout)
        os.remove(stop)
        p, started = self.start()
        self.assertEqual((p.returncode, started), (0, ["admm resnet20_cifar10.star"]), p.stderr)
        self.assertRegex(p.stdout, r"7 +88\.00 +90\.00 +89\.50 +0\.50 +50\.00 +4\.50x  40\.0%/20\.0% 20\.0%/10\.0%")
        p, started = self.start()
        self.assertEqual((p.returncode, started), (0, []), p.stderr)
        self.assertIn("lost points: mean 0.50, worst 0.50 of 1 seeds", p.stdout)
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "keep"))), ["logs.tar.gz", "resnet20-7.tar.gz", "summary.json"])

    def test_other_settings(self):
        p, started = self.start("--kinds=admm", "--set", "resnet20.policy=null")
        self.assertEqual((p.returncode, started), (0, ["admm"]), p.stderr)
        p, started = self.start("--kinds=admm", "--set", 'resnet20.policy="/p.star"', "resnet20.retrain=3")
        self.assertEqual((p.returncode, started), (0, ["admm p.star"]), p.stderr)
        with open(os.path.join(self.folder, "out", "summary.json")) as f:
            self.assertEqual(json.load(f)["plans"]["resnet20"]["retrain"], 3)

    def test_steps(self):
        """Dense networks are also trained for the epochs of steps, and a run without iterations has
        no residuals.
        """
        p, started = self.start("--set", "resnet20.policy=null", "resnet20.iterations=0", "resnet20.steps=4", "resnet20.epochs=5", "resnet20.retrain=80")
        self.assertEqual((p.returncode, started), (0, ["admm", "fit"]), p.stderr)
        self.assertRegex(p.stdout, r"(?m)^ +7 +88\.00 +90\.00 +89\.50 +0\.50 +50\.00 +4\.50x *$")
        with open(os.path.join(self.folder, "out", "resnet20-dense-7", "done.json")) as f:
            command = json.load(f)
        self.assertEqual(json.loads(command[command.index("-settings") + 1])["epochs"], 100)
        with open(os.path.join(self.folder, "out", "resnet20-admm-7", "done.json")) as f:
            command = json.load(f)
        self.assertEqual(command[command.index("-steps") + 1], "4")

    def test_plan(self):
        """A plan may occur twice with different settings."""
        p, started = self.start("--nets", "other", "resnet20", "--plan", "other=resnet20", "--kinds=admm", "--set", "other.retrain=3")
        self.assertEqual((p.returncode, len(started)), (0, 2), p.stderr)
        with open(os.path.join(self.folder, "out", "summary.json")) as f:
            plans = json.load(f)["plans"]
        self.assertEqual((plans["other"]["retrain"], plans["other"]["model"], plans["resnet20"]["retrain"]), (3, "resnet20", 130))
        p, _ = self.start("--nets=none")
        self.assertIn("--nets: none: want some of vgg16, ", p.stderr)
        for wrong in ("other=none", "other", "vgg16=resnet20"):
            p, _ = self.start("--plan", wrong)
            self.assertIn(f"--plan: {wrong}: want NAME=NET, a new name and one of vgg16, ", p.stderr)

    def test_choose(self):
        """The epochs in which masks are chosen are part of the retraining epochs; plans without
        them have no such options.
        """
        plan = ["resnet20.choose=60", "resnet20.every=8", "resnet20.iterations=0", "resnet20.retrain=80"]
        commands = {}
        for kinds, more in ((["admm"], []), (["admm", "dense"], plan)):
            p, started = self.start("--kinds", *kinds, "--set", "resnet20.policy=null", *more)
            self.assertEqual((p.returncode, len(started)), (0, len(kinds)), p.stderr)
            for kind in kinds:
                with open(os.path.join(self.folder, "out", f"resnet20-{kind}-7", "done.json")) as f:
                    commands[kind] = json.load(f)
            self.assertEqual("-choose" in commands["admm"], more == plan)
        of = lambda kind, name: commands[kind][commands[kind].index(name) + 1]
        self.assertEqual((of("admm", "-choose"), of("admm", "-every"), json.loads(of("dense", "-settings"))["epochs"]), ("60", "8", 80))

    def test_teachers(self):
        """Several networks may be teachers."""
        p, started = self.start("--kinds=admm", "--set", 'resnet20.teacher="vgg16 other"')
        self.assertEqual((p.returncode, started), (0, ["admm resnet20_cifar10.star"]), p.stderr)
        with open(os.path.join(self.folder, "out", "resnet20-admm-7", "done.json")) as f:
            command = json.load(f)
        self.assertEqual([os.path.basename(word) for word in command if word.startswith("--teacher=")], ["vgg16_cifar10.onnx", "other_cifar10.onnx"])

    def test_teacher(self):
        """A training that is distilled from the dense network waits for it, and does not start
        without it.
        """
        plan = ["--set", "resnet20.policy=null", 'resnet20.teacher="dense"']
        p, started = self.start("--kinds", "admm", "again", "dense", *plan)
        self.assertEqual((p.returncode, started), (0, ["admm", "fit", "fit"]), p.stderr)
        self.assertRegex(p.stdout, r"7 +88\.00 +90\.00 +90\.00 +89\.50 +0\.50 +50\.00")
        for kind, wanted in {"dense": False, "again": True, "admm": True}.items():
            with open(os.path.join(self.folder, "out", f"resnet20-{kind}-7", "done.json")) as f:
                teachers = [word for word in json.load(f) if word.startswith("--teacher=")]
            dense = os.path.join(self.folder, "out", "resnet20-dense-7", "trained.onnx")
            self.assertEqual(teachers, [f"--teacher={dense}"] if wanted else [], kind)
        p, started = self.start("--kinds=admm", *plan)
        self.assertEqual((p.returncode, started), (3, []), "the dense network is not among what runs")
        self.assertIn("waits: resnet20 admm seed 7", p.stdout)


if __name__ == "__main__":
    unittest.main()
