"""Checks of a service's answers: they must not come back, or depend on the time of a request.

A service has a state that no process of an audit has a copy of. Its cache may answer some requests
and others not, and no fresh process is without it. So answers that come back on one dataset alone
certify nothing (`dpaudit.estimation.repetition`), and every check that fails says what a service
may be keeping, and where a nonce goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

import dpaudit.auditing.estimators.group_sequential as group_sequential
import dpaudit.auditing.service.nonce_check as nonce_check
from dpaudit._typing import Array
from dpaudit.auditing.outcome.evidence import MeasurementEvidence, nothing_certified
from dpaudit.auditing.sampling.sampler import Certifying, Drawer
from dpaudit.errors import MechanismError
from dpaudit.estimation.independence import FALSE_ALARM, Outputs
from dpaudit.estimation.repetition import Pattern, Repetition, find_repetition
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.mechanisms.mechanism import outside_of
from dpaudit.mechanisms.outputs.steadiness import drifts_in
from dpaudit.services import Service
from dpaudit.services.limits import ServiceUsage

_GLANCE = 8  # answers of either dataset that show whether any varies
# Datasets or neighbours that are looked at part by part.
_LEAST = 64
_MOST = 256
_CHECKED = 2000  # answers of both that are looked at besides, however few the trials
_NAME = "answers do not come back"


@dataclass(frozen=True)
class Asking:
    """An audited service, and the observations of it before certifying outputs were drawn."""

    service: Service
    before: ServiceUsage

    @classmethod
    def of(cls, service: object) -> Asking | None:
        """Return a called service with its observations; None for anything that is no service."""
        return cls(service, service.seen) if isinstance(service, Service) else None


def find_unvarying_service(drawer: Drawer) -> MeasurementEvidence | None:
    """Return the evidence of a service whose answers are all the same, which says nothing.

    Nothing more is asked of it then. None of one whose answers vary, and of what is no service.
    """
    service = outside_of(drawer.mechanism)
    if not isinstance(service, Service):
        return None
    # A glance is enough for most services; only where a few answers are alike are more of them
    # asked for.
    for count in (_GLANCE, _MOST):
        sides = drawer.paired(count, f"whether answers vary, {count}").scores
        if find_repetition(sides).pattern != "same":
            return None
    return nothing_certified(_of_repetition(sides, service))


def make_ended_evidence(error: MechanismError, mechanism: Any) -> MeasurementEvidence | None:
    """Return the evidence of a service that stopped answering; None where it never answered."""
    service = outside_of(mechanism)
    if not isinstance(service, Service) or not service.seen.answers:
        return None
    check = CheckOutcome(
        name="the service answers to the end",
        statement="the service stopped answering, and the missing answers may depend on their own "
        f"values ({error}): ask for fewer outputs (--trials), or go on when it answers "
        "again; what was answered is kept where there is a store",
        passed=False,
        statistic=float(service.seen.answers),
        threshold=0.0,
        evidence=f"{service.seen.answers} answers",
    )
    found = nothing_certified(check)
    return replace(found, notes=tuple(_format_service_remarks(service)))


def of_outputs(drawer: Drawer, outputs: tuple[Outputs, Outputs]) -> list[CheckOutcome]:
    """Return the check of the outputs that certify, of a service with one number an answer."""
    service = outside_of(drawer.mechanism)
    if not isinstance(service, Service) or _count_layout_columns(drawer.mechanism) != 1:
        return []
    return [_of_repetition([one.scores for one in outputs], service)]


def add_answer_checks(
    evidence: MeasurementEvidence,
    drawer: Drawer,
    asking: Asking | None,
    trials: int,
    claimed: float,
) -> MeasurementEvidence:
    """Return evidence with the checks of a service's answers; as it is where there is no service.

    Parameters
    ----------
    evidence, drawer
        Of the audit, and who drew.
    asking
        The service, and what was seen of it before.
    trials
        Of the audit; answers of several parts are looked at in as many as a quarter of these.
    claimed
        The claim; what refutes it is asked once more, with nonces, where requests are all alike.
    """
    if asking is None:
        return evidence
    service, checks, growing = asking.service, list[CheckOutcome](), list[str]()
    if _count_layout_columns(drawer.mechanism) != 1:
        # A quarter of the trials at most, as every answer here is a request that certifies
        # nothing.
        count = max(_LEAST, min(_MOST, trials // 4))
        drawn = drawer.paired(count, "answers that come back")
        checks, growing = [_of_repetition(drawn.scores, service)], _growing(drawer.mechanism, drawn)
    cached, by = get_current_ledger().fact(
        "answers of caches", lambda: _count_cached_answers(asking)
    )
    checks.append(_of_caches(cached, by, service))
    ours = [one for one in evidence.contract if one.name == _NAME]
    others = [
        one if one.passed else _of_state(one, service, growing)
        for one in evidence.contract
        if one.name != _NAME
    ]
    refuted = evidence.lower > claimed and all(one.passed for one in (*ours, *checks, *others))
    # Identical requests may have been answered by a cache, which a refutation must not rest on.
    if refuted and not service.is_fresh:
        checks += _with_nonces(drawer, service)
    contract = (*ours, *checks, *others)
    return replace(
        evidence, contract=contract, notes=(*evidence.notes, *_format_service_remarks(service))
    )


def _count_layout_columns(mechanism: Any) -> int:
    layout = getattr(mechanism, "layout", None)
    return 1 if layout is None else len(layout.columns)


def _growing(mechanism: Any, drawn: Certifying) -> list[str]:
    """Return the names of parts that only grow, or only fall, from answer to answer."""
    layout = getattr(mechanism, "layout", None)
    rows = [one.reshape(len(one), -1) for one in drawn.scores]
    # A counter grows within the requests of one process; between processes, their order is
    # unknown.
    owners = [one.processes for one in drawn.outputs]
    runs = [row[of == one] for row, of in zip(rows, owners, strict=True) for one in np.unique(of)]
    columns = [] if layout is None else [layout.columns[n] for n in drifts_in(runs, apart=True)]
    return [one.path for one in columns if one.everywhere and not one.discrete]


def _count_cached_answers(asking: Asking) -> list[Any]:
    now = asking.service.seen
    return [now.cached - asking.before.cached, now.said_by]


def cost(mechanism: Any, trials: int | None) -> str:
    """Return about how many requests an audit of a service takes, and how long at its rate."""
    service = outside_of(mechanism)
    if not isinstance(service, Service) or trials is None:
        return ""
    requests = 2 * group_sequential.DRAWN * trials + _CHECKED
    if service.rate is None:
        return f" About {requests:,} requests go to {service.name}."
    took = group_sequential.format_duration(requests / service.rate)
    return (
        f" About {requests:,} requests go to {service.name}: {took} at {service.rate:g} a second."
    )


def format_repetition_cure(service: Service) -> str:
    """Return the cure for answers that come back.

    Examples
    --------
    >>> print(format_repetition_cure(Service("http://host/count")))
    say where a nonce goes that makes every request another one: --fresh query:nonce (a parameter \
of the address; fresh="query:nonce" in Python), --fresh header:X-Request-Id, or {fresh} in the \
template, such as in the text of a query that noise is keyed by
    """
    if service.is_fresh:
        return (
            "the nonce is not part of the key of the cache, or there is no noise: put {fresh} "
            "where the cache or the noise sees it, such as a parameter of the address or the text "
            "of a query, or ask the service without its cache"
        )
    body = ", --fresh body:nonce (a member of the body)" if service.body is not None else ""
    return (
        "say where a nonce goes that makes every request another one: --fresh query:nonce (a "
        f'parameter of the address; fresh="query:nonce" in Python){body}, --fresh '
        "header:X-Request-Id, or {fresh} in the template, such as in the text of a query that "
        "noise is keyed by"
    )


def _of_repetition(sides: Sequence[Array], service: Service) -> CheckOutcome:
    found, count = find_repetition(sides), len(sides[0])
    statement = "no answer comes back on one dataset alone"
    if found.pattern is not None:
        statement = f"{_MAY_BE[found.pattern]}: {format_repetition_cure(service)}"
    return CheckOutcome(
        name=_NAME,
        statement=statement,
        passed=found.pattern is None,
        statistic=float(found.most),
        threshold=0.0,
        evidence=_format_repetition_evidence(found, count),
    )


def _format_repetition_evidence(found: Repetition, count: int) -> str:
    if found.pattern is None:
        return f"of {count} answers a side none stands out"
    return f"of {count} answers a side one is there {found.most} times, on one dataset alone"


_MAY_BE: dict[Pattern, str] = {
    "same": "on one dataset every answer was the same; it may be noise that a cache keeps or that "
    "the text of the request decides",
    "few": "there are few answers, and on either dataset other ones: they may be noise that the "
    "caches of several servers keep",
    "some": "an answer comes back on one dataset alone, among others that hardly ever do: it may "
    "be noise that a cache keeps",
    "pool": "answers come back, most of them on one dataset alone, though numbers of this spacing "
    "would hardly do so: they may be noise that several caches keep",
}


def _of_caches(cached: int, by: str, service: Service) -> CheckOutcome:
    return CheckOutcome(
        name="no answer says that it is a cache's",
        statement=f"{cached} answers came from a cache, as they say ({by}): "
        f"{format_repetition_cure(service)}"
        if cached
        else "no answer says that it came from a cache",
        passed=not cached,
        statistic=float(cached),
        threshold=0.0,
        evidence=f"{cached} answers with such a header",
    )


def _with_nonces(drawer: Drawer, service: Service) -> list[CheckOutcome]:
    """Return the check that the law of the answers is the same where requests have nonces."""
    if (found := nonce_check.measure_nonce_effect(drawer, service)) is None:
        return []
    chance, places = found
    passed = chance >= FALSE_ALARM
    statement = "the service answers alike where every request has a nonce"
    if not passed:
        statement = (
            f"the service answers otherwise where every request has a nonce ({places}), as one "
            f"does that keeps answers: {format_repetition_cure(service)}"
        )
    return [
        CheckOutcome(
            name="answers to requests with nonces",
            statement=statement,
            passed=passed,
            statistic=chance,
            threshold=FALSE_ALARM,
            evidence=f"p-value {chance:.3g} of one law; below {FALSE_ALARM:.1g} it fails",
        )
    ]


def _of_state(check: CheckOutcome, service: Service, growing: Sequence[str]) -> CheckOutcome:
    """Return a failed check in words that fit a service."""
    if growing:
        names = ", ".join(growing[:3])
        statement = (
            f"answers depend on when they were asked: {names} only grew, or only fell, as a "
            f"counter or a clock does: --ignore {growing[0]} leaves it out (ignore= in Python), or "
            "--read names the value"
        )
        return replace(check, statement=statement)
    statement = (
        "answers depend on one another or on when they were asked: the service keeps something "
        "from request to request, such as a cache, a counter, a budget or a clock, or its servers "
        f"take turns. If it is a cache or noise that is kept, {format_repetition_cure(service)}"
    )
    return replace(check, statement=statement)


def _format_service_remarks(service: Service) -> list[str]:
    """Return remarks on the service that answered, the times, and the version that it names."""
    seen = service.seen
    if not seen.answers:
        return []
    versions = "; ".join(seen.versions) or "it names no version"
    several = ", more than one" if seen.versions[1:] else ""
    waits = f"; it asked {seen.refusals:,} times to wait" if seen.refusals else ""
    return [
        f"What was audited cannot be hashed: a service ({service.name}) as it answered from "
        f"{_format_utc_time(seen.first)} to {_format_utc_time(seen.last)} ({versions}{several}), "
        f"{seen.answers:,} "
        f"answers in all{waits}. A certificate is checked by asking the service again, as it is "
        "then."
    ]


def _format_utc_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
