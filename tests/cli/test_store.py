"""``dpaudit store``, ``resume`` and ``merge``, as a person gives them."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

CLAIM = ("audit", "huang2020-theorem6", "--trials", "400", "--quiet")


@pytest.fixture
def ran(dpaudit):
    def ran(*words):
        found = dpaudit(*map(str, words))
        return found.status, found.out, found.err

    return ran


@pytest.fixture(scope="module")
def audited_once(tmp_path_factory):
    """Return a folder that is empty until the first test that asks has audited into it."""
    return tmp_path_factory.mktemp("audited")


@pytest.fixture
def folder(audited_once, tmp_path, monkeypatch, ran):
    """Return a folder with a report and the store beside it: a copy, for a test to change."""
    if not (audited_once / "there").exists():
        monkeypatch.chdir(audited_once)
        ran(*CLAIM, "--out", "there", "--store", "there/store.sqlite")
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(audited_once / "there", tmp_path / "there")


def test_a_store_is_listed_shown_exported_and_pruned(ran, folder):
    code, out, _ = ran("store", "ls", folder)
    assert code == 0
    assert out.startswith("1  huang2020-theorem6: ended")
    code, out, _ = ran("store", "show", folder, 1)
    assert "dpaudit audit huang2020-theorem6 --trials 400" in out
    code, out, _ = ran("store", "export", folder, 1, folder / "table.csv")
    assert (folder / "table.csv").read_text().count("\n") > 400
    code, out, _ = ran("store", "prune", folder)
    assert out == "Forgotten: 1 audit.\n"
    assert ran("store", "ls", folder)[1] == "It keeps no audits.\n"


def test_a_number_that_is_none_is_refused(ran, folder):
    code, _, told = ran("store", "show", folder, 7)
    assert (code, told) == (2, "error: number: got 7, expected one of [1]\n")


def test_what_ended_is_repeated_from_the_store(ran, folder):
    before = (folder / "report.json").read_bytes()
    (folder / "report.json").unlink()
    ran("resume", folder)
    then, now = json.loads(before), json.loads((folder / "report.json").read_bytes())
    for one in (then, now):
        one["environment"] = one["created"] = one["rerun"] = None
    assert then == now


@pytest.mark.parametrize("words", [("store", "ls"), ("resume",)])
def test_files_that_are_no_stores_end_in_a_line(ran, tmp_path, words):
    (tmp_path / "text").write_text("no store" * 1000)
    with closing(sqlite3.connect(tmp_path / "theirs")) as theirs:
        theirs.execute("CREATE TABLE precious (value)")
    for name in ("text", "theirs", "none"):
        code, _, told = ran(*words, tmp_path / name)
        assert code == 2
        assert told.startswith("error: store ")
        assert told.count("\n") == 1


def test_stores_are_merged(ran, folder, tmp_path):
    code, out, _ = ran("merge", folder, "--into", tmp_path / "both.sqlite")
    assert code == 0, out
    assert "huang2020-theorem6" in ran("store", "ls", tmp_path / "both.sqlite")[1]


def test_decisions_that_a_merged_store_made_otherwise_are_told(ran, folder, tmp_path):
    into = tmp_path / "both.sqlite"
    ran("merge", folder, "--into", into)
    for path, layout in ((folder / "store.sqlite", "X'01'"), (into, "X'02'")):
        with closing(sqlite3.connect(path)) as store, store:
            store.execute(f"INSERT INTO facts SELECT id, 'layout', {layout} FROM audits")
    code, out, _ = ran("merge", folder, "--into", into)
    assert code == 0, out
    assert f"and {into} disagree on 1 of their decisions" in out
    assert "copy of share 0's store" in out
