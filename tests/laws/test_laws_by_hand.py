"""Small laws, layouts and looks at draws, each beside numbers that are worked out here."""

from __future__ import annotations

import contextlib
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from mpmath import mp
from scipy.special import ndtr
from scipy.stats import norm

from dpaudit.errors import ConvergenceError, InvalidArgument, MechanismError
from dpaudit.execution.units import Unit
from dpaudit.laws.allocated_sums import AllocatedSums
from dpaudit.laws.canary_steps import CanarySteps, log_ratios
from dpaudit.laws.exponential_norm import (
    _log_0f1,
    _short_of_one,
    convert_noise_to_uniforms,
    draw_tilted,
    log_mgf,
    norm_gain,
)
from dpaudit.laws.loss_enclosure import compute_exact_squared_distance, ends, in_digits
from dpaudit.mechanisms.foreign import changed_modules
from dpaudit.mechanisms.foreign.changed_modules import changes
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism, without_parts
from dpaudit.mechanisms.foreign.fresh_inputs import (
    _call_refresher,
    draw_similar_value,
    require_fresh,
)
from dpaudit.mechanisms.foreign.in_worker import from_pickle
from dpaudit.mechanisms.foreign.reached_state import _is_carried_by_value
from dpaudit.mechanisms.mechanism import TiltedSample, draw_checked_sample
from dpaudit.mechanisms.outputs.features import Features, LogRatios, OneOf, OnePart, OneValue
from dpaudit.mechanisms.outputs.layout import (
    INFINITE,
    NAN,
    LayoutColumn,
    OtherOutputs,
    PartLayout,
    Plain,
    _make_rest_tokens,
    is_ignored,
    kind_of,
    layout_of,
    require_observation_count,
)
from dpaudit.mechanisms.outputs.leaves import LeafToken
from dpaudit.mechanisms.outputs.outcomes import Inexact, as_doubles
from dpaudit.mechanisms.outputs.reads import drifts_by_process
from dpaudit.mechanisms.outputs.recurrence import equal_pairs, measure_recurrence, variance_of_ties
from dpaudit.mechanisms.outputs.steadiness import drifts_in, is_one, last_bits, steady_in
from dpaudit.mechanisms.outputs.unit_draws import (
    _per_trial,
    _whole_rows,
    choose_compared_trials,
    draw_counted_unit,
    loss_unit,
    make_output_projection,
    residual_unit,
    side_output_unit,
)
from dpaudit.mechanisms.residuals import record_residuals, report_residuals
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_RECORD, Pair, Side
from dpaudit.reals import Real

# --- outcomes as doubles --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        [2**53, -(2**53)],
        np.array([2**62], dtype=np.int64),
        np.array([2**63], dtype=np.uint64),
        [Fraction(1, 2), Decimal("0.25")],
        [True, False],
        [math.nan, math.inf],
        [-0.0],
        np.array([1.5], dtype=np.float16),
        np.array([0.5], dtype=np.longdouble),
    ],
)
def test_what_doubles_hold_is_kept(given):
    found = as_doubles(given)
    assert found.dtype == np.float64
    for one, other in zip(found.tolist(), list(given), strict=True):
        assert one == other or (one != one and other != other)
    if isinstance(given, np.ndarray):
        assert not np.shares_memory(found, given)
    assert math.copysign(1, as_doubles([-0.0])[0]) == -1


@pytest.mark.parametrize(
    "given",
    [
        [2**53 + 1],
        [2**53 + 1, 0.5],
        np.array([2**53 + 1], dtype=np.int64),
        np.array([2**63 - 1], dtype=np.int64),
        np.array([2**64 - 1], dtype=np.uint64),
        np.array([0.1], dtype=np.longdouble) / 3,
        [Fraction(1, 3)],
        [Decimal("0.1")],
        [10**400],
        [object()],
        [None],
        np.array([1j]),
        np.array(["1"]),
        np.array([b"1"]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([1], dtype="timedelta64[D]"),
        np.zeros(1, dtype=[("a", float)]),
        np.ma.array([1.0, 2.0], mask=[False, True]),
    ],
)
def test_what_doubles_merge_is_refused(given):
    with pytest.raises(Inexact):
        as_doubles(given)


class Made:
    """A mechanism that returns what it is given."""

    def __init__(self, returned):
        self.returned = returned

    def sample(self, dataset, trials, rng):
        return self.returned


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (np.zeros((3, 2)), "shape"),
        (np.float64(1.0), "shape"),
        (np.zeros((2, 0)), "shape"),
        (np.array([[0.0], [math.nan]]), "output 1 of 2"),
        (np.array([[0.0], [-math.inf]]), "output 1 of 2"),
        (np.array(["a", "b"]), "text"),
        ([2**53 + 1, 0], "integers"),
    ],
)
def test_a_mechanism_is_held_to_its_contract(returned, words):
    with pytest.raises(MechanismError, match=words):
        draw_checked_sample(Made(returned), None, 2, np.random.default_rng(0))


def test_a_function_of_arrays_that_meets_a_frame_is_told_so():
    first = as_mechanism(lambda data, rng: float(data[:, 0].sum() + rng.laplace()))
    table = pd.DataFrame({"age": [31.0, 44.0]})
    with pytest.raises(MechanismError, match=r"the data are a pandas\.DataFrame"):
        draw_checked_sample(first, table, 1, np.random.default_rng(0))
    with pytest.raises(MechanismError) as raised:
        draw_checked_sample(first, table["age"].to_numpy(), 1, np.random.default_rng(0))
    assert "DataFrame" not in str(raised.value)


def test_a_weight_undoes_its_tilt():
    loss, moment = np.array([0.5, -1.0]), np.array([0.2, 0.3])
    sample = TiltedSample(np.zeros((2, 1)), loss, moment, 2.0)
    assert sample.log_weight.tolist() == [0.2 - 1.0, 0.3 + 2.0]


# --- what is drawn of a unit ----------------------------------------------------------------------


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((2, 1)), np.array([0.0, math.nan])])
def test_one_number_a_trial_and_no_nan(values):
    assert _per_trial(None, "score", [1, -math.inf], 2).tolist() == [1.0, -math.inf]
    with pytest.raises(MechanismError, match="expected 2 numbers"):
        _per_trial(None, "score", values, 2)


@pytest.mark.parametrize(
    ("trials", "most", "kept"),
    [(4, 4, [0, 1, 2, 3]), (5, 4, [0, 1, 2, 3]), (9, 3, [0, 4, 5]), (9, 2, [0, 4])],
)
def test_trials_that_are_compared(trials, most, kept):
    assert choose_compared_trials(trials, most).tolist() == kept


class Counting:
    """Outputs that say on which side they were drawn."""

    called = None

    def sample(self, dataset, trials, rng):
        return np.full((trials, 2), float(dataset)) + np.arange(trials)[:, None]

    def privacy_loss(self, outputs, pair):
        return outputs[:, 0] * (pair.neighbour - pair.dataset)

    def uniform_residuals(self, outputs, dataset):
        return np.zeros(self.size)


PAIR = SimpleNamespace(dataset=1.0, neighbour=5.0, on=lambda side: 1.0 if side is SIDE else 5.0)
SIDE = Side.DATASET


@pytest.mark.parametrize(("which", "first"), [(0, 1.0), (1, 5.0)])
def test_a_unit_is_of_its_side(which, first):
    unit = Unit(3, np.random.SeedSequence(0), which)
    assert side_output_unit(Counting(), PAIR, unit)[0, 0] == first
    side = list(Side)[which]
    loss = loss_unit(Counting(), PAIR, side, unit)
    assert loss.tolist() == [4 * first, 4 * (first + 1), 4 * (first + 2)]
    counted_as = SimpleNamespace(score=lambda t: t[:, 1], count=lambda s: s.sum())
    total, seen = draw_counted_unit(Counting(), PAIR, counted_as, 2, unit)
    assert total == 3 * first + 3
    assert seen[0].tolist() == [first, first + 1]


@pytest.mark.parametrize(
    ("residuals", "outputs", "last"),
    [((4, 6), (2, 2, 3), 3), ((4, 5), (2, 2, 3), 10), ((4, 6), (2,), 12), ((2, 3), (2, 3), 3)],
)
def test_residuals_are_rows_of_the_last_axis_where_they_fit(residuals, outputs, last):
    assert _whole_rows(np.zeros(residuals), np.zeros(outputs)) == last


# --- answers that come back -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "groups"),
    [([0, 0, 1, 2, 2], [0, 0, 1, 1, 1]), ([0, 0, 0, 1, 1, 2], [0, 1, 0, 1, 0, 1])],
)
def test_equal_pairs_in_a_group_have_the_moments_of_all_orders(values, groups):
    """Mean and variance over every permutation, by enumeration."""
    found = []
    for order in itertools.permutations(values):
        pairs = itertools.combinations(range(len(values)), 2)
        found.append(sum(order[i] == order[j] and groups[i] == groups[j] for i, j in pairs))
    counts = np.unique(values, return_counts=True)[1]
    sizes = np.bincount(groups)
    share = equal_pairs(sizes) / math.comb(len(values), 2)
    mean, spread = np.mean(found), np.var(found)
    assert math.isclose(equal_pairs(counts) * share, mean)
    assert math.isclose(variance_of_ties(counts, sizes, share), spread)
    seen = sum(
        values[i] == values[j] and groups[i] == groups[j]
        for i, j in itertools.combinations(range(len(values)), 2)
    )
    z = (seen - mean) / math.sqrt(spread)
    assert math.isclose(measure_recurrence(np.array(values), np.array(groups)), z)


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [1, 1, 1], [1, 1, 1, 1, 1]])
def test_nothing_comes_back_where_nothing_or_all_is_equal(values):
    assert measure_recurrence(np.array(values), np.arange(len(values)) // 2) == 0.0


# --- layouts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name", "ignored"),
    [
        ("at", "at", True),
        ("at.year", "at", True),
        ("at[0]", "at", True),
        ("output['at']", "at", True),
        ("one.at", "at", True),
        ("one.at.year", "at", True),
        ("one.at[3]", "at", True),
        ("at2", "at", False),
        ("bat", "at", False),
        ("one.at2", "at", False),
        ("at", "=at", True),
        ("at.year", "=at", False),
    ],
)
def test_a_part_is_left_out_by_its_whole_name(path, name, ignored):
    assert is_ignored(path, [name]) is ignored
    assert is_ignored(path, ["other", name]) is ignored
    assert not is_ignored(path, [])


def test_columns_that_are_the_same_on_each_side_and_not_on_both():
    one = np.array([[1.0, 0.3, 2.0, 5.0], [1.0, 0.3, 2.0, 6.0]])
    other = np.array([[2.0, 0.1 + 0.2, 2.0, 5.0], [2.0, 0.3, 3.0, 6.0]])
    assert steady_in([one, other]) == (0,)
    assert steady_in([]) == ()


@pytest.mark.parametrize(
    ("values", "same"),
    [
        ([1.0, 1.0 + 1e-10], True),
        ([1.0, 1.0 + 3e-9], False),
        ([0.0, 0.0], True),
        ([0.0, 1.0], False),
    ],
)
def test_last_bits_are_no_difference(values, same):
    assert is_one(np.array(values)) is same


def test_the_size_of_last_bits_is_that_of_most_numbers():
    assert last_bits(np.array([1.0] * 9 + [1e300])) == 1e-9
    assert last_bits(np.array([0.0] * 9 + [2.0])) == 2e-9  # where most are 0, of the largest


def test_columns_that_drift():
    clock = np.arange(12.0)[:, None]
    assert drifts_in([clock]) == drifts_in([-clock]) == (0,)
    assert drifts_in([clock[:11]]) == ()  # too few
    assert drifts_in([clock[:6], clock[:6]]) == ()
    assert drifts_in([clock[:6], clock[:6]], apart=True) == (0,)
    slow = np.floor(clock / 4)
    assert drifts_in([slow]) == ()  # grows too seldom
    assert drifts_in([np.floor(clock / 2)]) == ()
    assert drifts_in([np.c_[clock, clock % 2]]) == (0,)
    both = np.concatenate([clock[:6], clock[:6]])
    assert drifts_by_process([both], np.repeat([0, 1], 6)) == (0,)
    assert drifts_by_process([both], np.zeros(12, dtype=int)) == ()


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (True, "bool"),
        (1, "int"),
        (np.float32(1), "float"),
        (np.bool_(True), "bool"),
        ([1, 2], "list of int"),
        ([1, 2.0], ""),
        ([[1.0], [2.0]], "list of list of float"),
        (np.zeros(2, dtype="<i4"), "array <i4"),
        (np.array(["a"]), ""),
        ([], ""),
        (None, ""),
    ],
)
def test_of_what_types_observations_are(one, kind):
    assert kind_of(one) == kind


def test_arrays_of_one_shape_are_rows_as_they_are():
    layout = layout_of([[np.array([1.0, 2.0])] * 2, [np.array([1.0, 3.0])] * 2])
    assert isinstance(layout, Plain)
    assert [one.steady for one in layout.columns] == [False, True]
    rows = layout.rows([np.array([1.0, math.nan]), np.array([math.inf, -math.inf])], 2)
    assert rows.tolist() == [[1.0, NAN], [INFINITE, -INFINITE]]
    odd = layout.rows([np.array([1.0, 2.0]), np.array([1.0]), "a", "b"], 4)
    assert odd[0].tolist() == [1.0, 2.0]
    assert (odd[1:] >= 1e300).all()
    assert len({row[0] for row in odd}) == 4
    assert odd[2, 0] == layout.rows(["a"], 1)[0, 0]


def test_parts_that_vary_have_columns_and_the_rest_is_told():
    layout = layout_of([[{"a": 1.0, "kind": "x"}] * 2, [{"a": 2.0, "kind": "x"}] * 2])
    assert isinstance(layout, PartLayout)
    assert "a" in [one.path for one in layout.columns]
    usual = layout.rows([{"a": 1.0, "kind": "x"}], 1)[0]
    assert usual[-2:].tolist() == [0.0, 0.0]
    for other in ({"a": 1.0, "kind": "y"}, {"a": 1.0}, {"a": 1.0, "kind": "x", "more": 1.0}):
        assert layout.rows([other], 1)[0, -1] != 0
    left_out = layout.without(["kind"])
    assert left_out.rows([{"a": 1.0, "kind": "y"}], 1)[0, -2:].tolist() == [0.0, 0.0]
    clock = layout.with_clock("a")
    assert [one.path for one in clock.columns if one.clock] == ["a"]
    assert LayoutColumn("a", False).everywhere
    with pytest.raises(InvalidArgument, match="ignore"):
        layout_of([[{"a": 1.0}]], ["b"])


def test_the_two_last_columns_tell_which_parts_are_the_rest_and_what_they_are():
    layout = layout_of([[{"a": 1.0, "kind": "x"}] * 2, [{"a": 2.0, "kind": "x"}] * 2])
    (row,) = layout.rows([{"a": 1.0, "kind": "x", "more": 1.0}], 1)
    which, what = layout.tokens({"a": 1.0, "kind": "x", "more": 1.0})
    assert row[-2:].tolist() == [which.code, what.code]
    assert which.code != what.code
    (other,) = layout.rows([{"a": 1.0, "kind": "x", "more": 2.0}], 1)
    assert other[-2] == row[-2]
    assert other[-1] != row[-1]
    assert layout.tokens({"a": 7.0, "kind": "x"}) == ()


def test_texts_of_codes_are_those_of_what_has_no_column_too():
    returned = [{"a": 1.0, "kind": "x"}, {"a": 1.0, "kind": "x", "more": 1.0}]
    layout = layout_of([returned[:1] * 2, returned[:1] * 2])
    mechanism = as_mechanism(lambda data: returned[data]).having(layout)
    which, what = layout.tokens(returned[1])
    kind = LeafToken("str", "x")
    codes, rngs = [which.code, what.code, kind.code], [np.random.default_rng(0)] * 2
    found = mechanism.texts([0, 1], 2, rngs, codes)
    assert {code: one[1] for code, one in found.items()} == {
        which.code: which.text, what.code: what.text, kind.code: "x",
    }  # fmt: skip
    assert set(mechanism.texts([1], 2, rngs[:1], [what.code])) == {what.code}


def test_the_rest_is_told_in_one_order_and_clocks_are_not_compared():
    rest = [("b", "number 1.0"), ("a", "code 2.0")]
    assert _make_rest_tokens(rest) == _make_rest_tokens(rest[::-1])
    assert _make_rest_tokens(rest) != _make_rest_tokens([("b", "number 1.5"), ("a", "code 2.0")])
    timed = PartLayout((LayoutColumn("t", False, clock=True), LayoutColumn("x", False)), {})
    number = make_output_projection(SimpleNamespace(layout=timed))
    rows = np.array([[1.0, 2.0], [9.0, 2.0], [1.0, 3.0]])
    same, later, other = number(rows)
    assert same == later != other
    assert (
        make_output_projection(SimpleNamespace())(rows)[0]
        != make_output_projection(SimpleNamespace())(rows)[1]
    )


@pytest.mark.parametrize(
    "observations", [5, np.float64(1.0), np.zeros((3, 1)), np.zeros((2, 0)), [1, 2, 3], []]
)
def test_as_many_outputs_as_were_asked_for(observations):
    assert require_observation_count([1, 2], 2) == [1, 2]
    column = pd.Series([1.0, 2.0], index=["p", "q"])
    assert require_observation_count(column, 2).tolist() == [1.0, 2.0]
    table = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert require_observation_count(table, 2) == [{"a#1": 1, "a#2": 2}, {"a#1": 3, "a#2": 4}]
    with pytest.raises(OtherOutputs):
        require_observation_count(observations, 2)


# --- features -------------------------------------------------------------------------------------


def test_log_ratios_are_of_shares_and_count_nothing_by_chance():
    on_p, on_q = np.repeat([1.0, 2.0], [90, 10]), np.repeat([1.0, 2.0], [10, 90])
    ratios = LogRatios.of(on_p, on_q)
    exact = math.log(90.5 / 10.5)
    assert ratios(np.array([1.0, 2.0, 3.0, 0.5])).tolist() == pytest.approx([exact, -exact, 0, 0])
    near = LogRatios.of(np.repeat([1.0, 2.0], [52, 48]), np.repeat([1.0, 2.0], [48, 52]))
    assert near(np.array([1.0, 2.0])).tolist() == [0.0, 0.0]
    more = LogRatios.of(np.ones(100), np.ones(10))
    assert more(np.array([1.0]))[0] == pytest.approx(0.0, abs=1e-12)
    only = LogRatios.of(np.full(20, 7.0), np.full(20, 8.0))
    assert only(np.array([7.0]))[0] == pytest.approx(math.log(20.5 / 0.5))


def test_scores_of_one_column():
    rows = np.array([[1.0, -2.0], [3.0, 4.0]])
    assert OnePart(1)(rows).tolist() == [-2.0, 4.0]
    assert OnePart(1, -1.0)(rows).tolist() == [2.0, -4.0]
    assert OnePart(1, -1.0, 1.0)(rows).tolist() == [-3.0, -3.0]
    of = OneOf.of(0, np.repeat([[1.0]], 20, axis=0), np.repeat([[3.0]], 20, axis=0))
    assert of(rows)[0] > 0 > of(rows)[1]
    zeros = np.array([[0.0], [-0.0], [1.0]])
    assert OneValue(0, 0.0, -1.0)(zeros).tolist() == [-1.0, 0.0, 0.0]
    assert OneValue(0, -0.0, 1.0)(zeros).tolist() == [0.0, 1.0, 0.0]


# --- a canary -------------------------------------------------------------------------------------


def steps(ratio=0.3, noise=1.5, count=2):
    return CanarySteps(lambda *_: None, np.any, count, sampling_ratio=ratio, noise_multiplier=noise)


HELD, ABSENT = np.array([1.0]), np.array([0.0])
BOTH_WAYS = [Pair(HELD, ABSENT, REPLACE_RECORD), Pair(ABSENT, HELD, REPLACE_RECORD)]


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_loss_of_a_canary_is_the_ratio_of_densities(ratio):
    law, seen = steps(ratio), np.array([[0.2, -1.0], [3.0, 0.5]])
    dense = (1 - ratio) * norm.pdf(seen, 0, 1.5) + ratio * norm.pdf(seen, 1, 1.5)
    exact = np.log(dense / norm.pdf(seen, 0, 1.5))
    assert np.allclose(log_ratios(seen, sampling_ratio=ratio, noise_multiplier=1.5), exact)
    added, removed = BOTH_WAYS
    assert np.allclose(law.privacy_loss(seen, added), exact.sum(axis=1))
    assert np.allclose(law.privacy_loss(seen, removed), -exact.sum(axis=1))
    present = (1 - ratio) * ndtr(seen / 1.5) + ratio * ndtr((seen - 1) / 1.5)
    assert np.allclose(law.uniform_residuals(seen, HELD), present)
    assert np.allclose(law.uniform_residuals(seen, ABSENT), ndtr(seen / 1.5))


@pytest.mark.parametrize("tilt", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_moments_of_a_canary_are_integrals(ratio, tilt):
    law = steps(ratio, count=3)
    x = np.linspace(-40, 45, 200_001)
    r = norm.pdf(x, 0, 1.5) * (x[1] - x[0])
    loss = log_ratios(x, sampling_ratio=ratio, noise_multiplier=1.5)
    for pair, power in zip(BOTH_WAYS, (tilt + 1, -tilt), strict=True):
        exact = 3 * math.log(float(np.sum(r * np.exp(power * loss))))
        assert law.log_mgf_bounds(pair, tilt) == pytest.approx((exact, exact), abs=1e-9)
        drawn = law.sample_tilted(pair, tilt, 4, np.random.default_rng(0))
        assert drawn.log_mgf == pytest.approx([exact] * 4, abs=1e-9)
        assert np.allclose(drawn.privacy_loss, law.privacy_loss(drawn.outputs, pair))


def test_both_sides_with_a_canary_or_neither_are_no_pair():
    for pair in (Pair(HELD, np.array([2.0]), REPLACE_RECORD),):
        with pytest.raises(InvalidArgument, match="one side that has the canary"):
            steps().privacy_loss(np.zeros((1, 2)), pair)
    with pytest.raises(InvalidArgument, match="shape"):
        steps().privacy_loss(np.zeros((1, 3)), BOTH_WAYS[0])
    for ratio in (0.0, 1.1):
        with pytest.raises(InvalidArgument, match="sampling_ratio"):
            steps(ratio)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5, -0.7, -3.0])
def test_tilted_draws_of_a_canary_have_the_mean_of_their_law(power):
    law = steps(0.3, 1.5)
    x = np.linspace(-40, 45, 100_001)
    weight = norm.pdf(x, 0, 1.5) * np.exp(
        power * log_ratios(x, sampling_ratio=0.3, noise_multiplier=1.5)
    )
    weight /= weight.sum()
    mean = float(weight @ x)
    spread = math.sqrt(float(weight @ (x - mean) ** 2))
    drawn = law._draw(power, 40_000, np.random.default_rng(1))
    assert abs(drawn.mean() - mean) < 5 * spread / 200
    assert abs(drawn.std() - spread) < 0.03 * spread


# --- balls and bins -------------------------------------------------------------------------------


def sums(batches=3, noise=0.8, epochs=1):
    return AllocatedSums(batches=batches, noise_multiplier=noise, epochs=epochs)


def density(seen, term, noise):
    """Return the density of an epoch by its definition, over where the term is."""
    total = 0.0
    for at in range(len(seen)):
        mean = np.zeros(len(seen))
        mean[at] = term
        total += float(np.prod(norm.pdf(seen, mean, noise))) / len(seen)
    return total


@pytest.mark.parametrize(("here", "there"), [(1.0, 0.0), (0.0, -0.7), (1.0, 0.4), (0.0, 0.0)])
def test_the_loss_of_sums_is_the_ratio_of_densities(here, there):
    seen = np.array([[[0.3, -1.0, 2.0], [0.1, 0.2, 0.3]]])
    pair = SimpleNamespace(
        dataset=np.array([here]),
        neighbour=np.array([there]),
        on=lambda side: np.array([here if side is Side.DATASET else there]),
    )
    exact = sum(math.log(density(one, here, 0.8) / density(one, there, 0.8)) for one in seen[0])
    assert sums(epochs=2).privacy_loss(seen, pair)[0] == pytest.approx(exact)


def test_residuals_of_sums_are_conditional_distributions():
    seen, noise = np.array([[[0.3, -1.0, 2.0]]]), 0.8
    found = sums().uniform_residuals(seen, np.array([1.0]))[0]
    likely = np.exp((2 * seen[0, 0] - 1) / (2 * noise**2))
    for at in range(3):
        # the term is in this batch: by Bayes' rule, given the ones before
        left = 3 - at
        chance = 1 / (likely[:at].sum() + left)
        y = seen[0, 0, at]
        exact = (1 - chance) * ndtr(y / noise) + chance * ndtr((y - 1) / noise)
        assert found[at] == pytest.approx(exact)


def test_bounds_of_moments_are_those_of_all_epochs():
    one = Pair(np.array([1.0]), np.array([0.0]), REPLACE_RECORD)
    size, tilt = 1 / (2 * 0.8**2), 1.5
    low, high = sums(epochs=4).log_mgf_bounds(one, tilt)
    assert low == -math.inf
    assert high == pytest.approx(4 * (math.log(2) + tilt * (1 + tilt) * size))
    low, high = sums(epochs=4).log_mgf_bounds(one.swapped(), tilt)
    assert low == -math.inf
    assert high == pytest.approx(4 * tilt * (1 + tilt / 3) * size)
    both = Pair(np.array([1.0]), np.array([0.5]), REPLACE_RECORD)
    assert sums().log_mgf_bounds(both, tilt) == (-math.inf, math.inf)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("epochs", [1, 2])
def test_weights_of_tilted_sums_are_below_their_bound_and_average_to_one(swapped, epochs):
    pair = Pair(np.array([1.0]), np.array([0.0]), REPLACE_RECORD)
    pair = pair.swapped() if swapped else pair
    law = sums(epochs=epochs, noise=1.5)
    drawn = law.sample_tilted(pair, 1.2, 20_000, np.random.default_rng(2))
    assert drawn.log_mgf.max() <= law.log_mgf_bounds(pair, 1.2)[1] + 1e-12
    weights = np.exp(drawn.log_weight)
    assert abs(weights.mean() - 1) < 5 * weights.std() / math.sqrt(20_000)


def test_draws_are_aimed_for_one_epoch_and_one_side_alone():
    one = Pair(np.array([1.0]), np.array([0.0]), REPLACE_RECORD)
    both = Pair(np.array([1.0]), np.array([0.5]), REPLACE_RECORD)
    assert sums().log_payoff_bound(one, 1.0, 1.0) < math.inf
    for law, pair in ((sums(epochs=2), one), (sums(), both), (sums(noise=20.0), one)):
        assert law.log_payoff_bound(pair, 1.0, 1.0) == math.inf
        with pytest.raises(InvalidArgument, match="aim"):
            law.sample_aimed(pair, 1.0, 2, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="at most one"):
        sums().privacy_loss(
            np.zeros((1, 1, 3)), Pair(np.array([1.0, 2.0]), np.array([1.0]), ADD_REMOVE_RECORD)
        )


# --- noise by its norm ----------------------------------------------------------------------------


@pytest.mark.parametrize("tilt", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("dimension", [3, 7])
def test_the_moment_of_norm_noise_is_an_integral(dimension, tilt):
    """Over the radius and the angle to the shift, with a rule of many points."""
    size = 1.3
    radius, cosine = np.meshgrid((np.arange(600) + 0.5) * 0.08, -1 + (np.arange(200) + 0.5) * 0.01)
    angle = np.arccos(cosine)
    loss = np.sqrt(radius**2 + 2 * radius * size * cosine + size**2) - radius
    weight = radius ** (dimension - 1) * np.exp(-radius) * np.sin(angle) ** (dimension - 3)
    exact = math.log(float((weight * np.exp(tilt * loss)).sum() / weight.sum()))
    found = float(log_mgf(np.array(size), dimension, tilt))
    assert found == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_tilted_noise_has_the_mean_and_spread_that_its_moments_say(dimension):
    shift, tilt, step = np.full(dimension, 0.9), 1.5, 1e-3
    noise = draw_tilted(np.tile(shift, (20_000, 1)), tilt, np.random.default_rng(5))
    loss = norm_gain(noise, shift)
    size = np.array(float(np.linalg.norm(shift)))
    below, at, above = (float(log_mgf(size, dimension, tilt + k * step)) for k in (-1, 0, 1))
    assert abs(loss.mean() - (above - below) / (2 * step)) < 5 * loss.std() / math.sqrt(20_000)
    assert loss.var() == pytest.approx((above - 2 * at + below) / step**2, rel=0.1)
    weights = np.exp(at - tilt * loss)
    assert abs(weights.mean() - 1) < 5 * weights.std() / math.sqrt(20_000)


@pytest.mark.parametrize(("dimension", "y"), [(2.0, 0.4), (3.0, 2.0), (9.0, 30.0)])
def test_cosines_fall_short_of_one_as_their_density_says(dimension, y):
    c = -1 + (np.arange(40_000) + 0.5) / 20_000
    weight = np.exp(y * (c - 1)) * (1 - c**2) ** ((dimension - 3) / 2)
    exact = float(weight @ (1 - c) / weight.sum())
    drawn = _short_of_one(np.full(20_000, dimension), np.full(20_000, y), np.random.default_rng(6))
    assert abs(drawn.mean() - exact) < 5 * drawn.std() / math.sqrt(20_000) + 2e-3 * exact


@pytest.mark.parametrize("y", [0.0, 0.3, 10.0, 70.0, 1e3])
@pytest.mark.parametrize("b", [1.0, 1.5, 6.0])
def test_hypergeometric_functions_in_thirty_digits(b, y):
    with mp.workdps(30):
        exact = mp.log(mp.hyp0f1(b, mp.mpf(y) ** 2 / 4))
    assert float(_log_0f1(b, np.array(y))) == pytest.approx(float(exact), rel=1e-12, abs=1e-14)


def test_uniforms_of_norm_noise_by_hand():
    rate = np.array([2.0])
    one = convert_noise_to_uniforms(np.array([[0.3]]), rate)[0, 0]
    assert one == pytest.approx(1 - math.exp(-0.6) / 2)
    assert convert_noise_to_uniforms(np.array([[-0.3]]), rate)[0, 0] == pytest.approx(
        math.exp(-0.6) / 2
    )
    x = np.array([[0.3, -0.4, 1.2]])  # of norm 1.3
    found = convert_noise_to_uniforms(x, rate)[0]
    t = 2.6
    assert found[0] == pytest.approx(1 - math.exp(-t) * (1 + t + t * t / 2))
    assert found[1] == pytest.approx((1 + 0.3 / 1.3) / 2)  # the height on a sphere is uniform
    assert found[2] == pytest.approx((math.atan2(1.2, -0.4) / math.pi + 1) / 2)
    assert norm_gain(np.array([[3.0, 4.0]]), np.array([[-3.0, -4.0]])).tolist() == [-5.0]
    assert norm_gain(np.zeros((1, 2)), np.zeros((1, 2))).tolist() == [0.0]


# --- enclosed losses ------------------------------------------------------------------------------


def test_ends_are_on_both_sides_of_what_no_double_is():
    third = ends(lambda: Real(1) / 3)
    assert Fraction(third[0]) < Fraction(1, 3) < Fraction(third[1])
    assert third[1] == math.nextafter(third[0], 1)
    assert ends(lambda: -Real(1) / 3) == (-third[1], -third[0])
    assert ends(lambda: Real(0.5)) == (0.5, 0.5)
    assert ends(lambda: Real(1) / 0) == (-math.inf, math.inf)


def test_digits_of_a_number_that_cancels():
    assert float(in_digits(lambda: 1 / (Real(1e300) + 1e-300 - 1e300), 20)) > 9.99e299
    assert math.isnan(in_digits(lambda: Real(1) / (Real(2) / 3 * 3 - 2), 20))


def test_squared_distances_have_no_error():
    point, centre = np.array([1e300, 0.1, 5e-324]), np.array([1e-300, 0.3, 0.0])
    exact = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(point, centre, strict=True))
    assert compute_exact_squared_distance(point, centre) == exact
    assert compute_exact_squared_distance(np.empty(0), np.empty(0)) == 0


# --- residuals, other values, what was changed -------------------------------------------------


def test_residuals_are_held_to_their_tolerance_and_the_worst_is_kept():
    with record_residuals() as found:
        report_residuals("one", np.array([1e-3, 2e-3]), tolerance=2e-3, measure="gap")
        report_residuals("one", np.array([[1e-4]]), tolerance=2e-3, measure="gap")
        report_residuals("one", np.array([1e-9]), tolerance=1e-6, measure="gap")
        report_residuals("two", np.empty(0), tolerance=1e-6, measure="gap")
        with pytest.raises(ConvergenceError, match="trial 1 has a gap"):
            report_residuals("one", np.array([0.0, 3e-3]), tolerance=2e-3, measure="gap")
        with pytest.raises(ConvergenceError):
            report_residuals("one", np.array([math.nan]), tolerance=2e-3, measure="gap")
    first, second = found.reached
    assert (first.problems, first.worst) == (3, 2e-3)
    assert (second.problems, second.worst) == (1, 1e-9)


@pytest.mark.parametrize("like", [b"0123", "salt", 7, bytearray(3), b"", ""])
def test_another_value_is_of_its_kind_and_length(like):
    rng = np.random.default_rng(0)
    one, two = draw_similar_value(like, "KEY", rng), draw_similar_value(like, "KEY", rng)
    assert type(one) is type(like)
    assert one != two
    if not isinstance(like, int) and like:
        assert len(one) == len(like)


@pytest.mark.parametrize("like", [True, 0.5, None, (1,)])
def test_nobody_knows_the_law_of_another(like):
    with pytest.raises(InvalidArgument, match="fresh"):
        draw_similar_value(like, "KEY", np.random.default_rng(0))
    assert draw_similar_value([1], "KEY", np.random.default_rng(0)) == []


@pytest.mark.parametrize("given", [3, "", "env:", True, ["a"]])
def test_what_could_not_be_made_anew_is_refused(given):
    require_fresh(None)
    require_fresh("env:A")
    with pytest.raises(InvalidArgument, match="fresh"):
        require_fresh(given)


def test_what_was_changed_is_what_all_fresh_imports_agree_on():
    here = {"a": "1", "b": "2", "c": "3", "d": "", "e": "5"}
    fresh = [{"a": "1", "b": "9", "c": "8", "d": "4", "e": ""}]
    assert changes(here, fresh) == ["b", "c"]
    assert changes(here, [*fresh, {"b": "9", "c": "7"}]) == ["b"]
    assert changes(here, [fresh[0], {}]) == []


def test_residuals_of_another_number_are_refused():
    law = Counting()
    law.size = (5,)
    with pytest.raises(MechanismError, match="uniform_residuals"):
        residual_unit(law, 1.0, SimpleNamespace(trials=2, generator=lambda: None))
    law.size = (2, 2)
    assert residual_unit(law, 1.0, SimpleNamespace(trials=2, generator=lambda: None)).shape == (
        2,
        2,
    )
    law.size = (2, 6)
    assert residual_unit(law, 1.0, SimpleNamespace(trials=2, generator=lambda: None)).shape == (
        2,
        3,
        2,
    )


def test_code_travelled_that_came_by_value_with_values_of_its_own():
    def of(make, carried):
        return SimpleNamespace(made=(make, ()), carried=carried)

    assert _is_carried_by_value(of(from_pickle, ("value",)))
    assert not _is_carried_by_value(of(from_pickle, ()))
    assert not _is_carried_by_value(of(print, ("value",)))
    wrapped = SimpleNamespace(made=(without_parts, (from_pickle, ())), carried=("value",))
    assert _is_carried_by_value(wrapped)


def test_a_text_that_was_usual_and_is_none_any_more_is_told():
    layout = layout_of([[["x", 1.0], ["x", 2.0]]] * 2)
    assert isinstance(layout, PartLayout)
    usual, number = layout.rows([["x", 1.0], [1.0, 1.0]], 2)
    assert usual[-1] == 0
    assert number[-1] != 0


class Compiled:
    """A function of nothing whose signature nobody can read."""

    __signature__ = "none"

    def __init__(self):
        self.given = []

    def __call__(self, *given):
        self.given.append(given)


def test_a_function_without_a_signature_is_called_with_nothing():
    unread, given, rng = Compiled(), [], np.random.default_rng(0)
    _call_refresher(unread, rng)
    assert unread.given == [()]
    _call_refresher(lambda rng: given.append(rng), rng)
    assert given == [rng]


def test_features_leave_outputs_as_they_are():
    outputs = np.array([[0.0, 1.5], [1.0, 2.5]])
    found = Features({0: LogRatios(np.array([0.0, 1.0]), np.array([-2.0, 2.0]))})(outputs)
    assert found.tolist() == [[-2.0, 1.5], [2.0, 2.5]]
    assert outputs.tolist() == [[0.0, 1.5], [1.0, 2.5]]


@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("power", [-0.5, -4.0])
def test_the_peak_of_a_tilted_law_is_where_it_is_largest(noise, power):
    law = CanarySteps(None, np.any, 1, sampling_ratio=0.3, noise_multiplier=noise)
    peak = law._peak(power)
    near = peak + np.linspace(-0.1, 0.1, 21) * noise
    assert np.argmax(power * law._loss(near) - (near / noise) ** 2 / 2) == 10


def test_a_change_counts_only_where_two_imports_agree(monkeypatch):
    here = changed_modules.compute_fingerprints(changed_modules.compute_fingerprints)
    name = next(iter(here))
    other, third = "another look", "a third look"

    def crew(seen):
        return SimpleNamespace(limits=None, call=lambda *_: here | {name: seen})

    for seen, refused in ((other, True), (third, False), (here[name], False)):
        again = contextlib.nullcontext(crew(seen))
        monkeypatch.setattr(changed_modules, "Crew", lambda _, again=again: again)
        with pytest.raises(InvalidArgument) if refused else contextlib.nullcontext():
            changed_modules.require_as_imported(changed_modules.__name__, here, crew(other))
