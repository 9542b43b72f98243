"""The generic search, sensitivities and the certificate, on queries whose answer is known."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpaudit.auditing import audit_case
from dpaudit.errors import DataError, InvalidArgument, MechanismError
from dpaudit.extension.case import SearchCase
from dpaudit.refutation import (
    Certificate,
    Condition,
    Sensitivity,
    Space,
    WorstInstance,
    certificates_text,
    maximise,
)


def cosine_space(limit=1.0):
    """Ratio 1 - |x - 0.9|^2 of points in a box around 0: best at 0.9, or at the box's edge."""

    def evaluate(batch):
        x = np.clip(batch["x"], -limit, limit)
        return {"x": x}, 1 - ((x - 0.9) ** 2).sum(axis=1)

    return Space(
        start=lambda count, rng: {"x": rng.uniform(-limit, limit, (count, 3))},
        move=lambda batch, step, rng: {
            "x": batch["x"] + step[:, None] * rng.standard_normal(batch["x"].shape)
        },
        evaluate=evaluate,
    )


@pytest.mark.parametrize(("limit", "best"), [(1.0, 1.0), (0.5, 1 - 3 * 0.4**2)])
def test_the_maximum_is_found_inside_and_on_the_edge(limit, best):
    found = maximise(cosine_space(limit), 5_000, np.random.default_rng(0))
    assert found.ratio == pytest.approx(best, abs=1e-4)
    assert found.ratio <= best
    assert np.abs(found.instance["x"]).max() <= limit


@pytest.mark.parametrize("budget", [1, 31, 32, 33, 200, 1001])
def test_exactly_the_budget_is_spent(budget):
    spent = []
    space = cosine_space()

    def counted(batch):
        spent.append(len(batch["x"]))
        return space.evaluate(batch)

    counting = replace(space, evaluate=counted)
    found = maximise(counting, budget, np.random.default_rng(0))
    assert sum(spent) == found.evaluations == budget


def test_a_ratio_below_one_is_reported_too():
    space = cosine_space()
    third = replace(space, evaluate=lambda batch: (batch, np.full(len(batch["x"]), 1 / 3)))
    assert maximise(third, 100, np.random.default_rng(0)).ratio == pytest.approx(1 / 3)


def test_one_seed_gives_one_result():
    one, two = (maximise(cosine_space(), 500, np.random.default_rng(7)) for _ in range(2))
    assert one.ratio == two.ratio
    assert (one.instance["x"] == two.instance["x"]).all()


def test_a_larger_budget_does_not_end_lower_here():
    small, large = (
        maximise(cosine_space(), budget, np.random.default_rng(1)).ratio for budget in (200, 5_000)
    )
    assert large >= small


def test_a_movement_that_is_not_finite_is_refused():
    space = replace(cosine_space(), evaluate=lambda b: (b, np.full(len(b["x"]), np.nan)))
    with pytest.raises(MechanismError, match="finite"):
        maximise(space, 10, np.random.default_rng(0))


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, None])
def test_a_bad_budget_is_named(budget):
    with pytest.raises(InvalidArgument, match="budget"):
        maximise(cosine_space(), budget, np.random.default_rng(0))


# Sensitivities

MEAN = Sensitivity(
    name="mean",
    source="an example",
    norm="absolute value",
    relation="replace-record",
    claimed=0.1,
    proved=0.1,
    proof="one of ten records in [0, 1] moves the mean by at most 1/10",
    movement=lambda pair: abs(pair[0] - pair[1]) / 10,
    conditions=lambda pair: (
        Condition(name="not negative", value=-min(pair), limit=0.0),
        Condition(name="at most 1", value=max(pair), limit=1.0),
    ),
)


def test_a_bound_that_is_attained_exactly_is_not_refuted():
    assert MEAN.ratio((0.0, 1.0)) == 1
    assert not MEAN.is_refuted_by((0.0, 1.0))


@pytest.mark.parametrize("rounding", [1e-16, 1e-13, 1e-10])
def test_rounding_refutes_nothing(rounding):
    assert not replace(MEAN, claimed=0.1 * (1 - rounding)).is_refuted_by((0.0, 1.0))


def test_half_the_bound_is_refuted_and_twice_is_not():
    assert replace(MEAN, claimed=0.05).is_refuted_by((0.0, 1.0))
    assert not replace(MEAN, claimed=0.2).is_refuted_by((0.0, 1.0))


def test_an_instance_outside_the_assumptions_refutes_nothing():
    assert MEAN.ratio((0.0, 5.0)) > 1
    assert MEAN.broken((-1.0, 5.0)) == ("not negative", "at most 1")
    assert not MEAN.is_refuted_by((0.0, 5.0))


def test_a_condition_on_nan_does_not_hold():
    assert not Condition(name="norm", value=float("nan"), limit=1.0).holds


@pytest.mark.parametrize("name", ["claimed", "proved"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_a_bound_is_a_positive_number(name, value):
    with pytest.raises(InvalidArgument, match=name):
        replace(MEAN, **{name: value})


# Certificates


def certificate(**changes):
    values = {
        "claim": "mean",
        "source": "an example",
        "relation": "replace-record",
        "parameters": {"records": 10},
        "instance": {"pair": np.array([1 / 3, np.nextafter(1, 2)])},
        "quantities": {"ratio": 2.0},
        "conditions": MEAN.conditions((0.0, 1.0)),
        "search": {"seed": 0, "budget": 1},
    }
    return Certificate(**values | changes)


def test_every_double_survives_the_file(tmp_path):
    path = certificate().write(tmp_path / "c.json")
    read = json.loads(path.read_text())
    assert read["instance"]["pair"] == [1 / 3, np.nextafter(1, 2)]
    assert (read["format"], read["version"]) == ("dpaudit-certificate", 1)


def test_a_number_that_is_not_finite_is_not_written():
    with pytest.raises(ValueError, match="JSON compliant"):
        certificates_text((certificate(quantities={"ratio": float("nan")}),))


def test_a_file_that_cannot_be_written_is_one_error(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        certificate().write(tmp_path / "missing" / "c.json")


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (1 - 1e-9, "not refuted"),
        (1.0, "not refuted"),
        (1 + 1e-12, "not refuted"),
        (1 + 1e-6, "refuted"),
    ],
)
@pytest.mark.parametrize("scale", [None, 1.0])
def test_what_attains_its_bound_does_not_refute_it(value, verdict, scale):
    attained = WorstInstance(value=value, bound=1.0, instance="here", scale=scale)
    case = SearchCase(
        bound=1.0,
        attain=lambda budget, rng: attained,
        view="a state",
        data="a number",
        relation="any",
        pair="any",
        default_trials=1,
        parameters={},
    )
    assert audit_case(case).verdict == verdict
