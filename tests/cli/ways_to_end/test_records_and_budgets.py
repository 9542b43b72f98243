"""Records of deployments, and budgets of one dataset."""

import pytest

from .ways import AGREES, CHANGED, DISAGREES, DOES_NOT_FIT, FITS, UNREAD, WHOLE, Ways

WAYS = Ways()
RECORD = "variant: pure\nunit: user\nmechanism: Laplace\nsensitivity: 1\nscale: 2\nepsilon: {}\n"
RELEASE = ("laplace", "sensitivity=1", "noise_scale=2")


@pytest.fixture(autouse=True)
def files(here):
    (here.folder / "good.yaml").write_text(RECORD.format(0.5))
    (here.folder / "bad.yaml").write_text(RECORD.format(0.1))
    assert here.run("spend", "new", "budget.jsonl", "--epsilon", "1").status == 0


@WAYS.end(0, AGREES, r"good: .*")
def _a_record_that_agrees(here):
    return here.run("deployment", "good.yaml", "--short")


@WAYS.end(1, DISAGREES, r"bad: does not agree: .*")
def _a_record_that_does_not(here):
    return here.run("deployment", "bad.yaml", "--short")


@WAYS.end(2, UNREAD, r"error: .*none\.yaml.*")
def _a_record_that_is_none(here):
    (here.folder / "none.yaml").write_text("epsilon: [")
    ran = here.run("deployment", ".", "--short")
    assert "bad: does not agree" in ran.out
    return ran


@WAYS.end(0, FITS, r"More such releases that fit after it: 1\.")
def _a_release_that_fits(here):
    return here.run("spend", "add", "budget.jsonl", *RELEASE)


@WAYS.end(1, DOES_NOT_FIT, r"budget\.jsonl: laplace does not fit: .*; nothing was charged")
def _a_release_that_does_not(here):
    here.run("spend", "add", "budget.jsonl", *RELEASE)
    here.run("spend", "add", "budget.jsonl", *RELEASE)
    return here.run("spend", "add", "budget.jsonl", *RELEASE)


@WAYS.end(0, WHOLE, r"Whole: 1 releases\. .*")
def _a_budget_as_it_was_written(here):
    here.run("spend", "add", "budget.jsonl", *RELEASE)
    return here.run("spend", "verify", "budget.jsonl")


@WAYS.end(1, CHANGED, r"budget\.jsonl: line 2 was changed .*")
def _a_budget_with_a_line_that_was_changed(here):
    here.run("spend", "add", "budget.jsonl", *RELEASE)
    path = here.folder / "budget.jsonl"
    path.write_text(path.read_text().replace('"noise_scale":2.0', '"noise_scale":4.0'))
    return here.run("spend", "verify", "budget.jsonl")


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(way, here):
    assert way.complaints(way.ends(here)) == []
