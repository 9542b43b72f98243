"""The streamed event audit: it finds what is there, and not more; samples are used once."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.attacks.distinguishers.known_answers import SUITE
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.selftest.answers import Learner
from dpaudit.selftest.black_box import (
    SelfTestBudget,
    _choose_candidate_thresholds,
    _plan_output_count,
    _select_rival_attacks,
    audit,
)

SMALL = SelfTestBudget(
    learning=20_000, judging=5000, choosing=60_000, certifying=60_000, least=5000
)
COUNTING = SUITE.learners[:2]


@cache
def found_of(name, seed=0):
    return audit(KNOWN_ANSWERS[name], COUNTING, SMALL, (0.05, 1e-8), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "randomised-response"])
def test_a_correct_mechanism_is_not_accused_and_nearly_exhausted(name):
    answer, found = KNOWN_ANSWERS[name], found_of(name)
    assert 0.9 * answer.event < found.lower <= answer.event


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "least"),
    [("laplace-floating-point", 4.0), ("noisy-histogram-inverted", 1.8), ("svt-5", 4.0)],
)
def test_a_broken_one_is_found_out(name, least):
    assert audit(KNOWN_ANSWERS[name], COUNTING, SMALL, (1e-6, 1e-8), 0).lower > least


def test_one_seed_gives_one_result():
    answer = KNOWN_ANSWERS["svt-5"]
    first, again, other = (audit(answer, COUNTING, SMALL, (0.05, 1e-8), seed) for seed in (0, 0, 1))
    assert (first.hits, first.other_hits) == (again.hits, again.other_hits)
    assert (first.hits, first.other_hits) != (other.hits, other.other_hits)


@pytest.mark.slow
def test_what_is_certified_are_the_counts():
    found = found_of("laplace")
    sizes = found.hits, found.other_hits, found.trials, found.trials
    assert found.lower == joint_lower_bound(*sizes, delta=0.0, alpha=0.05)
    assert found.nearly_certain == joint_lower_bound(*sizes, delta=0.0, alpha=1e-8) < found.lower


@dataclass(frozen=True)
class Memory:
    """An attack that is right about every output that it saw, and guesses about any other."""

    seen: tuple[frozenset, frozenset]

    def __call__(self, outputs):
        values = outputs.ravel().tolist()
        return np.array([float(v in self.seen[0]) - float(v in self.seen[1]) for v in values])


@dataclass(frozen=True)
class Remembering:
    name: str = "memory"

    def load(self):
        return lambda m, pair, p, q, rng: Memory((frozenset(p.ravel()), frozenset(q.ravel())))


def test_samples_are_used_once():
    """Learned, judged, chosen or certified on the same outputs, memory would look perfect."""
    found = audit(KNOWN_ANSWERS["laplace"], [Learner(Remembering())], SMALL, (1e-6, 1e-8), 0)
    assert found.lower <= 1.0


@dataclass(frozen=True)
class Refusing:
    name: str = "refusing"

    def load(self):
        def fit(*_):
            raise InvalidArgument("pair", "this", "another")

        return fit


@pytest.mark.slow
def test_an_attack_that_refuses_is_left_out():
    answer, refusing = KNOWN_ANSWERS["laplace"], Learner(Refusing())
    assert audit(answer, [refusing, *COUNTING], SMALL, (0.05, 1e-8), 0).attack != "refusing"
    with pytest.raises(InvalidArgument, match=r"^attacks: got \['refusing'\]"):
        audit(answer, [refusing], SMALL, (0.05, 1e-8), 0)


def test_an_attack_learns_on_no_more_than_it_asks_for():
    sizes = []

    @dataclass(frozen=True)
    class Counting:
        name: str = "counting"

        def load(self):
            def fit(m, pair, p, q, rng):
                sizes.append((len(p), len(q)))
                return lambda outputs: outputs.ravel()

            return fit

    for most in (100, None):
        audit(KNOWN_ANSWERS["laplace"], [Learner(Counting(), most)], SMALL, (0.05, 1e-8), 0)
    assert sizes == [(100, 100), (20_000, 20_000)]


def test_thresholds_lie_between_scores_that_differ():
    scores = np.array([0.0, 1.0, 1.0 + 1e-15, 2.0, np.inf])
    found = _choose_candidate_thresholds((scores, scores[::-1]))
    assert len(found) == 4
    assert all(low < high for low, high in pairwise(found))
    assert [int((scores >= t).sum()) for t in found] == [5, 4, 2, 1]


def test_the_plan_stops_where_little_is_left_to_gain():
    common = _plan_output_count((0.5, 0.25), 0.0, 1000, 10**7)
    rare = _plan_output_count((0.005, 0.0025), 0.0, 1000, 10**8)
    assert 1000 < common < rare < 10**8
    assert _plan_output_count((0.005, 0.0), 0.0, 1000, 10**7) == 1000
    assert _plan_output_count((1e-6, 0.9e-6), 0.0, 1000, 10**5) == 10**5


@pytest.mark.parametrize(
    ("promises", "left"),
    [
        ([1.0, 1.02, 0.9], [0]),  # the first will do
        ([1.0, 1.5, 1.51], [0, 1]),
        ([0.5, 1.0], [1]),
        ([0.0, 0.0], [0]),
        ([0.8, 0.7, 1.0], [0, 2]),
    ],
)
def test_only_what_is_ahead_of_cheaper_attacks_goes_on(promises, left):
    assert _select_rival_attacks(promises) == left
