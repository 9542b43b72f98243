"""Numbers of one guarantee in two currencies: rho, mu or a Renyi order beside an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dpaudit.deployments.arithmetic import (
    EpsilonBracket,
    bound_classical_epsilon,
    of_gaussian,
    of_order,
    of_rho,
)
from dpaudit.deployments.check import Check, format_computed_number, make_check
from dpaudit.deployments.facts import Number, RecordFacts, Scope
from dpaudit.deployments.vocabulary import COMPOSITE, GAUSSIAN, PURE

_SOME_DELTA = 1e-10  # at which a command is asked whose rho alone counts
_LOOSE = 1.01  # times the accountant's number: from here on a note says so


def check_conversions(facts: RecordFacts) -> Iterator[Check]:
    """Yield a check for each epsilon that stands beside a rho, a mu or a Renyi divergence."""
    # What is of one release or of one report stays out: the rho of all releases does not follow
    # from it.
    fields = [one for one in facts.fields if one.role in ("field", "total")]
    whole = Scope(numbers=fields, mechanisms=facts.mechanisms, linked=True)
    for scope in (whole, *facts.scopes):
        if scope.linked:
            yield from _of_scope(facts, scope)
    yield from _of_mu(facts)


def _of_scope(facts: RecordFacts, scope: Scope) -> Iterator[Check]:
    rho, epsilon = scope.first("rho"), scope.first("epsilon")
    order, divergence = scope.first("order"), scope.first("renyi")
    delta = scope.first("delta") or facts.field("delta")
    if epsilon is None or not epsilon.is_single or epsilon.role == "local" or epsilon.value <= 0:
        return
    if rho is not None and rho.is_single and rho.value > 0 and not _is_explained(facts, scope):
        yield _of_rho(facts, scope, rho, epsilon, delta)
    if order is not None and divergence is not None and order.value > 1:
        yield from _of_renyi(order, divergence, epsilon, delta)


def _of_rho(
    facts: RecordFacts, scope: Scope, rho: Number, epsilon: Number, delta: Number | None
) -> Check:
    if delta is None or not 0 < delta.value < 1:
        if _is_pure(facts, scope) and epsilon.value * epsilon.value / 2 <= rho.value + rho.slack:
            return _by_purity(rho, epsilon)
        words = (
            f"rho = {rho.written} is an epsilon only at some delta, and none is stated beside "
            f"epsilon = {epsilon.written}"
        )
        return make_check("rho-without-delta", "cannot be said", words, (rho, epsilon))
    numbers = (rho, epsilon, delta)
    house = of_rho(rho.value, delta.value)
    # The smallest rho that rounds to the written one: no record is accused of its rounding.
    least = of_rho(max(rho.value - rho.slack / 2, 1e-300), delta.value)
    if house is None or least is None:
        words = "the accountant does not take these numbers"
        return make_check("rho", "cannot be said", words, numbers)
    if epsilon.value + epsilon.slack >= least.upper:
        return _make_rho_check(rho, epsilon, delta, house)
    return _check_epsilon_below_rho(facts, scope, rho, epsilon, delta, house)


def _make_rho_check(rho: Number, epsilon: Number, delta: Number, house: EpsilonBracket) -> Check:
    words = (
        f"rho = {rho.written} at delta = {delta.written} is epsilon "
        f"{format_computed_number(house.upper)}; "
        f"the record says {epsilon.written}"
    )
    if epsilon.value > _LOOSE * house.upper:
        words += ", which is looser and holds"
        usual = bound_classical_epsilon(rho.value, delta.value)
        if math.isclose(usual, epsilon.value, rel_tol=5e-3):
            words += f" (rho + 2 sqrt(rho ln(1/delta)) = {format_computed_number(usual)})"
    elif epsilon.value < house.upper:
        words += ", which the rounding of both allows"
    return make_check(
        "rho",
        "agrees",
        words,
        (rho, epsilon, delta),
        stated=epsilon.value,
        computed=house.upper,
        command=house.command,
    )


def _check_epsilon_below_rho(
    facts: RecordFacts,
    scope: Scope,
    rho: Number,
    epsilon: Number,
    delta: Number,
    house: EpsilonBracket,
) -> Check:
    """Judge an epsilon below that of rho by zCDP: exact Gaussian noise may explain it."""
    numbers = (rho, epsilon, delta)
    mechanisms = {*scope.mechanisms} or {*facts.mechanisms}
    exact = of_gaussian(math.sqrt(2 * rho.value), delta.value)
    words = (
        f"rho = {rho.written} at delta = {delta.written} is epsilon "
        f"{format_computed_number(house.upper)} by zCDP"
    )
    if exact is None:
        return make_check("rho", "cannot be said", words, numbers, stated=epsilon.value)
    words += f" and {format_computed_number(exact.upper)} by Gaussian noise of that rho"
    words += f"; the record says {epsilon.written}"
    # Only an epsilon below the proved lower end is certainly too small: nobody is accused of the
    # gap between the two ends.
    if epsilon.value + epsilon.slack >= exact.lower:
        is_gaussian = bool(GAUSSIAN & ({*facts.mechanisms} | mechanisms)) or "gdp" in facts.remarks
        words += (
            ", which holds for Gaussian noise"
            if is_gaussian
            else ", which holds for Gaussian noise and not by rho alone; no such noise is named"
        )
        return make_check(
            "rho",
            "agrees" if is_gaussian else "cannot be said",
            words,
            numbers,
            stated=epsilon.value,
            computed=exact.upper,
            command=exact.command,
        )
    if _is_pure(facts, scope) and epsilon.value * epsilon.value / 2 <= rho.value + rho.slack:
        return _by_purity(rho, epsilon)
    # The rho may be of the noise alone, and the epsilon of noise on samples.
    unsure = COMPOSITE & mechanisms or "amplification" in facts.remarks
    return make_check(
        "rho",
        "cannot be said" if unsure else "does not",
        words + (": sampling or training may be less, and is not stated" if unsure else ""),
        numbers,
        stated=epsilon.value,
        computed=house.upper,
        command=house.command,
    )


def _is_pure(facts: RecordFacts, scope: Scope) -> bool:
    mechanisms = {*scope.mechanisms} or {*facts.mechanisms}
    # The empty set is a subset too, and a record that names no mechanism is not pure for that.
    return facts.variants == ["pure"] or (bool(mechanisms) and mechanisms <= PURE)


def _by_purity(rho: Number, epsilon: Number) -> Check:
    # Bun & Steinke 2016, Proposition 1.4.
    computed = epsilon.value * epsilon.value / 2
    words = (
        f"epsilon = {epsilon.written} without a delta is rho {format_computed_number(computed)} "
        "= epsilon^2 / 2; "
        f"the record says {rho.written}"
    )
    return make_check("rho", "agrees", words, (rho, epsilon), stated=rho.value, computed=computed)


def _of_renyi(
    order: Number, divergence: Number, epsilon: Number, delta: Number | None
) -> Iterator[Check]:
    numbers = [one for one in (order, divergence, epsilon, delta) if one is not None]
    if delta is None or not 0 < delta.value < 1:
        words = "a Renyi divergence is an epsilon only at some delta, and none is stated"
        yield make_check("renyi", "cannot be said", words, numbers)
        return
    computed = of_order(order.value, divergence.value, delta.value)
    if not math.isfinite(computed):
        words = f"order {order.written} and divergence {divergence.written} have no finite epsilon"
        yield make_check("renyi", "cannot be said", words, numbers)
        return
    words = (
        f"divergence {divergence.written} + ln(1 - 1/order) - ln(delta order) / (order - 1) is "
        f"epsilon {format_computed_number(computed)} at delta = {delta.written}, order "
        f"{order.written}; "
        f"the record says {epsilon.written}"
    )
    holds = epsilon.value + epsilon.slack >= computed
    yield make_check(
        "renyi",
        "agrees" if holds else "does not",
        words,
        numbers,
        stated=epsilon.value,
        computed=computed,
    )


# Gaussian differential privacy


def _mu_of(facts: RecordFacts, scope: Scope) -> Number | None:
    found = [scope.first("mu"), *(one.first("mu") for one in facts.scopes)]
    return next((one for one in found if one is not None and one.is_single and one.value > 0), None)


def _compute_exact_epsilons(
    mu: Number, delta: Number
) -> tuple[EpsilonBracket, EpsilonBracket] | None:
    # The first is shown. The second is of the smallest mu that the digits allow, and decides.
    found = of_gaussian(mu.value, delta.value), of_gaussian(mu.value - mu.slack, delta.value)
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _is_explained(facts: RecordFacts, scope: Scope) -> bool:
    """Return whether the epsilon beside a rho is that of a mu which the rho allows too."""
    mu, rho = _mu_of(facts, scope), scope.first("rho")
    epsilon, delta = scope.first("epsilon"), scope.first("delta")
    if mu is None or rho is None or epsilon is None or delta is None or not 0 < delta.value < 1:
        return False
    exact = _compute_exact_epsilons(mu, delta)
    fits = exact is not None and epsilon.value + epsilon.slack >= exact[1].lower
    return fits and mu.value * mu.value / 2 <= rho.value + rho.slack


def _of_mu(facts: RecordFacts) -> Iterator[Check]:
    """Yield the check of a mu against the epsilon and the delta in fields."""
    whole = Scope(numbers=facts.fields)
    mu, epsilon, delta = _mu_of(facts, whole), facts.field("epsilon"), facts.field("delta")
    if mu is None or epsilon is None or delta is None or not 0 < delta.value < 1:
        return
    exact = _compute_exact_epsilons(mu, delta)
    if exact is None or not epsilon.is_single:
        return
    holds = epsilon.value + epsilon.slack >= exact[1].lower
    is_field = facts.field("mu") is not None
    words = (
        f"mu = {mu.written} at delta = {delta.written} is epsilon "
        f"{format_computed_number(exact[0].upper)}; "
        f"the record says {epsilon.written}"
    )
    if holds and epsilon.value > _LOOSE * exact[0].upper:
        words += ", which is looser and holds"
    yield make_check(
        "mu",
        # A mu in the text may be of another release than the epsilon in the field.
        "agrees" if holds else "does not" if is_field else "cannot be said",
        words,
        (mu, epsilon, delta),
        stated=epsilon.value,
        computed=exact[0].upper,
        command=exact[0].command,
    )
    rho = facts.field("rho")
    if rho is not None and rho.is_single:
        yield _mu_and_rho(mu, rho)


def _mu_and_rho(mu: Number, rho: Number) -> Check:
    # Gaussian noise of mu has exactly this rho (Bun & Steinke 2016, Proposition 1.6).
    computed = mu.value * mu.value / 2
    # To first order, mu times its slack is what the rounding of mu changes in mu^2 / 2.
    holds = rho.value + rho.slack + mu.value * mu.slack >= computed
    words = (
        f"mu = {mu.written} is rho {format_computed_number(computed)} = mu^2 / 2; the record "
        f"says {rho.written}"
    )
    noise = of_gaussian(mu.value, _SOME_DELTA)
    return make_check(
        "mu-and-rho",
        "agrees" if holds else "does not",
        words,
        (mu, rho),
        stated=rho.value,
        computed=computed,
        command="" if noise is None else noise.command,
    )
