"""Certificates of counts: the audit that wrote them is run on draws that nobody could choose.

Whoever writes a certificate may have tried many seeds and kept the luckiest. So it is judged on
fresh draws, with a seed and a confidence of the reader's: whatever the file states, a true claim is
then refuted with probability at most ``1 - confidence``. Its own seed only reproduces its counts
(`find_unreproduced_numbers`), which says that they are those of the audit, not that they mean
anything.

Installed claims only, whose names alone are taken from the file. It names no place: a dataset's
files are looked for where the reader says, and an option that its loader does not have is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import process_time
from typing import TYPE_CHECKING, Any

from dpaudit.errors import DataError, InvalidArgument, shorten_repr
from dpaudit.verification.document import Document, Outcome, format_rounded_down

if TYPE_CHECKING:
    from dpaudit.extension.settings import Settings
    from dpaudit.report.schema import Result


class Usual(float):
    """A confidence that nobody named: where counts cannot be drawn again, audits' own stands in."""


# A reader may check many certificates at once. One in a million keeps the chance of any false
# refutation small, and fresh draws are cheap.
CONFIDENCE: float = Usual(0.999999)
_OF_SCORES = 0.95  # as an audit of scores has it
_LEAST_CONFIDENCE = 0.9  # below it a bound says little
_MOST_TRIALS = 10**6
_MOST_PAIRS = 1000
_MOST = 10**5
_SEED_BITS = 62


@dataclass(frozen=True)
class Reader:
    """The choices of a certificate's reader; the file does not decide them.

    Parameters
    ----------
    confidence
        The confidence at which fresh draws have to refute the claim. Scores of canaries, which
        nobody can draw again, have to refute it at this confidence too, or by default at 0.95.
    seed
        The seed of the fresh draws; by default one from the system's entropy.
    data_path
        The folder of a dataset's files.
    seconds
        The seconds that an audit may take: of the processor, or by the clock for a mechanism of the
        reader's own.
    mechanism, dataset, neighbour
        The mechanism that the certificate is about, if it is the reader's own, as `dpaudit.audit`
        takes it or as ``"module:object"``; and the two datasets, unless the file holds them.
    form, read, observe, ignore, fresh
        The form of a call and the observed part of a returned value, as `dpaudit.audit` takes them.
        A file that states others fails: the observation decides what leaks.
    relation
        The relation of the two datasets, as `dpaudit.audit` takes it. Without it the verdict has a
        reservation if the file does not name the smallest relation that explains the difference.
    scores
        The file of scores to count again, for a certificate about canaries.
    outputs
        The files of outputs to count again, for a certificate about outputs that somebody drew.
    guesses, design
        The plan of guesses that was fixed before anyone read scores, and the way in which chance
        included canaries. Without them the verdict has a reservation if the file's are not the
        default ones.

    Raises
    ------
    InvalidArgument
        A number is outside its range.
    """

    confidence: float = CONFIDENCE
    # The seed comes from the system's entropy: one that follows from the file or the clock
    # could be searched for, and a false refutation prepared for it.
    seed: int = field(default_factory=lambda: secrets.randbits(_SEED_BITS))
    data_path: str | None = None
    seconds: float = 600.0
    mechanism: Any = None
    dataset: Any = None
    neighbour: Any = None
    form: str | None = None
    read: Any = None
    observe: Sequence[str] = ()
    ignore: Sequence[str] = ()
    fresh: Any = None
    relation: Any = None
    scores: str | None = None
    outputs: Sequence[str] = ()
    guesses: Sequence[int] | None = None
    design: str | None = None

    @property
    def of_scores(self) -> float:
        """The confidence with which scores have to refute: nobody can train again for a check."""
        return _OF_SCORES if isinstance(self.confidence, Usual) else self.confidence

    def __post_init__(self) -> None:
        import dpaudit._check as check  # takes numpy, which no verifier of numbers needs

        check.require_probability("confidence", self.confidence)
        check.require_integer("seed", self.seed, least=0)
        check.require_positive("seconds", self.seconds)
        if self.confidence < _LEAST_CONFIDENCE:
            raise InvalidArgument("confidence", self.confidence, f"{_LEAST_CONFIDENCE} or more")
        for guesses in self.guesses or ():
            check.require_integer("guesses", guesses, least=1)


@dataclass(frozen=True)
class FreshAudit:
    """The audit of a certificate on fresh draws: the outcome, or why it refutes nothing."""

    outcome: Outcome
    failures: tuple[str, ...]


def draw_afresh(document: Document, reader: Reader) -> FreshAudit:
    """Return the audit that a certificate describes, on draws of the reader's.

    Raises
    ------
    DataError
        The settings are not those of an audit, ask for too much work, or take too long.
    UnknownName
        The claim is not installed.
    """
    settings = settings_of(document, reader)
    result = _run_stated_audit(document, settings, reader)
    return judge_fresh_result(result, settings, reader)


def judge_fresh_result(result: Result, settings: Settings, reader: Reader) -> FreshAudit:
    """Return the judgement of an audit on fresh draws."""
    from dpaudit.auditing.repeat.certificate_draws import quantities_of
    from dpaudit.report.formatting import format_surety

    numbers = quantities_of(result)
    summary = (
        f"at least {format_rounded_down(result.measured.lower, numbers['bound'])} where the "
        "claim allows "
        f"{numbers['bound']:.6g} on fresh draws (seed {reader.seed}), "
        f"{format_surety(result.measured)}"
        f"{_format_asked_parameters(settings)}"
    )
    kept = {name: numbers[name] for name in ("bound", "value", "ratio")}
    refuted = result.verdict == "refuted"
    return FreshAudit(
        Outcome(
            assumptions={},
            quantities=kept,
            summary=summary,
            reservations=_list_fresh_audit_reservations(result, settings),
        ),
        () if refuted else (f"the claim is not refuted: {summary}",),
    )


def find_unreproduced_numbers(document: Document, reader: Reader) -> tuple[str, ...]:
    """Return which numbers of the file its own seed and confidence do not give again."""
    return compare_stated_numbers(
        document, _run_stated_audit(document, own_settings(document, reader), reader)
    )


def own_settings(document: Document, reader: Reader) -> Settings:
    """Return the settings of the file, with its own seed and confidence."""
    return replace(
        settings_of(document, reader),
        seed=_get_stated_setting(document, "seed"),
        confidence=_get_stated_setting(document, "confidence"),
    )


def compare_stated_numbers(document: Document, result: Result) -> tuple[str, ...]:
    """Return which numbers of the file are not those of a result."""
    from dpaudit.auditing.repeat.certificate_draws import quantities_of

    found = quantities_of(result)
    return tuple(
        f"{name}: the file states {document.quantities.get(name)!r}, its own seed gives {value!r}"
        for name, value in found.items()
        if document.quantities.get(name) != value
    )


def _get_stated_setting(document: Document, name: str) -> Any:
    from dpaudit.extension.settings import Settings

    return document.instance["settings"].get(name, getattr(Settings(), name))


def _run_stated_audit(document: Document, settings: Settings, reader: Reader) -> Result:
    from dpaudit.auditing.run import audit_claim
    from dpaudit.execution import Executor

    clock = AuditDeadline(process_time() + reader.seconds, document.path)
    return audit_claim(document.claim, settings, Executor(progress=clock))


@dataclass
class AuditDeadline:
    """Progress that ends an audit which takes too long, between two blocks.

    Parameters
    ----------
    end, path
        When it is too late, and what the message is about.
    now
        The clock: seconds of this process's processor, which do not depend on the load, or of the
        day, where somebody's code runs in processes of its own.
    """

    end: float
    path: str
    now: Callable[[], float] = process_time

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage."""

    def advance(self, trials: int) -> None:
        """Raise once the time is over."""
        if self.now() > self.end:
            raise DataError(f"{self.path}: takes too long to draw again")


def settings_of(document: Document, reader: Reader) -> Settings:
    """Return the settings of the file, with the reader's own in the place of the file's."""
    from dpaudit.extension.settings import Settings

    given: Any = document.instance.get("settings")
    known = Settings.get_certificate_names()
    if not isinstance(given, dict) or not given.keys() <= known:
        expected = f"an object with some of: {', '.join(sorted(known))}"
        raise document.refused("instance.settings", given, expected)
    for name in ("parameters", "data_options"):
        if not isinstance(given.get(name, {}), dict):
            raise document.refused(f"instance.settings.{name}", given[name], "an object")
    # A path in the file would let it choose which files of the reader are opened.
    settings = Settings.read(given | {"data_path": reader.data_path})
    _refuse_options(document, settings)
    _refuse_work(document, settings)
    return replace(settings, seed=reader.seed, confidence=float(reader.confidence))


def _refuse_options(document: Document, settings: Settings) -> None:
    """Refuse options that the dataset's loader does not have: whoever reads them may open them."""
    from dpaudit.datasets.catalogue import options_of

    known = options_of(settings.data)
    for name, value in settings.data_options.items():
        if name not in known or not isinstance(value, str | int | float | None):
            expected = f"a word or number for one of: {', '.join(known) or 'no options'}"
            raise document.refused(f"instance.settings.data_options.{name}", value, expected)


def _refuse_work(document: Document, settings: Settings) -> None:
    """Refuse more work than an honest certificate asks for."""
    limits = [
        ("trials", settings.trials, _MOST_TRIALS),
        ("pairs", settings.candidate_pairs, _MOST_PAIRS),
        ("unit", settings.unit, _MOST_TRIALS),
        *(("looks", trials, _MOST_TRIALS) for trials, _ in settings.looks or ()),
        *((f"parameters.{name}", value, _MOST) for name, value in settings.parameters.items()),
        *((f"data_options.{name}", value, _MOST) for name, value in settings.data_options.items()),
    ]
    # An audit with a time limit stops where the machine's speed says, which no second run
    # repeats; the writer records the looks that came of it.
    if settings.time is not None:
        raise document.refused("instance.settings.time", settings.time, "looks in its place")
    for name, value, most in limits:
        # Sizes may come as 1e9 as well as 1000000000. Fractions are parameters such as
        # probabilities or scales, and cost no work.
        whole = type(value) is int or (type(value) is float and value.is_integer())
        if whole and value > most:
            raise document.refused(f"instance.settings.{name}", value, f"at most {most}")


def _format_asked_parameters(settings: Settings) -> str:
    asked = ", ".join(f"{name} = {shorten_repr(v)}" for name, v in settings.parameters.items())
    return f" (with {asked})" if asked else ""


def _list_fresh_audit_reservations(result: Result, settings: Settings) -> tuple[str, ...]:
    found = [f"{one.name} does not hold" for one in result.assumptions if not one.holds]
    if result.standing == "question":
        found.append("nobody claims it: it is a question that was asked")
    factor = float(settings.parameters.get("factor", 1))  # a number, as the audit has taken it
    if factor < 1:
        found.append(f"factor {factor:g} makes it stricter")
    return tuple(found)
