"""A second way to every view: differences of runs, plain linear algebra, and draws."""

import dataclasses

import numpy as np
import pytest

from dpaudit.algorithms.problems.graphs import complete, ring, star
from dpaudit.datasets.dataset import Dataset

GRAPHS = {"ring": ring(5), "star": star(4), "complete": complete(3)}
ROUNDS = 50


def slowly(*names):
    """Return parameters for the slow suites."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def make_data(graph, dimension=1, records=2, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(graph.nodes * records, dimension))
    features /= 1.2 * np.linalg.norm(features, axis=1, keepdims=True)
    labels = rng.choice([-1.0, 1.0], size=len(features))
    return Dataset(features, labels, node_sizes=(records,) * graph.nodes)


def relabelled(data, row=0):
    labels = data.labels.copy()
    labels[row] *= -1
    return dataclasses.replace(data, labels=labels)


def observers(network):
    """Everybody worth a look: the wire, one edge, each participant, two of them."""
    first = min(network.roles.hears[1])
    yield "all edges", network.eavesdropper()
    yield "one edge", network.eavesdropper([(first, 1)])
    for one in range(len(network.roles.hears)):
        yield f"participant {one}", network.coalition(one)
    yield "1 and 2", network.coalition(1, 2)


def differentiated(run, shape):
    """Return what each normal moves in a run, ``(sent, normals)``, and the run without any."""
    count = int(np.prod(shape))
    normals = np.zeros((count + 1, *shape))
    normals[1:].reshape(count, count)[:] = np.eye(count)
    sent = run(normals).reshape(count + 1, -1)
    return (sent[1:] - sent[0]).T, sent[0]


def brute_mu(network, view, noise, moved):
    """Return mu by the covariance itself, of coordinates that the observer sees."""
    rows, unknown = network.locate_view(view)
    seen = rows[view.basis]
    moved = moved[seen]
    part = noise[np.ix_(seen, unknown)]
    solution, _, rank, _ = np.linalg.lstsq(part @ part.T, moved, rcond=1e-13)
    assert rank == len(seen)
    return np.sqrt(moved @ solution)


def check_draws(network, views, slopes, draw, shape, rng, *, runs, block=10_000):
    """Hold every finite view to draws of the log-likelihood ratio: its variance, its two means.

    ``draw(neighbour, normals)`` runs the algorithm. An observer takes out of its messages what its
    own noise did to them, for which the derivatives of the runs are used.
    """
    finite = {name: view for name, view in views.items() if not view.infinite and view.mu.upper}
    ratios = {name: ([], []) for name in finite}
    for _ in range(runs // block):
        for side in (0, 1):
            normals = rng.standard_normal((block, *shape))
            sent = draw(side, normals).reshape(block, -1)
            for name, view in finite.items():
                ratios[name][side].append(log_ratio(network, view, slopes, sent, normals))
    for name, view in finite.items():
        here, there = map(np.concatenate, ratios[name])
        assert max(map(abs, z_scores(view.mu.upper, here, there))) < 4, name


def log_ratio(network, view, slopes, sent, normals):
    """Return the log-likelihood ratio of runs, up to a constant."""
    rows, columns = network.locate_view(view)
    known = np.setdiff1d(np.arange(slopes.shape[1]), columns)
    direction = view.direction()
    own = direction @ slopes[np.ix_(rows, known)]
    return sent[:, rows] @ direction - normals.reshape(len(sent), -1)[:, known] @ own


def z_scores(mu, here, there):
    """Return z of the ratio's variance, and of its means' difference: both are ``mu^2``."""
    spread = (here.var() / mu**2 - 1) * np.sqrt(len(here) / 2)
    between = (there.mean() - here.mean() - mu**2) / (mu * np.sqrt(2 / len(here)))
    return float(spread), float(between)
