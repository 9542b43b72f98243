"""Re-checks that more inner steps have a larger expected excess risk than fewer."""

from __future__ import annotations

from dpaudit.algorithms.multistep.verify.risk import risk_of
from dpaudit.verification import Document, Outcome


def recompute(document: Document) -> Outcome:
    """Return every assumption of both runs, and bounds on their risks.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> parameters = {
    ...     "nodes": 1, "iterations": 1, "inner_steps": 2, "fewer_steps": 1, "records": 10**9,
    ...     "epsilon": 1.0, "delta": 1e-5, "steepest": "sum", "penalty": 1.0, "slack": 1e-4,
    ...     "factor": 1.0,
    ... }
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="huang2020-inner-steps",
    ...         kind="property",
    ...         parameters=parameters,
    ...         quantities={},
    ...         assumptions={},
    ...         instance={"target": [-0.25, 0.0], "slopes": [1.0, 1.0, 1.0]},
    ...     )
    ... )
    >>> round(float(outcome.quantities["risk with fewer"]), 4)
    0.25
    """
    document.require_kind("property")
    factor, fewer = document.positive("factor"), document.count("fewer_steps")
    star, many = risk_of(document, "inner_steps")
    if fewer >= star.inner:
        raise document.refused("parameters.fewer_steps", fewer, f"below {star.inner}")
    _, few = risk_of(document, "fewer_steps")
    # The objective is the same with fewer steps. Its assumption is the one whose name begins with a
    # capital.
    own = {f"{n}, fewer steps": v for n, v in few.assumptions.items() if n[0].islower()}
    bound = factor * few.most
    return Outcome(
        assumptions=many.assumptions | own,
        quantities={
            "risk with more": many.least,
            "risk with fewer": few.most,
            "ratio": many.least / bound,
        },
        summary=f"with l = {star.inner} the expected excess risk is at least "
        f"{float(many.least):.6g}, with l = {fewer} at most {float(few.most):.6g}",
    )
