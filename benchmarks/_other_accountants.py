"""The accountants of dp-accounting and prv-accountant on our events, where they are installed."""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import replace
from typing import Any

from dpaudit.accounting.dp_accounting_adapter import loss_distribution
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Release,
    get_releases,
)

LIBRARIES = ("dp-accounting", "prv-accountant")


def version(library: str) -> str:
    """Return the version that is installed, or that there is none."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def installed(library: str) -> bool:
    return version(library) != "not installed"


def distribution_epsilon(event: Event, delta: float, interval: float, pessimistic: bool) -> float:
    """Return dp-accounting's answer as it stands: no checks but that of the grid's size."""
    composed = loss_distribution(event, interval, pessimistic=pessimistic)
    return float(composed.get_epsilon_for_delta(delta))


def prv_epsilon(event: Event, delta: float, error: float) -> tuple[float, float, float]:
    """Return prv-accountant's lower end, estimate and upper end."""
    library = importlib.import_module("prv_accountant")
    parts = [part for part in get_releases(event) if part.count]
    counts = [part.count for part in parts]
    accountant = library.PRVAccountant(
        prvs=[variable(library, replace(part, count=1)) for part in parts],
        eps_error=error,
        delta_error=delta / 1000,
        max_self_compositions=counts,
    )
    lower, estimate, upper = accountant.compute_epsilon(delta, counts)
    return float(lower), float(estimate), float(upper)


def variable(library: Any, part: Release) -> Any:
    """Return a release as a privacy random variable."""
    match part:
        case GaussianRelease():
            return library.GaussianMechanism(part.noise_scale / part.sensitivity)
        case LaplaceRelease():
            return library.LaplaceMechanism(part.sensitivity / part.noise_scale)
        case ApproximateRelease(delta=0.0):
            return library.PureDPMechanism(part.epsilon)
        case PoissonSubsampledGaussian():
            return library.PoissonSubsampledGaussianMechanism(
                sampling_probability=part.sampling_ratio, noise_multiplier=part.noise_multiplier
            )
    raise SystemExit(f"prv-accountant has nothing for {part}")
