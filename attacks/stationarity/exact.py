r"""Exact recovery without noise: the conditions of the inversion hold with ``e = 0``.

With the penalties known, one iteration gives ``(C/B) l'(u'f) u = (m - f)/k - g``, k the share: its
direction is -u's, as ``l' < 0``. Its size is an equation for ``r = ||u||``, with s the direction's
product with f,

    r |l'(r s)| = size / (C/B)            on (0, 1], records having norm at most 1.

For ``s <= 0`` the left side grows with r. Otherwise it falls after a peak, at ``r s = 1 + W(1/e)``
= 1.278... for the logistic loss, and there may be two roots: a second iteration tells which.

With private penalties, u lies in the plane of ``m - f`` and ``g`` of every iteration, as
``(C/B) l' u = (m - f)/k - g``. Two planes in R^d, d at least 3, share a line in general: two
iterations give the direction, then each gives its k and its size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

from dpaudit._typing import Array
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
from dpaudit.attacks.stationarity.inversion import Conditions
from dpaudit.errors import InvalidArgument, MechanismError

_PEAK = 1 + float(lambertw(np.exp(-1)).real)  # of x sig(-x)
_ROUNDING = 1e-12
_NEWTON_STEPS = 4
_SLACK = 1e-6  # beyond norm 1


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """The missing record, signed, shape ``(d,)``, and what it took.

    ``roots`` are the norms that the first iteration allows; ``iterations`` were looked at.
    """

    record: Array
    roots: tuple[float, ...]
    iterations: int


def recovered(conditions: Conditions) -> Recovered:
    """Return the one missing record of a run without noise.

    Raises
    ------
    InvalidArgument
        There is noise, the loss is not the logistic one, or the penalties are private and there
        are fewer than two iterations or three features.
    MechanismError
        No record of norm at most 1 explains what was seen, or it does not say which one.
    """
    if conditions.rates is not None:
        raise InvalidArgument("noise_rate", conditions.rates.tolist(), "none: nothing is exact")
    if conditions.loss is not LOGISTIC:
        raise InvalidArgument("loss", conditions.loss.name, f"{LOGISTIC.name}: its slope is not 0")
    pulls = _private(conditions) if conditions.shares is None else _public(conditions)
    at_once = 2 if conditions.shares is None else 1
    direction = -pulls[0] / np.linalg.norm(pulls[0])
    sizes = np.linalg.norm(pulls, axis=1) / conditions.weight
    margins = conditions.models @ direction
    roots = _roots(conditions, float(margins[0]), float(sizes[0]))
    if len(roots) == 1:
        return Recovered(record=roots[0] * direction, roots=roots, iterations=at_once)
    best = _told_apart(conditions, roots, margins, sizes)
    return Recovered(record=best * direction, roots=roots, iterations=2)


def _public(conditions: Conditions) -> Array:
    """Return ``(C/B) l'(u'f) u`` of the first two iterations, shape ``(T, d)``."""
    assert conditions.shares is not None
    pulls: Array = conditions.moves / conditions.shares[:, None] - conditions.known
    size = np.linalg.norm(pulls[0])
    if size <= _ROUNDING * np.linalg.norm(conditions.known[0]):
        raise MechanismError("the first iteration leaves nothing for a missing record to explain")
    return pulls[:2]


def _private(conditions: Conditions) -> Array:
    """Return the same where every iteration gives a plane that it lies in."""
    if len(conditions.models) < 2 or conditions.dimension < 3:
        given = conditions.models.shape
        raise InvalidArgument("broadcasts", given, "two iterations or more, three features or more")
    planes = [_plane(move, known) for move, known in _pairs(conditions)]
    outside = sum((np.eye(conditions.dimension) - basis @ basis.T for basis in planes), start=0.0)
    values, vectors = np.linalg.eigh(outside)
    if values[1] < _SLACK:
        raise MechanismError("the planes of two iterations share more than a line")
    return np.array([_along(vectors[:, 0], move, known) for move, known in _pairs(conditions)])


def _pairs(conditions: Conditions) -> list[tuple[Array, Array]]:
    return list(zip(conditions.moves[:2], conditions.known[:2], strict=True))


def _plane(move: Array, known: Array) -> Array:
    basis = np.stack([move / np.linalg.norm(move), known / np.linalg.norm(known)], axis=1)
    return np.asarray(np.linalg.qr(basis)[0])


def _along(line: Array, move: Array, known: Array) -> Array:
    """Return the multiple of ``line`` that is ``s move - known`` for some s."""
    solution = np.linalg.lstsq(np.stack([move, -line], axis=1), known, rcond=None)[0]
    return np.asarray(solution[1] * line)


def _roots(conditions: Conditions, margin: float, size: float) -> tuple[float, ...]:
    """Return every norm r in (0, 1] with ``r |l'(r s)| = size``: one on either side of the peak."""

    def excess(norm: float) -> float:
        slope = conditions.loss.margin.slope(np.array(norm * margin))
        return float(-norm * slope) - size

    longest = 1.0 + _SLACK
    peak = min(_PEAK / margin, longest) if margin > 0 else longest
    if 0 < -excess(peak) <= _SLACK * size:  # both roots are at the peak, up to rounding
        return (peak, peak)
    if excess(peak) < 0:
        raise MechanismError("no record of norm at most 1 explains the first iteration")
    found = [brentq(excess, 0.0, peak, xtol=1e-15, rtol=1e-14)]
    if peak < longest and excess(longest) <= 0:
        found.append(brentq(excess, peak, longest, xtol=1e-15, rtol=1e-14))
    return tuple(found)


def _told_apart(
    conditions: Conditions, roots: tuple[float, ...], margins: Array, sizes: Array
) -> float:
    if len(sizes) < 2:
        listed = " or ".join(f"{root:.6g}" for root in roots)
        raise MechanismError(f"one iteration allows norms {listed}: a second one is needed")
    seen = -np.array(roots) * conditions.loss.margin.slope(np.array(roots) * margins[1])
    return _polished(conditions, roots[int(np.argmin(np.abs(seen - sizes[1])))], margins, sizes)


def _polished(conditions: Conditions, norm: float, margins: Array, sizes: Array) -> float:
    """Return the root near ``norm`` of the iteration that says it best: not the one at its peak."""
    for _ in range(_NEWTON_STEPS):
        slopes = conditions.loss.margin.slope(norm * margins[:2])
        rises = -slopes - norm * margins[:2] * conditions.loss.curvature(norm * margins[:2])
        best = int(np.argmax(np.abs(rises)))
        norm += (sizes[best] + norm * slopes[best]) / rises[best]
    return float(norm)
