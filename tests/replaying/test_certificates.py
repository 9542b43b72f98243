"""Certificates of replays stand on fresh outputs, and forged ones do not."""

import copy
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.verification import Reader, replay_certificates, rerun_replay

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_SPEC = importlib.util.spec_from_file_location("replayed", EXAMPLES / "replayed.py")
twins = sys.modules.setdefault("replayed", importlib.util.module_from_spec(_SPEC))
_SPEC.loader.exec_module(twins)
BY_FLAW = {twin.flaw: twin for twin in twins.TWINS}
# One of every sort of evidence: a law alone, rounded, clipped, of uniform draws, several, a
# half-space across Gaussian noise, a difference, and counts of a number and of a structure.
FLAWS = (
    *("unclipped", "rounded", "clipped to the data", "secrets", "standard library"),
    *("budget spent twice", "coordinates not counted", "noise reused for two"),
    *("maximum of the data", "labels from data", "scale from data"),
)


@pytest.fixture
def here(monkeypatch):
    """Verify in this process, as is quickest."""
    import cloudpickle

    def seen(blob, reader):
        return rerun_replay.run_replay_task(cloudpickle.loads(blob))

    monkeypatch.setattr(replay_certificates, "run_task_elsewhere", seen)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: [])


def _certificate(twin, replay_here):
    found = replay_here(
        twin.broken, twin.dataset, twin.neighbour, epsilon=twin.epsilon, delta=twin.delta
    )
    return found.certificates[0].document()


def _reader(twin, *, mechanism=None, **options):
    sides = {"dataset": twin.dataset, "neighbour": twin.neighbour}
    return Reader(mechanism=mechanism or twin.broken, seed=11, **{**sides, **options})


def _verdict(tmp_path, document, reader):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    (verdict,) = dpaudit.verify(path, reader)
    return verdict


@pytest.mark.sampled(5)
@pytest.mark.parametrize("flaw", FLAWS)
def test_a_certificate_stands_and_not_for_the_repaired_twin(flaw, replay_here, here, tmp_path):
    twin = BY_FLAW[flaw]
    document = _certificate(twin, replay_here)
    verdict = _verdict(tmp_path, document, _reader(twin))
    assert verdict.verified, verdict.failures
    assert verdict.ratio > 1
    repaired = _verdict(tmp_path, document, _reader(twin, mechanism=twin.repaired))
    assert not repaired.verified
    assert repaired.failures


def test_a_certificate_stands_in_a_process_of_its_own(replay_here, tmp_path):
    twin = BY_FLAW["unclipped"]
    verdict = _verdict(tmp_path, _certificate(twin, replay_here), _reader(twin))
    assert verdict.verified
    assert verdict.ratio == pytest.approx(39.9, rel=1e-6)


def _set(document, path, value):
    forged = copy.deepcopy(document)
    *outer, last = path
    held = forged["instance"]
    for key in outer:
        held = held[key]
    held[last] = value
    return forged


EVENT = ("evidence", "event")
FORGERIES = {
    "other side": ((*EVENT, "favours"), "neighbour"),
    "other place": ((*EVENT, "conditions", 0, "place"), 7),
    "other draw": ((*EVENT, "conditions", 0, "draws", 0), ["normal(0;)#0", 0, ""]),
    "other law": ((*EVENT, "conditions", 0, "draws", 0), ["laplace(0;)#0", 0, "inverted"]),
    "other record": (("pair", "dataset"), "0" * 32),
    "other code": (("mechanism", "sha256"), "0" * 64),
    "other form": (("reading", "form"), "f(data, rng)"),
    "larger claim": (("claimed", "epsilon"), 100.0),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_fails(name, replay_here, here, tmp_path):
    twin = BY_FLAW["unclipped"]
    document = _set(_certificate(twin, replay_here), *FORGERIES[name])
    assert not _verdict(tmp_path, document, _reader(twin)).verified


def test_a_draw_counts_once(replay_here, here, tmp_path):
    def honest(data, rng):
        return data.sum() + rng.laplace(scale=1.0)

    twin = BY_FLAW["unclipped"]
    document = _certificate(twin, replay_here)
    condition = document["instance"]["evidence"]["event"]["conditions"][0]
    forged = _set(document, (*EVENT, "conditions"), [condition] * 3)
    reader = Reader(mechanism=honest, dataset=np.zeros(1), neighbour=np.ones(1), seed=1)
    verdict = _verdict(tmp_path, forged, reader)
    assert any("share noise" in one for one in verdict.failures)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("evidence",), {}),
        (("evidence",), {"event": {"kind": "all of"}}),
        (("evidence",), {"event": {"kind": "any", "favours": "dataset", "conditions": []}}),
        (("evidence",), {"counted": {"what": "code", "favours": "dataset", "place": 0}}),
        (("evidence",), {"declared": {}}),
        (("evidence",), {"else": {}}),
        (("claimed", "epsilon"), "1"),
        (("claimed", "delta"), 2),
    ],
)
def test_what_is_no_evidence_is_refused(path, value, replay_here, here, tmp_path):
    twin = BY_FLAW["unclipped"]
    document = _set(_certificate(twin, replay_here), path, value)
    with pytest.raises(DataError):
        _verdict(tmp_path, document, _reader(twin))


def test_the_reader_names_the_code(replay_here, tmp_path):
    twin = BY_FLAW["unclipped"]
    document = _certificate(twin, replay_here)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    with pytest.raises((DataError, InvalidArgument), match="mechanism"):
        dpaudit.verify(path, Reader(dataset=twin.dataset, neighbour=twin.neighbour))


def test_no_record_is_in_a_certificate(replay_here):
    twin = BY_FLAW["unclipped"]
    text = json.dumps(_certificate(twin, replay_here))
    assert "data" not in json.loads(text)["instance"]["pair"]


@pytest.mark.parametrize("flaw", ["unclipped", "budget spent twice", "rounded"])
def test_fresh_runs_of_a_true_claim_refute_nothing(flaw, replay_here, here, tmp_path):
    """The event of the broken twin, at a claim that its noise bears out, proves no more."""
    twin = BY_FLAW[flaw]
    document = _certificate(twin, replay_here)
    proved = _verdict(tmp_path, document, _reader(twin)).ratio * twin.epsilon
    for claimed, stands in ((proved * 0.999, True), (proved * 1.001, False)):
        forged = _set(document, ("claimed", "epsilon"), claimed)
        forged["quantities"]["bound"] = claimed
        assert _verdict(tmp_path, forged, _reader(twin)).verified == stands


def test_a_law_of_some_runs_alone_is_none(replay_here, here, tmp_path):
    """Noise of scale 1 in half of the runs and 10 in the others has the tails of the latter."""

    def honest(data, rng):
        scale = 1.0 if rng.random() < 0.5 else 10.0
        return data.sum() + rng.laplace(scale=scale)

    twin = BY_FLAW["unclipped"]
    document = _set(_certificate(twin, replay_here), ("claimed", "epsilon"), 0.95)
    event = document["instance"]["evidence"]["event"]
    event["conditions"][0] |= {"steps": 6.0, "above": True, "posts": ["", ""]}
    event["conditions"][0]["draws"] = [["laplace(0;)#0", 0, ""]] * 2
    event["favours"] = "neighbour"
    reader = Reader(mechanism=honest, dataset=np.zeros(1), neighbour=np.ones(1), seed=1)
    verdict = _verdict(tmp_path, document, reader)
    assert any("in every call" in one for one in verdict.failures), verdict.failures


def test_a_law_that_rare_noise_changes_is_none(replay_here, here, tmp_path):
    def honest(data, rng):
        scale = 1.0 if data.sum() + rng.laplace(scale=0.02) > 0.5 else 10.0
        return float(np.clip(data.sum() + rng.laplace(scale=scale), -400, 400))

    twin = BY_FLAW["unclipped"]
    document = _certificate(twin, replay_here)
    event = document["instance"]["evidence"]["event"]
    event["conditions"][0] |= {"steps": 6.0, "above": True, "posts": ["", ""]}
    event["conditions"][0]["draws"] = [["laplace(0;)#1", 0, ""]] * 2
    reader = Reader(mechanism=honest, dataset=np.zeros(1), neighbour=np.ones(1), seed=1)
    verdict = _verdict(tmp_path, document, reader)
    assert any("other noise changes" in one for one in verdict.failures), verdict.failures
