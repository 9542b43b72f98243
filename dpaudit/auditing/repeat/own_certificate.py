"""The certificate of a refutation of one's own mechanism: to be drawn again by who has the code.

It states the claim, how the mechanism was called, which code it is and on which pair: the code by
the hash of its file, the data by salted hashes. Data themselves are in it only where records are
shown. `dpaudit.verification.mechanism` judges it on fresh draws.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpaudit.auditing.repeat.certificate_draws import quantities_of
from dpaudit.extension.case import PrivacyCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.guarantees.profile import PrivacyProfile
from dpaudit.mechanisms.foreign.code_identity import CodeReference, code_of
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.neighbours import Pair
from dpaudit.neighbours.found_relations import OF_GRAPHS, DeclaredRelation, format_relation_words
from dpaudit.redaction import are_shown, compute_data_fingerprint
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.formatting import value_of
from dpaudit.report.schema import Result

_SALT = 16  # bytes


def own_certificate(result: Result, case: PrivacyCase, settings: Settings) -> Certificate | None:
    """Return the certificate of a refutation of other people's code.

    Returns None where a file cannot state it: it is no mechanism of one's own, no source file holds
    it, the claim or what is looked at is a function, or there is no ratio to compare.

    Parameters
    ----------
    result
        The refutation.
    case
        Of the mechanism, with the pair that was certified.
    settings
        With which it is repeated.
    """
    stated_claim = case.claimed if case.a_unit is None else case.a_unit.claimed
    code, claimed = _get_mechanism_code(case.mechanism), claim_as_table(stated_claim)
    reading = None if case.reading is None else _as_table(case.reading)
    bound = value_of(result.claimed, result.kind)
    stated = code is not None and claimed is not None and reading is not None
    if not stated or not bound or not math.isfinite(result.measured.lower):
        return None
    assert code is not None
    pair = of_pair(case.pair, _compute_code_salt(code, settings.seed), case.made)
    if pair["dataset"] == pair["neighbour"]:  # of data that no hash tells apart
        return None
    return Certificate(
        claim=result.claim,
        source=result.source,
        relation=result.relation,
        parameters={"confidence": result.measured.confidence},
        instance={
            "settings": settings.document(),
            "claimed": claimed,
            "reading": reading,
            "mechanism": code._asdict(),
            "pair": pair,
            **({} if case.a_unit is None else {"apart": case.a_unit.apart}),
        },
        quantities=quantities_of(result),
        search={"seed": settings.seed, "trials": result.trials},
        kind="mechanism",
    )


def claim_as_table(claim: Guarantee) -> dict[str, Any] | None:
    """Return a claim as a file states it; None if numbers do not.

    Examples
    --------
    >>> claim_as_table(GaussianDP(1.0)), claim_as_table(ApproximateDP(1.0, 0.0))
    ({'mu': 1.0}, {'epsilon': 1.0, 'delta': 0.0})
    """
    match claim:
        case ApproximateDP(at_epsilon=epsilon, at_delta=delta):
            return {"epsilon": epsilon, "delta": delta}
        case PureDP(at_epsilon=epsilon):
            return {"epsilon": epsilon, "delta": 0.0}
        case GaussianDP(mu=mu):
            return {"mu": mu}
        case ZeroConcentratedDP(rho=rho):
            return {"rho": rho}
        case RenyiDP(order=order, at_epsilon=epsilon):
            return {"renyi": [order, epsilon]}
        case PrivacyProfile(points=points) if points:
            return {"curve": [list(point) for point in points]}
    return None


def _get_mechanism_code(mechanism: object) -> CodeReference | None:
    return mechanism.code if isinstance(mechanism, IsolatedMechanism) else code_of(mechanism)


def _as_table(reading: ObservationSettings) -> dict[str, Any] | None:
    """Return how the mechanism was called as plain data; None if code says how to observe it."""
    read = [reading.read] if isinstance(reading.read, str) else reading.read
    is_code = reading.fresh is not None and not isinstance(reading.fresh, str)
    if is_code or (read is not None and not isinstance(read, list | tuple)):
        return None
    return {
        "form": reading.form,
        "read": None if read is None else list(read),
        "observe": list(reading.observe),
        "ignore": list(reading.ignore),
        "fresh": reading.fresh,
    }


def _compute_code_salt(code: CodeReference, seed: int) -> bytes:
    """Return another salt for other code: one seed gives one file."""
    return hashlib.blake2b(f"{code.sha256} {seed}".encode(), digest_size=_SALT).digest()


def of_pair(pair: Pair[Any], salt: bytes, made: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the two by salted hashes; as they are where records are shown and JSON holds them.

    What holds nobody's records stands there as it is ``made`` again, or else as it is.
    """
    relation = pair.relation
    checked = not isinstance(relation, DeclaredRelation) or relation in OF_GRAPHS
    stated: dict[str, Any] = {
        "salt": salt.hex(),
        "dataset": compute_data_fingerprint(pair.dataset, salt),
        "neighbour": compute_data_fingerprint(pair.neighbour, salt),
        "declared": None if checked else format_relation_words(relation),
    }
    if made:
        return {**stated, "made": dict(made)}
    data = [_as_json(side) for side in (pair.dataset, pair.neighbour)]
    if (are_shown() or made is not None) and None not in data:
        stated["data"] = data
    return stated


def _as_json(data: Any) -> dict[str, Any] | None:
    """Return records as an array of doubles or as lists, as a file would give them."""
    # Any other type might change when a file gives it back.
    if isinstance(data, np.ndarray) and data.dtype == np.float64 and np.isfinite(data).all():
        return {"array": data.tolist()}
    return {"list": data} if isinstance(data, list) and _is_plain(data) else None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(one) for key, one in value.items())
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in (bool, int, str)
