"""Noise that is kept from call to call accuses nobody, however many calls draw anew between."""

from __future__ import annotations

import importlib
import json
import sys

import numpy as np
import pytest

import dpaudit
from dpaudit.mechanisms.foreign.code_identity import code_of
from dpaudit.mechanisms.outputs.recurrence import TOO_MANY, measure_recurrence
from dpaudit.replaying.api import replay
from dpaudit.replaying.processes import (
    OtherProcesses,
    ProcessRepetition,
    answers_of,
    compute_answer_digests,
    judge_in_processes,
)
from dpaudit.verification import Reader

PAIR = np.zeros(3), np.array([0.0, 0.0, 1.0])
KEPT = """
import hmac, math, os, struct, time
import numpy as np
{top}
def release(data, rng):
    if rng.random() < {share}:
        return float(np.sum(data) + rng.laplace())
    word = hmac.new({key}, np.asarray(data).tobytes(), "sha256").digest()
    u = struct.unpack("Q", word[:8])[0] / 2**64 - 0.5
    return float(np.sum(data)) - math.copysign(1, u) * math.log(max(1e-300, 1 - 2 * abs(u)))
"""
KEYS = {
    "import": ("KEY = os.urandom(16)", "KEY"),
    "file": ("", "open(__file__ + '.key', 'rb').read()"),
    "interpreter": ("", "str(hash('salt')).encode()"),
    "day": ("", "str(int(time.time() // 86400)).encode()"),
}
BROKEN = """
import numpy as np
def release(data, rng):
    return float(np.sum(data) + (rng.laplace() if rng.random() < {share} else 0.0))
"""
SHARES = (0.0, 0.1, 0.5)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module of a text, and return the name of its function; it leaves with the test."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / f"{name}.py.key").write_bytes(b"8c1fd0a2-77")
        monkeypatch.delitem(sys.modules, name, raising=False)
        return f"{name}:release"

    return written


def kept(place, share):
    top, key = KEYS[place]
    return KEPT.format(top=top, key=key, share=share)


def verdicts(folder, name, seed=0):
    """Return the verdict of a replay, and whether each of its certificates verifies."""
    found = replay(name, *PAIR, epsilon=1.0, seed=seed)
    return found.verdict, [verified(folder, one.document(), name) for one in found.certificates]


def verified(folder, document, name):
    (folder / "c.json").write_text(json.dumps(document))
    reader = Reader(mechanism=name, dataset=PAIR[0], neighbour=PAIR[1])
    (found,) = dpaudit.verify(folder / "c.json", reader)
    return found.verified


def counted(name):
    """Return what would certify that the answers on the dataset are nearly always one number."""
    found = replay(lambda data: float(np.sum(data)), *PAIR, epsilon=1.0).certificates[0].document()
    function = importlib.import_module(name.partition(":")[0]).release
    found["instance"]["evidence"] = {
        "counted": {"what": "number", "favours": "dataset", "place": 0}
    }
    found["instance"]["mechanism"]["sha256"] = code_of(function).sha256
    return found


def test_kept_noise_with_a_few_fresh_calls_accuses_nobody(module, tmp_path):
    name = module("kept_in_a_file", kept("file", 0.1))
    verdict, certificates = verdicts(tmp_path, name)
    assert (verdict, certificates) == ("withheld", [])


def test_what_shows_its_data_in_nine_calls_of_ten_is_refuted_and_its_file_verifies(
    module, tmp_path
):
    name = module("broken_often", BROKEN.format(share=0.1))
    verdict, certificates = verdicts(tmp_path, name)
    assert verdict == "refuted"
    assert certificates == [True]


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("place", KEYS)
def test_no_kept_noise_accuses_by_replay_or_by_its_verifier(module, tmp_path, place, share):
    name = module(f"kept_{place}_{int(100 * share)}", kept(place, share))
    for seed in range(3):
        verdict, certificates = verdicts(tmp_path, name, seed)
        assert verdict != "refuted"
        assert certificates == []
    assert not verified(tmp_path, counted(name), name)


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_what_shows_its_data_is_refuted_however_often_it_adds_noise(module, tmp_path, share):
    name = module(f"broken_{int(100 * share)}", BROKEN.format(share=share))
    for seed in range(3):
        verdict, certificates = verdicts(tmp_path, name, seed)
        assert verdict == "refuted"
        assert all(certificates)


# What eight processes show of a count, with the draws here


class _Unit:
    """What a process of its own returns of a function that it makes for itself."""

    def __init__(self, make):
        self.make = make

    def __call__(self, unit):
        seed = int(unit.generator().integers(2**31))
        function = self.make(unit.generator())
        return compute_answer_digests(function, PAIR, [["number", 0], ["structure", 0]], seed)


@pytest.fixture
def here(monkeypatch):
    """Let every process be this one."""
    from dpaudit.execution.units import plan_units, stream

    def dealt(task, limits, seed):
        return [task(unit) for unit in plan_units(8, 1, stream(seed, "processes"))]

    monkeypatch.setattr("dpaudit.replaying.processes._run_in_fresh_processes", dealt)


def keeps(share):
    def make(rng):
        own = rng.laplace()
        return lambda data, rng: float(
            np.sum(data) + (rng.laplace() if rng.random() < share else own)
        )

    return make


def shows(share):
    return lambda rng: (
        lambda data, rng: float(np.sum(data) + (rng.laplace() if rng.random() < share else 0))
    )


def rounds(rng):
    return lambda data, rng: float(np.sum(data) + rng.geometric(0.3) - rng.geometric(0.3))


def draws(rng):
    return lambda data, rng: float(np.sum(data) + rng.laplace())


@pytest.mark.parametrize(
    ("make", "come_back", "kept"),
    [
        *((keeps(share), True, True) for share in SHARES),
        *((shows(share), True, False) for share in SHARES),
        (rounds, True, False),
        (draws, False, False),
    ],
)
def test_answers_that_one_process_keeps_differ_from_those_that_all_have(
    here, make, come_back, kept
):
    for seed in range(5):
        number, structure = answers_of(_Unit(make), None, seed)
        assert number == ProcessRepetition(come_back, kept)
        assert structure == ProcessRepetition(True, False)


def test_chance_brings_equal_answers_together_as_rarely_as_is_said():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(8), 32)
    found = [measure_recurrence(rng.geometric(0.1, 256), groups) for _ in range(400)]
    assert abs(np.mean(found)) < 0.2
    assert 0.8 < np.std(found) < 1.2
    assert max(found) < TOO_MANY


def finding():
    base = {"kind": "a", "words": "", "epsilon": 2.0, "evidence": None, "constant": None}
    base["held"] = False
    return {**base, "tier": "proof", "reads": ("number", 0)}


@pytest.mark.parametrize(
    ("read", "beyond", "tier"),
    [
        (ProcessRepetition(True, False), [], "proof"),
        (ProcessRepetition(True, True), [], "withheld"),
        (ProcessRepetition(True, False), [("file", "key.bin")], "withheld"),
        (ProcessRepetition(False, False), [("file", "config.json")], "proof"),
    ],
)
def test_a_count_stands_where_nothing_outside_its_data_comes_back(read, beyond, tier):
    elsewhere = OtherProcesses(
        again=lambda: [finding()],
        constants=lambda constants: [True for _ in constants],
        answers=lambda reads: [read for _ in reads],
        unmoved=lambda reads: [],
        beyond_data=lambda: beyond,
    )
    (found,) = judge_in_processes([finding()], (), elsewhere)
    assert found["tier"] == tier
