"""The ledger of hu2020 has all that the paper numbers, and rests on what holds."""

import os

import pytest

from dpaudit.algorithms.sharing.statements.checks.experiments import CENSUS
from dpaudit.algorithms.sharing.statements.hu2020 import PAPER
from dpaudit.datasets import a9a
from dpaudit.extension.ledger import AuditEvidence
from tests.papers import numbers_of, places_of

NAMES = (
    "Algorithm 1",
    "Assumption 1.1",
    "Assumption 1.2",
    "Assumption 1.3",
    "Definition 1",
    "Lemma 1",
    "Theorem 1",
    "Corollary 1",
    "Figure 1",
    "Figure 2",
    "Figure 3",
    *("abstract", *(f"section {number}" for number in (1, 2, 3, 4, 5, 6)), "7.1", "7.2"),
)


def test_every_equation_is_in_a_row():
    assert {str(number) for number in range(1, 14)} <= numbers_of(PAPER)


@pytest.mark.parametrize("name", NAMES)
def test_all_that_is_numbered_is_in_a_row(name):
    assert name in places_of(PAPER)


def test_claims_stand_under_their_own_names():
    audited = {row.name for row in PAPER.rows if isinstance(row.evidence, AuditEvidence)}
    assert audited == {
        f"hu2020-{name}"
        for name in ("assumption1", "lemma1", "theorem1", "density", "corollary1", "equation12")
    }


@pytest.mark.parametrize(
    ("name", "standing"),
    [("density", "gloss"), ("equation12", "proof step"), ("assumption1", "hypothesis")],
)
def test_a_claim_that_is_no_theorem_is_labelled_by_its_standing(name, standing):
    (row,) = (row for row in PAPER.rows if row.name == f"hu2020-{name}")
    assert row.standing == standing


def test_sizes_of_a9a_are_those_of_its_files():
    if not os.environ.get("DPAUDIT_DATA"):
        pytest.skip("DPAUDIT_DATA does not name the directory of a9a")
    train, test = (a9a(split=split) for split in ("train", "test"))
    assert (len(train.labels), len(test.labels)) == (32561, 16281)
    assert train.features.shape[1] == sum(CENSUS)
