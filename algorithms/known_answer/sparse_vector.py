r"""The sparse vector technique in the six variants of Lyu, Su & Li 2017 (their Figure 1).

Answers are compared, one after the other, with a noisy threshold; what is published is which were
above, until c of them were. Every answer moves by at most 1; the threshold is 0. Rates are one over
the scale of Laplace noise: r of the threshold's, s of the answers'.

| variant | source               | r           | s           | c    | true epsilon, n answers |
|---------|----------------------|-------------|-------------|------|-------------------------|
| 1       | Lyu, Su & Li 2017    | epsilon/2   | epsilon/4 c | 1    | epsilon                 |
| 2       | Dwork & Roth 2014    | epsilon/2 c | epsilon/4 c | 2    | epsilon                 |
| 3       | Roth 2011            | epsilon/2   | epsilon/2 c | 1    | ``n epsilon / 2``       |
| 4       | Lee & Clifton 2014   | epsilon/4   | 3 epsilon/4 | 1    | ``7 epsilon / 4``       |
| 5       | Stoddard et al. 2014 | epsilon/2   | (no noise)  | none | infinite                |
| 6       | Chen et al. 2015     | epsilon/2   | epsilon/2   | none | ``n epsilon / 2``       |

Variant 2 draws a new threshold after every answer above; 3 also publishes the noisy answers that
are above. All claim epsilon. With an unbounded stream of answers 3 and 6 have no finite epsilon,
which is how Lyu, Su & Li (and everyone after them) list them; here n is fixed, and 3 and 6 are
broken from n = 3 on.

*Upper bounds.* Shift the threshold's noise by 1: that costs r, once or, if it is renewed, c times;
then answers below stay below, and the c answers above need a shift by 2: ``r + 2 c s``, or
``c r + 2 c s`` (Lyu, Su & Li prove it of 1 in Theorem 2, and list it of 2 and 4). Or shift nothing
but the noise of every answer: ``n s``. The smaller of the two is the true epsilon: for 1, 2 and 4
the first.

*They are attained in the limit* (1, 2, 4, 6). Let m answers be at G and one at -G, and let them
rise and fall by 1. That all m are below and the last is above has probability ``int f(z) F(z - G)^m
F(-z - G) dz``, with f the density of the threshold and F the distribution function of an answer's
noise. For z between 0 and G the integrand is exponential in z with slope ``m s - r - s``: if ``m >
1 + r/s``, the mass is at ``z = G + O(1)``, where ``z -> z + 1`` shows the ratio of the two sides to
be ``e^(r + 2 s)``, up to terms that vanish with G. For 2 this happens once for each of the c
thresholds, so that n is at least ``c (m + 1)``. For 6, with as many answers below as above, the
slope for |z| < G is that of f alone, the mass is at 0, and the ratio is ``e^(n s)``. No pair
attains any of these.

*They are attained* (3, 5). For 3 let all n answers rise from G to G + 1: that n - 1 of them are
below and the last is published as v < G needs a threshold z < v, where every factor is a pure
exponential, so the ratio is ``e^(n s)``. For 5 two answers exchange 0 and 1: one below and the
other above needs ``0 < z <= 1`` and is impossible after the exchange.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import EVERY_ANSWER
from dpaudit.algorithms.known_answer.laws import (
    FiniteLaw,
    best_event,
    build_kink_quadrature,
    draw_laplace,
    laplace_cdf,
    laplace_density,
    log_ratio,
    split_real_line,
)
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Pair

STOPPED = -1.0
BELOW = 0.0
ABOVE = 1.0


@dataclass(frozen=True)
class Recipe:
    """The differences of the variants: rates as multiples of epsilon, and rules."""

    threshold: float
    answer: float
    limit: int | None
    renews: bool = False
    numeric: bool = False


RECIPES = {
    1: Recipe(1 / 2, 1 / 4, 1),
    2: Recipe(1 / 4, 1 / 8, 2, renews=True),
    3: Recipe(1 / 2, 1 / 2, 1, numeric=True),
    4: Recipe(1 / 4, 3 / 4, 1),
    5: Recipe(1 / 2, math.inf, None),
    6: Recipe(1 / 2, 1 / 2, None),
}


@dataclass(frozen=True, kw_only=True)
class SparseVector:
    """One of the six variants.

    Parameters
    ----------
    variant
        1 to 6.
    epsilon
        What is claimed.
    answers
        n; of variant 1 at least 5, of 2 at least 5 c, of the others at least 4.
    gap
        G of the pair (not of 5).
    limit
        c, of 2 alone; n must be at least 5 c. At 1 nothing is renewed: 2 has then the law of 1.

    Examples
    --------
    >>> [SparseVector(variant=v, epsilon=0.1).true_epsilon for v in (1, 2, 5, 6)]
    [0.1, 0.1, inf, 0.5]
    >>> SparseVector(variant=1).sample(np.full(10, 9.0), 2, np.random.default_rng(0))[0]
    array([ 1., -1., -1., -1., -1., -1., -1., -1., -1., -1.])
    """

    variant: int
    epsilon: float = 1.0
    answers: int = 10
    gap: float = 0.0
    limit: int | None = None
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.variant not in RECIPES:
            raise InvalidArgument("variant", self.variant, "an integer from 1 to 6")
        check.require_positive("epsilon", self.epsilon)
        if self.limit is not None:
            check.require_integer("limit", self.limit, least=1)
            if self.variant != 2:
                raise InvalidArgument("limit", self.limit, "None: only variant 2 takes another")
        # m has to exceed 1 + r/s, which is 3 of variants 1 and 2: four answers below and one above
        # for every threshold.
        least = {1: 5, 2: 5 * (self.recipe.limit or 1)}.get(self.variant, 4)
        check.require_integer("answers", self.answers, least=least)
        check.require_real("gap", self.gap)

    @property
    def recipe(self) -> Recipe:
        """Rates and rules of the variant."""
        found = RECIPES[self.variant]
        if self.limit is None or found.limit is None:
            return found
        # Both rates are proportional to 1 / c.
        scale = found.limit / self.limit
        threshold, answer = scale * found.threshold, scale * found.answer
        return replace(found, limit=self.limit, threshold=threshold, answer=answer)

    @property
    def rates(self) -> tuple[float, float]:
        """Rates r and s."""
        return self.recipe.threshold * self.epsilon, self.recipe.answer * self.epsilon

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The smaller of the upper bounds, both attained."""
        threshold, answer = self.rates
        limit, every = self.recipe.limit, self.answers * answer
        # Without a limit, or where values are shown, shifting every answer's noise is the cheaper
        # way.
        if limit is None or self.recipe.numeric:
            return every
        thresholds = limit if self.recipe.renews else 1
        return min(thresholds * threshold + 2 * limit * answer, every)

    @property
    def event_epsilon(self) -> float:
        """The largest loss of an outcome on the pair: below the true epsilon for 1, 2, 4 and 6."""
        return self.true_epsilon if self.variant in (3, 5) else best_event(self)

    def pair(self) -> Pair[Array]:
        """Return answers that rise where an outcome has them below and fall where above."""
        above = self._expected()
        dataset, change = np.where(above, -self.gap, self.gap), np.where(above, -1.0, 1.0)
        if self.variant == 3:
            dataset, change = np.full(self.answers, self.gap), np.ones(self.answers)
        elif self.variant == 5:
            dataset = np.where(above, 1.0, 0.0)
        return Pair(dataset, dataset + change, EVERY_ANSWER)

    def _expected(self) -> NDArray[np.bool_]:
        """Return which answers are above in the outcome that the pair is made for."""
        place = np.arange(1, self.answers + 1)
        if self.recipe.limit is None:
            return place > self.answers // 2
        return np.asarray(place % (self.answers // self.recipe.limit) == 0)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return 1 for above, 0 for below, -1 once it has stopped, shape ``(trials, n)``.

        Variant 3: shape ``(trials, n, 2)``, these and the noisy answers where above, else 0.
        """
        rates, count = self.rates, len(dataset)
        noisy = dataset[:, None] + _draw_laplace_noise(rates[1], (count, trials), rng)
        # A limit that no run reaches stands for none.
        limit = self.recipe.limit or count + 1
        # One threshold more than answers above: the index after the last of them is looked up, too.
        thresholds = _draw_laplace_noise(
            rates[0], (limit + 1 if self.recipe.renews else 1, trials), rng
        )
        said, threshold = np.empty((count, trials)), thresholds[0]
        tops, trial = np.zeros(trials, dtype=np.int16), np.arange(trials)
        for j in range(count):
            above, running = noisy[j] >= threshold, tops < limit
            said[j] = np.where(running, above, STOPPED)
            tops += above & running
            if self.recipe.renews:
                threshold = thresholds[tops, trial]
        if not self.recipe.numeric:
            return said.T
        return np.stack([said, np.where(said == ABOVE, noisy, 0.0)]).T

    def law(self, dataset: Array) -> FiniteLaw:
        """Return the law of the answers above and below."""
        factors, weights = self._factors(dataset)
        outcomes = np.array(
            list(_generate_answer_patterns(len(dataset), self.recipe.limit or len(dataset)))
        )
        # An answer belongs to the threshold that it is compared with: the number above before it.
        owner = np.cumsum(outcomes == ABOVE, axis=1) - (outcomes == ABOVE)
        if not self.recipe.renews:
            owner[:] = 0
        chances = np.ones(len(outcomes))
        # Thresholds are independent, so the chance is a product of one integral for each.
        for k in range(int(owner.max()) + 1):
            product = np.ones((len(outcomes), len(weights)))
            for j, said in enumerate(outcomes.T.astype(int) + 1):
                product *= factors[np.where(owner[:, j] == k, said, 0), j]
            chances *= product @ weights
        return FiniteLaw(outcomes, chances)

    def _factors(self, dataset: Array) -> tuple[Array, Array]:
        """Return chances of the answers, shape ``(3, n, m)``, and the threshold's weights.

        The first axis is indexed by 0 (nothing), 1 (below) and 2 (above).
        """
        # The integrand changes at most at the sum of all rates; a comparison without noise adds
        # none, only a kink.
        threshold, answer = self.rates
        fastest = threshold + len(dataset) * (answer if math.isfinite(answer) else 0.0)
        nodes, weights = build_kink_quadrature([0.0, *dataset.tolist()], threshold, fastest)
        distance = nodes - dataset[:, None]
        # The lower tail keeps its digits, so the upper one is asked for as that of the negative.
        below, above = laplace_cdf(distance, answer), laplace_cdf(-distance, answer)
        factors = np.stack([np.ones_like(below), below, above])
        return factors, weights * laplace_density(nodes, threshold)

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        if not self.recipe.numeric:
            return log_ratio(self, outputs)
        pair = self.pair()
        p, q = (self._log_density(outputs, data) for data in (pair.dataset, pair.neighbour))
        return np.asarray(p - q)

    def _log_density(self, outputs: Array, dataset: Array) -> Array:
        """Return the log-density of a numeric output; all answers on a side are equal."""
        threshold, answer = self.rates
        said, values = outputs[..., 0], outputs[..., 1].sum(axis=1)
        ended = (said == ABOVE).any(axis=1)
        count = (said == BELOW).sum(axis=1)
        # The midpoint rule below needs pieces far shorter than those of a Gauss rule.
        ends = split_real_line(
            [0.0, dataset[0]], threshold, 50 * (threshold + len(dataset) * answer)
        )
        middle = (ends[1:] + ends[:-1]) / 2
        mass = np.diff(ends) * laplace_density(middle, threshold)
        out = np.empty(len(said))
        for k in np.unique(count):
            own = count == k
            # All thresholds below the published value: the running integral of those that put k
            # answers below.
            total = np.cumsum(mass * laplace_cdf(middle - dataset[0], answer) ** k)
            # Where nothing was published every threshold counts: the end of the running integral.
            out[own] = np.interp(np.where(ended[own], values[own], np.inf), ends[1:], np.log(total))
        # The published value's own density, but for a factor that both sides share.
        return out - np.where(ended, answer * np.abs(values - dataset[0]), 0.0)


def _draw_laplace_noise(rate: float, shape: tuple[int, int], rng: Generator) -> Array:
    return np.zeros(shape) if math.isinf(rate) else draw_laplace(1 / rate, shape, rng)


def _generate_answer_patterns(count: int, limit: int) -> Iterator[tuple[float, ...]]:
    """Yield every sequence of above and below that stops after ``limit`` above."""
    if count == 0:
        yield ()
    elif limit == 0:
        yield (STOPPED,) * count
    else:
        yield from ((BELOW, *rest) for rest in _generate_answer_patterns(count - 1, limit))
        yield from ((ABOVE, *rest) for rest in _generate_answer_patterns(count - 1, limit - 1))
