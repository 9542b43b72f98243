"""The questions of a sheet, and the answers of reports: shown, claimed, or not looked at."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR
from importlib.metadata import version
from typing import Literal, get_args

from dpaudit.guarantees.guarantee import Guarantee
from dpaudit.report.formatting import format_integer, format_significant
from dpaudit.sheet.result_lines import describe_result, format_certificate_state
from dpaudit.sheet.subjects import SheetSubject
from dpaudit.verdicts import Verdict, choose_gravest_verdict

_LONGEST = 160
Standing = Literal["shown", "claimed", "not looked at"]


@dataclass(frozen=True)
class AnswerPart:
    """One answer about several results.

    Parameters
    ----------
    standing
        Whether it is shown by a certificate that was checked, claimed, or not looked at.
    text
        The number and what shows it, or who claims it.
    names
        Of which results; empty where it is of all.
    """

    standing: Standing
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A question, and its answer."""

    question: str
    parts: tuple[AnswerPart, ...]


@dataclass(frozen=True, kw_only=True)
class Signer:
    """The author of the sheet, its day, and the end of its validity."""

    by: str | None
    on: datetime.date
    until: datetime.date | None = None


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """All that stands on a sheet.

    Parameters
    ----------
    headline
        What has to be known first: the verdict, and what the certificate is worth.
    verdict
        The gravest of all; None where nothing was judged.
    subjects, answers
        The results, and the answers to the questions.
    voids
        The reasons for which the sheet is void.
    """

    headline: str
    verdict: Verdict | None
    subjects: Sequence[SheetSubject]
    answers: Sequence[Answer]
    signer: Signer
    voids: Sequence[str]
    made_with: str = field(default_factory=lambda: version("dpaudit"))

    @property
    def lines(self) -> list[tuple[SheetSubject, str]]:
        """Each result, and its conclusion."""
        return [(one, describe_result(one)) for one in self.subjects]


def make_sheet(
    subjects: Sequence[SheetSubject], signer: Signer, digest: str | None = None
) -> Sheet:
    """Return the sheet of results.

    Parameters
    ----------
    subjects
        At least one.
    signer
        Who makes it, and when.
    digest
        Of the code as it is now, where somebody named it; empty where no file of it is found.
    """
    judged = [one.verdict for one in subjects if one.verdict is not None]
    return Sheet(
        headline=" ".join(
            [*_format_void_reasons(subjects, signer, digest), *_format_sheet_headline(subjects)]
        ),
        verdict=choose_gravest_verdict(judged) if judged else None,
        subjects=subjects,
        answers=[
            Answer(question, _group_equal_answers(subjects, answer))
            for question, answer in _QUESTIONS
        ]
        + [Answer("Composition: what adds up?", _make_composition_parts(subjects))]
        + [Answer(question, (AnswerPart("not looked at", why),)) for question, why in _NEVER],
        signer=signer,
        voids=list(_list_void_conditions(subjects, signer)),
    )


# The first line


def _format_void_reasons(
    subjects: Sequence[SheetSubject], signer: Signer, digest: str | None
) -> Iterator[str]:
    """Yield the reasons that make the sheet void already."""
    if signer.until is not None and signer.on > signer.until:
        yield f"VOID: it was valid until {signer.until}."
    stated = {one.sha256 for one in subjects if one.sha256 is not None}
    if digest == "":
        yield "NOT COMPARED: no file of the named code was found."
    elif digest is not None and stated != {digest}:
        yield "VOID: the code differs from the code that was audited."


def _format_sheet_headline(subjects: Sequence[SheetSubject]) -> Iterator[str]:
    """Yield each result, the gravest first, and the audits without a result."""
    if len(subjects) == 1:
        yield describe_result(subjects[0])
    else:
        yield from _format_subject_verdicts(subjects)
    # By the digest of the report, since all results of one report list the same missing audits.
    lost = {one.digest: one.missing for one in subjects if one.missing}
    if lost:
        names = dict.fromkeys(name for missing in lost.values() for name in missing)
        yield f"Audits that gave no result: {', '.join(names)}."


_WORDS: dict[Verdict | None, str] = {
    "refuted": "REFUTED",
    "withheld": "WITHHELD",
    "not refuted": "NOT REFUTED, which is no evidence",
    "proved": "PROVED",
    None: "NOT AUDITED",
}
# A sheet is one page: of longer lists the rest is counted.
_MOST_NAMES = 6


def _format_subject_verdicts(subjects: Sequence[SheetSubject]) -> Iterator[str]:
    """Yield how many results have each verdict, the gravest first, and how certificates end."""
    for verdict, word in _WORDS.items():
        names = [one.name for one in subjects if one.verdict == verdict]
        more = "" if len(names) <= _MOST_NAMES else f" and {len(names) - _MOST_NAMES} more"
        if names:
            listed = ", ".join(names[:_MOST_NAMES])
            yield f"{word}: {len(names)} of {len(subjects)} ({listed}{more})."
    failing = [one.name for one in subjects if one.certificate.state == "fails"]
    if failing:
        yield f"CERTIFICATES DO NOT VERIFY for {', '.join(failing)}."
    bare = [one for one in subjects if one.verdict == "refuted" and not one.certificate.shows]
    if len(bare) > len(failing):
        yield f"{len(bare)} of these refutations have no certificate that was checked and stands."


# The questions


def _group_equal_answers(
    subjects: Sequence[SheetSubject], answer: Callable[[SheetSubject], AnswerPart]
) -> tuple[AnswerPart, ...]:
    """Return the answers, one for all results that have the same."""
    found = dict[tuple[Standing, str], list[str]]()
    for one in subjects:
        part = answer(one)
        found.setdefault((part.standing, part.text), []).append(one.name)
    if len(found) == 1:
        ((standing, text),) = found
        return (AnswerPart(standing, text),)
    if len(found) > _MOST_PARTS:
        return tuple(_by_standing(found, len(subjects)))
    return tuple(AnswerPart(*key, tuple(names)) for key, names in found.items())


# Each result has a line of its own below, so that more answers than these are summed up by
# standing.
_MOST_PARTS = 3


def _by_standing(
    found: Mapping[tuple[Standing, str], Sequence[str]], total: int
) -> Iterator[AnswerPart]:
    """Yield of how many results an answer has each standing, where the answers are too many."""
    standings: Sequence[Standing] = get_args(Standing)
    for standing in standings:
        number_of = sum(len(names) for (one, _), names in found.items() if one == standing)
        if number_of:
            yield AnswerPart(
                standing, f"For {number_of} of {total} results: each has a line below."
            )


_UNITS = {
    "replace-record": "one record, which may have any other values",
    "add-remove-record": "one record, which may be there or not",
    "zero-out-record": "one record, which may be there or be blank",
}


def _make_unit_part(one: SheetSubject) -> AnswerPart:
    if not one.relation:
        return AnswerPart("not looked at", "The report names no neighbours.")
    what = _UNITS.get(one.relation, f"the difference between neighbours: {one.relation}")
    named = f" ({one.relation})" if one.relation in _UNITS else ""
    by = one.claimed_by or one.proved_by or "the report"
    return AnswerPart(
        "claimed",
        f"By {_shorten_author(by)}: {what}{named}. Nobody checked whether a person has only one "
        f"record.",
    )


def _make_numbers_part(one: SheetSubject) -> AnswerPart:
    measured = f" Measured, as the report says: {one.measured}." if one.measured else ""
    claimed = f"{one.claimed}, claimed by {_shorten_author(one.claimed_by)}." if one.claimed else ""
    proved = f" Proved: {one.proved}, by {_shorten_author(one.proved_by)}." if one.proved else ""
    said = f"{claimed}{proved}{measured}".strip()
    if one.verdict == "refuted":
        standing: Standing = "shown" if one.certificate.shows else "claimed"
        return AnswerPart(
            standing, f"That the claim is false. {said} {format_certificate_state(one)}"
        )
    if one.verdict == "withheld":
        return AnswerPart("claimed", f"{claimed} Nothing was measured.".strip())
    if one.verdict == "proved" and one.from_code:
        standing = "shown" if one.certificate.stands else "claimed"
        return AnswerPart(standing, f"{said} {format_certificate_state(one)}")
    if not said:
        return AnswerPart("not looked at", "The report has no number.")
    return AnswerPart("claimed", said)


def _in_words(one: SheetSubject) -> AnswerPart:
    if one.verdict == "refuted":
        seen = (
            ""
            if one.success is None
            else " An attacker who used one event was right in "
            f"{_format_percent(one.success, ROUND_FLOOR)} of fresh outputs."
        )
        standing: Standing = "shown" if one.certificate.shows else "claimed"
        return AnswerPart(standing, f"What the claim would promise does not hold.{seen}")
    if one.verdict == "withheld" or one.guarantee is None:
        return AnswerPart("not looked at", "There is no number to put into words.")
    standing = "shown" if one.from_code and one.certificate.stands else "claimed"
    return AnswerPart(standing, _format_attacker_promise(one.guarantee, one.delta))


def _format_attacker_promise(guarantee: Guarantee, delta: float | None) -> str:
    """Return a guarantee as an attacker's success, and the exception that delta allows."""
    said = (
        "If it holds, an attacker who knows all but one record and would guess right in 50% of "
        f"cases is right in {_format_percent(guarantee.success(0.5), ROUND_CEILING)} at most."
    )
    if not delta:
        return said
    return (
        f"{said} δ lets it fail in {format_significant(delta)} of outputs: compare it with 1 "
        "over the people."
    )


def _format_percent(share: float, rounding: str) -> str:
    return f"{format_significant(100 * share, rounding=rounding)}%"


def _make_correctness_part(one: SheetSubject) -> AnswerPart:
    if one.verdict is None:
        return AnswerPart("not looked at", "No code was run: parameters were accounted for.")
    if one.verdict == "refuted":
        standing: Standing = "shown" if one.certificate.shows else "claimed"
        return AnswerPart(standing, f"That it is not right. {format_certificate_state(one)}")
    if one.verdict == "withheld":
        return AnswerPart("not looked at", "A check failed, so nothing can be said about the code.")
    if one.from_code and one.certificate.shows:
        return AnswerPart(
            "shown", "Proved from the code for all datasets of the domain, over the reals."
        )
    if one.command == "scan":
        return AnswerPart(
            "claimed", f"By {one.claimed_by}. {one.measured}; others were not refuted."
        )
    if one.from_code:
        return AnswerPart(
            "claimed", f"Proved from the code, as the report says. {format_certificate_state(one)}"
        )
    if one.command in ("replay", "prove"):
        return AnswerPart(
            "claimed",
            "The audit ran the code, which did not contradict the claim; this shows nothing more.",
        )
    if not one.claimed:
        return AnswerPart(
            "not looked at", "The report states no claim that the code could keep or break."
        )
    drawn = (
        "The audit" if one.outputs is None else f"An audit of {format_integer(one.outputs)} outputs"
    )
    passed, checks = one.checks
    contract = f" {passed} of {checks} checks of its assumptions passed." if checks else ""
    by = _shorten_author(one.claimed_by) or "nobody"
    return AnswerPart("claimed", f"By {by}. {drawn} does not contradict it on one pair.{contract}")


def _shorten_author(text: str) -> str:
    """Return who states something, cut where it is long: a sheet is one page."""
    return textwrap.shorten(text, _LONGEST, placeholder=" ...")


def _make_timing_part(one: SheetSubject) -> AnswerPart:
    if "time" in one.observed and one.verdict not in (None, "withheld"):
        return AnswerPart("claimed", "The time of a call counted as an output of the audit.")
    return AnswerPart("not looked at", "The audit saw outputs alone, and no time.")


def _make_floating_point_part(one: SheetSubject) -> AnswerPart:
    if one.numbers_tried:
        tried = f"{one.numbers_tried} corners of numbers were tried on values plus noise."
        return AnswerPart("claimed", f"By the scan: {tried}")
    return AnswerPart(
        "not looked at",
        "The certified numbers are about drawn outputs, or about arithmetic on real numbers.",
    )


def _make_view_part(one: SheetSubject) -> AnswerPart:
    if not one.view:
        return AnswerPart(
            "not looked at", "How data are collected, and what an attacker may see besides."
        )
    return AnswerPart(
        "claimed",
        f"The report assumes that the attacker sees {one.view}, and nothing else. Nobody checked "
        f"how data are collected.",
    )


_QUESTIONS: tuple[tuple[str, Callable[[SheetSubject], AnswerPart]], ...] = (
    ("Unit of privacy: whom does it protect?", _make_unit_part),
    ("Epsilon and its relatives: how much?", _make_numbers_part),
    ("In words: what does the number promise?", _in_words),
    ("Correctness: is it what the code does?", _make_correctness_part),
    ("Side channels: timing", _make_timing_part),
    ("Side channels: floating point", _make_floating_point_part),
    ("Data collection and threat model", _make_view_part),
)
_NEVER = (
    (
        "Raw data: who holds them, and who may see them?",
        "No report says. Ask for access, logs and backups.",
    ),
)


# What adds up


def _make_composition_parts(subjects: Sequence[SheetSubject]) -> tuple[AnswerPart, ...]:
    if len(subjects) == 1:
        return (
            AnswerPart(
                "not looked at", "This is one release. Others about the same people add to it."
            ),
        )
    names = {one.about for one in subjects}
    if None in names or len(names) != 1:
        said = (
            "The sheet adds nothing up: the reports do not say that they are about the same data."
        )
        return (AnswerPart("not looked at", said),)
    return (_make_claim_sum_part(subjects, str(next(iter(names)))),)


def _make_claim_sum_part(subjects: Sequence[SheetSubject], about: str) -> AnswerPart:
    """Return the sum of claims about the same data; none where one is false or is no epsilon."""
    # A sum with a false claim in it would be a number that nobody may rely on.
    if any(one.verdict in ("refuted", "withheld") for one in subjects):
        return AnswerPart(
            "not looked at",
            f"All are about {about}. There is no sum: a claim is refuted, or has no verdict.",
        )
    # Epsilons add up under one neighbour relation alone: a replaced record may count twice as
    # much as one that is added.
    if len({one.relation for one in subjects}) != 1:
        return AnswerPart(
            "not looked at", f"All are about {about}, and of several units of privacy."
        )
    points = [(one.epsilon, one.delta) for one in subjects]
    if any(epsilon is None or delta is None for epsilon, delta in points):
        return AnswerPart("not looked at", f"All are about {about}, and not all claim an epsilon.")
    epsilon = sum(epsilon for epsilon, _ in points if epsilon is not None)
    delta = sum(delta for _, delta in points if delta is not None)
    # A sum is shown only where each of its parts is.
    shown = all(one.from_code and one.certificate.stands for one in subjects)
    said = (
        f"ε = {_format_rounded_up(epsilon)} at δ = {_format_rounded_up(delta)} for these "
        f"{len(subjects)} releases together"
    )
    return AnswerPart(
        "shown" if shown else "claimed",
        f"All are about {about}: {said}, as their claims add up. Other releases add to it.",
    )


def _format_rounded_up(value: float) -> str:
    from decimal import ROUND_CEILING

    return format_significant(float(f"{value:.12g}"), rounding=ROUND_CEILING)


# Validity


def _list_void_conditions(subjects: Sequence[SheetSubject], signer: Signer) -> Iterator[str]:
    digests = {f"{one.code}: {one.sha256}" for one in subjects if one.sha256 is not None}
    if digests:
        yield (
            "a file of the code has a SHA-256 that differs from the one below, or a file that it "
            "imports changes"
        )
    else:
        yield "the code changes in any way (no digest of it is in the report)"
    yield "a newer version of a library that it uses is installed"
    yield "its parameters, or the bounds of its data, change"
    yield "something else about the same people is released"
    if signer.until is not None:
        yield f"{signer.until} is over"
