"""What one process shows of a reader's code is looked at in another, at another time."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import dpaudit
from dpaudit.replaying.api import replay
from dpaudit.verification import Reader
from dpaudit.verification.reruns import _is_number_close, _same_laws

PAIR = np.zeros(3), np.array([0.0, 0.0, 1.0])
RELEASE = """
import os, time
import numpy as np
OFFSET = {offset}
def release(data, rng):
    return float(np.sum(data) + OFFSET + rng.laplace(scale=0.1))
"""
# Noise of one interpreter, of one day and of one process, which the recorder does not know.
KEPT = ("hash('salt') % 997 / 100", "time.time() // 86400 % 997 / 100", "os.getpid() % 997")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return what writes a module with an offset, and what verifies its certificate of another."""
    folder = tmp_path_factory.mktemp("reruns")
    sys.path.insert(0, str(folder))

    def written(offset):
        (folder / "rerun_release.py").write_text(RELEASE.format(offset=offset))
        sys.modules.pop("rerun_release", None)
        return "rerun_release:release"

    found = replay(written("0.0"), *PAIR, epsilon=1.0)
    (folder / "c.json").write_text(json.dumps(found.certificates[0].document()))

    def failures(offset):
        sides = {"dataset": PAIR[0], "neighbour": PAIR[1]}
        (verdict,) = dpaudit.verify(
            folder / "c.json", Reader(mechanism=written(offset), seed=5, **sides)
        )
        return verdict.failures

    yield failures
    sys.path.remove(str(folder))


def test_a_proof_stands_where_every_process_bears_it_out(place):
    assert place("0.0") == ()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("offset", KEPT)
def test_a_proof_falls_where_another_process_has_another_centre(place, offset):
    assert any("in another process, or at another time" in one for one in place(offset))


LAW = {"problem": None, "kind": "normal", "post": "", "centre": 2.0, "factor": 0.5, "low": None}
LAW["high"] = 4.0


@pytest.mark.parametrize(
    "moved",
    [
        *({"centre": 2.001}, {"factor": 0.501}, {"low": 0.0}, {"high": 5.0}, {"high": None}),
        *({"kind": "laplace"}, {"post": "round"}, {"problem": "event: none"}),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_laws_of_two_processes_agree_in_every_number_of_either_side(moved, side):
    other = [[LAW], [LAW]]
    assert _same_laws([[LAW], [LAW]], other)
    other[side] = [LAW | moved]
    assert not _same_laws([[LAW], [LAW]], other)


def test_what_rounding_moves_is_the_same():
    assert _is_number_close(1e6, 1e6 * (1 + 1e-8))
    assert _is_number_close(0.0, 1e-9, 1.0)
    assert not _is_number_close(0.0, 1e-6, 1.0)
    assert _is_number_close(None, None)
    assert not _is_number_close(None, 1.0)
