"""Checks of statements on ADMM sharing: their hypotheses, their numbers, and what they must see."""

from fractions import Fraction
from inspect import getmembers, isfunction, signature

import numpy as np
import pytest

from dpaudit.algorithms.sharing.statements.checks import (
    algorithm,
    composition,
    experiments,
    lemma1,
    theorem1,
)
from dpaudit.algorithms.sharing.statements.checks.matrices import (
    add_matrices,
    compute_frobenius_square,
    identity_matrix,
    invert_matrix,
    make_fraction_column,
    make_fraction_matrix,
    multiply_matrices,
    scale_matrix,
    transpose_matrix,
)
from dpaudit.errors import InvalidArgument
from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import make_unknowns

REFUTED = {
    algorithm.check_disclosed_features,
    algorithm.fewest_messages,
    algorithm.limit_of_admm,
    composition.fewer_than_twenty,
    lemma1.bracket_bound,
    lemma1.movement_by_the_slope,
    lemma1.movement_of_orthogonal_designs,
    lemma1.others_bound,
    lemma1.norm_of_the_inverse,
    lemma1.phi1_bound,
    lemma1.phi2_bound,
    lemma1.stationary_point,
    theorem1.laws_of_the_noise,
    theorem1.loss_in_numbers,
    theorem1.check_printed_exponent,
    theorem1.check_printed_loss_bound,
    theorem1.probability_of_a2,
    theorem1.check_separated_neighbours,
}


CHECK = signature(lemma1.phi2_bound)


def checks():
    for module in (algorithm, composition, experiments, lemma1, theorem1):
        for name, function in getmembers(module, isfunction):
            own = function.__module__ == module.__name__ and not name.startswith("_")
            if own and signature(function) == CHECK:
                yield function


@pytest.mark.parametrize("check", list(checks()), ids=lambda check: check.__name__)
def test_a_check_is_exact_and_says_what_it_is_given_for(check):
    findings = check()
    assert findings
    assert all(isinstance(each, Finding) for each in findings)
    assert all(not isinstance(side, float) for each in findings for side in (each.left, each.right))
    assert all(each.holds for each in findings) is (check not in REFUTED)


@pytest.mark.parametrize("update", [lemma1.few_records(), lemma1.many_records()])
def test_instances_meet_every_hypothesis_of_lemma_1(update):
    assert [each.instance for each in update.hypotheses if not each.holds] == []


def test_hypotheses_see_what_breaks_them():
    records = lemma1.few_records()
    longer = lemma1.Update(here=records.here, there=records.there, pull=make_fraction_column(3, 0))
    broken = [each.instance for each in longer.hypotheses if not each.holds]
    assert broken == ["||y||^2 and ||z||^2", "||x||^2 and ||x'||^2"]
    other = make_fraction_matrix([[1, 0], ["3/5", "4/5"]])
    swapped = lemma1.Update(here=records.here, there=other, pull=records.pull)
    assert "columns that differ" in [each.instance for each in swapped.hypotheses if not each.holds]


def test_the_norm_of_the_design_alone_breaks_lemma_1():
    """Against the same movement in doubles; a C with that norm in it is not exceeded."""
    block, changed = (np.array(each, dtype=float) for each in lemma1.orthogonal_records())
    here, there = (np.vstack([block] * 7 + [last]) for last in (block, changed))
    assert np.array_equal(there.T @ there, 16 * np.eye(16))
    pull, penalty = -3 * here[:, 0] / 4, 2.0
    models = [-np.linalg.lstsq(each, pull / penalty, rcond=None)[0] for each in (here, there)]
    movement = np.linalg.norm(here @ models[0] - there @ models[1])
    *_, last = lemma1.movement_of_orthogonal_designs()
    assert np.isclose(movement**2, float(last.left))
    assert np.isclose((3 / 16 / penalty * (1 + penalty)) ** 2, float(last.right))
    assert last.right < last.left < np.linalg.norm(here, 2) ** 2 * last.right


def test_a_linear_regulariser_alone_breaks_lemma_1():
    """Against a solver of (6) in doubles; with its slope in C the bound is not exceeded."""
    block, changed = (np.array(each, dtype=float) for each in lemma1.orthogonal_records())
    here, there = (np.vstack([block] * 7 + [last]) for last in (block, changed))
    penalty, slope = 2.0, -32 * np.eye(16)[0]
    models = [-np.linalg.solve(penalty * each.T @ each, slope) for each in (here, there)]
    movement = np.linalg.norm(here @ models[0] - there @ models[1])
    *_, gradient, _, last = lemma1.movement_by_the_slope()
    assert gradient.holds
    assert np.allclose(models, np.eye(16)[:1])
    assert np.isclose(movement**2, float(last.left))
    claimed = 3 / 16 / penalty * (1 + penalty)
    assert np.isclose(claimed**2, float(last.right))
    assert claimed < movement < claimed + 3 / 16 / penalty * np.linalg.norm(slope)


def test_only_the_step_by_the_mean_value_theorem_fails_there():
    false = [each.instance for each in lemma1.movement_of_orthogonal_designs() if not each.holds]
    assert len(false) == 2
    assert false[0].startswith("||D''v||^2")
    assert false[1].startswith("||D x - D' x'||^2")


def test_models_are_minimisers():
    """Against a solver of the same equations in doubles."""
    update = lemma1.many_records()
    design, pull = (np.array(each, dtype=float) for each in (update.here, update.pull))
    curved = 0.01 * np.eye(2) + design.T @ design
    expected = -np.linalg.solve(curved, design.T @ pull)
    assert np.allclose(np.array(update.model(update.here), dtype=float), expected)


def test_the_bound_on_phi_2_would_stand_with_the_norm_that_the_proof_forgets():
    """||A' - A|| <= ||A|| + ||A'||, and ||A|| is 1 over rho times the least singular value."""
    update = lemma1.few_records()
    least = np.linalg.svd(np.array(update.here, dtype=float), compute_uv=False)[-1]
    bracket = float(compute_frobenius_square(update.bracket(update.there)))
    assert float(compute_frobenius_square(update.phi2)) <= (2 / least) ** 2 * bracket


def test_exponents_are_those_of_a_gaussian():
    """The formula of the docstring against sigma and r in numbers."""
    delta, epsilon, bound = 1e-5, 1.0, 3.0
    log = np.log(1.25 / delta)
    sigma = np.sqrt(2 * log) * bound / epsilon
    reach = 2 * bound * log / epsilon - bound / 2
    assert np.isclose(reach**2 / (2 * sigma**2), (4 * log - epsilon) ** 2 / (16 * log))


def test_the_step_after_the_exponent_fails_where_it_is_said_to_and_only_there():
    """0.8 exp(epsilon/2 - epsilon^2/(16 L)) < sqrt(2 pi)/2: false at 1, true at 0.8."""
    log = np.log(1.25e5)

    def left(epsilon):
        return 0.8 * np.exp(epsilon / 2 - epsilon**2 / (16 * log))

    assert left(1.0) > np.sqrt(2 * np.pi) / 2 > left(0.8)


def test_separated_designs_are_neighbours_with_independent_columns():
    here, there = (np.array(each, dtype=float) for each in theorem1.NEIGHBOURS)
    assert np.allclose([*(here**2).sum(axis=1), *(there**2).sum(axis=1)], 1)
    assert np.linalg.norm(here - there) <= 1
    assert (here != there).any(axis=0).sum() == 1
    assert np.linalg.matrix_rank(here) == np.linalg.matrix_rank(there) == 2
    normal = np.array([1.0, 0.0, -1.0])
    assert np.allclose(normal @ here, 0)
    assert not np.allclose(normal @ there, 0)


def test_rationals_are_on_the_safe_side():
    assert theorem1.E_BELOW < np.e < theorem1.E_ABOVE
    assert np.e**2 < theorem1.E_SQUARED_ABOVE
    assert theorem1.PI_BELOW < np.pi < theorem1.PI_ABOVE


@pytest.mark.parametrize("delta", [0.25, 0.1, 1e-3, 1e-9])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 1.0])
def test_one_entry_of_noise_is_seldom_too_long(delta, epsilon):
    """What `tail_of_one_entry` proves, against the normal distribution."""
    from scipy.stats import norm

    log = np.log(1.25 / delta)
    assert norm.sf((4 * log - epsilon) / (2 * np.sqrt(2 * log))) <= delta / 2


def test_numbers_below_epsilon_prime_are_close_to_it():
    exact = np.sqrt(2 * 19 * np.log(1e5)) + 19 * (np.e - 1)
    below = float(composition.fewer_than_twenty()[-1].left)
    assert exact - 0.1 < below < exact


def test_epsilon_prime_is_no_gain_for_any_t_below_twenty_at_any_epsilon():
    counts = np.arange(1, 20)
    for epsilon in (1e-3, 0.1, 0.5, 1.0):
        growing = counts * epsilon * np.expm1(epsilon)
        assert (np.sqrt(2 * counts * np.log(1e5)) * epsilon + growing > counts * epsilon).all()


def test_the_centre_finds_other_inner_products_in_other_records():
    """The computation reads the messages: with another design it finds that one's."""
    design = make_fraction_matrix([["3/5", "4/5"], ["5/13", "12/13"]])
    run = algorithm.messages_of_a_run(
        (design, make_fraction_column(1, -1)), make_fraction_column(1, 0), 3
    )
    found = algorithm.gram_from_messages(*run)
    assert found == multiply_matrices(design, transpose_matrix(design))


def test_noise_on_a_message_hides_inner_products():
    design = make_fraction_matrix([[1, 0], ["3/5", "4/5"]])
    states, messages = algorithm.messages_of_a_run(
        (design, make_fraction_column(1, 1)), make_fraction_column(1, 0), 3
    )
    noisy = add_matrices(
        messages, scale_matrix(Fraction(1, 10), make_fraction_matrix([[0, 1, 2], [1, 0, 1]]))
    )
    assert algorithm.gram_from_messages(states, noisy) != multiply_matrices(
        design, transpose_matrix(design)
    )


@pytest.mark.parametrize("penalty", [Fraction(1, 10), Fraction(1), Fraction(7)])
def test_admm_has_the_central_minimiser_as_its_fixed_point(penalty):
    assert algorithm.solve_fixed_point(penalty) == Fraction(1, 3)


def test_an_inverse_is_one():
    a = make_fraction_matrix([[0, 2, 1], [1, 0, 0], ["1/3", 1, 4]])
    assert multiply_matrices(a, invert_matrix(a)) == identity_matrix(3)
    with pytest.raises(InvalidArgument, match="independent columns"):
        invert_matrix(make_fraction_matrix([[1, 2], [2, 4]]))


def test_repaired_lines_differ_from_the_printed_ones():
    """A factor of 2 in the exponent, or a lost epsilon, is no identity."""
    u, c, log, epsilon = make_unknowns("u C L epsilon")
    variance = 2 * log * c**2 / epsilon**2
    assert (2 * u * c + c**2) / (2 * variance) != (2 * u + c) * epsilon**2 / (2 * c * log)
