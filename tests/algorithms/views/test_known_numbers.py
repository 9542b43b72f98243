"""Numbers that an earlier program, which had nothing in common with this one, wrote down."""

import json
from pathlib import Path

import pytest

from . import known

NUMBERS = json.loads(Path(__file__).with_name("known_numbers.json").read_text(encoding="utf-8"))
CELLS = 2**16


def view_of(network, who, change):
    return network.view(who, change)


@pytest.mark.parametrize(
    "family",
    ["gossip", *(pytest.param(name, marks=pytest.mark.slow) for name in known.FAMILIES
     if name != "gossip")],
)  # fmt: skip
def test_every_mu_is_what_it_was(family):
    found, expected = known.mus(family, view_of), NUMBERS[family]
    assert found.keys() == expected.keys()
    for name, mu in found.items():
        assert mu == pytest.approx(float(expected[name]), rel=1e-9, abs=1e-12), name


def delta_of(one, both, who, whose, epsilon):
    here, there = (one.fixed_network(data) for data in both)
    return here.against(there, *who).delta(epsilon, CELLS)


@pytest.mark.slow
def test_every_bracket_of_delta_is_within_what_it_was():
    """Brackets were wider where coordinates are alike, which no longer count."""
    found, expected = known.deltas(delta_of), NUMBERS["features"]
    assert found.keys() == expected.keys()
    for name, (lower, upper) in found.items():
        low, high = expected[name]
        assert low - 1e-7 <= lower <= upper <= high + 1e-7, name
        assert (low == 1.0) == (lower == 1.0), name
