r"""Statements of hu2019 about a whole run, as one number of its states up to a last iteration.

The states of a run are those after iterations ``first`` to T; ``first`` = 1 is the paper's t = 1.

| claim              | number, of which at most 1 is claimed                                      |
|--------------------|----------------------------------------------------------------------------|
| Lemma 5            | the last augmented Lagrangian over the first: the proof has that it falls, |
|                    | to a limit; both are at least f >= 0 by (20)                               |
| Theorem ??, Part 1 | the last step of z over the first one: steps tend to 0                     |
| (42)               | T times the least V^t, over ``C (L^1 - f)``: it is at most the sum of V^t  |

What a run has done by T does not decide what it does for ever. So a number counts as more than is
allowed only where steps grow in every iteration, as
`dpaudit.algorithms.sharing.claims.hu2019.growth` decides it: then the augmented Lagrangian has no
limit, steps do not tend to 0, and no C at all makes (42) true.

``C = C_1 / C_2`` of (42) is in numbers. C_2 is that of (39), as printed, ``min(sum_m gamma_m / 2,
gamma/2 - L^2/rho)``. C_1 is not printed; (38) is true with

    C_1 = max(max_m (a_m^2 + k rho^2 s_m), k (L + rho)^2),     k = (M + 1)(1 + 1/rho^2),

where ``a_m = lambda + rho s_m`` and ``s_m = sigma_max(D_m'D_m)``. For ``|grad_{x_m} L^t| <= a_m
|dx_m|`` as (6) is quadratic; ``|grad_z L^t| <= (L + rho) |dz| + rho sum_m sqrt(s_m) |dx_m|`` by
(36); and the gap is ``|grad_z L^t| / rho``, for ``grad_z L^t = grad l(z^t) - y^t - rho gap`` and
Lemma 2. Then ``(b_0 + ... + b_M)^2 <= (M + 1) (b_0^2 + ... + b_M^2)``. For f the bound is 0: the
losses and the regulariser are at least 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.growth import find_excited_modes, stationarity
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    IterationInstance,
    IterationState,
    Problems,
    conditions_at,
    run_sharing_iterations,
    starting_point,
)
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import compute_batched_lagrangian
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Condition, Evidence, Inequality

GROWING = "growing steps"  # what a certificate has to meet
_SHOWN = (10, 20, 40)  # iterations whose values are told


@dataclass(frozen=True, kw_only=True)
class Horizon:
    """A number of the states of a run, of which 1 is the most that a claim allows.

    Parameters
    ----------
    quantity
        What the number is, in words; its name in a certificate.
    value
        Of the states after iterations ``first`` to T, of a batch of one.
    shown, point_value
        A number of one state for people, and what it is of.
    """

    quantity: str
    value: Callable[[Problems, Sequence[IterationState]], float]
    shown: str
    point_value: Callable[[Problems, IterationState], Array]


def last_lagrangian(problems: Problems, points: Sequence[IterationState]) -> float:
    """Return the augmented Lagrangian of the last state over that of the first one."""
    first, last = (
        float(compute_batched_lagrangian(problems, point)[0][0])
        for point in (points[0], points[-1])
    )
    # Both Lagrangians are at least f >= 0, and at 0 nothing is left to fall.
    return last / first if first > 0 else 0.0


def last_step(problems: Problems, points: Sequence[IterationState]) -> float:
    """Return how long the last step of z is over the first one."""
    steps = [
        float(np.linalg.norm(after.prediction - before.prediction))
        for before, after in (points[:2], points[-2:])
    ]
    return steps[1] / steps[0] if steps[0] > 0 else 0.0


def least_residual(problems: Problems, points: Sequence[IterationState]) -> float:
    """Return ``T min_t V^t`` over ``C (L^1 - f)``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import IterationSetting
    >>> one = IterationSetting(
    ...     parties=1, features=1, samples=1, penalty=3.0, regulariser_weight=0.0
    ... )
    >>> problems = Problems(setting=one, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 1, 1), (1, 1), (1, 1))))
    >>> least_residual(problems, run_sharing_iterations(problems, zero, 50)[1:]) < 1e-9
    True
    """
    least = min(float(stationarity(problems, point)[0]) for point in points)
    above = compute_horizon_constant(problems) * float(
        compute_batched_lagrangian(problems, points[0])[0][0]
    )
    return len(points) * least / above if above > 0 else 0.0


def compute_horizon_constant(problems: Problems) -> float:
    """Return C of (42) for a batch of one: C_1 of the module's docstring, over C_2 of (39)."""
    setting, rho = problems.setting, problems.setting.penalty
    smooth, tops = setting.smoothness, problems.largest[0]
    shared = (setting.parties + 1) * (1 + 1 / rho**2)
    models = (setting.regulariser_weight + rho * tops) ** 2 + shared * rho**2 * tops
    first = max(float(models.max()), shared * (smooth + rho) ** 2)
    second = min(problems.moduli[0].sum() / 2, setting.modulus / 2 - smooth**2 / rho)
    return float(first / second)


LAGRANGIAN = Horizon(
    quantity="last augmented Lagrangian over the first",
    value=last_lagrangian,
    shown="the augmented Lagrangian",
    point_value=lambda problems, point: compute_batched_lagrangian(problems, point)[0],
)
STEP = Horizon(
    quantity="last step of z over the first",
    value=last_step,
    shown="||sum_m D_m x_m - z||",
    point_value=lambda _, point: np.linalg.norm(point.gap, axis=1),
)
RESIDUAL = Horizon(
    quantity="T times the least V^t over C (L^1 - f)",
    value=least_residual,
    shown="V^t",
    point_value=stationarity,
)


def make_horizon_inequality(
    claim: Statement, horizon: Horizon, last: int, factor: float, because: str
) -> Inequality[IterationInstance]:
    """Return a claim about a run as an inequality; ``because`` says why it fails.

    Parameters
    ----------
    claim, horizon
        What is claimed, and the number that it is about.
    last
        T, the last iteration of the run.
    factor
        How many times what the claim allows is allowed.
    """

    def sides(instance: IterationInstance) -> tuple[float, float]:
        value = horizon.value(instance.problem, run_instance_states(instance, last))
        # Above the claim counts only where steps grow in every iteration, which T iterations alone
        # do not show.
        return (value if _get_instance_mode(instance) > 1 else min(value, factor)), factor

    def evidence(instance: IterationInstance) -> Evidence:
        mode = _get_instance_mode(instance, signed=True)
        return Evidence(
            parameters={
                **instance.evidence({}).parameters,
                **{"factor": factor, "eigenvalue": mode, "last": last},
            },
            instance=instance.evidence({}).instance,
            quantities={horizon.quantity: sides(instance)[0], "growth": abs(mode)},
            conditions=(Condition(name=GROWING, value=1.0, limit=abs(mode)),),
        )

    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=sides,
        conditions=partial(conditions_at, reached=True),
        words=lambda one: f"{one.words()}; {run_words(horizon, one)}",
        because=lambda _: because if factor == 1 else None,
        evidence=evidence,
    )


def run_instance_states(instance: IterationInstance, last: int) -> list[IterationState]:
    """Return the states after the audited iteration's predecessor to the last one."""
    problems, start = instance.problem, (instance.models, instance.prediction, instance.dual)
    first = starting_point(problems, *(array[None] for array in start))
    # The first state is the one before the audited iteration: what an iteration has made.
    return run_sharing_iterations(problems, first, last)[instance.iteration - 1 :]


def _get_instance_mode(instance: IterationInstance, *, signed: bool = False) -> float:
    mode = float(find_excited_modes(*instance.step())[0])
    return mode if signed else abs(mode)


def run_words(horizon: Horizon, instance: IterationInstance) -> str:
    """Return the growth factor of steps of z, and the last values of the run's number."""
    points = run_instance_states(instance, max(_SHOWN))
    shown = [points[t - instance.iteration + 1] for t in _SHOWN if t >= instance.iteration]
    values = ", ".join(
        f"{float(horizon.point_value(instance.problem, point)[0]):.4g}" for point in shown
    )
    mode = _get_instance_mode(instance, signed=True)
    return (
        f"steps of z are multiplied by {mode:.4g} in every iteration, and {horizon.shown} is "
        f"{values} after {', '.join(map(str, _SHOWN))} iterations"
    )
