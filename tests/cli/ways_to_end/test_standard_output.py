"""Standard output and error that are closed, full, or in another encoding."""

import io
import sys
from dataclasses import replace

import pytest

from dpaudit.report.document import read_report

from .runs import ascii_stream, closed_pipe, full_disk
from .ways import FULL, MISSING, PIPE, REFUTED, SHOWN, STREAM, WRITTEN, Ways

WAYS = Ways()


@WAYS.end(2, STREAM, PIPE)
def _a_pipe_that_nobody_reads(here):
    out = here.folder / "out"
    with closed_pipe() as pipe:
        ran = here.onto(pipe, "audit", here.audits("Broken"), "--out", out)
    assert read_report(out / "report.json").results[0].verdict == "refuted"
    return ran


@WAYS.end(2, STREAM, PIPE, pytest.mark.slow)
def _json_into_a_pipe_that_nobody_reads(here):
    with closed_pipe() as pipe:
        return here.onto(pipe, "audit", here.audits("Broken"), "--json")


@WAYS.end(2, STREAM, FULL)
def _a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "audit", here.audits("Sound"))


@WAYS.end(2, STREAM, FULL, pytest.mark.slow)
def _json_onto_a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "audit", here.audits("Sound"), "--json")


@WAYS.end(2, STREAM, "error: standard output: is closed, .*")
def _no_standard_output(here):
    return here.onto(None, "audit", here.audits("Sound"))


@WAYS.end(2, STREAM, r"error: standard output: cannot be written \(I/O operation on closed file.*")
def _standard_output_that_they_close(here):
    code = "stream = sys.__ways_to_end__\nstream.close()\n"
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    here.monkeypatch.setattr(sys, "__ways_to_end__", stream, raising=False)
    return here.onto(stream, "audit", here.audits("Broken", code=code), "--in-process")


@WAYS.end(1, REFUTED, SHOWN)
def _standard_output_that_a_worker_closes(here):
    code = "os.close(1)\nsys.stdout.close()\n"
    return here.audit(here.audits("Broken", code=code))


@WAYS.end(2, STREAM, FULL)
def _a_list_onto_a_full_disk(here):
    with full_disk() as full:
        return here.onto(full, "list")


@WAYS.end(2, STREAM, "")
def _help_into_a_pipe_that_nobody_reads(here):
    for arguments in ([], ["audit", "--help"], ["verify", "-h"], ["list"], ["show", "laplace"]):
        with closed_pipe() as pipe:
            ran = here.onto(pipe, *arguments)
        assert (ran.status, ran.err) == (2, "")
    return ran


@WAYS.end(2, STREAM, FULL)
def _the_version_onto_a_full_disk(here):
    for arguments in (["version"], ["--version"], ["schema"], ["list", "--json"]):
        with full_disk() as full:
            ran = here.onto(full, *arguments)
            assert ran.status == 2
    return ran


@WAYS.end(0, WRITTEN, r".*/tests/test_lemma1\.py")
def _a_new_claim(here):
    return here.run("new", "claim", "smith2031-lemma1", "--into", here.folder / "package")


@WAYS.end(0, WRITTEN, r"\d+\.\d+.*")
def _a_version_that_is_written(here):
    return here.run("version")


@WAYS.end(0, WRITTEN, r".*\bmean\b.*|.*")
def _a_list_in_ascii(here):
    shown = ascii_stream()
    ran = here.onto(shown, "list")
    assert b"huang2020-theorem6" in shown.buffer.getvalue()
    return ran


@WAYS.end(1, REFUTED, "")
def _standard_error_that_is_full(here):
    with full_disk() as full, here.monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", full)
        return replace(here.audit(here.audits("Broken")), out="")


@WAYS.end(2, MISSING, "")
def _standard_error_that_is_full_when_there_is_something_to_say(here):
    code = "Leaving = doing(lambda: sys.exit(0))\n"
    with full_disk() as full, here.monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", full)
        return replace(here.audit(here.audits("Leaving", "Broken", code=code)), out="")


def watching(here, *arguments):
    lines = ["dataset,0", "neighbour,1"] * 300
    (here.folder / "outputs.csv").write_text("\n".join(lines))
    return here.run("audit", "--watch", "outputs.csv", "--delta", "0", "--out", "out", *arguments)


@WAYS.end(1, REFUTED, "Report: out/report.html")
def _a_stream_that_is_watched(here):
    return watching(here)


@WAYS.end(2, STREAM, FULL)
def _a_stream_that_is_watched_onto_a_full_disk(here):
    for arguments in (["--json"], []):
        with full_disk() as full, here.monkeypatch.context() as patched:
            patched.setattr(sys, "stdout", full)
            ran = watching(here, *arguments)
        assert ran.status == 2
        assert read_report(here.folder / "out" / "report.json").results[0].verdict == "refuted"
    return ran


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
