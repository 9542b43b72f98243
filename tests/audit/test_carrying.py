"""One event carries a bound: whoever has its counts works the bound out again."""

import re

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.explain.carrying_event import _of_one_number, _search_event_edge, sentence_of
from dpaudit.auditing.outcome.evidence import EventEvidence
from dpaudit.estimation.event import choose_event
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.score_events import ScoreEvent, ThresholdEvent
from dpaudit.mechanisms.foreign.isolation import Isolation
from tests.audit.printed_bounds import printed

HERE = Isolation(in_process=True)
_SHOWN = re.compile(
    r"in (\d+) of (\d+) outputs on the dataset and in (\d+) of (\d+) on its neighbour, which "
    r"certifies an epsilon of at least ([\d.]+) at delta ([\d.e-]+) with an error probability of "
    r"([\d.e-]+)\.(?: |$)"
)


def sum_with_half_the_noise(data, rng):
    return sum(data) + rng.laplace(scale=0.5)


def two_numbers(data, rng):
    return [sum(data) + rng.laplace(scale=0.4), sum(data) + rng.laplace(scale=0.8)]


MECHANISMS = [sum_with_half_the_noise, two_numbers]


def audited(mechanism, **options):
    options = {"epsilon": 1.0, "trials": 1000, "isolation": HERE} | options
    return dpaudit.audit(mechanism, [1.0, 0.0], [0.0, 0.0], relation="replace-record", **options)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.__name__)
def test_the_printed_bound_is_worked_out_again_from_the_printed_counts(mechanism):
    found = audited(mechanism)
    text = " ".join([found.reason, *found.notes])
    for bound in printed(text):
        assert bound.p_value(bound.epsilon) <= bound.alpha < bound.p_value(bound.epsilon + 0.03)
    (shown,) = _SHOWN.findall(text)
    on_p, of_p, on_q, of_q = map(int, shown[:4])
    lower, delta, alpha = map(float, shown[4:])
    sides = ((on_p, on_q, of_p, of_q), (on_q, on_p, of_q, of_p))
    again = max(joint_lower_bound(*one, delta=delta, alpha=alpha) for one in sides)
    assert lower <= again == pytest.approx(found.measured.lower, rel=1e-6)
    assert lower == pytest.approx(found.measured.lower, rel=1e-3)
    assert min(on_p / of_p, on_q / of_q) <= 1 - max(on_p / of_p, on_q / of_q) + 0.05


def test_an_event_that_only_explains_carries_a_number_of_its_own():
    found = audited(two_numbers, trials=4000)
    assert found.verdict == "refuted"
    witness = found.witness
    assert 0 < witness.lower < found.measured.lower
    assert "which certifies an epsilon of at least" in witness.sentence
    assert "on fresh outputs" in witness.sentence
    assert "even odds" not in found.reason


def test_a_rare_complement_is_counted_and_not_what_is_usual():
    """0.8245 against 0.998 tells less plainly than 0.1755 against 0.002 what carries the bound."""
    rng = np.random.default_rng(0)
    p, q = (rng.random(4000) < 0.998).astype(float), (rng.random(4000) < 0.8245).astype(float)
    event = choose_event(p, q, 0.0)
    rates = [event.happened(side).mean() for side in (p, q)]
    assert rates == pytest.approx([0.002, 0.1755], abs=0.02)
    assert not event.above
    assert event.complement.hits(p) == len(p) - event.hits(p)


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("threshold", [0.0, 1.5, -2.0, 1e300, 5e-324])
def test_an_event_and_its_complement_hold_each_score_once(above, threshold):
    event = ThresholdEvent(above, threshold, 0.0)
    near = [np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf)]
    scores = np.array([-np.inf, -1.0, *near, 1.0, np.inf])
    inside = event.happened(scores) + event.complement.happened(scores)
    assert (inside == 1).all()
    assert event.complement.above is not above


def test_a_carried_bound_is_rounded_down():
    event = EventEvidence(
        words="w", plain=False, hits=(9, 0), runs=(10, 10), delta=0.0, alpha=0.05, epsilon=1.99999
    )
    assert "at least 1.999 at delta 0" in sentence_of(event, refutes=False)


@pytest.mark.parametrize("runs", [(100, 1000), (1000, 100)])
@pytest.mark.parametrize("side", [0, 1])
def test_an_event_of_all_runs_of_one_side_is_said_to_be_all_that_they_can_certify(runs, side):
    always = tuple(runs[n] if n == side else 0 for n in range(2))
    nearly = tuple(one - 1 if one else 0 for one in always)
    for hits, due in ((always, True), (nearly, False)):
        event = EventEvidence(
            words="`output` > 2",
            plain=True,
            hits=hits,
            runs=runs,
            delta=0.0,
            alpha=0.05,
            epsilon=2.0,
        )
        told = sentence_of(event, refutes=True)
        assert ("this is the most that so many outputs can certify" in told) is due
        assert f"never occurred on the {('neighbour', 'dataset')[side]}" in told


@pytest.mark.parametrize(
    ("score", "event", "words"),
    [
        (np.ravel, ThresholdEvent(above=True, threshold=2.0, promised=1.0), "`output` > 2"),
        (np.ravel, ThresholdEvent(above=False, threshold=2.0, promised=1.0), "`output` < 2"),
        (
            lambda x: 1 - abs(x.ravel() - 3),
            ThresholdEvent(True, 0.0, 1.0),
            "`output` between 2 and 4",
        ),
        (lambda x: abs(x.ravel() - 3) - 1, ThresholdEvent(True, 0.0, 1.0), "`output` > 4 or < 2"),
        (
            lambda x: abs(abs(x.ravel() - 3) - 1),
            ThresholdEvent(True, 0.5, 1.0),
            None,
        ),  # three ranges
    ],
)
def test_an_event_of_one_number_is_said_by_where_it_begins_and_ends(score, event, words):
    read = np.linspace(0, 6, 50).reshape(50, 1)
    found = _of_one_number(ScoreEvent(score, event), "`output`", read)
    assert (found and found.words) == words


@pytest.mark.parametrize("edge", [3.0, 0.1, 9.9])
def test_an_edge_is_found_from_either_side(edge):
    for inside in (lambda x: x > edge, lambda x: x <= edge):
        assert _search_event_edge(inside, np.array([0.0, 10.0])) == pytest.approx(edge, rel=1e-12)
