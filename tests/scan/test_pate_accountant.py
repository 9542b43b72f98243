"""Why the card of synthcity has its numbers: the moments accountant of PATE-GAN against the truth.

Nine teachers vote five to four, and on the neighbour four to five: each label is a coin, and k of
them are binomial, so that their epsilon at a delta is a sum of k + 1 terms.
"""

import math

import pytest
from scipy.stats import binom

from dpaudit.extension.registry import PACKAGES

SUBJECT = next(one for one in PACKAGES.get("synthcity").subjects if one.code == "labels")
TEACHERS, ORDERS = 9, 100


def said(labels, lamda, delta, exponent):
    """Return the epsilon of the accountant: Papernot et al. (2017), Theorem 3, and its bound."""
    gap = lamda * 1  # votes five to four
    q = (2 + gap) / (4 * math.exp(gap))
    found = []
    for order in range(1, ORDERS + 1):
        ratio = (1 - q) / (1 - math.exp(2 * lamda) * q)
        inner = (1 - q) * ratio**order + q * math.exp(exponent(lamda, order))
        moment = math.log(inner) if inner > 0 else 0.0
        moment = min(max(moment, 0.0), 2 * lamda**2 * order * (order + 1))
        found.append((labels * moment - math.log(delta)) / order)
    return min(found)


def released(lamda, order):
    return 2 * lamda * (order - 1) + 1


def with_brackets(lamda, order):
    return 2 * lamda * order


def truth(labels, lamda, delta):
    """Return the epsilon of so many labels: noise is added to one count, half a vote from a tie."""
    one = 1 - 0.5 * math.exp(-lamda * 0.5)
    outcomes = range(labels + 1)
    p, q = (binom.pmf(outcomes, labels, rate) for rate in (one, 1 - one))
    low, high = 0.0, labels * lamda  # of pure privacy, as a vote moves by one
    for _ in range(100):
        epsilon = (low + high) / 2
        spent = sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))
        low, high = (epsilon, high) if spent > delta else (low, epsilon)
    return high


def test_the_released_exponent_says_less_than_is_spent_and_the_one_with_brackets_does_not():
    given = SUBJECT.parameters[0]
    rows, lamda, delta = given["rows"], given["lamda"], given["delta"]
    spent = truth(rows, lamda, delta)
    assert said(rows, lamda, delta, released) == pytest.approx(-math.log(delta))
    assert said(rows, lamda, delta, released) < given["epsilon"] < spent
    assert said(rows, lamda, delta, with_brackets) > spent


def test_where_lamda_is_small_the_released_exponent_says_enough():
    given = SUBJECT.parameters[1]
    rows, lamda, delta = given["rows"], given["lamda"], given["delta"]
    assert truth(rows, lamda, delta) < said(rows, lamda, delta, released) < given["epsilon"]
