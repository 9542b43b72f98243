"""What zhang2018 states about steps of M-ADMM: (19), Theorem 3.2, and settled penalties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.iterations import (
    first_step,
    iteration_map,
    rate,
    spectral_radius,
)
from dpaudit.algorithms.consensus.claims.search import Family
from dpaudit.algorithms.consensus.claims.steps import Sides, Statement
from dpaudit.refutation.search import Batch

_CLEAR = 1e-6  # of the size: a smaller squared distance has lost too many digits to be divided by
_FAR = 0.05  # from 1: modes that turn, which slow modes would hide


def inequality_19(family: Family, factor: float) -> Statement:
    """Return (19) over the size of the start; with a factor, ``factor - 1`` is allowed for 0.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.steps import attained
    >>> statement = inequality_19(Family(nodes=2, shared=False), 1.0)
    >>> attained(statement, 1_000, np.random.default_rng(0), seed=0).ratio > 2
    True
    """

    def sides(batch: Batch) -> Sides:
        step = first_step(batch, family.dual_step)
        product = _relative(step.product, step.size)
        return product, np.full_like(product, factor - 1), np.ones_like(product)

    return Statement(
        name="zhang2018-theorem31",
        source="Zhang, Khalili & Liu (ICML 2018), Theorem 3.1, inequality (19)",
        family=family,
        sides=sides,
        arrays=("adjacency", "penalty", "curvature", "slope", "start"),
        parameters=_common(family) | {"part": "inequality", "factor": factor},
        quantities=lambda batch: {"size": float(first_step(batch, family.dual_step).size[0])},
        because=(
            "The proof takes (W - theta I)(D - A) for positive semi-definite, in (38) to (39); for "
            "penalties that differ its symmetric part is not."
        ),
    )


def bounded_modes(family: Family, factor: float) -> Statement:
    """Return that no mode of M-ADMM with settled penalties leaves the unit circle.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.steps import attained
    >>> statement = bounded_modes(Family(nodes=2, shared=False), 1.0)
    >>> 0.99 < attained(statement, 1_000, np.random.default_rng(0), seed=0).ratio < 1
    True
    """

    def turning(batch: Batch) -> Array:
        values = np.linalg.eigvals(iteration_map(batch, family.dual_step))
        return np.asarray(np.where(np.abs(values - 1) > _FAR, np.abs(values), 0.0).max(axis=1))

    def sides(batch: Batch) -> Sides:
        radius = spectral_radius(batch, family.dual_step)
        return radius, np.full_like(radius, factor), None

    return Statement(
        name="zhang2018-theorem31",
        source="Zhang, Khalili & Liu (ICML 2018), Theorem 3.1, for bounded penalties",
        family=family,
        sides=sides,
        arrays=("adjacency", "penalty", "curvature"),
        parameters=_common(family) | {"part": "bounded", "factor": factor},
        quantities=lambda batch: {},
        because="A mode of the iteration grows.",
        hints=(turning,),
    )


def contraction(family: Family, factor: float, *, proved: bool) -> Statement:
    """Return Theorem 3.2 with the rate of (23), or with the one that is proved.

    For a shared penalty the value is the left side over the right one, and the bound is 1. Where
    nodes have penalties of their own the squared "norms" can be negative; both sides are then
    divided by `dpaudit.algorithms.consensus.claims.iterations.Step.size`.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.steps import attained
    >>> family = Family(nodes=2)
    >>> for proved in (False, True):
    ...     statement = contraction(family, 1.0, proved=proved)
    ...     print(attained(statement, 1_000, np.random.default_rng(0), seed=0).ratio > 1)
    True
    False
    """

    def sides(batch: Batch) -> Sides:
        step = first_step(batch, family.dual_step)
        grown = (1 + rate(batch, family.dual_step, proved=proved)) * step.after
        if not family.shared:
            before = _relative(step.before, step.size)
            return _relative(grown, step.size), factor * before, np.ones_like(before)
        clear = step.before > _CLEAR * step.size
        ratio = _relative(grown, np.where(clear, step.before, 0.0))
        return ratio, np.full_like(ratio, factor), None

    def quantities(batch: Batch) -> Mapping[str, float]:
        step = first_step(batch, family.dual_step)
        delta = float(rate(batch, family.dual_step, proved=proved)[0])
        named = {"before": step.before, "after": step.after, "size": step.size}
        return {name: float(values[0]) for name, values in named.items()} | {"rate": delta}

    return Statement(
        name="zhang2018-theorem32",
        source="Zhang, Khalili & Liu (ICML 2018), Theorem 3.2 with delta(t) of eq. (23)",
        family=family,
        sides=sides,
        arrays=("adjacency", "penalty", "curvature", "slope", "start", "mu"),
        parameters=_common(family) | {"rate": "proved" if proved else "printed", "factor": factor},
        quantities=quantities,
        because=_BECAUSE_SHARED if family.shared else _BECAUSE_OWN,
    )


_BECAUSE_SHARED = (
    "Eq. (23) does not meet (22): consensus is in the null space of (W - theta I)(D - A), so its "
    "smallest nonzero singular value cannot be added to 2 m_o. With 2 m_o alone the rate is proved."
)
_BECAUSE_OWN = (
    "For penalties that differ W(t)(D + A) and (W(t) - theta I)(D - A) have symmetric parts that "
    "are not positive semi-definite: neither (55), (56) nor the squared norm itself holds up."
)


def _relative(numbers: Array, sizes: Array) -> Array:
    """Return numbers over sizes, 0 where the size is 0."""
    return np.asarray(np.divide(numbers, sizes, out=np.zeros_like(numbers), where=sizes > 0))


def _common(family: Family) -> dict[str, Any]:
    penalties = "shared" if family.shared else "own"
    return {"dual_step": family.dual_step, "penalties": penalties}
