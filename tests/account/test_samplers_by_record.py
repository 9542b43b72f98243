"""Steps, participations and losses of every sampler, against loaders run record by record."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.accounting.events import (
    AllocatedGaussian,
    BatchedGaussian,
    GaussianRelease,
    PoissonSubsampledGaussian,
    ShuffledGaussian,
)
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon
from dpaudit.accounts.target import read_target
from dpaudit.accounts.training import COVERED, Training, _against_poisson
from dpaudit.errors import InvalidArgument
from tests.account import samplers_by_record as loaders

SAMPLERS = (*loaders.BY_STEP, *loaders.BY_EPOCH)


def event_of(**public):
    """Return what the command takes for the releases of a training."""
    (part,) = read_target("dp-sgd", {"noise_multiplier": 1.0, **public}).parts
    return part.event


def counted(event):
    """Return the noisy sums of an event, and how many of them at most hold a record."""
    match event:
        case PoissonSubsampledGaussian() | BatchedGaussian():
            return event.count, event.count
        case ShuffledGaussian() | AllocatedGaussian():
            return event.batches * event.count, event.count
        case GaussianRelease():
            return None, event.count  # only the sums that hold a record are accounted for


def part_in(batches):
    """Return in how many batches each record is."""
    return Counter(record for batch in batches for record in set(batch))


sizes = st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda one: (max(one), min(one)))


# How many steps, and how often a record takes part


@settings(max_examples=40)
@given(
    size=sizes, epochs=st.integers(1, 4), sampling=st.sampled_from(SAMPLERS), seed=st.integers(0)
)
def test_epochs_are_as_many_steps_as_a_loader_makes(size, epochs, sampling, seed):
    records, batch = size
    rng = np.random.default_rng(seed)
    made = list(loaders.train(sampling, records, batch, epochs, rng))
    event = event_of(records=records, batch_size=batch, epochs=epochs, sampling=sampling)
    steps, most = counted(event)
    assert steps in (None, len(made))
    seen = part_in(made)
    assert max(seen.values(), default=0) <= most
    if sampling in (*loaders.BY_EPOCH, "none"):
        assert set(seen.values()) == {most}
        assert len(seen) == records


@settings(max_examples=60)
@given(
    size=sizes,
    steps=st.integers(1, 90),
    sampling=st.sampled_from(SAMPLERS),
    word=st.sampled_from(["steps", "rounds"]),
    epochs=st.none() | st.integers(1, 5),
)
def test_steps_that_are_stated_are_those_of_a_loader_that_ends_with_an_epoch(
    size, steps, sampling, word, epochs
):
    records, batch = size
    made, whole = loaders.train_steps(sampling, records, batch, steps, np.random.default_rng(0))
    public = {"records": records, "batch_size": batch, "sampling": sampling, word: steps}
    public |= {} if epochs is None else {"epochs": epochs}
    if not whole:
        with pytest.raises(InvalidArgument, match="those of whole epochs"):
            event_of(**public)
        return
    found, most = counted(event_of(**public))
    assert found in (None, len(made))
    assert most == max(part_in(made).values()) or sampling in loaders.BY_STEP[:3]
    assert most >= max(part_in(made).values(), default=0)


@pytest.mark.parametrize("sampling", loaders.BY_STEP[:3])
@pytest.mark.parametrize(("records", "batch"), [(30, 7), (12, 11), (50, 1)])
def test_a_record_is_drawn_as_often_as_the_rate_says(sampling, records, batch):
    rng, steps = np.random.default_rng(7), 2000
    made, _ = loaders.train_steps(sampling, records, batch, steps, rng)
    drawn = Counter(record for one in made for record in one)
    event = event_of(records=records, batch_size=batch, steps=steps, sampling=sampling)
    rate = event.sampling_ratio if sampling == "poisson" else event.ratio
    assert Fraction(rate) >= Fraction(batch, records) > Fraction(math.nextafter(rate, 0)) - 1e-15
    left = 1 - (1 / records if sampling == "fixed-replacement" else rate)
    deviation = math.sqrt(steps * rate * left)
    assert max(abs(drawn[one] - steps * rate) for one in range(records)) <= 5.5 * deviation


def test_large_trainings_have_the_steps_of_their_loaders():
    public = {"records": 60_000, "batch_size": 256}
    rng = np.random.default_rng(0)
    cyclic = list(loaders.train("cyclic", 60_000, 256, 60, rng))
    assert len(cyclic) == 14_100
    assert max(Counter(batch[0] for batch in cyclic).values()) == 60
    shuffled = event_of(**public, steps=14_100, sampling="shuffle")
    assert shuffled == event_of(**public, epochs=60, sampling="shuffle")
    assert counted(shuffled) == (14_100, 60)
    # on average gone through 60 times, by a loader that only counts
    whole = next(n for n in range(20_000) if n * 256 >= 60 * 60_000)
    assert counted(event_of(**public, epochs=60))[0] == whole == 14_063
    bins = loaders.full_batches(60_000, 256)
    assert counted(event_of(**public, epochs=60, sampling="balls-and-bins"))[0] == 60 * bins


def test_rounds_and_ratios_are_taken_as_they_are_written(tmp_path):
    rounds = event_of(records=3000, batch_size=2, rounds=5000)
    assert counted(rounds) == (5000, 5000)
    assert Fraction(rounds.sampling_ratio) >= Fraction(2, 3000)
    assert rounds.sampling_ratio == pytest.approx(2 / 3000, rel=1e-15)
    (part,) = read_target("subsampled-gaussian", {"sampling_ratio": "2/3000", "count": 5000}).parts
    assert part.event == rounds
    file = tmp_path / "a.toml"
    file.write_text('[[release]]\nkind = "dp-sgd"\nrecords = 3000\nbatch_size = 2\nsteps = 5000\n')
    assert read_target(str(file), {}).event == rounds


# What a step gives away: all that a loader may draw, of few records


# Records, batch size and epochs, of which two steps are made at most
TINY = [(3, 2, 1), (4, 2, 1), (2, 1, 1), (3, 3, 2), (2, 2, 1), (1, 1, 2)]
CASES = [(one, relation, size) for one in SAMPLERS for relation in COVERED[one] for size in TINY]
DELTA = 0.05


def exact(sampling, relation, size, epsilon):
    """Return the largest delta of neighbours whose other records are all alike."""
    records, batch, epochs = size
    made = list(loaders.train(sampling, records, batch, epochs, np.random.default_rng(0)))
    count = epochs if sampling in loaders.BY_EPOCH else len(made)
    found = []
    for others in (-1, 0, 1):
        for pair in loaders.neighbours(relation, records, others):
            laws = (loaders.sums(sampling, one, batch, records, count) for one in pair)
            found.append(loaders.lost(*laws, 1.0, epsilon))
    return max(found)


def stated(sampling, relation, size, **changes):
    records, batch, epochs = size
    return {
        "records": records, "batch_size": batch, "epochs": epochs, "sampling": sampling,
        "relation": relation, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(("sampling", "relation", "size"), CASES)
def test_all_that_a_loader_may_draw_loses_what_is_proved(sampling, relation, size):
    found = bound_proved_epsilon(event_of(**stated(sampling, relation, size)), DELTA)
    assert exact(sampling, relation, size, found.upper) <= DELTA * (1 + 1e-3)
    if found.lower > 0:
        assert exact(sampling, relation, size, found.lower) >= DELTA * (1 - 1e-3)


@pytest.mark.parametrize(("sampling", "relation", "size"), CASES)
def test_a_claim_for_poisson_samples_that_is_called_false_is_false(sampling, relation, size):
    training = Training(noise_multiplier=1.0, **stated(sampling, relation, size))
    claim = bound_proved_epsilon(event_of(**stated("poisson", relation, size)), DELTA).upper
    if _against_poisson(training, DELTA):
        assert exact(sampling, relation, size, claim) > DELTA


@pytest.mark.parametrize("sampling", ["poisson", "cyclic", "balls-and-bins", "none"])
def test_a_tenth_more_noise_than_there_is_would_be_seen(sampling):
    """A negative control: where both ends meet, little is enough."""
    case = sampling, COVERED[sampling][0], (4, 2, 1)
    found = bound_proved_epsilon(event_of(**stated(*case, noise_multiplier=1.1)), DELTA)
    assert exact(*case, found.upper) > 1.02 * DELTA


def test_a_batch_of_all_records_is_a_poisson_sample_of_rate_one():
    """Under the relation that the loader has: under another one Poisson samples lose half."""
    training = Training(
        sampling="fixed", records=4, batch_size=4, epochs=1, noise_multiplier=1.0, relation=None
    )
    assert _against_poisson(training, DELTA) == []
