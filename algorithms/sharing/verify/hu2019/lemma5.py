r"""Re-checks from the certificate alone that the augmented Lagrangian of hu2019 has no limit.

Steps of z grow (`dpaudit.algorithms.sharing.verify.hu2019.growth`), and the Lagrangian is at least
a constant plus ``(rho - L) L^2 / (2 rho^2)`` times the square of the last of them.
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
    return grown(document, "the augmented Lagrangian has no limit")
