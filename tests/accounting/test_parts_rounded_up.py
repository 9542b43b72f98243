"""What a release loses is worked out from doubles, and rounded up wherever that is done.

A quotient of doubles that is rounded to the nearest is below the exact one about every other time.
Each number here is compared with the exact rational one over many draws of its parameters.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from mpmath import mp

from dpaudit.accounting.composition import (
    approximate_parts,
    compose_advanced,
    compose_basic,
    gaussian_guarantee,
    kairouz_heterogeneous,
)
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
)
from dpaudit.accounting.events import (
    ADD_REMOVE,
    REPLACE,
    ZERO_OUT,
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Sequence,
    ShuffledGaussian,
)
from dpaudit.accounting.optimal import OptimalComposition
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.accounting.renyi import compute_zcdp_guarantee
from dpaudit.accounting.samples import _as_gaussian
from dpaudit.accounting.sharing import one_budget, one_sample
from dpaudit.guarantees.kinds import GaussianDP, PureDP

DRAWS = 60


def doubles(seed, low=0.05, high=2.0):
    draw = random.Random(seed)
    return [(draw.uniform(low, high), draw.uniform(low, high)) for _ in range(DRAWS)]


def pairs_of(release):
    return [pair for pair, _ in Composition.of(release)]


def quotient(s, n):
    return Fraction(s) / Fraction(n)


def product(s, n):
    return Fraction(s) * Fraction(n)


def whole(s, n):
    return Fraction(1 + int(10 * s)) / Fraction(n)


def one_pair(release):
    (pair,) = pairs_of(release)
    return pair


def two_gaussians(s, n):
    return Composition.of(
        Sequence(
            (
                GaussianRelease(sensitivity=s, noise_scale=9.0, count=3),
                GaussianRelease(sensitivity=n, noise_scale=9.0),
                LaplaceRelease(sensitivity=n, noise_scale=90.0, count=5),
            )
        )
    )


def of_one_budget(kind, norm, sensitivity, scale, budget=10.0):
    """Return epsilon, or the square of a mu, of three releases."""
    part = kind(sensitivity=sensitivity, noise_scale=scale, count=3)
    found = one_budget(norm, budget, [part])
    if norm == "l1":
        return found.epsilon
    return (Fraction(found.sensitivity) / Fraction(found.noise_scale)) ** 2


# What is worked out of two doubles, and the exact number that it may not be below.
NUMBERS = {
    "epsilon of Laplace noise": (
        lambda s, n: approximate_parts(LaplaceRelease(sensitivity=s, noise_scale=n))[0].epsilon,
        quotient,
    ),
    "epsilon of an exponential norm": (
        lambda s, n: (
            approximate_parts(ExponentialNormRelease(sensitivity=s, noise_rate=n, dimension=3))[
                0
            ].epsilon
        ),
        product,
    ),
    "epsilon of discrete Laplace noise": (
        lambda s, n: (
            approximate_parts(DiscreteLaplaceRelease(sensitivity=1 + int(10 * s), noise_scale=n))[
                0
            ].epsilon
        ),
        whole,
    ),
    "epsilon of a sample of everything": (
        lambda s, n: (
            approximate_parts(
                PoissonSubsampledLaplace(sampling_ratio=1.0, sensitivity=s, noise_scale=n)
            )[0].epsilon
        ),
        quotient,
    ),
    "epsilon of a perturbed objective": (
        lambda s, n: (
            approximate_parts(
                ObjectivePerturbation(sensitivity=s, noise_rate=n, dimension=2, log_determinant=s)
            )[0].epsilon
        ),
        lambda s, n: product(s, n) + Fraction(s),
    ),
    "sum of epsilons": (
        lambda s, n: compose_basic(
            Sequence((ApproximateRelease(epsilon=s, count=3), ApproximateRelease(epsilon=n)))
        )[0],
        lambda s, n: 3 * Fraction(s) + Fraction(n),
    ),
    "sum of deltas": (
        lambda s, n: compose_basic(
            Sequence(
                (
                    ApproximateRelease(epsilon=1.0, delta=s / 9, count=3),
                    ApproximateRelease(epsilon=1.0, delta=n / 9),
                )
            )
        )[1],
        lambda s, n: min(Fraction(1), 3 * Fraction(s / 9) + Fraction(n / 9)),
    ),
    "sum in the optimal composition": (
        lambda s, n: OptimalComposition(
            (ApproximateRelease(epsilon=s, count=3), ApproximateRelease(epsilon=n))
        ).epsilon(0.0),
        lambda s, n: 3 * Fraction(s) + Fraction(n),
    ),
    "delta that stays in the optimal composition": (
        lambda s, n: (
            OptimalComposition(
                (
                    ApproximateRelease(epsilon=1.0, delta=s / 9, count=3),
                    ApproximateRelease(epsilon=1.0, delta=n / 9),
                )
            )._loss_probability
        ),
        lambda s, n: 1 - (1 - Fraction(s / 9)) ** 3 * (1 - Fraction(n / 9)),
    ),
    "shift of Laplace noise": (
        lambda s, n: one_pair(LaplaceRelease(sensitivity=s, noise_scale=n)).largest,
        quotient,
    ),
    "shift of an exponential norm": (
        lambda s, n: (
            one_pair(ExponentialNormRelease(sensitivity=s, noise_rate=n, dimension=1)).largest
        ),
        product,
    ),
    "shift of discrete Laplace noise": (
        lambda s, n: (
            one_pair(DiscreteLaplaceRelease(sensitivity=1 + int(10 * s), noise_scale=n)).largest
        ),
        whole,
    ),
    "shift of a shuffled epoch": (
        lambda s, n: one_pair(ShuffledGaussian(batches=4, noise_multiplier=n)).mu,
        lambda s, n: quotient(ShuffledGaussian(batches=4, noise_multiplier=n).sensitivity, n),
    ),
    "shift of a batch of everybody": (
        lambda s, n: (
            one_pair(
                BatchedGaussian(
                    sampling="poisson",
                    records=9,
                    batch_size=9,
                    noise_multiplier=n,
                    relation=ADD_REMOVE,
                )
            ).mu
        ),
        lambda s, n: quotient(1.0, n),
    ),
    "shift of a fixed batch of everybody, one replaced": (
        lambda s, n: (
            one_pair(
                BatchedGaussian(
                    sampling="fixed", records=9, batch_size=9, noise_multiplier=n, relation=REPLACE
                )
            ).mu
        ),
        lambda s, n: quotient(2.0, n),
    ),
    "shift of a fixed batch of everybody, one zeroed": (
        lambda s, n: (
            one_pair(
                BatchedGaussian(
                    sampling="fixed", records=9, batch_size=9, noise_multiplier=n, relation=ZERO_OUT
                )
            ).mu
        ),
        lambda s, n: quotient(1.0, n),
    ),
    "shift of an allocation with little noise": (
        lambda s, n: one_pair(AllocatedGaussian(batches=3, noise_multiplier=0.05 + n / 50)).mu,
        lambda s, n: quotient(1.0, 0.05 + n / 50),
    ),
    "largest loss of several releases": (
        lambda s, n: (
            Composition.of(
                Sequence(
                    (
                        LaplaceRelease(sensitivity=1.0, noise_scale=1.0, count=3),
                        ApproximateRelease(epsilon=s, count=5),
                    )
                )
            ).largest
        ),
        lambda s, n: 3 + 5 * Fraction(s),
    ),
    "probability that something is told": (
        lambda s, n: (
            Composition.of(
                Sequence(
                    (
                        ApproximateRelease(epsilon=1.0, delta=s / 9, count=3),
                        ApproximateRelease(epsilon=1.0, delta=n / 9),
                    )
                )
            ).infinite_mass
        ),
        lambda s, n: 1 - (1 - Fraction(s / 9)) ** 3 * (1 - Fraction(n / 9)),
    ),
    "mu of Gaussian noise": (
        lambda s, n: (
            Fraction(
                gaussian_guarantee(
                    Sequence(
                        (
                            GaussianRelease(sensitivity=s, noise_scale=n, count=3),
                            GaussianRelease(sensitivity=n, noise_scale=1.0),
                        )
                    )
                ).mu
            )
            ** 2
        ),
        lambda s, n: 3 * quotient(s, n) ** 2 + Fraction(n) ** 2,
    ),
    "distance of several releases": (
        lambda s, n: two_gaussians(s, n).distance,
        lambda s, n: sum(k * Fraction(pair.distance) for pair, k in two_gaussians(s, n)),
    ),
    "rho of Gaussian noise": (
        lambda s, n: compute_zcdp_guarantee(GaussianRelease(sensitivity=s, noise_scale=n)).rho,
        lambda s, n: quotient(s, n) ** 2 / 2,
    ),
    "rho of discrete Gaussian noise": (
        lambda s, n: (
            compute_zcdp_guarantee(
                DiscreteGaussianRelease(sensitivity=1 + int(10 * s), noise_scale=n)
            ).rho
        ),
        lambda s, n: whole(s, n) ** 2 / 2,
    ),
    "rho of Laplace noise": (
        lambda s, n: compute_zcdp_guarantee(LaplaceRelease(sensitivity=s, noise_scale=n)).rho,
        lambda s, n: quotient(s, n) ** 2 / 2,
    ),
    "rho of an epsilon": (
        lambda s, n: compute_zcdp_guarantee(ApproximateRelease(epsilon=s, count=3)).rho,
        lambda s, n: 3 * Fraction(s) ** 2 / 2,
    ),
    "rho of a mu": (lambda s, n: GaussianDP(s)._rho(), lambda s, n: Fraction(s) ** 2 / 2),
    "rho of pure DP": (lambda s, n: PureDP(s)._rho(), lambda s, n: Fraction(s) ** 2 / 2),
    "shift of Laplace noise of one sample": (
        lambda s, n: (
            one_sample(
                [
                    PoissonSubsampledLaplace(
                        sampling_ratio=0.1, sensitivity=s, noise_scale=n, count=3
                    )
                ]
            ).sensitivity
        ),
        lambda s, n: 3 * quotient(s, n),
    ),
    "shift of Gaussian noise of one sample": (
        lambda s, n: (
            Fraction(1)
            / Fraction(
                one_sample(
                    [
                        PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=n, count=3),
                        PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=s),
                    ]
                ).noise_multiplier
            )
            ** 2
        ),
        lambda s, n: 3 / Fraction(n) ** 2 + 1 / Fraction(s) ** 2,
    ),
    "shift of one budget": (
        lambda s, n: of_one_budget(GaussianRelease, "l2", s, n),
        lambda s, n: 3 * quotient(s, n) ** 2,
    ),
    "shift of a budget that is spent": (
        lambda s, n: of_one_budget(GaussianRelease, "l2", 9.0, n, budget=s),
        lambda s, n: quotient(s, n) ** 2,
    ),
    "epsilon of one budget": (
        lambda s, n: of_one_budget(LaplaceRelease, "l1", s, n),
        lambda s, n: 3 * quotient(s, n),
    ),
    "epsilon of a budget that is spent": (
        lambda s, n: of_one_budget(LaplaceRelease, "l1", 9.0, n, budget=s),
        quotient,
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_no_number_is_below_the_exact_one(name):
    worked_out, exact = NUMBERS[name]
    for s, n in doubles(1):
        found, true = Fraction(worked_out(s, n)), exact(s, n)
        assert true <= found <= true * (1 + Fraction(1, 10**9))


def test_sums_of_published_theorems_are_rounded_up():
    slack = 1e-5
    for epsilon, _ in doubles(2):
        exact = 3 * Fraction(epsilon)
        found, _ = kairouz_heterogeneous([ApproximateRelease(epsilon=epsilon, count=3)], slack)
        assert exact <= found <= exact * (1 + Fraction(1, 10**9))
        with mp.workdps(50):
            e = mp.mpf(epsilon)
            true = mp.sqrt(2 * 50 * mp.log(1 / mp.mpf(slack))) * e + 50 * e * mp.expm1(e)
            published, _ = compose_advanced(epsilon, 1e-7, 50, slack)
            assert mp.mpf(published) >= true


def test_a_mixture_moves_by_the_exact_quotients():
    for s, n in doubles(3):
        release = GaussianMixtureRelease(
            sensitivities=(0.0, s), probabilities=(0.5, 0.5), noise_scale=n
        )
        source = one_pair(release).source
        shift = max(source.p.means + source.q.means, key=abs)
        assert abs(Fraction(shift)) >= quotient(s, n)


def test_sampled_laplace_noise_moves_by_the_exact_quotient():
    for s, n in doubles(4):
        release = PoissonSubsampledLaplace(sampling_ratio=0.3, sensitivity=s, noise_scale=n)
        assert Fraction(one_pair(release).source.shift) >= quotient(s, n)


def test_gaussian_noise_in_place_of_laplace_noise_tells_as_much():
    """A Laplace release is made of a Gaussian one whose two-sided test is as good at the middle."""
    for s, n in doubles(5):
        release = PoissonSubsampledLaplace(sampling_ratio=0.3, sensitivity=s, noise_scale=n)
        mu = 1 / mp.mpf(_as_gaussian(release).noise_multiplier)
        with mp.workdps(30):
            distance = mp.erf(mu / 2 / mp.sqrt(2))  # of both Gaussian laws
            epsilon = mp.mpf(s) / mp.mpf(n)
            assert distance >= mp.tanh(epsilon / 2)
            assert distance <= mp.tanh(epsilon / 2) * (1 + mp.mpf(10) ** -9)


@pytest.mark.parametrize("far", [250.0, 700.0])
def test_far_laplace_noise_is_made_of_gaussian_noise_too(far):
    release = PoissonSubsampledLaplace(sampling_ratio=0.3, sensitivity=far, noise_scale=1.0)
    mu = 1 / mp.mpf(_as_gaussian(release).noise_multiplier)
    with mp.workdps(400):
        assert mp.erfc(mu / 2 / mp.sqrt(2)) <= 1 - mp.tanh(mp.mpf(far) / 2)
        assert mu < 2.2 * math.sqrt(2 * far)
