r"""Re-checks from the certificate alone that iterations of hu2019 do not settle.

Steps of z grow (`dpaudit.algorithms.sharing.verify.hu2019.growth`), so that they do not tend to 0,
and neither does ``sum_m D_m x_m - z``, which is ``L / rho`` times the last of them.
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
    return grown(document, "they do not tend to 0")
