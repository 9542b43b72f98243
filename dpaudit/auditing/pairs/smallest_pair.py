"""The smallest pair of a refutation: records that both datasets have are left out.

No dataset is left without a record, as few mechanisms are made for that. Each try looks for what
leaked on a smaller pair, on outputs drawn for it alone, and spends a share of one error
probability. What is found here never changes the verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import dpaudit.auditing.explain.witness as witness
import dpaudit.auditing.sampling.contract_checks as contract_checks
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import MechanismError, shorten_repr
from dpaudit.execution import stream
from dpaudit.extension.case import PrivacyCase
from dpaudit.mechanisms.mechanism import is_observed
from dpaudit.neighbours import Pair
from dpaudit.neighbours.smaller import find_shared_records, size_of
from dpaudit.redaction import Record, are_shown
from dpaudit.report.schema import Result, SmallestPair, Witness
from dpaudit.search.shrinking import reduce_to_fewest

_TRIES = 8
_LEAST = 100  # outputs of each dataset that choose an event, and that count it
_SHARE = 0.25  # of the audit's outputs may be spent on all tries


@dataclass
class _Search:
    """The tries that are left, and the smallest pair on which one of them refuted."""

    case: PrivacyCase
    drawer: Drawer
    runs: int
    tries: int
    alpha: float
    best: tuple[Pair[object], Witness] | None = None

    def refutes_on(self, pair: Pair[object] | None) -> bool:
        """Return whether the claim falls on a smaller pair too; it is then the best."""
        if pair is None or self.tries == 0:
            return False
        self.tries -= 1
        # Which pair is tried depends on the tries before: each has outputs of its own seed.
        seed = stream(self.drawer.seed, f"smaller pair {self.tries}").generate_state(1, np.uint64)
        on = replace(self.drawer, pair=pair, seed=int(seed[0]))
        try:
            found = witness.of(replace(self.case, pair=pair), on, runs=self.runs, alpha=self.alpha)
        except MechanismError:  # it takes more records than these
            return False
        if found is None or not found.refutes:
            return False
        self.best = (pair, found)
        return True


def find_smallest_pair(
    case: PrivacyCase, drawer: Drawer, outputs: int, alpha: float
) -> SmallestPair | None:
    """Return the smallest pair found on which the claim falls; None if none is smaller.

    Parameters
    ----------
    case, drawer
        What was refuted, and what draws its outputs.
    outputs
        That the audit drew in all: a share of it is spent.
    alpha
        The error probability of all tries together.
    """
    shared = find_shared_records(case.pair) if is_observed(drawer.mechanism) else None
    runs = max(_LEAST, int(_SHARE * outputs) // (4 * _TRIES))
    # Of each try four groups of outputs are drawn: to choose and to count, on either dataset.
    tries = min(_TRIES, int(_SHARE * outputs) // (4 * runs))
    if shared is None or not shared.places or not tries:
        return None
    search = _Search(case, drawer, runs, tries, alpha / tries)
    kept = list(range(len(shared.places)))
    sizes = [size_of(side) for side in (case.pair.dataset, case.pair.neighbour)]
    # One shared record stays where a dataset would have none left without it.
    fewest = kept[: int(min(sizes) == len(kept))]
    if fewest != kept and not search.refutes_on(shared.keeping(fewest)):
        reduce_to_fewest(
            kept,
            lambda some: search.refutes_on(shared.keeping(some)),
            lambda: not search.tries,
        )
    return None if search.best is None else _make_smallest_pair(case.pair, *search.best)


def add_smallest_pair(result: Result, case: PrivacyCase, drawer: Drawer, alpha: float) -> Result:
    """Return a refutation with the smallest pair on which it still shows, if one was found."""
    outputs = result.counts.get("outputs in all, of both datasets", 0)
    with contract_checks.make_separate_drawer(case, drawer) as other:
        found = find_smallest_pair(case, other, outputs, alpha)
    if found is None:
        return result
    notes = [*result.notes, found.sentence]
    return result.model_copy(update={"smallest_pair": found, "notes": notes})


def _make_smallest_pair(whole: Pair[object], pair: Pair[object], found: Witness) -> SmallestPair:
    sizes = [size_of(side) for side in (pair.dataset, pair.neighbour)]
    before = [size_of(side) for side in (whole.dataset, whole.neighbour)]
    shown = ""
    if are_shown():
        shown = (
            f" They are {shorten_repr(Record(pair.dataset))} and "
            f"{shorten_repr(Record(pair.neighbour))}."
        )
    return SmallestPair(
        records=sizes,
        of=before,
        witness=found,
        sentence=f"The smallest pair found that still shows the leak has {sizes[0]} and "
        f"{sizes[1]} records, from {before[0]} and {before[1]}. {found.sentence}{shown}",
    )
