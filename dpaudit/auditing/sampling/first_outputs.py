"""The first outputs of other people's code: its pace, and whose its noise is.

They certify nothing. Each is a unit of its own, so that the workers share them, an interruption
loses one at most, and an audit that goes on draws none again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import dpaudit.mechanisms.outputs.unit_draws as unit_draws
from dpaudit.auditing.estimators.group_sequential import SLOW
from dpaudit.execution import Executor, plan_units, stream
from dpaudit.execution.units import Stage
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.mechanisms.mechanism import name_of

_OF_EACH = 2  # outputs of each dataset, the first of which may load something


@dataclass(frozen=True)
class FirstOutputs:
    """The first outputs of code that draws one in a call.

    Parameters
    ----------
    seconds
        That each of them took.
    has_own_randomness
        Whether some differed when they were drawn again with the same randomness.
    """

    seconds: tuple[float, ...]
    has_own_randomness: bool

    @property
    def is_slow(self) -> bool:
        """Whether every output is a unit of its own: by the quickest, which no load makes slow."""
        return min(self.seconds) >= SLOW

    @property
    def seconds_per_output(self) -> float:
        """Seconds that an output takes usually."""
        return median(sorted(self.seconds)[: max(1, len(self.seconds) // 2)])


def first_outputs(
    mechanism: Any, datasets: Sequence[Any], seed: int, executor: Executor
) -> FirstOutputs:
    """Return the facts from a few outputs of each dataset; slow ones are drawn once more.

    Parameters
    ----------
    mechanism
        Other people's code that draws one output a call.
    datasets
        Those that it will be called on.
    seed, executor
        Of the audit.
    """
    seeds = [stream(seed, "first outputs", str(n)) for n in range(len(datasets))]
    planned = [plan_units(_OF_EACH, 1, one, n) for n, one in enumerate(seeds)]
    units = [unit for together in zip(*planned, strict=True) for unit in together]
    task = partial(unit_draws.glance_unit, mechanism, tuple(datasets))

    def glances(stage: str) -> list[tuple[str, float]]:
        with add_mechanism_name(name_of(mechanism)):
            if not isinstance(mechanism, IsolatedMechanism):
                return list(map(task, units))
            found = executor.map(task, units, Stage(stage, measures=True), mechanism.crew)
            return [(digest, seconds) for digest, seconds in found]

    found = glances("the first outputs")
    seconds = tuple(seconds for _, seconds in found)
    # A quick mechanism is probed otherwise, on more outputs.
    if min(seconds) < SLOW:
        return FirstOutputs(seconds, has_own_randomness=False)
    again = glances("the first outputs again")
    own = any(digest != other for (digest, _), (other, _) in zip(found, again, strict=True))
    return FirstOutputs(seconds + tuple(seconds for _, seconds in again), own)
