r"""ADMM sharing in exact rational arithmetic, for instances that one can follow by hand.

Every party has one column D_m of N entries and one model x_m in an interval; the loss is
``l(z) = sum_i c_i (z_i - b_i)^2 / 2`` and the regulariser ``R_m(x) = r x^2 / 2``. Then (6) and (7)
are quadratic in one variable each, and rational states stay rational:

    x_m <- the point of the interval nearest to
           -D_m'(y + rho (sum_{k != m} D_k x_k - z)) / (lambda r + rho |D_m|^2)              (6)
    z_i <- (y_i + rho (sum_m D_m x_m)_i + c_i b_i) / (c_i + rho)                             (7)
    y   <- y + rho (sum_m D_m x_m - z)                                                       (8)

A problem outside Assumption 1 is refused, with its constants as good as they can be: L is the
largest c_i, gamma(rho) is rho + min c_i, and gamma_m(rho) is lambda r + rho |D_m|^2, while
|D_m|^2 is the only eigenvalue of D_m'D_m.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dpaudit.errors import InvalidArgument

Numbers: TypeAlias = tuple[Fraction, ...]


def make_fraction_numbers(*values: Fraction | int | str) -> Numbers:
    """Return the values as fractions.

    Examples
    --------
    >>> make_fraction_numbers(1, "1/3")
    (Fraction(1, 1), Fraction(1, 3))
    """
    return tuple(Fraction(value) for value in values)


def compute_fraction_inner(one: Iterable[Fraction], other: Iterable[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def compute_squared_norm(vector: Numbers) -> Fraction:
    """Return the squared norm."""
    return compute_fraction_inner(vector, vector)


def subtract_numbers(one: Iterable[Fraction], other: Iterable[Fraction]) -> Numbers:
    """Return the difference of two vectors."""
    return tuple(a - b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, kw_only=True)
class ExactProblem:
    """An instance inside Assumption 1; the names are those of the module's docstring.

    Parameters
    ----------
    columns
        D_m of every party.
    labels, curvatures
        b_i and c_i of every sample.
    penalty, ridge
        rho, and lambda r, which may be negative: the regulariser is then smooth and nonconvex.
    interval
        X_m of every party; the whole line by default.

    Raises
    ------
    InvalidArgument
        Assumption 1 does not hold.

    Examples
    --------
    >>> one = make_fraction_numbers(1)
    >>> ExactProblem(columns=(one,), labels=one, curvatures=one, penalty=Fraction(1))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: penalty: got Fraction(1, 1), expected one that meets \
Assumption 1.2
    """

    columns: tuple[Numbers, ...]
    labels: Numbers
    curvatures: Numbers
    penalty: Fraction
    ridge: Fraction = Fraction(0)
    interval: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        smooth, modulus = self.smoothness, self.modulus
        # Parts (a) to (c) of Assumption 1.2. A problem that breaks one would make findings about
        # the theorem's conclusion worthless.
        met = self.penalty >= smooth and self.penalty * modulus > 2 * smooth**2 and modulus > 0
        for column, own in zip(self.columns, self.moduli, strict=True):
            met = met and own >= 2 * compute_squared_norm(column) > 0
        if not met:
            raise InvalidArgument("penalty", self.penalty, "one that meets Assumption 1.2")

    @property
    def smoothness(self) -> Fraction:
        """``L``."""
        return max(map(abs, self.curvatures))

    @property
    def modulus(self) -> Fraction:
        """``gamma(rho)``."""
        return self.penalty + min(self.curvatures)

    @property
    def moduli(self) -> Numbers:
        """``gamma_m(rho)`` of every party."""
        return tuple(
            self.ridge + self.penalty * compute_squared_norm(column) for column in self.columns
        )

    def slope(self, z: Numbers) -> Numbers:
        """Return ``grad l(z)``."""
        return tuple(c * (v - b) for c, v, b in zip(self.curvatures, z, self.labels, strict=True))

    def loss(self, z: Numbers) -> Fraction:
        """Return ``l(z)``."""
        # For this quadratic the loss is half the product of its gradient and z - b.
        return compute_fraction_inner(self.slope(z), subtract_numbers(z, self.labels)) / 2

    def reached(self, models: Numbers) -> Numbers:
        """Return ``sum_m D_m x_m``."""
        rows = zip(*self.columns, strict=True)
        return tuple(compute_fraction_inner(row, models) for row in rows)


@dataclass(frozen=True, kw_only=True)
class ExactState:
    """``x``, ``z`` and ``y``."""

    models: Numbers
    prediction: Numbers
    dual: Numbers


def make_zero_start(problem: ExactProblem) -> ExactState:
    """Return the paper's start, where all is 0."""
    none = tuple(Fraction(0) for _ in problem.labels)
    return ExactState(
        models=tuple(Fraction(0) for _ in problem.columns), prediction=none, dual=none
    )


def run(
    problem: ExactProblem, iterations: int, start: ExactState | None = None
) -> tuple[ExactState, ...]:
    """Return the start, by default zero, and the state after every iteration.

    Examples
    --------
    >>> one = make_fraction_numbers(1)
    >>> easy = ExactProblem(columns=(one,), labels=one, curvatures=one, penalty=Fraction(3))
    >>> [str(state.prediction[0]) for state in run(easy, 3)]
    ['0', '1/4', '7/16', '37/64']
    """
    states = [make_zero_start(problem) if start is None else start]
    for _ in range(iterations):
        states.append(advance_exact_state(problem, states[-1]))
    return tuple(states)


def advance_exact_state(problem: ExactProblem, state: ExactState) -> ExactState:
    """Return the state after one iteration of (6), (7) and (8)."""
    models = tuple(_update_exact_model(problem, state, m) for m in range(len(problem.columns)))
    reached = problem.reached(models)
    prediction = update_exact_prediction(problem, reached, state.dual)
    gap = subtract_numbers(reached, prediction)
    dual = tuple(y + problem.penalty * g for y, g in zip(state.dual, gap, strict=True))
    return ExactState(models=models, prediction=prediction, dual=dual)


def update_exact_prediction(problem: ExactProblem, reached: Numbers, dual: Numbers) -> Numbers:
    """Return the solution of (7)."""
    entries = zip(reached, dual, problem.curvatures, problem.labels, strict=True)
    rho = problem.penalty
    return tuple((y + rho * s + c * b) / (c + rho) for s, y, c, b in entries)


def _update_exact_model(problem: ExactProblem, state: ExactState, m: int) -> Fraction:
    x = state.models[m]
    # In one variable a Newton step on a quadratic is exact, and the nearest point of an interval to
    # the free minimiser is the constrained one.
    return _project_on_interval(problem, x - party_slope(problem, state, m) / problem.moduli[m])


def _project_on_interval(problem: ExactProblem, x: Fraction) -> Fraction:
    """Return the point of X_m that is nearest to x."""
    if problem.interval is None:
        return x
    low, high = problem.interval
    return min(max(x, low), high)


def party_slope(problem: ExactProblem, state: ExactState, m: int) -> Fraction:
    """Return the partial derivative of the augmented Lagrangian by x_m."""
    pull = (
        y + problem.penalty * g
        for y, g in zip(state.dual, compute_exact_gap(problem, state), strict=True)
    )
    return problem.ridge * state.models[m] + compute_fraction_inner(problem.columns[m], pull)


def compute_exact_gap(problem: ExactProblem, state: ExactState) -> Numbers:
    """Return ``sum_m D_m x_m - z``."""
    return subtract_numbers(problem.reached(state.models), state.prediction)


def compute_exact_lagrangian(problem: ExactProblem, state: ExactState) -> Fraction:
    """Return the augmented Lagrangian (5).

    Examples
    --------
    >>> one = make_fraction_numbers(1)
    >>> easy = ExactProblem(columns=(one,), labels=one, curvatures=one, penalty=Fraction(3))
    >>> compute_exact_lagrangian(easy, make_zero_start(easy))  # c b^2 / 2
    Fraction(1, 2)
    """
    apart = compute_exact_gap(problem, state)
    kept = problem.loss(state.prediction) + problem.ridge / 2 * compute_squared_norm(state.models)
    return (
        kept
        + compute_fraction_inner(state.dual, apart)
        + problem.penalty / 2 * compute_squared_norm(apart)
    )


def compute_exact_residual(problem: ExactProblem, state: ExactState) -> Fraction:
    """Return V^t: squared slopes of the augmented Lagrangian, and the squared gap.

    That by x_m is ``x_m - P(x_m - slope)``, P the nearest point of X_m: the slope itself where
    there is no constraint.
    """
    apart = compute_exact_gap(problem, state)
    pull = tuple(y + problem.penalty * g for y, g in zip(state.dual, apart, strict=True))
    slopes = tuple(party_slope(problem, state, m) for m in range(len(problem.columns)))
    moved = (
        _project_on_interval(problem, x - slope)
        for x, slope in zip(state.models, slopes, strict=True)
    )
    models = subtract_numbers(state.models, moved)
    return (
        compute_squared_norm(models)
        + compute_squared_norm(subtract_numbers(problem.slope(state.prediction), pull))
        + compute_squared_norm(apart)
    )


def compute_squared_steps(
    before: ExactState, after: ExactState
) -> tuple[Fraction, Fraction, Fraction]:
    """Return ``sum_m ||dx_m||^2``, ``||dz||^2`` and ``||dy||^2``."""
    return (
        compute_squared_norm(subtract_numbers(after.models, before.models)),
        compute_squared_norm(subtract_numbers(after.prediction, before.prediction)),
        compute_squared_norm(subtract_numbers(after.dual, before.dual)),
    )
