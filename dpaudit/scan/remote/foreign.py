"""A subject of a package as a mechanism: it runs in the package's environment, and is read here.

To everything else it is an ordinary mechanism of other people's code. A call that never returns,
ends its process or eats its memory is an outcome: `Foreign.one_by_one` draws each output in a
request of its own, so that what happened belongs to one output and the next one is drawn as ever.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence

import dpaudit.watching as watching
from dpaudit._typing import Array
from dpaudit.errors import MechanismError
from dpaudit.execution.failures import DrawTimeout, WorkerEnded
from dpaudit.execution.pool import Crew
from dpaudit.execution.processes import TaskReference
from dpaudit.execution.units import Unit, plan_units
from dpaudit.mechanisms.outputs.layout import Layout, PartLayout, layout_of
from dpaudit.mechanisms.outputs.leaves import LeafToken
from dpaudit.mechanisms.outputs.observations import split_observation
from dpaudit.scan.remote import child
from dpaudit.scan.remote.decoding import ProcessEnded, decode_observation
from dpaudit.watching.watch import Touch

SCRIPT = str(Path(child.__file__).resolve())
_WATCHING = str(Path(watching.__file__).resolve().parent)
_WATCHED = 3  # calls on either dataset whose touches are watched, the first with its imports
_IN_ANY_CASE = 2.0  # seconds that there are for them, whenever a scan has to end
# Each request costs a round trip, and a process that ends loses all of its request. The size is
# part of how seeds are planned.
_UNIT = 16  # outputs of a request
_TOGETHER = 512  # outputs of one call that draws many
# Outputs that texts are read off at a time.
_FEW = 4  # where each is drawn in a request of its own
_SOME = 32  # else


class SharedCall(MechanismError):
    """Outputs that one call drew, and that share its words or its failure."""


@dataclass(frozen=True, eq=False)
class Foreign:
    """A subject with one setting, as a mechanism.

    Parameters
    ----------
    crew
        The workers of the package's environment.
    file, function
        The plain module and the function in it.
    parameters
        Of the setting.
    many
        Whether one call draws many outputs.
    apart
        Whether it draws one all the same: where it warns or fails, each output has its own call.
    layout
        What stands where in an output; None until it was made of observations.
    alone
        Whether each output is drawn in a request of its own, and an ended process is an outcome.
    workers
        How many workers share a draw.
    distribution
        Whose package it is of: what that reads when it is imported counts as well.
    """

    crew: Crew
    file: str
    function: str
    parameters: Mapping[str, Any]
    many: bool = False
    apart: bool = False
    layout: Layout | None = None
    alone: bool = False
    workers: int = 1
    distribution: str = ""

    @property
    def called_as(self) -> str:
        """The form of a call."""
        return f"{self.function}(data, {', '.join(self.parameters)})"

    def having(self, layout: Layout) -> Foreign:
        """Return the mechanism with a layout."""
        return replace(self, layout=layout)

    def drawn_apart(self) -> Foreign:
        """Return the mechanism where each output has a call of its own."""
        return replace(self, many=False, apart=True)

    def one_by_one(self) -> Foreign:
        """Return the mechanism where an ended process is an outcome."""
        return replace(self, alone=True)

    def sample(self, dataset: Any, trials: int, rng: Generator) -> Any:
        """Return outputs, shape ``(trials, ...)``; without a layout, observations.

        Raises
        ------
        MechanismError
            Its process ended and outputs are not drawn one by one, or it cannot be called.
        """
        seed = SeedSequence([int(word) for word in rng.integers(2**32, size=4)])
        found = self.observations(dataset, trials, seed)
        return found if self.layout is None else self.layout.rows(found, trials)

    def observations(self, dataset: Any, trials: int, seed: SeedSequence) -> Any:
        """Return observations, an array where all are numbers; raises as `sample` does.

        Raises
        ------
        SharedCall
            What calls of many outputs said differs, or one of them failed: see `drawn_apart`.
        """
        task = TaskReference(f"{SCRIPT}:sampled", self.task(dataset))
        if self.alone:
            return [one for unit in plan_units(trials, 1, seed) for one in self._one(task, unit)]
        batches = self.crew.draw(task, self._units(trials, seed), self.workers)
        return join_observations(_agreeing([one for found in batches for one in found]))

    def in_turn(self, datasets: Sequence[Any], trials: int, rng: Generator) -> tuple[Any, Any]:
        """Return the outputs of `sample` on two datasets, whose calls are mixed in a random order.

        Each process makes as many calls on either, so that no state of it, and no hour, is one
        dataset's. Raises as `observations` does.
        """
        seed = SeedSequence([int(word) for word in rng.integers(2**32, size=4)])
        p, q = self.observed_in_turn(datasets, trials, seed)
        if self.layout is None:
            return p, q
        return self.layout.rows(p, trials), self.layout.rows(q, trials)

    def observed_in_turn(
        self, datasets: Sequence[Any], trials: int, seed: SeedSequence
    ) -> tuple[Any, Any]:
        """Return observations of two datasets, as `in_turn` does outputs."""
        first, second = datasets
        if self.alone:
            return self._one_in_turn(datasets, trials, seed)
        task = TaskReference(f"{SCRIPT}:in_turn", {**self.task(first), "other": second})
        batches = self.crew.draw(task, self._units(trials, seed), self.workers)
        both = [one for found in batches for one in found]
        _agreeing([side for one in both for side in one])
        first = join_observations([one[0] for one in both])
        return first, join_observations([one[1] for one in both])

    def _one_in_turn(
        self, datasets: Sequence[Any], trials: int, seed: SeedSequence
    ) -> tuple[Any, Any]:
        units = iter(plan_units(2 * trials, 1, seed))
        tasks = [TaskReference(f"{SCRIPT}:sampled", self.task(one)) for one in datasets]
        found: tuple[list[Any], list[Any]] = ([], [])
        # A fixed number of each side in a random order, as in `child.in_turn`: what a package
        # keeps from call to call then falls on both sides alike.
        order = np.random.default_rng(seed).permutation(np.repeat([0, 1], trials))
        for side in order.tolist():
            found[side].extend(self._one(tasks[side], next(units)))
        return found

    def watched(
        self, datasets: Sequence[Any], seed: SeedSequence, ahead: int, patience: float
    ) -> tuple[list[Touch], list[Any]]:
        """Return the state that import and a few calls touch in a new interpreter, and answers.

        Parameters
        ----------
        datasets
            On which it is called.
        seed
            Of the calls.
        ahead
            Steps that the clocks of the interpreter are set forward.
        patience
            Seconds that a call may take, as the first one does, which imports.

        Returns
        -------
        tuple
            Kinds and names of what was touched; and of each dataset what `sample` returns.

        Raises
        ------
        DrawTimeout
            There was no time for it.
        WorkerEnded
            Its process ended, and outputs are not drawn one by one.
        """
        more = {"watching": _WATCHING, "distribution": self.distribution, "ahead": ahead}
        calls = iter(plan_units(_WATCHED * len(datasets), 1, seed))
        touches, found = dict[Touch, None](), list[Any]()
        with Crew(self.crew.limits, _another(self.crew.python or sys.executable)) as crew:
            until = math.inf if self.crew.until is None else self.crew.until
            # A refutation that nobody looked at again would have to be withdrawn, so that the
            # watch gets a little time even where the scan's own is over.
            by = max(until, time.monotonic() + _IN_ANY_CASE)
            with crew.patient(patience), crew.by(by):
                for dataset in datasets:
                    task = TaskReference(f"{SCRIPT}:watched", self.task(dataset) | more)
                    some = [
                        self._draw_watched_unit(crew, task, next(calls)) for _ in range(_WATCHED)
                    ]
                    touches |= {(str(a), str(b)): None for seen, _ in some for a, b in seen}
                    found.append(self._as_sampled([one for _, one in some]))
        return list(touches), found

    def _draw_watched_unit(
        self, crew: Crew, task: TaskReference, unit: Unit
    ) -> tuple[list[Any], Any]:
        try:
            (((seen, batch),),) = crew.draw(task, [unit], 1)
        except WorkerEnded as error:
            if not self.alone:
                raise
            return [], [ProcessEnded(str(error))]
        return seen, join_observations([batch])

    def _as_sampled(self, found: Sequence[Any]) -> Any:
        """Return outputs of calls as `sample` returns those of one."""
        numbers = not self.alone and all(isinstance(one, np.ndarray) for one in found)
        every = np.concatenate(found) if numbers else [each for one in found for each in one]
        return every if self.layout is None else self.layout.rows(every, len(every))

    def _units(self, trials: int, seed: SeedSequence) -> Sequence[Unit]:
        return plan_units(trials, _TOGETHER if self.many else _UNIT, seed)

    def laid_out(self, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]) -> Layout:
        """Return a layout of so many observations on each dataset."""
        bare = replace(self, layout=None)
        given = zip(datasets, rngs, strict=True)
        return layout_of([bare.sample(dataset, trials, rng) for dataset, rng in given])

    def texts(
        self,
        datasets: Sequence[Any],
        trials: int,
        rngs: Sequence[Generator],
        codes: Sequence[float],
    ) -> dict[float, tuple[str, str]]:
        """Return kind and text of codes, as far as they turn up in so many observations.

        Where there is no time for these, what was counted stands, and is said without its text.
        """
        bare, found = replace(self, layout=None), dict[float, tuple[str, str]]()
        trials = min(trials, _FEW if self.alone else _SOME)
        with contextlib.suppress(DrawTimeout):
            for dataset, rng in zip(datasets, rngs, strict=True):
                for observation in bare.sample(dataset, trials, rng):
                    found |= {
                        token.code: (token.kind, token.text)
                        for token in self._tokens(observation)
                        if token.code in codes
                    }
        return found

    def _tokens(self, observation: Any) -> Iterator[LeafToken]:
        for one in split_observation(observation).values():
            yield from (part for part in one if isinstance(part, LeafToken))
        if isinstance(self.layout, PartLayout):
            yield from self.layout.tokens(observation)

    def task(self, dataset: Any) -> dict[str, Any]:
        """Return the task for its environment: the function, its file, and its data."""
        return {
            "file": self.file,
            "function": self.function,
            "parameters": dict(self.parameters),
            "data": dataset,
            "apart": self.apart,
        }

    def _one(self, task: TaskReference, unit: Unit) -> list[Any]:
        try:
            ((batch,),) = self.crew.draw(task, [unit], 1)
        except WorkerEnded as error:
            return [ProcessEnded(str(error))]
        return list(join_observations([batch]))


def _another(python: str) -> str:
    """Return a path of a Python whose interpreter is none of those that draw: hashes are others."""
    # The keeper of processes forks workers of one interpreter by its path; another spelling of
    # the path starts a new interpreter, with new hashes and imports.
    return os.path.join(os.path.dirname(python), os.curdir, os.path.basename(python))


def _agreeing(batches: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return batches, unless the words of calls of many outputs tell some from others.

    Outputs of one call share its warnings: they are one outcome, and not one of each. Where all
    calls said the same this is a constant, and the outputs are independent of each other.
    """
    said = {repr(one.get("said")) for one in batches}
    # An error of a call comes as text, and its warnings as a list.
    failed = any(isinstance(one.get("said"), str) for one in batches)
    if failed or len(said) > 1:
        raise SharedCall("calls that draw many outputs at once do not all end in the same way")
    return batches


def join_observations(batches: Sequence[Mapping[str, Any]]) -> Array | list[Any]:
    """Return the observations of some batches in one: an array if all of them are numbers.

    Raises
    ------
    MechanismError
        What came is no batch.
    """
    if all("numbers" in one for one in batches):
        return np.concatenate([one["numbers"] for one in batches])
    found = list[Any]()
    for one in batches:
        if not one.keys() & {"numbers", "outputs"}:
            raise MechanismError("its environment sent something that is not a batch of outputs")
        found += (
            one["numbers"].tolist() if "numbers" in one else map(decode_observation, one["outputs"])
        )
    return found
