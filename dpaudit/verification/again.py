"""Re-checks counts: runs the audit again with the certificate's settings, from the same seed.

A refutation by drawing rests on the code that drew. Nothing can be recomputed from the counts alone
but the bound, so the whole audit is repeated and every number compared; installed claims only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpmath import mpf

from dpaudit.errors import DataError, shorten
from dpaudit.verification.document import Document
from dpaudit.verification.outcome import Outcome

if TYPE_CHECKING:
    from dpaudit.extension.settings import Settings
    from dpaudit.report.schema import Result

_LEAST_CONFIDENCE = 0.9  # below it a bound says little


def draw_again(document: Document) -> Outcome:
    """Return the numbers of the same audit, run now.

    Raises
    ------
    DataError
        The settings are not those of an audit, the certificate states another confidence, or the
        audit does not refute the claim.
    UnknownName
        The claim is not installed.
    """
    from dpaudit.auditing.rerun import quantities_of
    from dpaudit.auditing.run import audit_claim
    from dpaudit.report.formatting import surety

    settings = _settings(document)
    result = audit_claim(document.claim, settings)
    _refuse_misstated(document, result)
    quantities = {name: mpf(value) for name, value in quantities_of(result).items()}
    return Outcome(
        assumptions={},
        quantities=quantities,
        summary=f"drawn again: at least {result.measured.lower:.6g} where the claim allows "
        f"{float(quantities['bound']):.6g}, {surety(result.measured)}{_asked(settings)}",
        reservations=_reservations(result, settings),
    )


def _refuse_misstated(document: Document, result: Result) -> None:
    stated, true = document.number("parameters", "confidence"), result.measured.confidence
    if stated != true:
        raise DataError(f"{document.path}: parameters.confidence: got {stated}, expected {true}")
    if result.verdict != "refuted":
        raise DataError(f"{document.path}: the audit, run again, does not refute the claim")


def _asked(settings: Settings) -> str:
    asked = ", ".join(f"{name} = {value}" for name, value in settings.parameters.items())
    return f" (with {asked})" if asked else ""


def _reservations(result: Result, settings: Settings) -> tuple[str, ...]:
    found = [f"{one.name} does not hold" for one in result.assumptions if not one.holds]
    if result.measured.confidence < _LEAST_CONFIDENCE:
        found.append(f"confidence {result.measured.confidence:g}")
    factor = float(settings.parameters.get("factor", 1))  # a number, as the audit has taken it
    if factor < 1:
        found.append(f"factor {factor:g} makes it stricter")
    return tuple(found)


def _settings(document: Document) -> Settings:
    from dpaudit.extension.settings import Settings

    given: Any = document.instance.get("settings")
    known = Settings().document().keys()
    if not isinstance(given, dict) or not given.keys() <= known:
        raise DataError(
            f"{document.path}: instance.settings: got {shorten(given)}, expected an object with "
            f"some of: {', '.join(sorted(known))}"
        )
    return Settings.read(given)
