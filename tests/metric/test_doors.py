"""A claim a unit of distance at every door: assertion, marker, file, command line, certificate."""

import json
import math

import numpy as np
import pytest

import dpaudit
from dpaudit.cli.main import main
from dpaudit.errors import InvalidArgument
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import Pair, metric, relation
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.plugin.auditor import Auditor
from dpaudit.testing import assert_not_refuted
from dpaudit.verification import mechanism
from dpaudit.verification.redrawn_counts import Reader
from tests.metric import mechanisms

PAIR = np.zeros(2), np.array([3.0, 4.0])
SOURCE = """
import numpy as np

def noisy(x, trials, rng):
    return np.asarray(x) + rng.laplace(scale=1.0, size=(trials, 2))

def far(x, y):
    return float(np.abs(np.asarray(x) - np.asarray(y)).sum())
"""
FILE = """
[audit]
mechanism = "{module}:noisy"
dataset = [0.0, 0.0]
neighbour = [0.5, 0.5]
relation = "metric: {distance}"
epsilon = {epsilon}
trials = 2000
"""


def test_an_assertion_takes_the_distance_of_its_pair():
    pair = Pair(*PAIR, relation("metric: euclidean"))
    result = assert_not_refuted(mechanisms.planar(), pair, epsilon=0.5, trials=300)
    assert result.claimed.epsilon == 2.5
    other = Pair(*PAIR, metric("manhattan"))
    named = assert_not_refuted(
        mechanisms.planar(), other, epsilon=0.5, relation="metric: euclidean", trials=300
    )
    assert named.claimed.epsilon == 2.5
    assert "relation='metric: euclidean'" in named.rerun


def test_an_assertion_takes_a_domain():
    domain = {"bounds": (-10, 10), "records": 2}
    given = {"domain": domain, "relation": "metric: euclidean", "trials": 500}
    result = assert_not_refuted(mechanisms.planar(), epsilon=0.5, **given)
    assert result.claimed.epsilon == pytest.approx(0.5 * result.a_unit.apart)
    with pytest.raises(AssertionError, match=r"apart \(euclidean\), at 0.05 a unit"):
        assert_not_refuted(mechanisms.planar(), epsilon=0.05, **given | {"trials": 2000})


def test_a_marker_of_a_distance_is_not_lost_beside_a_pair():
    plain = Pair(*PAIR, chosen_relation("declared: two places"))
    for marker in ("metric: euclidean", metric("euclidean")):
        auditor = Auditor(
            item=None,
            marker={"relation": marker, "epsilon": 0.5},
            options={},
            confidence=0.9,
            planned=1,
        )
        here = {"trials": 300, "isolation": Isolation(in_process=True)}
        result, _ = auditor._audited(mechanisms.planar(), plain, None, here)
        assert result.claimed.epsilon == 2.5


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "noisy_points.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def run(folder, *words):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


def audited(folder, distance, epsilon):
    text = FILE.format(module="noisy_points", distance=distance, epsilon=epsilon)
    (folder / "audit.toml").write_text(text)
    status = run(folder, "audit", folder / "audit.toml", "--out", folder / "out", "--quiet")
    (result,) = json.loads((folder / "out" / "report.json").read_text())["results"]
    return status, result


def test_a_file_states_a_distance_of_its_own_module(folder, capsys):
    status, result = audited(folder, "noisy_points:far", 0.5)
    assert (status, result["verdict"]) == (1, "refuted")
    assert "--neighbour FILE --relation 'metric: noisy_points:far'" in capsys.readouterr().out
    assert result["a_unit"] == {"distance": "noisy_points:far", "claimed": 0.5, "apart": 1.0}
    written = (folder / "out" / "report.md").read_text()
    assert "The two are 1 apart" in written
    assert "1 apart, 0.5 a unit |" in written
    assert "1 apart, 0.5 a unit" in (folder / "out" / "report.html").read_text()
    certificate = json.loads((folder / "out" / "certificate.json").read_text())
    (document,) = certificate if isinstance(certificate, list) else [certificate]
    assert document["instance"]["apart"] == 1.0
    assert document["instance"]["claimed"] == {"epsilon": 0.5, "delta": 0.0}
    assert document["quantities"]["bound"] == 0.5


def test_a_true_claim_of_a_file_is_not_refuted(folder):
    status, result = audited(folder, "manhattan", 1.0)
    assert (status, result["verdict"]) == (0, "not refuted")


@pytest.mark.slow
def test_a_certificate_is_judged_at_the_distance_of_the_readers_data(folder):
    audited(folder, "euclidean", 0.5)
    path = folder / "out" / "certificate.json"
    given = {"mechanism": "noisy_points:noisy", "dataset": np.zeros(2)}
    given |= {"neighbour": np.array([0.5, 0.5]), "confidence": 0.99, "seed": 5}

    def verified(**other):
        return dpaudit.verify(path, reader=Reader(**{**given, **other}))

    (one,) = verified()
    assert one.verified
    assert "a unit of distance (euclidean)" in str(one)
    (one,) = verified(neighbour=np.array([0.5, 1.0]))
    assert any("apart: the certificate says" in words for words in one.failures)
    (one,) = verified(relation="metric: manhattan")
    assert any("apart: the certificate says" in words for words in one.failures)
    altered = json.loads(path.read_text())
    document = altered[0] if isinstance(altered, list) else altered
    document["relation"] = "metric: noisy_points:far"
    path.write_text(json.dumps(altered))
    with pytest.raises(dpaudit.DpauditError, match="one that the reader names"):
        verified()


def test_distances_agree_up_to_their_last_digits():
    """A function that measures may round otherwise on another machine."""
    found = 2**0.5
    for stated in (found, math.nextafter(found, 0.0)):
        assert mechanism._agree(stated, found)
    for stated in (found * (1 - 1e-8), 10**400, None, True, "1"):
        assert not mechanism._agree(stated, found)
    assert not mechanism._agree(found, None)


def test_what_is_not_a_claim_a_unit_of_distance_is_refused():
    given = {"relation": "metric: euclidean", "epsilon": 0.5}
    with pytest.raises(InvalidArgument, match="another dataset, or a domain"):
        dpaudit.audit(mechanisms.planar(), PAIR[0], **given)
    release = {"kind": "laplace", "sensitivity": 1.0, "noise_scale": 1.0}
    with pytest.raises(
        InvalidArgument, match="expected no release beside a claim per unit of distance"
    ):
        dpaudit.audit(mechanisms.planar(), *PAIR, release=release, **given)
    with pytest.raises(InvalidArgument, match="claim: got RenyiDP, expected epsilon and delta"):
        dpaudit.audit(
            mechanisms.planar(), *PAIR, relation=given["relation"], claim=dpaudit.RenyiDP(2.0, 1.0)
        )
    with pytest.raises(InvalidArgument, match=r"distance \(euclidean\) of 0"):
        dpaudit.audit(mechanisms.planar(), PAIR[0], PAIR[0], **given)


def test_a_function_of_ones_own_measures():
    def twice(x, y):
        return 2 * float(np.linalg.norm(np.asarray(x) - np.asarray(y)))

    result = dpaudit.audit(
        mechanisms.planar(),
        *PAIR,
        relation=metric(twice),
        epsilon=0.25,
        trials=300,
        isolation=Isolation(in_process=True),
    )
    assert (result.a_unit.distance, result.a_unit.apart) == ("twice", 10.0)
    assert "relation=metric(twice)" in result.rerun
