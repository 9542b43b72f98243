r"""Re-checks the refutation of hu2020's Theorem 1, from the certificate alone.

Kind ``approximate-dp`` (noise on the message): the message is ``N(D x, sigma^2 I)`` with ``sigma =
sqrt(2 ln(1.25/delta)) C / epsilon``. With ``mu = ||D x - D' x'|| / sigma``, its exact profile is
``delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)``. At the certificate's epsilon, above
the claimed one, it has to be above the claimed delta.

Kind ``support`` (noise on the model): `dpaudit.algorithms.sharing.verify.hu2020.support`.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2020.support import verify_message_support
from dpaudit.algorithms.sharing.verify.hu2020.update import (
    RESIDUALS,
    compute_movement,
    format_claim_factor,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, exp, log, ncdf, sqrt

_VARIANTS = {"approximate-dp": ("message",), "support": ("parameter", "whitened")}
_POSITIVE = ("epsilon", "delta", "factor")


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity, recomputed from the instance.

    Raises
    ------
    DataError
        The kind and the variant do not go together, a parameter is outside its domain, or an array
        does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> from dpaudit.verification.reals import precision
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2020-theorem1",
    ...     kind="support",
    ...     parameters={
    ...         "features": 1, "samples": 2, "variant": "parameter", "epsilon": 1.0,
    ...         "delta": 0.01, "factor": 1.0,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "design": [[1.0], [1.0]], "neighbour": [[1.0], [-1.0]], "model": [2.0],
    ...     },
    ... )
    >>> with precision(60):
    ...     outcome = recompute(document)
    >>> [name for name, (value, limit) in outcome.assumptions.items() if value > limit]
    ['close neighbours', 'close neighbours entry by entry']
    >>> float(outcome.quantities["distance from the neighbour's columns"])
    1.0
    """
    if document.kind not in _VARIANTS:
        raise document.refused("kind", document.kind, " or ".join(map(repr, _VARIANTS)))
    document.choice("variant", *_VARIANTS[document.kind])
    for name, value in zip(_POSITIVE, document.positive(*_POSITIVE), strict=True):
        if name != "factor" and value > 1:
            raise document.refused(f"parameters.{name}", float(value), "at most 1")
    if document.kind == "approximate-dp":
        return _verify_gaussian_message(document)
    return verify_message_support(document, document.positive("delta"))


def _verify_gaussian_message(document: Document) -> Outcome:
    epsilon, delta, factor = document.positive(*_POSITIVE)
    kind = document.choice("sensitivity", "published", "corrected")
    update = compute_movement(document)
    sensitivity = update.published if kind == "published" else update.corrected
    scale = sqrt(2 * log(1.25 / delta)) * sensitivity / epsilon
    claimed, witness = factor * epsilon, Real(document.array("epsilon", ()))
    exact = _gaussian_delta(update.movement / scale, witness)
    ratio = witness / claimed
    return Outcome(
        assumptions=update.assumptions | {"claimed delta is exceeded": (delta, exact)},
        residuals=RESIDUALS,
        quantities={
            "claimed epsilon": claimed,
            "noise scale": scale,
            "movement": update.movement,
            "exact delta over claimed delta": exact / delta,
            "ratio": ratio,
        },
        summary=f"at epsilon {float(witness):.6g}, {float(ratio):.6g} times the claimed one"
        f"{format_claim_factor(document)}, delta is still {float(exact):.6g}",
        reservations=() if kind == "published" else ("noise for a corrected sensitivity",),
    )


def _gaussian_delta(mu: Real, epsilon: Real) -> Real:
    # Without movement the quotient epsilon / mu has no value, and delta is 0 at every epsilon.
    if mu.ball.is_zero():
        return Real(0)
    return ncdf(mu / 2 - epsilon / mu) - exp(epsilon) * ncdf(-mu / 2 - epsilon / mu)
