"""Draws of an audit from a mechanism, unit by unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import dpaudit.mechanisms.outputs.unit_draws as unit_draws
from dpaudit._typing import Array
from dpaudit.auditing.exact.stated_bounds import require_bound, require_payoffs
from dpaudit.auditing.sampling.probe_result import NOTHING_SEEN, ProbeResult
from dpaudit.errors import MechanismError
from dpaudit.estimation.exact_loss import TiltedLosses
from dpaudit.estimation.independence import COMPARED, Outputs
from dpaudit.estimation.score_events import ScoreEvent, Tally
from dpaudit.execution import Executor, Unit, plan_units, stream, unit_size
from dpaudit.execution.units import Stage
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import (
    Aimable,
    Mechanism,
    TailDraws,
    is_ours,
    name_of,
    outside_of,
)
from dpaudit.mechanisms.outputs.layout import find_clock_columns
from dpaudit.neighbours import Pair, Side

_PROCESSES = 8  # fresh processes that certifying outputs of other people's mechanisms come from
_FEWEST = 2  # such processes where starting one takes long
_QUICK = 0.5  # seconds: a start that does not count
_COMPARED = 64  # calls that share the trials of a bet
_SHARED = 1024  # outputs that are bet on and may come from one process


@dataclass(frozen=True)
class Certifying:
    """Certifying outputs, or some of them: a score of each, of the dataset and of its neighbour.

    ``outputs`` has another number of each, and which call and process it came from. What is bet on
    has the outputs themselves as ``scores``.
    """

    scores: tuple[Array, Array]
    outputs: tuple[Outputs, Outputs]


class ProcessGrid(NamedTuple):
    """A number of processes, and of calls in each."""

    processes: int
    calls: int


class _WantedUnits(NamedTuple):
    """The wanted units by their numbers, if each process has the same number on each side."""

    each: int
    grid: ProcessGrid

    def __call__(self, number: int) -> bool:
        """Return whether one is."""
        process, call = divmod(number, self.each)
        return process < self.grid.processes and call < self.grid.calls


@dataclass(frozen=True)
class Drawer:
    """Draws outputs of a mechanism on a pair, unit by unit.

    Parameters
    ----------
    mechanism, pair
        What is drawn from.
    executor
        Who computes.
    seed
        The audit's seed; every purpose gets a stream of its own.
    unit
        Trials per unit.
    chosen_by_pace
        Whether the unit is smaller than it would be because the mechanism is slow.
    fine
        Whether what is bet on is drawn in many calls: where they are quick and compared.
    seen
        What the first outputs showed of the mechanism.
    sparing
        Whether outputs are slow, and a time is the budget: none is drawn that is not needed.
    """

    mechanism: Any
    pair: Pair[Any]
    executor: Executor
    seed: int
    unit: int
    chosen_by_pace: bool = False
    fine: bool = False
    seen: ProbeResult = NOTHING_SEEN
    sparing: bool = False

    @property
    def repeats(self) -> bool:
        """Whether a call returns the output of the call before, whatever generator it is given."""
        return self.seen.repeats

    @property
    def has_own_randomness(self) -> bool:
        """Whether a call returns something else than the call before, with the same generator."""
        return self.seen.has_own_randomness

    @property
    def seconds_per_output(self) -> float:
        """Seconds that a trial takes, about."""
        return self.seen.seconds_per_output

    @property
    def seconds_per_call(self) -> float:
        """Seconds that a call takes, about."""
        return self.seen.seconds_per_call

    @property
    def size(self) -> int:
        """Bytes of an output."""
        return self.seen.size

    @property
    def timed(self) -> bool:
        """Whether the time that a call takes is an outcome: then each is one call, in turn."""
        return bool(find_clock_columns(getattr(self.mechanism, "layout", None)))

    @property
    def startup_seconds(self) -> float:
        """Seconds that a process takes to import and make the mechanism."""
        return self.seen.startup_seconds

    def for_look(self, trials: int, seed: int, most: int | None) -> Drawer:
        """Return a drawer for so many trials, in units of at most so many."""
        several, outside = not is_ours(self.mechanism), outside_of(self.mechanism)
        coarse = outside is not None and outside.goes_on  # then a call is a question to it
        # A unit for this look alone, as later looks are larger.
        unit = unit_size(trials, self.size, several=several, coarse=coarse)
        unit = unit if most is None else min(unit, most)
        unit = 1 if self.timed or self.one_a_process else unit
        sparing = unit == 1 and not self.timed and _has_layout(self.mechanism)
        return replace(self, seed=seed, unit=unit, chosen_by_pace=False, sparing=sparing)

    def aimed(self, side: Side, epsilon: float) -> TailDraws | None:
        """Return draws for losses beyond epsilon in one direction; None where there are none."""
        if not isinstance(self.mechanism, Aimable):
            return None
        draws = TailDraws(self.mechanism, self.pair.seen_from(side), epsilon)
        return draws if math.isfinite(draws.log_payoff_bound(epsilon)) else None

    def tilted(
        self,
        side: Side,
        tilt: float | TailDraws,
        trials: int,
        purpose: str,
        *,
        certifies: bool = False,
    ) -> TiltedLosses:
        """Return the losses of ``trials`` tilted or aimed trials in one direction of the pair."""
        pair = self.pair.seen_from(side)
        task = partial(unit_draws.draw_tilted_unit, self.mechanism, pair, tilt)
        parts = self._map(task, trials, purpose, side, certifies=certifies)
        loss, log_mgf = (np.concatenate(part) for part in zip(*parts, strict=True))
        if isinstance(tilt, TailDraws):
            aimed = TiltedLosses(loss, log_mgf, 0.0, math.inf, tilt)
            require_payoffs(self.mechanism, aimed, tilt.epsilon)
            return aimed
        bound = float(self.mechanism.log_mgf_bounds(pair, tilt)[1])
        # What the mechanism states of its draws is checked on every draw that certifies.
        require_bound(self.mechanism, log_mgf, bound)
        return TiltedLosses(loss, log_mgf, tilt, bound)

    def losses(self, side: Side, trials: int, purpose: str) -> Array:
        """Return ``log p/q`` of untilted outputs of the dataset, or of the neighbour."""
        task = partial(unit_draws.loss_unit, self.mechanism, self.pair, side)
        return np.concatenate(list(self._map(task, trials, purpose, side)))

    def residuals(self, side: Side, trials: int, purpose: str) -> Array:
        """Return the probability-integral transforms of untilted outputs."""
        dataset = self.pair.on(side)
        task = partial(unit_draws.residual_unit, self.mechanism, dataset)
        return np.concatenate(list(self._map(task, trials, purpose, side)))

    def both_losses(
        self, side: Side, tilt: float | TailDraws, trials: int, purpose: str
    ) -> tuple[Array, Array]:
        """Return tilted losses as summed while sampling, and as computed from the outputs."""
        pair = self.pair.seen_from(side)
        task = partial(unit_draws.consistency_unit, self.mechanism, pair, tilt)
        parts = self._map(task, trials, purpose, side)
        first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
        return first, second

    def outputs(self, side: Side, trials: int, purpose: str) -> Array:
        """Return untilted outputs themselves, shape ``(trials, ...)``."""
        dataset = self.pair.on(side)
        task = partial(unit_draws.output_unit, self.mechanism, dataset)
        return np.concatenate(list(self._map(task, trials, purpose, side)))

    def paired(self, trials: int, purpose: str) -> Certifying:
        """Return outputs of both datasets in place of scores, drawn in turn.

        A mechanism of other people's is drawn in fresh processes where these start quickly, and in
        many calls where these are quick.
        """
        fine = (
            replace(self, unit=max(1, min(self.unit, trials // _COMPARED))) if self.fine else self
        )
        units = [fine._plan_units(trials, purpose, side) for side in Side]
        task = partial(unit_draws.side_output_unit, self.mechanism, self.pair)
        worth = int(
            (2 * self.seconds_per_output * trials + _QUICK / 5) / max(self.startup_seconds, 1e-3)
        )
        # No more processes than the draws are worth in starting time.
        processes = min(self._processes(len(units[0])), worth, -(-trials // _SHARED))
        hands = _in_turn(units[0], units[1], max(1, processes))
        if processes:
            found = self._dealt(task, hands, Stage(purpose))
        else:
            found = self._results(task, hands[0], Stage(purpose))
        number = unit_draws.make_output_projection(self.mechanism)
        return _merge_unit_results(hands, [(one, number(one)) for one in found])

    def scores(self, scores: Sequence[Any], side: Side, trials: int, purpose: str) -> Array:
        """Return every score of fresh outputs, shape ``(len(scores), trials)``."""
        dataset = self.pair.on(side)
        task = partial(unit_draws.score_unit, self.mechanism, dataset, tuple(scores))
        return np.concatenate(list(self._map(task, trials, purpose, side)), axis=1)

    def certifying(
        self, counted: ScoreEvent, trials: int, purpose: str, *, certifies: bool = False
    ) -> tuple[Tally, Certifying]:
        """Return how often an event happens on fresh outputs of both datasets, and some scores.

        Of many outputs some of every call are kept, to be compared. The two sides are drawn in
        turn. A mechanism of other people's is drawn in fresh processes, each with an instance of
        its own.
        """
        counts, kept = self.counts(counted, trials, purpose, certifies=certifies)
        hits = [sum(side) for side in counts]
        return Tally((hits[0], hits[1]), (trials, trials)), kept

    def counts(
        self, counted: ScoreEvent, trials: int, purpose: str, *, certifies: bool = False
    ) -> tuple[tuple[list[Any], list[Any]], Certifying]:
        """Return the counts of every unit of either side, in order, and some scores.

        Drawn as `certifying` says.
        """
        units = [self._plan_units(trials, purpose, side) for side in Side]
        hands = _in_turn(units[0], units[1], self._processes(len(units[0])))
        # Of every unit as many, so that all calls and processes are among those that are compared.
        most = trials if trials <= COMPARED else max(1, COMPARED // len(units[0]))
        task = partial(unit_draws.draw_counted_unit, self.mechanism, self.pair, counted, most)
        stage = Stage(f"{purpose}, both datasets", certifies=certifies)
        found = list(self._dealt(task, hands, stage))
        sides: tuple[list[Any], list[Any]] = ([], [])
        for unit, (count, _) in zip((one for hand in hands for one in hand), found, strict=True):
            sides[unit.which].append(count)
        return sides, _merge_unit_results(hands, [kept for _, kept in found])

    def draw_separately(self, score: Any, processes: int, calls: int, purpose: str) -> Certifying:
        """Return the score of outputs that are drawn one a call, so many calls a process.

        Without a score, the outputs themselves.
        """
        one = replace(self, unit=1)
        units = [one._plan_units(processes * calls, purpose, side) for side in Side]
        hands = _in_turn(units[0], units[1], processes)
        stage = Stage(f"{purpose}, both datasets")
        if score is not None:
            task = partial(unit_draws.side_unit, self.mechanism, self.pair, score)
            return _merge_unit_results(hands, list(self._dealt(task, hands, stage)))
        whole = partial(unit_draws.side_output_unit, self.mechanism, self.pair)
        number = unit_draws.make_output_projection(self.mechanism)
        return _merge_unit_results(
            hands, [(one, number(one)) for one in self._dealt(whole, hands, stage)]
        )

    def draw_scores_and_outputs(
        self, score: Any, processes: int, calls: int, purpose: str, wanted: ProcessGrid
    ) -> tuple[Certifying, Certifying]:
        """Return the result of `draw_separately`, and the outputs of a few of the same calls.

        Of so many calls of each of so many processes, the first ones.
        """
        one = replace(self, unit=1)
        units = [one._plan_units(processes * calls, purpose, side) for side in Side]
        hands = _in_turn(units[0], units[1], processes)
        task = partial(
            unit_draws.beside_unit, self.mechanism, self.pair, score, _WantedUnits(calls, wanted)
        )
        found = list(self._dealt(task, hands, Stage(f"{purpose}, both datasets")))
        scored = _merge_unit_results(hands, [numbers for numbers, _ in found])
        number = unit_draws.make_output_projection(self.mechanism)
        whole = [(rows, number(rows) if len(rows) else np.zeros(0)) for _, rows in found]
        return scored, _merge_unit_results(hands, whole)

    @property
    def one_a_process(self) -> bool:
        """Whether every output comes from a process of its own."""
        return bool(getattr(self.mechanism, "one_a_process", False))

    def _processes(self, units: int) -> int:
        """Return how many fresh processes share the units of a side: fewer if they start slowly."""
        if not isinstance(self.mechanism, IsolatedMechanism):
            return 1
        if self.one_a_process:
            return units
        # Fewer processes where their start would take longer than all draws.
        worth = self.seconds_per_output * 2 * units * self.unit + _PROCESSES * _QUICK
        slowly = max(_FEWEST, int(worth / max(self.startup_seconds, 1e-3)))
        return min(_PROCESSES, slowly, units)

    def _dealt(self, task: Any, hands: Sequence[Sequence[Unit]], stage: Stage) -> Iterator[Array]:
        crew = self.mechanism.crew if isinstance(self.mechanism, IsolatedMechanism) else None
        if self.one_a_process:
            hands = [[one] for hand in hands for one in hand]
        with add_mechanism_name(name_of(self.mechanism)):
            yield from self.executor.deal(task, hands, stage, crew)

    def _plan_units(self, trials: int, purpose: str, side: Side) -> list[Unit]:
        which = list(Side).index(side)
        return plan_units(trials, self.unit, stream(self.seed, purpose, side.value), which)

    def _map(
        self, task: Any, trials: int, purpose: str, side: Side, *, certifies: bool = False
    ) -> Any:
        units = self._plan_units(trials, purpose, side)
        return self._results(task, units, Stage(f"{purpose} ({side.value})", certifies=certifies))

    def _results(self, task: Any, units: Sequence[Unit], stage: Stage) -> Iterator[Any]:
        if self.one_a_process:
            yield from self._dealt(task, [units], stage)
            return
        crew = self.mechanism.crew if isinstance(self.mechanism, IsolatedMechanism) else None
        with add_mechanism_name(name_of(self.mechanism)):
            yield from self.executor.map(task, units, stage, crew)


def _has_layout(mechanism: object) -> bool:
    return getattr(mechanism, "layout", None) is not None


def first_of(number: int) -> int:
    """Return which side the pair of units with a number begins with."""
    # The parity of ones in the number: the sequence of Thue and Morse.
    return number.bit_count() % 2


def _in_turn(on_p: Sequence[Unit], on_q: Sequence[Unit], processes: int) -> list[list[Unit]]:
    """Return the units of both sides in turn, in hands for so many processes.

    Which side is first follows Thue and Morse, so that no drift falls on one of them.
    """
    pairs = [
        (q, p) if first_of(number) else (p, q)
        for number, (p, q) in enumerate(zip(on_p, on_q, strict=True))
    ]
    hands = np.array_split(np.arange(len(pairs)), processes)
    return [[unit for number in hand for unit in pairs[number]] for hand in hands]


def _merge_unit_results(hands: Sequence[Sequence[Unit]], results: Sequence[Any]) -> Certifying:
    """Return the draws of either side, with the numbers of their calls and processes."""
    labelled = [(unit, process) for process, hand in enumerate(hands) for unit in hand]
    scores, outputs = [], []
    for which in range(len(Side)):
        mine = [i for i, (unit, _) in enumerate(labelled) if unit.which == which]
        score, number = zip(*(results[i] for i in mine), strict=True)
        sizes = [len(one) for one in score]
        processes = np.repeat([labelled[i][1] for i in mine], sizes)
        calls = np.repeat(np.arange(len(mine)), sizes)
        scores.append(np.concatenate(score))
        outputs.append(Outputs(np.concatenate(number), calls, processes))
    return Certifying((scores[0], scores[1]), (outputs[0], outputs[1]))


def not_its_rng(mechanism: Mechanism[Any]) -> MechanismError:
    """Return the error of a mechanism whose randomness is not that of its argument."""
    return MechanismError(
        f"mechanism {name_of(mechanism)}: the same outputs came from two different "
        "generators, expected all randomness to come from the rng argument"
    )
