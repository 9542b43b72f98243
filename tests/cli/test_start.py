"""``dpaudit start`` and two files of data: every command that is printed is one that is parsed."""

import io
import shlex
import sys

import pytest
import typer

import dpaudit.cli.asking as asking
import dpaudit.cli.start as start_module
from dpaudit.cli.beginnings import BEGINNINGS, beginning_of
from dpaudit.cli.main import app, main
from dpaudit.cli.start import format_beginning
from dpaudit.cli.suggestions import find_suggestions
from dpaudit.errors import UnknownName
from tests.docs.blocks import ROOT

DOCS = ROOT / "docs"
COMMANDS = typer.main.get_command(app)


def parse(line):
    """Let the real command line read a line, and run nothing."""
    name, *words = shlex.split(line)
    assert name == "dpaudit"
    command = COMMANDS.commands[words[0]]
    return command.make_context(words[0], words[1:], resilient_parsing=False)


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


LINES = [line for one in BEGINNINGS for line in one.lines()]


@pytest.mark.parametrize("line", LINES)
def test_every_command_is_parsed_by_the_real_command_line(line):
    assert parse(line).params


def test_a_command_that_is_wrong_would_be_seen():
    with pytest.raises(typer.TyperException):
        parse("dpaudit audit --outpust a.csv b.csv")


@pytest.mark.parametrize("word", [one.word for one in BEGINNINGS])
def test_a_word_shows_its_command_and_what_to_replace(word, capsys):
    assert run("start", word) == 0
    shown = capsys.readouterr().out
    beginning = beginning_of(word)
    assert all(line in shown for line in beginning.lines())
    assert all(name in shown for name in beginning.replace)
    assert beginning.remark in shown


def test_what_is_to_be_replaced_stands_in_the_command():
    for one in BEGINNINGS:
        text = " ".join(one.lines())
        for word in one.replace:
            assert word.split()[0] in text or word == "numbers", (one.word, word)


def test_nobody_can_say_anything_of_a_twin(capsys):
    assert run("start", "twin") == 0
    assert "Nobody can say anything" in capsys.readouterr().out


def test_pages_are_there():
    for one in BEGINNINGS:
        assert (DOCS.parent / one.page).is_file(), one.page


def test_the_page_shows_the_same_commands():
    page = (DOCS / "start.md").read_text(encoding="utf-8")
    for one in BEGINNINGS:
        assert all(line in page for line in one.lines()[:1]), one.word


def test_without_a_terminal_the_menu_is_listed(capsys):
    assert run("start") == 0
    shown = capsys.readouterr().out
    assert all(one.word in shown and one.title in shown for one in BEGINNINGS)


def test_an_unknown_word_is_an_error(capsys):
    assert run("start", "outpust") == 2
    assert "did you mean 'outputs'?" in capsys.readouterr().err
    with pytest.raises(UnknownName):
        beginning_of("0")


def at_a_terminal(monkeypatch, answer):
    for module in (start_module, asking):
        monkeypatch.setattr(module, "is_asked", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))


def test_at_a_terminal_a_number_is_asked_for(monkeypatch, capsys):
    at_a_terminal(monkeypatch, "5\n")
    assert run("start") == 0
    assert "dpaudit table --hits" in capsys.readouterr().out
    at_a_terminal(monkeypatch, "")
    assert run("start") == 0


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def shown(word, folder):
    return "\n".join(format_beginning(beginning_of(word), folder))


def test_files_of_the_folder_are_suggested(tmp_path):
    write(tmp_path, with_target__csv="1\n", without_target__csv="1\n", notes__md="x")
    assert "--outputs with_target.csv without_target.csv" in shown("outputs", tmp_path)
    assert "dpaudit scores with_target.csv without_target.csv" in shown("scores", tmp_path)
    write(tmp_path, c__csv="score;included\n1;0\n", r__yaml="epsilon: 1\n")
    assert "dpaudit canary c.csv" in shown("canaries", tmp_path)
    assert "dpaudit deployment r.yaml" in shown("record", tmp_path)
    code = (
        "raise SystemExit\n\ndef _helper(data): ...\n\ndef other(n): ...\n\ndef count(data): ...\n"
    )
    write(tmp_path, own__py=code, bad__py="def (")
    assert "dpaudit audit own.py:count --dataset with_target.csv" in shown("code", tmp_path)
    (tmp_path / "noiser").write_text("#!/bin/sh\n")
    (tmp_path / "noiser").chmod(0o755)
    assert "--command './noiser {data} {seed}' --dataset with_target" in shown("program", tmp_path)


def test_nothing_is_suggested_where_nothing_fits(tmp_path):
    assert all(find_suggestions(one.word, tmp_path) == [] for one in BEGINNINGS)
    assert find_suggestions("code", tmp_path / "missing") == []


@pytest.fixture
def two(tmp_path, monkeypatch):
    write(tmp_path, a__csv="1\n2\n", b__csv="1\n2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


def test_two_files_and_no_function_are_asked_about(two, capsys):
    assert run("audit", "a.csv", "b.csv", "--epsilon", "2") == 2
    *commands, asked = capsys.readouterr().err.splitlines()
    assert (
        commands[0] == "  outputs on two datasets: dpaudit audit --outputs a.csv b.csv --epsilon 2"
    )
    assert [one.partition(": dpaudit ")[2].split()[0] for one in commands] == [
        "audit",
        "audit",
        "scores",
        "start",
    ]
    assert max(map(len, commands)) <= 110
    assert asked.endswith(
        "got a.csv, b.csv, expected one of the commands above, by what the files hold"
    )


@pytest.mark.parametrize("count", [1, 2])
def test_each_command_that_is_listed_is_parsed(count):
    files = ["a.csv", "b.csv"][:count]
    for line in asking._format_file_suggestions(files, 1.0):
        command = line.partition(": dpaudit ")[2]
        parse(f"dpaudit {command}")
    assert len(asking._format_file_suggestions(files, 1.0)) >= 4


def test_a_file_that_is_not_there_is_named(two, capsys):
    assert run("audit", "a.csv", "c.csv") == 2
    assert "c.csv: there is no such file" in capsys.readouterr().err


def test_who_says_that_they_are_outputs_has_them_audited(two, monkeypatch, capsys):
    at_a_terminal(monkeypatch, "1\n")
    assert run("audit", "a.csv", "b.csv", "--epsilon", "2") == 2
    assert "holds 2 outputs, expected at least 40" in capsys.readouterr().err
    at_a_terminal(monkeypatch, "3\n")
    assert run("audit", "a.csv", "b.csv", "--epsilon", "2") == 2
    assert "one of the commands above" in capsys.readouterr().err
