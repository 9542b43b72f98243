"""Settings of an audit at the ends of their domains, and what a certificate states of them."""

from __future__ import annotations

import math

import pytest
from pydantic import Field

from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import PackageClaim, number_of
from dpaudit.extension.parameters import CHOICE, Parameters, other_choices
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP


@pytest.mark.parametrize(
    ("name", "least", "below"),
    [
        ("trials", 100, 99),
        ("unit", 1, 0),
        ("candidate_pairs", 1, 0),
        ("seed", 0, -1),
        ("epsilon", 0.0, -1e-9),
        ("delta", 0.0, -1e-9),
        ("time", 1e-9, 0.0),
        ("confidence", 1e-9, 0.0),
    ],
)
def test_a_number_has_a_least_value(name, least, below):
    assert getattr(Settings(**{name: least}), name) == least
    with pytest.raises(InvalidArgument):
        Settings(**{name: below})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("confidence", 1.0), ("confidence", math.nan), ("delta", 1.5), ("epsilon", math.nan),
        ("trials", 100.5), ("trials", True), ("seed", True), ("time", math.inf),
        ("estimator", "exact"), ("data_options", {"path": "x"}), ("data_options", [1]),
    ],
)  # fmt: skip
def test_what_is_outside_its_domain_is_refused(name, value):
    with pytest.raises(InvalidArgument):
        Settings(**{name: value})


@pytest.mark.parametrize(
    ("looks", "taken"),
    [
        ([(4, 1.0)], True),
        ([(100, 0.5), (400, 0.5)], True),
        ([(100, 0.5), (400, 0.6)], False),
        ([(3, 0.5)], False),
        ([(100, 0.0)], False),
        ([(100, -0.1), (400, 0.5)], False),
        ([(100, math.nan)], False),
        ([(100, 0.5, 1)], False),
        ([], False),
    ],
)
def test_looks_have_shares_of_one_error_probability(looks, taken):
    if taken:
        assert Settings(looks=looks).looks == tuple(map(tuple, looks))
        return
    with pytest.raises(InvalidArgument):
        Settings(looks=looks)


@pytest.mark.parametrize(
    "given", [{"time": 5.0}, {"looks": [(100, 1.0)]}, {"estimator": "exact-loss"}]
)
def test_bets_stop_by_themselves_and_see_outputs(given):
    Settings(**given)
    with pytest.raises(InvalidArgument):
        Settings(until_refuted=True, **given)


@pytest.mark.parametrize(
    ("data", "path", "public"),
    [
        ("worst-case", None, True), ("worst_case", None, True), ("breast-cancer", None, True),
        ("breast-cancer", "here", False), ("adult", None, False), ("csv", "x.csv", False),
    ],
)  # fmt: skip
def test_records_are_public_where_they_come_with_a_library(data, path, public):
    assert Settings(data=data, data_path=path).data_is_public is public


def test_a_certificate_states_all_that_numbers_depend_on():
    given = Settings(distinguisher="histogram", trials=300, time=5.0, show_records=True)
    stated = given.document()
    assert stated["attack"] == "histogram"
    assert {"show_records", "distinguisher", "unit", "looks"}.isdisjoint(stated)
    assert stated["time"] == 5.0
    assert set(stated) <= Settings.get_certificate_names()
    assert Settings.read(stated) == Settings(distinguisher="histogram", trials=300, time=5.0)


class Found(Parameters):
    """A model with one choice and one number that is none."""

    cosine: float = Field(0.6, json_schema_extra=CHOICE)
    strict: bool = Field(True, json_schema_extra=CHOICE)
    runs: int = 20


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ({}, {}),
        ({"runs": 5}, {}),
        ({"cosine": 0.6}, {}),
        ({"cosine": 0.7}, {"cosine": 0.6}),
        ({"strict": False, "cosine": 0.1}, {"cosine": 0.6, "strict": True}),
    ],
)
def test_choices_that_are_not_the_defaults_are_a_reservation(given, other):
    assert other_choices(Found, given) == other


# Claims of cards


@pytest.mark.parametrize(
    ("given", "guarantee"),
    [
        ({"epsilon": "e"}, PureDP(2.0)),
        ({"epsilon": "e", "delta": "d"}, ApproximateDP(2.0, 1e-5)),
        ({"epsilon": "e", "delta": lambda given: given["d"] / 2}, ApproximateDP(2.0, 5e-6)),
        ({"rho": lambda given: given["e"] ** 2 / 2}, ZeroConcentratedDP(2.0)),
        ({"mu": "e"}, GaussianDP(2.0)),
        ({"epsilon": "e", "order": 8.0}, RenyiDP(8.0, 2.0)),
    ],
)
def test_a_claim_follows_its_setting_in_its_own_currency(given, guarantee):
    assert PackageClaim(where="there", **given).guarantee({"e": 2.0, "d": 1e-5}) == guarantee


@pytest.mark.parametrize("given", [{}, {"epsilon": 1.0, "rho": 1.0}, {"mu": 1.0, "epsilon": 1.0}])
def test_a_claim_has_one_currency(given):
    with pytest.raises(InvalidArgument, match="one of epsilon, rho and mu"):
        PackageClaim(where="there", **given)


@pytest.mark.parametrize("given", [math.nan, math.inf, True, "unknown", "word", None])
def test_what_is_no_number_is_refused(given):
    with pytest.raises(InvalidArgument):
        number_of("epsilon", given, {"word": "x"})
