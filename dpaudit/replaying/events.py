"""Events that tell two laws apart, and the epsilon that each proves.

An event is about numbers of the output alone. Its probabilities P on one dataset and Q on the other
follow from the laws, and (epsilon, delta)-DP demands ``P <= exp(epsilon) Q + delta``. So every
event proves an epsilon of at least ``log((P - delta) / Q)``.

Kinds of events:

- *all of*: several numbers with draws of their own, each at or beyond a threshold, which are
  independent;
- *sum*: a weighted sum of numbers with Gaussian noise at or above a threshold;
- *equal*: a number, or a difference in which the same noise cancels, that is exactly a constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpaudit.replaying.laws import LAWS_WITH_EDGE, LEAST_DOUBLE, Laws, NumberLaw, StandardDraw

_SAME = 1e-9  # relative, below which two constants are not told apart
_STEPS = (*range(-40, -8), *np.arange(-8.0, 8.01, 0.5).tolist(), *range(9, 41))
_REACH = 10.0  # standard deviations
_FAR_CAUTION = 8.0  # scales of noise whose tails are not exponential
_ROUNDED = 1e-12  # relative, by which a probability may be off, as doubles are rounded
_CENTRE_ERRORS = 10  # of a centre, that are allowed for
_SYMMETRIC = ("laplace", "normal", "logistic", "cauchy", "constant")  # whatever sign they have
_LEAST_PROBABLE = 1e-9  # of events that are looked at: further out a sampler of doubles has no law


@dataclass(frozen=True)
class OutputCondition:
    """One number of the output at or beyond a threshold; ``weight`` is of a sum."""

    place: int
    above: bool
    threshold: float
    weight: float = 1.0


@dataclass(frozen=True)
class ReplayEvent:
    """An event that tells two datasets apart.

    Parameters
    ----------
    kind
        ``"all of"``, ``"sum"`` or ``"equal"``.
    favours
        ``"dataset"`` or ``"neighbour"``: where it is the more probable.
    conditions
        On numbers of the output; a sum and an equality have one threshold, that of the first.
    probable, other
        Its probabilities where it is favoured, and on the other dataset.
    """

    kind: str
    favours: str
    conditions: tuple[OutputCondition, ...]
    probable: float
    other: float

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that it proves at a delta, infinite where Q is 0."""
        # Rounded down before delta is taken off: next to delta, its last digits are all that is
        # left.
        over = self.probable * (1 - _ROUNDED) - delta
        if over <= 0:
            return 0.0
        if self.other <= 0:
            return math.inf
        return max(0.0, math.log(over) - math.log(self.other))

    def proved(self, delta: float, dataset: Laws, neighbour: Laws) -> float:
        """Return the epsilon that it proves whatever rounding of doubles did.

        A probability of uniform or exponential noise moves by as much as the centre does in units
        of the scale; one of any other noise by a few times that, relative to itself.
        """
        slack = self.slack(dataset, neighbour)
        if self.kind == "equal":
            return self.epsilon(delta)
        laws = [side.numbers[n.place] for n in self.conditions for side in (dataset, neighbour)]
        tails = all(law is None or law.kind not in LAWS_WITH_EDGE for law in laws)
        if tails:
            own = replace(self, probable=self.probable * (1 - slack))
        else:
            other = self.other and self.other + slack
            own = replace(self, probable=self.probable - slack, other=other)
        return max(0.0, own.epsilon(delta) - slack)

    def slack(self, dataset: Laws, neighbour: Laws) -> float:
        """Return by how much rounding of doubles may have moved that epsilon."""
        least = min(one for one in (self.probable, self.other, 1.0) if one > 0)
        return sum(
            _compute_steepness(law.kind, least) * 10 * law.error / abs(law.factor)
            for one in self.conditions
            for laws in (dataset, neighbour)
            if (law := laws.numbers[one.place]) is not None and law.factor
        )


def _compute_steepness(kind: str, probability: float) -> float:
    """Return how many tens bound the slope of the log of a tail, a tenth of it to spare.

    With L minus the log of the tail, the slope is L in the lower tail of a Gumbel law, and at most
    the larger of 9 and L in that of a Gaussian; further in it is less. Of Laplace and logistic laws
    it is 1; of those with an edge it is the tail that moves by no more than its threshold.
    """
    return max(1.0, -0.11 * math.log(probability)) if kind in ("normal", "gumbel") else 1.0


def best_event(dataset: Laws, neighbour: Laws, delta: float) -> ReplayEvent | None:
    """Return the event that proves the largest epsilon, None if none proves one above 0."""
    found = list(_find_events(dataset, neighbour, delta))
    found = [one for one in found if one.epsilon(delta) > 0]
    # Of those that prove as much the more probable one, which is the easier to believe.
    return max(
        found,
        key=lambda e: (min(e.epsilon(delta), 1e6), e.probable, -len(e.conditions)),
        default=None,
    )


def _find_events(dataset: Laws, neighbour: Laws, delta: float) -> Iterator[ReplayEvent]:
    if dataset.structure is None or dataset.structure != neighbour.structure:
        return
    pairs = [
        (n, p, q)
        for n, (p, q) in enumerate(zip(dataset.numbers, neighbour.numbers, strict=True))
        if p is not None and q is not None and not same_law(p, q)
    ]
    yield from _find_shared_noise_events(dataset, neighbour)
    for favours, own in (("dataset", pairs), ("neighbour", [(n, q, p) for n, p, q in pairs])):
        singles = [e for n, p, q in own for e in _find_single_events(n, p, q, favours, delta)]
        yield from singles
        yield from _find_product_events(singles, own, favours, delta)
        yield from _find_sum_events(own, favours)


def same_law(one: NumberLaw, other: NumberLaw) -> bool:
    """Return whether two laws are one, up to the rounding of doubles."""
    alike = (one.kind, one.post) == (other.kind, other.post)
    unit = max(abs(one.factor), abs(other.factor))
    factors = (one.factor, other.factor)
    if one.kind in _SYMMETRIC:
        factors = (abs(one.factor), abs(other.factor))
    ends = ((one.low, other.low), (one.high, other.high))
    return (
        alike
        and _is_nearly_equal(one.centre, other.centre, unit)
        and abs(factors[0] - factors[1]) <= _SAME * unit
        and all(a == b or _is_nearly_equal(a, b, unit) for a, b in ends)
    )


def _is_nearly_equal(one: float, other: float, unit: float = 0.0) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    if math.isinf(one) or math.isinf(other):
        return one == other
    return abs(one - other) <= _SAME * max(unit, abs(one), abs(other), 1e-300)


def _find_single_events(
    place: int, p: NumberLaw, q: NumberLaw, favours: str, delta: float
) -> Iterator[ReplayEvent]:
    """Yield the best half-line of one number, and the constant that it is on one side alone."""
    if p.constant and not _may_equal(q, p.centre):
        yield ReplayEvent("equal", favours, (OutputCondition(place, True, p.centre),), 1.0, 0.0)
    best: tuple[tuple[float, float], ReplayEvent] | None = None
    for threshold in _choose_thresholds(p, q):
        for above in (True, False):
            both = (
                _compute_half_line(p, threshold, above=above),
                _compute_other_half_line(q, threshold, above=above),
            )
            # Written so that a probability that is no number is passed over. Below delta an event
            # proves nothing.
            if not both[0] > max(delta, _LEAST_PROBABLE):
                continue
            event = ReplayEvent(
                "all of", favours, (OutputCondition(place, above, threshold),), *both
            )
            # Rounded, so that among thresholds that prove the same but for the last digits the more
            # probable event wins.
            proved = round(min(event.epsilon(delta), 1e6), 9)
            if best is None or (proved, event.probable) > best[0]:
                best = ((proved, event.probable), event)
    if best is not None and best[0][0] > 0:
        yield best[1]


def _compute_half_line(law: NumberLaw, threshold: float, *, above: bool) -> float:
    return law.at_least(threshold) if above else law.at_most(threshold)


def _compute_other_half_line(law: NumberLaw, threshold: float, *, above: bool) -> float:
    """Return the probability of a half-line, 0 only if it is 0 wherever the centre may be."""
    found = _compute_half_line(law, threshold, above=above)
    if found > 0 or law.kind not in LAWS_WITH_EDGE:
        return found
    off = _CENTRE_ERRORS * law.error
    moved = (replace(law, centre=law.centre + by) for by in (-off, off))
    return max(_compute_half_line(one, threshold, above=above) for one in moved)


def _may_equal(law: NumberLaw, value: float) -> bool:
    """Return whether a number of a law can be exactly a value."""
    if law.constant:
        return _is_nearly_equal(law.centre, value)
    return bool(law.post) or value in (law.low, law.high) or not math.isfinite(value)


def _choose_thresholds(p: NumberLaw, q: NumberLaw) -> list[float]:
    found = set[float]()
    for law in (p, q):
        if math.isfinite(law.centre):
            found.add(law.centre)
        if not law.constant:
            steps = (
                _STEPS
                if law.kind in ("laplace", "exponential", "gumbel", "logistic")
                else [step for step in _STEPS if abs(step) <= _FAR_CAUTION]
            )
            found |= {law.centre + law.factor * step for step in steps}
            found |= set(_choose_thresholds_past_edges(law))
        found |= {end for end in (law.low, law.high) if math.isfinite(end)}
    ordered = sorted(found)
    between = [(a + b) / 2 for a, b in pairwise(ordered)]
    return [*ordered, *between]


def _choose_thresholds_past_edges(law: NumberLaw) -> Iterator[float]:
    """Yield thresholds that no noise with an edge goes past, wherever its centre may be."""
    off = 10 * _CENTRE_ERRORS * law.error
    if law.kind in LAWS_WITH_EDGE and off > 0:
        edges = (law.centre, *([law.centre + law.factor] if law.kind == "uniform" else ()))
        yield from (edge + by for edge in edges for by in (-off, off))


def _find_product_events(
    singles: Sequence[ReplayEvent], pairs: Sequence[Any], favours: str, delta: float
) -> Iterator[ReplayEvent]:
    """Yield events of the numbers that tell most, each with draws that no other of them has."""
    draws = {n: (p.draw, q.draw) for n, p, q in pairs}
    chosen, used = list[ReplayEvent](), set[tuple[int, str, int]]()
    for event in sorted(singles, key=lambda e: -e.epsilon(0.0)):
        place = event.conditions[0].place
        own = {
            (side, *entry)
            for side, draw in enumerate(draws[place])
            for entry in (() if draw is None else draw.entries)
        }
        # Only numbers without a common draw are independent: of others the probabilities must not
        # be multiplied.
        if event.kind != "all of" or None in draws[place] or own & used:
            continue
        used |= own
        chosen.append(event)
        if len(chosen) > 1:
            probable = math.prod(one.probable for one in chosen)
            other = math.prod(one.other for one in chosen)
            conditions = tuple(one.conditions[0] for one in chosen)
            if probable > max(delta, _LEAST_PROBABLE) and other > 0:
                yield ReplayEvent("all of", favours, conditions, probable, other)


def _find_sum_events(pairs: Sequence[Any], favours: str) -> Iterator[ReplayEvent]:
    """Yield half-spaces across all numbers with Gaussian noise of the same scale on both sides."""
    chosen, used = list[Any](), set[StandardDraw]()
    for n, p, q in pairs:
        plain = p.kind == q.kind == "normal" and not (p.post or q.post)
        bounded = any(math.isfinite(end) for law in (p, q) for end in (law.low, law.high))
        scales = abs(abs(p.factor) - abs(q.factor)) <= _SAME * abs(p.factor)
        if plain and not bounded and scales and not {p.draw, q.draw} & used:
            used |= {p.draw, q.draw}
            chosen.append((n, p, q))
    if len(chosen) < 2:
        return
    # Neyman and Pearson: for Gaussian noise of one covariance the likelihood ratio depends on this
    # weighted sum alone.
    weights = np.array([(p.centre - q.centre) / p.factor**2 for _, p, q in chosen])
    scale = math.sqrt(
        sum((w * p.factor) ** 2 for w, (_, p, _) in zip(weights, chosen, strict=True))
    )
    centres = [
        sum(w * one[side].centre for w, one in zip(weights, chosen, strict=True)) for side in (1, 2)
    ]
    apart = (centres[0] - centres[1]) / scale
    for step in np.linspace(-min(_REACH, apart), _FAR_CAUTION, 73):
        threshold = centres[0] + step * scale
        conditions = tuple(
            OutputCondition(n, True, float(threshold), float(w))
            for w, (n, _, _) in zip(weights, chosen, strict=True)
        )
        probable, other = float(ndtr(-step)), max(float(ndtr(-step - apart)), LEAST_DOUBLE)
        if probable <= _LEAST_PROBABLE:
            continue
        yield ReplayEvent("sum", favours, conditions, probable, other)


def _find_shared_noise_events(dataset: Laws, neighbour: Laws) -> Iterator[ReplayEvent]:
    """Yield differences of numbers in which the same noise cancels."""
    groups: dict[StandardDraw, list[int]] = {}
    for n, (p, q) in enumerate(zip(dataset.numbers, neighbour.numbers, strict=True)):
        if p is not None and q is not None and p.draw is not None and _is_noise_cancelling(p, q):
            groups.setdefault(p.draw, []).append(n)
    for places in groups.values():
        first = places[0]
        for n in places[1:]:
            weight = -_require_law(dataset, first).factor / _require_law(dataset, n).factor
            values = [
                _require_law(laws, first).centre + weight * _require_law(laws, n).centre
                for laws in (dataset, neighbour)
            ]
            unit = max(abs(_require_law(dataset, one).centre) for one in (first, n))
            unit = max(
                unit,
                abs(_require_law(dataset, first).factor),
                abs(weight * _require_law(dataset, n).centre),
            )
            ratios = [
                _require_law(laws, first).factor / _require_law(laws, n).factor
                for laws in (dataset, neighbour)
            ]
            if abs(values[0] - values[1]) > 1e-6 * unit and abs(ratios[0] - ratios[1]) <= _SAME:
                conditions = (
                    OutputCondition(first, True, values[0]),
                    OutputCondition(n, True, values[0], weight),
                )
                yield ReplayEvent("equal", "dataset", conditions, 1.0, 0.0)


def _is_noise_cancelling(p: NumberLaw, q: NumberLaw) -> bool:
    ends = (p.low, p.high, q.low, q.high)
    return p.draw == q.draw and not (p.post or q.post) and not any(map(math.isfinite, ends))


def _require_law(laws: Laws, place: int) -> NumberLaw:
    law = laws.numbers[place]
    assert law is not None
    return law
