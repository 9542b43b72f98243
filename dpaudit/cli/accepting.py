"""The options ``--baseline``, ``--accept`` and ``--accept-until``: accepted refutations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument

if TYPE_CHECKING:
    from dpaudit.auditing.specification.baseline import Baseline, Consent


@dataclass
class Acceptances:
    """The baselines of a command, each of which is read once.

    Parameters
    ----------
    file
        Of every audit; None leaves it to the files of audits.
    consent
        That what is refuted is accepted from now on; None accepts nothing new.
    """

    file: Path | None = None
    consent: Consent | None = None
    _read: dict[Path, Baseline] = field(default_factory=dict)

    def of_audit(self, stated: Path | None) -> Baseline | None:
        """Return the baseline of an audit whose file states this one, or none."""
        path = stated if self.file is None else self.file
        if path is None and self.consent is not None:
            expected = "--baseline FILE beside it, where accepted refutations are written"
            raise InvalidArgument("--accept", self.consent.reason, expected)
        if path is None:
            return None
        from dpaudit.auditing.specification.baseline import Baseline

        # Two spellings of a path are one baseline: read twice, each would keep its own entries,
        # and the one that is written last would lose those of the other.
        key = path.resolve()
        if key not in self._read:
            self._read[key] = Baseline(path, self.consent)
        return self._read[key]


def acceptances_of(given: Mapping[str, Any]) -> Acceptances:
    """Return the accepted refutations that options state.

    Raises
    ------
    InvalidArgument
        A day is none, or there is one and nothing to accept.
    """
    file, reason, until = (given.get(name) for name in ("baseline", "accept", "accept_until"))
    path = None if file is None else Path(file)
    if reason is None:
        if until is not None:
            expected = '--accept "a reason" beside it'
            raise InvalidArgument("--accept-until", until, expected)
        return Acceptances(path)
    from dpaudit.auditing.specification.baseline import Consent, day_of

    last = None if until is None else day_of("--accept-until", until)
    return Acceptances(path, Consent(reason, last))
