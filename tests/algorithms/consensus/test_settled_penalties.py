"""No mode of M-ADMM with settled penalties leaves the unit circle: the proof, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.theorem31 import (
    CLAIM,
    Theorem31Parameters,
    prepare_theorem31_search,
)
from dpaudit.algorithms.consensus.quadratics import build_laplacians, iteration_map, spectral_radius
from dpaudit.extension.settings import Settings


def networks(rng: Generator, nodes: int, *, least: float, count: int = 100) -> dict[str, Array]:
    """Return connected graphs with theta = 1, penalties above ``least``, and some curvature."""
    adjacency = np.triu(rng.random((count, nodes, nodes)) < rng.random((count, 1, 1)), 1)
    for i in range(1, nodes):
        adjacency[np.arange(count), rng.integers(0, i, count), i] = True
    flat = rng.random((count, nodes)) < 0.5
    curvature = np.where(flat, 0.0, 10 ** rng.uniform(-3, 2, (count, nodes)))
    curvature[:, 0] += 1e-2
    return {
        "adjacency": (adjacency | adjacency.transpose(0, 2, 1)).astype(float),
        "penalty": least + 10 ** rng.uniform(-3, 3, (count, nodes)),
        "curvature": curvature,
    }


def multipliers(batch: dict[str, Array], u: complex | Array) -> Any:
    """Return the h_i of the proof, theta = 1."""
    penalty, degrees = batch["penalty"], batch["adjacency"].sum(axis=2)
    own = batch["curvature"] / penalty / degrees
    return -(1 - u) * (own + 2 * (1 - u)) / (u * (1 + 1 / penalty - u))


@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
@pytest.mark.parametrize("least", [0.5, 1.0])
def test_all_modes_are_inside_where_penalties_are_above_half_of_theta(
    nodes: int, least: float
) -> None:
    batch = networks(default_rng(nodes), nodes, least=least)
    assert spectral_radius(batch, 1.0).max() < 1


@pytest.mark.parametrize(("penalty", "stable"), [(0.6, True), (0.51, True), (0.49, False)])
def test_below_half_of_theta_two_nodes_diverge(penalty: float, stable: bool) -> None:
    """The control: the proof's ``8 / (2 + b) > 2`` fails there, and so does convergence."""
    pair = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    batch = {"adjacency": pair, "penalty": np.full((1, 2), penalty)}
    batch["curvature"] = np.full((1, 2), 1e-3)
    assert bool(spectral_radius(batch, 1.0)[0] < 1) is stable


def test_every_mode_satisfies_the_reduced_equation() -> None:
    """``sum h_i |y_i|^2 = y* N y`` for each eigenvector, with N's values in [0, 2]."""
    batch = networks(default_rng(0), 5, least=1.0, count=20)
    values, vectors = np.linalg.eig(iteration_map(batch, 1.0))
    degrees = batch["adjacency"].sum(axis=2)
    roots = np.sqrt(degrees)
    normalised = build_laplacians(batch["adjacency"])[0] / (roots[:, :, None] * roots[:, None, :])
    assert np.linalg.eigvalsh(normalised).max() <= 2 + 1e-12
    seen = 0
    for k, z in np.ndindex(values.shape):
        if min(abs(values[k, z]), abs(values[k, z] - 1)) < 1e-3:
            continue
        y = roots[k] * vectors[k, :5, z]
        h = multipliers({name: one[k : k + 1] for name, one in batch.items()}, 1 / values[k, z])
        left, right = np.sum(h[0] * abs(y) ** 2), y.conj() @ normalised[k] @ y
        assert left == pytest.approx(right, abs=1e-6 * (1 + abs(left)))
        seen += 1
    assert seen > 50


def test_on_the_circle_no_mean_of_the_multipliers_is_real_and_at_most_2() -> None:
    batch = networks(default_rng(1), 4, least=1.0)
    for phi in np.linspace(1e-3, np.pi - 1e-3, 200):
        assert multipliers(batch, np.exp(1j * phi)).imag.min() > 0
    assert multipliers(batch, -1.0).min() >= 8 / 3


@pytest.mark.parametrize("penalties", ["own", "shared"])
def test_the_claim_s_audit_says_what_is_proved(penalties: str) -> None:
    given = {"part": "bounded", "penalties": penalties}
    case = prepare_theorem31_search(Settings(), Theorem31Parameters.model_validate(given))
    assert case.proved is not None
    assert case.proved[0] == 1.0
    printed = [variant for variant in CLAIM.published.values() if variant.printed]
    assert all(variant.settings["parameters"].get("part") != "bounded" for variant in printed)


def test_an_inequality_with_penalties_of_their_own_has_no_proof() -> None:
    given = {"part": "inequality", "penalties": "own"}
    assert (
        prepare_theorem31_search(Settings(), Theorem31Parameters.model_validate(given)).proved
        is None
    )
