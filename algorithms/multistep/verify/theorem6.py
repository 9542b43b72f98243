r"""Re-checks an exact law that breaks Theorem 6 of Huang & Gong, from the certificate alone.

With the linear loss ``-b a'w`` the replaced record moves every mean of its node by
``||b a - b' a'|| / ((2 rho |V_i| + eta) m)``, whatever came before, and nothing else; the noise is
``sigma 2 c_1 / ((2 rho |V_i| + eta) m)`` with the sigma of eq. (20). So the privacy loss of a run
is that of ``N(0, 1)`` against ``N(mu, 1)``, ``mu^2 = sum (shift / scale)^2`` over t l steps, and

    delta(epsilon) = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpaudit.algorithms.multistep.verify.node import (
    LAST_DIGIT,
    LIPSCHITZ,
    read_node_graph,
    read_record_pair,
    read_unit_share,
    unusual_constant,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, exp, log, ncdf, norm, sqrt

_AGREEMENT = Fraction(1, 10**9)  # between the steps that the file lists and the recomputed ones


def recompute(document: Document) -> Outcome:
    """Return the claim and the exact law, recomputed from the pair of records.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or a step
        does not have the shift or the noise of the algorithm.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="huang2020-theorem6",
    ...     kind="approximate-dp",
    ...     parameters={"loss": "hinge"},
    ...     quantities={},
    ...     assumptions={},
    ...     instance={},
    ... )
    >>> recompute(document)
    Traceback (most recent call last):
    dpaudit.errors.DataError: c.json: parameters.loss: got 'hinge', expected 'linear'
    """
    document.require_kind("approximate-dp")
    document.choice("loss", "linear")
    epsilon, c0, rho, factor = document.positive("epsilon", "c0", "penalty", "factor")
    delta = read_unit_share(document, "delta")
    count = document.count("iterations") * document.count("inner_steps")
    degree, components = read_node_graph(document)
    record, replacement, longest = read_record_pair(document)
    sigma = c0 * sqrt(count * 2 * log(Fraction(5, 4) / delta)) / epsilon
    moved = norm([one - other for one, other in zip(record, replacement, strict=True)])
    _check_steps(document, count, 2 * rho * degree, moved, sigma)
    # Shift and noise of a step are divided by the same numbers, so every step adds the same to
    # mu^2.
    mu = sqrt(count) * moved / (2 * LIPSCHITZ * sigma)
    reached = Real(document.number("quantities", "epsilon"))
    # The stated epsilon need not be the exact one: the exact delta there has to exceed the claimed
    # delta.
    exact, claimed = _compute_exact_gaussian_delta(mu, reached), factor * epsilon
    return Outcome(
        assumptions={
            "bounded records": (longest, 1 + LAST_DIGIT),
            "connected graph": (components, 1),
            "claimed delta exceeded": (delta, exact),
        },
        quantities={
            "bound": claimed,
            "sigma": sigma,
            "mu": mu,
            "epsilon": reached,
            "delta": exact,
            "ratio": reached / claimed,
        },
        summary=f"a run's exact delta at epsilon = {float(reached):.6g} is {float(exact):.6g}, "
        f"above the claimed {float(delta):g} at epsilon = {float(claimed):g} with c_0 = "
        f"{float(c0):g}",
        reservations=unusual_constant(c0, delta),
    )


def _compute_exact_gaussian_delta(mu: Real, epsilon: Real) -> Real:
    """Return the exact delta; 0 where mu is: then nothing moves."""
    if mu == 0:
        return Real(0)
    return ncdf(-epsilon / mu + mu / 2) - exp(epsilon) * ncdf(-epsilon / mu - mu / 2)


def _check_steps(document: Document, count: int, pull: Real, moved: Real, sigma: Real) -> None:
    """Refuse a file whose steps are not those of the algorithm."""
    size = document.count("node_size")
    steps = [document.array(name, (count,)) for name in ("eta", "shift", "scale")]
    for step, (eta, shift, scale) in enumerate(zip(*steps, strict=True)):
        # Step sizes are the file's own: any rule for eta is within the theorem.
        if eta <= 0:
            raise document.refused("instance.eta", eta, "above 0")
        unit = (pull + eta) * size
        for name, given, true in (
            ("shift", shift, moved / unit),
            ("scale", scale, 2 * LIPSCHITZ * sigma / unit),
        ):
            # The file lists doubles of what the algorithm ran with; they have to agree with the
            # theorem's.
            if abs(given - true) > _AGREEMENT * true:
                expected = f"{float(true):.10g} at step {step + 1}"
                raise document.refused(f"instance.{name}", given, expected)


def reservations(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reasons why an audit with these settings is not one of the theorem."""
    parameters, delta = settings.get("parameters", {}), Real(settings.get("delta", 1e-5))
    if "c0" not in parameters or parameters.get("c0_of_proof"):
        return ()
    return unusual_constant(Real(float(parameters["c0"])), delta)
