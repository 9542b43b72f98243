"""What an accountant answers: a number, or two ends between which it lies."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.errors import InvalidArgument


@dataclass(frozen=True)
class Bracket:
    """Bounds on an exact value. What is proved about privacy is the upper end.

    Examples
    --------
    >>> Bracket(1.0, 1.5).width, Bracket.exactly(2.0)
    (0.5, Bracket(lower=2.0, upper=2.0))
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InvalidArgument("lower", self.lower, f"at most the upper end, {self.upper}")

    @classmethod
    def exactly(cls, value: float) -> Bracket:
        """Return the bracket of a value that is known."""
        return cls(value, value)

    @property
    def width(self) -> float:
        """Upper end less lower end; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def contains(self, value: float) -> bool:
        """Return whether ``value`` lies between the ends."""
        return self.lower <= value <= self.upper
