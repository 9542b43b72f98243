"""A trace of a hundred thousand operations, and how much longer it takes than a plain run."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from dpaudit.domains import Domain
from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.runs.reading import read_trace

ROUNDS, EVERY = 25_000, 2_500


@dataclass(frozen=True)
class Measured:
    """A long trace: seconds of a processor, of one plain run and of all parts of a proof.

    Attributes
    ----------
    operations
        Of the program.
    read
        Seconds of reading it, with two datasets compared.
    bound
        Seconds of bounding its epsilon.
    plain
        Seconds of the function itself.
    """

    operations: int
    epsilon: float
    plain: float
    read: float
    bound: float

    @property
    def ratio(self) -> float:
        """How many plain runs the reading takes."""
        return self.read / self.plain


def long_descent(data, rng):
    """Return a number after 25,000 rounds, of which every 2,500th asks the data."""
    clipped = np.clip(data, 0, 1)
    state = rng.laplace(scale=1.0)
    for k in range(ROUNDS):
        state = 0.5 * state + 0.1
        state = np.minimum(np.abs(state), 2.0)
        if k % EVERY == 0:
            state = state + clipped.mean() + rng.laplace(scale=1.0)
    return state


def measured(runs: int = 2) -> Measured:
    """Return how long the trace takes."""
    began = time.process_time()
    long_descent(np.zeros(10), np.random.default_rng(0))
    plain = time.process_time() - began
    began = time.process_time()
    domain = Domain(bounds=(0, 1), records=10)
    trace = read_trace(long_descent, domain, "replace-record", runs=runs)
    read = time.process_time() - began
    began = time.process_time()
    epsilon = bound_trace(trace).pure
    bound = time.process_time() - began
    operations = len(trace.paths[0].program.nodes)
    return Measured(operations, epsilon, plain, read, bound)


if __name__ == "__main__":
    found = measured()
    print(found, f"ratio {found.ratio:.1f}")
