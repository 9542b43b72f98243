"""dpaudit audits differential-privacy claims: claimed, proved and measured, side by side.

The names below are imported when they are first used, so that ``import dpaudit`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.accounting.gaussian_dp import gaussian_guarantee
    from dpaudit.accounting.proved import proved_guarantee
    from dpaudit.attack import Attack
    from dpaudit.audit.run import audit_case, audit_claim
    from dpaudit.case import AssumptionOutcome, PrivacyCase, Proof, SearchCase
    from dpaudit.claims import Claim
    from dpaudit.datasets.dataset import Dataset
    from dpaudit.errors import DpauditError
    from dpaudit.events import (
        ApproximateRelease,
        ExponentialNormRelease,
        GaussianRelease,
        LaplaceRelease,
        ObjectivePerturbation,
        PoissonSubsampledGaussian,
        Sequence,
        ZeroConcentratedRelease,
    )
    from dpaudit.execution import Executor
    from dpaudit.gaussian_steps import GaussianProcess, GaussianSteps, Step
    from dpaudit.guarantees import (
        ApproximateDP,
        GaussianDP,
        Guarantee,
        PureDP,
        ZeroConcentratedDP,
    )
    from dpaudit.mechanism import HasLaw, Mechanism, Tiltable, TiltedSample
    from dpaudit.neighbours import Pair, relation
    from dpaudit.settings import Settings

_HOME = {
    "ApproximateDP": "guarantees",
    "ApproximateRelease": "events",
    "AssumptionOutcome": "case",
    "Attack": "attack",
    "Claim": "claims",
    "Dataset": "datasets.dataset",
    "DpauditError": "errors",
    "Executor": "execution",
    "ExponentialNormRelease": "events",
    "GaussianDP": "guarantees",
    "GaussianProcess": "gaussian_steps",
    "GaussianRelease": "events",
    "GaussianSteps": "gaussian_steps",
    "Guarantee": "guarantees",
    "HasLaw": "mechanism",
    "LaplaceRelease": "events",
    "Mechanism": "mechanism",
    "ObjectivePerturbation": "events",
    "Pair": "neighbours",
    "PoissonSubsampledGaussian": "events",
    "PrivacyCase": "case",
    "Proof": "case",
    "PureDP": "guarantees",
    "SearchCase": "case",
    "Sequence": "events",
    "Settings": "settings",
    "Step": "gaussian_steps",
    "Tiltable": "mechanism",
    "TiltedSample": "mechanism",
    "ZeroConcentratedDP": "guarantees",
    "ZeroConcentratedRelease": "events",
    "audit_case": "audit.run",
    "audit_claim": "audit.run",
    "gaussian_guarantee": "accounting.gaussian_dp",
    "proved_guarantee": "accounting.proved",
    "relation": "neighbours",
}

__all__ = [
    "ApproximateDP",
    "ApproximateRelease",
    "AssumptionOutcome",
    "Attack",
    "Claim",
    "Dataset",
    "DpauditError",
    "Executor",
    "ExponentialNormRelease",
    "GaussianDP",
    "GaussianProcess",
    "GaussianRelease",
    "GaussianSteps",
    "Guarantee",
    "HasLaw",
    "LaplaceRelease",
    "Mechanism",
    "ObjectivePerturbation",
    "Pair",
    "PoissonSubsampledGaussian",
    "PrivacyCase",
    "Proof",
    "PureDP",
    "SearchCase",
    "Sequence",
    "Settings",
    "Step",
    "Tiltable",
    "TiltedSample",
    "ZeroConcentratedDP",
    "ZeroConcentratedRelease",
    "audit_case",
    "audit_claim",
    "gaussian_guarantee",
    "proved_guarantee",
    "relation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dpaudit' has no attribute {name!r}")
    return getattr(import_module(f"dpaudit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
