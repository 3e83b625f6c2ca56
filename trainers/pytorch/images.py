"""Labelled images: the files that docs/trainers.md describes, held on the network's device, and
their augmentation there.
"""

import gzip
import hashlib
import json
import os

import numpy
import torch

from network import Refused

CIFAR_ROW = 1 + 3 * 32 * 32
IDX_IMAGES, IDX_LABELS = 0x803, 0x801
FIELDS = {"kind", "train", "test", "mean", "deviation", "most"}


class Images:
    """Labelled images with one byte for each element."""

    def __init__(self, pixels, classes, mean, deviation, device):
        self.pixels, self.classes = torch.from_numpy(pixels).to(device), torch.from_numpy(classes.astype(numpy.int64)).to(device)
        channels = pixels.shape[1]
        scale = lambda values, other: torch.tensor(values or [other] * channels, device=device).view(1, -1, 1, 1)
        self.mean, self.deviation = scale(mean, 0.0), scale(deviation, 1.0)
        if len(mean) != len(deviation) or mean and len(mean) != channels:
            raise Refused(f"{len(mean)} means and {len(deviation)} deviations for images of {channels} channels")

    def __len__(self):
        return len(self.classes)

    def digest(self):
        """Returns a hash that identifies the images."""
        h = hashlib.sha256(json.dumps([t.flatten().tolist() for t in (self.mean, self.deviation)]).encode())
        h.update(self.pixels.cpu().numpy().tobytes())
        return h.hexdigest()

    def batch(self, which, format=torch.contiguous_format):
        """Returns scaled images and their classes."""
        x = self.pixels[which].float() / 255
        return ((x - self.mean) / self.deviation).contiguous(memory_format=format), self.classes[which]


def load(spec, folder, device):
    """Returns the training images and the test images; paths are absolute, or relative to the
    folder.
    """
    if not isinstance(spec, dict) or set(spec) - FIELDS:
        raise Refused(f"data: {json.dumps(spec)[:200]}: want an object of {', '.join(sorted(FIELDS))}")
    readers = {"cifar10": cifar10, "mnist": mnist}
    if spec.get("kind") not in readers:
        raise Refused(f'data: kind is "{spec.get("kind")}"; want "cifar10" or "mnist"')
    sets = []
    for name in ("train", "test"):
        try:
            files = [read(os.path.join(folder, f)) for f in spec.get(name) or []]
            if not files:
                raise Refused("no files are named")
            pixels, classes = readers[spec["kind"]](files)
            most = spec.get("most") or len(classes)
            sets.append(Images(pixels[:most], classes[:most], spec.get("mean") or [], spec.get("deviation") or [], device))
        except (OSError, Refused) as e:
            raise Refused(f"data: {name}: {e}") from e
    return sets


def read(path):
    """Returns a file's bytes, decompressed if it is compressed."""
    with open(path, "rb") as f:
        content = f.read()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def cifar10(files):
    """Reads rows of a class and pixels."""
    for content in files:
        if len(content) == 0 or len(content) % CIFAR_ROW:
            raise Refused(f"a file of {len(content)} bytes; CIFAR-10's binary files have a multiple of {CIFAR_ROW}")
    rows = numpy.concatenate([numpy.frombuffer(c, numpy.uint8).reshape(-1, CIFAR_ROW) for c in files])
    return numpy.ascontiguousarray(rows[:, 1:]).reshape(-1, 3, 32, 32), rows[:, 0]


def mnist(files):
    """Reads pairs of an image file and a label file."""
    if len(files) % 2:
        raise Refused(f"{len(files)} files; MNIST's are pairs, images before labels")
    pixels, classes = [], []
    for images, labels in zip(files[::2], files[1::2]):
        if len(images) < 16 or len(labels) < 8:
            raise Refused("a file is truncated")
        head, ends = numpy.frombuffer(images, ">u4", 4).tolist(), numpy.frombuffer(labels, ">u4", 2).tolist()
        if head[0] != IDX_IMAGES or ends[0] != IDX_LABELS:
            raise Refused("the files are not a pair of MNIST's images and labels")
        _, n, rows, columns = head
        if len(images) != 16 + n * rows * columns or len(labels) != 8 + n or ends[1] != n:
            raise Refused(f"{n} images of {rows} x {columns} do not fit {len(images)} and {len(labels)} bytes")
        pixels.append(numpy.frombuffer(images, numpy.uint8, offset=16).reshape(n, 1, rows, columns))
        classes.append(numpy.frombuffer(labels, numpy.uint8, offset=8))
    return numpy.concatenate(pixels), numpy.concatenate(classes)


def augment(x, flip, crop, generator):
    """Mirrors half of the images, and moves each by up to crop pixels with zeros around it.

    Returns the images, and for each the index of its transformation in the order of moves().
    """
    n, _, rows, columns = x.shape
    draw = lambda low, high: torch.randint(low, high, (n, 1), device=x.device, generator=generator)
    across, none = torch.arange(columns, device=x.device).expand(n, columns), torch.zeros(n, 1, device=x.device, dtype=torch.int64)
    mirrored = draw(0, 2) if flip else none
    if flip:
        across = torch.where(mirrored == 1, columns - 1 - across, across)
    down = torch.arange(rows, device=x.device).expand(n, rows)
    first, second = (draw(0, 2 * crop + 1), draw(0, 2 * crop + 1)) if crop else (none, none)
    if crop:
        x = torch.nn.functional.pad(x, [crop] * 4)
        down, across = down + first, across + second
    each = torch.arange(n, device=x.device).view(n, 1, 1)
    # Channels come last in the indexed tensor, as in the memory of channels_last.
    x = x.permute(0, 2, 3, 1)[each, down[:, :, None], across[:, None, :]].permute(0, 3, 1, 2)
    return x, ((mirrored * (2 * crop + 1) + first) * (2 * crop + 1) + second).view(n)


def moves(x, flip, crop):
    """Yields the images in each mirrored and moved form, in the order of augment()'s indices."""
    _, _, rows, columns = x.shape
    for mirrored in (False, True)[:1 + bool(flip)]:
        padded = torch.nn.functional.pad(x.flip(3) if mirrored else x, [crop] * 4)
        for down in range(2 * crop + 1):
            for second in range(2 * crop + 1):
                across = 2 * crop - second if mirrored else second
                yield padded[:, :, down: down + rows, across: across + columns]
