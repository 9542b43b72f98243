"""What a report says of bets, models, pairs and its one budget, in every rendering."""

import math

import pytest
from pydantic import ValidationError

from dpaudit.auditing.outcome.error_budget import whole_report
from dpaudit.cli.console import budget_line
from dpaudit.errors import InvalidArgument
from dpaudit.report.counts import WealthPath
from dpaudit.report.curves import render_wealth
from dpaudit.report.document import read_report, write_report
from dpaudit.report.formatting import format_model_based, select_wealth_landmarks
from dpaudit.report.render import render_html, render_markdown
from dpaudit.report.schema import SCHEMA_VERSION, BudgetEntry, ModelBased, PairSearch, Result

from . import samples

PATH = WealthPath(
    transcripts=[50, 60, 90], log10_wealth=[0.0, 0.6, 1.9], log10_goal=1.3, refuted_after=81
)
FIT = ModelBased(
    name="Gaussian fit", lower=3.4, upper=None, confidence=None, assumes="a curve", source="them"
)
SEARCH = PairSearch(
    candidates=3, chosen=2, promised=[0.1, 0.9, 0.3], transcripts=300, of_trials=1500
)


@pytest.fixture
def full():
    one = samples.result(
        wealth=PATH,
        model_based=[FIT, FIT.model_copy(update={"upper": 4.0, "confidence": 0.9})],
        pair_search=SEARCH,
        budget=[BudgetEntry(purpose="one wealth", alpha=0.02)],
    )
    other = one.model_copy(update={"claim": "second", "wealth": None})
    exact = one.model_copy(update={"claim": "exact", "budget": []})
    return whole_report([one, other, exact], samples.report().environment)


@pytest.mark.slow
@pytest.mark.parametrize("render", [render_html, render_markdown])
def test_every_part_is_shown(full, render):
    page = " ".join(render(full).split())
    for words in (
        "together at 96% confidence",
        "Gaussian fit",
        "assumption",
        "[3.4, 4] at 90% credibility",
        "no part in the verdict",
        "umber 2 of 3 candidates",
        "300 of 1,500",
        "second",
    ):
        assert words in page


def test_the_budgets_entries_sum_to_its_error_probability(full):
    assert [entry.alpha for entry in full.budget] == [0.02, 0.02]
    assert math.fsum(e.alpha for e in full.budget) == pytest.approx(1 - full.confidence)
    assert budget_line(full).startswith("All results together: 96% confidence.")


def test_the_document_reads_back(full, tmp_path):
    write_report(full, tmp_path)
    assert read_report(tmp_path / "report.json") == full


def test_a_report_of_an_earlier_version_is_read_without_the_new_parts(full, tmp_path):
    paths = write_report(samples.report(samples.result()), tmp_path)
    text = paths.json.read_text().replace(SCHEMA_VERSION, "1.1")
    paths.json.write_text(text)
    assert read_report(paths.json).confidence is None


def test_the_picture_of_a_wealth_names_where_it_refutes():
    assert "refuted after 81 outputs" in render_wealth(PATH)
    standing = PATH.model_copy(update={"refuted_after": None})
    assert "the claim is not refuted" in render_wealth(standing)
    empty = PATH.model_copy(update={"transcripts": [], "log10_wealth": []})
    with pytest.raises(InvalidArgument, match="at least one point"):
        render_wealth(empty)


def test_landmarks_keep_the_ends():
    many = PATH.model_copy(update={"transcripts": list(range(100)), "log10_wealth": [0.0] * 100})
    found = [outputs for outputs, _ in select_wealth_landmarks(many)]
    assert (found[0], found[-1], len(found)) == (0, 99, 8)
    assert select_wealth_landmarks(PATH) == [(50, 0.0), (60, 0.6), (90, 1.9)]


def test_infinite_estimates_are_shown():
    assert format_model_based(FIT.model_copy(update={"lower": math.inf})) == "∞"


def test_only_a_certificate_may_refute():
    fields = samples.result().model_dump()
    fields["verdict"] = "refuted"
    fields["measured"]["label"] = "assumption"
    with pytest.raises(ValidationError, match="only a certificate refutes"):
        Result.model_validate(fields)
    with pytest.raises(ValidationError, match="label"):
        ModelBased(**FIT.model_dump() | {"label": "certificate"})
