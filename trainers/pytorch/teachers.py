"""Networks to distil from.

They are called at each step, or once for all mirrored and moved images.
"""

import fcntl
import hashlib
import json
import os

import torch

import fit
import images

AT_A_TIME = 2000  # number of images in a call of the teachers


class Teachers:
    """Networks whose answer is the mean of their logits."""

    def __init__(self, networks):
        self.networks = networks

    def __call__(self, x):
        return sum(n(x).float() for n in self.networks) / len(self.networks)


@torch.no_grad()
def answers(teachers, data, flip, crop, how, format):
    """Returns the logits of all images in each form of moves(), indexed by form and image, in 16
    bits.
    """
    out = None
    for at in range(0, len(data), AT_A_TIME):
        x, _ = data.batch(slice(at, at + AT_A_TIME))
        for i, moved in enumerate(images.moves(x, flip, crop)):
            moved = moved.to(torch.bfloat16 if how == "bf16" else x.dtype).contiguous(memory_format=format)
            with fit.precision(how, x.device):
                logits = teachers(moved)
            if out is None:
                ways = (1 + bool(flip)) * (2 * crop + 1) ** 2
                out = torch.empty(ways, len(data), logits.shape[1], dtype=torch.float16, device=x.device)
            out[i, at: at + len(x)] = logits
    return out


def kept(folder, of, compute, log):
    """Returns the result of compute, or reads it from a file of an earlier training in the folder.

    Other processes that need the same result wait for it. `of` is everything that the result
    depends on.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:32] + ".pt")
    with open(path + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed, however this process ends
        if not os.path.exists(path):
            log("asking the teachers")
            fit.write(path, lambda part: torch.save(compute(), part))
    return torch.load(path, map_location="cpu", weights_only=True)


def digest(path):
    """Returns a hash of a file's content."""
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()
