"""A certificate of an attack's table, and what is true of one: by root finding on scipy's law."""

import mpmath as mp
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from dpaudit import audit_table
from dpaudit.verification import Reader

ROWS = [(471, 500, 23, 500), (40, 100, 3, 100)]


def of_a_table():
    return audit_table(ROWS, delta=1e-5, epsilon=2.0).certificate.document()


def lowest(hits, runs, share):
    if hits == 0:
        return 0.0
    return brentq(lambda p: binom.sf(hits - 1, runs, p) - share, 1e-30, 1, xtol=1e-30, maxiter=999)


def oracle(rows, epsilon, delta, alpha):
    """Return by how much both intervals exceed a claim: by root finding on scipy's law."""
    found, share = [], alpha / (2 * len(rows))
    for hits, runs, others, other_runs in rows:
        low, high = lowest(hits, runs, share), 1 - lowest(other_runs - others, other_runs, share)
        odds = mp.exp(epsilon)
        found += [(low - delta) / (odds * high), (1 - high - delta) / (odds * (1 - low))]
    return float(max(found))


def true_of_table(content, found):
    stated, rows = content["parameters"], content["instance"]["rows"]
    ratio = oracle(rows, stated["epsilon"], stated["delta"], 1 - Reader().of_scores)
    assert ratio > 1
    assert found.ratio == pytest.approx(ratio, rel=1e-6)


def with_its_ratio(content):
    """Return a moved file with the ratio that a forger would state of it."""
    try:
        stated, rows = content["parameters"], content["instance"]["rows"]
        given = [stated[name] for name in ("epsilon", "delta", "alpha")]
        content["quantities"] = {"ratio": oracle(rows, *given)}
    except (ArithmeticError, KeyError, TypeError, ValueError):
        pass
    return content
