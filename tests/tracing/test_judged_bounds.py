"""Movement bounds that are read from code, beside exact numbers: never below, and never loose."""

import inspect
import math

import pytest

from dpaudit.tracing.movement import MovementBounds, read_movement_bounds
from tests.tracing import oracles
from tests.tracing.corpus_deceptions import DECEPTIONS
from tests.tracing.corpus_laws import LAWS
from tests.tracing.corpus_views import VIEWS

# What one run on bounded arrays cannot see, and whoever believes its bounds has to check: that
# calls do not differ, and that one that is not watched does the same.
NOT_SEEN = {"scale_of_a_counter", "careful_when_watched"}


def is_asked(case):
    """Return whether bounds can be asked of a case: a function of data and a generator."""
    if inspect.isclass(case.mechanism) or not inspect.isroutine(case.mechanism):
        return False
    takes = inspect.signature(case.mechanism).parameters
    return "rng" in takes and "trials" not in takes and not case.given


ASKED = {
    name: case
    for name, case in {**LAWS, **DECEPTIONS, **VIEWS}.items()
    if name not in NOT_SEEN and is_asked(case)
}


def epsilon_of_bounds(bounds, delta):
    """Return what releases with these bounds are worth, all of one kind of noise."""
    moving = [one for one in bounds.movements if one.norms.linf > 0]
    if all(one.kind == "normal" for one in moving):
        mu = math.hypot(*(one.norms.l2 / one.scale for one in moving))
        return oracles.gaussian(mu, delta) if mu else 0.0
    assert {one.kind for one in moving} == {"laplace"}
    return oracles.laplace([one.norms.l1 / one.scale for one in moving], delta)


@pytest.mark.parametrize(
    "name",
    list(ASKED),
)
def test_a_bound_is_not_below_what_is_true(name):
    case = ASKED[name]
    found = read_movement_bounds(case.mechanism, case.dataset, case.neighbour)
    if isinstance(found, MovementBounds):
        bound = epsilon_of_bounds(found, case.delta)
        assert bound >= case.least_epsilon
        if case.reading == "outputs":
            assert bound == pytest.approx(case.epsilon, rel=1e-6)


def test_most_plain_loops_have_a_bound():
    read = {
        name
        for name, case in LAWS.items()
        if name in ASKED
        and isinstance(
            read_movement_bounds(case.mechanism, case.dataset, case.neighbour), MovementBounds
        )
    }
    assert read >= {
        "mean_by_corrections", "gradient_descent", "consensus_admm", "follow_the_leader",
        "momentum", "running averages",
    }  # fmt: skip
