"""Recipes of training in plain numpy, and seven broken twins of it."""

from pathlib import Path

import numpy as np
import pytest

from dpaudit.adapters.training import likelihood_ratios, partial_fit_gradients
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.clopper_pearson import clopper_pearson

FOLDER = Path(__file__).parents[2] / "examples" / "training"
RECIPES = sorted(set(FOLDER.glob("*_*.py")))


@pytest.fixture
def twins(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import twins

    return twins


def test_recipes_have_forty_lines_at_most():
    assert RECIPES
    long = {one.name: len(one.read_text(encoding="utf-8").splitlines()) for one in RECIPES}
    assert {name: lines for name, lines in long.items() if lines > 40} == {}


# Broken twins


def test_a_noise_that_is_forgotten_shows_in_an_event(twins):
    """In the bias a step is exactly 0 unless the canary was taken: counted, without an audit."""
    runs, claimed = 3000, twins.claimed()

    def bound(training):
        rng = np.random.default_rng(0)
        moved = [
            int((training.sample(one, runs, rng)[..., 3] != 0).any(axis=1).sum())
            for one in twins.pair()
        ]
        often, seldom = (clopper_pearson(count, runs, 0.025) for count in moved)
        return np.log((often[0] - twins.DELTA) / seldom[1])

    assert bound(twins.TWINS["noise forgotten in a layer"]) > 6 > claimed > 1
    assert bound(twins.TWINS["right"]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(7))
def test_a_twin_is_refuted_and_the_right_one_is_not(twins, number):
    broken, right = twins.audited([name for name in twins.TWINS if name != "right"][number])
    assert (broken.verdict, right.verdict) == ("refuted", "not refuted"), broken.reason


def test_twins_differ_from_the_right_training_in_what_they_say(twins, monkeypatch):
    """Without noise a step shows what was summed: half of C in each layer, or what is wrong."""
    with_it, _ = twins.pair()
    monkeypatch.setattr(twins.Training, "noise", lambda self, shape, rng: np.zeros(shape))
    largest = {
        name: float(np.abs(one.sample(with_it, 50, np.random.default_rng(0))[..., :4]).max())
        for name, one in twins.TWINS.items()
    }
    assert len(largest) == 8
    assert largest["right"] == pytest.approx(0.5)
    assert largest["clipping per parameter"] == pytest.approx(1.0)
    assert largest["double participation"] == pytest.approx(1.0)
    assert largest["loss averaged before clipping"] > 1.5


# The recipes


@pytest.mark.parametrize(
    ("steps", "trials"), [(4, 3000), pytest.param(100, 10_000, marks=pytest.mark.slow)]
)
def test_a_dirac_canary_of_the_recipe_attains_what_is_proved(monkeypatch, steps, trials):
    monkeypatch.syspath_prepend(FOLDER)
    import numpy_steps

    result = numpy_steps.audited(
        lambda *run: numpy_steps.train(*run, steps)[:, :, -1],
        lambda records: records[:, -1].any(),
        steps=steps,
        trials=trials,
    )
    assert result.verdict == "not refuted"
    assert all(check.passed for check in result.self_checks), result.self_checks
    assert 0.95 * result.claimed.epsilon < result.measured.lower <= result.claimed.epsilon


def test_one_run_with_a_thousand_canaries(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    import canaries
    import numpy_canaries

    true = 5.0228
    certified, whole, independent = canaries.bounds(*numpy_canaries.run(np.random.default_rng(1)))
    assert 1.2 < certified < whole < true
    assert whole > 0.4 * true
    assert independent == pytest.approx(true, rel=0.2)


# Scores and gradients


def test_likelihood_ratios_are_those_of_normal_laws():
    rng = np.random.default_rng(5)
    included, excluded = rng.normal(1, 0.5, (4000, 3)), rng.normal(-1, 2, (4000, 3))
    found = likelihood_ratios(np.array([0.0, 1.0, 3.0]), included, excluded)
    exact = [-((x - 1) ** 2) / 0.5 + (x + 1) ** 2 / 8 + np.log(4) for x in (0.0, 1.0, 3.0)]
    np.testing.assert_allclose(found, exact, rtol=0.1)
    included[1:, 0] = np.nan
    with pytest.raises(InvalidArgument, match="two or more runs of each canary"):
        likelihood_ratios(np.zeros(3), included, excluded)
    with pytest.raises(InvalidArgument, match="one column for each score"):
        likelihood_ratios(np.zeros(2), included, excluded)


def test_gradients_by_partial_fit_are_those_of_the_hinge_loss():
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(penalty=None, learning_rate="constant", eta0=1.0)
    rows, labels = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1, -1])
    with pytest.raises(InvalidArgument, match="one that has been fitted"):
        partial_fit_gradients(model, rows, labels)
    model.partial_fit(np.zeros((1, 2)), [1], classes=[-1, 1])
    model.coef_, model.intercept_ = np.array([[0.1, 0.1]]), np.array([0.0])
    found = partial_fit_gradients(model, rows, labels)
    np.testing.assert_allclose(found, [[-1, -2, -1], [3, -1, 1]])
    np.testing.assert_array_equal(model.coef_, [[0.1, 0.1]])
