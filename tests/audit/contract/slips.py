"""Mechanisms that are 1-DP on their own, and break the contract: outputs depend on one another.

Every single output is the sum of the records plus a Laplace number of scale 1, over all the
randomness there is, that of imports, instances and processes with it.
"""

import os
import random
import sqlite3
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

FILES = Path(tempfile.gettempdir())


def fresh():
    """Return a generator of whoever calls, with noise that nobody else has."""
    return np.random.default_rng()


def laplace(rng, size=None):
    return rng.laplace(size=size)


AT_IMPORT = laplace(fresh())
MANY_AT_IMPORT = laplace(fresh(), 500)
BY_DATASET = {}


class Slip:
    """Adds the noise of `noise(dataset, trials, rng)` to the sum of the records."""

    def sample(self, dataset, trials, rng):
        return dataset.sum() + self.noise(dataset, trials, rng)


class OncePerCall(Slip):
    def noise(self, dataset, trials, rng):
        return np.full(trials, laplace(rng))


class OncePerInstance(Slip):
    def __init__(self):
        self.kept = laplace(fresh())

    def noise(self, dataset, trials, rng):
        return np.full(trials, self.kept)


class OncePerImport(Slip):
    def noise(self, dataset, trials, rng):
        return np.full(trials, AT_IMPORT)


class OncePerDataset(Slip):
    def noise(self, dataset, trials, rng):
        return np.full(trials, BY_DATASET.setdefault(dataset.tobytes(), laplace(rng)))


class OncePerDatasetOfAnInstance(Slip):
    def __init__(self):
        self.kept = {}

    def noise(self, dataset, trials, rng):
        return np.full(trials, self.kept.setdefault(dataset.tobytes(), laplace(rng)))


class PoolOfImport(Slip):
    def noise(self, dataset, trials, rng):
        return rng.choice(MANY_AT_IMPORT[:20], trials)


class PoolOfInstance(Slip):
    def __init__(self):
        self.pool = laplace(fresh(), 10)

    def noise(self, dataset, trials, rng):
        return rng.choice(self.pool, trials)


class ListInOrder(Slip):
    def __init__(self):
        self.kept, self.place = laplace(fresh(), 100), 0

    def noise(self, dataset, trials, rng):
        found = np.take(self.kept, self.place + np.arange(trials), mode="wrap")
        self.place += trials
        return found


class CachedBySize(Slip):
    @staticmethod
    @lru_cache
    def kept(size):
        return laplace(fresh(), size)

    def noise(self, dataset, trials, rng):
        return self.kept(trials)


class SharedByTheSides(Slip):
    """The k-th call on either dataset has the noise of the k-th call on the other."""

    def __init__(self):
        self.calls, self.kept = {}, {}

    def noise(self, dataset, trials, rng):
        key = dataset.tobytes()
        call = self.calls[key] = self.calls.get(key, 0) + 1
        return np.resize(self.kept.setdefault(call, laplace(rng, trials)), trials)


class OppositeOnTheSides(SharedByTheSides):
    def noise(self, dataset, trials, rng):
        return (1 - 2 * (dataset.sum() > 0)) * super().noise(dataset, trials, rng)


class OppositeCalls(Slip):
    def __init__(self):
        self.kept = None

    def noise(self, dataset, trials, rng):
        if self.kept is None or len(self.kept) != trials:
            self.kept = laplace(rng, trials)
            return self.kept
        found, self.kept = -self.kept, None
        return found


class OppositePairs(Slip):
    def noise(self, dataset, trials, rng):
        half = laplace(rng, (trials + 1) // 2)
        return np.stack([half, -half], axis=1).ravel()[:trials]


class TwoHalvesAlike(Slip):
    def noise(self, dataset, trials, rng):
        half = laplace(rng, (trials + 1) // 2)
        return np.concatenate([half, half])[:trials]


class FoursAlike(Slip):
    def noise(self, dataset, trials, rng):
        return np.repeat(laplace(rng, -(-trials // 4)), 4)[:trials]


class CommonSign(Slip):
    def noise(self, dataset, trials, rng):
        return rng.choice([-1, 1]) * np.abs(laplace(rng, trials))


class CommonHalfOfTheTime(Slip):
    def noise(self, dataset, trials, rng):
        common, own = laplace(rng), laplace(rng, trials)
        return np.where(rng.random(trials) < 0.5, common, own)


class CommonSize(Slip):
    def noise(self, dataset, trials, rng):
        return rng.choice([-1, 1], trials) * np.abs(laplace(rng))


class Chain(Slip):
    """Each output keeps the noise of the one before with a probability of .9."""

    def noise(self, dataset, trials, rng):
        anew = np.flatnonzero(np.concatenate([[True], rng.random(trials - 1) > 0.9]))
        lengths = np.diff(np.concatenate([anew, [trials]]))
        return np.repeat(laplace(rng, len(anew)), lengths)


class ChainOverCalls(Slip):
    def __init__(self):
        self.kept = laplace(fresh())

    def noise(self, dataset, trials, rng):
        if rng.random() < 0.2:
            self.kept = laplace(rng)
        return np.full(trials, self.kept)


class Counter(Slip):
    """Noise for odd calls is above the median, for even ones below."""

    def __init__(self):
        self.calls, self.first = 0, fresh().choice([0, 1])

    def noise(self, dataset, trials, rng):
        self.calls += 1
        sign = 1 if (self.calls + self.first) % 2 else -1
        return sign * np.abs(laplace(rng, trials))


class SortedInTheCall(Slip):
    def noise(self, dataset, trials, rng):
        return np.sort(laplace(rng, trials))


class SeededByTheClock(Slip):
    def noise(self, dataset, trials, rng):
        return laplace(np.random.default_rng(int(time.time())), trials)


class SeededByTheProcess(Slip):
    def noise(self, dataset, trials, rng):
        return laplace(np.random.default_rng(os.getpid()), trials)


class SeededAtImport(Slip):
    def __init__(self):
        np.random.seed(12345)  # noqa: NPY002

    def noise(self, dataset, trials, rng):
        return np.random.laplace(size=trials)  # noqa: NPY002


class SeededInTheConstructor(Slip):
    def __init__(self):
        random.seed(12345)

    def noise(self, dataset, trials, rng):
        signs = [random.choice([-1, 1]) for _ in range(trials)]
        return np.array(signs) * np.array([random.expovariate(1.0) for _ in range(trials)])


class SeededOnce(Slip):
    """A generator of its own, with one seed for everybody."""

    def __init__(self):
        self.own = np.random.default_rng(7)

    def noise(self, dataset, trials, rng):
        return laplace(self.own, trials)


class GlobalGenerator(Slip):
    """Nothing is wrong with its noise; the seed of an audit does not repeat it."""

    def noise(self, dataset, trials, rng):
        return np.random.laplace(size=trials)  # noqa: NPY002


class Environment(Slip):
    def noise(self, dataset, trials, rng):
        return np.full(trials, float(os.environ.setdefault("SLIP_OF_NOISE", str(laplace(fresh())))))


class File(Slip):
    """Noise is drawn once and kept in a file; of every run of the tests it is another one."""

    path = FILES / f"slip-{os.environ.get('SLIPS', '')}.txt"

    def noise(self, dataset, trials, rng):
        if not self.path.exists():
            self.path.write_text(str(laplace(fresh())))
        return np.full(trials, float(self.path.read_text()))


class Database(Slip):
    path = FILES / f"slip-{os.environ.get('SLIPS', '')}.sqlite"

    def noise(self, dataset, trials, rng):
        with sqlite3.connect(self.path) as kept:
            kept.execute("create table if not exists noise (value real)")
            if kept.execute("select count(*) from noise").fetchone()[0] == 0:
                kept.execute("insert into noise values (?)", (float(laplace(fresh())),))
            value = kept.execute("select value from noise").fetchone()[0]
        kept.close()
        return np.full(trials, value)


class Flip:
    """The truth of one bit, or its opposite with the probability that epsilon asks for."""

    epsilon = 1.0

    def sample(self, dataset, trials, rng):
        bit = float(dataset.sum() > 0)
        return np.full(trials, bit if self.kept(dataset, rng) else 1 - bit)

    def truthful(self, rng):
        return rng.random() < 1 / (1 + np.exp(-self.epsilon))


class FlipPerInstance(Flip):
    def __init__(self):
        self.one = self.truthful(fresh())

    def kept(self, dataset, rng):
        return self.one


class FlipPerDataset(Flip):
    def __init__(self):
        self.of = {}

    def kept(self, dataset, rng):
        return self.of.setdefault(dataset.tobytes(), self.truthful(fresh()))


class FlipPerCall(Flip):
    def kept(self, dataset, rng):
        return self.truthful(rng)


class RareFlipPerInstance(FlipPerInstance):
    epsilon = 3.0


class RareFlipPerCall(FlipPerCall):
    epsilon = 3.0


class LongListInOrder(ListInOrder):
    """A list that is longer than a call, and shorter than what bets draw."""

    def __init__(self):
        self.kept, self.place = laplace(fresh(), 1500), 0


FLIPS = (
    "FlipPerInstance",
    "FlipPerDataset",
    "FlipPerCall",
    "RareFlipPerInstance",
    "RareFlipPerCall",
)
SLIPS = (
    *(kind.__name__ for kind in Slip.__subclasses__()),
    "OppositeOnTheSides",
    "LongListInOrder",
)
