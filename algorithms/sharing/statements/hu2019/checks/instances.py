"""The instances of Assumption 1 on which the convergence proofs of hu2019 are tried.

All have one sample with the label 1, columns D_m = 1 and the loss ``c (z - 1)^2 / 2``; runs begin
at the paper's start, where all is 0.
"""

from __future__ import annotations

from fractions import Fraction

from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    ExactProblem,
    ExactState,
    make_fraction_numbers,
)

ONE = make_fraction_numbers(1)


def equal_columns(
    parties: int,
    penalty: int,
    curvature: int = 1,
    *,
    ridge: Fraction = Fraction(0),
    interval: tuple[Fraction, Fraction] | None = None,
) -> ExactProblem:
    """Return parties with the column 1.

    Examples
    --------
    >>> equal_columns(2, 3).moduli
    (Fraction(3, 1), Fraction(3, 1))
    """
    return ExactProblem(
        columns=(ONE,) * parties,
        labels=ONE,
        curvatures=make_fraction_numbers(curvature),
        penalty=Fraction(penalty),
        ridge=ridge,
        interval=interval,
    )


def make_bounded_models_problem() -> ExactProblem:
    """Return three parties with models in [-2, 2], rho = 10 and c = 9: a run that never settles.

    See `make_limit_cycle`.
    """
    return equal_columns(3, 10, 9, interval=(Fraction(-2), Fraction(2)))


def make_limit_cycle() -> tuple[ExactState, ExactState]:
    r"""Return the two limit points between which `make_bounded_models_problem` alternates.

    With ``e = c/rho = 9/10``, equal models x and ``y = c (z - 1)`` (Lemma 2) the iterations are

        x' = the point of [-2, 2] nearest to (1 - e) z - 2 x + e,    z' = (e z + 3 x') / (1 + e).

    ``|z| <= 6`` stays true once it is, as ``|3 x'| <= 6``. Then x = 2 is followed by x = -2, for
    ``z/10 - 4 + 9/10 <= -5/2``, and -2 by 2, for ``z/10 + 4 + 9/10 >= 43/10``. From zero x = 2 is
    reached after four iterations, with ``|z| <= 6``: from there on x alternates. In this
    alternation ``z' = (e z + 6)/(1 + e)`` after 2 and ``(e z - 6)/(1 + e)`` after -2: a contraction
    by ``9/19`` with the alternating solution ``z = 6/(1 + 2 e) = 15/7`` and ``-15/7``, to which z
    converges. So the run has these two limit points, and a step of z tends to ``30/7``.
    """
    points = []
    for x, z in ((2, Fraction(15, 7)), (-2, Fraction(-15, 7))):
        points.append(
            ExactState(models=make_fraction_numbers(x, x, x), prediction=(z,), dual=(9 * (z - 1),))
        )
    first, second = points
    return first, second


def at_rest() -> tuple[ExactProblem, ExactState]:
    """Return one party with a model in [-1/2, 1/2], and a state at which nothing moves any more.

    The constraint is active: ``x = z = 1/2`` and ``y = z - 1 = -1/2``.
    """
    half = Fraction(1, 2)
    problem = equal_columns(1, 3, interval=(-half, half))
    return problem, ExactState(models=(half,), prediction=(half,), dual=(-half,))


def two_curvatures() -> ExactProblem:
    """Return one party with two samples, of which the losses have curvatures 1 and 1/2."""
    return ExactProblem(
        columns=(make_fraction_numbers(1, 1),),
        labels=make_fraction_numbers(1, 1),
        curvatures=make_fraction_numbers(1, "1/2"),
        penalty=Fraction(3),
    )
