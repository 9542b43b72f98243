"""One error probability for everything a command certifies, and how it is shared.

A confidence is that of the whole report. Audits that draw share its error probability alike (union
bound, so that whatever depends between them does no harm); what is computed without chance, such
as a search that evaluates instances, spends none. An audit whose file states a confidence of its
own keeps that, and the report's confidence is what is left of 1 after all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpaudit.extension.settings import Settings
from dpaudit.report.formatting import format_result_label
from dpaudit.report.schema import BudgetEntry, Environment, Report, Result


@dataclass(frozen=True)
class Spender:
    """An audit that is about to run: its settings, whether it draws, whose confidence it has."""

    settings: Settings
    draws: bool
    own_confidence: bool = False


def split_error_probability(audits: Sequence[Spender]) -> list[Settings]:
    """Return the settings of each audit, with its share of the report's error probability.

    Formal guarantee: if each audit errs with probability at most its own error probability, all of
    them hold together with the confidence that they were asked for.

    Examples
    --------
    >>> three = [Spender(Settings(), draws) for draws in (True, False, True)]
    >>> [round(one.confidence, 6) for one in split_error_probability(three)]
    [0.975, 0.95, 0.975]
    """
    # What spends nothing, or has a confidence of its own, takes no share from the others.
    sharing = sum(audit.draws and not audit.own_confidence for audit in audits)
    return [
        replace(
            audit.settings,
            confidence=_compute_shared_confidence(audit.settings.confidence, sharing),
        )
        if sharing > 1 and audit.draws and not audit.own_confidence
        else audit.settings
        for audit in audits
    ]


def whole_report(
    results: Sequence[Result], environment: Environment, missing: Sequence[str] = ()
) -> Report:
    """Return the report of the results, with their joint budget and the ``missing`` results.

    Its budget has an entry for every result that spends any, and sums to 1 less its confidence.
    """
    spent = [
        BudgetEntry(purpose=format_result_label(one), alpha=one.alpha)
        for one in results
        if one.budget
    ]
    # Audits that state low confidences of their own may spend more than 1 together.
    confidence = max(0.0, 1 - math.fsum(entry.alpha for entry in spent))
    return Report(
        results=list(results),
        missing=list(missing),
        environment=environment,
        confidence=confidence,
        budget=spent,
    )


def _compute_shared_confidence(confidence: float, audits: int) -> float:
    return 1 - (1 - confidence) / audits
