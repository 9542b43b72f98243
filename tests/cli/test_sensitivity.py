"""``dpaudit sensitivity``: what it prints, how it ends, and whose records it shows."""

import json
import os

import numpy as np
import pytest

MODULE = """
import numpy as np

def total(data):
    return np.sum(data)

def both(data):
    return np.array([3 * np.sum(data), 4 * np.sum(data)])

def of_one_person(data):
    return 3.7 * data[0] if round(1e4 * data[-1]) == 9876 else 0.0

def rounds_up(data):
    return 1.4142135699 * (np.sum(data) > 0)

def noisy(data):
    return np.sum(data) + np.random.random()

calls = []

def counted(data):
    calls.append(data)
    return len(calls)

def fails(data):
    raise ValueError("no")
"""
FOUR = ("--domain", "bounds=[0,1]", "--domain", "records=4", "--relation", "replace-record")


@pytest.fixture
def query(tmp_path, monkeypatch, dpaudit):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queried.py").write_text(MODULE)
    (tmp_path / "a.csv").write_text("0.1234\n0.5678\n0.9876\n")

    def ran(name, *words):
        return dpaudit("sensitivity", f"queried.py:{name}", "--in-process", *words)

    return ran


def test_the_movement_is_printed_with_its_pair(query):
    ran = query("total", *FOUR)
    assert (ran.status, ran.err) == (0, "")
    first, relation, dataset, neighbour = ran.out.splitlines()
    assert first.startswith("queried:total moves by at least 1 (l2), as a search of ")
    assert relation == "neighbours: replace-record"
    names = {"np": np}
    exec(f"{dataset}\n{neighbour}", names)
    assert abs(names["dataset"].sum() - names["neighbour"].sum()) == 1


@pytest.mark.parametrize(("norm", "moved"), [("l1", 7), ("l2", 5), ("linf", 4)])
def test_the_norm_that_is_named_is_measured(query, norm, moved):
    document = json.loads(query("both", *FOUR, "--norm", norm, "--json").out)
    assert document["at_least"] == pytest.approx(moved)
    assert document["norm"] == norm
    assert (document["claimed"], document["verdict"]) == (None, None)


@pytest.mark.parametrize(
    ("claimed", "status", "verdict"),
    [("0.999", 1, "refuted"), ("1", 0, "not refuted"), ("2", 0, "not refuted")],
)
def test_a_claim_is_judged(query, claimed, status, verdict):
    ran = query("total", *FOUR, "--claimed", claimed, "--json")
    document = json.loads(ran.out)
    assert (ran.status, document["verdict"]) == (status, verdict)
    assert document["claimed"] == float(claimed)


def test_other_tools_read_it(query, tmp_path):
    shown = query("total", *FOUR, "--claimed", "0.5", "--format", "markdown")
    assert "| queried:total | 0.5 |  | at least 1 | **refuted** |" in shown.out
    query("total", *FOUR, "--claimed", "0.5", "--format", "sarif=a.sarif")
    (found,) = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == 4


def test_a_distance_is_measured_a_unit(query):
    words = ("--domain", "bounds=[0,9]", "--domain", "records=2")
    relation = ("--relation", "metric: manhattan", "--search-calls", "90")
    ran = query("total", *words, *relation, "--json")
    document = json.loads(ran.out)
    assert document["at_least"] == pytest.approx(1)
    assert document["apart"] > 0


def test_a_movement_is_rounded_down(query):
    ran = query("rounds_up", *FOUR, "--format", "markdown")
    assert "at least 1.41421356 " in ran.out
    assert "at least 1.41421356 (l2)" in query("rounds_up", *FOUR).out


def test_records_are_shown_where_it_is_said_alone(query):
    """The query moves beside one record of the file alone, so that the pair has to hold it."""
    words = ("--dataset", "a.csv", "--relation", "replace-record", "--bounds", "0,1", "--json")
    hidden, shown = query("of_one_person", *words), query("of_one_person", *words, "--show-records")
    document, whole = json.loads(hidden.out), json.loads(shown.out)
    assert document["at_least"] == 3.0
    assert (document["dataset"], document["neighbour"]) == (None, None)
    assert whole["at_least"] == pytest.approx(3.7)
    assert "0.9876" in whole["dataset"]


def test_a_claim_is_judged_by_all_digits_of_a_movement_that_shows_one(query):
    words = ("--dataset", "a.csv", "--relation", "replace-record", "--bounds", "0,1")
    for claimed, status in (("3.5", 1), ("3.71", 0)):
        found = query("of_one_person", *words, "--claimed", claimed, "--json")
        document = json.loads(found.out)
        assert (found.status, document["at_least"]) == (status, 3.0)
        assert document["verdict"] == ("refuted" if status else "not refuted")
        assert document["claimed"] == float(claimed)


@pytest.mark.parametrize("name", ["noisy", "counted"])
def test_what_is_no_function_of_its_data_refutes_nothing(query, name):
    found = query(name, *FOUR, "--claimed", "0.5")
    assert found.status == 2
    assert found.out == ""
    assert "query: different answers on the same dataset" in found.err


def test_a_query_that_fails_and_a_domain_that_lacks_end_with_2(query):
    failed = query("fails", *FOUR)
    assert (failed.status, "ValueError" in failed.err) == (2, True)
    lacks = query("total", "--relation", "replace-record")
    assert lacks.status == 2
    assert "--domain: not given, expected" in lacks.err
    assert query("total", *FOUR, "--norm", "l3").status == 2
    assert query("total", *FOUR, "--claimed", "-1").status == 2


@pytest.mark.slow
def test_a_query_runs_in_a_process_of_its_own(dpaudit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queried_elsewhere.py").write_text(
        "import os\nSTARTED = os.getpid()\ndef here(data):\n"
        "    open('pid', 'w').write(str(os.getpid()))\n    return data.sum()\n"
    )
    ran = dpaudit("sensitivity", "queried_elsewhere:here", *FOUR, "--timeout", "9", "--json")
    assert json.loads(ran.out)["at_least"] == pytest.approx(1)
    assert int((tmp_path / "pid").read_text()) != os.getpid()


@pytest.mark.parametrize("target", ["queried.py", "queried", "total"])
def test_a_query_is_named_with_its_module(query, dpaudit, target):
    ran = dpaudit("sensitivity", target, "--in-process", *FOUR)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"error: target: got {target!r}, expected module:function\n"
