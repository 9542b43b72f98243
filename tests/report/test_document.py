from __future__ import annotations

import json
import os
import stat
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from dpaudit.errors import DataError, InvalidArgument
from dpaudit.report.document import ReportPaths, read_report, write_report
from dpaudit.report.schema import SCHEMA_VERSION, Report, json_schema

from . import samples

OTHER = (
    r"expected 1\.x; read it with the version of dpaudit|later than the 1\.x .*; install a later"
)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> str:
    """Return the JSON of the usual report; to write one draws all its figures."""
    return write_report(samples.usual(), tmp_path_factory.mktemp("usual")).json.read_text("utf-8")


@pytest.fixture(scope="module")
def small() -> Report:
    """Return a report of one result."""
    return samples.report(samples.sensitivity())


@pytest.fixture
def edited(written, tmp_path):
    def edit_and_write(edit) -> Path:
        data = json.loads(written)
        edit(data)
        path = tmp_path / "report.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return path

    return edit_and_write


def test_read_gives_back_what_was_written(tmp_path, hostile):
    for report in (hostile, samples.report()):
        assert read_report(write_report(report, tmp_path).json) == report


def test_paths(tmp_path, small):
    folder = tmp_path / "new" / "folder"
    paths = write_report(small, str(folder))
    assert paths == ReportPaths(
        json=folder / "report.json", markdown=folder / "report.md", html=folder / "report.html"
    )
    assert sorted(folder.iterdir()) == sorted([paths.json, paths.markdown, paths.html])


@pytest.mark.slow
def test_a_report_read_back_gives_the_same_sequence_of_bytes(tmp_path, usual):
    first = write_report(usual, tmp_path / "a")
    second = write_report(read_report(first.json), tmp_path / "b")
    for name in ("json", "markdown", "html"):
        assert getattr(first, name).read_bytes() == getattr(second, name).read_bytes()


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_files_that_hold_records_are_their_owners_alone(tmp_path, small, monkeypatch):
    paths = write_report(small, tmp_path, holds_records=True)
    private = {path.name: 0o600 for path in paths.all}
    assert modes(tmp_path) == private
    seen = []

    def refused(*_):
        seen.append(modes(tmp_path))
        raise OSError("no room")

    def no_link(*_, **__):
        raise OSError("no links here")

    monkeypatch.setattr(
        "os.link", no_link
    )  # the old files are copied, and put back from the copies
    monkeypatch.setattr("os.replace", refused)
    with pytest.raises(DataError):
        write_report(small, tmp_path)
    assert {mode for name, mode in seen[0].items() if name.endswith(".old")} == {0o600}
    monkeypatch.undo()
    assert modes(tmp_path) == private
    before = os.umask(0o027)
    write_report(small, tmp_path)
    os.umask(before)
    assert set(modes(tmp_path).values()) == {0o640}


@pytest.mark.parametrize("fails", ["replace", "fsync"])
def test_interrupted_write_keeps_the_earlier_report(tmp_path, small, monkeypatch, fails):
    write_report(small, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, fails, stop)
    with pytest.raises(KeyboardInterrupt):
        write_report(samples.report(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_unwritable_directory_is_named(tmp_path, small):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file: the report cannot be written here \(.*\); choose"):
        write_report(small, tmp_path / "file")


@pytest.mark.parametrize("value", [np.zeros(2), object(), "\ud800"])
def test_values_json_cannot_hold_are_refused(tmp_path, value):
    report = samples.report(samples.result(parameters={"data": value}))
    with pytest.raises(InvalidArgument, match="values that JSON can hold"):
        write_report(report, tmp_path)
    assert not any(tmp_path.iterdir())


def test_missing_file():
    with pytest.raises(DataError, match=r"no such file; give the report\.json"):
        read_report("missing.json")


def test_a_directory_is_not_a_report(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_report(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b'{"schema_version": "1.0", "results": [', b"\xff\xfe", b"[" * 100_000]
)
def test_damaged_json(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match="damaged, it is not complete JSON; run the audit again"):
        read_report(path)


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"schema_version": 1}'])
def test_json_that_is_no_report(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(DataError, match="not a report, it has no schema_version"):
        read_report(path)


@pytest.mark.parametrize("version", ["2.0", "0.9", "10.1", "one", "1", "", "1.x\n"])
def test_other_major_versions_are_refused(edited, version):
    path = edited(lambda data: data.update(schema_version=version))
    with pytest.raises(DataError, match=OTHER):
        read_report(path)


def test_later_minor_version_is_read_without_its_new_fields(edited, usual):
    def edit(data):
        data["schema_version"] = "1.7"
        data["new"] = 1
        data["results"][0]["measured"]["new"] = {"deep": True}
        data["results"][1]["self_checks"][0]["new"] = None

    report = read_report(edited(edit))
    assert report.results == usual.results
    assert report.schema_version == "1.7"


def test_an_earlier_report_lacks_nothing(edited, usual):
    def edit(data):
        data["schema_version"] = "1.2"
        assert data.pop("missing") == []

    report = read_report(edited(edit))
    assert report.missing == []
    assert report.results == usual.results


def test_unknown_field_of_our_own_version_is_refused(edited):
    path = edited(lambda data: data.update(new=1))
    with pytest.raises(DataError, match=r"not a valid report \(new: Extra inputs"):
        read_report(path)


def test_wrong_value_is_named_on_one_line(edited):
    def edit(data):
        data["results"][2]["verdict"] = "private\nand verified"

    with pytest.raises(DataError, match=r"results\.2\.verdict: Input should be") as caught:
        read_report(edited(edit))
    assert "\n" not in str(caught.value)


def test_committed_schema_is_the_current_one():
    committed = resources.files("dpaudit.report").joinpath("schema.json").read_text("utf-8")
    current = json.dumps(json_schema(), indent=2) + "\n"
    assert committed == current, "write this text into dpaudit/report/schema.json"


def test_reports_satisfy_the_committed_schema(tmp_path, written, hostile):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    for text in (written, write_report(hostile, tmp_path).json.read_text("utf-8")):
        document = json.loads(text)
        assert list(validator.iter_errors(document)) == []
    assert list(validator.iter_errors({**document, "results": 1})) != []


def test_schema_allows_infinities_but_not_as_probabilities():
    parts = json_schema()["$defs"]
    assert "Infinity" in str(parts["Measured"]["properties"]["upper"])
    assert "Infinity" not in str(parts["Measured"]["properties"]["confidence"])
    assert SCHEMA_VERSION in str(json_schema()["properties"]["schema_version"])
