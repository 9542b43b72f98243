r"""Re-checks how often a private mechanism's ratio is above e^epsilon, from the certificate alone.

A pair of laws on four outcomes is (epsilon, delta)-DP if ``sum_k max(0, P_k - e^epsilon Q_k)`` is
at most delta, and with P and Q exchanged too. The probability is the sum of those P_k that are
above ``e^(multiple epsilon) Q_k``. Laws of doubles sum to 1 up to their last digit; they are
divided by their sum first. Of Gaussian laws N(0, 1) and N(mu, 1) it is
``Phi(mu/2 - multiple epsilon / mu)``, and delta is ``Phi(mu/2 - epsilon/mu) - e^epsilon
Phi(-mu/2 - epsilon/mu)``. The claim is a probability of at most factor times delta, or times
``delta / (1 - e^(epsilon - multiple epsilon))`` in the corrected version.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.multistep.verify.node import read_probability_law
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Number, Real, exp, largest, log, ncdf, sqrt, total

_OUTCOMES = 4


def recompute(document: Document) -> Outcome:
    """Return that the mechanism is private, and the probability of a larger ratio.

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
    ...         claim="huang2020-definition3",
    ...         kind="property",
    ...         parameters={
    ...             "epsilon": 0.0, "delta": 0.25, "multiple": 1.0, "factor": 1.0,
    ...             "mechanism": "finite", "version": "published",
    ...         },
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"one": [0.75, 0.25, 0.0, 0.0], "other": [0.5, 0.5, 0.0, 0.0]},
    ...     )
    ... )
    >>> float(outcome.quantities["probability"]), float(outcome.quantities["ratio"])
    (0.75, 3.0)
    """
    document.require_kind("property")
    epsilon, delta = document.at_least(0, "epsilon", "delta")
    if delta >= 1:
        raise document.refused("parameters.delta", float(delta), "below 1")
    multiple, factor = document.positive("multiple", "factor")
    if multiple < 1:
        raise document.refused("parameters.multiple", float(multiple), "at least 1")
    version = document.choice("version", "published", "corrected")
    mechanism = document.choice("mechanism", "finite", "gaussian")
    if version == "corrected" and (multiple <= 1 or epsilon <= 0):
        raise document.refused("parameters.version", version, "a ratio above e^epsilon")
    allowed = delta / (1 - exp(epsilon - multiple * epsilon)) if version == "corrected" else delta
    found, assumptions = (
        _compute_finite_exceeding if mechanism == "finite" else _compute_gaussian_exceeding
    )(document, epsilon, delta, multiple * epsilon)
    bound = factor * allowed
    return Outcome(
        assumptions=assumptions,
        quantities={
            "bound": bound,
            "probability": found,
            # A bound of 0 has no ratio: the excess is then measured by itself.
            "ratio": found / bound if bound > 0 else 1 + found,
        },
        summary=f"the ratio is above e^{float(multiple * epsilon):.6g} with probability "
        f"{float(found):.6g}, where at most {float(bound):.6g} is claimed",
        reservations=_list_ratio_reservations(version, mechanism, float(multiple)),
    )


def _compute_finite_exceeding(
    document: Document, epsilon: Real, delta: Real, larger: Real
) -> tuple[Real, dict[str, tuple[Number, Number]]]:
    one, other = (read_probability_law(document, name, _OUTCOMES) for name in ("one", "other"))
    probability = total(p for p, q in zip(one, other, strict=True) if p > exp(larger) * q)
    return probability, {
        "delta of one": (_compute_finite_delta(one, other, epsilon), delta),
        "delta of one, exchanged": (_compute_finite_delta(other, one, epsilon), delta),
    }


def _compute_finite_delta(one: list[Real], other: list[Real], epsilon: Real) -> Real:
    return total(largest((0, p - exp(epsilon) * q)) for p, q in zip(one, other, strict=True))


def _compute_gaussian_exceeding(
    document: Document, epsilon: Real, delta: Real, larger: Real
) -> tuple[Real, dict[str, tuple[Number, Number]]]:
    if epsilon <= 0 or delta <= 0:
        expected = "'finite' where epsilon or delta is 0"
        raise document.refused("parameters.mechanism", "gaussian", expected)
    # The sigma of eq. (20) for one step, in units of the sensitivity.
    mu = epsilon / sqrt(2 * log(Fraction(5, 4) / delta))
    alone = ncdf(mu / 2 - epsilon / mu) - exp(epsilon) * ncdf(-mu / 2 - epsilon / mu)
    return ncdf(mu / 2 - larger / mu), {"delta of one": (alone, delta)}


def _list_ratio_reservations(version: str, mechanism: str, multiple: float) -> tuple[str, ...]:
    said = []
    if version == "corrected":
        said.append("a corrected probability")
    if mechanism == "gaussian":
        said.append("Gaussian mechanisms alone")
    if multiple != 1:
        said.append(f"a ratio of e^({multiple:g} epsilon)")
    return tuple(said)
