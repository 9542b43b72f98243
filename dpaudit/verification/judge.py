"""Hands a certificate to the verifier of its claim, and names the failures.

The verifier of a claim is found by convention. A claim whose home is the module
``package.claims.theorem1`` (as its entry point in the group ``dpaudit.claims`` says) is verified by
``recompute`` of ``package.verify.theorem1``, which recomputes everything from the instance and
returns an `Outcome`. Two names beside it are optional: ``reservations`` says of an audit's settings
what keeps them from being those of the claim as published, and ``FORMER_SOURCES`` lists how older
certificates state the claim's source.

A refutation by drawing rests on the code that drew: it is judged on fresh draws
(`dpaudit.verification.redrawn_counts`).

A certificate is data. The name of its claim is looked up among installed ones; no code is imported
and no file is opened that it names.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dpaudit._references import find_entry_points, load_reference
from dpaudit.errors import (
    DataError,
    DpauditError,
    InvalidArgument,
    UnknownName,
    shorten_repr,
    what_happened,
)
from dpaudit.reals import (
    DIGITS,
    SECONDS,
    ComputationTimeout,
    Real,
    UndecidedComparison,
    precision,
)
from dpaudit.verification.data import OtherPair
from dpaudit.verification.document import Document, Outcome, Verdict, read
from dpaudit.verification.mechanism import draw_by_reader, of_reader, summary_of
from dpaudit.verification.redrawn_counts import Reader, draw_afresh, find_unreproduced_numbers
from dpaudit.verification.replay_certificates import replay_reader_mechanism

if TYPE_CHECKING:
    from dpaudit.verification.canaries import RecomputedCanaries
from dpaudit.verification.misstatements import (
    find_disagreement,
    find_misstatements,
    list_broken_assumptions,
)

CLAIMS = "dpaudit.claims"
# A ratio above 1 by less may be what rounding left of a claim that holds with equality.
MARGIN = 1e-9  # by which a ratio has to exceed 1


Verifier = Callable[[Document], Outcome]
Computed = TypeVar("Computed")


def verify(document: Document, reader: Reader | None = None, *, reproduce: bool = False) -> Verdict:
    """Re-check a certificate with proved error bounds; counts are drawn again instead.

    The computation is repeated with more digits until every comparison is decided. Counts are drawn
    with the ``reader``'s seed and confidence, and to ``reproduce`` with their own seed as well.

    Raises
    ------
    UnknownName
        No installed package verifies certificates of this claim.
    DataError
        The instance does not have the shapes that its parameters say, or cannot be decided with
        4,000 digits or within a minute of the processor.

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
    if reader is not None and reader.outputs and document.kind != "outputs":
        said = f"{document.path}: is a certificate of kind {shorten_repr(document.kind)}"
        raise DataError(f"{said} and of no outputs; leave out --outputs")
    if document.kind in ("statistical", "mechanism", "replay"):
        return _as_it_has_to_be(document, reader or Reader(), reproduce)
    if document.kind == "canaries":
        return _of_canaries(document, reader or Reader())
    if document.kind in ("attack-table", "outputs"):
        return _of_counts(document, reader or Reader())
    if document.kind == "views":
        return _of_views(document, reader or Reader())
    if document.kind == "proof":
        return _of_proof(document, reader or Reader())
    if reader is not None:
        _refuse_mechanism(document, reader)
    verifier = _verifier(document.claim)
    return decide_digits(document.path, lambda: _verdict(document, verifier(document)))


def _of_canaries(document: Document, reader: Reader) -> Verdict:
    """Recompute a p-value, and count guesses again where the reader has the scores."""
    from dpaudit.verification.canaries import (
        verify_canary_scores,  # takes numpy, which others do not need
    )

    _refuse_mechanism(document, reader)
    return decide_digits(
        document.path, lambda: _at_confidence(document, verify_canary_scores(document, reader))
    )


def _of_counts(document: Document, reader: Reader) -> Verdict:
    """Compute the intervals of an attack's or an event's counts, at the reader's confidence."""
    from dpaudit.verification.attack_tables import judge_rows  # takes scipy
    from dpaudit.verification.outputs import counts_of

    _refuse_mechanism(document, reader)
    rows, other, reservations = counts_of(document, reader)
    outcome, ratio, failures = decide_digits(
        document.path, lambda: judge_rows(document, reader, rows)
    )
    return Verdict(
        claim=document.claim,
        failures=(*find_misstatements(document, outcome), *failures, *other),
        ratio=float(ratio),
        summary=outcome.summary or "",
        reservations=reservations,
    )


def _of_views(document: Document, reader: Reader) -> Verdict:
    """Compute every view again, and compare the program with the reader's code, if it is named."""
    from dpaudit.verification.reread import compare_code
    from dpaudit.verification.views import Checking

    checking = Checking(document)
    found = decide_digits(document.path, checking.judged)
    other, reservations = compare_code(checking, reader)
    return Verdict(
        claim="views" if reader.mechanism is None else _name_of(reader.mechanism),
        failures=(*found.failures, *other),
        ratio=1.0,
        summary=found.summary,
        reservations=tuple(reservations),
        proves=True,
    )


def _of_proof(document: Document, reader: Reader) -> Verdict:
    """Check a proof by the rules of the checker, and compare its program with the reader's code."""
    from dpaudit.verification.proofs import verify_proof  # takes numpy, which others do not need

    return verify_proof(document, reader)


def _at_confidence(document: Document, found: RecomputedCanaries) -> Verdict:
    """Return a verdict at the reader's confidence: that of the file decides nothing."""
    return Verdict(
        claim=document.claim,
        failures=(
            *list_broken_assumptions(found.outcome),
            *find_misstatements(document, found.outcome),
            *found.failures,
        ),
        ratio=float(found.ratio),
        summary=found.outcome.summary or "",
        reservations=found.outcome.reservations,
    )


def decide_digits(path: str, computed: Callable[[], Computed]) -> Computed:
    """Return the result of a computation with the first digits that decide everything.

    Raises
    ------
    DataError
        It divides by 0 or the like, or nothing within the limits decides it; ``path`` is named.

    Examples
    --------
    >>> decide_digits("c.json", lambda: Real(1) / 3 < Real(1) / 3 + 1e-100)
    True
    """
    end = time.process_time() + SECONDS  # of the processor: another load changes no verdict
    for digits in DIGITS:
        try:
            with precision(digits, end - time.process_time()):
                return computed()
        except UndecidedComparison:
            continue
        except ComputationTimeout as error:
            raise DataError(f"{path}: cannot be decided within {SECONDS:g} seconds") from error
        except ArithmeticError as error:  # a logarithm of 0, a division by 0
            raise DataError(f"{path}: cannot be computed ({error})") from error
    raise DataError(f"{path}: cannot be decided with {DIGITS[-1]} digits")


def _verdict(document: Document, outcome: Outcome) -> Verdict:
    failures = (
        *_other_words(document),
        *list_broken_assumptions(outcome),
        *find_misstatements(document, outcome),
        *_too_small(outcome),
    )
    ratio = float(Real(outcome.quantities["ratio"]))
    return Verdict(
        claim=document.claim,
        failures=failures,
        ratio=ratio,
        summary=outcome.summary or f"{ratio:.6g} times the claimed bound",
        reservations=(
            *_stricter(document),
            *_other_choices(document.claim, document.parameters),
            *outcome.reservations,
        ),
    )


def _judge_drawn(document: Document, reader: Reader, *, reproduce: bool) -> Verdict:
    drawn = draw_afresh(document, reader)
    numbers = drawn.outcome.quantities
    stated = document.number("quantities", "bound")
    failures = (
        *_other_words(document),
        # The bound is what the claim allows, which draws do not move. The counts are not
        # compared: fresh ones differ, and only the reader's confidence says what they mean.
        *find_disagreement("bound", stated, numbers["bound"]),
        *drawn.failures,
        *(find_unreproduced_numbers(document, reader) if reproduce else ()),
    )
    settings: Mapping[str, Any] = document.instance["settings"]
    return Verdict(
        claim=document.claim,
        failures=failures,
        ratio=float(numbers["ratio"]),
        summary=drawn.outcome.summary or "",
        reservations=(
            *drawn.outcome.reservations,
            *_other_choices(document.claim, settings.get("parameters", {})),
            *_of_settings(document.claim, settings),
        ),
    )


def _as_it_has_to_be(document: Document, reader: Reader, reproduce: bool) -> Verdict:
    """Draw again; a statement of a kind that nobody reads is an error of the file."""
    try:
        if document.kind == "replay":
            return _judge_replayed_code(document, reader)
        if document.kind == "mechanism":
            return _judge_reader_draws(document, reader, reproduce=reproduce)
        _refuse_mechanism(document, reader)
        return _judge_drawn(document, reader, reproduce=reproduce)
    # Two datasets that are no neighbours make the certificate fail. They are no error of the
    # reader: the command goes on with the next certificate.
    except OtherPair as error:
        name = _name_of(reader.mechanism)
        return Verdict(claim=name, failures=(str(error),), ratio=0.0, summary="")
    except DpauditError:
        raise
    # The settings reach deep code whose checks expect an audit's own values. What a hostile
    # file makes it raise is still a statement on the file, not a crash of the verifier.
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        expected = f"a certificate as audits write it ({type(error).__name__})"
        raise DataError(f"{document.path}: expected {expected}") from error


def _refuse_mechanism(document: Document, reader: Reader) -> None:
    if reader.mechanism is not None:
        said = (
            f"{document.path}: is about the claim {shorten_repr(document.claim)} and no mechanism"
        )
        raise DataError(f"{said}; leave out --mechanism")


def _judge_reader_draws(document: Document, reader: Reader, *, reproduce: bool) -> Verdict:
    drawn = draw_by_reader(document, reader, reproduce=reproduce)
    numbers = drawn.outcome.quantities
    stated = document.number("quantities", "bound")
    of_a_curve = "curve" in document.instance["claimed"]  # its point is chosen on draws
    other = [] if of_a_curve else find_disagreement("bound", stated, numbers["bound"])
    failures = (*other, *drawn.failures)
    return Verdict(
        claim=_name_of(reader.mechanism),
        failures=failures,
        ratio=float(numbers["ratio"]),
        summary=drawn.outcome.summary or "",
        reservations=drawn.outcome.reservations,
    )


def _judge_replayed_code(document: Document, reader: Reader) -> Verdict:
    pair, same, told = of_reader(document, reader)
    found = decide_digits(
        document.path, lambda: replay_reader_mechanism(document, reader, pair, same)
    )
    other = find_disagreement("bound", document.number("quantities", "bound"), found.bound)
    return Verdict(
        claim=_name_of(reader.mechanism),
        failures=(*other, *_beside_bound(document, found.ratio), *found.failures),
        ratio=found.ratio,
        summary=summary_of(document, reader, pair, found.summary) if found.summary else "",
        reservations=(*found.reservations, *told),
    )


def _beside_bound(document: Document, ratio: float) -> list[str]:
    """Return the file's statements on a replay beside its bound that no run shows.

    Older files have a ratio, which is rounded down.
    """
    beside = document.quantities.keys() - {"bound", "ratio"}
    failures = [f"{name}: is no quantity that is recomputed" for name in sorted(beside)]
    if "ratio" in document.quantities:
        stated = document.number("quantities", "ratio")
        failures += find_disagreement("ratio", stated, ratio) if stated > ratio else []
    return failures


def _name_of(mechanism: object) -> str:
    """Return the reader's name of a mechanism."""
    if isinstance(mechanism, str):
        return mechanism
    if isinstance(named := getattr(mechanism, "name", None), str):  # of a program or a service
        return named
    return str(getattr(mechanism, "__name__", type(mechanism).__name__))


def _other_choices(claim: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the choices of counted events that are the file's and not the claim's usual ones."""
    from dpaudit.extension.parameters import other_choices
    from dpaudit.extension.registry import CLAIMS as INSTALLED

    if claim not in _homes() or (model := INSTALLED.get(claim).parameters) is None:
        return ()
    return tuple(
        f"{name} = {shorten_repr(given[name])} is the file's choice, and {shorten_repr(usual)} "
        "is usual"
        for name, usual in other_choices(model, given).items()
    )


def _of_settings(claim: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the notes of the claim's verifier on the settings of an audit, if any."""
    said = _of_verifier(claim, "reservations")
    return tuple(said(settings)) if said else ()


def _of_verifier(claim: str, name: str) -> Any:
    """Return a name of the module that verifies a claim; None where either is not there."""
    home = _homes().get(claim, "")
    module = import_module(verifier_of(home)) if _has_verifier(home) else None
    return getattr(module, name, None)


def _other_words(document: Document) -> list[str]:
    """Return the words of the file that are not those of the claim."""
    from dpaudit.extension.registry import CLAIMS as INSTALLED

    if document.claim not in _homes():
        return []
    card = INSTALLED.get(document.claim)
    former = _of_verifier(document.claim, "FORMER_SOURCES") or ()
    words = (
        ("source", document.source, (card.source, *former)),
        ("relation", document.relation, (card.relation,)),
    )
    return [
        f"{name}: the file states {shorten_repr(stated)}, of the claim it is {true[0]!r}"
        for name, stated, true in words
        if stated not in true
    ]


def verify_file(path: str | Path, reader: Reader | None = None) -> tuple[Verdict, ...]:
    """Re-check every certificate of a file, with proved error bounds or by drawing again.

    Available as ``dpaudit.verify``.

    Parameters
    ----------
    path
        A certificate, or a list of them, as reports hold them in ``certificate.json``.
    reader
        Seed and confidence of fresh draws, and where data lies.

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
    return tuple(verify(document, reader) for document in read(path))


def _verifier(claim: str) -> Verifier:
    homes = _homes()
    if claim not in homes or not _has_verifier(homes[claim]):
        raise UnknownName("verifier", claim, filter(lambda name: _lists(homes[name]), homes))
    reference = f"{verifier_of(homes[claim])}:recompute"
    found: Verifier = load_reference(f"verifier of {claim}", reference)
    return found


def _homes() -> dict[str, str]:
    return {name: entry.module for name, entry in find_entry_points(CLAIMS).items()}


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
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # finding runs other people's code
        expected = f"a package that can be imported ({what_happened(error)})"
        raise InvalidArgument("verifier", module, expected) from error


def _lists(home: str) -> bool:
    try:
        return _has_verifier(home)
    except InvalidArgument:
        return False


def _stricter(document: Document) -> tuple[str, ...]:
    """Return the factor by which a certificate is stricter than the claim, if it is."""
    factor = document.parameters.get("factor", 1)
    if type(factor) in (int, float) and factor < 1:
        return (f"factor {factor:g} makes it stricter",)
    return ()


def _too_small(outcome: Outcome) -> list[str]:
    ratio = Real(outcome.quantities["ratio"])
    if ratio - 1 > MARGIN:
        return []
    shown = ratio.shown()
    if float(shown) > 1:  # by what rounding may explain
        return [f"ratio: {shown} is above 1 by no more than {MARGIN:g}"]
    return [f"ratio: {shown} is not above 1"]
