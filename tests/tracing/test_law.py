"""Laws that are read from code: exact losses, what breaks them, and audits with them."""

import math
import threading
import warnings

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

import dpaudit
from dpaudit.accounting.events import LaplaceRelease, Sequence
from dpaudit.accounting.strongest_guarantee import NumericalDP
from dpaudit.auditing.exact.traced_laws import lines_of
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses, lower_end
from dpaudit.execution import Executor
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import REPLACE_RECORD, Pair, Side
from dpaudit.tracing.determined_values import RunOutput, learn_read_off
from dpaudit.tracing.law import TracedLaw, TracedView
from dpaudit.tracing.placed_law import law_of
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw, run_with_forced_values
from dpaudit.tracing.steps import LAWS, LocatedValue

HERE = {"isolation": Isolation(in_process=True), "executor": Executor(workers=1)}
PAIR = Pair(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]), REPLACE_RECORD)


def read(function, pair=PAIR, seed=0):
    return read_law(as_mechanism(function).calls, pair, np.random.default_rng(seed))


# One noisy value


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("tilt", [0.0, 0.7, 4.0])
@pytest.mark.parametrize("apart", [-2.0, 0.3, 1.5])
def test_tilted_draws_have_the_density_that_they_are_weighed_with(kind, tilt, apart):
    own = LocatedValue(np.full(20_000, 1.0), np.full(20_000, 0.5))
    other = LocatedValue(own.centre + apart * 0.5, own.scale)
    value, _, log_mgf = LAWS[kind].tilted(own, other, tilt, np.random.default_rng(1))
    grid = np.linspace(-30, 32, 400_001)
    law = LAWS[kind]
    p, q = (law.log_density((grid - one.centre[0]) / 0.5) for one in (own, other))
    density = np.exp((1 + tilt) * p - tilt * q)
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    scale = np.trapezoid(np.exp(p), grid)
    assert log_mgf / 20_000 == pytest.approx(math.log(mass[-1] / scale), abs=1e-6)
    assert kstest(value, lambda x: np.interp(x, grid, mass / mass[-1])).pvalue > 1e-4


@pytest.mark.parametrize("kind", LAWS)
def test_losses_are_enclosed_where_they_are(kind):
    rng = np.random.default_rng(2)
    own, other = (LocatedValue(rng.normal(size=3), rng.exponential(size=3) + 0.1) for _ in range(2))
    value = rng.normal(size=3)
    loss = LAWS[kind].loss(value, own, other)
    assert float(LAWS[kind].enclosed_loss(value, own, other)) == pytest.approx(loss, rel=1e-12)
    assert LAWS[kind].loss(value, other, own) == pytest.approx(-loss, rel=1e-12)


def test_scales_that_differ_are_drawn_as_they_are():
    own, other = LocatedValue(np.zeros(1), np.ones(1)), LocatedValue(np.zeros(1), np.full(1, 2.0))
    value, loss, log_mgf = LAWS["normal"].tilted(own, other, 3.0, np.random.default_rng(0))
    expected = norm.logpdf(value[0]) - norm.logpdf(value[0], scale=2.0)
    assert (loss, log_mgf) == pytest.approx((expected, 3 * expected))


# Whole runs


def corrections(data, rng):
    w, out = 0.0, []
    for _ in range(4):
        g = (w - data).mean() + rng.laplace(scale=2.0)
        w -= 0.9 * g
        out.append(g)
    return np.array(out)


def states(data, rng):
    w, path = np.zeros(2), []
    for _ in range(3):
        g = np.clip(data[:, None] - w, -1, 1).mean(axis=0)
        w = w + 0.5 * (g + rng.normal(size=2))
        path.append(w.copy())
    return {"path": path, "rounds": 3}


def count(data, rng):
    return rng.laplace((data > 4).sum(), 0.5) + 0.0


def in_parts(data, rng):
    noise = rng.normal(0, 2, size=2)
    return [data.sum() + noise[0], data.mean() - noise[1]]


def in_place(data, rng):
    out = np.array([data.sum(), data.mean()])
    out += rng.laplace(scale=[1.0, 3.0])
    return out


LOSSES = {
    "corrections": (corrections, lambda v, means: _laplace(v, means, 2.0)),
    "states": (states, None),
    "count": (count, lambda v, _: (np.abs(v - 1) - np.abs(v)).sum() / 0.5),
    "in parts": (
        in_parts,
        lambda v, means: (
            ((v[0] - 6) ** 2 - (v[0] - 3) ** 2 + (v[1] - 2) ** 2 - (v[1] - 1) ** 2) / 8
        ),
    ),
    "in place": (in_place, lambda v, means: abs(v[0] - 6) - abs(v[0] - 3) + _third(v[1])),
}


def _third(value):
    return (abs(value - 2) - abs(value - 1)) / 3


def _laplace(values, means, scale):
    w, loss = 0.0, 0.0
    for v in values:
        one, other = (abs(v - (w - mean)) for mean in means)
        loss += (other - one) / scale
        w -= 0.9 * v
    return loss


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_those_of_the_law_written_down(name):
    function, written = LOSSES[name]
    law = read(function)
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 20, np.random.default_rng(3))
    losses = law.privacy_loss(values, PAIR)
    if written is not None:
        assert losses == pytest.approx([written(v, (1.0, 2.0)) for v in values], rel=1e-9)
    tilted = law.sample_tilted(PAIR, 1.5, 20, np.random.default_rng(4))
    again = law.privacy_loss(tilted.outputs, PAIR)
    assert tilted.privacy_loss == pytest.approx(again, rel=1e-9)
    low, high = law.loss_bounds(values[0], PAIR)
    assert low - 1e-9 <= losses[0] <= high + 1e-9
    assert high - low < 1e-9


@pytest.mark.parametrize("name", LOSSES)
def test_what_untouched_calls_return_has_the_law_that_was_read(name):
    law = read(LOSSES[name][0])
    values = law.sample(PAIR.dataset, 300, np.random.default_rng(5))
    uniform = law.uniform_residuals(values, PAIR.dataset)
    assert kstest(uniform.ravel(), "uniform").pvalue > 1e-4


def test_a_count_of_nothing_is_a_centre_as_well():
    law = read(count)
    assert law.located == (True,)
    assert law.profile[0].moved == pytest.approx(1.0)


def test_noise_of_a_known_place_is_named_with_what_it_moves():
    law = read(corrections)
    assert {place for _, place, _ in law.keys} == {f"test_law.py:{_line()} in corrections"}
    assert [one.scale for one in law.profile] == [2.0] * 4
    assert [one.moved for one in law.profile] == pytest.approx([1.0] * 4)


def _line():
    return corrections.__code__.co_firstlineno + 3


def unsigned(data, rng):
    return rng.normal(size=1) - np.array([int(data.sum())], dtype=np.uint8)


def test_unsigned_numbers_are_subtracted_as_numbers():
    law = read(unsigned)
    values = law.sample(PAIR.dataset, 10, np.random.default_rng(0))[:, 0]
    expected = ((values + 6) ** 2 - (values + 3) ** 2) / 2
    assert law.privacy_loss(values[:, None], PAIR) == pytest.approx(expected, rel=1e-9)


def kinds_of_numbers(data, rng):
    total = float(data.sum())
    noisy = total + rng.normal(), data.sum() + rng.normal(), rng.normal(data.sum())
    return [*noisy, [type(one) is float for one in noisy]]


def test_noisy_numbers_are_of_the_kind_that_plain_ones_are():
    law = read(kinds_of_numbers)
    assert isinstance(law, TracedLaw), law
    plain = kinds_of_numbers(PAIR.dataset, np.random.default_rng(0))
    assert plain[-1] == [True, False, True]
    run = run_with_forced_values(kinds_of_numbers, PAIR.dataset, [np.zeros(())] * 3, law.located)
    assert run.run.value[-1] == plain[-1]
    with pytest.raises(MechanismError, match="numbers of Python and of numpy differently"):
        law.sample(PAIR.dataset, 3, np.random.default_rng(0))


# Of the noisy values of these, all of which their outputs tell.
TRUTHS = {
    "in_parts": GaussianDP(math.hypot(3, 1) / 2).epsilon(1e-2),
    "corrections": NumericalDP(
        Sequence((LaplaceRelease(sensitivity=1.0, noise_scale=2.0, count=4),))
    ).epsilon(1e-2),
}


# Noise of generators that live already

BOUND = np.random.RandomState(5).laplace
UNLISTED = """
from numpy.random import RandomState
noise = RandomState(3).laplace

def noisy(data):
    return data.sum() + noise(scale=2.0)

"""


def unlisted(name):
    """Return what stands in a module that ``sys.modules`` does not list."""
    held = {"__name__": "unlisted"}
    exec(compile(UNLISTED, "unlisted.py", "exec"), held)
    return held[name]


def bound_noise(data):
    return data.sum() + BOUND(scale=2.0)


@pytest.mark.parametrize("made", [lambda: bound_noise, lambda: unlisted("noisy")])
def test_methods_of_generators_that_live_already_are_read(made):
    law = read(made())
    assert isinstance(law, TracedLaw), law
    assert law.privacy_loss(np.array([[0.0]]), PAIR) == pytest.approx([3 / 2])


def test_methods_of_generators_that_draw_the_same_are_refused():
    twin = np.random.RandomState(5).laplace
    found = read(lambda data: [data.sum() + BOUND(), 2 * data.sum() + twin()])
    assert isinstance(found, MissingLaw)
    assert "copied" in found.reason


# What has no law


kept = []


def once_in_a_thread(data, rng):
    found = []
    thread = threading.Thread(target=lambda: found.append(rng.normal()))
    thread.start()
    thread.join()
    return data.sum() + found[0]


def cached(data, rng):
    if len(kept) < 3:
        kept.append(rng.normal())
    return data.sum() + kept[0] + rng.normal()


def on_one_side(data, rng):
    if data.sum() > 5:
        rng.normal()
        return 1.0 + rng.normal()
    return 1.0 + rng.normal()


def a_different_order(data, rng):
    a, b = data.sum(), data.mean()
    return [a + rng.normal(), b + rng.laplace()] if a > 5 else [b + rng.laplace(), a + rng.normal()]


REFUSED = {
    "past the noise": (lambda x, rng: (x.sum() + rng.normal(), x.max()), "past the noise"),
    "no noise": (lambda x, rng: 1.0, "no noise"),
    "last digits": (lambda x, rng: x.sum() + rng.normal() + 1e-14 * x[2], "past the noise"),
    "twice": (lambda x, rng: [x.sum() + (z := rng.normal()), x.mean() + z], "used twice"),
    "broadcast": (lambda x, rng: x + rng.normal(), "used twice"),
    "looked at": (lambda x, rng: x.sum() + abs(rng.normal()), "by itself"),
    "as an array": (lambda x, rng: x.sum() + np.asarray(rng.normal(size=2)), "by itself"),
    "two draws": (lambda x, rng: x.sum() + (rng.laplace() + rng.laplace()), "by itself"),
    "a sum twice": (
        lambda x, rng: [x.sum() + (z := rng.normal()), x.mean() + (z + rng.normal())],
        "used twice",
    ),
    "a seed": (lambda x, rng: x.sum() + np.random.default_rng(1).normal(), "seed"),
    "a thread": (once_in_a_thread, "draws"),
    "raises": (lambda x, rng: 1 / 0 + rng.normal(), "ZeroDivisionError"),
    "one side": (on_one_side, "other"),
    "another order": (a_different_order, "other"),
    "noise in place": (lambda x, rng: x + _halved(rng.normal(size=3)), "in place"),
    "a part in place": (lambda x, rng: x + _halved(rng.normal(size=3), 1), "in place"),
    "a remainder": (lambda x, rng: x.sum() + rng.normal() % 1, "by itself"),
    "no scale": (lambda x, rng: x.sum() + 0.0 * rng.normal(), "scale"),
}  # fmt: skip


VIEWS = {
    "a coin": lambda x, rng: x.sum() + rng.normal() if rng.random() < 0.5 else 0.0,
    "rounded": lambda x, rng: round(x.sum() + rng.normal()),
    "only the larger": lambda x, rng: max(x.sum() + rng.normal(), rng.normal() + 0),
    "now and then another one": lambda x, rng: [x.sum() + rng.normal() for _ in range(3)][
        : 1 + rng.integers(3)
    ],
    "clipped": lambda x, rng: np.clip(x.sum() + rng.normal(), 2.0, 7.0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_outputs_do_not_determine_is_no_law_of_outputs(name):
    found = read(VIEWS[name])
    assert isinstance(found, TracedView), found
    assert "normal" in {kind for kind, _, _ in found.keys}


def noiseless_unless_watched(data, rng):
    is_watched = type(type(rng)) is not type
    return bool(data.sum() + rng.laplace() > 4) if is_watched else bool(data.sum() > 4)


def test_a_view_is_none_where_calls_that_nobody_watches_differ():
    found = read(noiseless_unless_watched)
    assert isinstance(found, MissingLaw)
    assert "without observation" in found.reason


def noise_beside(data, rng):
    return [data.sum() + rng.normal(), rng.normal()]


def sum_of_two(data, rng):
    return data.sum() + (3.0 * rng.normal() - 4.0 * rng.normal())


def test_a_draw_that_is_looked_at_is_a_noisy_value_that_no_dataset_moves():
    law = read(noise_beside)
    assert isinstance(law, TracedLaw), law
    losses = law.privacy_loss(np.array([[4.0, 7.0]]), PAIR)
    assert losses == pytest.approx([((4 - 6) ** 2 - (4 - 3) ** 2) / 2])


def test_gaussian_noise_adds_up_to_gaussian_noise():
    law = read(sum_of_two)
    assert law.profile[0].scale == pytest.approx(5.0)
    losses = law.privacy_loss(np.array([[4.0]]), PAIR)
    assert losses == pytest.approx([((4 - 6) ** 2 - (4 - 3) ** 2) / 50])


def _halved(noise, at=slice(None)):
    same = noise
    if at == slice(None):
        noise *= 0.5
    else:
        noise[at] *= 0.5
    return same


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_a_condition_is_refused_with_its_reason(name):
    function, reason = REFUSED[name]
    found = read(function)
    assert isinstance(found, MissingLaw), found
    assert reason in found.reason


def test_a_refusal_names_the_line():
    found = read(lambda x, rng: x.sum() + abs(rng.normal()))
    assert found.place.startswith("test_law.py:")


def test_filters_of_warnings_are_as_they_were():
    before = list(warnings.filters)
    read(states)
    assert warnings.filters == before


def test_no_thread_is_left():
    before = threading.active_count()
    read(on_one_side)
    read(states)
    assert threading.active_count() == before


def leaks_where_rare(data, rng):
    value = data.sum() + rng.normal()
    return value if value > -4 else value + data[2] * 1e-3


def test_a_law_that_later_runs_break_is_an_error(unseen):
    law = read(leaks_where_rare)
    assert isinstance(law, TracedLaw), law
    with pytest.raises(MechanismError, match="does not hold: data reach the output"):
        law.sample_tilted(PAIR, 3.0, 20, np.random.default_rng(0))


def located_where_rare(data, rng):  # the second is noise alone: what stands beside it is taken back
    first = data.sum() + rng.normal()
    beside = data[2] if first < -2 else 0.0
    return [first, beside + rng.normal(-beside, 1.0)]


def test_a_location_that_rare_histories_give_is_never_left_out(unseen):
    law = read(located_where_rare)
    assert isinstance(law, TracedLaw), law
    with pytest.raises(MechanismError, match="the location of noise is not 0"):
        law.sample_tilted(PAIR, 3.0, 20, np.random.default_rng(0))
    with pytest.raises(MechanismError, match="the location of noise is not 0"):
        law.privacy_loss(np.array([[-3.0, 0.0]]), PAIR)


def scale_written_over(data, rng):
    scale = np.full(1, 2.0)
    noise = rng.normal(0.0, scale, size=(1, 1))
    scale *= 0.1
    return data.sum() + noise


def scale_written_over_in_place(data, rng):
    scale = np.full(1, 2.0)
    noise = rng.normal(0.0, scale)
    scale *= 0.1
    return data.sum() + noise


@pytest.mark.parametrize("function", [scale_written_over, scale_written_over_in_place])
def test_noise_has_the_scale_that_it_was_drawn_with(function):
    law = read(function)
    assert isinstance(law, TracedLaw), law
    assert law.privacy_loss(np.array([[0.0]]), PAIR) == pytest.approx([(36 - 9) / 8])


STORED = {}


def through_a_global(data, rng):
    STORED["sum"] = data.sum()
    first = data.mean() + rng.normal()
    return [first, STORED["sum"] + rng.normal()]


def test_runs_that_share_a_state_get_no_loss():
    law = read(through_a_global)
    if isinstance(law, TracedLaw):
        with pytest.raises(MechanismError, match="does not hold"):
            law.sample_tilted(PAIR, 1.0, 3, np.random.default_rng(0))


# Values read off outputs


def test_values_are_read_off_where_they_stand():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=2) for _ in range(5)]
    outcomes = [RunOutput(("a",), np.array([v[1], 3.0, v[0], v[1]])) for v in values]
    found = learn_read_off(outcomes, values, np.ones(2))
    assert found is not None
    assert found.places.tolist() == [2, 0]


def test_values_are_read_off_running_sums_and_not_off_squares():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=3) for _ in range(20)]
    sums = [RunOutput(("a",), np.cumsum(v)) for v in values]
    found = learn_read_off(sums, values, np.ones(3))
    assert found is not None
    assert all(found.agrees(*one, np.ones(3)) for one in zip(sums, values, strict=True))
    assert not found.agrees(sums[0], values[0] + [0, 1e-5, 0], np.ones(3))
    assert not found.agrees(sums[0], values[0] + [0, 1e-7, 0], np.array([1.0, 1e-3, 1.0]))
    assert learn_read_off([RunOutput(("a",), v**2) for v in values], values, np.ones(3)) is None
    assert learn_read_off([RunOutput(("a",), v[:2]) for v in values], values, np.ones(3)) is None
    others = [RunOutput((str(n),), v) for n, v in enumerate(values)]
    assert learn_read_off(others, values, np.ones(3)) is None


def clipped_beside_a_large_one(data, rng):
    large = rng.normal(1e14, 1e6)
    return [large, float(np.clip(data.sum() + rng.normal(), 1.0, 8.0))]


def test_a_clipped_value_beside_a_far_larger_one_gets_no_law():
    law = read(clipped_beside_a_large_one)
    if isinstance(law, TracedLaw):
        with pytest.raises(MechanismError, match="does not"):
            law.sample_tilted(PAIR, 2.0, 50, np.random.default_rng(0))


# Audits


def descent(data, rng):
    """Ten noisy gradient steps, of which noise is scaled for half the movement."""
    w, path = np.zeros(2), []
    for _ in range(10):
        g = w - data
        g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
        w = w - 0.5 * (g.mean(axis=0) + 0.766 * rng.standard_normal(2))
        path.append(w.copy())
    return np.array(path)


def far_apart(n=10):
    one = np.zeros((n, 2))
    one[0], other = (50.0, 0.0), one.copy()
    other[0] = (-50.0, 0.0)
    return one, other


@pytest.mark.slow
def test_a_loop_is_enclosed_and_the_report_says_by_what_law():
    result = dpaudit.audit(
        descent, *far_apart(), epsilon=2.0, delta=1e-5, trials=2000, estimator="exact-loss", **HERE
    )
    assert result.verdict == "refuted"
    assert 3.45 <= result.lower <= 3.511
    assert result.upper is None
    (line,) = result.law.lines
    assert (line.noise, line.values, line.scale) == ("normal", 10, 0.766)
    assert line.moved is None
    assert sum(entry.alpha for entry in result.budget) == pytest.approx(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [3.0, 1.0])
def test_one_release_is_enclosed_at_delta_zero(epsilon):
    result = dpaudit.audit(
        count, PAIR.dataset, PAIR.neighbour,
        epsilon=epsilon, trials=200, estimator="exact-loss", **HERE,
    )  # fmt: skip
    assert result.verdict == ("refuted" if epsilon < 2 else "not refuted")
    assert result.lower == pytest.approx(2.0, abs=1e-9)
    assert result.lower <= 2.0
    assert result.law is not None


def scale_of_data(data, rng):
    return data.sum() + rng.laplace(scale=data.max())


def test_a_scale_that_differs_between_the_datasets_is_a_record(monkeypatch):
    place = law_of(as_mechanism(scale_of_data), PAIR, 0)
    (line,) = lines_of(place).lines
    assert (line.scale, line.moved, line.share) == (None, None, 1.0)
    monkeypatch.setattr("dpaudit.auditing.exact.traced_laws.are_shown", lambda: True)
    (line,) = lines_of(place).lines
    assert (line.scale, line.moved) == (2.0, 3.0)


def test_a_time_is_refused():
    with pytest.raises(InvalidArgument, match="event where there is a time"):
        dpaudit.audit(
            count, PAIR.dataset, PAIR.neighbour,
            epsilon=3.0, time=2.0, estimator="exact-loss", **HERE,
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "in_process"), [(2, True), (1, False), (2, False)])
def test_one_seed_gives_one_result_wherever_it_runs(workers, in_process, tmp_path):
    given = {"epsilon": 3.0, "delta": 1e-3, "trials": 300, "estimator": "exact-loss", "seed": 4}
    one = dpaudit.audit(corrections, PAIR.dataset, PAIR.neighbour, **given, **HERE)
    where = {"isolation": Isolation(in_process=in_process), "executor": Executor(workers=workers)}
    store = tmp_path / "kept.db"
    for _ in range(2):  # the second time from the store
        other = dpaudit.audit(
            corrections, PAIR.dataset, PAIR.neighbour, **given, **where, store=store
        )
        assert (other.lower, other.verdict, other.law) == (one.lower, one.verdict, one.law)
    assert one.law is not None


@pytest.mark.slow
@pytest.mark.parametrize(("function", "delta"), [(in_parts, 1e-2), (corrections, 1e-2)])
def test_lower_ends_of_read_laws_err_as_often_as_they_may(function, delta):
    """A seventh of the law's own audit: tilted draws of both directions, at an error of .2."""
    law, errors, reached = read(function), 0, []
    truth = TRUTHS[function.__name__]
    for seed in range(100):
        rng = np.random.default_rng(seed)
        directions = []
        for side in Side:
            tilted = law.sample_tilted(PAIR.seen_from(side), 2.0, 60, rng)
            losses = TiltedLosses(tilted.privacy_loss, tilted.log_mgf, 2.0, math.inf)
            directions.append(LossDirection(losses, losses))
        reached.append(lower_end(directions, math.log(delta), 0.2))
        errors += reached[-1] > truth
    assert errors <= binom.ppf(0.999, 100, 0.2)
    assert np.median(reached) >= 0.8 * truth


def test_no_law_is_an_error_that_names_the_line():
    with pytest.raises(InvalidArgument, match=r"no law can be read .*test_law\.py:.*used twice"):
        dpaudit.audit(
            REFUSED["twice"][0], PAIR.dataset, PAIR.neighbour,
            epsilon=1.0, trials=200, estimator="exact-loss", **HERE,
        )  # fmt: skip


def careful_when_watched(data, rng):
    noise = rng.laplace()
    return data.sum() if type(noise) is float else data.sum() + noise


def careless_when_watched(data, rng):
    noise = rng.laplace()
    return data.sum() + noise if type(noise) is float else 10 * data.sum() + noise


@pytest.mark.slow
@pytest.mark.parametrize("function", [careful_when_watched, careless_when_watched])
def test_code_that_knows_that_it_is_watched_gets_no_law(function):
    result = dpaudit.audit(
        function, np.array([0.0, 1.0]), np.array([0.0, 0.5]),
        epsilon=50.0, trials=200, estimator="exact-loss", **HERE,
    )  # fmt: skip
    assert result.law is None
    assert result.upper is None
    assert result.lower <= 1 or function is careful_when_watched
    assert any("No exact losses" in note for note in result.notes)


def test_calls_that_are_timed_get_no_law():
    with pytest.raises(InvalidArgument, match="observes"):
        dpaudit.audit(
            count, PAIR.dataset, PAIR.neighbour, observe="time",
            epsilon=1.0, trials=200, estimator="exact-loss", **HERE,
        )  # fmt: skip
