"""Movements of values in scales of their noise, entry by entry, or the reason why none is known.

Noise that meets a value gives ``centre + factor * z``. On the neighbour the centre is another, and
``(centre - other centre) / factor`` is the shift of the law of what is released, in the unit of the
standard draw ``z``. Wherever else the same ``z`` is met or seen, its shift has to be the same: two
values with one noise and different shifts give away their difference, whatever the scale is.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dpaudit._typing import Array
from dpaudit.freezing.tracked_noise import MOST_MEETINGS, Call
from dpaudit.replaying.laws import Laws, NumberLaw

# Why nothing is said of a call: its centre depends on noise; its noise is shared by values that
# move by different amounts; its scale is another on the neighbour; it has no law that is known; or
# its centre was not seen.
Unknown = Literal["feedback", "shared", "scale", "no law", "unseen"]
_SAME = 1e-9  # relative
_READ = 1e-6  # of a shift that was read off outputs
_ROUNDING = 1e-12  # relative, and in scales


def shift_of(call: Call, other: Call, laws: tuple[Laws, Laws]) -> Array | Unknown:
    """Return the shift of every entry of a call, flat, or why it is unknown.

    Parameters
    ----------
    call, other
        The same draw of the runs on the two datasets.
    laws
        Of the outputs on the two datasets.
    """
    read = _read_off_outputs(call, laws)
    if isinstance(read, str):
        return read
    met = _find_meeting_shift(call, other)
    if isinstance(met, str):
        return met
    if met is None:
        whole = call.draw is not None and len(read) == np.size(call.draw) > 0
        return np.array([read[n][0] for n in range(len(read))]) if whole else "unseen"
    apart = any(abs(met[n] - shift) > off + _READ * abs(shift) for n, (shift, off) in read.items())
    return "shared" if apart else met


def _find_meeting_shift(call: Call, other: Call) -> Array | Unknown | None:
    """Return the shift where the noise was added; None where nobody saw that."""
    if call.scale is None or other.scale is None:
        return None
    if call.shape != other.shape or len(call.meetings) != len(other.meetings):
        return "unseen"
    # Further meetings were not recorded, and may have moved otherwise.
    if len(call.meetings) >= MOST_MEETINGS:
        return "shared"
    sums = [
        (here.centre, there.centre, here.factor, there.factor)
        for here, there in zip(call.meetings, other.meetings, strict=True)
    ]
    located = call.location is not None and other.location is not None
    if located and not (
        _is_equal_array(call.location, other.location) and (sums or _is_noise_alone(call.location))
    ):
        sums.append((call.location, other.location, 1.0, 1.0))
    found: Array | None = None
    for one in sums:
        shift = _one_shift(*one, call, other)
        if isinstance(shift, str):
            return shift
        if found is not None and not np.allclose(shift, found, rtol=_SAME, atol=_ROUNDING):
            return "shared"
        found = shift
    return found


def _is_equal_array(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other))


def _is_noise_alone(location: Any) -> bool:
    """Return whether a draw is noise alone, added to nothing yet."""
    return not np.any(location)


def _one_shift(
    centre: Any, there: Any, factor: Any, other_factor: Any, call: Call, other: Call
) -> Array | Unknown:
    centre, there = np.asarray(centre, float), np.asarray(there, float)
    scales = [
        np.asarray(f, float) * np.asarray(one.scale, float)
        for f, one in ((factor, call), (other_factor, other))
    ]
    try:
        whole = np.broadcast_shapes(call.shape, *(one.shape for one in (centre, there, *scales)))
    except ValueError:
        return "unseen"
    # With another scale the law changes its width, which no shift describes.
    if np.any(np.abs(scales[0] - scales[1]) > _SAME * np.abs(scales[0])):
        return "scale"
    if not np.all(scales[0]):
        return "no law"  # noise of scale 0
    shift = np.broadcast_to(_compute_scaled_difference(centre, there, scales[0]), whole)
    if not np.all(np.isfinite(shift)):
        return "unseen"
    if whole == call.shape:
        return np.ravel(shift)
    # One noise for several entries: they may not move apart.
    alone = np.size(call.draw) == 1 and np.ptp(shift) <= _SAME * np.max(np.abs(shift))
    return np.ravel(shift)[:1] if alone else "shared"


def _compute_scaled_difference(one: Array, other: Array, scale: Array) -> Array:
    """Return a difference in scales, without the rounding in it."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = one - other
        shift = np.asarray(found / scale)
    small = np.abs(found) <= _ROUNDING * np.maximum(np.abs(one), np.abs(other))
    return np.where(small & (np.abs(shift) <= _ROUNDING), 0.0, shift)


def _read_off_outputs(
    call: Call, laws: tuple[Laws, Laws]
) -> dict[int, tuple[float, float]] | Unknown:
    """Return the shift of each entry whose draw a number of the outputs has, and how far it is off.

    Both are in scales, and come from the laws of the numbers.
    """
    found: dict[int, tuple[float, float]] = {}
    if laws[0].structure is None or laws[0].structure != laws[1].structure:
        return found
    for p, q in zip(laws[0].numbers, laws[1].numbers, strict=True):
        if not (_is_law_of_call(p, call) or _is_law_of_call(q, call)):
            continue
        if p is None or q is None or p.draw is None or p.draw != q.draw:
            return "unseen"
        if abs(p.factor - q.factor) > _SAME * abs(p.factor):
            return "scale"
        shift, off = (p.centre - q.centre) / p.factor, (p.error + q.error) / abs(p.factor)
        read = (0.0 if abs(shift) <= 2 * off else shift, 2 * off + _READ)
        before = found.setdefault(p.draw.entry, read)
        if abs(before[0] - shift) > before[1] + read[1] + _READ * abs(shift):
            return "shared"
    return found


def _is_law_of_call(law: NumberLaw | None, call: Call) -> bool:
    return law is not None and law.draw is not None and law.draw.key == call.key
