"""Randomised response with two coins.

Heads: tell the truth. Tails: toss again and say what the second coin says. The truth is told with
probability 3/4, and 3/4 over 1/4 is 3: epsilon is the logarithm of 3, which is 1.0986 and not the
1 that is often written beside it. A tenth of epsilon takes more trials to see, so that the
function draws all of them in one call.
"""

import numpy as np

import dpaudit


def broken(answer, trials, rng):
    first, second = rng.integers(2, size=(2, trials))
    return np.where(first == 1, answer[0], second)


def repaired(answer, trials, rng):
    honest = rng.random(trials) < np.e / (1 + np.e)
    return np.where(honest, answer[0], 1 - answer[0])


yes, no = np.array([1]), np.array([0])
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, yes, no, epsilon=1.0, trials=100_000))
