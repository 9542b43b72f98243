"""A search for the pair that a mechanism tells apart, where its code runs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.random import Generator

from dpaudit.domains import Domain
from dpaudit.freezing.recorder import fresh_copy
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism
from dpaudit.search.distance_search import Range, search_apart
from dpaudit.search.engine import Search, search_pairs

_SLOWER = 3  # times that a call may take as long whose primitives are intercepted


def search_with(
    mechanism: Any,
    domain: Domain,
    relation: str | Range,
    dataset: Any,
    calls: int,
    seconds: float | None,
    seed: int,
    limit: float | None = None,
) -> Search:
    """Return the result of a search on a copy of a mechanism.

    It is for neighbours under a relation, or for any two datasets within a range of distances. A
    call that takes much longer than ``limit`` seconds ends the process that it runs in.
    """
    given: dict[str, Any] = {"dataset": dataset, "calls": calls, "seed": seed, "seconds": seconds}
    if isinstance(mechanism, CodeMechanism):
        # The audit comes after the search, which must not spend a budget or fill a cache of its
        # code.
        function = fresh_copy(mechanism.calls.function)
        one = replace(mechanism.calls, function=function).one
        timed = _limit_call_time(one, limit)
        return _search_mechanism_pairs(
            timed, domain, relation, code=function, observed=mechanism.watched, **given
        )

    def first(data: Any, rng: Generator) -> Any:
        return mechanism.sample(data, 1, rng)[0]

    return _search_mechanism_pairs(
        _limit_call_time(first, limit), domain, relation, code=mechanism, **given
    )


def _limit_call_time(
    function: Callable[[Any, Generator], Any], limit: float | None
) -> Callable[[Any, Generator], Any]:
    """Return a function during which the alarm of the process is set, unless its code has one."""
    if limit is None or not hasattr(signal, "setitimer"):
        return function
    seconds = _SLOWER * limit

    def call_in_time(data: Any, rng: Generator) -> Any:
        if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
            return function(data, rng)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return function(data, rng)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    return call_in_time


def _search_mechanism_pairs(
    function: Any, domain: Domain, relation: str | Range, **given: Any
) -> Search:
    if isinstance(relation, Range):
        return search_apart(function, domain, relation, **given)
    return search_pairs(function, domain, relation, **given)
