r"""Re-checks a violation of hu2020's Lemma 1 from the certificate alone.

The claim is ``||D x - D' x'|| <= 3/(d_m rho) [lambda c_1 + (1 + M rho) b_1]``, times a factor that
the certificate states; `dpaudit.algorithms.sharing.verify.hu2020.update` recomputes both sides.
"""

from __future__ import annotations

from dataclasses import replace

from dpaudit.algorithms.sharing.verify.hu2020.update import (
    RESIDUALS,
    compute_movement,
    format_claim_factor,
)
from dpaudit.verification import Document, Outcome

FORMER_SOURCES = ("Hu et al. (NeurIPS 2020), Lemma 1 under Assumption 1, eq. (6)",)


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity of the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> document = Document(
    ...     path="c.json",
    ...     claim="hu2020-lemma1",
    ...     parameters={
    ...         "features": 1, "samples": 1, "parties": 1, "penalty": 1.0,
    ...         "regulariser_weight": 1.0, "bound": 1.0, "curvature": 1.0, "factor": 1.0,
    ...     },
    ...     quantities={},
    ...     assumptions={},
    ...     instance={
    ...         "design": [[1.0]], "neighbour": [[-1.0]], "dual": [1.0], "prediction": [-1.0],
    ...         "others": [], "models": [],
    ...     },
    ... )
    >>> outcome = recompute(document)
    >>> [name for name, (value, limit) in outcome.assumptions.items() if value > limit]
    ['close neighbours']
    >>> float(outcome.assumptions["bounded model"][0]), float(outcome.quantities["bound"])
    (1.0, 9.0)
    """
    document.require_kind("sensitivity")
    # The first certificates have no factor: they are of the claim as it is published.
    stated = {"factor": 1.0, **document.parameters}
    document = replace(document, parameters=stated)
    factor, update = document.positive("factor"), compute_movement(document)
    bound = factor * update.published
    ratio = update.movement / bound
    return Outcome(
        assumptions=update.assumptions,
        residuals=RESIDUALS,
        quantities={"bound": bound, "movement": update.movement, "ratio": ratio},
        summary=f"{float(ratio):.6g} times the claimed bound{format_claim_factor(document)}",
    )
