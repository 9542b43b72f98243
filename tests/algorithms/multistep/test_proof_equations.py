"""Equations of the proof of Theorem 7: what is wrong is refuted, what is right stands."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.claims.proof.equations import (
    EQUATION_29,
    EQUATION_30,
    EQUATION_32,
    EQUATION_33,
    EQUATION_34,
    EQUATION_36,
)
from dpaudit.algorithms.multistep.claims.proof.iteration import (
    EQUATIONS,
    EquationAudit,
    draw_integer_iteration,
)
from dpaudit.algorithms.multistep.statements.checks.iteration import SymbolicIteration
from dpaudit.algorithms.multistep.verify.proof.equations import recompute
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.losses import LINEAR
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
from dpaudit.datasets import Dataset
from dpaudit.errors import DataError
from dpaudit.report.formatting import make_shown_numbers

CARDS = {
    29: EQUATION_29,
    30: EQUATION_30,
    32: EQUATION_32,
    33: EQUATION_33,
    34: EQUATION_34,
    36: EQUATION_36,
}
LARGE = {"inner_steps": 4, "neighbours": 3, "dimension": 2}
FALSE = {
    29: ({}, LARGE),
    30: ({}, LARGE, {"version": "corrected", "factor": 0.5}),
    32: ({"factor": 0.9}, LARGE | {"factor": 2.0}),
    33: ({}, {"inner_steps": 2}),
    34: ({"factor": 0.5}, {"factor": 0.5, "inner_steps": 3}),
    36: ({}, {"version": "corrected", "factor": 0.5}),
}
TRUE = {
    29: ({"version": "corrected"}, LARGE | {"version": "corrected"}),
    30: ({"version": "corrected"}, LARGE | {"version": "corrected"}),
    32: ({}, LARGE),
    33: ({"version": "corrected"}, LARGE | {"version": "corrected"}),
    34: ({}, LARGE),
    36: ({"version": "corrected"}, LARGE | {"version": "corrected"}),
}


SLOW_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]


def both(kind):
    return [(number, parameters) for number, found in kind.items() for parameters in found]


@pytest.mark.parametrize("seed", [0, *SLOW_SEEDS])
@pytest.mark.parametrize(("number", "parameters"), both(FALSE), ids=str)
def test_what_is_false_is_refuted_and_the_certificate_is_verified(
    audited, plain, judged, number, parameters, seed
):
    found = audited(CARDS[number], parameters=parameters, seed=seed)
    assert found.result.verdict == "refuted"
    verdict = judged(plain(found.certificate), recompute)
    assert verdict.failures == ()
    assert verdict.ratio > 1.0001
    assert bool(verdict.reservations) == ("factor" in parameters)


@pytest.mark.parametrize("seed", [0, *SLOW_SEEDS])
@pytest.mark.parametrize(("number", "parameters"), both(TRUE), ids=str)
def test_what_is_true_is_proved(audited, number, parameters, seed):
    found = audited(CARDS[number], parameters=parameters, seed=seed)
    assert found.result.verdict == "proved"
    assert found.result.proved.value == 0
    assert found.certificate is None


@pytest.mark.parametrize(("number", "parameters"), both(FALSE), ids=str)
def test_what_is_false_has_no_proof(number, parameters):
    given = {"factor": 1.0, "version": "published"} | parameters
    sizes = {name: given.pop(name, 1) for name in ("inner_steps", "neighbours", "dimension")}
    assert EquationAudit(number=number, **given, **sizes).proof is None


def test_a_check_that_fails_is_no_proof(monkeypatch):
    monkeypatch.setattr(SymbolicIteration, "new_dual", SymbolicIteration.dual)
    assert sizes(2, 1, 1).proof is None
    monkeypatch.undo()
    assert sizes(2, 1, 1).proof == "pull_of_neighbours"


@pytest.mark.parametrize(
    ("number", "parameters"), [(29, {"version": "corrected"}), (32, {}), (32, LARGE)], ids=str
)
def test_an_identity_differs_by_nothing(audited, number, parameters):
    """In fractions both sides are the same; floats would show their rounding as a number."""
    found = audited(CARDS[number], parameters=parameters).result
    assert (found.measured.lower, found.claimed.value) == (0.0, 0.0)


def test_a_strict_inequality_is_refuted_by_equality_and_shows_both_sides(audited):
    found = audited(CARDS[33], parameters={}).result
    assert (found.measured.lower, found.claimed.value, found.claimed.strict) == (0.0, 0.0, True)
    assert found.verdict == "refuted"
    assert "0 is not below 0, the claimed left side less the right side" in found.reason
    assert make_shown_numbers(found).sign == "below"
    stands = audited(CARDS[33], parameters={"inner_steps": 3, "version": "corrected"}).result
    assert (stands.verdict, stands.claimed.strict) == ("proved", False)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 10**6))
def test_fractions_agree_with_floats(steps, degree, dimension, seed):
    it = draw_integer_iteration(sizes(steps, degree, dimension), np.random.default_rng(seed))
    for number, equation in EQUATIONS.items():
        for corrected in (False, True):
            found, exact = (equation.sides(one, corrected) for one in (it, it.exact))
            rounding = 1e-9 * float(exact.size())
            if number != 33 or corrected:
                pairs = zip(found.values(), exact.values(), strict=True)
                assert all(abs(a - float(b)) <= rounding for a, b in pairs), number
            assert all(isinstance(one, Fraction | int) for one in (*exact.left, *exact.right))


def sizes(steps, degree, dimension):
    return EquationAudit(
        number=32,
        version="published",
        factor=1.0,
        inner_steps=steps,
        neighbours=degree,
        dimension=dimension,
    )


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_the_corrected_equations_hold_of_any_numbers(steps, degree, dimension, seed):
    rng = np.random.default_rng(seed)
    it = draw_integer_iteration(sizes(steps, degree, dimension), rng)
    noise = rng.standard_normal(it.noise.shape)
    eta, penalty = rng.uniform(0.1, 5, steps), rng.uniform(0.1, 5)
    it = dataclasses.replace(it, noise=noise, eta=eta, penalty=penalty)
    for number, equation in EQUATIONS.items():
        found = equation.sides(it, True)
        left, right = found.values()
        rounding = 1e-9 * found.size()
        assert left <= right + rounding, number
        if equation.equality:
            assert abs(left - right) <= rounding, number


@given(st.integers(0, 10**6))
def test_the_third_and_second_line_of_equation_30_are_both_its_first(seed):
    it = draw_integer_iteration(sizes(2, 2, 2), np.random.default_rng(seed))
    old, new = it.models[:2]
    held = 2 * it.dual.sum(axis=0) - 2 * it.penalty * (old - it.before).sum(axis=0)
    middle = (it.gradient(old) - held + it.added(True)[0]) @ (new - it.target)
    assert np.isclose(it.unit[0, 0] * (old - new) @ (new - it.target), middle)


def test_the_steps_are_those_of_the_algorithm():
    data = Dataset(np.array([[0.5], [0.25], [1.0]]), [1, -1, 1], node_sizes=(1, 1, 1))
    algorithm = MultiStepADMM(
        graph=complete(3),
        iterations=2,
        inner_steps=2,
        noise_multiplier=0.0,
        penalty=0.5,
        loss=LINEAR,
        regulariser_weight=0.3,
        step_size=ConstantStepSize(2.0),
    )
    seen = algorithm.inner().sample(data, 1, np.random.default_rng(0))[0]
    sent = seen.reshape(2, 2, 3, 1).mean(axis=1)
    it = dataclasses.replace(
        draw_integer_iteration(sizes(2, 2, 1), np.random.default_rng(0)),
        penalty=0.5,
        curvature=0.1,  # lambda / n
        eta=np.full(2, 2.0),
        pull=np.array([0.5]),
        start=seen[1, 0],
        own=sent[0, 0],
        others=sent[0, 1:],
        dual=-0.5 / 2 * (sent[0, 0] - sent[0, 1:]),
        noise=np.zeros((2, 1)),
    )
    assert np.allclose(it.models[1:], seen[2:, 0])
    assert np.allclose(it.sent, sent[1, 0])


@pytest.mark.parametrize(
    ("value", "path", "named"),
    [
        ("sensitivity", ("kind",), "kind"),
        (21, ("parameters", "neighbours"), "parameters.neighbours"),
        ("else", ("parameters", "version"), "parameters.version"),
        ([0.0, 1.0], ("instance", "eta"), "instance"),
        ([[1.0]], ("instance", "noise"), "instance.noise"),
    ],
)
def test_a_malformed_certificate_names_the_field(
    audited, plain, judged, changed, value, path, named
):
    document = changed(plain(audited(EQUATION_36).certificate), value, *path)
    with pytest.raises(DataError, match=named):
        judged(document, recompute)


@pytest.mark.parametrize("name", ["start", "own", "target", "next", "pull"])
def test_another_iteration_is_seen(audited, plain, judged, changed, name):
    document = plain(audited(EQUATION_36).certificate)
    document = changed(document, lambda old: [old[0] + 1], "instance", name)
    assert judged(document, recompute).failures


def test_the_claim_of_a_certificate_says_which_equation_is_recomputed(
    audited, plain, judged, changed
):
    document = plain(audited(EQUATION_36).certificate)
    for number in CARDS:
        renamed = changed(document, f"huang2020-equation{number}", "claim")
        assert bool(judged(renamed, recompute).failures) == (number != 36), number
    with pytest.raises(DataError, match="claim: got 'huang2020-theorem7', expected an equation"):
        judged(changed(document, "huang2020-theorem7", "claim"), recompute)
