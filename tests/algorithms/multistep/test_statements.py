"""The ledger of Huang & Gong: complete, and its checks fail where a sign or a factor is changed."""

import dataclasses
import importlib
import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.statements.checks import (
    appendix,
    iteration,
    one_node,
    privacy,
    rates,
    update,
)
from dpaudit.algorithms.multistep.statements.huang2020 import PAPER
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.losses import LINEAR
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
from dpaudit.datasets import Dataset
from dpaudit.extension.ledger import CounterexampleEvidence, ProofEvidence
from dpaudit.guarantees.kinds import GaussianDP

ROWS = {row.name: row for row in PAPER.rows}
PLACES = " ; ".join(row.place for row in PAPER.rows)


def findings(check):
    module, _, name = check.partition(":")
    found = getattr(importlib.import_module(module), name)()
    return found if isinstance(found, tuple) else (found,)


def checks(kind):
    return {row.evidence.check: row.repair for row in PAPER.rows if isinstance(row.evidence, kind)}


PROOFS, COUNTEREXAMPLES = checks(ProofEvidence), checks(CounterexampleEvidence)


def equations():
    """Yield every number of an equation in a place: of `eq. (7), (7a) to (7d)` 7, 7a to 7d."""
    for first, last in re.findall(r"\((\d+[a-d]?)\)(?: to \((\d+[a-d]?)\))?", PLACES):
        yield first
        if last:
            yield from (last[:-1] + letter for letter in "abcd" if first[-1] < letter <= last[-1])


def test_every_equation_of_the_paper_stands_in_a_row():
    lettered = {"4a", "4b", "7a", "7b", "7c", "7d", "9a", "9b", "13a", "13b"}
    assert {str(number) for number in range(1, 41)} | lettered == set(equations())


@pytest.mark.parametrize(
    "item",
    [
        *("Definitions 1 and 2", "Definition 3", "Theorem 4", "Lemma 5", "Theorem 6", "Theorem 7"),
        *("Note 1", "Note 2", "Algorithm 1", "Figure 1", "Figure 2", "Figure 3"),
        *("abstract", "section 6", "section 7", "hypothesis"),
    ],
)
def test_every_numbered_statement_stands_in_a_row(item):
    assert item in PLACES


def test_names_differ_and_bear_that_of_the_paper():
    assert len(ROWS) == len(PAPER.rows)
    assert all(name.startswith("huang2020-") for name in ROWS)


@pytest.mark.parametrize("check", PROOFS)
def test_what_is_proved_holds(check):
    assert all(finding.holds for finding in findings(check))


@pytest.mark.parametrize("check", COUNTEREXAMPLES)
def test_what_is_refuted_fails_and_its_repair_holds(check):
    found = findings(check)
    repaired = [finding for finding in found if finding.instance.startswith("repaired")]
    assert not all(finding.holds for finding in found)
    assert all(finding.holds for finding in repaired)


@pytest.mark.parametrize("check", [row.repair_check for row in PAPER.rows if row.repair_check])
def test_what_is_said_to_repair_a_row_holds(check):
    assert all(finding.holds for finding in findings(check))


MISPRINTS = {cause.name for cause in PAPER.causes if cause.nature == "misprint"}


@pytest.mark.parametrize(
    "row", [row for row in PAPER.rows if row.cause in MISPRINTS], ids=lambda row: row.name
)
def test_a_misprint_has_a_repair_that_holds(row):
    found = findings(row.evidence.check)
    assert row.repair
    assert any(finding.instance.startswith("repaired") for finding in found)


def test_misprints_are_what_the_page_on_papers_lists():
    rows = {row.name.removeprefix("huang2020-") for row in PAPER.rows if row.cause in MISPRINTS}
    equations = {f"equation{number}" for number in (11, 13, 18, 27, 29, 30, 33, 36)}
    assert rows == equations | {"preprocessed"}


@pytest.mark.parametrize("check", {**PROOFS, **COUNTEREXAMPLES})
def test_numbers_are_exact(check):
    assert all(
        isinstance(side, int | Fraction)
        for found in findings(check)
        for side in (found.left, found.right)
    )


# Negative controls: what a check rests on is changed, and it no longer finds what it did.
STEPS, RHO = iteration.SymbolicIteration, iteration.RHO
CHANGES = {
    "dual does not move (32)": (STEPS, "new_dual", STEPS.dual, appendix.pull_of_neighbours),
    "dual does not move (34)": (STEPS, "new_dual", STEPS.dual, appendix.common_ground),
    "dual does not move (36)": (STEPS, "new_dual", STEPS.dual, appendix.gain),
    "dual moves the other way": (
        *(STEPS, "new_dual"),
        lambda it, j: (
            2 * it.dual(j)
            - (it.dual(j) - RHO / 2 * (it.sent - iteration.make_named_vector("later0")))
        ),
        appendix.dual_step,
    ),
    "half of the weight": (
        *(STEPS, "weight"),
        lambda it, r: it.neighbours * RHO + it.eta(r),
        appendix.noise_as_gradient,
    ),
    "sign of xi (30)": (
        *(STEPS, "added"),
        lambda it, r: it.weight(r) * it.noise(r),
        appendix.noise_as_gradient,
    ),
    "last model is sent (32)": (
        *(STEPS, "sent"),
        property(lambda it: it.models[-1]),
        appendix.pull_of_neighbours,
    ),
    "last model is sent (33)": (
        *(STEPS, "sent"),
        property(lambda it: it.models[-1]),
        appendix.scatter,
    ),
    "weight without rho": (update, "WEIGHT", update.ETA, update.distance),
    "weight of a later step": (rates, "_SQUARED_WEIGHT", 4, rates.steps_that_help),
    "weight without rho (18)": (update, "WEIGHT", update.ETA, update.check_closed_form),
}


@pytest.mark.parametrize("change", CHANGES)
def test_with_a_change_a_check_finds_something_else(monkeypatch, change):
    place, name, value, check = CHANGES[change]

    def held():
        found = check()
        return [one.holds for one in (found if isinstance(found, tuple) else (found,))]

    before = held()
    monkeypatch.setattr(place, name, value)
    assert held() != before


def test_the_algorithm_makes_the_repaired_update():
    """At one neighbour, rho 1/2 and eta 2, from 0: (18) repaired is -g / 3, as printed g / 3."""
    data = Dataset(np.array([[1.0], [1.0]]), [1, -1], node_sizes=(1, 1))
    algorithm = MultiStepADMM(
        graph=complete(2),
        iterations=2,
        inner_steps=3,
        noise_multiplier=0.0,
        penalty=0.5,
        loss=LINEAR,
        regulariser_weight=0.0,
        step_size=ConstantStepSize(2.0),
    )
    slopes = LINEAR.slope(np.zeros(2)) * np.array([1.0, -1.0])
    mean = algorithm.step(algorithm.start(data, 1), data).mean
    assert np.allclose(mean[0, :, 0], -slopes / 3)
    assert algorithm.objective(mean, data)[0] < algorithm.objective(0 * mean, data)[0]


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_the_noise_that_is_enough_is(epsilon, delta):
    steps, log = 50, math.log(1 / delta)
    sigma = math.sqrt(steps / 2) / (math.sqrt(log + epsilon) - math.sqrt(log))
    assert GaussianDP(math.sqrt(steps) / sigma).delta(epsilon) <= delta


@pytest.mark.parametrize("c0", [0.25, 1.0, 2.0, 10.0])
def test_the_lower_bound_on_delta_is_below_the_exact_one(c0):
    m = math.log(1.25 / 1e-5)
    exact = GaussianDP(c0 * math.sqrt(8 * m)).delta(4 * c0**2 * m)
    bound = float(privacy._exact_delta(Fraction(9) * Fraction(c0), "").left)
    assert 1e-5 < bound <= exact


def test_the_error_of_a_run_is_above_what_is_proved():
    for iterations in (*range(1, 300), 1000, 5000):
        least = (math.sqrt(iterations) - 5) / 20
        assert rates.error_times_iterations(iterations) >= least


def test_a_run_keeps_what_the_proof_says_of_its_cycles():
    shallow, model, models, jumps = 0.25, 0.0, [0.0], []
    for k in range(1, 3000):
        jumps += [k] if model >= 0 else []
        model -= (1.0 if model >= 0 else -shallow) / math.sqrt(2 * k)
        models.append(model)
    size = 1 / np.sqrt(2 * np.arange(1, 3000))
    assert -0.71 <= min(models) <= max(models) <= 0.18
    for first, last in pairwise(jumps):
        moved, total = size[first - 1 : last - 1], -sum(models[first:last])
        assert models[first] <= -0.64 * size[first - 1]
        assert total >= 0.92 * size[first - 1]
        assert 0 < moved.sum() <= 6 * size[first - 1]


def test_a_rate_of_one_over_the_root_is_kept():
    """Negative control: times the root of t, the error stays below a constant."""
    assert rates.error_times_iterations(20_000) / math.sqrt(20_000) < 0.15


@pytest.mark.parametrize(("t", "steps", "fails"), [(9, 9, True), (81, 1, False), (400, 2, True)])
def test_the_double_sum_of_equation_40(t, steps, fails):
    total = sum(1 / math.sqrt(k * r) for k in range(1, t + 1) for r in range(1, steps + 1))
    assert (total > 2 * math.sqrt(t * steps)) is fails
    assert total <= 4 * math.sqrt(t * steps)


def test_theorem_7_is_proved_for_one_node_and_one_step():
    assert all(finding.holds for finding in rates.one_step())
    for t in (1, 2, 10, 500):
        assert sum(k**-0.5 for k in range(1, t + 1)) <= 2 * math.sqrt(t)


def test_the_loss_of_one_node_breaks_theorem_7_in_a_plain_run():
    """The same without whole numbers: the gradient at each model is that of the largest piece."""
    found = one_node.load_published_pieces()
    slopes, values = found.slopes.astype(float) / 1e4, found.values.astype(float) / 1e6
    models = found.models.astype(float) / 1e13
    points = np.vstack([models[:-1], models[:-1].mean(axis=0)])
    offsets = values - np.sum(slopes * points, axis=1)
    model, run = found.start.astype(float) / 1e4, []
    for k in range(1, 13):
        for r in range(1, 13):
            run.append(model)
            model = model - slopes[np.argmax(slopes @ model + offsets)] / math.sqrt(2 * k * r)
    run.append(model)
    apart = np.array([*run, 0 * model])
    distances = np.linalg.norm(apart[:, None] - apart[None], axis=2)
    assert distances.max() < 1
    assert np.linalg.norm(slopes, axis=1).max() <= 1
    error = np.max(slopes @ np.mean(run[:-1], axis=0) + offsets) - offsets.max()
    assert error == pytest.approx(float(found.error()), abs=1e-6)
    bound = math.sqrt(2 / 144)
    assert bound < error < 1.05 * bound
    assert error < 3 / math.sqrt(2 * 144)  # of the bound with the constant repaired


@pytest.mark.parametrize("nodes", [2, 5])
def test_nodes_that_share_the_loss_break_theorem_7_too(nodes):
    """The updates (13a) and (15) of a complete graph, each node with 1/n of the loss."""
    found, rho = one_node.load_published_pieces(), 1e-6
    slopes, values = found.slopes.astype(float) / 1e4, found.values.astype(float) / 1e6
    points = found.models.astype(float) / 1e13
    points[-1] = points[:-1].mean(axis=0)
    offsets = values - np.sum(slopes * points, axis=1)
    models = np.tile(found.start.astype(float) / 1e4, (nodes, 1))
    sent, duals, total, degree = models, 0 * models, 0 * models, nodes - 1
    for k in range(1, 13):
        inner = []
        for r in range(1, 13):
            total = total + models
            eta = math.sqrt(2 * k * r) / nodes  # c_2 / n is 1 / n, D is 1
            gradients = slopes[np.argmax(models @ slopes.T + offsets, axis=1)] / nodes
            pulls = 2 * duals + rho * (sent.sum(axis=0) - sent + degree * sent)
            models = (-gradients + pulls + eta * models) / (2 * rho * degree + eta)
            inner.append(models)
        sent = np.mean(inner, axis=0)
        duals = duals - rho / 2 * (nodes * sent - sent.sum(axis=0))
    losses = (np.max(total / 144 @ slopes.T + offsets, axis=1) - offsets.max()) / nodes
    beta = rho
    bound = math.sqrt(2) / 12 + nodes * degree * (rho + beta**2 / rho) / 12
    assert np.linalg.norm(duals, axis=1).max() <= beta
    assert np.allclose(total, total[0])  # no violation
    assert losses.sum() > 1.03 * bound


@pytest.mark.parametrize("name", ["start", "slopes", "values"])
def test_another_loss_is_no_instance_of_theorem_7(name):
    """Negative control: what is changed by a hundredth breaks a hypothesis, or nothing fails."""
    found = one_node.load_published_pieces()
    changed = getattr(found, name).copy()
    changed[::2] = changed[::2] * 101 // 100
    judged = one_node.judge_pieces(dataclasses.replace(found, **{name: changed}))
    assert not all(finding.holds for finding in judged[:4])


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
@pytest.mark.parametrize("steps", [1, 10, 1000])
def test_with_gaussian_moments_composition_keeps_delta(steps, delta):
    """So Theorem 4's false delta is no fault beside that of the moments."""
    epsilon = 0.1
    a = steps * epsilon**2 / (4 * math.log(1.25 / delta))
    enough = a + 2 * math.sqrt(a * math.log(1 / delta))
    assert GaussianDP(math.sqrt(2 * a)).delta(enough) <= delta
    assert ROWS["huang2020-theorem4"].cause == ROWS["huang2020-log-moment"].cause


@pytest.mark.parametrize("steps", [2, 3, 12])
def test_weights_fall_between_iterations_for_two_inner_steps_and_more(steps):
    assert any(2 * k * steps > 2 * (k + 1) for k in (1, 2))
    assert not any(2 * k * 1 > 2 * (k + 1) for k in range(1, 100))
