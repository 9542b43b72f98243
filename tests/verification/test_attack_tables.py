"""Certificates of an attack's counts: what they may not say, and who chooses the confidence."""

import copy
import json

import mpmath as mp
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from dpaudit import audit_table
from dpaudit.errors import DataError
from dpaudit.verification import Reader
from dpaudit.verification.attack_tables import _above, find_excess
from dpaudit.verification.judge import verify_file
from dpaudit.verification.reals import Real

ROWS = [(471, 500, 23, 500), (40, 100, 3, 100)]


@pytest.fixture
def content():
    return audit_table(ROWS, delta=1e-5, epsilon=2.0).certificate.document()


def verified(content, tmp_path, reader=None):
    (tmp_path / "c.json").write_text(json.dumps(content))
    (found,) = verify_file(tmp_path / "c.json", reader)
    return found.verified


def oracle(rows, epsilon, delta, alpha):
    """Return by how much both intervals exceed a claim: by root finding on scipy's law."""
    found, share = [], alpha / (2 * len(rows))
    for hits, runs, others, other_runs in rows:
        low = brentq(lambda p, x=hits, n=runs: binom.sf(x - 1, n, p) - share, 1e-9, 1 - 1e-9)
        high = brentq(lambda q, y=others, m=other_runs: binom.cdf(y, m, q) - share, 1e-9, 1 - 1e-9)
        odds = mp.exp(epsilon)
        found += [(low - delta) / (odds * high), (1 - high - delta) / (odds * (1 - low))]
    return float(max(found))


def test_what_is_written_is_verified(content, tmp_path):
    assert verified(content, tmp_path)
    assert content["quantities"]["ratio"] == pytest.approx(oracle(ROWS, 2.0, 1e-5, 0.05), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 2.5, 3.5])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9])
def test_the_excess_is_that_of_two_intervals(epsilon, alpha):
    found = find_excess(ROWS, epsilon, 1e-5, alpha)
    assert found == pytest.approx(oracle(ROWS, epsilon, 1e-5, alpha), rel=1e-6)


def test_a_tail_is_never_below_the_true_one():
    with mp.workdps(50):
        for hits, runs, rate in [(3, 10, 0.1), (471, 500, 0.9), (50, 1000, 0.01), (10, 10, 0.5)]:
            law = (
                mp.binomial(runs, k) * mp.mpf(rate) ** k * (1 - mp.mpf(rate)) ** (runs - k)
                for k in range(hits, runs + 1)
            )
            true = float(mp.fsum(law))
            found = float(_above(hits, runs, Real(rate)))
            assert true * (1 - 1e-12) <= found <= true * (1 + 1e-9)


@pytest.mark.parametrize(
    ("row", "place", "count"), [(0, 0, 300), (0, 2, 200), (0, 1, 471), (0, 3, 23)]
)
def test_other_counts_fail(content, tmp_path, row, place, count):
    moved = copy.deepcopy(content)
    moved["instance"]["rows"][row][place] = count
    assert not verified(moved, tmp_path)


def test_a_claim_that_the_counts_allow_fails(content, tmp_path):
    moved = copy.deepcopy(content)
    moved["parameters"]["epsilon"] = 2.7
    moved["quantities"]["ratio"] = find_excess(ROWS, 2.7, 1e-5, 0.05)
    assert not verified(moved, tmp_path)


@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-12])
def test_the_confidence_is_the_reader_s(content, tmp_path, alpha):
    """A file that states a larger error probability verifies no claim that a reader's would not."""
    moved = copy.deepcopy(content)
    moved["parameters"] |= {"alpha": alpha, "epsilon": 2.62}
    moved["quantities"]["ratio"] = find_excess(ROWS, 2.62, 1e-5, alpha)
    assert not verified(moved, tmp_path)


def test_more_confidence_asks_for_more(content, tmp_path):
    assert verified(content, tmp_path, Reader(confidence=0.99))
    moved = copy.deepcopy(content)
    moved["parameters"]["epsilon"] = 2.4
    moved["quantities"]["ratio"] = find_excess(ROWS, 2.4, 1e-5, 0.05)
    assert verified(moved, tmp_path)
    assert not verified(moved, tmp_path, Reader(confidence=1 - 1e-9))


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "alpha", 1e6),
        ("parameters", "epsilon", -1.0),
        ("instance", "rows", []),
        ("instance", "rows", [[1, 2, 3]]),
        ("instance", "rows", [[3, 2, 1, 2]]),
        ("instance", "rows", [[1, 2, 1, True]]),
        ("instance", "rows", [[1, 10**7, 1, 10**7]]),
    ],
)
def test_what_is_no_table_is_refused(content, tmp_path, part, name, value):
    content[part][name] = value
    with pytest.raises(DataError, match=name):
        verified(content, tmp_path)
