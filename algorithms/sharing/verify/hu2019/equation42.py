r"""Re-checks from the certificate alone that no bound on the sum of V^t holds for hu2019.

Steps of z grow (`dpaudit.algorithms.sharing.verify.hu2019.growth`), and V^t with them: no C makes
(42) true. The number is of (42) with the C that the paper has, ``C_1 / C_2``: T times the least
V^t, over ``C (L^1 - f)`` with f = 0, a lower bound of the objective. C_2 is that of (39), and

    C_1 = max(max_m ((lambda + rho s_m)^2 + k rho^2 s_m), k (L + rho)^2),  k = (M + 1)(1 + 1/rho^2),

with ``s_m = sigma_max(D_m'D_m)``: (38) is true with it, and has none in numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpaudit.algorithms.sharing.verify.hu2019.growth import verify_growing_run
from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    CertificateProblem,
    CertificateState,
    compute_column_square,
    compute_lagrangian_real,
)
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Real, largest, smallest, total, vector


def recompute(document: Document) -> Outcome:
    """Return every assumption, by how much steps of z grow, and the least V^t of the run.

    Raises
    ------
    DataError
        A parameter is outside its domain, an array does not have the shape they say, or the stated
        number is no eigenvalue that the step has.
    """
    return verify_growing_run(
        document,
        "T times the least V^t over C (L^1 - f)",
        _least_residual,
        "no C bounds the sum of V^t",
    )


def _least_residual(problem: CertificateProblem, states: Sequence[CertificateState]) -> Real:
    least = smallest(compute_sharing_residual(problem, state) for state in states)
    return (
        len(states)
        * least
        / (compute_equation42_constant(problem) * compute_lagrangian_real(problem, states[0]))
    )


def compute_sharing_residual(problem: CertificateProblem, state: CertificateState) -> Real:
    """Return V^t: squared gradients of the augmented Lagrangian, and the squared gap."""
    parts = [design * x for design, x in zip(problem.designs, state.models, strict=True)]
    gap = sum(parts[1:], parts[0]) - state.prediction
    pull = state.dual + problem.rho * gap
    entries = zip(state.prediction.entries(), problem.labels, strict=True)
    slopes = vector(problem.weight * problem.loss.slope(z, b) for z, b in entries)
    models = (
        compute_column_square(problem.ridge * x + design.T * pull)
        for design, x in zip(problem.designs, state.models, strict=True)
    )
    return total(models) + compute_column_square(slopes - pull) + compute_column_square(gap)


def compute_equation42_constant(problem: CertificateProblem) -> Real:
    """Return ``C_1 / C_2``."""
    rho, smooth, tops = problem.rho, problem.smoothness, [top for _, top in problem.spectra]
    shared = (len(tops) + 1) * (1 + 1 / rho**2)
    models = [(problem.ridge + rho * top) ** 2 + shared * rho**2 * top for top in tops]
    first = largest([*models, shared * (smooth + rho) ** 2])
    return first / smallest((total(problem.moduli) / 2, problem.modulus / 2 - smooth**2 / rho))
