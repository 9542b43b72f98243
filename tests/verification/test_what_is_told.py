"""Nothing that a check found is lost on the way to a verdict, of every kind of certificate."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

import dpaudit
import dpaudit.verification.mechanism as mechanism
from dpaudit.errors import DataError, DpauditError
from dpaudit.reals import Real
from dpaudit.verification import Document, Outcome, Reader, data, judge
from dpaudit.verification.document import Verdict, read
from dpaudit.verification.judge import _stricter, _too_small, verifier_of
from dpaudit.verification.misstatements import find_misstatements, list_broken_assumptions
from dpaudit.verification.redrawn_counts import FreshAudit
from dpaudit.verification.replay_certificates import ReplayEvidence

NUMBERS = {"bound": 2.0, "value": 3.0, "ratio": 1.5}


def document(kind="sensitivity", bound=2.0, **given):
    fields = {"parameters": {}, "assumptions": {}, "source": "a paper", "relation": "edge"}
    fields |= {"quantities": {"bound": bound, "ratio": 1.5}, "instance": {"settings": {}}}
    return Document(path="c.json", claim="c", kind=kind, **fields | given)


def outcome_of(assumptions, quantities, summary=None, **given):
    return Outcome(assumptions=assumptions, quantities=quantities, summary=summary, **given)


def drawn(*failures):
    outcome = outcome_of({}, NUMBERS, "drawn", reservations=("of the audit",))
    return FreshAudit(outcome, failures)


# Fresh draws of an installed claim


@pytest.fixture
def claims(monkeypatch):
    """Let every part of a check say something, and return how often each was asked."""
    asked = []

    def says(name, answer):
        def said(*given, **_):
            asked.append(name)
            return answer

        monkeypatch.setattr(judge, name, said)

    says("draw_afresh", drawn("not refuted"))
    says("find_unreproduced_numbers", ("another number",))
    says("_other_words", ["other words"])
    says("_other_choices", ("other choices",))
    says("_of_settings", ("other settings",))
    return asked


def test_fresh_draws_say_all_that_fails_and_all_that_is_reserved(claims):
    found = judge.verify(document("statistical"), Reader(seed=1))
    assert found.failures == ("other words", "not refuted")
    assert found.reservations == ("of the audit", "other choices", "other settings")
    assert (found.ratio, found.summary, found.claim) == (1.5, "drawn", "c")
    assert "find_unreproduced_numbers" not in claims


def test_what_a_file_states_otherwise_than_fresh_draws_fails(claims):
    found = judge.verify(document("statistical", bound=2.1), Reader(seed=1))
    assert found.failures[1].startswith("bound: the file states 2.1")
    again = judge.verify(document("statistical"), Reader(seed=1), reproduce=True)
    assert again.failures == ("other words", "not refuted", "another number")


@pytest.mark.parametrize("kind", ["statistical", "sensitivity", "canaries"])
def test_a_mechanism_of_the_readers_is_for_certificates_of_mechanisms_alone(claims, kind):
    with pytest.raises(DataError, match="leave out --mechanism"):
        judge.verify(document(kind), Reader(seed=1, mechanism=len))
    assert claims == []


# A computation


def test_a_computation_says_all_that_fails_and_all_that_is_reserved(monkeypatch, claims):
    outcome = Outcome(
        assumptions={"norm": (2, 1)},
        quantities={"bound": 2, "ratio": 1},
        reservations=("of the verifier",),
    )
    monkeypatch.setattr(judge, "_verifier", lambda claim: lambda document: outcome)
    found = judge.verify(document(parameters={"factor": 0.5}))
    assert [one.partition(":")[0] for one in found.failures] == [
        "other words", "norm", "norm", "ratio", "ratio",
    ]  # fmt: skip
    assert found.reservations == (
        "factor 0.5 makes it stricter",
        "other choices",
        "of the verifier",
    )
    assert not found.verified
    assert found.summary == "1 times the claimed bound"


@pytest.mark.parametrize(
    ("factor", "stricter"),
    [(0.5, True), (0.999, True), (1, False), (1.0, False), (2, False), (0, True), (True, False)],
)
def test_a_factor_below_1_is_a_reservation(factor, stricter):
    assert bool(_stricter(document(parameters={"factor": factor}))) is stricter
    assert not _stricter(document())


def test_a_factor_that_is_no_number_is_none():
    assert not _stricter(document(parameters={"factor": False}))
    assert not _stricter(document(parameters={"factor": "0.5"}))


@pytest.mark.parametrize(
    ("over", "small"), [(2e-9, False), (0.9e-9, True), (0.0, True), (-0.5, True)]
)
def test_a_ratio_has_to_be_above_1_by_more_than_rounding(over, small):
    assert bool(_too_small(outcome_of({}, {"ratio": 1 + Real(over)}))) is small


def misstated(stated, assumptions, outcome):
    given = document(quantities=stated, assumptions=assumptions)
    return [one.partition(":")[0] for one in find_misstatements(given, outcome)]


def test_a_file_states_every_number_that_is_recomputed_and_no_other():
    outcome = outcome_of({"norm": (1, 2)}, {"ratio": 2, "size": 3})
    right = {"ratio": 2.0, "size": 3.0}
    assert misstated(right, {"norm": (1.0, 2.0)}, outcome) == []
    assert misstated(right, {}, outcome) == ["norm"]
    assert misstated(right, {"norm": (1.0, 2.0), "b": (0.0, 1.0)}, outcome) == ["b"]
    assert misstated(right | {"more": 1.0}, {"norm": (1.0, 2.0)}, outcome) == ["more"]
    assert misstated(right | {"size": 3.1}, {"norm": (1.0, 2.0)}, outcome) == ["size"]
    assert misstated(right, {"norm": (1.1, 2.0)}, outcome) == ["norm (value)"]
    with pytest.raises(DataError, match=r"quantities\.size"):
        misstated({"ratio": 2.0}, {"norm": (1.0, 2.0)}, outcome)


def test_an_assumption_holds_up_to_its_limit_and_the_limit_is_the_verifiers():
    def broken(value, limit=1):
        return list_broken_assumptions(outcome_of({"norm": (value, limit)}, {}))

    assert broken(1) == broken(-5) == []
    assert len(broken(1 + Real(1e-15))) == 1


@pytest.mark.parametrize(
    ("failures", "reservations", "verified", "published", "verdict"),
    [
        ((), (), True, True, "refuted"),
        ((), ("r",), True, False, "not refuted"),
        (("f",), (), False, False, "withheld"),
        (("f",), ("r",), False, False, "withheld"),
    ],
)
def test_a_verdict_on_a_claim(failures, reservations, verified, published, verdict):
    found = Verdict(claim="c", failures=failures, ratio=2.0, summary="", reservations=reservations)
    assert (found.verified, found.refutes_as_published) == (verified, published)
    assert found.on_the_claim == verdict


@pytest.mark.parametrize(
    ("home", "verifier"),
    [
        ("a.claims.t", "a.verify.t"),
        ("claims.t", "verify.t"),
        ("a.claims.b.claims.t", "a.verify.b.verify.t"),
        ("a.myclaims.t", "a.myclaims.t"),
        ("a.claims", "a.claims"),
    ],
)
def test_a_verifier_is_where_the_claim_has_its_home(home, verifier):
    assert verifier_of(home) == verifier


def test_canaries_say_all_that_fails(monkeypatch):
    outcome = outcome_of({"norm": (2, 1)}, {"ratio": 2, "bound": 2}, "s", reservations=("r",))
    rechecked = SimpleNamespace(outcome=outcome, ratio=Real(7), failures=("too likely",))
    monkeypatch.setattr("dpaudit.verification.canaries.verify_canary_scores", lambda *_: rechecked)
    found = judge.verify(document("canaries"), Reader(seed=1))
    assert [one.partition(":")[0] for one in found.failures] == [
        "norm", "norm", "ratio", "too likely",
    ]  # fmt: skip
    assert (found.ratio, found.reservations) == (7.0, ("r",))


# Mechanisms of one's own, and replays


def of_mechanism(claimed=None, **given):
    instance = {"claimed": claimed or {"epsilon": 2.0, "delta": 0.0}, "reading": {}}
    instance |= {"mechanism": {"sha256": "0"}, "pair": {}, "settings": {}}
    return document("mechanism", instance=instance | given)


def test_draws_of_the_readers_mechanism_say_all_that_fails(monkeypatch):
    monkeypatch.setattr(judge, "draw_by_reader", lambda *_, reproduce: drawn(f"r {reproduce}"))
    found = judge.verify(of_mechanism(), Reader(seed=1, mechanism="m:f"))
    assert found.failures == ("r False",)
    assert (found.reservations, found.claim) == (("of the audit",), "m:f")
    found = judge.verify(of_mechanism(), Reader(seed=1, mechanism=len), reproduce=True)
    assert (found.failures, found.claim) == (("r True",), "len")
    wrong = replace(of_mechanism(), quantities={"bound": 2.1, "ratio": 1.5})
    found = judge.verify(wrong, Reader(seed=1, mechanism=len))
    assert found.failures[0].startswith("bound: the file states 2.1")
    curve = replace(of_mechanism({"curve": [[1.0, 0.1]]}), quantities={"bound": 9.0})
    assert judge.verify(curve, Reader(seed=1, mechanism=len)).failures == ("r False",)


def test_a_replay_says_all_that_fails_and_what_the_file_alone_says(monkeypatch):
    pair = SimpleNamespace(relation=SimpleNamespace(statement="one record"))
    monkeypatch.setattr(judge, "of_reader", lambda *_: (pair, ["other records"], ("relation",)))
    given = []

    def judged(document, reader, pair, same):
        given.append((pair, same))
        return ReplayEvidence(("weak",), 1.5, "seen", ("declared",), bound=2.0)

    monkeypatch.setattr(judge, "replay_reader_mechanism", judged)
    found = judge.verify(replace(of_mechanism(), kind="replay"), Reader(seed=1, mechanism=len))
    assert given == [(pair, ["other records"])]
    assert found.failures == ("weak",)
    assert found.summary == "against the claim that it is (2, 0)-DP: seen; neighbours: one record"
    assert found.reservations == ("declared", "relation")
    wrong = replace(of_mechanism(), kind="replay", quantities={"bound": 2.1})
    found = judge.verify(wrong, Reader(seed=1, mechanism=len))
    assert found.failures[0].startswith("bound: the file states 2.1")
    assert found.failures[1:] == ("weak",)
    for ratio, said in ((1.4, []), (1.5, []), (1.51, ["ratio"]), (150.0, ["ratio"])):
        quantities = {"bound": 2.0, "ratio": ratio}  # as older files have it, rounded down
        stated = replace(of_mechanism(), kind="replay", quantities=quantities)
        failures = judge.verify(stated, Reader(seed=1, mechanism=len)).failures
        assert [one.partition(":")[0] for one in failures] == [*said, "weak"]
    other = replace(of_mechanism(), kind="replay", quantities={"bound": 2.0, "value": 3.0})
    failures = judge.verify(other, Reader(seed=1, mechanism=len)).failures
    assert failures == ("value: is no quantity that is recomputed", "weak")


def test_a_claim_is_said_with_all_digits_that_the_file_gives_it():
    pair = SimpleNamespace(relation=SimpleNamespace(statement="one record"))
    for epsilon, said in ((1.0, "1"), (0.5, "0.5"), (0.99999999, "0.99999999"), (1e-9, "1e-09")):
        stated = of_mechanism({"epsilon": epsilon, "delta": 0.0})
        words = mechanism.summary_of(stated, Reader(seed=1), pair, "seen")
        assert words.startswith(f"against the claim that it is ({said}, 0)-DP: seen")
    assert mechanism._exactly(0.1 + 0.2) == "0.30000000000000004"


@pytest.mark.parametrize("reproduce", [False, True])
def test_an_audit_of_the_readers_mechanism_says_all_that_differs(monkeypatch, reproduce):
    pair = SimpleNamespace(relation=dpaudit.metric("euclidean"))
    audited = []
    for name, answer in {
        "_settings": "settings",
        "_pair": pair,
        "_place_reader_mechanism": ("placed", ["other code"]),
        "_other_records": ["other records"],
        "_other_reading": ["other reading"],
        "other_distance": ["other distance"],
        "judge_fresh_result": drawn("not refuted"),
        "own_settings": "own settings",
        "compare_stated_numbers": ("another number",),
        "_chosen_relation": ("the file's relation",),
    }.items():
        monkeypatch.setattr(mechanism, name, lambda *_, answer=answer: answer)
    run = SimpleNamespace(a_unit=SimpleNamespace(apart=2.0))
    monkeypatch.setattr(
        mechanism, "_run_reader_audit", lambda *given: [run, audited.append(given[3])][0]
    )
    found = mechanism.draw_by_reader(
        of_mechanism(), Reader(seed=1, mechanism=len), reproduce=reproduce
    )
    said = ("other code", "other records", "other reading", "not refuted", "other distance")
    assert found.failures == (*said, *(("another number",) if reproduce else ()))
    assert found.outcome.reservations == ("of the audit", "the file's relation")
    assert audited == ["settings", *(["own settings"] if reproduce else [])]
    assert found.outcome.summary.endswith(f"neighbours: {pair.relation.statement}")
    assert ", a unit of distance (euclidean)" in found.outcome.summary
    with pytest.raises(DataError, match="--mechanism"):
        mechanism.draw_by_reader(of_mechanism(), Reader(seed=1), reproduce=False)


def test_a_replay_is_told_what_the_file_states_otherwise(monkeypatch):
    monkeypatch.setattr(mechanism, "_pair", lambda *_: "pair")
    monkeypatch.setattr(mechanism, "_other_records", lambda *_: ["records"])
    monkeypatch.setattr(mechanism, "_other_reading", lambda *_: ["reading"])
    monkeypatch.setattr(mechanism, "_chosen_relation", lambda *_: ("relation",))
    found = mechanism.of_reader(of_mechanism(), Reader(seed=1))
    assert found == ("pair", ["records", "reading"], ("relation",))


@pytest.mark.parametrize(
    ("name", "stated", "own", "other"),
    [
        ("form", "f(data)", "f(data)", False),
        ("form", "f(data)", None, True),
        ("form", None, "f(data)", True),
        ("read", ["a"], "a", False),
        ("read", ["a"], ["a"], False),
        ("read", ["a"], ["b"], True),
        ("read", None, "a", True),
        ("read", [], None, False),
        ("observe", ["time"], ("time",), False),
        ("observe", ["time"], (), True),
        ("observe", [], ("time",), True),
        ("ignore", ["x"], (), True),
        ("ignore", None, ("x",), True),
        ("fresh", "process", "process", False),
        ("fresh", None, "process", True),
        ("fresh", "process", None, True),
    ],
)
def test_what_is_looked_at_is_what_the_reader_says(name, stated, own, other):
    given = of_mechanism(reading={name: stated})
    found = mechanism._other_reading(given, Reader(seed=1, **{name: own}))
    assert [one.partition(":")[0] for one in found] == ([name] if other else [])


@pytest.mark.parametrize(
    ("claimed", "kind"),
    [
        ({"epsilon": 1.0, "delta": 1e-5}, "ApproximateDP"),
        ({"mu": 1.0}, "GaussianDP"),
        ({"rho": 1.0}, "ZeroConcentratedDP"),
        ({"renyi": [2.0, 1.0]}, None),
        ({}, ""),
        ({"epsilon": 1.0}, ""),
        ({"delta": 1e-5}, ""),
        ({"epsilon": True, "delta": 0.0}, ""),
        ({"epsilon": "1", "delta": 0.0}, ""),
        ({"epsilon": 1.0, "delta": 0.0, "mu": 1.0}, ""),
        ({"mu": 1.0, "rho": 1.0}, ""),
        ({"mu": True}, ""),
        ({"mu": 1.0, "alpha": 0.5}, ""),
        ({"curve": []}, ""),
        ({"curve": [[1.0, True]]}, ""),
    ],
)
def test_a_claim_is_one_and_of_numbers(claimed, kind):
    given = of_mechanism()
    given = replace(given, instance={**given.instance, "claimed": claimed})
    if kind == "":
        with pytest.raises(DpauditError, match=r"instance\.claimed|expected one claim"):
            mechanism._claimed(given)
    else:
        found = mechanism._claimed(given)
        assert kind is None or type(found).__name__ == kind


def test_both_datasets_are_the_readers_or_the_files():
    held = {"data": [{"list": [1.0, 2.0]}, {"array": [[1.0], [3.0]]}]}
    given = of_mechanism(pair=held)
    first, second = data._parse_stated_data(given)
    assert (first, second.tolist()) == ([1.0, 2.0], [[1.0], [3.0]])
    for own in ({"dataset": [1.0, 2.0]}, {"neighbour": [1.0, 2.0]}):
        with pytest.raises(DataError, match="both datasets"):
            mechanism._pair(given, Reader(seed=1, **own))
    for odd in ([], [{"list": []}], [{"list": 3}, {"list": []}], [{"rows": []}] * 2, {"a": 1}):
        with pytest.raises(DataError, match=r"pair\.data"):
            data._parse_stated_data(of_mechanism(pair={"data": odd}))


def test_the_relation_is_the_readers_then_what_the_file_declares_then_its_name():
    data = {"dataset": [1.0, 2.0], "neighbour": [1.0, 3.0]}
    stated = replace(of_mechanism(pair={"declared": "one visit"}), relation="replace-record")
    named = mechanism._pair(stated, Reader(seed=1, relation="replace-record", **data))
    assert named.relation.name == "replace-record"
    declared = mechanism._pair(stated, Reader(seed=1, **data))
    assert "one visit" in declared.relation.statement
    plain = replace(of_mechanism(pair={}), relation="replace-record")
    assert mechanism._pair(plain, Reader(seed=1, **data)).relation.name == "replace-record"
    assert mechanism._chosen_relation(declared, Reader(seed=1, relation="x")) == ()
    (told,) = mechanism._chosen_relation(declared, Reader(seed=1))
    assert "one visit" in told
    assert "1 of 2 records" in told
    assert (
        mechanism._chosen_relation(mechanism._pair(plain, Reader(seed=1, **data)), Reader()) == ()
    )


def test_another_order_of_records_is_a_reservation_unless_the_reader_names_the_relation():
    records = ["a", "b", "c"]
    for other, relation, count in (
        (["a", "d", "c"], "replace-record", 0),
        (["c", "d", "a"], "replace-record", 1),
        (["b", "c"], "add-remove-record", 0),
        (["c", "b"], "add-remove-record", 1),
        (["d", *records], "add-remove-record", 0),
    ):
        stated = replace(of_mechanism(pair={}), relation=relation)
        reader = Reader(seed=1, dataset=records, neighbour=other)
        pair = mechanism._pair(stated, reader)
        assert len(mechanism._chosen_relation(pair, reader)) == count
        assert mechanism._chosen_relation(pair, replace(reader, relation=relation)) == ()


def test_what_is_named_twice_is_refused(tmp_path):
    path = tmp_path / "c.json"
    path.write_text('{"format": "dpaudit-certificate", "format": "dpaudit-certificate"}')
    with pytest.raises(DataError, match="names something twice"):
        read(path)
