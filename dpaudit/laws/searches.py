"""A search for the pair that a mechanism tells apart, where its code runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.random import Generator

from dpaudit.domains import Domain
from dpaudit.freezing.recorder import fresh_copy
from dpaudit.laws.observed import Observed
from dpaudit.search.engine import Search, search


def search_with(
    mechanism: Any,
    domain: Domain,
    relation: str,
    dataset: Any,
    calls: int,
    seconds: float | None,
    seed: int,
) -> Search:
    """Return what a search finds of a mechanism, of which it uses a copy."""
    given: dict[str, Any] = {"dataset": dataset, "calls": calls, "seed": seed, "seconds": seconds}
    if isinstance(mechanism, Observed):
        function = fresh_copy(mechanism.calls.function)
        one = replace(mechanism.calls, function=function).one
        return search(one, domain, relation, code=function, observed=mechanism.watched, **given)

    def first(data: Any, rng: Generator) -> Any:
        return mechanism.sample(data, 1, rng)[0]

    return search(first, domain, relation, code=mechanism, **given)
