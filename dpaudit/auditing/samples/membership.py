"""The audit of an attack's scores of members and of others, over independent runs.

What papers and other libraries print of such scores stands beside a certified epsilon, and all of
it together has one error probability. Of many canaries in one training see
`dpaudit.auditing.samples.canaries`: they are no independent runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from pathlib import Path
from typing import Any

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.auditing.samples.output_audit import (
    certificate_of,
    evidence_of,
    outputs_result,
    outputs_statement,
)
from dpaudit.auditing.samples.output_pairs import OutputPair, read_outputs
from dpaudit.errors import DataError, InvalidArgument, VerbatimText
from dpaudit.estimation import roc
from dpaudit.estimation.roc import RateInterval, RocNumbers
from dpaudit.extension.settings import Settings
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles
from dpaudit.redaction import Record
from dpaudit.report.document import Result
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import BudgetEntry, Claimed, ModelBased
from dpaudit.verdicts import judge_claimed_number

CLAIM = "attack scores"
FPRS = (0.001, 0.01, 0.1)
_LEAST = 40
_EPSILON = 0.5  # share of the error probability that epsilon has; all else shares the rest
_ONE_RUN = (
    "These are scores of independent runs, one a run. Of many canaries in one training, dpaudit "
    "canary certifies: they share its noise, so that no number here would hold of them."
)
_HIGHER = "Scores are lower for members: give them with the other sign."


@dataclass(frozen=True)
class MembershipClaim:
    """The question about scores."""

    delta: float
    epsilon: float | None
    confidence: float
    seed: int
    fprs: tuple[float, ...]

    def __post_init__(self) -> None:
        check.require_delta("delta", self.delta)
        check.require_probability("confidence", self.confidence)
        if self.epsilon is not None:
            check.non_negative("epsilon", self.epsilon)
        for fpr in self.fprs:
            if not 0 < fpr < 1:
                raise InvalidArgument("fprs", fpr, "false-positive rates between 0 and 1")

    @property
    def settings(self) -> Settings:
        """The certificate of epsilon, at its share of the error probability."""
        # The other numbers share what epsilon leaves, so that all of them hold together.
        alpha = _EPSILON * (1 - self.confidence)
        claimed = 0.0 if self.epsilon is None else self.epsilon
        return Settings(epsilon=claimed, delta=self.delta, confidence=1 - alpha, seed=self.seed)


def audit_membership(
    members: Any,
    others: Any = None,
    *,
    delta: float,
    epsilon: float | None = None,
    confidence: float = 0.95,
    fprs: Sequence[float] = FPRS,
    seed: int = 0,
) -> Result:
    """Certify a lower bound on epsilon from an attack's scores of members and of others.

    Parameters
    ----------
    members, others
        Scores, shapes ``(n,)`` and ``(m,)``, at least 40 of each; a higher score speaks for a
        member. Each score comes from a run of its own, so that scores are independent. Also the
        names of files, as `audit_outputs` takes them.
    delta
        The delta at which the result bounds epsilon.
    epsilon
        The epsilon that is claimed at ``delta``, if there is a claim.
    confidence
        The confidence of epsilon and all intervals together.
    fprs
        The false-positive rates at which the result gives true-positive rates.
    seed
        The seed that decides which scores choose a threshold, and which certify epsilon.

    Returns
    -------
    Result
        The result, as `audit` returns it. ``parameters["scores"]`` has the other numbers with their
        intervals; the numbers in ``model_based`` are estimates, which certify nothing.

    Raises
    ------
    InvalidArgument, DataError
        An argument does not fit its description here.

    Notes
    -----
    Formal guarantee: if runs are independent, ``measured.lower`` is at most the epsilon at
    ``delta`` of the runs with and without the target, and every interval holds the number that it
    encloses, all together with a probability of at least ``confidence`` (`dpaudit.estimation.roc`).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> result = audit_membership(rng.normal(2, 1, 2000), rng.normal(0, 1, 2000), delta=1e-5)
    >>> estimate, low, high = result.parameters["scores"]["auroc"]
    >>> low < 0.9214 < high, 0 < result.measured.lower
    (True, True)
    """
    asked = MembershipClaim(delta, epsilon, confidence, seed, tuple(fprs))
    files = [one for one in (members, others) if isinstance(one, str | Path)]
    if files:
        names = [str(one) for one in files]
        return certify_scores(read_scores([Path(one) for one in names]), asked, ", ".join(names))
    sides = [_parse_membership_scores(*one) for one in (("members", members), ("others", others))]
    pair = OutputPair(sides[0][:, None], sides[1][:, None], ("the score",), (), (), ())
    return certify_scores(pair, asked, "given by the caller")


def _parse_membership_scores(name: str, given: Any) -> Array:
    try:
        found = as_doubles(given)
    except (Inexact, TypeError, ValueError):
        raise InvalidArgument(name, Record(given), "scores, one number a run") from None
    if found.ndim != 1 or len(found) < _LEAST or not np.isfinite(found).all():
        shown = VerbatimText(f"shape {found.shape}")
        raise InvalidArgument(name, shown, f"at least {_LEAST} finite numbers, one a run")
    return found


def read_scores(paths: Sequence[Path], ignore: Sequence[str] = ()) -> OutputPair:
    """Return the scores of two files, or of one with a column that says who is a member.

    Raises
    ------
    DataError
        They cannot be read, or a row has several numbers.
    """
    pair = read_outputs(paths, ignore)
    if len(pair.names) != 1:
        named = ", ".join(pair.names[:5])
        said = f"{paths[0]}: has {len(pair.names)} numbers a row ({named})"
        raise DataError(f"{said}, expected one score; --ignore leaves columns out")
    return pair


def certify_scores(pair: OutputPair, asked: MembershipClaim, data: str, rerun: str = "") -> Result:
    """Return the result: epsilon, the numbers beside it, and the estimates."""
    settings = asked.settings
    evidence = evidence_of(pair, settings)
    statement = replace(outputs_statement(settings, "whoever gave the scores"), name=CLAIM)
    found = outputs_result(
        statement, evidence, settings, rerun or _format_membership_rerun(asked), data
    )
    lower = found.measured.lower
    claimed = math.inf if asked.epsilon is None else asked.epsilon
    verdict = judge_claimed_number(claimed, lower, trusted=evidence.trusted)
    changed: dict[str, Any] = {"verdict": verdict}
    if asked.epsilon is None:
        changed |= _as_question(found, asked, trusted=evidence.trusted)
    if evidence.trusted:
        # Intervals take runs as independent, which a broken contract denies.
        changed |= _compute_roc_updates(found, pair, asked)
    changed["notes"] = [*found.notes, *_get_direction_remarks(pair), _ONE_RUN]
    found = found.model_copy(update=changed)
    if verdict != "refuted":
        return found
    certificate = certificate_of(found, evidence, settings, pair) if pair.digests else None
    return found.keep(certificate, holds_records=False)


def _as_question(found: Result, asked: MembershipClaim, *, trusted: bool) -> dict[str, Any]:
    """Return the changes of a result without a claim."""
    least = format_significant(found.measured.lower, rounding=ROUND_FLOOR)
    where = f"at delta = {format_significant(asked.delta)}"
    said = f"Epsilon {where} is at least {least}; nothing is claimed."
    return {
        "standing": "question",
        "statement": f"what is epsilon {where}, at least?",
        "claimed": Claimed(epsilon=None, delta=asked.delta),
        "reason": said if trusted else found.reason,
    }


def _compute_roc_updates(found: Result, pair: OutputPair, asked: MembershipClaim) -> dict[str, Any]:
    members, others = pair.on_dataset[:, 0], pair.on_neighbour[:, 0]
    share = (1 - _EPSILON) * (1 - asked.confidence)
    numbers = roc.roc_numbers(members, others, asked.fprs, share)
    measured = found.measured.model_copy(update={"confidence": asked.confidence})
    rest = BudgetEntry(purpose="rates, area and advantage, in equal shares", alpha=share)
    return {
        "measured": measured,
        "budget": [*found.budget, rest],
        "parameters": {**found.parameters, "scores": _convert_roc_numbers(numbers, pair)},
        "model_based": [*found.model_based, *_estimate_membership_epsilons(numbers, pair, asked)],
    }


def _convert_roc_numbers(numbers: RocNumbers, pair: OutputPair) -> dict[str, Any]:
    """Return the numbers as a report holds them: as counted, and both ends."""
    return {
        "members": len(pair.on_dataset),
        "others": len(pair.on_neighbour),
        "tpr at fpr": [[fpr, *_to_interval_list(one)] for fpr, one in numbers.rates],
        "auroc": _to_interval_list(numbers.auroc),
        "accuracy": _to_interval_list(numbers.accuracy),
        "advantage": _to_interval_list(numbers.advantage),
    }


def _to_interval_list(one: RateInterval) -> list[float]:
    return [one.estimate, one.low, one.high]


def _estimate_membership_epsilons(
    numbers: RocNumbers, pair: OutputPair, asked: MembershipClaim
) -> list[ModelBased]:
    members, others = pair.on_dataset[:, 0], pair.on_neighbour[:, 0]
    area = numbers.auroc.estimate
    found = [
        (
            "best threshold as counted",
            roc.epsilon_as_counted(members, others, asked.delta),
            "that rates are exactly those counted, and that the threshold was not chosen by them: "
            f"of all with {roc.FEWEST} false positives or more the best is taken",
            "dpaudit.estimation.roc",
        )
    ]
    epsilon = roc.gaussian_epsilon(area, asked.delta)
    if epsilon is not None:
        found.append(
            (
                "Gaussian curve of this AUROC",
                epsilon,
                f"that the curve is Gaussian: mu = {format_significant(roc.gaussian_mu(area))} "
                "has this AUROC",
                "Dong, Roth & Su 2022",
            )
        )
    return [
        ModelBased(name=n, lower=e, upper=None, confidence=None, assumes=a, source=s)
        for n, e, a, s in found
    ]


def _get_direction_remarks(pair: OutputPair) -> list[str]:
    area = roc.auroc(pair.on_dataset[:, 0], pair.on_neighbour[:, 0], 1e-3)
    return [_HIGHER] if area.high < 0.5 else []


def _format_membership_rerun(asked: MembershipClaim) -> str:
    claim = "" if asked.epsilon is None else f", epsilon={asked.epsilon!r}"
    return (
        f"dpaudit.audit_membership(members, others, delta={asked.delta!r}{claim}, "
        f"confidence={asked.confidence!r}, fprs={list(asked.fprs)!r}, seed={asked.seed})"
    )
