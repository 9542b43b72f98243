"""Audits of a domain, with no dataset at all, at every door."""

import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dpaudit
from dpaudit.auditing.pairs import found_pairs
from dpaudit.auditing.pairs.found_pairs import SearchEffort, find_pairs
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution.processes import Limits
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.neighbours.tables import Pair

SIX = {"bounds": (0, 1), "records": 6}
HERE = {"isolation": Isolation(in_process=True)}


def noisy_sum(scale):
    def release(data, rng):
        return float(np.sum(data)) + rng.laplace(scale=scale)

    return release


def audited(function, **given):
    sound = {"domain": SIX, "relation": "replace-record", "epsilon": 1.0, "trials": 1000, **HERE}
    return dpaudit.audit(function, **{**sound, **given})


def test_a_claim_falls_on_a_pair_that_was_found():
    result = audited(noisy_sum(0.5))
    assert result.verdict == "refuted"
    assert 1 < result.measured.lower < 2
    assert any("found by a search" in one and "np.array([" in one for one in result.notes)


def test_a_true_claim_is_not_refuted():
    result = audited(noisy_sum(1.0), confidence=0.999999)
    assert result.verdict == "proved"
    assert result.measured.lower > 0.5


def test_records_that_were_given_are_not_written():
    result = audited(noisy_sum(1.0), dataset=np.linspace(0.1, 0.2, 6))
    assert result.verdict == "not refuted"
    assert not any("np.array([" in one for one in result.notes)


def test_a_domain_without_bounds_is_said_to_have_none():
    result = audited(noisy_sum(2e6), domain={"records": 3})
    assert result.verdict == "not refuted"
    assert any("No bounds are stated: the search" in one for one in result.notes)


def test_code_keeps_nothing_of_the_noise_of_the_search():
    kept = {}

    def release(data, rng):
        kept.setdefault("noise", []).append(rng.laplace())
        return float(np.sum(data)) + kept["noise"][-1]

    result = audited(release, confidence=0.999999, isolation=None)
    assert result.verdict == "not refuted"
    assert kept == {}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"neighbour": np.zeros(6), "dataset": np.zeros(6)}, "neighbour"),
        ({"bounds": (0, 1)}, "bounds"),
        ({"domain": None}, "dataset"),
        ({"search_calls": 1}, "search_calls"),
        ({"relation": lambda one, other: True}, "relation"),
        ({"relation": None}, "relation"),
        ({"domain": {"bound": 1}}, "domain"),
        ({"dataset": np.zeros(5)}, "dataset"),
    ],
)
def test_what_contradicts_a_domain_is_refused(given, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: got"):
        audited(noisy_sum(1.0), **given)


def test_a_function_of_no_data_is_not_refuted_on_any_pair():
    result = audited(lambda data, rng: rng.laplace())
    assert result.verdict == "proved"
    assert any("no output distinguishes its datasets" in one for one in result.notes)


def test_what_a_function_raises_everywhere_is_its_own_error():
    with pytest.raises(MechanismError, match="NameError"):
        audited(lambda data, rng: missing_name)  # noqa: F821


def test_a_pair_on_which_code_raises_counts_where_exceptions_do():
    def release(data, rng):
        if (data > 0.9).all():
            raise ZeroDivisionError
        return rng.laplace() + 0.1 * data[0]

    assert audited(release).verdict == "not refuted"
    assert audited(release, observe="exceptions").verdict == "refuted"


def test_outputs_of_any_number_are_looked_at():
    def release(data, rng):
        return [float(rng.integers(9))] * int(rng.integers(1, 3))

    assert audited(release, confidence=0.999999).verdict == "not refuted"


def test_ends_of_a_table_are_those_of_its_records_and_are_not_written():
    table = pd.DataFrame({"age": [17.25, 81.75]})

    def release(data, rng):
        return float(data["age"].sum()) / 64.5 + rng.laplace()

    result = audited(release, domain=table, confidence=0.999999)
    assert result.verdict == "not refuted"
    assert not any("81.75" in one or "17.25" in one for one in [*result.notes, result.rerun])


def test_what_is_said_of_a_domain_that_is_a_table_holds_no_value_of_it():
    table = pd.DataFrame({"name": ["Ada"], "age": [31]})
    given = {"domain": table, "relation": "replace-record", "epsilon": 1.0}
    for dataset in (None, table.assign(name="Bob")):
        with pytest.raises(InvalidArgument) as raised:
            dpaudit.audit(lambda data, rng: rng.laplace(), dataset, **given)
        assert "Ada" not in str(raised.value)
        assert "Bob" not in str(raised.value)


def test_a_limit_is_that_of_a_call_and_not_of_the_search():
    def release(data, rng):
        time.sleep(0.05)
        return float(np.sum(data)) + rng.laplace()

    placed = isolate_mechanism(release, Isolation(limits=Limits(timeout=1.0)))
    effort = SearchEffort(100, calls=30)  # that take longer
    found = find_pairs(placed, dpaudit.Domain(**SIX), "replace-record", effort=effort, seed=0)
    assert "1 scales apart" in found.candidates[0].edit


def test_a_call_of_the_search_that_never_ends_is_ended_for_what_one_may_take():
    limits = Isolation(limits=Limits(timeout=0.3))

    def release(data, rng):
        while not data.any():
            pass
        return rng.laplace()

    began = time.monotonic()
    with pytest.raises(MechanismError, match="--timeout allows"):
        audited(release, isolation=limits, search_calls=400)
    assert time.monotonic() - began < 30


def test_so_few_calls_that_no_pair_is_looked_at_are_refused():
    with pytest.raises(InvalidArgument, match=r"^search_calls: got 2"):
        audited(noisy_sum(1.0), search_calls=2)


def test_a_time_is_the_searchs_too_and_what_it_took_is_repeated():
    def release(data, rng):
        time.sleep(0.01)
        return float(np.sum(data)) + rng.laplace(scale=0.5)

    began = time.monotonic()
    result = audited(release, time=8.0, isolation=None)
    assert time.monotonic() - began < 13
    assert "search_calls=" in result.rerun
    assert "looks=" in result.rerun


def test_the_call_that_repeats_has_the_domain_or_its_name():
    assert "dpaudit.audit(mechanism, epsilon=1.0" in audited(noisy_sum(1.0)).rerun
    made = audited(noisy_sum(1.0), domain=dpaudit.Domain(make=lambda rng: rng.random(3)))
    assert "domain=domain" in made.rerun


def test_an_assertion_takes_a_domain():
    from dpaudit.testing import assert_not_refuted

    given = {"domain": SIX, "relation": "replace-record", "epsilon": 1.0, "trials": 2000}
    assert assert_not_refuted(noisy_sum(1.0), **given).verdict == "not refuted"
    with pytest.raises(AssertionError, match="refuted at delta = 0"):
        assert_not_refuted(noisy_sum(0.4), **given)
    pair = Pair(np.zeros(2), np.ones(2) * [0, 1], dpaudit.relation("replace-record"))
    with pytest.raises(InvalidArgument, match="domain"):
        assert_not_refuted(noisy_sum(1.0), pair, **given)


def test_an_assertion_takes_a_dataset_alone():
    from dpaudit.testing import assert_not_refuted

    given = {"relation": "replace-record", "epsilon": 1.0, "trials": 2000, "bounds": (0, 1)}
    data = np.linspace(0.4, 0.6, 5)
    assert assert_not_refuted(noisy_sum(1.0), dataset=data, **given).verdict == "not refuted"
    words = r"(?s)refuted at delta = 0.*trials=2000.*dataset=dataset, relation=.*bounds=\(0, 1\)"
    with pytest.raises(AssertionError, match=words):
        assert_not_refuted(noisy_sum(0.4), dataset=data, **given)
    with pytest.raises(InvalidArgument, match="bounds: got both"):
        assert_not_refuted(noisy_sum(1.0), dataset=data, domain=SIX, **given)


@pytest.mark.slow
def test_a_table_of_pandas_is_a_domain():
    table = pd.DataFrame({"age": [20, 90], "sex": ["f", "m"]})

    def release(data, rng):
        return float((data["age"] > 65).sum()) + rng.laplace(scale=0.5)

    assert audited(release, domain=table, relation="add-remove-record").verdict == "refuted"


def test_a_request_of_many_calls_may_take_as_long_as_they_all():
    given = []
    crew = SimpleNamespace(patient=given.append, limits=SimpleNamespace(timeout=0.5))
    found_pairs._set_search_timeout(SimpleNamespace(crew=crew), 40)
    assert given == [20.0]
    crew.limits.timeout = None
    with found_pairs._set_search_timeout(SimpleNamespace(crew=crew), 40):
        assert given == [20.0]
