"""Whether a service answers otherwise where every request has a nonce of its own.

Identical requests may be answered by a cache, and where answers are whole numbers or words nothing
shows it in them. So what refutes is asked once more with nonces that the service has no use for: a
parameter, a header, a member of the body. A cache that is keyed by requests knows none of them, and
the law of the answers is then another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chi2_contingency, ks_2samp

from dpaudit._typing import Array
from dpaudit.auditing.sampling.sampler import Drawer
from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.code_mechanism import CodeMechanism
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism
from dpaudit.services import Service
from dpaudit.services.nonces import with_nonce

_COUNT = 256  # answers of either dataset, with and without nonces
_COMMON = 10  # of a value that is counted by itself
_NAME = "dpaudit-nonce"


def measure_nonce_effect(drawer: Drawer, service: Service) -> tuple[float, str] | None:
    """Return the p-value of one law with and without nonces, and where these went.

    None where the service refuses all requests that have one.
    """
    before = drawer.paired(_COUNT, "answers without nonces").scores
    for places in _make_nonce_placements(service):
        try:
            other = replace(drawer, mechanism=_add_request_nonces(drawer.mechanism, places))
            after = other.paired(_COUNT, f"answers with nonces, {len(places)}").scores
        except MechanismError:  # it takes no such request
            continue
        # Bonferroni: the smaller of two p-values, one for each dataset.
        return min(1.0, 2 * min(map(of_one_law, before, after))), ", ".join(places)
    return None


def _make_nonce_placements(service: Service) -> Iterator[Sequence[str]]:
    query, header = f"query:{_NAME}", f"header:X-{_NAME}"
    if service.body is not None:
        yield query, header, f"body:{_NAME}"
    yield query, header
    yield (header,)


def _add_request_nonces(mechanism: Any, places: Sequence[str]) -> Any:
    """Return the mechanism whose requests have nonces at places."""
    if not isinstance(mechanism, IsolatedMechanism):
        return _with_nonces(mechanism, places)
    found = mechanism.make_derived_proxy(make_with_nonces, list(places))
    return found if mechanism.layout is None else found.having(mechanism.layout)


def make_with_nonces(make: Any, arguments: tuple[Any, ...], places: Sequence[str]) -> CodeMechanism:
    """Return a mechanism of a service's arguments, with nonces at their places."""
    return _with_nonces(make(*arguments), places)


def _with_nonces(found: CodeMechanism, places: Sequence[str]) -> CodeMechanism:
    service: Service = found.calls.function
    for place in places:
        service = with_nonce(service, place)
    return replace(found, calls=replace(found.calls, function=service))


def of_one_law(some: Array, others: Array) -> float:
    """Return the p-value of two samples having one law, over all parts of an answer.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.laplace(size=(2, 256))
    >>> kept = np.where(rng.random(256) < 0.5, 1.0, noise[1].round())
    >>> of_one_law(*noise) > 0.01, of_one_law(noise[0].round(), kept) < 1e-6
    (True, True)
    """
    one, other = (side.reshape(len(side), -1) for side in (some, others))
    parts = one.shape[1]
    found = [_of_part(one[:, n], other[:, n]) for n in range(parts)]
    return min(1.0, parts * min(found))


def _of_part(one: Array, other: Array) -> float:
    values, which = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = np.array([np.bincount(w, minlength=len(values)) for w in np.split(which, [len(one)])])
    # The chi-squared law holds only for cells that expect several answers; rare values share
    # one cell.
    common = counts.sum(axis=0) >= _COMMON
    table = np.column_stack([counts[:, common], counts[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) >= _COMMON]
    of_values = float(chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0
    return min(1.0, 2 * min(of_values, float(ks_2samp(one, other).pvalue)))
