"""A claim as a search sees it: climb, check the assumptions, shrink, and certify.

`searched` is the one way from an `Inequality` to what a report shows. What climbs is a function of
the budget, most often `dpaudit.refutation.search.maximise` over a `Space`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from numpy.random import Generator

from dpaudit.refutation.certificate import Certificate
from dpaudit.refutation.inequality import Inequality, exceeds

InstanceT = TypeVar("InstanceT")


@dataclass(frozen=True, kw_only=True)
class WorstInstance:
    """The worst instance that a search found.

    Parameters
    ----------
    value, bound
        What the claim bounds, and by what, on this instance. An infinite epsilon is a value too.
    instance
        The instance in words.
    scale
        Size of what was added up in ``value`` and ``bound``, to which their difference is compared;
        None compares it to ``bound``, which is then above 0.
    because
        Why the claim fails there, as a sentence for the report.
    minimal
        The smallest instance that breaks the claim, in words.
    certificate
        What refutes the claim, if anything does.
    strict
        Whether the value is claimed to be below the bound, and not only at most it.
    confidence
        1 for an instance that was computed; below 1 where the bound is one that chance exceeds so
        rarely.
    """

    value: float
    bound: float
    instance: str
    scale: float | None = None
    because: str | None = None
    minimal: str | None = None
    certificate: Certificate | None = None
    strict: bool = False
    confidence: float = 1.0

    @property
    def refutes(self) -> bool:
        """Whether the value is above the bound, by more than rounding, or meets a strict one.

        Examples
        --------
        >>> met = WorstInstance(value=0.0, bound=0.0, scale=1.0, instance="an example")
        >>> met.refutes, WorstInstance(**{**vars(met), "strict": True}).refutes
        (False, True)
        """
        # A strict claim is broken by equality, which no tolerance for rounding can show.
        return exceeds(self.ratio) or (self.strict and self.value >= self.bound)

    @property
    def ratio(self) -> float:
        """``value / bound``, or 1 plus their difference over the scale: above 1 refutes."""
        if self.scale is None:
            return self.value / self.bound
        return 1 + (self.value - self.bound) / self.scale


def searched(
    inequality: Inequality[InstanceT],
    climb: Callable[[int, Generator], InstanceT],
    budget: int,
    rng: Generator,
    *,
    seed: int,
    smallest: Callable[[InstanceT], str | None] | None = None,
) -> WorstInstance:
    """Return the worst instance of a search and, if it breaks the claim, why and a certificate.

    Parameters
    ----------
    inequality
        The claim.
    climb
        Spends the budget and returns the best instance.
    budget, rng, seed
        Of the search; the seed is written into the certificate.
    smallest
        The smallest instance that breaks the claim, in words; asked only if one was found.

    Raises
    ------
    MechanismError
        An assumption does not hold on what was found: the search is wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit.refutation import Condition
    >>> halved = Inequality(
    ...     name="halved-mean",
    ...     source="an example",
    ...     sides=lambda x: (abs(x) / 10, 0.05),
    ...     conditions=lambda x: (Condition(name="record in [0, 1]", value=abs(x), limit=1.0),),
    ... )
    >>> def best(budget, rng):
    ...     return float(rng.uniform(size=budget).max())
    >>> round(searched(halved, best, 1_000, np.random.default_rng(0), seed=0).ratio, 1)
    2.0
    """
    # Assumptions are checked on what was found, and not only kept by the moves: a search that
    # leaves them would refute nothing.
    instance = inequality.checked(climb(budget, rng))
    value, bound = inequality.sides(instance)
    refuted = exceeds(inequality.ratio(instance))
    return WorstInstance(
        value=value,
        bound=bound,
        scale=inequality.scale(instance) if inequality.scale else None,
        instance=inequality.words(instance),
        because=inequality.because(instance) if refuted and inequality.because else None,
        minimal=smallest(instance) if refuted and smallest else None,
        certificate=certified(inequality, instance, {"seed": seed, "budget": budget}),
    )


def certified(
    inequality: Inequality[InstanceT], instance: InstanceT, search: Mapping[str, int]
) -> Certificate | None:
    """Return the certificate of a violation, or None where the instance is none.

    ``search`` says how it was found: seed and budget.
    """
    if inequality.evidence is None or not inequality.is_refuted_by(instance):
        return None
    evidence = inequality.evidence(instance)
    if evidence is None:
        return None
    quantities = dict(evidence.quantities)
    quantities.setdefault("ratio", inequality.ratio(instance))
    return Certificate(
        claim=inequality.name,
        source=inequality.source,
        relation=evidence.relation,
        parameters=evidence.parameters,
        instance=evidence.instance,
        quantities=quantities,
        conditions=(*inequality.conditions(instance), *evidence.conditions),
        search=search,
        kind=evidence.kind,
    )
