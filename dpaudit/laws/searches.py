"""A search for the pair that a mechanism tells apart, where its code runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.random import Generator

from dpaudit.domains import Domain
from dpaudit.freezing.recorder import fresh_copy
from dpaudit.laws.observed import Observed
from dpaudit.search.apart import Range, search_apart
from dpaudit.search.engine import Search, search


def search_with(
    mechanism: Any,
    domain: Domain,
    relation: str | Range,
    dataset: Any,
    calls: int,
    seconds: float | None,
    seed: int,
) -> Search:
    """Return what a search finds of a mechanism, of which it uses a copy.

    It is for neighbours under a relation, or for any two datasets within a range of distances.
    """
    given: dict[str, Any] = {"dataset": dataset, "calls": calls, "seed": seed, "seconds": seconds}
    if isinstance(mechanism, Observed):
        function = fresh_copy(mechanism.calls.function)
        one = replace(mechanism.calls, function=function).one
        return _found(one, domain, relation, code=function, observed=mechanism.watched, **given)

    def first(data: Any, rng: Generator) -> Any:
        return mechanism.sample(data, 1, rng)[0]

    return _found(first, domain, relation, code=mechanism, **given)


def _found(function: Any, domain: Domain, relation: str | Range, **given: Any) -> Search:
    if isinstance(relation, Range):
        return search_apart(function, domain, relation, **given)
    return search(function, domain, relation, **given)
