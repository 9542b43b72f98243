"""A function with its pair, and the exact numbers that judge what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Number = Callable[[], float]
# What a reader of laws may do with a function: read a law whose losses are those of outputs, read
# one that is an upper view of them, read none, or either.
Reading = Literal["outputs", "noisy values", "none", "any"]


@dataclass(frozen=True)
class Judged:
    """A function, two neighbouring datasets, and what is exactly true of them.

    Attributes
    ----------
    mechanism, dataset, neighbour, given
        What `dpaudit.audit` takes, the last by name.
    delta
        At which the epsilons are exact.
    noisy
        The epsilon of all noisy values that are formed, with the coins that chose them.
    of_outputs
        That of the outputs, where it is another.
    least
        An epsilon that is certain to hold, where that of the outputs is only bounded.
    reading
        Whether a law may be read, and whose.
    reason
        Why none may, or what is difficult.
    """

    mechanism: Any
    dataset: Any
    neighbour: Any
    noisy: Number
    of_outputs: Number | None = None
    least: Number | None = None
    delta: float = 0.0
    reading: Reading = "outputs"
    reason: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def epsilon_of_noisy_values(self) -> float:
        """What everything noisy is worth."""
        return self.noisy()

    @cached_property
    def epsilon(self) -> float:
        """What the outputs are worth: no lower end may be above it."""
        return self.epsilon_of_noisy_values if self.of_outputs is None else self.of_outputs()

    @cached_property
    def least_epsilon(self) -> float:
        """What no upper end may be below."""
        return self.epsilon if self.least is None else self.least()


def exactly(value: float) -> Number:
    """Return a number that needs no computation."""
    return lambda: value
