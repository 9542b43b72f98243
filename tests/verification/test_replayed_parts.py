"""What a verifier of replays reads, asks for and concludes, part by part."""

from __future__ import annotations

import json
import math
from statistics import NormalDist
from types import SimpleNamespace

import pytest

from dpaudit.errors import DataError
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.reals import Real
from dpaudit.verification import Document, Reader, replay_certificates, reruns
from dpaudit.verification.replay_certificates import (
    ReplayEvidence,
    _find_dependent_conditions,
    _OutputLaw,
)
from dpaudit.verification.replay_claim import claim_of
from dpaudit.verification.replay_events import (
    EventCondition,
    StatedEvent,
    parse_counted_part,
    parse_replay_event,
)
from dpaudit.verification.stated_draws import entries_of, parse_stated_draw, parse_subtrahend

KEY = "laplace(0;)#0"
READER = Reader(seed=1, mechanism=len, confidence=0.999)
CONDITION = {
    "place": 0,
    "above": True,
    "steps": 1.0,
    "draws": [[KEY, 0, ""]] * 2,
    "posts": ["", ""],
}
EVENT = {"kind": "all of", "favours": "dataset", "conditions": [CONDITION]}


def document(evidence=None, epsilon=1.0, delta=0.0, **given):
    instance = {"claimed": {"epsilon": epsilon, "delta": delta}, "mechanism": {"sha256": "own"}}
    return Document(
        path="c.json", claim="c", kind="replay", parameters={}, quantities={}, assumptions={},
        instance=instance | {"evidence": evidence or {"event": EVENT}} | given,
    )  # fmt: skip


# What a file states


@pytest.mark.parametrize(
    ("claimed", "right"),
    [
        ({"epsilon": 1, "delta": 0}, True),
        ({"epsilon": 0.0, "delta": 0.5}, True),
        ({"epsilon": -1.0, "delta": 0.0}, False),
        ({"epsilon": 1.0, "delta": 1.0}, False),
        ({"epsilon": 1.0, "delta": -1e-9}, False),
        ({"epsilon": math.inf, "delta": 0.0}, False),
        ({"epsilon": math.nan, "delta": 0.0}, False),
        ({"epsilon": True, "delta": 0.0}, False),
        ({"epsilon": 1.0, "delta": False}, False),
        ({"epsilon": 1.0}, False),
        ({"epsilon": 1.0, "delta": 0.0, "mu": 1.0}, False),
        ({"epsilon": "1", "delta": 0.0}, False),
    ],
)
def test_a_claim_is_an_epsilon_and_a_delta_in_their_ranges(claimed, right):
    given = document(claimed=claimed)
    if right:
        assert claim_of(given) == (claimed["epsilon"], claimed["delta"])
    else:
        with pytest.raises(DataError, match=r"instance\.claimed"):
            claim_of(given)


def changed(**change):
    return EVENT | {"conditions": [CONDITION | change]}


@pytest.mark.parametrize(
    "stated",
    [
        EVENT | {"kind": "any of"},
        EVENT | {"favours": "both"},
        EVENT | {"conditions": []},
        changed(place=-1),
        changed(steps=math.inf),
        changed(steps=math.nan),
        changed(posts=["", "tenths"]),
        changed(posts=[""]),
        changed(draws=[[KEY, 0, ""]]),
        changed(draws=[[KEY, 0, ""]] * 3),
        changed(draws=[[KEY, -1, ""], [KEY, 0, ""]]),
        changed(draws=[[KEY, True, ""], [KEY, 0, ""]]),
        {"kind": "all of"},
        [],
    ],
)
def test_what_is_no_event_is_refused(stated):
    with pytest.raises(DataError, match=r"evidence\.event"):
        parse_replay_event(document(), stated)


def test_an_event_is_read_as_it_stands():
    found = parse_replay_event(
        document(), changed(place=3, above=False, steps=-2.5, posts=["", "round"])
    )
    draw = (KEY, 0, "")
    assert found == StatedEvent(
        "all of", 0, (EventCondition(3, False, -2.5, (draw, draw), ("", "round")),)
    )
    assert parse_replay_event(document(), EVENT | {"favours": "neighbour"}).favours == 1
    assert len(
        parse_replay_event(document(), EVENT | {"conditions": [CONDITION] * 4096}).conditions
    )


@pytest.mark.parametrize(
    ("stated", "right"),
    [
        ({"what": "text", "favours": "neighbour", "place": 2}, ("text", 1, 2)),
        ({"what": "structure", "favours": "dataset", "place": 0}, ("structure", 0, 0)),
        ({"what": "sum", "favours": "dataset", "place": 0}, None),
        ({"what": "text", "favours": "none", "place": 0}, None),
        ({"what": "text", "favours": "dataset", "place": -1}, None),
        ({"what": "text", "favours": "dataset"}, None),
        ("text", None),
    ],
)
def test_what_is_counted_is_one_part_of_one_side(stated, right):
    if right is None:
        with pytest.raises(DataError, match=r"evidence\.counted"):
            parse_counted_part(document(), stated)
    else:
        assert parse_counted_part(document(), stated) == right


PAIR = SimpleNamespace(relation=None)


def test_one_kind_of_evidence_is_handed_to_its_judge(monkeypatch):
    for name in ("event", "counts", "declaration"):
        said = ReplayEvidence((name,), 1.0, name, ("reserved",))
        monkeypatch.setattr(replay_certificates, f"_by_{name}", lambda *_, said=said: said)
    counted = {"what": "text", "favours": "dataset", "place": 0}
    for evidence, name in (
        ({"event": EVENT}, "event"),
        ({"counted": counted}, "counts"),
        ({"declared": {"draw": KEY}}, "declaration"),
    ):
        found = replay_certificates.replay_reader_mechanism(
            document(evidence), READER, PAIR, ["other records"]
        )
        assert found.failures == ("other records", name)
        assert (found.summary, found.reservations) == (name, ("reserved",))
        assert found.bound == document(evidence).instance["claimed"]["epsilon"]
    for evidence in ({"event": EVENT, "counted": counted}, {"said": {}}):
        with pytest.raises(DataError, match="event, counted or declared"):
            replay_certificates.replay_reader_mechanism(document(evidence), READER, PAIR, [])
    with pytest.raises(DataError, match="--mechanism"):
        replay_certificates.replay_reader_mechanism(document(), Reader(seed=1), None, [])


@pytest.mark.parametrize("name", ["observe", "ignore", "fresh"])
def test_what_no_replay_heeds_is_told(name):
    (said,) = replay_certificates._other_runs(Reader(seed=1, **{name: ("time",)}))
    assert said.startswith(name)
    assert replay_certificates._other_runs(READER) == []


def test_the_parts_that_are_looked_at():
    assert replay_certificates._list_observed_parts({"conditions": [[3, [], []], [5, [], []]]}) == [
        ["number", 3], ["number", 5],
    ]  # fmt: skip
    assert replay_certificates._list_observed_parts({"counted": ("text", 2), "count": 9}) == [
        ["text", 2]
    ]
    assert replay_certificates._list_observed_parts({"contrast": [4, 6, 0.5, 1e-7]}) == [
        ["number", 4],
        ["number", 6],
    ]
    assert replay_certificates._list_observed_parts({"declared": KEY}) == []


SEEN = {"sha256": "own", "copies": False, "keeps_state": False, "kept_files": []}


@pytest.mark.parametrize(
    ("seen", "unmoved", "said"),
    [
        ({}, False, []),
        ({"sha256": "another"}, True, ["its code is not"]),
        ({"sha256": None}, True, ["no file holds it"]),
        ({"copies": True}, True, ["copies a generator"]),
        ({"keeps_state": True}, True, []),
        ({"keeps_state": True}, False, ["keeps a state"]),
        ({"kept_files": ["a.txt"]}, True, ["a.txt"]),
        (
            {"copies": True, "sha256": None, "kept_files": ["b"]},
            True,
            ["no file", "copies", "writes"],
        ),
    ],
)
def test_code_that_is_another_or_may_keep_noise_fails(monkeypatch, seen, unmoved, said):
    asked = []
    monkeypatch.setattr(replay_certificates, "task_of", lambda *_: b"")
    monkeypatch.setattr(
        replay_certificates, "run_task_elsewhere", lambda *_: json.dumps(SEEN | seen)
    )
    monkeypatch.setattr(
        replay_certificates, "is_unmoved", lambda *given: asked.append(given[2:]) or unmoved
    )
    found = replay_certificates._run_reader_code(
        document(), (1.0, 0.0), READER, None, {"counted": ["text", 2]}
    )["failures"]
    assert len(found) == len(said)
    assert all(words in one for words, one in zip(said, found, strict=True))
    assert asked == ([([["text", 2]], 1.0)] if seen.get("keeps_state") else [])


# Independence


def event(*draws, kind="all of", favours=0):
    conditions = [EventCondition(n, True, 1.0, both, ("", "")) for n, both in enumerate(draws)]
    return StatedEvent(kind, favours, tuple(conditions))


def pair_of(first, second):
    return (KEY, *first), (KEY, *second)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("shared", [(0, ""), (3, f"less 0 of {KEY}"), (0, "-log(u)")])
def test_conditions_that_share_a_draw_on_either_dataset_are_dependent(side, shared):
    second = [(1, ""), (1, "")]
    assert _find_dependent_conditions(event(pair_of((0, ""), (0, "")), pair_of(*second))) == []
    second[side] = shared
    draws = pair_of((0, ""), (0, "")), pair_of(*second)
    assert len(_find_dependent_conditions(event(*draws))) == 1
    assert len(_find_dependent_conditions(event(*draws, kind="sum"))) == 1
    assert _find_dependent_conditions(event(*draws, kind="equal")) == []


@pytest.mark.parametrize(
    "made",
    ["less 01 of a", "less -1 of a", "less 1 of ", "less 1 of  a", "LESS 1 of a", "cut", " "],
)
def test_a_draw_is_written_in_one_way(made):
    with pytest.raises(ValueError, match="draw"):
        parse_stated_draw([KEY, 0, made])


def test_the_entries_of_a_draw_are_its_own_and_what_is_taken_away():
    assert parse_subtrahend("less 12 of a b") == ("a b", 12)
    assert entries_of((KEY, 3, "less 3 of other")) == {(KEY, 3), ("other", 3)}
    assert entries_of((KEY, 3, "-log(1-u)")) == {(KEY, 3)}
    for odd in ([KEY, 0], [3, 0, ""], [KEY, 0, None], [KEY, 1.0, ""], [KEY, -1, ""]):
        with pytest.raises((ValueError, TypeError)):
            parse_stated_draw(odd)


# Events


def told(problem=None, centre=0.0, **given):
    plain = {"factor": 1.0, "kind": "laplace", "post": "", "error": 0.0, "low": None, "high": None}
    plain |= {"declared": False, "numbers": [], "draws": []}
    return plain | {"problem": problem, "centre": centre} | given


def by_event(monkeypatch, laws, favours=0, kind="all of", steps=0.0, agree=(), epsilon=0.5):
    monkeypatch.setattr(
        replay_certificates, "_run_reader_code", lambda *_: {"failures": ["state"], "laws": laws}
    )
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: list(agree))
    draws = ((KEY, 0, ""), (KEY, 0, ""))
    one = StatedEvent(kind, favours, (EventCondition(0, False, steps, draws, ("", "")),))
    return replay_certificates._by_event(document(), one, (epsilon, 0.0), READER, None)


def test_an_event_is_judged_on_the_side_that_it_favours(monkeypatch):
    laws = [[told()], [told(centre=1.0)]]
    found = by_event(monkeypatch, laws, agree=["another process"])
    assert found.failures == ("state", "another process")
    assert found.ratio == pytest.approx(2.0)  # at or below the dataset's centre: e^1
    assert by_event(monkeypatch, laws, epsilon=1.5).failures[-1].startswith("event: proves")
    away = by_event(monkeypatch, laws, favours=1)
    assert away.ratio < 0 or away.failures[-1].startswith("event: proves")
    assert by_event(monkeypatch, laws[::-1], favours=1).ratio == pytest.approx(2.0)


@pytest.mark.parametrize("side", [0, 1])
def test_a_number_without_a_law_on_either_dataset_proves_nothing(monkeypatch, side):
    laws = [[told()], [told(centre=1.0)]]
    laws[side] = [told(problem="event: no line")]
    found = by_event(monkeypatch, laws)
    assert found.failures == ("state", "event: no line")
    assert found.ratio == 0


@pytest.mark.parametrize("side", [0, 1])
def test_laws_that_a_package_documents_are_a_reservation(monkeypatch, side):
    laws = [[told()], [told(centre=1.0)]]
    assert by_event(monkeypatch, laws).reservations == ()
    laws[side] = [told(centre=float(side), declared=True)]
    assert len(by_event(monkeypatch, laws).reservations) == 1


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("factor", [0.5, -0.5])
def test_rounding_of_either_dataset_is_in_scales_of_its_noise(monkeypatch, side, factor):
    laws = [[told(factor=factor)], [told(centre=1.0, factor=factor)]]
    exact = by_event(monkeypatch, laws).ratio * 0.5
    assert exact == pytest.approx(2.0)
    laws[side][0]["error"] = 1e-4
    slack = 10 * 1e-4 / 0.5
    assert by_event(monkeypatch, laws).ratio * 0.5 == pytest.approx(
        exact + math.log1p(-slack) - slack, rel=1e-6
    )


def test_an_end_is_infinite_where_there_is_none():
    law = replay_certificates._convert_stated_law(told(centre=2.0, low=-1.0), [])
    assert (law.centre, law.low, law.high) == (2.0, -1.0, math.inf)
    law = replay_certificates._convert_stated_law(told(high=0.0), [])
    assert (law.low, law.high) == (-math.inf, 0.0)


def test_a_sum_of_what_is_none_fails(monkeypatch):
    laws = [[told()], [told(centre=1.0)]]
    found = by_event(monkeypatch, laws, kind="sum")
    assert found.failures == ("state", "event: a sum needs Gaussian noise in every number")
    normal = [[told(kind="normal")], [told(kind="normal", centre=1.0)]]
    assert by_event(monkeypatch, normal, kind="sum", steps=1.0).failures == ("state",)


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"kind": "laplace"}, False),
        ({"post": "round"}, False),
        ({"low": -9.0}, False),
        ({"high": 9.0}, False),
        ({"factor": 2.0 * (1 + 2e-9)}, False),
        ({"factor": -2.0 * (1 + 2e-9)}, False),
        ({"factor": 2.0 * (1 + 5e-10)}, True),
        ({"factor": -2.0}, True),
        ({}, True),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_has_numbers_of_unrounded_gaussian_noise_of_one_scale(given, fits, sign):
    plain = {"centre": 0.0, "factor": 2.0 * sign, "kind": "normal", "post": "", "error": 0.0}
    usual, odd = _OutputLaw(**plain), _OutputLaw(**plain | given)
    for own in ([[odd], [usual]], [[usual], [odd]], [[usual, odd], [usual, usual]]):
        assert (replay_certificates._no_sum(own) is None) is fits


@pytest.mark.parametrize("sign", [1, -1])
def test_a_half_space_is_as_far_apart_as_all_of_its_numbers(sign):
    def law(centre, factor):
        return _OutputLaw(centre, factor, "normal", "", 0.0)

    own = [[law(1.0, 2.0), law(0.0, -4.0)], [law(0.0, 2.0 * sign), law(3.0, -4.0)]]
    draw = ((KEY, 0, ""), (KEY, 0, ""))
    conditions = tuple(EventCondition(n, True, -0.5, draw, ("", "")) for n in range(2))
    probable, other = replay_certificates._compute_half_space_probability(
        StatedEvent("sum", 0, conditions), own
    )
    apart = math.hypot(1.0 / 2.0, 3.0 / 4.0)
    assert float(probable) == pytest.approx(NormalDist().cdf(0.5), rel=1e-12)
    assert float(other) == pytest.approx(NormalDist().cdf(0.5 - apart), rel=1e-12)


@pytest.mark.parametrize(
    ("probable", "fails"), [(1e-9, False), (0.9995e-9, False), (0.998e-9, True), (1e-12, True)]
)
def test_an_event_is_no_rarer_than_a_billionth(probable, fails):
    own = [[_OutputLaw(0.0, 1.0, "laplace", "", 0.0)]] * 2
    other = Real(probable) / 100
    found = replay_certificates._judge_event_probabilities(
        own, Real(probable), other, (1.0, 0.0), 1e-12, ("f",), False
    )
    assert found.failures[0] == "f"
    assert (len(found.failures) > 1) is fails


def test_a_claim_of_0_has_the_largest_ratio_and_has_to_be_passed_all_the_same():
    own = [[_OutputLaw(0.0, 1.0, "laplace", "", 0.0)]] * 2
    found = replay_certificates._judge_event_probabilities(
        own, Real(0.5), Real(0.25), (0.0, 0.0), 1e-12, (), False
    )
    assert (found.failures, found.ratio) == ((), 1e6)
    even = replay_certificates._judge_event_probabilities(
        own, Real(0.5), Real(0.5), (0.0, 0.0), 0.0, (), False
    )
    assert len(even.failures) == 1
    sure = replay_certificates._judge_event_probabilities(
        own, Real(0.5), Real(0), (1.0, 0.0), 1e-12, (), False
    )
    assert sure.ratio == 1e6


# Counts


def counts(monkeypatch, hits, epsilon=1.0, delta=0.0, asked=None, agree=(), failures=()):
    tasks = []

    def runs(given, claimed, reader, pair, what):
        tasks.append(what)
        return {"failures": list(failures), "hits": hits(what["count"]) if callable(hits) else hits}

    monkeypatch.setattr(replay_certificates, "_run_reader_code", runs)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: list(agree))
    asked = asked or {"counted": ["text", 0], "favours": 0}
    found = replay_certificates._judge_event_counts(
        document(), (epsilon, delta), READER, None, asked
    )
    return found, tasks[0]["count"]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (3.0, 0.0), (3.0, 0.1)])
def test_so_many_runs_are_asked_for_as_refute(monkeypatch, epsilon, delta):
    found, runs = counts(monkeypatch, lambda n: (n, 0, n), epsilon, delta)
    alpha = 1 - READER.confidence
    assert joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=alpha) > epsilon
    half = runs // 2
    assert runs == 64 or (
        joint_lower_bound(half, 0, half, half, delta=delta, alpha=alpha) <= epsilon
    )
    assert found.failures == ()
    lower = joint_lower_bound(runs, 0, runs, runs, delta=delta, alpha=alpha)
    assert found.ratio == pytest.approx(lower / epsilon)


def test_counts_are_judged_by_their_own_numbers(monkeypatch):
    found, _ = counts(monkeypatch, (50, 20, 64))
    lower = joint_lower_bound(50, 20, 64, 64, delta=0.0, alpha=1 - READER.confidence)
    assert found.ratio == pytest.approx(lower)
    assert found.failures[0].startswith("counts: 50 and 20 of 64")
    found, _ = counts(monkeypatch, (0, 0, 0), failures=["state"])
    assert found.failures[0] == "state"
    assert (len(found.failures), found.ratio) == (2, 0.0)
    found, _ = counts(monkeypatch, (60, 0, 64), epsilon=0.0)
    assert (found.failures, found.ratio) == ((), 1e6)


def test_another_process_is_asked_about_a_difference_and_the_data_about_all_counts(monkeypatch):
    contrast = {"contrast": [0, 1, 1.0, 1e-7], "favours": 0}
    found, _ = counts(monkeypatch, lambda n: (n, 0, n), asked=contrast, agree=["another"])
    assert found.failures == ("another",)
    found, _ = counts(monkeypatch, lambda n: (n, 0, n), agree=["another"])
    assert found.failures == ()
    monkeypatch.setattr(replay_certificates, "beyond_data", lambda *_: ["kept outside"])
    for failures, due in (((), ("kept outside",)), (("weak",), ("weak",))):
        judged = ReplayEvidence(failures, 2.0, "")
        monkeypatch.setattr(
            replay_certificates, "_judge_event_counts", lambda *_, judged=judged: judged
        )
        counted = replay_certificates._by_counts(
            document(), ("text", 0, 0), (1.0, 0.0), READER, None
        )
        assert counted.failures == due
        law = [_OutputLaw(1.0, 2.0, "laplace", "", 0.0), _OutputLaw(5.0, -4.0, "laplace", "", 0.0)]
        two = event(pair_of((0, ""), (0, "")), pair_of((0, ""), (0, "")), kind="equal")
        found = replay_certificates._by_contrast(
            document(), two, [law, law], (1.0, 0.0), READER, None
        )
        assert found.failures == due


def test_a_difference_has_the_weight_in_which_its_noise_cancels(monkeypatch):
    asked = []
    monkeypatch.setattr(
        replay_certificates,
        "_judge_event_counts",
        lambda *g: asked.append(g[4]) or ReplayEvidence(("f",), 1, ""),
    )
    law = [_OutputLaw(1.0, 2.0, "laplace", "", 0.0), _OutputLaw(50.0, -4.0, "laplace", "", 0.0)]
    two = event(pair_of((0, ""), (0, "")), pair_of((0, ""), (0, "")), kind="equal", favours=1)
    replay_certificates._by_contrast(document(), two, [law, law], (1.0, 0.0), READER, None)
    assert asked == [{"contrast": [0, 1, 0.5, pytest.approx(25e-7)], "favours": 1}]
    one = event(pair_of((0, ""), (0, "")), kind="equal")
    with pytest.raises(DataError, match="two numbers"):
        replay_certificates._by_contrast(document(), one, [law[:1]] * 2, (1.0, 0.0), READER, None)


def judged_of(stated, apart=1.0):
    return replay_certificates._by_declaration(document(), stated, (1.0, 0.0), READER, None, apart)


@pytest.mark.parametrize(
    ("moved", "declared", "fails", "ratio"),
    [(2.0, 1.0, 0, 2.0), (1.0, 1.0, 1, 1.0), (0.5, 1.0, 1, 0.5), (1.0, 0.0, 0, 1e6)],
)
def test_a_declaration_is_broken_by_more_than_it_says(monkeypatch, moved, declared, fails, ratio):
    seen = {"failures": [], "declaration": (moved, declared)}
    monkeypatch.setattr(replay_certificates, "_run_reader_code", lambda *_: seen)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: [])
    found = judged_of({"draw": KEY})
    assert (len(found.failures), found.ratio) == (fails, ratio)
    assert len(found.reservations) == 1
    far = judged_of({"draw": KEY}, apart=4.0)  # what is declared is of a unit of distance
    assert far.ratio == (ratio / 4 if declared else ratio)
    monkeypatch.setattr(replay_certificates, "find_rerun_disagreements", lambda *_: ["another"])
    assert "another" in judged_of({"draw": KEY}).failures
    seen["declaration"] = None
    found = judged_of({"draw": KEY})
    assert (len(found.failures), found.ratio) == (1, 0.0)
    for odd in ({}, {"draw": 3}, KEY):
        with pytest.raises(DataError, match="a draw"):
            judged_of(odd)


# Another process


def agree(monkeypatch, seen, again):
    monkeypatch.setattr(reruns, "task_of", lambda reader, pair, asked: asked)
    monkeypatch.setattr(reruns, "run_task_elsewhere", lambda *_: json.dumps(again))
    return reruns.find_rerun_disagreements(READER, None, {"count": 64}, seen) == []


@pytest.mark.parametrize(
    ("seen", "again", "same"),
    [
        ({"value": 3.0}, {"value": 3.0}, True),
        ({"value": 3.0}, {"value": 3.1}, False),
        ({"value": 3.0}, {"value": -3.0}, False),
        ({"value": 3.0}, {"value": 3.0 + 1e-8}, True),
        ({"value": 3.0}, {"value": None}, False),  # no such number there
        ({"value": None}, {"value": 3.0}, False),
        ({"value": None}, {"value": None}, True),
        ({"declaration": [2.0, 1.0]}, {"declaration": [2.0, 1.0]}, True),
        ({"declaration": [2.0, 1.0]}, {"declaration": None}, False),  # no such call there
        ({"declaration": [2.0, 1.0]}, {}, False),
        ({"declaration": [2.0, 1.0]}, {"declaration": [2.1, 1.0]}, False),
        ({"declaration": [2.0, 1.0]}, {"declaration": [2.0, 1.1]}, False),
        ({"laws": [[told()], [told()]]}, {"laws": [[told()], [told()]]}, True),
        ({"laws": [[told()], [told()]]}, {"laws": [[told()], [told(centre=0.1)]]}, False),
        ({"laws": [[told()], [told()]]}, {"laws": [[told()], [told(problem="no line")]]}, False),
        ({"laws": [[told()], [told(problem="p")]]}, {"laws": [[told()], [told("q")]]}, True),
        ({"laws": [[told()], [told()]]}, {"laws": [[told()], [told(low=0.0)]]}, False),
        ({"laws": [[told()], [told()]]}, {"laws": [[told()], [told(kind="normal")]]}, False),
        ({"laws": [[told()], [told()]]}, {"laws": [[told()], [told(post="round")]]}, False),
    ],
)
def test_two_processes_show_the_same(monkeypatch, seen, again, same):
    assert agree(monkeypatch, seen, again) is same


def test_another_process_is_asked_at_another_time_with_another_seed(monkeypatch):
    asked = []
    monkeypatch.setattr(reruns, "task_of", lambda reader, pair, task: asked.append(task))
    monkeypatch.setattr(reruns, "run_task_elsewhere", lambda *_: "{}")
    reruns.find_rerun_disagreements(READER, None, {"count": 64}, {})
    reruns.find_rerun_disagreements(READER, None, {"declared": KEY}, {})
    assert asked[0] == {"count": 8, "ahead": 1, "seed": READER.seed + 1}
    assert asked[1] == {"declared": KEY, "count": 0, "ahead": 1, "seed": READER.seed + 1}


def test_tasks_have_the_data_in_their_order():
    pair = SimpleNamespace(dataset=[1.0], neighbour=[2.0])
    import cloudpickle

    task = cloudpickle.loads(reruns.task_of(READER, pair, {"count": 3}))
    assert task["data"] == ([1.0], [2.0])
    assert (task["seed"], task["count"], task["seconds"]) == (1, 3, 300.0)
