"""A mechanism goes to workers: they import it or run it afresh, or get it with its contents."""

from __future__ import annotations

import sys
from typing import Any

from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.pool import Crew
from dpaudit.execution.surveys import parcel_for_processes
from dpaudit.mechanisms.foreign.changed_modules import (
    compute_fingerprints,
    owner_of,
    require_as_imported,
)
from dpaudit.mechanisms.foreign.in_worker import from_pickle
from dpaudit.mechanisms.foreign.proxy import IsolatedMechanism, make_proxy
from dpaudit.mechanisms.mechanism import ForeignCode, Mechanism


def send_mechanism(mechanism: Mechanism[Any], crew: Crew) -> IsolatedMechanism:
    """Return the proxy of a mechanism; modules that a worker cannot get itself go along."""
    owner = owner_of(mechanism)
    home, here = getattr(owner, "__module__", None) or "", compute_fingerprints(owner)
    parcel = parcel_for_processes(mechanism, own_generators=True)
    try:
        proxy = make_proxy(crew, (from_pickle, (parcel.blob,)))
    except CannotTravel:
        # A worker that cannot import the module gets its code by value.
        if home not in sys.modules:
            raise
        parcel = parcel_for_processes(mechanism, own_generators=True, by_value=[home])
        proxy = make_proxy(crew, (from_pickle, (parcel.blob,)))
    else:
        require_as_imported(home, here, crew)
    proxy.carried, proxy.not_afresh = tuple(sorted(parcel.held.names)), parcel.not_afresh
    proxy.worked_out = tuple(sorted(parcel.held.worked_out))
    proxy.outside = mechanism.outside if isinstance(mechanism, ForeignCode) else None
    return proxy
