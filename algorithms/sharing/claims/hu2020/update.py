r"""Movement of ``D_m x_m`` of ADMM sharing between neighbours: hu2020, Lemma 1 and a true bound.

| paper          | name                       | meaning                              | shape    |
|----------------|----------------------------|--------------------------------------|----------|
| d_m, N, M      | features, samples, parties |                                      | scalars  |
| rho, lambda    | penalty, regulariser_weight|                                      | scalars  |
| b_1            | ``bound``                  | of the norms of all variables        | scalar   |
| D_m, D_m'      | ``design``, ``neighbour``  | differ in one column; unit rows      | (N, d_m) |
| y, z           | ``dual``, ``prediction``   | state of the centre                  | (N,)     |
| D_k, k != m    | ``others``                 | one column of unit entries each      | (M-1, N) |
| x~_k, k != m   | ``models``                 | the other parties' models            | (M-1,)   |
| x_m            |                            | minimiser of eq. (6)                 | (d_m,)   |

With ``R = ||x||^2/2`` and no constraint, ``s = sum_k D_k x~_k - z`` and ``v = y + rho s``, eq. (6)
gives ``x_m = -(lambda I + rho D'D)^-1 D' v``. In Lemma 1 c_1 bounds ``|R''|``, here 1.

Unit rows on both sides leave little room: as all other columns agree, so do the magnitudes in the
one that differs, and neighbours differ by the signs of some entries of one column.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.sharing.noise import compute_published_sensitivity
from dpaudit.extension.claim import Statement
from dpaudit.neighbours import REPLACE_COLUMN
from dpaudit.refutation import Condition, Evidence, Sensitivity

ROUNDING = 1e-12  # of equalities between doubles: unit rows
CURVATURE = 1.0  # c_1 of R = ||x||^2/2
SOURCE = "Hu et al., ADMM sharing over vertically split features, NeurIPS 2020, Lemma 1"
PROOF = (
    "D x and D' x' both lie in the ball whose diameter is the segment from 0 to -(y + rho s)/rho; "
    "also ||D x|| <= ||D|| b_1 with ||D|| <= sqrt(N); both under Assumption 1.1, that y, z and all "
    "models are at most b_1 long, which hu2020-assumption1 refutes of runs with noise"
)
_WHY = "The proof takes ||(D'D)^-1|| for 1/d_m, which rows of norm 1 do not give."


@dataclass(frozen=True, kw_only=True)
class UpdateSetting:
    """Public parameters of one update.

    Raises
    ------
    InvalidArgument
        A count is below 1, or another parameter is not a finite number above 0.

    Examples
    --------
    >>> UpdateSetting(features=8, samples=0)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: samples: got 0, expected an integer, at least 1
    """

    features: int
    samples: int
    penalty: float = 10.0
    regulariser_weight: float = 1e-3
    bound: float = 1.0
    parties: int = 1

    def __post_init__(self) -> None:
        for name in ("features", "samples", "parties"):
            check.require_integer(name, getattr(self, name), least=1)
        for name in ("penalty", "regulariser_weight", "bound"):
            check.require_positive(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateInstance:
    """A pair of designs and a state; shapes in the module docstring."""

    design: Array
    neighbour: Array
    dual: Array
    prediction: Array
    others: Array
    models: Array


def compute_published_lemma1_bound(setting: UpdateSetting) -> float:
    """Return Lemma 1's ``3 / (d_m rho) [lambda c_1 + (1 + M rho) b_1]``, which is no bound.

    Source: hu2020, Lemma 1. Its proof takes ``||(D'D)^-1||`` for ``1 / d_m``, which unit rows do
    not give (they give trace(D'D) = N), and ``||D_k x~_k||`` for at most ``||x~_k||``.

    Examples
    --------
    >>> round(compute_published_lemma1_bound(UpdateSetting(features=16, samples=32)), 4)
    0.2063
    """
    return compute_published_sensitivity(
        features=setting.features,
        parties=setting.parties,
        penalty=setting.penalty,
        regulariser_weight=setting.regulariser_weight,
        regulariser_curvature=CURVATURE,
        bound=setting.bound,
    )


def compute_corrected_lemma1_bound(setting: UpdateSetting) -> float:
    r"""Return a sensitivity of ``D_m x_m`` in L2 norm that holds.

        C* = min{ (1/rho + 1 + (M - 1) sqrt(N)) b_1,  2 sqrt(N) b_1 }

    Formal guarantee: ``||D x - D' x'|| <= C*`` for any two designs, neighbours or not, if

    1. R is convex and least at 0, and the feasible set is convex and holds 0;
    2. ``||y||, ||z||, ||x~_k|| <= b_1``;
    3. rows of every D_k, and of D and D', have norm at most 1;
    4. ``||x||, ||x'|| <= b_1`` (for the second term alone).

    lambda, d_m, the curvature of R, and ``||D - D'||`` do not matter.

    Proof. First term. Let ``u = D x`` and ``w = -v/rho``. Optimality of x in eq. (6) says that
    ``g = -D'(v + rho u)`` is a subgradient at x of ``lambda R`` plus the indicator of the feasible
    set. That function is convex and least at 0, so 0 is a subgradient at 0, and monotonicity gives
    ``<g, x> >= 0``. This is ``<v + rho u, u> <= 0``, that is ``<w - u, u> >= 0``, that is
    ``||u - w/2|| <= ||w||/2``. The ball does not depend on D, so u' = D' x' lies in it too, and two
    points of it are at most its diameter apart: ``||u - u'|| <= ||v||/rho``. Finally
    ``||v|| <= ||y|| + rho ||z|| + rho sum_{k != m} ||D_k|| ||x~_k||``, and
    ``||D_k|| <= ||D_k||_F <= sqrt(N)``.

    Second term. ``||u|| <= ||D|| ||x|| <= sqrt(N) b_1``, and the same for u'.

    Examples
    --------
    >>> compute_corrected_lemma1_bound(UpdateSetting(features=16, samples=32))
    1.1
    >>> compute_corrected_lemma1_bound(UpdateSetting(features=16, samples=4, penalty=0.1))
    4.0
    """
    root = math.sqrt(setting.samples)
    diameter = 1 / setting.penalty + 1 + (setting.parties - 1) * root
    # Either bound holds, so the smaller one does: the diameter of what the assumptions allow, and
    # the norms of two local predictions, whose rows are at most 1 long.
    return min(diameter, 2 * root) * setting.bound


def make_lemma1_sensitivity(
    setting: UpdateSetting,
    factor: float = 1.0,
    claim: Statement | None = None,
    *,
    convex: bool = False,
) -> Sensitivity[UpdateInstance]:
    """Return Lemma 1 on a setting, its bound multiplied by ``factor``.

    ``convex`` is whether subproblems have to be convex enough, as hu2019 has it; its claim is then
    given.

    Examples
    --------
    >>> lemma = make_lemma1_sensitivity(UpdateSetting(features=2, samples=2, penalty=1.0))
    >>> round(lemma.claimed, 4), lemma.proved
    (3.0015, 2.0)
    >>> round(
    ...     make_lemma1_sensitivity(UpdateSetting(features=2, samples=2, penalty=1.0), 2.0).claimed,
    ...     4,
    ... )
    6.003
    """
    proved = compute_corrected_lemma1_bound(setting)
    return Sensitivity(
        name="hu2020-lemma1" if claim is None else claim.name,
        source=SOURCE if claim is None else claim.source,
        norm="L2",
        relation=REPLACE_COLUMN.name,
        claimed=factor * compute_published_lemma1_bound(setting),
        proved=proved,
        proof=PROOF,
        movement=partial(movement, setting),
        conditions=partial(compute_update_conditions, setting, convex=convex),
        words=partial(_format_update_conditions, setting, proved, convex),
        because=lambda instance: _WHY,
        evidence=partial(_make_update_evidence, setting, factor),
    )


def get_update_parameters(setting: UpdateSetting, factor: float) -> dict[str, Any]:
    """Return the parameters that a certificate states, as its verifier reads them."""
    return asdict(setting) | {"curvature": CURVATURE, "factor": factor}


def _format_update_conditions(
    setting: UpdateSetting, proved: float, convex: bool, instance: UpdateInstance
) -> str:
    numbers = "; ".join(
        f"{c.name} {c.value:.4g} (at most {c.limit:.4g})"
        for c in compute_update_conditions(setting, instance, convex=convex)
    )
    return f"{numbers}; {movement(setting, instance) / proved:.1%} of the proved bound"


def _make_update_evidence(
    setting: UpdateSetting, factor: float, instance: UpdateInstance
) -> Evidence:
    claimed = factor * compute_published_lemma1_bound(setting)
    return Evidence(
        parameters=get_update_parameters(setting, factor),
        instance=vars(instance),
        quantities={"bound": claimed, "movement": movement(setting, instance)},
        kind="sensitivity",
        relation=REPLACE_COLUMN.name,
    )


def compute_update_direction(setting: UpdateSetting, instance: UpdateInstance) -> Array:
    """Return ``v = y + rho (sum_{k != m} D_k x~_k - z)``, shape ``(N,)``."""
    gap = instance.models @ instance.others - instance.prediction
    return np.asarray(instance.dual + setting.penalty * gap)


def local_model(setting: UpdateSetting, design: Array, v: Array) -> Array:
    """Return the minimiser of eq. (6), shape ``(d_m,)``, by singular values of the design.

    Examples
    --------
    >>> local_model(
    ...     UpdateSetting(features=1, samples=1, regulariser_weight=10.0), np.eye(1), np.ones(1)
    ... )
    array([-0.05])
    """
    left, values, right = np.linalg.svd(design, full_matrices=False)
    # From the singular values there is no need of D'D, whose condition number is that of D squared.
    weights = values / (setting.regulariser_weight + setting.penalty * values**2)
    return np.asarray(-(right.T @ (weights * (left.T @ v))))


CONVEX = ("convex subproblem", "convex subproblem of the neighbour")


def movement(setting: UpdateSetting, instance: UpdateInstance) -> float:
    """Return ``||D x - D' x'||`` in the instance's state."""
    v = compute_update_direction(setting, instance)
    here = instance.design @ local_model(setting, instance.design, v)
    there = instance.neighbour @ local_model(setting, instance.neighbour, v)
    return float(np.linalg.norm(here - there))


def compute_update_conditions(
    setting: UpdateSetting, instance: UpdateInstance, *, convex: bool = False
) -> tuple[Condition, ...]:
    """Return Assumption 1 and the neighbour relation as numbers of the instance.

    Examples
    --------
    >>> zero = np.zeros(1)
    >>> one = UpdateInstance(
    ...     design=np.ones((1, 1)),
    ...     neighbour=-np.ones((1, 1)),
    ...     dual=zero,
    ...     prediction=zero,
    ...     others=np.zeros((0, 1)),
    ...     models=np.zeros(0),
    ... )
    >>> setting = UpdateSetting(features=1, samples=1)
    >>> [c.name for c in compute_update_conditions(setting, one) if not c.holds]
    ['close neighbours']
    """
    v, norm = compute_update_direction(setting, instance), np.linalg.norm
    differs = (instance.design != instance.neighbour).any(axis=0)
    found = {
        "unit rows": (_off_unit(instance.design), ROUNDING),
        "unit rows of the neighbour": (_off_unit(instance.neighbour), ROUNDING),
        "unit rows of the others": (_off_unit(instance.others[..., None]), ROUNDING),
        "one column differs": (int(differs.sum()), 1),
        "close neighbours": (norm(instance.design - instance.neighbour), 1.0),
        "bounded model": (norm(local_model(setting, instance.design, v)), setting.bound),
        "bounded model of the neighbour": (
            norm(local_model(setting, instance.neighbour, v)),
            setting.bound,
        ),
        "bounded models of the others": (np.abs(instance.models).max(initial=0.0), setting.bound),
        "bounded dual": (norm(instance.dual), setting.bound),
        "bounded prediction": (norm(instance.prediction), setting.bound),
    }
    # The design's modulus takes an eigenvalue decomposition, and only hu2019's assumption asks for
    # it.
    if convex:
        both = np.stack([instance.design, instance.neighbour])
        here, there = np.transpose(compute_design_modulus(setting, both))
        found |= dict(zip(CONVEX, map(tuple, (here, there)), strict=True))
    return tuple(
        Condition(name=name, value=float(value), limit=float(limit))
        for name, (value, limit) in found.items()
    )


def compute_design_modulus(setting: UpdateSetting, design: Array) -> tuple[Array, Array]:
    """Return twice the largest eigenvalue of D'D and the modulus of (6), for stacked designs.

    Examples
    --------
    >>> setting = UpdateSetting(features=1, samples=2, penalty=3.0, regulariser_weight=1.0)
    >>> compute_design_modulus(setting, np.ones((1, 2, 1)))
    (array([4.]), array([7.]))
    """
    values: Array = np.linalg.eigvalsh(np.swapaxes(design, -1, -2) @ design).astype(np.float64)
    modulus = setting.regulariser_weight + setting.penalty * values[..., 0]
    return 2 * values[..., -1], modulus


def condition_names(setting: UpdateSetting, *, convex: bool = False) -> tuple[str, ...]:
    """Return the names of the conditions, read off an instance of zeros."""
    n, k = setting.samples, setting.parties - 1
    design = np.zeros((n, setting.features))
    zero = UpdateInstance(
        design=design,
        neighbour=design,
        dual=np.zeros(n),
        prediction=np.zeros(n),
        others=np.zeros((k, n)),
        models=np.zeros(k),
    )
    return tuple(
        condition.name for condition in compute_update_conditions(setting, zero, convex=convex)
    )


def _off_unit(rows: Array) -> float:
    """Return how far the norm of the worst row is from 1."""
    return float(np.abs(np.linalg.norm(rows, axis=-1) - 1).max(initial=0.0))
