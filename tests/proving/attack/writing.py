"""A Python function as it is written, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field

from .choices import Choices

NUMBERS = ("0.5", "1.0", "2.0", "3", "-1", "0", "0.25", "10", "-0.0", "1e3")
SCALES = ("1.0", "2.0", "5", "0.5", "3.0")


@dataclass
class Writer:
    """A function as it is written.

    Parameters
    ----------
    choices
        What decides.
    width
        Numbers of a record, 0 where a dataset is one array.
    """

    choices: Choices
    width: int
    before: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    arrays: list[str] = field(default_factory=lambda: ["data"])
    numbers: list[str] = field(default_factory=list)
    noisy: list[str] = field(default_factory=list)
    traps: list[str] = field(default_factory=list)
    is_false: bool = False
    count: int = 0

    def name(self, kind: str) -> str:
        """Return a fresh name."""
        self.count += 1
        return f"{kind}{self.count}"

    def array(self) -> str:
        """Return the name of an array of records, a late one more often."""
        if self.choices.happens(60):
            return self.arrays[-1]
        return self.choices.one_of(self.arrays)

    def constant(self) -> str:
        """Return a public number."""
        return self.choices.one_of(NUMBERS)

    def scale(self) -> str:
        """Return a scale of noise."""
        return self.choices.one_of(SCALES)

    def let(self, kind: str, expression: str) -> str:
        """Write an assignment, and return the name."""
        name = self.name(kind)
        self.lines.append(f"{name} = {expression}")
        {"a": self.arrays, "s": self.numbers, "r": self.noisy}[kind].append(name)
        return name

    def trap(self, name: str, *, is_false: bool = False) -> None:
        """Note a trap."""
        self.traps.append(name)
        self.is_false |= is_false
