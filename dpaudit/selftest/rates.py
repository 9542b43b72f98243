"""How often an estimator erred, next to how often it may."""

from __future__ import annotations

from dataclasses import dataclass

from statsmodels.stats.proportion import proportion_confint

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument

CONFIDENCE = (
    0.999  # of an interval: with dozens of rows, one in a hundred tables is wrong by chance
)


@dataclass(frozen=True)
class Rate:
    """So many misses in so many audits, of which a share of ``nominal`` may miss.

    Parameters
    ----------
    misses, audits
        Counts.
    nominal
        The error probability that was asked for.

    Examples
    --------
    >>> rate = Rate(7, 100, 0.05)
    >>> [round(end, 3) for end in rate.interval], rate.sound, Rate(20, 100, 0.05).sound
    ([0.014, 0.193], True, False)
    """

    misses: int
    audits: int
    nominal: float

    def __post_init__(self) -> None:
        check.integer("audits", self.audits, least=1)
        check.probability("nominal", self.nominal)
        if not 0 <= check.integer("misses", self.misses, least=0) <= self.audits:
            raise InvalidArgument("misses", self.misses, f"at most the {self.audits} audits")

    @property
    def observed(self) -> float:
        """The share that missed."""
        return self.misses / self.audits

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of the error probability, at 99.9%."""
        low, high = proportion_confint(
            self.misses, self.audits, alpha=1 - CONFIDENCE, method="beta"
        )
        return (
            float(low) if self.misses else 0.0,
            float(high) if self.misses < self.audits else 1.0,
        )

    @property
    def sound(self) -> bool:
        """Whether the counts allow an error probability of at most the nominal one."""
        return self.interval[0] <= self.nominal
