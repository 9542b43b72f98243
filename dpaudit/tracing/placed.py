"""The law of a function that runs in processes of its own: read there, and used there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpaudit.laws.isolated import Isolated
from dpaudit.laws.observed import Observed
from dpaudit.neighbours import Pair
from dpaudit.tracing.bounded import Movement
from dpaudit.tracing.determined import ReadOff
from dpaudit.tracing.law import NoLawFound, Profile, TracedLaw, read_law
from dpaudit.tracing.movement import MovementBounds
from dpaudit.tracing.spread import Norms

Answer = tuple[Any, ...]


class PlacedLaw(NamedTuple):
    """A mechanism with the law of its code, where that runs, and what was read.

    Parameters
    ----------
    mechanism
        `dpaudit.tracing.law.TracedLaw`, or its proxy.
    keys, movements, profile
        Of its noisy values, in order.
    """

    mechanism: Any
    keys: Sequence[tuple[str, str, tuple[int, ...]]]
    movements: MovementBounds | None
    profile: tuple[Profile, ...]


def law_of(mechanism: Any, pair: Pair[Any], seed: int) -> PlacedLaw | NoLawFound:
    """Return a mechanism with the law that is read from its code, or why there is none.

    Parameters
    ----------
    mechanism
        Other people's code, in this process or in others.
    pair
        The datasets that are looked at.
    seed
        Of the runs that are looked at.

    Returns
    -------
    PlacedLaw or NoLawFound
        Of the same processes.
    """
    if isinstance(mechanism, Isolated):
        answer = mechanism.ask(read_there, pair, seed)
        if answer[0] is None:
            return NoLawFound(place=answer[1], reason=answer[2])
        return PlacedLaw(_replayed(mechanism.made_into(made_there, answer)), *_lines(answer))
    law = _here(mechanism, pair, seed)
    if isinstance(law, NoLawFound):
        return law
    return PlacedLaw(_replayed(law), law.keys, law.movements, law.profile)


def _replayed(mechanism: Any) -> Any:
    object.__setattr__(mechanism, "is_replayed", True)
    return mechanism


def _lines(answer: Answer) -> tuple[Any, MovementBounds | None, tuple[Profile, ...]]:
    keys, _, _, moved, profile = answer
    bounds = None if moved is None else MovementBounds(movements=tuple(map(_movement, moved)))
    seen = (Profile(scale=s, moved=m, divergence=d) for s, m, d in profile)
    return [(kind, place, tuple(shape)) for kind, place, shape in keys], bounds, tuple(seen)


def _here(mechanism: Any, pair: Pair[Any], seed: int) -> TracedLaw | NoLawFound:
    if not isinstance(mechanism, Observed) or mechanism.calls.form.many:
        return NoLawFound(place="the mechanism", reason="is no function that returns one output")
    if mechanism.watched or mechanism.ignored or mechanism.calls.fresh is not None:
        reason = "is observed, ignored or made anew in parts, beside what it returns"
        return NoLawFound(place="the mechanism", reason=reason)
    return read_law(mechanism.calls, pair, np.random.default_rng(seed))


def read_there(mechanism: Any, pair: Pair[Any], seed: int) -> Answer:
    """Return a law as plain data, or None, a place and a reason."""
    law = _here(mechanism, pair, seed)
    if isinstance(law, NoLawFound):
        return None, law.place, law.reason
    read = law.read_off
    bounds = law.movements
    moved = None if bounds is None else [_plain(one) for one in bounds.movements]
    how = list(read.fixed), read.places, read.matrix, read.offset
    profile = [[one.scale, one.moved, one.divergence] for one in law.profile]
    return [list(key) for key in law.keys], list(law.located), how, moved, profile


def _plain(one: Movement) -> list[Any]:
    return [one.place, one.kind, one.scale, list(one.norms), list(one.shape)]


def made_there(make: Callable[..., Any], arguments: tuple[Any, ...], answer: Answer) -> TracedLaw:
    """Return the mechanism with the law of an answer, where its code runs."""
    keys, located, (fixed, places, matrix, offset), moved, _ = answer
    mechanism = make(*arguments)
    bounds = None if moved is None else MovementBounds(movements=tuple(map(_movement, moved)))
    return TracedLaw(
        calling=mechanism.calls,
        keys=tuple((kind, place, tuple(shape)) for kind, place, shape in keys),
        located=tuple(located),
        read_off=ReadOff(tuple(fixed), places, matrix, offset),
        movements=bounds,
    )


def _movement(given: Any) -> Movement:
    place, kind, scale, norms, shape = given
    return Movement(place=place, kind=kind, scale=scale, norms=Norms(*norms), shape=tuple(shape))
