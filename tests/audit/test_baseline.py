"""Accepted refutations: what an entry accepts, and what it never hides."""

import datetime
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dpaudit as package
from dpaudit.auditing.specification.baseline import (
    Baseline,
    BaselineEntry,
    BaselineSubject,
    Consent,
    day_of,
)
from dpaudit.errors import DataError, InvalidArgument
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.report.acceptance import format_acceptance
from dpaudit.report.document import read_report, write_report
from dpaudit.report.schema import BudgetEntry, CarryingEvent, Environment, Report

TODAY = datetime.date(2031, 3, 10)
DAY = datetime.timedelta(days=1)


def halved(data, trials, rng):
    return np.sum(data) + rng.laplace(scale=0.5, size=trials)


@pytest.fixture(scope="module")
def refuted():
    found = package.audit(
        halved,
        np.array([0.0, 1.0]),
        np.array([1.0, 1.0]),
        epsilon=1.0,
        trials=1000,
        isolation=Isolation(in_process=True),
    )
    assert found.verdict == "refuted"
    return found


@pytest.fixture
def file(tmp_path):
    return tmp_path / "b.toml"


def accepted(file, result, *, until=None):
    made = Baseline(file, Consent("known", until), TODAY).judge(result)
    assert made.is_accepted
    return Baseline(file, today=TODAY)


def changed(result, *, lower=None, **other):
    """Return a result with another lower end, which no event carries."""
    if lower is not None:
        other["measured"] = result.measured.model_copy(update={"lower": lower})
        other["carrying_event"] = None
    return result.model_copy(update=other)


def state(baseline, result):
    found = baseline.judge(result)
    assert found.verdict == result.verdict  # no fifth word
    return None if found.acceptance is None else found.acceptance.state


def test_what_was_accepted_is_accepted_again(file, refuted):
    baseline = accepted(file, refuted)
    assert state(baseline, refuted) == "accepted"
    assert state(baseline, changed(refuted, lower=1.2)) == "accepted"
    assert (refuted.acceptance, refuted.is_accepted) == (None, False)


def test_more_than_was_accepted_refutes_again(file, refuted):
    baseline = accepted(file, refuted)
    assert state(baseline, changed(refuted, lower=refuted.lower * 1.02)) == "worse"
    worse = baseline.judge(changed(refuted, lower=np.inf))
    assert (worse.acceptance.state, worse.is_accepted) == ("worse", False)


@pytest.mark.parametrize(
    "other",
    [
        {"parameters": {"mechanism": "mine:other"}},
        {"relation": "add-remove-record"},
        {"quantity": "mu"},
        {"observe": ["time"]},
        {"claimed": {"epsilon": 1.0, "delta": 1e-9}},
        {"claimed": {"epsilon": 0.5, "delta": 0.0}},
        {"claimed": {"epsilon": 1.25, "delta": 0.0}},
    ],
    ids=lambda other: str(next(iter(other.items()))),
)
def test_another_claim_is_not_hidden(file, refuted, other):
    baseline = accepted(file, refuted)
    if "claimed" in other:
        other = {"claimed": refuted.claimed.model_copy(update=other["claimed"])}
    found = baseline.judge(changed(refuted, **other))
    assert not found.is_accepted
    assert found.acceptance.state == "changed"
    assert len(found.acceptance.differs) == 1


def test_an_audit_of_another_name_has_no_entry(file, refuted):
    baseline = accepted(file, refuted)
    assert state(baseline, changed(refuted, claim="another")) is None
    assert len(baseline.unmatched([])) == 1
    assert baseline.unmatched([refuted.claim]) == []  # it gave no result: nobody knows


def test_both_claims_of_one_name_may_be_accepted(file, refuted):
    accepted(file, refuted)
    other = changed(refuted, relation="add-remove-record")
    baseline = accepted(file, other)
    assert len(baseline.entries) == 2
    assert state(baseline, refuted) == state(baseline, other) == "accepted"
    assert baseline.unmatched([]) == []
    alone = Baseline(file, today=TODAY)
    alone.judge(other)
    assert len(alone.unmatched([])) == 1  # the claim of before is gone


def test_an_entry_ends_after_its_last_day(file, refuted):
    accepted(file, refuted, until=datetime.date(2999, 1, 2))
    for day, expected in ((0, "accepted"), (1, "expired")):
        today = datetime.date(2999, 1, 2) + day * DAY
        assert state(Baseline(file, today=today), refuted) == expected


def test_what_is_no_longer_refuted_is_said(file, refuted):
    baseline = accepted(file, refuted)
    assert state(baseline, changed(refuted, verdict="not refuted")) == "not refuted"
    withheld = baseline.judge(changed(refuted, verdict="withheld"))
    assert (withheld.acceptance.state, withheld.is_accepted) == ("withheld", False)


def test_a_proof_that_is_required_is_missing_all_the_same(file, refuted):
    found = accepted(file, refuted).judge(changed(refuted, requires_proof=True))
    assert (found.is_accepted, found.misses_proof) == (True, True)


def with_counts(result, alpha):
    """Return a result that rests on the same counts at another error probability."""
    event = result.carrying_event
    (hits, other), (runs, _) = event.hits, event.runs
    hits, other = max(hits, other), min(hits, other)
    lower = joint_lower_bound(hits, other, runs, runs, delta=0.0, alpha=alpha, order=event.order)
    return result.model_copy(
        update={
            "carrying_event": event.model_copy(update={"alpha": alpha, "epsilon": lower}),
            "measured": result.measured.model_copy(
                update={"lower": lower, "confidence": 1 - alpha}
            ),
        }
    )


def test_the_same_counts_at_a_larger_share_are_nothing_worse(file, refuted):
    """One audit of twenty, and then alone: it certifies more by the same counts."""
    shared, alone = with_counts(refuted, 0.05 / 20), with_counts(refuted, 0.05)
    assert alone.lower > 1.03 * shared.lower
    baseline = accepted(file, shared)
    assert state(baseline, alone) == "accepted"
    assert baseline.judge(alone).acceptance.now == pytest.approx(shared.lower, rel=1e-6)
    # More hits at the same share are another thing.
    event = alone.carrying_event
    more = tuple(one + 150 if one == max(event.hits) else one for one in event.hits)
    moved = with_counts(
        alone.model_copy(update={"carrying_event": event.model_copy(update={"hits": more})}), 0.05
    )
    assert state(baseline, moved) == "worse"


def test_the_direction_of_an_event_changes_nothing(file, refuted):
    shared, alone = with_counts(refuted, 0.0025), with_counts(refuted, 0.05)
    event = alone.carrying_event
    turned = event.model_copy(update={"hits": event.hits[::-1], "runs": event.runs[::-1]})
    baseline = accepted(file, shared)
    assert state(baseline, alone.model_copy(update={"carrying_event": turned})) == "accepted"


def test_an_entry_states_what_was_certified_and_no_more(file, refuted):
    accepted(file, refuted)
    [entry] = tomllib.loads(file.read_text())["accepted"]
    assert entry["lower"] == refuted.lower <= entry["up_to"] < 1.01 * refuted.lower
    assert (entry["date"], entry["reason"]) == (TODAY, "known")
    said = format_acceptance(Baseline(file, today=TODAY).judge(refuted).acceptance)
    assert f"was at least {np.floor(refuted.lower * 1000) / 1000:.4g}" in said


def test_somebody_may_accept_more_by_hand(file, refuted):
    accepted(file, refuted)
    file.write_text(re.sub("up_to = .*", "up_to = 9", file.read_text()))
    assert state(Baseline(file, today=TODAY), changed(refuted, lower=8.9)) == "accepted"


HOSTILE = ('a "b" \\ \u202e\x7f\x1b[31m\n[[accepted]]', "ε = 2; 日本 😀", "'''\"\"\"", "\\u0041")


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_written_and_read_back(file, refuted, text):
    result = changed(refuted, claim=text, parameters={"mechanism": text})
    Baseline(file, Consent(text), TODAY).judge(result)
    baseline = Baseline(file, today=TODAY)
    assert len(baseline.entries) == 1
    assert state(baseline, result) == "accepted"


def test_entries_are_sorted_and_one_more_changes_no_other(file, refuted):
    for name in ("c", "a", "b"):
        accepted(file, changed(refuted, claim=name))
    names = [one["audit"] for one in tomllib.loads(file.read_text())["accepted"]]
    assert names == ["a", "b", "c"]
    before = file.read_text().splitlines()
    accepted(file, changed(refuted, claim="bb"))
    assert [line for line in before if line not in file.read_text().splitlines()] == []


def test_many_that_accept_at_once_lose_nothing(file, refuted):
    def accept(number):
        Baseline(file, Consent("at once"), TODAY).judge(changed(refuted, claim=f"n{number}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(accept, range(40)))
    assert len(Baseline(file).entries) == 40


GOOD = {
    "audit": '"a"',
    "relation": '"r"',
    "quantity": '"epsilon"',
    "claimed": "1.0",
    "lower": "1.5",
    "reason": '"known"',
    "date": "2031-03-01",
}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"reason": None}, "reason"),
        ({"reason": '" "'}, "reason"),
        ({"date": None}, "date"),
        ({"date": '"2031-03-01"'}, "date"),
        ({"date": "2031-03-01T00:00:00"}, "date"),
        ({"until": "7"}, "until"),
        ({"lower": "nan"}, "lower"),
        ({"lower": "true"}, "lower"),
        ({"up_to": '"2"'}, "up_to"),
        ({"audit": "[1]"}, "audit"),
        ({"bound": "2"}, "bound"),
    ],
    ids=str,
)
def test_a_wrong_entry_is_named(file, changes, named):
    table = {name: one for name, one in {**GOOD, **changes}.items() if one is not None}
    file.write_text("[[accepted]]\n" + "".join(f"{n} = {one}\n" for n, one in table.items()))
    with pytest.raises(InvalidArgument, match=named):
        Baseline(file)


def test_a_right_entry_is_read(file):
    file.write_text("[[accepted]]\n" + "".join(f"{n} = {one}\n" for n, one in GOOD.items()))
    [entry] = Baseline(file).entries
    subject = BaselineSubject(audit="a", relation="r", quantity="epsilon", claimed=1.0)
    day = datetime.date(2031, 3, 1)
    assert entry == BaselineEntry(subject=subject, lower=1.5, up_to=1.5, reason="known", date=day)
    file.write_text(file.read_text() * 2)
    with pytest.raises(InvalidArgument, match="one entry for each claim"):
        Baseline(file)


def test_a_file_that_is_not_there_is_named(file, refuted):
    with pytest.raises(DataError, match=r"b\.toml: no such file"):
        Baseline(file)
    nowhere = Baseline(file.parent / "no" / "such.toml", Consent("x"))
    with pytest.raises(DataError, match="cannot be written"):
        nowhere.judge(refuted)


def test_what_is_no_consent_is_refused():
    with pytest.raises(InvalidArgument, match="accept"):
        Consent("  ")
    with pytest.raises(InvalidArgument, match="accept_until"):
        Consent("x", datetime.date(2020, 1, 1))
    with pytest.raises(InvalidArgument, match="a day"):
        day_of("until", "tomorrow")


def test_a_report_keeps_what_is_accepted(tmp_path, file, refuted):
    found = accepted(file, refuted).judge(refuted)
    report = Report(
        confidence=0.95,
        budget=[BudgetEntry(purpose="a", alpha=0.05)],
        results=[found],
        unmatched=["old, accepted on 2030-01-01 (gone) in b.toml"],
        environment=Environment.of_this_machine(1, 1.0),
    )
    paths = write_report(report, tmp_path / "report")
    assert read_report(paths.json).model_dump() == report.model_dump()
    for page in (paths.markdown, paths.html):
        text = page.read_text()
        assert "Accepted on 2031-03-10" in text
        assert "1 refutation is accepted" in text
        assert "No audit of this command is the accepted old" in text


def test_the_event_is_one_that_counts_give(refuted):
    """The comparison rests on it: the counts give the bound that the result states."""
    assert isinstance(refuted.carrying_event, CarryingEvent)
    assert with_counts(refuted, refuted.carrying_event.alpha).lower == pytest.approx(refuted.lower)
