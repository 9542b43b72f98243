"""The questions: that labels follow from noise and sensitivity; and the page of the answers."""

import math
from itertools import product

import numpy as np
import pytest

from benchmarks.dpriv_bench import page
from benchmarks.dpriv_bench.functions import STATISTICS, VARIANTS
from benchmarks.dpriv_bench.questions import (
    ADDITIVE,
    BETA,
    EPSILON,
    ITEMS,
    MECHANISMS,
    RHO,
    Question,
    questions,
)
from benchmarks.dpriv_bench.run import (
    ROOT,
    Options,
    Row,
    processor_seconds,
)

ALL = list(questions())
# What is claimed, and what one record loses where it moves the statistic by so many scales.
LOSSES = {
    "laplace": (EPSILON, lambda moved: moved),
    "gdp": (BETA, lambda moved: moved),
    "zcdp": (RHO, lambda moved: moved**2 / 2),
}


def test_there_are_98_questions_of_each_mechanism_numbered_as_theirs():
    assert len(ALL) == 294
    for name in MECHANISMS:
        asked = list(questions([name]))
        assert [one.number for one in asked] == list(range(1, 99))
        assert [one.label for one in asked] == [True, False] * 49


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_label_says_whether_the_claim_covers_the_loss_of_the_true_sensitivity(name):
    claimed, loss = LOSSES[name]
    for one in questions([name]):
        lost = loss(one.statistic.claimed.at(one.records) / one.scale)
        assert one.label == (lost <= claimed * (1 + 1e-12))
        assert lost == pytest.approx(claimed * (1 if one.label else LESS[name]))


LESS = {"laplace": 2.0, "gdp": math.sqrt(2), "zcdp": 2.0}


@pytest.mark.parametrize("name", ADDITIVE)
def test_half_the_noise_is_enough_for_variants(name):
    claimed, loss = LOSSES[name]
    for one in VARIANTS:
        asked = Question(one.statistic, MECHANISMS[name], label=False, records=one.records)
        assert loss(one.moves / asked.scale) <= claimed * (1 + 1e-12)


@pytest.mark.parametrize(("name", "law"), [("laplace", "laplace"), ("gdp", "normal")])
def test_a_release_is_the_statistic_with_noise_of_its_scale(name, law):
    asked = Question(STATISTICS[8], MECHANISMS[name], label=False)
    data = np.array([0.0, 0.1, 0.4, 0.9, 1.0])
    noise = getattr(np.random.default_rng(3), law)(scale=asked.scale)
    expected = STATISTICS[8].query(data) + noise
    assert asked.release()(data, np.random.default_rng(3)) == expected


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in ADDITIVE])
def test_a_selection_returns_the_column_whose_noisy_statistic_is_largest(name):
    asked = Question(STATISTICS[1], MECHANISMS[name], label=True)
    release, rng = asked.release(), np.random.default_rng(4)
    assert asked.scale == 2 / EPSILON
    far = np.zeros((400, ITEMS))
    far[:, 2] = 1.0  # a score of 400 scales of noise above the others
    assert {release(far, rng) for _ in range(50)} == {2}
    assert {release(np.zeros((5, ITEMS)), rng) for _ in range(200)} == set(range(ITEMS))


def exponential_loss(statistic, items, pairs=400):
    """Return a loss of the exponential mechanism at half its noise, on a grid of five records."""
    corners = np.array([statistic.query(np.array(x)) for x in product((0.0, 0.5, 1.0), repeat=5)])
    scores = corners.reshape((3,) * 5) / (statistic.claimed.at(5) / EPSILON)
    most = 0.0
    for place in range(5):  # whose row is replaced; every column is free to be any of these
        values = np.moveaxis(scores, place, 0).reshape(3, -1)
        moves = [zip(values[a], values[b], strict=True) for a in range(3) for b in range(3)]
        chosen = np.unique([one for move in moves for one in move], axis=0)
        before, after = chosen[:: -(-len(chosen) // pairs)].T
        losses = log_share(before, items) - log_share(after, items)
        most = max(most, losses.max())
    return most


def log_share(scores, items):
    """Return how probable one column is, by its score (rows) and that of all others (columns)."""
    return scores[:, None] - np.logaddexp(scores[:, None], scores + math.log(items - 1))


def test_of_six_items_half_the_noise_is_never_enough():
    losses = {number: exponential_loss(one, ITEMS) for number, one in STATISTICS.items()}
    assert min(losses.values()) > 1.5 * EPSILON


def test_of_two_items_it_is_enough_for_a_statistic_whose_range_is_its_sensitivity():
    for number in (2, 3, 4, 30, 32, 33, 34):
        assert exponential_loss(STATISTICS[number], 2) == pytest.approx(EPSILON)
    assert exponential_loss(STATISTICS[1], 2) > 1.9 * EPSILON


# The page


def row(**given):
    standard = {"mechanism": "laplace", "number": 7, "statistic": "s", "formula": "|a_b|"}
    standard |= {"claimed": "2", "records": 5, "label": True, "verdict": "not refuted"}
    standard |= {"lower": 0.7, "seconds": 0.4, "proof_seconds": 0.1}
    standard |= {"proved": None, "line": "functions.py:9 in f: sorts *records*"}
    return vars(Row(**standard | given))


def written(*rows):
    options = vars(Options())
    found = {"machine": "here", "options": options, "audited": "2026-11-01"}
    return page.written(found | {"rows": {"laplace": rows}})


def test_the_page_counts_verdicts_by_label():
    text = written(row(), row(label=False, verdict="refuted", lower=1.5, seconds=1.6))
    assert "| Laplace | 2 | 0 of 1 | 0 of 1 | 0 of 1 | 1 of 1 | 1 | 0.2 | 2 |" in text
    assert "| 7 | \\|a\\_b\\| | 2 | ≥ 0.7 | **≥ 1.5** |" in text
    assert "* functions.py:9 in f: sorts \\*records\\*: Laplace 7." in text
    assert "Nowhere in this run." in text


def test_what_is_proved_is_decided_and_has_an_upper_end():
    proof = {"verdict": "proved", "proved": 1.0, "line": "", "lower": 0.0}
    text = written(row(**proof), row(label=False, verdict="refuted", lower=1.5))
    assert "| Laplace | 2 | 1 of 1 | 0 of 1 | 0 of 1 | 1 of 1 | 2 | 0.2 | 1 |" in text
    assert "| ≤ 1 | **≥ 1.5** |" in text
    assert "Nowhere: every claim that is not proved is refuted." in text


def test_what_is_proved_of_a_larger_number_stands_where_a_line_would():
    assert "* at most 1.25 is proved: Laplace 7." in written(row(line="", proved=1.25))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"verdict": "refuted"}, "labelled true, refuted"),
        ({"label": False}, "labelled false, not refuted"),
        ({"label": False, "verdict": "proved", "proved": 1.0}, "labelled false, proved"),
        ({"label": False, "verdict": "withheld"}, "labelled false, withheld"),
        ({"verdict": "withheld"}, "labelled true, withheld"),
    ],
)
def test_the_page_names_every_disagreement(given, words):
    text = written(row(**given))
    assert words in text
    assert "Nowhere in this run." not in text


def test_a_variant_is_told_apart_from_questions():
    text = written(row(), row(label=False, why="n is even"))
    assert "| Laplace | 1 | 0 of 1 | 0 of 1 | 0 of 0 | 0 of 0 | 0 | 0.1 | 0 |" in text
    assert "| Laplace | 7, \\|a\\_b\\| | 5 | not refuted | — | 0.7 | n is even |" in text
    assert "Nowhere in this run." in text


def test_the_page_there_is_has_every_question_and_refutes_nothing_that_holds():
    text = (ROOT / "docs" / "dpriv-bench.md").read_text(encoding="utf-8")
    assert "Made by `make dpriv-bench`" in text
    for one in MECHANISMS.values():
        assert f"| {one.name} | 98 | 49 of 49 | 0 of 49 | 0 of 49 | 49 of 49 | 98 |" in text
    for number, one in STATISTICS.items():
        assert f"| {number} | {page.escaped(one.formula)} | {one.claimed.words} |" in text


def test_seconds_of_a_processor_go_on():
    before = processor_seconds()
    sum(k * k for k in range(10**6))
    assert processor_seconds() > before > 0
