r"""ADMM sharing as the verifiers of hu2019's lemmas run it again, from a certificate alone.

    x_m <- -(lambda I + rho D_m'D_m)^-1 D_m'(y + rho (sum_{k != m} D_k x_k - z))         (6)
    z_i <- the zero of  weight l_i'(z_i) + rho z_i - y_i - rho (sum_m D_m x_m)_i         (7)
    y   <- y + rho (sum_m D_m x_m - z)                                                   (8)

All numbers are those of the caller's precision. The losses are functions of one prediction z and a
label b of -1 or +1; L and the least curvature of each are in `LOSSES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import eigsy, exp, eye, log, lu_solve, matrix, mp, mpf, norm, sqrt

from dpaudit.errors import Shown
from dpaudit.verification import Document

MOST_ITERATIONS = 50
_MOST_STEPS = 2_000  # of the solver of (7); bisection alone needs a few hundred
_STRICT = 1 - mpf("1e-12")  # where the paper has "<"
_RANK = mpf("1e-9")


@dataclass(frozen=True)
class Loss:
    """A loss of one sample: value, slope, and curvatures as `mpmath` numbers."""

    value: Callable[[Any, Any], Any]
    slope: Callable[[Any, Any], Any]
    smoothness: Callable[[], Any]
    least_curvature: Callable[[], Any]


def _hinge(z: Any, b: Any) -> Any:
    m = b * z
    return mpf(1) / 2 - m if m < 0 else max(1 - m, mpf(0)) ** 2 / 2


def _hinge_slope(z: Any, b: Any) -> Any:
    return -b * min(max(1 - b * z, mpf(0)), mpf(1))


def _wrong(z: Any, b: Any) -> Any:
    return 1 / (1 + exp(b * z))


def _steepest() -> Any:
    return 1 / (6 * sqrt(mpf(3)))


LOSSES = {
    "squared": Loss(
        lambda z, b: (z - b) ** 2 / 2, lambda z, b: z - b, lambda: mpf(1), lambda: mpf(1)
    ),
    "logistic": Loss(
        lambda z, b: log(1 + exp(-b * z)),
        lambda z, b: -b * _wrong(z, b),
        lambda: mpf(1) / 4,
        lambda: mpf(0),
    ),
    "smoothed-hinge": Loss(_hinge, _hinge_slope, lambda: mpf(1), lambda: mpf(0)),
    "sigmoid": Loss(
        _wrong,
        lambda z, b: -b * _wrong(z, b) * (1 - _wrong(z, b)),
        _steepest,
        lambda: -_steepest(),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Public parameters and data of a certificate."""

    loss: Loss
    weight: Any
    rho: Any
    ridge: Any
    designs: list[Any]
    labels: list[Any]

    @property
    def smoothness(self) -> Any:
        """``L``."""
        return self.weight * self.loss.smoothness()

    @property
    def modulus(self) -> Any:
        """``gamma(rho)``."""
        return self.rho + self.weight * self.loss.least_curvature()

    def spectra(self) -> list[tuple[Any, Any]]:
        """Return the least and the largest eigenvalue of every D_m'D_m."""
        found = [eigsy(design.T * design, eigvals_only=True) for design in self.designs]
        return [(min(values), max(values)) for values in found]

    def moduli(self) -> list[Any]:
        """Return ``gamma_m(rho)`` of every party."""
        return [self.ridge + self.rho * least for least, _ in self.spectra()]

    def assumptions(self) -> dict[str, tuple[Any, Any]]:
        """Return every number of Assumption 1 and its limit."""
        smooth, gamma, spectra = self.smoothness, self.modulus, self.spectra()
        flat = sum(least <= _RANK * largest for least, largest in spectra)
        against = max(
            2 * largest / modulus if modulus > 0 else mp.inf
            for (_, largest), modulus in zip(spectra, self.moduli(), strict=True)
        )
        dominated = 2 * smooth**2 / (self.rho * gamma) if gamma > 0 else mpf(2)
        return {
            "full column rank": (mpf(flat), mpf(0)),
            "strongly convex parties": (against, mpf(1)),
            "signed labels": (max(abs(abs(b) - 1) for b in self.labels), mpf(0)),
            "penalty above smoothness": (smooth / self.rho, mpf(1)),
            "penalty against smoothness": (dominated, _STRICT),
        }


@dataclass(frozen=True, kw_only=True)
class State:
    """Models of all parties, prediction and dual variable."""

    models: list[Any]
    prediction: Any
    dual: Any


def problem_of(document: Document) -> Problem:
    """Return the problem, or raise `DataError` naming what is wrong."""
    m, n, d = (document.count(name) for name in ("parties", "samples", "features"))
    weight, rho = document.positive("loss_weight", "penalty")
    problem = Problem(
        loss=LOSSES[document.choice("loss", *LOSSES)],
        weight=weight,
        rho=rho,
        ridge=document.at_least(0, "regulariser_weight"),
        designs=[matrix(design) for design in document.array("designs", (m, n, d))],
        labels=[mpf(label) for label in document.array("labels", (n,))],
    )
    if problem.modulus <= 0:
        expected = f"above {float(problem.smoothness)}: (7) may have several minima"
        raise document.refused("parameters.penalty", float(rho), expected)
    return problem


def audited_step(document: Document, problem: Problem) -> tuple[State, State]:
    """Return the states before and after the audited iteration, run from the start."""
    iteration = document.count("iteration")
    if iteration > MOST_ITERATIONS:
        raise document.refused("parameters.iteration", iteration, f"at most {MOST_ITERATIONS}")
    _solvable(document, problem)
    m, n, d = (document.count(name) for name in ("parties", "samples", "features"))
    after = State(
        models=[matrix(model) for model in document.array("models", (m, d))],
        prediction=matrix(document.array("prediction", (n,))),
        dual=matrix(document.array("dual", (n,))),
    )
    before = after
    for _ in range(iteration):
        before, after = after, advanced(problem, after)
    return before, after


def _solvable(document: Document, problem: Problem) -> None:
    """Refuse equations that cost 50-digit arithmetic more than half of its digits."""
    for (_, largest), modulus in zip(problem.spectra(), problem.moduli(), strict=True):
        if modulus <= mpf(10) ** -25 * (problem.ridge + problem.rho * largest):
            raise document.refused(
                "instance.designs", Shown("a block of dependent columns"), "full column rank"
            )


def advanced(problem: Problem, state: State) -> State:
    """Return the state after one iteration."""
    parts = [design * x for design, x in zip(problem.designs, state.models, strict=True)]
    gap, rho = _total(parts) - state.prediction, problem.rho
    models = []
    for design, part in zip(problem.designs, parts, strict=True):
        curvature = problem.ridge * eye(design.cols) + rho * (design.T * design)
        pull = state.dual + rho * (gap - part)
        models.append(lu_solve(curvature, -(design.T * pull)))
    total = _total([design * x for design, x in zip(problem.designs, models, strict=True)])
    linear = state.dual + rho * total
    solved = (_minimiser(problem, a, b) for a, b in zip(linear, problem.labels, strict=True))
    prediction = matrix(list(solved))
    return State(models=models, prediction=prediction, dual=linear - rho * prediction)


def lagrangian(problem: Problem, state: State) -> Any:
    """Return the augmented Lagrangian (5)."""
    losses = (
        problem.loss.value(z, b) for z, b in zip(state.prediction, problem.labels, strict=True)
    )
    parts = [design * x for design, x in zip(problem.designs, state.models, strict=True)]
    gap = _total(parts) - state.prediction
    kept = problem.weight * sum(losses)
    kept += problem.ridge / 2 * sum(norm(x) ** 2 for x in state.models)
    return kept + (state.dual.T * gap)[0] + problem.rho / 2 * norm(gap) ** 2


def _total(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])


def _minimiser(problem: Problem, linear: Any, label: Any) -> Any:
    """Return the zero of an increasing function: secants inside a bracket that is also halved."""

    def slope(z: Any) -> Any:
        return problem.weight * problem.loss.slope(z, label) + problem.rho * z - linear

    z = linear / problem.rho
    reach = abs(slope(z)) / problem.modulus
    low, high = z - reach, z + reach
    at_low, at_high = slope(low), slope(high)
    for count in range(_MOST_STEPS):
        if at_low >= 0 or at_high <= 0 or high - low <= mp.eps * (1 + abs(low)):
            break
        middle = low + (high - low) / 2
        if count % 2:
            middle = low - at_low * (high - low) / (at_high - at_low)
        value = slope(middle)
        if value <= 0:
            low, at_low = middle, value
        if value >= 0:
            high, at_high = middle, value
    return low if -at_low <= at_high else high
