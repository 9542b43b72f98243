"""No certificate that is bent towards an easier proof passes as one of the code."""

import copy
import warnings
from collections import Counter

import numpy as np
import pytest

from dpaudit.proving import checker
from dpaudit.proving.certificate import instance_of
from dpaudit.proving.program import PathProgram
from dpaudit.proving.trace import FunctionTrace, Path
from tests.proving.bent import (
    MODELS,
    bend,
    is_of_the_code,
    is_true,
    model_certificates,
    number_universe,
)


@pytest.fixture(scope="module")
def certificates():
    return model_certificates()


def test_models_hold_and_claim_no_more_than_is_true(certificates):
    claims = [one["instance"]["claim"] for one in certificates]
    known = [{"epsilon": 1.0, "delta": 0.0}, {"rho": 4 / 9}, {"epsilon": 1.0, "delta": 0.0},
             {"epsilon": 1.0, "delta": 0.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 0.0},
             {"epsilon": 2 / 3, "delta": 0.0}, {"epsilon": 1.0, "delta": 0.0},
             {"epsilon": 1.0, "delta": 0.0}]  # fmt: skip
    for found, expected in zip(claims, known, strict=True):
        assert found == pytest.approx(expected, rel=1e-9)
    for one in certificates:
        checker.check_proof_certificate(one)


def run_bent(certificates, seeds):
    """Return how many bent certificates were refused, true of themselves, or of the code."""
    counts = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        document = certificates[rng.integers(len(certificates))]
        bent, name = bend(document, rng)
        try:
            checker.check_proof_certificate(bent)
        except checker.NotVerified:
            counts["refused"] += 1
            continue
        if is_of_the_code(bent, document):
            asked, true = bent["instance"]["claim"], document["instance"]["claim"]
            kept = all(asked[key] >= value * (1 - 2e-9) for key, value in true.items())
            counts["of the code"] += 1
            assert kept, f"seed {seed}: {name}"
            continue
        counts["of another program"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                holds = is_true(bent["instance"], rng)
        except Exception as error:
            counts[f"cannot run: {type(error).__name__}"] += 1
            continue
        assert holds, f"seed {seed}: {name}"
    return counts


def test_no_bent_certificate_passes(certificates):
    counts = run_bent(certificates, range(100))
    assert counts["refused"] > 40
    assert counts["of another program"] > 5


@pytest.mark.slow
def test_none_of_many_bent_certificates_passes(certificates):
    run_bent(certificates, range(1000, 11000))


@pytest.mark.parametrize("place", range(len(MODELS)))
def test_half_a_claim_is_refused(certificates, place):
    bent = copy.deepcopy(certificates[place])
    for name in bent["instance"]["claim"]:
        bent["instance"]["claim"][name] *= 0.999999
    with pytest.raises(checker.NotVerified):
        checker.check_proof_certificate(bent)


def test_a_search_that_ends_early_forgets_no_box():
    program = PathProgram()
    size = program.add("size", shape=(), dtype="int64")
    two = program.add("constant", shape=(), dtype="int64", value=2)
    both = program.add("logical_and", [size, two], shape=(), dtype="bool")
    noise = program.add("draw", shape=(), law="laplace", number=0)
    program.outputs = (program.add("add", [both, noise], shape=()),)
    universe = number_universe(None, change="add-remove")
    cost = checker.check_instance(instance_of(FunctionTrace(universe, (Path(program),))))
    assert cost.pure == 1
