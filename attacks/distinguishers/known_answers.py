"""The suite of ``dpaudit selftest``: mechanisms, and the same attacks for every one of them."""

from __future__ import annotations

from dpaudit.algorithms.known_answer.registry import answers
from dpaudit.attacks.distinguishers.cards import LINEAR_CLASSIFIER
from dpaudit.attacks.distinguishers.histogram import HISTOGRAM
from dpaudit.attacks.distinguishers.learned.classifiers import LEARNED
from dpaudit.attacks.distinguishers.lowest_bits import LOWEST_BITS
from dpaudit.selftest.answers import Learner, Suite

SUITE = Suite(
    answers=answers,
    learners=(
        Learner(HISTOGRAM),
        Learner(LOWEST_BITS, 200_000),
        Learner(LINEAR_CLASSIFIER, 100_000),
        Learner(LEARNED, 20_000),
    ),
)
"""Mechanisms with a known answer, and the general attacks that see outputs only."""
