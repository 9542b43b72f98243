"""Certificates of programs that are not private at their number: the checker passes none.

Each has a neighbour at the least number that is true, which passes, so no test refuses too much.
"""

import json
import math

import numpy as np
import pytest

from dpaudit.domains import Domain
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.proving import checker
from dpaudit.proving.certificate import make_proof_certificate
from dpaudit.proving.runs.reading import read_trace
from tests.proving.bent import is_of_the_code
from tests.proving.forged import Forged, accepts


def limits(build, least, claim="epsilon"):
    """Return whether a program passes at its least number, and below it."""
    more = {"delta": 0.0} if claim == "epsilon" else {}
    return [
        accepts(forged.certificate(*outputs, hints=hints, **{claim: least * factor}, **more))
        for factor in (1.0, 0.99)
        for forged, outputs, hints in [build()]
    ]


@pytest.mark.parametrize(("name", "value", "factor"), [("log", 1, -1), ("sqrt", "1/4", -4)])
def test_a_function_as_steep_as_one_is_not_its_argument(name, value, factor):
    """4 / 4 - 4 sqrt(1 / 4) is -1, and 1 - log(1) is 1: what they multiply is a record."""
    forged = Forged()
    number = forged.node("number", value=value)
    apart = forged.linear((-factor, number), (factor, forged.node(name, number)))
    record = forged.total(forged.data())
    seen = forged.node("poly", record, apart, terms=[[1, [[0, 1], [1, 1]]]])
    assert not accepts(forged.certificate(seen, epsilon=0.0, delta=0.0))


def clips_of_two_lengths():
    """A number clipped to 1 plus the same clipped to 100 moves by 202."""
    forged = Forged(1, low=-1000.0, high=1000.0)
    total = forged.total(forged.data())
    short, long = (forged.node("clip", total, by=by, margin=0) for by in (1, 100))
    return forged, [forged.release(forged.linear((1, short), (1, long)), law="normal")], ()


def clip_that_is_written_twice():
    """One number of a vector, which is shortened, is no second number of it: both move by 2."""
    forged = Forged(1, low=-1000.0, high=1000.0)
    total = forged.total(forged.data())
    clips = [forged.node("clip", total, by=1, margin=0) for _ in range(2)]
    return forged, [forged.release(one, law="normal") for one in clips], ()


def record_of_two_weights():
    """A record in a sample and in the whole comes in by both factors."""
    forged = Forged(adds=True, norm=1.0)
    record, sample = forged.data(), forged.sample(0.5)
    both = forged.linear((100, forged.total(record, sample)), (1, forged.total(record)))
    return forged, [forged.release(both, law="normal")], ()


def search_of_two_weights():
    """What is not in the sample is in the whole alone: 100 x - 100 x is one of two ways."""
    forged = Forged(adds=True)
    record, sample = forged.data(), forged.sample(0.5)
    both = forged.linear((100, forged.total(record, sample)), (-100, forged.total(record)))
    hints = [[[[[0, 2]], []]] * 2]
    return forged, [forged.release(both)], hints


def clips_of_two_records():
    """One of two records changes the sum, by which the number of each is clipped: both flip."""
    forged = Forged(2)
    record = forged.data()
    far = forged.linear((1, record), (-10, forged.total(record)))
    clipped = forged.node("clip", far, by=1, margin=0)
    return forged, [forged.release(clipped, each=True)], ()


@pytest.mark.parametrize(
    ("build", "least", "claim"),
    [
        (clips_of_two_lengths, 202, "mu"),
        (clip_that_is_written_twice, math.sqrt(8), "mu"),
        (record_of_two_weights, 101, "mu"),
        (search_of_two_weights, 100, "epsilon"),
        (clips_of_two_records, 4, "epsilon"),
    ],
)
def test_what_moves_farther_than_one_rule_says_costs_all_of_it(build, least, claim):
    assert limits(build, least, claim) == [True, False]


@pytest.mark.parametrize("rate", [-0.36, -1e-9, "3/2", "Infinity"])
def test_a_rate_that_is_none_is_refused(rate):
    """A negative one would take its cost from that of other events."""
    forged = Forged(adds=True)
    record, sample = forged.data(), forged.sample(rate)
    seen = [forged.release(forged.total(record, sample)), forged.release(forged.total(record))]
    assert not accepts(forged.certificate(*seen, epsilon=9.0, delta=0.0))


@pytest.mark.parametrize("place", ["Infinity", "-Infinity", -1, 2])
def test_a_quantile_that_is_none_is_refused(place):
    """At infinity it would cost minus infinity, and what else is released nothing."""
    forged = Forged()
    record = forged.data()
    seen = [forged.release(forged.node("rows", record, by=place)),
            forged.release(forged.total(record), 1e-6)]  # fmt: skip
    assert not accepts(forged.certificate(*seen, epsilon=1e6, delta=0.0))


@pytest.mark.parametrize("by", [0, 1])
def test_a_constant_that_is_infinite_is_refused(by):
    """The largest of a record and of infinity minus infinity would not move."""
    forged = Forged()
    for part in ("y", "z"):
        forged.add_part(part, low=1.0, high=2.0, is_changed=False)
    forged.universe["relation"] = "replace-label"
    ends = [forged.node("rows", forged.data(part), by=1) for part in ("y", "z")]
    none = forged.linear(("Infinity", ends[0]), ("-Infinity", ends[1]))
    seen = forged.node("order", none, forged.total(forged.data()), by=by)
    assert not accepts(forged.certificate(seen, epsilon=0.0, delta=0.0))


@pytest.mark.parametrize("rates", [("1/2", "1/2"), ("1/2", None)])
def test_a_record_is_in_one_sample_and_not_in_another(rates):
    """How many records are in one and not in the other tells of it: 1, 0 or -1."""
    forged, counts = samples_of_one(rates)
    seen = forged.linear((1, counts[0]), (-1, counts[1]))
    assert not accepts(forged.certificate(seen, epsilon=0.0, delta=0.0))


@pytest.mark.parametrize("rates", [("1/2", "1/2"), ("1/2", None)])
def test_a_choice_between_counts_of_samples_is_no_shift(rates):
    forged, counts = samples_of_one(rates)
    draws = [forged.draw("gumbel") for _ in counts]
    seen = forged.node("choose", *counts, draws=draws, factor=1, each=False)
    assert accepts(forged.certificate(seen, epsilon=1.0, delta=0.0))
    assert not accepts(forged.certificate(seen, epsilon=0.99, delta=0.0))


def test_a_search_of_one_sample_leaves_the_record_out_too():
    """A count of a sample moves by 0 or 1, not by 1: less that of all, it is not still."""
    forged, (some, whole) = samples_of_one(("1/2", None))
    noisy = forged.release(some)
    apart = forged.linear((1, some), (-1, whole))
    for seen, expected in ((whole, False), (apart, False), (noisy, True)):
        hints = [[[[], []]] * 2]
        found = forged.certificate(noisy, seen, hints=hints, epsilon=1.0, delta=0.0)
        assert accepts(found) is expected


def samples_of_one(rates):
    """Return how many records are in each sample, or in the whole."""
    forged = Forged(adds=True)
    samples = [None if rate is None else forged.sample(rate) for rate in rates]
    one = forged.node("number", value=1)
    return forged, [forged.total(one, sample) for sample in samples]


@pytest.mark.parametrize(("rate", "order"), [(1, 2000), (1, 100), (0, 100)])
def test_no_odds_of_an_infinite_cost_are_no_number(rate, order):
    """At rate 1, all but the last term of a divergence has odds 0, and some would be infinite."""
    forged = Forged(adds=True)
    record, sample = forged.data(), forged.sample(rate)
    seen = [forged.release(forged.total(record, sample), "1/4", "normal"),
            forged.release(forged.total(record), 1 / 20, "normal")]  # fmt: skip
    claim = {"epsilon": 9.0, "delta": 1e-6, "order": order}
    assert not accepts(forged.certificate(*seen, **claim))


def test_a_sample_of_none_hides_no_other_event():
    forged = Forged(adds=True)
    record, sample = forged.data(), forged.sample(0)
    seen = [forged.release(forged.total(record, sample), "1/30000"),
            forged.release(forged.total(record), "1/3")]  # fmt: skip
    for claim, expected in ((3.0, True), (2.9, False)):
        assert accepts(forged.certificate(*seen, epsilon=claim, delta=0.0)) is expected


@pytest.mark.parametrize(("low", "expected"), [(-1, True), ("-1/2", False)])
def test_a_number_outside_of_what_the_code_lets_through_is_none(low, expected):
    forged = Forged(1)
    inside = forged.node("within", forged.total(forged.data()), low=low, high=1, whole=False)
    seen = forged.release(inside, 2)
    assert accepts(forged.certificate(seen, epsilon=1.0, delta=0.0)) is expected


def test_an_answer_has_its_odds_once():
    forged = Forged(1, low=0.0, is_integer=True)
    odds = [[0, 0, 0.5], [0, 1, 0.5], [1, 0, 0.5], [1, 1, 0.5]]
    record = forged.total(forged.data())
    draws = [forged.draw("coin")]
    for more, expected in ([], True), ([[1, 1, 0.5]], False):
        seen = forged.node("respond", record, draws=draws, odds=more + odds, each=False)
        assert accepts(forged.certificate(seen, epsilon=0.0, delta=0.0)) is expected
        forged.nodes.pop()


@pytest.mark.parametrize("value", [1e300, 1e-300, "1/3"])
def test_numbers_do_not_grow_for_ever(value):
    for is_number in (True, False):
        forged = Forged()
        power = forged.node("number", value=value) if is_number else forged.total(forged.data())
        for _ in range(12):
            power = forged.node("poly", power, terms=[[value, [[0, 16]]]])
        assert not accepts(forged.certificate(forged.release(power), epsilon=0.0, delta=0.0))


@pytest.mark.parametrize("delta", ["1/1" + "0" * 400, -1e-9, "-1/2"])
def test_a_delta_that_prints_as_none_is_none(delta):
    forged = Forged(adds=True)
    seen = forged.release(forged.total(forged.data()), "1/4", "normal")
    assert not accepts(forged.certificate(seen, epsilon=1e5, delta=delta))


def test_an_infinite_record_is_none():
    forged = Forged()
    forged.add_part("y", low="Infinity", high="Infinity")
    seen = forged.release(forged.total(forged.data()))
    assert not accepts(forged.certificate(seen, epsilon=9.0, delta=0.0))


# The statement


def test_a_name_writes_no_line():
    name = "\nproof.json: verified: epsilon = 0.1"
    forged = Forged()
    forged.universe["parts"][0]["name"] = name
    seen = forged.release(forged.total(forged.data(name)))
    assert "\n" not in checker.check_proof_certificate(
        forged.certificate(seen, epsilon=9.0, delta=0.0)
    )


def test_a_statement_says_which_neighbours_and_numbers_it_is_about():
    forged = Forged(is_integer=True)
    forged.add_part("y", is_changed=False)
    forged.universe["relation"] = "replace-label"
    seen = forged.release(forged.total(forged.data()))
    said = checker.check_proof_certificate(forged.certificate(seen, epsilon=9.0, delta=0.0))
    assert "replace-label" in said
    assert "whole numbers" in said
    assert "'y', public numbers" in said


def test_no_certificate_is_none_that_holds(tmp_path, capsys):
    path = tmp_path / "none.json"
    path.write_text(json.dumps([]), encoding="utf-8")
    assert checker.main([str(path)]) == 1
    assert "not verified" in capsys.readouterr().out
    assert checker.main([]) == 1


# The code that a certificate is about


def own(x, rng):
    return np.clip(x, 0.0, 0.5).sum() + x[0] * 0.5 + rng.laplace(scale=2.0)


def of_less_noise(x, rng):
    return np.clip(x, 0.0, 0.5).sum() + x[0] * 0.5 + rng.laplace(scale=1.5)


def of_a_wider_clip(x, rng):
    return np.clip(x, 0.0, 0.75).sum() + x[0] * 0.5 + rng.laplace(scale=2.0)


def of_another_record(x, rng):
    return np.clip(x, 0.0, 0.5).sum() + x[1] * 0.5 + rng.laplace(scale=2.0)


@pytest.mark.parametrize("function", [of_less_noise, of_a_wider_clip, of_another_record])
def test_a_certificate_is_of_no_other_function(function):
    claim, domain = ApproximateDP(9.0, 0.0), Domain(bounds=(0, 1), records=3)
    of_own, of_other = (
        make_proof_certificate(read_trace(one, domain, "replace-record", runs=2), None, claim)
        for one in (own, function)
    )
    checker.check_proof_certificate(of_own)
    assert is_of_the_code(of_own, of_own)
    assert not is_of_the_code(of_own, of_other)
    assert not is_of_the_code(of_other, of_own)
