"""The cost of a release: its event, from the movement of its centre in units of its noise.

**Theorem (additive noise).** Let neighbours have the centres c and c' and let the noise of entry i
be independent of density ``exp(-g(t / b_i)) / b_i``, b public. With ``r_i = |c_i - c'_i| / b_i``:

* Where g has slopes of at most 1 (Laplace, logistic), the log-ratio of the densities at any output
  is at most ``sum over i of r_i``: the L1 distance of centre over scale bounds epsilon.
* For normal noise, the pair is N(0, 1) against N(mu, 1) along ``c - c'`` over scale, mu the
  Euclidean length of r (Dong, Roth & Su 2022, Theorem 2.7); rho is ``mu^2 / 2``.
* For Cauchy noise, ``(1 + (t + r)^2) / (1 + t^2)`` is largest where its derivative is 0, at
  ``t = (-r + sqrt(r^2 + 4)) / 2``, where it is ``t^-2``; so entry i costs ``2 asinh(r_i / 2)``.
  That is concave in r_i, so k entries cost at most ``2 k asinh(||r||_1 / (2 k))``, and each at most
  what the largest costs.
* On whole numbers, mass proportional to ``exp(-a |k|)`` costs ``a`` times the L1 distance, as its
  logarithm has slopes of at most a; mass as ``exp(-k^2 / (2 s^2))`` costs ``rho = d^2 / (2 s^2)``,
  d the Euclidean distance (Canonne, Kamath & Steinke 2020, Theorem 4). Both need centres that are
  whole numbers: else the support of the output tells the centres apart.

The distances hold for every value of what is public, so also for every history of releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

import dpaudit.faults.codes as codes
from dpaudit.accounting.discrete_events import DiscreteLaplaceRelease
from dpaudit.accounting.events import (
    ApproximateRelease,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    Release,
    ZeroConcentratedRelease,
)
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import rounding
from dpaudit.proving.distances.facts import Facts
from dpaudit.proving.events.draft import Draft, size_of
from dpaudit.proving.events.noise_laws import IndependentNoise
from dpaudit.proving.events.release_forms import Additive
from dpaudit.proving.program import Node, PathProgram, Shape
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Distance, Universe


class Bounds(Protocol):
    """The facts about the values of a program: see `dpaudit.proving.distances.analysis`."""

    program: PathProgram
    universe: Universe

    @property
    def kinds(self) -> Sequence[NodeKind]:
        """The dependence of each value on data and draws."""

    def facts(self, index: int) -> Facts:
        """Return the ends of a node's entries."""

    def distance(self, index: int) -> Distance:
        """Return how far a node moves between neighbours."""


@dataclass(frozen=True, kw_only=True)
class ReleaseCost:
    """The cost of a release.

    Parameters
    ----------
    node
        The number of what is released.
    place
        Its line.
    mechanism
        What it is.
    event
        As accountants have it.
    epsilon, mu, rho
        Of pure differential privacy, of a Gaussian guarantee and of a concentrated one; infinite
        where there is none.
    is_by_path
        Whether epsilon bounds the probability of this path alone, and not each step of it given
        those before: then the largest over paths is pure, and no sum of squares is concentrated.
    """

    node: int
    place: str
    mechanism: str
    event: Release
    epsilon: float = math.inf
    mu: float = math.inf
    rho: float = math.inf
    is_by_path: bool = False


def make_pure_spending(
    node: Node, mechanism: str, epsilon: float, event: Release | None = None
) -> ReleaseCost:
    """Return the cost of an epsilon-differentially private release.

    It is ``epsilon^2 / 2`` zero-concentrated (Bun & Steinke 2016, Proposition 1.4).
    """
    return ReleaseCost(
        node=node.index,
        place=node.place,
        mechanism=mechanism,
        event=event or ApproximateRelease(epsilon=epsilon),
        epsilon=epsilon,
        rho=rounding.half_square_up(epsilon),
    )


@dataclass(frozen=True, eq=False)
class AdditivePlan:
    """The nodes whose distance a release with additive noise asks for.

    Parameters
    ----------
    release
        What is released.
    asked
        Its centre, divided by the scale where that is no single public number.
    unit
        The scale, or 1 where the centre is divided by it.
    """

    release: Additive
    asked: int
    unit: float

    @classmethod
    def of(cls, draft: Draft, release: Additive) -> AdditivePlan:
        """Append the questions to a draft."""
        unit = common_scale(draft, release.noise)
        # With one public scale the event has the sensitivity and the noise that a reader knows
        # from the code; otherwise the centre is measured in units of its scale.
        if unit is not None:
            return cls(release, release.centre, unit)
        assert release.noise.scale is not None
        place = release.node.place
        ratio = draft.apply("divide", [release.centre, release.noise.scale], place=place)
        return cls(release, ratio, 1.0)

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost of the release.

        Raises
        ------
        NotProved
            Nothing bounds its centre, or its noise hides nothing.
        """
        rule = _RULES.get(self.release.noise.law)
        node = self.release.node
        if rule is None:
            raise NotProved.at(node.place, *_why_nothing_is_hidden(self.release.noise))
        distance = bounds.distance(self.asked)
        if math.inf in (distance.l1, distance.l2, distance.linf):
            raise make_unbounded_error(bounds, self.asked, node.place)
        if self.release.noise.law in _WHOLE:
            self._check_whole(bounds)
        return rule(self, distance)

    def _check_whole(self, bounds: Bounds) -> None:
        # Discrete noise on 0.5 has another support than on 0, so a single output tells the two
        # apart.
        if self.unit != 1 or not bounds.facts(self.asked).is_integer:
            raise NotProved.at(
                self.release.node.place,
                "the code adds discrete noise to a number that may not be whole",
                "round before you add noise",
            )

    @property
    def shape(self) -> Shape:
        """The shape of the released value."""
        return self.release.node.shape

    def stacked(self, draft: Draft) -> int:
        """Append the centre, in a row, in the unit in which an L1 distance of 1 costs 1."""
        row = draft.flatten(draft.broadcast(self.asked, self.release.node.shape))
        rate = _get_noise_rate(self.release.noise)
        # The L1 distance of the stack is the cost itself, so discrete noise enters times its
        # rate.
        if rate != 1:
            row = draft.apply("multiply", [row, draft.constant(rate)])
        return row if self.unit == 1 else draft.apply("divide", [row, draft.constant(self.unit)])


def common_scale(draft: Draft, noise: IndependentNoise) -> float | None:
    """Return the scale of all entries, where that is one public number above 0."""
    if noise.scale is None:
        return 1.0
    value = draft.value(noise.scale)
    # Scales that differ by entry need the centre divided entry by entry.
    if value is None or not value.size or not np.all(value == value.flat[0]):
        return None
    found = float(value.flat[0])
    # A scale of 0 hides nothing; the division by it is refused later, at its line.
    return found if 0 < found < math.inf else None


def make_unbounded_error(bounds: Bounds, index: int, place: str) -> NotProved:
    """Return the error of a value of which no rule bounds how far it moves."""
    refusal = bounds.facts(index).refusal
    if refusal is not None:
        return NotProved(refusal)
    reason = "no rule bounds how far it moves between neighbours"
    return NotProved.at(place, reason, "clip records", fault=codes.NOT_BOUNDED)


def _get_noise_rate(noise: IndependentNoise) -> float:
    if noise.law != "discrete-laplace":
        return 1.0
    assert noise.parameters is not None
    return float(noise.parameters["rate"])


def _compute_laplace_spending(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    event = LaplaceRelease(sensitivity=distance.l1, noise_scale=plan.unit)
    epsilon = rounding.quotient_up(distance.l1, plan.unit)
    return make_pure_spending(plan.release.node, "Laplace noise", epsilon, event)


def _compute_logistic_spending(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    epsilon = _divide_up(distance.l1, plan.unit)
    return make_pure_spending(plan.release.node, "logistic noise", epsilon)


def _compute_normal_spending(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    node, mu = plan.release.node, _divide_up(distance.l2, plan.unit)
    # Accountants refuse an infinite sensitivity; mu already says that there is no guarantee.
    sensitivity = 0.0 if mu == math.inf else distance.l2
    return ReleaseCost(
        node=node.index,
        place=node.place,
        mechanism="Gaussian noise",
        event=GaussianRelease(sensitivity=sensitivity, noise_scale=plan.unit),
        mu=mu,
        rho=rounding.half_square_up(mu),
    )


def _compute_cauchy_spending(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    count = size_of(plan.release.node.shape)
    # Jensen: the cost is concave in each entry's distance, so equal shares of the L1 distance
    # are the worst case, and no share is above the largest.
    most = min(distance.l1 / max(count, 1), distance.linf) / plan.unit
    epsilon = rounding.bound_above(2 * count * math.asinh(most / 2), 0.0, 32.0)
    return make_pure_spending(plan.release.node, "Cauchy noise", epsilon)


def _discrete_laplace(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    noise, node = plan.release.noise, plan.release.node
    rate = _get_noise_rate(noise)
    epsilon = rounding.product_up(distance.l1, rate)
    return make_pure_spending(
        node, "discrete Laplace noise", epsilon, _discrete_event(node, distance, rate)
    )


def _discrete_event(node: Node, distance: Distance, rate: float) -> Release | None:
    """Return the event of one whole number with noise, where accountants have it."""
    # The accountant's event is of one number; for several, epsilon alone composes.
    if size_of(node.shape) != 1:
        return None
    try:
        # Downwards: less noise than there is.
        scale = math.nextafter(1 / rate * (1 - 1e-15), 0.0)
        return DiscreteLaplaceRelease(sensitivity=math.floor(distance.linf), noise_scale=scale)
    except InvalidArgument:
        return None


def _discrete_gaussian(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    node, noise = plan.release.node, plan.release.noise
    assert noise.parameters is not None
    rho = rounding.half_square_up(_divide_up(distance.l2, float(noise.parameters["sigma"])))
    return ReleaseCost(
        node=node.index,
        place=node.place,
        mechanism="discrete Gaussian noise",
        event=ZeroConcentratedRelease(rho=0.0 if rho == math.inf else rho),
        rho=rho,
    )


def _exponential_norm(plan: AdditivePlan, distance: Distance) -> ReleaseCost:
    """Return the cost of noise that falls with its Euclidean length, of one scale."""
    noise, node = plan.release.noise, plan.release.node
    # Divided by scales that differ, the Euclidean length is no longer the one of the density.
    if plan.asked != plan.release.centre or distance.l2 == math.inf:
        return make_pure_spending(node, "exponential-norm noise", math.inf)
    assert noise.parameters is not None
    event = ExponentialNormRelease(
        sensitivity=distance.l2,
        noise_rate=rounding.quotient_up(1.0, plan.unit),
        dimension=int(noise.parameters["dimension"]),
    )
    epsilon = rounding.quotient_up(distance.l2, plan.unit)
    return make_pure_spending(node, "exponential-norm noise", epsilon, event)


def _divide_up(numerator: float, denominator: float) -> float:
    if numerator == math.inf:
        return numerator
    return rounding.quotient_up(numerator, denominator)


STACKED = frozenset({"laplace", "logistic", "discrete-laplace", "normal"})
"""Laws of noise that cost by the distance of centre over scale, L2 for normal noise and else L1."""
_WHOLE = frozenset({"discrete-laplace", "discrete-gaussian"})
_RULES: Mapping[str, Callable[[AdditivePlan, Distance], ReleaseCost]] = {
    "laplace": _compute_laplace_spending,
    "logistic": _compute_logistic_spending,
    "normal": _compute_normal_spending,
    "cauchy": _compute_cauchy_spending,
    "discrete-laplace": _discrete_laplace,
    "discrete-gaussian": _discrete_gaussian,
    "exponential-norm": _exponential_norm,
}


def _why_nothing_is_hidden(noise: IndependentNoise) -> tuple[str, str]:
    if noise.law in ("exponential", "geometric", "uniform"):
        reason = "bounded noise excludes some values, so some outputs reveal the dataset"
        return reason, "use Laplace or Gaussian noise"
    if noise.law == "gumbel":
        return (
            "the code releases a value with Gumbel noise, whose tail is too thin for any epsilon",
            "release only the position of the largest value, or use Laplace noise",
        )
    return (
        f"no rule bounds the privacy loss under {noise.law} noise",
        "use Laplace or Gaussian noise",
    )
