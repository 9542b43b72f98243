"""The calls of two runs with the same frozen noise, side by side: what moved, and what it spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.accounting.events import GaussianRelease, LaplaceRelease, Release
from dpaudit.accounting.events import Sequence as EventSequence
from dpaudit.accounting.proved import proved_guarantee
from dpaudit.errors import DpauditError
from dpaudit.freezing.observing import Side
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked import Call
from dpaudit.replaying.laws import Law, Laws

_SAME = 1e-9  # relative
_NORMS = {"normal": 2}  # the norm in which a law measures movement, else 1
_MATERIAL = ("uniform", "exponential")  # of which people make other noise
MECHANISMS = {"diffprivlib.Laplace": "laplace", "diffprivlib.Gaussian": "normal"}


@dataclass(frozen=True, kw_only=True)
class Moved:
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
        Movement over scale: epsilon of Laplace noise, mu of Gaussian noise.
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

    @property
    def scale_moved(self) -> bool:
        """Whether its scale is another on the neighbour."""
        if self.scale is None or self.other_scale is None:
            return False
        return abs(self.scale - self.other_scale) > _SAME * max(self.scale, self.other_scale)


def movements(dataset: Side, neighbour: Side, laws: tuple[Laws, Laws]) -> list[Moved]:
    """Return every call that both runs made and that no other call contains, in order."""
    by_key = _named(neighbour.runs[0])
    steady = _steady_keys(dataset) & _steady_keys(neighbour)
    return [
        _moved(call, by_key[name], name in steady, laws)
        for name, call in _named(dataset.runs[0]).items()
        if name in by_key and call.parent is None
    ]


def _named(run: Run) -> dict[str, Call]:
    """Return the calls of a run by their draw; one that draws the same again has another name."""
    found: dict[str, Call] = {}
    for call in run.calls:
        name = call.key
        while name in found:
            name += " again"
        found[name] = call
    return found


def _steady_keys(side: Side) -> set[str]:
    """Return the calls whose centre and scale are the same in all runs on one dataset."""
    first = _named(side.runs[0])
    kept = set(first)
    for run in side.runs[1:]:
        own = _named(run)
        kept = {key for key in kept if key in own and _alike(first[key], own[key])}
    return kept


def _alike(one: Call, other: Call) -> bool:
    return len(one.meetings) == len(other.meetings) and all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(_numbers_of(one), _numbers_of(other), strict=True)
    )


def _numbers_of(call: Call) -> list[Array]:
    own = [np.asarray(x, float) for x in (call.location, call.scale) if x is not None]
    for meeting in call.meetings:
        own += [np.asarray(meeting.centre, float), np.asarray(meeting.factor, float)]
    return own


def _moved(call: Call, other: Call, steady: bool, laws: tuple[Laws, Laws]) -> Moved:
    kind = MECHANISMS.get(call.kind, call.kind)
    place, difference, factors, seen = _difference(call, other)
    moved = scale = other_scale = None
    if difference is not None:
        moved = float(np.linalg.norm(np.ravel(difference), _NORMS.get(kind, 1)))
        moved = moved if math.isfinite(moved) else None
    if call.scale is not None and other.scale is not None:
        scale, other_scale = (
            float(np.max(np.abs(np.asarray(f * np.asarray(one.scale, float)))))
            for f, one in zip(factors, (call, other), strict=True)
        )
    if not moved and (found := _in_outputs(call.key, kind, laws)) is not None:
        moved, scale, other_scale = found
        seen = "output"
    return Moved(
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
        spent=None
        if moved is None or not scale or kind not in ("laplace", "normal")
        else moved / scale,
    )


def _difference(call: Call, other: Call) -> tuple[str, Any, tuple[Any, Any], str | None]:
    """Return where the centre was seen, its difference, and what the noise is times there."""
    met = len(call.meetings) == len(other.meetings)
    pairs = list(zip(call.meetings, other.meetings, strict=True)) if met else []
    for here, there in pairs:
        if (found := _less(here.centre, there.centre)) is not None and np.any(found):
            return here.place, found, (here.factor, there.factor), "sum"
    found = None if call.location is None else _less(call.location, other.location)
    if found is not None and (np.any(found) or not pairs):
        plain = not np.any(found) and not np.any(call.location)
        return call.place, None if plain else found, (1.0, 1.0), None if plain else "argument"
    if pairs:
        here, there = pairs[0]
        return here.place, _less(here.centre, there.centre), (here.factor, there.factor), "sum"
    return call.place, None, (1.0, 1.0), None


def _less(one: Any, other: Any) -> Any:
    """Return a difference; what one has and the other has not counts as it is."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    try:
        found = one - other
    except ValueError:
        return None
    size = np.maximum(np.abs(one), np.abs(other))
    rounding = np.abs(found) <= 1e-12 * size
    return np.where(rounding | (np.isnan(one) & np.isnan(other)), 0.0, found)


def _in_outputs(key: str, kind: str, laws: tuple[Laws, Laws]) -> tuple[float, float, float] | None:
    """Return movement and scales of the numbers of the output that have a draw of a call."""
    if laws[0].structure is None or laws[0].structure != laws[1].structure:
        return None
    pairs = [
        (p, q)
        for p, q in zip(laws[0].numbers, laws[1].numbers, strict=True)
        if _has(p, key) and _has(q, key)
    ]
    if not pairs:
        return None
    both = [(p, q) for p, q in pairs if p is not None and q is not None]
    norm = _NORMS.get(kind, 1)
    moved = float(np.linalg.norm([p.centre - q.centre for p, q in both], norm))
    scales = [max(abs(one[side].factor) for one in both) for side in (0, 1)]
    return moved, scales[0], scales[1]


def _has(law: Law | None, key: str) -> bool:
    return law is not None and law.draw is not None and law.draw.key == key


def composed(moved: Sequence[Moved], delta: float) -> float | None:
    """Return the epsilon of all calls that moved, by the accountant; None if one has no law.

    It is that of releasing every noisy value itself, with the movements of this pair as the
    sensitivities: what the pair cannot exceed, if nothing else looks at the data.
    """
    events = list[Release]()
    for one in moved:
        kind = MECHANISMS.get(one.kind, one.kind)
        if one.moved is None or one.scale_moved or kind in _MATERIAL:
            return None
        if one.moved == 0:
            continue
        if one.spent is None or not one.scale:
            return None
        made = LaplaceRelease if kind == "laplace" else GaussianRelease
        events.append(made(sensitivity=one.moved, noise_scale=one.scale))
    if not events:
        return 0.0
    try:
        found = proved_guarantee(EventSequence(tuple(events))).epsilon(delta)
    except DpauditError:
        return None
    return found if math.isfinite(found) else None
