"""The audit of a claim about Renyi divergences: one order, or all of them.

As the audit by events (`dpaudit.auditing.estimators.event`), but for what certifies: scores are
counted in bins, and one bet on them bounds the divergence
(`dpaudit.estimation.divergence`). The order, the direction, the bins and the
bet are chosen on the outputs that set thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import dpaudit.auditing.estimators.event as event
import dpaudit.auditing.sampling.contract_checks as contract_checks
import dpaudit.auditing.sampling.separate_processes as separate_processes
from dpaudit._typing import Array
from dpaudit.auditing.outcome.evidence import DivergenceCounts, MeasurementEvidence
from dpaudit.auditing.sampling.contract_checks import ContractChecks
from dpaudit.auditing.sampling.sampler import Certifying, Drawer
from dpaudit.auditing.sampling.separate_processes import MARGIN, Against
from dpaudit.estimation.bet_choice import BetChoice, choose_bet
from dpaudit.estimation.divergence import (
    Bins,
    RenyiBet,
    estimate_bet_bound,
    resize_renyi_bet,
    standard_errors,
)
from dpaudit.estimation.event import error_rates
from dpaudit.estimation.score_events import ScoreEvent, Tally
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.extension.case import PrivacyCase
from dpaudit.guarantees.currency import Currency

_TOGETHER = 256  # groups of units after each of which the bet may stop
_NO_UPPER = "outputs alone bound a divergence from below only"


@dataclass(frozen=True)
class BinnedEvent(ScoreEvent):
    """The counted parts of a score: an event, and bins."""

    bins: Bins = field(default_factory=lambda: Bins(np.zeros(0)))

    def count(self, scores: Array) -> Any:
        """Return how many scores are in the event and in each bin, shape ``(1 + K,)``."""
        return np.concatenate([[super().count(scores)], self.bins.counts(self.rounded(scores))])


@dataclass(frozen=True)
class DivergenceOutcome:
    """The counts, with the planned bet and the claimed divergence.

    ``counts`` of dataset and neighbour, of groups of units in order, shape ``(U, K)`` each.
    """

    counted: BinnedEvent
    chosen: BetChoice
    claimed: float
    counts: tuple[Array, Array]
    alpha: float

    @property
    def lower(self) -> float:
        """The certified number."""
        return self.chosen.lower(*self.counts, self.alpha)

    @property
    def refuted(self) -> bool:
        """Whether that is above the claim."""
        return self.lower > self.claimed

    def bin_counts(self, unit: float) -> DivergenceCounts:
        """Return the counts that carry the bound, in units of the divergence."""
        bet, hits = self.chosen.bet, self.chosen.decisive(*self.counts, self.alpha)
        return DivergenceCounts(
            favours="dataset" if self.chosen.above else "neighbour",
            order=bet.order,
            log_ratios=tuple(bet.log_ratios.tolist()),
            slope=bet.slope,
            centre=bet.centre,
            stake=bet.stake,
            trials=bet.trials,
            hits=(tuple(map(int, hits[0])), tuple(map(int, hits[1]))),
            alpha=self.alpha,
            unit=unit,
            bound=self.lower / unit,
        )

    def suffices(self, trials: int) -> bool:
        """Return whether so many outputs a side would refute by far, at the rates seen."""
        # So many standard errors leave the bound above the claim but for rare outputs.
        errors = math.sqrt(-2 * math.log(self.alpha)) + MARGIN
        if standard_errors(self.chosen.bet, self._rates, trials, self.claimed) <= errors:
            return False
        bet = resize_renyi_bet(self.chosen.bet, self._rates, trials, self.alpha)
        return estimate_bet_bound(bet, self._rates, (trials, trials), self.alpha) > self.claimed

    def check(self, name: str, scores: tuple[Array, Array]) -> CheckOutcome:
        """Return whether other outputs certify as much, where so many have to."""
        trials = min(map(len, scores))
        bet = resize_renyi_bet(self.chosen.bet, self._rates, trials, self.alpha)
        counts = [self.counted.bins.counts(self.counted.rounded(one)) for one in scores]
        lower = replace(self.chosen, bet=bet).lower(counts[0], counts[1], self.alpha)
        needed = self.suffices(trials)
        return CheckOutcome(
            name=name,
            statement="outputs of other calls and processes do not confirm the divergence: draw "
            "no noise when the mechanism is imported or made, or once for a whole "
            "call, and keep none",
            passed=not needed or lower > self.claimed,
            statistic=lower,
            threshold=self.claimed if needed else 0.0,
            evidence=f"{trials} outputs on each dataset certify {lower:.4g}"
            + (f"; more than {self.claimed:.4g} is needed" if needed else "; too few to decide"),
        )

    @property
    def _rates(self) -> tuple[Array, Array]:
        """The counts of each bin, on the favoured side and on the other."""
        first, second = (side.sum(axis=0) / side.sum() for side in self.counts)
        return (first, second) if self.chosen.above else (second, first)


def bound_renyi_by_bet(
    case: PrivacyCase,
    drawer: Drawer,
    trials: int,
    alpha: float,
    attack: str | None,
    bits: bool = False,
) -> MeasurementEvidence:
    """Return the bound on a Renyi divergence, over its order where all are claimed.

    Parameters
    ----------
    case, drawer
        What is audited, and what draws its outputs.
    trials
        How many certify, of each dataset.
    alpha
        Error probability.
    attack
        The only attack to try, or None.
    bits
        Whether to try the lowest bits of doubles as well.
    """
    currency = _get_divergence_currency(case)
    first = event.chosen_event(case, drawer, trials, alpha, attack, bits)
    chosen = choose_bet(*first.best.scores, currency.orders, trials, alpha)
    # Of a claim on all orders the divergence is measured over its order, and scaled back at the
    # end.
    order, scale = chosen.bet.order, chosen.bet.order if len(currency.orders) > 1 else 1.0
    counted = BinnedEvent(first.score, first.best.event, first.best.step, chosen.bins)
    claimed = currency.claimed(first.at_delta) * scale
    case = replace(case, at_delta=first.at_delta)
    seen, certifying, kept = _draw_bet_counts(
        case, drawer, trials, (counted, chosen, claimed, alpha)
    )
    drawn = {"certifying, per dataset": trials} | first.counts
    on_p, on_q = map(first.best.rounded, certifying.scores)
    direction = "dataset over neighbour" if chosen.above else "neighbour over dataset"
    return MeasurementEvidence(
        lower=seen.lower / scale,
        upper=None,
        upper_note=_NO_UPPER,
        cap=_compute_largest_bet_bound(chosen.bet, alpha) / scale,
        estimate=None,
        estimator=f"bet on binned scores, {first.attack.name} attack",
        trials=trials,
        budget={"one bet on the counts of all bins": alpha},
        counts=drawn | {"outputs in all, of both datasets": 2 * sum(drawn.values())},
        roc=error_rates(on_p, on_q),
        notes=(
            f"Chosen beforehand: {direction}, order {order:.4g}, {len(counted.bins)} bins.",
            f"Attack: {first.attack.statement}.",
            event.words_of_tried(first.tried),
            *kept.notes,
        ),
        contract=kept.checks,
        remark=kept.remark,
        at_delta=first.at_delta,
        bins=seen.bin_counts(scale),
    )


def _compute_largest_bet_bound(bet: RenyiBet, alpha: float) -> float:
    """Return the largest bound that a bet certifies, whatever its outputs are.

    All of the favoured side are then in the bin that gains most, all others in the one that costs
    least: the logarithm of the wealth is linear in the counts.
    """
    favoured, other = np.zeros(len(bet.log_ratios)), np.zeros(len(bet.log_ratios))
    favoured[np.argmax(bet.log_ratios)], other[np.argmin(bet.log_ratios)] = bet.trials
    return bet.lower(favoured, other, alpha)


def _get_divergence_currency(case: PrivacyCase) -> Currency:
    assert case.currency is not None
    return case.currency


def _draw_bet_counts(
    case: PrivacyCase,
    drawer: Drawer,
    trials: int,
    planned: tuple[BinnedEvent, BetChoice, float, float],
) -> tuple[DivergenceOutcome, Certifying, ContractChecks]:
    """Return the certifying counts: drawn again in own processes if they refute and had none."""
    seen, tally, found = _count_bet_outcomes(drawer, trials, planned)
    against = Against(case.claimed.epsilon(case.at_delta), case.at_delta, seen.alpha, seen)
    # One error probability covers both draws. If the claim is true, a second draw is made only
    # where the first erred; if it is false, a first draw that does not refute lies below the truth.
    if not separate_processes.is_claim_refuted(seen.counted, tally, against):
        return seen, found, contract_checks.of_event(drawer, found, tally, seen.counted, against)
    with contract_checks.make_separate_drawer(case, drawer) as other:
        if other is not drawer:
            seen, tally, found = _count_bet_outcomes(other, trials, planned)
            against = against._replace(bet=seen)
        return seen, found, contract_checks.of_event(other, found, tally, seen.counted, against)


def _count_bet_outcomes(
    drawer: Drawer, trials: int, planned: tuple[BinnedEvent, BetChoice, float, float]
) -> tuple[DivergenceOutcome, Tally, Certifying]:
    counted, chosen, claimed, alpha = planned
    sides, found = drawer.counts(counted, trials, "certifying", certifies=True)
    on_p, on_q = (_merge_unit_counts(side) for side in sides)
    tally = Tally((int(on_p[:, 0].sum()), int(on_q[:, 0].sum())), (trials, trials))
    return (
        DivergenceOutcome(counted, chosen, claimed, (on_p[:, 1:], on_q[:, 1:]), alpha),
        tally,
        found,
    )


def _merge_unit_counts(counts: Sequence[Array]) -> Array:
    """Return the counts of so many groups of units, in order."""
    # Groups follow the order of the plan, in which the wealth may be looked at after each.
    rows = np.stack(counts)
    starts = np.linspace(0, len(rows), min(_TOGETHER, len(rows)), endpoint=False).astype(np.int64)
    return np.add.reduceat(rows, starts, axis=0)
