"""Movements of a query, in the process that runs its code."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import Any

from dpaudit._references import load_reference
from dpaudit.execution.pool import Crew
from dpaudit.execution.tasks import to_pickle
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.redaction import are_shown
from dpaudit.search.sensitivity import SensitivityResult, first_digit, sensitivity
from dpaudit.search.writing import format_pasted_dataset
from dpaudit.verdicts import Verdict, judge_claimed_number


@dataclass(frozen=True, kw_only=True)
class QueryMovement:
    """The largest movement that a search found, as text and numbers alone.

    Parameters
    ----------
    at_least, norm, pairs, apart
        As `dpaudit.search.sensitivity.SensitivityResult` has them; the first digits alone where the
        pair may hold somebody's records, which are not to be shown.
    relation
        The relation of the two datasets; None if the query never moved.
    dataset, neighbour
        They themselves, as Python that can be pasted; None where they are not to be shown.
    verdict
        On the claimed sensitivity, by all digits of the movement; None where there is no claim.
    """

    at_least: float
    norm: str
    pairs: int
    apart: float | None
    relation: str | None
    dataset: str | None
    neighbour: str | None
    verdict: Verdict | None = None


def movement_elsewhere(
    reference: str, isolation: Isolation, claimed: float | None = None, **given: Any
) -> QueryMovement:
    """Return how far a query moves, which runs in a process of its own unless it is not to.

    Parameters
    ----------
    reference
        The query, ``module:function``.
    isolation
        Whether there is such a process, and what it may take.
    claimed
        Of the query, to be judged.
    given
        As `dpaudit.sensitivity` takes it, ``calls`` among it.

    Raises
    ------
    MechanismError
        The query fails, or its process ends.
    """
    if isolation.in_process:
        return QueryMovement(**json.loads(_measure_query(reference, claimed, given)))
    blob, limit = to_pickle((reference, claimed, given)), isolation.limits.timeout
    with add_mechanism_name(reference), Crew(isolation.limits) as crew:
        # There the whole search is one call, which may take as long as all calls of the query.
        all_calls = nullcontext() if limit is None else crew.patient(limit * given["calls"])
        with all_calls:
            found = crew.call(_measure_pickled_query, blob)
    return QueryMovement(**json.loads(found))


def _measure_pickled_query(blob: bytes) -> str:
    import cloudpickle

    return _measure_query(*cloudpickle.loads(blob))


def _measure_query(reference: str, claimed: float | None, given: dict[str, Any]) -> str:
    with redirect_stdout(sys.stderr):  # standard output is for results
        found = sensitivity(load_reference("query", reference), **given)
    verdict = None if claimed is None else judge_claimed_number(claimed, found.at_least)
    return json.dumps({**_convert_sensitivity(found), "verdict": verdict})


def _convert_sensitivity(found: SensitivityResult) -> dict[str, Any]:
    """Return a movement as JSON has it: all of it where nobody's records are in it."""
    is_shown = found.pair is None or found.is_nobodys or are_shown()
    digits = (lambda one: one) if is_shown else first_digit
    return {
        "at_least": digits(found.at_least),
        "norm": found.norm,
        "pairs": found.pairs,
        "apart": None if found.apart is None else digits(found.apart),
        "relation": None if found.pair is None else found.pair.relation.name,
        "dataset": _write_pair_side(found, "dataset") if is_shown else None,
        "neighbour": _write_pair_side(found, "neighbour") if is_shown else None,
    }


def _write_pair_side(found: SensitivityResult, side: str) -> str | None:
    return None if found.pair is None else format_pasted_dataset(getattr(found.pair, side))
