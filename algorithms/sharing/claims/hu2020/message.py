r"""hu2020's Theorem 1, and its audit with noise on the message, whose law is known.

| paper       | name             | meaning                                    | shape    |
|-------------|------------------|--------------------------------------------|----------|
| D_m         | dataset.features | what the neighbours differ in              | (N, d_m) |
| y           | ``dual``         | state of the centre, public                | (N,)     |
| s           | ``gap``          | ``sum_{k != m} D_k x~_k - z``, public      | (N,)     |
| sigma       | ``noise_scale``  | the message is ``N(D_m x_m, sigma^2 I)``   | scalar   |

One message is audited, from a given state: the pair and state that the search for Lemma 1 finds.
The message's mean comes from the algorithm's own update, the shift from the formula with which
Lemma 1 is audited: an audit compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.sharing.algorithm import SharingADMM, SharingState
from dpaudit.algorithms.sharing.claims.hu2020.search import find_worst_update
from dpaudit.algorithms.sharing.claims.hu2020.update import (
    PROOF,
    UpdateInstance,
    UpdateSetting,
    compute_corrected_lemma1_bound,
    compute_published_lemma1_bound,
    get_update_parameters,
    local_model,
    make_lemma1_sensitivity,
)
from dpaudit.algorithms.sharing.noise import MessageNoise, compute_published_noise_scale
from dpaudit.algorithms.sharing.vertical import Risk, split_into_parties
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof
from dpaudit.extension.claim import Statement
from dpaudit.guarantees.gaussian import epsilon_at, log_delta
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from dpaudit.refutation import Condition, Evidence, Inequality, certified, exceeds

# The audited designs are nearly singular, and the closed form leaves a residual there.
_TOLERANCE = 1e-6  # of an update's residual; what it leaves is compared with the exact shift
_BELOW = 1e-6  # how far below the exact epsilon a certificate stays, relatively


@dataclass(frozen=True, kw_only=True)
class Theorem1:
    """The theorem at given public parameters.

    Parameters
    ----------
    setting
        Of the update whose result is sent.
    variant
        Where the noise goes: ``message``, ``parameter`` or ``whitened``.
    sensitivity
        What scales the noise: ``published`` is Lemma 1's, ``corrected`` has a proof.
    epsilon, delta, factor
        ``factor * epsilon`` is claimed at ``delta``, with the noise for ``epsilon``.
    """

    setting: UpdateSetting
    variant: str
    sensitivity: str
    epsilon: float
    delta: float
    factor: float

    @property
    def claimed(self) -> float:
        """The claimed epsilon."""
        return self.factor * self.epsilon

    @property
    def noise_scale(self) -> float:
        """``sqrt(2 ln(1.25/delta)) C / epsilon`` with the sensitivity that is asked for."""
        bound = (
            compute_published_lemma1_bound
            if self.sensitivity == "published"
            else compute_corrected_lemma1_bound
        )
        return compute_published_noise_scale(self.epsilon, self.delta, bound(self.setting))

    def stated(self) -> dict[str, Any]:
        """Return the parameters that a certificate states, as its verifier reads them."""
        names = ("variant", "sensitivity", "epsilon", "delta")
        own = {name: getattr(self, name) for name in names}
        return get_update_parameters(self.setting, self.factor) | own


@dataclass(frozen=True, kw_only=True, eq=False)
class OneMessage:
    """A party's update (6) and its message with noise; state is the number of trials.

    Notes
    -----
    Formal guarantee: ``GaussianDP(C / noise_scale)`` for any C that bounds ``||D x - D' x'||``.

    Examples
    --------
    >>> message = OneMessage(
    ...     setting=UpdateSetting(features=1, samples=2, penalty=1.0, regulariser_weight=2.0),
    ...     dual=np.ones(2),
    ...     gap=np.zeros(2),
    ...     noise_scale=1.0,
    ... )
    >>> message.step(3, Dataset([[1.0], [1.0]], [1, 1])).mean[0].tolist()
    [-0.5, -0.5]
    """

    setting: UpdateSetting
    dual: Array
    gap: Array
    noise_scale: float

    @property
    def steps(self) -> int:
        """One message."""
        return 1

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` unless the design has the setting's shape."""
        expected = (self.setting.samples, self.setting.features)
        if dataset.features.shape != expected:
            given = VerbatimText(f"features of shape {dataset.features.shape}")
            raise InvalidArgument("dataset", given, f"shape {expected}")

    def start(self, dataset: Dataset, trials: int) -> int:
        """Return the number of trials."""
        return trials

    def step(self, state: int, dataset: Dataset) -> Step:
        """Return the law of the message, by the algorithm's update; means shape ``(R, N)``."""
        setting = self.setting
        algorithm = SharingADMM(
            block_sizes=(setting.features,),
            iterations=1,
            penalty=setting.penalty,
            noise=MessageNoise(self.noise_scale),
            risk=Risk(regulariser_weight=setting.regulariser_weight),
            tolerance=_TOLERANCE,
        )
        (party,) = split_into_parties(dataset, algorithm.block_sizes)
        zero = np.zeros((1, setting.samples))
        # One party without a message so far: the state's gap then is the pull of eq. (6) as it
        # stands.
        seen = SharingState(zero[:, None], zero, self.dual[None], self.gap[None], dataset.labels)
        mean = algorithm.local_model(party, seen, 0) @ party.design.T
        # Given the state the mean is the same in every trial.
        return Step(np.repeat(mean, state, axis=0), np.asarray(self.noise_scale))

    def shift(self, state: int, pair: Pair[Dataset]) -> Array:
        """Return the neighbour's mean minus the dataset's, shape ``(R, N)``."""
        v = self.dual + self.setting.penalty * self.gap
        designs = pair.neighbour.features, pair.dataset.features
        there, here = (design @ local_model(self.setting, design, v) for design in designs)
        return np.tile(there - here, (state, 1))

    def advance(self, state: int, output: Array) -> int:
        """Return the state: nothing follows."""
        return state

    def squared_shift_bounds(self, pair: Pair[Dataset]) -> tuple[float, float]:
        """Return ``||D x - D' x'||^2 / sigma^2``, twice: it is exact."""
        square = float(np.sum(self.shift(1, pair) ** 2)) / self.noise_scale**2
        return square, square


# The audit


def message_case(
    claim: Statement, theorem: Theorem1, *, seed: int, budget: int, parameters: dict[str, Any]
) -> PrivacyCase:
    """Return the audit by the message's exact law, on the pair and state that move it farthest."""
    setting, scale = theorem.setting, theorem.noise_scale
    lemma = make_lemma1_sensitivity(setting)
    rng = default_rng(stream(seed, "search"))
    # The instance is checked before anything is drawn on it: a pair outside the assumptions audits
    # nothing.
    instance = lemma.checked(find_worst_update(setting, lemma, budget, rng))
    moved = lemma.movement(instance)
    searched = {"seed": seed, "budget": budget}
    return PrivacyCase(
        mechanism=GaussianSteps(_make_one_message(setting, instance, scale)),
        pair=_make_column_pair(instance),
        claimed=ApproximateDP(theorem.claimed, theorem.delta),
        at_delta=theorem.delta,
        view="message: one D_m x_m with N(0, sigma^2 I), given y, z and the other parties' models",
        data="a design with unit rows, drawn and improved by the search for Lemma 1",
        default_trials=10_000,
        parameters=parameters | {"noise_scale": scale},
        assumptions=tuple(_make_condition_outcome(c) for c in lemma.conditions(instance)),
        proved=_make_message_proof(lemma.proved / scale, f"exact Gaussian profile; {PROOF}"),
        pair_ceiling=_make_message_proof(moved / scale, "exact Gaussian profile of this pair"),
        notes=(
            f"Pair and state: the best of {budget} that the search for Lemma 1 "
            f"evaluated; D_m x_m moves by {moved:.6g}, {moved / lemma.claimed:.4g} times what the "
            f"lemma allows; sigma = {scale:.6g}.",
        ),
        certify=lambda lower: certified(privacy_of(claim, theorem), instance, searched),
    )


def privacy_of(claim: Statement, theorem: Theorem1) -> Inequality[UpdateInstance]:
    """Return the theorem as an inequality: the exact epsilon of a pair is at most the claimed."""
    lemma, log_target = make_lemma1_sensitivity(theorem.setting), math.log(theorem.delta)

    def sides(instance: UpdateInstance) -> tuple[float, float]:
        mu = lemma.movement(instance) / theorem.noise_scale
        return epsilon_at(mu, log_target), theorem.claimed

    def evidence(instance: UpdateInstance) -> Evidence | None:
        return _make_message_evidence(
            theorem, instance, lemma.movement(instance), sides(instance)[0]
        )

    return Inequality(
        name=claim.name,
        source=claim.source,
        sides=sides,
        conditions=lemma.conditions,
        evidence=evidence,
    )


def _make_message_evidence(
    theorem: Theorem1, instance: UpdateInstance, moved: float, epsilon: float
) -> Evidence | None:
    """Return an epsilon just below the exact one, where delta is above the claimed one."""
    witness, scale = (1 - _BELOW) * epsilon, theorem.noise_scale
    if not exceeds(witness / theorem.claimed):
        return None
    exact = math.exp(log_delta(moved / scale, witness))
    return Evidence(
        parameters=theorem.stated(),
        instance=vars(instance) | {"epsilon": witness},
        quantities={
            "claimed epsilon": theorem.claimed,
            "noise scale": scale,
            "movement": moved,
            "exact delta over claimed delta": exact / theorem.delta,
            "ratio": witness / theorem.claimed,
        },
        kind="approximate-dp",
        relation=REPLACE_COLUMN.name,
        conditions=(Condition(name="claimed delta is exceeded", value=theorem.delta, limit=exact),),
    )


def _make_message_proof(mu: float, source: str) -> Proof:
    return Proof(guarantee=GaussianDP(mu), source=source)


def _make_one_message(setting: UpdateSetting, instance: UpdateInstance, scale: float) -> OneMessage:
    return OneMessage(
        setting=setting,
        dual=instance.dual,
        gap=instance.models @ instance.others - instance.prediction,
        noise_scale=scale,
    )


def _make_column_pair(instance: UpdateInstance) -> Pair[Dataset]:
    labels = np.ones(len(instance.design))
    one, other = (Dataset(design, labels) for design in (instance.design, instance.neighbour))
    return Pair(one, other, REPLACE_COLUMN)


def _make_condition_outcome(condition: Condition) -> AssumptionOutcome:
    evidence = f"{condition.value:.4g}, at most {condition.limit:.4g}"
    return AssumptionOutcome(name=condition.name, holds=condition.holds, evidence=evidence)
