"""Sixty private mechanisms whose noise is kept outside, sixty broken ones whose outputs vary."""

from __future__ import annotations

import secrets
import uuid

import pytest

from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import audit_case
from dpaudit.errors import MechanismError
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.code_mechanism import ObservationSettings
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_reference
from dpaudit.neighbours.found_relations import find_pair_relation

from .folder import reached
from .kept import KEPT
from .varying import VARYING

PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
# What depends on the load of the machine is withheld, unless somebody says that it is no noise.
NO_NOISE = {"exact_beside_how_long_it_took": ("seconds",)}
SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with reached(tmp_path_factory.mktemp(f"reached-{uuid.uuid4().hex}")) as found:
        yield found


@pytest.fixture
def verdict(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("KEPT_KEY", secrets.token_hex(16))
    monkeypatch.setenv("VARYING_SCALE", "0.1")

    def of(reference, seed, trials=600, ignore=()):
        pair, reading = find_pair_relation(*PAIR, None)[0], ObservationSettings(ignore=ignore)
        placed = isolate_reference(reference, Isolation(), reading)
        case, words = own_case(placed, pair, claimed=ApproximateDP(1.0, 0.0), reading=reading)
        settings = Settings(trials=trials, delta=0.0, seed=seed, confidence=0.9999)
        try:
            return audit_case(case, settings, statement=words).verdict
        except MechanismError:
            return "withheld"

    return of


def test_there_are_sixty_of_either():
    assert (len(KEPT), len(VARYING)) >= (60, 60)


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", sorted(KEPT))
def test_no_private_one_is_accused(verdict, name, seed):
    assert verdict(f"kept:{name}", seed) in ("withheld", "not refuted")


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", sorted(VARYING))
def test_no_broken_one_is_missed(verdict, name, seed):
    assert verdict(f"varying:{name}", seed, ignore=NO_NOISE.get(name, ())) == "refuted"
