"""Text from a file reaches no terminal and no page with control characters, marks or markup.

What is planted stands in every field that holds text, and in the places where numbers are expected.
"""

import copy
import io
import json
import sys
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.cli.streams as streams
from dpaudit import audit
from dpaudit.cli.console import budget_line, make_cell, make_console, verdict_lines
from dpaudit.errors import DataError, DpauditError, InvalidArgument, UnknownName
from dpaudit.escaping import json_escaped, make_printable
from dpaudit.report.document import read_report, write_report
from dpaudit.report.schema import Environment, Report

MARKUP = "[bold red]planted[/] :boom: \\"
PLANTED = f"\x1b]0;own\x07\x1b[2J\x9b31m\r\b\u202e\u2066\u200f\u200b\u2028{MARKUP}\nerror: forged"
CSV_CELL = PLANTED.replace("\n", " ").replace("\r", " ").replace("\u2028", " ")
CLAIM = ("--epsilon", "1", "--delta", "0")


def hidden(text):
    """Return the characters of a text that drive a terminal or cannot be seen."""
    never = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {c for c in text if unicodedata.category(c) in never and c not in "\n\t"}


def forged(text):
    return [line for line in text.splitlines() if line.startswith("error: forged")]


def planted_everywhere(value, path=()):
    """Yield documents, each with the text in one more place: a key, a value, or an entry."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        where = (*path, key)
        if isinstance(item, dict | list) and len(item):
            yield from planted_everywhere(item, where)
            if isinstance(item, list):
                continue
        yield where, PLANTED


def with_text(document, path, text):
    changed = copy.deepcopy(document)
    place = changed
    for key in path[:-1]:
        place = place[key]
    if isinstance(place, dict):
        place[text] = place[path[-1]]
    place[path[-1]] = text
    return changed


@pytest.fixture(scope="module")
def certificate():
    path = Path(__file__).parents[2] / "reports" / "huang2020-theorem4" / "certificate.json"
    return json.loads(path.read_text(encoding="utf-8"))[1]


def test_a_certificate_shows_a_terminal_nothing_but_text(dpaudit, certificate, tmp_path):
    places = list(planted_everywhere(certificate))
    assert len(places) > 30
    for number, (path, text) in enumerate(places):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(with_text(certificate, path, text)))
    ran = dpaudit("verify", *map(str, sorted(tmp_path.iterdir())))
    assert ran.status == 2
    assert hidden(ran.out + ran.err) == set()
    assert forged(ran.out + ran.err) == []
    assert "planted[/]" in ran.err + ran.out


def test_a_certificate_of_counts_shows_a_terminal_nothing_but_text(dpaudit, tmp_path, certificate):
    settings = {"trials": 200, "parameters": {PLANTED: PLANTED}, "data_options": {}}
    drawn = {"kind": "statistical", "claim": "huang2020-theorem6", "assumptions": []}
    changes = [{"settings": settings}, {"settings": {PLANTED: 1}}, {"settings": {"data": PLANTED}}]
    for number, instance in enumerate(changes):
        document = certificate | drawn | {"instance": instance}
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    ran = dpaudit("verify", *map(str, sorted(tmp_path.iterdir())))
    assert ran.status == 2
    assert ran.err.count("\n") == len(changes)
    assert hidden(ran.out + ran.err) == set()
    assert forged(ran.err) == []


def noisy_count(dataset, trials, rng):
    return dataset.sum() + rng.laplace(scale=0.5, size=trials)


@pytest.fixture(scope="module")
def report():
    """Return a report whose every text is planted, names of parameters and packages as well."""
    result = audit(noisy_count, np.zeros(1), np.ones(1), epsilon=1.0, trials=400)
    whole = Report(results=[result], environment=Environment.of_this_machine(1, 0))
    document = json.loads(whole.model_dump_json())
    kept = {"schema_version", "kind", "verdict", "label", "estimate_label", "band_label"}
    kept |= {"measured_label", "standing", "order"}

    def plant(value, name=""):
        if isinstance(value, dict):
            words = {key: plant(item, key) for key, item in value.items()}
            return words | ({PLANTED: PLANTED} if name in ("parameters", "packages") else {})
        if isinstance(value, list):
            return [plant(item) for item in value]
        return PLANTED if isinstance(value, str) and name not in kept else value

    return Report.model_validate(plant(document))


def test_a_report_shows_a_terminal_nothing_but_text(report, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")  # a line that is broken to fit begins anywhere
    with streams.results_on_standard_output():
        for part in verdict_lines(report.results):
            make_console().print(part)
        make_console().print(budget_line(report))
        streams.write_json(report.model_dump_json(indent=2))
    out = capsys.readouterr().out
    assert hidden(out) == set()
    assert forged(out) == []
    assert "[bold red]planted[/] :boom:" in " ".join(out.split())
    assert json.loads(out[out.index("{") :])["results"][0]["claim"] == PLANTED


def test_a_report_as_a_page_and_as_markdown_is_nothing_but_text(report, tmp_path):
    paths = write_report(report, tmp_path)
    for path in (paths.json, paths.markdown, paths.html):
        text = path.read_text(encoding="utf-8")
        assert hidden(text) == set()
        assert "planted" in text
    assert "[bold red]planted[/]" in paths.html.read_text(encoding="utf-8")
    assert read_report(paths.json) == report


def test_a_damaged_report_is_one_line_of_text(tmp_path):
    path = tmp_path / "report.json"
    for document in ({"schema_version": PLANTED}, {"schema_version": "1.0", PLANTED: 1}):
        path.write_text(json.dumps(document))
        with pytest.raises(DataError) as raised:
            read_report(path)
        assert hidden(str(raised.value)) == set()
        assert "\n" not in str(raised.value)


TABLES = {
    "cell": f'a,b,ill\n"{CSV_CELL}",2,1\n3,4,-1\n',
    "header": f'"{CSV_CELL}",b\n1,1\n3,-1\n',
    "column": f'"{CSV_CELL}",ill\nx,1\n3,-1\n',
    "label": f'a,b,ill\n1,2,"{CSV_CELL}"\n3,4,-1\n',
    "twice": f'"{CSV_CELL}","{CSV_CELL}",ill\n1,2,1\n',
    "rows": f"a,b,ill\n1,2,1\n1,2,3,4,{CSV_CELL}\n",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_shows_a_terminal_nothing_but_text(dpaudit, tmp_path, table):
    path = tmp_path / "own.csv"
    path.write_text(table, encoding="utf-8")
    options = ("--data-path", str(path), "--data-option", "label_column=ill")
    ran = dpaudit("audit", "huang2020-lemma5", "--data", "csv", *options)
    assert ran.status == 2
    assert ran.err.count("\n") == 1
    assert hidden(ran.err) == set()


def test_a_sparse_file_shows_a_terminal_nothing_but_text(dpaudit, tmp_path):
    path = tmp_path / "own.txt"
    for line in (f"+1 1:{CSV_CELL}", f"{CSV_CELL} 1:1", f"+1 {CSV_CELL}:1"):
        path.write_text(f"-1 1:1\n{line}\n", encoding="utf-8")
        ran = dpaudit("audit", "huang2020-lemma5", "--data", "libsvm", "--data-path", str(path))
        assert ran.status == 2
        assert ran.err.count("\n") == 1
        assert hidden(ran.err) == set()


@pytest.mark.parametrize("line", [PLANTED, f"{CSV_CELL},1", f"dataset,{CSV_CELL}"])
def test_a_stream_shows_a_terminal_nothing_but_text(dpaudit, monkeypatch, line):
    data = io.BytesIO(f"dataset,1\nneighbour,1\n{line}\n".encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
    ran = dpaudit("audit", "--watch", "-", *CLAIM)
    assert ran.status == 2
    assert ran.err.count("\n") == 1
    assert hidden(ran.out + ran.err) == set()


AUDIT = """
[audit]
name = {words}
statement = {words}
source = {words}
mechanism = "planted_module:Sum"
dataset = [0]
neighbour = [1]
epsilon = 1.0
delta = 0.0
trials = 200
"""
MODULE = """
import numpy as np
class Sum:
    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale={scale}, size=trials)
"""


def test_a_specification_shows_a_terminal_nothing_but_text(dpaudit, tmp_path):
    (tmp_path / "planted_module.py").write_text(MODULE.format(scale=0.2))
    path = tmp_path / "audit.toml"
    path.write_text(AUDIT.format(words=json.dumps(PLANTED)))
    ran = dpaudit("audit", str(path), "--out", str(tmp_path / "out"))
    assert ran.status == 1
    assert hidden(ran.out + ran.err) == set()
    assert forged(ran.out) == []


def test_every_error_is_one_line_of_text():
    errors = (
        DpauditError(PLANTED),
        InvalidArgument(PLANTED, SimpleNamespace(**{PLANTED: PLANTED}), PLANTED),
        UnknownName(PLANTED, PLANTED, [PLANTED]),
    )
    assert [hidden(str(error)) for error in errors] == [set()] * len(errors)
    assert [str(error).splitlines() for error in errors] == [[str(error)] for error in errors]


def test_the_escape_keeps_what_it_does_not_replace():
    assert make_printable("é漢😀 a\n\tb") == "é漢😀 a\n\tb"
    assert hidden(make_printable(PLANTED)) == set()
    assert len(make_printable(PLANTED)) == len(PLANTED)
    assert json.loads(json_escaped(json.dumps([PLANTED], ensure_ascii=False))) == [PLANTED]
    assert make_cell(MARKUP).plain == MARKUP
