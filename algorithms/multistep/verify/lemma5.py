"""Re-checks a movement of one inner update (Huang & Gong, Lemma 5) from the certificate alone.

The update (13a) is ``(-grad L_i(w) + what both datasets share) / (2 rho |V_i| + eta)``, with
``L_i`` the mean loss of the node's m records, so that the two updates differ by the gradients of
one record over ``(2 rho |V_i| + eta) m``. The claim is a movement of at most
``2 c_1 / ((2 rho |V_i| + eta) m)``, times the certificate's factor.
"""

from __future__ import annotations

from dpaudit.algorithms.multistep.verify.node import (
    LAST_DIGIT,
    LIPSCHITZ,
    compute_record_gradient,
    read_node_graph,
    read_record_pair,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, norm


def recompute(document: Document) -> Outcome:
    """Return every assumption and the claim, recomputed from the instance.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.

    Examples
    --------
    >>> from dpaudit.verification import Document
    >>> outcome = recompute(
    ...     Document(
    ...         path="c.json",
    ...         claim="huang2020-lemma5",
    ...         parameters={
    ...             "loss": "linear", "penalty": 1.0, "nodes": 2, "edges": 1, "node": 0,
    ...             "node_size": 2, "dimension": 1, "eta": 2.0, "factor": 0.5,
    ...         },
    ...         quantities={},
    ...         assumptions={},
    ...         instance={
    ...             "record": [1.0], "replacement": [-1.0], "model": [0.0], "edges": [[0, 1]],
    ...         },
    ...     )
    ... )
    >>> [float(outcome.quantities[name]) for name in ("movement", "bound", "ratio")]
    [0.25, 0.125, 2.0]
    """
    document.require_kind("sensitivity")
    rho, eta, factor = document.positive("penalty", "eta", "factor")
    degree, components = read_node_graph(document)
    record, replacement, longest = read_record_pair(document)
    model = [Real(x) for x in document.array("model", (len(record),))]
    here, there = (compute_record_gradient(document, one, model) for one in (record, replacement))
    unit = (2 * rho * degree + eta) * document.count("node_size")
    moved = norm([one - other for one, other in zip(here, there, strict=True)]) / unit
    # c_1 of the loss belongs to records of norm at most 1, to which the pair was shrunk.
    bound = factor * 2 * LIPSCHITZ / unit
    return Outcome(
        assumptions={
            "bounded records": (longest, 1 + LAST_DIGIT),
            "connected graph": (components, 1),
        },
        quantities={"bound": bound, "movement": moved, "ratio": moved / bound},
        summary=f"{float(moved / bound):.6g} times the bound of {float(bound):.6g}, which is "
        f"{float(factor):g} times that of Lemma 5",
    )
