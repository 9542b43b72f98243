"""What a person states of findings: whose thread it is, and until when an embargo stands."""

from __future__ import annotations

from datetime import date

import pytest

from dpaudit.scan.publication.known_findings import PackageNotes, Thread

from .samples import finding

DAY = date(2027, 1, 31)


@pytest.mark.parametrize(
    ("today", "lifted"),
    [
        (date(2027, 1, 30), False),
        (DAY, True),
        (date(2027, 2, 1), True),
        (date(2026, 12, 31), False),
    ],
)
def test_an_embargo_ends_on_its_day(today, lifted):
    assert PackageNotes(embargo=DAY).lifted(today) is lifted


@pytest.mark.parametrize(("embargo", "lifted"), [(True, False), (False, True)])
def test_an_embargo_without_a_day_stands_or_not_whatever_the_day(embargo, lifted):
    for today in (None, date(1990, 1, 1), date(2990, 1, 1)):
        assert PackageNotes(embargo=embargo).lifted(today) is lifted


def test_of_the_present_day_an_embargo_of_the_past_is_over_and_one_of_the_future_is_not():
    assert PackageNotes(embargo=date(2020, 1, 1)).lifted()
    assert not PackageNotes(embargo=date(2990, 1, 1)).lifted()


def test_an_embargo_stands_where_nothing_is_stated(tmp_path):
    assert PackageNotes.read(tmp_path / "none.toml") == PackageNotes()
    assert PackageNotes().embargo is True
    empty = tmp_path / "empty.toml"
    empty.write_text("", encoding="utf-8")
    assert not PackageNotes.read(empty).lifted()


def thread(subject="tools.*", event="is NaN", edit="without"):
    return Thread(subject=subject, event=event, edit=edit, title="it", url=["https://a.example"])


@pytest.mark.parametrize(
    ("given", "about"),
    [
        ({}, True),
        ({"subject": "tools.beta"}, False),
        ({"subject": "TOOLS.*"}, False),
        ({"subject": "tools"}, False),
        ({"subject": ["models.*", "tools.alpha"]}, True),
        ({"subject": ["models.*"]}, False),
        ({"event": "is infinite"}, False),
        ({"event": "^is NaN"}, False),
        ({"event": "^`out` is NaN$"}, True),
        ({"edit": "with a number"}, False),
        ({"edit": ""}, True),
        ({"edit": "number$"}, True),
    ],
)
def test_a_thread_is_about_its_subject_event_and_edit(given, about):
    """The words are "`out` is NaN", the edit is "record 2 without a number"."""
    one = thread(**given)
    assert one.is_about(finding("tools.alpha")) is about
    assert PackageNotes(thread=[one]).threads_of(finding("tools.alpha")) == ([one] if about else [])


def test_the_threads_of_a_finding_are_all_that_are_about_it_and_no_others():
    first, other, second = thread(), thread(event="classes"), thread(edit="")
    assert PackageNotes(thread=[first, other, second]).threads_of(finding("tools.alpha")) == [
        first,
        second,
    ]


@pytest.mark.parametrize(
    ("subjects", "named"), [([], False), (["models.a"], False), (["models.a", "tools.b"], True)]
)
def test_a_thread_names_a_subject_where_one_of_several_is_its_own(subjects, named):
    assert thread().names_any(subjects) is named
