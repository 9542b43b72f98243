"""CheckDP's seventeen programs, written anew: eight keep the epsilon that they claim, nine do not.

CheckDP (Wang, Ding, Kifer and Zhang, CCS 2020) proves programs of a small language or finds a
counterexample. Which programs these are, and what is wrong with nine of them, is taken from the
literature; the code is ours. Where a paper leaves a number open, it is set here so that a few
answers are enough to show what is wrong.

An adversary may have all answers moved by up to 1, each in a direction of its own: records are rows
of [0, 1], the answers are sums of columns, and one row is replaced (`EVERY_ANSWER`). Of monotone
answers a row is added or removed (`ONE_DIRECTION`). Of running sums one number of a list is
replaced (`ONE_ANSWER`).

    dpaudit audit examples/checkdp.py:sparse_vector --domain bounds=[0,1] --domain records=3 \
        --domain columns=6 --relation replace-record --epsilon 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

EPSILON = 1.0
THRESHOLD = 0.5


@dataclass(frozen=True)
class Program:
    """A program, what it claims, and what is wrong with it, if anything."""

    name: str
    release: Callable[..., Any]
    domain: dict[str, Any]
    relation: str
    epsilon: float = EPSILON
    wrong: str = ""


def answers_of(data):
    """Return the answers to queries: how much of each column there is."""
    return data.sum(axis=0)


# The largest answer


def report_noisy_max(data, rng: Generator):
    answers = answers_of(data)
    return int(np.argmax(answers + rng.laplace(scale=2 / EPSILON, size=len(answers))))


def noisy_max_with_its_value(data, rng: Generator):
    answers = answers_of(data)
    return float(np.max(answers + rng.laplace(scale=2 / EPSILON, size=len(answers))))


# Above a threshold: the first one, of all answers


def sparse_vector(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=2 / EPSILON)
    said = []
    for answer in answers_of(data):
        said.append(answer + rng.laplace(scale=4 / EPSILON) >= limit)
        if said[-1]:
            break
    return said


def sparse_vector_of_monotone_answers(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=2 / EPSILON)
    said = []
    for answer in answers_of(data):
        said.append(answer + rng.laplace(scale=2 / EPSILON) >= limit)
        if said[-1]:
            break
    return said


def sparse_vector_without_noise_of_answers(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=2 / EPSILON)
    return [answer >= limit for answer in answers_of(data)]


def sparse_vector_without_end(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=2 / EPSILON)
    return [answer + rng.laplace(scale=2 / EPSILON) >= limit for answer in answers_of(data)]


def sparse_vector_whose_noise_ignores_the_number(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=4 / EPSILON)
    said = []
    for answer in answers_of(data):
        said.append(answer + rng.laplace(scale=4 / (3 * EPSILON)) >= limit)
        if sum(said) == 3:
            break
    return said


def sparse_vector_with_imprecise_noise(data, rng: Generator):
    """Add noise that is enough for monotone answers alone."""
    return sparse_vector_of_monotone_answers(data, rng)


# Above a threshold, and by how much


def gap_sparse_vector(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=2 / EPSILON)
    said = []
    for answer in answers_of(data):
        noisy = answer + rng.laplace(scale=4 / EPSILON)
        if noisy >= limit:
            said.append(noisy - limit)
            break
        said.append(0.0)
    return said


def gap_sparse_vector_with_the_answer(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=2 / EPSILON)
    said = []
    for answer in answers_of(data):
        noisy = answer + rng.laplace(scale=2 / EPSILON)
        if noisy >= limit:
            said.append(noisy)
            break
        said.append(0.0)
    return said


def numeric_sparse_vector(data, rng: Generator):
    limit = THRESHOLD + rng.laplace(scale=3 / EPSILON)
    said = []
    for answer in answers_of(data):
        if answer + rng.laplace(scale=6 / EPSILON) >= limit:
            said.append(answer + rng.laplace(scale=3 / EPSILON))
            break
        said.append(0.0)
    return said


def adaptive_sparse_vector(data, rng: Generator):
    """Spend half of epsilon on the limit; an answer far above it costs half of others."""
    near, far = EPSILON / 2, EPSILON / 4
    limit, cost = THRESHOLD + rng.laplace(scale=2 / EPSILON), EPSILON / 2
    said = []
    for answer in answers_of(data):
        noisy = answer + rng.laplace(scale=2 / far)
        if noisy >= limit + 8 / EPSILON:
            said.append(("far", noisy - limit))
            cost += far
        else:
            noisy = answer + rng.laplace(scale=2 / near)
            is_near = noisy >= limit
            said.append(("near", noisy - limit) if is_near else ("below", 0.0))
            cost += near if is_near else 0.0
        if cost > EPSILON - near:
            break
    return said


def adaptive_sparse_vector_that_charges_nothing(data, rng: Generator):
    """Give what is near the limit away for nothing, and with half of the noise."""
    near, far = EPSILON / 2, EPSILON / 4
    limit, cost = THRESHOLD + rng.laplace(scale=2 / EPSILON), EPSILON / 2
    said = []
    for answer in answers_of(data):
        noisy = answer + rng.laplace(scale=2 / far)
        if noisy >= limit + 8 / EPSILON:
            said.append(("far", noisy - limit))
            cost += far
        else:
            noisy = answer + rng.laplace(scale=1 / near)
            said.append(("near", noisy - limit) if noisy >= limit else ("below", 0.0))
        if cost > EPSILON - near:
            break
    return said


# Running sums


def partial_sum(data, rng: Generator):
    total = 0.0
    for one in data:
        total = total + one
    return total + rng.laplace(scale=1 / EPSILON)


def partial_sum_with_half_the_noise(data, rng: Generator):
    total = 0.0
    for one in data:
        total = total + one
    return total + rng.laplace(scale=1 / (2 * EPSILON))


def smart_sum(data, rng: Generator):
    """Return running sums: a noisy total of each full block, and noise for each number since."""
    done, block, since = 0.0, 0.0, 0.0
    sums = []
    for k, one in enumerate(data, 1):
        block = block + one
        if k % BLOCK == 0:
            done = done + block + rng.laplace(scale=1 / EPSILON)
            block, since = 0.0, 0.0
            sums.append(done)
        else:
            since = since + one + rng.laplace(scale=1 / EPSILON)
            sums.append(done + since)
    return sums


def smart_sum_that_keeps_its_block(data, rng: Generator):
    """Keep what is in a full block, so that a number is in every later block too."""
    done, block, since = 0.0, 0.0, 0.0
    sums = []
    for k, one in enumerate(data, 1):
        block = block + one
        if k % BLOCK == 0:
            done = done + block + rng.laplace(scale=1 / EPSILON)
            since = 0.0
            sums.append(done)
        else:
            since = since + one + rng.laplace(scale=1 / EPSILON)
            sums.append(done + since)
    return sums


BLOCK = 2
ANSWERS = 6
EVERY_ANSWER = ({"bounds": (0, 1), "records": 1, "columns": ANSWERS}, "replace-record")
ONE_DIRECTION = ({"bounds": (0, 1), "records": (1, 3), "columns": ANSWERS}, "add-remove-record")
ONE_ANSWER = ({"bounds": (0, 1), "records": 8}, "replace-record")

PROGRAMS = (
    Program("ReportNoisyMax", report_noisy_max, *EVERY_ANSWER),
    Program(
        "BadNoisyMax",
        noisy_max_with_its_value,
        *EVERY_ANSWER,
        wrong="it returns the largest noisy answer, but the noise pays only for its index",
    ),
    Program("SVT", sparse_vector, *EVERY_ANSWER),
    Program("MonotoneSVT", sparse_vector_of_monotone_answers, *ONE_DIRECTION),
    Program(
        "BadSVT1",
        sparse_vector_without_noise_of_answers,
        *EVERY_ANSWER,
        wrong="it adds no noise to the answers",
    ),
    Program(
        "BadSVT2",
        sparse_vector_without_end,
        *EVERY_ANSWER,
        wrong="it goes on after an answer above the limit",
    ),
    Program(
        "BadSVT3",
        sparse_vector_whose_noise_ignores_the_number,
        *EVERY_ANSWER,
        wrong="it reports three answers above the limit, with noise that is too small even for one",
    ),
    Program(
        "ImpreciseSVT",
        sparse_vector_with_imprecise_noise,
        *EVERY_ANSWER,
        wrong="answers that move in either direction get the noise of monotone answers",
    ),
    Program("GapSVT", gap_sparse_vector, *EVERY_ANSWER),
    Program(
        "BadGapSVT",
        gap_sparse_vector_with_the_answer,
        *EVERY_ANSWER,
        wrong="it returns the noisy answer that it compared, with half of the needed noise",
    ),
    Program("NumSVT", numeric_sparse_vector, *EVERY_ANSWER),
    Program("AdaptiveSVT", adaptive_sparse_vector, *EVERY_ANSWER),
    Program(
        "BadAdaptiveSVT",
        adaptive_sparse_vector_that_charges_nothing,
        *EVERY_ANSWER,
        wrong="answers near the limit cost nothing, and get half of the noise",
    ),
    Program("PartialSum", partial_sum, *ONE_ANSWER),
    Program(
        "BadPartialSum",
        partial_sum_with_half_the_noise,
        *ONE_ANSWER,
        wrong="it adds half of the noise that one number needs",
    ),
    Program("SmartSum", smart_sum, *ONE_ANSWER, epsilon=2 * EPSILON),
    Program(
        "BadSmartSum",
        smart_sum_that_keeps_its_block,
        *ONE_ANSWER,
        epsilon=2 * EPSILON,
        wrong="a number stays in its block and in all later blocks",
    ),
)
