"""An audit of a mechanism as an assertion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dpaudit._check as check
from dpaudit.auditing.api import Sample, domain_in_call, own_case, relation_in_call
from dpaudit.auditing.outcome.code_proof import prove_code
from dpaudit.auditing.pairs.found_pairs import SearchEffort, find_pairs, refuse_beside_domain
from dpaudit.auditing.repeat.plan import CallPlan, CodeExpression
from dpaudit.auditing.run import audit_case
from dpaudit.domains import domain_of
from dpaudit.errors import InvalidArgument
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.mechanisms.mechanism import Mechanism
from dpaudit.neighbours import Pair, Relation
from dpaudit.neighbours.candidates import Candidate
from dpaudit.neighbours.found_relations import FoundPair, find_pair_relation
from dpaudit.neighbours.records import Bounds
from dpaudit.redaction import convert_stray_argument
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import Result

# A suite of a thousand such assertions on correct mechanisms fails once in a thousand runs.
CONFIDENCE = 1 - 1e-6


def assert_not_refuted(
    mechanism: Mechanism[Any] | Sample,
    pair: Pair[Any] | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    dataset: Any = None,
    domain: Any = None,
    relation: Relation | str | None = None,
    bounds: Bounds | None = None,
    search_calls: int | None = None,
    trials: int = 10_000,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    unit: int | None = None,
    show_records: bool = False,
) -> Result:
    """Raise `AssertionError` when an audit refutes that a mechanism is (epsilon, delta)-DP.

    Where the mechanism states its law (`dpaudit.Tiltable`), exact privacy losses are used: at
    delta = 0 the largest over outputs, if the mechanism can enclose it, or compute it in any
    digits. Otherwise events of its outputs are. To pass is no evidence of privacy.

    Parameters
    ----------
    mechanism
        An object with ``sample(dataset, trials, rng)``, or a function of those three, that returns
        one output for each trial, shape ``(trials, ...)``.
    pair
        The pair of neighbours.
    epsilon, delta
        The claimed guarantee; epsilon has no default.
    relation
        The relation of the two datasets, by default that of the pair; ``"metric: euclidean"`` or
        `dpaudit.metric` if epsilon is claimed for each unit of distance (docs/metric-claims.md).
    dataset, domain, bounds, search_calls
        The arguments of a search for the worst pair, in place of ``pair``, as `dpaudit.audit` takes
        them: a dataset, the datasets that are possible, or both.
    trials
        The number of certifying outputs on each side, at least 100.
    confidence
        The confidence of the lower bound: a correct mechanism is accused with a probability of at
        most 1 less this, over seeds.
    seed
        The only source of randomness: one seed and one unit, one outcome.
    unit
        The number of outputs of one call of the mechanism. The default follows from its size and
        its pace; the line that repeats a failed assertion states it.
    show_records
        True to let the assertion hold values of records.

    Returns
    -------
    Result
        The audit's result, such as ``result.measured.lower``.

    Raises
    ------
    AssertionError
        The claim is refuted, or nothing can be said of it: a check found that the stated law is not
        that of the code, or that outputs are not independent.
    InvalidArgument
        An argument does not fit its description here.
    MechanismError
        The mechanism breaks its contract.

    Notes
    -----
    Formal guarantee: a mechanism that is (epsilon, delta)-DP fails with a probability of at most
    ``1 - confidence``, where its law, if it states one, is its own.

    Examples
    --------
    >>> import numpy as np
    >>> from dpaudit import Pair, relation
    >>> from functools import partial
    >>> pair = Pair(np.array([0.0, 1.0]), np.array([1.0, 1.0]), relation("replace-record"))
    >>> def noisy_sum(dataset, trials, rng, scale):
    ...     return dataset.sum() + rng.laplace(scale=scale, size=trials)
    >>> result = assert_not_refuted(partial(noisy_sum, scale=1.0), pair, epsilon=1.0, delta=0.0)
    >>> 0.5 < result.measured.lower < 1
    True
    >>> halved = partial(noisy_sum, scale=0.5)
    >>> assert_not_refuted(halved, pair, epsilon=1.0, delta=0.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: refuted at delta = 0
      The certified lower bound 1.7... exceeds the claimed epsilon 1. What leaked: `output` ...
      confidence: 0.999999; event bound, linear-classifier attack
      pair: one record (features and label) is replaced (index 0)
      repeat: assert_not_refuted(mechanism, pair, epsilon=1.0, delta=0.0, trials=10000, \
confidence=0.999999, seed=0, unit=...)
      next: another seed should refute it too; then compare the noise scale with the sensitivity \
(assert_sensitivity), or claim less
    """
    if epsilon is None:
        raise InvalidArgument("epsilon", None, "the epsilon that is claimed: no default")
    claimed = ApproximateDP(epsilon, delta)
    alone = {"dataset": dataset, "domain": domain, "bounds": bounds, "search_calls": search_calls}
    candidates, code = list[Candidate](), None
    if domain is None and dataset is None:
        found = _given(pair, relation)
    else:
        refuse_beside_domain(pair=pair, bounds=None if domain is None else bounds)
        placed = isolate_mechanism(mechanism, Isolation())
        datasets = None if domain is None else domain_of(domain)
        code = prove_code(placed, datasets, relation, claimed, trials)
        pairs = find_pairs(
            placed,
            datasets,
            relation,
            dataset=dataset,
            bounds=bounds,
            effort=SearchEffort(trials, calls=search_calls),
            seed=seed,
            claimed=claimed,
        )
        candidates, found = pairs.candidates, pairs.as_found
    settings = Settings(
        epsilon=epsilon,
        delta=delta,
        trials=check.require_integer("trials", trials, least=100),
        confidence=confidence,
        seed=seed,
        unit=unit,
        show_records=show_records,
    )
    case, statement = own_case(
        mechanism,
        found.pair,
        candidates=candidates,
        notes=() if found.words is None else (found.words,),
        claimed=claimed,
        code=code,
        source="the test",
        data="given by the test",
    )
    result = audit_case(
        case, settings, statement=statement, rerun=_repeat(settings, alone, relation)
    )
    # A test passes only where something was looked at: a verdict that is withheld says nothing,
    # and must not look like one that holds.
    if result.verdict == "withheld":
        raise AssertionError(
            _dependent(result) if result.contract else _format_failed_checks(result)
        )
    if result.verdict == "refuted":
        raise AssertionError(_format_refutation(result))
    return result


def _given(pair: Any, relation: Any) -> FoundPair:
    if not isinstance(pair, Pair):
        expected = "a dpaudit.Pair, or a dataset or a domain in its place"
        raise InvalidArgument("pair", convert_stray_argument(pair), expected)
    if relation is None:
        return FoundPair(pair)
    return FoundPair(find_pair_relation(pair.dataset, pair.neighbour, relation).pair)


def _repeat(settings: Settings, alone: Mapping[str, Any], relation: Any) -> CallPlan:
    names = ("epsilon", "delta", "trials", "confidence", "seed")
    given = {name: getattr(settings, name) for name in names}
    if alone["domain"] is None and alone["dataset"] is None:
        given |= {} if relation is None else {"relation": relation_in_call(relation)}
        return CallPlan(given, "assert_not_refuted(mechanism, pair, ")
    given |= {
        "dataset": None if alone["dataset"] is None else CodeExpression("dataset"),
        "domain": domain_in_call(alone["domain"]),
        "relation": relation_in_call(relation),
        "bounds": alone["bounds"],
        "search_calls": alone["search_calls"],
    }
    return CallPlan(given, "assert_not_refuted(mechanism, ")


def _format_refutation(result: Result) -> str:
    measured = result.measured
    return (
        f"refuted at delta = {result.claimed.delta:g}\n"
        f"  {result.reason}\n"
        f"  confidence: {format_significant(measured.confidence, 9)}; {measured.estimator}\n"
        f"  pair: {result.pair}\n"
        f"  repeat: {result.rerun}\n"
        "  next: another seed should refute it too; then compare the noise scale with the "
        "sensitivity (assert_sensitivity), or claim less"
    )


def _dependent(result: Result) -> str:
    failed = [test for test in result.contract if not test.passed]
    return "\n".join(
        [
            "withheld: bounds on outputs take them as independent, and these are not",
            *(f"  {test.name}: {test.evidence}" for test in failed[:3]),
            f"  repeat: {result.rerun}",
            f"  next: {failed[0].statement}",
        ]
    )


def _format_failed_checks(result: Result) -> str:
    failed = [test for test in result.self_checks if not test.passed]
    lines = [f"  {test.name}: {test.statement}; {test.evidence}" for test in failed]
    return "\n".join(
        [
            "the stated law is not that of the code, so nothing was certified",
            *lines,
            f"  repeat: {result.rerun}",
            "  next: compare sample() with privacy_loss(), sample_tilted() and "
            "uniform_residuals() of the mechanism",
        ]
    )
