"""Statements of zhang2018 about steps of M-ADMM: (19), Theorem 3.2, and settled penalties.

Each statement is an inequality on one network, and a climb over batches of them; the mathematics is
`dpaudit.algorithms.consensus.quadratics`, and instances are batches of one network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.networks import (
    Family,
    Ratios,
    Searchable,
    build_network_space,
    count_graph_components,
    edges_of,
    format_row_numbers,
    make_conditions,
    make_small_network_strategy,
    network_case,
)
from dpaudit.algorithms.consensus.quadratics import (
    compute_contraction_rate,
    first_step,
    iteration_map,
    spectral_radius,
)
from dpaudit.extension.case import SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Condition, Evidence, Inequality, maximise
from dpaudit.refutation.search import Batch

# The left and the right side on a batch, shape (R,) each.
Sides = Callable[[Batch], tuple[Array, Array]]

ASSUMPTIONS = ("penalties at least theta", "connected graph", "strongly convex")
QUADRATICS = "O_i(f) = m_i f^2 / 2 - b_i f, one number a node; drawn and improved by the search"
SIZE = "the size of the start is ||Y(0) - Y*||^2 / theta + sum_i 2 eta_i V_i (f_i(0) - f*)^2"
SHARED_PROOF = (
    "the paper's proof, which is sound for one penalty of all nodes with 2 m_o in place of "
    "2 m_o + 2 sigma_min in eq. (23)"
)

SETTLED_PROOF = (
    "no mode can pass the unit circle: a mean of numbers off the real line, or above 2, would have "
    "to be a value of the normalised Laplacian (dpaudit.algorithms.consensus.quadratics)"
)

_CLEAR = 1e-6  # of the size: a smaller squared distance has lost too many digits to be divided by
_FAR = 0.05  # from 1: modes that turn, which slow modes would hide
_SHRINKING = 60  # instances generated for the smallest one


def inequality_19(claim: Statement, family: Family, factor: float) -> Searchable[Batch]:
    """Return (19) over the size of the start; with a factor, ``factor - 1`` is allowed for 0.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.theorem31 import CLAIM
    >>> inequality, climb = inequality_19(CLAIM, Family(nodes=2, shared=False), 1.0)
    >>> inequality.ratio(climb(1_000, np.random.default_rng(0))) > 2
    True
    """

    def sides(batch: Batch) -> tuple[Array, Array]:
        step = first_step(batch, family.dual_step)
        product = divide_by_sizes(step.product, step.size)
        return product, np.full_like(product, factor - 1)

    return searchable_on(
        claim,
        family,
        sides,
        ("adjacency", "penalty", "curvature", "slope", "start"),
        parameters={"part": "inequality", "factor": factor},
        quantities=lambda batch: {"size": float(first_step(batch, family.dual_step).size[0])},
        because=(
            "The proof takes (W - theta I)(D - A) for positive semi-definite, in (38) to (39); for "
            "penalties that differ its symmetric part is not."
        ),
        difference=True,
    )


def make_bounded_modes_search(claim: Statement, family: Family, factor: float) -> Searchable[Batch]:
    """Return that no mode of M-ADMM with settled penalties leaves the unit circle.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.theorem31 import CLAIM
    >>> inequality, climb = make_bounded_modes_search(CLAIM, Family(nodes=2, shared=False), 1.0)
    >>> 0.99 < inequality.ratio(climb(1_000, np.random.default_rng(0))) < 1
    True
    """

    def turning(batch: Batch) -> Array:
        values = np.linalg.eigvals(iteration_map(batch, family.dual_step))
        return np.asarray(np.where(np.abs(values - 1) > _FAR, np.abs(values), 0.0).max(axis=1))

    def sides(batch: Batch) -> tuple[Array, Array]:
        radius = spectral_radius(batch, family.dual_step)
        return radius, np.full_like(radius, factor)

    return searchable_on(
        claim,
        family,
        sides,
        ("adjacency", "penalty", "curvature"),
        parameters={"part": "bounded", "factor": factor},
        quantities=lambda batch: {},
        because="A mode of the iteration grows.",
        hint=turning,
    )


def contraction(
    claim: Statement, family: Family, factor: float, *, proved: bool
) -> Searchable[Batch]:
    """Return Theorem 3.2 with the rate of (23), or with the one that is proved.

    For a shared penalty the value is the left side over the right one, and the bound is 1. Where
    nodes have penalties of their own the squared "norms" can be negative; both sides are then
    divided by `dpaudit.algorithms.consensus.quadratics.StepDistances.size`.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.theorem32 import CLAIM
    >>> for proved in (False, True):
    ...     inequality, climb = contraction(CLAIM, Family(nodes=2), 1.0, proved=proved)
    ...     print(inequality.ratio(climb(1_000, np.random.default_rng(0))) > 1)
    True
    False
    """

    def sides(batch: Batch) -> tuple[Array, Array]:
        step = first_step(batch, family.dual_step)
        grown = (1 + compute_contraction_rate(batch, family.dual_step, proved=proved)) * step.after
        if not family.shared:
            return divide_by_sizes(grown, step.size), factor * divide_by_sizes(
                step.before, step.size
            )
        clear = step.before > _CLEAR * step.size
        ratio = divide_by_sizes(grown, np.where(clear, step.before, 0.0))
        return ratio, np.full_like(ratio, factor)

    def quantities(batch: Batch) -> Mapping[str, float]:
        step = first_step(batch, family.dual_step)
        delta = float(compute_contraction_rate(batch, family.dual_step, proved=proved)[0])
        named = {"before": step.before, "after": step.after, "size": step.size}
        return {name: float(values[0]) for name, values in named.items()} | {"rate": delta}

    return searchable_on(
        claim,
        family,
        sides,
        ("adjacency", "penalty", "curvature", "slope", "start", "mu"),
        parameters={"rate": "proved" if proved else "printed", "factor": factor},
        quantities=quantities,
        because=_BECAUSE_SHARED if family.shared else _BECAUSE_OWN,
        difference=not family.shared,
    )


_BECAUSE_SHARED = (
    "Eq. (23) does not meet (22): consensus is in the null space of (W - theta I)(D - A), so its "
    "smallest nonzero singular value cannot be added to 2 m_o. With 2 m_o alone the rate is proved."
)
_BECAUSE_OWN = (
    "For penalties that differ W(t)(D + A) and (W(t) - theta I)(D - A) have symmetric parts that "
    "are not positive semi-definite: neither (55), (56) nor the squared norm itself holds up."
)


def step_case(
    searchable: Searchable[Batch],
    family: Family,
    seed: int,
    assumptions: tuple[str, ...] = ASSUMPTIONS,
    **particular: Any,
) -> SearchCase:
    """Return the audit of one of the statements."""
    return network_case(
        searchable,
        make_small_network_strategy(family),
        _SHRINKING,
        seed,
        assumptions,
        data=QUADRATICS,
        **particular,
    )


def searchable_on(
    claim: Statement,
    family: Family,
    sides: Sides,
    arrays: tuple[str, ...],
    *,
    parameters: Mapping[str, Any],
    quantities: Callable[[Batch], Mapping[str, float]],
    because: str,
    difference: bool = False,
    hint: Ratios | None = None,
    further: Callable[[Batch], Batch] = dict,
) -> Searchable[Batch]:
    """Return a statement on one network, from its sides on batches, and the climb.

    Parameters
    ----------
    arrays
        Which arrays of an instance matter.
    parameters, quantities
        What the verifier has to know, and further numbers of an instance.
    because
        Why it fails; with a factor below 1 it need not.
    difference
        Whether the excess counts as it is, as the right side may be 0 or less, or relative to it.
    hint
        Another ratio to climb, with half of the budget.
    further
        Returns a batch with arrays of the statement's own.
    """

    def ratios(batch: Batch) -> Array:
        # Where the right side may be 0 or less, a quotient says nothing: 1 plus the difference
        # exceeds 1 in exactly the same cases.
        value, bound = sides(batch)
        return 1 + (value - bound) if difference else value / bound

    def of_one(batch: Batch) -> tuple[float, float]:
        value, bound = sides(batch)
        return float(value[0]), float(bound[0])

    public = {
        "dual_step": family.dual_step,
        "penalties": "shared" if family.shared else "own",
        **parameters,
        "nodes": family.nodes,
    }

    def evidence(batch: Batch) -> Evidence:
        value, bound = of_one(batch)
        return Evidence(
            parameters=public,
            instance={name: further(batch)[name][0] for name in arrays},
            quantities={"value": value, "bound": bound, **quantities(batch)},
        )

    inequality = Inequality(
        name=claim.name,
        source=claim.source,
        sides=of_one,
        conditions=partial(_compute_step_conditions, family, arrays),
        scale=(lambda batch: 1.0) if difference else None,
        words=lambda batch: _format_network_instance(family, arrays, further(batch)),
        because=lambda batch: because if parameters["factor"] >= 1 else None,
        evidence=evidence,
    )
    return inequality, partial(_find_climbed_batch, family, ratios, hint)


def _find_climbed_batch(
    family: Family, ratios: Ratios, hint: Ratios | None, budget: int, rng: Generator
) -> Batch:
    # The hint may lead to instances that the ratio alone never reaches; the claim's own ratio
    # decides between the two.
    """Return the best batch of one instance, over searches that climb the ratio or the hint."""
    shares = {ratios: budget} if hint is None else {ratios: budget - budget // 2, hint: budget // 2}
    found = [
        maximise(build_network_space(family, climb), share, rng) for climb, share in shares.items()
    ]
    batches = [{name: values[None] for name, values in one.instance.items()} for one in found]
    return max(batches, key=lambda batch: float(ratios(batch)[0]))


def _compute_step_conditions(
    family: Family, arrays: tuple[str, ...], batch: Batch
) -> tuple[Condition, ...]:
    penalty, theta = batch["penalty"][0], family.dual_step
    pairs = {
        "penalties at least theta": (theta, penalty.min()),
        "connected graph": (count_graph_components(batch["adjacency"][0]), 1),
        "strongly convex": (0.0, batch["curvature"].min()),
    }
    if "mu" in arrays:
        pairs["mu above 1"] = (1.0, batch["mu"][0])
    # One penalty for all is an assumption here, so its spread has to be 0.
    if family.shared:
        pairs["one penalty"] = (np.ptp(penalty), 0.0)
    return make_conditions(pairs)


def _format_network_instance(family: Family, arrays: tuple[str, ...], batch: Batch) -> str:
    named = {"penalty": "penalties", "curvature": "curvatures", "slope": "slopes"}
    numbers = [
        f"{named.get(n, n)} {format_row_numbers(batch[n][0])}" for n in arrays if n != "adjacency"
    ]
    edges = edges_of(batch["adjacency"][0])
    return f"edges {edges}; theta {family.dual_step:.4g}; {'; '.join(numbers)}"


def divide_by_sizes(numbers: Array, sizes: Array) -> Array:
    """Return numbers over sizes, 0 where the size is 0."""
    return np.asarray(np.divide(numbers, sizes, out=np.zeros_like(numbers), where=sizes > 0))
