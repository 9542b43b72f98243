"""The search beside a dataset that somebody has: sixteen statistics, wherever it starts."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from scipy.stats import binom

import dpaudit
from dpaudit.auditing.pairs.found_pairs import SearchEffort, find_pairs
from dpaudit.domains import Domain
from dpaudit.domains.columns import Integers, Numbers
from dpaudit.errors import InvalidArgument
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism
from dpaudit.neighbours import Pair
from dpaudit.search.edits import domain_around, generate_edits
from dpaudit.search.engine import search_pairs
from dpaudit.search.space import UnitPair, space_of

COUNT = 10
HERE = {"isolation": Isolation(in_process=True)}


def covariance(pairs):
    return float(np.mean(pairs[:, 0] * pairs[:, 1]) - pairs[:, 0].mean() * pairs[:, 1].mean())


# Of ten records in [0, 1], one of which is replaced: the largest movement, by hand. A variance and
# a covariance move by (n - 1) / n^2, from records that are all the same.
SIXTEEN = {
    "sum": (lambda x: x.sum(), 1),
    "mean": (lambda x: x.mean(), 1 / 10),
    "count above": (lambda x: (x > 0.5).sum(), 1),
    "largest": (lambda x: x.max(), 1),
    "smallest": (lambda x: x.min(), 1),
    "median": (np.median, 1 / 2),
    "variance": (lambda x: x.var(), 9 / 100),
    "range": (np.ptp, 1),
    "sum of squares": (lambda x: (x**2).sum(), 1),
    "product of neighbours": (lambda x: (x[1:] * x[:-1]).sum(), 2),
    "histogram bin": (lambda x: np.histogram(x, bins=5, range=(0, 1))[0][3], 1),
    "quantile": (lambda x: np.quantile(x, 0.9, method="lower"), 1),
    "covariance": (covariance, 9 / 100),
    "norm": (lambda x: np.sqrt((x**2).sum()), 1),
    "trimmed mean": (lambda x: np.sort(x)[1:-1].mean(), 1 / 8),
    "midrange": (lambda x: (x.max() + x.min()) / 2, 1 / 2),
}
STARTS = {"interior": np.linspace(0.3, 0.7, COUNT), "zeros": np.zeros(COUNT)}
CHEAP = [("median", "interior", 0.5), ("trimmed mean", "zeros", 1.0)]


def started(name, start):
    data = STARTS[start]
    return np.column_stack([data, data[::-1]]) if name == "covariance" else data


def noisy(name, share):
    query, moved = SIXTEEN[name]

    def release(data, rng):
        return float(query(data)) + rng.laplace(scale=share * moved)

    return release


@pytest.mark.parametrize("start", ["interior", pytest.param("zeros", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SIXTEEN)
def test_the_search_finds_the_sensitivity_wherever_it_starts(name, start):
    domain = domain_around(started(name, start), "replace-record", bounds=(0, 1))
    given = {"code": SIXTEEN[name][0], "calls": 600}
    found = search_pairs(noisy(name, 1.0), domain, "replace-record", **given).found[0]
    assert 0.85 < found.moved < 1 + 1e-9
    assert len(found.place.units) == COUNT


def audited(function, data, **given):
    usual = {"bounds": (0, 1), "relation": "replace-record", "epsilon": 1.0, "trials": 1000}
    return dpaudit.audit(function, data, **{**usual, **HERE, **given})


@pytest.mark.parametrize(("name", "start", "share"), CHEAP)
def test_a_few_are_refuted_with_half_the_noise_and_not_with_all(name, start, share):
    result = audited(noisy(name, share), started(name, start), confidence=0.999)
    assert result.verdict == ("refuted" if share < 1 else "not refuted")


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", SIXTEEN)
def test_all_are_refuted_with_half_the_noise_and_not_with_all(name, start):
    for share, verdict in ((0.5, "refuted"), (1.0, "not refuted")):
        data = started(name, start)
        result = audited(noisy(name, share), data, trials=4000, confidence=0.9999)
        assert result.verdict == verdict, (share, result.measured.lower)


@pytest.mark.slow
def test_the_repaired_ones_are_accused_no_more_often_than_their_confidence_allows():
    accused = sum(
        audited(noisy(name, 1.0), started(name, start), seed=seed, trials=500).verdict == "refuted"
        for name in SIXTEEN
        for start in STARTS
        for seed in range(4)
    )
    assert accused <= binom.ppf(0.999, 16 * 2 * 4, 0.05)


# --- what is said, and what is not ----------------------------------------------------------------


def noisy_sum(scale):
    def release(data, rng):
        return float(np.sum(data)) + rng.laplace(scale=scale)

    return release


def looked_for(function, data, relation="replace-record", bounds=(0, 1), trials=600, calls=None):
    placed = isolate_mechanism(function, Isolation(in_process=True))
    given = {
        "dataset": data,
        "bounds": bounds,
        "effort": SearchEffort(trials, calls=calls),
        "seed": 0,
    }
    return find_pairs(placed, None, relation, **given)


def said(found):
    return " ".join([*found.notes, *(one.edit for one in found.candidates)])


THREE = np.array([0.37123, 0.61234, 0.4519])


def test_a_pair_of_bounds_alone_is_written_and_no_record_is():
    found = looked_for(noisy_sum(0.5), THREE)
    assert "dataset = np.array([" in said(found)
    written = eval(said(found).split("dataset = ")[1].split(", neighbour")[0], {"np": np})
    assert np.array_equal(written, found.candidates[0].pair.dataset)
    assert not any(repr(one) in said(found) for one in THREE.tolist())


def test_a_pair_that_holds_a_record_is_not_written():
    def release(given, rng):
        return 9.0 * float(np.isin(given, THREE).sum() == 3) + rng.laplace()

    found = looked_for(release, THREE)
    assert np.isin(found.candidates[0].pair.dataset, THREE).all()
    assert "centres of noise are 9 scales apart" in said(found)
    assert "array([" not in said(found)


def test_ends_of_the_dataset_are_those_of_records_and_are_not_written():
    found = looked_for(noisy_sum(70), np.array([17.25, 30.5, 81.75]), bounds=None)
    assert "array([" not in said(found)
    assert "17.25" not in said(found)
    assert "81.75" not in said(found)


def test_values_beyond_a_dataset_are_tried_where_nobody_states_bounds_and_that_is_said():
    ages = np.array([31, 44, 52, 75])

    def movement(function, bounds):
        pair = (found := looked_for(function, ages, bounds=bounds)).candidates[0].pair
        assert ("Bounds are not stated" in said(found)) == (bounds is None)
        return abs(float(np.sum(pair.dataset)) - float(np.sum(pair.neighbour)))

    assert movement(noisy_sum(100), None) == 750
    assert movement(noisy_sum(100), (0, 100)) == 100


@pytest.mark.parametrize(
    ("data", "bounds", "query", "is_beyond"),
    [
        (np.array([1.0, 4.0]), None, np.sum, True),
        (np.array([1.0, 4.0]), (0, 9), np.sum, False),
        (np.array([1.0, 4.0]), None, lambda x: float((x == 4).sum()), False),
        (["a", "b"], None, lambda x: float(x.count("a")), False),
        (["a", "a"], None, lambda x: float(len(set(x))), True),
    ],
)
def test_a_refutation_says_where_its_pair_goes_beyond_the_dataset(data, bounds, query, is_beyond):
    def release(given, rng):
        return float(query(given)) + rng.laplace(scale=0.1)

    found = looked_for(release, data, bounds=bounds, calls=200).candidates[0]
    assert (found.caveat is not None) is is_beyond


@pytest.mark.slow
def test_a_sum_that_nobody_clips_is_refuted_without_bounds_and_one_that_is_clipped_is_not():
    ages = np.array([31, 44, 52, 75])
    result = audited(noisy_sum(100), ages, bounds=None)
    assert result.verdict == "refuted"
    assert "No bounds are stated" in result.reason
    clipped = lambda data, rng: np.clip(data, 0, 100).sum() + rng.laplace(scale=100)  # noqa: E731
    assert audited(clipped, ages, bounds=None, confidence=0.9999).verdict == "not refuted"
    stated = audited(noisy_sum(100), ages, bounds=(0, 100), confidence=0.9999)
    assert stated.verdict == "not refuted"


def test_the_call_that_repeats_an_audit_has_the_dataset_alone():
    result = audited(noisy_sum(1.0), THREE, trials=200)
    assert result.rerun.startswith("dpaudit.audit(mechanism, dataset, epsilon=1.0")
    assert "bounds=(0, 1)" in result.rerun


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"relation": None}, r"^relation: got None"),
        ({"relation": lambda one, other: True}, r"^relation: got a function"),
        ({"relation": "replace-column"}, r"^relation: got 'replace-column', expected one of"),
        ({"relation": "replace-label"}, r"^relation: got 'replace-label', expected a d.* labels"),
        ({"relation": "replace-cell"}, r"^dataset: got one of no neighbours"),
        ({"bounds": {"height": (0, 1)}}, r"^bounds: got height, expected columns"),
        ({"bounds": (1, 0)}, r"^bounds: got \(1, 0\)"),
        ({"data": 3.0}, "of which neighbours can be made"),
        ({"data": np.zeros((0, 2))}, "of which neighbours can be made"),
        ({"data": None}, r"^dataset: got None, expected records, or a domain"),
    ],
)
def test_what_no_neighbours_can_be_looked_for_by_is_refused(given, words):
    with pytest.raises(InvalidArgument, match=words):
        looked_for(noisy_sum(1.0), **{"data": np.array([0.25, 0.5]), **given})


def several(data, rng):
    size = 2 if data.max() > 0.9 else 1
    return {"sum": data.sum() + rng.laplace(), "parts": rng.laplace(size=size)}


@pytest.mark.parametrize(("trials", "most"), [(100, 1), (200, 2), (2000, 9)])
def test_no_more_pairs_are_found_than_so_many_trials_can_rank(trials, most):
    found = looked_for(several, np.linspace(0.2, 0.4, 4), trials=trials)
    assert 1 <= len(found.candidates) <= most
    assert "structure" in found.candidates[0].edit


def test_fewer_calls_are_made_for_few_trials_and_for_many_cells():
    assert [SearchEffort(n).most() for n in (100, 1000, 10_000)] == [100, 500, 2000]
    assert [SearchEffort(n).most(columns=1) for n in (100, 1000, 10_000)] == [100, 500, 1000]
    assert [SearchEffort(10_000).most(n) for n in (100, 1000, 10**6)] == [2000, 300, 30]
    assert SearchEffort(10_000, calls=77).most(10**6) == 77


@pytest.mark.slow
def test_one_seed_finds_one_pair_whoever_computes():
    alone, here = (
        audited(noisy_sum(0.5), STARTS["interior"], trials=400, seed=3, isolation=isolation)
        for isolation in (Isolation(), HERE["isolation"])
    )
    assert [one for one in alone.notes if "search" in one] == [
        one for one in here.notes if "search" in one
    ]


# --- what datasets may be beside one --------------------------------------------------------------

FRAME = pd.DataFrame(
    {"age": [31, 44, 75], "town": ["x", "y", "x"], "pay": [1.5, np.nan, 2.5]}, index=["p", "q", "r"]
)


def columns(data, **given):
    return Domain(around=data, **given).layout.columns


def test_numbers_go_far_beyond_a_dataset_and_keep_their_sign_and_type():
    assert columns(np.array([1.0, 5.0])) == (Numbers(low=0.0, high=500.0),)
    assert columns(np.array([-1.0, 5.0])) == (Numbers(low=-500.0, high=500.0),)
    assert columns(np.array([-7.0, -5.0])) == (Numbers(low=-700.0, high=0.0),)
    assert columns(np.array([0.25])) == (Numbers(low=0.0, high=100.0),)
    assert columns(np.array([0, 0])) == (Integers(low=0, high=10),)
    assert columns(np.array([31, 75])) == (Integers(low=0, high=750),)
    assert columns(np.array([3, 90], dtype=np.int8)) == (Integers(low=0, high=127),)
    assert columns([1, 2]) == (Integers(low=0, high=20),)
    assert columns([1, 2], bounds=(0, 9)) == (Integers(low=0, high=9),)
    assert columns(np.array([1.0, np.nan]), bounds=(0, 9)) == (
        Numbers(low=0.0, high=9.0, missing=True),
    )
    largest = columns(np.array([1e305]))[0].high
    assert np.isfinite(largest)
    assert largest >= 1e305


def test_columns_of_a_table_are_bounded_by_name_and_hold_one_value_more():
    age, town, pay = columns(FRAME, bounds={"age": (0, 120)})
    assert age == Integers(low=0, high=120)
    assert town.values[:2] == ("x", "y")
    assert town.has_other
    assert len(town.values) == 3
    assert pay.missing
    start = Domain(around=FRAME, bounds={"age": (0, 120)}).start
    assert start.is_stated == (True, False, False)
    assert start.ranges == ((31, 75), None, (1.5, 2.5))


def test_under_add_remove_a_dataset_has_one_record_more_or_fewer():
    assert domain_around(FRAME, "add-remove-record").sizes == (2, 4)
    assert domain_around(FRAME, "replace-record").sizes == (3, 3)
    space = space_of(domain_around(FRAME, "add-remove-record"), "add-remove-record")
    assert space.fewest == 3


def test_rows_keep_their_labels_whichever_is_removed_or_added():
    space = space_of(domain_around(FRAME, "add-remove-record"), "add-remove-record")
    start = space.starts[0]
    removed = space.pair(UnitPair(start, 1, None))
    assert removed.dataset is FRAME
    assert removed.neighbour.index.tolist() == ["p", "r"]
    assert removed.neighbour["age"].tolist() == [31, 75]
    added = space.orient_pair(UnitPair((*start, start[0]), 3, None))
    assert added.dataset.index.tolist() == ["p", "q", "r"]
    assert added.neighbour.index.tolist()[:3] == ["p", "q", "r"]
    assert len(added.neighbour) == 4
    other = space.pair(UnitPair((*start, start[0]), 0, None))
    assert len(other.dataset) == 4
    assert other.neighbour.index.tolist()[:2] == ["q", "r"]


@pytest.mark.parametrize("relation", ["add-remove-record", "replace-record", "replace-cell"])
@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        FRAME.reset_index(drop=True),
        (np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])),
        np.array([[1, 2], [3, 4]], dtype=np.uint8),
        [("a", 1), ("b", 2)],
        [{"a": 1}, {"a": 2, "b": [3]}],
        pd.DataFrame({"n": pd.array([1, None, 3], dtype="Int64"), "when": pd.to_datetime("2020")}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_edits_of_any_data_are_neighbours_of_their_kind(data, relation):
    space = space_of(domain_around(data, relation, missing=True), relation)
    made = list(generate_edits(space, default_rng(0)))
    assert len(made) > 3
    checked = [space.orient_pair(one.place) for one in made if one.given != "beyond"]
    assert all(isinstance(one, Pair) and type(one.neighbour) is type(data) for one in checked)


def test_records_that_have_no_hash_are_looked_at():
    def release(data, rng):
        return len({tuple(one) for one in data}) + rng.laplace(scale=0.25)

    domain = domain_around([[1, 2], [3], [4, 5, 6]], "replace-record")
    found = search_pairs(release, domain, "replace-record", calls=200).found[0]
    assert found.moved == 4


def from_the_device():
    """Return noise that nothing intercepts."""
    with open("/dev/urandom", "rb") as device:
        u = int.from_bytes(device.read(7), "big") / 2**56 - 0.5
    return float(-np.sign(u) * np.log1p(-2 * abs(u)))


def test_where_no_noise_is_intercepted_many_pairs_are_ranked_on_outputs():
    def release(data):
        return float(data.max()) + 0.01 * from_the_device()

    found = looked_for(release, np.linspace(0.3, 0.7, 5), trials=6000, calls=400)
    moved = [abs(one.pair.dataset.max() - one.pair.neighbour.max()) for one in found.candidates]
    assert len(moved) > 12
    assert max(moved) > 0.9
    assert sum("largest value" in one.edit for one in found.candidates) == 1
    few = looked_for(release, np.linspace(0.3, 0.7, 5), trials=400)
    assert len(few.candidates) == 4
