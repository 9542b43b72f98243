"""JSON files say which schema they have: those without are read as before, later ones refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import DataError
from dpaudit.formats import SCHEMAS, add_schema, read_json, schema_of
from dpaudit.refutation import certificates_text
from dpaudit.refutation.certificate import Certificate
from dpaudit.report.document import read_index, read_report, write_index, write_report
from dpaudit.report.index import MissingAudit
from dpaudit.report.schema import Environment, Report
from dpaudit.verification import read

REPORTS = Path(__file__).parents[2] / "reports"
LATER = r"later than the .* that this dpaudit reads; install a later one: pip install --upgrade"
CERTIFICATE = Certificate(
    claim="c",
    source="s",
    relation="r",
    parameters={},
    instance={"record": np.zeros(1)},
    quantities={"ratio": 2.0},
)


def noisy_sum(dataset, trials, rng):
    return dataset.sum() + rng.laplace(scale=4.0, size=trials)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with one of each file that has a reader."""
    place = tmp_path_factory.mktemp("files")
    isolation = dpaudit.mechanisms.foreign.isolation.Isolation(in_process=True)
    options = {"epsilon": 1.0, "trials": 100, "isolation": isolation}
    result = dpaudit.audit(noisy_sum, np.zeros(1), np.ones(1), **options)
    report = Report(results=[result], environment=Environment.of_this_machine(1, 0))
    write_report(report, place / "own", [CERTIFICATE])
    write_index({"own": (report, [True])}, place, {"other": MissingAudit("not run")})
    (place / "selftest.json").write_text(json.dumps(add_schema("selftest", {"version": "1"})))
    return place


FILES = {
    "report": ("own/report.json", read_report),
    "certificate": ("own/certificate.json", read),
    "index": ("index.json", read_index),
    "selftest": ("selftest.json", lambda path: read_json(path, "selftest")),
}


@pytest.fixture(params=FILES)
def file(request, folder, tmp_path):
    """Return a kind, its reader, and what writes a file of that kind with another schema."""
    name, reader = FILES[request.param]
    content = json.loads((folder / name).read_text())
    path = tmp_path / Path(name).name

    def changed(**fields):
        new = {name: value for name, value in (content | fields).items() if value is not None}
        path.write_text(json.dumps(new))
        return path

    return request.param, reader, changed


def test_every_file_begins_with_its_schema(folder):
    for kind, (name, _) in FILES.items():
        content = json.loads((folder / name).read_text())
        assert next(iter(content.items())) == ("schema", SCHEMAS[kind])


def test_a_file_of_this_schema_and_one_without_read_the_same(file):
    _, reader, changed = file
    assert reader(changed()) is not None
    if reader is not FILES["selftest"][1]:
        assert reader(changed(schema=None)) == reader(changed())


def test_a_file_of_a_later_schema_says_what_to_install(file):
    kind, reader, changed = file
    with pytest.raises(DataError, match=rf"has schema 2 of a {kind}, {LATER}"):
        reader(changed(schema=2))


@pytest.mark.parametrize("schema", [0, -1, 1.5, "2", True, [1]])
def test_a_schema_that_is_none_is_refused(file, schema):
    _, reader, changed = file
    with pytest.raises(DataError, match=r"schema: got .*, expected an integer of at least 1"):
        reader(changed(schema=schema))


@pytest.mark.parametrize(
    ("kind", "field", "value"), [("report", "schema_version", "2.0"), ("certificate", "version", 2)]
)
def test_the_versions_of_before_say_it_too(folder, tmp_path, kind, field, value):
    name, reader = FILES[kind]
    content = json.loads((folder / name).read_text())
    path = tmp_path / "later.json"
    path.write_text(json.dumps({**content, "schema": 1, field: value}))
    with pytest.raises(DataError, match=rf"has {field} '?{value}'?, {LATER}"):
        reader(path)


def test_a_number_without_end_is_no_long_line(tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"schema": 10**4000}))
    with pytest.raises(DataError) as refused:
        read_json(path, "index")
    assert len(str(refused.value)) < 300 + len(str(path))


def test_the_files_of_before_there_were_schemas_are_read(tmp_path):
    content = json.loads((REPORTS / "index.json").read_text())
    del content["schema"]
    index = tmp_path / "index.json"
    index.write_text(json.dumps(content))
    assert schema_of("index.json", content, "index") == 0
    assert len(read_index(index)) > 40
    for name in ("hu2020-lemma1", "huang2020-theorem4"):
        assert read_report(REPORTS / name / "report.json").schema_ == 1
        assert read(REPORTS / name / "certificate.json")
    assert read_json(REPORTS / "selftest" / "selftest.json", "selftest")["version"] == "1"


@pytest.mark.parametrize("content", ['{"audits": 1}', "[1]", "3", "not JSON"])
def test_what_is_no_index_is_refused(tmp_path, content):
    path = tmp_path / "index.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"not the index of a folder of reports|is not JSON"):
        read_index(path)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.json: cannot be read \(No such file"):
        read_json(tmp_path / "nowhere.json", "index")


def test_certificates_in_a_list_have_a_schema_each():
    both = json.loads(certificates_text((CERTIFICATE, CERTIFICATE)))
    assert [one["schema"] for one in both] == [1, 1]
