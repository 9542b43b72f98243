"""Re-checks a violation of Note 1 of Huang & Gong: equal records, of which a batch is the whole.

The run is that of Algorithm 1, and so are both sides of eq. (24).
"""

from __future__ import annotations

from dpaudit.algorithms.multistep.verify import theorem7
from dpaudit.verification import Document, Outcome


def recompute(document: Document) -> Outcome:
    """Return every assumption, and both sides of eq. (24), as of Theorem 7.

    Raises
    ------
    DataError
        A parameter is outside its domain, or an array does not have the shape they say.
    """
    return theorem7.recompute(document)
