r"""hu2019's theorem with compact X_m: a run that alternates for ever.

Every party has one column D_m and a model in ``[-a, a]``; the loss is ``c ||z - b||^2 / 2`` and the
regulariser ``lambda ||x||^2 / 2``. By Lemma 2 ``y = c (z - b)`` after every iteration, and then

    x_m' = the point of [-a, a] nearest to
           x_m - (lambda x_m + D_m'(c (z - b) + rho (S - z))) / (lambda + rho |D_m|^2),
    z'   = (c z + rho S') / (c + rho),               S = sum_m D_m x_m.

Alternation. Let every ``x_m = s_m a`` with a sign s_m, S belong to it, and ``|z_i| <= B_i`` with
``B_i >= |S_i|``. If for every m

    lambda a + rho s_m D_m'S - c |D_m'b| - |rho - c| sum_i |D_mi| B_i
        >=  2 a (lambda + rho |D_m|^2)

then x is ``-s a`` after the iteration, and S the opposite: the point that is nearest is at most -a
in the direction s_m, whatever z is inside the bounds. z' is a mean of z and S', inside the bounds
as well, and -s satisfies the same inequality, where only the sign of ``D_m'b`` is another. So x
alternates for ever. z then alternates as well, in the limit between ``+-rho S / (2 c + rho)``:
``z' + z = 0`` solves ``z' (c + rho) = c z + rho S'``, and deviations shrink by ``c / (c + rho)``. A
step of z tends to ``2 rho ||S|| / (2 c + rho)``, which is not 0, and neither is the gap ``S - z``
at the two limit points.

It takes three parties: ``s_m D_m'S <= a (|D_m|^2 + |D_m| sum_{k != m} |D_k|)``, which for two equal
columns is ``2 a |D_m|^2``, and then the left side is below the right one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationSetting,
    Problems,
    compute_problem_conditions,
)
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Condition, Evidence, Inequality

ALTERNATING = "alternating models"  # what a certificate has to meet
QUANTITY = "last step of z over the first"
LIMIT = "limit of the steps of z"
_TRIED = 50  # runs at corners, of which it is decided whether they alternate


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundedRun:
    """A problem with models in an interval, and where its run is; it begins at zero.

    Parameters
    ----------
    setting, half_width
        Public parameters, and a.
    designs, labels
        D_m, shape ``(M, N)``, and b, shape ``(N,)``.
    last
        T, the last iteration.
    """

    setting: IterationSetting
    half_width: float
    designs: Array
    labels: Array
    last: int

    def states(self) -> list[tuple[Array, Array]]:
        """Return x and z after every iteration.

        Examples
        --------
        >>> three = IterationSetting(
        ...     parties=3, features=1, samples=1, regulariser_weight=0.0, loss_weight=9.0)
        >>> one = BoundedRun(
        ...     setting=three, half_width=2.0, designs=np.ones((3, 1)), labels=np.ones(1), last=6)
        >>> [float(x[0]) for x, _ in one.states()][-3:]
        [2.0, -2.0, 2.0]
        """
        found = _run_bounded_iterations(
            self.setting, self.half_width, self.designs[None], self.labels[None], self.last
        )
        return [(x[0], z[0]) for x, z in found]

    @property
    def problem(self) -> Problems:
        """The problem without the interval, as a batch of one."""
        designs = self.designs[None, :, :, None]
        return Problems(setting=self.setting, designs=designs, labels=self.labels[None])

    def margin(self) -> float:
        """Return the least left side of the inequality over its right side; 0 off the corners."""
        setting, a = self.setting, self.half_width
        x, z = self.states()[-1]
        # The inequality is about runs in which every model is at an end of its interval.
        if not np.all(np.abs(x) == a):
            return 0.0
        c, rho, ridge = setting.loss_weight, setting.penalty, setting.regulariser_weight
        reached = x @ self.designs
        # B of the module docstring: at least |z| and |S| in every entry.
        reach = np.maximum(np.abs(z), np.abs(reached))
        left = ridge * a + rho * np.sign(x) * (self.designs @ reached)
        left -= c * np.abs(self.designs @ self.labels) + abs(rho - c) * np.abs(self.designs) @ reach
        right = 2 * a * (ridge + rho * (self.designs**2).sum(axis=1))
        return float((left / right).min())

    def ratio(self) -> float:
        """Return how long the last step of z is over that of the second iteration."""
        # The step of the second iteration is the first between states that an iteration has made.
        steps = np.diff([z for _, z in self.states()], axis=0)
        first, last = (float(np.linalg.norm(step)) for step in (steps[0], steps[-1]))
        return last / first if first > 0 else 0.0

    def limit(self) -> float:
        """Return the limit of the steps of z where the run alternates."""
        rho, c = self.setting.penalty, self.setting.loss_weight
        x, _ = self.states()[-1]
        return float(2 * rho * np.linalg.norm(x @ self.designs) / (2 * c + rho))

    def conditions(self) -> tuple[Condition, ...]:
        """Return Assumption 1, and that an iteration led to the first state."""
        reached = Condition(name="reached by an iteration", value=2, limit=2)
        return (*compute_problem_conditions(self.problem), reached)

    def words(self) -> str:
        """Return the problem, and the limit of its steps."""
        steps = np.diff([z for _, z in self.states()], axis=0)
        shown = ", ".join(f"{float(np.linalg.norm(step)):.4g}" for step in steps[-3:])
        return (
            f"M = {self.setting.parties}, rho = {self.setting.penalty:g}, models in "
            f"[-{self.half_width:g}, {self.half_width:g}], columns "
            f"{self.designs.round(3).tolist()}, labels {self.labels.tolist()}: the last steps of "
            f"z are {shown}"
        )


def _run_bounded_iterations(
    setting: IterationSetting, half_width: float, designs: Array, labels: Array, last: int
) -> list[tuple[Array, Array]]:
    """Return x and z, shapes ``(B, M)`` and ``(B, N)``, after iterations 1 to ``last``."""
    c, rho, ridge = setting.loss_weight, setting.penalty, setting.regulariser_weight
    curvature = ridge + rho * (designs**2).sum(axis=2)
    x, z, y = (np.zeros(shape) for shape in (designs.shape[:2], labels.shape, labels.shape))
    found = []
    for _ in range(last):
        gap = np.einsum("bm,bmn->bn", x, designs) - z
        slope = ridge * x + np.einsum("bmn,bn->bm", designs, y + rho * gap)
        x = np.clip(x - slope / curvature, -half_width, half_width)
        reached = np.einsum("bm,bmn->bn", x, designs)
        z = (y + rho * reached + c * labels) / (c + rho)
        y = y + rho * (reached - z)
        found.append((x, z))
    return found


def find_alternating_run(
    setting: IterationSetting, half_width: float, last: int, budget: int, rng: Generator
) -> BoundedRun:
    """Return the one of so many drawn problems that alternates with the longest steps.

    Where none does it is the one with the longest last step.
    """
    m, n = setting.parties, setting.samples
    # Columns between alike and independent: alternation needs parties that push the same way.
    shared = rng.random((budget, 1, 1))
    designs = shared * rng.standard_normal((budget, 1, n))
    designs = designs + (1 - shared) * rng.standard_normal((budget, m, n))
    designs /= np.linalg.norm(designs, axis=2, keepdims=True)
    labels = rng.choice([-1.0, 1.0], size=(budget, n))
    *_, (_, before), (models, after) = _run_bounded_iterations(
        setting, half_width, designs, labels, last
    )
    length = np.linalg.norm(after - before, axis=1)
    cornered = (np.abs(models) == half_width).all(axis=1)

    def run(index: int) -> BoundedRun:
        return BoundedRun(
            setting=setting,
            half_width=half_width,
            designs=designs[index],
            labels=labels[index],
            last=last,
        )

    # lexsort sorts by its last key first: runs at the corners, the longest step first.
    longest = np.lexsort((-length, ~cornered))
    candidates = (run(index) for index in longest[: np.count_nonzero(cornered)][:_TRIED])
    return next((one for one in candidates if one.margin() >= 1), run(int(np.argmax(length))))


def make_settling_inequality(
    claim: Statement, factor: float, because: str
) -> Inequality[BoundedRun]:
    """Return Part 1 on steps of z as an inequality on runs with bounded models."""

    def sides(one: BoundedRun) -> tuple[float, float]:
        value = one.ratio()
        # What a run has done by its last iteration refutes nothing unless it is shown to go on for
        # ever.
        return (value if one.margin() >= 1 else min(value, factor)), factor

    def evidence(one: BoundedRun) -> Evidence:
        stated = {"half_width": one.half_width, "last": one.last, "factor": factor}
        return Evidence(
            parameters=asdict(one.setting) | stated,
            instance={"designs": one.designs[:, :, None], "labels": one.labels},
            quantities={QUANTITY: one.ratio(), LIMIT: one.limit()},
            conditions=(Condition(name=ALTERNATING, value=1.0, limit=one.margin()),),
        )

    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=sides,
        conditions=BoundedRun.conditions,
        words=BoundedRun.words,
        because=lambda _: because if factor == 1 else None,
        evidence=evidence,
    )
