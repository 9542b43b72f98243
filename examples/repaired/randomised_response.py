"""Randomised response with two coins.

Heads: tell the truth. Tails: toss again and say what the second coin says. People tell the truth
with probability 3/4, and 3/4 over 1/4 is 3: epsilon is the logarithm of 3, 1.0986, and not the 1
that papers often write beside it. It takes many answers to see a difference of a tenth in
epsilon, so each function draws all answers in one call.
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
claim, answers = {"epsilon": 1.0}, {"bounds": (0, 1), "records": 1, "integers": True}
proofs = [dpaudit.prove(one, domain=answers, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, yes, no, **claim, trials=100_000) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
