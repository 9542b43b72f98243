"""Certificates of canaries: recomputed by other code, and nothing that is changed stands."""

import json

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing.canary_table import as_table, asked_of, game_of
from dpaudit.errors import DataError
from dpaudit.estimation.canaries import right_guesses
from dpaudit.estimation.one_run import p_value
from dpaudit.reals import Real
from dpaudit.verification import Reader
from dpaudit.verification.canaries import counted_again
from dpaudit.verification.canaries import p_value as proved_p_value


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def scores(rng):
    included = rng.permutation(400) < 200
    return rng.normal(size=400) + 5 * included, included


def written(tmp_path, scores, included, **given):
    result = dpaudit.audit_scores(scores, included, delta=1e-5, claim=0.5, **given)
    assert result.verdict == "refuted"
    paths = result.save(tmp_path / "report")
    np.savez(tmp_path / "scores.npz", score=scores, included=included)
    return paths.certificate, Reader(scores=str(tmp_path / "scores.npz"))


@pytest.mark.parametrize("design", ["independent", "fixed-size"])
def test_a_refutation_is_verified_with_and_without_its_scores(tmp_path, scores, design):
    path, reader = written(tmp_path, *scores, design=design)
    (by_counts,) = dpaudit.verify(path)
    assert by_counts.verified
    assert any("--scores" in one for one in by_counts.reservations)
    (by_scores,) = dpaudit.verify(path, reader)
    assert by_scores.refutes_as_published
    assert by_scores.ratio > 1


def test_pairs_are_counted_again(tmp_path, rng):
    first = rng.random(200) < 0.5
    included = np.stack([first, ~first], axis=1).ravel()
    moved = rng.normal(size=400) + 5 * included
    group = np.arange(400) // 2
    result = dpaudit.audit_scores(moved, included, delta=1e-5, claim=0.5, group=group)
    path = result.save(tmp_path).certificate
    np.savez(tmp_path / "s.npz", score=moved, included=included, group=group)
    (verdict,) = dpaudit.verify(path, Reader(scores=str(tmp_path / "s.npz")))
    assert verdict.refutes_as_published


def test_there_is_none_where_nothing_is_refuted_or_no_epsilon_is(scores):
    assert dpaudit.audit_scores(*scores, delta=1e-5).certificate is None
    mu = dpaudit.audit_scores(*scores, delta=1e-5, claim=dpaudit.GaussianDP(0.1))
    assert (mu.verdict, mu.certificate) == ("refuted", None)


@pytest.mark.parametrize(
    ("part", "name", "value", "words"),
    [
        ("parameters", "epsilon", 9.0, "ratio"),
        ("parameters", "delta", 0.1, "p_value"),
        ("parameters", "coins", 401, "coins: the file states 401"),
        ("parameters", "design", "fixed-size", "p_value"),
        ("instance", "correct", [60, 193, 400], "correct: the file states 193"),
        ("instance", "shares", [1.0, 1.0, 1.0], "shares: 3 is above 1"),
        ("instance", "sha256", "0" * 64, "sha256"),
        ("quantities", "p_value", 1e-30, "p_value"),
    ],
)
def test_what_is_changed_fails(tmp_path, scores, part, name, value, words):
    path, reader = written(tmp_path, *scores, design="independent")
    document = json.loads(path.read_text())
    assert document[part][name] != value
    document[part][name] = value
    path.write_text(json.dumps(document))
    (verdict,) = dpaudit.verify(path, reader)
    assert not verdict.verified
    assert any(words in failure for failure in verdict.failures)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("parameters", "epsilon", -1),
        ("parameters", "alpha", 0),
        ("parameters", "design", "guessed"),
        ("parameters", "included", 400),
        ("instance", "guesses", ["all"]),
        ("instance", "correct", [1]),
        ("instance", "correct", [61, 194, 401]),
        ("instance", "shares", "all"),
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path, scores, part, name, value):
    path, _ = written(tmp_path, *scores, design="independent")
    document = json.loads(path.read_text())
    document[part][name] = value
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="shares" if value == [1] else name):
        dpaudit.verify(path)


def test_the_p_value_is_that_of_the_audit(rng):
    for _ in range(50):
        r = int(rng.integers(1, 300))
        m, v = r + int(rng.integers(200)), int(rng.integers(r // 2, r + 1))
        epsilon, delta = float(rng.exponential()), float(10 ** rng.uniform(-9, -3))
        proved = float(proved_p_value(v, r, m, Real(epsilon), Real(delta)))
        assert p_value(v, r, m, epsilon, delta) == pytest.approx(min(1, proved), rel=3e-8)


def test_guesses_are_counted_as_in_the_audit(rng):
    for digits in (8, 0):
        for _ in range(30):
            scores, included = np.round(3 * rng.normal(size=40), digits), rng.random(40) < 0.5
            coins = np.where(included, 1, -1).astype(np.int8)
            for size in (1, 2, 11, 40):
                found = right_guesses(scores[None], coins[None], [size])[0, 0]
                low, high = counted_again(as_table(scores, included), "independent", size)
                assert low <= found <= high
                assert low == high or digits == 0


@pytest.mark.parametrize("digits", [8, 0])
def test_guesses_about_pairs_are_counted_as_in_the_audit(rng, digits):
    for _ in range(30):
        first = rng.random(20) < 0.5
        included = np.stack([first, ~first], axis=1).ravel()
        table = as_table(np.round(3 * rng.normal(size=40), digits), included, np.arange(40) // 2)
        asked = asked_of(table, 1e-5, 0.95, "pairs", None, None, 0, [1, 7, 20])
        for one in game_of(table, asked).counted(asked.plans):
            low, high = counted_again(table, "pairs", one.plan.guesses)
            assert low <= one.correct <= high
            assert low == high or digits == 0
