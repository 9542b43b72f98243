"""A scan of a package: every subject of its card looked at, the worst of each certified.

Formal guarantee. Let H be the number of hypotheses of the whole scan: of each subject, one for each
setting, relation, family of pairs and claim, and of additive ones also for each corner of numbers
(`dpaudit.scan.certification.floating`). H follows from the card and from which subjects are
asked for, and so is fixed before anything is drawn. Each hypothesis is tested at most once, with
error probability ``alpha / H`` on outputs that chose neither its pair nor its events
(`dpaudit.scan.certification.certify`). Which of them are tested, in what order, and on which pair,
depends on screens and on time; whatever these choose, a hypothesis whose claim is true is refuted
with probability at most ``alpha / H``, given all that was drawn for its choice. By the union bound
a scan of a package all of whose claims are true refutes any of them with probability at most alpha.
Hypotheses may depend on each other in any way: the union bound asks for no independence of them. No
step-down as Holm's is taken: at the confidence that is usual here it would gain a hundredth of a
standard error, and the bounds that are shown would no longer hold all together.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dpaudit._check as check
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.execution import Limits, Progress, Silent, available_cores
from dpaudit.execution.pool import Crew
from dpaudit.extension.package import Package, PackageClaim, Subject
from dpaudit.redaction import set_records_shown
from dpaudit.scan.candidates.ascent import Guide
from dpaudit.scan.candidates.corners import Corner
from dpaudit.scan.candidates.pairs import make_subject_pairs
from dpaudit.scan.certification.floating import FloatingScan, checks_of, count_floating_hypotheses
from dpaudit.scan.finding import (
    Certainty,
    ClaimCheck,
    PackageEnvironment,
    ScanFinding,
    ScanResult,
    make_claimed_guarantee,
)
from dpaudit.scan.hypotheses import Hypothesis, Ran, count_hypotheses, remarks_of
from dpaudit.scan.publication.worst_words import (
    find_refuted_relations,
    format_refuted_setting,
    format_worst_sentence,
    is_refuted_at,
    measure_claim_excess,
)
from dpaudit.scan.remote.environments import VersionEnvironment, place_of
from dpaudit.scan.remote.foreign import Foreign
from dpaudit.scan.remote.guide import frozen_noise
from dpaudit.scan.reproduction.parsing import parse_source
from dpaudit.scan.reproduction.values import format_expression
from dpaudit.scan.subject import PAIRS, SubjectScan
from dpaudit.verdicts import Verdict

CONFIDENCE = 1 - 1e-6
_TIMEOUT = 20.0
_MEMORY = 4 * 2**30
_LEAST_SECONDS = 2.0  # that a subject has, however little time there is
_FLOATING_SHARE = 0.3  # of an additive subject's time, for the numbers themselves
_OUT_OF_TIME = "the time ran out before any of its pairs was certified"


@dataclass(frozen=True, kw_only=True)
class ScanBudget:
    """The limits of a scan, and its confidence.

    Parameters
    ----------
    confidence
        The confidence of all findings together.
    trials
        Certifying outputs of each dataset, at most.
    seconds
        For all subjects: what is drawn ends by then, and what was not reached is said.
    timeout, memory
        Seconds and bytes that a call of the package may take: beyond, its process is ended.
    """

    confidence: float = CONFIDENCE
    trials: int = 10_000
    seconds: float = 600.0
    timeout: float = _TIMEOUT
    memory: int | None = _MEMORY

    def __post_init__(self) -> None:
        check.require_probability("confidence", self.confidence)
        check.require_integer("trials", self.trials, least=100)
        check.require_positive("time", self.seconds)

    @property
    def limits(self) -> Limits:
        """Return the limits of a call."""
        return Limits(timeout=self.timeout, memory=self.memory)


def select_subjects(package: Package, names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the subjects that are asked for, all if none is named.

    A name may be the beginning of several, up to a dot: ``models`` names ``models.PCA``.

    Raises
    ------
    UnknownName
        The card has none of that name.
    """
    if not names:
        return package.subjects
    for name in names:
        if not any(_is_named(one, name) for one in package.subjects):
            raise UnknownName("subject", name, [one.name for one in package.subjects])
    return tuple(one for one in package.subjects if any(_is_named(one, name) for name in names))


def _is_named(subject: Subject, name: str) -> bool:
    return subject.name == name or subject.name.startswith(f"{name}.")


def file_of(package: Package) -> str:
    """Return the file of a package's plain functions, which is found and not imported.

    Raises
    ------
    InvalidArgument
        There is none.
    """
    try:
        found = importlib.util.find_spec(package.code)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None:
        raise InvalidArgument(f"code of {package.name}", package.code, "a module that is installed")
    return str(Path(found.origin).resolve())


def arguments_of(file: str, function: str) -> tuple[str, ...]:
    """Return the names of the arguments of a plain function, read off its source.

    Raises
    ------
    InvalidArgument
        The file has no such function.
    """
    tree = parse_source(Path(file).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            return tuple(one.arg for one in given)
    raise InvalidArgument("code", function, f"a function that {Path(file).name} defines")


def scan_package(
    package: Package,
    *,
    env: str | None = None,
    subjects: Sequence[str] = (),
    budget: ScanBudget | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    guide: Guide | None = frozen_noise,
) -> ScanResult:
    """Scan a package where its card says.

    Parameters
    ----------
    package
        The card.
    env
        ``distribution==version`` for an environment of its own; by default the package as it is
        installed, if the card knows that version.
    subjects
        Names; all by default.
    budget
        What it may take.
    seed
        The seed of all randomness that is not the package's own.
    workers
        Subjects that are scanned at a time; every core by default.
    progress
        Is told of subjects as they end.
    guide
        Says how far pairs move, by default in runs with frozen noise; None for no search of pairs.

    Raises
    ------
    UnknownName, InvalidArgument
        A subject that is not there, or a bad budget.
    DpauditError
        The environment cannot be built.
    """
    check.require_integer("seed", seed, least=0)
    asked, budget = select_subjects(package, subjects), budget or ScanBudget()
    processes = (
        available_cores() if workers is None else check.require_integer("workers", workers, least=1)
    )
    # A card with a function that is not there fails before anything is drawn, instead of after
    # an hour.
    for one in asked:
        arguments_of(file_of(package), one.code)
    place = place_of(package, env)
    environment = place.described()  # before all else: it may not work
    began = time.monotonic()
    run = _Scan(
        package=package,
        place=place,
        environment=environment,
        subjects=asked,
        budget=budget,
        seed=seed,
        workers=processes,
        progress=progress or Silent(),
        guide=guide,
    )
    with set_records_shown():  # the datasets are the card's
        ran = run.all()
        return run.summarise(ran, time.monotonic() - began)


@dataclass(frozen=True, kw_only=True)
class _Scan:
    package: Package
    place: VersionEnvironment
    environment: PackageEnvironment
    subjects: Sequence[Subject]
    budget: ScanBudget
    seed: int
    workers: int
    progress: Progress
    guide: Guide | None
    crews: dict[tuple[int, str], Crew] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of hypotheses."""
        floating = sum(map(count_floating_hypotheses, self.subjects))
        return max(1, sum(map(count_hypotheses, self.subjects)) + floating)

    def all(self) -> list[Ran]:
        """Return the outcome of every subject, in the card's order."""
        self.progress.start(f"scanning {self.package.name}", len(self.subjects))
        until = time.monotonic() + self.budget.seconds
        lock, left = threading.Lock(), itertools.count(len(self.subjects), -1)

        def one(subject: Subject) -> Ran:
            with lock:
                waiting = next(left)
            remaining = until - time.monotonic()
            # Those that took less than their share leave it to the others.
            share = max(_LEAST_SECONDS, remaining * min(self.workers, waiting) / waiting)
            found = self._one(subject, share, until)
            with lock:
                self.progress.advance(1)
            return found

        workers = min(self.workers, len(self.subjects)) or 1
        with self._crews(), ThreadPoolExecutor(workers) as pool:
            contexts = [copy_context() for _ in self.subjects]
            waiting = [
                pool.submit(context.run, one, subject)
                for context, subject in zip(contexts, self.subjects, strict=True)
            ]
            try:
                return [found.result() for found in waiting]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    @contextmanager
    def _crews(self) -> Iterator[None]:
        """Let every thread have workers that it keeps from subject to subject; end them."""
        try:
            yield
        finally:
            for crew in self.crews.values():
                crew.close()

    def _crew(self, purpose: str) -> Crew:
        """Return the workers that this thread has for a purpose."""
        # Workers belong to one thread: a crew has one conversation at a time, and two threads
        # would read each other's answers.
        key = (threading.get_ident(), purpose)
        if key not in self.crews:
            self.crews[key] = self.place.crew(self.budget.limits)
        return self.crews[key]

    def _one(self, subject: Subject, seconds: float, until: float) -> Ran:
        file = file_of(self.package)
        many = "trials" in arguments_of(file, subject.code)
        crew = self._crew("drawing")

        def mechanism(parameters: Mapping[str, Any]) -> Foreign:
            own = self.package.distribution
            return Foreign(crew, file, subject.code, parameters, many=many, distribution=own)

        alpha = (1 - self.budget.confidence) / self.total
        share = 1 - _FLOATING_SHARE if subject.additive else 1
        ran = SubjectScan(
            subject=subject,
            mechanism=mechanism,
            seed=self.seed,
            trials=self.budget.trials,
            alpha=alpha,
            seconds=share * seconds,
            guide=self.guide,
            # What replaces primitives has processes of its own.
            aside=None if self.guide is None else self._crew("frozen noise"),
            until=until,
        ).run()
        if subject.additive and not ran.why:
            left = max(_LEAST_SECONDS, seconds - ran.seconds)
            with crew.by(min(until, time.monotonic() + left)):
                ran.floating = FloatingScan(
                    subject=subject,
                    mechanism=mechanism,
                    candidates=make_subject_pairs(subject, self.seed, most=PAIRS),
                    seed=self.seed,
                    trials=self.budget.trials,
                    alpha=alpha,
                    seconds=left,
                    refuted=lambda *one: is_refuted_at(ran, *one),
                ).run()
        return ran

    # The document

    def summarise(self, ran: Sequence[Ran], seconds: float) -> ScanResult:
        """Return the document."""
        found = [one for each in ran for one in self._findings(each)]
        tested = sum(len(one.tested) for one in ran)
        return ScanResult(
            package=self.package.name,
            distribution=self.package.distribution,
            version=self.place.version,
            home=self.package.home,
            date=datetime.now(UTC).date().isoformat(),
            dpaudit=version("dpaudit"),
            seed=self.seed,
            repeats=False,
            environment=self.environment,
            certainty=self._certainty(),
            seconds=round(seconds, 1),
            checks={
                "subjects": sum(not one.why for one in ran),
                "settings": sum(len(one.subject.parameters) for one in ran if not one.why),
                "pairs": sum(one.pairs for one in ran),
                "first looks": sum(one.first for one in ran),
                "second looks": sum(one.second for one in ran),
                "certifications": tested,
                "corners of numbers": sum(len(one.floating.tested) for one in ran),
                "outputs": sum(sum(one.drawn.values()) + one.floating.drawn for one in ran),
            },
            checked=[line for one in ran for line in self._checked(one)],
            findings=[one for one in found if one.violation],
            information=[one for one in found if not one.violation],
            floating=[
                line
                for one in ran
                if one.subject.additive and not one.why
                for line in checks_of(one.subject, one.floating)
            ],
            skipped={one.subject.name: one.why for one in ran if one.why},
            **remarks_of(ran),
        )

    def _certainty(self) -> Certainty:
        return Certainty(
            confidence=self.budget.confidence,
            words=f"The error probability of {1 - self.budget.confidence:.2g} is shared out evenly "
            f"among {self.total} hypotheses: settings, relations, families of pairs and claims of "
            "every subject. What chose pairs and events certified nothing.",
        )

    def _checked(self, ran: Ran) -> Iterator[ClaimCheck]:
        for relation in ran.subject.relations:
            for claim in ran.subject.claims:
                yield self._line(ran, relation, claim)

    def _line(self, ran: Ran, relation: str, claim: PackageClaim) -> ClaimCheck:
        tested = [
            one for one in ran.tested if one.claim is claim and one.candidate.relation == relation
        ]
        worst = max(tested, key=measure_claim_excess, default=None)
        verdict, why = _judge_tested_claim(tested, ran)
        given = ran.subject.parameters
        where = 0 if worst is None else worst.candidate.setting
        return ClaimCheck(
            subject=ran.subject.name,
            relation=relation,
            claimed=make_claimed_guarantee(claim, given[where]),
            documented=claim.relation == relation,
            verdict=verdict,
            settings=len(given),
            pairs=ran.pairs,
            runs=ran.drawn.get(relation, 0),
            lower=None if worst is None else worst.result.lower,
            tested=None if worst is None else worst.result.tested,
            parameters=None if worst is None else format_expression(dict(given[where])),
            why=why,
        )

    def _findings(self, ran: Ran) -> Iterator[ScanFinding]:
        """Yield one finding for each claim and family of pairs that was refuted."""
        groups: dict[tuple[int, str], list[Hypothesis]] = {}
        for one in ran.tested:
            if one.result.refuted:
                key = (ran.subject.claims.index(one.claim), one.candidate.family)
                groups.setdefault(key, []).append(one)
        for group in groups.values():
            yield self._finding(ran, group)
        yield from self._floating_findings(ran)

    def _floating_findings(self, ran: Ran) -> Iterator[ScanFinding]:
        """Yield one finding for each claim and corner of numbers that was refuted."""
        groups: dict[tuple[int, Corner], list[Hypothesis]] = {}
        for corner, candidate, claim, result in ran.floating.tested:
            if result.refuted:
                key = (ran.subject.claims.index(claim), corner)
                groups.setdefault(key, []).append(Hypothesis(candidate, claim, result))
        for (_, corner), group in groups.items():
            update = {"kind": "floating point", "fault": None, "remedy": corner.remedy}
            yield self._finding(ran, group).model_copy(update=update)

    def _finding(self, ran: Ran, group: Sequence[Hypothesis]) -> ScanFinding:
        claim, subject = group[0].claim, ran.subject
        # Where no relation is claimed, what is refuted under all that are tried is a violation.
        refuted = find_refuted_relations(ran, claim)
        violation = any(one.candidate.relation == claim.relation for one in group) or (
            claim.relation is None and refuted == set(subject.relations)
        )
        preferred = [one for one in group if one.candidate.relation == claim.relation] or group
        worst = max(preferred, key=measure_claim_excess)
        pair, result = worst.candidate.pair, worst.result
        assert result.event is not None
        assert result.kind is not None
        return ScanFinding(
            package=self.package.name,
            version=self.place.version,
            subject=subject.name,
            code=subject.code,
            kind=result.kind,
            fault=result.fault,
            violation=violation,
            parameters=format_expression(dict(subject.parameters[worst.candidate.setting])),
            dataset=format_expression(pair.dataset),
            neighbour=format_expression(pair.neighbour),
            edit=worst.candidate.edit,
            relation=worst.candidate.relation,
            claimed=make_claimed_guarantee(claim, subject.parameters[worst.candidate.setting]),
            event=result.event,
            tested=result.tested,
            lower=result.lower,
            at_delta=result.at_delta,
            confidence=self.budget.confidence,
            trials=result.counting,
            sentence=format_worst_sentence(subject, worst),
            also=sorted(format_refuted_setting(subject, one) for one in group if one is not worst),
        )


def _judge_tested_claim(tested: Sequence[Hypothesis], ran: Ran) -> tuple[Verdict, str]:
    """Return the verdict on a claim under a relation, and why it is withheld where it is."""
    if not tested:
        return "withheld", ran.why or _OUT_OF_TIME
    if any(one.result.refuted for one in tested):
        return "refuted", ""
    kept = [one.result.why for one in tested if one.result.kept]
    return ("withheld", kept[0]) if kept else ("not refuted", "")
