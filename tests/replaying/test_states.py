"""What an import draws withholds a replay where it reaches the output, and nowhere else."""

from __future__ import annotations

import importlib
import math
import sys

import pytest

import dpaudit
from dpaudit.freezing.states import after_others, agree, are_unmoved, processes_for
from dpaudit.replaying.api import replay
from dpaudit.replaying.processes import _set_withheld
from dpaudit.verification import Reader

PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
MODULE = """
import functools, hmac, math, os, random, struct
import numpy as np

KEY, KEPT = os.urandom(16), float(np.random.default_rng().laplace())
COIN, RNG, CACHE = random.random() < 0.731, np.random.default_rng(), {}


def keyed(data):
    word = hmac.new(KEY, np.asarray(data, dtype=float).tobytes(), "sha256").digest()
    u = struct.unpack("Q", word[:8])[0] / 2**64 - 0.5
    return -math.copysign(1, u) * math.log(max(1e-300, 1 - 2 * abs(u)))


def sticky(data):
    return float(np.sum(data)) + keyed(data)


def sticky_with_jitter(data, rng):
    return float(np.sum(data)) + keyed(data) + rng.laplace(scale=0.1)


def kept_with_jitter(data, rng):
    return float(np.sum(data)) + KEPT + rng.laplace(scale=0.1)


def coin_with_jitter(data, rng):
    return float(np.sum(data)) + COIN + rng.laplace(scale=0.1)


TRUTHFUL = random.random() < math.exp(4) / (1 + math.exp(4))


def one_response_a_process(data, rng):
    bit = int(np.sum(data)) % 2
    return (bit if TRUTHFUL else 1 - bit) + rng.laplace(scale=0.01)


def cached_with_jitter(data, rng):
    noise = rng.laplace(scale=0.1)
    return float(np.sum(data)) + CACHE.setdefault("noise", rng.laplace()) + noise


def half_the_noise(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=0.5)


def half_the_noise_beside_a_name(data, rng):
    return {"id": KEY.hex(), "value": float(np.sum(data)) + rng.laplace(scale=0.5)}


def half_the_noise_of_a_generator(data):
    return float(np.sum(data)) + RNG.laplace(scale=0.5)


def exact(data):
    return float(np.sum(data))


def enough_noise(data, rng):
    return float(np.sum(data)) + rng.laplace()
"""
PRIVATE = ("sticky", "sticky_with_jitter", "kept_with_jitter", "coin_with_jitter")
BROKEN = ("half_the_noise", "half_the_noise_beside_a_name", "half_the_noise_of_a_generator")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "drawing_at_import.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "drawing_at_import", raising=False)
    importlib.invalidate_caches()
    return tmp_path


def replayed(name, folder, seed=0, epsilon=1.0):
    return replay(f"drawing_at_import:{name}", *PAIR, epsilon=epsilon, seed=seed, folder=folder)


@pytest.mark.parametrize(
    "name",
    ["kept_with_jitter", *(pytest.param(n, marks=pytest.mark.slow) for n in PRIVATE[:2])],
)
def test_what_reaches_the_output_is_withheld_and_the_cure_is_named(name, folder):
    found = replayed(name, folder)
    assert found.verdict == "withheld"
    assert "fresh=" in found.findings[0].words
    assert not found.certificates


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PRIVATE, "cached_with_jitter", "enough_noise"])
@pytest.mark.parametrize("seed", range(3))
def test_no_private_one_is_accused(name, folder, seed):
    assert replayed(name, folder, seed).verdict in ("withheld", "not refuted")


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        *((name, 2.0) for name in BROKEN),
        ("exact", None),
    ],
)
@pytest.mark.slow
def test_what_does_not_is_refuted_and_its_certificate_is_verified(name, epsilon, folder):
    found = replayed(name, folder)
    assert found.verdict == "refuted"
    if epsilon is not None:
        assert found.findings[0].epsilon == pytest.approx(epsilon, rel=1e-3)
    path = found.certificates[0].write(folder / "certificate.json")
    mechanism = f"drawing_at_import:{name}"
    reader = Reader(mechanism=mechanism, dataset=PAIR[0], neighbour=PAIR[1], seed=5)
    (verdict,) = dpaudit.verify(path, reader)
    assert verdict.verified, verdict.failures


def test_fewer_processes_than_a_kept_coin_needs_refute_nothing(folder, monkeypatch):
    monkeypatch.setattr("dpaudit.freezing.states._MOST", 16)
    assert replayed("half_the_noise", folder).verdict == "withheld"


@pytest.mark.parametrize(
    ("epsilon", "is_over", "stands"),
    [(1.0, False, True), (1.0, True, False), (3.5, False, True), (4.0, False, False)],
)
def test_what_is_the_same_stands_only_in_enough_processes(epsilon, is_over, stands):
    """Randomised response of epsilon 4, tossed once a process, is right in 16 of 16 in 3 of 4."""
    found = are_unmoved(lambda count: [[[1.0]]] * count, epsilon, lambda: is_over)
    assert found == [stands]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_response_of_epsilon_four_that_a_process_keeps_is_not_accused(folder, seed):
    """All of 16 processes tell the truth in three of four tries."""
    assert replayed("one_response_a_process", folder, seed, epsilon=4.0).verdict != "refuted"


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0, 3.5])
def test_so_many_coins_of_a_true_claim_hardly_come_up_the_same(epsilon):
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert right ** processes_for(epsilon) <= 1e-6


@pytest.mark.slow
def test_a_certificate_of_another_is_not_verified_of_kept_noise(folder):
    path = replayed("half_the_noise", folder).certificates[0].write(folder / "certificate.json")
    text = path.read_text().replace("half_the_noise", "kept_with_jitter")
    path.write_text(text)
    given = {"dataset": PAIR[0], "neighbour": PAIR[1], "seed": 5}
    (verdict,) = dpaudit.verify(
        path, Reader(mechanism="drawing_at_import:kept_with_jitter", **given)
    )
    assert not verdict.verified
    assert any("keeps a state" in one for one in verdict.failures)


def test_noise_of_calls_before_shows_in_common_ones_where_it_is_kept():
    kept = []

    def cached(data, rng):
        kept.append(rng.laplace())
        return [sum(data) + rng.laplace(), sum(data) + kept[0]]

    both, reads = (PAIR[0], PAIR[1]), [["number", 0], ["number", 1], ["structure", 0]]
    one = after_others(cached, both, 3, 7, reads)
    kept.clear()
    other = after_others(cached, both, 4, 7, reads)
    assert one[0] == other[0]
    assert one[1] != other[1]
    assert len(set(one[0])) == len(one[0]) == 24
    assert one[2] == other[2]


@pytest.mark.parametrize(("place", "differs"), [(0, [False, True]), (1, [True, False])])
@pytest.mark.parametrize("process", [1, 15, 16, 63])
def test_one_process_that_differs_is_seen_whenever_it_comes(place, differs, process):
    drawn = 0

    def values_in(count):
        nonlocal drawn
        found = [[[1.0], [2.0]] for _ in range(count)]
        if drawn <= process < drawn + count:
            found[process - drawn][place] = [3.0]
        drawn += count
        return found

    assert are_unmoved(values_in, 1.0, lambda: False) == differs
    assert drawn <= processes_for(1.0)


def test_a_time_that_is_over_ends_it_after_the_fewest():
    counts = []
    are_unmoved(lambda count: counts.append(count) or [[[1.0]]] * count, 1.0, lambda: True)
    assert counts == [16]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.5, 1.5 + 1e-14, True),
        (1.5, 1.5 + 1e-6, False),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (1.0, math.nan, False),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        ("a", "a", True),
        ("a", "b", False),
        (None, None, False),  # what is missing shows nothing
        (None, 1.0, False),
        (1.0, None, False),
    ],
)
def test_processes_agree_on_what_both_have(one, other, same):
    assert agree([one], [other]) is same
    assert agree(["x", one], ["x", other]) is same
    assert not agree(["x", one], ["y", other])


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0, 50.0])
def test_in_so_many_processes_a_kept_coin_hardly_comes_up_the_same(epsilon):
    rare = 1 / (1 + math.exp(min(epsilon, 30.0)))  # the rarer side of a coin that is epsilon-DP
    count = processes_for(epsilon)
    assert count & (count - 1) == 0
    assert (1 - rare) ** count <= 1e-6 * (1 + 1e-9)
    assert count < 2 * math.log(1e6) / rare + 1  # and in hardly more than it takes


def test_what_is_withheld_proves_and_certifies_nothing():
    one = {"kind": "sensitivity", "tier": "proof", "words": "it moved", "place": "a.py:3"}
    one |= {"epsilon": 2.0, "evidence": {"event": {}}}
    _set_withheld(one, "kept")
    assert one == {
        "kind": "hidden state", "tier": "withheld", "words": "kept", "place": "a.py:3",
        "epsilon": None, "evidence": None, "fault": None,
    }  # fmt: skip
