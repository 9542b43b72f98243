"""Certificates of an attack's counts: what they may not say, and who chooses the confidence."""

import copy
import json
import math

import mpmath as mp
import pytest

from dpaudit.errors import DataError
from dpaudit.estimation.attack_table import AttackRow, excess_of_intervals
from dpaudit.verification import Reader, attack_tables
from dpaudit.verification.attack_tables import _bound_rate_from_below, binomial_above, judge_table
from dpaudit.verification.document import _parse_certificate
from dpaudit.verification.judge import verify_file
from dpaudit.verification.reals import Real, precision
from tests.verification.tables import ROWS, of_a_table, oracle


@pytest.fixture
def content():
    return of_a_table()


def verified(content, tmp_path, reader=None):
    (tmp_path / "c.json").write_text(json.dumps(content))
    (found,) = verify_file(tmp_path / "c.json", reader)
    return found.verified


def test_what_is_written_is_verified(content, tmp_path):
    assert verified(content, tmp_path)
    assert content["quantities"]["ratio"] == pytest.approx(oracle(ROWS, 2.0, 1e-5, 0.05), rel=1e-6)


def stated(epsilon, alpha):
    """Return what a file states, by the code that writes it."""
    rows = [AttackRow(*one) for one in ROWS]
    return excess_of_intervals(rows, epsilon, delta=1e-5, alpha=alpha)


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 2.5, 3.5])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9])
def test_the_excess_is_that_of_two_intervals(content, epsilon, alpha):
    content["parameters"] |= {"epsilon": epsilon, "alpha": alpha}
    outcome, *_ = judge_table(_parse_certificate("c.json", content), Reader())
    expected = oracle(ROWS, epsilon, 1e-5, alpha)
    assert float(outcome.quantities["ratio"]) == pytest.approx(expected, rel=1e-6)
    assert stated(epsilon, alpha) == pytest.approx(expected, rel=1e-6)


ENDS = [(3, 10), (471, 500), (1, 1), (1, 10**6), (500_000, 10**6), (10**6, 10**6)]


@pytest.mark.parametrize("share", [0.4, 0.0125, 1e-12, 1e-60])
@pytest.mark.parametrize(("hits", "runs"), ENDS)
def test_an_end_errs_with_its_share_and_no_more(hits, runs, share):
    with precision(50, 5.0):
        rate = _bound_rate_from_below(hits, runs, Real(share))
        assert binomial_above(hits, runs, float(rate)) <= share
        assert binomial_above(hits, runs, float(rate) * (1 + 1e-9)) > share


def test_an_end_is_safe_where_doubles_are_coarse():
    with precision(50, 5.0):
        assert (
            0 < binomial_above(471, 500, _bound_rate_from_below(471, 500, Real(1e-300))) <= 1e-300
        )


def test_where_doubles_find_no_end_none_is_claimed(monkeypatch):
    monkeypatch.setattr(attack_tables, "betaincinv", lambda *given: math.nan)
    assert _bound_rate_from_below(471, 500, Real(0.0125)) <= 0


@pytest.mark.parametrize("factor", [1 + 1e-9, 1.2])
def test_an_end_that_is_computed_too_far_inside_is_moved_out(monkeypatch, factor):
    true = attack_tables.betaincinv
    monkeypatch.setattr(attack_tables, "betaincinv", lambda *given: factor * true(*given))
    with precision(50, 5.0):
        assert binomial_above(471, 500, _bound_rate_from_below(471, 500, Real(0.0125))) <= 0.0125


def test_a_tail_is_that_of_the_binomial_law():
    with mp.workdps(50), precision(40, 5.0):
        for hits, runs, rate in [(3, 10, 0.1), (471, 500, 0.9), (50, 1000, 0.01), (10, 10, 0.5)]:
            law = (
                mp.binomial(runs, k) * mp.mpf(rate) ** k * (1 - mp.mpf(rate)) ** (runs - k)
                for k in range(hits, runs + 1)
            )
            found = float(binomial_above(hits, runs, rate))
            assert found == pytest.approx(float(mp.fsum(law)), rel=1e-14)


@pytest.mark.parametrize(
    ("row", "place", "count"), [(0, 0, 300), (0, 2, 200), (0, 1, 471), (0, 3, 23)]
)
def test_other_counts_fail(content, tmp_path, row, place, count):
    moved = copy.deepcopy(content)
    moved["instance"]["rows"][row][place] = count
    assert not verified(moved, tmp_path)


def test_an_attack_that_says_in_of_the_other_side_fails(content, tmp_path):
    moved = copy.deepcopy(content)
    moved["instance"]["rows"] = [[y, m, x, n] for x, n, y, m in ROWS]
    assert not verified(moved, tmp_path)


def test_a_claim_that_the_counts_allow_fails(content, tmp_path):
    moved = copy.deepcopy(content)
    moved["parameters"]["epsilon"] = 2.7
    moved["quantities"]["ratio"] = stated(2.7, 0.05)
    assert not verified(moved, tmp_path)


@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-12])
def test_the_confidence_is_the_reader_s(content, tmp_path, alpha):
    """A file that states a larger error probability verifies no claim that a reader's would not."""
    moved = copy.deepcopy(content)
    moved["parameters"] |= {"alpha": alpha, "epsilon": 2.62}
    moved["quantities"]["ratio"] = stated(2.62, alpha)
    assert not verified(moved, tmp_path)


def test_more_confidence_asks_for_more(content, tmp_path):
    assert verified(content, tmp_path, Reader(confidence=0.99))
    moved = copy.deepcopy(content)
    moved["parameters"]["epsilon"] = 2.4
    moved["quantities"]["ratio"] = stated(2.4, 0.05)
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
