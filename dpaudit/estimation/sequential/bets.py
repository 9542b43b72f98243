r"""One bet against a claim: the factor of the wealth for a pair of outputs, and why it is fair.

| symbol     | name                        | meaning                                               |
|------------|-----------------------------|-------------------------------------------------------|
| X, Y       |                             | independent outputs on the favoured dataset, the other|
| S          |                             | the event; chosen from earlier outputs only           |
| p, q       |                             | true probability of S under X and under Y             |
| p1, q1     | ``rate``, ``other_rate``    | what they are guessed to be, from earlier outputs only|
| p0, q0     | `nearest_allowed`           | the allowed rates nearest to the guess                |
| k          | ``stake``                   | share of the Kelly stake, in (0, 1]                   |
| s          | `largest_gain`              | what the claim allows the two factors to gain         |
| H(e)       |                             | rates that (e, delta)-indistinguishability allows     |

**One bet.** The wealth is multiplied by ``f(X) g(Y) / (1 + s/2)^2`` with

    f(X) = 1 + k a (1[X in S] - p0),    a = (p1 - p0) / (p0 (1 - p0)) >= 0,
    g(Y) = 1 + k b (1[Y in S] - q0),    b = (q1 - q0) / (q0 (1 - q0)) <= 0,
    s = max over H(e) of  k a (p - p0) + k b (q - q0),  or 0 if that is negative.

``f`` and ``g`` are at least 0. Under the claim (p, q) is in H(e), so the means of f and g sum to
at most ``2 + s``; X and Y are independent, so their product has mean ``E f E g <= ((2 + s)/2)^2``
(arithmetic over geometric mean). The factor thus has mean at most 1 whatever the guess is and
however p0 and q0 were found. H(e) is the polygon under ``p = e^e q + delta`` (the event) and
``1 - q = e^e (1 - p) + delta`` (its complement), so the linear maximum s is at a corner: where the
first line starts, where both cross, where the second ends. With p0, q0 the Kullback-Leibler
projection, s is 0 and the bet at k = 1 is the likelihood ratio: no bet grows faster if the guess is
right (Turner, Ly & Gruenwald 2024). It refines the bet on ``1[X in S] - e^e 1[Y in S] - delta``,
whose mean is at most 0: each of the two outputs has a stake of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array

Hits = NDArray[np.bool_]

_HALVINGS = 40
_EDGE = 1e-10  # rates are kept so far from 0 and 1
_ROUNDING = 1e-15  # of the stakes: more than the floats of a bet can be wrong by


@dataclass(frozen=True)
class Bets:
    """Logarithms of the factors of one bet, shape ``(..., K, E)`` each: K bettors, E epsilons.

    ``hit`` and ``miss`` are for an output on the favoured dataset that is in the event or not;
    ``other_hit`` and ``other_miss`` for one on the other dataset.
    """

    hit: Array
    miss: Array
    other_hit: Array
    other_miss: Array

    def path(self, hits: Hits, other_hits: Hits) -> Array:
        """Return the log-factors of pairs of outputs, shape ``(..., K, E, n)``.

        Parameters
        ----------
        hits, other_hits
            Shape ``(..., K, n)``: whether each output was in the bettor's event.
        """
        one, other = hits[..., None, :], other_hits[..., None, :]
        return np.where(one, self.hit[..., None], self.miss[..., None]) + np.where(
            other, self.other_hit[..., None], self.other_miss[..., None]
        )


def fair_bets(
    rate: Array, other_rate: Array, epsilon: Array, delta: float, stake: Array | float
) -> Bets:
    """Return bets against every epsilon that no mechanism within it can gain from on average.

    Formal guarantee: for every pair of rates that epsilon and delta allow, in both directions, the
    mean of the factor is at most 1 (module docstring).

    Parameters
    ----------
    rate, other_rate
        Guessed probability of the event on the favoured dataset and on the other, of shape
        ``(..., K)``; any numbers in [0, 1].
    epsilon
        Shape ``(E,)``.
    delta
        Of the claim.
    stake
        Shares of the Kelly stake in (0, 1], one or of shape ``(K,)``.

    Examples
    --------
    >>> bets = fair_bets(np.array([0.9]), np.array([0.1]), np.array([1.0, 4.0]), 0.0, 1.0)
    >>> bool(bets.hit[0, 0] > 0), float(bets.hit[0, 1].round(9))
    (True, 0.0)
    """
    p1, q1 = _clip_rates(rate)[..., None], _clip_rates(other_rate)[..., None]
    p0, q0 = nearest_allowed(p1, q1, epsilon, delta)
    k = np.asarray(stake, dtype=np.float64)[..., None]
    a, b = k * (p1 - p0) / (p0 * (1 - p0)), k * (q1 - q0) / (q0 * (1 - q0))
    gain = largest_gain(a, b, p0, q0, epsilon, delta)
    cost = np.where((a == 0) & (b == 0), 0.0, np.log1p(gain / 2))
    return Bets(
        np.log1p(a * (1 - p0)) - cost,
        _log_left(a * p0) - cost,
        _log_left(-b * (1 - q0)) - cost,
        np.log1p(-b * q0) - cost,
    )


def largest_gain(a: Array, b: Array, p0: Array, q0: Array, epsilon: Array, delta: float) -> Array:
    """Return the most that ``a (p - p0) + b (q - q0)`` is over the allowed rates, or 0 if less.

    ``a`` must be at least 0 and ``b`` at most 0. What rounding may hide is added.
    """
    grown = np.exp(np.minimum(epsilon, 700.0))
    corners = (
        (delta, 0.0),
        ((grown + delta) / (1 + grown), (1 - delta) / (1 + grown)),
        (1.0, 1 - delta),
    )
    most = np.maximum.reduce([a * (p - p0) + b * (q - q0) for p, q in corners])
    return np.asarray(np.maximum(most, 0.0) + _ROUNDING * (np.abs(a) + np.abs(b)))


def nearest_allowed(
    rate: Array, other_rate: Array, epsilon: Array, delta: float
) -> tuple[Array, Array]:
    """Return the allowed rates nearest to the guess in Kullback-Leibler divergence.

    Shapes are broadcast. A guess that is allowed is its own answer.

    Examples
    --------
    >>> p, q = nearest_allowed(np.array(0.9), np.array(0.1), np.array(1.0), 0.0)
    >>> round(float(p), 4), round(float(q), 4)  # randomised response at epsilon = 1
    (0.7311, 0.2689)
    """
    p1, q1, grown = np.broadcast_arrays(rate, other_rate, np.exp(np.minimum(epsilon, 700.0)))
    crossing = (1 - delta) / (1 + grown)
    low = q1
    high = np.clip(np.maximum((p1 - delta) / grown, 1 - delta - (1 - p1) * grown), q1, 1 - _EDGE)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        p = _compute_claim_boundary(middle, grown, delta)
        slope = np.where(middle < crossing, grown, 1 / grown)
        rises = slope * (p - p1) / (p * (1 - p)) + (middle - q1) / (middle * (1 - middle)) > 0
        low, high = np.where(rises, low, middle), np.where(rises, middle, high)
    q0 = (low + high) / 2
    allowed = p1 <= _compute_claim_boundary(q1, grown, delta)
    # Rounding must not put p0 above the guess: the proof needs a stake that is not negative.
    p0 = np.minimum(_compute_claim_boundary(q0, grown, delta), p1)
    return np.where(allowed, p1, p0), np.where(allowed, q1, q0)


def _compute_claim_boundary(q: Array, grown: Array, delta: float) -> Array:
    return _clip_rates(np.minimum(grown * q + delta, 1 - (1 - q - delta) / grown))


def growth(rate: Array, other_rate: Array, epsilon: Array, delta: float) -> Array:
    """Return the log-wealth that a pair of outputs brings on average if the guess is right.

    Examples
    --------
    >>> bool(growth(np.array([0.9]), np.array([0.1]), np.array([1.0]), 0.0)[0] > 0.1)
    True
    """
    p1, q1 = _clip_rates(rate), _clip_rates(other_rate)
    p0, q0 = nearest_allowed(p1, q1, epsilon, delta)
    return _compute_bernoulli_divergence(p1, p0) + _compute_bernoulli_divergence(q1, q0)


def _log_left(lost: Array) -> Array:
    """Return ``log(1 - lost)``; the rounding loss of a factor is not put back."""
    return np.log(np.maximum(1 - lost, 1e-300))


def _clip_rates(rate: Array) -> Array:
    return np.clip(rate, _EDGE, 1 - _EDGE)


def _compute_bernoulli_divergence(one: Array, other: Array) -> Array:
    return np.asarray(one * np.log(one / other) + (1 - one) * (np.log1p(-one) - np.log1p(-other)))
