"""One way of code into processes: what one process keeps proves nothing, whatever form code has."""

import functools
import hmac
import importlib
import json
import math
import struct
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest

from dpaudit.execution.parcels import parcel_of
from dpaudit.replaying.api import replay
from dpaudit.replaying.processes import OtherProcesses, judge_in_processes

PAIR = np.zeros(3), np.array([0.0, 0.0, 1.0])
KEYED = """
import hmac, math, os, struct
import numpy as np
{key}
def release(data):
    {read}
    word = hmac.new(key, np.asarray(data).tobytes(), "sha256").digest()
    u = struct.unpack("Q", word[:8])[0] / 2**64 - 0.5
    return float(np.sum(data)) - math.copysign(1, u) * math.log(max(1e-300, 1 - 2 * abs(u)))
"""
AT_IMPORT = KEYED.format(key="key = os.urandom(16)", read="pass")
IN_A_FILE = KEYED.format(key="", read="key = open(__file__ + '.key', 'rb').read()")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write and import a module of a text; it leaves when the test ends."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        (tmp_path / f"{name}.py.key").write_bytes(b"8c1fd0a2-77")
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return written


@pytest.mark.parametrize(("name", "text"), [("at_import", AT_IMPORT), ("in_a_file", IN_A_FILE)])
def test_a_key_that_no_call_draws_proves_nothing(module, name, text):
    release = module(name, text).release
    found = replay(release, *PAIR, epsilon=1.0)
    assert found.verdict == "withheld"
    assert "noise" in found.findings[0].words
    assert "raw" not in found.findings[0].kind
    assert found.certificates == ()
    assert not cloudpickle.list_registry_pickle_by_value()


def test_what_only_reads_its_data_is_refuted_all_the_same():
    assert replay(lambda data: float(np.sum(data)), *PAIR, epsilon=1.0).verdict == "refuted"


def test_values_that_travel_are_named_and_those_that_were_worked_out():
    key = np.random.default_rng().bytes(16)
    scale = 2.0

    def release(data):
        word = hmac.new(key, np.asarray(data).tobytes(), "sha256").digest()
        return math.fsum(data) + scale * struct.unpack("Q", word[:8])[0]

    held = parcel_of(release).held
    assert held.names == {"key", "scale"}
    assert held.worked_out == {"key"}


def test_what_a_cache_keeps_is_made_anew_elsewhere():
    @functools.lru_cache
    def noise(name):
        return np.random.default_rng().laplace()

    noise("sum")
    there = cloudpickle.loads(parcel_of(lambda: noise).blob)()
    assert there.cache_info().currsize == 0


SCRIPT = """
import json, sys
import numpy as np
import dpaudit
from dpaudit.execution.parcels import parcel_of
from dpaudit.execution.surveys import parcel_for_processes
OFFSET, SCALE = np.random.default_rng().laplace(), 1.0
def release(data): return float(np.sum(data)) + OFFSET
def scaled(data): return float(np.sum(data)) * SCALE
pair = np.zeros(3), np.array([0, 0, 1.0])
first = dpaudit.replay(release, *pair, epsilon=1.0).verdict
afresh = parcel_for_processes(scaled)
SCALE = 0.5
changed = parcel_for_processes(scaled)
def later(data): return float(np.sum(data)) + OFFSET
later = parcel_for_processes(later)
print(json.dumps([first, *(sorted(one.held.names) for one in (afresh, changed, later))]))
"""


def test_a_script_is_run_afresh_up_to_its_first_call(tmp_path):
    """It has no guard: without that stop every process would call dpaudit itself."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, timeout=300
    )
    assert json.loads(done.stdout) == ["withheld", [], ["SCALE"], ["OFFSET"]]


def finding(tier="proof", constant=None, **held):
    base = {"kind": "a", "words": "", "epsilon": 2.0, "evidence": {"event": {}}, "reads": None}
    base["held"] = False
    return {**base, "tier": tier, "constant": constant, **held}


@pytest.mark.parametrize(
    ("kept", "again", "agree", "beyond", "tiers"),
    [
        ((), 2.0, True, [], ["proof", "proof"]),
        ((), 1.5, True, [], ["proof", "withheld"]),
        ((), 2.0, False, [], ["proof", "withheld"]),
        ((), 2.0, True, [("file", "key.bin")], ["proof", "withheld"]),
        (("noise.txt",), 2.0, True, [], ["withheld", "withheld"]),
    ],
)
def test_each_doubt_alone_withholds_what_it_is_about(kept, again, agree, beyond, tiers):
    findings = [finding(constant=["number", "dataset", 0, "1f"], evidence=None), finding()]
    elsewhere = OtherProcesses(
        again=lambda: [finding(epsilon=again)],
        constants=lambda constants: [agree for _ in constants],
        answers=lambda reads: [],
        unmoved=lambda reads: [],
        beyond_data=lambda: beyond,
    )
    found = judge_in_processes(findings, kept, elsewhere)
    assert [one["tier"] for one in found] == tiers
    assert all(one["evidence"] is None for one in found if one["tier"] == "withheld")
