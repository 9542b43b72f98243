"""The four verdicts on a claim, and the exit status that they give: one place for every command.

* *refuted*: a certified lower end exceeds the claim, or a proof shows that it is false.
* *proved*: a theorem gives the claim for what was run, and no check contradicts it.
* *not refuted*: nothing that was tried contradicts it. It comes with its bracket, with what was
  looked at, and with the most that so many outputs can show; it is no evidence that a claim holds.
* *withheld*: nothing can be said. A contract is broken, a finding was withdrawn, time was over,
  answers differ by process, or a function returned nothing.

Nothing else is a verdict. `audit`, `replay`, `scan`, `canary`, `resume` and what pytest audits take
theirs, and their status, from here; `verify` judges certificates, and says by the same words what a
certificate makes of its claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

Verdict = Literal["refuted", "withheld", "not refuted", "proved"]
# A ratio of computed floats; equality up to rounding is not a violation.
RELATIVE_ROUNDING = 1e-9
# The gravest first: of several audits of one claim it is the claim's.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
STATUSES: Mapping[Verdict, int] = {"refuted": 1, "withheld": 2, "not refuted": 0, "proved": 0}
# Words of reports that were written before, and what they said.
_FORMER: Mapping[str, Verdict] = {"not run": "withheld", "violated": "withheld"}


def judge_claimed_number(
    claimed: float, lower: float, *, proved: float | None = None, trusted: bool = True
) -> Verdict:
    """Return the verdict on a claimed number.

    Parameters
    ----------
    claimed
        The number.
    lower
        What is certified from below.
    proved
        What a theorem gives from above for all neighbours, if one does: rounded up, as all upper
        ends are. What is certified from below contradicts one that is smaller, which proves nothing
        then.
    trusted
        Whether every check passed on which the bounds rest.

    Examples
    --------
    >>> (
    ...     judge_claimed_number(claimed=20.0, lower=25.3),
    ...     judge_claimed_number(claimed=20.0, lower=25.3, trusted=False),
    ... )
    ('refuted', 'withheld')
    >>> (
    ...     judge_claimed_number(claimed=1.0, lower=0.75),
    ...     judge_claimed_number(claimed=1.0, lower=0.75, proved=1.0),
    ... )
    ('not refuted', 'proved')
    >>> (
    ...     judge_claimed_number(claimed=1.0, lower=0.75, proved=0.5),
    ...     judge_claimed_number(claimed=1.0, lower=0.75, proved=1.25),
    ... )
    ('not refuted', 'not refuted')
    """
    if not trusted:
        return "withheld"
    if lower > claimed * (1 + RELATIVE_ROUNDING):
        return "refuted"
    # A certified lower end above what is proved means that one of the two is wrong: neither may
    # carry a verdict.
    if proved is None or not lower <= proved + RELATIVE_ROUNDING * abs(proved):
        return "not refuted"
    return "proved" if proved <= claimed else "not refuted"


def choose_gravest_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several that comes first in `VERDICTS`; withheld if there is none.

    Examples
    --------
    >>> choose_gravest_verdict(["proved", "not refuted"]), choose_gravest_verdict([])
    ('not refuted', 'withheld')
    """
    return min(verdicts, key=VERDICTS.index, default="withheld")


def status_of(verdicts: Iterable[Verdict]) -> int:
    """Return the exit status: 2 if a verdict is withheld, else 1 if a claim is refuted, else 0.

    Examples
    --------
    >>> status_of(["refuted", "withheld"]), status_of(["proved", "refuted"]), status_of([])
    (2, 1, 0)
    """
    return max((STATUSES[verdict] for verdict in verdicts), default=0)


def in_present_words(word: object) -> object:
    """Return the present name of an older report's verdict; others as they are.

    Examples
    --------
    >>> in_present_words("not run"), in_present_words("refuted")
    ('withheld', 'refuted')
    """
    return _FORMER.get(word, word) if isinstance(word, str) else word
