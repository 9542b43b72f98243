import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.datasets import Dataset, split_evenly, split_unevenly, subset
from dpaudit.errors import InvalidArgument

SEEDS = st.integers(0, 2**32 - 1)
SPLITS = pytest.mark.parametrize("split", [split_evenly, split_unevenly])


def numbered(records):
    """Records that can be told apart, each with a label that fits it."""
    rows = np.arange(records, dtype=float)
    return Dataset(np.column_stack([rows, -rows]), np.where(rows % 2, 1.0, -1.0), name="numbered")


def contents(dataset):
    return sorted(zip(*dataset.features.T.tolist(), dataset.labels.tolist(), strict=True))


@st.composite
def sizes(draw):
    records = draw(st.integers(1, 60))
    return records, draw(st.integers(1, records))


@SPLITS
@given(size=sizes(), seed=SEEDS)
def test_a_split_keeps_every_record_with_its_label(split, size, seed):
    records, nodes = size
    data = numbered(records)
    dealt = split(data, nodes, np.random.default_rng(seed))
    assert contents(dealt) == contents(data)
    assert dealt.nodes == nodes
    assert sum(dealt.node_sizes) == records
    assert min(dealt.node_sizes) >= 1
    assert dealt.name == "numbered"


@given(size=sizes(), seed=SEEDS)
def test_even_sizes_differ_by_at_most_one(size, seed):
    records, nodes = size
    dealt = split_evenly(numbered(records), nodes, np.random.default_rng(seed)).node_sizes
    assert max(dealt) - min(dealt) <= 1


@given(size=sizes(), seed=SEEDS, concentration=st.floats(1e-320, 1e308))
def test_any_concentration_gives_a_partition(size, seed, concentration):
    records, nodes = size
    rng = np.random.default_rng(seed)
    dealt = split_unevenly(numbered(records), nodes, rng, concentration=concentration)
    assert sum(dealt.node_sizes) == records
    assert min(dealt.node_sizes) >= 1


def test_concentration_decides_how_even_the_sizes_are():
    data = numbered(1000)

    def spread(concentration):
        rngs = (np.random.default_rng(seed) for seed in range(20))
        dealt = [split_unevenly(data, 5, rng, concentration=concentration) for rng in rngs]
        return np.mean([np.std(each.node_sizes) for each in dealt])

    assert spread(0.01) > spread(1.0) > spread(100.0)
    assert spread(1e6) < 2


def test_sizes_follow_the_dirichlet_means_and_variances():
    data = numbered(2000)
    rng = np.random.default_rng(7)
    shares = np.array([split_unevenly(data, 4, rng).node_sizes for _ in range(400)]) / 2000
    # Dirichlet(1, 1, 1, 1): mean 1/4, variance (1/4 * 3/4) / 5; four standard errors of slack.
    deviation = np.sqrt(3 / 80)
    np.testing.assert_allclose(shares.mean(axis=0), 0.25, atol=4 * deviation / 20)
    np.testing.assert_allclose(shares.std(axis=0), deviation, rtol=0.2)


@SPLITS
def test_one_seed_gives_one_split(split):
    data = numbered(50)
    first, again, other = (split(data, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.features, again.features)
    assert first.node_sizes == again.node_sizes
    assert not np.array_equal(first.features, other.features)


@SPLITS
def test_a_split_dataset_may_be_split_again(split):
    data = split_evenly(numbered(20), 4, np.random.default_rng(0))
    assert split(data, 3, np.random.default_rng(1)).nodes == 3


@given(size=sizes(), seed=SEEDS)
def test_a_subset_draws_distinct_records_with_their_labels(size, seed):
    records, drawn = size
    data = numbered(records)
    part = contents(subset(data, drawn, np.random.default_rng(seed)))
    assert len(set(part)) == drawn
    assert set(part) <= set(contents(data))


def test_a_subset_is_held_by_one_node_and_follows_the_seed():
    data = split_evenly(numbered(50), 5, np.random.default_rng(0))
    first, again, other = (subset(data, 10, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.node_sizes == (10,)
    np.testing.assert_array_equal(first.features, again.features)
    assert contents(first) != contents(other)


@pytest.mark.parametrize("function", [split_evenly, split_unevenly, subset])
@pytest.mark.parametrize("count", [0, -1, 11, 2.0, True, "3", None])
def test_a_bad_count_is_refused(function, count):
    with pytest.raises(InvalidArgument, match=r"(nodes|records): got"):
        function(numbered(10), count, np.random.default_rng(0))


@pytest.mark.parametrize("function", [split_evenly, split_unevenly, subset])
@pytest.mark.parametrize("rng", [0, None, np.random.RandomState(0), np.random])
def test_what_is_no_generator_is_refused(function, rng):
    with pytest.raises(InvalidArgument, match="rng: got"):
        function(numbered(10), 2, rng)


@pytest.mark.parametrize("concentration", [0, -1, np.nan, np.inf, "1", True])
def test_a_bad_concentration_is_refused(concentration):
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidArgument, match="concentration: got"):
        split_unevenly(numbered(10), 2, rng, concentration=concentration)
