"""Certificates of replays whose kind of evidence, or a choice in them, was changed.

Each mechanism has an epsilon that 50 digits give. A file that verifies states no more than that,
whichever kind of evidence it names, wherever its threshold is and whichever side it favours.
"""

import itertools
import json
import math

import numpy as np
import pytest
from mpmath import mp

import dpaudit
from dpaudit.errors import DataError
from dpaudit.mechanisms.foreign.code_identity import code_of
from dpaudit.reals import Real
from dpaudit.redaction import compute_data_fingerprint
from dpaudit.verification import Reader, replay_certificates, rerun_replay

SALT = bytes(range(16))
DATASET, NEIGHBOUR = [0.0, 0.0], [1.0, 0.0]


def clipped(data, rng):
    return [float(np.clip(data[0] + rng.normal(scale=1.0), -0.5, 1.5)), 0.0]


def plain(data, rng):
    return [data[0] + rng.normal(scale=1.0), data[1] + rng.normal(scale=1.0)]


def rounded(data, rng):
    return [float(np.round(data[0] + rng.normal(scale=1.0)))]


def laplace(data, rng):
    return [data[0] + rng.laplace(scale=1.0)]


def reused(data, rng):
    noise = rng.laplace(scale=1.0)
    return [data[0] + noise, data[1] + noise]


def bounded(data, rng):
    return [float(np.clip(data[0] + rng.laplace(scale=1.0), -1.0, 2.0))]


def normal(threshold, centre, above):
    z = mp.mpf(threshold) - centre
    return mp.ncdf(-z) if above else mp.ncdf(z)


def exact_clipped():
    """Return epsilon of the clipped Gaussian: of its atoms, and of the density between them."""
    atoms = [(-0.5, False), (1.5, True)]
    return max(abs(mp.log(normal(t, 0, up) / normal(t, 1, up))) for t, up in atoms)


# Mechanism, a draw, and its exact epsilon at delta = 0 on the pair (None: infinite).
EXACT = {
    "clipped": (clipped, "normal(0;)#0", float(exact_clipped())),
    "plain": (plain, "normal(0;)#0", None),
    "rounded": (rounded, "normal(0;)#0", None),
    "laplace": (laplace, "laplace(0;)#0", 1.0),
    "bounded": (bounded, "laplace(0;)#0", 1.0),
    "reused": (reused, "laplace(0;)#0", None),
}
KINDS = ("all of", "sum", "equal")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Verify in this process, as is quickest."""
    import cloudpickle

    monkeypatch.setattr(
        replay_certificates,
        "run_task_elsewhere",
        lambda blob, reader: rerun_replay.run_replay_task(cloudpickle.loads(blob)),
    )
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: [])


def document(mechanism, evidence, epsilon, delta=0.0):
    pair = {"salt": SALT.hex(), "declared": None}
    pair["dataset"], pair["neighbour"] = (
        compute_data_fingerprint(one, SALT) for one in (DATASET, NEIGHBOUR)
    )
    return {
        "format": "dpaudit-certificate", "version": 1, "claim": "f", "kind": "replay",
        "source": "the caller", "relation": "replace-record", "assumptions": [],
        "parameters": {"finding": "sensitivity", "tier": "proof"},
        "quantities": {"bound": epsilon},
        "instance": {
            "claimed": {"epsilon": epsilon, "delta": delta}, "pair": pair, "evidence": evidence,
            "reading": {"form": None, "read": None, "observe": []},
            "mechanism": {"reference": "m:f", "sha256": code_of(mechanism).sha256},
        },
    }  # fmt: skip


def event(kind, draw, *, steps=1.0, above=False, favours="dataset", places=(0,), post=""):
    condition = {"above": above, "steps": steps, "draws": [[draw, 0, ""]] * 2, "posts": [post] * 2}
    conditions = [{**condition, "place": place} for place in places]
    return {"event": {"kind": kind, "favours": favours, "conditions": conditions}}


def verdict(tmp_path, mechanism, stated, **reader):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(stated))
    given = {"dataset": DATASET, "neighbour": NEIGHBOUR, "seed": 11, **reader}
    (found,) = dpaudit.verify(path, Reader(mechanism=mechanism, **given))
    return found


def test_the_clipped_gaussian_has_the_epsilon_of_its_atoms():
    assert exact_clipped() == pytest.approx(1.530, abs=5e-4)


@pytest.mark.parametrize("steps", [1.0, 3.0, 5.9])
@pytest.mark.parametrize(
    ("above", "favours"), list(itertools.product((0, 1), ("dataset", "neighbour")))
)
def test_a_clipped_number_has_no_half_space(tmp_path, steps, above, favours):
    """What the file names a sum would prove 8.61 of a mechanism whose epsilon is 1.53."""
    changed = event("sum", "normal(0;)#0", steps=steps, above=bool(above), favours=favours)
    found = verdict(tmp_path, clipped, document(clipped, changed, 1.54))
    assert not found.verified
    assert "event: a sum needs numbers that are not clipped" in found.failures


def test_the_same_sum_of_a_number_that_is_not_clipped_stands(tmp_path):
    changed = event("sum", "normal(0;)#0", steps=5.0)
    found = verdict(tmp_path, plain, document(plain, changed, 2.0))
    assert found.verified, found.failures
    with mp.workdps(50):
        true = mp.log(mp.ncdf(-5) / mp.ncdf(-6))
    assert found.ratio * 2.0 == pytest.approx(float(true), rel=1e-9)
    assert "at delta = 0" in found.summary


@pytest.mark.parametrize("name", [n for n, (_, _, exact) in EXACT.items() if exact is not None])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("above", "favours"), list(itertools.product((0, 1), ("dataset", "neighbour")))
)
def test_no_kind_of_evidence_verifies_against_a_true_claim(tmp_path, name, kind, above, favours):
    mechanism, draw, exact = EXACT[name]
    for steps in (0.5,) if kind == "equal" else (0.5, 5.5):
        places = (0, 0) if kind == "equal" else (0,)
        changed = event(kind, draw, steps=steps, above=bool(above), favours=favours, places=places)
        try:
            found = verdict(tmp_path, mechanism, document(mechanism, changed, exact * 1.000001))
        except DataError:
            continue
        assert not found.verified
        assert found.ratio <= 1


@pytest.mark.parametrize("what", ["structure", "text", "number"])
@pytest.mark.parametrize("name", ["clipped", "laplace", "bounded"])
def test_counts_verify_against_no_true_claim(tmp_path, name, what):
    mechanism, _, exact = EXACT[name]
    counted = {"counted": {"what": what, "favours": "dataset", "place": 0}}
    assert not verdict(tmp_path, mechanism, document(mechanism, counted, exact)).verified


@pytest.mark.parametrize(
    ("mechanism", "post", "words"),
    [(rounded, "round", "not rounded"), (laplace, "", "needs Gaussian noise")],
)
def test_no_sum_of_what_is_rounded_or_not_gaussian(tmp_path, mechanism, post, words):
    draw = "laplace(0;)#0" if mechanism is laplace else "normal(0;)#0"
    changed = event("sum", draw, places=(0,), post=post)
    found = verdict(tmp_path, mechanism, document(mechanism, changed, 1.0))
    assert any(words in one for one in found.failures)


def test_an_event_that_no_sampler_reaches_shows_nothing(tmp_path):
    for steps, stands in ((5.9, True), (6.1, False)):  # probabilities 1.8e-9 and 5.3e-10
        changed = event("sum", "normal(0;)#0", steps=steps)
        found = verdict(tmp_path, plain, document(plain, changed, 2.0))
        assert found.verified == stands
        assert any("samplers have no law" in one for one in found.failures) != stands


# What an event proves, in 50 digits


def laws(error, *kinds):
    return [
        [replay_certificates._OutputLaw(centre, 2.0, kind, "", error) for kind in kinds]
        for centre in (0.0, 1.0)
    ]


def due(probable, other, delta, slack, *, uniform):
    """Return what the docstring of the conclusion says: rounding counts against the event."""
    with mp.workdps(50):
        p, q, s = (mp.mpf(one) for one in (probable, other, slack))
        over = p - (s if uniform else s * p) - mp.mpf(delta)
        return float(mp.log(over / (q + s if uniform else q)) - s)


@pytest.mark.parametrize("kind", ["laplace", "normal", "uniform", "exponential"])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("slack", [1e-12, 1e-3, 0.05])
def test_delta_and_rounding_count_against_an_event(kind, delta, slack):
    probable, other = 0.4, 0.02
    true = due(probable, other, delta, slack, uniform=kind in ("uniform", "exponential"))
    for claimed, stands in ((true - 1e-6, True), (true + 1e-6, False)):
        found = replay_certificates._judge_event_probabilities(
            laws(1e-3, kind), Real(probable), Real(other), (claimed, delta), slack, (), False
        )
        assert (found.failures == ()) == stands
        assert found.ratio * claimed == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize(("delta", "stands"), [(0.0, True), (0.39, True), (0.4, False)])
def test_what_never_happens_elsewhere_proves_any_epsilon(delta, stands):
    found = replay_certificates._judge_event_probabilities(
        laws(1e-3, "laplace"), Real(0.4), Real(0), (50.0, delta), 1e-9, (), False
    )
    assert (found.failures == ()) == stands
    assert ("infinite" in found.summary) == stands


@pytest.mark.parametrize("kind", ["uniform", "exponential"])
def test_of_noise_with_an_edge_rounding_keeps_an_epsilon_finite_unless_nothing_is_there(kind):
    p, slack = Real(0.25), 1e-6
    tiny = replay_certificates._judge_event_probabilities(
        laws(0.0, kind), p, Real(1e-30), (5.0, 0.0), slack, (), False
    )
    assert tiny.ratio * 5.0 == pytest.approx(math.log((0.25 - slack) / slack) - slack, rel=1e-6)


# A relation that the file names


def test_a_declared_relation_is_a_reservation_with_the_number_of_records(tmp_path):
    changed = document(plain, event("sum", "normal(0;)#0", steps=5.0), 2.0)
    changed["instance"]["pair"]["declared"] = "all visits of one patient"
    found = verdict(tmp_path, plain, changed)
    assert found.verified
    (told,) = found.reservations
    assert "all visits of one patient" in told
    assert "the two differ in 1 of 2 records" in told
    named = verdict(tmp_path, plain, changed, relation="replace-record")
    assert named.refutes_as_published


def test_records_are_counted_where_many_differ(tmp_path):
    other = [1.0, 2.0]
    changed = document(plain, event("sum", "normal(0;)#0", steps=5.0), 2.0)
    changed["instance"]["pair"] |= {
        "declared": "everything", "neighbour": compute_data_fingerprint(other, SALT),
    }  # fmt: skip
    found = verdict(tmp_path, plain, changed, neighbour=other)
    assert "the two differ in 2 of 2 records" in found.reservations[0]
