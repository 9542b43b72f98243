r"""hu2019, Lemma 2: the dual variable is the slope of the loss, and moves at most L times as far.

    grad l(z^{t+1}) = y^{t+1},        ||y^{t+1} - y^t||^2 <= L^2 ||z^{t+1} - z^t||^2

Proof. ``z^{t+1}`` minimises (7), which is differentiable, over R^N: its slope is zero there,
``grad l(z^{t+1}) - y^t + rho (z^{t+1} - S) = 0`` with ``S = sum_m D_m x_m^{t+1}``. So
``grad l(z^{t+1}) = y^t + rho (S - z^{t+1})``, which is ``y^{t+1}`` by (8): the first part, after
every iteration. For t >= 1 an iteration made ``y^t`` too, so that ``y^t = grad l(z^t)`` and
``y^{t+1} - y^t = grad l(z^{t+1}) - grad l(z^t)``, which is at most ``L ||z^{t+1} - z^t||`` long by
Assumption 1.1: the second part, from t = 1 on. That the two expressions for ``y^{t+1}`` are one is
checked exactly by `dpaudit.algorithms.sharing.statements.hu2019.checks.lemmas.slope_is_dual`.

The first iteration is different: ``y^0`` is the start's, and no iteration made it a slope. From the
paper's own start x = y = z = 0 every x_m stays 0, so (8) gives ``y^1 - y^0 = -rho (z^1 - z^0)``,
and ``rho > L`` under Assumption 1.2c for a convex loss.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ROUNDING,
    IterationInstance,
    IterationState,
    LemmaSides,
    Measure,
    Problems,
    compute_loss_slopes,
    conditions_at,
    scale_at,
    sides_at,
)
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Inequality

PROOF = "the slope of (7) is zero at z^{t+1}, and the slope of l moves at most L times as far as z"
SOLVED = 1e-11  # of the slope of (7) at its computed minimiser, beside rounding


def dual_step(
    problems: Problems, before: IterationState, after: IterationState, factor: float = 1.0
) -> LemmaSides:
    """Return ``||dy||^2`` and ``factor L^2 ||dz||^2``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     IterationSetting, run_sharing_iterations, starting_point)
    >>> one = IterationSetting(
    ...     parties=1, features=1, samples=1, penalty=3.0, regulariser_weight=0.0
    ... )
    >>> problems = Problems(setting=one, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 1, 1), (1, 1), (1, 1))))
    >>> start, first, second = run_sharing_iterations(problems, zero, 2)
    >>> round(float(dual_step(problems, first, second).ratio[0]), 6)
    1.0
    >>> round(float(dual_step(problems, start, first).ratio[0]), 6)  # rho^2 / L^2
    9.0
    """
    smooth = problems.setting.smoothness
    # What rounding and the solver may have added to y is taken off before sides are compared.
    moved = np.maximum(
        _compute_last_axis_norms(after.dual - before.dual)
        - _bound_dual_rounding(problems, before, after),
        0.0,
    )
    bound = factor * smooth**2 * _compute_last_axis_norms(after.prediction - before.prediction) ** 2
    return LemmaSides(value=moved**2, bound=bound, scale=bound)


def compute_dual_identity_sides(
    problems: Problems, before: IterationState, after: IterationState
) -> LemmaSides:
    """Return ``||grad l(z) - y||`` after the step, less the most that rounding may add, and 0.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     IterationSetting, run_sharing_iterations, starting_point)
    >>> problems = Problems(
    ...     setting=IterationSetting(parties=1, loss="sigmoid"),
    ...     designs=np.eye(4, 2)[None, None],
    ...     labels=np.ones((1, 4)),
    ... )
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 1, 2), (1, 4), (1, 4))))
    >>> found = compute_dual_identity_sides(problems, *run_sharing_iterations(problems, zero, 1))
    >>> float(found.value[0]), float(found.bound[0]), float(found.ratio[0])
    (0.0, 0.0, 1.0)
    """
    residual, rounding = _compute_dual_residual(problems, before, after)
    beyond = np.maximum(residual - rounding, 0.0)
    return LemmaSides(value=beyond, bound=np.zeros_like(beyond), scale=rounding)


def _compute_dual_residual(
    problems: Problems, before: IterationState, after: IterationState
) -> tuple[Array, Array]:
    """Return ``||grad l(z) - y||`` as computed, and a bound on its rounding and solver error."""
    residual = _compute_last_axis_norms(
        compute_loss_slopes(problems, after.prediction) - after.dual
    )
    return residual, _bound_dual_rounding(problems, before, after)


def _bound_dual_rounding(
    problems: Problems, before: IterationState, after: IterationState
) -> Array:
    """Return the error of rounding and of (7)'s solver in a dual variable, shape ``(B,)``."""
    setting = problems.setting
    terms = _compute_last_axis_norms(np.abs(after.parts).sum(axis=1)) + _compute_last_axis_norms(
        after.prediction
    )
    terms = (
        setting.penalty * terms
        + _compute_last_axis_norms(before.dual)
        + _compute_last_axis_norms(after.dual)
    )
    terms += setting.smoothness * (
        _compute_last_axis_norms(problems.labels) + _compute_last_axis_norms(before.prediction)
    )
    solved = SOLVED * (setting.penalty + setting.smoothness)
    return np.asarray(ROUNDING * terms + solved)


def _compute_last_axis_norms(rows: Array) -> Array:
    return np.asarray(np.linalg.norm(rows, axis=-1))


# The lemma as an inequality


def make_lemma2_inequality(
    claim: Statement, measure: Measure, factor: float
) -> Inequality[IterationInstance]:
    """Return the part of Lemma 2 that ``measure`` compares.

    Both sides of the second are divided by ``L^2 ||dz||^2``, so that one bound is that of all
    instances.
    """
    own = measure is compute_dual_identity_sides

    def compute_ratio(instance: IterationInstance) -> tuple[float, float]:
        moved, bound = sides_at(measure, instance)
        # Where z does not move nothing is claimed to move, and a quotient of zeros refutes nothing.
        return (factor * moved / bound if bound > 0 else 0.0), factor

    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=partial(sides_at, measure) if own else compute_ratio,
        conditions=conditions_at,
        scale=partial(scale_at, measure) if own else None,
        words=partial(_format_dual_instance, None if own else factor),
        because=_explain_first_dual_step,
        evidence=None
        if own
        else lambda one: one.evidence(_compute_dual_quantities(factor, one), factor=factor),
    )


def step_words(factor: float, instance: IterationInstance) -> str:
    """Return how far y moves, and how far it may."""
    found = _compute_dual_quantities(factor, instance)
    return (
        f"||dy||^2 is {found['movement']:.6g} where {found['bound']:.6g} is claimed "
        f"({found['ratio']:.6g} times)"
    )


def _compute_dual_quantities(factor: float, instance: IterationInstance) -> dict[str, float]:
    _, before, after = instance.step()
    moved = float(((after.dual - before.dual) ** 2).sum())
    centre = float(((after.prediction - before.prediction) ** 2).sum())
    bound = factor * instance.setting.smoothness**2 * centre
    return {"movement": moved, "bound": bound, "ratio": moved / bound}


def _format_dual_instance(factor: float | None, instance: IterationInstance) -> str:
    residual, rounding = _compute_dual_residual(*instance.step())
    steps = "" if factor is None else f"{step_words(factor, instance)}; "
    return (
        f"{instance.words()}; {steps}||grad l(z) - y|| is {residual[0]:.2g} after it, where "
        f"rounding allows {rounding[0]:.2g}"
    )


def _explain_first_dual_step(instance: IterationInstance) -> str | None:
    if instance.iteration > 1:
        return None
    return (
        "Before the first iteration y is not the slope of the loss at z: from zero y moves rho "
        "times as far as z, and rho is at least L."
    )
