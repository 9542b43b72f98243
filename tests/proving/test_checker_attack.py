"""The attack on proofs, held against the checker of certificates: no loss is above its bound."""

import math
from types import SimpleNamespace

import pytest

from dpaudit.proving import checker
from dpaudit.proving.certificate import instance_of
from dpaudit.proving.refusals import NotProved
from tests.proving.attack import costs, selections


def bound_by_checker(trace):
    """Return what the checker bounds, as the attack asks it of a prover."""
    try:
        cost = checker.check_instance(instance_of(trace))
    except checker.NotVerified as error:
        raise NotProved.at("the checker", str(error)) from error
    pure = math.inf if cost.square else float(cost.pure)
    mu = math.inf if cost.pure else math.sqrt(cost.square)
    return SimpleNamespace(pure=pure, mu=mu)


@pytest.fixture(autouse=True)
def attack_the_checker(monkeypatch):
    for module in (costs, selections):
        monkeypatch.setattr(module, "bound_trace", bound_by_checker)


def attack(function, seeds):
    """Return how many programs have a bound, and how many of these are nearly reached."""
    found = {seed: function(seed) for seed in seeds}
    assert [seed for seed, one in found.items() if one.is_beaten] == []
    bounded = [one for one in found.values() if one.proved is not None and one.found > 0]
    return len(bounded), sum(one.found > 0.98 * one.proved for one in bounded)


def test_no_release_costs_more_than_the_checker_says():
    bounded, reached = attack(costs.attack_releases, range(40))
    assert bounded > 3
    assert reached > 3


def test_no_choice_costs_more_than_the_checker_says():
    bounded, _ = attack(selections.attack_choice, range(15))
    assert bounded > 3


@pytest.mark.slow
@pytest.mark.parametrize("function", [costs.attack_releases, selections.attack_choice])
def test_no_program_of_many_costs_more(function):
    bounded, _ = attack(function, range(1000, 2500))
    assert bounded > 300


def test_half_a_bound_is_beaten(monkeypatch):
    def halved(trace):
        found = bound_by_checker(trace)
        return SimpleNamespace(pure=found.pure / 2, mu=found.mu / 2)

    monkeypatch.setattr(costs, "bound_trace", halved)
    assert any(costs.attack_releases(seed).is_beaten for seed in range(30))
