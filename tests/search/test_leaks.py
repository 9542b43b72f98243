"""Leaks that depend on the data are found in a domain at the defaults, and the claim falls."""

import pytest

import dpaudit
from dpaudit.mechanisms.foreign.isolation import Isolation
from tests.search.further_leaks import FURTHER, count_modulus, empty
from tests.search.leaks import LEAKS, size

HERE = Isolation(in_process=True)
ALL = LEAKS | FURTHER
FEW_FURTHER = ("falling", "one_noise")
FEW = ("branch", "cancelled")


def falls(function, **given):
    relation = "add-remove-record" if function in (size, count_modulus) else "replace-record"
    sound = {"domain": ALL[function], "relation": relation, "epsilon": 1.0}
    if function is empty:
        sound["observe"] = "exceptions"
    return dpaudit.audit(function, **{**sound, **given}).verdict == "refuted"


@pytest.mark.parametrize("name", FEW)
def test_some_leaks_are_found_on_few_outputs(name):
    (function,) = (one for one in LEAKS if one.__name__ == name)
    assert falls(function, trials=1000)


@pytest.mark.parametrize("name", FEW_FURTHER)
def test_some_further_leaks_are_found_on_few_outputs(name):
    (function,) = (one for one in FURTHER if one.__name__ == name)
    assert falls(function, trials=1000, isolation=HERE)


@pytest.mark.slow
def test_further_leaks_are_found_at_the_defaults():
    missed = [function.__name__ for function in FURTHER if not falls(function)]
    assert len(FURTHER) == 30
    assert len(missed) <= 2, missed


@pytest.mark.slow
def test_nearly_all_leaks_are_found_at_the_defaults():
    missed = [function.__name__ for function in LEAKS if not falls(function)]
    assert len(LEAKS) == 28
    assert len(missed) <= 2, missed
