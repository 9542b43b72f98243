"""Re-checks a violation of hu2020's (12): the exact probability of noise that is too long."""

from __future__ import annotations

from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, chi2_above, largest, log, sqrt

_MOST = 10_000  # entries


def recompute(document: Document) -> Outcome:
    """Return the probability, and over delta.

    Raises
    ------
    DataError
        A parameter is outside its domain.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2020-equation12",
    ...     kind="property",
    ...     parameters={
    ...         "entries": 2, "part": "tail", "sensitivity": 1.0, "factor": 1.0, "epsilon": 1.0,
    ...         "delta": 1e-5,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={},
    ... )
    >>> round(float(recompute(document).quantities["ratio"]), 4)
    1.312
    """
    document.require_kind("property")
    entries = document.count("entries")
    if entries > _MOST:
        raise document.refused("parameters.entries", entries, f"at most {_MOST}")
    part = document.choice("part", "tail", "A_2")
    epsilon, delta, sensitivity, factor = document.positive(
        "epsilon", "delta", "sensitivity", "factor"
    )
    if delta >= 1:
        raise document.refused("parameters.delta", float(delta), "in (0, 1)")
    spread = sqrt(2 * log(Real(5) / 4 / delta))
    least = spread - epsilon / (2 * spread)
    if part == "A_2":
        least = delta / 2 / (spread * sensitivity / epsilon)
    # Where the bound is negative, every length is above it: its square would say otherwise.
    longer = chi2_above(entries, largest((least, 0)) ** 2)
    return Outcome(
        assumptions={"epsilon in range": (epsilon, 1)},
        quantities={"probability": longer, "ratio": longer / delta / factor},
        summary=f"noise of {entries} entries is too long with probability {float(longer):.6g}, and "
        f"{float(delta):.6g} is claimed",
        reservations=() if factor == 1 else (f"a bound times {float(factor):g}",),
    )
