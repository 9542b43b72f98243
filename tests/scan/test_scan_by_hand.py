"""What a scan says of a refuted claim: its counts on either dataset, and numbers that hold."""

from __future__ import annotations

from types import SimpleNamespace

from dpaudit.scan.finding import SeenEvent
from dpaudit.scan.publication.worst_words import (
    _format_epsilon_down,
    format_refuted_setting,
    format_worst_sentence,
    measure_claim_excess,
)

EVENT = SeenEvent(
    words="out is NaN", part="output", test="equals", value="nan", on_dataset=3, on_neighbour=90,
    runs=100,
)  # fmt: skip


def refuted(lower=1.23459, claimed=0.5):
    return SimpleNamespace(
        candidate=SimpleNamespace(setting=1, relation="replace-record", edit="the last record"),
        result=SimpleNamespace(lower=lower, claimed=claimed, at_delta=1e-5, event=EVENT),
    )


SUBJECT = SimpleNamespace(name="tools.sum", parameters=({"epsilon": 1.0}, {"epsilon": 2.0}))


def test_a_finding_is_said_with_its_counts_its_edit_and_a_bound_that_is_rounded_down():
    assert format_worst_sentence(SUBJECT, refuted()) == (
        "tools.sum: out is NaN in 3 of 100 outputs on the dataset and in 90 of 100 on its "
        "neighbour (the last record); epsilon is at least 1.234 at delta 1e-5, where 0.5 is "
        "claimed."
    )


def test_a_finding_is_shown_with_the_setting_of_its_place():
    assert format_refuted_setting(SUBJECT, refuted()) == "replace-record: {'epsilon': 2.0}"


def test_a_claim_is_exceeded_by_what_is_certified_beyond_it():
    assert measure_claim_excess(refuted(lower=2.0, claimed=0.5)) == 1.5
    assert _format_epsilon_down(1.9999999) == "1.999"
