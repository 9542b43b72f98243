"""What a file of an audit claims: one guarantee, said in one way."""

from __future__ import annotations

import pytest

from dpaudit.auditing.specification.audits_file import _MECHANISM
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP, RenyiDP, ZeroConcentratedDP


@pytest.mark.parametrize(
    ("given", "claim"),
    [
        ({"epsilon": 1.0, "delta": 1e-5}, None),
        ({"mu": 2.0}, GaussianDP(2.0)),
        ({"rho": 0.25}, ZeroConcentratedDP(0.25)),
        ({"mu": 2.0, "delta": 0.0}, GaussianDP(2.0)),
        ({"renyi": [3.0, 0.5]}, RenyiDP(3.0, 0.5)),
    ],
)
def test_a_claim_is_epsilon_and_delta_or_another_one(given, claim, tmp_path):
    assert _MECHANISM(mechanism="own:made", **given).claimed(tmp_path / "audit.toml") == claim


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"rho": 0.5, "epsilon": 1.0}, "epsilon", "1.0"),
        ({"rho": 0.5, "delta": 1e-5}, "delta", "1e-05"),
        ({"mu": 0.5, "epsilon": 0.0, "delta": 1e-5}, "epsilon", "0.0"),
        ({"mu": 0.5, "epsilon": 0.0}, "epsilon", "0.0"),
    ],
)
def test_what_contradicts_another_claim_is_named(given, name, value, tmp_path):
    with pytest.raises(InvalidArgument, match=f"^{name}: got {value}, expected either epsilon"):
        _MECHANISM(mechanism="own:made", **given).claimed(tmp_path / "audit.toml")
