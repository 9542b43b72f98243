"""The ledger of hu2019: it is complete, its checks are exact, and they see what is wrong."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.algorithms.sharing.claims.hu2019 import iterations as searched
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import (
    compute_batched_lagrangian as float_lagrangian,
)
from dpaudit.algorithms.sharing.statements.hu2019 import PAPER
from dpaudit.algorithms.sharing.statements.hu2019.checks import (
    exact_runs,
    lemmas,
    limit_points,
    method,
    noise,
    privacy,
    rate,
    sensitivity,
)
from dpaudit.algorithms.sharing.statements.hu2019.checks.exact_runs import (
    ExactProblem,
    compute_exact_gap,
    make_fraction_numbers,
    run,
)
from dpaudit.algorithms.sharing.statements.hu2019.checks.instances import (
    equal_columns,
    make_bounded_models_problem,
    make_limit_cycle,
)
from dpaudit.errors import InvalidArgument
from dpaudit.extension.identities import make_identity_finding
from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence
from dpaudit.polynomials import make_unknowns

MODULES = (lemmas, limit_points, method, noise, privacy, rate, sensitivity)
CHECKED = [row for row in PAPER.rows if isinstance(row.evidence, ProofEvidence)]
REFUTED = [row for row in PAPER.rows if isinstance(row.evidence, CounterexampleEvidence)]


def found_by(row):
    module, _, name = row.evidence.check.partition(":")
    found = getattr(importlib.import_module(module), name)()
    return found if isinstance(found, tuple) else (found,)


# Complete


def numbers_of(places, kind):
    """Every number after ``eq.``, say, where places are ranges and lists of numbers."""
    found = set()
    for place in places:
        for start, _, stop in re.findall(rf"{kind} \(?(\d+)\)?( (?:to|and) \(?(\d+)\)?)?", place):
            found |= set(range(int(start), int(stop or start) + 1))
    return found


PLACES = [row.place for row in PAPER.rows]


def test_every_numbered_equation_has_a_row():
    assert numbers_of(PLACES, r"eq\.") == set(range(1, 46))


@pytest.mark.parametrize(
    ("kind", "count"), [("Lemma", 5), ("Definition", 2), ("Theorem", 1), ("Corollary", 1)]
)
def test_every_statement_with_a_number_has_a_row(kind, count):
    assert numbers_of(PLACES, kind) == set(range(1, count + 1))


@pytest.mark.parametrize(
    "place",
    [
        *(f"Assumption 1.{k}" for k in range(1, 5)),
        *(f"Assumption 2.{k}" for k in range(1, 4)),
        *(f"Theorem ??, Part {k}" for k in range(1, 4)),
        *(f"Fig. {k}" for k in range(1, 4)),
        "Algorithm 1",
        "abstract",
        *(f"section {k}" for k in ("1", "1.1", "2", "3", "4", "5", "7.1", "7.2", "7.3", "7.4")),
    ],
)
def test_every_part_of_the_paper_has_a_row(place):
    assert any(place in one for one in PLACES)


def test_every_check_decides_a_row_or_is_used_by_one_that_does():
    called = "".join(inspect.getsource(module) for module in MODULES)
    named = {row.evidence.check for row in (*CHECKED, *REFUTED)}
    named |= {row.repair_check for row in PAPER.rows}
    for module in MODULES:
        for name, one in inspect.getmembers(module, inspect.isfunction):
            if one.__module__ == module.__name__:
                decides = f"{module.__name__}:{name}" in named
                assert decides or called.count(f"{name}(") > 1, name


# Exact, and right


@pytest.mark.parametrize("row", CHECKED, ids=lambda row: row.name)
def test_what_is_proved_holds(row):
    assert all(finding.holds for finding in found_by(row))


@pytest.mark.parametrize("row", REFUTED, ids=lambda row: row.name)
def test_what_is_refuted_does_not_hold_and_its_repair_does(row):
    found = found_by(row)
    assert not all(finding.holds for finding in found)
    assert all(finding.instance for finding in found)


@pytest.mark.parametrize("row", [*CHECKED, *REFUTED], ids=lambda row: row.name)
def test_both_sides_are_rational_numbers(row):
    """Where a side is a logarithm or a root, a rational bound of it decides as well."""
    sides = [side for one in found_by(row) for side in (one.left, one.right)]
    assert all(isinstance(side, Fraction | int) for side in sides)


def test_bounds_of_logarithms_and_tails_are_on_the_right_side():
    """In floats: what exact findings bound is where they say it is."""
    spread = math.sqrt(2 * 19 * math.log(1e5))
    assert 53.5 < float(privacy.fewer_than_twenty_rounds()[0].left) < spread + 19 * math.expm1(1)
    s = 47 / (2 * math.sqrt(24))
    tail = math.erfc(s / math.sqrt(2)) / 2
    printed = math.exp(-(47**2) / 96) / (s * math.sqrt(2 * math.pi))
    assert 1 < float(noise.exponent_of_the_tail()[2].left) < tail / printed
    for delta in (1e-9, 1e-5, 1e-2, 0.4):
        for epsilon in (0.01, 0.5, 1.0):
            c = math.sqrt(2 * math.log(1.25 / delta))
            r = c - epsilon / (2 * c)
            assert math.erfc(r / math.sqrt(2)) / 2 <= delta / 2
            if delta <= 1e-5:  # d_m = 2: the length of the noise
                longer = math.exp(-(r**2) / 2) > delta
                assert longer == (epsilon / 2 - epsilon**2 / (8 * c**2) > math.log(1.25))


@pytest.mark.parametrize(
    "problem",
    [
        equal_columns(3, 10, 9),
        equal_columns(2, 3, ridge=Fraction(1, 2)),
        ExactProblem(
            columns=(make_fraction_numbers(1, "1/2"), make_fraction_numbers("1/3", 1)),
            labels=make_fraction_numbers(1, -1),
            curvatures=make_fraction_numbers(1, 1),
            penalty=Fraction(4),
        ),
    ],
    ids=["diverging", "with a ridge", "two samples"],
)
def test_exact_runs_are_those_of_the_searches(problem):
    """The iterations in floats, written for many problems at once, share no line with these."""
    parties, samples = len(problem.columns), len(problem.labels)
    setting = searched.IterationSetting(
        parties=parties,
        features=1,
        samples=samples,
        penalty=float(problem.penalty),
        regulariser_weight=float(problem.ridge),
        loss_weight=float(problem.curvatures[0]),
    )
    batch = searched.Problems(
        setting=setting,
        designs=np.array(problem.columns, dtype=float)[None, :, :, None],
        labels=np.array(problem.labels, dtype=float)[None],
    )
    zero = (np.zeros((1, parties, 1)), np.zeros((1, samples)), np.zeros((1, samples)))
    start = searched.starting_point(batch, *zero)
    for exact, point in zip(
        run(problem, 6), searched.run_sharing_iterations(batch, start, 6), strict=True
    ):
        assert np.ravel(point.models) == pytest.approx([float(x) for x in exact.models])
        assert point.prediction[0] == pytest.approx([float(z) for z in exact.prediction])
        assert point.dual[0] == pytest.approx([float(y) for y in exact.dual])
        value = float(exact_runs.compute_exact_lagrangian(problem, exact))
        assert float(float_lagrangian(batch, point)[0][0]) == pytest.approx(value)


@pytest.mark.parametrize(
    "outside",
    [
        {"penalty": Fraction(1)},  # rho gamma = 2 L^2
        {"penalty": Fraction(3, 2)},  # gamma_m = 3/2 < 2 sigma_max
        {"columns": (make_fraction_numbers(0),)},  # not of full column rank
        {"curvatures": make_fraction_numbers(4)},  # rho < L
    ],
)
def test_instances_outside_assumption_1_are_refused(outside):
    inside = equal_columns(1, 3)
    with pytest.raises(InvalidArgument, match=r"Assumption 1\.2"):
        dataclasses.replace(inside, **outside)


def test_a_bounded_run_reaches_the_cycle_from_zero():
    problem, points = make_bounded_models_problem(), make_limit_cycle()
    last = run(problem, 60)[-1]
    nearest = min(
        abs(float(last.prediction[0] - point.prediction[0]))
        + abs(float(compute_exact_gap(problem, last)[0]))
        for point in points
    )
    apart = min(abs(float(last.prediction[0] - point.prediction[0])) for point in points)
    assert apart < 1e-12
    assert nearest > 3  # and the gap is not small there


@pytest.mark.parametrize("row", [row for row in REFUTED if row.answer], ids=lambda row: row.name)
def test_fractions_that_an_answer_states_are_those_of_its_check(row):
    sides = {abs(Fraction(side)) for one in found_by(row) for side in (one.left, one.right)}
    quoted = re.findall(r"(?<![\w/])(\d+/\d+)(?![\w/])", row.answer)
    assert {Fraction(one) for one in quoted} <= sides | {Fraction(15, 7)}  # z at the limit point


def test_the_lagrangian_of_bounded_models_alternates_between_two_values():
    problem, (one, other) = make_bounded_models_problem(), make_limit_cycle()
    apart = exact_runs.compute_exact_lagrangian(problem, one) - exact_runs.compute_exact_lagrangian(
        problem, other
    )
    assert abs(apart) == 108


REPAIRED = [row for row in PAPER.rows if row.repair_check]


@pytest.mark.parametrize("row", REPAIRED, ids=lambda row: row.name)
def test_a_repair_that_names_a_proof_is_proved(row):
    module, _, name = row.repair_check.partition(":")
    found = getattr(importlib.import_module(module), name)()
    assert all(one.holds for one in (found if isinstance(found, tuple) else (found,)))


# Negative controls: what is wrong is seen


def test_a_wrong_factor_or_sign_is_no_identity():
    x, y = make_unknowns("x y")
    square = x**2 + 2 * x * y + y**2
    assert make_identity_finding((x + y) ** 2, square, "right").holds
    assert not make_identity_finding((x + y) ** 2, square - 4 * x * y, "sign").holds
    assert not make_identity_finding(2 * (x + y) ** 2, square, "factor").holds


def wrong(monkeypatch, module, name, replacement):
    monkeypatch.setattr(module, name, replacement)


def slipped_dual(scale):
    """Return iterations with ``scale`` times rho in (8)."""
    right = exact_runs.advance_exact_state

    def advanced(problem, state):
        new = right(problem, state)
        step = zip(new.dual, state.dual, strict=True)
        return dataclasses.replace(new, dual=tuple(y + scale * (n - y) for n, y in step))

    return advanced


@pytest.mark.parametrize("scale", [2, -1, Fraction(1001, 1000)], ids=["factor", "sign", "slip"])
@pytest.mark.parametrize(
    "check",
    [lemmas.slope_is_dual, lemmas.dual_moves_less, limit_points.steps_follow],
    ids=lambda one: one.__name__,
)
def test_proofs_about_runs_fail_where_the_dual_update_is_wrong(monkeypatch, check, scale):
    monkeypatch.setattr(exact_runs, "advance_exact_state", slipped_dual(scale))
    assert not all(finding.holds for finding in check())


def test_a_longer_dual_step_breaks_the_corrected_lemma_4(monkeypatch):
    monkeypatch.setattr(exact_runs, "advance_exact_state", slipped_dual(3))
    assert not all(finding.holds for finding in lemmas.fall_with_the_penalty())


def test_less_than_the_corrected_penalty_is_not_enough(monkeypatch):
    """For equal columns the corrected Lemma 4 is met with equality, so that a slip is seen."""
    right = exact_runs.compute_exact_lagrangian
    monkeypatch.setattr(
        lemmas,
        "compute_exact_lagrangian",
        lambda problem, state: Fraction(999, 1000) * right(problem, state),
    )
    assert not all(finding.holds for finding in lemmas.fall_with_the_penalty())


@pytest.mark.parametrize(
    ("module", "name", "check"),
    [
        (rate, "first_constant", rate.residual_by_steps),
        (rate, "compute_exact_residual", rate.residual_by_steps),
    ],
)
def test_a_constant_that_is_far_too_small_is_seen(monkeypatch, module, name, check):
    right = getattr(module, name)
    scale = Fraction(1, 1000) if name == "first_constant" else 1000
    monkeypatch.setattr(module, name, lambda *given: scale * right(*given))
    assert not all(finding.holds for finding in check())


def sequential(problem, state):
    """Return an iteration in which a party sees the new models of those before it."""
    models = list(state.models)
    for m in range(len(models)):
        seen = dataclasses.replace(state, models=tuple(models))
        models[m] = exact_runs._update_exact_model(problem, seen, m)
    reached = problem.reached(tuple(models))
    prediction = exact_runs.update_exact_prediction(problem, reached, state.dual)
    moved = zip(state.dual, reached, prediction, strict=True)
    dual = tuple(y + problem.penalty * (s - z) for y, s, z in moved)
    return exact_runs.ExactState(models=tuple(models), prediction=prediction, dual=dual)


@pytest.mark.parametrize(
    "check",
    [
        lemmas.rising_lagrangian,
        limit_points.sequential_conditions,
        limit_points.sequential_conditions_of_nonconvex,
    ],
    ids=lambda one: one.__name__,
)
def test_a_sequential_update_makes_what_is_refuted_true(monkeypatch, check):
    """The statements are those of the sequential algorithm, of which they have a proof."""
    monkeypatch.setattr(exact_runs, "advance_exact_state", sequential)
    first, *_ = check()
    assert first.holds


@pytest.mark.parametrize(
    "check",
    [rate.fall_by_the_constant, rate.residual_by_fall, lemmas.fall_before_the_dual],
    ids=lambda one: one.__name__,
)
def test_with_one_party_what_is_refuted_of_several_is_true(monkeypatch, check):
    module = importlib.import_module(check.__module__)
    right = equal_columns
    monkeypatch.setattr(
        module, "equal_columns", lambda _, *given, **named: right(1, *given, **named)
    )
    assert check().holds


def test_without_a_border_nothing_is_left_of_the_residual_at_rest(monkeypatch):
    problem = equal_columns(1, 3)
    rest = exact_runs.ExactState(models=(1,), prediction=(Fraction(1),), dual=(Fraction(0),))
    monkeypatch.setattr(rate, "at_rest", lambda: (problem, rest))
    assert all(finding.holds for finding in rate.residual_at_rest())


def test_no_stationary_point_is_nearer_than_said_to_the_limit_point():
    """Over a grid of the stationary points: z = 1, y = 0, and x in the cube with the sum 1."""
    *_, last = limit_points.distance_of_a_subsequence()
    point, _ = make_limit_cycle()
    apart = float((point.prediction[0] - 1) ** 2 + point.dual[0] ** 2)
    grid = [Fraction(k, 6) for k in range(-12, 13)]
    found = [
        sum(float((x - own) ** 2) for x, own in zip((a, b, 1 - a - b), point.models, strict=True))
        for a in grid
        for b in grid
        if abs(1 - a - b) <= 2
    ]
    assert min(found) + apart == pytest.approx(float(last.left))


def test_a_wide_interval_lets_two_parties_settle():
    """Without its cause, three parties, the run of the cycle converges."""
    problem = equal_columns(2, 10, 9, interval=(Fraction(-2), Fraction(2)))
    last = run(problem, 200)[-1]
    assert abs(float(compute_exact_gap(problem, last)[0])) < 1e-3


def test_the_projection_has_every_direction_where_the_design_is_square(monkeypatch):
    """For d_m = N = 1 the message's noise is that of the proof: the counterexample is gone."""
    monkeypatch.setattr(privacy, "make_fraction_numbers", lambda *_: (Fraction(1), Fraction(0)))
    variance, covariance = privacy.variance_of_a_message()
    assert covariance.holds
    assert not variance.holds  # its second entry has none


def test_designs_that_share_a_column_space_are_not_told_apart(monkeypatch):
    monkeypatch.setattr(privacy, "NEIGHBOUR", privacy.DESIGN)
    assert all(finding.holds for finding in privacy.one_sided_message())
