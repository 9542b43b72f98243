"""Hands a certificate to the verifier of its claim, and says what fails.

The verifier of a claim is found by convention. A claim whose home is the module
``package.claims.theorem1`` (as its entry point in the group ``dpaudit.claims`` says) is verified by
``recompute`` of ``package.verify.theorem1``, which recomputes everything from the instance and
returns an `Outcome`. The home itself is not imported.

A refutation by drawing rests on the code that drew. Nothing can be recomputed from its counts alone
but the bound, so the whole audit is repeated, with the certificate's settings and from the same
seed, and every number compared; installed claims only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpmath import mp, mpf

from dpaudit._references import load_reference
from dpaudit.errors import DataError, InvalidArgument, UnknownName, shorten
from dpaudit.verification.document import Document, Outcome, read

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


CLAIMS = "dpaudit.claims"
DIGITS = 50
AGREEMENT = mpf("1e-8")  # between a number of the file and the recomputed one
MARGIN = mpf("1e-9")  # by which a ratio has to exceed 1


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a certificate stands: every failure in a sentence, and what was recomputed.

    With ``reservations`` the numbers of the certificate are right, but what they break is not the
    claim as published: they say what differs.
    """

    claim: str
    failures: tuple[str, ...]
    ratio: float
    summary: str
    reservations: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def refutes_as_published(self) -> bool:
        """Whether it refutes the claim itself, not one that was made stricter."""
        return self.verified and not self.reservations


Verifier = Callable[[Document], Outcome]


def verify(document: Document) -> Verdict:
    """Re-check a certificate in 50-digit arithmetic; counts are drawn again instead.

    Raises
    ------
    UnknownName
        No installed package verifies certificates of this claim.
    DataError
        The instance does not have the shapes that its parameters say.

    Examples
    --------
    >>> verify(
    ...     Document(
    ...         path="c.json", claim="c", parameters={}, quantities={}, instance={}, assumptions={}
    ...     )
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpaudit.errors.UnknownName: verifier: got 'c', expected one of: ...
    """
    drawn = document.kind == "statistical"
    verifier = draw_again if drawn else _verifier(document.claim)
    with mp.workdps(DIGITS):
        outcome = _recomputed(verifier, document)
        failures = (*_broken(outcome), *_misstated(document, outcome), *_too_small(outcome))
        ratio = float(outcome.quantities["ratio"])
        summary = outcome.summary or f"{ratio:.6g} times the claimed bound"
        return Verdict(
            claim=document.claim,
            failures=failures,
            ratio=ratio,
            summary=summary,
            reservations=(*_stricter(document), *outcome.reservations),
        )


def verify_file(path: str | Path) -> tuple[Verdict, ...]:
    """Re-check every certificate of a file, in 50-digit arithmetic or by drawing again.

    Available as ``dpaudit.verify``.

    Parameters
    ----------
    path
        A certificate, or a list of them, as reports hold them in ``certificate.json``.

    Returns
    -------
    tuple of Verdict
        One a certificate: ``verified``, ``failures``, ``reservations`` and what was recomputed.

    Raises
    ------
    DataError
        The file cannot be read, or is no certificate.
    UnknownName
        No installed package verifies certificates of one of the claims.

    Examples
    --------
    >>> verify_file("no-such-certificate.json")
    Traceback (most recent call last):
    dpaudit.errors.DataError: no-such-certificate.json: cannot be read (No such file or directory)
    """
    return tuple(verify(document) for document in read(path))


def _verifier(claim: str) -> Verifier:
    homes = {entry.name: entry.module for entry in entry_points(group=CLAIMS)}
    if claim not in homes or not _has_verifier(homes[claim]):
        raise UnknownName("verifier", claim, filter(lambda name: _lists(homes[name]), homes))
    reference = f"{verifier_of(homes[claim])}:recompute"
    found: Verifier = load_reference(f"verifier of {claim}", reference)
    return found


def verifier_of(home: str) -> str:
    """Return the module that verifies the certificates of a claim, from the module that states it.

    Examples
    --------
    >>> verifier_of("smith.claims.theorem1")
    'smith.verify.theorem1'
    """
    return re.sub(r"(?<![^.])claims(?=\.)", "verify", home)


def _has_verifier(home: str) -> bool:
    """Return whether the package holds the verifier; importing packages runs their ``__init__``."""
    module = verifier_of(home)
    try:
        return module != home and find_spec(module) is not None
    except ImportError:  # no package ``verify`` there
        return False
    except (Exception, SystemExit) as error:  # finding runs other people's code
        failure = f"a package that can be imported ({type(error).__name__}: {shorten(str(error))})"
        raise InvalidArgument("verifier", module, failure) from error


def _lists(home: str) -> bool:
    try:
        return _has_verifier(home)
    except InvalidArgument:
        return False


def _recomputed(verifier: Verifier, document: Document) -> Outcome:
    try:
        return verifier(document)
    except ArithmeticError as error:  # exp of 1e290, a division by 0
        raise DataError(f"{document.path}: cannot be computed ({shorten(str(error))})") from error


def _stricter(document: Document) -> tuple[str, ...]:
    """Return the factor by which a certificate asks more than what is claimed, if it does."""
    factor = document.parameters.get("factor", 1)
    if type(factor) in (int, float) and factor < 1:
        return (f"factor {factor:g} makes it stricter",)
    return ()


def _broken(outcome: Outcome) -> list[str]:
    return [
        f"{name}: {_shown(value)} is above {_shown(limit)}"
        for name, (value, limit) in outcome.assumptions.items()
        if not value <= limit
    ]


def _misstated(document: Document, outcome: Outcome) -> list[str]:
    """Return what the file states and the recomputation does not bear out."""
    failures = [
        f"{name}: the file does not state this assumption"
        for name in outcome.assumptions
        if name not in document.assumptions
    ]
    unknown = document.assumptions.keys() - outcome.assumptions.keys()
    failures += [f"{name}: is no assumption of the claim" for name in sorted(unknown)]
    stated = {n: v for n, v in document.assumptions.items() if n in outcome.assumptions}
    for name, pair in stated.items():
        for word, given, true in zip(
            ("value", "limit"), pair, outcome.assumptions[name], strict=True
        ):
            failures += _disagreement(f"{name} ({word})", given, true)
    made_up = document.quantities.keys() - outcome.quantities.keys()
    failures += [f"{name}: is no quantity that is recomputed" for name in sorted(made_up)]
    for name, true in outcome.quantities.items():
        failures += _disagreement(name, document.number("quantities", name), true)
    return failures


def _disagreement(name: str, given: float, true: Any) -> list[str]:
    if mp.isfinite(true) and abs(mpf(given) - true) <= AGREEMENT * max(1, abs(true)):
        return []
    return [f"{name}: the file states {given:.10g}, recomputed {_shown(true)}"]


def _too_small(outcome: Outcome) -> list[str]:
    ratio = outcome.quantities["ratio"]
    return [] if ratio > 1 + MARGIN else [f"ratio: {_shown(ratio)} is not above 1"]


def _shown(number: Any) -> str:
    return str(mp.nstr(mpf(number), 10))
