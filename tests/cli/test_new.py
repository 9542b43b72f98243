"""``dpaudit new claim``: what it writes, and what it refuses."""

from __future__ import annotations

import ast
import importlib
import io
import sys

import pytest

from dpaudit.cli.main import main
from dpaudit.extension.drafting import DraftName, draft_files

NAME = "smith2031-lemma1"


def run(capsys, *words):
    """Return the exit status and what was printed."""
    with pytest.raises(SystemExit) as ended:
        main(["new", *words])
    return ended.value.code or 0, capsys.readouterr()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_writes_every_file_and_names_it(here, capsys):
    status, printed = run(capsys, "claim", NAME)
    assert status == 0
    assert printed.out.split() == [f"{NAME}/{path}" for path in draft_files(DraftName(NAME))]
    for path, text in draft_files(DraftName(NAME)).items():
        assert (here / NAME / path).read_text(encoding="utf-8") == text
    there = {path for path in here.rglob("*") if path.is_file()}
    assert len(there) == len(draft_files(DraftName(NAME)))


def test_what_the_files_import_is_there():
    for path, text in draft_files(DraftName(NAME)).items():
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpaudit"):
                    names = {one.name for one in node.names}
                    assert names <= set(dir(importlib.import_module(node.module))), path


def test_nothing_is_written_over(here, capsys):
    (here / "own").mkdir()
    (here / "own" / "notes.txt").write_text("mine")
    assert run(capsys, "claim", NAME, "--into", "own")[0] == 0
    home = here / "own" / "smith2031" / "claims" / "lemma1.py"
    home.write_text("mine")
    for path in draft_files(DraftName(NAME)):
        if path != "smith2031/claims/lemma1.py":
            (here / "own" / path).unlink()
    status, printed = run(capsys, "claim", NAME, "--into", "own")
    assert status == 2
    assert printed.err == "error: --into: got 'own', expected a folder without lemma1.py\n"
    assert home.read_text() == (here / "own" / "notes.txt").read_text() == "mine"
    assert not (here / "own" / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Smith2031-lemma1", "PAPER-STATEMENT"),
        ("smith2031", "PAPER-STATEMENT"),
        ("smith2031-", "PAPER-STATEMENT"),
        ("../smith-lemma1", "PAPER-STATEMENT"),
        ("smith-le$ma", "PAPER-STATEMENT"),
        ("class-lemma1", "PAPER-STATEMENT"),
        ("smith2031-class", "no word of Python"),
        ("s" * 30 + "-lemma123456", "at most 40 letters"),
        ("huang2020-lemma5", "not installed yet"),
        ("huang2020-lemma55", "add the claim to that of huang2020, and its row to the PAPER"),
        ("json-lemma1", "no installed package is called"),
    ],
)
def test_a_name_that_cannot_be_is_refused_by_its_argument(here, capsys, name, expected):
    status, printed = run(capsys, "claim", name)
    assert status == 2
    assert printed.err.startswith("error: NAME: got ")
    assert expected in printed.err
    assert list(here.iterdir()) == []


def test_a_folder_that_is_a_file_or_cannot_be_made_is_named(here, capsys):
    (here / "file").write_text("")
    status, printed = run(capsys, "claim", NAME, "--into", "file")
    assert (status, printed.err.partition(",")[0]) == (2, "error: --into: got 'file'")
    status, printed = run(capsys, "claim", NAME, "--into", "file/below")
    assert status == 2
    assert printed.err == "error: file/below: cannot be made (Not a directory)\n"


def test_what_it_writes_is_refuted_exactly_and_certified(here, capsys, monkeypatch):
    import numpy as np

    from dpaudit.extension.settings import Settings
    from dpaudit.verification import Document

    assert run(capsys, "claim", "jones2031-lemma1", "--into", ".")[0] == 0
    monkeypatch.syspath_prepend(here)
    try:
        home = importlib.import_module("jones2031.claims.lemma1")
        verifier = importlib.import_module("jones2031.verify.lemma1")
        case = home.CLAIM.prepare(Settings(), home.CLAIM.parameters())
        attained = case.attain(10, np.random.default_rng(0))
        assert attained.ratio == 2.0
        given = attained.certificate
        document = Document(
            path="c.json",
            claim=given.claim,
            kind=given.kind,
            parameters=given.parameters,
            quantities=given.quantities,
            instance=given.instance,
            assumptions={one.name: (one.value, one.limit) for one in given.conditions},
        )
        assert float(verifier.recompute(document).quantities["ratio"]) == 2.0
    finally:
        for module in [one for one in sys.modules if one.partition(".")[0] == "jones2031"]:
            del sys.modules[module]


def test_alone_it_shows_what_it_can_write(capsys):
    status, printed = run(capsys)
    assert status == 0
    assert "claim" in printed.out


def test_who_names_no_language_is_told_which_there_are(here, capsys):
    status, printed = run(capsys, "program")
    assert status == 2
    assert printed.err == (
        "error: --language: not given, expected one of java, javascript, rust, such as dpaudit new "
        "program --language javascript\n"
    )
    assert not list(here.iterdir())


@pytest.mark.parametrize(("answer", "status"), [("rust", 0), ("perl", 2), ("", 2)])
def test_who_sits_at_a_terminal_is_asked_for_the_language(
    here, capsys, monkeypatch, answer, status
):
    monkeypatch.setattr("dpaudit.cli.new.is_asked", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    found, printed = run(capsys, "program")
    assert found == status
    assert "Which language (java, javascript, rust)?" in printed.err
    assert (here / "noiser.rs").exists() == (status == 0)
