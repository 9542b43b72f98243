"""The ledger of joined tables: complete, exact, and it sees what would be wrong."""

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import dpaudit
from dpaudit.algorithms.tables.claims.equation38 import Join, compare_update_objectives
from dpaudit.algorithms.tables.statements import checks
from dpaudit.algorithms.tables.statements.tablepuppet import PAPER
from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence
from dpaudit.ledger.checks import run_check
from tests.papers import numbers_of, places_of

EPSILON = 0.8
DOMAIN = {"bounds": (-1, 1), "columns": 2, "records": 5}


def test_every_equation_is_in_a_row():
    assert {str(number) for number in range(26, 39)} <= numbers_of(PAPER)


@pytest.mark.parametrize("name", ["appendix A", "appendix B", "Theorem 1", "Theorem 2"])
def test_all_that_is_named_is_in_a_row(name):
    assert name in places_of(PAPER)


@pytest.mark.parametrize("row", PAPER.rows, ids=lambda row: row.name)
def test_checks_are_exact(row):
    references = [row.repair_check] if row.repair_check else []
    if isinstance(row.evidence, ProofEvidence | CounterexampleEvidence):
        references.append(row.evidence.check)
    for reference in references:
        for finding in run_check(reference):
            assert not isinstance(finding.left, float)
            assert not isinstance(finding.right, float)


def test_epochs_agree_from_the_first_theta_on_and_not_before():
    start = checks.Epoch((Fraction(1), Fraction(-1)), Fraction(2), Fraction(1, 2))
    printed = list(islice(checks.models_first(start), 3))
    late = list(islice(checks.server_first(start.models, start.multiplier), 3))
    assert printed != late
    assert list(islice(checks.server_first(printed[0].models, start.multiplier), 3)) == printed


def test_updates_of_the_instance_are_minimisers():
    """Against the objective of (29) and (30) a little to both sides."""
    epoch = checks.Epoch((Fraction(1), Fraction(-1)), Fraction(2), Fraction(1, 2))
    theta, _ = checks._minimise_epoch_models(epoch)

    def objective(first):
        gap = 2 * epoch.models[1] - epoch.z
        return first**2 / 2 + epoch.multiplier * first + (gap + first) ** 2 / 2

    step = Fraction(1, 100)
    assert objective(theta) < min(objective(theta - step), objective(theta + step))
    served = checks._run_server_update(epoch.models, epoch.multiplier)
    assert served.multiplier == served.z - 1  # the slope of (z - 1)^2 / 2


def test_the_reduced_update_needs_the_counts():
    """The identity in numbers, and without G."""
    one = np.ones((2, 1))
    join = Join(
        penalty=2.0, mapping=np.array([0, 0]), dual=one, gap=one, here=one[:1], there=3 * one[:1]
    )
    assert compare_update_objectives(join, "published")[0] == 0
    assert compare_update_objectives(join, "none")[0] > 0


@pytest.mark.parametrize("joined", [0, 1, 2, 5])
def test_another_clients_sum_moves_with_the_tuples_that_are_joined(joined):
    here, there = (
        checks.compute_clipped_client_sum(Fraction(x), joined) for x in (3, Fraction(-7, 2))
    )
    assert here - there == 2 * joined


def test_the_mean_loss_is_that_of_the_gaussian():
    *_, finding = checks.constants_at_full_batches()
    steps, log = 10**4, math.log(1e5)
    sigma = 4 * math.sqrt(steps * log) / steps
    exact = steps / sigma**2 / 2
    assert finding.left <= exact < 1.05 * float(finding.left)


def noisy_signs(data, rng):
    _, labels = data
    return labels + rng.laplace(scale=2 * math.sqrt(2) / EPSILON / math.sqrt(2), size=len(labels))


def noisy_codes(data, rng):
    _, labels = data
    codes = (labels[:, None] == np.arange(3)) * 1.0
    return codes + rng.laplace(scale=2 * math.sqrt(2) / EPSILON / math.sqrt(2), size=codes.shape)


def noisy_signs_of_half_the_variance(data, rng):
    _, labels = data
    return labels + rng.laplace(scale=math.sqrt(2) / EPSILON, size=len(labels))


@pytest.mark.parametrize(
    ("mechanism", "labels"), [(noisy_signs, (-1, 1)), (noisy_codes, (0, 1, 2))]
)
def test_code_with_the_noise_of_theorem_1_is_proved_private(mechanism, labels):
    found = dpaudit.prove(
        mechanism, domain=DOMAIN | {"labels": labels}, relation="replace-label", epsilon=EPSILON
    )
    assert found.verdict == "proved"
    assert found.numbers.pure == pytest.approx(EPSILON, rel=1e-9)


def test_code_with_too_little_noise_is_not():
    """A scale that is the standard deviation over 2, for over the root of 2."""
    found = dpaudit.prove(
        noisy_signs_of_half_the_variance,
        domain=DOMAIN | {"labels": (-1, 1)},
        relation="replace-label",
        epsilon=EPSILON,
    )
    assert found.verdict == "withheld"
    assert found.numbers.pure == pytest.approx(math.sqrt(2) * EPSILON)
