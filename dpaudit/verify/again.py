"""Re-checks counts: runs the audit again with the certificate's settings, from the same seed.

A refutation by drawing rests on the code that drew. Nothing can be recomputed from the counts alone
but the bound, so the whole audit is repeated and every number compared; installed claims only.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mpmath import mpf

from dpaudit.errors import DataError, shorten
from dpaudit.verify.document import Document
from dpaudit.verify.outcome import Outcome

if TYPE_CHECKING:
    from dpaudit.report.schema import Result
    from dpaudit.settings import Settings


def draw_again(document: Document) -> Outcome:
    """Return the numbers of the same audit, run now.

    Raises
    ------
    DataError
        The settings are not those of an audit.
    UnknownName
        The claim is not installed.
    """
    from dpaudit.audit.run import audit_claim

    result = audit_claim(document.claim, _settings(document))
    quantities = {name: mpf(value) for name, value in quantities_of(result).items()}
    return Outcome(
        assumptions={},
        quantities=quantities,
        summary=f"drawn again: at least {result.measured.lower:.6g} where the claim allows "
        f"{float(quantities['bound']):.6g}, at {result.measured.confidence:.6g} confidence",
    )


def quantities_of(result: Result) -> dict[str, float]:
    """Return the numbers of a result that its statistical certificate states."""
    from dpaudit.report.formatting import value_of

    bound, value = value_of(result.claimed, result.kind) or 0.0, result.measured.lower
    numbers = {"bound": bound, "value": value, "ratio": value / bound}
    return numbers | {f"count: {name}": float(n) for name, n in result.counts.items()}


def _settings(document: Document) -> Settings:
    from dpaudit.settings import Settings

    given: Any = document.instance.get("settings")
    known = {field.name for field in fields(Settings)}
    if not isinstance(given, dict) or not given.keys() <= known:
        raise DataError(
            f"{document.path}: instance.settings: got {shorten(given)}, expected an object with "
            f"some of: {', '.join(sorted(known))}"
        )
    return Settings(**given)
