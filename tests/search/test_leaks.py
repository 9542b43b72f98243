"""Leaks that depend on the data are found in a domain at the defaults, and the claim falls."""

import pytest

import dpaudit
from tests.search.leaks import LEAKS, size

FEW = ("branch", "cancelled")


def falls(function, **given):
    relation = "add-remove-record" if function is size else "replace-record"
    sound = {"domain": LEAKS[function], "relation": relation, "epsilon": 1.0}
    return dpaudit.audit(function, **{**sound, **given}).verdict == "refuted"


@pytest.mark.parametrize("name", FEW)
def test_some_leaks_are_found_on_few_outputs(name):
    (function,) = (one for one in LEAKS if one.__name__ == name)
    assert falls(function, trials=1000)


@pytest.mark.slow
def test_nearly_all_leaks_are_found_at_the_defaults():
    missed = [function.__name__ for function in LEAKS if not falls(function)]
    assert len(LEAKS) == 28
    assert len(missed) <= 2, missed
