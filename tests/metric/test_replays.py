"""Replays of claims a unit of distance: each pair at its own distance, movements a unit of it."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dpaudit
from dpaudit.cli.main import main
from dpaudit.errors import DataError
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import metric
from dpaudit.replaying.findings import _declared
from dpaudit.replaying.movement import CallMovement
from dpaudit.replaying.page import render_replay_markdown
from dpaudit.replaying.request import ReplayRequest
from dpaudit.replaying.running import Task
from dpaudit.verification.redrawn_counts import Reader

HERE = Isolation(in_process=True)
SOURCE = """
import numpy as np

def noisy(x, rng):
    return np.asarray(x) + rng.laplace(scale=2.0, size=2)

def far(x, y):
    return float(np.abs(np.asarray(x) - np.asarray(y)).sum())
"""
PLACES = {"bounds": (-10, 10), "records": 2}
ORIGIN, AWAY = np.zeros(2), np.array([3.0, 4.0])


def noisy(x, rng):
    return np.asarray(x) + rng.laplace(scale=2.0, size=2)


def clipped(x, rng):
    return np.clip(x, -1, 1) + rng.laplace(scale=2.0, size=2)


def replayed(function, distance, epsilon, *pair, **given):
    given |= {"relation": f"metric: {distance}", "epsilon": epsilon, "isolation": HERE}
    return dpaudit.replay(function, *pair, **given | ({} if pair else {"domain": PLACES}))


def test_a_pair_is_judged_at_its_own_distance():
    found = replayed(noisy, "euclidean", 0.5, ORIGIN, AWAY)
    assert (found.verdict, found.epsilon) == ("refuted", 2.5)
    assert found.a_unit.model_dump() == {"distance": "euclidean", "claimed": 0.5, "apart": 5.0}
    assert found.findings[0].epsilon == pytest.approx(3.5)
    assert found.moved_a_unit(found.calls[0]) == 1.4


@pytest.mark.slow
def test_the_same_pair_stands_by_another_distance():
    """Noise of scale 2 pays for .5 a unit of the L1 distance, and for nothing less."""
    assert replayed(noisy, "manhattan", 0.5, ORIGIN, AWAY).verdict == "not refuted"
    assert replayed(noisy, "manhattan", 0.49, ORIGIN, AWAY).verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "distance", "epsilon", "verdict"),
    [
        (noisy, "manhattan", 0.5, "not refuted"),
        (noisy, "manhattan", 0.45, "refuted"),
        (noisy, "euclidean", 0.5, "refuted"),
        (noisy, "euclidean", 0.708, "not refuted"),
        (clipped, "manhattan", 0.5, "not refuted"),
        (clipped, "manhattan", 0.45, "refuted"),
    ],
)
def test_pairs_are_looked_for_at_several_distances(function, distance, epsilon, verdict):
    found = replayed(function, distance, epsilon, search_calls=600)
    assert found.verdict == verdict
    assert found.epsilon == pytest.approx(epsilon * found.a_unit.apart)
    assert found.pairs >= 1


@pytest.mark.slow
def test_the_pair_that_shows_most_a_unit_is_shown():
    """Past the clip nothing moves further: far pairs show more, and less a unit."""
    found = replayed(clipped, "manhattan", 0.1, search_calls=600)
    assert found.moved_a_unit(found.calls[0]) == pytest.approx(1.0)


def test_a_function_of_ones_own_measures():
    twice = metric(lambda x, y: 2 * float(np.abs(np.asarray(x) - np.asarray(y)).sum()))
    found = dpaudit.replay(noisy, ORIGIN, AWAY, relation=twice, epsilon=0.25, isolation=HERE)
    assert (found.a_unit.apart, found.epsilon, found.verdict) == (14.0, 3.5, "not refuted")


@pytest.mark.slow
def test_reports_say_how_far_the_two_are_apart():
    found = replayed(noisy, "euclidean", 0.5, ORIGIN, AWAY)
    page = render_replay_markdown(found)
    assert "The two are 5 apart (euclidean), at 0.5 a unit." in page
    assert "| 7 (1.4 a unit) |" in page
    document = found.document()
    assert document["a_unit"] == {"distance": "euclidean", "claimed": 0.5, "apart": 5.0}
    assert document["calls"][0]["moved_a_unit"] == 1.4
    plain = dpaudit.replay(noisy, ORIGIN, AWAY, relation="declared: two", epsilon=9, isolation=HERE)
    assert plain.document()["a_unit"] is plain.document()["calls"][0]["moved_a_unit"] is None
    assert "a unit" not in render_replay_markdown(plain)


def test_a_declared_sensitivity_is_that_of_a_unit():
    call = CallMovement(
        index=0, key="k", place="a.py:3 in f", name="n", kind="laplace", shape=(), scale=1.0,
        other_scale=1.0, moved=6.0, seen="sum", steady=True, declared=2.0, epsilon=None, spent=6.0,
    )  # fmt: skip
    assert list(_declared([call], ReplayRequest(9.0, 0.0, apart=3.0))) == []
    for asked in (ReplayRequest(9.0, 0.0, apart=2.9), ReplayRequest(9.0, 0.0)):
        assert [one.tier for one in _declared([call], asked)] == ["violation"]


def test_a_claim_is_that_of_each_pair():
    task = Task(None, None, None, ((0, 1, ""), (0, 3, "")), 0.1, 0.0, 0, apart=(1.0, 3.0))
    assert (task.claimed(0), task.claimed(1)) == (0.1, math.nextafter(0.1 * 3, 0))
    assert task.of_pair(1).claimed() == task.claimed(1)
    assert task.of_pair(1).pairs == ((0, 3, ""),)
    assert replace(task, apart=()).claimed(1) == 0.1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "replayed_points.py").write_text(SOURCE)
    np.save(tmp_path / "a.npy", ORIGIN)
    np.save(tmp_path / "b.npy", AWAY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


@pytest.mark.slow
def test_the_command_line_takes_a_distance(folder, capsys):
    words = ("replay", "replayed_points:noisy", "--epsilon", "0.5", "--in-process", "--out", "out")
    pair = ("--dataset", "a.npy", "--neighbour", "b.npy")
    assert run(*words, *pair, "--relation", "metric: manhattan") == 0
    assert run(*words, *pair, "--relation", "metric: replayed_points:far") == 0
    domain = ("--domain", "bounds=[-9,9]", "--domain", "records=2")
    assert run(*words, *domain, "--relation", "metric: euclidean") == 1
    assert "apart (euclidean), at 0.5 a unit." in capsys.readouterr().out


@pytest.mark.slow
def test_a_certificate_is_judged_at_the_distance_of_the_readers_data(folder):
    words = ("replay", "replayed_points:noisy", "--dataset", "a.npy", "--neighbour", "b.npy")
    assert run(*words, "--relation", "metric: euclidean", "--epsilon", "0.5", "--out", "out") == 1
    path = folder / "out" / "certificate.json"
    given = {"mechanism": "replayed_points:noisy", "dataset": ORIGIN, "neighbour": AWAY, "seed": 5}

    def verified(changes=None, **other):
        document = json.loads(path.read_text())
        document["instance"] |= changes or {}
        altered = folder / "altered.json"
        altered.write_text(json.dumps(document))
        (one,) = dpaudit.verify(altered, reader=Reader(**{**given, **other}))
        return one

    document = json.loads(path.read_text())
    assert document["instance"]["apart"] == 5.0
    assert document["instance"]["claimed"] == {"epsilon": 0.5, "delta": 0.0}
    assert document["quantities"]["bound"] == 2.5
    one = verified()
    assert (one.verified, one.ratio) == (True, pytest.approx(1.4, rel=1e-3))
    # Who says that the two are nearer, or that the claim is stricter, is not believed.
    assert any("apart: the certificate says" in said for said in verified({"apart": 1.0}).failures)
    for name in ("manhattan", "replayed_points:far"):
        one = verified(relation=f"metric: {name}")
        assert any("apart: the certificate says" in said for said in one.failures)
        assert any("which is claimed" in said for said in one.failures)
    stricter = verified({"claimed": {"epsilon": 0.05, "delta": 0.0}})
    assert any(said.startswith("bound: ") for said in stricter.failures)
    named = json.loads(path.read_text()) | {"relation": "metric: replayed_points:far"}
    path.write_text(json.dumps(named))
    with pytest.raises(DataError, match="one that the reader names"):
        verified()
