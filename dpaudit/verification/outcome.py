"""What a verifier returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a verifier recomputed, as `mpmath` numbers.

    Parameters
    ----------
    assumptions
        The number and the limit of each; the limit is the verifier's, not the file's.
    quantities
        ``ratio``, true over claimed or another number that is above 1 where the claim fails, among
        others.
    summary
        What was verified, for people; by default how often the ratio is the claimed bound.
    reservations
        What keeps it from refuting the claim as published, such as a constant that is not the
        paper's. A ``factor`` below 1 is added by `dpaudit.verification.judge`.
    """

    assumptions: Mapping[str, tuple[Any, Any]]
    quantities: Mapping[str, Any]
    summary: str | None = None
    reservations: tuple[str, ...] = ()
