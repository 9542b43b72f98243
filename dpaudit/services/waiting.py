"""The time to wait when a service asks for it."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

from dpaudit.services.answers import ServiceAnswer

REFUSES = (429, 503)  # answers that ask to come again later, and are no output
RESTART = 60.0  # seconds in which a service that takes no connections may be started again
# Seconds, where the service does not say how long.
_LEAST = 0.25
_MOST = 30.0


def wait_of(answer: ServiceAnswer | None, refusals: int) -> float:
    """Return the seconds to wait after so many refusals in a row; None is no answer at all.

    Examples
    --------
    >>> again = ServiceAnswer(429, "Too Many Requests", {"retry-after": "3"}, b"")
    >>> wait_of(again, 1), wait_of(again._replace(headers={}), 3)
    (3.0, 1.0)
    """
    said = (
        None
        if answer is None
        else _parse_retry_after(answer.headers.get("retry-after", "").strip())
    )
    return min(_LEAST * 2 ** (refusals - 1), _MOST) if said is None else said


def _parse_retry_after(text: str) -> float | None:
    """Return the seconds of a Retry-After header, None where it has none that can be read."""
    if text.isdecimal():
        return float(text)
    try:
        # The header may hold a date in place of seconds, and the clocks of both machines may
        # differ.
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
