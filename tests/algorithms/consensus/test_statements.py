"""The ledger of zhang2018: complete, exact, and with checks that can fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dpaudit.algorithms.consensus.quadratics import compute_contraction_rate, first_step, forms_22
from dpaudit.algorithms.consensus.statements.checks import (
    convergence,
    densities,
    rates,
    remarks,
    stacked_rows,
    stacking,
)
from dpaudit.algorithms.consensus.statements.checks.two_nodes import TwoNodes, TwoNodeStep
from dpaudit.algorithms.consensus.statements.zhang2018 import PAPER
from dpaudit.datasets import ADULT_FEATURES
from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence
from dpaudit.extension.registry import PAPERS
from dpaudit.ledger.checks import run_check
from dpaudit.ledger.installed_papers import make_installed_ledger
from dpaudit.polynomials import vectors

LEDGER = make_installed_ledger()
CHECKED = {
    row.name: row.evidence.check
    for row in PAPER.rows
    if isinstance(row.evidence, ProofEvidence | CounterexampleEvidence)
}
REPAIRED = {row.name: row.repair_check for row in PAPER.rows if row.repair_check}
COUNTEREXAMPLES = [
    row.evidence.check for row in PAPER.rows if isinstance(row.evidence, CounterexampleEvidence)
]
F = Fraction
gradient, update, largest = (
    stacking.differentiate_quadratic,
    remarks.compute_first_model_update,
    remarks._compute_largest_share,
)


def numbers(kind: str) -> set[str]:
    """Return the numbers of a kind that rows name in their places, ranges included."""
    found = set[str]()
    for row in PAPER.rows:
        for part in re.findall(rf"{kind}s? ((?:\(?[\d.]+\)?(?:, | and | to )?)+)", row.place):
            ends = re.findall(r"[\d.]+", part)
            if " to " in part:
                found |= {str(n) for n in range(int(ends[0]), int(ends[1]) + 1)}
            found |= set(ends)
    return found


def test_the_paper_is_registered() -> None:
    assert PAPERS.all()["zhang2018"] is PAPER


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("eq.", {str(n) for n in range(1, 67)}),
        ("Assumption", set("12345")),
        ("Theorem", {"3.1", "3.2", "4.1"}),
        ("Lemma", {"3.1"}),
        ("Definition", {"4.1"}),
        ("Figure", set("1234")),
        ("footnote", set("1234")),
        ("Algorithm", {"1"}),
    ],
)
def test_every_number_of_the_paper_is_in_a_place(kind: str, expected: set[str]) -> None:
    assert expected <= numbers(kind)


def test_rows_say_which_section_or_appendix_they_are_in() -> None:
    assert all(re.match(r"abstract|section [1-7]|appendix [A-E]", row.place) for row in PAPER.rows)


@pytest.mark.parametrize("row", PAPER.rows, ids=lambda row: row.name)
def test_a_row_has_a_verdict(row: Any) -> None:
    assert LEDGER.judge(row.name).verdict


@pytest.mark.parametrize("check", sorted({*CHECKED.values(), *REPAIRED.values()}))
def test_checks_are_exact(check: str) -> None:
    for finding in run_check(check):
        assert isinstance(finding.left, int | Fraction)
        assert isinstance(finding.right, int | Fraction)


@pytest.mark.parametrize("check", COUNTEREXAMPLES)
def test_what_refutes_is_one_relation_and_not_its_hypotheses(check: str) -> None:
    """Findings that fail come after those that show that the hypotheses hold."""
    held = [finding.holds for finding in run_check(check)]
    assert held == sorted(held, reverse=True)
    assert not held[-1]


@pytest.mark.parametrize("name", REPAIRED)
def test_what_repairs_a_row_holds_and_is_not_what_refutes_it(name: str) -> None:
    assert all(finding.holds for finding in run_check(REPAIRED[name]))
    assert CHECKED.get(name) != REPAIRED[name]


def test_repairs_without_a_proof_are_those_that_have_no_formula() -> None:
    open_repairs = {row.name for row in PAPER.rows if row.repair and not row.repair_check}
    assert open_repairs == {
        "zhang2018-section5-records",
        "zhang2018-section62-infers",
        "zhang2018-appendixE",
    }


def test_privacy_is_proved_and_private_penalties_do_not_hide() -> None:
    judged = {name: LEDGER.judge(f"zhang2018-{name}") for name in ("theorem41", "section62")}
    assert judged["theorem41"].verdict == "proved"
    assert judged["section62"].verdict == "refuted"
    steps = [row for row in PAPER.rows if row.place.startswith("appendix D") and row.privacy]
    assert {LEDGER.judge(row.name).verdict for row in steps} == {"proved"}


# --- two nodes against the code that is audited ---------------------------------------------------


def as_batch(state: TwoNodes, **more: float) -> dict[str, np.ndarray[Any, Any]]:
    named = {
        "penalty": state.penalties,
        "curvature": state.curvatures,
        "slope": state.slopes,
        "start": state.models,
    }
    batch = {name: np.array([[float(x) for x in pair]]) for name, pair in named.items()}
    batch["adjacency"] = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    return batch | {name: np.array([value]) for name, value in more.items()}


@pytest.mark.parametrize("state", [convergence.OWN, convergence.STRONG, rates.AGREEING])
def test_an_exact_step_is_that_of_the_audited_code(state: TwoNodes) -> None:
    exact, step = TwoNodeStep.of(state), first_step(as_batch(state), float(state.dual_step))
    assert float(exact.inner) == pytest.approx(step.product[0], abs=1e-12)
    assert float(exact.distance_before) == pytest.approx(step.before[0], abs=1e-12)
    assert float(exact.after.distance) == pytest.approx(step.after[0], abs=1e-12)


@pytest.mark.parametrize("state", [convergence.OWN, convergence.STRONG, rates.AGREEING])
def test_one_number_for_the_duals_stands_for_all_of_y(state: TwoNodes) -> None:
    """Equations (15) to (18) with matrices: the root of D - A, Y(t), Y*, Z and J as printed."""
    theta, after = float(state.dual_step), state.after()
    laplacian, signless = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.ones((2, 2))
    root, weights = laplacian / np.sqrt(2), np.diag([float(x) for x in state.penalties])
    m, b = (np.array([float(x) for x in pair]) for pair in (state.curvatures, state.slopes))
    f, later = (np.array([float(x) for x in one.models]) for one in (state, after))
    best = np.full(2, float(state.optimum))
    y, y_later, y_best = (
        np.array([1.0, -1.0]) * float(p) / np.sqrt(2)
        for p in (state.dual, after.dual, state.dual - state.dual_gap)
    )
    fifteen = m * later - b + root @ y_later + (weights - theta * np.eye(2)) @ laplacian @ later
    assert fifteen + weights @ signless @ (later - f) == pytest.approx(np.zeros(2), abs=1e-12)
    assert y_later == pytest.approx(y + theta * root @ later, abs=1e-12)
    assert m * best - b + root @ y_best == pytest.approx(np.zeros(2), abs=1e-12)
    metric = np.zeros((4, 4))
    metric[:2, :2], metric[2:, 2:] = np.eye(2) / theta, weights @ signless
    z, z_later, z_best = (
        np.concatenate(pair) for pair in ((y, f), (y_later, later), (y_best, best))
    )
    exact = TwoNodeStep.of(state)
    assert float(exact.inner) == pytest.approx((z_later - z_best) @ metric @ (z_later - z))
    assert float(exact.moved) == pytest.approx((z_later - z) @ metric @ (z_later - z))
    assert float(state.distance) == pytest.approx((z - z_best) @ metric @ (z - z_best))
    held = (later - best) @ (weights - theta * np.eye(2)) @ laplacian @ (later - best)
    assert float(exact.held) == pytest.approx(held)


def test_the_exact_rate_is_that_of_the_audited_code() -> None:
    batch = as_batch(rates.AGREEING, mu=1.5)
    found = compute_contraction_rate(batch, 1.0, proved=False)[0]
    assert float(rates.compute_equation23_rate(rates.AGREEING, F(3, 2))) == pytest.approx(found)


@pytest.mark.parametrize("state", [convergence.STRONG, rates.AGREEING])
@pytest.mark.parametrize("along", [(1, 1), (1, -1), (2, -1)])
def test_the_exact_sides_of_22_are_those_of_the_audited_code(
    state: TwoNodes, along: tuple[int, int]
) -> None:
    batch = as_batch(state, mu=2.0) | {"start": np.array([along], dtype=float)}
    sides = rates.compute_equation22_sides(state, F(2))
    left, right, _ = forms_22(batch, 1.0)
    x, y = along
    for (a, b, c), found in ((sides.left, left), (sides.right, right)):
        assert float(a * x**2 + 2 * b * x * y + c * y**2) == pytest.approx(found[0])


@pytest.mark.parametrize("shared", [F(1), F(2), F(7, 2)])
@pytest.mark.parametrize("models", [(3, -2), (-1, 0), (2, 0), (0, 0)])
def test_nothing_of_the_proofs_fails_with_one_penalty(
    shared: Fraction, models: tuple[int, int]
) -> None:
    """The control: the same lines on the same instances hold where all nodes share a penalty."""
    state = TwoNodes(
        penalties=(shared, shared),
        dual_step=F(1),
        curvatures=(F(1), F(1)),
        slopes=(F(1), F(0)),
        models=(F(models[0]), F(models[1])),
    )
    step = TwoNodeStep.of(state)
    assert step.inner <= 0
    assert 2 * step.inner == step.after.distance + step.moved - step.distance_before
    fall = step.distance_before - step.after.distance
    assert step.moved <= fall - 2 * step.curved - 2 * step.held
    trace, determinant = rates.compute_equation22_sides(state, F(2)).gap(F(1, 100))
    assert min(trace, determinant) >= 0
    assert F(1, 100) * step.after.distance <= step.moved + 2 * step.curved + 2 * step.held
    assert F(101, 100) * step.after.distance <= step.distance_before


@pytest.mark.parametrize(
    "changes",
    [
        {"penalties": (F(1, 2), F(2))},
        {"dual_step": F(0)},
        {"curvatures": (F(-1), F(1))},
    ],
)
def test_a_state_outside_the_hypotheses_is_refused(changes: dict[str, Any]) -> None:
    given = vars(convergence.OWN) | changes
    with pytest.raises(ValueError, match=r"penalties|curvatures"):
        TwoNodes(**given)


def test_growing_penalties_leave_at_least_what_is_claimed() -> None:
    """The share that is left for ever, against the product to the 60th factor."""
    left = 1.0
    for k in range(1, 61):
        left /= 1 + 2.0**-k
    assert float(convergence.share_left()) <= left < 0.42
    assert [str(state.models[0]) for state in convergence.growing_penalties()[1:]] == [
        "1/3",
        "7/15",
        "71/135",
    ]


# --- identities with a sign or a factor changed ---------------------------------------------------


def test_symbolic_identities_fail_with_another_matrix() -> None:
    new = stacked_rows.make_unknown_rows("f")
    laplacian, signless = stacking.LAPLACIAN, stacking.SIGNLESS
    assert not all(
        finding.holds
        for finding in stacking.check_same_rows(
            stacked_rows.multiply_stacked_rows(laplacian, new),
            stacked_rows.multiply_stacked_rows(signless, new),
            "sign of A",
        )
    )
    halved = tuple(row / 2 for row in stacked_rows.multiply_stacked_rows(laplacian, new))
    left = stacked_rows.multiply_stacked_rows(laplacian, new)
    assert not any(
        finding.holds for finding in stacking.check_same_rows(left, halved, "a factor of two")
    )


def test_the_derivative_of_a_square_has_its_factor() -> None:
    f, g = vectors("f g")
    found = stacking.differentiate_quadratic(lambda at: (at - g).square, f, stacked_rows.PROBE)
    assert stacked_rows.check_same_vectors(2 * f - 2 * g, 2 * (f - g), "twice").holds
    assert found == (2 * f - 2 * g) @ stacked_rows.PROBE
    assert found != (f - g) @ stacked_rows.PROBE


def test_a_metric_that_is_not_symmetric_has_no_cosine_rule() -> None:
    assert stacking.cosine_rule(stacking.LAPLACIAN).holds
    assert not stacking.own_cosine_rule().holds


# --- section 4 to 6, against numbers --------------------------------------------------------------


@pytest.mark.parametrize("eta", [F(1, 2), F(1), F(5)])
@pytest.mark.parametrize("noise", [F(0), F(1), F(-3)])
def test_the_update_is_the_minimiser_of_25(eta: Fraction, noise: Fraction) -> None:
    other = F(1)
    found = remarks.compute_first_model_update(eta, other, noise)

    def objective(f: Fraction) -> Fraction:
        return f**2 / 2 + eta * (f + noise - other / 2) ** 2

    assert all(objective(found) < objective(found + step) for step in (F(1, 99), F(-1, 99)))


def test_a_model_is_1_then_4_then_2_from_the_optimum() -> None:
    assert list(map(str, remarks.compute_noiseless_distances())) == ["1", "4", "2"]


def test_a_dual_noise_of_one_law_has_the_smaller_effect() -> None:
    assert remarks.resistance_to_dual_noise()[0].holds
    assert not remarks.resistance_to_noise().holds


@pytest.mark.parametrize("eta", [F(1, 2), F(1)])
def test_a_step_of_two_nodes_minimises_10_and_moves_duals_by_11(eta: Fraction) -> None:
    """`after_steps` has the penalty 1; with another one a model would not be the minimiser."""
    steps, duals, models = (F(1, 2), F(1, 4)), (F(2, 5), F(-1, 5)), (F(1, 7), F(3))
    (one, two), moved = remarks.after_steps(models, duals, steps)
    mean = sum(models) / 2
    for found, dual, slope in ((one, duals[0], 0), (two, duals[1], 1)):
        gradient_there = found - slope + dual + 2 * eta * (found - mean)
        assert (gradient_there == 0) is (eta == 1)
    assert moved == (duals[0] + steps[0] * (one - two), duals[1] + steps[1] * (two - one))


def test_own_dual_steps_end_at_another_optimum_and_one_step_for_all_does_not() -> None:
    *hypotheses, last = remarks.own_dual_steps()
    assert all(finding.holds for finding in hypotheses)
    assert last.left == F(2, 3)
    assert all(remarks.resting_model((step, step)) == F(1, 2) for step in (F(1, 4), F(1, 2)))


def test_unevenly_spread_records_need_one_degree() -> None:
    assert remarks.uneven_records()[0].holds
    assert not remarks.uneven_star().holds


def test_many_directions_lose_more_than_is_allowed() -> None:
    """The exact logarithm lies above the lower bound that the check has, and both above (26)."""
    found = remarks.many_directions()
    assert float(found.right) < float(found.left) <= 104 * np.log1p(0.25)


def test_adult_has_the_features_that_the_check_counts() -> None:
    assert [finding.left for finding in remarks.records_of_adult()] == [
        45_222,
        len(ADULT_FEATURES),
    ]


def test_the_logarithm_is_bounded_with_1_4_and_not_with_1_38() -> None:
    held, _ = densities.logarithm()
    assert held.holds
    assert float(held.left) == pytest.approx(2 * np.log(2), abs=1e-3)
    assert float(held.left) > 2 * np.log(2) > 1.38


# --- each proof with one sign or factor of it changed ---------------------------------------------

_ROOT_ADDED = stacked_rows.add_scaled_matrix(
    stacked_rows.add_scaled_matrix(stacking._DIAGONAL, stacking._DIAGONAL), stacking._SQUARE
)
MUTATIONS: dict[str, tuple[ModuleType, str, Any, Callable[[], Any]]] = {
    "(13) with D - A for D + A": (
        stacking,
        "SIGNLESS",
        stacking.LAPLACIAN,
        stacking.check_stacked_updates,
    ),
    "(14) with D + A for D - A": (
        stacking,
        "LAPLACIAN",
        stacking.SIGNLESS,
        stacking.check_stacked_updates,
    ),
    "squares of D - A with D + A": (
        stacking,
        "LAPLACIAN",
        stacking.SIGNLESS,
        stacking.laplacian_squares,
    ),
    "forms of one penalty with D - A for D + A": (
        stacking,
        "SIGNLESS",
        stacking.LAPLACIAN,
        stacking.check_shared_forms,
    ),
    "(15) with the sign of D - A": (stacking, "_SUM", _ROOT_ADDED, stacking.check_rooted_updates),
    "(15) without theta": (stacking, "EXCESS", stacking.ETA, stacking.check_rooted_updates),
    "(38) with a root that is not symmetric": (
        stacking,
        "_ROOT",
        stacked_rows.multiply_symbol_matrices(stacking._ROOT, stacking._DIAGONAL),
        stacking.monotone_step,
    ),
    "(12) with twice the penalty": (
        stacking,
        "differentiate_quadratic",
        lambda *given: 2 * gradient(*given),
        stacking.stationarity,
    ),
    "dual noise with two neighbours for three": (densities, "_DEGREE", 2, densities.dual_noise),
    "(58) with two neighbours for three": (densities, "_DEGREE", 2, densities.noise_behind),
    "Jacobian with a bend of another loss": (
        densities,
        "_build_cubic_bend",
        densities._build_cubic_slope,
        densities.jacobian,
    ),
    "entries of W (D + A) 1 with D - A": (
        convergence,
        "SIGNLESS",
        stacking.LAPLACIAN,
        convergence.second_statement_repaired,
    ),
    "the sum of W (D + A) with twice the degrees": (
        convergence,
        "DEGREES",
        stacked_rows.add_scaled_matrix(stacking.DEGREES, stacking.DEGREES),
        convergence.two_cases,
    ),
    "-ln(1 - x) with 1.38": (densities, "_LOG", F(138, 100), densities.logarithm),
    "the contraction with a larger sigma_min": (rates, "_NONZERO", F(40), rates.least_on_range),
    "the smaller rate with (23)": (
        rates,
        "smaller_rate",
        rates.compute_equation23_rate,
        rates.falling_smaller_rate,
    ),
    "(22) met with (23)": (
        rates,
        "smaller_rate",
        rates.compute_equation23_rate,
        rates.check_proved_rate,
    ),
    "dual noise at the other penalty": (
        remarks,
        "compute_first_model_update",
        lambda eta, noise: update(eta, noise=1 / noise),
        remarks.resistance_to_dual_noise,
    ),
    "uneven records on a star": (
        remarks,
        "_compute_largest_share",
        lambda sizes, _: largest(sizes, (3, 1, 1, 1)),
        remarks.uneven_records,
    ),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_changed_proof_fails(mutation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, value, check = MUTATIONS[mutation]
    assert all(finding.holds for finding in check())
    monkeypatch.setattr(module, name, value)
    assert not all(finding.holds for finding in check())


def test_numbers_that_rows_quote_are_those_of_their_checks() -> None:
    rows = {row.name: row for row in PAPER.rows}
    steps = remarks.own_dual_steps()[-1]
    assert f"end at {steps.left} where the optimum is {steps.right}" in (
        rows["zhang2018-section31-steps-optimum"].answer
    )
    assert f"at least {convergence.share_left()} of" in rows["zhang2018-theorem31"].answer
    one, two, three = remarks.compute_noiseless_distances()
    assert f"are {one}, {two} and {three} at t = 0, 1 and 2" in (
        rows["zhang2018-section61-toward"].note
    )
    count, features = (finding.left for finding in remarks.records_of_adult())
    assert rows["zhang2018-section5-records"].repair == (
        f"{count:,} individuals with {features} features"
    )
    contraction = run_check(CHECKED["zhang2018-contraction"])[-1]
    assert "delta = 1/8" in contraction.instance
    assert "delta = 1/8" in rows["zhang2018-contraction"].note


def test_convergence_needs_no_more_than_a_theta_up_to_the_penalty() -> None:
    assert all(finding.holds for finding in convergence.without_condition_on_theta())
    models, dual, eta = np.array([3.0, -2.0]), 0.0, 1 / 8  # O_i = f^2/2, theta = eta
    for _ in range(2000):
        models = (np.array([-dual, dual]) + eta * models.sum()) / (1 + 2 * eta)
        dual += eta * (models[0] - models[1])
    assert np.abs(models).max() < 1e-6
