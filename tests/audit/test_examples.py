"""Mechanisms of users: the broken ones are refuted and the part that leaks is named."""

import importlib.util
from pathlib import Path

import pytest

import dpaudit

_SPEC = importlib.util.spec_from_file_location(
    "mechanisms_of_users", Path(__file__).with_name("mechanisms.py")
)
users = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(users)
QUICK = {"exceptions"}
NAMES = [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in users.AUDITS]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_one_is_refuted_and_its_part_is_named(name):
    broken, _, (dataset, neighbour), given = users.AUDITS[name]
    result = dpaudit.audit(broken, dataset, neighbour, epsilon=1.0, trials=2000, **given)
    assert result.verdict == "refuted", result.reason
    assert any(users.PARTS[name] in part for part in result.witness.parts), result.reason


@pytest.mark.parametrize("name", NAMES)
def test_a_repaired_one_is_not(name):
    _, repaired, (dataset, neighbour), given = users.AUDITS[name]
    result = dpaudit.audit(repaired, dataset, neighbour, epsilon=1.0, trials=2000, **given)
    assert result.verdict == "not refuted", result.reason


def test_there_are_forty():
    assert len({id(one) for audit in users.AUDITS.values() for one in audit[:2]}) == 40
    assert users.AUDITS.keys() == users.PARTS.keys()
