"""Small instances: the smallest is found, the same from one seed, and nothing is invented."""

import pytest
from hypothesis import configuration, strategies

from dpaudit.errors import InvalidArgument
from dpaudit.refutation import Condition, Inequality, minimal

NUMBERS = strategies.lists(strategies.integers(0, 50), max_size=6)


def sums(limit, most=50.0):
    return Inequality(
        name="sum",
        source="an example",
        sides=lambda values: (float(sum(values)), limit),
        conditions=lambda values: (
            Condition(name="small", value=float(max(values, default=0)), limit=most),
        ),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_instance_is_found_whatever_the_seed(seed):
    assert minimal(NUMBERS, sums(40.0), seed=seed) == [41]


def test_the_conditions_are_kept():
    numbers = strategies.lists(strategies.integers(0, 14), max_size=6)
    found = minimal(numbers, sums(40.0, most=10.0), budget=2000)
    assert len(found) == 5
    assert sum(found) == 41
    assert max(found) <= 10


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_where_nothing_breaks_the_claim(seed):
    assert minimal(NUMBERS, sums(300.0), seed=seed) is None


def test_generation_climbs_towards_rare_violations():
    """Of six digits only 0.2% of the random lists sum to 280 or more."""
    assert minimal(NUMBERS, sums(279.0), budget=3000) is not None


def test_one_seed_gives_one_instance():
    rare = strategies.lists(strategies.floats(0, 1), min_size=3, max_size=3)
    claim = sums(1.7)
    assert minimal(rare, claim, seed=7) == minimal(rare, claim, seed=7)


def test_the_budget_is_at_least_one():
    with pytest.raises(InvalidArgument, match="budget: got 0"):
        minimal(NUMBERS, sums(1.0), budget=0)


def test_nothing_is_written_where_one_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []

    def noted(value):
        seen.append(configuration.storage_directory("constants").path)
        return value

    before = configuration.storage_directory().path
    minimal(strategies.integers(0, 9).map(noted), TOO_LARGE, budget=5)
    assert seen
    assert not any(path.is_relative_to(before) or path.exists() for path in seen)
    assert configuration.storage_directory().path == before
    assert list(tmp_path.iterdir()) == []


TOO_LARGE = Inequality(
    name="small", source="s", sides=lambda x: (float(x), 5.0), conditions=lambda x: ()
)
