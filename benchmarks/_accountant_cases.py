"""What the accountants are compared on, and the truth about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpaudit.accounting.composition import approximate_parts, gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Sequence,
)
from dpaudit.accounting.grid.numerical import CELLS, numerical_epsilon
from dpaudit.accounting.optimal import optimal_heterogeneous
from dpaudit.accounting.series.contour import contour_epsilon
from dpaudit.errors import ConvergenceError

DELTA = 1e-5


@dataclass(frozen=True)
class Case:
    """Something released, the accountant that answers exactly, and what it is a case of."""

    group: str
    name: str
    event: Event
    exact: Callable[[], float] | None = None


def cases() -> list[Case]:
    gaussians = [
        Case("Gaussian", f"sigma {s:g}, T {t}", e, lambda e=e: gaussian_guarantee(e).epsilon(DELTA))
        for s in (10.0, 20.0, 40.0, 80.0, 160.0)
        for t in (1, 10, 100, 1000, 10_000)
        for e in [GaussianRelease(sensitivity=1.0, noise_scale=s, count=t)]
    ]
    steps = tuple(GaussianRelease(sensitivity=1.0, noise_scale=20.0 + 0.2 * k) for k in range(500))
    mixed = Sequence(steps)
    responses = [
        Case("randomised response", f"eps {e:g}, T {t}", part, lambda p=part: best(p))
        for e, t in ((0.1, 100), (0.1, 1000), (1.0, 100), (1 / math.pi, 100))
        for part in [ApproximateRelease(epsilon=e, count=t)]
    ]
    laplaces = [
        Case("Laplace", f"b {b:g}, T {t}", LaplaceRelease(sensitivity=1.0, noise_scale=b, count=t))
        for b, t in ((1.0, 10), (10.0, 100), (10.0, 1000), (100.0, 10_000))
    ]
    sampled = [
        Case("subsampled Gaussian", f"q {q:g}, sigma {s:g}, T {t}", sampled_release(q, s, t))
        for q, s, t in ((0.01, 1.0, 100), (0.01, 1.0, 1000), (0.1, 2.0, 100), (0.001, 0.6, 10_000))
    ]
    several = Case("500 Gaussians", "sigma 20 to 120", mixed, lambda: exact_gaussian(mixed))
    return [*gaussians, several, *responses, *laplaces, *sampled]


def sampled_release(ratio: float, noise: float, count: int) -> Event:
    return PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)


def exact_gaussian(event: Event) -> float:
    return gaussian_guarantee(event).epsilon(DELTA)


def best(event: Event) -> float:
    return optimal_heterogeneous(approximate_parts(event)).epsilon(DELTA)


def by_name(name: str) -> Case:
    return next(case for case in cases() if f"{case.group}: {case.name}" == name)


def truth(case: Case) -> tuple[float, float]:
    """Return epsilon and how far off it may be: exact, the contour's, or a narrow bracket's."""
    if case.exact:
        answer = case.exact()
        return answer, 1e-12 * answer
    bracket = numerical_epsilon(case.event, DELTA, cells=16 * CELLS)
    try:
        estimate = contour_epsilon(case.event, DELTA)
    except ConvergenceError:
        return (bracket.lower + bracket.upper) / 2, bracket.width / 2
    if not bracket.lower - 1e-9 <= estimate <= bracket.upper + 1e-9:
        raise SystemExit(f"{case.name}: the contour gives {estimate}, the bracket {bracket}")
    return estimate, 1e-9 * estimate
