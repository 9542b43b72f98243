"""dpaudit audits differential-privacy claims: claimed, proved and measured, side by side.

The names below are imported when they are first used, so that ``import dpaudit`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpaudit.accounting.composition import gaussian_guarantee
    from dpaudit.accounting.events import (
        ApproximateRelease,
        ExponentialNormRelease,
        GaussianRelease,
        LaplaceRelease,
        ObjectivePerturbation,
        PoissonSubsampledGaussian,
        Sequence,
        ZeroConcentratedRelease,
    )
    from dpaudit.accounting.proved import proved_guarantee
    from dpaudit.accounts.account import account
    from dpaudit.auditing.run import audit_case, audit_claim
    from dpaudit.datasets.dataset import Dataset
    from dpaudit.errors import DpauditError
    from dpaudit.execution import Executor
    from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof, SearchCase
    from dpaudit.extension.claim import Claim
    from dpaudit.extension.distinguisher import Attack
    from dpaudit.extension.settings import Settings
    from dpaudit.guarantees.kinds import (
        ApproximateDP,
        GaussianDP,
        Guarantee,
        PureDP,
        ZeroConcentratedDP,
    )
    from dpaudit.laws.gaussian_steps import GaussianProcess, GaussianSteps, Step
    from dpaudit.laws.mechanism import HasLaw, Mechanism, Tiltable, TiltedSample
    from dpaudit.neighbours import Pair, relation

_HOME = {
    "ApproximateDP": "guarantees.kinds",
    "ApproximateRelease": "accounting.events",
    "AssumptionOutcome": "extension.case",
    "Attack": "extension.distinguisher",
    "Claim": "extension.claim",
    "Dataset": "datasets.dataset",
    "DpauditError": "errors",
    "Executor": "execution",
    "ExponentialNormRelease": "accounting.events",
    "GaussianDP": "guarantees.kinds",
    "GaussianProcess": "laws.gaussian_steps",
    "GaussianRelease": "accounting.events",
    "GaussianSteps": "laws.gaussian_steps",
    "Guarantee": "guarantees.kinds",
    "HasLaw": "laws.mechanism",
    "LaplaceRelease": "accounting.events",
    "Mechanism": "laws.mechanism",
    "ObjectivePerturbation": "accounting.events",
    "Pair": "neighbours",
    "PoissonSubsampledGaussian": "accounting.events",
    "PrivacyCase": "extension.case",
    "Proof": "extension.case",
    "PureDP": "guarantees.kinds",
    "SearchCase": "extension.case",
    "Sequence": "accounting.events",
    "Settings": "extension.settings",
    "Step": "laws.gaussian_steps",
    "Tiltable": "laws.mechanism",
    "TiltedSample": "laws.mechanism",
    "ZeroConcentratedDP": "guarantees.kinds",
    "ZeroConcentratedRelease": "accounting.events",
    "account": "accounts.account",
    "audit_case": "auditing.run",
    "audit_claim": "auditing.run",
    "gaussian_guarantee": "accounting.composition",
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
    "account",
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
