"""Two calls with the same frozen noise, side by side: movements, and spending."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.freezing.observing import SideRuns
from dpaudit.freezing.tracked_noise import Call
from dpaudit.replaying.dependence import make_call_names
from dpaudit.replaying.laws import Laws, NumberLaw
from dpaudit.replaying.shifts import Unknown, shift_of

_SAME = 1e-9  # relative
_NORMS = {"normal": 2}  # the norm in which a law measures movement, else 1
_MATERIAL = ("uniform", "exponential")  # of which people make other noise
MECHANISMS = {"diffprivlib.Laplace": "laplace", "diffprivlib.Gaussian": "normal"}


@dataclass(frozen=True, kw_only=True)
class CallMovement:
    """A noisy call on both datasets.

    Parameters
    ----------
    index, key, place, name, kind, shape
        Of the call on the dataset.
    scale, other_scale
        Of its noise as it is added, the largest entry; None where it has none.
    moved
        By how much its centre moved, in the norm of its law; None if no centre was seen.
    seen
        Where the centre was seen: ``"argument"``, ``"sum"`` or ``"output"``.
    steady
        Whether the centres are the same whatever the noise before is.
    declared
        The sensitivity that the call declares.
    epsilon
        The epsilon that it declares.
    spent
        Movement over scale: epsilon of Laplace noise, mu of Gaussian noise; None if that is
        unknown.
    unknown
        Why it is.
    """

    index: int
    key: str
    place: str
    name: str
    kind: str
    shape: tuple[int, ...]
    scale: float | None
    other_scale: float | None
    moved: float | None
    seen: str | None
    steady: bool
    declared: float | None
    epsilon: float | None
    spent: float | None
    unknown: Unknown | None = None

    @property
    def scale_moved(self) -> bool:
        """Whether its scale is another on the neighbour."""
        if self.scale is None or self.other_scale is None:
            return False
        return abs(self.scale - self.other_scale) > _SAME * max(self.scale, self.other_scale)


def compute_movements(
    dataset: SideRuns, neighbour: SideRuns, laws: tuple[Laws, Laws], steady: Set[str]
) -> list[CallMovement]:
    """Return every call that both runs made and that no other call contains, in order.

    Parameters
    ----------
    dataset, neighbour, laws
        The runs, and the laws of the outputs.
    steady
        Keys of the calls whose centres depend on no noise (`dpaudit.replaying.dependence`).
    """
    by_key = make_call_names(neighbour.runs[0])
    return [
        _make_moved_call(call, by_key[name], name in steady, laws)
        for name, call in make_call_names(dataset.runs[0]).items()
        if name in by_key and call.parent is None
    ]


def _make_moved_call(
    call: Call, other: Call, steady: bool, laws: tuple[Laws, Laws]
) -> CallMovement:
    kind = MECHANISMS.get(call.kind, call.kind)
    place, difference, factors, seen = _find_centre_difference(call, other)
    moved = scale = other_scale = None
    if difference is not None:
        moved = float(np.linalg.norm(np.ravel(difference), _NORMS.get(kind, 1)))
        moved = moved if math.isfinite(moved) else None
    if call.scale is not None and other.scale is not None:
        scale, other_scale = (
            float(np.max(np.abs(np.asarray(f * np.asarray(one.scale, float)))))
            for f, one in zip(factors, (call, other), strict=True)
        )
    # Nobody saw the centre, or it stayed where noise was added: code may add the data afterwards.
    if not moved and (found := _in_outputs(call.key, kind, laws)) is not None:
        moved, scale, other_scale = found
        seen = "output"
    spent, unknown = (
        _compute_spent_scales(call, other, kind, laws) if steady else (None, "feedback")
    )
    return CallMovement(
        index=call.index,
        key=call.key,
        place=place,
        name=call.name,
        kind=call.kind,
        shape=call.shape,
        scale=scale,
        other_scale=other_scale,
        moved=moved,
        seen=seen,
        steady=steady,
        declared=call.declared.get("sensitivity"),
        epsilon=call.declared.get("epsilon"),
        spent=spent,
        unknown=unknown,
    )


def _compute_spent_scales(
    call: Call, other: Call, kind: str, laws: tuple[Laws, Laws]
) -> tuple[float, None] | tuple[None, Unknown]:
    """Return the movement in scales of the noise, in the norm of its law, or why there is none."""
    found = shift_of(call, other, laws)
    if isinstance(found, str):
        return None, found
    # Noise whose values met no movement spends nothing, whatever its law is, unless other noise is
    # made of it.
    if kind in _MATERIAL or (kind not in ("laplace", "normal") and np.any(found)):
        return None, "no law"
    return float(np.linalg.norm(found, _NORMS.get(kind, 1))), None


def _find_centre_difference(
    call: Call, other: Call
) -> tuple[str, Any, tuple[Any, Any], str | None]:
    """Return where the centre was seen, its difference, and the factor of the noise there."""
    met = len(call.meetings) == len(other.meetings)
    pairs = list(zip(call.meetings, other.meetings, strict=True)) if met else []
    for here, there in pairs:
        if (found := _subtract_with_rounding(here.centre, there.centre)) is not None and np.any(
            found
        ):
            return here.place, found, (here.factor, there.factor), "sum"
    found = (
        None if call.location is None else _subtract_with_rounding(call.location, other.location)
    )
    if found is not None and (np.any(found) or not pairs):
        # Samplers have the location 0 where nobody gives one: this says nothing of a centre.
        plain = not np.any(found) and not np.any(call.location)
        return call.place, None if plain else found, (1.0, 1.0), None if plain else "argument"
    if pairs:
        here, there = pairs[0]
        return (
            here.place,
            _subtract_with_rounding(here.centre, there.centre),
            (here.factor, there.factor),
            "sum",
        )
    return call.place, None, (1.0, 1.0), None


def _subtract_with_rounding(one: Any, other: Any) -> Any:
    """Return a difference; an entry that only one of them has counts as it is."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    try:
        with np.errstate(invalid="ignore"):
            found = one - other
    except ValueError:
        return None
    size = np.maximum(np.abs(one), np.abs(other))
    # Sums in another order differ in their last digits, which is no movement.
    rounding = (np.abs(found) <= 1e-12 * size) & np.isfinite(size)
    return np.where(rounding | (one == other) | (np.isnan(one) & np.isnan(other)), 0.0, found)


def _in_outputs(key: str, kind: str, laws: tuple[Laws, Laws]) -> tuple[float, float, float] | None:
    """Return movement and scales of the numbers of the output that have a draw of a call."""
    if laws[0].structure is None or laws[0].structure != laws[1].structure:
        return None
    pairs = [
        (p, q)
        for p, q in zip(laws[0].numbers, laws[1].numbers, strict=True)
        if _is_law_of_draw(p, key) and _is_law_of_draw(q, key)
    ]
    if not pairs:
        return None
    both = [(p, q) for p, q in pairs if p is not None and q is not None]
    norm = _NORMS.get(kind, 1)
    moved = float(np.linalg.norm([p.centre - q.centre for p, q in both], norm))
    scales = [max(abs(one[side].factor) for one in both) for side in (0, 1)]
    return moved, scales[0], scales[1]


def _is_law_of_draw(law: NumberLaw | None, key: str) -> bool:
    return law is not None and law.draw is not None and law.draw.key == key
