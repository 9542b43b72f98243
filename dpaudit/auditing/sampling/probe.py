"""A probe of a mechanism: its size, its pace, and whether its randomness is the generator's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.sampling.first_outputs import FirstOutputs
from dpaudit.auditing.sampling.probe_result import ProbeResult
from dpaudit.auditing.sampling.sampler import Drawer, not_its_rng
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import Executor, stream, unit_size
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.mechanisms.foreign.outside import Outside
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import (
    HasLaw,
    Mechanism,
    draw_checked_sample,
    is_ours,
    layout_of,
    name_of,
    outside_of,
)
from dpaudit.mechanisms.outputs.layout import find_clock_columns
from dpaudit.neighbours import Pair, Side

_ROWS = (3, 64, 2048)  # rows that show whether randomness comes from the generator, fewest first
# On either dataset, so that calls can be compared.
_FEWEST_CALLS = 8  # calls at least
_LEAST_UNIT = 8  # trials of a call that are allowed in any case
_REPLAYED = 16  # seconds that a unit of replayed code may take, by its first outputs
_CHEAP = 0.02  # seconds of a call below which that many are made
_COLLISION = 1e-9  # probability of an agreement that chance may explain
# Seconds from which on the pace of a mechanism shows.
_SHOWS = 0.05


def make_probe_of_first_outputs(mechanism: Any, first: FirstOutputs) -> ProbeResult:
    """Return the facts from the first outputs, each of a call of its own: no more draws."""
    start = mechanism.start if isinstance(mechanism, IsolatedMechanism) else 0.0
    size = 8 * max(1, len(mechanism.layout.columns))
    return ProbeResult(
        seconds_per_output=first.seconds_per_output,
        seconds_per_call=first.seconds_per_output,
        startup_seconds=start,
        size=size,
        repeats=False,
        has_own_randomness=first.has_own_randomness,
    )


def make_drawer(
    mechanism: Mechanism[Any],
    pair: Pair[Any],
    executor: Executor,
    seed: int,
    *,
    trials: int = 0,
    unit: int | None = None,
    first: FirstOutputs | None = None,
) -> Drawer:
    """Return a drawer whose units fit in memory; a few outputs are drawn to find out.

    Parameters
    ----------
    mechanism, pair, executor, seed
        Of the drawer.
    trials
        Of the longest stage; 0 if that is not known beforehand.
    unit
        Trials per unit, if somebody has chosen them.
    first
        What the first outputs showed, if they were seen.

    Raises
    ------
    MechanismError
        The mechanism breaks its contract on either dataset.
    """
    probe = Probe.of(mechanism, pair, seed)
    # A timed call, and one that has a process of its own, must not share a unit with another.
    if find_clock_columns(layout_of(mechanism)) or getattr(mechanism, "one_a_process", False):
        unit = 1
    if first is not None and first.is_slow:
        seen = make_probe_of_first_outputs(mechanism, first)
        return Drawer(mechanism, pair, executor, seed, unit or 1, unit is None, False, seen)
    seen = ProbeResult(*probe.find_result(trials, unit))
    if seen.repeats and (
        not isinstance(mechanism, IsolatedMechanism) or isinstance(mechanism, HasLaw)
    ):
        raise not_its_rng(mechanism)
    return Drawer(mechanism, pair, executor, seed, *_choose_unit(probe, seen, trials, unit), seen)


def _choose_unit(
    probe: Probe, seen: ProbeResult, trials: int, unit: int | None
) -> tuple[int, bool, bool]:
    """Return trials per unit, whether the pace chose them, and whether bets are on many calls."""
    replayed = getattr(probe.mechanism, "is_replayed", False)  # in large units: each has a price
    several = probe.theirs and trials > 0 and not replayed
    paced = (
        seen._replace(seconds_per_output=seen.seconds_per_output / _REPLAYED) if replayed else seen
    )
    calls = {"several": several, "coarse": probe.outside is not None and probe.outside.goes_on}
    usual = unit_size(trials, seen.size, **calls)
    if probe.theirs and unit is None and paced.is_slow(trials, **calls):
        unit = unit_size(trials, seen.size, paced.seconds_per_output, **calls)
    # A unit that is given stands for what it was when it was chosen.
    fine = probe.theirs and (seen.seconds_per_call < _CHEAP if unit is None else unit == usual)
    if probe.theirs and not trials and not fine and unit is None:
        unit = max(1, usual // 2)
    unit = usual if unit is None else unit
    if several and unit > max(_LEAST_UNIT, trials // _FEWEST_CALLS):
        most = max(_LEAST_UNIT, trials // _FEWEST_CALLS)
        expected = f"at most {most} of {trials} trials: calls are compared with one another"
        raise InvalidArgument("unit", unit, expected)
    return unit, unit != usual or (probe.theirs and not trials and not fine), fine


def find_pace(drawer: Drawer) -> float:
    """Return the seconds that an output takes, less those of a call, at least a little."""
    if drawer.unit == 1 and drawer.chosen_by_pace:
        return max(1e-8, drawer.seconds_per_output)
    probe = Probe.of(drawer.mechanism, drawer.pair, drawer.seed)
    given = drawer.mechanism, drawer.pair.dataset, drawer.seed
    return get_current_ledger().fact(
        "pace", lambda: max(1e-8, probe.measure_pace()), given, measures=True
    )


@dataclass(frozen=True)
class Probe:
    """Draws a few outputs of a mechanism on a pair, each purpose with a stream of its own.

    Parameters
    ----------
    mechanism, pair, seed
        What is drawn from, and the audit's seed.
    theirs
        Whether the mechanism is other people's code.
    outside
        What is called, if it is no code of Python.
    """

    mechanism: Any
    pair: Pair[Any]
    seed: int
    theirs: bool
    outside: Outside | None

    @classmethod
    def of(cls, mechanism: Mechanism[Any], pair: Pair[Any], seed: int) -> Probe:
        """Return the probe of a mechanism."""
        return cls(mechanism, pair, seed, not is_ours(mechanism), outside_of(mechanism))

    def find_result(self, trials: int, unit: int | None) -> ProbeResult:
        """Return the facts about the mechanism: a resumed audit gets those from its beginning."""
        given = self.mechanism, self.pair, self.seed, trials, unit
        return get_current_ledger().fact(
            "what was seen", lambda: self.run(trials, unit), given, measures=True
        )

    def run(self, trials: int, unit: int | None) -> ProbeResult:
        """Return the facts about the mechanism, for an audit of so many trials in all."""
        began = monotonic()
        shapes = {self._draw(one, 2, "probe").shape for one in (Side.DATASET, Side.NEIGHBOUR)}
        pace, call = (monotonic() - began) / 4, self.measure_call()
        repeats = self.is_repeating_outputs()
        own = self.theirs and self.has_own_randomness()
        # The contract asks for one shape, as rows of both datasets are compared column by column.
        if len(shapes) > 1:
            raise MechanismError(
                f"mechanism {name_of(self.mechanism)}: outputs of shapes {sorted(shapes)} on "
                "the two datasets, expected the same shape on both"
            )
        size = int(np.prod(shapes.pop()[1:])) * 8
        start = self.mechanism.start if isinstance(self.mechanism, IsolatedMechanism) else 0.0
        seen = ProbeResult(
            seconds_per_output=pace,
            seconds_per_call=call,
            startup_seconds=start,
            size=size,
            repeats=repeats,
            has_own_randomness=own,
        )
        # Few trials show the pace of a slow mechanism, of a quick one the costs of a call.
        if self.theirs and unit is None and seen.is_slow(trials, several=trials > 0):
            pace = self.measure_pace()
        return seen._replace(seconds_per_output=pace)

    def measure_call(self) -> float:
        """Return the seconds of a call, less the way to its process and back."""
        taken = self._time_draw(1, "pace of a call")
        if not isinstance(self.mechanism, IsolatedMechanism):
            return taken
        return max(0.0, taken - self.mechanism.way())

    def measure_pace(self) -> float:
        """Return the seconds of one more trial, not of a call: seen on more and more trials."""
        few, rows = 2, 4
        before, seconds = (self._time_draw(one, "pace", str(one)) for one in (few, rows))
        # Only a difference between two sizes tells the price of a trial without that of a call.
        while seconds - before < _SHOWS and rows < _ROWS[-1]:
            few, rows, before = rows, 4 * rows, seconds
            seconds = self._time_draw(rows, "pace", str(rows))
        return max(0.0, seconds - before) / (rows - few)

    def is_repeating_outputs(self) -> bool:
        """Return whether outputs differ, but not with the generator the mechanism is given.

        Outputs that take few values may be the same by chance: then more are drawn, but of what is
        no code of Python, where each is a request or a process.
        """
        for rows in _ROWS if self.outside is None else _ROWS[:-1]:
            first, second = (
                self._draw(Side.DATASET, rows, name)
                for name in ("one generator", "another generator")
            )
            if not np.array_equal(first, second):
                return False
            # Few values may agree by chance: nothing is said until that is all but impossible.
            if _log_collision(first) < math.log(_COLLISION):
                return True
        return False

    def has_own_randomness(self) -> bool:
        """Return whether outputs differ with one and the same generator."""
        first, second = (self._draw(Side.DATASET, _ROWS[0], "one generator") for _ in range(2))
        return not np.array_equal(first, second)

    def _time_draw(self, rows: int, *purpose: str) -> float:
        began = monotonic()
        self._draw(Side.DATASET, rows, *purpose)
        return monotonic() - began

    def _draw(self, side: Side, rows: int, *purpose: str) -> Array:
        rng = default_rng(stream(self.seed, *purpose))
        return draw_checked_sample(self.mechanism, self.pair.on(side), rows, rng)


def _log_collision(rows: Array) -> float:
    """Return the logarithm of how probable it is that as many rows of that law are the same."""
    _, counts = np.unique(rows.reshape(len(rows), -1), axis=0, return_counts=True)
    # The probability that two independent rows of this law agree, for all rows.
    return len(rows) * math.log(float(np.sum((counts / len(rows)) ** 2)))
