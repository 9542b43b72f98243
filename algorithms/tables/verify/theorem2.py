"""Re-checks the refutation of Theorem 2 on joined tables, from the certificate alone.

**support**: the server's view of one client. On T' every ``h = T' theta`` lies in col(T'). On T the
model theta has a Gaussian density, so if one ``T theta_0`` is outside col(T'), ``T theta`` is so
with probability 1: delta is 1 at every epsilon. Recomputed: how far ``T theta_0`` is outside, as a
share of its length, exactly, in rational numbers.

**approximate-dp**: all models, two clients, full batches, one local step a round. The facts f of
one client (n of them, half of each label, all the same) are joined with the one tuple x of the
other, whose replacement is -x. In the first round the gradients of the two halves cancel, at both
clients: the models u and v are independent N(0, s^2), ``s = lr C sigma / N``, N = n. In the second,
``h = f u + x v``; the z-update and the dual update, ``lambda = grad l(z)`` with

    lambda(z) + rho z = lambda_0 + rho h,      lambda(z) = sigmoid(z) - t,   t = 1 or 0,

(lambda_0: the same with 0 and h = 0) make each fact's gradient ``f (2 lambda - lambda_0)``, which
increases with h. With ``H = |x| V - |f| U``, recomputed: that it is at least C at h = H and at most
-C at h = -H, for both labels. Then for ``|u| <= U`` and ``|v| >= V`` all gradients are clipped, and
the step's mean differs by ``2 n C`` times lr / N, which is ``mu = 2 n / sigma`` deviations:

    delta(epsilon) >= P(|u| <= U) P(|v| >= V) [Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)].

How far a vector is from a span, in rational numbers: every double is one, so nothing is rounded.

A column that nearly depends on others is told from one that does: to drop it would put vectors
outside that are inside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import (
    Number,
    Real,
    exp,
    largest,
    log,
    ncdf,
    norm,
    root,
    sigmoid,
    smallest,
    sqrt,
)

Vector = list[Fraction]


def share_outside(vector: Sequence[Fraction], columns: Sequence[Sequence[float]]) -> Real:
    """Return the share of a vector outside the span of columns; 0 for the zero vector.

    Examples
    --------
    >>> round(float(share_outside([Fraction(3), Fraction(4)], [[1.0, 0.0], [2.0, 0.0]])), 9)
    0.8
    >>> float(share_outside([Fraction(3), Fraction(4)], [[1.0, 0.0], [1.0, 1e-200]]))
    0.0
    """
    if not any(vector):
        return Real(0)
    basis: list[tuple[Vector, Fraction]] = []
    for column in columns:
        rest = _remove_basis_components([Fraction(entry) for entry in column], basis)
        if any(rest):
            basis.append((rest, _compute_exact_dot(rest, rest)))
    rest = _remove_basis_components(list(vector), basis)
    return sqrt(_compute_exact_dot(rest, rest) / _compute_exact_dot(vector, vector))


def _remove_basis_components(vector: Vector, basis: list[tuple[Vector, Fraction]]) -> Vector:
    for direction, square in basis:
        along = _compute_exact_dot(vector, direction) / square
        if along:
            vector = [v - along * b for v, b in zip(vector, direction, strict=True)]
    return vector


def _compute_exact_dot(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


_DISTANCE = 1e-6  # a share of h that a certificate's doubles cannot bring about
# Below it not even one client's steps, each with mu = 2 / sigma, are (epsilon, delta)-DP.
_LEAST_CONSTANT = 2 * math.sqrt(2)
_LARGEST = 1_000  # numbers of a table: rational numbers grow with every column


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> public = {"iterations": 2, "local_steps": 1, "sampling_ratio": 1.0, "factor": 1.0}
    >>> public |= {"first_constant": 1.0, "second_constant": 4.0, "tuple_norm": 1.0}
    >>> public |= {"epsilon": 1.0, "delta": 1e-5, "noise_multiplier": 20.0}
    >>> document = Document(
    ...     path="c.json",
    ...     claim="tables-theorem2",
    ...     kind="support",
    ...     parameters=public | {"tuples": 2, "features": 1},
    ...     quantities={},
    ...     assumptions={},
    ...     instance={"table": [[1], [0.5]], "neighbour": [[0], [0.5]], "model": [2]},
    ... )
    >>> outcome = recompute(document)
    >>> round(float(outcome.quantities["distance"]), 6), round(float(outcome.quantities["ratio"]))
    (0.894427, 100000)
    """
    if document.kind == "support":
        return _verify_prediction_support(document)
    document.require_kind("approximate-dp")
    return _verify_cross_client_delta(document)


# --- the server -----------------------------------------------------------------------------------


def _verify_prediction_support(document: Document) -> Outcome:
    n, d = document.count("tuples"), document.count("features")
    if n * d > _LARGEST:
        expected = f"at most {_LARGEST} numbers in a table"
        raise document.refused("parameters.tuples", n, expected)
    if document.count("iterations") < 2:
        raise document.refused("parameters.iterations", 1, "at least 2")
    table, other = (document.array(name, (n, d)) for name in ("table", "neighbour"))
    model = [Fraction(entry) for entry in document.array("model", (d,))]
    seen = [_compute_exact_prediction(row, model) for row in table]
    distance = share_outside(seen, list(zip(*other, strict=True)))
    delta = _read_open_probability(document, "delta")
    differing = sum(one != two for one, two in zip(table, other, strict=True))
    attained = int(distance > _DISTANCE)
    quantities = {
        "bound": document.positive("factor") * document.positive("epsilon"),
        "distance": distance,
        "attained delta": attained,
        "ratio": attained / delta,
    }
    return Outcome(
        assumptions={
            "bounded tuples": (_find_longest_row(table), document.positive("tuple_norm")),
            "bounded tuples of the neighbour": (
                _find_longest_row(other),
                document.positive("tuple_norm"),
            ),
            "one tuple differs": (differing, 1),
            **_compute_noise_assumptions(document),
        },
        quantities=quantities,
        summary="with probability 1 the server sees predictions that the neighbour cannot give",
    )


def _compute_exact_prediction(row: Sequence[float], model: Sequence[Fraction]) -> Fraction:
    return sum((Fraction(a) * b for a, b in zip(row, model, strict=True)), Fraction(0))


# --- across clients -------------------------------------------------------------------------------


def _verify_cross_client_delta(document: Document) -> Outcome:
    _require_covered_settings(document)
    n = document.count("rows")
    facts = document.array("facts", (n,))
    labels = _read_fact_labels(document, n)
    (old,), (new,) = (document.array(name, (1,)) for name in ("tuple", "other"))
    rho, clip, sigma = document.positive("penalty", "clip_norm", "noise_multiplier")
    (most,), (least,) = (
        (Real(entry) for entry in document.array(name, (1,)))
        for name in ("model_bound", "model_least")
    )
    deviation = document.positive("learning_rate") / n * clip * sigma
    reach = abs(old) * least - abs(facts[0]) * most
    inside = largest((0, 1 - 2 * ncdf(-most / deviation)))
    certain = inside * 2 * ncdf(-least / deviation)
    quantities = _compute_certified_profile(document, certain, 2 * n / sigma)
    limit, constant = document.positive("tuple_norm", "second_constant")
    return Outcome(
        assumptions={
            "bounded tuples": (max(abs(old), *map(abs, facts)), limit),
            "bounded tuples of the neighbour": (max(abs(new), *map(abs, facts)), limit),
            "one tuple differs": (1, 1),
            **_compute_noise_assumptions(document),
            "opposite tuples": (abs(Fraction(old) + Fraction(new)), 0),
            "equal facts": (Fraction(max(facts)) - Fraction(min(facts)), 0),
            "balanced labels": (abs(sum(labels)), 0),
            "clipped gradients": (clip, abs(facts[0]) * _least_slope(rho, reach)),
        },
        quantities=quantities,
        summary=f"delta is at least {float(quantities['attained delta']):.6g} at the claimed "
        f"epsilon {float(quantities['bound']):.6g}, where {document.number('parameters', 'delta')} "
        f"is claimed for c_2 = {float(constant):g}",
        reservations=_little_noise(constant),
    )


def _require_covered_settings(document: Document) -> None:
    """Refuse runs that the argument is not about."""
    steps, rounds = document.count("local_steps"), document.count("iterations")
    ratio = document.number("parameters", "sampling_ratio")
    for name, given, fits, expected in (
        ("local_steps", steps, steps == 1, "1"),
        ("iterations", rounds, rounds >= 2, "at least 2"),
        ("sampling_ratio", ratio, ratio == 1, "1"),
    ):
        if not fits:
            raise document.refused(f"parameters.{name}", given, expected)


def _compute_certified_profile(document: Document, certain: Real, mu: Real) -> dict[str, Real]:
    """Return delta at the claimed epsilon: at least that of a Gaussian, ``certain`` of the time."""
    bound = document.positive("factor") * document.positive("epsilon")
    certain = smallest((certain, 1))
    gaussian = ncdf(mu / 2 - bound / mu) - exp(bound) * ncdf(-mu / 2 - bound / mu)
    attained = certain * gaussian
    return {
        "bound": bound,
        "probability": certain,
        "mu": mu,
        "attained delta": attained,
        "ratio": attained / _read_open_probability(document, "delta"),
    }


def _least_slope(rho: Real, reach: Real) -> Real:
    """Return the smallest of ``2 lambda - lambda_0`` at H and its negative at -H, both labels."""
    if reach < 0:
        return Real(-2)  # the sign of h is open
    slopes = []
    for target in (0, 1):
        first = _solve_tables_dual(target, Real(0), rho)
        for sign in (1, -1):
            slopes.append(
                sign * (2 * _solve_tables_dual(target, first + rho * sign * reach, rho) - first)
            )
    return smallest(slopes)


def _solve_tables_dual(target: int, right: Real, rho: Real) -> Real:
    """Return ``sigmoid(z) - t`` at the z with ``sigmoid(z) - t + rho z = right``.

    The left side increases in z by at least rho.
    """
    z = root(lambda z: sigmoid(z) - target + rho * z - right, rho, right / rho)
    return sigmoid(z) - target


def _read_fact_labels(document: Document, n: int) -> list[int]:
    labels = document.array("labels", (n,))
    for row, label in enumerate(labels):
        if abs(label) != 1:
            raise document.refused(f"instance.labels[{row}]", label, "-1 or 1")
    return [int(label) for label in labels]


# --- the theorem ----------------------------------------------------------------------------------


def _compute_noise_assumptions(document: Document) -> dict[str, tuple[Number, Number]]:
    """Return the theorem's conditions on sigma and on epsilon."""
    tau = document.count("iterations") * document.count("local_steps")
    epsilon, delta = document.positive("epsilon"), _read_open_probability(document, "delta")
    ratio = document.positive("sampling_ratio")
    if ratio > 1:
        raise document.refused("parameters.sampling_ratio", float(ratio), "at most 1")
    sigma = document.positive("second_constant") * ratio * sqrt(tau * -log(delta)) / epsilon
    return {
        "published noise": (sigma, document.positive("noise_multiplier")),
        "range of epsilon": (epsilon, document.positive("first_constant") * ratio**2 * tau),
    }


def _read_open_probability(document: Document, name: str) -> Real:
    value: Real = document.positive(name)
    if value >= 1:
        raise document.refused(f"parameters.{name}", float(value), "above 0 and below 1")
    return value


def _find_longest_row(table: list[list[float]]) -> Real:
    return largest(norm(row) for row in table)


# --- counts ---------------------------------------------------------------------------------------


def reservations(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reasons why an audit with these settings is not one of the theorem."""
    constant = settings.get("parameters", {}).get("second_constant")
    return () if constant is None else _little_noise(Real(float(constant)))


def _little_noise(constant: Real) -> tuple[str, ...]:
    if constant >= _LEAST_CONSTANT:
        return ()
    return (f"c_2 = {float(constant):g}, too little noise for any release",)
