"""A movement of frozen runs is a sensitivity only where no noise reaches the centre.

The exact values: a loop that releases ``g_t = (w_t - mean) + Laplace(1)`` and lets w follow g tells
at every step by how much the mean moved, given what was released before. So twenty steps spend
twenty times that at delta = 0, however the feedback makes frozen runs look alike.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit import GaussianDP, Settings
from dpaudit.errors import InvalidArgument
from dpaudit.extension.registry import CLAIMS
from dpaudit.replaying.dependence import DependenceCheck, _merge_looked
from dpaudit.replaying.page import format_replay_summary, render_replay_html, render_replay_markdown
from dpaudit.replaying.parts import audit_part, make_replay_parts, total

ZEROS, ONES = np.zeros(1), np.ones(1)


@pytest.fixture(autouse=True)
def short_counts(monkeypatch):
    """Counts are of other tests."""
    monkeypatch.setattr("dpaudit.replaying.counting._SECONDS", 0.02)


def corrections(gain, sign=1.0, steps=20):
    """Return noisy corrections of a weight, each released."""

    def drift(data, rng):
        weight, released = 0.0, []
        for _ in range(steps):
            gradient = (weight - data).mean() + rng.laplace(scale=1.0)
            weight = sign * weight - gain * gradient
            released.append(gradient)
        return np.array(released)

    return drift


def descent(data, rng):
    """Noisy gradient steps with clipped gradients, whose states are released."""
    weight, states = np.zeros(2), []
    for _ in range(10):
        gradients = weight - data
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        mean = (gradients / np.maximum(1.0, norms)).mean(axis=0)
        weight = weight - 0.5 * (mean + 0.3 * rng.standard_normal(2))
        states.append(weight.copy())
    return np.array(states)


def momentum(data, rng):
    weight = speed = 0.0
    released = []
    for _ in range(6):
        gradient = (weight - data.sum()) + rng.normal(scale=2.0)
        speed = 0.9 * speed + gradient
        weight -= 0.1 * speed
        released.append(gradient)
    return released


def last_state(data, rng):
    """As noisy descent, with the last state alone released."""
    weight = 0.0
    for _ in range(5):
        weight = float(0.5 * weight + 0.5 * data.mean()) + float(rng.laplace(scale=2.0))
    return weight


LOOPS = {
    "contracting": corrections(0.9),
    "slow": corrections(0.01),
    "oscillating": corrections(1.9),
    "expanding": corrections(-0.3),
    "alternating": corrections(0.5, sign=-1.0),
    "momentum": momentum,
    "last state": last_state,
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_with_feedback_has_no_total(name, replay_here):
    found = replay_here(LOOPS[name], ZEROS, ONES, epsilon=2.0, delta=1e-5)
    assert (found.composed, total(make_replay_parts(found))) == (None, None)
    assert "unknown" in {one.label for one in make_replay_parts(found)}
    assert not any(one.spent for one in found.calls[1:])
    said = " ".join(format_replay_summary(found))
    assert "unknown" in said
    assert "spend an epsilon of" not in said


def test_gradient_steps_with_clipping_have_no_total(replay_here):
    data = np.random.default_rng(0).normal(size=(20, 2))
    other = data.copy()
    other[0] = [5.0, -5.0]
    found = replay_here(descent, data, other, epsilon=2.0, delta=1e-5)
    assert found.composed is None
    why = {one.why: one.calls for one in found.spending.reasons}
    assert why["feedback"] == 9
    assert found.document()["spending"]["unknown"]
    assert found.document()["composed"] is None


def test_the_same_loop_without_feedback_adds_up(replay_here):
    """The negative control: centres are functions of the data, and the sum is exact."""

    def repeated(data, rng):
        return [data.mean() + rng.laplace(scale=1.0) for _ in range(20)]

    found = replay_here(repeated, ZEROS, ONES, epsilon=20.0)
    assert found.composed == pytest.approx(20.0, rel=1e-12)
    assert total(make_replay_parts(found)) == pytest.approx(20.0)
    assert found.spending.ordinary >= 17
    assert found.spending.graded >= 6


def test_a_part_of_a_loop_is_not_audited_at_its_frozen_movement(replay_here):
    found = make_replay_parts(replay_here(LOOPS["contracting"], ZEROS, ONES, epsilon=2.0))
    part = next(one for one in found if one.unknown == "feedback")
    with pytest.raises(InvalidArgument, match="feedback"):
        audit_part(part, lambda value, rng: value + rng.laplace(), epsilon=1.0)


def branching(happens):
    """Return two releases of which the second leaves the data out unless noise is rare."""

    def release(data, rng):
        first = data.sum() + rng.laplace(scale=1.0)
        centre = data.sum() * 100 if happens(float(first)) else 0.0
        return [first, centre + rng.laplace(scale=1.0)]

    return release


@pytest.mark.parametrize(
    "happens",
    [
        lambda first: first > 12,
        lambda first: first < -300,
        lambda first: 5 < abs(first) < 9,
        lambda first: 40 < first < 70,
        lambda first: abs(first) > 5000,
    ],
)
def test_a_centre_that_rare_noise_changes_is_noticed(happens, replay_here):
    found = replay_here(branching(happens), ZEROS, ONES, epsilon=2.0)
    assert found.composed is None
    assert "feedback" in {one.why for one in found.spending.reasons}
    control = replay_here(branching(lambda first: False), ZEROS, ONES, epsilon=2.0)
    assert control.composed == pytest.approx(1.0)


def test_where_not_every_size_of_noise_was_there_the_total_is_unknown(replay_here, monkeypatch):
    monkeypatch.setattr("dpaudit.replaying.dependence._MOST", 0.0)
    found = replay_here(branching(lambda first: False), ZEROS, ONES, epsilon=2.0)
    assert found.composed is None
    assert [one.why for one in found.spending.reasons] == ["slow"]
    assert "too slow" in " ".join(format_replay_summary(found))


def test_a_hurry_leaves_no_size_of_noise_out(replay_here, monkeypatch):
    monkeypatch.setattr("dpaudit.replaying.dependence._SECONDS", 0.0)
    found = replay_here(branching(lambda first: 5 < abs(first) < 9), ZEROS, ONES, epsilon=2.0)
    assert "feedback" in {one.why for one in found.spending.reasons}


def test_noise_that_decides_how_often_noise_is_added_leaves_no_total(replay_here):
    def until(data, rng):
        values = [data.mean() + rng.laplace(scale=10.0)]
        while values[-1] < 5 and len(values) < 4:
            values.append(data.mean() + rng.laplace(scale=10.0))
        return max(values)

    found = replay_here(until, ZEROS, ONES, epsilon=2.0)
    assert found.composed is None
    assert "calls" in {one.why for one in found.spending.reasons}
    assert total(make_replay_parts(found)) is None


def test_a_record_that_has_a_call_of_its_own_leaves_no_total(replay_here):
    def each(data, rng):
        return sum(float(one + rng.laplace(scale=4.0)) for one in data)

    found = replay_here(each, [1.0, 1.0], [1.0, 1.0, 1.0], relation="add-remove-record")
    assert found.composed is None


def test_noise_that_meets_two_values_has_no_total_unless_they_move_alike(replay_here):
    def shared(apart):
        def release(data, rng):
            noise = rng.laplace(scale=4.0)
            return [data.mean() + noise, data.mean() * apart + noise]

        return release

    alike = replay_here(shared(1.0), ZEROS, ONES, epsilon=2.0)
    assert alike.composed == pytest.approx(0.25)
    apart = replay_here(shared(3.0), ZEROS, ONES, epsilon=2.0)
    assert apart.composed is None
    assert {one.why for one in apart.spending.reasons} == {"shared"}


def test_one_noise_for_all_entries_of_a_vector_has_no_total(replay_here):
    def release(data, rng):
        return (data + rng.laplace(scale=100.0)).tolist()

    zeros, one = np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])
    user = "declared: one user"
    assert replay_here(release, zeros, one, relation=user).composed is None
    found = replay_here(release, zeros, np.ones(4), relation=user)
    assert found.composed == pytest.approx(0.01)


def test_every_entry_is_measured_by_its_own_scale(replay_here):
    """The largest scale of a vector would make 1/100 of what is 1/.5 and 3/100."""
    scale = np.array([0.5, 100.0])

    def laplace(data, rng):
        return data + rng.laplace(scale=scale)

    def gaussian(data, rng):
        return data + rng.normal(scale=scale)

    pair = (np.zeros(2), np.array([1.0, 3.0]))
    found = replay_here(laplace, *pair, epsilon=5.0, relation="declared: one user")
    assert found.composed == pytest.approx(1 / 0.5 + 3 / 100, rel=1e-12)
    found = replay_here(gaussian, *pair, epsilon=50.0, delta=1e-5, relation="declared: one user")
    assert found.spending.mu == pytest.approx(math.hypot(1 / 0.5, 3 / 100), rel=1e-12)


def test_a_value_that_passes_by_the_noise_leaves_no_total(replay_here):
    def release(data, rng):
        return [data.mean() + rng.laplace(scale=4.0), min(data.max(), 0.5) > 0.4]

    assert replay_here(release, ZEROS, ONES).composed is None


def test_a_small_movement_of_a_large_centre_is_no_rounding(replay_here):
    def release(data, rng):
        return 1e13 + data.sum() + rng.laplace(scale=0.5)

    found = replay_here(release, ZEROS, ONES / 4, epsilon=1.0)
    assert found.composed == pytest.approx(0.5, rel=1e-2)


def test_random_queries_never_spend_less_than_they_do(replay_here):
    """Fixed queries with noise of their own: the sum of movement over scale is exact."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        count = int(rng.integers(1, 6))
        weights, scales = rng.normal(size=(count, 1)), rng.uniform(0.5, 9.0, count)

        def release(data, rng, weights=weights, scales=scales):
            pairs = zip(weights, scales, strict=True)
            return [float(w @ data) + rng.laplace(scale=s) for w, s in pairs]

        exact = float(np.sum(np.abs(weights @ ONES) / scales))
        found = replay_here(release, ZEROS, ONES, epsilon=100.0)
        assert found.composed == pytest.approx(exact, rel=1e-9)


ADMM = {
    "zhang2018-broadcasts": {"iterations": 3},
    "huang2020-broadcast": {"iterations": 3, "inner_steps": 2, "nodes": 2},
}


@pytest.mark.parametrize("name", ADMM)
def test_no_admm_has_a_total_of_frozen_movements(name, replay_here):
    """Every message starts from the one before, with its noise."""
    claim = CLAIMS.get(name)
    known = {key: value for key, value in ADMM[name].items() if key in fields_of(claim)}
    case = claim.prepare(Settings(epsilon=8.0), claim.parameters(**known))
    found = replay_here(
        case.mechanism, case.pair.dataset, case.pair.neighbour, epsilon=8.0, delta=1e-5,
        relation=case.pair.relation,
    )  # fmt: skip
    assert found.composed is None
    assert "feedback" in {one.why for one in found.spending.reasons}
    assert total(make_replay_parts(found)) is None


def fields_of(claim):
    return claim.parameters.model_fields


def test_too_much_noise_has_a_word(replay_here):
    """Noise for a sum of sixteen clipped gradients, on their mean."""

    def step(gradients, rng):
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(1, norms)
        return clipped.sum(axis=0) / len(gradients) + rng.normal(size=gradients.shape[1])

    given = np.eye(4)[np.arange(16) % 4]
    other = given.copy()
    other[0] = 0.0
    found = replay_here(step, given, other, epsilon=1.0)
    assert found.spending.mu == pytest.approx(1 / 16)
    assert "16 times their movement" in " ".join(format_replay_summary(found))

    def louder(data, rng):
        return data.mean() + rng.laplace(scale=16.0)

    found = replay_here(louder, ZEROS, ONES, epsilon=1.0)
    assert found.spending.excess == pytest.approx(16.0)
    for page in (render_replay_html(found), render_replay_markdown(found)):
        assert "about 16 times the noise that the claim needs" in page
    right = replay_here(lambda data, rng: data.mean() + rng.laplace(), ZEROS, ONES, epsilon=1.0)
    assert "times the noise" not in " ".join(format_replay_summary(right))


def test_the_excess_of_gaussian_noise_is_that_of_its_claim(replay_here):
    """At mu times the excess the claim is met, and by no more."""
    found = replay_here(
        lambda data, rng: data.mean() + rng.normal(scale=20.0), ZEROS, ONES, epsilon=1.0, delta=1e-5
    )
    at = GaussianDP(found.spending.mu * found.spending.excess)
    assert at.epsilon(1e-5) == pytest.approx(1.0, abs=1e-6)


def test_what_is_added_and_taken_away_moves_apart(replay_here):
    """``x + z`` and ``x - z`` give away x: the same movement, with noise of the other sign."""

    def release(data, rng):
        noise = rng.laplace(scale=4.0)
        return [data.mean() + noise > 1, data.mean() - noise > 1]

    found = replay_here(release, ZEROS, ONES)
    assert found.composed is None
    assert {one.why for one in found.spending.reasons} == {"shared"}


def beside(shown):
    """Return a release of a value with noise beside something else that is made of its noise."""

    def release(data, rng):
        noise = float(rng.laplace())
        return [float(data[0]) + noise, shown(noise)]

    return release


SHOWN = {
    "rounded": lambda z: round(1000 * z),
    "cancelled": lambda z: (1.0 + z) - 1.0 - z / 2 * (z > 0),
    "flag": lambda z: abs(z) > 1,
    "rare flag": lambda z: 5 < z < 9,
    "text": lambda z: "far" if z > 1 else "near",
    "length": lambda z: [1.0] * (z > 1),
    "square": lambda z: z * z,
    "tail": lambda z: min(z, -6.0),
}


@pytest.mark.parametrize("name", SHOWN)
def test_noise_that_shows_beside_what_it_hides_leaves_no_total(name, replay_here):
    """The noise tells the value: epsilon is infinite at delta = 0, and the movement says 1."""
    found = replay_here(beside(SHOWN[name]), ZEROS, ONES, epsilon=30.0)
    assert found.composed is None
    assert {one.why for one in found.spending.reasons} & {"unread", "unseen"}
    assert total(make_replay_parts(found)) is None


def fixed(data, rng):
    return float(data[0]) + np.random.default_rng(0).laplace()


def of_the_data(data, rng):
    return float(data[0]) + np.random.RandomState(int(data[0])).laplace()


def of_few_seeds(data, rng):
    return float(data[0]) + np.random.default_rng(int(rng.integers(3))).laplace()


@pytest.mark.parametrize("release", [fixed, of_the_data, of_few_seeds])
def test_noise_of_a_seed_that_comes_again_leaves_no_total(release, replay_here):
    found = replay_here(release, ZEROS, ONES, epsilon=30.0)
    assert found.composed is None
    assert "seeded" in {one.why for one in found.spending.reasons}


def test_a_fresh_seed_does_not_come_again(replay_here):
    def release(data, rng):
        return float(data[0]) + np.random.default_rng(int(rng.integers(2**62))).laplace()

    found = replay_here(release, ZEROS, ONES, epsilon=30.0)
    assert "seeded" not in {one.why for one in found.spending.reasons}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("name", ["same_calls", "lawful", "every_size"])
def test_what_one_side_breaks_is_broken_of_both(side, name):
    looked = [
        DependenceCheck({"a", "b"}, ordinary=9, graded=7),
        DependenceCheck({"b", "c"}, ordinary=8, graded=9),
    ]
    sides = (SimpleNamespace(runs=[SimpleNamespace(calls=[])]),) * 2
    whole = _merge_looked(looked, sides)
    assert whole == DependenceCheck({"b"}, True, True, True, 8, 7)
    setattr(looked[side], name, False)
    assert vars(_merge_looked(looked, sides)) == vars(whole) | {name: False}
