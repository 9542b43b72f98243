"""The certification of a scan: what it spends, on which outputs, and how often it errs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.execution.failures import WorkerEnded
from dpaudit.guarantees.kinds import ApproximateDP, PureDP
from dpaudit.mechanisms.outputs.layout import layout_of
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.scan.certification import certify
from dpaudit.scan.certification.certify import SampleSizes, certify_claim
from dpaudit.scan.remote.foreign import SharedCall

PAIR = Pair(np.array([0.0]), np.array([1.0]), REPLACE_RECORD)


class NoCrew:
    """Processes of a mechanism that has none."""

    def close(self):
        """End nothing."""

    def patient(self, seconds):
        return contextlib.nullcontext()


@dataclass(frozen=True)
class Local:
    """A mechanism of this process with the face of one that is elsewhere.

    ``draw(value, count, rng)`` returns so many outputs on the dataset of one value. ``fails`` says
    how its first attempt ends; ``purposes`` remembers every generator that it drew with.
    """

    draw: Callable[[float, int, np.random.Generator], Any]
    fails: type[Exception] | None = None
    many: bool = True
    alone: bool = False
    layout: Any = None
    crew: Any = field(default_factory=NoCrew)
    words: list[int] = field(default_factory=list)

    def drawn_apart(self):
        return replace(self, many=False, fails=None)

    def one_by_one(self):
        return replace(self, alone=True, fails=None)

    def having(self, layout):
        return replace(self, layout=layout)

    def laid_out(self, datasets, count, rngs):
        return layout_of(
            [self.draw(float(d[0]), count, r) for d, r in zip(datasets, rngs, strict=True)]
        )

    def watched(self, datasets, seed, ahead, patience):
        """Return answers, as of what touches nothing."""
        rngs = np.random.default_rng(seed).spawn(2)
        found = [self.draw(float(d[0]), 3, r) for d, r in zip(datasets, rngs, strict=True)]
        return [], [self.layout.rows(one, 3) for one in found]

    def in_turn(self, datasets, trials, rng):
        self.words.append(int(rng.integers(2**63)))
        found = [self.draw(float(one[0]), trials, rng) for one in datasets]
        # What fails does so where events are counted.
        if self.fails is not None and len(self.words) == 2:
            raise self.fails("as the test asks")
        return [self.layout.rows(one, trials) for one in found]


def coin(rate, other):
    """Return a mechanism of one bit with these rates of 1."""

    def draw(value, count, rng):
        return (rng.random(count) < (rate if value == 0 else other)).astype(float)

    return Local(draw)


def laplace(scale, parts=1):
    def draw(value, count, rng):
        noise = rng.laplace(scale=scale, size=(count, parts))
        return noise + value if parts > 1 else noise[:, 0] + value

    return Local(draw)


@pytest.fixture
def spent(monkeypatch):
    """Return the error probabilities of all events that are counted, as they are spent."""
    found, original = [], certify._test_event_on_fresh

    def counting(tried, fresh, delta, alpha):
        found.append(alpha)
        return original(tried, fresh, delta, alpha)

    monkeypatch.setattr(certify, "_test_event_on_fresh", counting)
    return found


@pytest.mark.parametrize(
    ("fails", "left"), [(None, 0.05), (SharedCall, 0.025), (WorkerEnded, 0.05)]
)
def test_no_more_than_alpha_may_be_spent_in_all(spent, fails, left):
    """What starts again does so with what the attempts before could not have spent."""
    mechanism = replace(laplace(1.0, parts=4), fails=fails)
    certify_claim(mechanism, PAIR, PureDP(1.0), SampleSizes(100, 100), 0.1, seed=3)
    assert 2 <= len(spent) <= certify.ATTEMPTS
    assert spent == pytest.approx([left / certify.ATTEMPTS] * len(spent))


@pytest.mark.parametrize("why", ["", "a file holds them"])
def test_what_may_share_noise_certifies_nothing_and_all_that_was_drawn_is_counted(monkeypatch, why):
    monkeypatch.setattr(certify, "_why_kept", lambda *_: why)
    found = certify_claim(coin(0.9, 0.1), PAIR, PureDP(0.5), SampleSizes(100, 400), 0.1, seed=3)
    assert (found.refuted, found.kept, found.why) == (not why, bool(why), why)
    assert (found.lower > 0.5) is not bool(why)
    assert found.lower == 0.0 or not why
    assert (found.event is None) is (found.tested is None) is bool(why)
    assert found.drawn == 2 * (32 + 100 + found.counting)
    none = certify_claim(coin(0.5, 0.5), PAIR, PureDP(0.5), SampleSizes(100, 400), 0.1, seed=3)
    assert (none.refuted, none.kept, none.counting) == (False, False, 400)
    assert none.drawn == 2 * (32 + 100 + 400)


@pytest.mark.parametrize("fails", [None, SharedCall, WorkerEnded])
def test_no_output_is_drawn_twice(fails):
    mechanism = replace(laplace(1.0), fails=fails)
    certify_claim(mechanism, PAIR, PureDP(1.0), SampleSizes(400, 1000), 0.1, seed=3)
    words = mechanism.words
    assert len(words) == len(set(words)) == (2 if fails is None else 4)


@pytest.mark.parametrize(
    ("rate", "other"), [(0.5, 0.5 / math.e), (0.5 / math.e, 0.5), (1.0, 0.5), (0.5, 1.0)]
)
def test_a_tight_claim_is_refuted_as_rarely_as_is_asked(rate, other):
    """At a large alpha, where an error shows: either side, an event or its complement."""
    high, low = max(rate, other), min(rate, other)
    epsilon = math.log(high / low)
    delta = max(0.0, 1 - min(math.exp(epsilon) * (1 - high), 1.0) - low) if high == 1 else 0.0
    claim = ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    alpha, seeds = 0.5, 25
    refuted = sum(
        certify_claim(
            coin(rate, other), PAIR, claim, SampleSizes(64, 200), alpha, seed=seed
        ).refuted
        for seed in range(seeds)
    )
    assert refuted <= binom.ppf(0.99999, seeds, alpha / (2 * certify.ATTEMPTS))


@pytest.mark.parametrize(("rate", "other"), [(0.6, 0.1), (0.1, 0.6), (0.99, 0.5), (0.5, 0.99)])
def test_a_false_claim_is_refuted_on_whichever_side_it_shows(rate, other):
    found = certify_claim(
        coin(rate, other), PAIR, PureDP(0.2), SampleSizes(200, 4000), 1e-6, seed=5
    )
    truth = max(abs(math.log(rate / other)), abs(math.log((1 - rate) / (1 - other))))
    assert found.refuted
    assert 0.2 < found.lower < truth
    # The counts are of what the test says, or of what its words say.
    outputs = np.array([0.0, 1.0])
    happens = holds(found.event, outputs)
    expected = [float(happens @ [1 - one, one]) for one in (rate, other)]
    seen = np.array([found.event.on_dataset, found.event.on_neighbour]) / found.event.runs
    assert np.allclose(seen, expected, atol=5 / math.sqrt(found.event.runs))


def holds(event, outputs):
    """Return where the test of an event of one number holds."""
    if event.test == "equals":
        return (outputs == event.value).astype(float)
    return ((outputs > event.value) == (event.test == "above")).astype(float)


def test_a_claim_that_holds_is_certified_close_to_it():
    found = certify_claim(laplace(1.0), PAIR, PureDP(1.0), SampleSizes(2000, 20_000), 1e-6, seed=6)
    assert not found.refuted
    assert 0.8 < found.lower < 1.0
    assert (found.claimed, found.at_delta) == (1.0, 0.0)


def test_the_event_says_the_side_of_its_threshold():
    found = certify_claim(laplace(0.3), PAIR, PureDP(1.0), SampleSizes(500, 4000), 1e-6, seed=7)
    assert found.refuted
    value, above = found.event.value, found.event.test == "above"
    rng = np.random.default_rng(8)
    for centre, seen in ((0.0, found.event.on_dataset), (1.0, found.event.on_neighbour)):
        draws = centre + rng.laplace(scale=0.3, size=200_000)
        rate = float((draws > value).mean() if above else (draws <= value).mean())
        assert seen / found.event.runs == pytest.approx(rate, abs=0.05)


def always(on_neighbour):
    """Return a mechanism that is private on the dataset, with something else on the neighbour."""

    def draw(value, count, rng):
        noise = rng.laplace(size=count).tolist()
        return [{"a": one} if value == 0 else on_neighbour(one) for one in noise]

    return Local(draw)


@pytest.mark.parametrize(
    ("mechanism", "fault"),
    [
        (always(lambda one: {"a": one, "b": one}), "DPA006"),
        (always(lambda one: {"a": one + 9}), None),
    ],
    ids=["a key", "noise"],
)
def test_a_refutation_has_the_code_of_its_kind_of_fault(mechanism, fault):
    found = certify_claim(mechanism, PAIR, PureDP(1.0), SampleSizes(200, 2000), 1e-6, seed=7)
    assert (found.refuted, found.fault) == (True, fault)


class Sticky:
    """Answers as the first call of its process did; each process has another answer."""

    def __init__(self, vary):
        self.vary, self.process = vary, 0

    def close(self):
        self.process += 1

    def patient(self, seconds):
        return contextlib.nullcontext()

    def draw(self, value, count, rng):
        offset = np.random.default_rng([self.process, int(value)]).laplace(scale=3.0)
        return np.full(count, offset) + (self.vary * rng.random(count))


@pytest.mark.parametrize("vary", [0.0, 1e-3])
def test_outputs_that_a_process_has_in_common_refute_nothing(vary):
    process = Sticky(vary)
    mechanism = replace(Local(process.draw), crew=process)
    found = certify_claim(mechanism, PAIR, PureDP(0.5), SampleSizes(200, 2000), 1e-6, seed=9)
    assert (found.refuted, found.kept) == (False, True)


class Offset(Sticky):
    """Answers on one side of 0 on either dataset; how far off is drawn by each process."""

    def draw(self, value, count, rng):
        far = 10 + np.random.default_rng([self.process, int(value)]).random()
        return np.full(count, far if value else -far)


def test_a_part_that_never_varied_and_is_another_elsewhere_refutes_nothing():
    """The event happens as often in every process, and still nothing was drawn for it."""
    process = Offset(0.0)
    mechanism = replace(Local(process.draw), crew=process)
    found = certify_claim(mechanism, PAIR, PureDP(0.5), SampleSizes(200, 2000), 1e-6, seed=9)
    assert (found.refuted, found.kept) == (False, True)


def test_new_processes_of_the_same_law_withdraw_nothing():
    kept = sum(
        certify_claim(
            coin(0.9, 0.1), PAIR, PureDP(0.5), SampleSizes(200, 2000), 1e-6, seed=seed
        ).kept
        for seed in range(10)
    )
    assert kept == 0
