r"""Re-checks from the certificate alone that iterations of hu2019 do not settle.

Steps of z grow (`dpaudit.algorithms.sharing.verify.hu2019.growth`), so that they do not tend to 0,
and neither does ``sum_m D_m x_m - z``, which is ``L / rho`` times the last of them. Or models are
bounded and alternate (`dpaudit.algorithms.sharing.verify.hu2019.alternation`). The number is how
long the last step of the run is over its first one.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.algorithms.sharing.verify.hu2019.alternation import verify_alternating_run
from dpaudit.algorithms.sharing.verify.hu2019.growth import verify_growing_run
from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    CertificateProblem,
    CertificateState,
    compute_column_square,
    problem_of,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, sqrt


def recompute(document: Document) -> Outcome:
    """Return every assumption, that steps of z grow or models alternate, and the last step.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or the stated
        number is no eigenvalue that the step has.
    """
    if "half_width" in document.parameters:
        document.require_kind("property")
        document.choice("loss", "squared")
        if document.count("features") != 1:
            raise document.refused("parameters.features", document.count("features"), "1")
        return verify_alternating_run(document, problem_of(document))
    return verify_growing_run(
        document, "last step of z over the first", _last_over_first, "they do not tend to 0"
    )


def _last_over_first(_: CertificateProblem, states: Sequence[CertificateState]) -> Real:
    first, last = (
        sqrt(compute_column_square(after.prediction - before.prediction))
        for before, after in (states[:2], states[-2:])
    )
    return last / first
