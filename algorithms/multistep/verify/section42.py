"""Re-checks that the left side of eq. (24) is above a constant times its right side over t."""

from __future__ import annotations

from dpaudit.algorithms.multistep.verify import theorem7
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real


def recompute(document: Document) -> Outcome:
    """Return every assumption, and both sides; the left one is that of Theorem 7.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> parameters = {
    ...     "nodes": 1, "iterations": 1, "inner_steps": 1, "records": 10**9, "epsilon": 1.0,
    ...     "delta": 1e-5, "steepest": "sum", "penalty": 1.0, "beta": 1.0, "slack": 1e-4,
    ...     "constant": 0.25,
    ... }
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="huang2020-section42",
    ...         kind="property",
    ...         parameters=parameters,
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"target": [0.5, 0.0], "slopes": [1.0, 1.0, 1.0]},
    ...     )
    ... )
    >>> round(float(outcome.quantities["value"]), 6), float(outcome.quantities["bound"])
    (0.5, 0.25)
    """
    constant, rho, beta = document.positive("constant", "penalty", "beta")
    found = theorem7.verify_utility_sides(document)
    # Every edge counts at both of its ends.
    edges = 2 * (document.count("nodes") - 1)
    unit = (1 + edges * (rho + beta**2 / rho)) / Real(document.count("iterations"))
    value, bound = found.quantities["value"], constant * unit
    return Outcome(
        assumptions=found.assumptions,
        quantities={"value": value, "bound": bound, "ratio": value / bound},
        summary=f"expected excess risk and violation are at least {float(value):.6g}, where "
        f"{float(bound):.6g} is claimed",
    )
