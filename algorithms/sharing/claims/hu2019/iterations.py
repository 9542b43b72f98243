r"""Iterations of ADMM sharing on many problems at once, for the lemmas of hu2019's supplement.

| paper        | name                  | meaning                                    | shape        |
|--------------|-----------------------|--------------------------------------------|--------------|
| M, d_m, N    | parties, features, .. | every party has the same number of features| scalars      |
| rho, lambda  | penalty, ..           | R is half the squared norm; X_m is R^d     | scalars      |
| l            | loss, loss_weight     | ``weight sum_i l_i(z_i)``, labels -1 or +1 |              |
| L            | ``smoothness``        | Lipschitz constant of grad l               | scalar       |
| gamma(rho)   | ``modulus``           | of (7): rho + the least curvature of l     | scalar       |
| gamma_m(rho) | ``moduli``            | of (6): lambda + rho sigma_min(D_m'D_m)    | (B, M)       |
| sigma_max    | ``largest``           | largest eigenvalue of D_m'D_m              | (B, M)       |
| D_m          | ``designs``           | problems B, parties M                      | (B, M, N, d) |
| x_m          | ``models``            |                                            | (B, M, d)    |
| D_m x_m      | ``parts``             |                                            | (B, M, N)    |
| z, y         | prediction, dual      |                                            | (B, N)       |

The moduli are the largest for which (6) and (7) are strongly convex, so that every statement with
them is the strongest that the paper makes. `dpaudit.algorithms.sharing.algorithm` runs one problem
in many trials; here every problem is another one, which is what a search over problems needs.

Iteration 1 goes from the start to the first iterate. The paper's states with ``t >= 1`` and a dual
variable that is a slope (Lemma 2) are those before iteration 2 and later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.sample_losses import SampleLoss, sample_loss_called
from dpaudit.algorithms.sharing.entrywise import ScalarProblem
from dpaudit.errors import InvalidArgument
from dpaudit.refutation import Condition, Evidence

STRICT = 1 - 1e-12  # where the paper has "<"
RANK = 1e-9  # least over largest eigenvalue of a block that counts as of full column rank
# What rounding may add to a sum, relative to the size of its terms. The solver of eq. (7) stops
# within 1e-12 of the minimiser, which counts in second order only.
ROUNDING = 1e-13
_COUNTS = ("parties", "features", "samples")


@dataclass(frozen=True, kw_only=True)
class IterationSetting:
    """Public parameters of the problems, inside Assumption 1 as far as these decide it.

    Raises
    ------
    InvalidArgument
        A parameter is outside its domain, or no problem with these parameters meets Assumption 1.

    Examples
    --------
    >>> IterationSetting(penalty=0.5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: penalty: got 0.5, expected at least L = 1 of the squared loss, \
with rho gamma > 2 L^2 (Assumption 1.2c)
    """

    parties: int = 6
    features: int = 2
    samples: int = 4
    penalty: float = 10.0
    regulariser_weight: float = 0.01
    loss: str = "squared"
    loss_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in _COUNTS:
            check.require_integer(name, getattr(self, name), least=1)
        check.require_positive("penalty", self.penalty)
        check.require_positive("loss_weight", self.loss_weight)
        check.non_negative("regulariser_weight", self.regulariser_weight)
        if self.samples < self.features:
            expected = f"at least features = {self.features}: full column rank (Assumption 1.1)"
            raise InvalidArgument("samples", self.samples, expected)
        if not all(condition.holds for condition in self.conditions()):
            raise InvalidArgument(
                "penalty",
                self.penalty,
                f"at least L = {self.smoothness:g} of the {self.loss} loss, with rho gamma > 2 L^2 "
                "(Assumption 1.2c)",
            )
        # gamma_m = rho sigma_min has to reach 2 sigma_max. A single column has sigma_min =
        # sigma_max; several have to leave room for their spread.
        if self.regulariser_weight == 0 and self.penalty < 2 * (1 + 1e-6 * (self.features > 1)):
            expected = (
                "at least 2, and above it for several features, without a regulariser: gamma_m = "
                "rho sigma_min has to reach 2 sigma_max (Assumption 1.2b)"
            )
            raise InvalidArgument("penalty", self.penalty, expected)

    @property
    def sample_loss(self) -> SampleLoss:
        """The loss of a sample."""
        return sample_loss_called(self.loss)

    @property
    def smoothness(self) -> float:
        """``L``."""
        return self.loss_weight * self.sample_loss.smoothness

    @property
    def modulus(self) -> float:
        """``gamma(rho)``; not above 0 where (7) may have several minima."""
        return self.penalty + self.loss_weight * self.sample_loss.curvature_range[0]

    @property
    def scalar_problem(self) -> ScalarProblem:
        """Eq. (7), entry by entry."""
        return ScalarProblem(loss=self.sample_loss, weight=self.loss_weight, penalty=self.penalty)

    def conditions(self) -> tuple[Condition, ...]:
        """Return the conditions of Assumption 1 on these parameters alone."""
        smooth, gamma = self.smoothness, self.modulus
        # 2 fails the condition, as it should where (7) may have several minima.
        dominated = 2 * smooth**2 / (self.penalty * gamma) if gamma > 0 else 2.0
        return (
            Condition(name="penalty above smoothness", value=smooth / self.penalty, limit=1.0),
            Condition(name="penalty against smoothness", value=dominated, limit=STRICT),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Problems:
    """Problems with the same public parameters; shapes in the module docstring."""

    setting: IterationSetting
    designs: Array
    labels: Array

    @property
    def spectra(self) -> Array:
        """Eigenvalues of every D_m'D_m, ascending, shape ``(B, M, d)``."""
        return np.asarray(np.linalg.eigvalsh(np.swapaxes(self.designs, 2, 3) @ self.designs))

    @property
    def largest(self) -> Array:
        """``sigma_max(D_m'D_m)``, shape ``(B, M)``."""
        return np.asarray(self.spectra[..., -1])

    @property
    def moduli(self) -> Array:
        """``gamma_m(rho)``, shape ``(B, M)``."""
        setting = self.setting
        return np.asarray(setting.regulariser_weight + setting.penalty * self.spectra[..., 0])


@dataclass(frozen=True, kw_only=True, eq=False)
class IterationState:
    """A state of the iterations; shapes in the module docstring."""

    models: Array
    parts: Array
    prediction: Array
    dual: Array

    @property
    def gap(self) -> Array:
        """``sum_m D_m x_m - z``, shape ``(B, N)``."""
        return np.asarray(self.parts.sum(axis=1) - self.prediction)


def starting_point(
    problems: Problems, models: Array, prediction: Array, dual: Array
) -> IterationState:
    """Return a start as a state."""
    parts = np.einsum("bmnd,bmd->bmn", problems.designs, models)
    return IterationState(models=models, parts=parts, prediction=prediction, dual=dual)


def run_sharing_iterations(
    problems: Problems, point: IterationState, iterations: int
) -> list[IterationState]:
    """Return the start and every following state of eq. (6) to (8), ``iterations + 1`` in all.

    Examples
    --------
    >>> one = IterationSetting(
    ...     parties=1, features=1, samples=1, penalty=3.0, regulariser_weight=0.0
    ... )
    >>> problems = Problems(setting=one, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 1, 1), (1, 1), (1, 1))))
    >>> [float(point.prediction[0, 0]) for point in run_sharing_iterations(problems, zero, 1)]
    [0.0, 0.25]
    """
    setting, designs = problems.setting, problems.designs
    transposed = np.swapaxes(designs, 2, 3)
    ridge = setting.regulariser_weight * np.eye(setting.features)
    # The systems of (6) are the same in every iteration, so they are inverted once.
    inverse = np.linalg.inv(ridge + setting.penalty * (transposed @ designs))
    response = -(inverse @ transposed)  # (B, M, d, N)
    points = [point]
    for _ in range(iterations):
        points.append(_advance_sharing_point(problems, response, points[-1]))
    return points


def _advance_sharing_point(
    problems: Problems, response: Array, point: IterationState
) -> IterationState:
    rho = problems.setting.penalty
    # y + rho (sum_{k != m} D_k x_k - z): the gap without the party's own part.
    pull = point.dual[:, None] + rho * (point.gap[:, None] - point.parts)
    models = np.einsum("bmdn,bmn->bmd", response, pull)
    parts = np.einsum("bmnd,bmd->bmn", problems.designs, models)
    total = parts.sum(axis=1)
    prediction = _minimise_predictions(problems, point.dual + rho * total, point.prediction)
    dual = point.dual + rho * (total - prediction)
    return IterationState(models=models, parts=parts, prediction=prediction, dual=dual)


def _minimise_predictions(problems: Problems, linear: Array, start: Array) -> Array:
    """Return the minimisers of eq. (7): every problem has labels of its own, so as one row."""
    # Labels differ between the problems, and the solver takes one label for each column.
    row, labels = linear.reshape(1, -1), problems.labels.reshape(-1)
    solved = problems.setting.scalar_problem.minimise(row, labels, start.reshape(1, -1))
    return solved.reshape(linear.shape)


def compute_loss_slopes(problems: Problems, prediction: Array) -> Array:
    """Return ``grad l(z)``, shape ``(B, N)``."""
    slope, _ = problems.setting.sample_loss.derivatives(prediction, problems.labels)
    return problems.setting.loss_weight * slope


def compute_problem_conditions(problems: Problems) -> tuple[Condition, ...]:
    """Return Assumption 1 as numbers of the worst of the problems.

    Its 1.3 and 1.4 hold of every problem here: the losses and ``||x||^2/2`` are at least 0, and the
    latter is convex.

    Examples
    --------
    >>> problems = Problems(
    ...     setting=IterationSetting(parties=1, samples=2, penalty=4.0, regulariser_weight=0.0),
    ...     designs=np.diag([1.0, 0.5]).reshape(1, 1, 2, 2),
    ...     labels=np.ones((1, 2)),
    ... )
    >>> [(c.name, c.value) for c in compute_problem_conditions(problems) if not c.holds]
    [('strongly convex parties', 2.0)]
    """
    least, largest = problems.spectra[..., 0], problems.largest
    with np.errstate(divide="ignore", invalid="ignore"):
        # A block without strong convexity has no finite multiple that would reach 2 sigma_max.
        against = np.where(problems.moduli > 0, 2 * largest / problems.moduli, np.inf)
    found = {
        "full column rank": (np.count_nonzero(least <= RANK * largest), 0.0),
        "strongly convex parties": (against.max(), 1.0),
        "signed labels": (np.abs(np.abs(problems.labels) - 1).max(), 0.0),
    }
    own = (Condition(name=n, value=float(v), limit=limit) for n, (v, limit) in found.items())
    return (*own, *problems.setting.conditions())


# A lemma about one step


@dataclass(frozen=True, kw_only=True, eq=False)
class LemmaSides:
    """The two sides of a lemma in one step of every problem, each of shape ``(B,)``.

    ``value <= bound`` is claimed. The value is already reduced by what rounding may have added;
    their difference is compared to ``scale``.
    """

    value: Array
    bound: Array
    scale: Array

    @property
    def ratio(self) -> Array:
        """``1 + (value - bound) / scale``; 0 where nothing moves."""
        # Below this, sides are denormal numbers and their quotient has no digits.
        moves = self.scale > 1e-200
        excess = (self.value - self.bound) / np.where(moves, self.scale, 1.0)
        return np.where(moves, 1 + excess, 0.0)


Measure = Callable[[Problems, IterationState, IterationState], LemmaSides]


@dataclass(frozen=True, kw_only=True, eq=False)
class IterationInstance:
    """One problem, its start, and the audited iteration; the first is 1.

    Shapes: designs ``(M, N, d)``, models ``(M, d)``, the others ``(N,)``.
    """

    setting: IterationSetting
    designs: Array
    labels: Array
    models: Array
    prediction: Array
    dual: Array
    iteration: int

    @property
    def problem(self) -> Problems:
        """The problem, as a batch of one."""
        return Problems(setting=self.setting, designs=self.designs[None], labels=self.labels[None])

    def step(self) -> tuple[Problems, IterationState, IterationState]:
        """Return the problem, the state before the audited iteration, and the one after it."""
        problems, start = self.problem, (self.models, self.prediction, self.dual)
        first = starting_point(problems, *(array[None] for array in start))
        *_, before, after = run_sharing_iterations(problems, first, self.iteration)
        return problems, before, after

    def words(self) -> str:
        """Return the public parameters, and every assumption as a number."""
        numbers = "; ".join(
            f"{c.name} {c.value:.4g} (at most {c.limit:.4g})"
            for c in compute_problem_conditions(self.problem)
        )
        setting = self.setting
        return (
            f"{setting.loss} loss, M = {setting.parties}, rho = {setting.penalty:g}, iteration "
            f"{self.iteration}; {numbers}"
        )

    def small_words(self) -> str:
        """Return a problem of one column a party, from zero, entry by entry."""
        setting = self.setting
        columns = "; ".join(str(np.ravel(design).tolist()) for design in self.designs)
        return (
            f"M = {setting.parties}, rho = {setting.penalty:g}, lambda = "
            f"{setting.regulariser_weight:g}, {setting.loss} loss of weight "
            f"{setting.loss_weight:g}, columns {columns}, labels {self.labels.tolist()}, iteration "
            f"{self.iteration} from zero"
        )

    def evidence(self, quantities: dict[str, float], **stated: object) -> Evidence:
        """Return a certificate's content: the problem, its start, and the lemma's statement."""
        names = ("designs", "labels", "models", "prediction", "dual")
        return Evidence(
            parameters=asdict(self.setting) | {"iteration": self.iteration} | stated,
            instance={name: getattr(self, name) for name in names},
            quantities=quantities,
        )


def sides_at(measure: Measure, instance: IterationInstance) -> tuple[float, float]:
    """Return the two sides of a lemma on an instance."""
    sides = measure(*instance.step())
    return float(sides.value[0]), float(sides.bound[0])


def scale_at(measure: Measure, instance: IterationInstance) -> float:
    """Return the scale; where nothing moves both sides are 0, and any number does."""
    return float(measure(*instance.step()).scale[0]) or 1.0


def conditions_at(instance: IterationInstance, *, reached: bool = False) -> tuple[Condition, ...]:
    """Return Assumption 1, and with ``reached`` that an iteration led to the state before."""
    later = Condition(name="reached by an iteration", value=2, limit=instance.iteration)
    return (*compute_problem_conditions(instance.problem), *([later] if reached else []))
