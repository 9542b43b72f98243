"""The release that somebody declares beside a claim: the proof is of it, and of nothing else.

A declared release is taken as it is said. Whether the code is that release no proof can see; a
measured lower end above what is proved of the release says that it is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import dpaudit.extension.registry as registry
from dpaudit.accounting.events import Event
from dpaudit.accounting.events import Sequence as Several
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.case import Proof
from dpaudit.extension.parameters import parse_parameters

AS_DECLARED = "the release as declared"
Release = Event | Mapping[str, Any] | Sequence[Mapping[str, Any]]


def proof_of(release: Release | None) -> Proof | None:
    """Return the proof for a release as declared; None for none.

    Parameters
    ----------
    release
        An event of `dpaudit.accounting.events`, a table as `dpaudit account` takes it: a ``kind``
        and its parameters; or several tables, one after the other.

    Raises
    ------
    InvalidArgument, UnknownName
        It is none of these.

    Examples
    --------
    >>> proof = proof_of({"kind": "gaussian", "noise_scale": 1.0})
    >>> round(proof.guarantee.epsilon(1e-5), 4), proof.source
    (4.3772, 'the release as declared')
    """
    if release is None:
        return None
    if isinstance(release, Mapping | list | tuple):
        tables = [release] if isinstance(release, Mapping) else list(release)
        parts = tuple(_parse_release_event(table) for table in tables)
        if not parts:
            raise InvalidArgument("release", VerbatimText("none"), "at least one table with a kind")
        release = parts[0] if len(parts) == 1 else Several(parts)
    if not isinstance(release, Event):
        expected = "an event, or tables with a kind and its parameters"
        raise InvalidArgument("release", VerbatimText(type(release).__name__), expected)
    return Proof(guarantee=proved_guarantee(release), source=AS_DECLARED, declared=True)


def _parse_release_event(table: Any) -> Event:
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        raise InvalidArgument("release", VerbatimText(type(table).__name__), "a table with a kind")
    card = registry.RELEASES.get(table["kind"])
    given = {name: value for name, value in table.items() if name != "kind"}
    return card.event(parse_parameters(card.parameters, given))


def format_release_comparison(claimed: float, proved: float, lower: float) -> str:
    """Return a sentence that compares a declared release with the claim and the code, or none.

    Nothing is said where nothing is proved of it, which is written as an infinite bound.

    Examples
    --------
    >>> format_release_comparison(1.0, 2.0, 0.5)
    'For the release as declared, accountants prove 2: the claim may be miscalculated.'
    >>> format_release_comparison(1.0, math.inf, 1.4)
    ''
    >>> format_release_comparison(1.0, 0.9, 1.4)
    'That is more than the 0.9 proved for the release as declared: the code is not that release.'
    """
    said = []
    if math.isinf(proved):
        return ""
    if lower > proved * (1 + 1e-9):
        said.append(
            f"That is more than the {proved:.4g} proved for the release as declared: the code is "
            "not that release."
        )
    elif claimed < proved * (1 - 1e-9):
        said.append(
            f"For the release as declared, accountants prove {proved:.4g}: the claim may be "
            "miscalculated."
        )
    return " ".join(said)
