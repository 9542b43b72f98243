"""Outputs of any kind in an audit: their parts, and those that it looked at, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.random import default_rng

import dpaudit.faults.codes as codes
import dpaudit.mechanisms.foreign.instances as instances
import dpaudit.mechanisms.outputs.unit_draws as unit_draws
from dpaudit.auditing.explain.event_words import path_of
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.sampling.first_outputs import FirstOutputs, first_outputs
from dpaudit.estimation.independence import Outputs
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.execution import Executor, plan_units, stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.foreign.calling import When
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import Mechanism, is_observed, layout_of, name_of
from dpaudit.mechanisms.outputs.layout import EXACTLY, Layout, PartLayout
from dpaudit.mechanisms.outputs.leaves import LeafToken
from dpaudit.mechanisms.outputs.reads import Read, layout_of_reads
from dpaudit.neighbours import Side

_OBSERVED = 64  # observations of each dataset that a layout is made of
_LEAST = 4  # observations at least
_WORTH = 50  # trials that are worth one observation
_WORKERS = 2  # that look at the outputs of slow code
_CHANGING = 1  # calls on each dataset that may change an instance, where it had none
_SLOWLY = 6  # observations at most, of a slow mechanism
_SPARING = 3  # observations at least, of one that is looked at in turns
# Noise varies, so this is a function without a return statement more often than not.
UNVARYING = (
    "The first outputs on both datasets were all the same: check that the function returns the "
    "value that it releases."
)
_NOTHING = CheckOutcome(
    name="something is returned",
    statement="every output is None: let the function return the value that it releases",
    passed=False,
    statistic=1.0,
    threshold=1.0,
    evidence="no output but None",
    fault=codes.NOTHING_RELEASED,
)


@dataclass(frozen=True)
class CaseLayout:
    """A case whose mechanism has a layout, and the facts that its first outputs showed, if any.

    ``count`` outputs of each dataset made the layout. ``changes`` says whether calls change the
    instance that is called.
    """

    case: PrivacyCase
    first: FirstOutputs | None = None
    count: int = _LEAST
    changes: bool = False


def resolve_case_layout(
    case: PrivacyCase,
    seed: int,
    executor: Executor,
    first_trials: Callable[[float], int],
    *,
    by_looks: bool = False,
) -> CaseLayout:
    """Return the case with a layout of its mechanism's outputs, if that is other people's code.

    The observations that it is made of certify nothing.

    Parameters
    ----------
    case, seed, executor
        Of the audit.
    first_trials
        Returns how many trials are drawn first, by the seconds that one takes.
    by_looks
        Whether these are looks: then code that draws many outputs in a call is asked for few.
    """
    if not is_observed(case.mechanism):
        return CaseLayout(case)
    cases = case.candidates or (case,)
    mechanism: Any = case.mechanism
    first, few = None, by_looks
    trials = _WORTH * _LEAST
    # The pace of single calls decides how many outputs of slow code are looked at for a layout.
    if mechanism.one_a_call:
        datasets = [one.pair.on(side) for one in cases for side in Side]
        first = first_outputs(mechanism, datasets, seed, executor)
        few = first.is_slow
        trials = first_trials(first.seconds_per_output if few else min(first.seconds))
    elif not by_looks:
        trials = first_trials(0.0)
    most = _SLOWLY if few else _OBSERVED
    least = _SPARING if few and by_looks else _LEAST
    count = max(least, min(most, trials // _WORTH) // len(cases))
    slow = first is not None and first.is_slow
    layout = _layout_by_workers(case, seed, count, executor) if slow else None
    found = _apply_known_layout(case, layout, seed, count)
    return CaseLayout(found, first, count, _is_changed(found, seed))


def _apply_known_layout(
    case: PrivacyCase, layout: Layout | None, seed: int, count: int
) -> PrivacyCase:
    """Return the case with a layout; without one, of so many outputs of each dataset."""
    if layout is None:
        return with_layout_of(case, seed, count)
    return _set_case_layout(case, layout)


def _is_changed(case: PrivacyCase, seed: int) -> bool:
    """Return whether calls change the instance that is called, as each process sees it."""
    mechanism = case.mechanism
    datasets = [case.pair.on(side) for side in Side]
    # Streams of their own: the outputs that the audit counts must not depend on calls made
    # here.
    rngs = [default_rng(stream(seed, "changes", str(n))) for n in range(len(datasets))]
    with add_mechanism_name(name_of(mechanism)):
        if isinstance(mechanism, IsolatedMechanism):
            return mechanism.is_changed(datasets, _CHANGING, rngs)
        return instances.is_changed(mechanism, datasets, _CHANGING, rngs)


def at_calls(case: PrivacyCase, when: When) -> PrivacyCase:
    """Return the case of the first or of the later calls of the instance that is called."""
    make = case.elsewhere

    def place_mechanism(mechanism: Any) -> Mechanism[Any]:
        if isinstance(mechanism, IsolatedMechanism):
            return mechanism.at_calls(when)
        return instances.with_calls(mechanism, when)

    return replace(
        case,
        mechanism=place_mechanism(case.mechanism),
        elsewhere=None if make is None else lambda: place_mechanism(make()),
        candidates=tuple(at_calls(one, when) for one in case.candidates),
    )


def _layout_by_workers(
    case: PrivacyCase, seed: int, count: int, executor: Executor
) -> Layout | None:
    """Return the layout of slow code, whose outputs are units; None where it takes more of them.

    Two workers at most: of a few outputs in many processes nobody sees what a process counts.
    """
    if not isinstance(case.mechanism, IsolatedMechanism):
        return None
    cases = case.candidates or (case,)
    datasets = [one.pair.on(side) for one in cases for side in Side]
    units = [
        unit
        for n in range(len(datasets))
        for unit in plan_units(count, 1, stream(seed, "layout", str(n)), n)
    ]
    task = partial(unit_draws.read_unit, case.mechanism, tuple(datasets))
    few = replace(executor, workers=min(executor.workers, _WORKERS))
    with add_mechanism_name(name_of(case.mechanism)):
        found = list(few.map(task, units, "what outputs are made of", case.mechanism.crew))
    reads = [Read(*one) for one in found]
    return layout_of_reads([reads[n * count :][:count] for n in range(len(datasets))])


def with_layout_of(case: PrivacyCase, seed: int, count: int) -> PrivacyCase:
    """Return the case with a layout of so many outputs of each dataset."""
    cases = case.candidates or (case,)
    datasets = [one.pair.on(side) for one in cases for side in Side]
    rngs = [default_rng(stream(seed, "layout", str(n))) for n in range(len(datasets))]
    mechanism: Any = case.mechanism
    with add_mechanism_name(name_of(mechanism)):
        layout = mechanism.laid_out(datasets, count, rngs)
    return _set_case_layout(case, layout)


def remove_output_parts(
    case: PrivacyCase, paths: Sequence[str], seed: int, count: int, executor: Executor | None
) -> PrivacyCase:
    """Return the case of a mechanism whose outputs are read without some parts, by their paths.

    With an executor, who draws what is slow, no more outputs are looked at than the layout needs:
    none where it has parts, else so many of each dataset.
    """
    # Exactly these paths: as a pattern, a path would take others along that begin alike.
    leave = [f"{EXACTLY}{path}" for path in paths]
    mechanism: Any = case.mechanism
    known: Layout | None = mechanism.layout
    if isinstance(mechanism, IsolatedMechanism):
        mechanism = mechanism.ignoring(leave)
    else:
        mechanism = replace(mechanism, layout=None, ignored=(*mechanism.ignored, *leave))
    other = replace(case, mechanism=mechanism, candidates=(), notes=())
    layout = None
    if executor is not None:
        layout = (
            known.without(leave)
            if isinstance(known, PartLayout)
            else _layout_by_workers(other, seed, count, executor)
        )
    found = _apply_known_layout(other, layout, seed, count)
    notes = _notes_of_parts(layout_of(found.mechanism))
    return replace(found, candidates=case.candidates, notes=(*case.notes, *notes))


def _set_case_layout(case: PrivacyCase, layout: Layout) -> PrivacyCase:
    """Return a case, and its candidates, of one mechanism whose outputs have a layout."""
    observed: Any = case.mechanism
    mechanism = observed.having(layout)
    words = f"The mechanism was called as {mechanism.called_as}.", *_notes_of_parts(layout)
    found = [
        replace(
            one,
            mechanism=mechanism,
            elsewhere=_make_layout_factory(one.elsewhere, layout),
            unvarying=_is_unvarying(layout),
            notes=(*one.notes, *words),
        )
        for one in (case, *case.candidates)
    ]
    return replace(found[0], candidates=tuple(found[1:]))


def _make_layout_factory(
    make: Callable[[], Mechanism[Any]] | None, layout: Layout
) -> Callable[[], Mechanism[Any]] | None:
    if make is None:
        return None

    def make_elsewhere() -> Mechanism[Any]:
        observed: Any = make()
        found: Mechanism[Any] = observed.having(layout)
        return found

    # One mechanism for each process, and not one for each call: making it may load a model.
    return cache(make_elsewhere)


def something_returned(layout: Layout | None, sides: Sequence[Outputs]) -> list[CheckOutcome]:
    """Return a check that failed, where all outputs of both datasets are None."""
    varied = len(np.unique(np.concatenate([one.scores for one in sides]))) > 1
    return [] if varied or not _is_nothing(layout) else [_NOTHING]


def of_bets_on_nothing(evidence: MeasurementEvidence, layout: Layout | None) -> MeasurementEvidence:
    """Return the evidence of bets, with that check where whatever was looked at first is None."""
    if evidence.wealth is None or evidence.lower > 0 or not _is_nothing(layout):
        return evidence
    return replace(evidence, contract=(*evidence.contract, _NOTHING))


def _is_nothing(layout: Layout | None) -> bool:
    """Return whether all that was looked at for a layout is None."""
    nothing = {"output": LeafToken("NoneType", "None").code}
    return isinstance(layout, PartLayout) and len(layout.columns) == 2 and layout.usual == nothing


def _count_varying_parts(layout: PartLayout) -> tuple[int, int]:
    """Return how many parts that vary are numbers, and how many are discrete."""
    discrete = sum(column.discrete for column in layout.columns) - 2  # without the rest
    return len(layout.columns) - 2 - discrete, discrete


def _is_unvarying(layout: Layout) -> bool:
    return isinstance(layout, PartLayout) and _count_varying_parts(layout) == (0, 0)


def _notes_of_parts(layout: Layout | None) -> tuple[str, ...]:
    if not isinstance(layout, PartLayout):
        return ()
    numbers, discrete = _count_varying_parts(layout)
    unvarying = (UNVARYING,) if _is_unvarying(layout) else ()
    return (
        *unvarying,
        f"The audit read each output in parts: {numbers} numeric, {discrete} discrete, "
        f"{len(layout.usual)} that did not vary in the first outputs, and one for anything new.",
        *_notes_of_numbers(layout),
        *_notes_of_texts(layout),
    )


def _notes_of_numbers(layout: PartLayout) -> tuple[str, ...]:
    """Return which texts were read as their numbers, and how to say which of these counts."""
    if not layout.numbered:
        return ()
    texts = (one for one in layout.columns if one.discrete and one.path in layout.numbered)
    paths = ", ".join(map(path_of, texts))
    return (
        f"Some texts differ only in their numbers ({paths}): the audit read these numbers, like "
        "fields of JSON, in addition to the whole text and its length.",
    )


def _notes_of_texts(layout: PartLayout) -> tuple[str, ...]:
    """Return notes on texts that never come twice: which features of them the audit read."""
    if not layout.opened:
        return ()
    texts = (one for one in layout.columns if one.discrete and one.path in layout.opened)
    paths = ", ".join(map(path_of, texts))
    return (
        f"Some texts differ in every output ({paths}): the audit read only their length and "
        "their fields of JSON or, without JSON, the letters at the first 32 places, the count "
        "of each letter, the first 16 words and the first 16 numbers.",
    )
