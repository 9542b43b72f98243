"""Cheap looks at many pairs: which are worth certifying. Nothing that is seen here certifies.

The first look takes a handful of outputs and sees structure: another shape, key, class, type, NaN,
an error, a warning. The second takes a few hundred, and weighs the best event of single parts
against the claim. Whatever they choose, what certifies is drawn afresh: a choice spends no error
probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.estimation.event import choose_event
from dpaudit.estimation.likelihood import distance as nats_of
from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.guarantees.kinds import ApproximateDP, PureDP
from dpaudit.mechanisms.outputs.features import (
    Features,
    distance,
    few_valued_scores,
    one_part_scores,
    select_farthest_scores,
)
from dpaudit.mechanisms.outputs.layout import Layout, layout_of

_PARTS = 3  # of each kind, whose events are weighed
# Deltas at which a claim that names none is looked at: of rare events, and of certain ones.
_DELTAS = (1e-4, 0.02, 0.2, 0.5)
_PLAIN = 2.0  # nats below which a pair is plainly not worth it: its best event is not looked for
_COLUMNS = 400  # parts that a first look goes through


def list_claim_points(claimed: Guarantee) -> tuple[tuple[float, float], ...]:
    """Return (epsilon, delta) at which a claim is looked at: its own, or some of its curve.

    Examples
    --------
    >>> list_claim_points(ApproximateDP(1.0, 1e-5))
    ((1.0, 1e-05),)
    """
    if isinstance(claimed, PureDP):
        return ((claimed.at_epsilon, 0.0),)
    if isinstance(claimed, ApproximateDP):
        return ((claimed.at_epsilon, claimed.at_delta),)
    found = [(claimed.epsilon(delta), delta) for delta in _DELTAS]
    return tuple(one for one in found if np.isfinite(one[0]))


def first_look(on_p: Any, on_q: Any) -> float:
    """Return how far apart a few observations of two datasets are, 0 if nothing differs.

    Examples
    --------
    >>> first_look([{"a": 1}] * 8, [{"b": 1}] * 8) > first_look([{"a": 1}] * 8, [{"a": 1}] * 8)
    True
    """
    layout, features = _compute_screen_features(on_p, on_q)
    p, q = (one[:, :_COLUMNS] for one in features)
    # Both directions are compared with one row of the other side: a column that varies on one
    # side alone is seen as well as one that differs between the sides.
    varies = np.flatnonzero((p != q[:1]).any(axis=0) | (q != p[:1]).any(axis=0))
    gaps = [distance(_ColumnScore(int(n)), p, q) for n in varies]
    missing = float(len(layout.columns) > 1) * 1e-9
    return max(gaps, default=0.0) + missing


def second_look(on_p: Any, on_q: Any, at: Sequence[tuple[float, float]]) -> float:
    """Return how many nats the best event of a part speaks against a claim, at its best point.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.laplace(size=200), rng.laplace(3.0, size=200)
    >>> bool(second_look(near, far, ((1.0, 0.0),)) > 5 > second_look(near, far, ((3.0, 0.0),)))
    True
    """
    layout, (p, q) = _compute_screen_features(on_p, on_q)
    scores: list[Any] = [
        *select_farthest_scores(one_part_scores(layout, p, q), p, q, layout, _PARTS)
    ]
    few = sorted(few_valued_scores(layout, p, q), key=lambda one: distance(one, p, q))
    scores += few[-_PARTS:]
    pairs = [(one(p), one(q)) for one in scores]
    most = max((_at_most(*sides, point) for sides in pairs for point in at), default=0.0)
    # The cheap bound decides nearly all pairs; the choice of an event costs many times as much.
    if most < _PLAIN:
        return most
    return max(
        (compute_best_event_nats(*sides, point) for sides in pairs for point in at), default=0.0
    )


def _at_most(on_p: Array, on_q: Array, point: tuple[float, float]) -> float:
    """Return the nats of the threshold that speaks most: no chosen event has more."""
    values = np.unique(np.concatenate([on_p, on_q]))
    below = [np.searchsorted(np.sort(side), values, "left") / len(side) for side in (on_p, on_q)]
    up_to = [np.searchsorted(np.sort(side), values, "right") / len(side) for side in (on_p, on_q)]
    favoured = np.concatenate([1 - below[0], up_to[1]])
    other = np.concatenate([1 - below[1], up_to[0]])
    return float(nats_of(favoured, other, len(on_p), len(on_q), *point).max())


def compute_best_event_nats(on_p: Array, on_q: Array, point: tuple[float, float]) -> float:
    """Return how many nats the best event of some scores speaks against (epsilon, delta)."""
    epsilon, delta = point
    event = choose_event(on_p, on_q, delta)
    rates = [float(event.happened(side).mean()) for side in (on_p, on_q)]
    favoured, other = rates if event.above else rates[::-1]
    return float(nats_of([favoured], [other], len(on_p), len(on_q), epsilon, delta)[0])


class _ColumnScore:
    """One column as a score."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __call__(self, features: Array) -> Array:
        found: Array = features[:, self.place]
        return found


def _compute_screen_features(on_p: Any, on_q: Any) -> tuple[Layout, tuple[Array, Array]]:
    """Return the features of observations by a layout of their own, which certify nothing."""
    layout = layout_of([on_p, on_q])
    p, q = (layout.rows(one, len(one)).reshape(len(one), -1) for one in (on_p, on_q))
    features = Features.of(layout, p, q)
    return layout, (features(p), features(q))
