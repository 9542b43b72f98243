"""The corpora: their numbers, and that each function has the law that it is said to have."""

import inspect
import math
import random

import numpy as np
import pytest
from scipy import stats

from tests.own_examples import load_example
from tests.tracing import corpus_deceptions, corpus_laws, corpus_views
from tests.tracing.auditing import SLACK, audit_judged, false_ends
from tests.tracing.written_laws import WRITTEN, epsilon_of_movements

LAWS, DECEPTIONS, VIEWS = corpus_laws.LAWS, corpus_deceptions.DECEPTIONS, corpus_views.VIEWS
ALL = {**LAWS, **DECEPTIONS, **VIEWS}


def draw_outputs(case, data, count, seed):
    """Return outputs of a function of data alone, or of data and a generator."""
    if len(inspect.signature(case.mechanism).parameters) > 1:
        rng = np.random.default_rng(seed)
        return [case.mechanism(data, rng) for _ in range(count)]
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    return [case.mechanism(data) for _ in range(count)]


def test_there_are_as_many_as_asked_each_once():
    assert len(LAWS) == 60
    assert len(DECEPTIONS) >= 40
    assert len(VIEWS) >= 10
    assert len(ALL) == len(LAWS) + len(DECEPTIONS) + len(VIEWS)
    mechanisms = [case.mechanism for case in (*DECEPTIONS.values(), *VIEWS.values())]
    assert len(set(mechanisms)) == len(mechanisms)


@pytest.mark.parametrize("name", ALL)
def test_outputs_tell_no_more_than_all_noisy_values(name):
    case = ALL[name]
    assert 0 <= case.least_epsilon <= case.epsilon
    assert case.epsilon <= case.epsilon_of_noisy_values + SLACK
    if case.reading == "outputs":
        assert case.epsilon == case.epsilon_of_noisy_values
    if case.reading == "none":
        assert case.reason or case.epsilon_of_noisy_values == math.inf


@pytest.mark.parametrize("name", VIEWS)
def test_views_tell_less(name):
    assert VIEWS[name].epsilon < 0.95 * VIEWS[name].epsilon_of_noisy_values


@pytest.mark.parametrize("name", corpus_laws.LOOPS)
def test_a_loop_states_its_numbers(name):
    module = load_example(f"loops/{name}")
    case = corpus_laws.LOOPS[name]
    guaranteed = case.epsilon_of_noisy_values if name == "teachers" else case.epsilon
    assert module.EPSILON == pytest.approx(guaranteed, abs=1.1e-4)
    assert module.EPSILON >= guaranteed - 1e-9
    assert module.FALSE_EPSILON < 0.9 * case.epsilon
    for number in (module.EPSILON, module.FALSE_EPSILON):
        assert f"{number:.4f}".rstrip("0").rstrip(".") in module.__doc__
    lines = inspect.getsource(getattr(module, name)).splitlines()
    assert len(lines) + len(module.__doc__.splitlines()) <= 40


def test_teachers_state_what_labels_are_worth():
    labels = corpus_laws.LOOPS["teachers"].epsilon
    assert f"{labels:.4f}" in load_example("loops/teachers").__doc__


@pytest.mark.parametrize("name", WRITTEN)
def test_noise_has_the_written_law(name):
    case, law = LAWS[name], WRITTEN[name]
    outputs = draw_outputs(case, case.dataset, 300, 5)
    noise = np.concatenate([law.residuals(one, case.dataset) for one in outputs])
    if law.discrete:
        values, counts = np.unique(np.round(noise, 6), return_counts=True)
        chances = law.noise.pmf(values)
        often = chances * len(noise) > 5
        errors = np.sqrt(len(noise) * chances[often])
        assert (np.abs(counts[often] - len(noise) * chances[often]) < 5 * errors).all()
    else:
        assert stats.kstest(noise, law.noise.cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("side", ["dataset", "neighbour"])
def test_movements_after_every_history_have_the_number(name, side):
    case, law = LAWS[name], WRITTEN[name]
    for output in draw_outputs(case, getattr(case, side), 4, 6):
        movements = law.movements(output, case.dataset, case.neighbour)
        found = epsilon_of_movements(law, movements, case.delta)
        assert found == pytest.approx(case.epsilon, rel=1e-7)
        assert epsilon_of_movements(law, movements / 2, case.delta) < 0.9 * case.epsilon


def test_every_loop_whose_outputs_judge_has_a_written_law():
    loops = {**corpus_laws.LOOPS, **corpus_laws.MORE_LOOPS}
    assert {name for name, case in loops.items() if case.reading == "outputs"} == set(WRITTEN)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_outputs_certify_no_more_than_the_truth(name):
    assert false_ends(ALL[name], audit_judged(ALL[name], trials=2000, estimator="event")) == []
