"""Loaders as they are defined, record by record: who is in which batch, and what that gives away.

Nothing of `dpaudit` is used. A batch lists its records, each as often as it is drawn; a step
releases the noisy sum of one batch.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

BY_STEP = ("poisson", "fixed", "fixed-replacement", "none")  # each batch is a fresh draw
BY_EPOCH = ("shuffle", "cyclic", "balls-and-bins")  # go through the records


def cut(order, batch):
    """Return an order of records in batches, of which the last may be short."""
    return [list(order[start : start + batch]) for start in range(0, len(order), batch)]


def full_batches(records, batch):
    """Return how many batches of that size the records fill."""
    return len([one for one in cut(range(records), batch) if len(one) == batch])


def draw_step(sampling, records, batch, rng):
    everybody = np.arange(records)
    match sampling:
        case "poisson":
            return everybody[rng.random(records) < batch / records].tolist()
        case "fixed":
            return rng.permutation(records)[:batch].tolist()
        case "fixed-replacement":
            return [int(rng.integers(records)) for _ in range(batch)]
    return everybody.tolist()


def draw_epoch(sampling, records, batch, rng):
    match sampling:
        case "shuffle":
            return cut(rng.permutation(records).tolist(), batch)
        case "cyclic":
            return cut(range(records), batch)
    bins = [[] for _ in range(full_batches(records, batch))]
    for record in range(records):
        bins[int(rng.integers(len(bins)))].append(record)
    return bins


def train(sampling, records, batch, epochs, rng):
    """Yield the batches of so many epochs: until the records are gone through, on average."""
    if sampling in BY_EPOCH:
        for _ in range(epochs):
            yield from draw_epoch(sampling, records, batch, rng)
        return
    wanted = 0
    while wanted < epochs * records:
        wanted += batch
        yield draw_step(sampling, records, batch, rng)


def train_steps(sampling, records, batch, steps, rng):
    """Return so many batches, and whether an epoch ends with the last."""
    found, whole = [], True
    while len(found) < steps:
        if sampling in BY_EPOCH:
            epoch = draw_epoch(sampling, records, batch, rng)
            whole = len(found) + len(epoch) <= steps
            found += epoch[: steps - len(found)]
        else:
            found.append(draw_step(sampling, records, batch, rng))
    return found, whole


# All that may be drawn, with its probability: of few records


def laws_of_step(sampling, records, batch, rate):
    """Return the probability of every batch of a step; ``rate`` is that of a Poisson sample.

    Of too few records for a batch all that there are make one.
    """
    everybody = range(records)
    match sampling:
        case "poisson":
            sizes = range(records + 1)
            subsets = [one for k in sizes for one in itertools.combinations(everybody, k)]
            return [(rate ** len(s) * (1 - rate) ** (records - len(s)), [s]) for s in subsets]
        case "fixed":
            alike = [[one] for one in itertools.combinations(everybody, min(batch, records))]
        case "fixed-replacement":
            alike = [[one] for one in itertools.product(everybody, repeat=batch)] or [[()]]
        case _:
            alike = [[tuple(everybody)]]
    return [(Fraction(1, len(alike)), one) for one in alike]


def laws_of_epoch(sampling, records, batch, bins):
    """Return the probability of every epoch; ``bins`` are those that records pick from."""
    match sampling:
        case "shuffle":
            alike = [cut(order, batch) for order in itertools.permutations(range(records))]
        case "cyclic":
            alike = [cut(range(records), batch)]
        case _:
            alike = [
                [[n for n in range(records) if picked[n] == one] for one in range(bins)]
                for picked in itertools.product(range(bins), repeat=records)
            ]
    return [(Fraction(1, len(alike)), one) for one in alike]


def sums(sampling, terms, batch, public, count):
    """Return the probability of every sequence of sums over so many steps or epochs.

    ``public`` is the number of records of the larger dataset, from which a loader has its rate and
    its bins whatever the dataset.
    """
    if sampling in BY_STEP:
        law = laws_of_step(sampling, len(terms), batch, Fraction(batch, public))
    else:
        law = laws_of_epoch(sampling, len(terms), batch, full_batches(public, batch))
    one = defaultdict(Fraction)
    for chance, batches in law:
        one[tuple(sum(terms[n] for n in held) for held in batches)] += chance
    found = {(): Fraction(1)}
    for _ in range(count):
        after = defaultdict(Fraction)
        for (seen, p), (new, q) in itertools.product(found.items(), one.items()):
            after[seen + new] += p * q
        found = after
    return found


def density(law, noise, axes):
    """Return the density of noisy sums on a grid, of at most two steps."""
    found = 0.0
    for means, chance in law.items():
        whole = np.ones(())
        for mean in means:
            one = np.exp(-(((axes - mean) / noise) ** 2) / 2) / (noise * np.sqrt(2 * np.pi))
            whole = np.multiply.outer(whole, one)
        found = found + float(chance) * whole
    return found


def lost(one, other, noise, epsilon):
    """Return the larger delta of two laws of sums at an epsilon, both ways, by quadrature."""
    means = [mean for law in (one, other) for seen in law for mean in seen]
    axes = np.linspace(min(means) - 8 * noise, max(means) + 8 * noise, 901)
    p, q = (density(law, noise, axes) for law in (one, other))
    cell = (axes[1] - axes[0]) ** p.ndim
    return max(
        float(np.maximum(a - np.exp(epsilon) * b, 0).sum() * cell) for a, b in ((p, q), (q, p))
    )


def neighbours(relation, records, others) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the terms of two datasets that differ in the first record."""
    rest = [others] * (records - 1)
    match relation:
        case "add-remove-record":
            yield [1, *rest], rest
        case "zero-out-record":
            yield [1, *rest], [0, *rest]
        case "replace-record":
            yield [1, *rest], [-1, *rest]
