"""Composition: the pairs that dominate an event's releases, whose privacy losses add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
    RandomizedResponse,
)
from dpaudit.accounting.events import (
    ADD_REMOVE,
    REPLACE,
    ZERO_OUT,
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Release,
    Sequence,
    ShuffledGaussian,
    get_releases,
)
from dpaudit.accounting.pairs.allocation import AllocationRatio, within_reach
from dpaudit.accounting.pairs.closed_forms import (
    GaussianPair,
    LaplacePair,
    RandomizedResponsePair,
    SubsampledGaussianPair,
)
from dpaudit.accounting.pairs.exponential_norm import ObjectivePerturbationPair, pair_of
from dpaudit.accounting.pairs.finite import FINITE, finite_pair
from dpaudit.accounting.pairs.mixtures import (
    FixedSizeReplacement,
    MixturePair,
    ShuffledMaximum,
    make_fixed_size_pair,
    make_fixed_size_redraw_pair,
    make_replacement_draw_pair,
    poisson_replaced,
)
from dpaudit.accounting.pairs.pair import DominatingPair
from dpaudit.accounting.pairs.ratios import RatioPair
from dpaudit.errors import ConvergenceError, InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import rounding

# Losses between these are composed; what lies beyond is pure DP that needs no composing.
_FAINT = 1e-100
_VAST = 1e7
_MOST_QUADRATURES = 1000  # of some hundredths of a second each
MANY = 16  # different laws up to which every one enters the choice of orders
_SOME = 8  # laws that stand for all where there are more


@dataclass(frozen=True)
class Composition:
    """Dominating pairs, each with the number of its independent copies. Their losses add up.

    Parameters
    ----------
    parts
        The pairs and their counts; none for an event that reveals nothing.

    Examples
    --------
    >>> composed = Composition.of(LaplaceRelease(sensitivity=0.5, noise_scale=1.0, count=3))
    >>> composed.largest, len(composed), composed.steps
    (1.5, 1, 3)
    """

    parts: tuple[tuple[DominatingPair, int], ...]

    @classmethod
    def of(cls, event: Event) -> Composition:
        """Return the pairs that dominate the event's releases.

        Gaussian releases, also sampled ones with a ratio of 1, become one pair. Releases that
        reveal nothing are left out.

        Raises
        ------
        UnsupportedEvent
            No pair is known for a release, such as one of which only zCDP is known.
        InvalidArgument
            Two parameters together pass what a number can hold.
        """
        # Gaussian releases compose exactly, to one pair: as many of them cost one convolution, and
        # no error of a grid.
        gaussian, pairs = [], []
        for part in get_releases(event):
            whole = _whole_sample(part)
            if isinstance(whole, GaussianRelease):
                gaussian.append(whole)
            else:
                pairs.append((_build_dominating_pair(replace(part, count=1)), part.count))
        mu = gaussian_guarantee(Sequence(tuple(gaussian))).mu
        if mu > 0:
            pairs.insert(0, (GaussianPair(mu), 1))
        return cls(tuple((pair, count) for pair, count in pairs if pair is not None))

    @classmethod
    def attained(cls, event: Event) -> Composition:
        """Return pairs that some neighbours' outputs are as far apart as: lower ends are of these.

        They are the dominating ones wherever these are attained themselves.
        """
        dominating = cls.of(event)
        parts = get_releases(event)
        # These have one law above and another one below: a lower end from the law above might claim
        # a loss that no neighbours have.
        enclosed = (AllocatedGaussian, BatchedGaussian, ShuffledGaussian, *FINITE)
        if not any(isinstance(part, enclosed) for part in parts):
            return dominating
        pairs = [(_build_attained_pair(replace(part, count=1)), part.count) for part in parts]
        return cls(tuple((pair, count) for pair, count in pairs if pair is not None))

    def __iter__(self) -> Iterator[tuple[DominatingPair, int]]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def _each(self, change: Callable[[DominatingPair], DominatingPair]) -> Composition:
        return Composition(tuple((change(pair), count) for pair, count in self.parts))

    @property
    def directions(self) -> tuple[Composition, ...]:
        """The composition, and the reversed one where that makes a difference."""
        if all(pair.symmetric for pair, _ in self.parts):
            return (self,)
        return self, self._each(lambda pair: pair.reversed())

    @property
    def steps(self) -> int:
        """Number of releases."""
        return sum(count for _, count in self.parts)

    @property
    def largest(self) -> float:
        """Upper end of the finite total losses; infinity where there is none."""
        return rounding.sum_up((count, pair.largest) for pair, count in self.parts)

    @property
    def infinite_mass(self) -> float:
        """P-probability of an infinite total loss, rounded up."""
        return rounding.any_up((count, pair.infinite_mass) for pair, count in self.parts)

    @property
    def truncation_mass(self) -> float:
        """Bound on the P-probability that some trimmed tail was met."""
        return math.fsum(count * pair.truncation_mass for pair, count in self.parts)

    def trimmed(self, tails: float) -> Composition:
        """Return pairs without tails whose P-probabilities add up to at most ``tails``."""
        # Each pair may lose a tail on either side, in every one of its copies.
        share = tails / (2 * max(1, self.steps))
        return self._each(lambda pair: pair.trimmed(share))

    def up_to(self, most: float) -> Composition:
        """Return the pairs without outputs of a larger loss, as far as they can be cut so."""
        return self._each(lambda pair: pair.up_to(most))

    @property
    def beyond(self) -> tuple[float, float]:
        """Probability under P and under Q that some output was left out by `up_to`."""
        p, q = (
            -math.expm1(math.fsum(n * math.log1p(-pair.beyond[k]) for pair, n in self.parts))
            for k in range(2)
        )
        return p, q

    @cached_property
    def some(self) -> Composition:
        """The composition, or about the same one of few laws: to choose orders by."""
        return self if len(self.parts) <= MANY else self.thin_composition(_SOME)

    def thin_composition(self, most: int) -> Composition:
        """Return about the same composition of so many laws at most, to choose orders by.

        Of laws in the order of a moment, the middle one of a group stands for all. No bound may
        rest on it.

        Examples
        --------
        >>> laws = [LaplaceRelease(sensitivity=s / 100, noise_scale=1.0) for s in range(1, 100)]
        >>> few = Composition.of(Sequence(tuple(laws))).thin_composition(9)
        >>> len(few), few.steps, round(few.largest, 2)
        (9, 99, 49.5)
        """
        if len(self.parts) <= most:
            return self
        # Laws next to each other in this order are alike, so that the middle one may stand for its
        # group.
        ordered = sorted(self.parts, key=lambda part: float(part[0].log_mgf(np.array(1.0))))
        size = -(-len(ordered) // most)
        groups = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        middle = [(group[len(group) // 2][0], sum(n for _, n in group)) for group in groups]
        return Composition(tuple(middle))

    @property
    def out_of_range(self) -> bool:
        """Whether losses are so small or so large that only their bound is told."""
        bounded = all(count * pair.largest <= _FAINT for pair, count in self.parts)
        faint = any(isinstance(pair, GaussianPair) and pair.mu < _FAINT for pair, _ in self.parts)
        vast = any(_VAST < pair.largest < math.inf for pair, _ in self.parts)
        return bounded or faint or vast or not self.farthest_order > 0

    @property
    def distance(self) -> float:
        """A bound on the total variation distance of both products, and so on delta at 0."""
        return rounding.sum_up((count, pair.distance) for pair, count in self.parts)

    @property
    def farthest_order(self) -> float:
        """Largest order in size up to which every pair's moment is one, not a bound of it."""
        return min((pair.farthest_order for pair, _ in self.parts), default=math.inf)

    def log_moment(self, order: float) -> float:
        """Return ``log E exp(order L)`` of the total finite loss L."""
        at = np.array(order)
        return math.fsum(count * float(pair.log_mgf(at)) for pair, count in self.parts)

    def chernoff(self, log_delta: float) -> float:
        """Return about the least epsilon that Chernoff's bound gives, an upper bound of it."""
        bounds: list[float] = []
        for order in np.geomspace(1e-3, 1e7, 60).tolist():
            bounds.append((self.log_moment(order) - log_delta) / order)
            # The bounds have one valley over the orders: once they rise by so much, larger orders
            # do not help, and their moments take the longest.
            if bounds[-1] > 2 * min(bounds):
                break
        return min(bounds)

    def saddle(self, epsilon: float) -> float:
        """Return the order at which the transform of the profile is least on the real axis.

        Raises
        ------
        ConvergenceError
            The losses are too small or too large, or their moments too much work.
        """
        if self.out_of_range:
            raise ConvergenceError(
                "saddle point: the losses are too small or too large for a transform; "
                "use the numerical accountant"
            )
        if sum(pair.quadrature for pair, _ in self.parts) > _MOST_QUADRATURES:
            raise ConvergenceError(
                f"saddle point: more than {_MOST_QUADRATURES} different laws without a closed "
                "form are too much work; use the numerical accountant"
            )

        some = self.some

        def height(log_order: float) -> float:
            order = math.exp(log_order)
            value = some.log_moment(order) - order * epsilon
            # The search takes differences of heights, which are no numbers between two infinities.
            return min(value - math.log(order) - math.log1p(order), 1e300)

        bounds = math.log(1e-9), math.log(1e7)
        return math.exp(minimize_scalar(height, bounds=bounds, method="bounded").x)


def _whole_sample(part: Release) -> Release:
    if isinstance(part, PoissonSubsampledGaussian) and part.sampling_ratio == 1:
        return GaussianRelease(sensitivity=1.0, noise_scale=part.noise_multiplier, count=part.count)
    return part


@lru_cache(maxsize=256)  # pairs keep what they worked out about themselves
def _build_dominating_pair(part: Release) -> DominatingPair | None:
    match part:
        case LaplaceRelease():
            ratio = rounding.quotient_up(part.sensitivity, part.noise_scale)
            shift = _require_finite_ratio("sensitivity / noise_scale", ratio)
            return LaplacePair(shift) if shift else None
        case ExponentialNormRelease():
            shift = _compute_norm_shift(part)
            return pair_of(shift, part.dimension) if shift else None
        case ObjectivePerturbation():
            return _build_objective_pair(part)
        case ApproximateRelease():
            if part.epsilon == part.delta == 0:
                return None
            return RandomizedResponsePair(part.epsilon, part.delta)
        case PoissonSubsampledGaussian():
            return SubsampledGaussianPair(part.sampling_ratio, part.noise_multiplier)
        case AllocatedGaussian() if not within_reach(part.noise_multiplier):
            return GaussianPair(_shift(1.0, part.noise_multiplier))
        case AllocatedGaussian():
            return RatioPair(AllocationRatio(part.batches, part.noise_multiplier))
        case BatchedGaussian():
            return _build_batched_pair(part)
        case (
            RandomizedResponse()
            | DiscreteLaplaceRelease()
            | DiscreteGaussianRelease()
            | PoissonSubsampledLaplace()
            | GaussianMixtureRelease()
        ):
            return finite_pair(part)
        case ShuffledGaussian():
            return GaussianPair(_shift(part.sensitivity, part.noise_multiplier))
        case _:
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected a release with a dominating pair: "
                "Renyi and zero-concentrated accounting may cover it"
            )


def _build_batched_pair(part: BatchedGaussian) -> DominatingPair:
    records, batch, noise = part.records, part.batch_size, part.noise_multiplier
    twice = _shift(2.0, noise)
    match part.sampling, part.relation == REPLACE, part.relation == ADD_REMOVE:
        case "poisson", True, _:
            return RatioPair(poisson_replaced(part.ratio, twice / 2))
        case "poisson", False, _:
            return _build_sampled_gaussian_pair(part.ratio, noise)
        # A record that enters a batch of fixed size takes the place of another one: their terms
        # differ by up to 2, which is half the noise. Taking the Poisson sampler's distance of 1
        # here would claim too little.
        case "fixed", _, True:
            return _build_sampled_gaussian_pair(part.ratio, noise / 2)
        case "fixed", replaced, False if batch == records:  # nobody's place is taken
            return GaussianPair(twice if replaced else _shift(1.0, noise))
        case "fixed", _, False:
            return RatioPair(make_fixed_size_pair(records, batch, twice))
        case _, _, True:
            return RatioPair(make_replacement_draw_pair(records, batch, twice))
    return RatioPair(make_fixed_size_redraw_pair(records, batch, twice))


def _build_sampled_gaussian_pair(ratio: float, noise: float) -> DominatingPair:
    return GaussianPair(_shift(1.0, noise)) if ratio == 1 else SubsampledGaussianPair(ratio, noise)


def _shift(sensitivity: float, noise: float) -> float:
    return _require_finite_ratio(
        "sensitivity / noise_multiplier", rounding.quotient_up(sensitivity, noise)
    )


@lru_cache(maxsize=256)
def _build_attained_pair(part: Release) -> DominatingPair | None:
    match part:
        case AllocatedGaussian() if not within_reach(part.noise_multiplier):
            shift = _shift(1.0, part.noise_multiplier)
            return RatioPair(ShuffledMaximum(part.batches, shift, 0.0))
        case AllocatedGaussian():
            return RatioPair(AllocationRatio(part.batches, part.noise_multiplier, upper=False))
        case ShuffledGaussian():
            shift = _shift(2.0, part.noise_multiplier)
            # Where all other terms are -1, a record replaced by one of -1 is not seen at all, and
            # one of 0 is 1 above the others.
            other = 0.0 if part.relation == REPLACE else shift / 2
            return RatioPair(ShuffledMaximum(part.batches, shift, other))
        case (
            RandomizedResponse()
            | DiscreteLaplaceRelease()
            | DiscreteGaussianRelease()
            | PoissonSubsampledLaplace()
            | GaussianMixtureRelease()
        ):
            return finite_pair(part, upper=False)
        # Without anybody to displace, only the record's own term is sure to differ.
        case BatchedGaussian() if part.relation == ADD_REMOVE and not _is_replacing_records(part):
            return GaussianPair(_shift(1.0, part.noise_multiplier))
        case BatchedGaussian():
            source = getattr(_build_batched_pair(part), "source", None)
            match source:
                case FixedSizeReplacement():
                    return RatioPair(source.attained(zeroed=part.relation == ZERO_OUT))
                case MixturePair():
                    return RatioPair(replace(source, upper=False))
    # Of the other releases no separate law below is known: lower ends are of what their dominating
    # pairs compose to.
    ((pair, _),) = Composition.of(part).parts or ((None, 1),)
    return pair


def _is_replacing_records(part: BatchedGaussian) -> bool:
    """Return whether a record that is drawn takes the place of another one.

    It does not where the smaller dataset has too few records for a batch: whatever a loader makes
    of that, the record may add no more than its own term.
    """
    match part.sampling:
        case "fixed":
            return part.batch_size < part.records
        case "fixed-replacement":
            return part.records > 1
    return True


def _build_objective_pair(part: ObjectivePerturbation) -> DominatingPair | None:
    shift = _compute_norm_shift(part)
    if shift:
        return ObjectivePerturbationPair(shift, part.dimension, part.log_determinant)
    return RandomizedResponsePair(part.log_determinant) if part.log_determinant else None


def _compute_norm_shift(part: ExponentialNormRelease | ObjectivePerturbation) -> float:
    product = rounding.product_up(part.sensitivity, part.noise_rate)
    return _require_finite_ratio("sensitivity * noise_rate", product)


def _require_finite_ratio(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidArgument(name, value, "a finite number")
    return value


@dataclass(frozen=True)
class Bracket:
    """An accountant's answer: bounds on an exact value. The upper end is the proved number.

    Examples
    --------
    >>> Bracket(1.0, 1.5).width, Bracket.exactly(2.0)
    (0.5, Bracket(lower=2.0, upper=2.0))
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        # Written so that an end that is no number is refused as well: it compares as false with
        # everything.
        if not self.lower <= self.upper:
            raise InvalidArgument("lower", self.lower, f"at most the upper end, {self.upper}")

    @classmethod
    def exactly(cls, value: float) -> Bracket:
        """Return the bracket of a value that is known."""
        return cls(value, value)

    def outward(self, most: float = math.inf) -> Bracket:
        """Return ends, of at most ``most``, that hold though they were rounded to the nearest."""
        if self.upper == math.inf:
            lower = rounding.bound_below(self.lower, 0.0) if self.lower < math.inf else self.lower
            return Bracket(lower, math.inf)
        upper = min(
            rounding.bound_above(self.upper, 0.0) if self.upper < most else self.upper, most
        )
        # The largest loss is a sum of what somebody wrote: as a short number it is exact, and needs
        # no room below.
        known = self.lower == most and rounding.is_short(most)
        lower = self.lower if known else rounding.bound_below(self.lower, 0.0)
        return Bracket(min(lower, upper), upper)

    @classmethod
    def largest(cls, brackets: list[Bracket]) -> Bracket:
        """Return the bracket of the largest of several values."""
        return cls(max(b.lower for b in brackets), max(b.upper for b in brackets))

    @property
    def width(self) -> float:
        """Upper end less lower end; 0 where both are infinite."""
        # Infinity less infinity is no number.
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def contains(self, value: float) -> bool:
        """Return whether ``value`` lies between the ends."""
        return self.lower <= value <= self.upper
