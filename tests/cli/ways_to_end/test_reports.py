"""Reports that cannot be written, and what is in their place."""

import itertools
import os

import pytest

from dpaudit.report.document import read_report

from .ways import HELD, LATER, REFUTED, WRITING, Ways

WAYS = Ways()


@WAYS.end(2, WRITING, r"error: .*file: the report cannot be written here \(.*\); choose another.*")
def _out_that_is_a_file(here):
    (here.folder / "file").write_text("mine")
    ran = here.audit(here.audits("Broken"), "--out", here.folder / "file")
    assert (here.folder / "file").read_text() == "mine"
    return ran


@WAYS.end(2, WRITING, r"error: .*/below: cannot be made \(Not a directory\)")
def _a_new_claim_below_a_file(here):
    (here.folder / "file").write_text("mine")
    return here.run("new", "claim", "smith2031-lemma1", "--into", here.folder / "file" / "below")


@WAYS.end(2, WRITING, r"error: .*out: the report cannot be written here \(.*\); choose another.*")
def _out_that_becomes_a_file(here):
    out = here.folder / "out"
    code = f"def deed():\n    if os.path.isdir({str(out)!r}):\n"
    code += f"        os.rename({str(out)!r}, {str(out)!r} + '.old')\n"
    code += f"    open({str(out)!r}, 'w').close()\nDoing = doing(deed)\n"
    ran = here.audit(here.audits("Doing", code=code, after=1), "--out", out)
    assert f"one: {LATER} The certified lower bound" in " ".join(ran.out.split())
    return ran


@WAYS.end(1, REFUTED, HELD)
def _out_that_vanishes(here):
    out = here.folder / "out"
    code = f"Doing = doing(lambda: shutil.rmtree({str(out)!r}, ignore_errors=True))\n"
    ran = here.audit(here.audits("Doing", code=code, after=1), "--out", out)
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    return ran


@WAYS.end(2, WRITING, r"error: .*out: the report cannot be written here \(.*\); choose another.*")
def _a_folder_in_the_place_of_a_file(here):
    out = here.folder / "out"
    (out / "report.md").mkdir(parents=True)
    (out / "report.json").write_text("old")
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert {path.name for path in out.glob("report*")} == {"report.md", "report.json"}
    assert (out / "report.json").read_text() == "old"
    assert "one: The certified lower bound" in ran.out
    return ran


@WAYS.end(
    2, WRITING, r"error: .*out: the report cannot be written here \(No space left.*\); choose.*"
)
def _a_disk_that_is_full_when_the_second_file_moves(here):
    out, moves, move = here.folder / "out", itertools.count(), os.replace
    out.mkdir()
    for name in ("report.json", "report.md"):
        (out / name).write_text("old")

    def fails(old, new):
        if next(moves) % 3 == 1 and str(old).endswith(".part"):
            raise OSError(28, "No space left on device")
        move(old, new)

    here.monkeypatch.setattr(os, "replace", fails)
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert {path.name: path.read_text() for path in out.glob("[!s]*")} == {
        "report.json": "old", "report.md": "old",
    }  # fmt: skip
    return ran


@WAYS.end(1, REFUTED, HELD)
def _links_at_the_names_of_the_files(here):
    """Neither a link at the old temporary name nor one in the report's place is followed."""
    out, mine = here.folder / "out", here.folder / "mine"
    out.mkdir()
    mine.write_text("mine")
    for name in (f".report.json.{os.getpid()}.part", "report.json", "report.md"):
        (out / name).symlink_to(mine)
    ran = here.audit(here.audits("Broken"), "--out", out)
    assert mine.read_text() == "mine"
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    assert not (out / "report.md").is_symlink()
    (out / f".report.json.{os.getpid()}.part").unlink()
    assert not list(out.glob(".*.old"))
    return ran


@pytest.mark.parametrize("way", WAYS.cases)
@pytest.mark.filterwarnings("ignore::dpaudit.store.keeping.NotKept")
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
