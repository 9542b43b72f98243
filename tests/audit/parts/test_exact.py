"""The exact-loss audit, by hand: both directions, the ends of its band, and what is left out."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.exact.exact_loss as exact_loss
from dpaudit.auditing.exact import aimed_draws as aimed
from dpaudit.auditing.exact import law_checks
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses, lower_end
from dpaudit.extension.case import Proof
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.mechanism import TailDraws
from dpaudit.neighbours import Side

from .common import PAIR, case_of


def losses_of(loss, log_mgf=0.0, tilt=0.0, bound=math.inf, aim=None):
    loss = np.asarray(loss, dtype=float)
    return TiltedLosses(loss, np.full(len(loss), log_mgf), tilt, bound, aim)


def direction_of(loss, pilot=None, **more):
    losses = losses_of(loss, **more)
    return LossDirection(losses, losses if pilot is None else losses_of(pilot))


def test_the_band_is_at_each_point_what_holds_to_its_left_or_right(monkeypatch):
    asked = []

    def lower(directions, epsilon, alpha):
        asked.append(alpha)
        return {0.0: 0.3, 1.0: 0.1, 2.0: 0.2}[epsilon]

    def upper(directions, epsilon, alpha):
        asked.append(alpha)
        return {0.0: None, 1.0: 0.6, 2.0: 0.7}[epsilon]

    monkeypatch.setattr(exact_loss, "delta_lower", lower)
    monkeypatch.setattr(exact_loss, "delta_upper", upper)
    band = exact_loss._bound_delta_band([], (0.0, 1.0, 2.0), 0.06)
    assert band.lower == (0.3, 0.2, 0.2)
    assert band.upper == (None, 0.6, 0.6)
    assert band.confidence == pytest.approx(0.94)
    assert asked == pytest.approx([0.01] * 6)


@pytest.mark.parametrize(("tilt", "spread", "mild"), [(5.0, 2.0, 0.6), (0.1, 2.0, 0.1)])
def test_a_mild_tilt_is_at_most_what_was_drawn_with(tilt, spread, mild):
    losses = np.array([-spread, spread])
    assert exact_loss._mild_tilt(tilt, losses) == pytest.approx(mild)
    assert exact_loss._mild_tilt(tilt, np.zeros(3)) == tilt


def test_mild_trials_are_half_as_many_within_limits():
    assert [exact_loss._mild_trials(n) for n in (10, 3000, 10**6)] == [1000, 1500, 5000]


def test_weights_of_either_side_average_to_one():
    trials = losses_of([0.5, -0.5], log_mgf=-0.1, tilt=0.6)
    of_p, of_q = exact_loss._weight_checks("dataset", trials)
    for check, log_weight in (
        (of_p, [-0.1 - 0.3, -0.1 + 0.3]),
        (of_q, [-0.1 - 0.3 - 0.5, -0.1 + 0.3 + 0.5]),
    ):
        mean = np.exp(log_weight).mean()
        assert f"mean {mean:.4g} " in check.evidence
    assert of_p.name == "weights of the tilted dataset, tilt 0.6"
    assert of_q.name.endswith("tilt 0.6, other side")


@pytest.mark.parametrize("swapped", [False, True])
def test_the_estimate_is_the_larger_of_both_directions_if_enough_losses_are_beyond(swapped):
    log_delta = math.log(0.2)
    small, large = (direction_of(np.linspace(0.0, top, 200)) for top in (1.0, 3.0))
    both = [large, small] if swapped else [small, large]
    found = exact_loss._estimate_larger_epsilon(both, log_delta)
    assert found == large.losses.estimate(log_delta) > small.losses.estimate(log_delta)
    few = direction_of(np.linspace(0.0, 9.0, 12))
    assert exact_loss._estimate_larger_epsilon([small, few], log_delta) is None


@pytest.mark.parametrize(("beyond", "seen"), [(9, False), (10, True)])
def test_ten_losses_beyond_the_estimate_are_enough(beyond, seen):
    losses = SimpleNamespace(privacy_loss=np.array([0.5, 1.0] + [2.0] * beyond))
    losses.estimate = lambda log_delta: 1.0
    assert exact_loss._has_enough_large_losses(losses, -1.0) is seen
    losses.estimate = lambda log_delta: 0.0
    losses.privacy_loss = np.zeros(3)
    assert exact_loss._has_enough_large_losses(losses, -1.0)


@pytest.mark.parametrize("largest", ["pilot", "claim", "proof"])
def test_the_band_reaches_past_the_claim_the_proof_and_the_pilots(largest):
    claim, proof = (4.0 if largest == one else 0.5 for one in ("claim", "proof"))
    pilot = np.full(50, 8.0 if largest == "pilot" else 0.1)
    case = case_of(
        ApproximateDP(claim, 1e-3),
        1e-3,
        proved=Proof(guarantee=ApproximateDP(proof, 1e-3), source="a theorem"),
    )
    both = [direction_of(np.full(50, 99.0), pilot=one) for one in (np.zeros(50), pilot)]
    found = exact_loss._choose_band_epsilons(case, both, math.log(1e-3))
    top = max(claim, proof, both[1].pilot.estimate(math.log(1e-3)))
    assert (found[0], len(found)) == (0.0, 41)
    assert found[-1] == pytest.approx(1.4 * top)


def test_why_there_is_no_upper_end():
    fixed = direction_of(np.zeros(9), log_mgf=1.0, bound=1.0)
    assert exact_loss._why_no_upper_end([fixed, fixed]).startswith("too few trials")
    slack = direction_of(np.zeros(9), log_mgf=1.0, bound=3.0)
    assert "e^2.0 times the typical weight" in exact_loss._why_no_upper_end([fixed, slack])
    assert "e^2.0 times the typical weight" in exact_loss._why_no_upper_end([slack, fixed])
    none = direction_of(np.zeros(9))
    for both in ([fixed, none], [none, fixed]):
        assert exact_loss._why_no_upper_end(both).startswith(
            "the law gives no bound on the weights"
        )


def test_draws_are_said_to_be_aimed_if_one_direction_is():
    tilted = SimpleNamespace(losses=SimpleNamespace(aimed=None, tilt=0.5))
    aimed_at = TailDraws(SimpleNamespace(), PAIR, 1.25)
    sent = SimpleNamespace(losses=SimpleNamespace(aimed=aimed_at, tilt=0.0))
    assert exact_loss._format_tilts([tilted, tilted]).endswith("chosen on the pilot: 0.5 and 0.5.")
    assert exact_loss._get_sampling_name([tilted, tilted]) == "tilted"
    for both in ([tilted, sent], [sent, tilted]):
        assert exact_loss._format_tilts(both).startswith("Draws of the two directions")
        assert "aimed at 1.25" in exact_loss._format_tilts(both)
        assert exact_loss._get_sampling_name(both) == "importance"


def test_what_a_pilot_shows_is_what_it_would_certify():
    pilot = losses_of(np.linspace(0, 4, 500))
    found = exact_loss._estimate_pilot_bound(pilot, math.log(0.05))
    assert found == lower_end([LossDirection(pilot, pilot)], math.log(0.05), 0.1)


class Aims:
    """Draws that are aimed at an epsilon, of a law whose bound falls from 0 by ``slope``."""

    def __init__(self, slope=1.0, least=0.0):
        self.slope, self.least, self.asked = slope, least, []

    def aimed(self, side, epsilon):
        self.asked.append(epsilon)
        if epsilon < self.least:
            return None
        bound = lambda at: -self.slope * at  # noqa: E731
        return SimpleNamespace(epsilon=epsilon, log_payoff_bound=bound)


@pytest.mark.parametrize("log_delta", [-0.05, -0.5, -20.0, -500.0])
def test_the_first_aim_is_where_the_bound_is_delta(log_delta):
    found = aimed._first_aim(Aims(), Side.DATASET, log_delta)
    assert found.epsilon == pytest.approx(-log_delta, rel=0.05)


def test_where_the_bound_is_below_delta_everywhere_all_is_aimed_at():
    law = Aims()
    law.aimed = lambda side, epsilon: SimpleNamespace(
        epsilon=epsilon, log_payoff_bound=lambda at: -3.0
    )
    assert aimed._first_aim(law, Side.DATASET, -3.0).epsilon == 0.0
    assert aimed._first_aim(Aims(), Side.DATASET, -600.0) is None
    assert aimed._first_aim(Aims(least=1.0), Side.DATASET, -2.0) is None


@pytest.mark.parametrize("side", list(Side))
def test_aimed_draws_pay_what_untilted_ones_do_on_their_own_side(side):
    sign = 1.0 if side is Side.DATASET else -1.0
    plain = sign * np.linspace(-1.0, 3.0, 4000)
    asked = []

    def losses(which, trials, purpose):
        asked.append((which, trials))
        return plain

    draws = SimpleNamespace(epsilon=0.5, log_payoff_bound=lambda at: math.log(0.9))
    drawn = losses_of(np.linspace(-1.0, 3.0, 4000))
    check = aimed.mild_check(SimpleNamespace(losses=losses), side, draws, drawn, 123)
    assert asked == [(side, 123)]
    assert check.statistic == pytest.approx(0.0, abs=1e-12)
    assert check.passed
    doubled = losses_of(np.linspace(-1.0, 3.0, 4000), log_mgf=math.log(2.0))
    assert not aimed.mild_check(SimpleNamespace(losses=losses), side, draws, doubled, 123).passed


@pytest.mark.parametrize(("size", "trials", "enough"), [(1, 1000, 20_000), (1, 10**6, 200_000)])
def test_enough_residuals_are_drawn_and_no_more(size, trials, enough):
    assert law_checks.residual_trials(_drawer_of(size), trials) == enough
    assert law_checks.residual_trials(_drawer_of(10**6), trials) == 64
    assert law_checks.residual_trials(_drawer_of(30), trials) == 6667


def _drawer_of(size, **mechanism):
    return SimpleNamespace(
        residuals=lambda side, count, purpose: np.zeros((count, size)),
        mechanism=SimpleNamespace(**mechanism),
    )


@pytest.mark.parametrize(
    ("size", "trials", "enough"),
    [(1, 1000, 1000), (1, 10**6, 20_000), (20, 2000, 1000), (20, 10, 64), (10**6, 2000, 64)],
)
def test_code_that_runs_again_for_each_residual_draws_fewer(size, trials, enough):
    drawer = _drawer_of(size, is_replayed=True)
    assert law_checks.residual_trials(drawer, trials) == enough


class Digits:
    """Other code for a loss, which is off on one of the sides."""

    def __init__(self, off=0.0):
        self.off = off

    def sample(self, dataset, trials, rng):
        raise NotImplementedError

    uniform_residuals = sample

    def privacy_loss(self, outputs, pair):
        return outputs.sum(axis=1)

    def loss_in_digits(self, output, pair, digits=50):
        return float(output.sum() + (self.off if output[0] > 0 else 0.0))


def drawer_in_digits(law, size):
    drawn = []

    def outputs(side, count, purpose):
        drawn.append((side, count))
        return np.full((count, size), 1.0 if side is Side.NEIGHBOUR else -1.0)

    return SimpleNamespace(mechanism=law, pair=PAIR, outputs=outputs), drawn


def test_losses_of_both_sides_are_computed_in_digits():
    drawer, drawn = drawer_in_digits(Digits(), 3)
    (check,) = law_checks.digits_checks(drawer)
    assert check.passed
    assert drawn[1:] == [(Side.DATASET, 16), (Side.NEIGHBOUR, 16)]
    drawer, _ = drawer_in_digits(Digits(1e-3), 3)
    (check,) = law_checks.digits_checks(drawer)
    assert not check.passed
    assert "32 outputs" in check.evidence


def test_of_long_outputs_fewer_are_computed_in_digits_and_of_longer_ones_none():
    drawer, drawn = drawer_in_digits(Digits(), 4000)
    assert law_checks.digits_checks(drawer)[0].passed
    assert drawn[1:] == [(Side.DATASET, 2), (Side.NEIGHBOUR, 2)]
    assert law_checks.digits_checks(drawer_in_digits(Digits(), 10_001)[0]) == ()
    assert law_checks.digits_checks(drawer_in_digits(SimpleNamespace(), 3)[0]) == ()

    class Refusing(Digits):
        def loss_in_digits(self, output, pair, digits=50):
            raise InvalidArgument("rate", 0, "another")

    assert law_checks.digits_checks(drawer_in_digits(Refusing(), 3)[0]) == ()


@pytest.mark.parametrize("further", [0, 1, 4])
def test_pilots_tilt_more_until_enough_losses_are_beyond(further, monkeypatch):
    drawn = []

    class Drawing:
        def tilted(self, side, tilt, trials, purpose, *, certifies=False):
            drawn.append((round(tilt, 6), purpose, certifies))
            return losses_of(np.linspace(0, tilt, 100), tilt=tilt)

    monkeypatch.setattr(exact_loss, "draw_aimed_direction", lambda *given: None)
    tilts = iter([1.0, 1.5])
    monkeypatch.setattr(exact_loss, "best_tilt", lambda mu, log_delta: next(tilts))
    monkeypatch.setattr(
        exact_loss,
        "_has_enough_large_losses",
        lambda pilot, log_delta: pilot.tilt >= 1.5 * 2**further,
    )
    plain = {side: np.ones(9) for side in Side}
    found = exact_loss._draw_loss_direction(Drawing(), plain, Side.NEIGHBOUR, -3.0, 100, 1000)
    names = ("pilot", "second pilot", *exact_loss._FURTHER[:further])
    tilts = [1.0, *(1.5 * 2**k for k in range(further + 1))]
    expected = [(tilt, name, False) for tilt, name in zip(tilts, names, strict=True)]
    assert drawn[:-1] == expected
    assert drawn[-1][1:] == ("certifying", True)
    assert drawn[-1][0] == found.pilot.tilt


def test_aimed_trials_certify_where_the_pilot_sees_half_as_much_again():
    drawn = []
    loss = np.linspace(0.0, 4.0, 400)

    class Drawing(Aims):
        def tilted(self, side, draws, trials, purpose, *, certifies=False):
            drawn.append((round(draws.epsilon, 6), trials, purpose, certifies))
            return losses_of(loss, aim=draws)

    law, log_delta = Drawing(), math.log(0.05)
    found = aimed.draw_aimed_direction(law, Side.DATASET, log_delta, 50, 900)
    again = losses_of(loss).estimate(log_delta + math.log(1.5))
    assert [one[1:] for one in drawn] == [
        (50, "pilot", False),
        (50, "second pilot", False),
        (900, "certifying", True),
    ]
    assert drawn[0][0] == pytest.approx(-log_delta, rel=0.05)
    assert drawn[1][0] == drawn[2][0] == pytest.approx(again, abs=1e-5)
    assert found.losses.aimed.epsilon == found.pilot.aimed.epsilon
    assert aimed.draw_aimed_direction(Drawing(least=99.0), Side.DATASET, log_delta, 50, 900) is None


@pytest.mark.parametrize(("upper", "shown"), [(2.0, 2.0), (0.5, 1.0), (None, None)])
def test_both_ends_and_the_band_share_what_may_err_and_never_cross(upper, shown, monkeypatch):
    asked = {}
    both = [direction_of(np.zeros(9)), direction_of(np.zeros(9))]
    monkeypatch.setattr(exact_loss, "plain_losses", lambda *given: dict.fromkeys(Side, np.zeros(9)))
    monkeypatch.setattr(exact_loss, "_draw_loss_direction", lambda *given: both[0])
    monkeypatch.setattr(exact_loss, "residual_trials", lambda *given: 77)
    monkeypatch.setattr(exact_loss, "_self_checks", lambda *given: ())

    def end(name, value):
        def found(directions, log_delta, alpha):
            asked[name] = (log_delta, alpha)
            return value

        return found

    monkeypatch.setattr(exact_loss, "lower_end", end("lower", 1.0))
    monkeypatch.setattr(exact_loss, "upper_end", end("upper", upper))
    monkeypatch.setattr(
        exact_loss, "_bound_delta_band", lambda *given: asked.setdefault("band", given[2])
    )
    case = case_of(ApproximateDP(1.0, 1e-3), 1e-3)
    found = exact_loss.exact_loss(case, None, 3000, 0.05)
    assert asked["lower"] == (math.log(1e-3), pytest.approx(0.02))
    assert asked["upper"] == (math.log(1e-3), pytest.approx(0.02))
    assert asked["band"] == pytest.approx(0.01)
    assert sum(found.budget.values()) == pytest.approx(0.05)
    assert (found.lower, found.upper) == (1.0, shown)
    assert (found.upper_note is None) is (upper is not None)
    assert found.counts["certifying, per dataset"] == 3000
    assert found.counts["pilots, at most, per dataset"] == 6 * 600
    assert found.counts["checking the law, per dataset"] == 600 + 77 + 64 + 1500
