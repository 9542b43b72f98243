"""The data on which consensus ADMM is tested."""

import numpy as np
import pytest

from dpaudit.auditing.exact import law_checks
from dpaudit.datasets import Dataset, breast_cancer, split_unevenly
from dpaudit.neighbours import REPLACE_RECORD, Pair

from .loop import rng


@pytest.fixture(scope="module")
def small():
    source = rng(1)
    features = source.standard_normal((22, 4))
    features /= np.maximum(1, np.linalg.norm(features, axis=1))[:, None] * 1.0001
    return Dataset(features, source.choice([-1.0, 1.0], 22), node_sizes=(9, 2, 5, 6))


@pytest.fixture(scope="module")
def real():
    return split_unevenly(breast_cancer(), 4, rng(1))


@pytest.fixture(scope="module")
def pair():
    """Return a pair whose record, at node 1, shrinks: the determinants differ systematically."""
    source = rng(5)
    features = source.standard_normal((12, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True) * (1 + 1e-12)
    data = Dataset(features, source.choice([-1.0, 1.0], 12), node_sizes=(3, 4, 5))
    return Pair(data, data.with_record(4, [0.1, 0.05, -0.1], -data.labels[4]), REPLACE_RECORD)


@pytest.fixture(autouse=True)
def fewer_checking_draws(request, monkeypatch):
    """Let fast tests judge an audit's noise and digits by fewer draws; slow ones by them all."""
    if not request.node.get_closest_marker("slow"):
        monkeypatch.setattr(law_checks, "_RESIDUALS", 20_000)
        monkeypatch.setattr(law_checks, "_OUTPUTS", 4)
