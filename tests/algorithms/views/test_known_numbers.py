"""Numbers that an earlier program, which had nothing in common with this one, wrote down."""

import json
from pathlib import Path

import pytest

from dpaudit.algorithms.views.features import ChangedFeatures
from dpaudit.algorithms.views.view import View

from . import known

NUMBERS = json.loads(Path(__file__).with_name("known_numbers.json").read_text(encoding="utf-8"))
CELLS = 2**16


@pytest.mark.parametrize(
    "family",
    ["gossip", *(pytest.param(name, marks=pytest.mark.slow) for name in known.FAMILIES
     if name != "gossip")],
)  # fmt: skip
def test_every_mu_is_what_it_was(family):
    found, expected = known.mus(family, View), NUMBERS[family]
    assert found.keys() == expected.keys()
    for name, mu in found.items():
        assert mu == pytest.approx(float(expected[name]), rel=1e-9, abs=1e-12), name


def delta_of(one, both, who, whose, epsilon):
    networks = [one.network(data) for data in both]
    observer = networks[0].coalition(*who) if who else networks[0].eavesdropper()
    terms = [one.data(data) for data in both]
    return ChangedFeatures(*networks, *terms, observer, whose).delta(epsilon, CELLS)


@pytest.mark.slow
def test_every_bracket_of_delta_is_what_it_was():
    found, expected = known.deltas(delta_of), NUMBERS["features"]
    assert found.keys() == expected.keys()
    for name, ends in found.items():
        assert ends == pytest.approx(expected[name], abs=1e-9), name
