"""Domains of functions that are read, and what is asked of a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpaudit.domains.columns import Booleans, Categories, Integers, Numbers
from dpaudit.domains.domain import Domain
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.reading import read_trace
from dpaudit.proving.trace import FunctionTrace

ARRAY = Domain(bounds=(0, 1), records=5)
LIST = Domain(bounds=(0, 1), records=4, form="list")
ANY_SIZE = Domain(bounds=(0, 1))
VALUE = Domain(bounds=(0, 1), form="value")
TABLE = Domain(
    columns={
        "age": Integers(low=0, high=9),
        "kind": Categories(values=("x", "y", "z")),
        "smokes": Booleans(),
        "v": Numbers(),
        "w": Numbers(low=-1, high=2),
    },
    records=5,
)
KINDS = ["x", "y", "z"]


def operations(trace: FunctionTrace, path: int = 0) -> list[str]:
    return [one.operation for one in trace.paths[path].program.nodes]


def refusal(function: Callable[..., Any], domain: Domain = ARRAY, **given: Any) -> NotProved:
    with pytest.raises(NotProved) as caught:
        read_trace(function, domain, **given)
    return caught.value
