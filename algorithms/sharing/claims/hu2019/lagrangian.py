r"""hu2019, Lemma 4: by how much the augmented Lagrangian falls in an iteration, and the truth.

With ``dx_m = x_m^{t+1} - x_m^t``, ``dz`` and ``dy`` likewise, ``u_m = D_m dx_m`` and
``s_m = sigma_max(D_m'D_m)``, the lemma states under Assumption 1

    L^{t+1} - L^t <= -sum_m (gamma_m/2 - c s_m) ||dx_m||^2 - (gamma/2 - L^2/rho) ||dz||^2      (*)

with ``c = 1``. This is false; two slips in its proof, either of which is enough:

1. The parallel updates cost ``rho/2 (||sum_m u_m||^2 - sum_m ||u_m||^2)``, and (18) drops rho/2.
2. Lemma 3 bounds the bracket by ``sum_m ||u_m||^2`` and gets there with the sign of its cross terms
   reversed: it is ``+ sum_{k != m} <u_k, u_m>``. Lemma 3 is false for M >= 3 and equal blocks.

Corrected lemma. Under Assumption 1 and ``y^t = grad l(z^t)`` (after any iteration, by Lemma 2), (*)
holds with ``c = (M - 1) rho / 2``.

Proof. Put ``a = sum_k D_k x_k^t - z^t``, and write ``L(x, z; y)`` for the augmented Lagrangian.

- ``L(x^{t+1}, z^t; y^t) - L(x^t, z^t; y^t)`` is a sum over m of terms of party m alone, but for
  ``rho/2 (||a + sum_m u_m||^2 - ||a||^2)``. The objective g_m of (6) changes by the same terms of
  party m and ``rho/2 (||a + u_m||^2 - ||a||^2)``. The terms linear in u agree, so the difference is
  ``sum_m [g_m(x_m^{t+1}) - g_m(x_m^t)] + rho/2 (||sum_m u_m||^2 - sum_m ||u_m||^2)``.
- g_m is gamma_m-strongly convex on X_m and least at ``x_m^{t+1}``: each bracket is at most
  ``-gamma_m/2 ||dx_m||^2``.
- ``||sum_m u_m||^2 <= M sum_m ||u_m||^2`` (Cauchy-Schwarz) and ``||u_m||^2 <= s_m ||dx_m||^2``.
- The objective h of (7) is gamma-strongly convex and least at ``z^{t+1}``, so that
  ``L(x^{t+1}, z^{t+1}; y^t) - L(x^{t+1}, z^t; y^t) <= -gamma/2 ||dz||^2``.
- By (8) and Lemma 2, ``L(x^{t+1}, z^{t+1}; y^{t+1}) - L(x^{t+1}, z^{t+1}; y^t) = ||dy||^2 / rho``
  is at most ``L^2/rho ||dz||^2``. The sum of the three is (*).

It is sharp: all steps are equalities for equal blocks with ``D_m'D_m`` a multiple of the identity,
the squared loss, a ridge or no regulariser, and no constraint. So the published lemma, c = 1, is
true of all problems with M parties and penalty rho if ``(M - 1) rho <= 2``, and false of some
otherwise; c = rho/2 is true for M <= 2, and false of some problems for M >= 3.

Nor is the conclusion saved by another c: for equal blocks and M >= 3 the Lagrangian itself may
rise, and the iterations diverge although Assumption 1 holds. With one sample, ``D_m = 1``, lambda =
0 and ``l = c z^2/2``, the map ``(S, z) -> (S', z')`` is ``S' = -(M-1) S + M (1 - c/rho) z``,
``z' (1 + c/rho) = c z/rho + S'``: for M = 3, rho = 10, c = 9 an eigenvalue is -1.87.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ROUNDING,
    IterationInstance,
    IterationSetting,
    IterationState,
    LemmaSides,
    Measure,
    Problems,
    conditions_at,
    scale_at,
    sides_at,
)
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Evidence, Inequality

Version = Literal["published", "with-penalty", "corrected"]
_CAUSES: Mapping[Version, str] = {
    "published": (
        "The proof drops a factor rho/2 in (18), and Lemma 3 has the sign of its cross terms "
        "reversed: sigma_max needs the factor (M - 1) rho / 2 = {corrected:g}."
    ),
    "with-penalty": (
        "With the dropped rho/2 the proof still rests on Lemma 3, whose cross terms have the wrong "
        "sign: sigma_max needs the factor (M - 1) rho / 2 = {corrected:g}."
    ),
    "corrected": "This contradicts a proof: the code is wrong, or the proof is.",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms:
    """The terms of (*) in one step of every problem, each of shape ``(B,)``.

    Parameters
    ----------
    rise
        ``L^{t+1} - L^t``.
    convexity
        ``sum_m gamma_m/2 ||dx_m||^2 + gamma/2 ||dz||^2``.
    parallel
        ``sum_m s_m ||dx_m||^2``, what c multiplies.
    dual
        ``L^2/rho ||dz||^2``.
    size
        Of everything that the two Lagrangians add up.
    """

    rise: Array
    convexity: Array
    parallel: Array
    dual: Array
    size: Array


def get_lemma4_allowance(setting: IterationSetting, version: Version) -> float:
    """Return c of (*).

    Examples
    --------
    >>> setting = IterationSetting(parties=6, penalty=10.0)
    >>> [get_lemma4_allowance(setting, v) for v in ("published", "with-penalty", "corrected")]
    [1.0, 5.0, 25.0]
    """
    match version:
        case "published":
            return 1.0
        case "with-penalty":
            return setting.penalty / 2
        case "corrected":
            return (setting.parties - 1) * setting.penalty / 2


def make_decrease_measure(version: Version, factor: float = 1.0) -> Measure:
    """Return both sides of (*), its two positive terms times ``factor``.

    The excess is compared to these terms: the ratio says how many times as large they would have
    to be.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import (
    ...     run_sharing_iterations,
    ...     starting_point,
    ... )
    >>> setting = IterationSetting(parties=3, features=1, samples=1, regulariser_weight=0.0)
    >>> problems = Problems(setting=setting, designs=np.ones((1, 3, 1, 1)), labels=np.ones((1, 1)))
    >>> zero = starting_point(problems, *(np.zeros(s) for s in ((1, 3, 1), (1, 1), (1, 1))))
    >>> _, first, second = run_sharing_iterations(problems, zero, 2)
    >>> versions = ("published", "with-penalty", "corrected")
    >>> [bool(make_decrease_measure(v)(problems, first, second).ratio[0] > 1) for v in versions]
    [True, True, False]
    """
    return partial(_compute_decrease_sides, version, factor)


def _compute_decrease_sides(
    version: Version,
    factor: float,
    problems: Problems,
    before: IterationState,
    after: IterationState,
) -> LemmaSides:
    terms = terms_of(problems, before, after)
    slack = get_lemma4_allowance(problems.setting, version) * terms.parallel + terms.dual
    # What rounding may have added to the difference of two Lagrangians comes off first.
    value = terms.rise - ROUNDING * terms.size
    return LemmaSides(value=value, bound=factor * slack - terms.convexity, scale=factor * slack)


def terms_of(problems: Problems, before: IterationState, after: IterationState) -> Terms:
    """Return the terms of (*), both Lagrangians by their definition (5)."""
    setting = problems.setting
    models = ((after.models - before.models) ** 2).sum(axis=-1)
    centre = ((after.prediction - before.prediction) ** 2).sum(axis=-1)
    old, size = compute_batched_lagrangian(problems, before)
    new, more = compute_batched_lagrangian(problems, after)
    return Terms(
        rise=new - old,
        convexity=(problems.moduli * models).sum(axis=1) / 2 + setting.modulus * centre / 2,
        parallel=(problems.largest * models).sum(axis=1),
        dual=setting.smoothness**2 / setting.penalty * centre,
        size=size + more,
    )


def compute_batched_lagrangian(problems: Problems, point: IterationState) -> tuple[Array, Array]:
    """Return the augmented Lagrangian (5), and the size of its summands, shapes ``(B,)``.

    Examples
    --------
    >>> from dpaudit.algorithms.sharing.claims.hu2019.iterations import starting_point
    >>> setting = IterationSetting(parties=1, features=1, samples=1, regulariser_weight=1.0)
    >>> problems = Problems(setting=setting, designs=np.ones((1, 1, 1, 1)), labels=np.ones((1, 1)))
    >>> two = starting_point(problems, np.full((1, 1, 1), 2.0), np.zeros((1, 1)), np.ones((1, 1)))
    >>> compute_batched_lagrangian(problems, two)[0]  # 1/2 + 2 + 2 + 5 * 4
    array([24.5])
    """
    setting, gap = problems.setting, point.gap
    losses = setting.loss_weight * setting.sample_loss.value(point.prediction, problems.labels)
    kept = losses.sum(axis=1) + setting.regulariser_weight / 2 * (point.models**2).sum(axis=(1, 2))
    linear, squared = (point.dual * gap).sum(axis=1), setting.penalty / 2 * (gap**2).sum(axis=1)
    reach = np.abs(point.parts).sum(axis=1) + np.abs(point.prediction)  # before what cancels in gap
    weights = np.abs(point.dual) + setting.penalty * np.abs(gap) + setting.smoothness
    return kept + linear + squared, kept + (weights * reach).sum(axis=1) + squared


# The lemma as an inequality


def make_lemma4_inequality(
    claim: Statement, version: Version, factor: float
) -> Inequality[IterationInstance]:
    """Return (*) as an inequality on steps from states that an iteration has reached."""
    measure = make_decrease_measure(version, factor)

    def evidence(instance: IterationInstance) -> Evidence:
        quantities = _compute_decrease_quantities(version, factor, instance)
        return instance.evidence(quantities, version=version, factor=factor)

    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=partial(sides_at, measure),
        conditions=partial(conditions_at, reached=True),
        scale=partial(scale_at, measure),
        words=lambda one: f"{one.words()}; {change_words(version, factor, one)}",
        because=partial(_explain_lagrangian_rise, version, factor),
        evidence=evidence,
    )


def change_words(version: Version, factor: float, instance: IterationInstance) -> str:
    """Return how far the Lagrangian changes, and how far it may."""
    found = _compute_decrease_quantities(version, factor, instance)
    change = (
        f"the augmented Lagrangian changes by {found['rise']:.6g} where at most "
        f"{found['bound']:.6g} is claimed"
    )
    if found["ratio"] <= 1:
        return f"{change}: {found['ratio']:.1%} of the claim's positive terms"
    return (
        f"{change}, an excess of {found['rise'] - found['bound']:.6g}: its positive terms are "
        f"{found['ratio']:.6g} times too small"
    )


def _compute_decrease_quantities(
    version: Version, factor: float, instance: IterationInstance
) -> dict[str, float]:
    terms = terms_of(*instance.step())
    c = get_lemma4_allowance(instance.setting, version)
    slack = factor * float(c * terms.parallel[0] + terms.dual[0])
    rise, bound = float(terms.rise[0]), slack - float(terms.convexity[0])
    return {"rise": rise, "bound": bound, "ratio": 1 + (rise - bound) / slack}


def _explain_lagrangian_rise(
    version: Version, factor: float, instance: IterationInstance
) -> str | None:
    if factor != 1:
        return None
    return _CAUSES[version].format(corrected=get_lemma4_allowance(instance.setting, "corrected"))
