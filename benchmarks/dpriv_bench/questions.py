"""The questions of DPriv-Bench's category 1: statistics, mechanisms, a true and a false claim.

DPriv-Bench (Wang and others, arXiv 2604.15851) asks of each of 49 statistics and six mechanisms
whether a claim holds: once with the noise that the claimed sensitivity s needs, labelled true, and
once with less, labelled false. Its epsilon, beta and rho are symbols; here they are numbers.

| mechanism | noise where the claim is true | where it is false | claim |
|---|---|---|---|
| Laplace | scale s / epsilon | half the scale | epsilon-DP |
| Gaussian, GDP | variance s^2 / beta^2 | half the variance | beta-GDP |
| Gaussian, zCDP | variance s^2 / (2 rho) | half the variance | rho-zCDP |
| exponential | Gumbel, scale 2s / epsilon | half the scale | epsilon-DP |
| noisy max | Laplace, scale 2s / epsilon | half the scale | epsilon-DP |
| permute-and-flip | exponential, scale 2s / epsilon | half the scale | epsilon-DP |

The first three release f(x) with noise, the others the argmax of f(column) with noise.
Where something is chosen, the data are a table of a row for each of n people and a column for each
of d items, all in [0, 1]; neighbours differ in one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dpaudit
from benchmarks.dpriv_bench.functions import STATISTICS, Query, Statistic

EPSILON, BETA, RHO = 1.0, 1.0, 0.5
RECORDS = 5  # the claimed sensitivities are all attained at this number: `functions`
ITEMS = 6

Release = Callable[[Any, Any], Any]


def add_noise(query: Query, law: str, scale: float) -> Release:
    """Return a function of data and a generator: a statistic of all records with noise."""

    def release(data, rng):
        return query(data) + getattr(rng, law)(0.0, scale)

    return release


def choose_item(query: Query, law: str, scale: float) -> Release:
    """Return a function of data and a generator: the column with the largest noisy statistic."""

    def release(data, rng):
        scores = np.array([query(column) for column in data.T])
        where = () if law == "exponential" else (0.0,)
        return int(np.argmax(scores + getattr(rng, law)(*where, scale, size=len(scores))))

    return release


@dataclass(frozen=True)
class Mechanism:
    """A mechanism of category 1: how it is built, and what is claimed of it.

    Attributes
    ----------
    scale
        Scale of the noise over the sensitivity where the claim is true, and where it is false.
    claim
        What `dpaudit.audit` is told.
    """

    name: str
    law: str
    build: Callable[[Query, str, float], Release]
    scale: tuple[float, float]
    claim: dict[str, Any] = field(hash=False)
    columns: int | None = None

    @property
    def guarantee(self) -> dpaudit.Guarantee:
        """What is claimed."""
        return self.claim.get("claim") or dpaudit.PureDP(self.claim["epsilon"])

    def domain(self, records: int) -> dict[str, Any]:
        """Return the domain of its data, as `dpaudit.audit` takes it."""
        columns = {} if self.columns is None else {"columns": self.columns}
        return {"bounds": (0, 1), "records": records, **columns}


_PURE = {"epsilon": EPSILON}
_SELECTION = (2 / EPSILON, 1 / EPSILON)
MECHANISMS = {
    "laplace": Mechanism("Laplace", "laplace", add_noise, (1 / EPSILON, 0.5 / EPSILON), _PURE),
    "gdp": Mechanism(
        "Gaussian, GDP",
        "normal",
        add_noise,
        (1 / BETA, math.sqrt(0.5) / BETA),
        {"claim": dpaudit.GaussianDP(mu=BETA)},
    ),
    "zcdp": Mechanism(
        "Gaussian, zCDP",
        "normal",
        add_noise,
        (math.sqrt(0.5 / RHO), math.sqrt(0.25 / RHO)),
        {"claim": dpaudit.ZeroConcentratedDP(rho=RHO)},
    ),
    "exponential": Mechanism("exponential", "gumbel", choose_item, _SELECTION, _PURE, ITEMS),
    "noisy-max": Mechanism("noisy max", "laplace", choose_item, _SELECTION, _PURE, ITEMS),
    "permute-and-flip": Mechanism(
        "permute-and-flip", "exponential", choose_item, _SELECTION, _PURE, ITEMS
    ),
}
ADDITIVE = ("laplace", "gdp", "zcdp")


@dataclass(frozen=True)
class Question:
    """Whether a mechanism on a statistic keeps its claim.

    Attributes
    ----------
    label
        What DPriv-Bench says: whether the claim holds.
    """

    statistic: Statistic
    mechanism: Mechanism
    label: bool
    records: int = RECORDS

    @property
    def number(self) -> int:
        """Its number in DPriv-Bench's file of the mechanism."""
        return 2 * self.statistic.number - self.label

    @property
    def scale(self) -> float:
        """Scale of the noise: of a Gaussian its standard deviation."""
        relative = self.mechanism.scale[0 if self.label else 1]
        return self.statistic.claimed.at(self.records) * relative

    def release(self) -> Release:
        """Return the mechanism as a function of data and a generator."""
        return self.mechanism.build(self.statistic.query, self.mechanism.law, self.scale)


def questions(
    mechanisms: Sequence[str] = ADDITIVE, records: int = RECORDS, numbers: Sequence[int] = ()
) -> Iterator[Question]:
    """Yield questions, by mechanism, then by statistic, the true claim first."""
    for name in mechanisms:
        for number in numbers or sorted(STATISTICS):
            for label in (True, False):
                yield Question(STATISTICS[number], MECHANISMS[name], label, records)
