r"""Certified bounds on epsilon from exact privacy losses, by tilted sampling and betting.

Where the law is known, the privacy loss ``L = log p(o)/q(o)`` of an output is computed, and

    delta(epsilon) = E_P[(1 - e^(epsilon - L))_+].

Outputs come from a law tilted towards large losses, and are weighed back by ``w = p/r``. The
weighted payoff ``X = w (1 - e^(epsilon - L))_+`` is non-negative, so betting bounds its mean from
below whatever the weights do. If ``log w + theta L``, which is ``sum_t K_t(theta)`` where every
step is tilted towards its own loss, is at most ``Kbar`` for every output, then also
``X <= e^(Kbar - theta epsilon) theta^theta / (1 + theta)^(1 + theta)``, and betting bounds it
from above. Other draws may have another such bound (`dpaudit.mechanisms.mechanism.Aimable`).

X falls as epsilon grows, sample by sample, so "the true epsilon is at most e" are nested
hypotheses tested with one family of bets: the bound is where the test stops rejecting, and no
epsilon has to be chosen in advance. For the lower end the wealths of both directions are e-values
under the same hypothesis, on independent outputs: their product is one too. The upper end
holds when both directions' do, and only the worse direction's can fail it: no union bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.betting import (
    Stakes,
    find_margin_crossing,
    log_sum,
    log_wealth_falling,
    log_wealth_rising,
)
from dpaudit.guarantees import gaussian


class KnowsBound(Protocol):
    """Draws with a proved bound on their payoffs."""

    @property
    def epsilon(self) -> float:
        """The epsilon at which the draws aim: the bound is of use from there on."""
        ...

    def log_payoff_bound(self, epsilon: float) -> float:
        """Return the logarithm of a number no payoff exceeds."""
        ...


@dataclass(frozen=True)
class TiltedLosses:
    """One direction's trials, reduced to the numbers that the bounds need.

    Parameters
    ----------
    privacy_loss, log_mgf
        As in `dpaudit.mechanisms.mechanism.TiltedSample`, shape ``(R,)``: ``log_mgf`` is
        ``log w + theta L``, whichever law was drawn from.
    tilt
        ``theta``.
    log_mgf_bound
        ``Kbar``, or infinity.
    aimed
        Draws that know a bound on payoffs themselves, in place of ``Kbar``; the tilt is then 0.
    """

    privacy_loss: Array
    log_mgf: Array
    tilt: float
    log_mgf_bound: float
    aimed: KnowsBound | None = None

    def __post_init__(self) -> None:
        loss, log_mgf = self.privacy_loss, self.log_mgf
        if not len(loss) or loss.shape != log_mgf.shape:
            given = VerbatimText(f"shapes {loss.shape} and {log_mgf.shape}")
            raise InvalidArgument("privacy_loss and log_mgf", given, "one number each a trial")
        if not (np.isfinite(loss).all() and np.isfinite(log_mgf).all()):
            given = VerbatimText("NaN or infinity")
            raise InvalidArgument("privacy_loss and log_mgf", given, "finite numbers")
        check.non_negative("tilt", self.tilt)
        # A sum over many steps may round to a little above its proved bound. Anything more shows
        # that the bound is wrong.
        largest, bound = float(log_mgf.max()), self.log_mgf_bound
        if not largest <= bound + 1e-9 * (1 + abs(bound)):
            raise InvalidArgument("log_mgf_bound", bound, f"at least {largest:g}, which was drawn")

    def log_payoffs(self, epsilon: float) -> Array:
        """Return ``log X`` of every trial, ``-inf`` where the loss is at most epsilon."""
        excess = self.privacy_loss - epsilon
        above = excess > 0
        payoff = np.full(len(excess), -np.inf)
        # 1 - exp(-x) by expm1, as the difference would cancel for losses just above epsilon.
        payoff[above] = (
            self.log_mgf[above]
            - self.tilt * self.privacy_loss[above]
            + np.log(-np.expm1(-excess[above]))
        )
        return payoff

    def log_payoff_bound(self, epsilon: float) -> float:
        """Return the logarithm of a number no payoff exceeds, or infinity."""
        if self.aimed is not None:
            return self.aimed.log_payoff_bound(epsilon)
        theta = self.tilt
        # The limit of theta log theta at 0 is 0.
        peak = theta * math.log(theta) if theta > 0 else 0.0
        return self.log_mgf_bound - theta * epsilon + peak - (1 + theta) * math.log1p(theta)

    def log_delta(self, epsilon: float) -> float:
        """Return the point estimate of ``log delta(epsilon)``."""
        payoffs = self.log_payoffs(epsilon)
        return float(log_sum(payoffs) - math.log(len(payoffs))) if len(payoffs) else -math.inf

    def estimate(self, log_delta: float) -> float:
        """Return the epsilon at which the point estimate of delta meets the target."""
        if log_delta not in self._estimates:
            self._estimates[log_delta] = self._estimate_epsilon(log_delta)
        return self._estimates[log_delta]

    @cached_property
    def _estimates(self) -> dict[float, float]:
        # Both ends and their floors ask a pilot for the same two estimates, again and again.
        return {}

    def _estimate_epsilon(self, log_delta: float) -> float:
        top = max(0.0, float(self.privacy_loss.max()))
        if not self.log_delta(0.0) > log_delta:
            return 0.0
        return find_margin_crossing(lambda epsilon: self.log_delta(epsilon) - log_delta, 0.0, top)

    def relative_variance(self, epsilon: float) -> float:
        """Return the payoff's variance over its squared mean; a cautious 10 without payoffs."""
        payoffs = self.log_payoffs(epsilon)
        if (payoffs > -np.inf).sum() < 10:
            return 10.0
        scaled = np.exp(payoffs - payoffs.max())
        return float(scaled.var() / scaled.mean() ** 2)


def best_tilt(mu: float, log_delta: float) -> float:
    """Return the tilt that makes the payoff of a mu-Gaussian loss least variable at delta.

    Under the tilt the loss is ``N((1/2 + theta) mu^2, mu^2)``; the second moment of the payoff is
    ``E_P[w h^2]``, one quadrature on the losses above epsilon.

    Examples
    --------
    >>> 3.5 < best_tilt(1.0, math.log(1e-5)) < 5.5
    True
    """
    if mu < 1e-8 or log_delta == -math.inf:
        return 1.0
    epsilon = gaussian.epsilon_at(mu, log_delta)
    # Equal steps in the logarithm: the payoff lives on the scales from 1 to mu and beyond.
    log_excess = np.linspace(math.log(1e-8), math.log(12 * mu + mu * mu), 600)
    excess = np.exp(log_excess)
    loss = epsilon + excess
    log_payoff = 2 * np.log(-np.expm1(-excess)) + log_excess
    log_density = -((loss / mu - mu / 2) ** 2) / 2

    def log_second_moment(theta: float) -> float:
        log_weight = theta * (1 + theta) / 2 * mu * mu - theta * loss
        return float(log_sum(log_weight + log_density + log_payoff))

    # A tilt of centre - 1/2 moves the mean loss to epsilon; the best one lies around it.
    centre = epsilon / mu**2
    highest = 2 * centre + 4 / mu
    found = minimize_scalar(
        log_second_moment,
        bounds=(0.0, highest),
        method="bounded",
        options={"xatol": 1e-5 * highest},
    )
    return float(found.x)


@dataclass(frozen=True)
class LossDirection:
    """One direction of the pair: its certifying trials and the stakes its pilot chose."""

    losses: TiltedLosses
    pilot: TiltedLosses

    def stakes(self, epsilon: float, log_delta: float, alpha: float) -> Stakes:
        """Return stakes for tests near ``(epsilon, delta)``, from the pilot alone."""
        floor = epsilon_floor(self.pilot, epsilon, log_delta)
        return Stakes.planned(
            self.pilot.relative_variance(epsilon),
            len(self.losses.privacy_loss),
            alpha,
            # The bound falls as epsilon grows, so that what holds at the floor holds beyond it.
            self.losses.log_payoff_bound(floor) - log_delta,
        )


def epsilon_floor(pilot: TiltedLosses, epsilon: float, log_delta: float) -> float:
    """Return the least epsilon the upper end may take: where the pilot sees four times delta.

    Aimed draws are made for what is beyond their aim.
    """
    if pilot.aimed is not None:
        return min(pilot.aimed.epsilon, epsilon)
    lower = pilot.estimate(log_delta + math.log(4.0))
    return min(lower, epsilon)


def lower_end(directions: Sequence[LossDirection], log_delta: float, alpha: float) -> float:
    """Return an epsilon that the pair's true epsilon exceeds, except with probability alpha."""
    largest = max(float(d.losses.privacy_loss.max()) for d in directions)
    if log_delta == -math.inf:  # one loss above epsilon refutes it: nothing is estimated
        return max(0.0, largest)
    stakes = [d.stakes(d.pilot.estimate(log_delta), log_delta, alpha).rise for d in directions]

    def margin(epsilon: float) -> float:
        wealth = [
            log_wealth_rising(d.losses.log_payoffs(epsilon), log_delta, bets)
            for d, bets in zip(directions, stakes, strict=True)
        ]
        return combine_log_wealths(wealth) + math.log(alpha)

    return find_margin_crossing(margin, 0.0, largest) if margin(0.0) >= 0 else 0.0


def combine_log_wealths(log_wealths: Sequence[float]) -> float:
    """Return the log of half the product plus half the mean: an e-value if each is one.

    The wealths must come from independent trials.
    """
    mean = float(log_sum(log_wealths)) - math.log(len(log_wealths))
    return float(np.logaddexp(sum(log_wealths), mean) - math.log(2))


def upper_end(directions: Sequence[LossDirection], log_delta: float, alpha: float) -> float | None:
    """Return an epsilon the true one is below, except with probability alpha; or None."""
    ends = [_direction_upper_end(d, log_delta, alpha) for d in directions]
    return None if any(end is None for end in ends) else max(e for e in ends if e is not None)


def _direction_upper_end(direction: LossDirection, log_delta: float, alpha: float) -> float | None:
    losses = direction.losses
    centre = direction.pilot.estimate(log_delta)
    stakes = direction.stakes(centre, log_delta, alpha)
    floor = epsilon_floor(direction.pilot, centre, log_delta)

    def margin(epsilon: float) -> float:
        wealth = log_wealth_falling(losses.log_payoffs(epsilon), log_delta, stakes.fall)
        return wealth + math.log(alpha)

    # Beyond every loss all payoffs are 0: a bet that does not win there wins nowhere.
    top = max(floor, float(losses.privacy_loss.max())) + 1.0
    if stakes.floor == math.inf or not margin(top) >= 0:
        return None
    return find_margin_crossing(margin, top, floor)


def delta_lower(directions: Sequence[LossDirection], epsilon: float, alpha: float) -> float:
    """Return a lower bound on ``delta(epsilon)`` of the pair, one epsilon, fixed in advance."""
    # Either direction alone may be the wrong one that is largest, so that they share alpha. An
    # upper bound on the worse direction needs no share.
    share = alpha / len(directions)
    return max(_direction_delta_lower(d, epsilon, share) for d in directions)


def _direction_delta_lower(direction: LossDirection, epsilon: float, alpha: float) -> float:
    payoffs = direction.losses.log_payoffs(epsilon)
    top = float(payoffs.max())
    if top == -math.inf:
        return 0.0
    bets = direction.stakes(epsilon, direction.pilot.log_delta(epsilon), alpha).rise

    def margin(log_mean: float) -> float:
        return log_wealth_rising(payoffs, log_mean, bets) + math.log(alpha)

    # The sample mean is at least exp(top) over the count: the search starts 60 nats below it.
    low = top - math.log(len(payoffs)) - 60.0
    return math.exp(find_margin_crossing(margin, low, top)) if margin(low) >= 0 else 0.0


def delta_upper(directions: Sequence[LossDirection], epsilon: float, alpha: float) -> float | None:
    """Return an upper bound on ``delta(epsilon)`` of the pair, one epsilon; None without one."""
    ends = [_direction_delta_upper(d, epsilon, alpha) for d in directions]
    return None if any(end is None for end in ends) else max(e for e in ends if e is not None)


def _direction_delta_upper(direction: LossDirection, epsilon: float, alpha: float) -> float | None:
    log_pilot = direction.pilot.log_delta(epsilon)
    if log_pilot == -math.inf:
        return None
    # Stakes are planned for every mean down to half of the pilot's estimate, and for none below.
    floor = log_pilot - math.log(2)
    ceiling = direction.losses.log_payoff_bound(epsilon) - floor
    count = len(direction.losses.privacy_loss)
    variance = direction.pilot.relative_variance(epsilon)
    stakes = Stakes.planned(variance, count, alpha, ceiling)
    payoffs = direction.losses.log_payoffs(epsilon)

    def margin(log_mean: float) -> float:
        return log_wealth_falling(payoffs, log_mean, stakes.fall) + math.log(alpha)

    top = max(0.0, floor)
    if stakes.floor == math.inf or not margin(top) >= 0:
        return None
    # An upper bound must not vanish where the exponential underflows.
    return max(math.exp(min(0.0, find_margin_crossing(margin, top, floor))), math.ulp(0.0))
