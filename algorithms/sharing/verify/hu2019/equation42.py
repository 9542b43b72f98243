r"""Re-checks from the certificate alone that no bound on the sum of V^t holds for hu2019.

Steps of z grow (`dpaudit.algorithms.sharing.verify.hu2019.growth`), and V^t, of which the square of
``sum_m D_m x_m - z`` is a part, with them: ``L / rho`` times the last step of z is this difference
for the squared loss.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2019.growth import grown
from dpaudit.verification import Document, Outcome


def recompute(document: Document) -> Outcome:
    """Return every assumption, and by how much steps of z grow in an iteration.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or the stated
        number is no eigenvalue that the step has.
    """
    return grown(document, "the sum of V^t has no bound")
