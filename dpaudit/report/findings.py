"""The numbers that decided a row of a ledger, in words: exact ones in full, others rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction

from dpaudit.extension.ledger import (
    Consequence,
    Convention,
    Finding,
    Number,
    OpenQuestion,
    ReproductionEvidence,
)
from dpaudit.ledger.audits import PublishedAudit
from dpaudit.ledger.verdicts import JudgedRow
from dpaudit.report.formatting import MOST_DIGITS, format_significant

_MOST_POWER = 300  # of ten, in a float
_WIDEST = 24  # characters of an exact number that a reader still takes in
_OTHERWISE = {
    "follows": "It was derived from {}, which is {}. {}",
    "implies": "It implies {}, which is {}. {}",
    "restates": "It says the same as {}, which is {}. {}",
}


def finding_words(finding: Finding) -> str:
    """Return the two sides, whether they stand in the relation, and the instance.

    Examples
    --------
    >>> print(
    ...     finding_words(
    ...         Finding(left=Fraction(1, 3), relation="<=", right=Fraction(1, 27), instance="M = 1")
    ...     )
    ... )
    1/3 <= 1/27 is false (M = 1)
    """
    left, right = _format_two_sides(finding.left, finding.right)
    said = f"{left} {finding.relation} {right} is {'true' if finding.holds else 'false'}"
    return f"{said} ({finding.instance})" if finding.instance else said


def number_words(value: Number, digits: int = 4) -> str:
    """Return an exact number as it is where that is short, and else about how large it is.

    Examples
    --------
    >>> number_words(Fraction(22, 7)), number_words(Fraction(10**30 + 1, 3 * 10**30))
    ('22/7', 'about 0.3333')
    """
    if isinstance(value, float):
        return format_significant(value, digits)
    exact = str(value)
    if len(exact) <= _WIDEST:
        return exact
    power = _power_of_ten(value)
    if abs(power) > _MOST_POWER:
        return f"about {'-' if value < 0 else ''}10^{power}"
    return f"about {format_significant(float(value), digits)}"


def _format_two_sides(left: Number, right: Number) -> tuple[str, str]:
    """Return both sides with as many digits as tell them apart."""
    # "0.5 <= 0.5 is false" would be read as an error; the sides get more digits until they
    # differ.
    for digits in range(4, MOST_DIGITS + 1):
        shown = number_words(left, digits), number_words(right, digits)
        if left == right or shown[0] != shown[1]:
            return shown
    return shown


def _power_of_ten(value: Number) -> int:
    exact = abs(Fraction(value))
    # The logarithms of both integers are taken apart, as the fraction itself may overflow a
    # double.
    return math.floor(math.log10(exact.numerator) - math.log10(exact.denominator))


def audit_words(audit: PublishedAudit) -> str:
    """Return the three numbers of an audit, and its verdict."""
    claimed = format_significant(audit.claimed)
    lower = format_significant(audit.lower, rounding=ROUND_FLOOR)
    said = [f"claimed {claimed}", f"found at least {lower}"]
    if audit.proved is not None:
        said.append(f"proved at most {format_significant(audit.proved, rounding=ROUND_CEILING)}")
    name = "" if audit.variant is None else f"{audit.variant}: "
    return f"{name}{', '.join(said)} ({audit.unit}): {audit.verdict}"


def deciding_words(judged: JudgedRow, most: int | None = None) -> Sequence[str]:
    """Return sentences of all that decided a row, or of why nothing did; its note comes last.

    Parameters
    ----------
    judged
        The row.
    most
        How many findings of its check are shown, those that do not hold first; None for all.
    """
    row = judged.row
    said = _finding_sentences(judged.findings, most)
    said += [f"{audit_words(audit)}." for audit in judged.audits]
    match row.evidence:
        case Consequence() as link:
            said.append(_link_words(judged, link))
        case OpenQuestion(reason) | Convention(reason):
            said.append(format_sentence(reason))
        case ReproductionEvidence() as drawn:
            said += _figure_words(judged, drawn)
    repair = _finding_sentences(judged.repair_findings, most)
    said += ["What repairs it:", *repair] if repair else []
    return [*said, format_sentence(row.note)] if row.note else said


def format_sentence(text: str) -> str:
    """Return a text with a capital at its beginning and a point at its end.

    A first word of one letter is a symbol, and stays.

    Examples
    --------
    >>> format_sentence("no figure shows it"), format_sentence("x is not in it.")
    ('No figure shows it.', 'x is not in it.')
    """
    first, _, rest = text.partition(" ")
    if len(first) > 1 and first.isalpha() and first.islower():
        first = first.capitalize()
    whole = f"{first} {rest}".rstrip()
    return whole if whole.endswith((".", "?", "!")) else f"{whole}."


def _finding_sentences(findings: Sequence[Finding], most: int | None) -> list[str]:
    if most is None or len(findings) <= most:
        return [f"{finding_words(finding)}." for finding in findings]
    # What does not hold comes first: it is what a reader looks for where not all are shown.
    ordered = sorted(findings, key=lambda finding: finding.holds)
    shown, rest = ordered[:most], ordered[most:]
    holding = sum(finding.holds for finding in rest)
    outcome = "hold" if holding == len(rest) else f"were looked at, {holding} of which hold"
    return [*(f"{finding_words(finding)}." for finding in shown), f"{len(rest)} more {outcome}."]


def _link_words(judged: JudgedRow, link: Consequence) -> str:
    other = judged.decided_by
    verdict = "not judged" if other is None else other.verdict
    if link.link == "follows" and verdict == "proved":
        return f"It follows from {link.row}. {format_sentence(link.step)}"
    return _OTHERWISE[link.link].format(link.row, verdict, format_sentence(link.step))


def _figure_words(judged: JudgedRow, drawn: ReproductionEvidence) -> Sequence[str]:
    run = judged.figure_run
    if run is None:
        return ("No run that reproduces it is published.",)
    outcome = {True: "It held", False: "It did not hold", None: "It could not be judged"}[run.held]
    data = f" on {drawn.stand_in}, in place of the paper's data" if drawn.stand_in else ""
    return (f"{outcome} in a run of {drawn.figure}{data}: {run.evidence}.",)
