"""The game against a claim: learn from all earlier scores, bet on the next ones, learn again.

The order is what makes it valid: `Game.play` bets on scores that nothing has been learned from, and
only then `Game.learn` may see them.

Wealth from bets on one pair of outputs after the other: a claim falls when it is large enough.

**A sequence of bets.** Each bet (`dpaudit.estimation.sequential.bets`) depends on earlier
outputs only, so against a true claim the wealth never has a mean above 1, and *ever* reaches
``1/alpha`` with probability at most alpha (Ville 1939). Looking after every output costs nothing.
Bettors with different events share one wealth: the average with weights that are fixed beforehand
and sum to 1 has the same property.

**A lower bound.** Every epsilon of a grid has a wealth of its own. The bound is the largest point
of the grid that has reached ``1/alpha`` together with all points before it. It exceeds the true
epsilon only if the first point at or above the truth has reached it, and that point is a true
claim: so the bound is ever wrong with probability at most alpha, with all epsilons sharing one
error probability. Nothing needs to be monotone in epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.betting import log_sum
from dpaudit.estimation.sequential.bets import Bets, Hits, fair_bets
from dpaudit.estimation.sequential.events import (
    EventChoices,
    Tallies,
    both_directions,
    first_shares,
)

_SLICE = 256  # pairs whose path is held at a time


@dataclass(frozen=True)
class Wealth:
    """The outcome of betting a wealth of 1 against every epsilon of a grid.

    Parameters
    ----------
    log_wealth
        Of each bettor, shape ``(..., K, E)``.
    log_share
        Logarithms of the shares of 1 they started with, shape ``(..., K)``; the shares sum to 1.
    log_peak
        The largest their sum has been, shape ``(..., E)``.
    pairs
        How many pairs of outputs were bet on.
    first_over
        After how many of them the sum first reached ``1/alpha``, shape ``(..., E)``; 0 if never.
    log_goal
        ``log(1/alpha)``.
    """

    log_wealth: Array
    log_share: Array
    log_peak: Array
    pairs: int
    first_over: NDArray[np.int64]
    log_goal: float

    @classmethod
    def start(cls, shares: Array, epsilons: int, alpha: float) -> Wealth:
        """Return a wealth of 1, shared out as ``shares`` of shape ``(..., K)`` say.

        Examples
        --------
        >>> Wealth.start(np.array([0.5, 0.5]), 3, 0.05).log_total
        array([0., 0., 0.])
        """
        lead = shares.shape[:-1]
        return cls(
            log_wealth=np.zeros((*shares.shape, epsilons)),
            log_share=np.log(shares / shares.sum(axis=-1, keepdims=True)),
            log_peak=np.zeros((*lead, epsilons)),
            pairs=0,
            first_over=np.zeros((*lead, epsilons), dtype=np.int64),
            log_goal=math.log(1 / alpha),
        )

    @property
    def log_total(self) -> Array:
        """The shared log-wealth against each epsilon, shape ``(..., E)``."""
        return self._total(self.log_wealth[..., None])[..., 0]

    def after(self, bets: Bets, hits: Hits, other_hits: Hits) -> tuple[Wealth, Array]:
        """Return the wealth after pairs of outputs, and its path, shape ``(..., E, n)``.

        The outputs must be independent of those that the bets were chosen on.
        """
        # Without any pairs the path is empty, and there is nothing to join.
        now, paths = self, [np.empty((*self.log_peak.shape, 0))]
        for start in range(0, hits.shape[-1], _SLICE):
            part = slice(start, start + _SLICE)
            now, path = now._after(bets.path(hits[..., part], other_hits[..., part]))
            paths.append(path)
        return now, np.concatenate(paths, axis=-1)

    def _after(self, factors: Array) -> tuple[Wealth, Array]:
        each = self.log_wealth[..., None] + np.cumsum(factors, axis=-1)
        path = self._total(each)
        over = path >= self.log_goal
        # Counted from 1, as 0 says never.
        first = np.where(over.any(axis=-1), self.pairs + 1 + over.argmax(axis=-1), 0)
        return replace(
            self,
            log_wealth=each[..., -1],
            log_peak=np.maximum(self.log_peak, path.max(axis=-1)),
            pairs=self.pairs + factors.shape[-1],
            first_over=np.where(self.first_over > 0, self.first_over, first),
        ), path

    def _total(self, each: Array) -> Array:
        share = self.log_share[..., None, None]
        return log_sum(each + share, axis=-3)


def find_confirmed_pairs(first_over: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return after how many pairs each point of the grid and all before it were over; 0 if never.

    Examples
    --------
    >>> find_confirmed_pairs(np.array([3, 7, 5, 0, 9]))
    array([3, 7, 7, 0, 0])
    """
    reached = np.logical_and.accumulate(first_over > 0, axis=-1)
    return np.where(reached, np.maximum.accumulate(first_over, axis=-1), 0)


def lower_bound(wealth: Wealth, epsilons: Array) -> Array:
    """Return the certified lower bound on epsilon, shape ``(...)``; 0 if nothing is excluded.

    Formal guarantee: with probability at least ``1 - alpha`` it never exceeds the true epsilon at
    delta, whenever one looks, if ``epsilons`` ascend.

    Examples
    --------
    >>> wealth = Wealth.start(np.ones(1), 2, 0.05)
    >>> float(lower_bound(wealth, np.array([0.5, 1.0])))
    0.0
    """
    count = (find_confirmed_pairs(wealth.first_over) > 0).sum(axis=-1)
    return np.asarray(np.concatenate([[0.0], epsilons])[count])


def most_of_bets(pairs: int, delta: float, alpha: float) -> float:
    """Return an epsilon that no fair bets on so many pairs of outputs exclude, whatever they are.

    Of all rates that an epsilon allows, ``p (1 - q)`` is largest where the lines of an event and of
    its complement cross: ``((e^epsilon + delta) / (1 + e^epsilon))^2``. A factor of mean at most 1
    there is at most one over that on a pair that tells the two apart, and at most 1 on any other.

    Examples
    --------
    >>> round(most_of_bets(10_000, 0.0, 0.05), 2), most_of_bets(1, 0.0, 0.05)
    (8.81, 0.0)
    """
    if pairs == 0:
        return 0.0
    growth = math.expm1(-math.log(alpha) / (2 * pairs))
    odds = (1 - (1 + growth) * delta) / growth
    return math.log(odds) if odds > 1 else 0.0


STAKES = (0.5, 1.0)  # of the Kelly stake; each has half of its event's share
PILOT = 50
"""Pairs that the first bets are learned from, and not bet on."""
_GROWTH = 1.1  # of the pairs learned from, between one choice of bets and the next
_BELOW = 40
_ABOVE = 40
# The grid has a point just above the claim, also above a claim of 0: to exclude it refutes the
# claim whatever rounding does.
_MARGIN = 1e-6
_ABSOLUTE = 1e-9
_FAR = np.geomspace(0.05, 20.0, 30)  # further points, where the claim is small


@dataclass(frozen=True)
class BettingTarget:
    """The claim to be refuted, and the error probability.

    Parameters
    ----------
    epsilon, delta
        The claim.
    alpha
        Probability of ever refuting it although it is true, over all looks, and of ever certifying
        a lower bound above the truth.
    """

    epsilon: float
    delta: float
    alpha: float

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.require_delta("delta", self.delta)
        check.require_probability("alpha", self.alpha)

    @property
    def epsilons(self) -> Array:
        """The grid of lower bounds, ascending; the one numbered `claim` is just above the claim."""
        top = self.epsilon * (1 + _MARGIN) + _ABSOLUTE
        below = np.arange(1, _BELOW + 1) / _BELOW
        above = 1 + np.arange(1, _ABOVE + 1) / _ABOVE * 2
        near = top * np.concatenate([below, above])
        return np.concatenate([near, _FAR[near[-1] < _FAR]])

    @property
    def claim(self) -> int:
        """The claim's place in the grid: a test that excludes this epsilon refutes the claim."""
        return _BELOW - 1


@dataclass(frozen=True)
class BetCounts:
    """The results of pairs that were bet on at the same rates, shape ``(2 J,)`` each.

    The factor of a bet depends on two things: whether the output on the favoured dataset is in the
    event, and whether the other is. So these counts are all that the wealth needs.

    Parameters
    ----------
    pairs
        How many pairs.
    rate, other_rate
        What each event's rates were guessed to be, from earlier pairs.
    hits, other_hits
        Outputs in the event, on the dataset that it favours and on the other.
    """

    pairs: int
    rate: Array
    other_rate: Array
    hits: NDArray[np.int64]
    other_hits: NDArray[np.int64]

    def __add__(self, more: BetCounts) -> BetCounts:
        return replace(
            self,
            pairs=self.pairs + more.pairs,
            hits=self.hits + more.hits,
            other_hits=self.other_hits + more.other_hits,
        )


@dataclass(frozen=True)
class BettingGame:
    """Bets of several scores, in both directions, and their winnings.

    Leading axes of all arrays are audits that run side by side; J scores make 2 J events and, with
    every stake, K bettors.
    """

    epsilons: Array
    claim: int
    delta: float
    tallies: Tallies
    chosen: EventChoices
    bets: Bets
    wealth: Wealth

    @classmethod
    def open(
        cls,
        on_p: Array,
        on_q: Array,
        *,
        epsilons: Array,
        claim: int,
        delta: float,
        alpha: float,
    ) -> BettingGame:
        """Return the game after a pilot that is learned from and not bet on.

        Parameters
        ----------
        on_p, on_q
            Scores of the pilot on dataset and neighbour, shape ``(..., J, n)``.
        epsilons, claim
            What is bet against, ascending, and which of them refutes the claim.
        delta, alpha
            As in `BettingTarget`.
        """
        tallies = Tallies.of(*both_directions(_require_no_nan(on_p), _require_no_nan(on_q)))
        # Points above the claim have no say in the choice: the claim is what is to be refuted.
        chosen = tallies.choose(epsilons[: claim + 1], delta)
        shares = first_shares(chosen.promise, len(STAKES))
        wealth = Wealth.start(shares, len(epsilons), alpha)
        bets = _make_fair_bets(chosen, epsilons, delta)
        return cls(epsilons, claim, delta, tallies, chosen, bets, wealth)

    def play(self, on_p: Array, on_q: Array) -> tuple[BettingGame, Array]:
        """Bet on pairs of fresh scores; return the game and the path of the log-wealth.

        Formal guarantee: over all calls, against a true claim the wealth ever reaches ``1/alpha``
        with probability at most alpha, if the scores were never passed to `learn` before.

        Parameters
        ----------
        on_p, on_q
            Shape ``(..., J, n)``.

        Returns
        -------
        game, path
            The path is against the claim, shape ``(..., n)``.
        """
        favoured, other = both_directions(_require_no_nan(on_p), _require_no_nan(on_q))
        hits = np.repeat(self.chosen.hits(favoured), len(STAKES), axis=-2)
        other_hits = np.repeat(self.chosen.hits(other), len(STAKES), axis=-2)
        wealth, path = self.wealth.after(self.bets, hits, other_hits)
        return replace(self, wealth=wealth), path[..., self.claim, :]

    def bet_counts(self, on_p: Array, on_q: Array, after: Wealth) -> Iterator[BetCounts]:
        """Yield the counts of pairs that were bet on, a part for each claim that fell.

        A part ends where the wealth against another epsilon first reached its goal, and with the
        last pair: so counts up to the end of a part carry every bound that was certified by then.

        Parameters
        ----------
        on_p, on_q
            As in `play`, shape ``(J, n)``.
        after
            The wealth once they were bet on.
        """
        both = both_directions(on_p, on_q)
        hits, other_hits = (self.chosen.hits(one) for one in both)
        fell = after.first_over[after.first_over > self.wealth.pairs] - self.wealth.pairs
        ends = sorted({*fell.tolist(), hits.shape[-1]})
        for start, stop in pairwise((0, *ends)):
            found = (one[:, start:stop].sum(axis=-1) for one in (hits, other_hits))
            yield BetCounts(stop - start, self.chosen.rate, self.chosen.other_rate, *found)

    def learn(self, on_p: Array, on_q: Array, *, anew: bool = False) -> BettingGame:
        """Choose the next bets, from scores that were bet on and all before them.

        Parameters
        ----------
        on_p, on_q
            Shape ``(..., J, n)``.
        anew
            Forget the counts so far: the scores are new ones, of other attacks.
        """
        scores = both_directions(_require_no_nan(on_p), _require_no_nan(on_q))
        tallies = Tallies.of(*scores) if anew else self.tallies.with_more(*scores)
        chosen = tallies.choose(self.epsilons[: self.claim + 1], self.delta)
        bets = _make_fair_bets(chosen, self.epsilons, self.delta)
        return replace(self, tallies=tallies, chosen=chosen, bets=bets)

    @property
    def refuted_after(self) -> NDArray[np.int64]:
        """After how many bets the claim was refuted, shape ``(...)``; 0 if it is not."""
        return np.asarray(find_confirmed_pairs(self.wealth.first_over)[..., self.claim])

    @property
    def lower(self) -> Array:
        """The certified lower bound on epsilon, shape ``(...)``."""
        return lower_bound(self.wealth, self.epsilons)


def make_bet_boundaries(pilot: int = PILOT) -> Iterator[int]:
    """Yield after how many pairs the bets are chosen, the pilot's first.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(make_bet_boundaries(), 4))
    [50, 60, 70, 80]
    """
    pairs = pilot
    while True:
        yield pairs
        pairs = max(pairs + 10, int(_GROWTH * pairs))


def _make_fair_bets(chosen: EventChoices, epsilons: Array, delta: float) -> Bets:
    rate, other = (np.repeat(r, len(STAKES), axis=-1) for r in (chosen.rate, chosen.other_rate))
    stakes = np.tile(STAKES, chosen.rate.shape[-1])
    return fair_bets(rate, other, epsilons, delta, stakes)


def _require_no_nan(scores: Array) -> Array:
    if np.isnan(scores).any():
        raise InvalidArgument("scores", np.nan, "no NaN")
    return scores
