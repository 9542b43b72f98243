"""The gallery: what is public is shown, and nothing else of what is not can be read off."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from dpaudit.errors import DataError
from dpaudit.report.schema import json_schema
from dpaudit.scan.finding import ScanResult, withheld_subjects
from dpaudit.scan.publication.gallery import (
    list_gallery_shelves,
    publish_scan,
    read_published,
    write_scan,
)
from dpaudit.scan.publication.known_findings import PackageNotes
from dpaudit.scan.publication.pages import render_scan_page
from dpaudit.scan.publication.published_scan import PublishedScan, make_public_publication
from dpaudit.scan.write import write_scan_json
from dpaudit.verdicts import VERDICTS

from .samples import SUBJECTS, finding, scan

THREAD = """
[[thread]]
subject = "tools.alpha"
event = "is NaN"
edit = "without a number"
title = "a missing value shows"
url = ["https://example.org/toy/issues/80"]
state = "open"

[[peer]]
tool = "another tool"
says = "classes are published"
reference = "a paper"
"""
PUBLIC = finding("tools.alpha")


def gallery_of(tmp_path, *results, stated=THREAD):
    folder = tmp_path / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy.toml").write_text(stated, encoding="utf-8")
    for one in results:
        publish_scan(one, folder, date(2026, 11, 24))
    return folder


def texts(folder):
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".toml"
    }


def secret(subject, words):
    return finding(
        subject,
        words,
        edit="the secret edit",
        lower=7.7777,
        trials=77777,
        kind="distribution",
        relation="add-remove-record",
        remedy="a secret remedy",
        also=["a secret setting"],
    )


def test_files_are_the_same_whatever_is_withheld(tmp_path):
    """Not a list, not a count, not an order tells which subject it is, or anything about it."""
    noted = [f"{one}: looked at" for one in SUBJECTS]
    results = [
        scan(PUBLIC, secret(subject, words), information=[finding(subject)], notes=noted)
        for subject, words in (("tools.beta", "`out` > 3"), ("models.delta", "`len` is 7"))
    ]
    first, second = (
        texts(gallery_of(tmp_path / str(place), one)) for place, one in enumerate(results)
    )
    assert set(first) == {
        "index.html",
        "index.json",
        "index.md",
        *(f"toy-1.0/scan.{kind}" for kind in ("html", "json", "md")),
    }
    assert first == second


def test_what_is_withheld_leaves_its_number_and_nothing_else(tmp_path):
    hidden = secret("tools.beta", "`out` > 3.333")
    for name, text in texts(gallery_of(tmp_path, scan(PUBLIC, hidden))).items():
        for word in ("3.333", "secret", "7.7777", "77777", "77,777", "add-remove", "not refuted<"):
            assert word not in text, (name, word)
        if name.endswith(("html", "md")):
            assert "1 finding, 1 finding under disclosure" in text
    document = json.loads((tmp_path / "packages/toy-1.0/scan.json").read_text("utf-8"))
    assert document["withheld"] == 1
    assert document["subjects"] == list(SUBJECTS)
    kept = ("checked", "information", "skipped", "notes")
    assert [document[name] for name in kept] == [[], [], {}, []]


def test_a_second_finding_of_a_known_subject_stays_withheld(tmp_path):
    """A thread lifts what it is about: subject, event and edit; not all of its subject."""
    others = [finding("tools.alpha", "`out` > 3"), finding("tools.alpha", edit="another edit")]
    public = make_public_publication(scan(PUBLIC, *others), PackageNotes.model_validate(stated()))
    assert [one.finding for one in public.findings] == [PUBLIC]
    assert public.withheld == 2


def stated(**more):
    import tomllib

    return tomllib.loads(THREAD) | more


@pytest.mark.parametrize(
    ("embargo", "withheld"),
    [(True, 1), (False, 0), (date(2026, 11, 24), 0), (date(2026, 11, 25), 1)],
)
def test_a_person_lifts_the_embargo(embargo, withheld):
    known = PackageNotes.model_validate(stated(embargo=embargo))
    result = scan(PUBLIC, secret("tools.beta", "`out` > 3"))
    public = make_public_publication(result, known, date(2026, 11, 24))
    assert public.withheld == withheld
    assert len(public.findings) == 2 - withheld
    assert bool(public.checked) == (not withheld)


def test_notes_tell_what_was_not_reached_and_not_what_looked_worse(tmp_path):
    notes = (
        "tools.beta: in a run with frozen noise the mechanisms declare an epsilon of 2 together",
        "tools.alpha: 2 hypotheses that were not certified looked worse than the claim",
    )
    unreached = (
        "tools.alpha: 3 hypotheses were not certified: time",
        "tools.alpha: 5 of 9 pairs were not looked at: time",
    )
    pages = texts(gallery_of(tmp_path, scan(PUBLIC, notes=notes, unreached=unreached)))
    for text in pages.values():
        assert "declare" not in text
        assert "looked worse" not in text
    page = pages["toy-1.0/scan.md"]
    assert "3 hypotheses were not certified: time" in page
    assert "5 of 9 pairs were not looked at: time" in page


@pytest.mark.parametrize(
    ("event", "shown"),
    [("out != out", True), ("type(out).__name__ == 'KeyError'", False), ("out > 3.0", False)],
)
def test_a_script_that_counts_another_event_waits_for_a_thread(tmp_path, event, shown):
    """A thread about NaN is none about an error that the same pair shows."""
    nan = PUBLIC.event.model_copy(update={"test": "equals", "value": "nan"})
    found = PUBLIC.model_copy(update={"event": nan, "reproduction_event": event})
    pages = texts(gallery_of(tmp_path, scan(found)))
    for name in ("toy-1.0/scan.html", "toy-1.0/scan.md", "toy-1.0/scan.json"):
        assert ("import toy" in pages[name]) == shown


def test_what_nobody_claims_is_told_by_relation_and_not_in_detail(tmp_path):
    aside = finding("tools.beta", "`out` > 3.333", violation=False)
    pages = texts(gallery_of(tmp_path, scan(PUBLIC, information=[aside])))
    assert all("3.333" not in text for text in pages.values())
    assert "The documentation does not say which relation." in pages["toy-1.0/scan.html"]


def test_a_release_says_what_was_found_what_held_and_how_often_it_was_checked(tmp_path):
    pages = texts(gallery_of(tmp_path, scan(PUBLIC)))
    for page in (pages["toy-1.0/scan.html"], pages["toy-1.0/scan.md"]):
        for word in (
            "a missing value shows",
            "https://example.org/toy/issues/80",
            "docstring of it, first paragraph",
            "import toy",
            "certifications",
            "models.delta",
            "another tool",
            "toy",
        ):
            assert word in page, word
    assert "Looked at: 4 subjects." in pages["toy-1.0/scan.md"]


def test_versions_stand_beside_each_other(tmp_path):
    """A bug that came and went: 1.9 before 1.10, found in one and not in the other."""
    results = [scan(PUBLIC, version="1.10"), scan(version="1.9")]
    folder = gallery_of(tmp_path, *results)
    index = json.loads((folder / "index.json").read_text("utf-8"))
    (package,) = index["packages"]
    assert [one["version"] for one in package["releases"]] == ["1.9", "1.10"]
    assert package["known"][0]["releases"] == {"1.9": "not seen", "1.10": "found"}
    assert index["schema"] == 1
    page = (folder / "index.md").read_text("utf-8")
    assert "1 finding in 2 releases of 1 package." in page
    assert "[1.9](toy-1.9/scan.md)" in page


def test_a_thread_names_several_subjects():
    known = PackageNotes.model_validate(stated())
    several = known.thread[0].model_copy(update={"subject": ["tools.beta", "tools.a*"]})
    assert several.is_about(PUBLIC)
    assert several.names_any(["tools.beta"])
    assert not several.names_any(["models.gamma"])


def test_a_thread_about_what_was_not_looked_at_says_so(tmp_path):
    stated = THREAD.replace("tools.alpha", "tools.omega")
    (shelf,) = list_gallery_shelves(gallery_of(tmp_path, scan(PUBLIC), stated=stated))
    assert dict(shelf.bugs[0].by_release) == {"1.0": "not looked at"}


def test_who_ran_a_scan_reads_all_of_it(tmp_path):
    page = write_scan(scan(PUBLIC, secret("tools.beta", "`out` > 3.333")), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "3.333" in text
    assert "secret remedy" in text
    assert "under disclosure" not in text
    assert (tmp_path / "scan.md").is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[thread]]\nsubject = 'a'", "thread.0.event"),
        ("embargo = 'soon'", "embargo"),
        ("[[thread]]\nsubject = 'a'\nevent = '('\ntitle = 'b'\nurl = ['c']", "regular expression"),
        ("[[thread]]\nsubject = 'a'\nevent = ''\ntitle = 'b'\nurl = ['c']", "thread.0.event"),
        ("wrong = 1", "wrong"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_file_of_threads_that_is_wrong_is_refused_before_anything_is_written(
    tmp_path, text, message
):
    with pytest.raises(DataError, match=message):
        gallery_of(tmp_path, scan(PUBLIC), stated=text)
    assert texts(tmp_path / "packages") == {}


def test_without_a_file_nothing_is_public(tmp_path):
    publish_scan(scan(PUBLIC), tmp_path)
    assert "1 finding under disclosure" in (tmp_path / "index.md").read_text("utf-8")


def test_a_release_is_read_back_and_a_damaged_one_refused(tmp_path):
    folder = gallery_of(tmp_path, scan(PUBLIC))
    path = folder / "toy-1.0" / "scan.json"
    assert read_published(path).findings[0].finding == PUBLIC
    path.write_text('{"schema": 9}', encoding="utf-8")
    with pytest.raises(DataError, match="later than"):
        read_published(path)
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"scan\.json"):
        list_gallery_shelves(folder)


def test_hostile_text_is_shown_as_it_stands(tmp_path):
    words = "<script>alert(1)</script> | `x`\x1b[2J"
    nasty = finding("tools.alpha", f"is NaN {words}", reproduction=words, reproduced="```\n")
    pages = texts(gallery_of(tmp_path, scan(nasty)))
    assert "<script>" not in pages["toy-1.0/scan.html"]
    assert "\x1b" not in "".join(pages.values())
    fenced = re.compile(r"^(`{3,})\w+\n.*?^\1$", re.DOTALL | re.MULTILINE)
    assert "<script>" not in fenced.sub("", pages["toy-1.0/scan.md"])


def test_files_satisfy_their_schemas(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    result = scan(PUBLIC, secret("tools.beta", "`out` > 3"))
    written = {
        ScanResult: write_scan_json(result, tmp_path / "all"),
        PublishedScan: gallery_of(tmp_path, result) / "toy-1.0" / "scan.json",
    }
    for model, path in written.items():
        validator = jsonschema.Draft202012Validator(json_schema(model))
        document = json.loads(path.read_text(encoding="utf-8"))
        assert list(validator.iter_errors(document)) == []
        assert list(validator.iter_errors({**document, "findings": 1})) != []


def test_the_committed_gallery_is_what_its_releases_say():
    gallery = Path(__file__).parents[2] / "reports" / "packages"
    if not gallery.is_dir():
        pytest.skip("no gallery is committed yet")
    for shelf in list_gallery_shelves(gallery):
        for release in shelf.releases:
            scan, folder = release.scan, gallery / release.folder
            assert all(one.threads for one in scan.findings)
            assert (folder / "scan.md").read_text("utf-8") == render_scan_page(scan, html=False)
            content = json.loads((folder / "scan.json").read_text("utf-8"))
            lines = [*content["checked"], *content["floating"]]
            assert {one["verdict"] for one in lines} <= {*VERDICTS, None}
            left = withheld_subjects(scan.checked, scan.floating, scan.skipped)
            assert content["without_verdict"] == len(left) or scan.withheld


@pytest.mark.parametrize(
    ("why", "verdict", "left"),
    [
        ("no time", "withheld", 1),
        ("no output is a finite double", None, 0),
        ("no such values within the bounds, or refuted without it", None, 0),
    ],
)
def test_an_older_release_is_read_in_the_present_words(tmp_path, why, verdict, left):
    """Its "not run" is withheld where time was over, and no verdict where no numbers are."""
    path = gallery_of(tmp_path, scan(PUBLIC)) / "toy-1.0" / "scan.json"
    content = json.loads(path.read_text("utf-8"))
    corner = {
        "subject": "tools.alpha",
        "corner": "ties",
        "relation": "replace-record",
        "documented": True,
        "verdict": "not run",
        "settings": 0,
        "runs": 0,
        "why": why,
    }
    del content["without_verdict"]
    path.write_text(json.dumps(content | {"floating": [corner]}), encoding="utf-8")
    found = read_published(path)
    assert (found.floating[0].verdict, found.without_verdict) == (verdict, left)
    page = render_scan_page(found, html=False)
    assert "not run" not in page
    assert "None" not in page
    assert ("the verdict on 1 subject is withheld" in page) == bool(left)
