"""Answers of a service that come back as a cache gives them: repeats beyond chance.

A cache gives the noise that it keeps again, and to a count that is exact data. Of identical
requests nobody can tell the two apart, so what looks like a cache certifies nothing.

| symbol | name   | meaning                                                                    |
|--------|--------|----------------------------------------------------------------------------|
| p, q   | counts | of each value, among the answers on the dataset and on its neighbour       |
| k      |        | the nearest other values whose counts say how many are usual               |
| lambda | rate   | of a Poisson law: the largest that fits those counts well                  |

A value is *kept* where one dataset has it much oftener than the other, and oftener than a Poisson
law of that rate allows. Laws on few values have such values of their own, so that this counts only
where some values never come back. A law that puts exact data among noise looks the same.

Where caches keep many values each, most of them come back, and none stands out. They are a *pool*:
more values repeat on one dataset alone than on both, and oftener than numbers of that spacing do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from dpaudit._typing import Array
from dpaudit.estimation.inclusion import ties_by_chance
from dpaudit.mechanisms.outputs.steadiness import last_bits

_CHANCE = 3e-4  # probability of a value that looks kept, over all of them
_NEAR = 32  # of the nearest values on either side
_OTHER = 4  # times as often as on the other dataset
_ONCE = 8  # values that never come back
_FEW = 16  # values that caches of several servers may keep

Pattern = Literal["same", "few", "some", "pool"]
Counts = NDArray[np.int64]


class Repetition(NamedTuple):
    """The repetition of answers, if any, and the frequency of the value that stands out most.

    ``same``: on either dataset there is one. ``few``: there are few, and none is on both. ``some``:
    a value is kept among others that hardly ever come back. ``pool``: most that come back do so on
    one dataset alone, and the spacing of the values does not explain it.
    """

    pattern: Pattern | None
    most: int


def find_repetition(sides: Sequence[Array]) -> Repetition:
    """Return how answers on two datasets come back, part by part.

    Parameters
    ----------
    sides
        Of either dataset, shape ``(n, ...)``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = np.array([[42.0], [41.0]]) + rng.laplace(size=(2, 1000))
    >>> find_repetition(noise), find_repetition(noise.round()).pattern
    (Repetition(pattern=None, most=0), None)
    >>> kept = np.where(rng.random((2, 1000)) < 0.02, noise[:, :1], noise)
    >>> find_repetition(kept), find_repetition(noise[:, :1].repeat(9, axis=1)).pattern
    (Repetition(pattern='some', most=19), 'same')
    >>> find_repetition(noise[:, :60].repeat(9, axis=1)).pattern
    'pool'
    """
    flat = [side.reshape(len(side), -1) for side in sides]
    found = [_of_part(*(side[:, n] for side in flat)) for n in range(flat[0].shape[1])]
    told = [one for one in found if one is not None and one.pattern is not None]
    if told:
        return told[0]
    return _NONE if any(one is not None for one in found) else Repetition("same", len(flat[0]))


_NONE = Repetition(None, 0)


def _of_part(on_p: Array, on_q: Array) -> Repetition | None:
    """Return how a part of the answers comes back; None of one that is always the same."""
    steady = [bool(np.ptp(side) <= last_bits(side)) for side in (on_p, on_q)]
    if all(steady):
        return None if on_p[0] == on_q[0] else Repetition("same", len(on_p))
    values, which = np.unique(np.concatenate([on_p, on_q]), return_inverse=True)
    p, q = (np.bincount(one, minlength=len(values)) for one in np.split(which, [len(on_p)]))
    if len(values) <= _FEW and not np.minimum(p, q).any():
        return Repetition("few", int(max(p.max(), q.max())))
    if np.count_nonzero(p + q == 1) >= _ONCE:
        most = max(_count_kept_value(p, q), _count_kept_value(q, p))
        if most:
            return Repetition("some", most)
    if _is_pool(on_p, p, q) or _is_pool(on_q, q, p):
        return Repetition("pool", int(max(p.max(), q.max())))
    return _NONE


def _is_pool(answers: Array, own: Counts, other: Counts) -> bool:
    """Return whether values repeat on one dataset alone beyond the chance of their spacing."""
    alone = np.count_nonzero((own > 1) & (other == 0))
    common = np.count_nonzero((own > 1) & (other > 0))
    return bool(alone > common and ties_by_chance(answers) < _CHANCE)


def _count_kept_value(own: Counts, other: Counts) -> int:
    """Return how often the value is there that is kept, and oftenest; 0 where none is."""
    there = np.flatnonzero(own)
    counts = own[there]
    alone = (counts > 1) & (counts > _OTHER * other[there])
    # The union bound over all values that are there.
    chance = len(there) * _compute_poisson_tail(counts, _bound_neighbour_rates(counts))
    return int(counts[alone & (chance < _CHANCE)].max(initial=0))


def _bound_neighbour_rates(counts: Counts) -> Array:
    """Return the largest rate that the counts of the nearest other values fit."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    place = np.arange(len(counts))
    low, high = np.maximum(place - _NEAR, 0), np.minimum(place + _NEAR + 1, len(counts))
    others = np.maximum(high - low - 1, 1)
    beyond_one = sums[high] - sums[low] - counts - (high - low - 1)
    return np.asarray(2 * (beyond_one + 3.0) / others)


def _compute_poisson_tail(counts: Counts, rates: Array) -> Array:
    """Return the probability of so many or more, of a value that is there at all."""
    return np.asarray(gammainc(counts, rates) / -np.expm1(-rates))
