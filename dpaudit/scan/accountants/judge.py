"""From an accountant's answers to their errors.

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
from dpaudit.scan.accountants.asking import MethodAnswer
from dpaudit.scan.accountants.card import AccountantMethod
from dpaudit.scan.accountants.cases import PARAMETERS, AccountantQuestion
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
RELATIVE = 1e-6
OF_DELTA = 1e-14
# Calibrations search for the noise and stop at a tolerance of their own, for which a thousandth
# of delta is allowed.
OF_NOISE = 1e-3
_SURE = 1e-6  # error probability of an interval of a rate of errors


@dataclass(frozen=True, kw_only=True)
class AnswerJudgement:
    """The judgement of one number that an accountant gave.

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

    answer: MethodAnswer
    verdict: Verdict
    value: float | None = None
    bracket: Bracket | None = None
    true_delta: float | None = None
    evidence: str = ""

    @property
    def excess(self) -> float | None:
        """The ratio of a sound answer to the truth, None if it has no meaning."""
        if self.verdict != "sound" or self.bracket is None or self.value is None:
            return None
        upper = self.bracket.upper
        return self.value / upper if 0 < upper < math.inf else None


def judge_answer(answer: MethodAnswer, method: AccountantMethod) -> Iterator[AnswerJudgement]:
    """Yield a judgement of each number that an answer holds and its method vouches for."""
    if answer.outcome != "answer":
        yield AnswerJudgement(answer=answer, verdict=answer.outcome, evidence=answer.words)
        return
    lower, upper = _get_stated_ends(answer, method)
    if answer.question.asks == "spent":
        yield _judge_spent_answer(answer, method)
        return
    if answer.question.asks == "errors":
        yield _judge_error_rate(answer)
        return
    if lower is not None:
        yield _from_below(answer, method, lower)
    if upper is not None:
        yield _from_above(answer, method, upper)


def _get_stated_ends(
    answer: MethodAnswer, method: AccountantMethod
) -> tuple[float | None, float | None]:
    """Return the bounds that claim to be at most, and at least, the truth."""
    first, last = answer.values[0], answer.values[-1]
    match method.states:
        case "lower bound":
            return first, None
        case "bounds":
            return first, last
        case _:
            return None, last


def _from_above(answer: MethodAnswer, method: AccountantMethod, value: float) -> AnswerJudgement:
    """Judge an upper bound or an estimate."""
    question = answer.question
    if math.isnan(value):
        return AnswerJudgement(answer=answer, verdict="nan", value=value)
    if question.asks == "noise":
        return _judge_noise_answer(answer, method, value)
    bracket = bracket_of(question, method.relation)
    if isinstance(bracket, str):
        return AnswerJudgement(answer=answer, verdict="unknown", value=value, evidence=bracket)
    if method.states == "estimate":
        near = _is_above_lower_end(question, value, bracket.lower) and value <= bracket.upper * 1.01
        return AnswerJudgement(
            answer=answer, verdict="close" if near else "off", value=value, bracket=bracket
        )
    if value < 0:
        return _judge_negative_number(answer, value, bracket)
    # The lower end decides and not the middle: an answer within the bracket may be true, and is
    # not called false.
    if value >= bracket.lower:
        return AnswerJudgement(answer=answer, verdict="sound", value=value, bracket=bracket)
    if _is_above_lower_end(question, value, bracket.lower):
        return AnswerJudgement(answer=answer, verdict="rounding", value=value, bracket=bracket)
    return _judge_confirmed_answer(answer, method, value, bracket)


def _is_above_lower_end(question: AccountantQuestion, value: float, lower: float) -> bool:
    """Return whether an answer is at least the lower end, or below by no more than rounding."""
    if value >= lower * (1 - RELATIVE):
        return True
    if question.asks == "renyi":  # logarithms of sums near 1, of which each release adds one
        return value >= lower - OF_DELTA * sum(int(part["count"]) for part in question.parts)
    return question.asks in ("delta", "advantage") and value >= lower - OF_DELTA


def _judge_negative_number(answer: MethodAnswer, value: float, bracket: Bracket) -> AnswerJudgement:
    """Judge a negative number: false where even equal outputs would need a larger delta."""
    if answer.question.asks == "epsilon" and -math.expm1(value) > answer.question.at:
        return AnswerJudgement(
            answer=answer,
            verdict="under",
            value=value,
            bracket=bracket,
            true_delta=-math.expm1(value),
            evidence="no mechanism has it: equal outputs need delta 1 - exp(epsilon)",
        )
    return AnswerJudgement(answer=answer, verdict="negative", value=value, bracket=bracket)


def _judge_confirmed_answer(
    answer: MethodAnswer, method: AccountantMethod, value: float, bracket: Bracket
) -> AnswerJudgement:
    """Return the judgement on an answer below the bracket, after a second opinion."""
    question = answer.question
    if question.asks in ("delta", "advantage", "renyi"):
        return _judge_confirmed_number(answer, method, value, bracket)
    # The accountant's epsilon is put into the other direction: if delta at it exceeds what was
    # asked, the answer is false, whatever rounding the bracket of epsilon has.
    second = _compute_second_opinion(Truth(question.release, method.relation), value)
    return _by_delta(answer, value, bracket, second, question.at)


def _by_delta(
    answer: MethodAnswer,
    value: float,
    bracket: Bracket,
    second: tuple[mpmath.mpf, str] | None,
    delta: float,
    relative: float = RELATIVE,
) -> AnswerJudgement:
    verdict: Verdict = "unconfirmed"
    if second is not None and second[0] > delta * (1 + relative):
        verdict = "under" if second[0] - delta > OF_DELTA else "rounding"
    return AnswerJudgement(
        answer=answer,
        verdict=verdict,
        value=value,
        bracket=bracket,
        true_delta=None if second is None else float(second[0]),
        evidence="no second opinion" if second is None else second[1],
    )


def _judge_confirmed_number(
    answer: MethodAnswer, method: AccountantMethod, value: float, bracket: Bracket
) -> AnswerJudgement:
    """Return it of a delta or a Renyi divergence: the second opinion is the number itself."""
    question = answer.question
    if question.asks == "renyi":  # the bracket is the closed form, or a quadrature of our own
        second: tuple[mpmath.mpf, str] | None = mpmath.mpf(bracket.lower), "closed form"
    else:
        at = 0.0 if question.asks == "advantage" else question.at
        second = _compute_second_opinion(Truth(question.release, method.relation), at)
    agrees = second is not None and second[0] * (1 - RELATIVE) > value
    return AnswerJudgement(
        answer=answer,
        verdict="under" if agrees else "unconfirmed",
        value=value,
        bracket=bracket,
        true_delta=None if second is None or question.asks == "renyi" else float(second[0]),
        evidence="no second opinion" if second is None else second[1],
    )


def _compute_second_opinion(truth: Truth, epsilon: float) -> tuple[mpmath.mpf, str] | None:
    try:
        return truth.second_delta(max(0.0, epsilon))
    # No second opinion is a reason to say nothing. It leaves the answer unconfirmed, not
    # refuted.
    except DpauditError:
        return None


def _judge_noise_answer(
    answer: MethodAnswer, method: AccountantMethod, value: float
) -> AnswerJudgement:
    """Judge a noise: too little if delta at epsilon is above the requested one."""
    question = answer.question
    truth = with_noise(question, value, method.relation)
    if truth is None:
        verdict: Verdict = "sound" if value == math.inf else "negative"
        return AnswerJudgement(answer=answer, verdict=verdict, value=value)
    return _judge_ensured_guarantee(answer, truth, value, question.epsilon, question.at, OF_NOISE)


def _judge_spent_answer(answer: MethodAnswer, method: AccountantMethod) -> AnswerJudgement:
    """Judge an epsilon with a delta: false if the true delta at that epsilon is larger."""
    epsilon, delta = answer.values
    if math.isnan(epsilon) or math.isnan(delta):
        return AnswerJudgement(answer=answer, verdict="nan", value=epsilon)
    if epsilon < 0 or delta < 0:
        return AnswerJudgement(answer=answer, verdict="negative", value=min(epsilon, delta))
    truth = Truth(answer.question.release, method.relation)
    return _judge_ensured_guarantee(answer, truth, delta, epsilon, delta, RELATIVE)


def _judge_ensured_guarantee(
    answer: MethodAnswer, truth: Truth, value: float, epsilon: float, delta: float, relative: float
) -> AnswerJudgement:
    """Judge the guarantee (epsilon, delta) of a release, which ``value`` was said to ensure."""
    # Such a guarantee holds of every mechanism.
    if epsilon == math.inf or delta >= 1:
        return AnswerJudgement(answer=answer, verdict="sound", value=value)
    try:
        bracket = truth.delta(epsilon)
    except DpauditError as error:
        return AnswerJudgement(answer=answer, verdict="unknown", value=value, evidence=str(error))
    if bracket.lower <= delta:
        return AnswerJudgement(answer=answer, verdict="sound", value=value)
    if bracket.lower <= delta * (1 + relative) or bracket.lower <= delta + OF_DELTA:
        return AnswerJudgement(answer=answer, verdict="rounding", value=value, bracket=bracket)
    return _by_delta(
        answer, value, bracket, _compute_second_opinion(truth, epsilon), delta, relative
    )


def _judge_error_rate(answer: MethodAnswer) -> AnswerJudgement:
    """Judge how often a lower bound was above 0 where nothing leaks, against its confidence."""
    wrong, runs = (int(value) for value in answer.values)
    allowed = 1 - answer.question.at
    # The errors were counted in finitely many audits, so that only a rate that is surely above
    # what is allowed speaks against the bound.
    lower, upper = clopper_pearson(wrong, runs, _SURE)
    return AnswerJudgement(
        answer=answer,
        verdict="above" if lower > allowed else "sound",
        value=wrong / runs,
        bracket=Bracket(0.0, allowed),
        evidence=f"the rate of errors is in [{lower:.4g}, {upper:.4g}], but for {_SURE:g}",
    )


def _from_below(answer: MethodAnswer, method: AccountantMethod, value: float) -> AnswerJudgement:
    """Judge a lower bound: false if it is above the truth."""
    bracket = bracket_of(answer.question, method.relation)
    if math.isnan(value):
        return AnswerJudgement(answer=answer, verdict="nan", value=value)
    if isinstance(bracket, str) or bracket.upper == math.inf:
        verdict: Verdict = "sound" if not isinstance(bracket, str) else "unknown"
        return AnswerJudgement(answer=answer, verdict=verdict, value=value)
    if value <= bracket.upper:
        return AnswerJudgement(answer=answer, verdict="sound", value=value)
    slack = OF_DELTA if answer.question.asks in ("delta", "advantage") else 0.0
    near = value <= bracket.upper * (1 + RELATIVE) + slack
    return AnswerJudgement(
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

    less: AnswerJudgement
    more: AnswerJudgement
    coordinate: str


def find_disorders(judgements: Iterable[AnswerJudgement]) -> tuple[Disorder, ...]:
    """Return pairs of answers of one method that are not monotone in one coordinate.

    Beyond rounding: by more than a millionth. Neighbours on the grid are compared, so that one
    answer that is wrong gives at most two pairs a coordinate.
    """
    kept = [one for one in judgements if _is_comparable_judgement(one)]
    found = []
    for coordinate in ("count", "noise", "epsilon", "delta", "rho", "ratio", "at"):
        having = [one for one in kept if _get_question_coordinate(one, coordinate) is not None]
        ordered = sorted(
            having,
            key=lambda one: (
                _format_other_coordinates(one, coordinate),
                _get_coordinate_or_zero(one, coordinate),
            ),
        )
        for _, group in groupby(
            ordered, key=lambda one: _format_other_coordinates(one, coordinate)
        ):
            for low, high in pairwise(list(group)):
                less, more = (
                    (low, high) if _is_rising_in_coordinate(high, coordinate) else (high, low)
                )
                if _is_falling_pair(less, more):
                    found.append(Disorder(less=less, more=more, coordinate=coordinate))
    return tuple(found)


def _is_comparable_judgement(one: AnswerJudgement) -> bool:
    single = len(one.answer.question.release) == 1 and one.answer.question.asks != "errors"
    return single and one.value is not None and not math.isnan(one.value)


def _is_falling_pair(less: AnswerJudgement, more: AnswerJudgement) -> bool:
    one, two = less.value or 0.0, more.value or 0.0
    return two < one * (1 - RELATIVE) - OF_DELTA


def _get_question_coordinate(one: AnswerJudgement, name: str) -> float | None:
    question = one.answer.question
    if name == "at":
        return None if question.asks in ("advantage", "spent") else question.at
    if question.asks == "spent" or (name == "noise" and question.asks == "noise"):
        return None
    value = question.parts[0].get(name)
    return None if value is None else float(value)


def _get_coordinate_or_zero(one: AnswerJudgement, name: str) -> float:
    return _get_question_coordinate(one, name) or 0.0


def _format_other_coordinates(one: AnswerJudgement, name: str) -> str:
    """Return everything about a question but one coordinate."""
    question = one.answer.question
    part = question.parts[0]
    kind = str(part["kind"])
    rest = [(key, part[key]) for key in (*PARAMETERS[kind], "count") if key != name]
    at = None if name == "at" else question.at
    return repr((one.answer.method, question.asks, kind, rest, at, question.epsilon))


def _is_rising_in_coordinate(one: AnswerJudgement, name: str) -> bool:
    """Return whether a larger coordinate makes the right answer larger."""
    if name == "noise":
        return False
    return name != "at" or one.answer.question.asks == "renyi"


def find_violations(judgements: Sequence[AnswerJudgement]) -> tuple[AnswerJudgement, ...]:
    """Return the false claims, the one that is worth least first."""
    return tuple(
        sorted(
            (one for one in judgements if one.verdict in VIOLATIONS),
            key=_measure_violation_gap,
            reverse=True,
        )
    )


def _measure_violation_gap(one: AnswerJudgement) -> float:
    """Return how far off a false claim is: the true number over the claimed one, as a logarithm."""
    value, bracket = one.value or 0.0, one.bracket
    if bracket is None:
        return 0.0
    truth = bracket.lower if one.verdict == "under" else bracket.upper
    high, low = (truth, value) if one.verdict == "under" else (value, truth)
    if high == math.inf or low <= 0:
        return math.inf
    return math.log(high / low)
