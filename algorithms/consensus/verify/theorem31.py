"""Re-checks a violation of zhang2018's Theorem 3.1 from the certificate alone.

Three parts. ``growing``: M-ADMM is run for T iterations with ``eta_i(t) = first_i growth_i^(t-1)``
on ``O_i(f) = l(u_i f) + ridge f^2 / 2``, and all movement after T is bounded: with
``r = max |f_i(T)| + 1``, ``A = max |u_i| + ridge r + max |2 lambda_i(T)|``,
``B = 2 theta max V_i r``, ``h = min eta_i(T) V_i`` and q the smallest growth, the mean weighted by
degrees moves by at most ``tail = (A/(q-1) + B q/(q-1)^2) / (2h)`` from there on, if that is at most
1. (The k-th movement is at most ``(A + B k) q^-k / (2h)``: an argmin of a convex function plus
``eta V (f - a)^2`` is within ``|O'(a) + 2 lambda| / (2 eta V)`` of a; averages a neither lengthen
models nor move that mean.) ``bounded``: the spectral radius of the linear iteration on quadratics.
``inequality``: the left side of (19) in the first step on quadratics, over the size of the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpaudit.algorithms.consensus.verify.networks import (
    Assumptions,
    build_signed_laplacian,
    first_step,
    node_count,
    read_connected_network,
    read_node_numbers,
    read_quadratic_network,
)
from dpaudit.errors import VerbatimText
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import (
    Matrix,
    Number,
    Real,
    diagonal,
    dot,
    identity,
    largest,
    root,
    sigmoid,
    smallest,
    total,
    vector,
)

_MOST_ITERATIONS = 5000


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> document = Document(
    ...     path="c.json", claim="zhang2018-theorem31", kind="property", quantities={},
    ...     assumptions={},
    ...     parameters={
    ...         "part": "growing", "nodes": 2, "iterations": 60, "dual_step": 1.0, "ridge": 1.0,
    ...         "loss": "linear", "tolerance": 0.01, "factor": 1.0,
    ...     },
    ...     instance={
    ...         "adjacency": [[0, 1], [1, 0]], "records": [1.0, 1.0], "first": [1.0, 1.0],
    ...         "growth": [2.0, 2.0],
    ...     },
    ... )
    >>> round(float(recompute(document).quantities["distance"]), 6)
    0.419422
    """
    document.require_kind("property")
    parts: dict[str, Callable[[Document], Outcome]] = {
        "growing": _verify_growing_part,
        "bounded": _verify_bounded_part,
        "inequality": _verify_inequality_part,
    }
    return parts[document.choice("part", *parts)](document)


# --- penalties that grow ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Growing:
    """M-ADMM with penalties that grow, as the certificate states it."""

    theta: Real
    ridge: Real
    iterations: int
    slope: Callable[[Real], Number]
    adjacency: Matrix
    count: list[Real]
    records: list[Real]
    first: list[Real]
    growth: list[Real]

    @property
    def nodes(self) -> int:
        return len(self.records)

    def gradient(self, i: int, f: Real) -> Real:
        """Return the derivative of node i's objective."""
        return self.records[i] * self.slope(self.records[i] * f) + self.ridge * f

    def end(self) -> _End:
        """Return where T iterations lead from zero."""
        nodes = range(self.nodes)
        models, duals, penalty = [Real(0)] * self.nodes, [Real(0)] * self.nodes, self.first
        lap, signless = (
            build_signed_laplacian(self.adjacency, -1),
            build_signed_laplacian(self.adjacency, 1),
        )
        for t in range(self.iterations):
            penalty = [self.first[i] * self.growth[i] ** t for i in nodes]
            around = (signless * vector(models)).entries()
            levels = [penalty[i] * around[i] - duals[i] for i in nodes]
            models = [self._update(i, penalty[i], levels[i], models[i]) for i in nodes]
            gap = (lap * vector(models)).entries()
            duals = [duals[i] + self.theta * gap[i] for i in nodes]
        return _End(models, duals, penalty)

    def _update(self, i: int, penalty: Real, level: Real, guess: Real) -> Real:
        """Return the f with ``gradient(f) + 2 eta V f = level``."""
        curvature = 2 * penalty * self.count[i]
        # The function rises at least as fast as ridge + curvature says, which encloses the root.
        return root(
            lambda f: self.gradient(i, f) + curvature * f - level, self.ridge + curvature, guess
        )

    def best(self) -> Real:
        """Return the optimum of all nodes together."""
        nodes = range(self.nodes)
        return root(lambda f: total(self.gradient(i, f) for i in nodes), self.nodes * self.ridge, 0)

    def mean(self, models: list[Real]) -> Real:
        """Return the mean weighted by degrees."""
        return dot(self.count, models) / total(self.count)

    def tail(self, end: _End) -> Real:
        """Return the bound on all later movement; both losses have slopes of at most 1."""
        # Slopes of the loss are at most 1, so A needs no other bound on the gradient than records
        # and the ridge.
        q, reach = min(self.growth), largest(map(abs, end.models)) + 1
        a = largest(map(abs, self.records)) + self.ridge * reach + largest(map(abs, end.duals))
        b = 2 * self.theta * largest(self.count) * reach
        least = smallest(eta * v for eta, v in zip(end.penalty, self.count, strict=True))
        return (a / (q - 1) + b * q / (q - 1) ** 2) / (2 * least)


@dataclass(frozen=True)
class _End:
    """Models, twice the duals, and penalties after the last iteration."""

    models: list[Real]
    duals: list[Real]
    penalty: list[Real]


def _verify_growing_part(document: Document) -> Outcome:
    stated, connected = _read_growing_run(document)
    allowed = document.positive("tolerance") * document.positive("factor")
    if total(stated.records) == 0:  # both losses have slopes at 0 that are alike
        raise document.refused(
            "instance.records", VerbatimText("an optimum at the start"), "a distance above 0"
        )
    end, best = stated.end(), stated.best()
    mean, tail = stated.mean(end.models), stated.tail(end)
    # Where the tail is not certainly at most 1 the induction does not close, and nothing is shown.
    distance = largest((abs(mean - best) - tail, 0)) / abs(best) if tail <= 1 else Real(0)
    growing: Assumptions = {
        "penalties at least theta": (stated.theta, min(stated.first)),
        "penalties do not fall": (1, min(stated.growth)),
    }
    found = {"mean": mean, "best": best, "tail": tail, "distance": distance}
    return Outcome(
        assumptions=connected | growing,
        quantities=found | {"bound": allowed, "ratio": distance / allowed},
        summary=(
            f"at least {float(distance):.6g} of the distance to the optimum is left in the limit; "
            f"convergence leaves nothing, and {float(allowed):.6g} is what was to be exceeded"
        ),
    )


def _read_growing_run(document: Document) -> tuple[_Growing, Assumptions]:
    """Return the run that the certificate states, and whether its network is connected."""
    nodes, iterations = node_count(document), document.count("iterations")
    if iterations > _MOST_ITERATIONS:
        expected = f"at most {_MOST_ITERATIONS}"
        raise document.refused("parameters.iterations", iterations, expected)
    adjacency, count, connected = read_connected_network(document, nodes)
    stated = _Growing(
        theta=document.positive("dual_step"),
        ridge=document.positive("ridge"),
        iterations=iterations,
        slope=_get_growing_slope(document.choice("loss", "linear", "logistic")),
        adjacency=adjacency,
        count=count,
        records=read_node_numbers(document, "records", nodes),
        first=read_node_numbers(document, "first", nodes, above=0),
        growth=read_node_numbers(document, "growth", nodes, above=1),
    )
    return stated, connected


def _get_growing_slope(loss: str) -> Callable[[Real], Number]:
    return (lambda m: -1) if loss == "linear" else (lambda m: -sigmoid(-m))


# --- penalties that have settled ---------------------------------------------------------------


def _verify_bounded_part(document: Document) -> Outcome:
    nodes, theta, adjacency, assumptions = read_quadratic_network(document)
    factor = document.positive("factor")
    penalty, curvature = (
        read_node_numbers(document, name, nodes) for name in ("penalty", "curvature")
    )
    radius = _build_iteration_map(adjacency, theta, penalty, curvature).spectral_radius()
    return Outcome(
        assumptions=assumptions,
        quantities={"value": radius, "bound": factor, "ratio": radius / factor},
        summary=f"a mode of modulus {float(radius):.6g}, where {float(factor):.6g} is claimed",
    )


def _build_iteration_map(
    adjacency: Matrix, theta: Real, penalty: list[Real], curvature: list[Real]
) -> Matrix:
    """Return the linear map from models and duals to the next ones."""
    nodes = adjacency.rows
    lap, signless = build_signed_laplacian(adjacency, -1), build_signed_laplacian(adjacency, 1)
    inverse = diagonal([1 / (curvature[i] + 2 * penalty[i] * lap[i, i]) for i in range(nodes)])
    # Duals sum to 0 along every run; the projection takes away a mode at 1 that no run has.
    balance = identity(nodes) - Matrix([[Real(1) / nodes] * nodes] * nodes)
    models, duals = inverse * diagonal(penalty) * signless, -inverse * balance
    moved = theta * lap
    upper = [models.row(i) + duals.row(i) for i in range(nodes)]
    after = moved * models, balance + moved * duals
    return Matrix(upper + [after[0].row(i) + after[1].row(i) for i in range(nodes)])


# --- inequality (19) ---------------------------------------------------------------------------


def _verify_inequality_part(document: Document) -> Outcome:
    nodes, theta, adjacency, assumptions = read_quadratic_network(document)
    factor = document.positive("factor")
    rows = (
        read_node_numbers(document, n, nodes) for n in ("penalty", "curvature", "slope", "start")
    )
    step = first_step(adjacency, theta, *rows)
    if not step.size > 0:
        raise document.refused(
            "instance", VerbatimText("a start at the optimum"), "a distance above 0"
        )
    # The left side of (19) may be 0 or less, so it is compared after division by a number above 0.
    value, bound = step.product / step.size, factor - 1
    return Outcome(
        assumptions=assumptions,
        quantities={
            "value": value,
            "bound": bound,
            "size": step.size,
            "ratio": 1 + value - bound,
        },
        summary=(
            f"the left side of (19) is {float(value):.6g} times the size of the start, where at "
            f"most {float(bound):.6g} is claimed"
        ),
    )
