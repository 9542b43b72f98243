"""The outcome of an audit: its result, its certificate, and its progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit.refutation.certificate import Certificate
from dpaudit.report.schema import Result


@dataclass(frozen=True)
class AuditOutcome:
    """An audit's result, certificate if refuted, whether interrupted, and looks if several.

    ``in_time`` is False where the time was over before anything could be certified.
    """

    result: Result
    certificate: Certificate | None
    interrupted: bool = False
    looks: Sequence[tuple[int, float]] | None = None
    in_time: bool = True
