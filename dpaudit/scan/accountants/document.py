"""The result of an accountant's scan, as a document."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from pydantic import AliasChoices, Field

from dpaudit.report.counts import ReportPart
from dpaudit.scan.accountants.card import AccountantCard, AccountantMethod
from dpaudit.scan.accountants.judge import (
    DEFECTS,
    VIOLATIONS,
    AnswerJudgement,
    Disorder,
    find_disorders,
    find_violations,
)

_EXAMPLES = 3


class Example(ReportPart):
    """One question, the answer, and the truth."""

    question: str
    answer: list[float] = Field(description="As it came: a number; lower end, estimate, upper end.")
    lower: float | None = Field(default=None, description="Certified lower end of the truth.")
    upper: float | None = Field(default=None, description="Certified upper end of the truth.")
    true_delta: float | None = Field(
        default=None, description="The delta that the answer is worth, by the second opinion."
    )
    evidence: str = ""
    words: str = ""


class AnswerGroup(ReportPart):
    """Answers of one method with one fault, to one kind of question about one kind of release."""

    method: str
    states: str
    relation: str
    where: str
    asks: str
    release: str
    # Files of earlier versions call it a verdict, which is a word for claims.
    judgement: str = Field(validation_alias=AliasChoices("judgement", "verdict"))
    answers: int = Field(description="How many answers have the fault.")
    examples: list[Example] = Field(description="The worst first.")
    threads: list[str] = Field(description="Where the fault is public.")

    @property
    def public(self) -> bool:
        """Whether one of the threads is an address; a test here that knows the fault is none."""
        return any(one.startswith("https://") for one in self.threads)


class UnorderedAnswers(ReportPart):
    """A pair of answers that are not monotone."""

    method: str
    coordinate: str
    pairs: int
    less: Example
    more: Example


class MethodSummary(ReportPart):
    """All answers of one method."""

    name: str
    states: str
    relation: str
    where: str
    asked: int
    answered: int
    judgements: dict[str, int] = Field(validation_alias=AliasChoices("judgements", "verdicts"))
    excess: float | None = Field(description="Median of answer over truth, of sound answers.")
    most_excess: float | None
    loosest: str | None = Field(description="The question with the most excess.")
    seconds: float | None = Field(description="Median of an answer.")
    most_seconds: float | None


class AccountantScan(ReportPart):
    """The answers of one release of an accountant, judged."""

    accountant: str
    distribution: str
    version: str
    home: str
    date: str
    dpaudit: str
    python: str
    seconds: float
    questions: int = Field(description="How many were put, to all methods together.")
    answers: int = Field(description="How many were answered by a number.")
    methods: list[MethodSummary]
    violations: list[AnswerGroup] = Field(description="False claims, each certified twice.")
    defects: list[AnswerGroup] = Field(description="Wrong, and nothing false was claimed.")
    unconfirmed: list[AnswerGroup] = Field(
        description="Below the bracket, where no second opinion exists or it does not agree."
    )
    unordered: list[UnorderedAnswers]

    @property
    def embargoed(self) -> list[AnswerGroup]:
        """The false claims without a public thread."""
        return [group for group in self.violations if not group.public]

    def published(self) -> PublishedAccountant:
        """Return the public part: nothing that has no public thread."""
        mine = set(PublishedAccountant.model_fields) & set(type(self).model_fields)
        # The public document takes over only fields that it declares, so that a field that is
        # added to the private one does not become public by itself.
        known = {name: getattr(self, name) for name in mine - {"methods", "violations"}}
        return PublishedAccountant(
            **known,
            methods=[
                MethodStatement(
                    name=one.name, states=one.states, relation=one.relation, where=one.where
                )
                for one in self.methods
            ],
            violations=[group for group in self.violations if group.public],
            # Groups are counted and not answers: how many answers fail would hint at the grid
            # point that does.
            under_disclosure=len({(one.method, one.asks) for one in self.embargoed}),
        )


class MethodStatement(ReportPart):
    """A method that was asked, and its documentation's promise about answers."""

    name: str
    states: str
    relation: str
    where: str


class PublishedAccountant(ReportPart):
    """The scan of an accountant, as others may read it.

    Counts by verdict, defects and disorders are left out: they would tell where to look.
    """

    accountant: str
    distribution: str
    version: str
    home: str
    date: str
    dpaudit: str
    python: str
    questions: int
    answers: int
    methods: list[MethodStatement]
    violations: list[AnswerGroup] = Field(description="False claims that are public.")
    under_disclosure: int = Field(
        description="Methods and kinds of questions with false claims that are not public."
    )


def make_accountant_scan(
    card: AccountantCard,
    release: str,
    judgements: Sequence[AnswerJudgement],
    *,
    python: str,
    seconds: float,
) -> AccountantScan:
    """Return the document of judged answers of one release of an accountant."""
    methods = {method.name: method for method in card.methods}
    # An answer with a lower and an upper end has two judgements; the identity counts it once.
    answers = {id(one.answer): one.answer for one in judgements}
    return AccountantScan(
        accountant=card.name,
        distribution=card.distribution,
        version=release,
        home=card.home,
        date=datetime.now(UTC).date().isoformat(),
        dpaudit=version("dpaudit"),
        python=python,
        seconds=seconds,
        questions=len(answers),
        answers=sum(answer.outcome == "answer" for answer in answers.values()),
        methods=[_summarise_method(method, judgements) for method in card.methods],
        violations=_group_judgements(find_violations(judgements), methods),
        defects=_group_judgements((one for one in judgements if one.verdict in DEFECTS), methods),
        unconfirmed=_group_judgements(
            (one for one in judgements if one.verdict == "unconfirmed"), methods
        ),
        unordered=[
            found
            for method in methods
            for found in _group_disorders([j for j in judgements if j.answer.method == method])
        ],
    )


def _summarise_method(
    method: AccountantMethod, judgements: Sequence[AnswerJudgement]
) -> MethodSummary:
    mine = [one for one in judgements if one.answer.method == method.name]
    answers = {id(one.answer): one.answer for one in mine}.values()
    times = [answer.seconds for answer in answers if answer.outcome == "answer"]
    loose = [(one.excess, one) for one in mine if one.excess is not None]
    most = max(loose, key=lambda pair: pair[0], default=None)
    return MethodSummary(
        name=method.name,
        states=method.states,
        relation=method.relation,
        where=method.where,
        asked=sum(answer.outcome != "nothing" for answer in answers),
        answered=len(times),
        judgements=dict(sorted(Counter(one.verdict for one in mine).items())),
        excess=statistics.median(excess for excess, _ in loose) if loose else None,
        most_excess=most[0] if most else None,
        loosest=str(most[1].answer.question) if most else None,
        seconds=statistics.median(times) if times else None,
        most_seconds=max(times, default=None),
    )


def _group_judgements(
    found: Iterable[AnswerJudgement], methods: dict[str, AccountantMethod]
) -> list[AnswerGroup]:
    """Return groups by method, question, kind of release and verdict, in the order of finding."""
    groups: dict[tuple[str, str, str, str], list[AnswerJudgement]] = defaultdict(list)
    for one in found:
        question = one.answer.question
        groups[one.answer.method, question.asks, question.kind, one.verdict].append(one)
    return [
        AnswerGroup(
            method=name,
            states=methods[name].states,
            relation=methods[name].relation,
            where=methods[name].where,
            asks=asks,
            release=kind,
            judgement=verdict,
            answers=len(group),
            examples=[_make_judged_example(one) for one in group[:_EXAMPLES]],
            threads=[
                known.thread
                for known in methods[name].known
                # A public thread is about a false claim. It must not make a mere defect of the
                # same method look as if it had been reported.
                if verdict in VIOLATIONS and known.tells_of(kind, asks)
            ],
        )
        for (name, asks, kind, verdict), group in groups.items()
    ]


def _make_judged_example(one: AnswerJudgement) -> Example:
    bracket = one.bracket
    return Example(
        question=str(one.answer.question),
        answer=list(one.answer.values),
        lower=None if bracket is None else bracket.lower,
        upper=None if bracket is None else bracket.upper,
        true_delta=one.true_delta,
        evidence=one.evidence if one.verdict in VIOLATIONS else "",
        words=one.answer.words,
    )


def _group_disorders(mine: Sequence[AnswerJudgement]) -> list[UnorderedAnswers]:
    by_coordinate: dict[str, list[Disorder]] = defaultdict(list)
    for found in find_disorders(mine):
        by_coordinate[found.coordinate].append(found)
    return [
        UnorderedAnswers(
            method=pairs[0].less.answer.method,
            coordinate=coordinate,
            pairs=len(pairs),
            less=_make_judged_example(pairs[0].less),
            more=_make_judged_example(pairs[0].more),
        )
        for coordinate, pairs in by_coordinate.items()
    ]
