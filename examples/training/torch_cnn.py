"""Torch: DP-SGD of a small CNN, many runs at once, every noisy gradient seen; exact losses."""

import numpy as np
import torch
from numpy_steps import CLIP, NOISE, RATE, STEPS, audited
from sklearn.datasets import load_digits
from torch.func import grad, vmap
from torch.nn.functional import conv2d, cross_entropy, max_pool2d, pad, relu

COUNT, NET = 40, 4 * 9 + 36 * 10  # images, weights; a canary's own feature has ten more
IMAGES, LABELS = (torch.tensor(one[:COUNT]) for one in load_digits(return_X_y=True))


def loss(weights, image, rare, label):
    """Return the loss of a record: four filters, pooling, a layer that has rare features too."""
    maps = conv2d(image.float().view(1, 1, 8, 8) / 16, weights[:36].view(4, 1, 3, 3))
    hidden = max_pool2d(relu(maps), 2).flatten()
    return cross_entropy(torch.cat([hidden, rare]) @ weights[36:].view(-1, 10), label)


def train(records, trials, rng, steps=STEPS, spare=1):
    """Return noisy sums along the gradients of canaries, records from COUNT on: one a step each."""
    # A canary's gradient is in ten weights of its own, in a direction that the model decides.
    torch.manual_seed(int(rng.integers(2**31)))
    rare, kept = 5 * CLIP * torch.eye(COUNT + spare)[:, COUNT:], records.tolist()
    data = pad(IMAGES, [0, 0, 0, spare]), rare, pad(LABELS, [0, spare])
    models, seen = 0.1 * torch.randn(NET + 10 * spare).expand(trials, -1), []
    for _ in range(steps):
        found = vmap(vmap(grad(loss), (None, 0, 0, 0)), (0, None, None, None))(models, *data)
        clipped = found * (CLIP / found.norm(dim=-1, keepdim=True)).clamp(max=1)
        taken = (torch.rand(trials, 1, len(rare)) < RATE).float()[..., kept]
        noisy = (taken @ clipped[:, kept])[:, 0] + NOISE * CLIP * torch.randn(models.shape)
        seen.append((clipped[:, COUNT:] @ noisy[..., None])[..., 0] / CLIP**2)
        models = models - 0.005 * noisy
    return torch.stack(seen, dim=1).double().numpy()  # (trials, steps, spare)


if __name__ == "__main__":
    pair = np.arange(COUNT + 1), np.arange(COUNT)
    print(audited(lambda *run: train(*run)[..., 0], lambda one: COUNT in one, pair).reason)
