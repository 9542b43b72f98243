"""Certificates of theorem 3.1 of zhang2018: what is untrue or malformed, and what cancels."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.algorithms.consensus.claims.theorem31 import CLAIM
from dpaudit.algorithms.consensus.verify.theorem31 import _Growing, recompute
from dpaudit.errors import DataError
from dpaudit.verification.reals import Real


@pytest.fixture
def verified(judged):
    return lambda document: judged(document, recompute)


@pytest.fixture(scope="module")
def growing(audited, plain):
    parameters = {"iterations": 40, "loss": "linear"}
    return plain(audited(CLAIM, trials=300, parameters=parameters).certificate)


@pytest.fixture(scope="module")
def inequality(audited, plain):
    parameters = {"part": "inequality"}
    return plain(audited(CLAIM, trials=2_000, parameters=parameters).certificate)


def test_every_stated_quantity_and_assumption_is_checked(verified, growing, inequality, changed):
    for genuine in (growing, inequality):
        assert verified(genuine).failures == ()
        for name, value in genuine["quantities"].items():
            failures = verified(changed(genuine, value * 1.01 + 0.01, "quantities", name)).failures
            assert any(failure.startswith(f"{name}: ") for failure in failures)
        for i, stated in enumerate(genuine["assumptions"]):
            for word in ("value", "limit"):
                other = changed(genuine, stated[word] + 0.1, "assumptions", i, word)
                assert any(stated["name"] in failure for failure in verified(other).failures)


def test_penalties_below_theta_are_named(verified, growing, inequality, changed):
    for genuine, name in ((growing, "first"), (inequality, "penalty")):
        failures = verified(changed(genuine, 0.1, "instance", name, 0)).failures
        assert any(failure.startswith("penalties at least theta: ") for failure in failures)


def test_a_tail_that_is_too_long_proves_nothing(verified, growing, changed):
    slow = changed(growing, [1.001] * 3, "instance", "growth")
    failures = verified(changed(slow, 1, "parameters", "iterations")).failures
    assert any(failure.startswith("ratio: ") and "above 1" in failure for failure in failures)


MALFORMED = {
    "parameters.nodes": (50, "parameters", "nodes"),
    "parameters.iterations": (10**6, "parameters", "iterations"),
    "parameters.ridge": (0, "parameters", "ridge"),
    "parameters.loss": ("hinge", "parameters", "loss"),
    "parameters.part": (["growing"], "parameters", "part"),
    "parameters.factor": (-1, "parameters", "factor"),
    "instance.growth": (1.0, "instance", "growth", 0),
    "instance.records": ([1.0], "instance", "records"),
    "instance.adjacency": (np.zeros((3, 3)).tolist(), "instance", "adjacency"),
    "instance.adjacency[0][0]": (1, "instance", "adjacency", 0, 0),
    "kind": ("sensitivity", "kind"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_certificate_names_the_field(verified, growing, changed, name):
    with pytest.raises(DataError) as refused:
        verified(changed(growing, *MALFORMED[name]))
    assert f": {name}: got " in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_mean_of_the_verifier_is_weighted_by_degrees():
    star = SimpleNamespace(count=[Real(3), Real(1), Real(1), Real(1)])
    assert _Growing.mean(star, [Real(1), Real(0), Real(0), Real(0)]) == Real(1) / 2


# --- what cancels ------------------------------------------------------------------------------


TRIANGLE = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def stated(genuine, part, instance, quantities, limits, **parameters):
    """Return a certificate of other numbers, with the assumptions as the claim has them."""
    assumptions = [{"name": name, "value": v, "limit": w} for name, (v, w) in limits.items()]
    return genuine | {
        "parameters": {"part": part, "nodes": 3, "factor": 1.0} | parameters,
        "instance": {"adjacency": TRIANGLE} | instance,
        "quantities": quantities,
        "assumptions": assumptions,
    }


def is_not_above_one(verdict):
    return any(f.startswith("ratio: ") and f.endswith("is not above 1") for f in verdict.failures)


def test_records_that_cancel_do_not_move_the_optimum(verified, growing):
    """50 digits place the optimum of 1e100, 1e-60 and -1e100 at 1e49, and the ratio at 1.2."""
    found = stated(
        growing,
        "growing",
        {"records": [1e100, 1e-60, -1e100], "first": [1.0] * 3, "growth": [2.0] * 3},
        {
            "mean": 4.596209739892162e47,
            "best": 1.1692013097283969e49,
            "tail": 1.1762841780582333e-171,
            "distance": 0.9606893209779259,
            "bound": 0.8,
            "ratio": 1.2008616512224073,
        },
        {
            "connected graph": (1, 1),
            "penalties at least theta": (1, 1),
            "penalties do not fall": (1, 2),
        },
        iterations=900,
        dual_step=1.0,
        ridge=1.0,
        loss="linear",
        tolerance=0.8,
    )
    verdict = verified(found)
    assert is_not_above_one(verdict)
    assert verdict.ratio == pytest.approx(0.786417, rel=1e-6)
    assert any(f.startswith("best: ") for f in verdict.failures)


def test_penalties_of_1e100_have_no_growing_mode(verified, growing):
    """50 digits find a mode of modulus 8e48."""
    found = stated(
        growing,
        "bounded",
        {"penalty": [1e100] * 3, "curvature": [0.3, 3e-21, 4e19]},
        {"value": 8.26750174777539e48, "bound": 1.0, "ratio": 8.26750174777539e48},
        {
            "connected graph": (1, 1),
            "penalties at least theta": (1e100, 1e100),
            "strongly convex": (0, 3e-21),
            "one penalty": (0, 0),
        },
        dual_step=1e100,
        penalties="shared",
    )
    verdict = verified(found)
    assert is_not_above_one(verdict)
    assert verdict.ratio == pytest.approx(1)


def test_inequality_19_holds_beside_the_optimum(verified, inequality):
    """50 digits find 5.3e-4 above the right side, where the left one is 1.4e-5 below."""
    theta, start = 1.1585657078449841e-40, 1.3460600250515017e22
    found = stated(
        inequality,
        "inequality",
        {
            "penalty": [theta] * 3,
            "curvature": [8.083649711903569e-59, 1.924599309718559e-44, 0.0027812971053531796],
            "slope": [1.0881077733712482e-36, 2.590626195053866e-22, 3.74379285130737e19],
            "start": [start] * 3,
        },
        {
            "value": 5.319557923617159e-4,
            "bound": 0.0,
            "size": 4.6626161347659575e-23,
            "ratio": 1.0005319557923618,
        },
        {
            "connected graph": (1, 1),
            "penalties at least theta": (theta, theta),
            "strongly convex": (0, 8.083649711903569e-59),
            "one penalty": (0, 0),
        },
        dual_step=theta,
        penalties="shared",
    )
    verdict = verified(found)
    assert is_not_above_one(verdict)
    assert verdict.ratio == pytest.approx(1 - 1.385e-5, abs=1e-8)


def test_records_that_sum_to_nothing_have_their_optimum_at_the_start(verified, growing, changed):
    with pytest.raises(DataError, match="an optimum at the start"):
        verified(changed(growing, [0.5, -0.25, -0.25], "instance", "records"))
    almost = changed(growing, [1e280, 1e-280, -1e280], "instance", "records")
    assert any(f.startswith("best: ") for f in verified(almost).failures)
