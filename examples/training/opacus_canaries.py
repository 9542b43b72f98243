"""Opacus: one run of its DP-SGD with a thousand canaries, every noisy gradient seen."""

from itertools import chain, repeat

import numpy as np
import torch
from canaries import CANARIES, inserted, said, scored
from numpy_steps import CLIP, NOISE, RATE, STEPS
from opacus import PrivacyEngine
from torch.optim import SGD
from torch.utils.data import DataLoader, TensorDataset

from dpaudit.adapters.opacus import OpacusNoisyGradients
from dpaudit.estimation.one_run import draw_coins

BATCH = 230  # its sampling rate is 1 over the number of batches: 5 of 921 to 1150 records
PRIVACY = {"noise_multiplier": NOISE, "max_grad_norm": CLIP, "loss_reduction": "sum"}


def run(rng):
    """Return the scores of one run's canaries, and their coins."""
    coins = draw_coins(CANARIES, rng)
    torch.manual_seed(int(rng.integers(2**31)))
    rows = torch.tensor(inserted(coins, 10 * CLIP), dtype=torch.float32)
    model = torch.nn.Linear(rows.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    data = DataLoader(TensorDataset(rows), batch_size=BATCH)
    parts = {"module": model, "optimizer": SGD(model.parameters(), lr=1e-4), "data_loader": data}
    model, optimizer, loader = PrivacyEngine().make_private(**parts, **PRIVACY)
    seen = OpacusNoisyGradients(optimizer)
    for (batch,) in chain.from_iterable(repeat(loader, round(STEPS * RATE))):
        optimizer.zero_grad()
        torch.nn.functional.softplus(-model(batch)).sum().backward()
        optimizer.step()
    # The logistic loss falls along a record.
    return scored(-np.array(seen.steps)[:, -CANARIES:]), coins


if __name__ == "__main__":
    print(said("Opacus", *run(np.random.default_rng(0))))
