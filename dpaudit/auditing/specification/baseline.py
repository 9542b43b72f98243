"""A baseline: refutations that somebody accepted, each with a reason, a day and a bound.

An entry is about one claim: of one audit, function, relation, quantity, delta and claimed number.
It accepts certified lower ends up to a number, until its last day. Whatever else is refuted stays
refuted, and so does this where more is certified than was accepted. An audit that is alone has more
of the error probability than one of many, and certifies more by the same counts; so counts of an
event are compared at the error probability at which they were accepted. The file is TOML with one
table an entry, sorted by name, so that a difference of two versions shows what somebody accepted.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

from dpaudit.errors import DataError, InvalidArgument
from dpaudit.escaping import one_line
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.files import write_file
from dpaudit.report.acceptance import Acceptance
from dpaudit.report.formatting import error_probability, format_result_label, setting, value_of
from dpaudit.report.schema import Result
from dpaudit.toml import read_document
from dpaudit.verdicts import RELATIVE_ROUNDING

_HEAD = (
    "# Refutations that were accepted. One above its bound, or of another claim, refutes again.\n"
)
_TABLE = "accepted"


@dataclass(frozen=True, kw_only=True)
class BaselineSubject:
    """A refuted claim of one audit, as an entry of a baseline names it.

    Parameters
    ----------
    audit
        The name that the audit has in a report, or in pytest the test.
    mechanism
        The function, ``module:object``; None of an installed claim.
    relation, quantity, claimed, delta
        The claim: of which neighbours, what it bounds, by which number, at which delta.
    instance
        Of an installed claim, a digest of its data and parameters.
    observe
        What an attacker sees besides outputs, such as the time of a call; None if nothing.
    """

    audit: str
    mechanism: str | None = None
    relation: str
    quantity: str
    claimed: float | None
    delta: float | None = None
    instance: str | None = None
    observe: str | None = None

    @classmethod
    def of(cls, result: Result, audit: str | None = None) -> BaselineSubject:
        """Return the subject of a result, under another name if one is given."""
        function = None if result.code is None else result.code.reference
        function = result.parameters.get("mechanism", function)
        return cls(
            audit=one_line(audit or format_result_label(result)),
            mechanism=None if function is None else one_line(str(function)),
            relation=one_line(result.relation),
            quantity=one_line(result.quantity or _QUANTITIES[result.kind]),
            claimed=value_of(result.claimed, result.kind),
            delta=result.claimed.delta,
            instance=_compute_result_digest(result) if function is None else None,
            observe=", ".join(sorted(map(one_line, result.observe))) or None,
        )

    def differences(self, other: BaselineSubject) -> list[str]:
        """Return in which fields another differs, in words.

        Examples
        --------
        >>> one = BaselineSubject(
        ...     audit="a", relation="r", quantity="epsilon", claimed=1.0, delta=0.0
        ... )
        >>> one.differences(BaselineSubject(**{**vars(one), "delta": 1e-5}))
        ['delta is 1e-5 and was 0']
        """
        return [
            f"{one.name} is {_format_subject_field(other, one.name)} and was "
            f"{_format_subject_field(self, one.name)}"
            for one in fields(self)
            if getattr(self, one.name) != getattr(other, one.name)
        ]


@dataclass(frozen=True, kw_only=True)
class BaselineEntry:
    """A refutation that was accepted.

    Parameters
    ----------
    subject
        What was refuted.
    lower, confidence
        What was certified then.
    up_to
        The largest certified lower end that is accepted: that of then, rounded up to three digits,
        or what somebody wrote in its place.
    reason, date, until
        Why, on which day, and the last day, if there is one.
    """

    subject: BaselineSubject
    lower: float
    up_to: float
    confidence: float | None = None
    reason: str
    date: datetime.date
    until: datetime.date | None = None

    def judge(self, result: Result, today: datetime.date) -> Acceptance:
        """Return the state of the entry in a result of its subject."""
        if result.verdict == "withheld":
            state = "withheld"
        elif result.verdict != "refuted":
            state = "not refuted"
        elif self.until is not None and today > self.until:
            state = "expired"
        else:
            # The file holds a decimal, and the bound may differ from it by rounding on another
            # machine.
            limit = self.up_to + RELATIVE_ROUNDING * abs(self.up_to)
            state = "accepted" if self._lower_now(result) <= limit else "worse"
        return self.as_acceptance(result, state)

    def as_acceptance(self, result: Result, state: Any, differs: Sequence[str] = ()) -> Acceptance:
        """Return the entry as a report has it."""
        return Acceptance(
            state=state,
            reason=self.reason,
            since=self.date.isoformat(),
            until=None if self.until is None else self.until.isoformat(),
            was=self.lower,
            up_to=self.up_to,
            now=self._lower_now(result),
            differs=list(differs),
        )

    def _lower_now(self, result: Result) -> float:
        """Return the bound certified now, at the confidence of then if the counts are known."""
        event = result.carrying_event
        then = None if self.confidence is None else error_probability(self.confidence)
        # Only where an event carries the bound do its counts determine it at another error
        # probability.
        if event is None or then is None or then >= event.alpha or event.epsilon != result.lower:
            return result.lower
        (hits, other_hits), (runs, other_runs) = event.hits, event.runs
        counts = hits, other_hits, runs, other_runs
        # The favoured side is the one with the larger share, in integers, so without rounding.
        if hits * other_runs < other_hits * runs:
            counts = other_hits, hits, other_runs, runs
        found = joint_lower_bound(*counts, delta=event.delta, alpha=then, order=event.order)
        # A smaller error probability certifies less; more than is certified now is never
        # compared.
        return min(result.lower, max(0.0, found))


@dataclass(frozen=True)
class Consent:
    """The consent of whoever runs a command to its refutations: why, and until when."""

    reason: str
    until: datetime.date | None = None

    def __post_init__(self) -> None:
        if not one_line(self.reason):
            raise InvalidArgument("accept", self.reason, "a reason, for whoever reads the baseline")
        if self.until is not None and self.until < today_of():
            raise InvalidArgument("accept_until", str(self.until), "a day that is not over")


class Baseline:
    """A file of accepted refutations.

    Parameters
    ----------
    path
        The file; where refutations are accepted it need not be there yet.
    consent
        That what is refuted is accepted from now on; None only reads.
    today
        The day on which entries are valid or over, by UTC.

    Raises
    ------
    DataError, InvalidArgument
        The file cannot be read, or an entry is not as it has to be.
    """

    def __init__(
        self, path: Path, consent: Consent | None = None, today: datetime.date | None = None
    ) -> None:
        self.path, self.consent, self.today = path, consent, today or today_of()
        self.entries = _read_baseline_entries(path, may_be_missing=consent is not None)
        self._met: list[BaselineSubject] = []

    def judge(self, result: Result, audit: str | None = None) -> Result:
        """Return a result with the baseline's judgement; accept a refutation that has consent.

        The verdict stays. What is accepted is in the file when this returns.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        subject = BaselineSubject.of(result, audit)
        found = self._acceptance(result, subject)
        wanted = result.verdict == "refuted" and (found is None or found.state != "accepted")
        if self.consent is not None and wanted:
            found = self._accept(result, subject, self.consent)
        return result.model_copy(update={"acceptance": found})

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """Return the notes on entries that no result matched.

        Parameters
        ----------
        names
            Audits of which nothing is known, such as those that gave no result.
        """
        unknown = {one_line(name) for name in names}
        others = [
            one
            for one in self.entries
            if one.subject.audit not in unknown and one.subject not in self._met
        ]
        return [
            f"{one.subject.audit}, accepted on {one.date} ({one.reason}) in {self.path.name}"
            for one in others
        ]

    def _acceptance(self, result: Result, subject: BaselineSubject) -> Acceptance | None:
        of_audit = [one for one in self.entries if one.subject.audit == subject.audit]
        # If a claim was changed, its entry no longer matches; the nearest one shows what has
        # changed.
        nearest = min(of_audit, key=lambda one: len(one.subject.differences(subject)), default=None)
        if nearest is None:
            return None
        self._met.append(nearest.subject)
        if differs := nearest.subject.differences(subject):
            return nearest.as_acceptance(result, "changed", differs)
        return nearest.judge(result, self.today)

    def _accept(self, result: Result, subject: BaselineSubject, consent: Consent) -> Acceptance:
        """Write an entry in the place of the file's entry about the audit, and return it."""
        made = BaselineEntry(
            subject=subject,
            lower=result.lower,
            up_to=_round_up_to_three_digits(result.lower),
            confidence=result.measured.confidence,
            reason=one_line(consent.reason),
            date=self.today,
            until=consent.until,
        )
        with _lock_folder(self.path):
            # Read again under the lock: another process may have accepted something since.
            present = _read_baseline_entries(self.path, may_be_missing=True)
            others = [one for one in present if one.subject != subject]
            self.entries = tuple(sorted([*others, made], key=_get_entry_sort_key))
            self._met.append(subject)
            write_file(self.path, _format_baseline(self.entries).encode("utf-8"))
        return made.judge(result, self.today)


def today_of() -> datetime.date:
    """Return the day by UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def day_of(name: str, text: str) -> datetime.date:
    """Return a day.

    Raises
    ------
    InvalidArgument
        The text is none.

    Examples
    --------
    >>> day_of("until", "2031-03-01")
    datetime.date(2031, 3, 1)
    """
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(name, text, "a day such as 2031-03-01") from None


def _round_up_to_three_digits(value: float) -> float:
    """Return a number of three digits that is at least as large.

    Examples
    --------
    >>> (
    ...     _round_up_to_three_digits(1.9055),
    ...     _round_up_to_three_digits(0.70101),
    ...     _round_up_to_three_digits(2.0),
    ...     _round_up_to_three_digits(math.inf),
    ... )
    (1.91, 0.702, 2.0, inf)
    """
    if not math.isfinite(value):
        return value
    shown = float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(value)))
    # float() of the decimal may be rounded to just below the value.
    return max(shown, value)


_QUANTITIES = {"privacy": "epsilon", "sensitivity": "L2 sensitivity", "property": "value"}


def _compute_result_digest(result: Result) -> str:
    """Return a digest of the instance of an installed claim."""
    stated = json.dumps([result.data, result.parameters], sort_keys=True, default=str)
    return hashlib.sha256(stated.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _format_subject_field(subject: BaselineSubject, name: str) -> str:
    value = getattr(subject, name)
    return "nothing" if value is None else setting(value)


def _get_entry_sort_key(entry: BaselineEntry) -> tuple[str, ...]:
    """Return the sort key of entries: the name first."""
    return tuple(repr(one) if name != "audit" else one for name, one in vars(entry.subject).items())


@contextmanager
def _lock_folder(path: Path) -> Iterator[None]:
    """Let one process at a time change the files of a folder."""
    try:
        # The folder and not the file: the file is replaced when it is written, and a lock on
        # the old one would keep nobody out.
        folder = os.open(path.resolve().parent, os.O_RDONLY)
    except OSError as error:
        raise DataError(f"{one_line(str(path))}: cannot be written ({error.strerror})") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


# The file


def _read_baseline_entries(path: Path, *, may_be_missing: bool) -> tuple[BaselineEntry, ...]:
    if not path.exists():
        if may_be_missing:
            return ()
        expected = "a baseline; --accept REASON writes one"
        raise DataError(f"{one_line(str(path))}: no such file, expected {expected}")
    document = read_document(path)
    tables = document.get(_TABLE, [])
    if document.keys() - {_TABLE} or not isinstance(tables, list):
        raise InvalidArgument(one_line(str(path)), sorted(document), f"[[{_TABLE}]] tables alone")
    found = [
        _parse_baseline_entry(table, f"entry {place} of {path}")
        for place, table in enumerate(tables, 1)
    ]
    subjects = [one.subject for one in found]
    for place, one in enumerate(subjects, 1):
        if one in subjects[: place - 1]:
            expected = "one entry for each claim"
            raise InvalidArgument(f"entry {place} of {path}", one.audit, expected)
    return tuple(found)


_WORDS = ("audit", "mechanism", "relation", "quantity", "instance", "observe", "reason")
_NUMBERS = ("claimed", "delta", "lower", "up_to", "confidence")
_DAYS = ("date", "until")
_NEEDED = ("audit", "relation", "quantity", "lower", "reason", "date")


def _parse_baseline_entry(table: object, where: str) -> BaselineEntry:
    known = (*_WORDS, *_NUMBERS, *_DAYS)
    if not isinstance(table, dict) or table.keys() - {*known}:
        given = sorted(table.keys() - {*known}) if isinstance(table, dict) else table
        raise InvalidArgument(where, given, f"a table of {', '.join(known)} alone")
    for name in _NEEDED:
        if name not in table:
            raise InvalidArgument(where, sorted(table), f"a table with {name}")
    for name, value in table.items():
        _require_entry_value(f"{name} in {where}", name, value)
    numbers = {name: float(table[name]) for name in _NUMBERS if name in table}
    words = {name: one_line(table[name]) for name in _WORDS if name in table}
    return BaselineEntry(
        subject=BaselineSubject(
            audit=words["audit"],
            mechanism=words.get("mechanism"),
            relation=words["relation"],
            quantity=words["quantity"],
            claimed=numbers.get("claimed"),
            delta=numbers.get("delta"),
            instance=words.get("instance"),
            observe=words.get("observe"),
        ),
        lower=numbers["lower"],
        up_to=numbers.get("up_to", numbers["lower"]),
        confidence=numbers.get("confidence"),
        reason=words["reason"],
        date=table["date"],
        until=table.get("until"),
    )


def _require_entry_value(where: str, name: str, value: object) -> None:
    """Refuse a value of another kind than its key has."""
    if name in _WORDS and (not isinstance(value, str) or not one_line(value)):
        raise InvalidArgument(where, value, "a text that is not empty")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _NUMBERS and (not is_number or math.isnan(float(str(value)))):
        raise InvalidArgument(where, value, "a number")
    # datetime is a subclass of date, and a time of day has no place here.
    if name in _DAYS and type(value) is not datetime.date:
        raise InvalidArgument(where, str(value), "a day such as 2031-03-01, without quotes")


def _format_baseline(entries: Sequence[BaselineEntry]) -> str:
    """Return the file of entries."""
    return _HEAD + "".join(f"\n[[{_TABLE}]]\n{_format_entry_lines(one)}" for one in entries)


def _format_entry_lines(entry: BaselineEntry) -> str:
    stated: Mapping[str, Any] = {
        **vars(entry.subject),
        **{name: one for name, one in vars(entry).items() if name != "subject"},
    }
    return "".join(
        f"{name} = {_to_toml_value(one)}\n" for name, one in stated.items() if one is not None
    )


def _to_toml_value(value: str | float | datetime.date) -> str:
    r"""Return a value as TOML has it.

    Examples
    --------
    >>> print(
    ...     _to_toml_value('a "b"'),
    ...     _to_toml_value(1e-5),
    ...     _to_toml_value(math.inf),
    ...     _to_toml_value(datetime.date(2031, 3, 1)),
    ... )
    "a \"b\"" 1e-05 inf 2031-03-01
    """
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return re.sub("\x7f", r"\\u007f", json.dumps(value, ensure_ascii=False))
    return repr(value)
