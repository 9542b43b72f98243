"""Decisions of verifiers that one value alone shows: what is asked, named twice, or another."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.mechanisms.foreign.code_identity as code_identity
import dpaudit.mechanisms.foreign.isolation as isolation
from dpaudit.auditing.samples.canary_table import CanaryTable
from dpaudit.errors import DataError
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call
from dpaudit.reals import Real
from dpaudit.verification import (
    Document,
    Outcome,
    Reader,
    canaries,
    judge,
    mechanism,
    replay_certificates,
    rerun_replay,
    reruns,
)
from dpaudit.verification.document import read
from dpaudit.verification.replay_certificates import (
    ReplayEvidence,
    _half_line,
    _judge_event_probabilities,
    _OutputLaw,
)

KEY = "laplace(0;)#0"
CERTIFICATE = {
    "format": "dpaudit-certificate",
    "version": 1,
    "claim": "c",
    "kind": "sensitivity",
    "source": "s",
    "relation": "r",
    "parameters": {"factor": 1},
    "quantities": {"ratio": 2.0},
    "instance": {},
    "assumptions": [{"name": "small", "value": 0.0, "limit": 1.0}],
}


# Files


def stated(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_text(text, encoding="utf-8")
    return read(path)


def test_what_a_file_names_twice_is_refused(tmp_path):
    text = json.dumps(CERTIFICATE)
    assert stated(tmp_path, text)[0].quantities == {"ratio": 2.0}
    for one, twice in (
        ('"ratio": 2.0', '"ratio": 2.0, "ratio": 3.0'),
        ('"claim": "c"', '"claim": "c", "claim": "d"'),
    ):
        with pytest.raises(DataError, match="twice"):
            stated(tmp_path, text.replace(one, twice))
    both = CERTIFICATE | {"assumptions": [*CERTIFICATE["assumptions"]] * 2}
    with pytest.raises(DataError, match="assumptions"):
        stated(tmp_path, json.dumps(both))


# Numbers


def verdict(monkeypatch, parameters=None, **given):
    outcome = Outcome(quantities={"ratio": 2}, assumptions={"small": (0, 1)})
    known = {"quantities": {"ratio": 2.0}, "assumptions": {"small": (0.0, 1.0)}}
    document = Document(
        path="c.json", claim="c", parameters=parameters or {}, instance={}, **known | given
    )
    monkeypatch.setattr(judge, "_verifier", lambda claim: lambda document: outcome)
    return judge.verify(document)


def test_what_is_not_recomputed_is_not_stated(monkeypatch):
    assert verdict(monkeypatch).failures == ()
    more = verdict(monkeypatch, assumptions={"small": (0.0, 1.0), "other": (0.0, 1.0)})
    assert more.failures == ("other: is no assumption of the claim",)
    assert verdict(monkeypatch, assumptions={}).failures == (
        "small: the file does not state this assumption",
    )
    made_up = verdict(monkeypatch, quantities={"ratio": 2.0, "size": 3.0})
    assert made_up.failures == ("size: is no quantity that is recomputed",)


@pytest.mark.parametrize(
    ("factor", "stricter"), [(1, False), (1.0, False), (2, False), (0.5, True), (0, True)]
)
def test_a_claim_that_was_made_stricter_is_another(monkeypatch, factor, stricter):
    found = verdict(monkeypatch, {"factor": factor})
    assert found.verified
    assert found.refutes_as_published is not stricter


def test_choices_of_a_drawn_certificate_are_those_of_its_settings(monkeypatch):
    outcome = Outcome(quantities={"bound": 1.0, "ratio": 2.0}, assumptions={}, summary="s")
    drawn = SimpleNamespace(outcome=outcome, failures=())
    monkeypatch.setattr(judge, "draw_afresh", lambda *_: drawn)
    asked = []
    monkeypatch.setattr(judge, "_other_choices", lambda claim, given: asked.append(given) or ("x",))
    document = Document(
        path="c.json", claim="c", kind="statistical", parameters={}, assumptions={},
        quantities={"bound": 1.0}, instance={"settings": {"parameters": {"size": 3}}},
    )  # fmt: skip
    found = judge.verify(document, Reader(seed=1))
    assert asked == [{"size": 3}]
    assert found.reservations == ("x",)


# Canaries


def test_runs_of_a_file_are_tested_as_runs_and_a_file_without_has_none():
    rng = np.random.default_rng(0)
    scores, included = rng.normal(size=400), rng.random(400) < 0.5
    runs = CanaryTable(scores=scores, included=included, group=np.repeat(np.arange(4), 100))
    assert canaries._find_unfair_coins(runs, "runs") == ()
    alone = CanaryTable(scores=scores, included=included, group=None)
    assert canaries._find_unfair_coins(alone, "runs") == ("design: the file of scores has no runs",)
    assert canaries._find_unfair_coins(alone, "independent") == ()
    odd = CanaryTable(scores=scores, included=np.arange(400) % 100 < 50, group=runs.group)
    (said,) = canaries._find_unfair_coins(odd, "runs")
    assert said.startswith("design: not every run has coins of its own")


def test_no_p_value_is_stated_below_the_least():
    given = {"design": "independent", "coins": 4000, "rows": 4000, "included": 2000}
    zero = {"delta": Real(0), "claimed": Real(0), "alpha": Real(0.05)}
    one = canaries.CanaryStatement(**given, **zero, guesses=(4000,), shares=(1.0,), correct=(4000,))
    assert float(canaries._least_p_value(one, (4000,))) == 1e-290
    assert float(canaries._least_p_value(one, (0,))) == 1.0


# Replays


def law(kind="laplace", centre=0.0, factor=1.0, **given):
    return _OutputLaw(centre, factor, kind, "", 0.0, **given)


@pytest.mark.parametrize("uniform", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_rounding_moves_a_probability_where_noise_of_either_dataset_is_uniform(uniform):
    own = [[law("uniform" if one else "laplace")] for one in uniform]
    found = _judge_event_probabilities(own, Real(0.5), Real(0.25), (0.1, 0.0), 0.01, (), False)
    absolute = np.log(0.49 / 0.26) - 0.01
    relative = np.log(0.5 * 0.99 / 0.25) - 0.01
    due = absolute if any(uniform) else relative
    assert found.ratio == pytest.approx(due / 0.1)


def test_an_end_of_a_clip_is_reached_by_all_that_is_beyond_it():
    clipped = law(low=-1.0, high=1.0)
    tail = float(np.exp(-1) / 2)
    for above, threshold, due in (
        (True, 1.0, tail),
        (False, -1.0, tail),
        (True, -1.0, 1 - tail),
        (True, 1.0 + 1e-9, 0.0),
        (False, 1.0 + 1e-9, 1.0),
        (True, -1.0 - 1e-9, 1.0),
        (False, -1.0 - 1e-9, 0.0),
    ):
        assert float(_half_line(clipped, threshold, above=above)) == pytest.approx(due)


NEIGHBOURS = SimpleNamespace(relation=None)


def test_what_no_replay_heeds_fails_its_certificate(monkeypatch):
    monkeypatch.setattr(
        replay_certificates, "_by_counts", lambda *_: ReplayEvidence(("counts",), 2.0, "s")
    )
    evidence = {"counted": {"what": "number", "favours": "dataset", "place": 0}}
    instance = {"claimed": {"epsilon": 1.0, "delta": 0.0}, "evidence": evidence}
    document = Document(
        path="c.json", claim="c", kind="replay", parameters={}, quantities={}, assumptions={},
        instance=instance,
    )  # fmt: skip
    reader = Reader(seed=1, mechanism=len, ignore=("at",))
    found = replay_certificates.replay_reader_mechanism(document, reader, NEIGHBOURS, ["pair"])
    assert [one.partition(":")[0] for one in found.failures] == ["pair", "ignore", "counts"]


def seen_in(monkeypatch, first, second, copied=(False, False), drawn=0, loaded=False):
    """Return what is seen of a state, where two runs made so many calls."""
    made = iter(
        Run(seed=1, calls=[None] * count, copied=one)
        for count, one in zip((first, second), copied, strict=True)
    )
    monkeypatch.setattr(rerun_replay, "_run_recorded", lambda *_: (next(made), None))
    monkeypatch.setattr(rerun_replay, "_make_called_function", lambda *_: None)
    monkeypatch.setattr(rerun_replay, "_compute_code_hash", lambda *_: "own")
    found = (None, drawn, loaded)
    monkeypatch.setattr(rerun_replay.recorder, "load_recorded", lambda *_: found)
    task = {"code": "m:f", "form": None, "read": None, "data": (0, 1), "seed": 1}
    return json.loads(rerun_replay.run_replay_task(task))


def test_what_a_first_call_draws_beyond_a_later_one_is_a_state(monkeypatch):
    assert seen_in(monkeypatch, 3, 3)["keeps_state"] is False
    assert seen_in(monkeypatch, 4, 3)["keeps_state"] is True
    assert seen_in(monkeypatch, 3, 4)["keeps_state"] is False
    assert seen_in(monkeypatch, 3, 3, drawn=1)["keeps_state"] is True


def test_a_generator_that_any_run_or_the_import_copied_is_told(monkeypatch):
    assert seen_in(monkeypatch, 3, 3)["copies"] is False
    assert seen_in(monkeypatch, 3, 3, copied=(True, False))["copies"] is True
    assert seen_in(monkeypatch, 3, 3, copied=(False, True))["copies"] is True
    assert seen_in(monkeypatch, 3, 3, loaded=True)["copies"] is True


@pytest.mark.parametrize(("varies", "due"), [(0, (1.0, 1.0)), (1, None)])
def test_a_call_declares_one_sensitivity_in_all_runs(monkeypatch, varies, due):
    def once(function, data, seed):
        fields = {"index": 0, "name": "n", "place": "p", "stack": (), "shape": ()}
        said = {"sensitivity": 1.0 + varies * (seed % 2)}
        one = Call(kind="k", key=KEY, location=float(data), declared=said, **fields)
        return Run(seed=seed, calls=[one]), None

    monkeypatch.setattr(rerun_replay, "_run_recorded", once)
    task = {"declared": KEY, "data": (0, 1)}
    assert rerun_replay._measure_declared_movement(None, task, 1) == due


@pytest.mark.parametrize("reads", [[], [["number", 0]]])
@pytest.mark.parametrize("touched", [[], [("value carried along", "x")], [("file", "y")]])
def test_what_came_along_with_the_code_or_is_never_read_is_not_unmoved(monkeypatch, reads, touched):
    monkeypatch.setattr(reruns, "task_of", lambda *_: b"")
    monkeypatch.setattr(reruns, "_find_touched_state", lambda *_: touched)
    monkeypatch.setattr("dpaudit.freezing.states.are_unmoved", lambda *_: [True] * len(reads))
    carried = any(kind == "value carried along" for kind, _ in touched)
    found = reruns.is_unmoved(Reader(seed=1), None, reads, 1.0)
    assert found is (bool(reads) and not carried)


@pytest.mark.parametrize(("own", "same"), [("own", True), ("another", False), (None, False)])
def test_code_that_no_file_holds_is_not_that_of_a_certificate(monkeypatch, own, same):
    held = None if own is None else SimpleNamespace(sha256=own)
    placed = SimpleNamespace(mechanism=object())
    monkeypatch.setattr(isolation, "isolate_mechanism", lambda *_: placed)
    monkeypatch.setattr(code_identity, "code_of", lambda _: held)
    document = Document(
        path="c.json", claim="c", kind="mechanism", parameters={}, quantities={}, assumptions={},
        instance={"mechanism": {"sha256": "own"}},
    )  # fmt: skip
    found, failures = mechanism._place_reader_mechanism(document, Reader(seed=1, mechanism=len))
    assert found is placed
    assert (failures == []) is same
