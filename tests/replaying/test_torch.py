"""Flaws and repaired twins with noise of torch, where it is installed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

VALUES, OTHERS = np.array([0.2, 0.9, 0.6]), np.array([0.2, 0.9, 30.0])
DOUBLE = torch.float64


def normal_unclipped(data):
    return (torch.tensor(data).sum() + torch.normal(0.0, 5.0, (1,), dtype=DOUBLE)).item()


def normal_clipped(data):
    value = torch.tensor(data).clamp(0, 1).sum() + torch.normal(0.0, 5.0, (1,), dtype=DOUBLE)
    return value.item()


def law_unclipped(data):
    value = torch.tensor(data).sum()
    return torch.distributions.Laplace(value, torch.tensor(1.0, dtype=DOUBLE)).sample().item()


def law_clipped(data):
    value = torch.tensor(data).clamp(0, 1).sum()
    return torch.distributions.Laplace(value, torch.tensor(1.0, dtype=DOUBLE)).sample().item()


def same_noise(data):
    noise = torch.randn(1, dtype=DOUBLE) * 10
    value = torch.tensor(data).clamp(0, 1)
    return (value.sum() + noise).item(), ((value**2).sum() + noise).item()


def own_noise(data):
    noise = torch.randn(2, dtype=DOUBLE) * 10
    value = torch.tensor(data).clamp(0, 1)
    return (value.sum() + noise[0]).item(), ((value**2).sum() + noise[1]).item()


def single_unclipped(data):
    value = torch.tensor(data, dtype=torch.float32)
    return (value.sum() + torch.empty(1).normal_(0, 5)).item()


def single_clipped(data):
    value = torch.tensor(data, dtype=torch.float32).clamp(0, 1)
    return (value.sum() + torch.empty(1).normal_(0, 5)).item()


@pytest.mark.parametrize(
    ("broken", "repaired"),
    [
        (normal_unclipped, normal_clipped),
        (law_unclipped, law_clipped),
        (same_noise, own_noise),
        (single_unclipped, single_clipped),
    ],
    ids=lambda one: one.__name__,
)
def test_a_flaw_is_found_and_its_twin_is_not_accused(broken, repaired, replay_here):
    other = np.array([0.2, 0.9, 0.1]) if broken is same_noise else OTHERS
    found = replay_here(broken, VALUES, other, epsilon=1.0, delta=1e-5)
    assert found.verdict == "refuted"
    assert replay_here(repaired, VALUES, other, epsilon=1.0, delta=1e-5).verdict == "not refuted"
