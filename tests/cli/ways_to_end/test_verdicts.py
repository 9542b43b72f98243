"""Verdicts that were reached: the only runs that end with 0 or 1."""

import io
import json
import sys
from pathlib import Path

import pytest

from .runs import ascii_stream
from .ways import ACCEPTED, HELD, JUDGED, REFUTED, SHOWN, Ways

WAYS = Ways()


@WAYS.end(0, JUDGED, SHOWN)
def _a_claim_that_stands(here):
    return here.audit(here.audits("Sound"))


@WAYS.end(1, REFUTED, SHOWN)
def _a_claim_that_falls(here):
    return here.audit(here.audits("Broken"))


@WAYS.end(0, ACCEPTED, SHOWN)
def _a_claim_that_falls_and_is_accepted(here):
    """The verdict stays; the same entry, once its reason is written, accepts nothing else."""
    given = (here.audits("Broken"), "--baseline", here.folder / "b.toml")
    ran = here.audit(*given, "--accept", "known since May")
    assert "refuted" in ran.out
    assert "known since May" in ran.out
    assert here.audit(*given, "--epsilon", "0.5").status == 1
    return here.audit(*given)


@WAYS.end(1, REFUTED, SHOWN, pytest.mark.slow)
def _one_of_two_that_falls(here):
    return here.audit(here.audits("Sound", "Broken"))


@WAYS.end(1, REFUTED, HELD)
def _a_report_of_it(here):
    return here.audit(here.audits("Broken"), "--out", here.folder / "out")


@WAYS.end(1, REFUTED, r"\}")
def _as_json(here):
    ran = here.audit(here.audits("Broken"), "--json")
    assert json.loads(ran.out)["results"][0]["verdict"] == "refuted"
    assert json.loads(ran.out)["missing"] == []
    return ran


@WAYS.end(1, REFUTED, "imported")
def _words_of_their_own_on_standard_output(here):
    """What other code prints is no result, and the stream it puts there is none either."""
    code = "print('imported')\nimport io\nsys.stdout = io.StringIO()\n"
    with here.monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", sys.stdout)
        ran = here.audit(here.audits("Broken", code=code), "--in-process")
    assert "imported" not in ran.out
    assert "refuted" in ran.out
    return ran


@WAYS.end(1, REFUTED, "")
def _an_encoding_without_epsilon(here):
    shown = ascii_stream()
    ran = here.onto(shown, "audit", here.audits("Broken"))
    assert b"refuted" in shown.buffer.getvalue()
    assert b"\\u03b5 = 1" in shown.buffer.getvalue()
    return ran


@WAYS.end(1, REFUTED, "")
def _json_in_an_encoding_without_epsilon(here):
    path = Path(here.audits("Broken"))
    path.write_text(path.read_text().replace('"one"', '"ε é 😀"'), encoding="utf-8")
    shown = ascii_stream()
    ran = here.onto(shown, "audit", path, "--json")
    assert json.loads(shown.buffer.getvalue())["results"][0]["claim"] == "ε é 😀"
    return ran


@WAYS.end(1, REFUTED, "")
def _a_name_that_no_encoding_has(here):
    (here.folder / "out\udcff").mkdir()
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    ran = here.onto(shown, "audit", here.audits("Broken"), "--out", "out\udcff")
    assert b"Report: out\\udcff" in shown.buffer.getvalue()
    return ran


@pytest.mark.parametrize("way", WAYS.cases)
def test_it_ends_as_the_page_says(here, way):
    assert way.complaints(way.ends(here)) == []
