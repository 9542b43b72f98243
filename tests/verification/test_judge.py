"""How close a file has to come to what is recomputed, whatever the size of the numbers."""

import pytest

from dpaudit.verification import Document, Outcome, judge
from dpaudit.verification.reals import Real

SIZES = [1e-280, 3.7e-60, 1e-20, 1e-3, 1.0, 4e12, 1e250]


@pytest.fixture
def failures(monkeypatch):
    """Return what fails in a file that states these numbers of those."""

    def failures_of(stated, true, **assumption):
        outcome = Outcome(
            quantities={"ratio": 2, "size": true},
            assumptions={"small": assumption.get("small", (0, 1))},
            residuals=assumption.get("residuals", frozenset()),
        )
        document = Document(
            path="c.json",
            claim="c",
            parameters={},
            instance={},
            quantities={"ratio": 2.0, "size": stated},
            assumptions={"small": assumption.get("given", (0.0, 1.0))},
        )
        monkeypatch.setattr(judge, "_verifier", lambda claim: lambda document: outcome)
        return [one.partition(":")[0] for one in judge.verify(document).failures]

    return failures_of


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", SIZES)
def test_a_millionth_off_is_named_and_what_rounding_does_is_not(failures, size, sign):
    assert failures(sign * size, sign * size) == []
    assert failures(sign * size * (1 + 1e-12), sign * size) == []
    assert failures(sign * size * (1 + 1e-6), sign * size) == ["size"]
    assert failures(-sign * size, sign * size) == ["size"]
    assert failures(0.0, sign * size) == ["size"]


def test_zero_is_zero_and_what_no_double_holds_is_too(failures):
    assert failures(0.0, 0) == []
    assert failures(1e-290, 0) == ["size"]
    assert failures(0.0, Real(1e-200) ** 2) == []
    assert failures(5e-324, Real(1e-200) ** 2) == []


@pytest.mark.parametrize("size", SIZES)
def test_values_and_limits_of_assumptions_are_compared_alike(failures, size):
    small = (size / 2, size)
    assert failures(1.0, 1, small=small, given=(size / 2, size)) == []
    assert failures(1.0, 1, small=small, given=(size / 3, size)) == ["small (value)"]
    assert failures(1.0, 1, small=small, given=(size / 2, size * 2)) == ["small (limit)"]


def test_what_rounding_leaves_of_zero_has_no_digits_below_its_limit(failures):
    residual = {"small": (1.6e-16, 1e-12), "residuals": frozenset({"small"})}
    assert failures(1.0, 1, given=(0.0, 1e-12), **residual) == []
    assert failures(1.0, 1, given=(2.2e-16, 1e-12), **residual) == []
    assert failures(1.0, 1, given=(2e-12, 1e-12), **residual) == ["small (value)"]
    assert failures(1.0, 1, given=(0.0, 1e-9), **residual) == ["small (limit)"]
    broken = {"small": (2e-12, 1e-12), "residuals": frozenset({"small"})}
    assert failures(1.0, 1, given=(0.0, 1e-12), **broken) == ["small", "small (value)"]
