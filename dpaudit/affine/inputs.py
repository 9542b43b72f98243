"""Adaptive inputs: a record's bounded addition to a round may depend on all that is known.

A clipped gradient is no linear function of a model. What a recursion does with it may be: then it
is linear in inputs and noise, and an input is a block of private data that is made while the code
runs. `AdaptiveInputs` stands for them: ``inputs.at(step, model)`` is the input of one round, a sum
over records of what each of them adds, of Euclidean norm ``norm`` at most.

| where the code runs        | an input is                                                        |
|----------------------------|--------------------------------------------------------------------|
| to be read                 | a block of symbols, with the arguments that it may depend on       |
| to be compared             | a bounded function of its arguments that is not linear             |
| for real                   | the sum over records of what a given function returns, clipped     |
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.accounting.matrices.participation import Participation, Pattern
from dpaudit.affine.form import AffineForm, FormTracing
from dpaudit.affine.messages import is_constant, is_number, map_parts, parts_of
from dpaudit.affine.program import Ids
from dpaudit.errors import InvalidArgument, VerbatimText

Participating = Literal["single", "min-separation", "cyclic"]
Relation = Literal["zero-out-record", "replace-record"]
Source = Callable[..., Any]


class AdaptiveInputs:
    """One input for each round, which is a sum of terms of the records.

    Parameters
    ----------
    steps
        The number of rounds, counted from 0.
    dimension
        The number of entries of an input.
    norm
        The bound on the Euclidean norm of the term that one record adds to an input.
    participation
        The rounds in which a record takes part: ``single``, one round; ``min-separation``, rounds
        at least ``separation`` apart; ``cyclic``, every ``separation``-th from one of the first.
    separation, participations
        The rounds from one participation of a record to its next, and the largest number of its
        participations; None for all that fit.
    patterns
        The sets of rounds in which a record may take part (or in fewer of them), in place of
        ``participation``.
    relation
        ``zero-out-record``: neighbours differ in whether a record adds anything.
        ``replace-record``: it may add something else, so that inputs move by ``2 norm``.
    function
        A function of a step and the arguments, for runs of one's own, that returns the term of each
        record, shape ``(records, dimension)``, or of one record. The input is the sum of the rows,
        clipped to ``norm``.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here. There is no Poisson sampling: inputs that
        depend on what was released, of a record that is in a round by chance, are outside of the
        theorem.

    Examples
    --------
    >>> inputs = AdaptiveInputs(steps=2, dimension=2, norm=1.0, function=lambda t, w: [3.0, 4.0])
    >>> inputs.at(0, np.zeros(2)).round(6).tolist()
    [0.6, 0.8]
    """

    def __init__(
        self,
        *,
        steps: int,
        dimension: int = 1,
        norm: float = 1.0,
        participation: Participating = "single",
        separation: int = 1,
        participations: int | None = None,
        patterns: Sequence[Sequence[int]] | None = None,
        relation: Relation = "zero-out-record",
        function: Source | None = None,
    ) -> None:
        self.steps = check.require_integer("steps", steps, 1)
        self.dimension = check.require_integer("dimension", dimension, 1)
        self.norm = check.non_negative("norm", norm)
        self.relation = check.require_choice("relation", relation, get_args(Relation))
        self.participation = Participation(
            kind=check.require_choice("participation", participation, get_args(Participating)),
            separation=check.require_integer("separation", separation, 1),
            most=None
            if participations is None
            else check.require_integer("participations", participations, 1),
        )
        # Refuses numbers that do not fit together where they are given, and not when a view
        # asks.
        self.participation.epochs(self.steps)
        self.patterns = None if patterns is None else self._sets_of_rounds(patterns)
        self._source: Source | None = None if function is None else _ClippedSum(function, self)

    def _sets_of_rounds(self, given: Sequence[Sequence[int]]) -> tuple[Pattern, ...]:
        if self.participation != Participation():
            raise InvalidArgument(
                "participation", self.participation.kind, "none together with patterns"
            )
        found = tuple(tuple(sorted({operator.index(one) for one in each})) for each in given)
        if not found or not all(one and 0 <= one[0] and one[-1] < self.steps for one in found):
            raise InvalidArgument("patterns", given, f"sets of rounds from 0 to {self.steps - 1}")
        return found

    @property
    def most(self) -> int:
        """In how many rounds a record is, at most."""
        if self.patterns is not None:
            return max(map(len, self.patterns))
        return self.participation.epochs(self.steps)

    @property
    def radius(self) -> float:
        """The largest movement of an input between neighbours."""
        # A replaced record takes a vector of this norm out and puts another one in.
        return self.norm * (2.0 if self.relation == "replace-record" else 1.0)

    def at(self, step: int, *arguments: Any) -> Any:
        """Return the input of a round, shape ``(dimension,)``.

        Parameters
        ----------
        step
            The round, from 0; each at most once.
        arguments
            All that the input may depend on, beside the records: numbers, arrays, and lists and
            dictionaries of them.
        """
        if self._source is None:
            expected = "a function of the step and of the values on which an input depends"
            raise InvalidArgument("function", None, expected)
        return self._source(step, *arguments)

    def with_source(self, source: Source) -> AdaptiveInputs:
        """Return the same inputs, made by a function as it is."""
        found = copy(self)
        found._source = source
        return found

    def __deepcopy__(self, memo: Any) -> AdaptiveInputs:
        return self  # a copy would note its calls elsewhere

    def round(self, step: Any) -> int:
        """Return a step as an integer, if it is one of the rounds."""
        found = operator.index(step)
        if not 0 <= found < self.steps:
            raise InvalidArgument("step", found, f"from 0 to {self.steps - 1}")
        return found


class _ClippedSum:
    """The sum over records of a function's values, each row clipped."""

    def __init__(self, function: Source, inputs: AdaptiveInputs) -> None:
        self.function, self.inputs = function, inputs

    def __call__(self, step: Any, *arguments: Any) -> NDArray[np.float64]:
        found = np.asarray(self.function(self.inputs.round(step), *arguments), dtype=float)
        rows = np.atleast_2d(found)
        if rows.ndim != 2 or rows.shape[1] != self.inputs.dimension or not np.isfinite(rows).all():
            expected = f"finite rows of {self.inputs.dimension} numbers"
            raise InvalidArgument("function", VerbatimText(f"shape {found.shape}"), expected)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # The smallest normal double instead of 0 keeps 0 / 0 out: a row of zeros stays as it
        # is.
        factors = np.minimum(1.0, self.inputs.norm / np.maximum(norms, np.finfo(float).tiny))
        return np.asarray((rows * factors).sum(axis=0))


# --- inputs of a run that is read ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InputCall:
    """One input that a recursion took.

    Parameters
    ----------
    part
        Which of the adaptive inputs among the private data, counted from 0.
    step
        Its round.
    ids
        Its coordinates, shape ``(dimension,)``.
    arguments
        What it may depend on, with forms for numbers.
    """

    part: int
    step: int
    ids: Ids
    arguments: Any


class SymbolicSource:
    """Inputs as blocks of private data of a program.

    Parameters
    ----------
    tracing
        The run that is read.
    inputs
        What they are.
    part
        Their number among all adaptive inputs.
    calls
        Where to note each.
    """

    def __init__(
        self, tracing: FormTracing, inputs: AdaptiveInputs, part: int, calls: list[InputCall]
    ) -> None:
        self.tracing, self.inputs, self.part, self.calls = tracing, inputs, part, calls

    def __call__(self, step: Any, *arguments: Any) -> AffineForm:
        """Return a new input, and note its arguments."""
        try:
            number = self.inputs.round(step)
        except (TypeError, InvalidArgument) as error:
            raise self.tracing.refuse(
                f"the function takes an input of a round that does not exist: {error}"
            ) from None
        # Two inputs of one round would let a record move both, twice the norm that is stated.
        if any((one.part, one.step) == (self.part, number) for one in self.calls):
            raise self.tracing.refuse(f"the function takes the input of round {number} twice")
        # Copies: what the function writes into an argument later is not what the input depends
        # on.
        given = map_parts(list(arguments), self._form_of)
        ids = self.tracing.program.add_leaf("data", self.inputs.dimension)
        self.calls.append(InputCall(self.part, number, ids, given))
        return AffineForm(self.tracing, ids.copy(), np.zeros(len(ids)))

    def __reduce__(self) -> Any:
        raise self.tracing.refuse("adaptive inputs leave the process")

    def _form_of(self, value: Any) -> Any:
        if isinstance(value, AffineForm):
            return value.copy()
        if is_number(value):
            return self.tracing.public(value)
        if is_constant(value):
            return value
        kind = type(value).__name__  # which may hide numbers
        raise self.tracing.refuse(f"an input gets neither numbers nor text, but {kind}")


class PlainSource:
    """Inputs on plain numbers, which no linear function of their arguments is near to.

    Parameters
    ----------
    inputs
        What they are.
    part
        Their number among all adaptive inputs.
    spread
        How large they are, and a seed.
    calls
        Where to note each.
    """

    def __init__(
        self,
        inputs: AdaptiveInputs,
        part: int,
        spread: tuple[float, int],
        calls: list[PlainCall],
    ) -> None:
        self.inputs, self.part, self.calls = inputs, part, calls
        self.scale, self.seed = spread

    def __call__(self, step: Any, *arguments: Any) -> NDArray[np.float64]:
        """Return the wave of the arguments, and record it."""
        number, given = self.inputs.round(step), numbers_in(list(arguments))
        # Any change of an argument turns the wave, so a run that passes other arguments than
        # the traced one gets other inputs and is found out.
        weights = np.cos(np.arange(1, len(given) + 1) * (1 + self.seed % 97))
        places = np.arange(1.0, self.inputs.dimension + 1)
        turn = float(weights @ given) / self.scale + self.seed % 8191 + 2.4 * number
        value = self.scale * np.sin(turn * np.sqrt(places) + places)
        self.calls.append(PlainCall(self.part, number, deepcopy(list(arguments)), value.copy()))
        return np.asarray(value)


@dataclass(frozen=True, eq=False)
class PlainCall:
    """One input of a run on plain numbers: its part and round, its arguments, and itself."""

    part: int
    step: int
    arguments: Any
    value: NDArray[np.float64]


def numbers_in(value: Any) -> NDArray[np.float64]:
    """Return all numbers of a nested value in a row, in memory of their own."""
    found = [np.ravel(one).astype(float) for one in parts_of(value) if is_number(one)]
    return np.concatenate([np.zeros(0), *found])
