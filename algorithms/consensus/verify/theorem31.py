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
from functools import partial
from typing import Any

from mpmath import diag, eig, exp, eye, matrix, mp, mpf

from dpaudit.algorithms.consensus.verify.networks import (
    first_step,
    laplacian,
    network,
    node_count,
    quadratics,
    row,
)
from dpaudit.verification import Document, Outcome

_MOST_ITERATIONS = 5000
_MOST_STEPS = 200  # of Newton's method


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
        "growing": _growing,
        "bounded": _bounded,
        "inequality": _inequality,
    }
    return parts[document.choice("part", *parts)](document)


# --- penalties that grow ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Growing:
    """M-ADMM with penalties that grow, as the certificate states it."""

    theta: Any
    ridge: Any
    iterations: int
    slope: Callable[[Any], Any]
    adjacency: Any
    count: Any
    records: Any
    first: Any
    growth: Any

    @property
    def nodes(self) -> int:
        return len(self.records)

    def gradient(self, i: int, f: Any) -> Any:
        """Return the derivative of node i's objective."""
        return self.records[i] * self.slope(self.records[i] * f) + self.ridge * f

    def end(self) -> _End:
        """Return where T iterations lead from zero."""
        nodes = range(self.nodes)
        models, duals, penalty = [mpf(0)] * self.nodes, [mpf(0)] * self.nodes, list(self.first)
        lap, signless = laplacian(self.adjacency, -1), laplacian(self.adjacency, 1)
        for t in range(self.iterations):
            penalty = [self.first[i] * self.growth[i] ** t for i in nodes]
            around = signless * matrix(models)
            levels = [penalty[i] * around[i] - duals[i] for i in nodes]
            models = [self._update(i, penalty[i], levels[i], models[i]) for i in nodes]
            gap = lap * matrix(models)
            duals = [duals[i] + self.theta * gap[i] for i in nodes]
        return _End(models, duals, penalty)

    def _update(self, i: int, penalty: Any, level: Any, guess: Any) -> Any:
        curvature = 2 * penalty * self.count[i]
        return _root(partial(self.gradient, i), curvature, level, self.ridge, guess)

    def best(self) -> Any:
        """Return the optimum of all nodes together."""
        reach = sum(map(abs, self.records), mpf(0)) / (self.nodes * self.ridge)
        return _optimum(self.gradient, self.nodes, reach)

    def mean(self, models: list[Any]) -> Any:
        """Return the mean weighted by degrees."""
        pairs = zip(self.count, models, strict=True)
        return sum((v * f for v, f in pairs), mpf(0)) / sum(self.count, mpf(0))

    def tail(self, end: _End) -> Any:
        """Return the bound on all later movement; both losses have slopes of at most 1."""
        q, reach = min(self.growth), max(map(abs, end.models)) + 1
        a = max(map(abs, self.records)) + self.ridge * reach + max(map(abs, end.duals))
        b = 2 * self.theta * max(self.count) * reach
        least = min(eta * v for eta, v in zip(end.penalty, self.count, strict=True))
        return (a / (q - 1) + b * q / (q - 1) ** 2) / (2 * least)


@dataclass(frozen=True)
class _End:
    """Models, twice the duals, and penalties after the last iteration."""

    models: list[Any]
    duals: list[Any]
    penalty: list[Any]


def _growing(document: Document) -> Outcome:
    stated, connected = _stated(document)
    allowed = document.positive("tolerance") * document.positive("factor")
    end, best = stated.end(), stated.best()
    if not best:
        raise document.refused("instance.records", "an optimum at the start", "a distance above 0")
    mean, tail = stated.mean(end.models), stated.tail(end)
    distance = max(abs(mean - best) - tail, mpf(0)) / abs(best) if tail <= 1 else mpf(0)
    growing = {
        "penalties at least theta": (stated.theta, min(stated.first)),
        "penalties do not fall": (mpf(1), min(stated.growth)),
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


def _stated(document: Document) -> tuple[_Growing, dict[str, tuple[Any, Any]]]:
    """Return what the certificate states, and whether its network is connected."""
    nodes, iterations = node_count(document), document.count("iterations")
    if iterations > _MOST_ITERATIONS:
        expected = f"at most {_MOST_ITERATIONS}"
        raise document.refused("parameters.iterations", iterations, expected)
    adjacency, count, connected = network(document, nodes)
    stated = _Growing(
        theta=document.positive("dual_step"),
        ridge=document.positive("ridge"),
        iterations=iterations,
        slope=_slope(document.choice("loss", "linear", "logistic")),
        adjacency=adjacency,
        count=count,
        records=row(document, "records", nodes),
        first=row(document, "first", nodes, above=0),
        growth=row(document, "growth", nodes, above=1),
    )
    return stated, connected


def _slope(loss: str) -> Callable[[Any], Any]:
    return (lambda m: mpf(-1)) if loss == "linear" else (lambda m: -1 / (1 + exp(m)))


def _root(
    gradient: Callable[[Any], Any], curvature: Any, level: Any, ridge: Any, guess: Any
) -> Any:
    """Return x with ``gradient(x) + curvature x = level``, for a gradient that rises by ``ridge``.

    Secant steps inside a bracket, which is halved where a step leaves it. Whatever stops the
    search, the root is within the last ``|miss| / (ridge + curvature)`` of x.
    """
    tiny = mpf(10) ** (5 - mp.dps)
    x, low, high, slope = guess, None, None, ridge + curvature
    miss = level - gradient(x) - curvature * x
    for _ in range(_MOST_STEPS):
        if abs(miss) <= tiny * (abs(level) + curvature * abs(x)):
            break
        low, high = (x, high) if miss > 0 else (low, x)
        y = x + miss / slope
        if low is not None and high is not None and not low < y < high:
            y = (low + high) / 2
        moved = level - gradient(y) - curvature * y
        if y != x:
            slope = max(ridge + curvature, (miss - moved) / (y - x))
        x, miss = y, moved
    return x


def _optimum(gradient: Callable[[int, Any], Any], nodes: int, reach: Any) -> Any:
    """Return the root of the sum of gradients within ``[-reach, reach]``, by bisection."""
    low, high = -reach, reach
    for _ in range(4 * mp.dps):
        middle = (low + high) / 2
        if sum((gradient(i, middle) for i in range(nodes)), mpf(0)) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


# --- penalties that have settled ---------------------------------------------------------------


def _bounded(document: Document) -> Outcome:
    nodes, theta, adjacency, assumptions = quadratics(document)
    factor = document.positive("factor")
    penalty, curvature = (row(document, name, nodes) for name in ("penalty", "curvature"))
    lap, signless = laplacian(adjacency, -1), laplacian(adjacency, 1)
    inverse = diag([1 / (curvature[i] + 2 * penalty[i] * lap[i, i]) for i in range(nodes)])
    balance = eye(nodes) - matrix([[mpf(1) / nodes] * nodes for _ in range(nodes)])
    models, duals = inverse * diag(list(penalty)) * signless, -inverse * balance
    whole = matrix(2 * nodes)
    whole[:nodes, :nodes], whole[:nodes, nodes:] = models, duals
    whole[nodes:, :nodes] = theta * lap * models
    whole[nodes:, nodes:] = balance + theta * lap * duals
    radius = max(abs(value) for value in eig(whole, left=False, right=False))
    return Outcome(
        assumptions=assumptions,
        quantities={"value": radius, "bound": factor, "ratio": radius / factor},
        summary=f"a mode of modulus {float(radius):.6g}, where {float(factor):.6g} is claimed",
    )


# --- inequality (19) ---------------------------------------------------------------------------


def _inequality(document: Document) -> Outcome:
    nodes, theta, adjacency, assumptions = quadratics(document)
    factor = document.positive("factor")
    rows = (row(document, n, nodes) for n in ("penalty", "curvature", "slope", "start"))
    step = first_step(adjacency, theta, *rows)
    if step.size <= 0:
        raise document.refused("instance", "a start at the optimum", "a distance above 0")
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
