r"""Membership inference: was this record in the data, judged by its loss under the final models.

**Threat model.** The attacker knows the record, its replacement, all other records and the
algorithm, and can run it (shadow runs); it sees the final models of one run, nothing else. A record
that was trained on tends to have a lower loss: the attack says "in" where the loss is at most a
threshold (Yeom et al. 2018; Carlini et al. 2022 on reporting the true-positive rate at a small
false-positive rate). What is run, and which models are final, is
`dpaudit.attacks.membership.targets`.

The threshold comes from shadow runs. Fresh runs, with the record and without it, then give two
independent binomial counts, so every interval is exact (Clopper & Pearson 1934) and all of them
hold together with the confidence that was asked for (union bound). Beside them stands what the
claimed guarantee allows any attack at all: an advantage TPR - FPR of at most ``delta(0)``, and a
true-positive rate of at most ``1 - f(FPR)``; where nothing is claimed, 1 for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.losses import LOGISTIC, MarginLoss
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.guarantees.kinds import Guarantee
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD, Pair

Record = tuple[Array, float]
RecordLoss = Callable[[Array, Array, float], Array]
DataT = TypeVar("DataT")
DataT_contra = TypeVar("DataT_contra", contravariant=True)


class Train(Protocol[DataT_contra]):
    """Any algorithm, as a function."""

    def __call__(self, dataset: DataT_contra, trials: int, rng: Generator) -> Array:
        """Return the final models of independent runs, trials first, shape ``(trials, ...)``."""
        ...


@dataclass(frozen=True)
class MeanMarginLoss:
    """A margin loss of a record under the mean of a run's models, ``(R, n, d)`` or ``(R, d)``.

    Examples
    --------
    >>> models = np.array([[[1.0, 0.0], [3.0, 0.0]]])
    >>> MeanMarginLoss()(models, np.array([1.0, 0.0]), 1.0).round(4)
    array([0.1269])
    """

    loss: MarginLoss = LOGISTIC

    def __call__(self, models: Array, features: Array, label: float) -> Array:
        """Return the loss of ``(features, label)`` in every run, shape ``(R,)``."""
        model = models.reshape(len(models), -1, len(features)).mean(axis=1)
        return self.loss.value(label * (model @ features))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A count of runs, and an interval for its probability."""

    hits: int
    trials: int
    lower: float
    upper: float

    @property
    def estimate(self) -> float:
        """The observed share."""
        return self.hits / self.trials


@dataclass(frozen=True, kw_only=True)
class Operating:
    """One threshold on the loss, and how it fares.

    ``true_positive`` is the share of runs with the record that are called "in", ``false_positive``
    that of runs without. Both intervals hold together, with this threshold's share of the error
    probability.
    """

    threshold: float
    true_positive: Rate
    false_positive: Rate
    power_bound: float

    @property
    def advantage(self) -> tuple[float, float, float]:
        """Lower end, estimate and upper end of TPR - FPR."""
        one, other = self.true_positive, self.false_positive
        return one.lower - other.upper, one.estimate - other.estimate, one.upper - other.lower

    @property
    def refutes(self) -> bool:
        """Whether the true-positive rate is certainly above the limit of the guarantee."""
        return self.true_positive.lower > self.power_bound


@dataclass(frozen=True, kw_only=True)
class MembershipInference:
    """The success of the attack, beside the limits of the guarantee.

    ``best`` has the threshold with the greatest advantage among shadow runs, ``rare`` the one whose
    false-positive rate among them is the target. ``advantage_bound`` is the guarantee's.
    """

    best: Operating
    rare: Operating
    target_rate: float
    advantage_bound: float
    confidence: float

    @property
    def refuted(self) -> bool:
        """Whether the claimed guarantee is certainly not met, at this confidence."""
        too_much = self.best.advantage[0] > self.advantage_bound
        return too_much or self.best.refutes or self.rare.refutes

    @property
    def words(self) -> str:
        """The result in one sentence."""
        low, estimate, high = self.best.advantage
        hit, false = self.rare.true_positive, self.rare.false_positive
        return (
            f"advantage {estimate:.3f} [{low:.3f}, {high:.3f}], at most {self.advantage_bound:.3f} "
            f"is allowed; TPR {hit.estimate:.3f} [{hit.lower:.3f}, {hit.upper:.3f}] at FPR "
            f"{false.estimate:.3f}, at most {self.rare.power_bound:.3f} is allowed"
        )


def infer_membership(
    train: Train[DataT],
    pair: Pair[DataT],
    claim: Guarantee | None,
    *,
    shadow_trials: int,
    trials: int,
    target_rate: float = 0.05,
    confidence: float = 0.95,
    record: Record | None = None,
    record_loss: RecordLoss | None = None,
    rng: Generator,
) -> MembershipInference:
    """Attack the record in which two datasets differ: it is in the first of them.

    Formal guarantee: all intervals of the result hold together with probability ``confidence``; so
    a claim that is true for the pair is refuted with probability ``1 - confidence`` at most.

    Parameters
    ----------
    train
        The algorithm.
    pair
        The data with the record and with its replacement.
    claim
        What is claimed under the pair's relation; None: nothing is, and any rate is allowed.
    shadow_trials, trials
        Runs on each dataset that set the thresholds, and that are counted.
    target_rate
        False-positive rate of the second threshold.
    confidence
        Of all intervals together.
    record
        Features, shape ``(d,)``, and label of what is judged; by default the record of the first
        dataset in which the two differ.
    record_loss
        Loss of ``(features, label)`` under models, shape ``(R,)``; by default the logistic loss
        under the mean of a run's models.

    Raises
    ------
    InvalidArgument
        No record is given and the pair, of no replaced record or label, does not name one; or a
        number is outside its domain.
    MechanismError
        ``train`` or ``record_loss`` does not return a finite number for every run.

    Examples
    --------
    >>> def train(dataset, trials, rng):
    ...     mean = dataset.signed_records.mean(axis=0)
    ...     return mean + 0.01 * rng.standard_normal((trials, len(mean)))
    >>> data = Dataset(np.eye(3), np.ones(3))
    >>> pair = Pair(data, data.with_record(0, [1.0, 0.0, 0.0], -1.0), REPLACE_LABEL)
    >>> from dpaudit.guarantees.kinds import PureDP
    >>> rng = np.random.default_rng(0)
    >>> infer_membership(train, pair, PureDP(1.0), shadow_trials=100, trials=200, rng=rng).refuted
    True
    """
    check.require_probability("target_rate", target_rate)
    check.require_probability("confidence", confidence)
    check.require_integer("shadow_trials", shadow_trials, least=10)
    check.require_integer("trials", trials, least=1)
    judged = _RecordLoss(
        train=train,
        record=_get_differing_record(pair) if record is None else record,
        loss=MeanMarginLoss() if record_loss is None else record_loss,
    )

    def losses(runs: int) -> tuple[Array, Array]:
        return judged.losses(pair.dataset, runs, rng), judged.losses(pair.neighbour, runs, rng)

    shadow = losses(shadow_trials)
    # Thresholds are set before the counted runs are drawn, which makes the counts binomial.
    thresholds = _best_threshold(*shadow), float(np.quantile(shadow[1], target_rate))
    counted = losses(trials)
    # Two thresholds share the error probability.
    alpha = (1 - confidence) / len(thresholds)
    best, rare = (
        _measure_operating_point(threshold, *counted, claim, alpha) for threshold in thresholds
    )
    return MembershipInference(
        best=best,
        rare=rare,
        target_rate=target_rate,
        advantage_bound=1.0 if claim is None else claim.advantage(),
        confidence=confidence,
    )


def _get_differing_record(pair: Pair[DataT]) -> Record:
    """Return the first dataset's record in which two datasets differ."""
    data = pair.dataset
    if not isinstance(data, Dataset) or pair.relation not in (REPLACE_RECORD, REPLACE_LABEL):
        expected = f"{REPLACE_RECORD.name} or {REPLACE_LABEL.name} of records: it names the record"
        raise InvalidArgument("relation", pair.relation.name, expected)
    return data.features[pair.index], float(data.labels[pair.index])


@dataclass(frozen=True, kw_only=True)
class _RecordLoss(Generic[DataT]):
    """An algorithm and the record whose loss is looked at."""

    train: Train[DataT]
    record: Record
    loss: RecordLoss

    def losses(self, dataset: DataT, runs: int, rng: Generator) -> Array:
        """Return the loss of the record in fresh runs on a dataset, shape ``(runs,)``."""
        models = np.asarray(self.train(dataset, runs, rng), dtype=np.float64)
        # A model that is not finite would give a loss that is no number, and count as "out" without
        # a word.
        usable = models.ndim > 1 and len(models) == runs and bool(np.isfinite(models).all())
        found = np.asarray(self.loss(models, *self.record)) if usable else np.empty(0)
        if found.shape != (runs,) or not np.isfinite(found).all():
            raise MechanismError(
                f"train: models of shape {models.shape} gave losses of shape {found.shape}, "
                f"expected finite models and a finite loss for each of {runs} runs"
            )
        return found


def _best_threshold(inside: Array, outside: Array) -> float:
    """Return the loss at or below which "in" is said with the greatest advantage."""
    # The counts change at observed losses only, so no other threshold can do better.
    candidates = np.unique(np.concatenate([inside, outside]))
    positive = np.searchsorted(np.sort(inside), candidates, side="right") / len(inside)
    negative = np.searchsorted(np.sort(outside), candidates, side="right") / len(outside)
    return float(candidates[int(np.argmax(positive - negative))])


def _measure_operating_point(
    threshold: float, inside: Array, outside: Array, claim: Guarantee | None, alpha: float
) -> Operating:
    """Count fresh losses; each of the two intervals has error probability ``alpha / 2``."""
    positive, negative = (
        _estimate_hit_rate(losses <= threshold, alpha / 2) for losses in (inside, outside)
    )
    return Operating(
        threshold=threshold,
        true_positive=positive,
        false_positive=negative,
        # What is allowed grows with the false-positive rate: at its upper end the bound is the
        # weakest that the counts admit.
        power_bound=1.0 if claim is None else claim.true_positive_rate(negative.upper),
    )


def _estimate_hit_rate(called: NDArray[np.bool_], alpha: float) -> Rate:
    hits, trials = int(called.sum()), len(called)
    lower, upper = clopper_pearson(hits, trials, alpha)
    return Rate(hits=hits, trials=trials, lower=lower, upper=upper)
