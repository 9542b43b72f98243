"""Releases of every kind by chance, and what some neighbours lose and none can, in balls.

Nothing here is of the package but the events themselves: profiles are closed forms, sums over atoms
or integrals with proved error bounds. A profile is ``delta`` at an epsilon of any sign.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, ctx, fmpq

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
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    PrivateSelection,
    Sequence,
    ShuffledGaussian,
    ZeroConcentratedRelease,
)

Profile = Callable[[float], arb]
Atoms = list[tuple[arb, arb]]
INTEGRATED = 220  # bits of integrals


@dataclass(frozen=True)
class Case:
    """An event, what some neighbours lose, and what none can: the same where no second is given."""

    event: Event
    delta_at: Profile
    most_at: Profile | None = None

    def nobody_loses_more(self, epsilon: float) -> arb:
        return (self.most_at or self.delta_at)(epsilon)


def log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def exact(value: float | Fraction) -> arb:
    of = Fraction(value)
    return arb(fmpq(of.numerator, of.denominator))


def phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_profile(square: arb, epsilon: arb) -> arb:
    if square == 0:
        return (1 - epsilon.exp()) if epsilon < 0 else arb(0)
    mu = square.sqrt()
    return phi(mu / 2 - epsilon / mu) - epsilon.exp() * phi(-mu / 2 - epsilon / mu)


def positive(value: arb) -> arb:
    return value.max(arb(0))


def sum_of(terms: Iterable[arb]) -> arb:
    return sum(terms, arb(0))


def largest(values: Iterable[arb]) -> arb:
    found = arb(0)
    for value in values:
        found = found.max(value)
    return found


def chance(count: int, k: int, p: arb) -> arb:
    return math.comb(count, k) * p**k * (1 - p) ** (count - k)


# Losses that are atoms, beside a Gaussian one


def composed(parts: Iterable[Atoms]) -> Atoms:
    states: Atoms = [(arb(0), arb(1))]
    for part in parts:
        states = [(a + b, m * n) for a, m in states for b, n in part]
    return states


def gaussian_part(draw: random.Random) -> tuple[Event, arb]:
    part = GaussianRelease(
        sensitivity=log_uniform(draw, 1e-6, 1e2),  # a mu of 1e5 at most: balls hold digits
        noise_scale=log_uniform(draw, 0.05, 1e3),
        count=draw.choice([1, 1, 2, 7, 1000]),
    )
    return part, part.count * (exact(part.sensitivity) / exact(part.noise_scale)) ** 2


def pure_part(draw: random.Random) -> tuple[Event, arb, Atoms]:
    """Return a release that randomised response attains, what is kept, and its losses."""
    delta = draw.choice([0.0, 0.0, log_uniform(draw, 1e-300, 0.5)])
    count = draw.choice([1, 1, 2, 5])
    one = ApproximateRelease(epsilon=log_uniform(draw, 1e-8, 30), delta=delta, count=count)
    own, truth = arb(one.epsilon), 1 / (1 + (-arb(one.epsilon)).exp())
    losses = [((2 * k - count) * own, chance(count, k, truth)) for k in range(count + 1)]
    return one, (1 - arb(delta)) ** count, losses


def response_part(draw: random.Random) -> tuple[Event, arb, Atoms]:
    categories = draw.choice([2, 3, 10, 1000])
    low = 1 / categories
    truth = min(low + (1 - low) * draw.choice([1e-9, draw.random(), 1 - 1e-6]), 1 - 2**-53)
    one = RandomizedResponse(truth=truth, categories=categories, count=draw.choice([1, 1, 2, 3]))
    true = exact(one.truth)
    other = (1 - true) / (categories - 1)
    loss = (true / other).log()
    rest = 1 - true - other if categories > 2 else arb(0)
    return one, arb(1), composed([[(loss, true), (arb(0), rest), (-loss, other)]] * one.count)


def geometric_part(draw: random.Random) -> tuple[Event, arb, Atoms]:
    shift, count = draw.choice([0, 1, 1, 2, 5]), draw.choice([1, 1, 2, 3])
    scale = log_uniform(draw, max(0.06, shift / 500), 1e4)
    one = DiscreteLaplaceRelease(sensitivity=shift, noise_scale=scale, count=count)
    return one, arb(1), composed([geometric_losses(shift, exact(scale))] * count)


def geometric_losses(shift: int, scale: arb) -> Atoms:
    """Return the losses of noise of mass ``tanh(1 / 2b) exp(-|k| / b)`` around 0, shifted."""
    decay = (-1 / scale).exp()
    peak, whole = (1 - decay) / (1 + decay), 1 / (1 + decay)
    inner = [(arb(shift - 2 * k) / scale, peak * decay**k) for k in range(1, shift)]
    if not shift:
        return [(arb(0), arb(1))]
    return [(shift / scale, whole), *inner, (-shift / scale, whole * decay**shift)]


def normal_integers(draw: random.Random) -> tuple[Event, arb, Atoms]:
    shift, count = draw.choice([0, 1, 1, 2, 4]), draw.choice([1, 1, 2])
    scale = log_uniform(draw, 0.06, 30 if count == 1 else 2)
    one = DiscreteGaussianRelease(sensitivity=shift, noise_scale=scale, count=count)
    sigma = exact(scale)
    reach = math.ceil(50 * scale) + 2
    masses = [(-((arb(k) / sigma) ** 2) / 2).exp() for k in range(-reach, reach + 1)]
    total = sum_of(masses)
    tail = arb(0, 2.0**-1700)  # of what lies beyond fifty deviations
    losses = [
        ((shift**2 - 2 * shift * k) / (2 * sigma**2), mass / total + tail)
        for k, mass in zip(range(-reach, reach + 1), masses, strict=True)
    ]
    return one, arb(1), composed([losses] * count)


ATOMIC = (pure_part, pure_part, response_part, geometric_part, normal_integers)


def atoms_beside_gaussians(draw: random.Random) -> Case:
    parts: list[Event] = []
    square, kept, states = arb(0), arb(1), [(arb(0), arb(1))]
    for _ in range(draw.choice([0, 1, 1, 2])):
        part, more = gaussian_part(draw)
        parts.append(part)
        square += more
    for _ in range(draw.choice([0, 1, 1, 2]) if parts else draw.choice([1, 1, 2])):
        few = len(states) < 60
        part, stays, losses = draw.choice(ATOMIC if few else (pure_part, response_part))(draw)
        parts.append(part)
        kept *= stays
        states = composed([states, losses])
    return Case(Sequence(tuple(parts)), beside(states, square, kept))


def beside(states: Atoms, square: arb, kept: arb) -> Profile:
    def delta_at(epsilon: float) -> arb:
        rest = (mass * gaussian_profile(square, arb(epsilon) - loss) for loss, mass in states)
        return 1 - kept + kept * sum_of(rest)

    return delta_at


def many_gaussians(draw: random.Random) -> Case:
    """Gaussian releases up to a million of them, with a mu in all from 1e-6 to 1e3."""
    count = draw.choice([1, 1, 3, 1000, 10**6])
    scale = math.sqrt(count) / log_uniform(draw, 1e-6, 1e3)
    square = count / exact(scale) ** 2
    event = GaussianRelease(sensitivity=1.0, noise_scale=scale, count=count)
    return Case(event, lambda epsilon: gaussian_profile(square, arb(epsilon)))


def concentrated(draw: random.Random) -> Case:
    """Releases of which only rho is known, beside Gaussian ones, which attain it."""
    one = ZeroConcentratedRelease(rho=log_uniform(draw, 1e-12, 1e3), count=draw.choice([1, 3, 50]))
    parts, square = [one], 2 * exact(one.rho) * one.count
    if draw.random() < 0.5:
        part, more = gaussian_part(draw)
        parts.append(part)
        square += more
    return Case(
        Sequence(tuple(parts)),
        lambda epsilon: gaussian_profile(square, arb(epsilon)),
        lambda epsilon: arb(1),
    )


# Laplace noise


def laplaces(draw: random.Random) -> Case:
    """Equal Laplace releases: tilted by half their loss, losses are atoms and uniform laws."""
    count = draw.choice([1, 1, 2, 3, 6])
    part = LaplaceRelease(
        sensitivity=log_uniform(draw, 1e-3, 3),
        noise_scale=log_uniform(draw, 0.1, 10),
        count=count,
    )
    return Case(part, laplace_profile(exact(part.sensitivity) / exact(part.noise_scale), count))


def laplace_profile(s: arb, count: int) -> Profile:
    def delta_at(epsilon: float) -> arb:
        total = arb(0)
        for uniform in range(count + 1):
            for high in range(count - uniform + 1):
                low = count - uniform - high
                ways = math.comb(count, uniform) * math.comb(count - uniform, high)
                weight = ways / arb(2) ** (high + low) / arb(4) ** uniform
                total += weight * tilted_part(uniform, (high - low) * s, s, arb(epsilon))
        return total * (-s * count / 2).exp()

    return delta_at


def tilted_part(uniform: int, shift: arb, s: arb, epsilon: arb) -> arb:
    """Return the integral of ``exp(l / 2) - exp(epsilon - l / 2)`` above epsilon.

    Over the sum of a shift and so many measures of density 1 on [-s, s].
    """
    if not uniform:
        gap = (shift / 2).exp() - (epsilon - shift / 2).exp()
        return gap if shift > epsilon else arb(0)
    total = arb(0)
    for j in range(uniform + 1):
        top = shift + (uniform - 2 * j) * s
        if not top > epsilon:
            continue
        half = arb(1) / 2
        inner = (top * half).exp() * power_integral(uniform - 1, -half, top - epsilon)
        outer = (epsilon - top * half).exp() * power_integral(uniform - 1, half, top - epsilon)
        total += (-1) ** j * math.comb(uniform, j) * (inner - outer)
    return total


def power_integral(power: int, rate: arb, end: arb) -> arb:
    """Return the integral of ``t^power / power! exp(rate t)`` from 0 to an end."""
    found = ((rate * end).exp() - 1) / rate
    for k in range(1, power + 1):
        found = (end**k / math.factorial(k) * (rate * end).exp() - found) / rate
    return found


def laplace_more(y: arb) -> arb:
    """Return the probability that Laplace noise of scale 1 exceeds a number."""
    return (-y).exp() / 2 if y > 0 else 1 - y.exp() / 2


def sampled_laplace(draw: random.Random) -> Case:
    part = PoissonSubsampledLaplace(
        sampling_ratio=draw.choice([1.0, log_uniform(draw, 1e-9, 1)]),
        sensitivity=log_uniform(draw, 1e-4, 5),
        noise_scale=log_uniform(draw, 0.1, 100),
    )
    s, q = exact(part.sensitivity) / exact(part.noise_scale), exact(part.sampling_ratio)

    def delta_at(epsilon: float) -> arb:
        """By an output beyond which the ratio is above or below, for either order."""
        e = arb(epsilon)
        added = half_lines(s, (e.exp() - 1 + q) / q, lambda p, n: (1 - q) * n + q * p - e.exp() * n)
        left = ((-e).exp() - 1 + q) / q
        if not left > 0:
            return added
        less = half_lines(s, left, lambda p, n: 1 - n - e.exp() * (1 - (1 - q) * n - q * p))
        return added.max(less)

    return Case(part, delta_at)


def half_lines(s: arb, ratio: arb, gap: Callable[[arb, arb], arb]) -> arb:
    """Return the gap of an event where the ratio of shifted noise to noise is a number.

    The probabilities that either noise exceeds the output with that ratio; of the ratios at its
    ends, of which there are half-lines of outputs, all outputs or none.
    """
    if not ratio > 0:
        return positive(gap(arb(1), arb(1)))
    y = (ratio.log() + s) / 2
    ends = [y] if (y > 0 and y < s) else [arb(0), s]
    return largest(gap(laplace_more(one - s), laplace_more(one)) for one in ends)


# Gaussian noise on samples


def sampled_profile(q: arb, sigma: arb) -> Profile:
    """Return the profile of ``(1-q) N(0, s^2) + q N(1, s^2)`` and N(0, s^2), in either order."""
    removed, added = removal(q, sigma), addition(q, sigma)
    return lambda epsilon: removed(epsilon).max(added(epsilon))


def removal(q: arb, sigma: arb) -> Profile:
    def delta_at(epsilon: float | arb) -> arb:
        e = arb(epsilon)
        level = (e.exp() - 1 + q) / q
        if not level > 0:
            return 1 - e.exp()
        y = sigma**2 * level.log() + arb(1) / 2
        return (1 - q) * phi(-y / sigma) + q * phi((1 - y) / sigma) - e.exp() * phi(-y / sigma)

    return delta_at


def addition(q: arb, sigma: arb) -> Profile:
    def delta_at(epsilon: float | arb) -> arb:
        e = arb(epsilon)
        left = (-e).exp() - 1 + q
        if not left > 0:
            return arb(0)
        z = sigma**2 * (left / q).log() + arb(1) / 2
        return phi(z / sigma) - e.exp() * ((1 - q) * phi(z / sigma) + q * phi((z - 1) / sigma))

    return delta_at


def one_sample(draw: random.Random) -> Case:
    part = PoissonSubsampledGaussian(
        sampling_ratio=draw.choice([1.0, log_uniform(draw, 1e-9, 1), log_uniform(draw, 1e-4, 1)]),
        noise_multiplier=log_uniform(draw, 0.3, 10) if draw.random() < 0.8 else 1e3,
    )
    return Case(part, sampled_profile(exact(part.sampling_ratio), exact(part.noise_multiplier)))


def two_samples(draw: random.Random) -> Case:
    """Two steps: over the first output, the closed form of the second at what is left."""
    part = PoissonSubsampledGaussian(
        sampling_ratio=log_uniform(draw, 1e-3, 0.9),
        noise_multiplier=log_uniform(draw, 0.5, 5),
        count=2,
    )
    q, sigma = exact(part.sampling_ratio), exact(part.noise_multiplier)
    return Case(part, lambda epsilon: twice(q, sigma, arb(epsilon)))


def twice(q: arb, sigma: arb, epsilon: arb) -> arb:
    with ctx.workprec(INTEGRATED):
        return two_removals(q, sigma, epsilon).max(two_additions(q, sigma, epsilon))


def normal_density(y: acb, mean: float, sigma: arb) -> acb:
    root = (2 * arb.pi()).sqrt() * sigma
    return (-(((y - mean) / sigma) ** 2) / 2).exp() / root


def complex_phi(x: acb) -> acb:
    return (-x / arb(2).sqrt()).erfc() / 2


def integral(function: Callable[[acb, bool], acb], low: arb, high: arb) -> arb:
    """Return an integral up to an end at which logarithms may end: all but a share of 1e-20."""
    short = high - arb(2) ** -80
    if not low < short:
        return arb(0)
    found = acb.integral(
        function, acb(low), acb(short), rel_tol=arb(2) ** -90, abs_tol=arb(2) ** -260
    )
    return found.real * arb(1, 1e-20)


FAR = 16  # deviations beyond which outputs have no more than 1e-56


def two_removals(q: arb, sigma: arb, epsilon: arb) -> arb:
    def ratio(y: acb) -> acb:
        return 1 - q + q * ((2 * y - 1) / (2 * sigma**2)).exp()

    def inner(y: acb, analytic: bool) -> acb:
        level = (epsilon.exp() / ratio(y) - 1 + q) / q
        z = sigma**2 * level.log(analytic=analytic) + arb(1) / 2
        left = complex_phi(-z / sigma)
        mixed = (1 - q) * left + q * complex_phi((1 - z) / sigma)
        return normal_density(y, 0, sigma) * (ratio(y) * mixed - epsilon.exp() * left)

    def beyond(y: acb, _: bool) -> acb:
        return normal_density(y, 0, sigma) * (ratio(y) - epsilon.exp())

    level = (epsilon.exp() / (1 - q) - 1 + q) / q
    bend = sigma**2 * level.log() + arb(1) / 2
    low, high = -FAR * sigma, 1 + FAR * sigma
    bend = bend.min(high)
    return integral(inner, low, bend) + integral(beyond, bend, high)


def two_additions(q: arb, sigma: arb, epsilon: arb) -> arb:
    def ratio(y: acb) -> acb:
        return 1 - q + q * ((2 * y - 1) / (2 * sigma**2)).exp()

    def inner(y: acb, analytic: bool) -> acb:
        level = ((-epsilon).exp() / ratio(y) - 1 + q) / q
        z = sigma**2 * level.log(analytic=analytic) + arb(1) / 2
        own = complex_phi(z / sigma)
        mixed = (1 - q) * own + q * complex_phi((z - 1) / sigma)
        return normal_density(y, 0, sigma) * (own - epsilon.exp() * ratio(y) * mixed)

    level = ((-epsilon).exp() / (1 - q) - 1 + q) / q
    if not level > 0:
        return arb(0)
    bend = sigma**2 * level.log() + arb(1) / 2
    return integral(inner, -FAR * sigma, bend.min(FAR * sigma))


# Mixtures on a line


@dataclass(frozen=True)
class Line:
    """Weights and means of unit Gaussian laws."""

    parts: tuple[tuple[arb, arb], ...]

    def density(self, y: arb) -> arb:
        return sum_of(w * (-((y - m) ** 2) / 2).exp() for w, m in self.parts)

    def above(self, y: arb) -> arb:
        return sum_of(w * phi(m - y) for w, m in self.parts)

    @property
    def mean(self) -> arb:
        return sum_of(w * m for w, m in self.parts)


def line_profile(p: Line, q: Line, *, both: bool = True) -> Profile:
    """Return the profile of two mixtures whose ratio grows with the output."""

    def delta_at(epsilon: float) -> arb:
        e = arb(epsilon).exp()
        up = [edge(lambda y: p.density(y) - e * q.density(y))]
        found = [p.above(y) - e * q.above(y) for y in up]
        if both:
            down = edge(lambda y: e * p.density(y) - q.density(y))
            found.append((1 - q.above(down)) - e * (1 - p.above(down)))
        return largest(found)

    return delta_at


def edge(gap: Callable[[arb], arb]) -> arb:
    """Return an output beyond which a gap of densities is above 0: any near one is a test."""
    low, high = -200.0, 400.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if gap(arb(middle)) > 0 else (middle, high)
    return refined(gap, arb(low), arb(high))


def refined(gap: Callable[[arb], arb], low: arb, high: arb) -> arb:
    for _ in range(240):
        middle = ((low + high) / 2).mid()
        low, high = (low, middle) if gap(middle) > 0 else (middle, high)
    return ((low + high) / 2).mid()


def of_pairs(weights: Iterable[arb], means: Iterable[arb]) -> Line:
    return Line(tuple(zip(weights, means, strict=True)))


def mixtures(draw: random.Random) -> Case:
    count = draw.choice([1, 2, 3, 5])
    raw = [draw.random() ** 3 for _ in range(count)]
    weights = [one / sum(raw) for one in raw]
    weights[-1] = max(0.0, 1 - math.fsum(weights[:-1]))
    shifts = [draw.choice([0.0, log_uniform(draw, 1e-3, 3)]) for _ in weights]
    part = GaussianMixtureRelease(
        sensitivities=tuple(shifts),
        probabilities=tuple(weights),
        noise_scale=log_uniform(draw, 0.3, 30),
    )
    sigma = exact(part.noise_scale)
    left = 1 - sum_of(map(exact, weights[:-1]))  # all of them are 1, up to a rounding
    p = of_pairs([*map(exact, weights[:-1]), left], [exact(s) / sigma for s in shifts])
    return Case(part, line_profile(p, ORIGIN) if any(shifts) else lambda epsilon: arb(0))


ORIGIN = Line(((arb(1), arb(0)),))


def batches(draw: random.Random) -> Case:
    """Batches of each sampler, with each relation: neighbours that lose it, and a bound of all."""
    records = draw.choice([1, 2, 10, 10**3, 10**6])
    size = draw.choice([1, records, draw.randint(1, records)])
    part = BatchedGaussian(
        records=records,
        batch_size=min(size, 10**4) if records > 10**4 else size,
        noise_multiplier=log_uniform(draw, 0.4, 20),
        sampling=draw.choice(["poisson", "fixed", "fixed-replacement"]),
        relation=draw.choice([ADD_REMOVE, REPLACE, ZERO_OUT]),
    )
    if part.sampling == "fixed-replacement" and part.batch_size > 12:
        part = BatchedGaussian(**{**vars(part), "batch_size": min(12, records)})
    return batch_case(part)


def batch_case(part: BatchedGaussian) -> Case:
    q, m = exact(Fraction(part.batch_size, part.records)), 1 / exact(part.noise_multiplier)
    once = [1 - q, q]
    match part.sampling, part.relation:
        case "poisson", "replace-record":
            one, other = of_pairs(once, [arb(0), m]), of_pairs(once, [arb(0), -m])
            return Case(part, line_profile(one, other))
        case "poisson", _:
            return Case(part, sampled_profile(q, 1 / m))
        case "fixed", "add-remove-record":
            return Case(part, sampled_profile(q, 1 / (2 * m)))
        case "fixed", relation:
            return replaced_case(part, once, m, zeroed=relation == ZERO_OUT)
    share = exact(Fraction(1, part.records))
    often = [chance(part.batch_size, k, share) for k in range(part.batch_size + 1)]
    if part.relation == ADD_REMOVE:
        p = of_pairs(often, [2 * m * k for k in range(len(often))])
        return Case(part, line_profile(p, ORIGIN))
    return replaced_case(part, often, m, zeroed=part.relation == ZERO_OUT)


def replaced_case(part: BatchedGaussian, often: list[arb], m: arb, *, zeroed: bool) -> Case:
    """Neighbours whose other terms are all -m, and what no terms pass: how often is told besides.

    Zeroed, such neighbours are apart by m in the records' own places alone.
    """
    p = of_pairs(often, [2 * m * k for k in range(len(often))])
    q = of_pairs(often, [m * k for k in range(len(often))]) if zeroed else ORIGIN
    into = 1 - often[0]

    def most(epsilon: float) -> arb:
        given = [(w / into, removal(into, 1 / (2 * m * k))) for k, w in enumerate(often) if k]
        return sum_of(w * profile(epsilon) for w, profile in given)

    return Case(part, line_profile(p, q), most)


def allocations(draw: random.Random) -> Case:
    noise = log_uniform(draw, 0.3, 20)
    part = AllocatedGaussian(batches=draw.choice([1, 2]), noise_multiplier=noise)
    return Case(part, allocated_profile(part.batches, exact(noise)))


def allocated_profile(bins: int, sigma: arb) -> Profile:
    if bins == 1:
        return lambda epsilon: gaussian_profile(1 / sigma**2, arb(epsilon))

    def delta_at(epsilon: float) -> arb:
        with ctx.workprec(INTEGRATED):
            e = arb(epsilon)
            return two_bins(sigma, e, 1).max(two_bins(sigma, e, -1))

    return delta_at


def two_bins(sigma: arb, epsilon: arb, sign: int) -> arb:
    """Return what two bins lose with a record against without, or the other way round.

    Given the first output, the mean of both ratios passes a level where the second output does.
    """
    level = 2 * (sign * epsilon).exp()
    e = epsilon.exp()

    def jump(y: acb) -> acb:
        return ((2 * y - 1) / (2 * sigma**2)).exp()

    def inner(y: acb, analytic: bool) -> acb:
        z = sigma**2 * (level - jump(y)).log(analytic=analytic) + arb(1) / 2
        with_, without = (complex_phi(sign * (c - z) / sigma) for c in (1, 0))
        mixed = (jump(y) * without + with_) / 2
        gap = mixed - e * without if sign > 0 else without - e * mixed
        return normal_density(y, 0, sigma) * gap

    def beyond(y: acb, _: bool) -> acb:
        return normal_density(y, 0, sigma) * ((jump(y) + 1) / 2 - e)

    low, high = -FAR * sigma, 1 + FAR * sigma
    bend = (sigma**2 * level.log() + arb(1) / 2).min(high)
    own = integral(inner, low, bend)
    return own + (integral(beyond, bend, high) if sign > 0 else arb(0))


def shuffles(draw: random.Random) -> Case:
    """An epoch in a random order: a zeroed record alone is in one of the batches by chance."""
    bins, noise = draw.choice([1, 2]), log_uniform(draw, 0.3, 20)
    relation = draw.choice([ZERO_OUT, REPLACE])
    part = ShuffledGaussian(batches=bins, noise_multiplier=noise, relation=relation)
    sigma, moved = exact(noise), 2 if relation == REPLACE else 1
    return Case(
        part,
        allocated_profile(bins, sigma),
        lambda epsilon: gaussian_profile((moved / sigma) ** 2, arb(epsilon)),
    )


# Noise of density exp(-rate ||e||), by distances from the two centres


def spheres(draw: random.Random) -> Case:
    dimension = draw.choice([1, 3, 5])
    shift, rate = log_uniform(draw, 1e-3, 5), log_uniform(draw, 0.05, 5)
    given = {"sensitivity": shift, "noise_rate": rate, "dimension": dimension}
    profile = spherical_profile(exact(shift) * exact(rate), dimension)
    if draw.random() < 0.5:
        return Case(ExponentialNormRelease(**given), profile)
    more = draw.choice([0.0, 0.3])
    event = ObjectivePerturbation(**given, log_determinant=more)
    return Case(event, profile, lambda epsilon: arb(1))


def spherical_profile(s: arb, dimension: int) -> Profile:
    """Return the profile of a shift s of noise of rate 1.

    With the sum ``s v`` and the difference ``s w`` of the distances from both centres, the loss is
    ``-s w``. In odd dimensions ``3 + 2 k`` outputs have the density, up to a factor,

        exp(-s (v + w) / 2) (v^2 - w^2) ((v^2 - 1)(1 - w^2))^k,

    a polynomial in w once v is integrated out.
    """
    if dimension == 1:
        return laplace_profile(s, 1)
    x, k = s / 2, (dimension - 3) // 2
    outer = product([[-1, 0, 1]] * k)
    even = sum_of(c * upper_power(n + 2, x) for n, c in enumerate(outer))
    none = sum_of(c * upper_power(n, x) for n, c in enumerate(outer))
    inner = product([[1, 0, -1]] * k)
    weights = [arb(0)] * (len(inner) + 2)
    for n, c in enumerate(inner):
        weights[n] += c * even
        weights[n + 2] -= c * none
    total = tilted_moment(weights, x, arb(-1), arb(1))

    def delta_at(epsilon: float) -> arb:
        top = -arb(epsilon) / s
        if not top > -1:
            return arb(0)
        top = top.min(arb(1))
        p = tilted_moment(weights, x, arb(-1), top)
        q = tilted_moment(weights, -x, arb(-1), top)
        return (p - arb(epsilon).exp() * q) / total

    return delta_at


def product(factors: list[list[int]]) -> list[int]:
    found = [1]
    for factor in factors:
        longer = [0] * (len(found) + len(factor) - 1)
        for (i, a), (j, b) in itertools.product(enumerate(found), enumerate(factor)):
            longer[i + j] += a * b
        found = longer
    return found


def upper_power(power: int, x: arb) -> arb:
    """Return the integral of ``v^power exp(-x v)`` from 1 on."""
    if power < 0:
        return arb(0)
    return sum_of(math.perm(power, j) / x ** (j + 1) for j in range(power + 1)) * (-x).exp()


def tilted_moment(weights: list[arb], x: arb, low: arb, high: arb) -> arb:
    """Return the integral of a polynomial times ``exp(-x w)``."""

    def antiderivative(n: int, w: arb) -> arb:
        terms = (math.perm(n, j) * w ** (n - j) / x ** (j + 1) for j in range(n + 1))
        return -sum_of(terms) * (-x * w).exp()

    ends = ((c, antiderivative(n, high), antiderivative(n, low)) for n, c in enumerate(weights))
    return sum_of(c * (top - bottom) for c, top, bottom in ends)


# Choices and groups


def selections(draw: random.Random) -> Case:
    """The largest of a geometric number of Gaussian outputs: one test of its outputs, half-lines.

    With f the generating function ``g x / (1 - (1 - g) x)``, the best output is at most y with
    probability f(Phi(y)).
    """
    runs, mu = log_uniform(draw, 1.01, 100), log_uniform(draw, 1e-3, 3)
    base = GaussianRelease(sensitivity=mu, noise_scale=1.0)
    part = PrivateSelection(base=base, runs=runs, law="geometric")
    g, m = 1 / exact(runs), exact(mu)

    def at_most(y: float, mean: arb) -> arb:
        x = phi(arb(y) - mean)
        return g * x / (1 - (1 - g) * x)

    def delta_at(epsilon: float) -> arb:
        e = arb(epsilon).exp()
        grid = [k / 4 for k in range(-60, 80)]
        up = (1 - at_most(y, m) - e * (1 - at_most(y, arb(0))) for y in grid)
        down = (at_most(y, arb(0)) - e * at_most(y, m) for y in grid)
        return largest([*up, *down])

    return Case(part, delta_at, lambda epsilon: arb(1))


def groups(draw: random.Random) -> Case:
    """Disjoint parts of the data: at every delta the worse of two counts."""
    made = (atoms_beside_gaussians, laplaces, one_sample)
    first, second = draw.choice(made)(draw), draw.choice(made)(draw)
    event = Parallel((first.event, second.event))
    return Case(event, lambda epsilon: first.delta_at(epsilon).max(second.delta_at(epsilon)))


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "atoms beside Gaussians": atoms_beside_gaussians,
    "many Gaussians": many_gaussians,
    "concentrated": concentrated,
    "Laplace": laplaces,
    "Laplace of a sample": sampled_laplace,
    "one sample": one_sample,
    "two samples": two_samples,
    "mixtures": mixtures,
    "batches": batches,
    "allocated": allocations,
    "shuffled": shuffles,
    "spheres": spheres,
    "selection": selections,
    "groups": groups,
}


def some_delta(draw: random.Random, at_zero: float) -> float:
    """Return a delta: tiny, ordinary, just below that of epsilon 0, or near 1."""
    near = at_zero * (1 - log_uniform(draw, 1e-12, 0.5))
    ordinary, tiny = log_uniform(draw, 1e-12, 1), log_uniform(draw, 1e-300, 1)
    chosen = draw.choice([ordinary, tiny, near, 1 - log_uniform(draw, 1e-12, 0.1), 5e-324])
    return min(chosen, 1 - 2**-53)


INTEGRALS = ("two samples", "allocated", "shuffled")  # which hold some fifty digits
LEAST = 1e-30  # of a delta that those are asked for


def random_case(kind: str, seed: int) -> tuple[Case, float]:
    draw = random.Random(f"{kind} {seed}")
    case = KINDS[kind](draw)
    delta = some_delta(draw, float(case.delta_at(0.0).mid()))
    return case, max(delta, LEAST) if kind in INTEGRALS else delta
