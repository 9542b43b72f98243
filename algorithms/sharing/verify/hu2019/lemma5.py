r"""Re-checks from the certificate alone that the augmented Lagrangian of hu2019 has no limit.

Steps of z grow (`dpaudit.algorithms.sharing.verify.hu2019.growth`), and the Lagrangian is at least
a constant plus ``(rho - L) L^2 / (2 rho^2)`` times the square of the last of them. The number is
the last Lagrangian of the run over its first one, which (5) gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.algorithms.sharing.verify.hu2019.growth import verify_growing_run
from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    CertificateProblem,
    CertificateState,
    compute_lagrangian_real,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real


def recompute(document: Document) -> Outcome:
    """Return every assumption, by how much steps of z grow, and the last Lagrangian.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or the stated
        number is no eigenvalue that the step has.
    """
    return verify_growing_run(
        document,
        "last augmented Lagrangian over the first",
        _last_over_first,
        "the augmented Lagrangian has no limit",
    )


def _last_over_first(problem: CertificateProblem, states: Sequence[CertificateState]) -> Real:
    return compute_lagrangian_real(problem, states[-1]) / compute_lagrangian_real(
        problem, states[0]
    )
