"""Replays of a domain: on the pair that is found, with a certificate for it."""

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidArgument

FOUR = {"domain": {"bounds": (0, 1), "records": 4}, "relation": "replace-record", "epsilon": 1.0}


def noisy_median(data, rng):
    return float(np.median(data)) + rng.laplace(scale=0.25)


def test_a_replay_looks_for_the_pair_that_moves_most():
    found = dpaudit.replay(noisy_median, **FOUR)
    assert found.verdict == "refuted"
    assert found.findings[0].epsilon == pytest.approx(2.0)
    assert found.certificates


def test_a_true_claim_stands():
    assert dpaudit.replay(noisy_median, **{**FOUR, "epsilon": 2.0}).verdict == "not refuted"


@pytest.mark.parametrize("given", [{"neighbour": [1.0]}, {"relation": None}, {"domain": None}])
def test_what_contradicts_a_domain_or_lacks_one_is_refused(given):
    with pytest.raises(InvalidArgument, match=r"^(neighbour|relation|dataset): got"):
        dpaudit.replay(noisy_median, **{**FOUR, **given})
