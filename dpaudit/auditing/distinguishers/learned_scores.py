"""Distinguishers that an audit tries, and their scores once they have learned.

Distinguishers are other people's code. One that was not asked for and cannot be imported, fails to
learn, or scores nothing is left out with a warning; where none is left, nothing is audited.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

import dpaudit.extension.registry as registry
from dpaudit._typing import Array
from dpaudit.auditing.distinguishers.nearness import NEARNESS, are_points
from dpaudit.auditing.distinguishers.portfolio import (
    PORTFOLIO,
    find_portfolio_scores,
    is_few_whole_outputs,
    select_entry_scores,
)
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import (
    DpauditError,
    InvalidArgument,
    MechanismError,
    shorten_repr,
    what_happened,
)
from dpaudit.estimation.combinations import are_far_apart
from dpaudit.estimation.numeric_scores import flatten_first_rows
from dpaudit.estimation.repeated_values import some_stand_out
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.mechanisms.mechanism import HasLaw, layout_of
from dpaudit.mechanisms.outputs.features import (
    Features,
    OfFeatures,
    one_part_scores,
    select_farthest_scores,
)
from dpaudit.mechanisms.outputs.layout import Layout
from dpaudit.neighbours import Side
from dpaudit.redaction import Record

Score = Callable[[Array], Array]

_PROBED = 100  # outputs of each side that are looked at
_FEW = 50  # distinct outputs up to which attacks on few values are worth a try
_PROBING_BYTES = 64 * 2**20
_WIDE = 500  # entries of an output from which on no value of one is looked for
_TRIED = 4  # outputs that a score is tried on before it counts


def for_mechanism(
    case: PrivacyCase, drawer: Drawer, name: str | None, purpose: str = "", bits: bool = False
) -> list[Distinguisher]:
    """Return the distinguisher of that name, or all that are tried by default on this mechanism.

    With ``bits`` also those that read the lowest bits of doubles.

    Raises
    ------
    InvalidArgument, UnknownName
        None works on the mechanism, or the named one does not.
    """
    has_law = isinstance(case.mechanism, HasLaw)
    if name is not None:
        return [_get_usable_distinguisher(name, has_law)]
    known, few = registry.DISTINGUISHERS.all().values(), _few_values(drawer, purpose)
    asked = [
        one
        for one in known
        if one.default or (few and one.for_few_values) or (bits and one.of_bits)
    ]
    found = _select_usable_distinguishers(
        asked, has_law, "an installed one that works on this mechanism"
    )
    # A claim by unit of distance is about points, to which an output may be near.
    if case.a_unit is not None and are_points(case.pair):
        found += NEARNESS
    return found if layout_of(case.mechanism) is None else [*found, ONE_PART]


def with_further(
    tried: Sequence[Distinguisher], mechanism: Any, on_p: Array, on_q: Array
) -> list[Distinguisher]:
    """Return the distinguishers that are tried, and others that the drawn outputs ask for.

    Those for few values where some values stand out, as few outputs may repeat though most do not,
    or where outputs repeat as a whole; those for combinations where one of them tells far more than
    any entry does; single entries of arrays, and the portfolio.
    """
    tried = [*tried, *([ONE_PART] if on_p[0].size > 1 and ONE_PART not in tried else []), PORTFOLIO]
    # Tables of values and of pairs of entries grow with the width of an output.
    if on_p[0].size > _WIDE:
        return tried
    repeat = some_stand_out(on_p, on_q) or is_few_whole_outputs(on_p, on_q)
    combined = are_far_apart(on_p, on_q)
    if not (repeat or combined):
        return tried
    known = [one for one in registry.DISTINGUISHERS.all().values() if one not in tried]
    further = [
        one
        for one in known
        if (repeat and one.for_few_values) or (combined and one.for_combinations)
    ]
    has_law = isinstance(mechanism, HasLaw)
    return [
        *tried,
        *(
            one
            for one in further
            if (has_law or not one.needs_law) and _is_distinguisher_loadable(one)
        ),
    ]


def for_outputs(name: str | None) -> list[Distinguisher]:
    """Return the distinguisher of that name, or all that are tried by default on outputs alone."""
    if name is not None:
        return [_get_usable_distinguisher(name, has_law=False)]
    asked = [one for one in registry.DISTINGUISHERS.all().values() if one.default]
    return _select_usable_distinguishers(
        asked, False, "an installed one that works on outputs alone"
    )


def fit_distinguishers(
    distinguishers: Sequence[Distinguisher],
    mechanism: Any,
    pair: Any,
    on_p: Array,
    on_q: Array,
    rng: Generator,
) -> list[tuple[Distinguisher, Score]]:
    """Return those that learned, with their scores; warn of those that failed.

    Parameters
    ----------
    distinguishers
        At least one.
    mechanism, pair
        What is audited, where it is known; None where outputs alone are.
    on_p, on_q
        Outputs of the dataset and of the neighbour that certify nothing.
    rng
        For those that learn with randomness.

    Raises
    ------
    MechanismError
        None learned.
    """
    layout = layout_of(mechanism)
    if layout is not None:
        return _fit_on_output_parts(distinguishers, mechanism, pair, (on_p, on_q), rng, layout)
    asked = [one for one in distinguishers if one not in (ONE_PART, PORTFOLIO)]
    found = _fit_each_distinguisher(asked, mechanism, pair, on_p, on_q, rng)
    flat = flatten_first_rows(on_p, on_q)
    if ONE_PART in distinguishers:
        single = select_entry_scores(*flat)
        found += [(ONE_PART, OfFeatures(Features({}), one)) for one in single]
    if PORTFOLIO in distinguishers:
        found += find_portfolio_scores(*flat, tuple(range(flat[0].shape[1])))
    return found


def _fit_each_distinguisher(
    distinguishers: Sequence[Distinguisher],
    mechanism: Any,
    pair: Any,
    on_p: Array,
    on_q: Array,
    rng: Generator,
) -> list[tuple[Distinguisher, Score]]:
    found: list[tuple[Distinguisher, Score]] = []
    failed: list[MechanismError] = []
    for one in distinguishers:
        try:
            found.append((one, _fit_checked_score(one, mechanism, pair, on_p, on_q, rng)))
        except MechanismError as error:
            failed.append(error)
    if not found:
        raise failed[0]
    for failure in failed:
        warnings.warn(f"{failure}; it is left out", registry.BrokenEntryPoint, stacklevel=2)
    return found


def _fit_on_output_parts(
    distinguishers: Sequence[Distinguisher],
    mechanism: Any,
    pair: Any,
    sides: tuple[Array, Array],
    rng: Generator,
    layout: Layout,
) -> list[tuple[Distinguisher, Score]]:
    """Return the scores learned from the features of outputs, and those of single parts."""
    features = Features.of(layout, *sides)
    on_p, on_q = map(features, sides)
    asked = [one for one in distinguishers if one not in (ONE_PART, PORTFOLIO)]
    scores = _fit_each_distinguisher(asked, mechanism, pair, on_p, on_q, rng)
    if ONE_PART in distinguishers:
        alone = one_part_scores(layout, on_p, on_q)
        scores += [
            (ONE_PART, score) for score in select_farthest_scores(alone, on_p, on_q, layout, _PARTS)
        ]
    numbers = tuple(n for n, column in enumerate(layout.columns) if not column.discrete)
    if PORTFOLIO in distinguishers and numbers:
        scores += find_portfolio_scores(
            *flatten_first_rows(on_p[:, numbers], on_q[:, numbers]), numbers
        )
    return [(one, OfFeatures(features, score)) for one, score in scores]


_PARTS = 8  # single parts that are tried, those that look best
ONE_PART = Distinguisher(
    name="one part",
    statement="the one part of the output that tells the datasets apart best",
    threat_model="sees one part of the output, such as a number or whether a key is there",
    needs_law=False,
    fit="dpaudit.mechanisms.outputs.features:OnePart",
)


def fit_scores_in_order(distinguishers: Sequence[Distinguisher], *given: Any) -> list[Score]:
    """Return a score for each, in the same order: one that failed to learn tells nothing.

    For bets, which go on with the same scores: a constant one wins and loses nothing. The arguments
    are those of `fit_distinguishers`.
    """
    # Reversed, so that of several scores of one name the first is kept.
    scores = {
        one.name: score for one, score in reversed(fit_distinguishers(distinguishers, *given))
    }
    return [scores.get(one.name, tells_nothing) for one in distinguishers]


def tells_nothing(outputs: Array) -> Array:
    """Return the same score for every output."""
    return np.zeros(len(outputs))


def _fit_checked_score(
    one: Distinguisher, mechanism: Any, pair: Any, on_p: Array, on_q: Array, rng: Generator
) -> Score:
    """Return the score that one learned, once it was seen to score a few outputs."""
    try:
        learn = one.load()
    except InvalidArgument as error:
        raise MechanismError(str(error)) from error
    try:
        score = learn(mechanism, pair, on_p, on_q, rng)
        # A score that returns nonsense is found out here, before an audit spends its outputs on
        # it.
        tried = np.asarray(score(on_p[:_TRIED]), dtype=np.float64)
    # The audit's own errors, such as a limit of time, are not the distinguisher's.
    except (DpauditError, KeyboardInterrupt):
        raise
    except BaseException as error:  # learning and scoring run other people's code
        raise MechanismError(f"distinguisher {one.name}: {what_happened(error)}") from error
    if tried.shape != (len(on_p[:_TRIED]),) or np.isnan(tried).any():
        expected = f"{len(on_p[:_TRIED])} numbers, one for each output"
        raise MechanismError(
            f"distinguisher {one.name}: scores {shorten_repr(Record(tried))}, expected {expected}"
        )
    return score


def _get_usable_distinguisher(name: str, has_law: bool) -> Distinguisher:
    chosen = registry.DISTINGUISHERS.get(name)
    if chosen.needs_law and not has_law:
        raise InvalidArgument("distinguisher", name, "one that works without the mechanism's law")
    return chosen


def _select_usable_distinguishers(
    asked: Iterable[Distinguisher], has_law: bool, expected: str
) -> list[Distinguisher]:
    """Return those that work here and whose code can be imported; warn of those that cannot."""
    found = [
        one for one in asked if (has_law or not one.needs_law) and _is_distinguisher_loadable(one)
    ]
    if not found:
        raise InvalidArgument("distinguisher", None, expected)
    return found


def _is_distinguisher_loadable(one: Distinguisher) -> bool:
    try:
        one.load()
    except InvalidArgument as error:
        broken = f"distinguisher {one.name}: {error}; it is left out"
        warnings.warn(broken, registry.BrokenEntryPoint, stacklevel=2)
        return False
    return True


def _few_values(drawer: Drawer, purpose: str) -> bool:
    """Return whether outputs repeat themselves.

    Not asked where few are drawn, nor where each is a call of its own, as of a program that is run
    for every output: `with_further` sees it on what attacks learn on.
    """
    if drawer.sparing or drawer.unit == 1:
        return False
    # One output first, to know how much memory more of them would take.
    one = drawer.outputs(Side.DATASET, 1, f"{purpose}probing")
    if one.nbytes * 2 * _PROBED > _PROBING_BYTES:
        return False
    sides = [drawer.outputs(side, _PROBED, f"{purpose}probing") for side in Side]
    rows = np.concatenate(sides).reshape(2 * _PROBED, -1)
    return len(np.unique(rows, axis=0)) <= _FEW
