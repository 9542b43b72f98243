"""hu2019's Lemma 1, whose subproblems are convex enough, is false as well."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.algorithms.sharing.claims.hu2019.lemma1 import CLAIM
from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting, compute_design_modulus
from dpaudit.algorithms.sharing.verify.hu2019.lemma1 import recompute
from dpaudit.errors import InvalidArgument


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("parties", "least"), [(1, 4.0), (2, 2.0)])
def test_the_search_breaks_it_and_the_certificate_is_verified(
    audited, plain, judged, seed, parties, least
):
    found = audited(CLAIM, seed=seed, parameters={"parties": parties})
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio > least


@pytest.mark.parametrize("parameters", [{"features": 2}, {"factor": 7.0}], ids=str)
def test_what_is_true_is_not_refuted(audited, parameters):
    assert audited(CLAIM, parameters=parameters).result.verdict == "proved"


def test_designs_that_are_too_flat_are_named(audited):
    with pytest.raises(InvalidArgument, match=r"parameters\.samples: got 8.*convex enough"):
        audited(CLAIM, parameters={"features": 8, "samples": 8, "penalty": 2.0})


def test_the_certificate_of_a_flatter_design_is_refused(audited, plain, judged, changed):
    document = plain(audited(CLAIM).certificate)
    verdict = judged(changed(document, 2.5, "parameters", "penalty"), recompute)
    assert "convex subproblem" in " ".join(verdict.failures)


def test_the_modulus_is_that_of_the_objective():
    rng = np.random.default_rng(0)
    setting = UpdateSetting(features=3, samples=6, penalty=7.0, regulariser_weight=0.3)
    design = rng.normal(size=(6, 3))
    twice, found = compute_design_modulus(setting, design)
    hessian = 0.3 * np.eye(3) + 7.0 * design.T @ design
    assert found == pytest.approx(min(np.linalg.eigvalsh(hessian)))
    assert twice == pytest.approx(2 * np.linalg.norm(design, 2) ** 2)
