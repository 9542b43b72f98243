"""The front door: ``dpaudit.replay``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import dpaudit._check as check
import dpaudit.redaction as redaction
from dpaudit._references import stop_here
from dpaudit.auditing.pairs.found_pairs import SearchEffort, find_pairs, refuse_beside_domain
from dpaudit.domains import domain_of
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import importable
from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.keeper import the_keeper
from dpaudit.execution.pool import Crew
from dpaudit.execution.tasks import to_pickle
from dpaudit.execution.units import Unit
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.code_identity import for_another_process
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
from dpaudit.mechanisms.foreign.distance_calls import distances_of
from dpaudit.mechanisms.foreign.guard import add_mechanism_name
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism, isolate_reference
from dpaudit.mechanisms.foreign.reached_state import beyond_data_of
from dpaudit.mechanisms.mechanism import name_of
from dpaudit.neighbours import Metric, Pair
from dpaudit.neighbours.candidates import Candidate
from dpaudit.neighbours.found_relations import find_pair_relation
from dpaudit.neighbours.records import Bounds
from dpaudit.replaying import processes, running
from dpaudit.replaying.certificate import certificates_of
from dpaudit.replaying.result import Replay, ReplayedCall, ReplayFinding
from dpaudit.replaying.spending import Reason, Spending
from dpaudit.report.schema import AUnit
from dpaudit.watching.watch import Touch

_TRIALS = 3_000  # of an audit whose search takes as long


class _CandidatePair(NamedTuple):
    """A pair that is looked at, how it was made, and how it is made again (`Candidate`)."""

    pair: Pair[Any]
    edit: str | None = None
    made: Mapping[str, Any] | None = None


def replay(
    mechanism: Callable[..., Any] | str | Any,
    dataset: Any = None,
    neighbour: Any = None,
    *,
    domain: Any = None,
    search_calls: int | None = None,
    epsilon: float,
    delta: float = 0.0,
    relation: Any = None,
    bounds: Bounds | None = None,
    seed: int = 0,
    form: str | None = None,
    read: str | list[str] | None = None,
    isolation: Isolation | None = None,
    folder: Path | None = None,
    show_records: bool = False,
) -> Replay:
    """Run a function on two neighbouring datasets with the same frozen noise, and compare.

    The replay intercepts the random primitives of numpy, of the standard library, of scipy and of
    torch, and the mechanisms of diffprivlib and OpenDP. It changes no line of the code.

    Parameters
    ----------
    mechanism
        The code to replay, as `dpaudit.audit` takes it, or ``"module:object"``.
    dataset, neighbour
        Two neighbouring datasets, as `dpaudit.audit` takes them. Without a neighbour, the replay
        searches for the worst pairs, and returns the one that shows most.
    domain, search_calls
        The datasets that are possible, as `dpaudit.audit` takes them, and the number of calls that
        the search for the worst pairs may make.
    epsilon, delta
        The claimed guarantee.
    relation, bounds
        The relation of neighbours and the bounds of numbers, as `dpaudit.audit` takes them. Under
        ``metric: euclidean``, or another distance, epsilon is claimed for each unit of distance,
        and the search tries pairs at several distances.
    seed
        The seed of all noise: the same seed gives the same result.
    form, read
        The form of a call and the part of a returned value that the replay observes, as
        `dpaudit.audit` takes them.
    isolation
        The process of the code and its limits; by default the code has a process of its own.
    folder
        The folder of modules that ``"module:object"`` names.
    show_records
        True to let messages hold values of records and outputs.

    Returns
    -------
    Replay
        Its ``verdict``, its ``findings`` (proofs, violations and hints), and the noisy ``calls``.

    Raises
    ------
    InvalidArgument
        An argument does not fit its description here, or the datasets are no neighbours.
    MechanismError
        The code cannot be run.

    Notes
    -----
    Source: Re:cord-play (arXiv:2602.17454) for the idea. Formal guarantee: docs/replay.md states
    the assumptions of each tier. A replay that finds nothing is no evidence of privacy.

    Examples
    --------
    A sum of values that nobody clipped:

    >>> import numpy as np
    >>> def noisy_sum(data, rng):
    ...     return data.sum() + rng.laplace(scale=1.0)
    >>> found = replay(noisy_sum, np.array([0.0, 1.0]), np.array([0.0, 9.0]), epsilon=1.0)
    >>> found.verdict, found.findings[0].kind, round(found.findings[0].epsilon, 6)
    ('refuted', 'sensitivity', 8.0)
    >>> found.calls[0].moved, found.calls[0].scale
    (8.0, 1.0)
    """
    stop_here()
    epsilon = check.non_negative("epsilon", epsilon)
    delta = check.require_delta("delta", delta)
    seed = check.require_integer("seed", seed, least=0)
    here = isolation or Isolation()
    with redaction.run(show_records), _make_folder_importable(folder):
        name = _get_replay_name(_require_callable(mechanism))
        pairs = list[_CandidatePair]()
        if domain is not None:
            refuse_beside_domain(neighbour=neighbour, bounds=bounds)
        if neighbour is None:
            how = here, ObservationSettings(form, read)
            by_name = isinstance(mechanism, str)
            found_pairs = find_pairs(
                isolate_reference(str(mechanism), *how)
                if by_name
                else isolate_mechanism(mechanism, *how),
                None if domain is None else domain_of(domain),
                relation,
                dataset=dataset,
                bounds=bounds,
                effort=SearchEffort(_TRIALS, calls=search_calls),
                seed=seed,
                claimed=ApproximateDP(epsilon, delta),
            )
            pairs = [
                _CandidatePair(one.pair, _format_candidate(one), one.made)
                for one in found_pairs.candidates
            ]
        else:
            pairs = [_CandidatePair(find_pair_relation(dataset, neighbour, relation)[0])]
        apart = _measure_pair_distances([one.pair for one in pairs], here)
        code, here = _prepare_code_place(_require_callable(mechanism), here, name)
        task = running.Task(
            code=code,
            form=form,
            read=read,
            pairs=tuple((one.pair.dataset, one.pair.neighbour, one.edit or "") for one in pairs),
            epsilon=epsilon,
            delta=delta,
            seed=seed,
            apart=apart,
        )
        found = _judge_replay(task, mechanism, here, name)
        # Where calls change what they use, the first call is another mechanism than the later ones:
        # both are claimed, so that both are judged.
        if found["changes"]:
            found["findings"] = _at_both(found, task, mechanism, here, name)
        return _make_replay_result(
            found, pairs[found["pair"]], task.of_pair(found["pair"]), name, read
        )


def _measure_pair_distances(pairs: Sequence[Pair[Any]], isolation: Isolation) -> tuple[float, ...]:
    """Return how far the datasets of each pair are apart; nothing where they are neighbours."""
    metric = pairs[0].relation
    return tuple(distances_of(metric, pairs, isolation)) if isinstance(metric, Metric) else ()


def _prepare_code_place(mechanism: Any, isolation: Isolation, name: str) -> tuple[Any, Isolation]:
    """Return the code for where it runs; code that cannot be sent elsewhere runs here, for hints.

    Raises
    ------
    MechanismError
        It cannot be sent elsewhere, where it has limits.
    """
    if isolation.in_process:
        return mechanism, isolation
    try:
        return for_another_process(mechanism), isolation
    except CannotTravel as error:
        # Nobody asked for limits, so that the code may run here. With limits it may not: this
        # process has none.
        if isolation == Isolation():
            return mechanism, Isolation(in_process=True)
        raise MechanismError(
            f"mechanism {name}: cannot be sent to another process ({error})"
        ) from error


def _get_replay_name(mechanism: Any) -> str:
    if isinstance(mechanism, str):
        return mechanism
    return str(getattr(mechanism, "__name__", None) or name_of(mechanism))


def _make_folder_importable(folder: Path | None) -> AbstractContextManager[None]:
    return nullcontext() if folder is None else importable(folder)


def _format_candidate(one: Candidate) -> str:
    """Return how a pair was found, and whether it goes beyond the stated domain."""
    return one.edit if one.caveat is None else f"{one.edit} ({one.caveat})"


def _require_callable(mechanism: Any) -> Any:
    """Return the callable, or refuse an object that is none."""
    known = isinstance(mechanism, str) or callable(mechanism)
    if not known and not any(hasattr(mechanism, name) for name in ("sample", "fit")):
        raise InvalidArgument(
            "mechanism", redaction.convert_stray_argument(mechanism), "a function, or module:object"
        )
    return mechanism


def _run_isolated_replay(
    task: running.Task, isolation: Isolation, name: str
) -> tuple[dict[str, Any], Sequence[str]]:
    """Return the findings of a replay in one process, and the files of its code."""
    if isolation.in_process:
        return json.loads(running.run_replay(task)), ()
    try:
        blob = to_pickle(task)
    except CannotTravel as error:
        raise MechanismError(
            f"mechanism {name}: cannot be sent to another process ({error})"
        ) from error
    the_keeper().preload([running.__name__])
    with add_mechanism_name(name), Crew(isolation.limits) as crew:
        return json.loads(crew.call(_run_pickled_replay, blob)), crew.kept_files


def _judge_replay(task: running.Task, code: Any, isolation: Isolation, name: str) -> dict[str, Any]:
    """Return the findings of a replay, if other processes confirm them."""
    found, kept = _run_isolated_replay(task, isolation, name)
    if any(one["tier"] in ("proof", "violation") for one in found["findings"]):
        found["findings"] = _check_findings_elsewhere(found, kept, task, code, isolation, name)
    return found


def _at_both(
    found: dict[str, Any], task: running.Task, code: Any, isolation: Isolation, name: str
) -> list[dict[str, Any]]:
    """Return the findings of a replay, and those of one whose every call is the first.

    They are two mechanisms, each with half of the error probability, as an audit has it.
    """
    own = replace(task.of_pair(found["pair"]), when="first", tests=2 * len(task.pairs))
    try:
        judged = _judge_replay(own, code, isolation, name)
        first = judged["findings"]
        if judged["repeated"]:
            first = processes.of_repeated_noise(first)
    except MechanismError as error:
        first = [_not_replayed(error)]
    deciding = [_of_first(one) for one in first if one["tier"] != "hint"]
    return processes.in_order([*found["findings"], *deciding])


def _of_first(one: dict[str, Any]) -> dict[str, Any]:
    """Return a finding of first calls; no certificate states which call it is of."""
    return {**one, "call": "first", "evidence": None}


def _not_replayed(error: MechanismError) -> dict[str, Any]:
    words = (
        "calls change what they use, and no first call of another copy could be replayed "
        f"({error}): pass the class, or what makes the object, as module:object"
    )
    held = {"kind": "first call", "tier": "withheld", "words": words}
    return {**held, "epsilon": None, "place": None, "fault": None, "evidence": None}


def _check_findings_elsewhere(
    found: dict[str, Any],
    kept: Sequence[str],
    task: running.Task,
    code: Any,
    isolation: Isolation,
    name: str,
) -> list[dict[str, Any]]:
    """Return findings, withheld where other processes do not bear them out."""
    there = replace(isolation, in_process=False)
    pair = task.pairs[found["pair"]]
    try:
        sent = for_another_process(code)
    except CannotTravel:
        return processes.of_one_process(found["findings"])
    # With another seed, so that what other processes bear out does not rest on the noise of this
    # one.
    alone = replace(task.of_pair(found["pair"]), code=sent, seed=task.seed + 1)

    def elsewhere(constants: list[list[Any]]) -> list[bool]:
        held = _ConstantsTask(to_pickle(alone), constants)
        with add_mechanism_name(name):
            return processes.in_processes(held, there.limits, task.seed)

    def answers(reads: list[list[Any]]) -> list[processes.ProcessRepetition]:
        asked = _Answers(to_pickle(alone), reads)
        with add_mechanism_name(name):
            return processes.answers_of(asked, there.limits, task.seed)

    def judge_unmoved(reads: list[list[Any]]) -> list[bool]:
        if isolation.in_process:  # calls were made before the code went to others
            return [False for _ in reads]
        asked = _ProcessValues(to_pickle(alone), reads)
        with add_mechanism_name(name):
            return processes.find_unmoved_parts(asked, there.limits, task.seed, alone.claimed())

    def beyond() -> list[Touch]:
        reading = ObservationSettings(task.form, task.read, ("exceptions",))
        return beyond_data_of(code, reading, pair[:2], task.seed)

    def again() -> list[dict[str, Any]]:
        return list(_run_isolated_replay(alone, there, name)[0]["findings"])

    there_too = processes.OtherProcesses(again, elsewhere, answers, judge_unmoved, beyond)
    return processes.judge_in_processes(found["findings"], kept, there_too)


class _ConstantsTask:
    """The constants that hold in a process, as a task."""

    def __init__(self, blob: bytes, constants: list[list[Any]]) -> None:
        self.blob, self.constants = blob, constants

    def __call__(self, unit: Unit) -> list[bool]:
        """Return it of the process that calls this."""
        import cloudpickle

        seed = int(unit.generator().integers(2**31))
        return running.check_constants_here(cloudpickle.loads(self.blob), self.constants, seed)


class _ProcessValues:
    """The parts of outputs in a process, with frozen noise, as a task."""

    def __init__(self, blob: bytes, reads: list[list[Any]]) -> None:
        self.blob, self.reads = blob, reads

    def __call__(self, unit: Unit) -> list[list[Any]]:
        """Return it of the process that calls this."""
        import cloudpickle

        seed = int(unit.generator().integers(1, 2**28))
        return running.values_after_others(cloudpickle.loads(self.blob), self.reads, seed)


class _Answers:
    """The numbers that counts read in some calls of a process, as a task."""

    def __init__(self, blob: bytes, reads: list[list[Any]]) -> None:
        self.blob, self.reads = blob, reads

    def __call__(self, unit: Unit) -> list[list[list[str]]]:
        """Return it of the process that calls this."""
        import cloudpickle

        seed = int(unit.generator().integers(2**31))
        return running.answers_elsewhere(cloudpickle.loads(self.blob), self.reads, seed)


def _run_pickled_replay(blob: bytes) -> str:
    import cloudpickle

    return running.run_replay(cloudpickle.loads(blob))


def _parse_replayed_call(held: dict[str, Any]) -> ReplayedCall:
    return ReplayedCall(**{**held, "shape": tuple(held["shape"])})


def _parse_spending(held: dict[str, Any]) -> Spending:
    return Spending(**{**held, "reasons": tuple(Reason(**one) for one in held["reasons"])})


def _a_unit(pair: Pair[Any], task: running.Task) -> AUnit | None:
    """Return the claim for one unit of distance; None for a claim about neighbours."""
    metric = pair.relation
    if not isinstance(metric, Metric):
        return None
    return AUnit(distance=metric.distance, claimed=task.epsilon, apart=task.apart[0])


def _make_replay_result(
    found: Mapping[str, Any],
    chosen: _CandidatePair,
    task: running.Task,
    name: str,
    read: Any,
) -> Replay:
    pair = chosen.pair
    findings = [
        ReplayFinding(
            **{key: one[key] for key in ("kind", "tier", "words", "epsilon", "place", "fault")},
            call=one.get("call"),
        )
        for one in found["findings"]
    ]
    kept = ReplayedCall.__dataclass_fields__
    calls = [_parse_replayed_call({key: one[key] for key in kept}) for one in found["moved"]]
    return Replay(
        mechanism=name,
        epsilon=task.claimed(),
        delta=task.delta,
        a_unit=_a_unit(pair, task),
        relation=pair.relation.name,
        edit=chosen.edit,
        findings=tuple(findings),
        calls=tuple(calls),
        spending=_parse_spending(found["spending"]),
        unread=tuple(found["unread"]),
        runs=found["runs"],
        pairs=found["pairs"],
        first_call=found["changes"],
        form=found["form"],
        seed=task.seed,
        certificates=certificates_of(found, pair, task, name, chosen.made),
        shows_records=redaction.are_shown(),
    )
