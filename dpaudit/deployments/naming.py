"""Names in a record against its numbers: variant, mechanism, unit, relation, model."""

from __future__ import annotations

import math
from collections.abc import Iterator

import dpaudit.deployments.arithmetic as arithmetic
from dpaudit.deployments.check import Check, format_computed_number, format_typed_number, make_check
from dpaudit.deployments.facts import Number, RecordFacts
from dpaudit.deployments.vocabulary import DAYS, GAUSSIAN, PURE, is_whole

_LARGE = 20.0  # an epsilon from which on nothing is bounded that matters


def check_names(facts: RecordFacts) -> Iterator[Check]:
    """Yield a check for each name that says something of a number."""
    yield from _check_ranges(facts)
    yield from _check_variant(facts)
    yield from _check_mechanism_variant(facts)
    yield from _check_delta_against_people(facts)
    yield from _check_relation(facts)
    yield from _check_unit_period(facts)
    yield from _check_trust_model(facts)


def _get_stated_numbers(facts: RecordFacts, kind: str) -> list[Number]:
    inside = [n for scope in facts.scopes for n in scope.numbers]
    return [n for n in [*facts.fields, *inside] if n.kind == kind]


# Ranges


def _check_ranges(facts: RecordFacts) -> Iterator[Check]:
    for path in facts.formulas:
        words = f"{path} holds no number that can be computed"
        yield Check(code="formula", outcome="cannot be said", words=words, places=[path])
    for one in facts.fields:
        if one.least is not None:
            words = f"{one.kind} is a range, {one.written}: it is not said which holds when"
            yield make_check("range", "cannot be said", words, (one,))
        elif (reason := _find_range_fault(one)) is not None:
            words = f"{one.kind} = {one.written}: {reason}"
            yield make_check(f"range-{one.kind}", "does not", words, (one,), stated=one.value)
        elif one.kind == "epsilon" and one.value > _LARGE:
            bound = "e^" + one.written
            words = (
                f"epsilon = {one.written}: an output may be {bound} times as likely on a neighbour"
            )
            yield make_check("large", "caution", words, (one,), stated=one.value)


def _find_range_fault(one: Number) -> str | None:
    """Return the fault of a number by itself, or None."""
    if math.isnan(one.value):
        return "is no number"
    if one.kind in ("epsilon", "rho", "mu"):
        if one.value < 0:
            return "is negative, and no mechanism is better than one that ignores the data"
        if one.value == 0:
            return "only what ignores the data altogether has it"
        if math.isinf(one.value):
            return "is infinite, which bounds nothing"
    if one.kind == "delta" and not 0 <= one.value < 1:
        return "is no probability below 1, which alone says something"
    if one.kind in ("flip", "truth", "sampling") and not 0 <= one.value <= 1:
        return "is no probability"
    return None


# The variant


def _check_variant(facts: RecordFacts) -> Iterator[Check]:
    epsilon, delta, rho = (facts.field(kind) for kind in ("epsilon", "delta", "rho"))
    if (
        not (facts.fields or facts.formulas)
        and not _get_stated_numbers(facts, "epsilon")
        and not _get_stated_numbers(facts, "rho")
    ):
        words = "no epsilon, delta or rho is stated"
        yield make_check("no-parameters", "cannot be said", words)
        return
    if not facts.variants:
        return
    # The vocabulary has "approximate" before "pure": where a record names both, it claims the
    # weaker.
    variant = facts.variants[0]
    if variant == "pure":
        yield from _check_pure_variant(epsilon, delta or _delta_of_text(facts), rho)
    # A delta that is a formula was stated, though nobody can compute it: it is not missing.
    elif variant == "approximate" and not (facts.formulas and delta is None):
        yield from _check_approximate_variant(epsilon, delta, rho)
    elif variant == "zcdp" and rho is None and not _get_stated_numbers(facts, "rho"):
        words = "zCDP has rho as its parameter, and none is stated"
        yield make_check("variant", "cannot be said", words, [n for n in (epsilon, delta) if n])
    elif variant == "zcdp" and rho is not None:
        yield make_check(
            "variant", "agrees", f"zCDP has rho as its parameter: {rho.written}", (rho,)
        )
    elif variant == "renyi" and not (
        _get_stated_numbers(facts, "order") or _get_stated_numbers(facts, "rho")
    ):
        words = "Renyi differential privacy has an order and a divergence, and none is stated"
        yield make_check("variant", "cannot be said", words, [n for n in (epsilon, delta) if n])


def _delta_of_text(facts: RecordFacts) -> Number | None:
    """Return the delta that a text states beside the record's own epsilon, or None."""
    epsilon = facts.field("epsilon")
    for scope in facts.scopes:
        one, delta = scope.first("epsilon"), scope.first("delta")
        if epsilon is None or one is None or delta is None or scope.first("rho") is not None:
            continue
        # A delta beside another epsilon may be of another release, or of an example.
        if delta.role in ("text", "total", "each") and one.value == epsilon.value:
            return delta
    return None


def _check_pure_variant(
    epsilon: Number | None, delta: Number | None, rho: Number | None
) -> Iterator[Check]:
    if delta is not None and delta.value > 0:
        # Any epsilon will do: with a delta above 0, nothing finite is proved at delta 0.
        of_one = epsilon.value if epsilon is not None and epsilon.value > 0 else 1.0
        answer = arithmetic.of_copies(of_one, delta.value, 1, 0.0)
        words = f"pure differential privacy has delta 0; the record says delta = {delta.written}"
        yield make_check(
            "pure-delta",
            "does not",
            words,
            (delta,),
            stated=delta.value,
            computed=0.0,
            command="" if answer is None else answer.command,
        )
        return
    if epsilon is None and rho is not None:
        words = f"rho = {rho.written} implies no epsilon at delta 0, as pure privacy has one"
        yield make_check("pure-rho", "does not", words, (rho,), stated=rho.value)
    elif epsilon is not None and rho is None:
        words = f"pure differential privacy has epsilon alone as its parameter: {epsilon.written}"
        yield make_check("variant", "agrees", words, (epsilon,))


def _check_approximate_variant(
    epsilon: Number | None, delta: Number | None, rho: Number | None
) -> Iterator[Check]:
    numbers = [one for one in (epsilon, delta, rho) if one is not None]
    if epsilon is None and rho is None:
        yield make_check(
            "variant",
            "cannot be said",
            "approximate differential privacy: no epsilon is stated",
            numbers,
        )
    elif epsilon is not None and delta is None:
        words = f"epsilon = {epsilon.written} holds at some delta, and none is stated"
        yield make_check("variant", "cannot be said", words, numbers)
    elif delta is not None and delta.value == 0:
        yield make_check("delta-0", "caution", "delta = 0 is pure differential privacy", numbers)
    elif epsilon is not None and delta is not None:
        words = (
            "approximate differential privacy has epsilon and delta: "
            f"{epsilon.written} and {delta.written}"
        )
        yield make_check("variant", "agrees", words, numbers)


# The mechanism


def _check_mechanism_variant(facts: RecordFacts) -> Iterator[Check]:
    names = {*facts.mechanisms}
    delta, epsilon = facts.field("delta"), facts.field("epsilon")
    numbers = [one for one in (epsilon, delta) if one is not None]
    claims_pure = facts.variants[:1] == ["pure"] or (
        not facts.variants and epsilon is not None and delta is not None and delta.value == 0
    )
    if names & GAUSSIAN and claims_pure:
        answer = arithmetic.of_noise(1.0, 1.0, 0.0)
        words = "Gaussian noise has no finite epsilon at delta 0, and the record says that it has"
        yield make_check(
            "gaussian-pure",
            "does not",
            words,
            numbers,
            stated=None if epsilon is None else epsilon.value,
            computed=math.inf,
            command="" if answer is None else answer.command,
        )
    elif names & GAUSSIAN and delta is not None and delta.value > 0:
        words = f"Gaussian noise has an epsilon at every delta above 0: delta = {delta.written}"
        yield make_check("mechanism", "agrees", words, (delta,))
    elif names and names <= PURE and delta is not None and delta.value > 0 and claims_pure is False:
        words = (
            f"this noise alone has delta 0, so that delta = {delta.written} is of something else, "
            "such as a threshold or composition"
        )
        yield make_check("mechanism-delta", "caution", words, (delta,))


# People, relation, period, model


def _check_delta_against_people(facts: RecordFacts) -> Iterator[Check]:
    people, delta = facts.field("people"), facts.field("delta")
    deltas = [delta] if delta is not None else _get_stated_numbers(facts, "delta")[:1]
    if people is None or not deltas or not people.is_single or people.value < 1:
        return
    one = deltas[0]
    limit = 1 / people.value
    if one.value >= limit:
        words = (
            f"delta = {one.written} is at least 1 / {format_typed_number(people.value)} = "
            f"{format_computed_number(limit)}: "
            "publishing a record or more whole would meet it"
        )
        yield make_check(
            "delta-people", "caution", words, (one, people), stated=one.value, computed=limit
        )
    elif one.value > 0:
        words = (
            f"delta = {one.written} is below 1 / {format_typed_number(people.value)} = "
            f"{format_computed_number(limit)}"
        )
        yield make_check(
            "delta-people", "agrees", words, (one, people), stated=one.value, computed=limit
        )


def _check_relation(facts: RecordFacts) -> Iterator[Check]:
    relations, metrics = {*facts.relations}, {*facts.metrics}
    if "symmetric" in metrics and relations == {"replace"} and facts.distance == 1:
        words = "one record replaced is a symmetric distance of 2; the record says 1"
        yield Check(code="relation", outcome="does not", words=words, stated=1.0, computed=2.0)
    elif metrics == {"change-one"} and "add-remove" in relations:
        words = (
            "datasets that differ by a record added or removed differ in size, and have no "
            "change-one distance"
        )
        yield Check(code="relation", outcome="does not", words=words)
    elif relations == {"replace", "add-remove"}:
        words = (
            "both relations are named: under one of them epsilon is up to twice that of the other"
        )
        yield Check(code="relation", outcome="cannot be said", words=words)
    elif metrics == {"symmetric"} and facts.distance == 1 and relations == {"add-remove"}:
        words = "one record added or removed is a symmetric distance of 1, as the record says"
        yield Check(code="relation", outcome="agrees", words=words)
    elif metrics == {"change-one"} and facts.distance == 1 and relations == {"replace"}:
        words = "one record replaced is a change-one distance of 1, as the record says"
        yield Check(code="relation", outcome="agrees", words=words)


def _check_unit_period(facts: RecordFacts) -> Iterator[Check]:
    """Yield the checks of time, which the unit leaves open."""
    if not any(facts.field(kind) for kind in ("epsilon", "rho")):
        return
    if facts.releases == "one" and facts.refresh:
        words = f"one release is stated, and a release a {facts.refresh[0]}"
        yield Check(code="release", outcome="caution", words=words)
    has_count = any(one.way == "times" for one in facts.totals)
    if is_whole(facts.entities) and facts.refresh and not facts.unit_periods and not has_count:
        words = (
            f"the unit is all of a {facts.entities[0]}'s data, and there is a release a "
            f"{facts.refresh[0]}: it is not said whether the number is of one release or of all"
        )
        yield Check(code="period", outcome="cannot be said", words=words)
    field = facts.field("epsilon") or facts.field("rho")
    for one in _get_stated_numbers(facts, "epsilon") + _get_stated_numbers(facts, "rho"):
        # Only a text that repeats the field's number beside a period says what the field is for.
        if field is None or one.value != field.value or one.per not in DAYS or one is field:
            continue
        if facts.unit_periods and one.per not in facts.unit_periods:
            words = f"the unit is of a {facts.unit_periods[0]}"
            words += f", and the text says {one.written} a {one.per}"
            yield make_check("unit-period", "cannot be said", words, (field, one))
            return
        if is_whole(facts.entities) and not facts.unit_periods and not has_count:
            words = f"the unit is of all time, and the text says {one.written} a {one.per}"
            yield make_check("unit-period", "cannot be said", words, (field, one))
            return


def _check_trust_model(facts: RecordFacts) -> Iterator[Check]:
    local = [one for one in _get_stated_numbers(facts, "epsilon") if one.role == "local"]
    field = next((n for n in facts.fields if n.kind == "epsilon" and n.role == "field"), None)
    own = [one for one in facts.fields if one.kind == "epsilon" and one.role == "local"]
    if own and field is not None and field.value > own[0].value > 0:
        words = (
            f"what is made of reports that are {own[0].written}-DP each is {own[0].written}-DP "
            f"too; the record says {field.written}, which is looser and holds"
        )
        yield make_check(
            "model", "agrees", words, (field, own[0]), stated=field.value, computed=own[0].value
        )
    is_central = facts.model in ("varies", "central", "shuffle", "distributed")
    if field is not None and is_central and "amplification" in facts.remarks:
        same = [one for one in local if one.value == field.value and one is not field]
        if same:
            words = (
                f"epsilon = {field.written} is that of one report, and what is published of all "
                "reports has another, which is not stated"
            )
            yield make_check("model", "cannot be said", words, (field, same[0]))
    if facts.model == "local" and "add-remove" in facts.relations:
        words = (
            "in the local model neighbours are two values of one person: none is added or removed"
        )
        yield Check(code="local-relation", outcome="caution", words=words)
