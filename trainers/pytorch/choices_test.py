"""Tests of masks that are chosen while training, and of moving averages.

    python -m unittest choices_test
"""

import os
import unittest

import safetensors.torch
import torch

import average
import choices
import fit
import images
import network
import network_test
from network_test import SETTINGS, given, pictures

PATTERNS = [[0, 1, 3, 4], [4, 5, 7, 8]]
OF_W = {"weight": "w", "filter_axis": 0, "groups": 1, "share": 1, "patterns": PATTERNS, "kernels": 2}
CHOICES = {"epochs": 2, "every": 3, "grow": 1, "fade": 0, "weights": [OF_W]}


def best(w, units, patterns, kernels):
    """Returns the mask by its definition.

    units are lists of (filter, channel) that belong together; w is indexed by filter, channel and
    tap.
    """
    found = []
    for unit in units:
        sums = [sum(float(w[f, c, t]) ** 2 for f, c in unit for t in p) for p in patterns]
        found.append((max(sums), sums.index(max(sums)), unit))
    mask = torch.zeros_like(w)
    for _, which, unit in sorted(found, key=lambda x: -x[0])[:kernels]:
        for f, c in unit:
            mask[f, c, patterns[which]] = 1
    return mask


class ChoiceTest(unittest.TestCase):
    def test_nearest(self):
        """The strongest kernels stay, each with the pattern that keeps most, for any sharing."""
        torch.manual_seed(4)
        w, one = torch.randn(12, 5, 3, 3), {**OF_W, "kernels": 20}
        single = [[(f, c)] for f in range(12) for c in range(5)]
        fours = lambda filters, each: [[(f, c) for f in range(first, min(first + 4, start + each))]
                                       for start in range(0, filters, each) for first in range(start, start + each, 4) for c in range(5)]
        for spec, units in ((one, single), ({**one, "share": 4, "kernels": 7}, fours(12, 12)), ({**one, "share": 4, "groups": 2, "kernels": 7}, fours(12, 6))):
            want = best(w.flatten(2), units, PATTERNS, spec["kernels"]).view(w.shape)
            for format in (torch.contiguous_format, torch.channels_last):
                x = w.contiguous(memory_format=format)
                self.assertTrue(torch.equal(choices.Choice(x, spec).kept(x, 1), want), spec)
            turned = w.transpose(0, 1).contiguous()
            self.assertTrue(torch.equal(choices.Choice(turned, {**spec, "filter_axis": 1}).kept(turned, 1), want.transpose(0, 1)), spec)

    def test_matrix(self):
        w = torch.tensor([[1.0, -5.0], [3.0, 0.5]])
        kept = choices.Choice(w, {**OF_W, "patterns": [[0]], "kernels": 2}).kept(w, 1)
        self.assertEqual(kept.tolist(), [[0, 1], [1, 0]])

    def test_grows(self):
        """The number of pruned kernels grows."""
        torch.manual_seed(4)
        w = torch.randn(10, 10, 3, 3)
        c = choices.Choice(w, {**OF_W, "kernels": 40})
        left = [int(c.kept(w, choices.share(step, 8)).sum()) // 4 for step in (0, 2, 4, 8, 100)]
        self.assertEqual(left, [100, 65, 48, 40, 40])
        self.assertEqual(choices.share(0, 0), 1)


class Run(network_test.Folder):
    def fit(self, settings=None, **more):
        train, test = images.load(pictures(self.folder), self.folder, "cpu")
        run = fit.Fit(network.Network(self.model, given()), {**SETTINGS, **(settings or {})}, **more)
        return run, train, test


class ChoicesTest(Run):
    def test_feedback(self):
        """A step uses the gradient at the masked weights and changes all weights; masked ones also
        decay.
        """
        run, train, _ = self.fit({"momentum": 0.0, "learning_rate": 0.1, "schedule": "constant"}, chosen={**CHOICES, "grow": 0, "fade": 0.5})
        x, y = train.batch(slice(0, 8))
        w = given()["w"]
        kept = best(w.flatten(2), [[(f, 0)] for f in range(4)], PATTERNS, 2).view(w.shape)
        other = network.Network(self.model, {**given(), "w": w * kept})
        torch.manual_seed(1)
        torch.nn.functional.cross_entropy(other(x, training=True), y).backward()
        torch.manual_seed(1)
        run._before(0, 8)
        run._step(x, y)
        want = w - 0.1 * (other.weights["w"].grad + 0.5 * w * (1 - kept))
        torch.testing.assert_close(run.choices.all[0].detach(), want)
        torch.testing.assert_close(run.network.weights["w"].detach(), want * kept)

    def test_comes_back(self):
        """A pruned kernel returns when it is among the strongest, but not after the epochs with
        choices.
        """
        run, _, _ = self.fit(chosen={**CHOICES, "epochs": 1})
        run.choices.choose(0, 3, 1)
        before = run.choices.kept[0].clone()
        with torch.no_grad():
            gone = int((before.flatten(1).sum(1) == 0).nonzero()[0])
            run.choices.all[0][gone] = 9
        run.choices.choose(0, 4, 1)
        self.assertTrue(torch.equal(run.choices.kept[0], before), "masks change only every three steps")
        run.choices.choose(1, 6, 1)
        self.assertTrue(torch.equal(run.choices.kept[0], before))
        run.choices.choose(0, 6, 1)
        self.assertEqual(run.choices.kept[0][gone].sum().item(), 4)
        self.assertEqual(run.network.weights["w"][gone].max().item(), 9)

    def test_ends(self):
        """The final weights are allowed, equal those of the tested network, and do not depend on
        interruptions.
        """
        settings, states = {"epochs": 4, "average": 0.5, "weight_decay": 0.01}, []
        run, train, test = self.fit(settings, chosen=CHOICES)
        run.run(train, test, lambda r: states.append(torch.save(r.state(), os.path.join(self.folder, f"state{r.epoch}"))), lambda text: None, 0)
        w = run.network.tensors()["w"]
        self.assertEqual(int((w != 0).sum()), 8)
        self.assertTrue(all(set(k.nonzero().flatten().tolist()) in (set(), *map(set, PATTERNS)) for k in w.flatten(2)[:, 0]))
        self.assertEqual(run.last["accuracy"], run.accuracy(test))
        for epoch in (1, 2, 3):
            on, _, _ = self.fit(settings, chosen=CHOICES)
            on.restore(torch.load(os.path.join(self.folder, f"state{epoch}"), weights_only=True))
            on.run(train, test, None, lambda text: None, 1e9)
            for name, t in run.network.tensors().items():
                self.assertTrue(torch.equal(t, on.network.tensors()[name]), (epoch, name))

    def test_last(self):
        """The last choice must come after the last pruning step; then the weights are allowed, even
        after few choices.
        """
        steps = 8
        for more, every in (({"grow": 2}, 1), ({"grow": 1}, steps + 1), ({"grow": 1}, 2 * steps)):
            run, train, test = self.fit({"epochs": 2}, chosen={**CHOICES, **more, "every": every})
            self.assertEqual(len(train) // SETTINGS["batch"], steps)
            if every == steps + 1:
                run.run(train, test, None, lambda text: None, 1e9)
                self.assertEqual(int((run.network.tensors()["w"] != 0).sum()), 8)
            else:
                with self.assertRaisesRegex(network.Refused, f"choices: every {every} steps, of 8 an epoch, the last of 2 epochs is before step"):
                    run.run(train, test, None, lambda text: None, 1e9)

    def test_learns(self):
        for optimizer, rate in (("sgd", 0.1), ("adam", 0.02)):
            run, train, test = self.fit({"epochs": 16, "optimizer": optimizer, "learning_rate": rate}, chosen={**CHOICES, "epochs": 10, "grow": 5})
            run.run(train, test, None, lambda text: None, 1e9)
            self.assertGreater(run.last["accuracy"], 0.8, optimizer)

    def test_refused(self):
        w = lambda **k: {**CHOICES, "weights": [{**OF_W, **k}]}
        for want, chosen, more in (
            ("choices: want an object of epochs, every, fade, grow, weights", {"every": 3}, {}),
            ("choices: every 0 steps in 2 epochs, growing in 1, of 2", {**CHOICES, "every": 0}, {}),
            ("every 3 steps in 3 epochs, growing in 1, of 2; want", {**CHOICES, "epochs": 3}, {}),
            ("choices: fade is 2; want 0 to 1", {**CHOICES, "fade": 2}, {}),
            ("in 2 epochs, growing in 3,", {**CHOICES, "grow": 3}, {}),
            ("choices: of each of the weights want filter_axis, groups", {**CHOICES, "weights": [{"weight": "w"}]}, {}),
            ('choices: the network has no weights "v" to train', w(weight="v"), {}),
            ('choices: weights "g" of shape \\[3\\] have no filters along axis 0', w(weight="g"), {}),
            ('weights "w": a pattern \\[9\\] for kernels of 9 taps', w(patterns=[[9]]), {}),
            ('weights "w": 5 of 4 kernels, and 2 patterns', w(kernels=5), {}),
            ('weights "w": 2 of 4 kernels, and 0 patterns', w(patterns=[]), {}),
            ('weights "w": groups = 3, share = 1 for 4 filters', w(groups=3), {}),
            ("choices: weights that are named twice", {**CHOICES, "weights": [OF_W, OF_W]}, {}),
            ("choices: of weights that have a mask or a quadratic term", CHOICES, {"masks": {"w": torch.ones(4, 1, 3, 3)}}),
            ("choices: of weights that have a mask or a quadratic term", CHOICES, {"terms": [("w", 1, torch.ones(4, 1, 3, 3))]}),
        ):
            with self.assertRaisesRegex(network.Refused, want):
                self.fit(chosen=chosen, **more)
        with self.assertRaisesRegex(network.Refused, "average: want epochs after the 2 of the choices"):
            self.fit({"average": 0.9}, chosen=CHOICES)

    @unittest.skipUnless(torch.cuda.is_available(), "CUDA graphs want a GPU")
    def test_captured(self):
        """Steps as CUDA graphs produce the same weights as separate steps."""
        ends = []
        for graphs in (False, True):
            run = fit.Fit(network.Network(self.model, given(), "cuda"), {**SETTINGS, "average": 0.9, "epochs": 3}, graphs=graphs, chosen=CHOICES)
            run.run(*images.load(pictures(self.folder), self.folder, "cuda"), lambda r: None, lambda text: None, 0)
            self.assertEqual(run.graphs, graphs, "the step was not captured")
            ends.append(run.network.tensors())
        for name, t in ends[0].items():
            torch.testing.assert_close(t, ends[1][name])


class AverageTest(Run):
    def test_mean(self):
        """The average is the mean of the tensors after each step, with the largest weight for the
        last ones.
        """
        t = torch.zeros(2)
        a, seen = average.Average([t], 0.75), []
        with a.taken():
            self.assertEqual(t.tolist(), [0, 0])
        for i in range(5):
            t += torch.tensor([1.0, i])
            seen.append(t.clone())
            a.count += 1
            a.add()
        weights = [0.75 ** (4 - i) for i in range(5)]
        want = sum(w * s for w, s in zip(weights, seen)) / sum(weights)
        with a.taken():
            torch.testing.assert_close(t, want)
        self.assertTrue(torch.equal(t, seen[-1]), "it is back")
        a.take()
        torch.testing.assert_close(t, want)

    def test_steps_stay(self):
        """The average does not change steps, and is the result of the training."""
        ends = []
        for share in (0, 0.9):
            run, train, test = self.fit({"average": share})
            run.run(train, test, None, lambda text: None, 1e9)
            ends.append((run.last["loss"], run.network.tensors()["w"]))
            self.assertEqual(run.last["accuracy"], run.accuracy(test))
        self.assertEqual(ends[0][0], ends[1][0])
        self.assertFalse(torch.equal(ends[0][1], ends[1][1]))


class JobTest(network_test.ProtocolTest):
    test_job = test_distillation = test_teacher = test_teachers = test_teacher_of_other_classes = None

    def test_choices(self):
        p = self.start(choices=CHOICES)
        self.assertEqual(p.returncode, 0, p.stderr)
        out = safetensors.torch.load_file(os.path.join(self.folder, "output.safetensors"))
        self.assertEqual(int((out["w"] != 0).sum()), 8)

    def test_refused(self):
        p = self.start(choices={**CHOICES, "every": 0})
        self.assertEqual(p.returncode, 1)
        self.assertIn("choices: every 0 steps", p.stderr)
        self.assertNotIn("Traceback", p.stderr)


if __name__ == "__main__":
    unittest.main()
