"""Certificates of canaries: recomputed by other code, and nothing that is changed stands."""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from mpmath import mp

import dpaudit
from dpaudit.auditing.samples.canary_table import (
    CanaryTable,
    as_table,
    game_of,
    resolve_canary_settings,
)
from dpaudit.errors import DataError
from dpaudit.estimation.canaries import right_guesses
from dpaudit.estimation.one_run import p_value
from dpaudit.reals import Real
from dpaudit.verification import Reader
from dpaudit.verification.canaries import count_right_guesses
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
    (by_scores,) = dpaudit.verify(path, replace(reader, design=design))
    assert by_scores.refutes_as_published
    assert by_scores.ratio > 1


@pytest.mark.parametrize("design", ["independent", "fixed-size"])
def test_a_p_value_below_all_doubles_is_stated_as_the_least(tmp_path, rng, design):
    included = rng.permutation(3000) < 1500
    scores = included + rng.normal(scale=0.01, size=3000)
    result = dpaudit.audit_scores(scores, included, delta=0.0, claim=0.1, design=design)
    path = result.save(tmp_path).certificate
    stated = json.loads(path.read_text())["quantities"]
    assert stated["p_value"] == 1e-290
    assert stated["ratio"] == pytest.approx(0.05 / 1e-290)
    (verdict,) = dpaudit.verify(path)
    assert verdict.verified
    smaller = {**json.loads(path.read_text()), "quantities": {"p_value": 1e-295, "ratio": 5e293}}
    path.write_text(json.dumps(smaller))
    (verdict,) = dpaudit.verify(path)
    assert not verdict.verified


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
                low, high = count_right_guesses(as_table(scores, included), "independent", size)
                assert low <= found <= high
                assert low == high or digits == 0


@pytest.mark.parametrize("digits", [8, 0])
def test_guesses_about_pairs_are_counted_as_in_the_audit(rng, digits):
    for _ in range(30):
        first = rng.random(20) < 0.5
        included = np.stack([first, ~first], axis=1).ravel()
        table = as_table(np.round(3 * rng.normal(size=40), digits), included, np.arange(40) // 2)
        asked = resolve_canary_settings(table, 1e-5, 0.95, "pairs", None, None, 0, [1, 7, 20])
        for one in game_of(table, asked).counted(asked.plans):
            low, high = count_right_guesses(table, "pairs", one.plan.guesses)
            assert low <= one.correct <= high
            assert low == high or digits == 0


# What the reader chooses


def of_noise(tmp_path, guesses=None, digits=9):
    """Return a certificate that states counts of noise as they are, and who has the scores."""
    rng = np.random.default_rng(3)
    scores, included = np.round(rng.normal(size=1000), digits), rng.random(1000) < 0.51
    np.savez(tmp_path / "noise.npz", score=scores, included=included)
    table = as_table(scores, included)
    asked = resolve_canary_settings(table, 1e-5, 0.95, "independent", None, 2.0, 0, guesses)
    counted = game_of(table, asked).counted(asked.plans)
    found = Counts(table, [(one.plan.guesses, one.plan.share, one.correct) for one in counted])
    return found, Reader(scores=str(tmp_path / "noise.npz"))


@dataclass(frozen=True)
class Counts:
    """Counts of right guesses, and the file that states them."""

    table: CanaryTable
    plans: list[tuple[int, float, int]]

    def write(self, path, *, alpha=0.05, epsilon=2.0, design="independent"):
        rows, kept = len(self.table.scores), int(self.table.included.sum())
        stated = {"guesses": 0, "shares": 1, "correct": 2}
        p = self.p_value(epsilon, 1e-5)
        document = {
            "format": "dpaudit-certificate", "version": 1, "claim": "canaries", "kind": "canaries",
            "source": "whoever gave the scores", "relation": "one canary is added or removed",
            "parameters": {
                "design": design, "canaries": rows, "included": kept, "coins": rows,
                "epsilon": epsilon, "delta": 1e-5, "alpha": alpha,
            },
            "quantities": {"p_value": p, "ratio": alpha / p},
            "assumptions": [{"name": "shares", "value": 1.0, "limit": 1.0}],
            "instance": {name: [one[n] for one in self.plans] for name, n in stated.items()}
            | {"sha256": self.table.digest},
        }  # fmt: skip
        path.write_text(json.dumps(document))
        return path

    def p_value(self, epsilon, delta):
        coins = len(self.table.scores)
        return min(exact(v, r, coins, epsilon, delta) / share for r, share, v in self.plans)


def exact(correct, guesses, coins, epsilon, delta):
    """Return the p-value with 50 digits, as the sum that the theorem has."""
    with mp.workdps(50):
        q = mp.e**epsilon / (1 + mp.e**epsilon)
        law = [
            mp.binomial(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(guesses + 1)
        ]
        tail = mp.fsum(law[correct:])
        below = mp.fsum(law[:correct])
        return float(tail + coins * mp.mpf(delta) * tail * below / (correct * law[correct]))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("alpha", [0.05, 1.0, 1e6])
@pytest.mark.parametrize("confidence", [None, 0.9, 0.999999])
def test_no_error_probability_of_a_file_verifies_noise(tmp_path, alpha, confidence):
    counts, reader = of_noise(tmp_path)
    path = counts.write(tmp_path / "c.json", alpha=alpha)
    reader = reader if confidence is None else replace(reader, confidence=confidence)
    (verdict,) = dpaudit.verify(path, reader)
    assert not verdict.verified
    asked = 1 - (0.95 if confidence is None else confidence)
    p = counts.p_value(2.0, 1e-5)
    assert verdict.ratio == pytest.approx(asked / p, rel=1e-6)
    assert [one.split(":")[0] for one in verdict.failures] == ["p_value"]


@pytest.mark.parametrize(("above", "stands"), [(1.001, True), (0.999, False)])
def test_the_confidence_that_decides_is_the_readers(tmp_path, scores, above, stands):
    path, reader = written(tmp_path, *scores, design="fixed-size")
    p = json.loads(path.read_text())["quantities"]["p_value"]
    (verdict,) = dpaudit.verify(path, replace(reader, confidence=1 - p * above))
    assert verdict.verified == stands
    assert verdict.ratio == pytest.approx(above, rel=1e-6)


def test_a_plan_that_nobody_fixed_before_is_a_reservation(tmp_path, scores):
    path, reader = written(tmp_path, *scores, design="fixed-size", guesses=[380])
    (alone,) = dpaudit.verify(path, reader)
    assert (alone.verified, alone.refutes_as_published) == (True, False)
    (told,) = alone.reservations
    assert "(380 at 1 of the error probability)" in told
    assert "(60, 194, 400)" in told
    (named,) = dpaudit.verify(path, replace(reader, guesses=[380]))
    assert named.refutes_as_published
    (other,) = dpaudit.verify(path, replace(reader, guesses=[381]))
    assert [one.split(":")[0] for one in other.failures] == ["guesses"]


def test_shares_that_nobody_fixed_before_are_a_reservation(tmp_path, scores):
    path, reader = written(tmp_path, *scores, design="fixed-size")
    document = json.loads(path.read_text())
    shares = document["instance"]["shares"]
    document["instance"]["shares"] = shares[::-1]
    best = exact(document["instance"]["correct"][2], 400, 400, 0.5, 1e-5)
    given = float(mp.binomial(400, 200) / mp.mpf(2) ** 400)
    p = best / given / shares[0]
    document["quantities"] = {"p_value": p, "ratio": document["parameters"]["alpha"] / p}
    path.write_text(json.dumps(document))
    (verdict,) = dpaudit.verify(path, reader)
    assert verdict.verified, verdict.failures
    assert "the plan of guesses" in verdict.reservations[0]


def test_a_design_that_asks_less_is_the_readers_to_name(tmp_path, scores):
    path, reader = written(tmp_path, *scores, design="independent")
    (alone,) = dpaudit.verify(path, reader)
    assert ["fixed-size" in one for one in alone.reservations] == [True]
    (named,) = dpaudit.verify(path, replace(reader, design="independent"))
    assert named.refutes_as_published
    (other,) = dpaudit.verify(path, replace(reader, design="fixed-size"))
    assert [one.split(":")[0] for one in other.failures] == ["design"]


def test_scores_that_are_all_equal_show_nothing(tmp_path):
    """400 of 400 right guesses are among what equal scores leave; the least number decides."""
    included = np.arange(400) % 2 == 0
    table = as_table(np.zeros(400), included)
    counts = Counts(table, [(400, 1.0, 400)])
    path = counts.write(tmp_path / "c.json", design="fixed-size")
    np.savez(tmp_path / "s.npz", score=table.scores, included=included)
    (verdict,) = dpaudit.verify(path, Reader(scores=str(tmp_path / "s.npz"), guesses=[400]))
    assert not verdict.verified
    assert any(one.startswith("p_value") for one in verdict.failures)
    assert count_right_guesses(table, "independent", 400) == (0, 400)
    assert verdict.ratio < 1e-2


def test_equal_scores_leave_the_least_count(tmp_path, rng):
    """Ties at the edge of the guesses: the luckiest count stands in the file, the least decides."""
    included = rng.permutation(400) < 200
    scores = np.where(included, 2.0, -2.0) * (rng.random(400) < 0.4)
    table = as_table(scores, included)
    low, high = count_right_guesses(table, "independent", 300)
    assert high - low > 50
    lucky = exact(high, 300, 400, 0.5, 0.0)
    least = exact(low, 300, 400, 0.5, 0.0)
    assert lucky < 1e-9 < 0.5 < least
    counts = Counts(table, [(300, 1.0, high)])
    np.savez(tmp_path / "s.npz", score=scores, included=included)
    reader = Reader(scores=str(tmp_path / "s.npz"), guesses=[300], design="independent")
    (verdict,) = dpaudit.verify(counts.write(tmp_path / "c.json", epsilon=0.5), reader)
    assert not verdict.verified


def test_coins_that_are_not_as_designed_refute_nothing(tmp_path, rng):
    included = np.arange(1000) % 2 == 0  # every other row: no coin did that
    moved = rng.normal(size=1000) + 5 * included
    table = as_table(moved, included)
    asked = resolve_canary_settings(table, 1e-5, 0.95, "fixed-size", None, 0.5, 0, None)
    counted = game_of(table, asked).counted(asked.plans)
    counts = Counts(table, [(one.plan.guesses, one.plan.share, one.correct) for one in counted])
    np.savez(tmp_path / "s.npz", score=moved, included=included)
    path = counts.write(tmp_path / "c.json", epsilon=0.5)
    (verdict,) = dpaudit.verify(path, Reader(scores=str(tmp_path / "s.npz")))
    assert any("coins of canaries that follow each other" in one for one in verdict.failures)


def test_a_file_about_canaries_takes_no_claim_s_name(tmp_path):
    counts, reader = of_noise(tmp_path)
    path = counts.write(tmp_path / "c.json")
    document = json.loads(path.read_text()) | {"claim": "hu2020-lemma1"}
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="claim: got 'hu2020-lemma1', expected 'canaries'"):
        dpaudit.verify(path, reader)


def test_another_relation_than_the_design_has_fails(tmp_path, scores):
    path, reader = written(tmp_path, *scores, design="fixed-size")
    document = json.loads(path.read_text()) | {"relation": "all of the data is replaced"}
    path.write_text(json.dumps(document))
    (verdict,) = dpaudit.verify(path, reader)
    assert [one.split(":")[0] for one in verdict.failures] == ["relation"]


@pytest.mark.parametrize(("name", "value"), [("guesses", [5000]), ("correct", [1, 2])])
def test_more_guesses_than_coins_are_refused(tmp_path, scores, name, value):
    path, reader = written(tmp_path, *scores, design="fixed-size")
    document = json.loads(path.read_text())
    document["instance"] |= {"guesses": [5000], "correct": [400], "shares": [1.0]}
    document["instance"][name] = value
    document["parameters"]["coins"] = 5000
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"guesses|shares"):
        dpaudit.verify(path, reader)


@pytest.mark.parametrize("guesses", [1, 7, 40])
def test_no_right_guess_is_no_evidence_and_all_right_ones_are_all_there_is(guesses):
    epsilon, delta = Real(0.75), Real(1e-3)
    none = proved_p_value(0, guesses, 100, epsilon, delta)
    assert float(none) == 1.0
    odds = math.exp(0.75)
    rate = odds / (1 + odds)
    pure = proved_p_value(guesses, guesses, 100, epsilon, Real(0))
    assert float(pure) == pytest.approx(rate**guesses, rel=1e-12)
    first = proved_p_value(1, guesses, 100, epsilon, Real(0))
    assert float(first) == pytest.approx(1 - (1 - rate) ** guesses, rel=1e-12)
    # delta adds the most of it, over how many guesses may be wrong, of 100 canaries
    more = 1e-3 * 100 * (1 - (1 - rate) ** guesses) * (1 - rate) ** guesses
    more /= guesses * rate * (1 - rate) ** (guesses - 1)
    with_delta = proved_p_value(1, guesses, 100, epsilon, delta)
    assert float(with_delta - first) == pytest.approx(more, rel=1e-9)
