r"""Re-checks a composition that breaks Theorem 4 of Huang & Gong, from the certificate alone.

A pair of laws on a few outcomes is composed t times by counting: outcomes that occur c_1, c_2, ...
times have probability ``t! / (c_1! c_2! ...) p_1^c_1 p_2^c_2 ...``, and

    delta(epsilon) = sum over counts of max(0, P - e^epsilon Q).

Laws of doubles sum to 1 up to their last digit; they are divided by their sum first. For Gaussian
mechanisms, ``delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)``. The
claim is delta at ``c_0 sqrt(t) epsilon`` at most the certificate's factor times delta.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpaudit.algorithms.multistep.verify.node import read_probability_law, unusual_constant
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import (
    Number,
    Real,
    binomial,
    exp,
    largest,
    log,
    ncdf,
    sqrt,
    total,
)

_OUTCOMES = 4
_LONGEST = 20


def recompute(document: Document) -> Outcome:
    """Return that every algorithm is private enough, and the composition's exact delta.

    Raises
    ------
    DataError
        A parameter is outside its domain, or a law is no law.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="huang2020-theorem4",
    ...         kind="approximate-dp",
    ...         parameters={
    ...             "epsilon": 0.0, "delta": 0.5, "count": 2, "c0": 1.0, "factor": 1.0,
    ...             "algorithms": "all",
    ...         },
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"one": [0.5, 0.5, 0.0, 0.0], "other": [0.0, 0.5, 0.0, 0.5]},
    ...     )
    ... )
    >>> float(outcome.quantities["delta"]), float(outcome.quantities["ratio"])
    (0.75, 1.5)
    """
    document.require_kind("approximate-dp")
    epsilon, delta = document.at_least(0, "epsilon", "delta")
    if delta >= 1:
        raise document.refused("parameters.delta", float(delta), "below 1")
    c0, factor = document.positive("c0", "factor")
    count = document.count("count")
    claimed = c0 * sqrt(count) * epsilon
    found, assumptions = _verify_composed_delta(document, epsilon, delta, count, claimed)
    bound = factor * delta
    # A bound of 0 has no ratio: the excess is then measured by itself.
    ratio = found / bound if bound > 0 else 1 + found
    return Outcome(
        assumptions=assumptions,
        quantities={"claimed epsilon": claimed, "bound": bound, "delta": found, "ratio": ratio},
        summary=f"{count} algorithms have delta {float(found):.6g} at epsilon = "
        f"{float(claimed):.6g}, where {float(bound):.6g} is claimed with c_0 = {float(c0):g}",
        reservations=unusual_constant(c0, delta),
    )


def _verify_composed_delta(
    document: Document, epsilon: Real, delta: Real, count: int, claimed: Real
) -> tuple[Real, dict[str, tuple[Number, Number]]]:
    if document.choice("algorithms", "all", "gaussian") == "gaussian":
        if epsilon <= 0 or delta <= 0:
            expected = "'all' where epsilon or delta is 0"
            raise document.refused("parameters.algorithms", "gaussian", expected)
        mu = epsilon / sqrt(2 * log(Fraction(5, 4) / delta))
        alone = _compute_gaussian_delta_real(mu, epsilon)
        return _compute_gaussian_delta_real(sqrt(count) * mu, claimed), {
            "delta of one": (alone, delta)
        }
    one, other = (read_probability_law(document, name, _OUTCOMES) for name in ("one", "other"))
    # The number of counts to sum over grows with the cube of t.
    if count > _LONGEST:
        raise document.refused("parameters.count", count, f"at most {_LONGEST}")
    assumptions: dict[str, tuple[Number, Number]] = {
        "delta of one": (_compute_discrete_delta(one, other, 1, epsilon), delta),
        "delta of one, exchanged": (_compute_discrete_delta(other, one, 1, epsilon), delta),
    }
    return _compute_discrete_delta(one, other, count, claimed), assumptions


def _compute_discrete_delta(one: list[Real], other: list[Real], count: int, epsilon: Real) -> Real:
    scale, terms = exp(epsilon), []
    for counts in _generate_outcome_counts(count, len(one)):
        p, q, left = Real(1), Real(1), count
        for c, here, there in zip(counts, one, other, strict=True):
            # A multinomial coefficient is a product of binomial ones.
            ways = binomial(left, c)
            p, q, left = p * ways * here**c, q * ways * there**c, left - c
        terms.append(largest((0, p - scale * q)))
    return total(terms)


def _generate_outcome_counts(total: int, outcomes: int) -> Iterator[tuple[int, ...]]:
    if outcomes == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _generate_outcome_counts(total - first, outcomes - 1):
            yield (first, *rest)


def _compute_gaussian_delta_real(mu: Real, epsilon: Real) -> Real:
    return ncdf(-epsilon / mu + mu / 2) - exp(epsilon) * ncdf(-epsilon / mu - mu / 2)
