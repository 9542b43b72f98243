"""The law of a function that runs in processes of its own: read there, and used there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np

from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.neighbours import Pair
from dpaudit.tracing.determined_values import ReadOff
from dpaudit.tracing.law import Key, Profile, TracedLaw, TracedView
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw
from dpaudit.tracing.watching import calls_of

Answer = tuple[Any, ...]


class PlacedLaw(NamedTuple):
    """A mechanism with the law of its code, where that runs, and the facts that were read.

    Parameters
    ----------
    mechanism
        `dpaudit.tracing.law.TracedLaw`, or its proxy; None where outputs do not determine the
        noisy values, so that these have a law and outputs have none that is known.
    keys, profile
        Of its noisy values, in order.
    """

    mechanism: Any
    keys: Sequence[Key]
    profile: Sequence[Profile]


def law_of(mechanism: Any, pair: Pair[Any], seed: int) -> PlacedLaw | MissingLaw:
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
    PlacedLaw or MissingLaw
        Of the same processes.
    """
    if isinstance(mechanism, IsolatedMechanism):
        answer = mechanism.ask(read_there, pair, seed)
        if answer[0] is None:
            return MissingLaw(reason=answer[1], place=answer[2])
        made = None if answer[1] is None else mechanism.make_derived_proxy(make_law_there, answer)
        return PlacedLaw(made, _convert_answer_keys(answer), _convert_answer_profiles(answer))
    law = _read_law_here(mechanism, pair, seed)
    if isinstance(law, MissingLaw):
        return law
    return PlacedLaw(law if isinstance(law, TracedLaw) else None, law.keys, law.profile)


def _read_law_here(
    mechanism: Any, pair: Pair[Any], seed: int
) -> TracedLaw | TracedView | MissingLaw:
    if not isinstance(mechanism, CodeMechanism):
        return MissingLaw(reason="the mechanism is not a function")
    # The time of a call is no function of noisy values, and with it outputs would tell more than
    # the law says.
    if "time" in mechanism.watched or mechanism.ignored or mechanism.calls.fresh is not None:
        return MissingLaw(reason="the audit observes the time, ignores a part or renews one")
    return read_law(calls_of(mechanism), pair, np.random.default_rng(seed))


def read_there(mechanism: Any, pair: Pair[Any], seed: int) -> Answer:
    """Return a law as plain data, or None, a reason and a place."""
    law = _read_law_here(mechanism, pair, seed)
    if isinstance(law, MissingLaw):
        return None, law.reason, law.place
    if isinstance(law, TracedView):
        return list(law.keys), None, None, [astuple(one) for one in law.profile]
    read = law.read_off
    how = list(read.fixed), read.places, read.matrix, read.offset
    return list(law.keys), list(law.located), how, [astuple(one) for one in law.profile]


def make_law_there(
    make: Callable[..., Any], arguments: tuple[Any, ...], answer: Answer
) -> TracedLaw:
    """Return the mechanism with the law of an answer, where its code runs."""
    _, located, (fixed, places, matrix, offset), _ = answer
    read_off = ReadOff(tuple(fixed), places, matrix, offset)
    calling = calls_of(make(*arguments))
    return TracedLaw(
        calling,
        _convert_answer_keys(answer),
        tuple(located),
        read_off,
        _convert_answer_profiles(answer),
    )


def _convert_answer_keys(answer: Answer) -> tuple[Key, ...]:
    return tuple((kind, place, tuple(shape)) for kind, place, shape in answer[0])


def _convert_answer_profiles(answer: Answer) -> tuple[Profile, ...]:
    names = "scale", "is_steady", "moved", "divergence"
    return tuple(Profile(**dict(zip(names, one, strict=True))) for one in answer[3])
