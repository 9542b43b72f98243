"""Re-checks the refutation of hu2019's Corollary 1: a first message of only one dataset."""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2020.corollary1 import first_message
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
    return first_message(document, "whitened")
