"""dpaudit audits differential-privacy claims: claimed, proved and measured, side by side.

The names below are imported when they are first used, so that ``import dpaudit`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from dpaudit.accounting.calibrate import calibrate
    from dpaudit.accounting.composition import gaussian_guarantee
    from dpaudit.accounting.discrete_events import (
        DiscreteGaussianRelease,
        DiscreteLaplaceRelease,
        GaussianMixtureRelease,
        RandomizedResponse,
    )
    from dpaudit.accounting.events import (
        AllocatedGaussian,
        ApproximateRelease,
        BatchedGaussian,
        ExponentialNormRelease,
        GaussianRelease,
        LaplaceRelease,
        ObjectivePerturbation,
        Parallel,
        PoissonSubsampledGaussian,
        PoissonSubsampledLaplace,
        PrivateSelection,
        Sequence,
        ShuffledGaussian,
        ZeroConcentratedRelease,
    )
    from dpaudit.accounting.sharing import one_budget, one_sample
    from dpaudit.accounting.strongest_guarantee import proved_guarantee
    from dpaudit.accounts.account import account
    from dpaudit.affine.api import views
    from dpaudit.affine.features import view_pairs
    from dpaudit.affine.inputs import AdaptiveInputs
    from dpaudit.affine.messages import Message
    from dpaudit.auditing.api import audit
    from dpaudit.auditing.run import audit_case, audit_claim
    from dpaudit.auditing.samples.attack_tables import audit_table
    from dpaudit.auditing.samples.canaries import audit_scores
    from dpaudit.auditing.samples.given_samples import audit_outputs
    from dpaudit.auditing.samples.membership import audit_membership
    from dpaudit.datasets.dataset import Dataset
    from dpaudit.domains.domain import Domain
    from dpaudit.errors import DpauditError
    from dpaudit.execution import Executor
    from dpaudit.extension.attack import Attack
    from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof, SearchCase
    from dpaudit.extension.claim import Claim, Statement
    from dpaudit.extension.distinguisher import Distinguisher
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
    from dpaudit.laws.steps import GaussianProcess, GaussianSteps, Step
    from dpaudit.mechanisms.mechanism import HasLaw, Mechanism, Tiltable, TiltedSample
    from dpaudit.neighbours import Pair, Side, metric, relation
    from dpaudit.proving.api import prove
    from dpaudit.replaying.api import replay
    from dpaudit.report.schema import Result
    from dpaudit.search.sensitivity import sensitivity
    from dpaudit.services import Service
    from dpaudit.spending.budget import Budget
    from dpaudit.verification.document import Verdict
    from dpaudit.verification.judge import verify_file as verify
    from dpaudit.verification.redrawn_counts import Reader

_HOME = {
    "AdaptiveInputs": "affine.inputs",
    "AllocatedGaussian": "accounting.events",
    "ApproximateDP": "guarantees.kinds",
    "ApproximateRelease": "accounting.events",
    "AssumptionOutcome": "extension.case",
    "Attack": "extension.attack",
    "BatchedGaussian": "accounting.events",
    "Budget": "spending.budget",
    "Claim": "extension.claim",
    "Dataset": "datasets.dataset",
    "DiscreteGaussianRelease": "accounting.discrete_events",
    "DiscreteLaplaceRelease": "accounting.discrete_events",
    "Distinguisher": "extension.distinguisher",
    "Domain": "domains.domain",
    "DpauditError": "errors",
    "Executor": "execution",
    "ExponentialNormRelease": "accounting.events",
    "GaussianDP": "guarantees.kinds",
    "GaussianMixtureRelease": "accounting.discrete_events",
    "GaussianProcess": "laws.steps",
    "GaussianRelease": "accounting.events",
    "GaussianSteps": "laws.steps",
    "Guarantee": "guarantees.kinds",
    "HasLaw": "mechanisms.mechanism",
    "LaplaceRelease": "accounting.events",
    "Mechanism": "mechanisms.mechanism",
    "Message": "affine.messages",
    "ObjectivePerturbation": "accounting.events",
    "Pair": "neighbours",
    "Parallel": "accounting.events",
    "PoissonSubsampledGaussian": "accounting.events",
    "PoissonSubsampledLaplace": "accounting.events",
    "PrivacyCase": "extension.case",
    "PrivacyProfile": "guarantees.profile",
    "PrivateSelection": "accounting.events",
    "Proof": "extension.case",
    "PureDP": "guarantees.kinds",
    "RandomizedResponse": "accounting.discrete_events",
    "Reader": "verification.redrawn_counts",
    "RenyiDP": "guarantees.kinds",
    "Result": "report.document",
    "SearchCase": "extension.case",
    "Service": "services",
    "Sequence": "accounting.events",
    "Settings": "extension.settings",
    "ShuffledGaussian": "accounting.events",
    "Side": "neighbours",
    "Statement": "extension.claim",
    "Step": "laws.steps",
    "Tiltable": "mechanisms.mechanism",
    "TiltedSample": "mechanisms.mechanism",
    "Verdict": "verification.document",
    "ZeroConcentratedDP": "guarantees.kinds",
    "ZeroConcentratedRelease": "accounting.events",
    "account": "accounts.account",
    "audit": "auditing.api",
    "audit_case": "auditing.run",
    "audit_claim": "auditing.run",
    "audit_membership": "auditing.samples.membership",
    "audit_outputs": "auditing.samples.given_samples",
    "audit_scores": "auditing.samples.canaries",
    "audit_table": "auditing.samples.attack_tables",
    "calibrate": "accounting.calibrate",
    "gaussian_guarantee": "accounting.composition",
    "metric": "neighbours",
    "one_budget": "accounting.sharing",
    "one_sample": "accounting.sharing",
    "proved_guarantee": "accounting.strongest_guarantee",
    "relation": "neighbours",
    "replay": "replaying.api",
    "sensitivity": "search.sensitivity",
    "verify": "verification.judge:verify_file",
    "view_pairs": "affine.features",
    "views": "affine.api",
    "prove": "proving.api",
}

__all__ = [
    "AdaptiveInputs",
    "AllocatedGaussian",
    "ApproximateDP",
    "ApproximateRelease",
    "AssumptionOutcome",
    "Attack",
    "BatchedGaussian",
    "Budget",
    "Claim",
    "Dataset",
    "DiscreteGaussianRelease",
    "DiscreteLaplaceRelease",
    "Distinguisher",
    "Domain",
    "DpauditError",
    "Executor",
    "ExponentialNormRelease",
    "GaussianDP",
    "GaussianMixtureRelease",
    "GaussianProcess",
    "GaussianRelease",
    "GaussianSteps",
    "Guarantee",
    "HasLaw",
    "LaplaceRelease",
    "Mechanism",
    "Message",
    "ObjectivePerturbation",
    "Pair",
    "Parallel",
    "PoissonSubsampledGaussian",
    "PoissonSubsampledLaplace",
    "PrivacyCase",
    "PrivacyProfile",
    "PrivateSelection",
    "Proof",
    "PureDP",
    "RandomizedResponse",
    "Reader",
    "RenyiDP",
    "Result",
    "SearchCase",
    "Sequence",
    "Service",
    "Settings",
    "ShuffledGaussian",
    "Side",
    "Statement",
    "Step",
    "Tiltable",
    "TiltedSample",
    "Verdict",
    "ZeroConcentratedDP",
    "ZeroConcentratedRelease",
    "__version__",
    "account",
    "audit",
    "audit_case",
    "audit_claim",
    "audit_membership",
    "audit_outputs",
    "audit_scores",
    "audit_table",
    "calibrate",
    "gaussian_guarantee",
    "metric",
    "one_budget",
    "one_sample",
    "prove",
    "proved_guarantee",
    "relation",
    "replay",
    "sensitivity",
    "verify",
    "view_pairs",
    "views",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("dpaudit")
    if name not in _HOME:
        raise AttributeError(f"module 'dpaudit' has no attribute {name!r}")
    home, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(f"dpaudit.{home}"), attribute or name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
