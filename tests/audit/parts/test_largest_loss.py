"""The largest loss by hand: ascents of known losses, and what one is worth computed anew."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.auditing.exact import largest_loss
from dpaudit.auditing.exact.largest_loss import (
    MORE_DIGITS,
    Peak,
    RecomputedEvidence,
    Winner,
    certified_loss,
    largest_over_outputs,
    search_largest_loss,
)
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.neighbours import Side

from .common import PAIR, case_of


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("shape", [(1,), (2,), (3, 2)])
@pytest.mark.parametrize("far", [0.0, 3.0, -40.0])
def test_an_ascent_finds_the_top_and_spends_what_it_may(shape, far):
    seen = []

    def cone(outputs):
        seen.append(len(outputs))
        return 2 - np.abs(outputs - far).reshape(len(outputs), -1).max(axis=1)

    starts = rng().normal(size=(20, *shape))
    peak = search_largest_loss(cone, starts, 3019, rng(1))
    assert sum(seen) == peak.evaluated == 3000
    assert peak.loss == cone(peak.output[None])[0]
    assert peak.loss <= 2
    assert peak.loss > 2 - 0.06 * (1 + abs(far))


def test_no_step_is_taken_that_raises_nothing_and_none_beyond_the_budget():
    starts = np.array([[1.0], [5.0], [2.0]])
    flat = search_largest_loss(lambda x: np.zeros(len(x)), starts, 300, rng())
    assert (flat.loss, flat.output.tolist(), flat.evaluated) == (0.0, [1.0], 300)
    once = search_largest_loss(lambda x: x[:, 0], starts, 5, rng())
    assert (once.loss, once.output.tolist(), once.evaluated) == (5.0, [5.0], 3)
    some = search_largest_loss(lambda x: np.where(x[:, 0] > 1.5, np.nan, x[:, 0]), starts, 3, rng())
    assert some.loss == 1.0  # no number is a loss of nothing
    with pytest.raises(InvalidArgument, match="at least one output"):
        search_largest_loss(lambda x: x[:, 0], starts[:0], 3, rng())


def test_steps_go_along_differences_towards_the_best_and_around():
    points = np.array([[8.0, 0.0], [4.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    sizes = np.array([0.0, 1.0, 2.0, 4.0])
    across = largest_loss._step_by_differences(points, sizes, rng(3))
    one, other = (points[draw.permutation(4)] for draw in [rng(3)] for _ in range(2))
    assert across.tolist() == (points + sizes[:, None] * (one - other)).tolist()
    towards = largest_loss._step_towards_best(points, sizes, rng(4))
    share = rng(4).random(4)
    due = points + (2 * sizes * share)[:, None] * (points[0] - points)  # a quarter: the best alone
    assert towards == pytest.approx(due)
    around = largest_loss._step_at_random(points, sizes, rng(5))
    noise = rng(5).standard_normal((4, 2))
    length = np.array([8.0, 4.0, 2.0, 1.0]) / math.sqrt(2)
    assert around == pytest.approx(points + sizes[:, None] * length[:, None] * noise)


class Law:
    """A law whose loss is its output on the dataset's side, and half of less on the other's."""

    def __init__(self, unbounded=False, **more):
        self.loss_is_unbounded, self.tilts = unbounded, []
        vars(self).update(more)

    def sample_tilted(self, pair, tilt, trials, rng):
        self.tilts.append((pair is PAIR or float(pair.dataset[0]) == 0.0, tilt, trials))
        return SimpleNamespace(outputs=np.minimum(tilt * rng.random((trials, 1)), 50.0))

    def privacy_loss(self, outputs, pair):
        sign = 1.0 if float(pair.dataset[0]) == 0.0 else 0.25
        return np.minimum(sign * outputs[:, 0], 3.0)


def test_starts_are_drawn_ever_more_tilted_in_both_directions_with_half_the_budget():
    law = Law()
    case = case_of(ApproximateDP(1.0, 0.0))
    found = largest_over_outputs(case, law, 5, 1280)
    assert found.side == "the dataset"
    assert found.pair.dataset.tolist() == [0.0]
    assert found.peak.loss == 3.0
    each = 1280 // (2 * 16 * 2)
    assert law.tilts == [(first, 4.0**k, each) for first in (True, False) for k in range(16)]
    assert found.peak.evaluated == 640 + 24 * ((1280 - 640) // 24)


def test_a_loss_without_bound_is_large_enough_beyond_the_claim():
    law = Law(unbounded=True)
    found = largest_over_outputs(case_of(ApproximateDP(1.0, 0.0)), law, 5, 1280)
    first = [tilt for is_first, tilt, _ in law.tilts if is_first]
    assert len(first) < 16
    assert 1.0 < found.peak.loss <= 3.0
    assert found.peak.evaluated == 20 * len(law.tilts)


def test_neighbours_that_a_mechanism_knows_are_looked_at_too():
    asked = []

    class Knowing(Law):
        def neighbours(self, pair):
            asked.append(pair)
            return [pair.seen_from(Side.NEIGHBOUR)]

    law = Knowing()
    largest_over_outputs(case_of(ApproximateDP(1.0, 0.0)), law, 5, 1280)
    assert asked == [PAIR]
    assert len(law.tilts) == 4 * 16
    assert {trials for *_, trials in law.tilts} == {10}


@pytest.mark.parametrize(
    ("loss", "ends", "lower", "passed"),
    [
        (2.5, (2.4999999999, 2.5000000001), 2.4999999999, True),
        (2.5, (2.5, 2.5), 2.5, True),
        (2.5, (2.6, 2.7), 2.5, False),  # far above the one found
        (2.5, (2.3, 2.4), 2.3, False),
        (2.5, (2.5 + 3.4e-7, 2.6), 2.5, True),  # as a share of 3.5
        (2.5, (2.5 + 3.6e-7, 2.6), 2.5, False),
        (0.0, (-1.0, 0.5), 0.0, True),
    ],
)
def test_an_enclosed_loss_is_worth_its_lower_end_and_no_more_than_was_found(
    loss, ends, lower, passed
):
    found = largest_loss._make_enclosed_loss(loss, ends, 1.0)
    assert found.lower == lower
    assert (found.checks[0].passed, found.notes, found.reservation) == (passed, (), "")
    assert found.checks[0].threshold == 1e-7


@pytest.mark.parametrize(
    ("found", "lower", "passed", "agree"),
    [
        ((2.5, 2.5), math.nextafter(2.5, 0), True, True),
        ((2.5, 2.5 + 2e-12), math.nextafter(2.5, 0), True, True),
        ((2.5 + 2e-12, 2.5), math.nextafter(2.5, 0), True, True),
        ((2.5, 2.5 + 3e-12), 1.0, True, False),
        ((2.4, 2.4), math.nextafter(2.4, 0), False, True),
        ((2.5, math.nan), 1.0, None, False),
    ],
)
def test_digits_that_agree_are_worth_the_double_below(found, lower, passed, agree):
    made = largest_loss._in_digits(2.5, found, 1.0)
    assert made.lower == lower
    assert passed is None or made.checks[0].passed is passed
    assert bool(made.notes) is not agree
    assert bool(made.reservation) is agree


def winner(loss):
    return Winner(Peak(loss, np.array([1.0]), 7), PAIR, "the dataset")


class Lawful:
    """A law that nobody asks: only how it computes one loss again."""

    def sample(self, dataset, trials, rng): ...

    def privacy_loss(self, outputs, pair): ...

    def uniform_residuals(self, outputs, dataset): ...


class Enclosing(Lawful):
    def loss_bounds(self, output, pair):
        return 2.25, 2.75


class InDigits(Lawful):
    def __init__(self):
        self.asked = []

    def loss_in_digits(self, output, pair, digits):
        self.asked.append(digits)
        return "2.5"


class NoCode(Lawful):
    def loss_bounds(self, output, pair):
        raise InvalidArgument("loss", "this one", "another")


def test_a_loss_counts_as_far_as_its_mechanism_computes_it_again():
    assert certified_loss(Enclosing(), winner(2.5), 1.0).lower == 2.25
    assert certified_loss(Enclosing(), winner(2.5), 9.0).lower == 2.25
    digits = InDigits()
    assert certified_loss(digits, winner(2.5), 1.0).lower == math.nextafter(2.5, 0)
    assert digits.asked == [50, *MORE_DIGITS]
    assert certified_loss(digits, winner(2.5), 2.5) == RecomputedEvidence(
        2.5
    )  # nothing above the claim
    assert len(digits.asked) == 3
    for mechanism in (object(), NoCode()):
        above = certified_loss(mechanism, winner(2.5), 1.0)
        assert (above.lower, above.checks, len(above.notes)) == (1.0, (), 1)
        assert certified_loss(mechanism, winner(0.5), 1.0) == RecomputedEvidence(0.5)
        assert certified_loss(mechanism, winner(-0.5), 1.0) == RecomputedEvidence(0.0)


def test_digits_after_a_minute_are_none(monkeypatch):
    clock = iter([0.0, 1.0, 2.0, 61.0])
    monkeypatch.setattr(largest_loss.time, "monotonic", lambda: next(clock))
    asked = InDigits()
    found = largest_loss._digits_that_agree(asked, winner(2.5))
    assert found[0] == 2.5
    assert math.isnan(found[1])
    assert asked.asked == [50, MORE_DIGITS[0]]


@pytest.mark.parametrize(
    ("claimed", "lower", "top"),
    [(1.0, 0.5, 1.4), (1.0, 3.0, 4.2), (math.inf, 2.0, 2.8), (0.0, 0.0, 1.4e-6)],
)
def test_epsilons_reach_past_the_claim_and_what_was_found(claimed, lower, top):
    found = largest_loss._choose_loss_epsilons(claimed, lower)
    assert (len(found), found[0], found[-1]) == (41, 0.0, pytest.approx(top))
