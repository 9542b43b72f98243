"""Re-checks the refutation of hu2019's Theorem 1: one message that only one dataset can send."""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2020.support import verify_message_support
from dpaudit.verification import Document, Outcome


def recompute(document: Document) -> Outcome:
    """Return every assumption and quantity, recomputed from the instance.

    Raises
    ------
    DataError
        The kind or the variant is another, a parameter is outside its domain, or an array does not
        have the shape they say.
    """
    document.require_kind("support")
    document.choice("variant", "whitened")
    epsilon, delta, _ = document.positive("epsilon", "delta", "factor")
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value > 1:
            raise document.refused(f"parameters.{name}", float(value), "at most 1")
    return verify_message_support(document, delta)
