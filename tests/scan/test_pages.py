"""What pages and drafts print beside a bound: its counts, its delta, never more than holds."""

from __future__ import annotations

import pytest

from dpaudit.scan.finding import (
    CarryingCounts,
    ClaimCheck,
    ClaimedGuarantee,
    FloatingCheck,
    SeenEvent,
)
from dpaudit.scan.publication.disclosure import render_issue_draft
from dpaudit.scan.publication.gallery import _in_order
from dpaudit.scan.publication.known_findings import PackageNotes
from dpaudit.scan.publication.pages import (
    corners_of,
    format_certified_bound,
    format_finding_count,
    format_scan_outcome,
    format_supported_bound,
    format_undecided_subjects,
    render_scan_page,
    rows_of,
)
from dpaudit.scan.publication.published_scan import make_full_publication

from .samples import checked, finding, scan
from .test_verdicts_of_subjects import corner

COUNTS = CarryingCounts(
    on_dataset=12345, on_neighbour=67, runs=20_000, favours="dataset", delta=1e-5,
    alpha=1.25e-9, lower=4.56789,
)  # fmt: skip


def test_a_bound_stands_with_its_own_counts_delta_and_error_probability():
    assert format_certified_bound(COUNTS, 9.9, 0.5) == (
        "ε ≥ 4.567 at δ = 1e-5, by one exact test of 12,345 of 20,000 and 67 of 20,000 fresh "
        "outputs in the event below, with an error probability of 1.25e-9"
    )
    assert format_supported_bound(COUNTS, 9.9) == (
        "ε ≥ 4.567 at δ = 1e-5 (12,345 of 20,000 and 67 of 20,000, error probability 1.25e-9)"
    )
    turned = COUNTS.model_copy(update={"complement": True})
    assert "outputs in the complement of the event below," in format_certified_bound(
        turned, 9.9, 0.5
    )
    assert format_certified_bound(None, 4.56789, 1e-5) == "ε ≥ 4.567 at δ = 1e-5"
    assert format_supported_bound(None, 4.5) == "its counts were not kept"
    assert format_supported_bound(None, None) == "—"


@pytest.mark.parametrize(
    ("findings", "withheld", "said"),
    [
        (0, 0, "no finding"),
        (1, 0, "1 finding"),
        (2, 0, "2 findings"),
        (0, 1, "1 finding under disclosure"),
        (0, 2, "2 findings under disclosure"),
        (1, 1, "1 finding, 1 finding under disclosure"),
        (2, 3, "2 findings, 3 findings under disclosure"),
    ],
)
def test_findings_are_counted_public_and_withheld(findings, withheld, said):
    assert format_finding_count(findings, withheld) == said


@pytest.mark.parametrize(
    ("subjects", "said"),
    [
        (0, ""),
        (1, "; the verdict on 1 subject is withheld"),
        (3, "; the verdict on 3 subjects is withheld"),
    ],
)
def test_subjects_without_a_verdict_are_told(subjects, said):
    assert format_undecided_subjects(subjects) == said


def test_the_outcome_counts_what_is_public_withheld_undecided_and_looked_at():
    one = make_full_publication(
        scan(finding("tools.alpha"), skipped={"x": "it raised"}), PackageNotes()
    )
    assert (
        format_scan_outcome(one)
        == "1 finding; the verdict on 1 subject is withheld. Looked at: 5 subjects."
    )
    hidden = one.model_copy(update={"withheld": 2, "without_verdict": 0})
    assert (
        format_scan_outcome(hidden)
        == "1 finding, 2 findings under disclosure. Looked at: 5 subjects."
    )


@pytest.mark.parametrize(
    ("verdicts", "shown"),
    [
        (["refuted", "not refuted"], "refuted"),
        (["not refuted", "refuted"], "refuted"),
        (["not refuted", "withheld"], "withheld"),
        (["withheld", "refuted"], "refuted"),
        ([None, "not refuted"], "not refuted"),
        (["not refuted", None], "not refuted"),
        ([None, "withheld"], "withheld"),
        ([None], "—"),
    ],
)
def test_a_corner_is_shown_as_the_worst_over_its_relations(verdicts, shown):
    lines = [corner(one) for one in verdicts]
    assert corners_of([*lines, corner("refuted", name="other")])["sum"] == {"bits": shown}


def test_corners_of_one_subject_are_told_apart():
    one, two = corner("refuted"), corner("not refuted").model_copy(update={"corner": "ties"})
    assert corners_of([one, two]) == {"sum": {"bits": "refuted", "ties": "not refuted"}}
    assert isinstance(one, FloatingCheck)


def line(verdict, relation, claimed):
    guarantee = ClaimedGuarantee(words="1-DP", relation=claimed, where="here", epsilon=1.0)
    return ClaimCheck(
        subject="sum", relation=relation, claimed=guarantee, documented=claimed == relation,
        verdict=verdict, settings=1, pairs=1, runs=9,
    )  # fmt: skip


REPLACED, ADDED = "replace-record", "add-remove-record"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            [("refuted", REPLACED, None), ("not refuted", ADDED, None)],
            "Refuted under replace-record, not refuted under add-remove-record. The documentation "
            "does not say which relation.",
        ),
        (
            [("withheld", REPLACED, ADDED), ("not refuted", ADDED, ADDED)],
            "Withheld under replace-record, not refuted under add-remove-record. The documentation "
            "claims add-remove-record.",
        ),
        ([("withheld", REPLACED, None), ("withheld", ADDED, None)], "Withheld."),
        (
            [("refuted", ADDED, ADDED), ("refuted", ADDED, None)],
            "Refuted under add-remove-record, refuted under add-remove-record. The documentation "
            "claims add-remove-record.",
        ),
    ],
)
def test_a_row_says_each_verdict_with_its_relation_and_what_is_claimed(lines, sentence):
    (row,) = rows_of([line(*one) for one in lines])
    assert row.sentence == sentence


def test_rows_are_of_one_subject_each_in_order():
    lines = [checked(one, REPLACED, False) for one in ("b", "a", "b")]
    assert [(row.subject, len(row.lines)) for row in rows_of(lines)] == [("b", 2), ("a", 1)]


def test_versions_are_in_order_as_numbers():
    ordered = ["0.9", "1.0", "1.0.1", "1.2", "1.10", "2.0a1", "2.0b1", "10.0"]
    assert sorted(reversed(ordered), key=_in_order) == ordered


# Drafts


def told(**fields):
    event = SeenEvent(
        words="`out` is NaN", part="out", test="equals", on_dataset=17, on_neighbour=4300, runs=4321
    )
    one = finding("tools.alpha", **{"event": event, **fields})
    return " ".join(render_issue_draft(one, scan(one)).split())


@pytest.mark.parametrize(
    ("delta", "title"), [(0.0, "5.43 on one"), (1e-5, "5.43 at delta = 1e-05 on")]
)
def test_a_draft_names_the_delta_of_its_bound(delta, title):
    text = told(at_delta=delta)
    assert text.startswith(f"# tools.alpha: epsilon is at least {title}")
    assert f"certify that epsilon is at least 5.43 at delta = {delta:g}." in text


def test_a_draft_gives_the_counts_of_either_side():
    assert "in 17 of 4321 outputs on the first and in 4300 of 4321 on the second" in told()


@pytest.mark.parametrize(
    ("confidence", "said"),
    [(1 - 1e-6, "0.999999"), (0.95, "0.95"), (0.99999999996, "0.9999999999")],
)
def test_a_draft_never_rounds_its_confidence_up(confidence, said):
    assert f"The bound holds at {said} confidence, for all that was checked" in told(
        confidence=confidence
    )


def test_a_draft_asks_by_the_relation_that_was_tried_and_says_the_one_that_is_claimed():
    text = told(relation=ADDED)
    assert "Two datasets that differ in one record added or removed (record 2" in text
    claimed = finding("x").claimed.model_copy(update={"relation": REPLACED})
    assert "1-DP for neighbours by one record replaced by another. Where: docstring" in told(
        claimed=claimed
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("structure", "should follow from public parameters alone"),
        ("distribution", "scaled to the largest change that one record can make"),
        ("floating point", "Noise in floating point should be made safe"),
    ],
)
def test_a_draft_suggests_what_mends_its_kind_unless_a_remedy_is_known(kind, words):
    assert words in told(kind=kind)
    assert words not in told(kind=kind, remedy="Do this.")
    assert "## What might mend it Do this. ## Versions" in told(kind=kind, remedy="Do this.")


def test_a_draft_names_the_versions_of_what_ran_and_of_nothing_else():
    one = finding("tools.alpha")
    made = scan(one)
    here = made.environment.model_copy(
        update={
            "requirements": ["toy==1.0", "Helper==2.0"],
            "versions": {"toy": "1.0", "helper": "2.0", "NumPy": "9", "unasked": "3"},
        }
    )
    lines = render_issue_draft(one, made.model_copy(update={"environment": here})).splitlines()
    assert [line for line in lines if line.startswith("- ")] == [
        "- toy 1.0",
        "- Python 3.11.2",
        "- helper 2.0",
        "- NumPy 9",
    ]


@pytest.mark.parametrize("html", [True, False])
def test_a_page_names_the_kind_of_fault_where_there_is_one(html):
    words = "DPA006: keys, sizes or types that follow the records"
    for fault, times in (("DPA006", 1), (None, 0), ("DPA999", 0)):
        one = finding("tools.alpha", fault=fault)
        page = render_scan_page(make_full_publication(scan(one), PackageNotes()), html=html)
        assert page.count(words) == times
        assert ("Kind of fault" in page, page.count("DPA999")) == (
            fault is not None,
            fault == "DPA999",
        )
