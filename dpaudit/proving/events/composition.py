r"""The cost of all releases of a path together, and of all paths of a function.

**Theorem (stacking).** Let releases have noise whose log-densities have slopes of at most 1 in the
unit of their scales, each centre depending on the releases before it. Put the centres, each divided
by its scale, one after the other: where the L1 distance of that long vector is at most E for every
history, the releases cost E together. *Proof.* The log-ratio of the densities of all releases at a
history is the sum of theirs, each at most the L1 distance of its own part at that history. []
Randomised response joins in with its private entries times the largest log-ratio by unit.

So counts of disjoint groups that are released apart cost no more than those of a histogram. With
Gaussian noise, the Euclidean distance of the long vector is mu: a filter (Smith & Thakurta 2022,
Theorem 2.3; Koskela, Tobaben & Honkela 2023), as its square bounds the sum of squares on every
history.

**Theorem (paths).** A function whose public noise decides which releases follow is a filter: what
it costs is at most the largest sum of epsilons, of mu squared, or of rho over its paths (Rogers,
Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Whitehouse, Ramdas, Rogers & Wu 2023). Where a
path has pure and Gaussian releases, they cost ``E + epsilon(mu, delta)`` at delta. *Proof.* Let P
and Q be the laws of all releases on neighbours, R that with the pure ones as in P and the Gaussian
ones as in Q. P and R differ in Gaussian releases alone, so ``P(S) <= exp(epsilon) R(S) + delta``;
the densities of R and Q differ by a factor of at most ``exp(E)`` at every history. [] Deltas of
paths are never compared with one another: who chooses a path after looking beats each that is
fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.events import GaussianRelease, Sequence
from dpaudit.guarantees import rounding
from dpaudit.proving.events.draft import Draft, size_of
from dpaudit.proving.events.releases import STACKED, AdditivePlan, Bounds, ReleaseCost
from dpaudit.proving.events.responses import Response
from dpaudit.proving.events.sampling import SampledPlan

# Beyond that, the distance of the long vector takes longer to find than what it saves is worth.
_MOST_STACKED = 256
_MOST_ENTRIES = 20_000


@dataclass(frozen=True)
class PathCost:
    """The cost of the releases of one path.

    Parameters
    ----------
    releases
        In order.
    epsilon
        Of those that have one, together.
    mu
        Of the Gaussian ones, together.
    rho
        Of all, infinite where one has none.
    is_whole
        Whether each release is pure or Gaussian, so that epsilon and mu say all.
    """

    releases: tuple[ReleaseCost, ...]
    epsilon: float
    mu: float
    rho: float
    is_whole: bool

    def is_below(self, other: PathCost) -> bool:
        """Return whether it costs no more than another one, in every currency."""
        # False sorts before True: a cost that is whole is the better one.
        ours = self.epsilon, self.mu, self.rho, not self.is_whole
        theirs = other.epsilon, other.mu, other.rho, not other.is_whole
        return all(one <= more for one, more in zip(ours, theirs, strict=True))


@dataclass(frozen=True, eq=False)
class Stacks:
    """The long vectors of a path's centres: by numbers of releases, and their nodes.

    Parameters
    ----------
    pure, normal
        The node of the vector, None where there are not several, and the releases in it.
    """

    pure: int | None
    normal: int | None
    of_pure: frozenset[int]
    of_normal: frozenset[int]

    @classmethod
    def of(cls, draft: Draft, plans: SequenceOf[object]) -> Stacks:
        """Append the vectors to a draft."""
        pure: dict[int, AdditivePlan | Response] = {}
        normal: dict[int, AdditivePlan | Response] = {}
        for place, plan in enumerate(plans):
            # Without its sampling, a release costs no less, so the stack stays an upper bound.
            if isinstance(plan, SampledPlan):
                plan = plan.whole
            if isinstance(plan, Response):
                pure[place] = plan
            elif isinstance(plan, AdditivePlan) and plan.release.noise.law in STACKED:
                found = normal if plan.release.noise.law == "normal" else pure
                found[place] = plan
        return cls(
            _add_stacked_node(draft, pure),
            _add_stacked_node(draft, normal),
            frozenset(pure),
            frozenset(normal),
        )


def _add_stacked_node(draft: Draft, plans: dict[int, AdditivePlan | Response]) -> int | None:
    sizes = [size_of(one.shape) for one in plans.values()]
    if not 1 < len(plans) <= _MOST_STACKED or sum(sizes) > _MOST_ENTRIES:
        return None
    rows = [one.stacked(draft) for one in plans.values()]
    return draft.program.add("concatenate", rows, shape=(sum(sizes),), axis=0)


def add_up(releases: SequenceOf[ReleaseCost], stacks: Stacks, bounds: Bounds) -> PathCost:
    """Return the joint cost of a path's releases."""
    epsilon = _sum_of_epsilons(dict(enumerate(releases)), stacks, bounds)
    mu = _mu_of(dict(enumerate(releases)), stacks, bounds)
    is_whole = all(min(one.epsilon, one.mu) < math.inf for one in releases)
    return PathCost(tuple(releases), epsilon, mu, _rho_of(releases, epsilon, mu), is_whole)


def _sum_of_epsilons(releases: dict[int, ReleaseCost], stacks: Stacks, bounds: Bounds) -> float:
    known = {n: one.epsilon for n, one in releases.items() if one.epsilon < math.inf}
    plain = rounding.sum_up((1, one) for one in known.values())
    if stacks.pure is None:
        return plain
    # What is in the stack is counted by the stack, and everything else on top.
    others = [one for n, one in known.items() if n not in stacks.of_pure]
    together = bounds.distance(stacks.pure).l1
    return min(plain, rounding.sum_up((1, one) for one in [*others, together]))


def _mu_of(releases: dict[int, ReleaseCost], stacks: Stacks, bounds: Bounds) -> float:
    known = [one.mu for one in releases.values() if one.mu < math.inf]
    # The accountant's composition of Gaussians, rounded outwards, in place of a sum of squares
    # here.
    normal = [GaussianRelease(sensitivity=one, noise_scale=1.0) for one in known]
    plain = gaussian_guarantee(Sequence(tuple(normal))).mu if normal else 0.0
    if stacks.normal is None:
        return plain
    return min(plain, bounds.distance(stacks.normal).l2)


def _rho_of(releases: SequenceOf[ReleaseCost], epsilon: float, mu: float) -> float:
    """Return the sum of rho, that of the pure ones together where that is less."""
    others = [one.rho for one in releases if min(one.epsilon, one.mu) == math.inf]
    each = [one.rho for one in releases if one.epsilon < math.inf]
    # The pure releases are epsilon-DP together, which is rho of at most half the square; where
    # their epsilons are stacked, that may be less than the sum.
    pure = min(rounding.sum_up((1, one) for one in each), rounding.half_square_up(epsilon))
    return rounding.sum_up((1, one) for one in [*others, pure, rounding.half_square_up(mu)])
