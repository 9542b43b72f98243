"""The self-test: estimators against laws, then attacks against known answers."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from pydantic import TypeAdapter

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import DpauditError, InvalidArgument, MechanismError, what_happened
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.execution import Progress, end_with, one_thread, plan_units, stream
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.selftest import answers
from dpaudit.selftest.answers import KnownAnswer, Learner
from dpaudit.selftest.black_box import BlackBoxResult, SelfTestBudget, audit
from dpaudit.selftest.estimators import CASES, CONTROLS, Case
from dpaudit.selftest.verdicts.counting import NOMINAL, VERDICTS, Verdicts
from dpaudit.store.keeping import Storing, keep_audit, use_storing

ALPHA = 0.05
# So small that no miss is to be expected in any number of audits that is run here: it tries the far
# tails of the bounds.
TINY = 1e-7
_TOGETHER = 100  # audits that are kept together, times their share
_MOST_TOGETHER = 2.0  # largest share that counts
_SEEDS = 3  # of audits whose verdicts are judged, in a full self-test
CONFIDENCE = 0.999
"""Of a rate's interval: with dozens of rows, one in a hundred tables is wrong by chance."""
CERTAIN = 1e-6  # of all known answers together: what errs as rarely was no bad luck


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a self-test.

    Parameters
    ----------
    full
        Whether known answers are those with published results, all of them.
    audits
        Of each law by each estimator.
    alphas
        The error probabilities tried, on the same audits.
    budget
        Of the black-box audits.
    """

    full: bool
    audits: int
    alphas: tuple[float, ...]
    budget: SelfTestBudget


QUICK = Size(
    full=False,
    audits=500,
    alphas=(ALPHA,),
    budget=SelfTestBudget(
        learning=40_000, judging=10_000, choosing=100_000, certifying=200_000, least=20_000
    ),
)
FULL = Size(
    full=True,
    audits=10_000,
    alphas=(ALPHA, TINY),
    budget=SelfTestBudget(
        learning=10_000_000,
        judging=200_000,
        choosing=50_000_000,
        certifying=200_000_000,
        least=1_000_000,
    ),
)


@dataclass(frozen=True)
class Rate:
    """So many misses in so many audits, of which a share of ``nominal`` may miss.

    Parameters
    ----------
    misses, audits
        Counts.
    nominal
        The error probability that was asked for.

    Examples
    --------
    >>> rate = Rate(7, 100, 0.05)
    >>> [round(end, 3) for end in rate.interval], rate.sound, Rate(20, 100, 0.05).sound
    ([0.014, 0.193], True, False)
    """

    misses: int
    audits: int
    nominal: float

    def __post_init__(self) -> None:
        check.require_integer("audits", self.audits, least=1)
        check.require_probability("nominal", self.nominal)
        if not 0 <= check.require_integer("misses", self.misses, least=0) <= self.audits:
            raise InvalidArgument("misses", self.misses, f"at most the {self.audits} audits")

    @property
    def observed(self) -> float:
        """The share that missed."""
        return self.misses / self.audits

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of the error probability, at 99.9%."""
        return clopper_pearson(self.misses, self.audits, 1 - CONFIDENCE)

    @property
    def sound(self) -> bool:
        """Whether the counts allow an error probability of at most the nominal one."""
        return self.interval[0] <= self.nominal


@dataclass(frozen=True, kw_only=True)
class EstimatorTest:
    """An estimator on a law: how often it erred at each error probability, and how close it came.

    ``closeness`` is the median of certified over true epsilon at the first error probability;
    `None` where the true one is 0. ``control`` says that it was made unsound on purpose.
    """

    estimator: str
    law: str
    true: float
    rates: tuple[Rate, ...]
    closeness: float | None
    control: bool
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether no rate is above its limit."""
        return all(rate.sound for rate in self.rates)


@dataclass(frozen=True, kw_only=True)
class KnownAnswerAudit:
    """A known answer, audited from its outputs alone."""

    name: str
    claimed: float
    true: float
    event: float
    delta: float
    published: float | None
    found: BlackBoxResult

    @property
    def broken(self) -> bool:
        """Whether the claim is false."""
        return self.claimed < self.true

    @property
    def refuted(self) -> bool:
        """Whether the audit says so."""
        return self.found.lower > self.claimed

    @property
    def missed(self) -> bool:
        """Whether the 95% bound is above every event's loss: of sound ones one in 20 may be."""
        return self.found.lower > self.event

    @property
    def wrong(self) -> bool:
        """Whether more was certified than any event shows, at an error rate that excludes luck."""
        return self.found.nearly_certain > self.event

    @property
    def closeness(self) -> float | None:
        """Certified over the loss that the best event shows; None where that is infinite."""
        return self.found.lower / self.event if np.isfinite(self.event) else None


@dataclass(frozen=True)
class MissingResult:
    """An estimator or a known answer without a result, and why."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """The result of a self-test; with anything missing it says nothing of the whole."""

    full: bool
    seed: int
    tested: tuple[EstimatorTest, ...]
    measured: tuple[KnownAnswerAudit, ...]
    seconds: float
    missing: tuple[MissingResult, ...] = ()
    interrupted: bool = False

    @property
    def asked(self) -> int:
        """The number of results that the run asked for."""
        return len(self.tested) + len(self.measured) + len(self.missing)

    @property
    def failures(self) -> tuple[str, ...]:
        """Faults that must not happen and did, a sentence each."""
        return (*self._of_estimators(), *self._of_answers())

    def _of_estimators(self) -> Iterable[str]:
        for one in self.tested:
            if one.control and one.sound:
                yield f"{one.estimator} was not caught on {one.law}"
            if not one.control and not one.sound:
                yield f"{one.estimator} errs too often on {one.law}"

    @property
    def misses(self) -> Rate | None:
        """The share of 95% bounds above the truth; None if no answer is finite."""
        finite = [one for one in self.measured if np.isfinite(one.event)]
        return Rate(sum(one.missed for one in finite), len(finite), ALPHA) if finite else None

    def _of_answers(self) -> Iterable[str]:
        if self.misses is not None and not self.misses.sound:
            count, of = self.misses.misses, self.misses.audits
            yield f"{count} of {of} bounds on known answers are above the truth: too many"
        for one in self.measured:
            if one.wrong:
                yield f"{one.name}: certified more than the true value"
            elif self.full and one.broken and not one.refuted:
                yield f"{one.name} is broken and was not refuted"


_OUTCOMES = TypeAdapter[EstimatorTest | KnownAnswerAudit](EstimatorTest | KnownAnswerAudit)
Outcome = EstimatorTest | KnownAnswerAudit | MissingResult
Task = tuple[str, Callable[[], EstimatorTest | KnownAnswerAudit]]


def run(
    size: Size, seed: int, workers: int, progress: Progress, where: Storing | None = None
) -> SelfTest:
    """Run the self-test.

    One that fails is missing, and the others run. After an interrupt those that did not run are
    missing too.

    Parameters
    ----------
    size
        `QUICK` or `FULL`.
    seed
        The only source of randomness.
    workers
        Processes; no number depends on it.
    progress
        Is told how many cases are done.
    where
        Where the outcomes are kept.

    Raises
    ------
    DpauditError
        No package has known answers.
    KeyboardInterrupt
        Nothing had ended by then.
    """
    began = time.monotonic()
    cases = [(case, False) for case in CASES] + [(case, True) for case in CONTROLS]
    tests: list[Task] = [
        (
            f"{case.estimator} on {case.law}",
            partial(_test_estimator_case, case, control, size, seed),
        )
        for case, control in cases
        if size.full or case.quick
    ]
    known = [
        (answer, learners)
        for answer, learners in answers.load_known_answers(published=size.full)
        if size.full or answer.quick
    ]
    alphas = ALPHA, CERTAIN / len(known) if known else CERTAIN
    audits: list[Task] = [
        (one[0].name, partial(_measure_known_answer, *one, size.budget, alphas, seed))
        for one in known
    ]
    judged: list[Task] = [
        (one.name, partial(_test_verdicts_case, one, size, seed)) for one in VERDICTS
    ]
    # The longest tasks come first, or one of them would run alone at the end.
    tasks = [*audits, *judged, *tests]
    progress.start("estimators, verdicts and known answers", len(tasks))
    found, interrupted = _run_all_tasks(tasks, workers, progress, where)
    return SelfTest(
        full=size.full,
        seed=seed,
        tested=tuple(one for one in found if isinstance(one, EstimatorTest)),
        measured=tuple(one for one in found if isinstance(one, KnownAnswerAudit)),
        seconds=time.monotonic() - began,
        missing=tuple(one for one in found if isinstance(one, MissingResult)),
        interrupted=interrupted,
    )


def _run_all_tasks(
    tasks: Sequence[Task], workers: int, progress: Progress, where: Storing | None
) -> tuple[list[Outcome], bool]:
    """Run the tasks, one at a time on every worker: no worker is idle while one is left.

    Return what came of each, and whether it was interrupted.
    """
    ending = {"initializer": end_with, "initargs": (os.getpid(),)}
    pool = Parallel(
        n_jobs=workers, return_as="generator", batch_size=1, pre_dispatch="all", **ending
    )
    found = list[Outcome]()
    try:
        with _quiet_when_interrupted():
            for one in pool(delayed(_run_kept_task)(*task, where) for task in tasks):
                progress.advance(1)
                found.append(one)
    except KeyboardInterrupt:
        if not found:
            raise
    left = [MissingResult(name, "not run") for name, _ in tasks[len(found) :]]
    return [*found, *left], bool(left)


@contextmanager
def _quiet_when_interrupted() -> Iterator[None]:
    """Let the pool's own thread end without a traceback: after an interrupt it looks for tasks.

    Those were taken back, and it may stumble over them even later: then nothing is put back.
    """
    before = threading.excepthook

    def show_failure(failed: threading.ExceptHookArgs) -> None:
        name = failed.thread.name if failed.thread is not None else ""
        if not (name.startswith("ExecutorManagerThread") and failed.exc_type is KeyError):
            before(failed)

    threading.excepthook = show_failure
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        threading.excepthook = before
        raise
    threading.excepthook = before


def _run_kept_task(
    name: str, task: Callable[[], EstimatorTest | KnownAnswerAudit], where: Storing | None = None
) -> Outcome:
    try:
        with one_thread(), use_storing(where), keep_audit(f"selftest: {name}", task) as ledger:
            plain = ledger.fact("outcome", lambda: _OUTCOMES.dump_python(_in_words(task)))
            ledger.end()
            return _OUTCOMES.validate_python(plain)
    except DpauditError as error:
        return MissingResult(name, f"failed: {error}")


def _in_words(
    task: Callable[[], EstimatorTest | KnownAnswerAudit],
) -> EstimatorTest | KnownAnswerAudit:
    try:
        return task()
    except (DpauditError, KeyboardInterrupt):
        raise
    except BaseException as error:  # known answers are other people's code
        raise MechanismError(what_happened(error)) from error


def _test_estimator_case(case: Case, control: bool, size: Size, seed: int) -> EstimatorTest:
    began, audits = time.process_time(), case.audits(size.audits)
    rates, closeness = list[Rate](), None
    for alpha in size.alphas[:1] if control else size.alphas:
        tried = audits if not rates else max(1, round(audits * case.strict))
        certified = _certify_case_audits(case, tried, alpha, seed)
        rates.append(Rate(case.missed(certified), tried, alpha))
        if closeness is None and case.true > 0:
            closeness = float(np.median(certified)) / case.true
    return EstimatorTest(
        estimator=case.estimator,
        law=case.law,
        true=case.true,
        rates=tuple(rates),
        closeness=closeness,
        control=control,
        seconds=time.process_time() - began,
    )


def _certify_case_audits(case: Case, audits: int, alpha: float, seed: int) -> Array:
    """Return the bounds of so many audits; parts of them are kept, each of half a second's work."""
    size = math.ceil(_TOGETHER * min(case.share, _MOST_TOGETHER))
    parts = plan_units(audits, size, stream(seed, case.estimator, case.law))
    return np.concatenate(
        [
            get_current_ledger().fact(
                f"{alpha}, {at}", partial(case.run, one.trials, alpha, one.generator())
            )
            for at, one in enumerate(parts)
        ]
    )


def _test_verdicts_case(verdicts: Verdicts, size: Size, seed: int) -> EstimatorTest:
    began = time.monotonic()
    seeds = range(seed, seed + (_SEEDS if size.full else 1))
    wrong, audits = verdicts.errors(seeds, full=size.full)
    return EstimatorTest(
        estimator=verdicts.name,
        law=verdicts.law,
        true=verdicts.true,
        rates=(Rate(wrong, audits, NOMINAL),),
        closeness=None,
        control=False,
        seconds=time.monotonic() - began,
    )


def _measure_known_answer(
    answer: KnownAnswer,
    learners: Sequence[Learner],
    budget: SelfTestBudget,
    alphas: tuple[float, float],
    seed: int,
) -> KnownAnswerAudit:
    return KnownAnswerAudit(
        name=answer.name,
        claimed=answer.claimed,
        true=answer.true,
        event=answer.event,
        delta=answer.delta,
        published=answer.published,
        found=audit(answer, learners, budget, alphas, seed),
    )
