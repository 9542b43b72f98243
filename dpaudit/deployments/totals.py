"""Totals against their parts, arithmetic as the record writes it, and text against fields."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import dpaudit.deployments.arithmetic as arithmetic
from dpaudit.deployments.arithmetic import EpsilonBracket, format_typed_number
from dpaudit.deployments.check import Check, Outcome, format_computed_number, make_check
from dpaudit.deployments.facts import Equation, Kind, Number, RecordFacts, RecordTotal
from dpaudit.deployments.sums import compute_sum_of_products

_CAP = 5e-3  # of a total: the most that the rounding of its parts explains
_PARAMETERS: tuple[Kind, ...] = ("epsilon", "delta", "rho")


def check_totals(facts: RecordFacts) -> Iterator[Check]:
    """Yield a check for each number that is made up of others."""
    for one in facts.totals:
        yield from _of_total(facts, one)
    yield from map(_of_equation, facts.equations)
    yield from _check_amplified_epsilon(facts)
    yield from _check_text_against_fields(facts)


def _of_equation(equation: Equation) -> Check:
    value = compute_sum_of_products(equation.written)
    if not (math.isfinite(value) and math.isfinite(equation.stated.value)):
        words = f"{equation.written} = {equation.stated.written} is out of the range of doubles"
        return make_check("equation", "cannot be said", words, (equation.stated,))
    slack = min(equation.slack + equation.stated.slack, _CAP * abs(value)) + 1e-9 * abs(value)
    holds = abs(value - equation.stated.value) <= slack
    words = (
        f"{equation.written} = {format_computed_number(value)}; the record says "
        f"{equation.stated.written}"
    )
    return make_check(
        "equation",
        "agrees" if holds else "does not",
        words,
        (equation.stated,),
        stated=equation.stated.value,
        computed=value,
    )


def _of_total(facts: RecordFacts, one: RecordTotal) -> Iterator[Check]:
    if not one.total.is_single or any(not part.is_single for part in one.parts):
        return
    computed = _add_parts(one)
    if not math.isfinite(computed):
        words = f"{_format_total_formula(one)} is more than a double holds"
        yield make_check(f"total-{one.total.kind}", "cannot be said", words, (one.total,))
        return
    slack = one.total.slack / 2 + one.factor * sum(part.slack for part in one.parts) / 2
    # The last term is for doubles, of which a sum of parts that are exact as written is off too.
    slack = min(slack, _CAP * max(computed, one.total.value)) + 1e-9 * abs(computed)
    difference = one.total.value - computed
    words = (
        f"{_format_total_formula(one)} = {format_computed_number(computed)}; the record says "
        f"{one.total.written}"
    )
    answer = _prove_parts_together(facts, one)
    if abs(difference) <= slack:
        yield _make_total_check(one, "agrees", words, computed, answer)
    elif difference > 0:
        yield from _check_larger_total(one, words, computed, answer, difference)
    else:
        yield from _check_smaller_total(facts, one, words, computed, answer)


def _add_parts(one: RecordTotal) -> float:
    try:
        return math.fsum(part.value for part in one.parts) * one.factor
    # Numbers of a stranger's record may be of any size.
    except OverflowError:
        return math.inf


def _format_total_formula(one: RecordTotal) -> str:
    if one.way == "times":
        return f"{format_typed_number(one.factor)} x {one.parts[0].written}"
    inner = " + ".join(format_typed_number(part.value) for part in one.parts)
    return inner if one.factor == 1 else f"{format_typed_number(one.factor)} x ({inner})"


def _make_total_check(
    one: RecordTotal, outcome: Outcome, words: str, computed: float, answer: EpsilonBracket | None
) -> Check:
    return make_check(
        f"total-{one.total.kind}",
        outcome,
        words,
        (one.total, *one.parts),
        stated=one.total.value,
        computed=computed,
        command="" if answer is None else answer.command,
    )


def _check_larger_total(
    one: RecordTotal, words: str, computed: float, answer: EpsilonBracket | None, difference: float
) -> Iterator[Check]:
    """Judge a total above its parts: looser and fine, unless these are said to be all of it."""
    if one.is_split:
        words += (
            f", which is {format_computed_number(difference)} more than the parts that are "
            "said to make it up"
        )
        yield _make_total_check(one, "does not", words, computed, answer)
    elif one.way == "times" or one.total.path == one.parts[0].path or ".0" in one.parts[0].path:
        yield _make_total_check(
            one, "agrees", words + ", which is looser and holds", computed, answer
        )


def _check_smaller_total(
    facts: RecordFacts, one: RecordTotal, words: str, computed: float, answer: EpsilonBracket | None
) -> Iterator[Check]:
    """Judge a total below its parts: by composition that adds less, or it does not agree."""
    is_parallel = "parallel" in facts.composition and one.total.value >= 0.995 * max(
        part.value for part in one.parts
    )
    if not (one.is_split or one.is_listed or one.way == "times" or _is_of_fields(one)):
        return
    if one.way == "times" and facts.entities and {*facts.entities} <= {"event", "record"}:
        return  # each is protected by itself
    if is_parallel:
        words += ", which the largest part allows where parts are about disjoint records"
        yield _make_total_check(one, "agrees", words, computed, answer)
    elif answer is not None and one.total.value + one.total.slack >= answer.upper:
        words += f"; the accountants prove {format_computed_number(answer.upper)}, so that it holds"
        yield _make_total_check(one, "agrees", words, answer.upper, answer)
    elif (
        one.total.kind == "epsilon"
        and "advanced" in facts.composition
        and one.factor * len(one.parts) > 1
    ):
        words += ": another accountant is named, whose numbers are not"
        yield _make_total_check(one, "cannot be said", words, computed, answer)
    elif "amplification" in facts.remarks:
        words += ": an amplification is named, whose numbers are not"
        yield _make_total_check(one, "cannot be said", words, computed, answer)
    else:
        yield _make_total_check(one, "does not", words, computed, answer)


def _is_of_fields(one: RecordTotal) -> bool:
    return all(part.role in ("part", "each", "field") for part in one.parts)


def _prove_parts_together(facts: RecordFacts, one: RecordTotal) -> EpsilonBracket | None:
    """Return the accountants' epsilon of the parts together, if their numbers suffice."""
    if one.total.kind == "rho":
        rhos = [part.value for part in one.parts]
        delta = facts.field("delta")
        at = delta.value if delta is not None and 0 < delta.value < 1 else 1e-10
        is_plain = one.factor == int(one.factor)
        found = (
            arithmetic.of_concentrated(rhos, at, int(one.factor))
            if is_plain and _are_positive(rhos)
            else None
        )
        # What the command has in total is rho; its epsilon is none to compare.
        return None if found is None else EpsilonBracket(math.inf, -math.inf, found.command)
    if one.total.kind != "epsilon" or not _are_positive([part.value for part in one.parts]):
        return None
    delta = facts.field("delta")
    # At delta 0 the accountants have the sum of the epsilons.
    at = delta.value if delta is not None and 0 < delta.value < 1 else 0.0
    if one.way == "times" and one.factor == int(one.factor) and one.factor < 1e6:
        return arithmetic.of_copies(
            one.parts[0].value, _delta_of_part(facts, one.parts[0]), int(one.factor), at
        )
    if one.factor == int(one.factor) and one.factor * len(one.parts) <= 60:
        parts = [(part.value, _delta_of_part(facts, part)) for part in one.parts]
        parts *= int(one.factor)
        return arithmetic.of_parts(parts, at)
    return None


def _delta_of_part(facts: RecordFacts, part: Number) -> float:
    """Return the delta of a release, as stated beside its epsilon; 0 if none is."""
    found = [
        (epsilon.path == part.path, delta.value)
        for scope in facts.scopes
        if (epsilon := scope.first("epsilon")) is not None
        and (delta := scope.first("delta")) is not None
        and epsilon.value == part.value
    ]
    # Beside the part's own number, or else the largest beside an equal one.
    if found:
        return max(found)[1]
    each = [n.value for n in facts.fields if n.kind == "delta" and n.role == "each"]
    return each[0] if each else 0.0


def _are_positive(values: Sequence[float]) -> bool:
    return all(0 < one < math.inf for one in values)


# Amplification by sampling


def _check_amplified_epsilon(facts: RecordFacts) -> Iterator[Check]:
    """Yield the check of an epsilon that is another's, amplified by the sampling that is stated."""
    rates = [n for s in facts.scopes for n in s.numbers if n.kind == "sampling"]
    rates += [n for n in facts.fields if n.kind == "sampling"]
    epsilon = facts.field("epsilon")
    if not rates or epsilon is None or not epsilon.is_single or not 0 < rates[0].value < 1:
        return
    rate = rates[0]
    others = [
        one
        for scope in facts.scopes
        for one in scope.numbers
        if one.kind == "epsilon" and one.is_single and one.value > epsilon.value > 0
    ]
    others += [n for n in facts.fields if n.kind == "epsilon" and n.value > epsilon.value > 0]
    # From the largest: the epsilon before amplification exceeds all that follow from it.
    for other in sorted(others, key=lambda one: -one.value):
        computed = arithmetic.compute_amplified_epsilon(other.value, rate.value)
        words = (
            f"ln(1 + {rate.written} (e^{other.written} - 1)) = "
            f"{format_computed_number(computed)}; the record "
            f"says {epsilon.written}"
        )
        numbers = (rate, other, epsilon)
        if epsilon.is_about(computed):
            yield make_check(
                "amplification", "agrees", words, numbers, stated=epsilon.value, computed=computed
            )
            return
        # The usual mistake. It is always too small, since ln(1 + q (e^epsilon - 1)) is convex in
        # epsilon and has the slope q at 0.
        if epsilon.is_about(rate.value * other.value):
            words += f", which is {rate.written} x {other.written}"
            yield make_check(
                "amplification", "does not", words, numbers, stated=epsilon.value, computed=computed
            )
            return


# Text against fields


def _check_text_against_fields(facts: RecordFacts) -> Iterator[Check]:
    """Yield, for each parameter in a field, whether the text about it says the same."""
    for kind in _PARAMETERS:
        field = facts.field(kind)
        if field is None or not field.is_single or field.role != "field":
            continue
        said = [n for s in facts.scopes for n in s.numbers if n.kind == kind and n.role != "part"]
        same = [one for one in said if one.is_single and _are_same(one, field)]
        if same:
            words = f"{kind} = {field.written} in the field, and {same[0].written} in the text"
            yield make_check(
                f"text-{kind}",
                "agrees",
                words,
                (field, same[0]),
                stated=field.value,
                computed=same[0].value,
            )
        else:
            yield from _check_text_only_number(facts, field, said)


def _are_same(one: Number, field: Number) -> bool:
    """Return whether one of the two is the rounding of the other: ``ln 3`` and ``1.0986``."""
    return one.is_about(field.value) or field.is_about(one.value)


def _check_text_only_number(
    facts: RecordFacts, field: Number, said: Sequence[Number]
) -> Iterator[Check]:
    """Yield checks of the number in the text in place of the field: its total, or its only one."""
    # Where the text has the parts of the field, it does not say anything else than the field.
    made_up = any(
        one.total.kind == field.kind and math.isclose(_add_parts(one), field.value, rel_tol=_CAP)
        for one in facts.totals
    )
    amplified = any(n.kind == "sampling" for s in facts.scopes for n in s.numbers)
    close = [one for one in said if one.path.rpartition(".")[2] in _CLOSE and one.is_single]
    totals = [
        one for one in said if one.role == "total" and one.is_single and _is_in_counted_field(one)
    ]
    # A number that stands alone beside the parameters is theirs; of several, nobody says which is.
    only = close if len(close) == 1 and close[0].role == "text" else []
    found = totals or only
    if not found or made_up or amplified or "amplification" in facts.remarks:
        return
    words = f"{field.kind} = {field.written} in the field, and {found[0].written} in the text"
    yield make_check(
        f"text-{field.kind}",
        "does not",
        words,
        (field, found[0]),
        stated=field.value,
        computed=found[0].value,
    )


_CLOSE = frozenset({"privacy_parameters_details", "details", "statement", "claim"})
_ABOUT = _CLOSE | {"composition", "mechanisms", "mechanism", "release_type_details"}


def _is_in_counted_field(one: Number) -> bool:
    return one.path.rpartition(".")[2] in _ABOUT
