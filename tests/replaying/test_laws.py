"""Laws, events and movements against closed forms."""

import importlib
import math
import sys

import numpy as np
import pytest
from scipy import stats

from dpaudit.freezing.observing import observe_runs
from dpaudit.replaying.counting import constants, count_needed_runs
from dpaudit.replaying.events import best_event
from dpaudit.replaying.laws import KINDS, NumberLaw, laws_of

SCIPY = {
    "laplace": stats.laplace,
    "normal": stats.norm,
    "uniform": stats.uniform,
    "exponential": stats.expon,
    "gumbel": stats.gumbel_r,
    "logistic": stats.logistic,
    "cauchy": stats.cauchy,
}
ZERO, ONE = np.array([0.0]), np.array([1.0])


def _laws(function, dataset=ZERO, neighbour=ONE):
    sides = observe_runs(function, dataset, neighbour).sides
    return laws_of(sides[0]), laws_of(sides[1])


def _epsilon(function, delta=0.0, dataset=ZERO, neighbour=ONE):
    event = best_event(*_laws(function, dataset, neighbour), delta)
    return 0.0 if event is None else event.epsilon(delta)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("z", [-20.0, -3.0, -0.2, 0.0, 0.4, 2.5, 12.0])
def test_standard_laws_are_those_of_scipy(kind, z):
    more, less = KINDS[kind]
    assert more(z) == pytest.approx(SCIPY[kind].sf(z), rel=1e-9, abs=1e-300)
    assert less(z) == pytest.approx(SCIPY[kind].cdf(z), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("factor", [2.0, -0.5])
@pytest.mark.parametrize("post", ["", "round", "floor", "ceil", "trunc"])
def test_probabilities_of_half_lines_are_those_of_draws(factor, post):
    law = NumberLaw("laplace", 0.3, factor, post=post, low=-1.0, high=2.0)
    drawn = law.predicted(np.random.default_rng(0).laplace(size=200_000))
    for threshold in (-1.5, -1.0, -0.5, 0.0, 1.0, 1.5, 2.0, 2.5):
        assert law.at_least(threshold) == pytest.approx((drawn >= threshold).mean(), abs=5e-3)
        assert law.at_most(threshold) == pytest.approx((drawn <= threshold).mean(), abs=5e-3)


def test_a_law_is_read_with_centre_scale_and_sign():
    (law,) = _laws(lambda data, rng: 3.0 - 2.0 * (data.sum() + rng.laplace(scale=4.0)))[1].numbers
    assert (law.kind, law.draw.entry) == ("laplace", 0)
    assert (law.centre, law.factor) == pytest.approx((1.0, -8.0))


def test_a_number_that_noise_reaches_otherwise_has_no_law():
    (law,) = _laws(lambda data, rng: (data.sum() + rng.laplace()) ** 2)[0].numbers
    assert law is None


def test_a_slope_that_changes_far_out_is_no_law():
    def bent(data, rng):
        value = data.sum() + rng.laplace()
        return value if value < 50 else 50 + (value - 50) / 10

    (law,) = _laws(bent)[0].numbers
    assert law is None


def test_laplace_epsilon_is_movement_over_scale():
    assert _epsilon(lambda data, rng: data.sum() + rng.laplace(scale=0.5)) == pytest.approx(2.0)
    assert _epsilon(lambda data, rng: data.sum() + rng.laplace(scale=4.0)) == pytest.approx(0.25)


def test_independent_values_add_up_and_shared_noise_does_not():
    def apart(data, rng):
        return [data.sum() + rng.laplace(scale=2.0) for _ in range(3)]

    def shared(data, rng):
        noise = rng.laplace(scale=2.0)
        return [data.sum() + noise for _ in range(3)]

    assert _epsilon(apart) == pytest.approx(1.5)
    assert _epsilon(shared) == pytest.approx(0.5)


def test_gaussian_noise_on_many_coordinates_is_that_of_the_whole_movement():
    def noisy(data, rng):
        return data.sum() + rng.normal(scale=2.0, size=16)

    mu, delta = 2.0, 1e-5
    exact = dpaudit_gaussian(mu, delta)
    found = _epsilon(noisy, delta)
    assert found <= exact
    assert found > exact - 0.5


def dpaudit_gaussian(mu, delta):
    from dpaudit.guarantees.kinds import GaussianDP

    return GaussianDP(mu).epsilon(delta)


def test_rounding_and_clipping_beyond_the_centres_change_nothing():
    def clipped(data, rng):
        return min(max(data.sum() + rng.laplace(), -5.0), 5.0)

    def rounded(data, rng):
        return round(data.sum() + rng.laplace())

    assert _epsilon(clipped) == pytest.approx(1.0)
    assert _epsilon(rounded) == pytest.approx(1.0)


def test_clipping_between_the_centres_leaves_less():
    def clipped(data, rng):
        return min(data.sum() + rng.laplace(), 0.75)

    law = NumberLaw("laplace", 0.0, 1.0, high=0.75), NumberLaw("laplace", 1.0, 1.0, high=0.75)
    ratio = math.log(law[1].at_least(0.75) / law[0].at_least(0.75))
    assert 0 < ratio < 1
    assert _epsilon(clipped) == pytest.approx(1.0, abs=1e-6)  # below both centres nothing is cut


def test_delta_takes_what_it_allows():
    exact = 1.0 + math.log1p(-2 * 0.05)
    found = _epsilon(lambda data, rng: data.sum() + rng.laplace(), 0.05)
    assert found == pytest.approx(exact)


def test_large_sums_do_not_refute_by_their_rounding(replay_here):
    data = np.full(1000, 1e9)
    other = data.copy()
    other[3] += 1.0
    found = replay_here(
        lambda data, rng: data.sum() / 7 + rng.laplace(scale=1 / 7), data, other, epsilon=1.0
    )
    assert found.verdict == "not refuted"


def test_constants_are_chosen_on_both_sides():
    sides = observe_runs(
        lambda data, rng: {"a": float(data[0]), "b": rng.laplace()}, ZERO, ONE
    ).sides
    found = list(constants(sides[0].plain, sides[1].plain))
    assert {(one.what, one.place) for one in found} == {("number", 0)}
    assert count_needed_runs(3.0, 0.0) > count_needed_runs(1.0, 0.0)


def test_a_kept_noise_is_no_proof(replay_here):
    kept = []

    def cached(data, rng):
        if not kept:
            kept.append(rng.laplace())
        return data.sum() + kept[0]

    found = replay_here(cached, ZERO, ONE)
    assert found.verdict == "withheld"
    assert found.findings[0].kind == "hidden state"


def test_a_kept_noise_beside_fresh_noise_is_no_proof(replay_here):
    """Over fresh processes the kept noise hides what the fresh noise alone does not."""
    kept = []

    def cached(data, rng):
        if not kept:
            kept.append(rng.laplace(scale=1.0))
        return data.sum() + kept[0] + rng.laplace(scale=0.1)

    assert replay_here(cached, ZERO, ONE).verdict == "withheld"


@pytest.mark.parametrize(
    "flips", [lambda rng: rng.random() < 1e-9, lambda rng: rng.binomial(1, 1e-9)]
)
def test_what_a_rare_draw_flips_is_no_violation(flips, replay_here):
    def release(data, rng):
        return int(data.sum()) ^ int(flips(rng))

    found = replay_here(release, ZERO, ONE, epsilon=30.0)
    assert found.verdict == "not refuted"


def test_a_raw_value_beside_a_huge_claim_is_a_violation(replay_here):
    found = replay_here(lambda data, rng: (data.sum(), rng.laplace()), ZERO, ONE, epsilon=30.0)
    assert (found.verdict, found.findings[0].kind) == ("withheld", "raw value")


def test_a_sampler_that_is_not_intercepted_is_told(replay_here):
    def counts(data):
        import itertools

        state = counts.__dict__.setdefault("state", itertools.count())
        return float(data.sum()) + next(state) % 7

    found = replay_here(counts, ZERO, ONE)
    assert "not intercepted" in {one.kind for one in found.findings}


def test_a_rare_choice_is_not_taken_for_a_constant(replay_here):
    """With a large epsilon a choice is nearly always the same, and private all the same."""

    def choice(data, rng):
        scores = np.array([data.sum(), 1 - data.sum()])
        return int(np.argmax(scores + rng.gumbel(scale=2 / 18.0, size=2)))

    assert replay_here(choice, ZERO, ONE, epsilon=18.0).verdict == "not refuted"
    assert replay_here(choice, ZERO, ONE, epsilon=1.0).verdict == "refuted"


MECHANISMS = """
import numpy as np

class Laplace:
    def __init__(self, epsilon, sensitivity):
        self.epsilon, self.sensitivity, self.delta = epsilon, sensitivity, 0.0

    def randomise(self, value):
        scale = self.sensitivity / self.epsilon
        return value + float(np.random.default_rng().laplace(scale=scale))
"""


def _of_diffprivlib():
    return [name for name in sys.modules if name.partition(".")[0] == "diffprivlib"]


@pytest.fixture
def a_package_that_declares(monkeypatch, tmp_path):
    """Have a package of diffprivlib's name, here and in other processes."""
    (tmp_path / "diffprivlib").mkdir()
    (tmp_path / "diffprivlib" / "__init__.py").touch()
    (tmp_path / "diffprivlib" / "mechanisms.py").write_text(MECHANISMS)
    for name in _of_diffprivlib():
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("diffprivlib.mechanisms")
    yield
    for name in _of_diffprivlib():
        del sys.modules[name]


@pytest.mark.usefixtures("a_package_that_declares")
def test_a_mechanism_of_a_package_that_declares_too_little(replay_here):
    def released(data, sensitivity):
        from diffprivlib.mechanisms import Laplace

        return Laplace(epsilon=1.0, sensitivity=sensitivity).randomise(float(data.sum()))

    def compared(data):
        return released(data, 0.25) > 40

    found = replay_here(lambda data: released(data, 0.25), ZERO, ONE)
    assert found.findings[0].kind == "sensitivity"
    assert "samplers have the laws" in found.findings[0].words
    assert found.findings[0].epsilon == pytest.approx(4.0)
    assert replay_here(lambda data: released(data, 1.0), ZERO, ONE).verdict == "not refuted"
    hidden = replay_here(compared, ZERO, ONE)
    assert (hidden.verdict, hidden.findings[0].kind) == ("withheld", "declared sensitivity")
    assert hidden.calls[0].declared == 0.25
