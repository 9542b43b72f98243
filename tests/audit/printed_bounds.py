"""Read bounds off printed text and work them out again from what is printed, by the definition.

What is printed is "E in x of n outputs on the dataset and in y of m on its neighbour, which
certifies an epsilon of at least e at delta d with an error probability of a". Nothing here is of
`dpaudit`.

Outcomes (X, Y) are ordered by the largest epsilon e(x, y) at which

    D(e) = min over q of  n KL(x/n, p*(q)) + m KL(y/m, q)

is at least z^2 / 2, z the normal quantile of the error probability a. Berger & Boos (1994): with
C the Clopper-Pearson interval of q at a/50, the p-value at epsilon is

    a/50 + sup over q in C of P(e(X, Y) >= e(x, y)),  X ~ Bin(n, p*(q)),  Y ~ Bin(m, q).

Where "outcomes ordered by two Clopper-Pearson intervals" follows, e(x, y) is the largest epsilon at
which the lower end for p is at least p* of the upper end for q, each wrong with a/2.
"""

import re
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, binom, norm

_SHOWN = re.compile(
    r"in (?P<x>\d+) of (?P<n>\d+) outputs on the dataset and in (?P<y>\d+) of (?P<m>\d+) on its "
    r"neighbour, which certifies an epsilon of at least (?P<epsilon>[\d.e-]+) at delta "
    r"(?P<delta>[\d.e-]+) with an error probability of (?P<alpha>[\d.e-]+\d)"
    r"(?P<intervals>, with outcomes ordered by two Clopper-Pearson intervals)?"
)
_GRID = 160  # values of q that the supremum and the divergence are looked for at
_NUISANCE = 0.02  # of the error probability: Berger and Boos's interval


@dataclass(frozen=True)
class Printed:
    """Counts on the favoured side (x of n) and on the other one (y of m), and what they certify."""

    x: int
    n: int
    y: int
    m: int
    epsilon: float
    delta: float
    alpha: float
    intervals: bool = False

    def p_value(self, epsilon: float) -> float:
        """Return the p-value of the counts at an epsilon, by the definition."""
        least = self._fewest()
        low, high = _clopper_pearson(self.y, self.m, _NUISANCE * self.alpha)
        q = np.linspace(low, high, _GRID)[:, None]
        others = np.arange(self.m + 1)
        p = _allowed(q, epsilon, self.delta)
        tails = binom.pmf(others, self.m, q) * binom.sf(least - 1, self.n, p)
        return float(tails.sum(axis=1).max()) + _NUISANCE * self.alpha

    def _fewest(self) -> np.ndarray:
        """Return the fewest hits that are as extreme beside each number of other hits."""
        if self.intervals:
            return self._fewest_by_intervals()
        nats = norm.ppf(min(self.alpha, 0.4)) ** 2 / 2
        seen = self._reached(nats)
        low, high = np.full(self.m + 1, -1), np.full(self.m + 1, self.n + 1)
        while (high - low > 1).any():
            middle = np.clip((low + high) // 2, 0, self.n)
            far = self._distance(middle, np.arange(self.m + 1), seen) >= nats * (1 - 1e-9)
            low, high = np.where(far, low, middle), np.where(far, middle, high)
        high[self.y] = min(high[self.y], self.x)
        return high

    def _fewest_by_intervals(self) -> np.ndarray:
        half, others = self.alpha / 2, np.arange(self.m + 1)
        low = np.append(0.0, beta.ppf(half, *_shape(np.arange(1, self.n + 1), self.n, 0)))
        high = np.append(beta.isf(half, *_shape(others[:-1], self.m, 1)), 1.0)
        below, above = 0.0, 50.0
        for _ in range(60):
            middle = (below + above) / 2
            far = low[self.x] >= _allowed(high[self.y], middle, self.delta)
            below, above = (middle, above) if far else (below, middle)
        return np.searchsorted(low, _allowed(high, below - 1e-9, self.delta) * (1 - 1e-12))

    def _reached(self, nats: float) -> float:
        low, high = 0.0, 50.0
        for _ in range(50):
            middle = (low + high) / 2
            far = self._distance(np.array([self.x]), np.array([self.y]), middle)[0] >= nats
            low, high = (middle, high) if far else (low, middle)
        return low

    def _distance(self, x: np.ndarray, y: np.ndarray, epsilon: float) -> np.ndarray:
        """Return the least divergence from pairs that are allowed, 0 where (x, y) is one."""
        rate, other = (x / self.n)[:, None], (y / self.m)[:, None]
        low, high = np.full_like(other, -60.0), np.log(np.maximum(1 - other, 1e-12))
        for _ in range(6):  # convex along the edge: the least lies beside the least of a grid
            places = low + (high - low) * np.linspace(0, 1, 41)
            q = other + np.exp(places)
            cost = self.n * _kl(rate, _allowed(q, epsilon, self.delta)) + self.m * _kl(other, q)
            at = np.argmin(cost, axis=1)[:, None]
            low = np.take_along_axis(places, np.maximum(at - 1, 0), 1)
            high = np.take_along_axis(places, np.minimum(at + 1, 40), 1)
        allowed = rate <= _allowed(other, epsilon, self.delta)
        return np.where(allowed[:, 0], 0.0, cost.min(axis=1))


def printed(text: str) -> list[Printed]:
    """Return every bound of a text, each with the side first on which it was seen more often."""
    found = []
    plain = re.sub(r"<[^>]*>|\\", "", text)
    for one in _SHOWN.finditer(" ".join(plain.split())):
        sides = [(int(one["x"]), int(one["n"])), (int(one["y"]), int(one["m"]))]
        favoured, other = sorted(sides, key=lambda side: side[0] / side[1], reverse=True)
        numbers = (float(one[name]) for name in ("epsilon", "delta", "alpha"))
        found.append(Printed(*favoured, *other, *numbers, one["intervals"] is not None))
    return found


def _shape(hits: np.ndarray, trials: int, more: int) -> tuple[np.ndarray, np.ndarray]:
    return hits + more, trials - hits + 1 - more


def _clopper_pearson(hits: int, trials: int, error: float) -> tuple[float, float]:
    low = beta.ppf(error / 2, hits, trials - hits + 1) if hits else 0.0
    high = beta.isf(error / 2, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)


def _allowed(q: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    most = np.minimum(np.exp(epsilon) * q + delta, 1 - np.exp(-epsilon) * (1 - q - delta))
    return np.clip(most, 0, 1)


def _kl(rate: np.ndarray, of: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(rate > 0, rate * np.log(rate / of), 0.0)
        miss = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - of)), 0.0)
    return np.nan_to_num(hit + miss, nan=np.inf, posinf=np.inf)
