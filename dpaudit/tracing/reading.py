"""A law read from runs of a function: the parts they share, and whether outputs determine it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.freezing import patching
from dpaudit.neighbours import Pair
from dpaudit.tracing.determined_values import (
    SOME,
    ReadOff,
    RunOutput,
    are_distributed_alike,
    learn_read_off,
    runs_to_learn,
)
from dpaudit.tracing.draws import LawState, NoisyValue, draw_value, draw_widely
from dpaudit.tracing.law import Key, Profile, TracedLaw, TracedView
from dpaudit.tracing.lockstep import RunTrace, run_in_lockstep, trace_run
from dpaudit.tracing.pending import NoLaw
from dpaudit.tracing.runs import (
    AnyCalls,
    MissingLaw,
    draw_plain_outputs,
    find_unlawful_reason,
    join_values,
    same_outcome,
    scales_of,
)

_Called: TypeAlias = "AnyCalls | _Two"
_Draw: TypeAlias = Callable[[NoisyValue, Generator], Array]
_LONGEST = 100_000  # noisy numbers of a run
_CONFIRMING = 50  # further runs that show whether outputs tell noisy values
_COMPARED = 150  # outputs of calls that are watched, and of others, of each dataset


def read_law(
    calling: AnyCalls, pair: Pair[Any], rng: Generator
) -> TracedLaw | TracedView | MissingLaw:
    """Return a function with the law that is read from runs of it, or why there is none.

    Where outputs do not determine the noisy values, these are all that is returned: their losses
    are none of outputs.

    Parameters
    ----------
    calling
        The function, and how it is called.
    pair
        The datasets that are looked at.
    rng
        Of the noisy values of these runs.
    """
    with patching.patch_primitives(calling.function):
        found = _read_watched(calling, pair, rng)
    if not isinstance(found, _ViewOutcomes):
        return found
    for data, outcomes in zip((pair.dataset, pair.neighbour), found.outcomes, strict=True):
        plain = draw_plain_outputs(calling, data, len(outcomes), rng)
        if not are_distributed_alike(outcomes, plain):
            return MissingLaw(reason="calls without observation return other outputs")
    return found.view


class _ViewOutcomes(NamedTuple):
    """Noisy values that outputs do not determine, and outputs of either dataset."""

    view: TracedView
    outcomes: tuple[list[RunOutput], list[RunOutput]]


def _read_watched(
    calling: AnyCalls, pair: Pair[Any], rng: Generator
) -> TracedLaw | _ViewOutcomes | MissingLaw:
    """Return a law, or the values that runs form, while every call is watched."""
    if calling.form.many and (reason := _why_dependent(calling, pair, rng)) is not None:
        return reason
    located = _find_located_calls(calling, pair, rng)
    runs = _collect_learning_runs(calling, pair, rng, located, SOME)
    if isinstance(runs, MissingLaw):
        return runs
    read_off = _read_off(runs)
    # Most functions return their noisy values themselves, which a few runs show. Only an affine map
    # takes as many as it has coefficients.
    missing = runs_to_learn(runs[0].outcome) - SOME if read_off is None and _are_alike(runs) else 0
    further = _collect_learning_runs(calling, pair, rng, located, missing)
    if isinstance(further, MissingLaw):
        return further
    runs += further
    read_off = _read_off(runs) if further else read_off
    # Noise that is far wider reaches what clipping or rounding hides in ordinary runs.
    confirming = _collect_learning_runs(calling, pair, rng, located, _CONFIRMING, draw_widely)
    if isinstance(confirming, MissingLaw):
        return confirming
    runs += confirming
    if read_off is not None and all(_is_told(one, read_off, runs[0]) for one in runs):
        if (law := _law_of(calling, runs, read_off)) is not None:
            return law
    view = TracedView(*_profile_noisy_values([(one.own, one.other) for one in runs]))
    sides = (pair.dataset, pair.neighbour)
    one, other = (
        [_run_with_drawn_noise(calling, data, rng) for _ in range(_COMPARED)] for data in sides
    )
    return _ViewOutcomes(view, (one, other))


class _Two:
    """Calls of code that draws several outputs, for two of them."""

    def __init__(self, calling: AnyCalls) -> None:
        self._calling = calling

    def one(self, dataset: Any, rng: Generator) -> Any:
        """Return two outputs of one call."""
        return self._calling.observations(dataset, 2, rng)


def _why_dependent(calling: AnyCalls, pair: Pair[Any], rng: Generator) -> MissingLaw | None:
    """Return why two outputs of one call are not known to be independent.

    Each has noisy values of its own where there are twice as many as in a call for one output, and
    no draw is in two of them.
    """
    counts = []
    for calls in (calling, _Two(calling)):
        run = _learning_run(calls, pair, rng, _find_located_calls(calls, pair, rng))
        if isinstance(run, MissingLaw):
            return run
        counts.append(len(run.values))
    if counts[1] != 2 * counts[0]:
        return MissingLaw(reason="outputs of one call share their noise")
    return None


def _collect_learning_runs(
    calling: AnyCalls,
    pair: Pair[Any],
    rng: Generator,
    located: Sequence[bool],
    count: int,
    draw: _Draw = draw_value,
) -> list[_AgreeingRuns] | MissingLaw:
    """Return some calls on both sides, or why one has no law."""
    runs = list[_AgreeingRuns]()
    while len(runs) < count:
        run = _learning_run(calling, pair, rng, located, draw)
        if isinstance(run, MissingLaw):
            return run
        runs.append(run)
    return runs


def _are_alike(runs: Sequence[_AgreeingRuns]) -> bool:
    return all(one.keys == runs[0].keys for one in runs)


def _read_off(runs: Sequence[_AgreeingRuns]) -> ReadOff | None:
    if not _are_alike(runs) or not len(runs[0].values):
        return None
    scales = np.min([scales_of(one.own.meetings) for one in runs], axis=0)
    return learn_read_off([one.outcome for one in runs], [one.values for one in runs], scales)


def _is_told(run: _AgreeingRuns, read_off: ReadOff, first: _AgreeingRuns) -> bool:
    """Return whether the output of a run tells its noisy values, the same as in others."""
    scales = scales_of(run.own.meetings)
    return run.keys == first.keys and read_off.agrees(run.outcome, run.values, scales)


def _law_of(
    calling: AnyCalls, runs: Sequence[_AgreeingRuns], read_off: ReadOff
) -> TracedLaw | None:
    """Return the law of runs, None where nothing of it can be checked."""
    keys, profile = _profile_noisy_values([(one.own, one.other) for one in runs])
    # Draws that both sides share have a loss of 0 by assumption: nothing of such a law could be
    # refuted.
    if all(kind == "public" for kind, _, _ in keys):
        return None
    drawn = [m.parameters for one in runs for m in one.own.meetings if m.kind == "public"]
    if any(one.make_widely is None for one in drawn):
        return None
    return TracedLaw(calling, runs[0].keys, tuple(runs[0].own.located), read_off, profile)


def _run_with_drawn_noise(calling: AnyCalls, data: Any, rng: Generator) -> RunOutput:
    """Return the output of a run whose noisy values are drawn."""
    state = LawState(int(rng.integers(2**63)), lambda meeting: draw_value(meeting, rng))
    run = trace_run(state, calling.one, data).run
    return RunOutput.of(run.value, run.error)


def _find_located_calls(calling: _Called, pair: Pair[Any], rng: Generator) -> list[bool]:
    """Return which calls of primitives are given a location that is not 0 on either dataset.

    A run on either dataset alone shows it: a count that is 0 on one of them is a centre there, too.
    """
    found = list[bool]()
    for data in (pair.dataset, pair.neighbour):
        state = LawState(0, lambda meeting: draw_value(meeting, rng))
        trace_run(state, calling.one, data)
        longer = max(len(found), len(state.located))
        sides = (one + [False] * (longer - len(one)) for one in (found, state.located))
        found = [a or b for a, b in zip(*sides, strict=True)]
    return found


def _past_the_noise(own: RunTrace) -> MissingLaw:
    reason = "data reach the output past the noise"
    if own.look is not None:
        reason += ", after a draw was looked at by itself"
    return MissingLaw(reason=reason, place=own.look)


class _AgreeingRuns(NamedTuple):
    """Two runs that saw the same noisy values, and the one output of both."""

    own: RunTrace
    other: RunTrace
    outcome: RunOutput
    values: Array

    @property
    def keys(self) -> tuple[Key, ...]:
        """The facts that every further run confirms."""
        return tuple(one.key for one in self.own.meetings)


def _learning_run(
    calling: _Called,
    pair: Pair[Any],
    rng: Generator,
    located: Sequence[bool],
    draw: _Draw = draw_value,
) -> _AgreeingRuns | MissingLaw:
    """Return two runs, whose noisy values follow the law of either dataset in turn."""
    drawn = list[Array]()

    def decide(own: NoisyValue, other: NoisyValue) -> Array:
        # From either law in turn, so that values which only one of the two sides has occur as well.
        drawn.append(draw(own if rng.random() < 0.5 else other, rng))
        return drawn[-1]

    data = pair.dataset, pair.neighbour
    own, other = run_in_lockstep(calling.one, data, int(rng.integers(2**63)), decide, located)
    if (reason := find_unlawful_reason(own) or find_unlawful_reason(other)) is not None:
        return reason
    if [a.key for a in own.meetings] != [a.key for a in other.meetings]:
        return MissingLaw(reason="the place where noise is added depends on the data")
    try:
        outcome, another = (RunOutput.of(each.run.value, None) for each in (own, other))
    except NoLaw:
        return MissingLaw(reason="the output holds a draw by itself")
    if not same_outcome(outcome, another):
        return _past_the_noise(own)
    if not drawn:
        return MissingLaw(reason="there is no noise")
    if sum(value.size for value in drawn) > _LONGEST:
        return MissingLaw(reason=f"there are more than {_LONGEST:,} noisy numbers")
    return _AgreeingRuns(own, other, outcome, join_values(drawn))


def _profile_noisy_values(
    runs: Sequence[tuple[RunTrace, RunTrace]],
) -> tuple[tuple[Key, ...], tuple[Profile, ...]]:
    """Return the noisy values of runs, in order, and each one's movement over these runs."""
    found = dict[tuple[Key, int], list[tuple[NoisyValue, NoisyValue]]]()
    for one, other in runs:
        counts = Counter[Key]()
        for both in zip(one.meetings, other.meetings, strict=True):
            key = both[0].key
            found.setdefault((key, counts[key]), []).append(both)
            counts[key] += 1
    keys = tuple(key for key, _ in found)
    return keys, tuple(_profile_of(pairs) for pairs in found.values())


def _profile_of(pairs: Sequence[tuple[NoisyValue, NoisyValue]]) -> Profile:
    first = pairs[0][0].parameters
    return Profile(
        scale=min(float(a.law.scale(a.parameters).min(initial=np.inf)) for a, _ in pairs),
        is_steady=all(_is_as_wide(first, one) for both in pairs for one in both),
        moved=max(a.law.moved(a.parameters, b.parameters) for a, b in pairs),
        divergence=float(np.mean([a.law.divergence(a.parameters, b.parameters) for a, b in pairs])),
    )


def _is_as_wide(first: Any, one: NoisyValue) -> bool:
    return np.array_equal(one.law.scale(first), one.law.scale(one.parameters))
