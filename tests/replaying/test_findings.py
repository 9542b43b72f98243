"""What each finding is worth, which event, count or declaration makes one, what is withheld."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpaudit.freezing.observing import SideRuns
from dpaudit.freezing.outputs import flatten_output
from dpaudit.replaying import findings, running
from dpaudit.replaying.counting import (
    ALPHA,
    COUNTS,
    OutputEvent,
    OutputEventCount,
    _choose_test,
    _make_output_tests,
    constants,
)
from dpaudit.replaying.events import OutputCondition, ReplayEvent
from dpaudit.replaying.findings import (
    CallFinding,
    ReplayComparison,
    ReplayRequest,
    _budget,
    _by_counting,
    _by_laws,
    _control_flow,
    _count_guided_events,
    _find_fixed_seeds,
    _hints,
    _is_unreached_constant,
    _of_count,
    _of_event,
    _sort_findings,
    _structure_moves,
    collect_findings,
)
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw
from dpaudit.replaying.movement import CallMovement
from dpaudit.replaying.no_release import KIND, nothing_released
from dpaudit.replaying.result import Replay, ReplayFinding
from dpaudit.replaying.spending import Spending

ASKED = ReplayRequest(1.0, 0.0)
DRAW = StandardDraw("laplace(0;)#0", 0)
MOVED = CallMovement(
    index=0, key=DRAW.key, place="a.py:3 in f", name="n", kind="laplace", shape=(), scale=1.0,
    other_scale=1.0, moved=2.0, seen="sum", steady=True, declared=None, epsilon=None, spent=2.0,
)  # fmt: skip


def law(centre=0.0, factor=1.0, kind="laplace", draw=DRAW, **given):
    return NumberLaw(kind, centre, factor, draw, **given)


def laws(*numbers, structure="[f]", texts=(), **given):
    paths = [f"output[{n}]" for n in range(len(numbers))]
    return Laws(structure, texts, paths, list(numbers), **given)


def side(*values, plain=None, seeds=(), calls=(), **given):
    outputs = [flatten_output(one) for one in values]
    runs = [
        SimpleNamespace(seeds=list(seeds), calls=list(calls), elsewhere=False, warned=[])
        for _ in outputs
    ]
    real = outputs if plain is None else [flatten_output(one) for one in plain]
    return SideRuns(runs=runs, outputs=outputs, plain=real, **given)


def told(found):
    return [(one.kind, one.tier) for one in found]


# Laws


def by_laws(centre, asked=ASKED, **given):
    return list(_by_laws((laws(law()), laws(law(centre, **given))), [MOVED], asked))


def test_laws_are_a_proof_where_they_prove_more_than_is_claimed():
    (found,) = by_laws(2.0)
    assert (found.kind, found.tier, found.place) == ("sensitivity", "proof", "a.py:3 in f")
    assert found.epsilon == pytest.approx(2.0)
    assert not found.held
    assert by_laws(1.0) == []
    assert by_laws(1.0 + 1e-12) == []
    assert by_laws(0.0) == []
    assert len(by_laws(1.0, ReplayRequest(0.5, 0.0))) == 1
    assert by_laws(2.0, ReplayRequest(1.0, 0.6)) == []
    (kept,) = by_laws(2.0, ReplayRequest(1.0, 0.0, hidden_state=True))
    assert (kept.tier, kept.held) == ("proof", True)
    (copied,) = by_laws(2.0, ReplayRequest(1.0, 0.0, copies=True))
    assert copied.tier == "withheld"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"centre": 2.0}, "sensitivity"),
        ({"factor": 2.0}, "scale from data"),
        ({"factor": -1.0, "centre": 2.0}, "sensitivity"),
        ({"low": 0.0}, "range from data"),
        ({"high": 0.0}, "range from data"),
        ({"kind": "normal"}, "noise from data"),
        ({"post": "round"}, "noise from data"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_an_event_is_called_by_what_differs(change, kind, swapped):
    pair = laws(law()), laws(replace(law(), **change))
    event = ReplayEvent("all of", "dataset", (OutputCondition(0, True, 0.0),), 0.5, 0.1)
    assert _of_event(event, pair[::-1] if swapped else pair)[0] == kind
    assert "package" not in _of_event(event, pair)[1]


def test_an_event_of_several_numbers_is_about_the_budget_and_one_of_shared_noise_is_said():
    pair = (
        laws(law(), law(draw=StandardDraw("b", 0))),
        laws(law(2.0), law(2.0, draw=StandardDraw("b", 0))),
    )
    both = (OutputCondition(0, True, 0.0), OutputCondition(1, True, 0.0))
    assert _of_event(ReplayEvent("all of", "dataset", both, 0.5, 0.1), pair)[0] == "budget"
    assert _of_event(ReplayEvent("equal", "dataset", both, 1.0, 0.0), pair)[0] == "shared noise"
    declared = laws(law(declared=True)), laws(law(2.0))
    event = ReplayEvent("all of", "dataset", both[:1], 0.5, 0.1)
    for sides in (declared, declared[::-1]):
        assert "if the package's samplers have the laws" in _of_event(event, sides)[1]


# Counts


def counted_as(monkeypatch, epsilon, hits=64, other=0, fixed=True):
    made = []

    def counted(function, data, seen, runs, delta, seed, alpha):
        made.append((seen.what, runs, alpha))
        return OutputEventCount(seen, hits, other, 64, epsilon)

    monkeypatch.setattr(findings, "count_event", counted)
    monkeypatch.setattr(findings, "is_unmoved_by_far_draws", lambda *_: fixed)
    return made


CONSTANT = side(7.0, 7.0), side(8.0, 8.0)
OF_CONSTANTS = laws(NumberLaw("constant", 7.0)), laws(NumberLaw("constant", 8.0))


def by_counting(asked=ASKED, sides=CONSTANT, both=OF_CONSTANTS):
    return list(_by_counting(None, ((), ()), sides, asked, both))


def test_counts_are_a_proof_above_the_claim_alone(monkeypatch):
    made = counted_as(monkeypatch, 1.5)
    (found,) = by_counting()
    assert (found.kind, found.tier, found.epsilon) == ("raw value", "proof", 1.5)
    assert (found.seen.value, found.reads, found.held) == (7.0, None, False)
    assert [alpha for *_, alpha in made] == [ALPHA / COUNTS]
    asked = ReplayRequest(1.0, 0.0, pairs=5, hidden_state=True)
    assert by_counting(asked)[0].held
    assert made[-1][2] == pytest.approx(ALPHA / COUNTS / 5)


@pytest.mark.parametrize(
    ("given", "tier"),
    [
        ({}, "violation"),
        ({"fixed": False}, "hint"),
        ({"hits": 63}, None),
        ({"other": 1}, None),
    ],
)
def test_a_constant_below_the_claim_is_a_violation_where_no_noise_moves_it(
    monkeypatch, given, tier
):
    counted_as(monkeypatch, 1.0, **given)
    assert told(by_counting()) == ([("raw value", tier)] if tier else [])


def test_a_sampler_of_its_own_and_a_law_leave_a_constant_no_violation(monkeypatch):
    counted_as(monkeypatch, 1.0)
    assert told(by_counting(ReplayRequest(1.0, 0.0, samplers=("opendp",)))) == [
        ("raw value", "hint")
    ]
    assert by_counting(both=(laws(law()), laws(law(2.0)))) == []


def test_of_a_copied_generator_counts_are_withheld(monkeypatch):
    made = counted_as(monkeypatch, 50.0)
    assert told(by_counting(ReplayRequest(1.0, 0.0, copies=True))) == [("hidden state", "withheld")]
    assert made == []


SEEN = OutputEvent("number", "dataset", 7.0)


@pytest.mark.parametrize(
    ("own", "other", "unreached"),
    [
        (laws(NumberLaw("constant", 7.0)), laws(NumberLaw("constant", 8.0)), True),
        (laws(NumberLaw("constant", 7.0)), laws(NumberLaw("constant", 7.0)), False),
        (laws(NumberLaw("constant", 7.0)), laws(law()), True),
        (laws(law()), laws(NumberLaw("constant", 7.0)), False),
        (laws(None), laws(NumberLaw("constant", 7.0)), False),
        (laws(NumberLaw("constant", 7.0)), laws(None), False),
        (laws(NumberLaw("constant", 7.0)), laws(NumberLaw("constant", 8.0), structure="[]"), False),
        (laws(NumberLaw("constant", 7.0), structure=None), laws(NumberLaw("constant", 8.0)), False),
    ],
)
def test_no_noise_reaches_a_number_that_is_constant_and_another(own, other, unreached):
    assert _is_unreached_constant(SEEN, (own, other)) is unreached
    assert _is_unreached_constant(replace(SEEN, favours="neighbour"), (other, own)) is unreached


def test_no_noise_reaches_a_structure_or_a_text_that_every_run_has():
    structure, text = OutputEvent("structure", "dataset", "a"), OutputEvent("text", "dataset", "a")
    assert _is_unreached_constant(structure, (laws(structure="a"), laws(structure="b")))
    assert not _is_unreached_constant(structure, (laws(structure="a"), laws(structure="a")))
    assert not _is_unreached_constant(structure, (laws(structure="a"), laws(structure=None)))
    assert not _is_unreached_constant(structure, (laws(structure=None), laws(structure="b")))
    assert _is_unreached_constant(text, (laws(texts=("a",)), laws(texts=("b",))))
    assert not _is_unreached_constant(text, (laws(texts=None), laws(texts=("b",))))
    assert not _is_unreached_constant(text, (laws(texts=("a",)), laws(texts=None)))


@pytest.mark.parametrize(
    ("seen", "hits", "other", "kind"),
    [
        (SEEN, 64, 0, "raw value"),
        (SEEN, 63, 0, "counted event"),
        (SEEN, 64, 1, "counted event"),
        (OutputEvent("number", "dataset", "nan"), 64, 0, "missing number"),
        (OutputEvent("structure", "dataset", "f"), 64, 0, "raw structure"),
        (OutputEvent("structure", "dataset", "f"), 63, 0, "counted event"),
    ],
)
def test_a_count_is_called_by_what_it_is_about(seen, hits, other, kind):
    found = _of_count(OutputEventCount(seen, hits, other, 64, 2.0), CONSTANT, ASKED)
    assert (found.kind, found.tier, found.epsilon) == (kind, "proof", 2.0)
    assert found.reads == ((seen.what, 0) if kind == "counted event" else None)


def test_an_exception_on_either_dataset_is_one():
    seen = OutputEvent("structure", "dataset", "f")
    raising = side(7.0)
    raising.plain = [flatten_output(None, "ValueError")]
    for sides in ((raising, side(8.0)), (side(8.0), raising)):
        assert (
            _of_count(OutputEventCount(seen, 64, 0, 64, 2.0), sides, ASKED).kind == "raw exception"
        )


def test_a_fixed_seed_is_the_reason_where_other_noise_gives_another_value():
    seeds = [("7", "a.py:1")]
    sides = side(1.0, 2.0, plain=[7.0], seeds=seeds), side(1.0, 2.0, plain=[8.0], seeds=seeds)
    found = _of_count(OutputEventCount(SEEN, 64, 0, 64, 2.0), sides, ASKED)
    assert (found.kind, found.place) == ("fixed seed", "a.py:1")
    still = side(7.0, 7.0, seeds=seeds), side(8.0, 8.0, seeds=seeds)
    assert _of_count(OutputEventCount(SEEN, 64, 0, 64, 2.0), still, ASKED).kind == "raw value"
    assert _find_fixed_seeds(sides) == seeds
    assert _find_fixed_seeds((sides[0], side(1.0))) == []
    some = side(1.0, 2.0, seeds=seeds)
    some.runs[1].seeds = []
    assert _find_fixed_seeds((sides[0], some)) == []


# Which event is counted


def outputs(*values):
    return [flatten_output(one) for one in values]


def test_the_event_that_tells_most_is_chosen_of_either_side():
    low, high = outputs(*[[0.1 * n] for n in range(40)]), outputs(*[[9.0 + n] for n in range(40)])
    for sides in ((low, high), (high, low)):
        (_, what, place, test), chosen = _choose_test(sides, 0.0)
        assert (what, place) == ("number", 0)
        own, other = sides if chosen == "dataset" else sides[::-1]
        assert all(map(test, own))
        assert not any(map(test, other))
    assert _choose_test((low, low), 0.0) is None
    texts = outputs(*["yes"] * 40), outputs(*["no"] * 40)
    (_, what, _, test), chosen = _choose_test(texts, 0.0)
    assert what == "text"
    own, other = texts if chosen == "dataset" else texts[::-1]
    assert all(map(test, own))
    assert not any(map(test, other))


def test_events_are_about_levels_texts_and_structures():
    sides = outputs([1.0, "a"], [2.0, "b"]), outputs([math.inf, "a"], [math.nan, "c"])
    tests = list(_make_output_tests(sides))
    found = {(what, place) for _, what, place, _ in tests}
    assert found == {("number", 0), ("text", 0), ("structure", 0)}
    assert sum(what == "text" for _, what, _, _ in tests) == 3
    short = outputs([])[0]
    assert not any(test(short) for _, what, _, test in tests if what == "number")
    for words, what, _, test in tests:
        if what == "number" and "at or above" in words:
            assert not test(sides[0][0]) or not test(outputs([-math.inf, "a"])[0])


def test_an_event_on_one_output_is_an_equality():
    assert {one.what for one in constants(outputs([1.0, "a"]), outputs([1.0, "b"]))} == {"text"}
    seen = OutputEvent("text", "dataset", "a", 0)
    assert seen.happened(outputs(["a"])[0])
    assert not seen.happened(outputs([1.0])[0])


@pytest.mark.parametrize(("epsilon", "proofs"), [(1.0, 0), (1.001, 1), (0.5, 0)])
def test_a_guided_count_is_a_proof_above_the_claim_alone(monkeypatch, epsilon, proofs):
    asked = []
    chosen = "words", OutputEventCount(OutputEvent("text", "neighbour", None, 2), 9, 1, 10, epsilon)

    def guided(function, data, delta, runs, seed, alpha):
        asked.append((runs, alpha))
        return chosen

    monkeypatch.setattr(findings, "find_guided_event", guided)
    found = list(_count_guided_events(None, ((), ()), replace(ASKED, pairs=3)))
    assert asked == [(findings.GUIDED, ALPHA / COUNTS / 3)]
    assert [one.tier for one in found] == ["proof"] * proofs
    assert all(one.reads == ("text", 2) for one in found)
    chosen = None
    assert list(_count_guided_events(None, ((), ()), ASKED)) == []


# Hints


@pytest.mark.parametrize(
    ("spent", "kind", "hinted"),
    [
        (1.0, "laplace", False),
        (1.1, "laplace", True),
        (1.1, "normal", False),
        (None, "gumbel", False),
    ],
)
def test_a_value_that_moved_too_far_for_its_noise_is_a_hint(spent, kind, hinted):
    found = list(_budget([replace(MOVED, spent=spent, kind=kind)], None, ASKED))
    assert told(found) == ([("sensitivity", "hint")] if hinted else [])


@pytest.mark.parametrize(("total", "hinted"), [(None, 0), (1.0, 0), (1.0 + 1e-7, 0), (1.1, 1)])
def test_a_total_beyond_the_claim_is_a_hint(total, hinted):
    assert told(_budget([], total, ASKED)) == [("budget", "hint")] * hinted


def test_what_mechanisms_declare_adds_up_where_their_value_moved():
    calls = [replace(MOVED, epsilon=0.6, spent=0.5) for _ in range(2)]
    assert told(_budget(calls, None, ASKED)) == [("budget", "hint")]
    assert list(_budget([calls[0], replace(calls[1], moved=0.0)], None, ASKED)) == []
    assert told(_budget([calls[0], replace(calls[1], moved=None)], None, ASKED))
    assert list(_budget([replace(calls[0], epsilon=0.5)] * 2, None, ASKED)) == []


def hints(first, second, moved=(), asked=ASKED, both=OF_CONSTANTS):
    return told(_hints((first, second), list(moved), asked, both))


def test_what_may_be_wrong_on_either_dataset_is_a_hint():
    plain = side(1.0)
    assert hints(plain, plain) == []
    odd = side(1.0, repeated=False)
    threaded, warned = side(1.0), side(1.0)
    threaded.runs[0].elsewhere = True
    warned.runs[0].warned = ["UserWarning"]
    for other, kind in (
        (odd, "not intercepted"), (threaded, "not intercepted"), (warned, "warnings"),
    ):  # fmt: skip
        assert hints(other, plain) == hints(plain, other) == [(kind, "hint")]
    cut = laws(NumberLaw("constant", 7.0), cut=True), OF_CONSTANTS[1]
    assert (
        hints(plain, plain, both=cut) == hints(plain, plain, both=cut[::-1]) == [("size", "hint")]
    )
    assert (
        hints(plain, plain, asked=replace(ASKED, samplers=("a", "b")))
        == [("not intercepted", "hint")] * 2
    )
    scaled = replace(MOVED, other_scale=2.0)
    assert hints(plain, plain, [scaled]) == [("scale from data", "hint")]
    assert hints(plain, plain, [replace(scaled, steady=False)]) == []


def calls(*places):
    return [SimpleNamespace(place=p, name="n", shape=(), parameters={}) for p in places]


def test_runs_that_call_otherwise_are_told_with_their_numbers():
    def flow(first, second):
        return list(_control_flow((side(1.0, calls=first), side(1.0, calls=second))))

    assert flow(calls("a", "b"), calls("a", "b")) == []
    for one, other, times in (
        (calls("a", "a"), calls("a"), "2 times on the dataset and 1 on"),
        (calls("a"), calls("a", "a"), "1 times on the dataset and 2 on"),
        (calls(), calls("a"), "0 times on the dataset and 1 on"),
    ):
        (found,) = flow(one, other)
        assert times in found.words
        assert found.place == "a"
    (found,) = flow(calls("a", "b"), calls("b", "a"))
    assert (found.place, "order" in found.words) == (None, True)
    wider = calls("a")
    wider[0].shape = (3,)
    assert len(flow(calls("a"), wider)) == 1


def test_structures_and_texts_that_differ_with_one_noise_move():
    assert _structure_moves((side([1.0]), side([1.0, 2.0])))
    assert _structure_moves((side("a"), side("b")))
    assert _structure_moves((side(1.0, "a"), side(1.0, "b")))
    assert not _structure_moves((side(1.0), side(2.0)))


def test_proofs_come_first_and_the_larger_before_the_smaller():
    def of(tier, epsilon=None):
        return CallFinding("k", tier, "w", epsilon)

    made = [of("hint"), of("proof", 1.0), of("withheld"), of("violation"), of("proof", 2.0)]
    assert [(one.tier, one.epsilon) for one in _sort_findings(made)] == [
        ("proof", 2.0), ("proof", 1.0), ("violation", None), ("withheld", None), ("hint", None),
    ]  # fmt: skip


# All of them


@pytest.fixture
def parts(monkeypatch):
    """Let every part of a comparison say nothing, and return what it is changed by."""
    said = {"total": None, "unread": ["x"], "laws": [], "guided": [], "nothing": None, "asked": []}

    def guided(*_):
        said["asked"].append("guided")
        return iter(said["guided"])

    def budget(*_):
        said["asked"].append("budget")
        return iter(())

    for name, answer in {
        "laws_of": lambda side: laws(),
        "select_confirmed_laws": lambda read, *_: read,
        "measure_spending": lambda *_, **__: ([], Spending(said["total"])),
        "_by_laws": lambda *_: iter(said["laws"]),
        "_by_counting": lambda *_: iter(()),
        "_hints": lambda *_: iter(()),
        "nothing_released": lambda *_: said["nothing"],
        "_unread": lambda *_: said["unread"],
        "_structure_moves": lambda *_: False,
        "_count_guided_events": guided,
        "_budget": budget,
    }.items():
        monkeypatch.setattr(findings, name, answer)
    return said


@pytest.mark.parametrize(
    ("total", "unread", "hidden", "proved", "asked"),
    [
        (None, ["x"], False, False, ["guided", "budget"]),
        (1.0, ["x"], False, False, ["budget"]),
        (2.0, ["x"], False, False, ["guided", "budget"]),
        (None, [], False, False, ["budget"]),
        (None, ["x"], True, False, ["budget"]),
        (None, ["x"], False, True, []),
    ],
)
def test_events_are_counted_where_a_total_leaves_room_and_a_number_has_no_law(
    parts, total, unread, hidden, proved, asked
):
    parts["total"], parts["unread"] = total, unread
    parts["laws"] = [CallFinding("k", "proof", "w", 2.0)] if proved else []
    collect_findings(None, ((), ()), (side(1.0), side(1.0)), replace(ASKED, hidden_state=hidden))
    assert parts["asked"] == asked


@pytest.mark.parametrize(
    ("epsilon", "total", "counted"),
    [(0.5, 0.6, True), (0.5, 0.5, False), (3.0, 2.0, False), (3.0, 3.0, False), (3.0, 3.1, True)],
)
def test_a_total_leaves_room_above_the_epsilon_that_is_claimed(parts, epsilon, total, counted):
    parts["total"], parts["unread"] = total, ["x"]
    collect_findings(None, ((), ()), (side(1.0), side(1.0)), replace(ASKED, epsilon=epsilon))
    assert ("guided" in parts["asked"]) is counted


def test_what_releases_nothing_is_withheld_and_a_guided_proof_ends_it(parts):
    parts["nothing"] = "why"
    parts["guided"] = [CallFinding("counted event", "proof", "w", 2.0)]
    found = collect_findings(None, ((), ()), (side(1.0), side(1.0)), ASKED)
    assert told(found.findings) == [("counted event", "proof"), (KIND, "withheld")]
    assert parts["asked"] == ["guided"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([None, None], [None], "returns None"),
        ([None], [1.0], None),
        ([1.0], [None], None),
        ([1.0], [1.0], None),
        ([], [], None),
    ],
)
def test_nothing_is_released_where_every_run_returns_nothing(first, second, said):
    found = nothing_released(None, (), (side(*first), side(*second)))
    assert (found is None) if said is None else (said in found)


def test_exceptions_of_every_run_are_nothing_and_of_some_are_an_output():
    raised, fine = (SideRuns(plain=[flatten_output(1.0, error)]) for error in ("Own", None))
    assert "raises an exception" in nothing_released(None, (), (raised, raised))
    assert nothing_released(None, (), (raised, fine)) is None
    assert nothing_released(None, (), (fine, raised)) is None


# The verdict


@pytest.mark.parametrize(
    ("tiers", "verdict"),
    [
        ([], "not refuted"),
        (["hint"], "not refuted"),
        (["proof", "violation", "withheld", "hint"], "refuted"),
        (["violation", "hint"], "withheld"),
        (["withheld", "hint"], "withheld"),
    ],
)
def test_a_verdict_is_that_of_the_first_finding(tiers, verdict):
    made = tuple(ReplayFinding(kind=tier, tier=tier, words="w") for tier in tiers)
    found = Replay(
        mechanism="f", epsilon=1.0, delta=0.0, relation="r", edit=None, findings=made, calls=(),
        spending=Spending(), unread=(), runs=1, pairs=1, form="f", seed=0,
    )  # fmt: skip
    assert found.verdict == verdict
    why = [one for one in tiers if one != "hint"] if verdict == "withheld" else []
    assert found.reasons == tuple(f"{one}: w" for one in why)
    assert found.document()["verdict"] == verdict
    assert found.document()["withheld"] == list(found.reasons)


# Of several pairs


def found_of(*tiers, spent=None, kind="k", moved=()):
    made = [CallFinding(kind, tier, "w", epsilon) for tier, epsilon in tiers]
    return ReplayComparison(made, list(moved), (laws(), laws()), Spending(spent))


def test_of_several_pairs_the_one_that_shows_most_is_kept():
    ranks = [
        found_of(("withheld", None), kind=KIND),
        found_of(),
        found_of(moved=[replace(MOVED, spent=3.0)]),
        found_of(("hint", None)),
        found_of(("hint", None), spent=2.0),
        found_of(("withheld", None)),
        found_of(("violation", None), ("hint", 9.0)),
        found_of(("proof", 1.0)),
        found_of(("proof", 2.0)),
    ]
    made = [running._compute_replay_rank(one, 1.0) for one in ranks]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    found = found_of(("violation", None), ("violation", 1.0))
    assert running._compute_replay_rank(found, 1.0)[:2] == (3, 1.0)
    assert running._compute_replay_rank(found, 4.0)[:2] == (3, 0.25)  # a unit of distance


def test_a_movement_is_told_in_scales_where_it_spends_what_nobody_knows():
    assert running._get_apparent_spending(replace(MOVED, spent=0.5)) == 0.5
    assert running._get_apparent_spending(replace(MOVED, spent=None, moved=3.0, scale=2.0)) == 1.5
    for none in ({"moved": None}, {"scale": None}, {"scale": 0.0}):
        assert running._get_apparent_spending(replace(MOVED, **{"spent": None} | none)) == 0.0


# What a verifier looks at again


def test_evidence_of_an_event_has_places_draws_and_steps_of_the_side_that_it_favours():
    both = laws(law(1.0, -2.0), law(5.0, 4.0)), laws(law(3.0, -2.0), law(5.0, 1.0))
    found = ReplayComparison([], [], both, Spending())
    event = ReplayEvent(
        "all of",
        "dataset",
        (OutputCondition(0, False, 4.0), OutputCondition(1, True, 5.0)),
        0.5,
        0.1,
    )
    made = running._convert_event(event, found)
    assert (made["kind"], made["favours"]) == ("all of", "dataset")
    assert [one["steps"] for one in made["conditions"]] == [1.5, 0.0]
    assert [(one["place"], one["above"]) for one in made["conditions"]] == [(0, False), (1, True)]
    away = running._convert_event(replace(event, favours="neighbour"), found)
    assert [one["steps"] for one in away["conditions"]] == [0.5, 0.0]
    assert made["conditions"][0]["draws"] == [[DRAW.key, 0, ""]] * 2


def test_evidence_of_a_sum_is_in_standard_deviations_of_the_sum():
    both = laws(law(1.0, 2.0, "normal"), law(5.0, 0.5, "normal")), laws(law(), law())
    conditions = (OutputCondition(0, True, 14.0, 3.0), OutputCondition(1, True, 14.0, -4.0))
    made = running._convert_event(
        ReplayEvent("sum", "dataset", conditions, 0.5, 0.1), ReplayComparison([], [], both, None)
    )
    centre, scale = 3.0 * 1.0 - 4.0 * 5.0, math.hypot(3.0 * 2.0, 4.0 * 0.5)
    assert [one["steps"] for one in made["conditions"]] == pytest.approx(
        [(14.0 - centre) / scale] * 2
    )


def test_evidence_is_of_what_was_counted_then_of_an_event_then_of_a_declaration():
    found = ReplayComparison(
        [], [replace(MOVED, index=3, key="own")], (laws(law()), laws(law())), Spending()
    )
    seen = OutputEvent("text", "neighbour", "secret", 4)
    made = running._convert_evidence(CallFinding("k", "proof", "w", seen=seen), found)
    assert made == {"counted": {"what": "text", "favours": "neighbour", "place": 4}}
    made = running._convert_evidence(CallFinding("k", "violation", "w", call=3), found)
    assert made == {"declared": {"draw": "own"}}
    assert running._convert_evidence(CallFinding("k", "hint", "w", call=3), found) is None
    assert running._convert_evidence(CallFinding("k", "violation", "w"), found) is None


def test_a_replay_shares_the_error_probability_of_counts_among_its_pairs(monkeypatch):
    asked = []
    observed = SimpleNamespace(sides=(side(1.0), side(1.0)), keeps_state=False, copies=False)
    drawn, before = [0], SimpleNamespace(is_changed=False, keep=lambda: None)
    monkeypatch.setattr(
        running, "load_task", lambda *_: running.LoadedCode(len, len, "f", drawn[0], False, before)
    )
    monkeypatch.setattr(running, "observe_runs", lambda *_, **__: observed)
    monkeypatch.setattr(
        running, "collect_findings", lambda f, d, s, a: asked.append(a) or found_of(("hint", None))
    )
    pairs = (((), (), ""), ((), (), ""), ((), (), ""))
    task = running.Task("m:f", None, None, pairs, 1.0, 0.25, 3)
    running._replay_pairs(task)
    assert [(one.pairs, one.claimed, one.seed, one.hidden_state) for one in asked] == [
        (3, (1.0, 0.25), 3, False)
    ] * 3
    drawn[0] = 1
    assert running._replay_pairs(task)["pairs"] == 3
    assert asked[-1].hidden_state
    drawn[0], observed.copies = 0, True
    running._replay_pairs(task)
    assert asked[-1].copies
    before.is_changed = True  # and looked at once more, at the first call
    running._replay_pairs(task)
    assert asked[-1].pairs == 6


def test_a_number_without_a_law_on_either_dataset_is_unread():
    read, none = laws(law(), law()), laws(law(), None)
    assert findings._unread((read, none)) == findings._unread((none, read)) == ["output[1]"]
    assert findings._unread((read, read)) == []


def test_code_inside_code_and_named_arguments_of_a_partial_are_looked_at():
    from functools import partial

    from dpaudit.watching.import_results import _looks_elsewhere, refers_to_results

    def outer():
        def inner():
            import json

            return json

        return inner

    assert _looks_elsewhere(outer.__code__)
    assert refers_to_results(partial(len, key=1.5))
    assert not refers_to_results(partial(len))
