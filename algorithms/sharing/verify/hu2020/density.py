"""Re-checks a violation of hu2020's inequality for every output: two Gaussian densities."""

from __future__ import annotations

from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, exp, log, pi, sqrt

_MOST = 100  # entries


def recompute(document: Document) -> Outcome:
    """Return the density of the output, and the allowed one.

    Raises
    ------
    DataError
        A parameter is outside its domain.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2020-density",
    ...     kind="property",
    ...     parameters={
    ...         "entries": 4, "factor": 1.0, "epsilon": 1.0, "delta": 1e-5, "sensitivity": 1e-3,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={"offset": 0.026},
    ... )
    >>> round(float(recompute(document).quantities["ratio"]), 3)
    1.138
    """
    document.require_kind("property")
    entries = document.count("entries")
    if entries > _MOST:
        raise document.refused("parameters.entries", entries, f"at most {_MOST}")
    epsilon, delta, sensitivity, factor = document.positive(
        "epsilon", "delta", "sensitivity", "factor"
    )
    if delta >= 1:
        raise document.refused("parameters.delta", float(delta), "in (0, 1)")
    offset = Real(document.array("offset", ()))
    variance = 2 * log(Real(5) / 4 / delta) * (sensitivity / epsilon) ** 2

    def density(distance: Real) -> Real:
        return exp(-(distance**2) / (2 * variance)) / sqrt(2 * pi() * variance) ** entries

    found = density(offset)
    allowed = exp(epsilon) * density(offset + sensitivity) + delta
    return Outcome(
        assumptions={"epsilon in range": (epsilon, 1)},
        quantities={"density": found, "allowed": allowed, "ratio": found / allowed / factor},
        summary=f"an output has density {float(found):.6g}, and {float(allowed):.6g} is allowed",
        reservations=() if factor == 1 else (f"a bound times {float(factor):g}",),
    )
