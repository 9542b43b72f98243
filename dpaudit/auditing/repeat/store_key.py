"""Keys of audits in a store: everything that determines their numbers, and the machine."""

from __future__ import annotations

from typing import Any

from dpaudit.execution import Executor
from dpaudit.execution.ledger import RunLedger
from dpaudit.extension.case import Case, PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.report.schema import Result

# Settings that are the mechanism's, or in the pair, or ask for no other number.
_NOT_DETERMINING = ("parameters", "data", "data_path", "data_options")


def what_determines(case: Case, settings: Settings, trials: int) -> tuple[Any, ...]:
    """Return the facts that determine an audit's draws, besides its name and the code.

    Bets hold whenever one looks: the cap on their number is no part of it, and a larger one goes on
    from what there is. Any other bound holds for the number of trials that was set beforehand, and
    another number is another audit.
    """
    asked = settings.document()
    for name in _NOT_DETERMINING:
        del asked[name]
    # The cap on bets does not change them, so that a larger one continues the same draws.
    if settings.until_refuted:
        del asked["trials"]
        trials = 0
    if not isinstance(case, PrivacyCase):
        return case.attain, case.parameters, asked, trials
    pairs = [case.pair, *(one.pair for one in case.candidates)]
    return case.mechanism, pairs, case.claimed, case.at_delta, asked, trials


def with_machines(result: Result, ledger: RunLedger, executor: Executor) -> Result:
    """Return a result that says which other machines computed, or began it, if others did."""
    there = executor.backend
    others = {
        "Begun on another machine": ledger.elsewhere,
        "Computed on other machines": () if there is None else sorted(there.machines),
    }
    notes = [
        f"{what} ({'; '.join(differences)}): counts and verdict do not depend on it, the last "
        "digits of other numbers may."
        for what, differences in others.items()
        if differences
    ]
    return result.model_copy(update={"notes": [*result.notes, *notes]}) if notes else result
