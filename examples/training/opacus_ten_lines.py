"""Opacus in ten lines: a loop with its engine, audited by a thousand canaries of one run."""

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import dpaudit


def train(rows):
    """Return the weights of a logistic regression, and the epsilon that Opacus states."""
    model, engine = torch.nn.Linear(rows.shape[1], 1, bias=False), PrivacyEngine()
    parts = {"module": model, "optimizer": torch.optim.SGD(model.parameters(), lr=1.0)}
    data, noise = DataLoader(TensorDataset(rows), batch_size=100), {"noise_multiplier": 1.0}
    _, optimizer, loader = engine.make_private(**parts, data_loader=data, **noise, max_grad_norm=1)
    for (batch,) in (batch for _ in range(10) for batch in loader):
        optimizer.zero_grad()
        torch.nn.functional.softplus(-model(batch)).mean().backward()
        optimizer.step()
    return model.weight.detach().numpy()[0], engine.get_epsilon(1e-5)


if __name__ == "__main__":
    torch.manual_seed(0)
    coins = np.random.default_rng(0).random(1000) < 0.5  # which canaries the training gets
    weights, epsilon = train(10 * torch.eye(1000)[coins])  # each has a feature of its own
    for claim in (epsilon, 0.5):
        result = dpaudit.audit_scores(weights, coins, claim=claim, delta=1e-5)
        print(f"{result.verdict}: claimed {claim:.2f}, at least {result.lower:.2f}")
