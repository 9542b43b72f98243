"""The front door: an audit of one's own mechanism.

Audits from a TOML file (`dpaudit.auditing.specification.audits_file`) and assertions in a test
suite (`dpaudit.testing`) make their case with `own_case` too, so that the three say the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import dpaudit.auditing.outcome.claims as claims
import dpaudit.redaction as redaction
from dpaudit._references import stop_here
from dpaudit.auditing.estimators.metric_claims import at_distances
from dpaudit.auditing.outcome.code_proof import parts_of_case, prove_code
from dpaudit.auditing.outcome.declared_release import Release, proof_of
from dpaudit.auditing.pairs.found_pairs import SearchEffort, find_pairs, refuse_beside_domain
from dpaudit.auditing.repeat.plan import CallPlan, CodeExpression
from dpaudit.auditing.run import run_case
from dpaudit.domains import Domain, domain_of
from dpaudit.execution import Executor
from dpaudit.extension.case import PrivacyCase, Proof
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.currency import currency_of
from dpaudit.guarantees.kinds import Guarantee
from dpaudit.mechanisms.foreign.code_mechanism import AS_IT_IS, ObservationSettings
from dpaudit.mechanisms.foreign.isolation import Isolation, Placement, isolate_mechanism
from dpaudit.mechanisms.mechanism import Mechanism, name_of
from dpaudit.neighbours import Metric, Pair, Relation
from dpaudit.neighbours.candidates import Candidate
from dpaudit.neighbours.found_relations import declare_relation, find_pair_relation
from dpaudit.neighbours.records import Bounds
from dpaudit.proving.report import CodeProof
from dpaudit.report.schema import Result
from dpaudit.store.keeping import Storing, use_storing

Sample = Callable[..., Any]
DEFAULT_TRIALS = 10_000


def audit(
    mechanism: Mechanism[Any] | Sample,
    dataset: Any = None,
    neighbour: Any = None,
    *,
    domain: Any = None,
    search_calls: int | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: Guarantee | None = None,
    release: Release | None = None,
    relation: str | Relation | Callable[[Any, Any], Any] | None = None,
    bounds: Bounds | None = None,
    trials: int = DEFAULT_TRIALS,
    confidence: float = 0.95,
    seed: int = 0,
    estimator: str = "auto",
    distinguisher: str | None = None,
    doubles: str = "report",
    until_refuted: bool = False,
    executor: Executor | None = None,
    isolation: Isolation | None = None,
    unit: int | None = None,
    form: str | None = None,
    read: Any = None,
    observe: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    fresh: str | Callable[..., Any] | None = None,
    time: float | None = None,
    looks: Sequence[tuple[int, float]] | None = None,
    show_records: bool = False,
    store: str | os.PathLike[str] | None = None,
) -> Result:
    """Audit a claimed guarantee of a mechanism on a pair of neighbouring datasets.

    The claim is (epsilon, delta)-DP, or any guarantee of `dpaudit.guarantees`.

    If the mechanism states its law (`dpaudit.Tiltable`), the audit uses exact privacy losses: at
    delta = 0 the largest over outputs, if the mechanism can enclose it, or compute it in any
    number of digits. Otherwise the audit uses events of its outputs.

    Parameters
    ----------
    mechanism
        The code to audit: ``f(data)``, ``f(data, rng)``, ``f(data, trials, rng)`` that returns one
        output for each trial, a bound method, an object with ``sample(data, trials, rng)``, an
        estimator with ``fit``, or a class, of which each output gets a new instance. Outputs may be
        of any type.
    dataset, neighbour
        Two neighbouring datasets of any type: a `dpaudit.Dataset`, arrays, tables of pandas, lists,
        dicts, (X, y), graphs, ... Without a neighbour, the audit searches for the worst pair and
        certifies it on fresh outputs. The search starts at the dataset, and the datasets that it
        tries have about as many records.
    domain
        The datasets that are possible, in place of a neighbour, or of both datasets: a
        `dpaudit.Domain`, a dict of its arguments such as ``dict(bounds=(0, 1), records=6)``, or
        anything else that `dpaudit.domains.domain_of` takes. The audit searches the domain for the
        worst pair, from the dataset on if there is one.
    search_calls
        The number of calls that the search may make. The default follows from ``trials``; with
        ``time``, it is the number of calls that fit into 0.3 of it, which the result states.
    epsilon, delta
        The claimed guarantee.
    claim
        The claimed guarantee in place of epsilon and delta: `GaussianDP`, `ZeroConcentratedDP`,
        `RenyiDP`, a whole `PrivacyProfile`, ... The audit measures it in its own number
        (docs/currencies.md).
    release
        A declaration of what the mechanism releases, as `dpaudit account` takes it. The result
        shows the guarantee that accountants prove for this release beside the claim.
    relation
        The relation that makes the datasets neighbours
        (`dpaudit.neighbours.found_relations.chosen_relation`); the audit checks it. The default is
        the smallest relation that explains the difference, which the result names; a search needs
        one.
        ``"metric: euclidean"``, or the relation that `dpaudit.metric` makes of a function, says
        that epsilon is claimed for each unit of distance between any two datasets
        (docs/metric-claims.md).
    bounds
        The bounds of numbers in a search that starts at a dataset: ``(low, high)``, or one such
        tuple for each column. Without bounds the search tries numbers far beyond those of the
        dataset, and the result says that nobody stated bounds.
    trials
        The number of certifying outputs of each dataset, at least 100.
    confidence
        The confidence of everything that the audit certifies.
    seed
        The only source of randomness: the same seed gives the same result.
    estimator
        ``auto``, ``exact-loss`` or ``event``. ``exact-loss`` reads the law of plain code from its
        runs (docs/laws.md), and refuses code that has none, with the line that stopped it.
    distinguisher
        The only distinguisher whose score an event may use; by default the audit tries all that
        work on the mechanism.
    doubles
        The part of the lowest bits of doubles, which tell right mechanisms apart too if noise is
        added to a number in doubles: ``report`` states in a note what they certify, and ``refute``
        lets them refute the claim. Proofs are about real numbers and give no verdict then.
    until_refuted
        True to bet on outputs as they are drawn and to stop at a refutation; ``trials`` is then the
        largest number of outputs.
    executor
        The executor that runs the audit's work; it never changes a number.
    isolation
        The process of the mechanism and its limits: `Isolation()`, the default, gives the mechanism
        processes of its own.
    unit
        The number of trials in one call, the unit of seed and of work. The default follows from the
        size and pace of the mechanism; the result states it if the pace decided.
    form
        The form of a call, such as ``"f(data, rng)"``; by default the signature states it.
    read
        The part of a returned value that the audit observes: a function of the value, the name of
        an attribute, or several names; of an estimator, of the fitted copy.
    observe
        Observations besides outputs: some of ``exceptions``, ``warnings`` and ``time``.
    ignore
        The names of parts of an output that are no noise, which the audit leaves out wherever they
        stand: time stamps, counters, process numbers. A bound on the rest holds for the whole.
    fresh
        The state to renew before every output, if noise follows from a state that is kept: a
        function without arguments or of a generator; the name of an argument (a nonce), of an
        attribute or of a global in the mechanism's module (also as ``"module:name"``), or
        ``"env:NAME"``, which get another value of their kind; or ``"process"`` for one output from
        each process, if a deployment releases a single draw (docs/contract.md).
    time
        The seconds that the audit may take, in place of ``trials``, which then limits the first
        look only: looks at more and more outputs share the error probability
        (`dpaudit.auditing.estimators.group_sequential`).
    looks
        The trials and the share of the error probability of each look, as a report with ``time``
        states them.
    show_records
        True to let messages and the result hold values of records and outputs. By default they hold
        shapes, positions and salted hashes.
    store
        A file that keeps the outputs as they are drawn: after an interruption, the same call
        continues from there (docs/store.md).

    Returns
    -------
    Result
        Its ``verdict`` is ``refuted``, ``proved``, ``not refuted`` or ``withheld``, and
        ``measured.lower`` is the certified lower bound on epsilon. A claim that is not refuted may
        still be false.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here, or the datasets are no neighbours.
    MechanismError
        The mechanism breaks its contract.

    Notes
    -----
    Formal guarantee: if the claim is true, the audit refutes it with a probability of at most
    ``1 - confidence``, provided that a law that the mechanism states is its own.

    Examples
    --------
    A counting query with noise of half the scale that its claim needs:

    >>> import numpy as np
    >>> def noisy_count(dataset, trials, rng):
    ...     return dataset.sum() + rng.laplace(scale=0.5, size=trials)
    >>> result = audit(noisy_count, np.array([0.0, 1.0]), np.array([1.0, 1.0]), epsilon=1.0)
    >>> result.verdict, 1 < result.measured.lower < 2
    ('refuted', True)
    """
    stop_here()
    executor = _counting_from_now(executor)
    claimed = claims.resolve_guarantee(epsilon, delta, claim)
    settings = Settings(
        **claims.point_of(claimed),
        trials=trials,
        confidence=confidence,
        seed=seed,
        estimator=estimator,
        distinguisher=distinguisher,
        doubles=doubles,
        until_refuted=until_refuted,
        unit=unit,
        time=time,
        looks=looks,
        show_records=show_records,
    )
    plan = CallPlan(
        {
            "relation": relation_in_call(relation),
            "trials": trials,
            "confidence": confidence,
            "seed": seed,
            **_select_given_arguments(
                form=form, read=read, observe=observe, ignore=ignore, fresh=fresh
            ),
            **_select_given_arguments(
                domain=domain_in_call(domain), search_calls=search_calls, bounds=bounds
            ),
            **_select_given_arguments(release=release, distinguisher=distinguisher),
            **({} if estimator == "auto" else {"estimator": estimator}),
            **({"until_refuted": True} if until_refuted else {}),
            **({"doubles": doubles} if doubles != "report" else {}),
            "looks": settings.looks,
        },
        f"dpaudit.audit({_of_what(dataset, neighbour)}, {claims.as_given(claimed)}, ",
    )
    with _open_draw_store(store), redaction.run(show_records):
        reading = ObservationSettings(form, read, observe, ignore, fresh)
        if domain is not None:
            refuse_beside_domain(neighbour=neighbour, bounds=bounds)
        made, placed, code = list[Candidate](), None, None
        if neighbour is None:
            placed = isolate_mechanism(mechanism, isolation or Isolation(), reading)
            datasets = None if domain is None else domain_of(domain)
            code = prove_code(placed, datasets, relation, claimed, 0 if time else trials)
            pairs = find_pairs(
                placed,
                datasets,
                relation,
                dataset=dataset,
                bounds=bounds,
                effort=SearchEffort(trials, time, search_calls),
                seed=settings.seed,
                claimed=claimed,
            )
            made, found = pairs.candidates, pairs.as_found
            plan = plan.with_search(pairs.calls) if pairs.by_pace else plan
        else:
            declares = getattr(mechanism, "names_datasets", False)
            own = declare_relation(relation) if declares else relation
            found = find_pair_relation(dataset, neighbour, own)
        case, statement = own_case(
            placed or mechanism,
            found.pair,
            candidates=made,
            claimed=claimed,
            proved=proof_of(release),
            code=code,
            source="the caller of dpaudit.audit",
            data="given by the caller",
            isolation=isolation,
            reading=reading,
            notes=() if found.words is None else (found.words,),
            relation_was_read=found.was_read,
        )
        audited = run_case(case, settings, statement=statement, executor=executor, rerun=plan)
        return audited.result.keep(audited.certificate, holds_records=redaction.are_shown())


def _counting_from_now(executor: Executor | None) -> Executor:
    """Return who computes; a time that is the budget counts from now on, unless it does already."""
    executor = executor or Executor()
    return executor if executor.since is not None else replace(executor, since=monotonic())


def _open_draw_store(store: str | os.PathLike[str] | None) -> AbstractContextManager[None]:
    """Keep the draws in a file, if there is one."""
    return nullcontext() if store is None else use_storing(Storing(Path(store)))


def _select_given_arguments(**arguments: Any) -> dict[str, Any]:
    """Return arguments that were given, as a call names them."""
    shown = {name: one for name, one in arguments.items() if one not in (None, ())}
    return {
        name: CodeExpression(one.__name__) if hasattr(one, "__name__") else one
        for name, one in shown.items()
    }


def _of_what(dataset: Any, neighbour: Any) -> str:
    """Return the first arguments of the call that repeats an audit."""
    if neighbour is not None:
        return "mechanism, dataset, neighbour"
    return "mechanism" if dataset is None else "mechanism, dataset"


def domain_in_call(domain: Any) -> Any:
    """Return a domain as it stands in the call that repeats an audit: a long one by name alone."""
    if isinstance(domain, Domain):
        return (
            domain if domain.make is None and not len(domain.examples) else CodeExpression("domain")
        )
    plain = isinstance(domain, Mapping) and not any(map(callable, domain.values()))
    return domain if domain is None or plain else CodeExpression("domain")


def relation_in_call(relation: Any) -> Any:
    """Return a relation as the call that repeats an audit names it."""
    if relation is None or isinstance(relation, str):
        return CodeExpression(repr(relation))
    if isinstance(relation, Metric):
        own = relation.is_own and relation.reference is None
        return CodeExpression(f"metric({relation.distance})" if own else repr(relation.name))
    return CodeExpression(str(getattr(relation, "__name__", getattr(relation, "name", "relation"))))


def own_case(
    mechanism: Mechanism[Any] | Sample | Placement,
    pair: Pair[Any],
    *,
    claimed: Guarantee,
    proved: Proof | None = None,
    code: CodeProof | None = None,
    requires_proof: bool = False,
    name: str | None = None,
    statement: str | None = None,
    source: str = "the caller",
    data: str = "given by the caller",
    parameters: Mapping[str, Any] | None = None,
    candidates: Sequence[Pair[Any] | Candidate] = (),
    isolation: Isolation | None = None,
    reading: ObservationSettings = AS_IT_IS,
    notes: Sequence[str] = (),
    relation_was_read: bool = False,
) -> tuple[PrivacyCase, Statement]:
    """Return the case of a mechanism of one's own, and its claim in words.

    Parameters
    ----------
    mechanism, pair
        What is run, and on what.
    claimed, proved
        The claimed guarantee, and what is proved for the release as declared.
    code
        What is proved of the code: it comes before a release that is declared.
    requires_proof
        Whether a claim that is not refuted is not enough.
    name, statement, source, data, parameters
        For the report.
    candidates
        Pairs of which the worst is audited; empty audits ``pair``.
    isolation, reading
        Where a mechanism runs that has no place yet, and how it is called.
    notes
        More for the report, such as how the relation was found.
    relation_was_read
        Whether nobody named the relation of the pair.
    """
    if not isinstance(mechanism, Placement):
        mechanism = isolate_mechanism(mechanism, isolation or Isolation(), reading)
    proofs: dict[str, Any] = {"proved": proved} | parts_of_case(code)
    case = PrivacyCase(
        mechanism=mechanism.mechanism,
        pair=pair,
        claimed=claimed,
        at_delta=claims.at_delta(claimed),
        currency=currency_of(claimed),
        **proofs,
        requires_proof=requires_proof,
        view="what sample() returns",
        data=data,
        default_trials=DEFAULT_TRIALS,
        parameters=parameters or {},
        notes=(*notes, *mechanism.remarks),
        relation_was_read=relation_was_read,
        elsewhere=mechanism.elsewhere,
        reading=reading,
    )
    words = Statement(
        name=name or name_of(mechanism.mechanism),
        title="A mechanism of one's own",
        statement=statement or f"the mechanism {claims.format_claim(claimed)}{_of_what_unit(pair)}",
        source=source,
        kind="privacy",
        relation=pair.relation.name,
        assumptions={},
    )
    case = replace(
        case, candidates=tuple(_make_candidate_pair_case(case, one) for one in candidates)
    )
    return at_distances(case, isolation), words


def _of_what_unit(pair: Pair[Any]) -> str:
    """Return, in words, the unit of distance of a claim; an empty text for a claim without one."""
    metric = pair.relation
    return f", a unit of distance ({metric.distance})" if isinstance(metric, Metric) else ""


def _make_candidate_pair_case(case: PrivacyCase, one: Pair[Any] | Candidate) -> PrivacyCase:
    if isinstance(one, Pair):
        return replace(case, pair=one)
    notes = (f"The neighbour: {one.edit}.", *case.notes)
    return replace(case, pair=one.pair, notes=notes, caveat=one.caveat, made=one.made)
