"""Charges: from the user's name for a release to its cost, and back from the lines of a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import dpaudit._check as check
import dpaudit.extension.registry as registry
from dpaudit.accounting.events import ApproximateRelease, Event, Parallel, Sequence, repeat_event
from dpaudit.accounting.samples import SAMPLES
from dpaudit.accounting.sharing import holds_parallel
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.target import AccountPart, AccountTarget, read_target
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees import rounding
from dpaudit.spending.chain import Chain, ChainEntry, Header, ReleaseGuarantee
from dpaudit.spending.filters import ReleaseTotal, Terms
from dpaudit.spending.price import Price, add_prices, price_event

ONE_GROUP = ("add-remove-record", "zero-out-record")  # neighbours differ in one group alone
_NOISE = ("noise_scale", "noise_multiplier")
_USUAL = {
    "sigma": _NOISE,
    "std": _NOISE,
    "scale": _NOISE,
    "noise": _NOISE,
    "b": ("noise_scale",),
    "times": ("count",),
    "q": ("sampling_ratio",),
    "sampling_rate": ("sampling_ratio",),
}
"""What users call parameters, and the names that cards have for them."""
_ALSO = {
    "pure": "approximate",
    "zcdp": "zero-concentrated",
    "geometric": "discrete-laplace",
    "randomized-response": "randomised-response",
}
"""What users call releases, and the names that are registered."""
_BY_EPSILON = ("laplace", "discrete-laplace")  # noise whose scale is a sensitivity over an epsilon


def usual_release(word: str) -> str:
    """Return the registered name of a release that is also called otherwise.

    Examples
    --------
    >>> usual_release("pure"), usual_release("gaussian")
    ('approximate', 'gaussian')
    """
    return word if word in registry.RELEASES else _ALSO.get(word, word)


def usual_names(word: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters under the names of a release's card, where they have others.

    Examples
    --------
    >>> usual_names("gaussian", {"sigma": 4, "sensitivity": 1})
    {'noise_scale': 4, 'sensitivity': 1}
    """
    if word not in registry.RELEASES:
        return dict(given)
    known = registry.RELEASES.get(word).parameters.model_fields
    found: dict[str, Any] = {}
    for stated, value in given.items():
        name = "epsilon" if stated == "eps" else stated
        others = () if name in known else _USUAL.get(name, ())
        called = next((one for one in others if one in known), name)
        if called in found:
            raise InvalidArgument(name, value, f"one value of {called}")
        found[called] = value
    return _with_scale(found) if word in _BY_EPSILON and "epsilon" in found else found


def _with_scale(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of Laplace noise with the scale that an epsilon stands for."""
    epsilon = check.require_positive("epsilon", given["epsilon"])
    if "noise_scale" in given:
        raise InvalidArgument("epsilon", epsilon, "nothing in addition to a scale of the noise")
    sensitivity = check.require_positive("sensitivity", given.get("sensitivity", 1.0))
    # Less noise costs more: rounded up, the scale would stand for a smaller epsilon than was given.
    scale = rounding.round_fraction_down(
        rounding.to_written_fraction(sensitivity) / rounding.to_written_fraction(epsilon)
    )
    rest = {name: value for name, value in given.items() if name != "epsilon"}
    return rest | {"noise_scale": scale}


def target_of(release: str | Event, samples: str | None, given: Mapping[str, Any]) -> AccountTarget:
    """Return the release, by its name, by a file of releases, or as an event.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected; or nothing says whether a release
        draws a sample of its own.
    """
    if samples is not None:
        check.require_choice("samples", samples, SAMPLES)
    if not isinstance(release, str):
        if given:
            raise InvalidArgument(
                "parameters", VerbatimText(", ".join(given)), "none: the event has its own"
            )
        target = AccountTarget.of(release, samples)
    else:
        name = usual_release(release)
        _require_parameters(name, given)
        target = read_target(name, usual_names(name, given))
        target = replace(target, samples=samples or target.samples)
    _require_own_samples(target)
    return target


def _require_parameters(name: str, given: Mapping[str, Any]) -> None:
    """Refuse a release of which nothing is stated: the defaults of a card are examples."""
    if given or name not in registry.RELEASES:
        return
    if known := list(registry.RELEASES.get(name).parameters.model_fields):
        raise InvalidArgument(
            "parameters",
            VerbatimText("none"),
            f"those of your release, such as {known[0]}=...: a budget charges nothing by default",
        )


def _require_own_samples(target: AccountTarget) -> None:
    """Refuse a release that may be of a sample of which another line of the file is, too."""
    # Doubled, a release shows whether another line of its kind might be of the same sample: a
    # single one never does.
    twice = AccountTarget(target.name, (*target.parts, *target.parts), target.samples)
    if twice.if_shared is not None:
        raise InvalidArgument(
            "samples",
            target.samples,
            "'independent', which says that each release draws a secret sample of its own "
            "(--samples independent); releases of one sample go together, as a round",
        )


def check_relation(target: AccountTarget, header: Header) -> None:
    """Refuse a release whose guarantee is about other neighbours than the budget is."""
    for part in target.parts:
        # A guarantee under one relation says nothing under another; converting it is a decision of
        # the user's.
        if part.relation not in ("any", header.relation):
            expected = f"{header.relation}, which the budget is about"
            raise InvalidArgument(f"relation of {part.card.name}", part.relation, expected)
        if header.relation not in ONE_GROUP and holds_parallel(part.event):
            expected = (
                f"releases without groups: under {header.relation} a record may be in one group "
                "and the record that is put in in another, so that two are charged"
            )
            raise InvalidArgument(part.card.name, VerbatimText("groups"), expected)


def tables_of(target: AccountTarget) -> tuple[dict[str, Any], ...]:
    """Return releases as tables with a kind, as JSON takes them."""
    return tuple(
        {"kind": part.card.name} | part.parameters.model_dump(mode="json") for part in target.parts
    )


def state_at(target: AccountTarget, delta: float | None) -> ReleaseGuarantee | None:
    """Return the proved guarantee of a release at a delta, as which it is charged."""
    if delta is None:
        return None
    check.require_delta("at_delta", delta)
    return ReleaseGuarantee(epsilon=proved_guarantee(target.own).epsilon(delta), delta=delta)


# From lines


def event_of(entry: ChainEntry) -> Event:
    """Return the event of a line."""
    if entry.stated is not None:
        return ApproximateRelease(epsilon=entry.stated.epsilon, delta=entry.stated.delta)
    return _parse_charged_event(json.dumps(entry.release))


@lru_cache(maxsize=4096)
def _parse_charged_event(tables: str) -> Event:
    parts = []
    for table in json.loads(tables):
        card = registry.RELEASES.get(table.pop("kind"))
        parts.append(AccountPart.of(card, table).event)
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def price_of(entry: ChainEntry, terms: Terms) -> Price:
    """Return the price of a line."""
    return _compute_event_price(event_of(entry), terms.orders)


@lru_cache(maxsize=4096)
def _compute_event_price(event: Event, orders: tuple[float, ...]) -> Price:
    return price_event(event, orders)


def totals_of(chain: Chain) -> dict[str | None, ReleaseTotal]:
    """Return the total of each group, and under None that of records in no named group."""
    named = sorted({group for entry in chain.charged for group in entry.groups})
    return {group: _sum_group_charges(chain, group) for group in (None, *named)}


def _sum_group_charges(chain: Chain, group: str | None) -> ReleaseTotal:
    own = [entry for entry in chain.charged if not entry.groups or group in entry.groups]
    # Equal releases are priced once and multiplied: thousands of lines of one kind cost one price,
    # and their sum is rounded once.
    terms, counted = chain.header.terms, Counter(map(event_of, own))
    prices = [(n, _compute_event_price(event, terms.orders)) for event, n in counted.items()]
    return ReleaseTotal(
        add_prices(prices, len(terms.orders)), lambda: _merge_charged_events(counted)
    )


def _merge_charged_events(events: Mapping[Event, int]) -> Event:
    """Return all of it as one event, equal ones counted together."""
    return Sequence(
        tuple(repeat_event(event, n) if n > 1 else event for event, n in events.items())
    )


def add_to(
    totals: Mapping[str | None, ReleaseTotal], entry: ChainEntry, count: int, terms: Terms
) -> dict[str | None, ReleaseTotal]:
    """Return the totals of who is charged by a line, with so many of it besides."""
    price = price_of(entry, terms)
    charged: tuple[str | None, ...] = entry.groups or tuple(totals)

    def more(before: ReleaseTotal) -> ReleaseTotal:
        added = add_prices([(1, before.price), (count, price)], len(terms.orders))
        return ReleaseTotal(
            added, lambda: Sequence((before.event, repeat_event(event_of(entry), count)))
        )

    # A group that is named for the first time was in every release about everybody, and in no
    # other.
    return {group: more(totals.get(group, totals[None])) for group in charged}


def joint_event(chain: Chain) -> Event:
    """Return all that a file charges as an event: disjoint groups beside each other."""
    totals = totals_of(chain)
    groups = [total.event for group, total in totals.items() if group is not None]
    return Parallel(tuple(groups)) if groups else totals[None].event
