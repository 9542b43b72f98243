"""Runs, their means with standard errors, and differences measured in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.datasets.dataset import Dataset
from dpaudit.execution import one_thread
from dpaudit.reproduction.judgement import SettingFinding

CLEAR = 3.0  # standard errors from which a difference counts
_AT_ONCE = 10  # runs whose outputs are in memory together


class RunSource(Protocol):
    """The source of runs."""

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return ``trials`` outputs."""
        ...


def measure_in_blocks(
    mechanism: RunSource,
    dataset: Dataset,
    runs: int,
    rng: Generator,
    measure: Callable[[Array], Array],
) -> Array:
    """Return ``measure`` of so many outputs, of which only a few are kept at once."""
    blocks = [min(_AT_ONCE, runs - start) for start in range(0, runs, _AT_ONCE)]
    with one_thread():
        return np.concatenate([measure(mechanism.sample(dataset, n, rng)) for n in blocks])


@dataclass(frozen=True)
class Mean:
    """A mean over runs and its standard error; nan from one run, which shows no spread."""

    value: float
    error: float

    @classmethod
    def of(cls, runs: Array) -> Mean:
        """Return the mean of ``runs``, shape ``(R,)``.

        Examples
        --------
        >>> Mean.of(np.array([1.0, 3.0]))
        Mean(value=2.0, error=1.0)
        """
        count = len(runs)
        error = float(runs.std(ddof=1)) / math.sqrt(count) if count > 1 else math.nan
        return cls(float(runs.mean()), error)

    def below(self, other: Mean) -> float:
        """Return by how many standard errors of the difference this is below the other.

        Examples
        --------
        >>> Mean(1.0, 3.0).below(Mean(11.0, 4.0))
        2.0
        """
        difference, error = other.value - self.value, math.hypot(self.error, other.error)
        # Means of equal runs have no error, and any difference between them is then more than
        # every multiple of it.
        if error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / error

    def __str__(self) -> str:
        spread = "" if math.isnan(self.error) else f" +- {self.error:.4f}"
        return f"{self.value:.4f}{spread}"


def in_errors(ahead: float) -> str:
    """Return so many standard errors in words, and from how many on they count.

    Examples
    --------
    >>> in_errors(4.25)
    '4.2 standard errors, 3 counts'
    >>> in_errors(math.nan)
    'unknown, as one run shows no spread'
    """
    if math.isnan(ahead):
        return "unknown, as one run shows no spread"
    return f"{ahead:.1f} standard errors, {CLEAR:g} counts"


def is_clearly_ahead(ahead: float) -> bool | None:
    """Return whether so many standard errors say that something is ahead; None: neither way.

    Examples
    --------
    >>> is_clearly_ahead(4.0), is_clearly_ahead(-4.0), is_clearly_ahead(1.0)
    (True, False, None)
    """
    return ahead > 0 if abs(ahead) > CLEAR else None


def judge_falling_means(means: Mapping[str, Mean]) -> SettingFinding:
    """Judge whether means fall, in their order: clearly overall, and nowhere clearly rising.

    Clearly is by `CLEAR` standard errors. A clear rise contradicts the statement; where neither is
    clear, the runs do not decide.

    Examples
    --------
    >>> judge_falling_means({"1": Mean(3.0, 0.1), "2": Mean(2.0, 0.1), "3": Mean(2.05, 0.1)}).held
    True
    >>> judge_falling_means({"1": Mean(3.0, 0.1), "2": Mean(4.0, 0.1), "3": Mean(2.0, 0.1)}).held
    False
    >>> judge_falling_means({"1": Mean(3.0, 1.0), "2": Mean(2.0, 1.0)}).held is None
    True
    """
    first, *_, last = means.values()
    total = last.below(first)
    rise = max(earlier.below(later) for earlier, later in pairwise(means.values()))
    held: bool | None = None
    # A single clear rise contradicts a fall, even where the last mean is clearly below the
    # first.
    if rise > CLEAR or total < -CLEAR:
        held = False
    elif total > CLEAR:
        held = True
    words = ", ".join(f"{name}: {mean}" for name, mean in means.items())
    return SettingFinding(
        held=held,
        number=total,
        measure="fall from first to last, in standard errors",
        evidence=f"{words}; fall from first to last {in_errors(total)}; largest rise between "
        f"neighbours {in_errors(rise)}",
    )
