"""What version 0.1.0 wrote is read, and ``--json`` still has all that it had then.

The files in ``version_0_1_0`` were written by the code of that version: a report of
``dpaudit audit huang2020-theorem6 --epsilon 20 --trials 300 --set nodes=2 --set iterations=2 --set
inner_steps=2 --json``, and a certificate of ``dpaudit audit hu2020-lemma1 --set features=8``.
"""

import json
from pathlib import Path

import pytest

from dpaudit.report.document import read_report, write_report
from dpaudit.verification.judge import verify_file

FOLDER = Path(__file__).parent / "version_0_1_0"
THEN = json.loads((FOLDER / "report.json").read_text(encoding="utf-8"))


def kinds(value, path=""):
    """Yield every path of a document with the type that stands there."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from kinds(part, f"{path}.{name}")
    elif isinstance(value, list):
        yield path, "list"
        for part in value:
            yield from kinds(part, f"{path}[]")
    else:
        yield path, "number" if type(value) in (int, float) else type(value).__name__


def test_a_report_is_read_and_drawn(tmp_path):
    report = read_report(FOLDER / "report.json")
    (result,) = report.results
    assert (result.claim, result.verdict, result.seed) == ("huang2020-theorem6", "refuted", 0)
    assert result.measured.lower == THEN["results"][0]["measured"]["lower"]
    written = write_report(report, tmp_path)
    assert "huang2020-theorem6" in written.html.read_text(encoding="utf-8")


def test_a_certificate_is_verified():
    (verdict,) = verify_file(FOLDER / "certificate.json")
    assert verdict.verified


@pytest.fixture(scope="module")
def now():
    import contextlib
    import io

    from dpaudit.cli.main import main

    small = ("--set", "nodes=2", "--set", "iterations=2", "--set", "inner_steps=2")
    command = ("audit", "huang2020-theorem6", "--epsilon", "20", "--trials", "300", *small)
    written = io.StringIO()
    with contextlib.redirect_stdout(written), pytest.raises(SystemExit) as ended:
        main([*command, "--workers", "1", "--json"])
    assert ended.value.code == 1
    return json.loads(written.getvalue())


def test_json_has_all_that_it_had(now):
    """More may stand in it; what stood there stands there, and is of the same kind."""
    changing = (".environment.packages.", ".results[].counts.")  # by name, what there was
    then = {one for one in kinds(THEN) if not one[0].startswith(changing)}
    assert len(then) > 80
    missing = {one for one in then - set(kinds(now)) if one[1] != "NoneType"}
    assert missing == set()
    assert now["results"][0]["verdict"] == THEN["results"][0]["verdict"]
    proved, then = (found["results"][0]["proved"]["epsilon"] for found in (now, THEN))
    assert then <= proved <= then * (1 + 1e-12)  # it is rounded up since
