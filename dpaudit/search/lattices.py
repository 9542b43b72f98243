"""Numbers that noise moves in steps alone: no noise reaches the values between two steps.

A total of fractions with noise that is rounded, or with integer noise: the noise moves it by whole
numbers, and its fraction is the total's. The step of a number is the greatest common divisor of the
differences of outputs of one dataset, as far as numbers of finite precision have one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpaudit._typing import Array
from dpaudit.freezing.outputs import Output

OUTPUTS = 12  # of one dataset that decide
_LAST_BITS = 256 * float(np.finfo(np.float64).eps)  # of the largest number
_FINEST = 1e-6  # of the largest difference: a finer step is none
_CLEAR = 1e3  # last bits that a step is at least
_DENOMINATOR = 1000
_PRECISION = 1e-9
_LEAST = 1e-3  # of a step that is told from none


@dataclass(frozen=True)
class Lattices:
    """The steps in which noise moves the parts of an output.

    Parameters
    ----------
    paths
        Of the parts.
    steps
        One for each part, 0 where it has none, shape ``(d,)``.
    """

    paths: tuple[str, ...]
    steps: Array

    def apart(self, one: Output, other: Output) -> float:
        """Return how far numbers of two outputs are from the steps of one another, in steps.

        The largest such distance, at most a half; 0 if rounding explains it.
        """
        here, there = (dict(zip(each.paths, each.numbers, strict=True)) for each in (one, other))
        both = [
            (here[path], there[path], step)
            for path, step in zip(self.paths, self.steps.tolist(), strict=True)
            if step and path in here and path in there
        ]
        return max((_measure_step_remainder(a, b, step) for a, b, step in both), default=0.0)


def _measure_step_remainder(one: float, other: float, step: float) -> float:
    """Return how far a difference is from a multiple of a step, in steps."""
    if not np.isfinite([one, other]).all():
        return 0.0
    steps = (one - other) / step
    found = abs(steps - round(steps))
    unsure = _LAST_BITS * max(abs(one), abs(other)) / step
    return found if found > max(_LEAST, unsure) else 0.0


def lattices_of(outputs: list[Output]) -> Lattices | None:
    """Return the steps of numbers of outputs with other noises; None if no number has one.

    Examples
    --------
    >>> outputs = [Output(numbers=[n + 0.375, n / 7 + n * n]) for n in (0.0, 3.0, 4.0, 11.0)]
    >>> for one in outputs:
    ...     one.paths = ["total", "more"]
    >>> lattices_of(outputs).steps.round(9).tolist()
    [1.0, 0.285714286]
    """
    paths = outputs[0].paths
    if not paths or any(one.paths != paths for one in outputs):
        return None
    numbers = np.array([one.numbers for one in outputs])
    steps = np.array([_find_common_step(column) for column in numbers.T])
    return Lattices(tuple(paths), steps) if steps.any() else None


def _find_common_step(numbers: Array) -> float:
    """Return the largest number that all differences are multiples of; 0 if there is none."""
    if not np.isfinite(numbers).all():
        return 0.0
    apart = np.unique(np.abs(numbers[1:] - numbers[0]))
    unsure = _LAST_BITS * float(np.abs(numbers).max())
    # Differences within the last bits would make a step of rounding errors.
    apart = apart[apart > unsure]
    if not len(apart):
        return 0.0
    found, largest = 0.0, float(apart[-1])
    for one in apart.tolist():
        found = _common_divisor(one, found, unsure)
    # Any two numbers have some common divisor near the precision of doubles.
    if found < max(_FINEST * largest, _CLEAR * unsure):
        return 0.0
    # The largest difference tells the step with the smallest relative error.
    return _round_step_to_fraction(largest / round(largest / found))


def _common_divisor(one: float, other: float, unsure: float) -> float:
    """Return a common divisor of two numbers, up to their uncertainty."""
    while other > unsure:
        rest = abs(one - other * round(one / other))
        one, other = other, rest
        # A remainder has the uncertainty of both numbers that it comes from.
        unsure *= 2
    return one


def _round_step_to_fraction(step: float) -> float:
    """Return a fraction of small numbers, where a step is near to one."""
    plain = float(Fraction(step).limit_denominator(_DENOMINATOR))
    return plain if abs(plain - step) <= _PRECISION * step else step
