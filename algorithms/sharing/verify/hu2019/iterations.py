r"""ADMM sharing as the verifiers of hu2019's lemmas run it again, from a certificate alone.

    x_m <- -(lambda I + rho D_m'D_m)^-1 D_m'(y + rho (sum_{k != m} D_k x_k - z))         (6)
    z_i <- the zero of  weight l_i'(z_i) + rho z_i - y_i - rho (sum_m D_m x_m)_i         (7)
    y   <- y + rho (sum_m D_m x_m - z)                                                   (8)

The losses are functions of one prediction z and a label b of -1 or +1; L and the least curvature of
each are in `LOSSES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dpaudit.errors import VerbatimText
from dpaudit.verification import Document
from dpaudit.verification.reals import (
    Matrix,
    Number,
    Real,
    exp,
    identity,
    largest,
    log,
    root,
    sigmoid,
    smallest,
    sqrt,
    total,
    vector,
)

MOST_ITERATIONS = 50
_STRICT = 1 - 1e-12  # where the paper has "<"
_RANK = 1e-9
_DEPENDENT = 1e-25


@dataclass(frozen=True)
class LossFunctions:
    """A loss of one sample: value and slope, and its curvatures."""

    value: Callable[[Real, Real], Real]
    slope: Callable[[Real, Real], Real]
    smoothness: Callable[[], Number]
    least_curvature: Callable[[], Number]


def _compute_logistic_real(z: Real, b: Real) -> Real:
    """Return ``log(1 + exp(-b z))``, however large z is."""
    m = b * z
    return largest((-m, 0)) + log(1 + exp(-abs(m)))


def _compute_smoothed_hinge_real(z: Real, b: Real) -> Real:
    """Return (1 - m)^2 / 2 for margins m from 0 to 1, and its linear continuation below 0."""
    m = b * z
    return largest((1 - largest((m, 0)), 0)) ** 2 / 2 - smallest((m, 0))


def _hinge_slope(z: Real, b: Real) -> Real:
    return -b * smallest((largest((1 - b * z, 0)), 1))


def _compute_wrong_probability(z: Real, b: Real) -> Real:
    return sigmoid(-b * z)


def _get_steepest_curvature() -> Real:
    return 1 / (6 * sqrt(3))


LOSSES = {
    "squared": LossFunctions(
        lambda z, b: (z - b) ** 2 / 2, lambda z, b: z - b, lambda: 1, lambda: 1
    ),
    "logistic": LossFunctions(
        _compute_logistic_real,
        lambda z, b: -b * _compute_wrong_probability(z, b),
        lambda: Real(1) / 4,
        lambda: 0,
    ),
    "smoothed-hinge": LossFunctions(
        _compute_smoothed_hinge_real, _hinge_slope, lambda: 1, lambda: 0
    ),
    "sigmoid": LossFunctions(
        _compute_wrong_probability,
        lambda z, b: -b * _compute_wrong_probability(z, b) * (1 - _compute_wrong_probability(z, b)),
        _get_steepest_curvature,
        lambda: -_get_steepest_curvature(),
    ),
}


@dataclass(frozen=True, kw_only=True)
class CertificateProblem:
    """Public parameters and data of a certificate."""

    loss: LossFunctions
    weight: Real
    rho: Real
    ridge: Real
    designs: list[Matrix]
    labels: list[Real]

    @property
    def smoothness(self) -> Real:
        """``L``."""
        return self.weight * self.loss.smoothness()

    @property
    def modulus(self) -> Real:
        """``gamma(rho)``."""
        return self.rho + self.weight * self.loss.least_curvature()

    @cached_property
    def spectra(self) -> list[tuple[Real, Real]]:
        """The least and the largest eigenvalue of every D_m'D_m."""
        found = [(design.T * design).eigenvalues() for design in self.designs]
        return [(smallest(values), largest(values)) for values in found]

    @property
    def moduli(self) -> list[Real]:
        """``gamma_m(rho)`` of every party."""
        return [self.ridge + self.rho * least for least, _ in self.spectra]

    def assumptions(self) -> dict[str, tuple[Number, Number]]:
        """Return every number of Assumption 1 and its limit."""
        smooth, gamma = self.smoothness, self.modulus
        flat = sum(least <= _RANK * largest_of for least, largest_of in self.spectra)
        # A modulus of 0 or less breaks both of the last two, whatever number says so.
        against = [
            2 * top / modulus if modulus > 0 else Real(2)
            for (_, top), modulus in zip(self.spectra, self.moduli, strict=True)
        ]
        dominated = 2 * smooth**2 / (self.rho * gamma) if gamma > 0 else Real(2)
        return {
            "full column rank": (flat, 0),
            "strongly convex parties": (largest(against), 1),
            "signed labels": (largest(abs(abs(b) - 1) for b in self.labels), 0),
            "penalty above smoothness": (smooth / self.rho, 1),
            "penalty against smoothness": (dominated, _STRICT),
        }


@dataclass(frozen=True, kw_only=True)
class CertificateState:
    """Models of all parties, prediction and dual variable."""

    models: list[Matrix]
    prediction: Matrix
    dual: Matrix


def problem_of(document: Document) -> CertificateProblem:
    """Return the problem, or raise `DataError` naming the wrong value."""
    m, n, d = (document.count(name) for name in ("parties", "samples", "features"))
    weight, rho = document.positive("loss_weight", "penalty")
    problem = CertificateProblem(
        loss=LOSSES[document.choice("loss", *LOSSES)],
        weight=weight,
        rho=rho,
        ridge=document.at_least(0, "regulariser_weight"),
        designs=[Matrix(design) for design in document.array("designs", (m, n, d))],
        labels=[Real(label) for label in document.array("labels", (n,))],
    )
    if problem.modulus <= 0:
        expected = f"above {float(problem.smoothness)}: (7) may have several minima"
        raise document.refused("parameters.penalty", float(rho), expected)
    return problem


def run_to_audited_step(
    document: Document, problem: CertificateProblem
) -> tuple[CertificateState, CertificateState]:
    """Return the states before and after the audited iteration, run from the start."""
    iteration = document.count("iteration")
    if iteration > MOST_ITERATIONS:
        raise document.refused("parameters.iteration", iteration, f"at most {MOST_ITERATIONS}")
    _require_solvable_designs(document, problem)
    m, n, d = (document.count(name) for name in ("parties", "samples", "features"))
    after = CertificateState(
        models=[vector(model) for model in document.array("models", (m, d))],
        prediction=vector(document.array("prediction", (n,))),
        dual=vector(document.array("dual", (n,))),
    )
    before = after
    for _ in range(iteration):
        before, after = after, run_sharing_iteration(problem, after)
    return before, after


def _require_solvable_designs(document: Document, problem: CertificateProblem) -> None:
    """Refuse blocks of columns that nearly depend on one another."""
    for (_, top), modulus in zip(problem.spectra, problem.moduli, strict=True):
        if modulus <= _DEPENDENT * (problem.ridge + problem.rho * top):
            raise document.refused(
                "instance.designs", VerbatimText("a block of dependent columns"), "full column rank"
            )


def run_sharing_iteration(problem: CertificateProblem, state: CertificateState) -> CertificateState:
    """Return the state after one iteration."""
    parts = [design * x for design, x in zip(problem.designs, state.models, strict=True)]
    rho, gap = problem.rho, _sum_matrices(parts) - state.prediction
    models = []
    for design, part in zip(problem.designs, parts, strict=True):
        curvature = problem.ridge * identity(design.cols) + rho * (design.T * design)
        pull = state.dual + rho * (gap - part)
        models.append(curvature.solve(-(design.T * pull)))
    reached = _sum_matrices([design * x for design, x in zip(problem.designs, models, strict=True)])
    linear = state.dual + rho * reached
    pairs = zip(linear.entries(), problem.labels, strict=True)
    prediction = vector(_find_prediction_minimiser(problem, a, b) for a, b in pairs)
    return CertificateState(models=models, prediction=prediction, dual=linear - rho * prediction)


def compute_lagrangian_real(problem: CertificateProblem, state: CertificateState) -> Real:
    """Return the augmented Lagrangian (5)."""
    pairs = zip(state.prediction.entries(), problem.labels, strict=True)
    parts = [design * x for design, x in zip(problem.designs, state.models, strict=True)]
    gap = _sum_matrices(parts) - state.prediction
    kept = problem.weight * total(problem.loss.value(z, b) for z, b in pairs)
    kept += problem.ridge / 2 * total(compute_column_square(x) for x in state.models)
    return kept + (state.dual.T * gap)[0, 0] + problem.rho / 2 * compute_column_square(gap)


def compute_column_square(column: Matrix) -> Real:
    """Return the squared Euclidean length."""
    return total(entry**2 for entry in column.entries())


def _sum_matrices(parts: list[Matrix]) -> Matrix:
    return sum(parts[1:], parts[0])


def _find_prediction_minimiser(problem: CertificateProblem, linear: Real, label: Real) -> Real:
    """Return the solution of (7); its left side rises by at least ``gamma(rho)``."""

    def slope(z: Real) -> Real:
        return problem.weight * problem.loss.slope(z, label) + problem.rho * z - linear

    return root(slope, problem.modulus, linear / problem.rho)
