r"""Re-checks from a certificate alone that a run of hu2019 with bounded models alternates for ever.

Every party has one column D_m and a model in ``[-a, a]``, the loss is ``c ||z - b||^2 / 2``, and
the run begins at zero. Checked is, after the last iteration, that every model is at an end of the
interval, ``x_m = s_m a``, and that for every m

    lambda a + rho s_m D_m'S - c |D_m'b| - |rho - c| sum_i |D_mi| B_i
        >=  2 a (lambda + rho |D_m|^2)

with ``S = sum_m D_m x_m`` and ``B_i = max(|z_i|, |S_i|)``. Then the minimum of (6) is beyond the
other end for every z inside the bounds; z stays inside, as a mean of itself and of S; and -s has
the same inequality. So models alternate, and steps of z tend to ``2 rho ||S|| / (2 c + rho)``.
"""

from __future__ import annotations

from dpaudit.algorithms.sharing.verify.hu2019.iterations import (
    CertificateProblem,
    compute_column_square,
)
from dpaudit.errors import VerbatimText
from dpaudit.verification import Document, Outcome
from dpaudit.verification.reals import Matrix, Real, largest, smallest, sqrt, total, vector

ALTERNATING = "alternating models"
_LONGEST = 400  # iterations


def verify_alternating_run(document: Document, problem: CertificateProblem) -> Outcome:
    """Return every assumption, how long the last step of z is, and the limit of these steps.

    Raises
    ------
    DataError
        A parameter is outside its domain, or a model ends inside its interval.
    """
    a, factor = document.positive("half_width", "factor")
    last = document.count("last")
    if not 3 <= last <= _LONGEST:
        raise document.refused("parameters.last", last, f"from 3 to {_LONGEST}")
    models, predictions = _run_bounded_models(problem, a, last)
    steps = [
        sqrt(compute_column_square(after - before))
        for before, after in (predictions[:2], predictions[-2:])
    ]
    if not steps[0] > 0:
        raise document.refused("instance", VerbatimText("a z that does not move"), "a step")
    signs = [_read_corner_sign(document, x, a) for x in models]
    reached = _sum_scaled_designs(problem, models)
    rho, c = problem.rho, problem.weight
    limit = 2 * rho * sqrt(compute_column_square(reached)) / (2 * c + rho)
    value = steps[1] / steps[0]
    margin = _compute_alternation_margin(problem, a, signs, reached, predictions[-1])
    return Outcome(
        assumptions=problem.assumptions()
        | {"reached by an iteration": (2, 2), ALTERNATING: (1, margin)},
        quantities={
            "last step of z over the first": value,
            "limit of the steps of z": limit,
            "ratio": value / factor,
        },
        summary=f"models alternate between {-float(a):g} and {float(a):g} for ever, and steps of z "
        f"tend to {float(limit):.6g}, not to 0",
        reservations=() if factor == 1 else (f"{float(factor):g} times what is claimed allowed",),
    )


def _run_bounded_models(
    problem: CertificateProblem, a: Real, last: int
) -> tuple[list[Real], list[Matrix]]:
    """Return the last models, and z after every iteration."""
    rho, c, ridge = problem.rho, problem.weight, problem.ridge
    labels = vector(problem.labels)
    models, z, y = [Real(0)] * len(problem.designs), 0 * labels, 0 * labels
    predictions = []
    for _ in range(last):
        gap = _sum_scaled_designs(problem, models) - z
        models = [
            _clip_to_half_width(
                x
                - (ridge * x + _multiply_columns(d, y + rho * gap))
                / (ridge + rho * compute_column_square(d)),
                a,
            )
            for d, x in zip(problem.designs, models, strict=True)
        ]
        reached = _sum_scaled_designs(problem, models)
        z = (y + rho * reached + c * labels) * (1 / (c + rho))
        y = y + rho * (reached - z)
        predictions.append(z)
    return models, predictions


def _clip_to_half_width(point: Real, a: Real) -> Real:
    return smallest((largest((point, -a)), a))


def _read_corner_sign(document: Document, x: Real, a: Real) -> int:
    if x == a:
        return 1
    if x == -a:
        return -1
    raise document.refused("instance", VerbatimText("a model inside its interval"), "one at an end")


def _compute_alternation_margin(
    problem: CertificateProblem, a: Real, signs: list[int], reached: Matrix, z: Matrix
) -> Real:
    """Return the least left side of the inequality over its right side."""
    rho, c, ridge = problem.rho, problem.weight, problem.ridge
    labels = vector(problem.labels)
    pairs = zip(z.entries(), reached.entries(), strict=True)
    reach = [largest((abs(one), abs(other))) for one, other in pairs]
    found = []
    for sign, design in zip(signs, problem.designs, strict=True):
        spread = total(abs(d) * b for d, b in zip(design.entries(), reach, strict=True))
        left = ridge * a + rho * sign * _multiply_columns(design, reached)
        left -= c * abs(_multiply_columns(design, labels)) + abs(rho - c) * spread
        found.append(left / (2 * a * (ridge + rho * compute_column_square(design))))
    return smallest(found)


def _sum_scaled_designs(problem: CertificateProblem, models: list[Real]) -> Matrix:
    parts = [x * design for design, x in zip(problem.designs, models, strict=True)]
    return sum(parts[1:], parts[0])


def _multiply_columns(one: Matrix, other: Matrix) -> Real:
    return (one.T * other)[0, 0]
