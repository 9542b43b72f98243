"""The cards of synthesisers and SmartNoise: settings that fit their code, and what they claim."""

import ast
import importlib
import math
from importlib import resources

import pytest

from dpaudit.extension.package import Package
from dpaudit.guarantees.kinds import ApproximateDP, PureDP, ZeroConcentratedDP

NAMES = ("dpmm", "mbi", "smartnoise_sql", "smartnoise_synth", "synthcity")
PASSED = {"data", "trials", "rng"}  # by the scan, not by a setting


def package(name: str) -> Package:
    return importlib.import_module(f"dpaudit.scan.packages.{name}.card").PACKAGE


def functions(name):
    """Read a plain module without importing what it is about."""
    text = resources.files(f"dpaudit.scan.packages.{name}").joinpath("subjects.py").read_text()
    nodes = (one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef))
    return {one.name: [argument.arg for argument in one.args.args] for one in nodes}


def settings(name):
    return [(one, given) for one in package(name).subjects for given in one.parameters]


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_gives_all_that_its_function_asks_for(name):
    known = functions(name)
    for subject, given in settings(name):
        asked = known[subject.code]
        assert asked[0] == "data", subject.name
        assert set(given) == set(asked) - PASSED, (subject.name, given)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_has_data_and_finite_claims(name):
    for subject, given in settings(name):
        assert subject.datasets_of(given) or subject.pairs_of(given), subject.name
        for claim in subject.claims:
            made = claim.guarantee(given)
            assert isinstance(made, PureDP | ApproximateDP | ZeroConcentratedDP)


@pytest.mark.parametrize("name", NAMES)
def test_made_pairs_differ_in_one_record(name):
    for subject, given in settings(name):
        for pair in subject.pairs_of(given):
            added = pair.relation == "add-remove-record"
            assert len(pair.neighbour) - len(pair.dataset) == added
            differing = sum(a != b for a, b in zip(pair.dataset, pair.neighbour, strict=not added))
            assert differing == (not added)


def test_the_cost_of_a_query_counts_noisy_columns_and_persons():
    def cost(name, number):
        subject = next(one for one in package("smartnoise_sql").subjects if one.name == name)
        made = subject.claims[0].guarantee(subject.parameters[number])
        return made.at_epsilon, made.at_delta

    assert cost("SELECT COUNT", 0) == (1, pytest.approx(1.5e-5))  # the count drops rare groups too
    assert cost("SELECT SUM", 0) == (1, pytest.approx(5e-6))
    assert cost("SELECT SUM", 1) == (2, pytest.approx(1.5e-5))
    assert cost("SELECT VAR", 0) == (3, pytest.approx(5e-6))
    assert cost("GROUP BY, of persons with several rows", 0)[0] == 3


def test_costs_are_those_that_smartnoise_states():
    pytest.importorskip("snsql", reason="smartnoise-sql asks for pandas below 3")
    subjects = importlib.import_module("dpaudit.scan.packages.smartnoise_sql.subjects")
    for subject in package("smartnoise_sql").subjects:
        if subject.code != "query":
            continue
        given = subject.parameters[0]
        rest = [given[name] for name in ("epsilon", "delta", "columns", "table")]
        stated = subjects.reader_of([], *rest).get_privacy_cost(given["sql"])
        claimed = subject.claims[0].guarantee(given)
        assert stated[0] == claimed.at_epsilon, given
        assert math.isclose(stated[1], claimed.at_delta, rel_tol=1e-3), given
