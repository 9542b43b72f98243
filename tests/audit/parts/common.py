"""What parts of an audit are tested with: cases that run nothing, evidence, and outputs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.sampling.sampler import Certifying
from dpaudit.estimation.independence import Outputs
from dpaudit.estimation.self_check import CheckOutcome
from dpaudit.extension.case import PrivacyCase
from dpaudit.guarantees.currency import currency_of
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.neighbours import REPLACE_RECORD, Pair

PAIR = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)
ALPHA = 0.05


def case_of(claimed=None, at_delta=0.0, mechanism=None, **more):
    """Return a case whose mechanism nobody runs, of a curve if the claim is one."""
    claimed = ApproximateDP(1.0, 0.0) if claimed is None else claimed
    given = {
        "view": "outputs",
        "data": "two numbers",
        "default_trials": 1000,
        "parameters": {},
        "currency": currency_of(claimed),
    }
    return PrivacyCase(
        mechanism=mechanism, pair=PAIR, claimed=claimed, at_delta=at_delta, **{**given, **more}
    )


def evidence_of(lower=0.5, **more):
    given = {
        "upper": None,
        "estimate": None,
        "estimator": "an example",
        "trials": 1000,
        "budget": {"all": ALPHA},
        "counts": {"certifying, per dataset": 1000},
    }
    return MeasurementEvidence(lower=lower, **{**given, **more})


def check_of(passed, name="a check"):
    return CheckOutcome(
        name=name,
        statement=f"{name} says something",
        passed=passed,
        statistic=0.0,
        threshold=1.0,
        evidence="by hand",
    )


def outputs_of(scores, calls=None, processes=None):
    """Return scores as outputs of one call of one process, unless others are named."""
    nothing = np.zeros(len(scores), dtype=np.int64)
    places = (nothing if one is None else np.asarray(one) for one in (calls, processes))
    return Outputs(np.asarray(scores, dtype=float), *places)


def certifying_of(on_p, on_q):
    sides = np.asarray(on_p, dtype=float), np.asarray(on_q, dtype=float)
    return Certifying(sides, (outputs_of(sides[0]), outputs_of(sides[1])))


def drawer_of(**known):
    """Return a drawer of other people's mechanism that draws nothing."""
    return SimpleNamespace(
        **{"mechanism": SimpleNamespace(), "timed": False, "sparing": False, **known}
    )
