"""From an accountant's answers to what is wrong with them.

An answer that is said to be an upper bound is *under* if it claims more privacy than is true: the
certified lower end of our bracket is above it, and a second opinion that shares nothing with the
bracket says the same. Below by less than doubles can tell (a millionth of the number, or 1e-14 of
a delta or a divergence) is *rounding*, not under. Above the bracket it is sound, and by how much
is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

import mpmath

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.errors import DpauditError
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.scan.accountants.asking import Answer
from dpaudit.scan.accountants.card import Method
from dpaudit.scan.accountants.cases import PARAMETERS, Question
from dpaudit.scan.accountants.truth import Truth, bracket_of, with_noise

Verdict = Literal[
    "sound",
    "under",
    "above",
    "rounding",
    "negative",
    "nan",
    "off",
    "close",
    "unconfirmed",
    "unknown",
    "nothing",
    "raised",
    "slow",
    "died",
]
# The answer claims what is false.
VIOLATIONS = ("under", "above")
# Something is wrong with the answer, or there is none, and nothing false was claimed.
DEFECTS = ("negative", "nan", "raised", "slow", "died")
RELATIVE, OF_DELTA, OF_NOISE = 1e-6, 1e-14, 1e-3
_SURE = 1e-6  # error probability of an interval of a rate of errors


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What one number that an accountant gave is worth.

    Parameters
    ----------
    answer
        With its question.
    verdict
        ``under`` and ``above`` are false claims; ``unconfirmed`` would be one, were the second
        opinion to agree or to exist; ``off`` and ``close`` are of estimates.
    value
        The number that was judged, or None.
    bracket
        Ours of the same number, or of the delta at the answer where a noise or a spending was
        asked for; None if unknown.
    true_delta
        Of a false claim about epsilon, noise or spending: the second opinion's delta.
    evidence
        What a verdict rests on, in words.
    """

    answer: Answer
    verdict: Verdict
    value: float | None = None
    bracket: Bracket | None = None
    true_delta: float | None = None
    evidence: str = ""

    @property
    def excess(self) -> float | None:
        """How many times the truth a sound answer is, None where that has no meaning."""
        if self.verdict != "sound" or self.bracket is None or self.value is None:
            return None
        upper = self.bracket.upper
        return self.value / upper if 0 < upper < math.inf else None


def judged(answer: Answer, method: Method) -> Iterator[Judgement]:
    """Yield a judgement of each number that an answer holds and its method vouches for."""
    if answer.outcome != "answer":
        yield Judgement(answer=answer, verdict=answer.outcome, evidence=answer.words)
        return
    lower, upper = _ends(answer, method)
    if answer.question.asks == "spent":
        yield _spent(answer, method)
        return
    if answer.question.asks == "errors":
        yield _errors(answer)
        return
    if lower is not None:
        yield _from_below(answer, method, lower)
    if upper is not None:
        yield _from_above(answer, method, upper)


def _ends(answer: Answer, method: Method) -> tuple[float | None, float | None]:
    """Return what is said to be at most the truth, and what is said to be at least it."""
    first, last = answer.values[0], answer.values[-1]
    match method.states:
        case "lower bound":
            return first, None
        case "bounds":
            return first, last
        case _:
            return None, last


def _from_above(answer: Answer, method: Method, value: float) -> Judgement:
    """Judge an upper bound or an estimate."""
    question = answer.question
    if math.isnan(value):
        return Judgement(answer=answer, verdict="nan", value=value)
    if question.asks == "noise":
        return _noise(answer, method, value)
    bracket = bracket_of(question, method.relation)
    if isinstance(bracket, str):
        return Judgement(answer=answer, verdict="unknown", value=value, evidence=bracket)
    if method.states == "estimate":
        near = _reaches(question, value, bracket.lower) and value <= bracket.upper * 1.01
        return Judgement(
            answer=answer, verdict="close" if near else "off", value=value, bracket=bracket
        )
    if value < 0:
        return _negative(answer, value, bracket)
    if value >= bracket.lower:
        return Judgement(answer=answer, verdict="sound", value=value, bracket=bracket)
    if _reaches(question, value, bracket.lower):
        return Judgement(answer=answer, verdict="rounding", value=value, bracket=bracket)
    return _confirmed(answer, method, value, bracket)


def _reaches(question: Question, value: float, lower: float) -> bool:
    """Return whether an answer is at least the lower end, or below by no more than rounding."""
    if value >= lower * (1 - RELATIVE):
        return True
    if question.asks == "renyi":  # logarithms of sums near 1, of which each release adds one
        return value >= lower - OF_DELTA * sum(int(part["count"]) for part in question.parts)
    return question.asks in ("delta", "advantage") and value >= lower - OF_DELTA


def _negative(answer: Answer, value: float, bracket: Bracket) -> Judgement:
    """Judge a negative number: false where even equal outputs would need a larger delta."""
    if answer.question.asks == "epsilon" and -math.expm1(value) > answer.question.at:
        return Judgement(
            answer=answer,
            verdict="under",
            value=value,
            bracket=bracket,
            true_delta=-math.expm1(value),
            evidence="no mechanism has it: equal outputs need delta 1 - exp(epsilon)",
        )
    return Judgement(answer=answer, verdict="negative", value=value, bracket=bracket)


def _confirmed(answer: Answer, method: Method, value: float, bracket: Bracket) -> Judgement:
    """Return the judgement on an answer below the bracket, after a second opinion."""
    question = answer.question
    if question.asks in ("delta", "advantage", "renyi"):
        return _confirmed_number(answer, method, value, bracket)
    second = _second(Truth(question.release, method.relation), value)
    return _by_delta(answer, value, bracket, second, question.at)


def _by_delta(
    answer: Answer,
    value: float,
    bracket: Bracket,
    second: tuple[mpmath.mpf, str] | None,
    delta: float,
    relative: float = RELATIVE,
) -> Judgement:
    verdict: Verdict = "unconfirmed"
    if second is not None and second[0] > delta * (1 + relative):
        verdict = "under" if second[0] - delta > OF_DELTA else "rounding"
    return Judgement(
        answer=answer,
        verdict=verdict,
        value=value,
        bracket=bracket,
        true_delta=None if second is None else float(second[0]),
        evidence="no second opinion" if second is None else second[1],
    )


def _confirmed_number(answer: Answer, method: Method, value: float, bracket: Bracket) -> Judgement:
    """Return it of a delta or a Renyi divergence: the second opinion is the number itself."""
    question = answer.question
    if question.asks == "renyi":  # the bracket is the closed form, or a quadrature of our own
        second: tuple[mpmath.mpf, str] | None = mpmath.mpf(bracket.lower), "closed form"
    else:
        at = 0.0 if question.asks == "advantage" else question.at
        second = _second(Truth(question.release, method.relation), at)
    agrees = second is not None and second[0] * (1 - RELATIVE) > value
    return Judgement(
        answer=answer,
        verdict="under" if agrees else "unconfirmed",
        value=value,
        bracket=bracket,
        true_delta=None if second is None or question.asks == "renyi" else float(second[0]),
        evidence="no second opinion" if second is None else second[1],
    )


def _second(truth: Truth, epsilon: float) -> tuple[mpmath.mpf, str] | None:
    try:
        return truth.second_delta(max(0.0, epsilon))
    except DpauditError:
        return None


def _noise(answer: Answer, method: Method, value: float) -> Judgement:
    """Judge a noise: too little if delta at epsilon is above what was asked."""
    question = answer.question
    truth = with_noise(question, value, method.relation)
    if truth is None:
        verdict: Verdict = "sound" if value == math.inf else "negative"
        return Judgement(answer=answer, verdict=verdict, value=value)
    return _enough(answer, truth, value, question.epsilon, question.at, OF_NOISE)


def _spent(answer: Answer, method: Method) -> Judgement:
    """Judge an epsilon with a delta: false if the true delta at that epsilon is larger."""
    epsilon, delta = answer.values
    if math.isnan(epsilon) or math.isnan(delta):
        return Judgement(answer=answer, verdict="nan", value=epsilon)
    if epsilon < 0 or delta < 0:
        return Judgement(answer=answer, verdict="negative", value=min(epsilon, delta))
    truth = Truth(answer.question.release, method.relation)
    return _enough(answer, truth, delta, epsilon, delta, RELATIVE)


def _enough(
    answer: Answer, truth: Truth, value: float, epsilon: float, delta: float, relative: float
) -> Judgement:
    """Judge the guarantee (epsilon, delta) of a release, which ``value`` was said to ensure."""
    if epsilon == math.inf or delta >= 1:
        return Judgement(answer=answer, verdict="sound", value=value)
    try:
        bracket = truth.delta(epsilon)
    except DpauditError as error:
        return Judgement(answer=answer, verdict="unknown", value=value, evidence=str(error))
    if bracket.lower <= delta:
        return Judgement(answer=answer, verdict="sound", value=value)
    if bracket.lower <= delta * (1 + relative) or bracket.lower <= delta + OF_DELTA:
        return Judgement(answer=answer, verdict="rounding", value=value, bracket=bracket)
    return _by_delta(answer, value, bracket, _second(truth, epsilon), delta, relative)


def _errors(answer: Answer) -> Judgement:
    """Judge how often a lower bound was above 0 where nothing leaks, against its confidence."""
    wrong, runs = (int(value) for value in answer.values)
    allowed = 1 - answer.question.at
    lower, upper = clopper_pearson(wrong, runs, _SURE)
    return Judgement(
        answer=answer,
        verdict="above" if lower > allowed else "sound",
        value=wrong / runs,
        bracket=Bracket(0.0, allowed),
        evidence=f"the rate of errors is in [{lower:.4g}, {upper:.4g}], but for {_SURE:g}",
    )


def _from_below(answer: Answer, method: Method, value: float) -> Judgement:
    """Judge a lower bound: false if it is above the truth."""
    bracket = bracket_of(answer.question, method.relation)
    if math.isnan(value):
        return Judgement(answer=answer, verdict="nan", value=value)
    if isinstance(bracket, str) or bracket.upper == math.inf:
        verdict: Verdict = "sound" if not isinstance(bracket, str) else "unknown"
        return Judgement(answer=answer, verdict=verdict, value=value)
    if value <= bracket.upper:
        return Judgement(answer=answer, verdict="sound", value=value)
    slack = OF_DELTA if answer.question.asks in ("delta", "advantage") else 0.0
    near = value <= bracket.upper * (1 + RELATIVE) + slack
    return Judgement(
        answer=answer,
        verdict="rounding" if near else "above",
        value=value,
        bracket=bracket,
        evidence="certified upper end of the bracket",
    )


@dataclass(frozen=True, kw_only=True)
class Disorder:
    """Two answers in the wrong order: the release that reveals more has the smaller number.

    Parameters
    ----------
    less, more
        Judgements; the question of ``more`` differs in one coordinate, by which it reveals more.
    coordinate
        Which.
    """

    less: Judgement
    more: Judgement
    coordinate: str


def disorders(judgements: Iterable[Judgement]) -> tuple[Disorder, ...]:
    """Return pairs of answers of one method that are not monotone in one coordinate.

    Beyond rounding: by more than a millionth. Neighbours on the grid are compared, so that one
    answer that is wrong gives at most two pairs a coordinate.
    """
    kept = [one for one in judgements if _comparable(one)]
    found = []
    for coordinate in ("count", "noise", "epsilon", "delta", "rho", "ratio", "at"):
        having = [one for one in kept if _coordinate(one, coordinate) is not None]
        ordered = sorted(
            having, key=lambda one: (_others(one, coordinate), _place(one, coordinate))
        )
        for _, group in groupby(ordered, key=lambda one: _others(one, coordinate)):
            for low, high in pairwise(list(group)):
                less, more = (low, high) if _rises(high, coordinate) else (high, low)
                if _falls(less, more):
                    found.append(Disorder(less=less, more=more, coordinate=coordinate))
    return tuple(found)


def _comparable(one: Judgement) -> bool:
    single = len(one.answer.question.release) == 1 and one.answer.question.asks != "errors"
    return single and one.value is not None and not math.isnan(one.value)


def _falls(less: Judgement, more: Judgement) -> bool:
    one, two = less.value or 0.0, more.value or 0.0
    return two < one * (1 - RELATIVE) - OF_DELTA


def _coordinate(one: Judgement, name: str) -> float | None:
    question = one.answer.question
    if name == "at":
        return None if question.asks in ("advantage", "spent") else question.at
    if question.asks == "spent" or (name == "noise" and question.asks == "noise"):
        return None
    value = question.parts[0].get(name)
    return None if value is None else float(value)


def _place(one: Judgement, name: str) -> float:
    return _coordinate(one, name) or 0.0


def _others(one: Judgement, name: str) -> str:
    """Return everything about a question but one coordinate."""
    question = one.answer.question
    part = question.parts[0]
    kind = str(part["kind"])
    rest = [(key, part[key]) for key in (*PARAMETERS[kind], "count") if key != name]
    at = None if name == "at" else question.at
    return repr((one.answer.method, question.asks, kind, rest, at, question.epsilon))


def _rises(one: Judgement, name: str) -> bool:
    """Return whether a larger coordinate makes the right answer larger."""
    if name == "noise":
        return False
    return name != "at" or one.answer.question.asks == "renyi"


def violations(judgements: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Return the false claims, the one that is worth least first."""
    return tuple(
        sorted((one for one in judgements if one.verdict in VIOLATIONS), key=_gap, reverse=True)
    )


def _gap(one: Judgement) -> float:
    """Return how far off a false claim is: the true number over the claimed one, as a logarithm."""
    value, bracket = one.value or 0.0, one.bracket
    if bracket is None:
        return 0.0
    truth = bracket.lower if one.verdict == "under" else bracket.upper
    high, low = (truth, value) if one.verdict == "under" else (value, truth)
    if high == math.inf or low <= 0:
        return math.inf
    return math.log(high / low)
