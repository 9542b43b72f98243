"""Noise that is stated, against the epsilon or the rho that is stated of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import dpaudit.deployments.arithmetic as arithmetic
from dpaudit.deployments.arithmetic import EpsilonBracket
from dpaudit.deployments.check import Check, Outcome, format_computed_number, make_check
from dpaudit.deployments.facts import Number, RecordFacts, Scope
from dpaudit.deployments.vocabulary import GAUSSIAN

# Times the accountant's number: from here on a note says that the record is looser.
_LOOSE = 1.01
_LAPLACE = frozenset({"laplace", "geometric"})
_OF_A_RUN = ("steps", "rounds", "iterations")  # their epsilon is that of the run
_NOISE = ("scale", "sigma", "variance", "multiplier")


def check_noise(facts: RecordFacts) -> Iterator[Check]:
    """Yield a check for each place where noise is stated."""
    fields = [one for one in facts.fields if one.role in ("field", "total")]
    whole = Scope(numbers=fields, mechanisms=facts.mechanisms, linked=True)
    for scope in (whole, *facts.scopes):
        yield from _of_noise(facts, scope, is_whole=scope is whole)
        yield from _of_response(facts, scope, is_whole=scope is whole)
    yield from _of_one_noise(facts)


def _find_noise_family(facts: RecordFacts, scope: Scope) -> str:
    """Return laplace or gaussian where a scope, or else the record, names one of them alone."""
    for names in ({*scope.mechanisms}, {*facts.mechanisms}):
        is_laplace, is_gaussian = bool(names & _LAPLACE), bool(names & GAUSSIAN)
        # Where both are named, nobody says which of them has the stated scale.
        if is_laplace != is_gaussian:
            return "laplace" if is_laplace else "gaussian"
    return ""


def _of_noise(facts: RecordFacts, scope: Scope, *, is_whole: bool) -> Iterator[Check]:
    noise = next((scope.first(kind) for kind in _NOISE if scope.first(kind)), None)  # type: ignore[arg-type]
    if noise is None or not noise.is_single:
        return
    family = _find_noise_family(facts, scope) or ("gaussian" if noise.kind == "multiplier" else "")
    sensitivity = scope.first("sensitivity")
    epsilon = scope.first("epsilon") or _epsilon_beside(facts, is_whole=is_whole)
    rho = scope.first("rho") or (None if is_whole else _get_record_number(facts, "rho"))
    numbers = [one for one in (noise, sensitivity, epsilon, rho) if one is not None]
    if epsilon is None and rho is None:
        return
    if noise.value <= 0:
        words = f"{noise.kind} = {noise.written} is no noise: no finite epsilon holds"
        yield make_check("noise-range", "does not", words, numbers, stated=noise.value)
        return
    if sensitivity is not None and sensitivity.value < 0:
        words = f"a sensitivity of {sensitivity.written} is negative, and a distance is not"
        yield make_check("noise-range", "does not", words, numbers, stated=sensitivity.value)
        return
    if sensitivity is not None and sensitivity.value == 0:
        words = (
            f"a sensitivity of {sensitivity.written} needs no noise, and {noise.written} is stated"
        )
        yield make_check("noise-range", "cannot be said", words, numbers)
        return
    if not family or (sensitivity is None and noise.kind != "multiplier"):
        what = "which noise it is" if not family else "the sensitivity"
        words = f"{noise.kind} = {noise.written} is stated, and {what} is not"
        yield make_check("noise-incomplete", "cannot be said", words, numbers)
        return
    # A noise multiplier is in units of the sensitivity already.
    moved = 1.0 if sensitivity is None or noise.kind == "multiplier" else sensitivity.value
    if family == "laplace" and epsilon is not None:
        yield from _check_laplace_noise(facts, scope, noise, moved, epsilon, numbers)
    elif family == "gaussian":
        yield from _check_gaussian_noise(facts, scope, noise, moved, epsilon, rho, numbers)


def _get_record_number(facts: RecordFacts, kind: str) -> Number | None:
    """Return the record's own number, of which a release that is stated elsewhere is a part."""
    found = facts.field(kind)  # type: ignore[arg-type]  # epsilon or rho
    return found if found is not None and found.is_single else None


def _epsilon_beside(facts: RecordFacts, *, is_whole: bool) -> Number | None:
    """Return the epsilon that noise has beside it, where the scope of the noise states none.

    Of the whole record it is that of one release or of a period, unless so many are stated.
    """
    if not is_whole:
        return _get_record_number(facts, "epsilon")
    if any(facts.field(kind) is not None for kind in ("rho", "count")):
        return None
    found = [one for one in facts.fields if one.kind == "epsilon" and one.role == "each"]
    return found[0] if len(found) == 1 and found[0].is_single else None


def _check_laplace_noise(
    facts: RecordFacts,
    scope: Scope,
    noise: Number,
    moved: float,
    epsilon: Number,
    numbers: list[Number],
) -> Iterator[Check]:
    if not epsilon.is_single:
        return
    # Laplace noise of scale b has the variance 2 b^2.
    scale = {
        "scale": noise.value,
        "sigma": noise.value / math.sqrt(2),
        "variance": math.sqrt(noise.value / 2),
    }.get(noise.kind, noise.value)
    answer = arithmetic.of_laplace(moved, scale)
    if answer is None:
        return
    start = (
        f"Laplace noise of scale {format_computed_number(scale)} on a sensitivity of "
        f"{format_computed_number(moved)} is epsilon "
        f"{format_computed_number(moved)} / {format_computed_number(scale)} = "
        f"{format_computed_number(answer.upper)}"
    )
    yield from _check_noise_epsilon(facts, scope, "laplace", start, answer, epsilon, numbers)


def _check_noise_epsilon(
    facts: RecordFacts,
    scope: Scope,
    code: str,
    start: str,
    answer: EpsilonBracket,
    epsilon: Number,
    numbers: Sequence[Number],
) -> Iterator[Check]:
    """Judge an epsilon by that of its noise: a smaller one is no guarantee, a larger is looser."""
    period = epsilon.per if epsilon.role == "each" and epsilon.per != "each" else ""
    words = f"{start}; the record says {epsilon.written}" + (f" a {period}" if period else "")
    count, sampling = scope.first("count"), scope.first("sampling")
    # Half a percent is for the rounding of the stated scale and sensitivity.
    slack = epsilon.slack + 0.005 * (answer.upper if math.isfinite(answer.upper) else 0.0)
    unsure = sampling is not None or "amplification" in facts.remarks
    outcome: Outcome = "does not"
    if epsilon.value + min(slack, 0.01 * epsilon.value) >= answer.upper and period:
        outcome = "cannot be said"
        words += f", and how many releases a {period} has is not stated"
    elif epsilon.value + min(slack, 0.01 * epsilon.value) >= answer.upper:
        outcome = "agrees"
        if epsilon.value > _LOOSE * answer.upper:
            words += ", which is looser and holds"
            if count is not None and count.value > 1:
                words += f" for one of {count.written}"
    elif epsilon.value + min(slack, 0.01 * epsilon.value) >= answer.lower:
        outcome = "cannot be said"
    elif unsure:
        outcome = "cannot be said"
        words += ": a sample may lose less"
    yield make_check(
        code,
        outcome,
        words,
        numbers,
        stated=epsilon.value,
        computed=answer.upper,
        command=answer.command,
    )


def _check_gaussian_noise(
    facts: RecordFacts,
    scope: Scope,
    noise: Number,
    moved: float,
    epsilon: Number | None,
    rho: Number | None,
    numbers: list[Number],
) -> Iterator[Check]:
    deviation = math.sqrt(noise.value) if noise.kind == "variance" else noise.value
    count = scope.first("count")
    times = int(count.value) if count is not None and 1 < count.value < 1e7 else 1
    if rho is not None and rho.is_single:
        yield _rho_of_noise(deviation, moved, times, rho, numbers)
    delta = scope.first("delta") or facts.field("delta")
    if epsilon is None or not epsilon.is_single or (rho is not None and delta is None):
        return
    if delta is None or not 0 < delta.value < 1:
        words = (
            f"Gaussian noise has an epsilon only at some delta; the record says {epsilon.written}"
        )
        yield make_check("gaussian", "cannot be said", words, numbers)
        return
    sampling = scope.first("sampling")
    if sampling is not None and 0 < sampling.value <= 1:
        answer = arithmetic.of_samples(sampling.value, deviation / moved, times, delta.value)
        start = f"{times} steps on Poisson samples of {sampling.written} with noise multiplier "
        start += format_computed_number(deviation / moved)
        # The answer is that of samples already: sampling must not excuse a smaller epsilon again.
        scope = scope.model_copy(
            update={"numbers": [one for one in scope.numbers if one.kind != "sampling"]}
        )
    else:
        # This epsilon is of one release, however many there are.
        if epsilon.role == "each" or epsilon.per:
            times = 1
        answer = arithmetic.of_noise(moved, deviation, delta.value, times)
        start = (
            f"Gaussian noise of deviation {format_computed_number(deviation)} on a "
            f"sensitivity of {format_computed_number(moved)}"
        )
        start += f", {times} times," if times > 1 else ""
    if answer is not None:
        start += f" is epsilon {format_computed_number(answer.upper)} at delta = {delta.written}"
        once = None if sampling is not None else arithmetic.of_noise(moved, deviation, delta.value)
        if count is not None and times > 1 and _is_of_one(epsilon, count, once, answer):
            words = f"{start}; the record says {epsilon.written}, which holds for one of "
            words += f"{count.written}, and not whether it is of one or of all"
            yield make_check("gaussian", "cannot be said", words, [*numbers, delta])
            return
        yield from _check_noise_epsilon(
            facts, scope, "gaussian", start, answer, epsilon, [*numbers, delta]
        )


def _is_of_one(
    epsilon: Number, count: Number, once: EpsilonBracket | None, every: EpsilonBracket
) -> bool:
    """Return whether an epsilon holds for one of many releases, not for all, and may be of one."""
    if once is None or epsilon.role == "total" or count.path.rsplit(".")[-1] in _OF_A_RUN:
        return False
    return once.upper <= epsilon.value < every.lower


def _rho_of_noise(
    deviation: float, moved: float, times: int, rho: Number, numbers: Sequence[Number]
) -> Check:
    ratio = moved / deviation if deviation else math.inf
    computed = times * ratio * ratio / 2  # a power would raise where a product is infinite
    if not math.isfinite(computed):
        words = f"rho of noise of deviation {format_computed_number(deviation)} is out of range"
        return make_check("gaussian-rho", "cannot be said", words, numbers)
    # Half a percent is for the rounding of the stated deviation and sensitivity.
    holds = rho.value + rho.slack >= computed * (1 - 5e-3)
    words = (
        f"Gaussian noise of deviation {format_computed_number(deviation)} on a sensitivity of "
        f"{format_computed_number(moved)} is "
        f"rho {format_computed_number(computed)} = sensitivity^2 / (2 deviation^2)"
        + (f" times {times}" if times > 1 else "")
        + f"; the record says {rho.written}"
    )
    if holds and rho.value > _LOOSE * computed:
        words += ", which is looser and holds"
    noise = arithmetic.of_noise(moved, deviation, 1e-10, times)
    return make_check(
        "gaussian-rho",
        "agrees" if holds else "does not",
        words,
        numbers,
        stated=rho.value,
        computed=computed,
        command="" if noise is None else noise.command,
    )


# Randomised response


def _of_response(facts: RecordFacts, scope: Scope, *, is_whole: bool) -> Iterator[Check]:
    flip, truth = scope.first("flip"), scope.first("truth")
    epsilon = scope.first("epsilon") or (None if is_whole else _get_record_number(facts, "epsilon"))
    given = flip or truth
    if given is None or not given.is_single or epsilon is None or not epsilon.is_single:
        return
    named = scope.first("categories") or facts.field("categories")
    if named is not None and not named.is_single:
        words = f"randomised response among {named.written} is not among one finite number"
        yield make_check("response", "cannot be said", words, (given, epsilon, named))
        return
    categories = int(named.value) if named is not None and named.value >= 2 else 2
    chance = 1 - given.value if flip is not None else given.value
    numbers = [one for one in (given, epsilon, named) if one is not None]
    if not 0 < chance < 1:
        words = (
            f"a probability of {given.written} is always one answer, and no finite epsilon holds"
        )
        yield make_check("response", "does not", words, numbers, stated=epsilon.value)
        return
    yield from _check_response_epsilon(
        facts, scope, chance, categories, epsilon, numbers, is_truth=flip is None
    )


def _check_response_epsilon(
    facts: RecordFacts,
    scope: Scope,
    chance: float,
    categories: int,
    epsilon: Number,
    numbers: Sequence[Number],
    *,
    is_truth: bool,
) -> Iterator[Check]:
    uniform = chance + (1 - chance) / categories  # says the truth, or else any answer at random
    answers = [
        arithmetic.of_response(max(chance, 1 - chance if categories == 2 else 0), categories)
    ]
    if is_truth:
        answers.append(arithmetic.of_response(uniform, categories))
    known = [one for one in answers if one is not None]
    if not known:
        return
    # Records do not say which of the two designs they mean: the one with less epsilon decides, so
    # that no record is accused of the other.
    answer = min(known, key=lambda one: one.upper)
    start = (
        f"randomised response among {categories} that says the truth with probability "
        f"{format_computed_number(chance)} is epsilon "
        f"{_format_response_formula(chance, categories)} = {format_computed_number(answer.upper)}"
    )
    if len(known) > 1 and answer is known[1]:
        start = (
            f"randomised response that says the truth with {format_computed_number(chance)} "
            "and else any of "
        )
        start += f"{categories} at random is epsilon {format_computed_number(answer.upper)}"
    # Another value moves the 1 of a one-hot vector: two bits change, and each of them spends.
    if "unit-vector" in facts.remarks and epsilon.value < 2 * answer.upper * 0.99:
        words = f"{start} a bit, and two bits differ; the record says {epsilon.written}"
        yield make_check(
            "response",
            "does not" if epsilon.value < 0.99 * answer.upper else "cannot be said",
            words,
            numbers,
            stated=epsilon.value,
            computed=answer.upper,
            command=answer.command,
        )
        return
    yield from _check_noise_epsilon(facts, scope, "response", start, answer, epsilon, numbers)


def _format_response_formula(chance: float, categories: int) -> str:
    """Return the logarithm of the larger of the two odds: a lie may be the likelier answer."""
    truth, lie = format_computed_number(chance), format_computed_number(1 - chance)
    if chance * (categories - 1) >= 1 - chance:
        return f"ln({truth} x {categories - 1} / {lie})"
    return f"ln({lie} / ({truth} x {categories - 1}))"


# One noise with two epsilons


def _of_one_noise(facts: RecordFacts) -> Iterator[Check]:
    """Yield the places where the same Laplace noise has two epsilons."""
    stated: dict[tuple[float, float], list[Scope]] = {}
    for scope in facts.scopes:
        sensitivity, scale = scope.first("sensitivity"), scope.first("scale")
        epsilon = scope.first("epsilon")
        if sensitivity is None or scale is None or epsilon is None or scale.value <= 0:
            continue
        if _find_noise_family(facts, scope) == "laplace" and epsilon.is_single:
            stated.setdefault((sensitivity.value, scale.value), []).append(scope)
    for (moved, scale_value), scopes in stated.items():
        yield from _check_differing_epsilons(moved, scale_value, scopes)


def _check_differing_epsilons(
    moved: float, scale: float, scopes: Sequence[Scope]
) -> Iterator[Check]:
    epsilons = [one for scope in scopes if (one := scope.first("epsilon")) is not None]
    answer = arithmetic.of_laplace(moved, scale)
    if answer is None:
        return
    wrong = [one for one in epsilons if not one.is_about(answer.upper)]
    if not wrong or len({one.value for one in epsilons}) < 2:
        return
    words = (
        f"Laplace noise of scale {format_computed_number(scale)} on a sensitivity of "
        f"{format_computed_number(moved)} is epsilon "
        f"{format_computed_number(answer.upper)}; the record says "
        f"{' and '.join(one.written for one in epsilons)} "
        "of the same noise"
    )
    yield make_check(
        "one-noise",
        "does not",
        words,
        epsilons,
        stated=wrong[0].value,
        computed=answer.upper,
        command=answer.command,
    )
