r"""Re-checks a violation of hu2019's Lemma 2 from the certificate alone.

The claim is ``||y^{t+1} - y^t||^2 <= factor L^2 ||z^{t+1} - z^t||^2``, as published with factor 1.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    compute_column_square,
    problem_of,
    run_to_audited_step,
)
from dpaudit.errors import VerbatimText
from dpaudit.verification import Document, Outcome


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> zero = [0.0]
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2019-lemma2",
    ...     kind="property",
    ...     parameters={
    ...         "parties": 1, "features": 1, "samples": 1, "penalty": 3.0, "factor": 1.0,
    ...         "regulariser_weight": 0.0, "loss": "squared", "loss_weight": 1.0, "iteration": 1,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "designs": [[[1.0]]], "labels": [1.0], "models": [zero], "prediction": zero,
    ...         "dual": zero,
    ...     },
    ... )
    >>> float(recompute(document).quantities["ratio"])
    9.0
    """
    document.require_kind("property")
    problem = problem_of(document)
    factor = document.positive("factor")
    before, after = run_to_audited_step(document, problem)
    moved = compute_column_square(after.dual - before.dual)
    centre = compute_column_square(after.prediction - before.prediction)
    if centre == 0:
        raise document.refused("instance", VerbatimText("a z that does not move"), "a step")
    bound = factor * problem.smoothness**2 * centre
    iteration = document.count("iteration")
    return Outcome(
        assumptions=problem.assumptions(),
        quantities={"movement": moved, "bound": bound, "ratio": moved / bound},
        summary=f"in iteration {iteration} ||dy||^2 is {float(moved):.6g} where {float(bound):.6g} "
        f"{_format_claimed_multiple(float(factor))}, {float(moved / bound):.6g} times as "
        f"much{_format_first_iteration_note(iteration)}",
    )


def _format_first_iteration_note(iteration: int) -> str:
    return " (y before it is the start's, not yet a slope)" if iteration == 1 else ""


def _format_claimed_multiple(factor: float) -> str:
    return "is claimed" if factor == 1 else f"is {factor:g} times what is claimed"
