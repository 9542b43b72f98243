"""Which distinguishers an audit tries, and their scores once they have learned.

Distinguishers are other people's code. One that was not asked for and fails costs a warning and
nothing else: its place is taken by a score that tells nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit.extension.registry as registry
from dpaudit._typing import Array
from dpaudit.auditing.draws import Drawer
from dpaudit.errors import DpauditError, InvalidArgument, MechanismError, shorten
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.laws.mechanism import HasLaw
from dpaudit.neighbours import Side

Score = Callable[[Array], Array]

# Outputs of each side, and distinct ones among them, that make attacks on few values worth a try.
_PROBED, _FEW = 100, 50
_PROBING_BYTES = 64 * 2**20


def for_mechanism(
    case: PrivacyCase, drawer: Drawer, name: str | None, purpose: str = ""
) -> list[Distinguisher]:
    """Return the distinguisher of that name, or all that are tried by default on this mechanism.

    Raises
    ------
    InvalidArgument, UnknownName
        None works on the mechanism, or the named one does not.
    """
    has_law = isinstance(case.mechanism, HasLaw)
    if name is not None:
        return [_named(name, has_law)]
    known, few = registry.DISTINGUISHERS.all().values(), _few_values(drawer, purpose)
    asked = [one for one in known if one.default or (few and one.for_few_values)]
    return _usable(asked, has_law, "an installed one that works on this mechanism")


def for_outputs(name: str | None) -> list[Distinguisher]:
    """Return the distinguisher of that name, or all that are tried by default on outputs alone."""
    if name is not None:
        return [_named(name, has_law=False)]
    asked = [one for one in registry.DISTINGUISHERS.all().values() if one.default]
    return _usable(asked, False, "an installed one that works on outputs alone")


def fitted(
    distinguishers: Sequence[Distinguisher],
    mechanism: Any,
    pair: Any,
    on_p: Array,
    on_q: Array,
    rng: Generator,
) -> list[Score]:
    """Return the score that each learned, in the same order.

    Parameters
    ----------
    distinguishers
        At least one.
    mechanism, pair
        What is audited, where it is known; None where outputs alone are.
    on_p, on_q
        Transcripts of the dataset and of the neighbour that certify nothing.
    rng
        For those that learn with randomness.

    Raises
    ------
    MechanismError
        The only one failed.
    """
    scores: list[Score] = []
    for one in distinguishers:
        try:
            scores.append(_fit(one, mechanism, pair, on_p, on_q, rng))
        except MechanismError as error:
            if len(distinguishers) == 1:
                raise
            warnings.warn(f"{error}; it is left out", registry.BrokenEntryPoint, stacklevel=2)
            scores.append(tells_nothing)
    return scores


def tells_nothing(transcripts: Array) -> Array:
    """Return the same score for every transcript."""
    return np.zeros(len(transcripts))


def _fit(one: Distinguisher, *given: Any) -> Score:
    try:
        return one.load()(*given)
    except DpauditError:
        raise
    except (Exception, SystemExit) as error:  # learning runs other people's code
        failure = f"{type(error).__name__} ({shorten(str(error))})"
        raise MechanismError(f"distinguisher {one.name}: {failure}") from error


def _named(name: str, has_law: bool) -> Distinguisher:
    chosen = registry.DISTINGUISHERS.get(name)
    if chosen.needs_law and not has_law:
        raise InvalidArgument("distinguisher", name, "one that works without the mechanism's law")
    return chosen


def _usable(asked: Iterable[Distinguisher], has_law: bool, expected: str) -> list[Distinguisher]:
    """Return those that work here and whose code can be imported; warn of those that cannot."""
    found = [one for one in asked if (has_law or not one.needs_law) and _imports(one)]
    if not found:
        raise InvalidArgument("distinguisher", None, expected)
    return found


def _imports(one: Distinguisher) -> bool:
    try:
        one.load()
    except InvalidArgument as error:
        broken = f"distinguisher {one.name}: {error}; it is left out"
        warnings.warn(broken, registry.BrokenEntryPoint, stacklevel=2)
        return False
    return True


def _few_values(drawer: Drawer, purpose: str) -> bool:
    """Return whether outputs repeat themselves."""
    one = drawer.transcripts(Side.DATASET, 1, f"{purpose}probing")
    if one.nbytes * 2 * _PROBED > _PROBING_BYTES:
        return False
    sides = [drawer.transcripts(side, _PROBED, f"{purpose}probing") for side in Side]
    rows = np.concatenate(sides).reshape(2 * _PROBED, -1)
    return len(np.unique(rows, axis=0)) <= _FEW
