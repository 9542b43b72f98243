"""The game against a claim: learn from all earlier scores, bet on the next ones, learn again.

The order is what makes it valid: `Game.play` bets on scores that nothing has been learned from, and
only then `Game.learn` may see them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.sequential import Wealth, confirmed, lower_bound
from dpaudit.estimation.sequential_bets import Bets, fair_bets
from dpaudit.estimation.sequential_events import Chosen, Tallies, both_directions, first_shares

Array = NDArray[np.float64]

STAKES = (0.5, 1.0)  # of the Kelly stake; each has half of its event's share
PILOT = 50
"""Pairs that the first bets are learned from, and not bet on."""
_GROWTH = 1.1  # of the pairs learned from, between one choice of bets and the next
_BELOW, _ABOVE = 40, 40
_MARGIN, _ABSOLUTE = 1e-6, 1e-9
_FAR = np.geomspace(0.05, 20.0, 30)  # further points, where the claim is small


@dataclass(frozen=True)
class Target:
    """What is to be refuted, and at which error probability.

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
        check.delta("delta", self.delta)
        check.probability("alpha", self.alpha)

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
        """Where in the grid the claim is: what excludes this epsilon refutes it."""
        return _BELOW - 1


@dataclass(frozen=True)
class Game:
    """Bets of several scores, in both directions, and what they have won.

    Leading axes of all arrays are audits that run side by side; J scores make 2 J events and, with
    every stake, K bettors.
    """

    epsilons: Array
    claim: int
    delta: float
    tallies: Tallies
    chosen: Chosen
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
    ) -> Game:
        """Return the game after a pilot that is learned from and not bet on.

        Parameters
        ----------
        on_p, on_q
            Scores of the pilot on dataset and neighbour, shape ``(..., J, n)``.
        epsilons, claim
            What is bet against, ascending, and which of them refutes the claim.
        delta, alpha
            As in `Target`.
        """
        tallies = Tallies.of(*both_directions(_scores(on_p), _scores(on_q)))
        chosen = tallies.choose(epsilons[: claim + 1], delta)
        shares = first_shares(chosen.promise, len(STAKES))
        wealth = Wealth.start(shares, len(epsilons), alpha)
        bets = _bets(chosen, epsilons, delta)
        return cls(epsilons, claim, delta, tallies, chosen, bets, wealth)

    def play(self, on_p: Array, on_q: Array) -> tuple[Game, Array]:
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
        favoured, other = both_directions(_scores(on_p), _scores(on_q))
        hits = np.repeat(self.chosen.hits(favoured), len(STAKES), axis=-2)
        other_hits = np.repeat(self.chosen.hits(other), len(STAKES), axis=-2)
        wealth, path = self.wealth.after(self.bets, hits, other_hits)
        return replace(self, wealth=wealth), path[..., self.claim, :]

    def learn(self, on_p: Array, on_q: Array, *, anew: bool = False) -> Game:
        """Choose the next bets, from scores that were bet on and all before them.

        Parameters
        ----------
        on_p, on_q
            Shape ``(..., J, n)``.
        anew
            Forget the counts so far: the scores are new ones, of other attacks.
        """
        scores = both_directions(_scores(on_p), _scores(on_q))
        tallies = Tallies.of(*scores) if anew else self.tallies.with_more(*scores)
        chosen = tallies.choose(self.epsilons[: self.claim + 1], self.delta)
        bets = _bets(chosen, self.epsilons, self.delta)
        return replace(self, tallies=tallies, chosen=chosen, bets=bets)

    @property
    def refuted_after(self) -> NDArray[np.int64]:
        """After how many bets the claim was refuted, shape ``(...)``; 0 if it is not."""
        return np.asarray(confirmed(self.wealth.first_over)[..., self.claim])

    @property
    def lower(self) -> Array:
        """The certified lower bound on epsilon, shape ``(...)``."""
        return lower_bound(self.wealth, self.epsilons)


def boundaries(pilot: int = PILOT) -> Iterator[int]:
    """Yield after how many pairs the bets are chosen, the pilot's first.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(boundaries(), 4))
    [50, 60, 70, 80]
    """
    pairs = pilot
    while True:
        yield pairs
        pairs = max(pairs + 10, int(_GROWTH * pairs))


def _bets(chosen: Chosen, epsilons: Array, delta: float) -> Bets:
    rate, other = (np.repeat(r, len(STAKES), axis=-1) for r in (chosen.rate, chosen.other_rate))
    stakes = np.tile(STAKES, chosen.rate.shape[-1])
    return fair_bets(rate, other, epsilons, delta, stakes)


def _scores(scores: Array) -> Array:
    if np.isnan(scores).any():
        raise InvalidArgument("scores", np.nan, "no NaN")
    return scores
