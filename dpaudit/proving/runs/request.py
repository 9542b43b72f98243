"""The reading of a function before any proof: its traces, from the process of its code.

Nothing here bounds anything, so that a process of somebody's code needs no rules and no
accountants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpaudit.domains import Domain
from dpaudit.domains.relations import REMOVING, relation_in
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.mechanisms.foreign.calling import CallForm
from dpaudit.neighbours.tables import Relation
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.runs.reading import RUNS, read_trace
from dpaudit.proving.trace import FunctionTrace

_MOST_SIZES = 32  # of datasets, each of which is read by itself
_FEWEST = 25  # plain runs of datasets of one size among several
_A_FUNCTION = "give a function that fits it and returns the released values"


@dataclass(frozen=True, eq=False)
class TraceRequest:
    """The datasets on which a function is read.

    Parameters
    ----------
    domain, relation
        The datasets, and which of them are neighbours.
    seed, runs
        Of the plain runs, and how many there are.
    """

    domain: Domain
    relation: str | Relation
    seed: int = 0
    runs: int = RUNS

    @property
    def relation_name(self) -> str:
        """The name of the relation."""
        return relation_in(self.domain, self.relation).name

    @property
    def sizes(self) -> tuple[int, int] | None:
        """The fewest and the most records of a dataset; None where their number is not public."""
        return None if self.relation_name in REMOVING else self.domain.sizes

    def read(self, function: Any, form: CallForm) -> list[FunctionTrace]:
        """Return the traces of a function that is called so, one for each size of a dataset.

        Raises
        ------
        NotProved
            It cannot be followed.
        """
        called = call_as(function, form)
        if form.method == "fit":
            raise NotProved.at(
                name_of(function), "an estimator keeps the fitted values", _A_FUNCTION
            )
        domains = self._domains()
        runs = min(self.runs, max(_FEWEST, self.runs // len(domains)))
        given = {"seed": self.seed, "runs": runs}
        return [read_trace(called, one, self.relation, **given) for one in domains]

    def _domains(self) -> list[Domain]:
        """Return the domain, or one for each number of records that datasets may have."""
        if self.sizes is None or self.sizes[0] == self.sizes[1]:
            return [self.domain]
        fewest, most = self.sizes
        if most - fewest >= _MOST_SIZES:
            reason = f"datasets have {fewest} to {most} records"
            raise NotProved.at("the domain", reason, "give records= one number")
        return [replace(self.domain, records=n) for n in range(max(1, fewest), most + 1)]


def reference_of(function: Any) -> str | None:
    """Return where others find a function, ``module:name``; None where they do not."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found = module not in (None, "__main__") and name.isidentifier()
    return f"{module}:{name}" if found else None


def name_of(function: Any) -> str:
    """Return the name of a function, or of an object that is called as one."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def call_as(function: Any, form: CallForm) -> Callable[[Any, Any], Any]:
    """Return a function of a dataset and a generator that calls another as its form says.

    Raises
    ------
    InvalidArgument
        It asks for a seed or for old generators, of which no noise is followed.
    """
    odd = [one.name for one in form.arguments if one.name in ("seed", "random_state")]
    if odd:
        expected = "a function that takes a numpy.random.Generator, or draws from one of its own"
        raise InvalidArgument("function", VerbatimText(f"one that takes {odd[0]}"), expected)

    def call(data: Any, rng: Any) -> Any:
        made = function() if form.made else function
        called = getattr(made, form.method) if form.method else made
        values = {"data": data, "rng": rng, "trials": 1}
        plain = [values[one.role] for one in form.arguments if not one.by_name]
        named = {one.name: values[one.role] for one in form.arguments if one.by_name}
        return called(*plain, **named)

    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call
