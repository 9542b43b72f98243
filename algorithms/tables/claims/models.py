r"""Theorem 2 on joined tables where all models are released, for one client and across clients.

| paper   | name             | meaning                                          | shape  |
|---------|------------------|--------------------------------------------------|--------|
| x, x'   |                  | the tuple that is replaced, and its opposite     | (1,)   |
| u, v    |                  | models of the facts' client and of x's client    | (1,)   |
| f       |                  | every fact, far shorter than x                   | (1,)   |
| n       | ``joined``       | facts, all joined with x: G of x is n            | scalar |
| s       | ``deviation``    | noise of a step on a model, ``lr C sigma / N``   | scalar |
| U, V    |                  | ``|u| <= U`` and ``|v| >= V``                    | scalar |

**One client** (``joined = 0``). With the server's messages held fixed, as the theorem's proof has
them, or with one table, x reaches its own clipped gradient alone: 2 C a step under replacement. The
instance has one tuple and hardly any noise on predictions, so that every step moves by all of 2 C.

With r = 1 the exact law is Gaussian with ``mu = 2 sqrt(tau) / sigma``, and ``sqrt(tau) / sigma``
where the tuple is removed, as in Abadi et al. (2016): a tuple of zeros adds nothing to a sum, too.
At the end of the range, ``epsilon = c_1 tau``, the theorem asks for ``sigma = c_2 sqrt(tau
ln(1/delta)) / (c_1 tau)``, so that even under removal

    mu^2 / 2 = c_1^2 tau^2 / (2 c_2^2 ln(1/delta))  >  epsilon

once ``tau > 2 c_2^2 ln(1/delta) / c_1``, and then delta is nearly a half or more: a Gaussian
profile at ``epsilon = mu^2/2`` is ``1/2 - e^(mu^2/2) Phi(-mu)``, at least ``1/2 - 1/(mu sqrt(2
pi))``. So no c_1 and c_2 suit every tau.

**Across clients.** Half of the n facts have the label +1, half -1, and all are the same, so that
in the first round all gradients cancel: the law of (u, v) on both sides is N(0, s^2 I). In the
second round the server turns ``h = f u + x v`` into the facts' Y. With ``lambda = grad l(z; y)``
(eq. 33) a fact's gradient is ``f (Y + rho f u) = f (2 lambda - lambda_0)``, where lambda_0 is that
of the first round, and lambda increases with h. So if at ``h = H`` each is at least C, and at -H
each is at most -C, then for all ``|h| >= H`` all n gradients are clipped, with the sign of h. Where
``|u| <= U`` and ``|v| >= V = (H + f U) / x`` the sign of h is that of x v, and the other client's
sum moves by ``2 n C`` between x and x' = -x. As (u, v) has the same law on both sides and is seen,

    delta(epsilon)  >=  P(|u| <= U, |v| >= V) delta_mu(epsilon),      mu = 2 n / sigma,

where delta_mu is the Gaussian profile. The right side grows with n to nearly 1 while sigma does not
depend on n: no c_1 and c_2 save the theorem. What does hold is in
`dpaudit.algorithms.tables.guarantees`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.claims.noise import BOUNDED, BOUNDED_NEIGHBOUR, ONE_TUPLE, Theorem2
from dpaudit.algorithms.tables.guarantees import model_event
from dpaudit.algorithms.tables.joined_tables import JoinedTables
from dpaudit.algorithms.tables.laws import BatchSteps
from dpaudit.algorithms.tables.loss import LOGISTIC
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof
from dpaudit.extension.claim import Statement
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import REPLACE_TUPLE, Pair
from dpaudit.refutation import Certificate, Condition, Evidence, Inequality, certified

_SHORT = 1e-2  # facts over the tuple they are joined with
# What noise does to a prediction.
_QUIET = 1e-2  # for one client
_LOUD = 1e2  # across clients
_FARTHEST = 8.0  # U over s
_REACHES = np.arange(0.5, 40.0, 0.5)  # candidates for H


def model_view(
    statement: Statement,
    theorem: Theorem2,
    joined: int,
    rate: float,
    *,
    seed: int,
    parameters: dict[str, Any],
    removed: bool = False,
) -> PrivacyCase:
    """Return the audit of the models' release, with clients of a given learning rate.

    Raises
    ------
    InvalidArgument
        The tuple is removed where it is joined, or drawn into batches.
    """
    if removed and (joined or theorem.sampling_ratio < 1):
        expected = "false where tuples are joined or drawn: what it proves is for one client"
        raise InvalidArgument("removed", True, expected)
    pair, algorithm = pair_of(theorem, joined, removed), theorem.algorithm(rate)
    mechanism, seen = _choose_model_mechanism(theorem, joined, algorithm)
    return PrivacyCase(
        mechanism=mechanism,
        pair=pair,
        claimed=ApproximateDP(theorem.claimed, theorem.delta),
        at_delta=theorem.delta,
        view=f"model: all clients' models {seen}",
        data=pair.dataset.name,
        default_trials=4_000,
        parameters=parameters
        | {"noise_multiplier": theorem.noise_multiplier, "learning_rate": rate},
        assumptions=_check_bounded_tuples(theorem, pair, removed),
        proved=make_model_view_proof(theorem, joined, algorithm, removed),
        notes=_format_theorem2_notes(theorem, joined),
        certify=lambda lower: certify_clipped_clients(statement, theorem, joined, rate, seed=seed),
    )


def _choose_model_mechanism(
    theorem: Theorem2, joined: int, algorithm: TablesADMM
) -> tuple[Mechanism[JoinedTables], str]:
    """Return the released models and their time; across clients the law of batches is not known."""
    if theorem.sampling_ratio == 1:
        return algorithm.model_steps(), "after every local step"
    if joined:
        return algorithm.model(), "after every round"
    return BatchSteps(algorithm), "after every local step"


def pair_of(theorem: Theorem2, joined: int, removed: bool = False) -> Pair[JoinedTables]:
    """Return the tables of the module docstring, and x replaced by its opposite, or by zeros."""
    norm, n = theorem.tuple_norm, joined
    if n == 0:
        data = JoinedTables(
            (np.full((1, 1), norm),),
            (np.zeros(1, int),),
            np.ones(1),
            name="one client with one tuple, replaced",
        )
        other = 0.0 if removed else -norm
        return Pair(data, data.with_tuple(0, 0, [other]), REPLACE_TUPLE)
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    tables = (np.full((n, 1), _SHORT * norm), np.full((1, 1), norm))
    words = f"{n} equal facts of one client, half of each label, joined with one tuple of another"
    data = JoinedTables(tables, (np.arange(n), np.zeros(n, int)), labels, name=words)
    return Pair(data, data.with_tuple(1, 0, [-norm]), REPLACE_TUPLE)


def learning_rate(theorem: Theorem2, joined: int) -> float:
    """Return a rate at which noise moves predictions as the instance needs."""
    one = theorem.clip_norm * theorem.noise_multiplier * theorem.tuple_norm
    if joined:
        return _LOUD * theorem.sampling_ratio * joined / one
    return _QUIET * theorem.sampling_ratio / (one * math.sqrt(theorem.steps))


def make_model_view_proof(
    theorem: Theorem2, joined: int, algorithm: TablesADMM, removed: bool = False
) -> Proof | None:
    """Return the proof for the released models, if there is one.

    Examples
    --------
    >>> theorem = Theorem2(epsilon=1.0, delta=1e-5)
    >>> found = make_model_view_proof(theorem, 0, theorem.algorithm(1.0))
    >>> round(found.guarantee.epsilon(1e-5), 2)
    0.52
    """
    solver = algorithm.solver
    if theorem.sampling_ratio < 1:
        if joined:
            return None
        return Proof(
            guarantee=proved_guarantee(algorithm.client_event()).group(2),
            source="Poisson-subsampled Gaussian (Zhu, Dong & Wang 2022, Theorem 11); a replaced "
            "tuple is one removed and one added",
        )
    event = model_event(
        iterations=theorem.iterations,
        local_steps=theorem.local_steps,
        noise_multiplier=getattr(solver, "noise_multiplier", 0.0) * (2 if removed else 1),
        joined=(joined,),
    )
    source = "2 C a step at the owner, 2 C a_k at client k from the second round on"
    source = "C a step at the owner: a tuple of zeros adds nothing" if removed else source
    return Proof(guarantee=gaussian_guarantee(event), source=source)


def certify_clipped_clients(
    statement: Statement, theorem: Theorem2, joined: int, rate: float, *, seed: int
) -> Certificate | None:
    """Return the argument of the module docstring as numbers, or None where it does not apply.

    One client, several local steps, batches, and gradients that are not clipped have none.
    """
    single = theorem.local_steps == 1 and theorem.sampling_ratio == 1
    reach = find_clipping_reach(theorem)
    if not (joined and single and theorem.iterations > 1) or reach is None:
        return None
    claim = _make_cross_client_inequality(statement, theorem, joined, rate)
    if claim.sides(reach)[0] <= theorem.delta * (1 + 1e-6):
        return None
    return certified(claim, reach, {"seed": seed})


def _make_cross_client_inequality(
    statement: Statement, theorem: Theorem2, joined: int, rate: float
) -> Inequality[float]:
    """Return Theorem 2 of the lower bound on delta that H gives."""
    sigma, bound = theorem.noise_multiplier, theorem.claimed
    deviation = rate / joined * theorem.clip_norm * sigma
    far, fact = _FARTHEST * deviation, _SHORT * theorem.tuple_norm
    mu = 2 * joined / sigma

    def least(reach: float) -> float:
        return (reach + fact * far) / theorem.tuple_norm

    def probability(reach: float) -> float:
        return float((1 - 2 * ndtr(-_FARTHEST)) * 2 * ndtr(-least(reach) / deviation))

    def compute_delta(reach: float) -> float:
        return probability(reach) * GaussianDP(mu).delta(bound)

    def evidence(reach: float) -> Evidence:
        pair = pair_of(theorem, joined)
        (facts, old), (_, new) = pair.dataset.features, pair.neighbour.features
        return Evidence(
            kind="approximate-dp",
            relation=statement.relation,
            parameters=theorem.stated()
            | {
                "rows": joined,
                "penalty": theorem.penalty,
                "clip_norm": theorem.clip_norm,
                "learning_rate": rate,
            },
            instance={
                "facts": facts[:, 0],
                "labels": pair.dataset.labels,
                "tuple": old[0],
                "other": new[0],
                "model_bound": np.array([far]),
                "model_least": np.array([least(reach)]),
            },
            quantities={
                "bound": bound,
                "probability": probability(reach),
                "mu": mu,
                "attained delta": compute_delta(reach),
            },
        )

    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda reach: (compute_delta(reach), theorem.delta),
        conditions=lambda reach: _compute_certified_conditions(theorem, reach),
        evidence=evidence,
    )


def find_clipping_reach(theorem: Theorem2) -> float | None:
    """Return H: beyond it all facts' gradients are clipped; None if there is none up to 40.

    Examples
    --------
    >>> find_clipping_reach(Theorem2(epsilon=1.0, delta=1e-5))
    2.0
    """
    slack = 1 + 1e-9
    for reach in _REACHES:
        if least_gradient(theorem, float(reach)) >= theorem.clip_norm * slack:
            return float(reach)
    return None


def least_gradient(theorem: Theorem2, reach: float) -> float:
    """Return the smallest of ``f (2 lambda - lambda_0)`` at H and its negative at -H."""
    rho, targets = theorem.penalty, np.array([[[0.0], [1.0]]])
    first = _compute_tables_dual(targets, 0 * targets, 0.0, rho)
    slopes = [
        sign * (2 * _compute_tables_dual(targets, first, sign * reach, rho) - first)
        for sign in (1.0, -1.0)
    ]
    return _SHORT * theorem.tuple_norm * float(np.min(slopes))


def _compute_tables_dual(targets: Any, dual: Any, total: float, rho: float) -> Any:
    """Return the dual after eq. (32) and (33): the loss's gradient at z."""
    auxiliary = LOGISTIC.minimise(targets + dual + rho * total, rho)
    return expit(auxiliary) - targets


def _compute_certified_conditions(theorem: Theorem2, reach: float) -> tuple[Condition, ...]:
    """Return the theorem's assumptions and those of the argument."""
    norm, clipped = theorem.tuple_norm, least_gradient(theorem, reach)
    return (
        Condition(name=BOUNDED, value=norm, limit=norm),
        Condition(name=BOUNDED_NEIGHBOUR, value=norm, limit=norm),
        Condition(name=ONE_TUPLE, value=1.0, limit=1.0),
        *theorem.conditions(),
        Condition(name="opposite tuples", value=0.0, limit=0.0),
        Condition(name="equal facts", value=0.0, limit=0.0),
        Condition(name="balanced labels", value=0.0, limit=0.0),
        Condition(name="clipped gradients", value=theorem.clip_norm, limit=clipped),
    )


def _check_bounded_tuples(
    theorem: Theorem2, pair: Pair[JoinedTables], removed: bool
) -> tuple[AssumptionOutcome, ...]:
    norms = [
        max(float(np.linalg.norm(table, axis=1).max()) for table in data.features)
        for data in (pair.dataset, pair.neighbour)
    ]
    shown = [f"largest norm {norm:g}, at most {theorem.tuple_norm:g}" for norm in norms]
    holds = [norm <= theorem.tuple_norm for norm in norms]
    bounded = (
        AssumptionOutcome(name=name, holds=held, evidence=words)
        for name, held, words in zip((BOUNDED, BOUNDED_NEIGHBOUR), holds, shown, strict=True)
    )
    by = "zeros" if removed else "its opposite"
    differs = f"tuple {pair.index} of all clients' tuples is replaced by {by}"
    return (
        *bounded,
        AssumptionOutcome(name=ONE_TUPLE, holds=True, evidence=differs),
        *theorem.outcomes(),
    )


def _format_theorem2_notes(theorem: Theorem2, joined: int) -> tuple[str, ...]:
    constants = (
        "The theorem says that c_1 and c_2 exist, not what they are: c_1 = "
        f"{theorem.first_constant:g} and c_2 = {theorem.second_constant:g} are audited.",
    )
    if not joined:
        return constants
    return (
        *constants,
        "They do not matter here: sigma does not depend on the number of facts, and the other "
        "client's sum moves by 2 C for each of them; n facts break any c_2 for n large enough.",
    )
