"""Torch: DP-SGD of a small CNN, many runs at once, every noisy gradient seen; exact losses."""

import numpy as np
import torch
from numpy_steps import CLIP, NOISE, RATE, audited
from sklearn.datasets import load_digits
from torch.func import grad, vmap
from torch.nn.functional import conv2d, cross_entropy, max_pool2d, relu

COUNT, NET = 40, 4 * 9 + 36 * 10  # images, weights
IMAGES = torch.tensor(load_digits().images[:COUNT, None] / 16, dtype=torch.float32)
LABELS = torch.tensor(load_digits().target[:COUNT])


def loss(weights, image, label):
    """Return the loss of one image: four filters, pooling, ten classes; canaries have the rest."""
    hidden = max_pool2d(relu(conv2d(image[None], weights[:36].view(4, 1, 3, 3))), 2)
    return cross_entropy(hidden.flatten() @ weights[36:NET].view(36, 10), label)


def train(records, trials, rng, steps, spare=1):
    """Return noisy sums along canaries, (trials, steps, spare); COUNT and above are canaries."""
    torch.manual_seed(int(rng.integers(2**31)))
    images, numbers = records[records < COUNT], records[records >= COUNT] - COUNT
    canaries = CLIP * torch.eye(NET + spare)[NET + numbers].expand(trials, -1, -1)
    models, seen = 0.1 * torch.randn(NET + spare).expand(trials, -1), []
    for _ in range(steps):
        each = vmap(vmap(grad(loss), (None, 0, 0)), (0, None, None))  # run, image
        found = torch.cat([each(models, IMAGES[images], LABELS[images]), canaries], dim=1)
        clipped = found * (CLIP / found.norm(dim=-1, keepdim=True)).clamp(max=1)
        taken = torch.rand(trials, len(records), 1) < RATE
        noisy = (taken * clipped).sum(dim=1) + NOISE * CLIP * torch.randn(models.shape)
        models = models - 0.02 * noisy
        seen.append(noisy[:, NET:] / CLIP)
    return torch.stack(seen, dim=1).double().numpy()


if __name__ == "__main__":
    pair, seen = (np.arange(COUNT + 1), np.arange(COUNT)), lambda *run: train(*run, 25)[..., 0]
    print(audited(seen, lambda records: COUNT in records, pair, 25).reason)
