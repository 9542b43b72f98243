"""What of a scan is public: that alone, whatever is withheld, and until when."""

from __future__ import annotations

from datetime import date

import pytest

from dpaudit.scan.publication.known_findings import PackageNotes, Peer, Thread
from dpaudit.scan.publication.published_scan import make_full_publication, make_public_publication

from .samples import SUBJECTS, checked, finding, scan
from .test_verdicts_of_subjects import corner

TODAY = date(2026, 11, 24)
THREAD = Thread(subject="tools.alpha", event="NaN", title="it", url=["https://a.example"])
PEER = Peer(tool="another", says="so", reference="there")
KNOWN = PackageNotes(thread=[THREAD], peer=[PEER])
PUBLIC, SECRET = finding("tools.alpha"), finding("tools.beta", "`out` > 3")
DETAILS = ("checked", "floating", "information", "skipped", "notes")


def result(*findings, **given):
    fields = {"information": [], "notes": ["a note"], "unreached": ["unreached"], **given}
    made = scan(*findings, skipped={"models.eta": "it raised"}, **fields)
    return made.model_copy(update={"floating": [corner("withheld", name="tools.beta")]})


def details(public):
    return {name: getattr(public, name) for name in DETAILS}


def test_who_ran_a_scan_is_shown_all_of_it():
    one = result(PUBLIC, SECRET, information=[finding("tools.beta")])
    shown = make_full_publication(one, KNOWN)
    assert [each.finding for each in shown.findings] == [PUBLIC, SECRET]
    assert [each.threads for each in shown.findings] == [[THREAD], []]
    assert shown.withheld == 0
    assert details(shown) == {
        "checked": one.checked,
        "floating": one.floating,
        "information": one.information,
        "skipped": one.skipped,
        "notes": ["unreached", "a note"],
    }


def test_while_a_finding_is_withheld_nothing_is_said_of_single_subjects():
    public = make_public_publication(
        result(PUBLIC, SECRET, information=[finding("tools.alpha")]), KNOWN, TODAY
    )
    assert [each.finding for each in public.findings] == [PUBLIC]
    assert public.withheld == 1
    assert details(public) == {name: {} if name == "skipped" else [] for name in DETAILS}
    assert public.subjects == [*SUBJECTS, "models.eta"]
    assert public.peers == [PEER]


def test_where_all_is_public_only_notes_and_information_without_a_thread_wait():
    told, untold = finding("tools.alpha", violation=False), finding("tools.beta", violation=False)
    one = result(PUBLIC, information=[told, untold])
    public = make_public_publication(one, KNOWN, TODAY)
    assert public.withheld == 0
    assert details(public) == {
        "checked": one.checked,
        "floating": one.floating,
        "information": [told],
        "skipped": one.skipped,
        "notes": ["unreached"],
    }


@pytest.mark.parametrize(
    ("embargo", "withheld"),
    [(TODAY, 0), (date(2026, 11, 25), 1), (date(2026, 11, 23), 0), (False, 0), (True, 1)],
)
def test_after_its_day_everything_is_public(embargo, withheld):
    one = result(PUBLIC, SECRET, information=[finding("tools.beta")])
    public = make_public_publication(one, KNOWN.model_copy(update={"embargo": embargo}), TODAY)
    assert public.withheld == withheld
    assert len(public.findings) == 2 - withheld
    assert public.notes == ([] if withheld else ["unreached", "a note"])
    assert len(public.information) == 1 - withheld


@pytest.mark.parametrize("findings", [(), (PUBLIC,), (PUBLIC, SECRET)])
def test_the_number_of_subjects_without_a_verdict_is_told_whatever_is_withheld(findings):
    """The one whose numbers are withheld, and the one that could not be run."""
    one = result(*findings)
    assert set(one.withheld) == {"tools.beta", "models.eta"}
    assert make_public_publication(one, KNOWN, TODAY).without_verdict == 2
    assert make_full_publication(one, KNOWN).without_verdict == 2


def test_several_findings_without_a_thread_are_counted_each():
    three = [finding("tools.beta", f"`out` > {number}") for number in range(3)]
    public = make_public_publication(result(PUBLIC, *three), KNOWN, TODAY)
    assert (len(public.findings), public.withheld) == (1, 3)
    assert make_public_publication(result(*three), KNOWN, TODAY).withheld == 3
    assert make_public_publication(result(), KNOWN, TODAY).withheld == 0


def test_a_script_of_another_event_waits_unless_the_embargo_is_over():
    event = PUBLIC.event.model_copy(update={"value": "nan"})
    other = PUBLIC.model_copy(update={"event": event, "reproduction_event": "out > 3.0"})
    assert other.reproduction is not None
    (public,) = make_public_publication(result(other), KNOWN, TODAY).findings
    kept = ("reproduction", "reproduced", "reproduction_event")
    assert [getattr(public.finding, name) for name in kept] == [None] * 3
    assert public.threads == [THREAD]
    (shown,) = make_public_publication(
        result(other), PackageNotes(thread=[THREAD], embargo=False), TODAY
    ).findings
    assert shown.finding == other


def test_the_exit_status_of_a_scan_counts_findings_and_withheld_subjects():
    one = result(PUBLIC, SECRET, information=[finding("models.gamma")])
    assert sorted(one.verdicts) == ["refuted", "refuted", "withheld", "withheld"]
    aside = scan(information=[finding("models.gamma")])
    assert aside.verdicts == []
    assert checked("tools.beta", "replace-record", True).counts  # the page names no relation
