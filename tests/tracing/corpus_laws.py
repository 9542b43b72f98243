"""Sixty functions with the exact epsilon of what they release, on their pair and at their delta.

Forty are those of ``examples/mechanisms.py``, ten the loops of ``examples/loops``, and ten more
differ in how noise is made and how it meets a value. None of the numbers uses the package.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from tests.own_examples import load_example
from tests.tracing import oracles
from tests.tracing.judged import Judged, Number, Reading, exactly

mechanisms = load_example("mechanisms")
INFINITE = exactly(math.inf)
DELTA = 1e-5
VALUES, MOVED = mechanisms.VALUES, mechanisms.MOVED

# Numbers of examples/mechanisms.py that need a computation.


def _exponential_median() -> float:
    """Return the epsilon of a choice with weights exp(score / 2)."""

    def law(data: Any) -> Any:
        ranks = [sum(x < candidate for x in data) for candidate in (0.0, 0.25, 0.5, 0.75, 1.0)]
        weights = [math.exp(-abs(rank - len(data) / 2) / 2) for rank in ranks]
        return [one / sum(weights) for one in weights]

    return oracles.finite(law((0.0, 0.4, 0.6)), law((0.0, 0.4, 0.6, 1.0)), 0.0)


def _rounded_noise_at_least(steps: int, scale: float) -> float:
    """Return how likely rounded Laplace noise is at least so many steps, one at least."""
    return math.exp(-(steps - 0.5) / scale) / 2


def _rounded_question() -> float:
    """Return the epsilon of 2 or 1 cats, rounded noise, and a comparison with 1."""
    small = _rounded_noise_at_least(1, 0.3)  # of noise above 0; at least 0 is the rest but one side
    return oracles.finite([1 - small, small], [small, 1 - small], 0.0)


def _rounded_count() -> float:
    """Return the epsilon of 2 or 1 plus rounded noise."""

    def law(count: int) -> list[float]:
        noise = stats.laplace(scale=0.3)
        return [float(noise.sf(k - count - 0.5) - noise.sf(k - count + 0.5)) for k in range(-4, 8)]

    return oracles.finite(law(2), law(1), 0.0)


def _comparison() -> float:
    """Return the epsilon of 2 or 1, noise of scale 1, and a comparison with 1.5."""
    wrong = math.exp(-0.5) / 2
    return oracles.finite([1 - wrong, wrong], [wrong, 1 - wrong], 0.0)


def _synthetic_rows() -> float:
    """Return the epsilon of two letters that are drawn by noisy counts, 2 and 1 or 2 and 0."""

    def nodes_of(count: int) -> tuple[Any, Any]:
        # At zero an atom; beyond it pieces that are short near zero and end at the kink.
        ends = sorted({0.0, *np.geomspace(1e-8, 1.0, 24), float(count), *np.linspace(1.5, 60, 20)})
        nodes, weights = np.polynomial.legendre.leggauss(24)
        places = [low + (high - low) * (nodes + 1) / 2 for low, high in itertools.pairwise(ends)]
        masses = [
            (high - low) / 2 * weights * np.exp(-np.abs(place - count)) / 2
            for place, (low, high) in zip(places, itertools.pairwise(ends), strict=True)
        ]
        return np.concatenate([[0.0], *places]), np.concatenate([[math.exp(-count) / 2], *masses])

    def law(count_of_b: int) -> list[float]:
        (a, of_a), (b, of_b) = nodes_of(2), nodes_of(count_of_b)
        share = (b + 1e-9) / (a[:, None] + b + 2e-9)
        powers = [of_a @ (share**k * (1 - share) ** (2 - k)) @ of_b for k in range(3)]
        return [powers[0], powers[1], powers[1], powers[2]]

    return oracles.finite(law(1), law(0), 0.0)


def _first_of_data() -> float:
    """Return the epsilon of the first of four records whose noisy value is above 0.8."""
    one = oracles.chances_of_first_above((1.0, 0.6, 0.4, 0.0), 0.1, 0.8, 0.0)
    other = oracles.chances_of_first_above((1.0, 0.6, 0.4, 1.0), 0.1, 0.8, 0.0)
    return oracles.finite(one, other, 0.0)


def _first_of_queries() -> float:
    """Return the epsilon of the first of four running sums above a noisy limit."""
    one = oracles.chances_of_first_above((1.0, 1.6, 2.0, 2.0), 4.0, 2.0, 2.0)
    other = oracles.chances_of_first_above((1.0, 1.6, 2.0, 3.0), 4.0, 2.0, 2.0)
    return oracles.finite(one, other, 0.0)


def _two_steps() -> float:
    """Return the epsilon of steps with noise 2 / n, divided by n once more, of 4 and 3 records."""
    clipped = mechanisms.X / np.maximum(1.0, np.linalg.norm(mechanisms.X, axis=1, keepdims=True))
    apart = float(np.linalg.norm(clipped.sum(axis=0) / 4 - clipped[:3].sum(axis=0) / 3))
    return oracles.spherical_gaussians(apart, (2 / 16, 2 / 9), 2, DELTA)


def _one_step() -> float:
    """Return the epsilon of a sum that moves by a clipped record, under noise of scale 10."""
    return oracles.gaussian(1 / 10, DELTA)


_LEAKS = (INFINITE, INFINITE, "none")
# Of each broken and each repaired one: all noisy values, outputs, and what may be read.
_NUMBERS: dict[str, tuple[tuple[Number, Number, Reading], tuple[Number, Number, Reading]]] = {
    # Sums of b: 0.9 or nothing.
    "group means": (_LEAKS, (exactly(0.9), exactly(0.9), "outputs")),
    "an empty group": (_LEAKS, (exactly(0.9), exactly(0.9), "outputs")),
    # The first bin loses a record and the last one gains it; the last one has no noise.
    "a forgotten bin": (_LEAKS, (exactly(2 / 2), exactly(2 / 2), "outputs")),
    "edges of the data": (_LEAKS, (exactly(1 / 2), exactly(1 / 2), "outputs")),
    "noise divided twice": (
        (exactly(2.0), exactly(2.0), "outputs"),
        (exactly(1.0), exactly(1.0), "outputs"),
    ),
    "noise of a mean": (
        (exactly(4.0), exactly(4.0), "outputs"),
        (exactly(1.0), exactly(1.0), "outputs"),
    ),
    # The mean moves by 1/4 under noise of scale 1/4. The ends 0 and 1 are met with probabilities
    # whose ratio is e, as the densities have it; 0 as the smallest record is met on one side only.
    "clamping": (_LEAKS, (exactly(1.0), exactly(1.0), "noisy values")),
    "a median": (_LEAKS, (_exponential_median, _exponential_median, "any")),
    # Two cats or one, no bird or one; noise of scale 3.
    "words": (_LEAKS, (exactly(2 / 3), exactly(2 / 3), "outputs")),
    "a question": (
        (_rounded_count, _rounded_question, "any"),
        (exactly(1.0), _comparison, "noisy values"),
    ),
    "lengths": (_LEAKS, (exactly(1.0), exactly(1.0), "outputs")),
    "a sample": (_LEAKS, (exactly(0.0), exactly(0.0), "any")),
    # The record (0.7, 0.9) leaves one class and joins another; noise of scale 8.
    "class lists": (_LEAKS, (exactly(3.2 / 8), exactly(3.2 / 8), "outputs")),
    "one model": (_LEAKS, (exactly(3.2 / 8), exactly(0.0), "noisy values")),
    "a gradient": ((INFINITE, _two_steps, "none"), (_one_step, _one_step, "outputs")),
    "synthetic tables": (_LEAKS, (exactly(1.0), _synthetic_rows, "noisy values")),
    "exceptions": (_LEAKS, (exactly(0.0), exactly(0.0), "any")),
    "warnings": (_LEAKS, (exactly(1.0), exactly(1.0), "outputs")),
    "a budget": (
        (exactly(2.0), exactly(2.0), "outputs"),
        (exactly(1.0), exactly(1.0), "outputs"),
    ),
    # Where nothing before was above the limit, the last query moves by 1 under noise of scale 0.1
    # or 4; the others do not move.
    "a threshold": (
        (exactly(10.0), _first_of_data, "noisy values"),
        (exactly(1 / 4), _first_of_queries, "noisy values"),
    ),
}
_DELTAS = {"a gradient": DELTA}


def _of_the_forty() -> dict[str, Judged]:
    """Return the functions of examples/mechanisms.py."""
    made = {}
    for name, (*both, (dataset, neighbour), given) in mechanisms.AUDITS.items():
        for kind, one, (noisy, outputs, reading) in zip(
            ("broken", "repaired"), both, _NUMBERS[name], strict=True
        ):
            made[f"{name}, {kind}"] = Judged(
                one, dataset, neighbour, noisy, outputs,
                delta=_DELTAS.get(name, 0.0), reading=reading, given=given,
            )  # fmt: skip
    return made


MECHANISMS: Mapping[str, Judged] = _of_the_forty()

# Ten loops of examples/loops.


def _teachers() -> float:
    """Return the epsilon of five labels: votes 2, 4, 4 or 1, 5, 4 with noise of scale 4."""
    noise = stats.laplace(scale=4.0)
    one, other = (oracles.chances_of_argmax(votes, noise) for votes in ((2, 4, 4), (1, 5, 4)))
    return oracles.finite(oracles.product_law([one] * 5), oracles.product_law([other] * 5), 0.0)


def _admm_mu() -> float:
    """Return the root of the summed squares of 1 - 2**-t, for six rounds."""
    return oracles.composed_mu([1 - 2.0**-t for t in range(1, 7)], 1.0)


_LOOPS: dict[str, tuple[Number, Number | None, Reading]] = {
    "mean_by_corrections": (lambda: oracles.laplace([1 / 4] * 20, 0.0), None, "outputs"),
    "gradient_descent": (
        lambda: oracles.gaussian(oracles.composed_mu([2 / 4] * 10, 2.0), DELTA),
        None,
        "outputs",
    ),
    "stochastic_gradient_descent": (
        lambda: oracles.gaussian_given_coins(1 / 4, 1.0, 8, 1e-3),
        lambda: oracles.sampled_gaussian(1 / 4, 1.0, 8, 1e-3),
        "noisy values",
    ),
    "consensus_admm": (lambda: oracles.gaussian(_admm_mu(), DELTA), None, "outputs"),
    "gossip": (
        lambda: oracles.gaussian(oracles.composed_mu([1.0] * 9, 3.0), DELTA),
        None,
        "outputs",
    ),
    "follow_the_leader": (
        lambda: oracles.gaussian(oracles.composed_mu([2.0] * 4, 4.0), DELTA),
        None,
        "outputs",
    ),
    "power_iteration": (
        lambda: oracles.gaussian(oracles.composed_mu([1.0] * 5, 2.0), DELTA),
        None,
        "outputs",
    ),
    "teachers": (lambda: oracles.laplace([1 / 4] * 10, 0.0), _teachers, "noisy values"),
    "binary_mechanism": (lambda: oracles.laplace([1 / 4] * 4, 0.0), None, "outputs"),
    "k_means": (
        lambda: oracles.gaussian(oracles.composed_mu([1.0] * 6, 5.0), DELTA),
        None,
        "outputs",
    ),
}


def _of_examples() -> dict[str, Judged]:
    """Return the loops of examples/loops."""
    made = {}
    for name, (noisy, outputs, reading) in _LOOPS.items():
        module = load_example(f"loops/{name}")
        made[name] = Judged(
            getattr(module, name), module.DATASET, module.NEIGHBOUR, noisy, outputs,
            delta=module.DELTA, reading=reading,
        )  # fmt: skip
    return made


LOOPS: Mapping[str, Judged] = _of_examples()

# Ten more. Of VALUES and MOVED the sum, and every sum of powers, is 1 apart, the mean 1/4.

FACTORS = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.2, 2.0]])
SUPPORT = np.arange(-60, 61)
WEIGHTS = np.exp(-(SUPPORT**2) / (2 * 3.0**2))
WEIGHTS /= WEIGHTS.sum()
EDGES = np.array([0.0, 0.5, 1.0])
HALF = np.array([0.5, 0.4, 0.6, 1.0])


def momentum(data, rng):
    weights, velocity, states = np.zeros(2), np.zeros(2), []
    for _ in range(6):
        gradient = weights - data.mean()
        velocity = 0.9 * velocity + gradient + rng.standard_normal(2)
        weights = weights - 0.3 * velocity
        states.append(weights.copy())
    return np.stack(states)


def running_averages(data, rng):
    total, averages = 0.0, []
    for step in range(1, 6):
        total += data.sum() + rng.laplace(0.0, 2.0)
        averages.append(total / step)
    return averages


def correlated_noise(data, rng):
    sums = np.array([data.sum(), (data**2).sum(), (data**3).sum()])
    return sums + FACTORS @ rng.normal(size=3)


def noise_in_place(data, rng):
    powers = np.array([(data**k).sum() for k in range(4)])
    powers[:2] += rng.laplace(scale=2.0, size=2)
    rest = powers[2:]
    np.add(rest, rng.laplace(scale=2.0, size=2), out=rest)
    return powers


def inverse_of_uniforms(data, rng):
    releases = []
    for _ in range(3):
        u = rng.random() - 0.5
        releases.append(data.sum() - 2.0 * np.sign(u) * np.log(1 - 2 * np.abs(u)))
    return releases


def difference_of_exponentials(data, rng):
    first = rng.exponential(2.0) - rng.exponential(2.0)
    second = rng.standard_exponential() - rng.standard_exponential()
    return {"first": data.sum() + first, "second": (data**2).sum() + 2.0 * second}


def global_sources(data):
    first = np.random.normal(loc=data.sum(), scale=3.0)  # noqa: NPY002
    second = np.random.RandomState().normal(first + data.sum(), 3.0)
    return first, second, random.gauss(float(data.sum()), 3.0)


def scipy_laws(data, rng):
    law, releases = stats.norm(scale=2.0), []
    for _ in range(2):
        releases.append(stats.norm.rvs(loc=data.sum(), scale=2.0, random_state=rng))
        releases.append(data.sum() + law.rvs(random_state=rng))
    return np.array(releases)


def difference_of_geometrics(data, rng):
    counts, _ = np.histogram(data, EDGES)
    chance = 1 - np.exp(-0.5)
    return counts + (rng.geometric(chance, size=2) - rng.geometric(chance, size=2))


def discrete_gaussian(data, rng):
    counts, _ = np.histogram(data, EDGES)
    return counts + rng.choice(SUPPORT, size=2, p=WEIGHTS)


def _moved_by(movement: float) -> float:
    return oracles.gaussian(movement, DELTA)


def _correlated() -> float:
    """Return the epsilon of a change (1/2, 1/4, 1/8) seen through a matrix of noise."""
    return _moved_by(float(np.linalg.norm(np.linalg.solve(FACTORS, [1 / 2, 1 / 4, 1 / 8]))))


def _discrete_gaussians() -> float:
    """Return the epsilon of two counts that move by 1 and -1."""
    wide = np.concatenate([[0.0], WEIGHTS, [0.0]])
    up, still, down = wide[:-2], wide[1:-1], wide[2:]
    # Zero stands for what is beyond the support, which has a probability below 1e-80.
    return oracles.finite(
        oracles.product_law([still, still]), oracles.product_law([up, down]), DELTA
    )


MORE_LOOPS: Mapping[str, Judged] = {
    "momentum": Judged(
        momentum, VALUES, MOVED, lambda: _moved_by(math.sqrt(6 * 2) * (1 / 4)), delta=DELTA
    ),
    "running averages": Judged(
        running_averages, VALUES, MOVED, lambda: oracles.laplace([1 / 2] * 5, 0.05), delta=0.05
    ),
    "correlated noise": Judged(correlated_noise, VALUES, HALF, _correlated, delta=DELTA),
    "noise in place": Judged(
        noise_in_place, VALUES, MOVED, lambda: oracles.laplace([0, 1 / 2, 1 / 2, 1 / 2], 0.0)
    ),
    "inverse of uniforms": Judged(
        inverse_of_uniforms, VALUES, MOVED, lambda: oracles.laplace([1 / 2] * 3, 0.0)
    ),
    "difference of exponentials": Judged(
        difference_of_exponentials,
        VALUES,
        MOVED,
        lambda: oracles.laplace([1 / 2] * 2, 0.01),
        delta=0.01,
    ),
    "global sources": Judged(
        global_sources, VALUES, MOVED, lambda: _moved_by(math.sqrt(3) / 3), delta=DELTA
    ),
    "scipy": Judged(scipy_laws, VALUES, MOVED, lambda: _moved_by(math.sqrt(4) / 2), delta=DELTA),
    "difference of geometrics": Judged(difference_of_geometrics, VALUES, MOVED, exactly(2 * 0.5)),
    "discrete Gaussian": Judged(discrete_gaussian, VALUES, MOVED, _discrete_gaussians, delta=DELTA),
}

LAWS: Mapping[str, Judged] = {**MECHANISMS, **LOOPS, **MORE_LOOPS}
